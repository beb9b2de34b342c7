"""Proves that a difference between Yonder and redis-server 7.0.15 in a command on
sorted sets, strings, keys or transactions is one that docs/compat.md allows, or raises
Unexplained. What then differs has a name:

  clock                  the two servers read two clocks: both tell a time, nearly the same
  random pick            both picks are right ones of what the key (the database) holds
  content without order  KEYS: the same keys
  one page of a scan     both are well-formed; whole iterations are compared elsewhere
  sizes                  MEMORY USAGE: two programs, two sizes, both above 0
  payload of DUMP        both are sealed; each server reads the other's (`!dump`)
  expired, but counted   DBSIZE may count keys that have expired and are not yet removed;
                         Redis's MEMORY USAGE sees them
  negative zero          the replies are the same but for the sign of a zero
  newer option           ZRANK and ZREVRANK know WITHSCORE, as in 7.2
  negative cursor        is refused, as in 8.0
  end of a score range   with blanks before it or in hexadecimal is refused, as in 8.0
  NUL in a cursor        is refused; Redis reads up to it
  wrong type meanwhile   a client that waits for several keys is told that one of them
                         holds something else now, as in 8.0, which runs its command anew
  first of its keys      several keys of a waiting client got members at once: it is served
                         from the one that it names first, as in 8.0, not from the one
                         that came first
  left waiting           Redis does not serve a client whose key held something else when
                         a set was stored over it, though the key has members now
  encoding               OBJECT ENCODING tells what a set holds now; in Redis one that was
                         large stays a skiplist
  reference count        OBJECT REFCOUNT: two programs share their objects otherwise
  GETKEYS with a number of keys that is none  Redis reads its first digits
  events of new keys     MSET tells of its new keys before it tells of its values; RESTORE
                         over a key tells of no new one
  GETKEYS of a command alone  7.0 wants more words
  timeout out of range   has an error of its own, as in 8.0; 7.0 calls it negative
  end before the start   GETRANGE with an end before the first byte is empty, as in 8.0
"""
from differential import CLOCK_SLACK_S, is_near
from explain import Unexplained, first_difference, is_newer_option, shorten
from rdb_payload import is_sealed
from resp import Error, parse, split_replies

CLOCK = "clock"
PICK = "random pick"
CONTENT = "content without order"
PAGE = "one page of a scan"
SIZES = "sizes"
PAYLOAD = "payload of DUMP"
EXPIRED = "expired, but counted"
NEGATIVE_ZERO = "negative zero"
NEWER = "newer option"
CURSOR = "negative cursor"
SCORE_END = "end of a score range"
CURSOR_NUL = "NUL in a cursor"
WRONG_TYPE = "wrong type meanwhile"
FIRST_KEY = "first of its keys"
LEFT_WAITING = "left waiting"
ENCODING = "encoding"
REFERENCES = "reference count"
NEW_KEYS = "events of new keys"
GETKEYS_NUMBER = "GETKEYS with a number of keys that is none"
GETKEYS_ALONE = "GETKEYS of a command alone"
TIMEOUT = "timeout out of range"
RANGE_END = "end before the start"
NAMES = [
    CLOCK,
    PICK,
    CONTENT,
    PAGE,
    SIZES,
    PAYLOAD,
    EXPIRED,
    NEGATIVE_ZERO,
    NEWER,
    CURSOR,
    SCORE_END,
    CURSOR_NUL,
    WRONG_TYPE,
    FIRST_KEY,
    LEFT_WAITING,
    ENCODING,
    REFERENCES,
    NEW_KEYS,
    GETKEYS_NUMBER,
    GETKEYS_ALONE,
    TIMEOUT,
    RANGE_END,
]

EMPTY_BULK = b"$0\r\n\r\n"


class Case:
    """A command and its two replies. `following`: the words and Redis's reply of the
    command that came right after it, or None."""

    def __init__(self, words, ours, theirs, following=None, n_expired=0):
        self.words, self.ours, self.theirs = words, ours, theirs
        self.following, self.n_expired = following, n_expired
        self.name = words[0].upper()

    def values(self):
        return parse(self.ours), parse(self.theirs)

    def both(self, kind):
        """The two values if both are of this Python class (and no errors), else None."""
        a, b = self.values()
        if isinstance(a, kind) and isinstance(b, kind):
            if not isinstance(a, Error) and not isinstance(b, Error):
                return a, b
        return None


