"""Draws commands on sorted sets, strings and keys: right ones, odd ones, and ones with a
fault of their own. What spoils any command is in value_words."""
from value_words import DATABASES, MISSING, Words


class SortedSets(Words):
    """Commands on sorted sets."""

    def with_scores(self):
        return self.maybe(0.5, b"WITHSCORES")

    def limit(self, p=0.4):
        if not self.chance(p):
            return []
        return self.option(
            b"LIMIT",
            b"%d" % self.rng.choice([0, 0, 1, 2, 5, 100, -1]),
            b"%d" % self.rng.choice([-1, 0, 1, 2, 7, 100, -5]),
        )

    def pairs(self, n):
        return [w for _ in range(n) for w in (self.any_score(), self.member())]

    def zadd(self):
        options = [
            self.maybe(p, word)
            for word, p in (
                (b"NX", 0.12),
                (b"XX", 0.12),
                (b"GT", 0.1),
                (b"LT", 0.1),
                (b"CH", 0.25),
                (b"INCR", 0.08),
            )
        ]
        incr = any(part and part[0].upper() == b"INCR" for part in options)
        n = 1 if incr and self.chance(0.9) else self.rng.choice([1, 1, 2, 3, 5, 20])
        return [b"ZADD", self.key("z"), *self.shuffled(options), *self.pairs(n)]

    def zadd_many(self):
        """Enough members for the encoding of large sets, on either side of its limit."""
        n = self.rng.choice(self.sizes)
        start = self.rng.choice([0, 0, 100])
        key = self.key("z")
        words = [b"ZADD", key]
        for i in range(start, start + n):
            words += [self.score(), b"%d" % i]
        return words

    def zincrby(self):
        return [b"ZINCRBY", self.key("z"), self.any_score(), self.member()]

    def zrem(self):
        n = self.rng.choice([1, 1, 2, 5, 30])
        return [b"ZREM", self.key("z"), *(self.member() for _ in range(n))]

    def zremrangebyrank(self):
        return [b"ZREMRANGEBYRANK", self.key("z"), self.rank(), self.rank()]

    def zremrangebyscore(self):
        return [
            b"ZREMRANGEBYSCORE",
            self.key("z"),
            *self.two_bounds(self.score_bound),
        ]

    def zremrangebylex(self):
        return [b"ZREMRANGEBYLEX", self.key("z"), *self.two_bounds(self.lex_bound)]

    def zcard(self):
        return [b"ZCARD", self.key("z")]

    def zcount(self):
        return [b"ZCOUNT", self.key("z"), *self.two_bounds(self.score_bound)]

    def zlexcount(self):
        return [b"ZLEXCOUNT", self.key("z"), *self.two_bounds(self.lex_bound)]

    def zscore(self):
        return [b"ZSCORE", self.key("z"), self.member()]

    def zmscore(self):
        n = self.rng.randint(1, 6)
        return [b"ZMSCORE", self.key("z"), *(self.member() for _ in range(n))]

    def zrank(self):
        name = self.rng.choice([b"ZRANK", b"ZREVRANK"])
        return [name, self.key("z"), self.member(), *self.maybe(0.1, b"WITHSCORE")]

    def zrange_tail(self):
        """(bounds, options) of ZRANGE and ZRANGESTORE."""
        rev = self.maybe(0.4, b"REV")
        form = self.rng.random()
        if self.lex and form < 0.6:
            by, bounds = [b"BYLEX"], self.two_bounds(self.lex_bound, bool(rev))
        elif form < 0.5:
            by, bounds = [b"BYSCORE"], self.two_bounds(self.score_bound, bool(rev))
        else:
            by, bounds = [], (self.rank(), self.rank())
        limit = self.limit() if by or self.chance(0.05) else []
        return bounds, [self.option(*by) if by else [], rev, limit]

    def zrange(self):
        bounds, options = self.zrange_tail()
        is_lex = options[0] and options[0][0].upper() == b"BYLEX"
        options.append(self.maybe(0.05 if is_lex else 0.5, b"WITHSCORES"))
        return [b"ZRANGE", self.key("z"), *bounds, *self.shuffled(options)]

    def zrangestore(self):
        bounds, options = self.zrange_tail()
        return [
            b"ZRANGESTORE",
            self.destination(),
            self.key("z"),
            *bounds,
            *self.shuffled(options),
        ]

    def zrevrange(self):
        return [
            b"ZREVRANGE",
            self.key("z"),
            self.rank(),
            self.rank(),
            *self.with_scores(),
        ]

    def zrangebyscore(self):
        rev = self.chance(0.5)
        return [
            b"ZREVRANGEBYSCORE" if rev else b"ZRANGEBYSCORE",
            self.key("z"),
            *self.two_bounds(self.score_bound, rev),
            *self.shuffled([self.with_scores(), self.limit()]),
        ]

    def zrangebylex(self):
        rev = self.chance(0.5)
        return [
            b"ZREVRANGEBYLEX" if rev else b"ZRANGEBYLEX",
            self.key("z"),
            *self.two_bounds(self.lex_bound, rev),
            *self.limit(),
        ]

    def zrandmember(self):
        words = [b"ZRANDMEMBER", self.key("z")]
        if self.chance(0.8):
            words.append(
                self.rng.choice(
                    [b"0", b"1", b"2", b"5", b"200", b"-1", b"-3", b"-50"]
                    + [b"9223372036854775807", *NO_COUNTS]
                )
            )
            words += self.maybe(0.5, b"WITHSCORES")
        return words

    def zrandmember_of_limits(self):
        """A count far below zero without WITHSCORES would be obeyed."""
        count = self.rng.choice(
            [b"-9223372036854775808", b"-4611686018427387904", b"-4611686018427387905"]
        )
        return [b"ZRANDMEMBER", MISSING, count, b"WITHSCORES"]

    def count(self):
        if self.chance(0.9):
            return b"%d" % self.rng.choice([0, 1, 1, 2, 3, 10, 1000])
        return self.rng.choice([b"-1", *NO_COUNTS, b"9223372036854775807"])

    def zpop(self):
        name = self.rng.choice([b"ZPOPMIN", b"ZPOPMAX"])
        return [name, self.key("z"), *([self.count()] if self.chance(0.5) else [])]

    def numkeys(self, keys):
        """The number of keys and the keys; rarely the number is wrong."""
        if self.chance(0.95):
            return [b"%d" % len(keys), *keys]
        wrong = [b"0", b"-1", b"%d" % (len(keys) + 1), b"9223372036854775807"]
        return [self.rng.choice([*wrong, *NO_COUNTS]), *keys]

    def mpop_tail(self):
        side = self.rng.choice([b"MIN", b"MAX", b"min", b"Max"])
        words = [*self.numkeys(self.keys("z")), side]
        if self.chance(0.4):
            words += self.option(b"COUNT", self.count())
        return words

    def zmpop(self):
        return [b"ZMPOP", *self.mpop_tail()]

    def timeout(self):
        return self.rng.choice([b"0", b"0", b"0", b"0", b"0.01", b"0.02", b"1e-3"])

    def bzpop(self):
        name = self.rng.choice([b"BZPOPMIN", b"BZPOPMAX"])
        return [name, *self.keys("z"), self.timeout()]

    def bzmpop(self):
        return [b"BZMPOP", self.timeout(), *self.mpop_tail()]

    def bad_timeout(self):
        bad = self.rng.choice([b"-1", b"x", b"", b"inf", b"nan", b"1e300", b"-0.1"])
        if self.chance(0.5):
            return [b"BZMPOP", bad, *self.mpop_tail()]
        return [b"BZPOPMIN", *self.keys("z"), bad]

    def set_operation(self, store):
        name = self.rng.choice([b"ZUNION", b"ZINTER", b"ZDIFF"])
        keys = self.keys("z")
        options = []
        if name != b"ZDIFF" or self.chance(0.03):
            if self.chance(0.4):
                n = len(keys) if self.chance(0.97) else self.rng.randint(0, 5)
                weights = [b"1" if self.lex else self.weight() for _ in range(n)]
                options.append(self.option(b"WEIGHTS", *weights))
            if self.chance(0.4):
                how = [b"SUM", b"MIN", b"MAX", b"sum", b"MAx", *JUNK_AGGREGATES]
                options.append(self.option(b"AGGREGATE", self.rng.choice(how)))
        if not store or self.chance(0.02):
            options.append(self.with_scores())
        words = [*self.numkeys(keys), *self.shuffled(options)]
        if store:
            return [name + b"STORE", self.destination(), *words]
        return [name, *words]

    def zop(self):
        return self.set_operation(False)

    def zopstore(self):
        return self.set_operation(True)

    def zintercard(self):
        words = [b"ZINTERCARD", *self.numkeys(self.keys("z"))]
        if self.chance(0.4):
            words += self.option(b"LIMIT", self.count())
        return words

    def scan_options(self):
        parts = []
        if self.chance(0.4):
            pattern = [b"*", b"1*", b"[a-m]*", b"?", b"z*", b"*\xff*", b"s[^1]", b""]
            parts.append(self.option(b"MATCH", self.rng.choice(pattern)))
        if self.chance(0.4):
            count = [b"1", b"2", b"10", b"1000", b"0", b"-1", b"x"]
            parts.append(self.option(b"COUNT", self.rng.choice(count)))
        return parts

    def zscan(self):
        words = [self.key("z"), self.cursor(), *self.shuffled(self.scan_options())]
        return [b"ZSCAN", *words]

    def cursor(self):
        if self.chance(0.7):
            return b"0"
        return self.rng.choice(
            [b"x", b"", b"-1", b"18446744073709551616", b" 0", b"0x0", b"1.5"]
        )

    def whole_zscan(self):
        words = [self.key("z"), b"0", *self.shuffled(self.scan_options())]
        return [b"!scan", b"ZSCAN", *words]


