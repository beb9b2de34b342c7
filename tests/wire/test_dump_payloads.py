"""What DUMP gives, spoilt, to RESTORE of yonder-server and of redis-server 7.0.15 (which
runs with sanitize-dump-payload, else it checks little).

Both refuse the same, or both take it and hold the same value, or Redis alone takes it: then
it must be something that Redis itself would not write for that value (bytes that are left
over, scores that are no numbers, entries out of order).
"""
import collections
import random
import struct

import pytest

import servers
from differential import first_seed
from rdb_payload import body_of, seal, version_of
from resp import parse

N_PAYLOADS = 1500
STRING_TYPE = 0
ZSET_TYPES = (3, 5, 17)  # scores as text, scores as doubles, one listpack
BAD_CHECKSUM = b"-ERR DUMP payload version or checksum are wrong\r\n"
BAD_FORMAT = b"-ERR Bad data format"


@pytest.fixture(scope="module")
def both(session_starter):
    redis = session_starter.redis("--sanitize-dump-payload", "yes")
    if servers.subject_class() is servers.RedisServer:
        ours = session_starter.redis("--sanitize-dump-payload", "yes")
    else:
        ours = session_starter.subject("--coordinate-format", "fixed17")
    with ours.connect() as a, redis.connect() as b:
        yield a, b


def make_value(rng):
    """A command that makes the key `k`."""
    form = rng.randrange(6)
    if form == 0:
        number = rng.choice([0, -1, 127, 128, -129, 32768, 2**31, -(2**31) - 1, 10**15])
        return [b"SET", b"k", b"%d" % number]
    if form == 1:
        n = rng.choice([0, 1, 20, 63, 64, 100, 500])
        return [b"SET", b"k", bytes(rng.randrange(256) for _ in range(n))]
    if form == 2:
        return [b"SET", b"k", b"abc" * rng.choice([5, 8, 100, 7000])]
    words = [b"ZADD", b"k"]
    for i in range(rng.choice([1, 2, 3, 10, 30] if form < 5 else [130, 200])):
        words += [
            rng.choice(
                [b"%d" % rng.randint(-300, 100_000), b"0.1", repr(rng.random()).encode()]
                + [b"inf", b"-inf", b"1e300"]
            ),
            rng.choice(
                [b"%d" % rng.randint(-(2**40), 2**40), b"%d" % rng.randint(0, 200)]
                + [b"m" * rng.choice([1, 2, 63, 64, 65, 300]), b"w%d" % i]
            ),
        ]
    return words


def spoil(rng, body):
    """Changes some bytes, more often those of the head."""
    body = bytearray(body)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if not body:
            break
        at = rng.randrange(len(body) if rng.random() < 0.5 else min(len(body), 12))
        form = rng.randrange(6)
        if form <= 1:
            near = [(body[at] + 1) % 256, (body[at] - 1) % 256, rng.randrange(256)]
            body[at] = rng.choice([0, 1, 0xFF, 0x7F, 0x80, *near])
        elif form == 2:
            del body[at]
        elif form == 3:
            body.insert(at, rng.randrange(256))
        elif form == 4:
            del body[at:]
        else:
            body += bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
    return bytes(body)


def is_known_type(body):
    return bool(body) and body[0] in (STRING_TYPE, *ZSET_TYPES)


def is_vast(body):
    """A set of millions of members, it says: Redis would take the memory first."""
    return body[0] in ZSET_TYPES[:2] and body[1:2] >= b"\x80" and body[1:2] < b"\xc0"


def content(conn, key):
    """(type, value): a set as {member: score}."""
    kind = conn.command("TYPE", key)
    if kind == b"string":
        return kind, conn.command("GET", key)
    pairs = conn.command("ZRANGE", key, "0", "-1", "WITHSCORES")
    return kind, {pairs[i]: float(pairs[i + 1]) for i in range(0, len(pairs), 2)}


def rewritten(redis, key):
    """What Redis writes for the value that it holds, or None if it cannot hold it."""
    kind, value = content(redis, key)
    redis.command("DEL", "again")
    if kind == b"string":
        redis.command("SET", "again", value)
    elif kind == b"zset":
        words = [w for member, score in value.items() for w in (repr(score), member)]
        redis.command("ZADD", "again", *words)
    payload = redis.command("DUMP", "again")
    return body_of(payload) if payload else None