def explain(case):
    """The names of the allowed differences, as a set."""
    for check in CHECKS.get(case.name, ()):
        found = check(case)
        if found:
            return {found}
    if is_negative_zero(case):
        return {NEGATIVE_ZERO}
    raise Unexplained("no difference is allowed here")


def explain_exec(ours, theirs, queue, n_expired):
    """EXEC: each element against its command."""
    if not (ours.startswith(b"*") and theirs.startswith(b"*")):
        raise Unexplained("one transaction ran")
    head, head_of_redis = ours.partition(b"\r\n")[0], theirs.partition(b"\r\n")[0]
    if head != head_of_redis or head != b"*%d" % len(queue):
        raise Unexplained(f"{len(queue)} commands were queued")
    mine = split_replies(ours[len(head) + 2 :])
    other = split_replies(theirs[len(head) + 2 :])
    names = set()
    for i, (words, a, b) in enumerate(zip(queue, mine, other)):
        if a != b:
            following = (queue[i + 1], other[i + 1]) if i + 1 < len(queue) else None
            try:
                names |= explain(Case(words, a, b, following, n_expired))
            except Unexplained as fault:
                raise Unexplained(
                    f"{fault}; in EXEC, {words!r}:\n"
                    f"  yonder: {shorten(a)}\n  redis:  {shorten(b)}\n"
                    f"  {first_difference(a, b)}"
                ) from None
    return names


# ---- checks: each returns the name that it proves, or None -----------------------


def is_clock(case):
    numbers = case.both(int)
    slack = CLOCK_SLACK_S * (1000 if case.name.startswith(b"P") else 1)
    if numbers and is_near(*numbers, slack):
        return CLOCK
    return None


def is_idle_time(case):
    """Redis shares the objects of small integers: those idle since it started."""
    if case.words[1].upper() != b"IDLETIME":
        return None
    numbers = case.both(int)
    if numbers is None:
        return None
    ours, theirs = numbers
    if abs(ours - theirs) <= CLOCK_SLACK_S or ours <= CLOCK_SLACK_S < theirs:
        return CLOCK
    return None


def is_reference_count(case):
    if case.words[1].upper() == b"REFCOUNT" and case.both(int):
        return REFERENCES
    return None


def is_encoding(case):
    """Redis keeps a set that was large once in the form of large ones."""
    if case.words[1].upper() != b"ENCODING":
        return None
    if case.values() == (b"listpack", b"skiplist"):
        return ENCODING
    return None


def members_of(reply):
    """{member: score text} of ZRANGE key 0 -1 WITHSCORES."""
    value = parse(reply)
    if value and isinstance(value[0], list):
        return {pair[0]: float(pair[1]) for pair in value}
    return {value[i]: float(value[i + 1]) for i in range(0, len(value), 2)}


def picks_of(value, with_scores):
    """A reply of ZRANDMEMBER as a list of (member, score or None)."""
    if not isinstance(value, list):
        return [(value, None)]
    if not with_scores:
        return [(member, None) for member in value]
    if value and isinstance(value[0], list):
        return [(pair[0], float(pair[1])) for pair in value]
    return [(value[i], float(value[i + 1])) for i in range(0, len(value), 2)]


def is_random_member(case):
    values = case.both((bytes, list))
    if values is None or type(values[0]) is not type(values[1]):
        return None
    mine, other = values
    if isinstance(mine, list) and len(mine) != len(other):
        return None
    picks = picks_of(mine, len(case.words) > 3)
    if len(case.words) > 2 and int(case.words[2]) > 0:
        if len({member for member, _ in picks}) != len(picks):
            return None  # a positive count takes no member twice
    probe = case.following
    if probe and probe[0] == [b"ZRANGE", case.words[1], b"0", b"-1", b"WITHSCORES"]:
        members = members_of(probe[1])
        for member, score in picks:
            if member not in members or score not in (None, members[member]):
                return None
    return PICK


def is_random_key(case):
    names = case.both(bytes)
    if names is None:
        return None
    probe = case.following
    if probe and probe[0] == [b"KEYS", b"*"] and names[0] not in parse(probe[1]):
        return None
    return PICK


def is_same_content(case):
    lists = case.both(list)
    if lists and sorted(lists[0]) == sorted(lists[1]):
        return CONTENT
    return None


def is_page(case):
    lists = case.both(list)
    if lists is None:
        return None
    cursor, elements = lists[0]
    if not isinstance(cursor, bytes) or not cursor.isdigit():
        return None
    if case.name == b"ZSCAN":
        if len(elements) % 2:
            return None
        for score in elements[1::2]:
            float(score)
    if not all(isinstance(element, bytes) for element in elements):
        return None
    return PAGE