NO_COUNTS = [b"x", b"", b"1.5", b"9223372036854775808"]
JUNK_AGGREGATES = [b"", b"AVG"]


class Strings(Words):
    """Commands on strings."""

    def expiry(self, p=1.0):
        """An option that sets when a value expires."""
        if not self.chance(p):
            return []
        word = self.rng.choice([b"EX", b"PX", b"EXAT", b"PXAT"])
        is_ms = word.startswith(b"P")
        draw = self.absolute if word.endswith(b"AT") else self.relative
        return self.option(word, draw(is_ms))

    def set(self):
        options = [
            self.maybe(0.2, self.rng.choice([b"NX", b"XX"])),
            self.maybe(0.03, self.rng.choice([b"NX", b"XX"])),
            self.maybe(0.2, b"GET"),
            self.expiry(0.25),
            self.expiry(0.02),
            self.maybe(0.12, b"KEEPTTL"),
        ]
        return [b"SET", self.key("s"), self.value(), *self.shuffled(options)]

    def get(self):
        return [self.rng.choice([b"GET", b"STRLEN"]), self.key("s")]

    def getdel(self):
        return [b"GETDEL", self.key("s")]

    def getex(self):
        options = [self.expiry(0.5), self.maybe(0.2, b"PERSIST"), self.expiry(0.03)]
        return [b"GETEX", self.key("s"), *self.shuffled(options)]

    def getset(self):
        return [b"GETSET", self.key("s"), self.value()]

    def mget(self):
        return [b"MGET", *self.keys("s", 6)]

    def mset(self):
        name = self.rng.choice([b"MSET", b"MSET", b"MSETNX"])
        words = [w for key in self.keys("s", 5) for w in (key, self.value())]
        if self.chance(0.05):
            words.pop()
        return [name, *words]

    def setnx(self):
        return [b"SETNX", self.key("s"), self.value()]

    def setex(self):
        if self.chance(0.5):
            return [b"SETEX", self.key("s"), self.relative(False), self.value()]
        return [b"PSETEX", self.key("s"), self.relative(True), self.value()]

    def append(self):
        return [b"APPEND", self.key("s"), self.value()]

    def incr(self):
        return [self.rng.choice([b"INCR", b"DECR"]), self.key("s")]

    def incrby(self):
        name = self.rng.choice([b"INCRBY", b"DECRBY"])
        return [name, self.key("s"), self.integer(-100, 100)]

    def incrbyfloat(self):
        form = self.rng.random()
        if form < 0.6:
            amount = b"%.2f" % self.rng.uniform(-5, 5)
        elif form < 0.75:
            amount = self.rng.choice(NO_AMOUNTS)
        else:
            amount = self.rng.choice(AMOUNTS)
        return [b"INCRBYFLOAT", self.key("s"), amount]

    def string_index(self):
        form = self.rng.random()
        if form < 0.85:
            return b"%d" % self.rng.choice(
                [0, 0, 1, 2, 3, 5, 43, 100, -1, -1, -2, -3, -5, -100]
            )
        return self.integer(-600, 600)

    def getrange(self):
        name = self.rng.choice([b"GETRANGE", b"GETRANGE", b"SUBSTR"])
        return [name, self.key("s"), self.string_index(), self.string_index()]

    def setrange(self):
        offset = self.rng.choice(
            [b"%d" % n for n in (0, 0, 1, 2, 3, 10, 43, 44, 700)]
            + [b"-1", b"536870912", b"2147483648", b"9223372036854775807", b"x"]
        )
        return [b"SETRANGE", self.key("s"), offset, self.value()]


