"""Faults that a server could have, put between the test and the oracle, to show that the
differential test finds them: each changes some requests or some replies of one side."""
import re

from beside import Client


class FaultyClient(Client):
    """Subclasses set `request(words) -> words` or `reply(words, raw) -> raw`."""

    @staticmethod
    def request(words):
        return words

    @staticmethod
    def reply(words, raw):
        return raw

    def ask(self, commands):
        raws = super().ask([self.request(words) for words in commands])
        return [self.reply(words, raw) for words, raw in zip(commands, raws)]


def drops(name, *options):
    """A command that takes options and does not obey them."""

    def request(words):
        if words[0].upper() != name:
            return words
        kept = [word for word in words[1:] if word.upper() not in options]
        return [words[0], *kept]

    return request


def becomes(name, other):
    def request(words):
        return [other, *words[1:]] if words[0].upper() == name else words

    return request


def does_nothing(name):
    """Answers right, if it may, and changes nothing."""

    def request(words):
        return [b"EXISTS", b"nope"] if words[0].upper() == name else words

    return request


def one_more(name):
    """An integer is too high by one."""

    def reply(words, raw):
        if words[0].upper() == name and re.match(rb":\d+\r\n\Z", raw):
            return b":%d\r\n" % (int(raw[1:]) + 1)
        return raw

    return reply


def replaced(name, old, new):
    def reply(words, raw):
        return raw.replace(old, new) if words[0].upper() == name else raw

    return reply


def open_bounds_are_closed(words):
    if words[0].upper() not in (b"ZCOUNT", b"ZRANGEBYSCORE", b"ZREMRANGEBYSCORE"):
        return words
    return words[:2] + [word.lstrip(b"(") or word for word in words[2:4]] + words[4:]


def last_member_is_left(words, raw):
    """ZRANGE loses the last element of long replies."""
    if words[0].upper() != b"ZRANGE" or b"*2\r\n" in raw:
        return raw
    count = re.match(rb"\*(\d\d\d)\r\n", raw)
    if count is None:
        return raw
    return b"*%d%s" % (int(count[1]) - 1, raw[4:].rpartition(b"$")[0])


def watch_sees_nothing(words):
    return [b"PING"] if words[0].upper() == b"WATCH" and len(words) > 1 else words


def forgets_expiry(words):
    """SETRANGE, APPEND and INCR drop the time to live: here, as a SET without it."""
    return [b"SET", *words[1:3]] if words[0].upper() == b"APPEND" else words


def counts_far_too_high(words):
    is_count = words[0].upper() == b"ZPOPMIN" and len(words) == 3
    return words[:-1] + [b"1000"] if is_count else words


def stays_in_database(words):
    return [b"SELECT", b"0"] if words[0].upper() == b"SELECT" else words


def gives_a_stranger(words, raw):
    """ZRANDMEMBER without a count picks what is no member."""
    if words[0].upper() == b"ZRANDMEMBER" and len(words) == 2 and raw.startswith(b"$"):
        return b"$8\r\nstranger\r\n"
    return raw


def gives_one_twice(words, raw):
    if words[0].upper() == b"ZRANDMEMBER" and words[2:] == [b"2"]:
        parts = raw.split(b"\r\n")
        if parts[0] == b"*2":
            return b"\r\n".join([parts[0], *parts[1:3], *parts[1:3], b""])
    return raw


def loses_a_key(words, raw):
    """KEYS * and every iteration lose a key."""
    if words[0].upper() in (b"KEYS", b"SCAN") and b"$2\r\nz1\r\n" in raw:
        head, _, tail = raw.partition(b"$2\r\nz1\r\n")
        return head + b"$2\r\nz0\r\n" + tail
    return raw