def is_odd_cursor(case):
    cursor = case.words[1 if case.name == b"SCAN" else 2]
    if case.ours != b"-ERR invalid cursor\r\n":
        return None
    if b"\x00" in cursor:
        return CURSOR_NUL
    return CURSOR if cursor.startswith(b"-") else None


def is_size(case):
    if case.words[1].upper() != b"USAGE":
        return None
    ours, theirs = case.values()
    if ours is None and case.n_expired and type(theirs) is int:
        return EXPIRED
    numbers = case.both(int)
    return SIZES if numbers and min(numbers) > 0 else None


def is_getkeys(case):
    """COMMAND GETKEYS: a command alone, ZRANK with WITHSCORE, and a number of keys that is
    none, of which Redis reads the first digits."""
    inner = case.words[2:]
    if len(inner) == 1 and case.theirs.startswith(b"-ERR wrong number of arguments for"):
        return GETKEYS_ALONE
    if inner[0].upper() in (b"ZRANK", b"ZREVRANK") and len(inner) > 3:
        return NEWER
    number = inner[2 if b"STORE" in inner[0].upper() else 1]
    is_number = number.isdigit() and number == b"%d" % int(number)
    if inner[0].upper().startswith(b"Z") and not is_number:
        return GETKEYS_NUMBER
    return None


def is_payload(case):
    payloads = case.both(bytes)
    if payloads and all(map(is_sealed, payloads)):
        return PAYLOAD
    return None


def is_expired_and_counted(case):
    numbers = case.both(int)
    if numbers and abs(numbers[0] - numbers[1]) <= case.n_expired:
        return EXPIRED
    return None


def is_newer(case):
    return NEWER if is_newer_option(case.words, case.ours, case.theirs) else None


def is_refused_end(word):
    """Does 8.0 refuse this end of a score range, where 7.0 takes it?"""
    text = word[1:] if word.startswith(b"(") else word
    return text[:1].isspace() or b"x" in text.lower()


def is_score_end(case):
    if case.ours != b"-ERR min or max is not a float\r\n":
        return None
    return SCORE_END if any(map(is_refused_end, case.words[2:5])) else None


def is_timeout(case):
    timeout = float(case.words[1 if case.name == b"BZMPOP" else -1])
    if (
        timeout * 1000 > 2**63
        and case.ours == b"-ERR timeout is out of range\r\n"
        and case.theirs == b"-ERR timeout is negative\r\n"
    ):
        return TIMEOUT
    return None


def is_range_end(case):
    """7.0 takes an end before the first byte for the first byte."""
    if len(case.words) != 4 or case.ours != EMPTY_BULK:
        return None
    start, end = int(case.words[2]), int(case.words[3])
    if end < -1 and start <= 0 and case.theirs.startswith(b"$1\r\n"):
        return RANGE_END
    return None


def is_negative_zero(case):
    """The score of -0: `0` in Redis's small sets, else `-0`."""
    if not case.name.startswith((b"Z", b"BZ")):
        return False

    def plain(raw):
        return raw.replace(b"$2\r\n-0\r\n", b"$1\r\n0\r\n").replace(b",-0\r\n", b",0\r\n")

    return plain(case.ours) == plain(case.theirs)


CHECKS = {
    b"TTL": [is_clock],
    b"PTTL": [is_clock],
    b"EXPIRETIME": [is_clock],
    b"PEXPIRETIME": [is_clock],
    b"OBJECT": [is_idle_time, is_encoding, is_reference_count],
    b"ZRANDMEMBER": [is_random_member],
    b"RANDOMKEY": [is_random_key],
    b"KEYS": [is_same_content],
    b"SCAN": [is_odd_cursor, is_page],
    b"ZSCAN": [is_odd_cursor, is_page],
    b"MEMORY": [is_size],
    b"COMMAND": [is_getkeys],
    b"DUMP": [is_payload],
    b"DBSIZE": [is_expired_and_counted],
    b"ZRANK": [is_newer],
    b"ZREVRANK": [is_newer],
    b"ZRANGE": [is_score_end],
    b"ZCOUNT": [is_score_end],
    b"ZRANGEBYSCORE": [is_score_end],
    b"ZREVRANGEBYSCORE": [is_score_end],
    b"BZPOPMIN": [is_timeout],
    b"BZPOPMAX": [is_timeout],
    b"BZMPOP": [is_timeout],
    b"GETRANGE": [is_range_end],
    b"SUBSTR": [is_range_end],
}
