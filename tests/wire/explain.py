"""Proves that a difference between Yonder and redis-server 7.0.15 is one that
docs/compat.md allows, or raises Unexplained.

A proof has two halves. Our reply must be, byte for byte, the one that the oracle works
out from all members. Redis's reply must be, byte for byte, the one that follows from
the members which its cells cover (asked of it by a plain search). What then differs has
a name:

  lost members          Redis's cells do not cover a member that satisfies the predicate
  equal distances       both are sorted, but members at one distance stand otherwise
  newer option          ZRANK and ZREVRANK know WITHSCORE, as in 7.2
"""
from dataclasses import dataclass

import geo_oracle
from geo_oracle import UNITS, Shape
from resp import Error, encode, parse

LOST = "lost members"
TIES = "equal distances"
NEWER = "newer option"
CATEGORIES = [LOST, TIES, NEWER]


class Unexplained(AssertionError):
    """The two replies differ and no allowed difference accounts for it."""


def to_float(text):
    try:
        return float(text)
    except ValueError:
        return float.fromhex(text.decode("latin-1"))


@dataclass
class Query:
    key: bytes
    member: bytes = None
    center: tuple = None
    center_words: tuple = ()
    by_words: tuple = ()
    sizes: tuple = ()
    unit: float = 1.0
    order: str = None
    count: int = 0
    any: bool = False
    coord: bool = False
    dist: bool = False
    hash: bool = False
    store: bytes = None
    store_dist: bool = False
    is_search: bool = False  # GEOSEARCH*, not GEORADIUS*

    @property
    def sorted(self):
        return self.order or ("asc" if self.count and not self.any else None)

    def shape(self, members):
        lon, lat = self.center or geo_oracle.decode(members[self.member])
        sizes = [size * self.unit for size in self.sizes]
        if len(sizes) == 1:
            return Shape(lon, lat, radius=sizes[0])
        return Shape(lon, lat, width=sizes[0], height=sizes[1])

    def plain(self):
        """The same search without options: members in the server's own order."""
        return [b"GEOSEARCH", self.key, *self.center_words, *self.by_words]


def parse_query(words):
    """The query that a right search command asks, else None."""
    try:
        return _parse_query(words)
    except (IndexError, ValueError, KeyError):
        return None


def _parse_query(words):
    name = words[0].upper()
    if name == b"GEOSEARCH":
        query, rest = Query(words[1], is_search=True), words[2:]
    elif name == b"GEOSEARCHSTORE":
        query, rest = Query(words[2], store=words[1], is_search=True), words[3:]
    elif name in (b"GEORADIUS", b"GEORADIUS_RO"):
        query, rest = Query(words[1]), [
            b"FROMLONLAT",
            *words[2:4],
            b"BYRADIUS",
            *words[4:],
        ]
    elif name in (b"GEORADIUSBYMEMBER", b"GEORADIUSBYMEMBER_RO"):
        query, rest = Query(words[1]), [b"FROMMEMBER", words[2], b"BYRADIUS", *words[3:]]
    else:
        return None
    rest = list(rest)
    while rest:
        _parse_clause(query, rest.pop(0).upper(), rest)
    return query


def _parse_clause(query, word, rest):
    def take(n):
        if len(rest) < n:
            raise IndexError
        taken = rest[:n]
        del rest[:n]
        return taken

    if word == b"FROMMEMBER":
        query.member = take(1)[0]
        query.center_words = (word, query.member)
    elif word == b"FROMLONLAT":
        pair = take(2)
        query.center = (to_float(pair[0]), to_float(pair[1]))
        query.center_words = (word, *pair)
    elif word in (b"BYRADIUS", b"BYBOX"):
        *sizes, unit = take(2 if word == b"BYRADIUS" else 3)
        query.sizes = tuple(to_float(size) for size in sizes)
        query.unit = UNITS[unit.lower()]
        query.by_words = (word, *sizes, unit)
    elif word in (b"ASC", b"DESC"):
        query.order = word.lower().decode()
    elif word == b"COUNT":
        query.count = int(take(1)[0])
    elif word == b"ANY":
        query.any = True
    elif word in (b"WITHCOORD", b"WITHDIST", b"WITHHASH"):
        setattr(query, word[4:].lower().decode(), True)
    elif word == b"STOREDIST" and query.is_search:
        query.store_dist = True
    elif word in (b"STORE", b"STOREDIST") and not query.is_search:
        query.store_dist = word == b"STOREDIST"
        query.store = take(1)[0]
    else:
        raise ValueError(word)


# ---- replies built from hits -----------------------------------------------------


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


def double(text, resp):
    return b",%s\r\n" % text if resp == 3 else bulk(text)


def search_reply(query, hits, resp):
    """Bytes of a search's reply."""
    parts = [b"*%d\r\n" % len(hits)]
    fields = query.coord + query.dist + query.hash
    for hit in hits:
        if fields:
            parts.append(b"*%d\r\n" % (fields + 1))
        parts.append(bulk(hit.member))
        if query.dist:
            parts.append(bulk(geo_oracle.distance_text(hit.far / query.unit)))
        if query.hash:
            parts.append(b":%d\r\n" % geo_oracle.to_signed(hit.score))
        if query.coord:
            parts.append(b"*2\r\n")
            parts += [
                double(geo_oracle.fixed17(value), resp) for value in (hit.lon, hit.lat)
            ]
    return b"".join(parts)


def store_reply(query, hits, resp):
    """Bytes of a STORE form's reply and of ZRANGE destination 0 -1 WITHSCORES after
    it."""
    entries = sorted(
        (hit.far / query.unit if query.store_dist else hit.score, hit.member)
        for hit in hits
    )
    parts = [b":%d\r\n*%d\r\n" % (len(entries), len(entries) * (1 if resp == 3 else 2))]
    for score, member in entries:
        if resp == 3:
            parts.append(b"*2\r\n")
        parts += [bulk(member), double(geo_oracle.score17(score), resp)]
    return b"".join(parts)