FAULTS = {
    # requests
    "ZADD GT is not obeyed": drops(b"ZADD", b"GT"),
    "ZADD CH is not obeyed": drops(b"ZADD", b"CH"),
    "ZADD XX is not obeyed": drops(b"ZADD", b"XX"),
    "ZRANGE REV is not obeyed": drops(b"ZRANGE", b"REV"),
    "EXPIRE LT is not obeyed": drops(b"EXPIRE", b"LT"),
    "PEXPIREAT GT is not obeyed": drops(b"PEXPIREAT", b"GT"),
    "SET KEEPTTL is not obeyed": drops(b"SET", b"KEEPTTL"),
    "SET GET is not obeyed": drops(b"SET", b"GET"),
    "GETEX PERSIST is not obeyed": drops(b"GETEX", b"PERSIST"),
    "COPY REPLACE is not obeyed": drops(b"COPY", b"REPLACE"),
    "ZRANGEBYSCORE is ZREVRANGEBYSCORE": becomes(b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE"),
    "ZREMRANGEBYLEX counts only": becomes(b"ZREMRANGEBYLEX", b"ZLEXCOUNT"),
    "ZREMRANGEBYSCORE counts only": becomes(b"ZREMRANGEBYSCORE", b"ZCOUNT"),
    "ZINTERSTORE is ZUNIONSTORE": becomes(b"ZINTERSTORE", b"ZUNIONSTORE"),
    "ZDIFF is ZINTER": becomes(b"ZDIFF", b"ZINTER"),
    "RENAMENX is RENAME": becomes(b"RENAMENX", b"RENAME"),
    "MSETNX is MSET": becomes(b"MSETNX", b"MSET"),
    "GETDEL is GET": becomes(b"GETDEL", b"GET"),
    "PEXPIRE takes seconds": becomes(b"PEXPIRE", b"EXPIRE"),
    "DECR is INCR": becomes(b"DECR", b"INCR"),
    "PERSIST does nothing": does_nothing(b"PERSIST"),
    "MOVE does nothing": does_nothing(b"MOVE"),
    "SWAPDB does nothing": does_nothing(b"SWAPDB"),
    "FLUSHALL does nothing": does_nothing(b"FLUSHALL"),
    "UNWATCH is DISCARD": becomes(b"UNWATCH", b"DISCARD"),
    "DISCARD is EXEC": becomes(b"DISCARD", b"EXEC"),
    "open bounds are closed": open_bounds_are_closed,
    "WATCH sees nothing": watch_sees_nothing,
    "APPEND forgets what there was": forgets_expiry,
    "ZPOPMIN pops too many": counts_far_too_high,
    "SELECT stays in the database": stays_in_database,
    # replies
    "ZCARD counts one more": one_more(b"ZCARD"),
    "ZRANK counts one more": one_more(b"ZRANK"),
    "ZINTERCARD counts one more": one_more(b"ZINTERCARD"),
    "TOUCH counts one more": one_more(b"TOUCH"),
    "TTL of a key without one": replaced(b"TTL", b":-1\r\n", b":-2\r\n"),
    "a null of RESP2 in RESP3": replaced(b"ZSCORE", b"_\r\n", b"$-1\r\n"),
    "an integer for a double": replaced(b"ZINCRBY", b",", b":"),
    "an error in other words": replaced(b"EXEC", b"previous errors.", b"errors."),
    "WRONGTYPE becomes ERR": replaced(b"ZUNIONSTORE", b"-WRONGTYPE", b"-ERR"),
    "EXEC runs nothing": replaced(b"EXEC", b"+PONG", b"+OK"),
    "ZRANGE loses the last": last_member_is_left,
    "ZRANDMEMBER picks a stranger": gives_a_stranger,
    "ZRANDMEMBER picks one twice": gives_one_twice,
    "KEYS and SCAN lose a key": loses_a_key,
}


def faulty_client(fault):
    """A class of connections with this fault."""
    is_reply = fault.__code__.co_argcount == 2
    return type(
        "FaultyClient",
        (FaultyClient,),
        {"reply" if is_reply else "request": staticmethod(fault)},
    )