def compare(both, body, version):
    """Sends a payload to both; returns the name of what happened."""
    ours, redis = both
    payload = seal(body, version)
    mine = ours.raw("RESTORE", "t", "0", payload, "REPLACE")
    if not is_known_type(body):
        assert mine.startswith(BAD_FORMAT), payload
        return "other type"
    if is_vast(body):
        assert mine.startswith(BAD_FORMAT), payload
        return "vast"
    other = redis.raw("RESTORE", "t", "0", payload, "REPLACE")
    if mine.startswith(BAD_FORMAT) and other.startswith(BAD_FORMAT):
        return "both refuse"
    if mine == b"+OK\r\n" and other == b"+OK\r\n":
        assert content(ours, "t") == content(redis, "t"), payload
        return "both take"
    assert mine.startswith(BAD_FORMAT) and other == b"+OK\r\n", (payload, mine, other)
    assert rewritten(redis, "t") != body, f"refused, but right: {payload!r}"
    return "Redis alone takes"


def test_spoilt_payloads(both):
    seed = first_seed()
    print(f"seed {seed}")
    rng, counts = random.Random(seed), collections.Counter()
    for _ in range(N_PAYLOADS):
        words = make_value(rng)
        source = rng.choice(both)
        if rng.random() < 0.3:
            both[1].command("CONFIG", "SET", "rdbcompression", rng.choice(["no", "yes"]))
        for conn in both:
            conn.command("DEL", "k")
            conn.command(*words)
        payload = source.command("DUMP", "k")
        version = rng.choice([version_of(payload), 1, 5, 9])
        body = body_of(payload)
        assert compare(both, body, version) == "both take"
        counts[compare(both, spoil(rng, body), version)] += 1
    both[1].command("CONFIG", "SET", "rdbcompression", "yes")
    print(dict(counts))


def test_wrong_checksums_and_versions(both):
    """Without the right checksum nothing is looked at."""
    rng = random.Random(1)
    for _ in range(300):
        both[0].command("DEL", "k")
        both[0].command(*make_value(rng))
        payload = bytearray(both[0].command("DUMP", "k"))
        payload[rng.randrange(len(payload))] ^= 1 << rng.randrange(8)
        for conn in both:
            assert conn.raw("RESTORE", "t", "0", bytes(payload), "REPLACE") == BAD_CHECKSUM
    body = b"\x00\x01x"
    for version, is_right in ((1, True), (10, True), (12, None), (9999, False)):
        replies = [
            conn.raw("RESTORE", "t", "0", seal(body, version), "REPLACE") for conn in both
        ]
        if is_right is None:  # of 8.0, too new for 7.0
            assert replies[1] == BAD_CHECKSUM
        else:
            assert replies == [b"+OK\r\n" if is_right else BAD_CHECKSUM] * 2


def test_scores_and_counts(both):
    """A NaN, a member twice, more or fewer members than announced, no members."""

    def entry(member, score):
        return bytes([len(member)]) + member + struct.pack("<d", score)

    nan, one, two = float("nan"), entry(b"a", 1.0), entry(b"b", 2.0)
    for body in (
        b"\x05\x01" + entry(b"a", nan),
        b"\x05\x02" + one + one,
        b"\x05\x03" + one + two,
        b"\x05\x00",
        b"\x03\x01\x01a\xfd",  # a NaN as text
    ):
        for conn in both:
            reply = conn.raw("RESTORE", "t", "0", seal(body), "REPLACE")
            assert reply.startswith(BAD_FORMAT), body
    # Left over; Redis looks at no more than it needs.
    reply = both[0].raw("RESTORE", "t", "0", seal(b"\x05\x01" + one + two), "REPLACE")
    assert reply.startswith(BAD_FORMAT)
    # As text, out of order, and infinite: right.
    body = b"\x03\x04\x01c\xfe\x01b\x012\x01a\x03-.5\x01d\xff"
    for conn in both:
        assert conn.raw("RESTORE", "t", "0", seal(body), "REPLACE") == b"+OK\r\n"
        pairs = parse(conn.raw("ZRANGE", "t", "0", "-1", "WITHSCORES"))
        assert pairs == [b"d", b"-inf", b"a", b"-0.5", b"b", b"2", b"c", b"inf"]