def in_order(hits, order):
    sign = -1 if order == "desc" else 1
    return sorted(hits, key=lambda hit: (sign * hit.far, hit.place))


def choose(query, walk):
    """What a query selects from all hits, given in the order of the cells."""
    hits = list(walk)
    if query.count and query.any:
        hits = hits[: query.count]
    if query.sorted:
        hits = in_order(hits, query.sorted)
    return hits[: query.count] if query.count else hits


# ---- proofs ------------------------------------------------------------------------


def explain(words, ours, theirs, members, resp, redis):
    """Returns the names of the allowed differences. `members`: the source key's
    content; `redis`: an open connection for the plain search. For a STORE form, `ours`
    and `theirs` hold its reply and the one of ZRANGE destination 0 -1 WITHSCORES."""
    query = parse_query(words)
    if query is None or members is None or query.center == query.member:
        raise Unexplained("no search that could be explained")
    if not query.sizes or (query.member is not None and query.member not in members):
        raise Unexplained("no search that could be explained")
    return Proof(query, members, resp, redis).run(ours, theirs)


def is_newer_option(words, ours, theirs):
    """ZRANK key member word: an arity error in 7.0. Without WITHSCORE it is an error
    here too."""
    name = words[0].lower()
    if name not in (b"zrank", b"zrevrank") or len(words) != 4:
        return False
    arity = b"-ERR wrong number of arguments for '%s' command\r\n" % name
    return theirs == arity and (
        words[3].upper() == b"WITHSCORE" or ours == b"-ERR syntax error\r\n"
    )


class Proof:
    def __init__(self, query, members, resp, redis):
        self.query, self.resp = query, resp
        shape = query.shape(members)
        self.hits = {hit.member: hit for hit in geo_oracle.search(members, shape)}
        redis.send(encode(*query.plain()))
        answer = redis.read()
        if isinstance(answer, Error):
            raise Unexplained(f"Redis refuses the plain search: {answer!r}")
        found = set(answer)
        if len(found) != len(answer):
            raise Unexplained("Redis gives a member twice")
        strange = found - set(self.hits)
        if strange:
            raise Unexplained(f"Redis finds what the predicate refuses: {strange}")
        self.redis_walk = [self.hits[member] for member in answer]
        self.lost = [hit for hit in self.hits.values() if hit.member not in found]
        self.walk = self.redis_walk + sorted(self.lost, key=lambda hit: hit.place)

    def run(self, ours, theirs):
        query, resp = self.query, self.resp
        mine = choose(query, self.walk)
        if query.store is None:
            expect = search_reply(query, mine, resp)
            expect_redis = search_reply(query, self.redis_sequence(parse(theirs)), resp)
        else:
            expect = store_reply(query, mine, resp)
            expect_redis = store_reply(query, self.redis_stored(theirs), resp)
        if ours != expect:
            raise Unexplained(
                f"the oracle's reply:\n  {shorten(expect)}\n"
                f"  {first_difference(ours, expect)}"
            )
        if theirs != expect_redis:
            raise Unexplained(
                f"Redis was expected to reply:\n  {shorten(expect_redis)}\n"
                f"  {first_difference(theirs, expect_redis)}"
            )
        return self.names()

    def names(self):
        found = set()
        if self.lost:
            found.add(LOST)
        far = [hit.far for hit in self.walk]
        if self.query.sorted and len(set(far)) < len(far):
            found.add(TIES)
        if not found:
            raise Unexplained("nothing accounts for the difference")
        return found

    def redis_sequence(self, answer):
        """Redis's hits in the order of its reply, which must be a right one for its
        members."""
        if not isinstance(answer, list):
            raise Unexplained(f"Redis replied {answer!r}")
        fields = self.query.coord + self.query.dist + self.query.hash
        names = [item[0] if fields else item for item in answer]
        return self.check_selection(names)

    def redis_stored(self, theirs):
        _, _, tail = theirs.partition(b"\r\n")
        stored = parse(tail)
        if not isinstance(stored, list):
            raise Unexplained(f"ZRANGE of the destination: {stored!r}")
        if self.resp == 3:
            names = [pair[0] for pair in stored]
        else:
            names = stored[::2]
        return self.check_selection(names, ordered=False)

    def check_selection(self, names, ordered=True):
        by_name = {hit.member: hit for hit in self.redis_walk}
        if any(name not in by_name for name in names) or len(set(names)) != len(names):
            raise Unexplained("Redis's reply holds what its plain search does not")
        hits = [by_name[name] for name in names]
        expect = choose(self.query, self.redis_walk)
        if self.query.sorted:
            got = [hit.far for hit in hits]
            want = [hit.far for hit in expect]
            if (got != want) if ordered else (sorted(got) != sorted(want)):
                raise Unexplained("Redis's reply is not sorted, or not the nearest ones")
            if self.query.any and set(names) != {hit.member for hit in expect}:
                raise Unexplained("Redis's reply is not the first ones of its walk")
        elif (
            (names != [hit.member for hit in expect])
            if ordered
            else (set(names) != {hit.member for hit in expect})
        ):
            raise Unexplained("Redis's reply does not follow its own walk")
        return hits


def shorten(raw, limit=600):
    text = repr(bytes(raw))
    return text if len(text) <= limit else f"{text[:limit]}... ({len(raw)} bytes)"


def first_difference(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    if a == b:
        return "equal"
    start = max(0, at - 40)
    return f"first difference at byte {at}: {a[start:at + 40]!r} against {b[start:at + 40]!r}"