AMOUNTS = [
    b"1e5",
    b"3.0e3",
    b"0x10",
    b"1e-10",
    b"-0",
    b"0.1",
    b"1e17",
    b"123456789.123456789",
    b"1e300",
    b"-1e308",
    b"1.7976931348623157e308",
]
NO_AMOUNTS = [b"nan", b"inf", b"-inf", b"x", b"", b" 1", b"1 ", b"1e5000"]


class Keys(Words):
    """Commands on keys, whatever they hold, and on databases."""

    def delete(self):
        return [self.rng.choice([b"DEL", b"UNLINK"]), *self.keys("any")]

    def ask(self):
        name = self.rng.choice([b"EXISTS", b"TOUCH"])
        return [name, *self.keys("any")]

    def type(self):
        return [b"TYPE", self.key("any")]

    def expire(self):
        name = self.rng.choice([b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT"])
        is_ms = name.startswith(b"P")
        draw = self.absolute if name.endswith(b"AT") else self.relative
        flags = [self.maybe(p, word) for word, p in EXPIRE_FLAGS]
        return [name, self.key("any"), draw(is_ms), *self.shuffled(flags)]

    def ttl(self):
        name = self.rng.choice([b"TTL", b"PTTL", b"EXPIRETIME", b"PEXPIRETIME"])
        return [name, self.key("any")]

    def persist(self):
        return [b"PERSIST", self.key("any")]

    def rename(self):
        name = self.rng.choice([b"RENAME", b"RENAMENX"])
        return [name, self.key("any"), self.key("any")]

    def database(self):
        if self.chance(0.95):
            return b"%d" % self.rng.choice(DATABASES)
        return self.rng.choice([b"16", b"-1", b"x", b"", b"99999999999", b"1.0"])

    def copy(self):
        options = [
            self.option(b"DB", self.database()) if self.chance(0.4) else [],
            self.maybe(0.4, b"REPLACE"),
        ]
        return [b"COPY", self.key("any"), self.key("any"), *self.shuffled(options)]

    def move(self):
        return [b"MOVE", self.key("any"), self.database()]

    def select(self):
        return [b"SELECT", self.database()]

    def swapdb(self):
        return [b"SWAPDB", self.database(), self.database()]

    def randomkey(self):
        return [b"RANDOMKEY"]

    def dbsize(self):
        return [b"DBSIZE"]

    def key_pattern(self):
        return self.rng.choice(
            [b"*", b"z*", b"s?", b"[zl]*", b"[^z]*", b"*{tag}*", b"\\z0", b"", b"zz"]
        )

    def list_keys(self):
        return [b"KEYS", self.key_pattern()]

    def key_scan_options(self):
        parts = []
        if self.chance(0.4):
            parts.append(self.option(b"MATCH", self.key_pattern()))
        if self.chance(0.4):
            count = [b"1", b"2", b"1000", b"0", b"-1", b"x"]
            parts.append(self.option(b"COUNT", self.rng.choice(count)))
        if self.chance(0.4):
            types = [b"string", b"zset", b"ZSET", b"hash", b"String"]
            parts.append(self.option(b"TYPE", self.rng.choice(types)))
        return self.shuffled(parts)

    def scan(self):
        return [b"SCAN", self.cursor(), *self.key_scan_options()]

    def whole_scan(self):
        return [b"!scan", b"SCAN", b"0", *self.key_scan_options()]

    def object(self):
        name = self.rng.choice([b"ENCODING"] * 5 + [b"REFCOUNT", b"IDLETIME", b"FREQ"])
        return [b"OBJECT", *self.option(name), self.key("any")]

    def memory_usage(self):
        samples = [b"SAMPLES", self.rng.choice([b"0", b"5", b"-1", b"x"])]
        tail = self.option(*samples) if self.chance(0.4) else []
        return [b"MEMORY", b"USAGE", self.key("any"), *tail]

    def wait(self):
        return [b"WAIT", *self.rng.choice(WAITS)]

    def flush(self):
        name = self.rng.choice([b"FLUSHDB", b"FLUSHDB", b"FLUSHALL"])
        return [name, *self.rng.choice([[], [b"ASYNC"], [b"SYNC"], [b"async"]])]

    def dump(self):
        return [b"DUMP", self.key("any")]

    def let_expire(self):
        return [b"!expire", *dict.fromkeys(self.keys("any", 3))]

    def cross_dump(self):
        """The key, then what RESTORE is given but for the payload."""
        words = [b"!dump", self.key("any"), self.key("any")]
        form = self.rng.random()
        if form < 0.6:
            words.append(b"0")
        elif form < 0.8:
            words.append(self.relative(True))
        else:
            words += [self.absolute(True), b"ABSTTL"]
        words += self.maybe(0.8, b"REPLACE")
        words += self.maybe(0.1, b"IDLETIME", b"1000")
        return words

    def spoilt_restore(self):
        """RESTORE of what is no payload: which error comes first?"""
        ttl = self.rng.choice([b"0", b"-1", b"x", b"5", b"9223372036854775808"])
        body = self.rng.choice([b"", b"x", b"\x01" * 10, b"0123456789abcdef"])
        options = [
            self.maybe(0.5, b"REPLACE"),
            self.maybe(0.3, b"ABSTTL"),
            self.maybe(0.3, b"IDLETIME", self.rng.choice([b"5", b"-1", b"x"])),
            self.maybe(0.3, b"FREQ", self.rng.choice([b"5", b"256", b"-1", b"x"])),
        ]
        return [b"RESTORE", self.key("any"), ttl, body, *self.shuffled(options)]


EXPIRE_FLAGS = [(b"NX", 0.15), (b"XX", 0.12), (b"GT", 0.15), (b"LT", 0.15)]
# None of these waits long.
WAITS = [
    [b"0", b"0"],
    [b"0", b"100"],
    [b"-1", b"0"],
    [b"1", b"1"],
    [b"2", b"-1"],
    [b"x", b"1"],
    [b"1", b"x"],
    [b"0"],
    [b"9223372036854775808", b"0"],
]
