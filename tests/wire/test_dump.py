"""DUMP and RESTORE: what one server writes the other reads, for every form that a value has in
the format; small values are the same bytes. Damaged payloads are refused and change nothing."""
import os
import random
import struct
import time

import pytest

from resp import Error

SEED = int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**9)
WRONG_SUM = b"ERR DUMP payload version or checksum are wrong"
BAD_DATA = b"ERR Bad data format"

POLYNOMIAL = 0x95AC9329AC4BC9B5  # 0xad93d23594c935a9 reflected


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        yield byte


TABLE = list(_table())


def crc64(data):
    crc = 0
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def payload(value, version=10):
    data = value + struct.pack("<H", version)
    return data + struct.pack("<Q", crc64(data))


STRINGS = [b"", b"v", b"0", b"-1", b"127", b"128", b"-128", b"-129", b"32767", b"32768", b"-32769",
           b"2147483647", b"2147483648", b"-2147483648", b"-2147483649", b"9223372036854775807",
           b"-0", b"007", b"1e3", b"x" * 63, b"x" * 64, b"ab" * 5000, b"\x00\xff\r\n",
           bytes(range(256)) * 3, b"y" * 16383, b"y" * 16384, b"z" * 70000]


@pytest.fixture
def pair(server, redis):
    with server.connect() as ours, redis.connect() as theirs:
        theirs.command("CONFIG", "SET", "rdbcompression", "no")
        yield ours, theirs
        for name, value in (("zset-max-listpack-entries", 128), ("zset-max-listpack-value", 64)):
            theirs.command("CONFIG", "SET", name, value)
        theirs.command("CONFIG", "SET", "rdbcompression", "yes")


def random_strings(rng):
    yield from STRINGS
    for _ in range(40):
        yield rng.randbytes(rng.choice([1, 10, 30, 100, 1000, 66000]))
        yield b"%d" % rng.randint(-(2 ** rng.randint(1, 70)), 2 ** rng.randint(1, 70))
        yield bytes(rng.choices(b"ab", k=rng.choice([21, 100, 5000, 200000])))


def test_strings_are_the_same_bytes(pair):
    ours, theirs = pair
    for text in random_strings(random.Random(SEED)):
        for conn in pair:
            conn.command("SET", "s", text)
        assert ours.raw("DUMP", "s") == theirs.raw("DUMP", "s"), text[:60]
    assert ours.command("DUMP", "none") is None


@pytest.mark.parametrize("compression", ["yes", "no"])
def test_strings_of_redis_are_read(pair, compression):
    ours, theirs = pair
    theirs.command("CONFIG", "SET", "rdbcompression", compression)
    for text in random_strings(random.Random(SEED)):
        theirs.command("SET", "s", text)
        assert ours.command("RESTORE", "s", 0, theirs.command("DUMP", "s"), "REPLACE") == b"OK"
        assert ours.command("GET", "s") == text
        assert theirs.command("RESTORE", "t", 0, ours.command("DUMP", "s"), "REPLACE") == b"OK"
        assert theirs.command("GET", "t") == text


SCORES = [b"0", b"1", b"-1", b"inf", b"-inf", b"0.5", b"2.25", b"-3.75", b"1e300", b"1e-300", b"100",
          b"128", b"4095", b"4096", b"-4096", b"-4097", b"32767", b"32768", b"8388607", b"8388608",
          b"2147483648", b"4503599627370496", b"9007199254740993", b"4611686018427387904",
          b"5e18", b"1e19", b"3.141592653589793"]


def random_set(rng, n, longest):
    """Scores, and members that are texts or numbers."""
    members = {}
    while len(members) < n:
        kind = rng.randrange(4)
        if kind == 0:
            member = b"%d" % rng.randint(-(2 ** rng.randint(1, 66)), 2 ** rng.randint(1, 66))
        elif kind == 1:
            member = rng.randbytes(rng.randint(0, longest))
        elif kind == 2:
            member = b"m%d" % rng.randrange(10**6)
        else:
            member = bytes(rng.choices(b"ab", k=rng.randint(0, longest)))
        members[member] = rng.choice(
            [*SCORES, b"%d" % rng.randint(-(10**6), 10**15), repr(rng.uniform(-1e6, 1e6)).encode()])
    return members


def add(conn, key, members):
    conn.command("DEL", key)
    pairs = [word for member, score in members.items() for word in (score, member)]
    for i in range(0, len(pairs), 2000):
        conn.command("ZADD", key, *pairs[i : i + 2000])


def content(conn, key):
    # whole lists: also the order of members with equal scores
    words = conn.command("ZRANGE", key, 0, -1, "WITHSCORES")
    return [(words[i], float(words[i + 1])) for i in range(0, len(words), 2)]


def encoding_of(conn, key):
    return conn.command("OBJECT", "ENCODING", key)


@pytest.mark.parametrize("compression", ["yes", "no"])
@pytest.mark.parametrize("packed", [True, False])
def test_sets_go_both_ways(pair, packed, compression):
    ours, theirs = pair
    rng = random.Random(SEED)
    theirs.command("CONFIG", "SET", "rdbcompression", compression)
    if packed:
        theirs.command("CONFIG", "SET", "zset-max-listpack-entries", 100_000)
        theirs.command("CONFIG", "SET", "zset-max-listpack-value", 100_000)
    else:
        theirs.command("CONFIG", "SET", "zset-max-listpack-entries", 0)
    for n, longest in [(1, 5), (2, 70), (7, 200), (40, 20), (130, 64), (300, 5000), (3000, 30)]:
        members = random_set(rng, n, longest)
        add(theirs, "z", members)
        want = content(theirs, "z")
        assert ours.command("RESTORE", "z", 0, theirs.command("DUMP", "z"), "REPLACE") == b"OK"
        assert content(ours, "z") == want
        assert theirs.command("RESTORE", "y", 0, ours.command("DUMP", "z"), "REPLACE") == b"OK"
        assert content(theirs, "y") == want
        assert theirs.command("ZADD", "y", "7", "another") in (0, 1)


def test_small_sets_are_the_same_bytes(pair):
    """Scores whose texts are the same in every version: whole numbers, halves, infinities."""
    ours, theirs = pair
    rng = random.Random(SEED)
    for i in range(300):
        members = {
            member: rng.choice([*SCORES[:8], *SCORES[10:24], b"%d" % rng.randint(-(10**9), 10**15)])
            for member in random_set(rng, rng.choice([1, 2, 5, 20, 128]), rng.choice([5, 64]))
            if len(member) <= 64}
        for conn in pair:
            add(conn, "z", members)
        assert ours.raw("DUMP", "z") == theirs.raw("DUMP", "z"), (SEED, i)


def test_large_sets_are_the_same_bytes(pair):
    ours, theirs = pair
    rng = random.Random(SEED)
    for n, longest in [(129, 5), (1, 65), (500, 300), (20_000, 40)]:
        members = random_set(rng, n, longest)
        if n == 1:
            members = {b"m" * longest: b"0.1"}
        for conn in pair:
            add(conn, "z", members)
        assert ours.raw("DUMP", "z") == theirs.raw("DUMP", "z"), (SEED, n, longest)
        theirs.command("RESTORE", "y", 0, ours.command("DUMP", "z"), "REPLACE")
        assert encoding_of(theirs, "y") == encoding_of(theirs, "z")


def string(data):
    """A string as the format has it."""
    if len(data) < 64:
        return bytes([len(data)]) + data
    return b"\x80" + struct.pack(">I", len(data)) + data


def ziplist(elements, count=None):
    body, previous = b"", 0
    last = 10
    for element in elements:
        if isinstance(element, int):
            if 0 <= element <= 12:
                coded = bytes([0xF1 + element])
            elif -128 <= element < 128:
                coded = b"\xfe" + struct.pack("<b", element)
            elif -32768 <= element < 32768:
                coded = b"\xc0" + struct.pack("<h", element)
            elif -(2**23) <= element < 2**23:
                coded = b"\xf0" + struct.pack("<i", element)[:3]
            elif -(2**31) <= element < 2**31:
                coded = b"\xd0" + struct.pack("<i", element)
            else:
                coded = b"\xe0" + struct.pack("<q", element)
        elif len(element) < 64:
            coded = bytes([len(element)]) + element
        elif len(element) < 16384:
            coded = struct.pack(">H", 0x4000 | len(element)) + element
        else:
            coded = b"\x80" + struct.pack(">I", len(element)) + element
        head = bytes([previous]) if previous < 254 else b"\xfe" + struct.pack("<I", previous)
        last = 10 + len(body)
        previous = len(head) + len(coded)
        body += head + coded
    n = len(elements) if count is None else count
    return struct.pack("<IIH", 10 + len(body) + 1, last, n) + body + b"\xff"


def test_ziplists_are_read(pair):
    """What Redis wrote before 7.0; 7.0 reads it too."""
    rng = random.Random(SEED)
    numbers = [0, 12, 13, -1, 127, 128, -128, -129, 32768, -(2**23), 2**23, 2**31, -(2**31) - 1,
               2**62, -(2**63)]
    for _ in range(60):
        elements = []
        for n in range(rng.choice([1, 2, 10])):
            elements.append(rng.choice([rng.choice(numbers) + n * 1000 if n else rng.choice(numbers),
                                        b"m%d" % n * rng.choice([1, 20, 100, 9000])]))
            elements.append(rng.choice([rng.choice(numbers[:8]), b"0.5", b"inf", b"-1.25"]))
        names = [b"%d" % e if isinstance(e, int) else e for e in elements[::2]]
        if len(set(names)) < len(names):
            continue
        scores = [float(e) for e in elements[1::2]]
        order = sorted(range(len(names)), key=lambda i: (scores[i], names[i]))
        elements = [elements[2 * i + k] for i in order for k in (0, 1)]
        value = payload(b"\x0c" + string(ziplist(elements)), 9)
        for conn in pair:
            assert conn.command("RESTORE", "z", 0, value, "REPLACE") == b"OK"
        assert content(pair[0], "z") == content(pair[1], "z")
        assert content(pair[0], "z") == [(names[i], scores[i]) for i in order]


def test_old_sets_are_read(pair):
    """Type 3: scores as texts, in any order."""
    value = payload(b"\x03\x05" + b"\x01a\x03" + b"1.5" + b"\x01b\xfe" + b"\x01c\xff" + b"\xc0\x07\x02-1"
                    + b"\x01d\x04" + b"1e-5", 6)
    for conn in pair:
        assert conn.command("RESTORE", "z", 0, value) == b"OK"
        assert content(conn, "z") == [(b"c", float("-inf")), (b"7", -1.0), (b"d", 1e-5), (b"a", 1.5),
                                      (b"b", float("inf"))]


def zset(*pairs, count=None):
    body = b"".join(string(m) + struct.pack("<d", s) for m, s in pairs)
    return b"\x05" + bytes([len(pairs) if count is None else count]) + body


BAD_VALUES = {
    "nothing": b"",
    "type alone": b"\x00",
    "no set": b"\x05\x00",
    "count too high": zset((b"a", 1), count=2),
    "count too low": zset((b"a", 1), (b"b", 2), count=1),
    "huge count": b"\x05\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
    "NaN": zset((b"a", float("nan"))),
    "NaN as text": b"\x03\x01\x01a\xfd",
    "text that is NaN": b"\x03\x01\x01a\x03nan",
    "twice": zset((b"a", 1), (b"a", 1)),
    "twice with two scores": zset((b"a", 1), (b"b", 2), (b"a", 3)),
    "integer twice": b"\x05\x02\xc0\x07" + b"\0" * 8 + b"\x017" + b"\0" * 8,
    "string beyond the end": b"\x00\x05abc",
    "huge string": b"\x00\x81\x7f\xff\xff\xff\xff\xff\xff\xffabc",
    "unknown length": b"\x00\x82abc",
    "unknown kind of string": b"\x00\xc4abc",
    "compressed, too short": b"\x00\xc3\x04\x20\x00ab\x00",
    "compressed, before its start": b"\x00\xc3\x04\x05\x00a\x20\x05",
    "compressed, huge": b"\x00\xc3\x02\x81\x00\x00\x00\xff\x00\x00\x00\x00\x00a",
    "more behind the value": b"\x00\x01a\x00",
    "empty listpack": b"\x11\x07\x07\0\0\0\0\0\xff",
    "listpack of one": b"\x11\x0a\x0a\0\0\0\x01\0\x81a\x02\xff",
    "listpack with a wrong count": b"\x11\x0c\x0c\0\0\0\x04\0\x81a\x02\x01\x01\xff",
    "listpack with a wrong way back": b"\x11\x0c\x0c\0\0\0\x02\0\x81a\x03\x01\x01\xff",
    "listpack with a wrong length": b"\x11\x0c\x0d\0\0\0\x02\0\x81a\x02\x01\x01\xff",
    "listpack without an end": b"\x11\x0c\x0c\0\0\0\x02\0\x81a\x02\x01\x01\xfe",
    "listpack, score no number": b"\x11\x0d\x0d\0\0\0\x02\0\x81a\x02\x81b\x02\xff",
    "ziplist of one": b"\x0c" + string(ziplist([b"a"])),
    "ziplist with a wrong count": b"\x0c" + string(ziplist([b"a", 1], 4)),
    "ziplist, twice": b"\x0c" + string(ziplist([b"a", 1, b"a", 2])),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_values_are_refused(client, name):
    for key, options in (("new", []), ("old", ["REPLACE"])):
        client.command("SET", "old", "value", "EX", 1000)
        reply = client.command("RESTORE", key, 5000, payload(BAD_VALUES[name]), *options)
        assert isinstance(reply, Error) and reply == BAD_DATA
    assert client.command("GET", "old") == b"value"
    assert client.command("TTL", "old") > 900
    assert client.command("EXISTS", "new") == 0


def test_other_types_are_refused(pair):
    ours, theirs = pair
    theirs.command("RPUSH", "l", "a", "b")
    theirs.command("HSET", "h", "a", "b")
    theirs.command("SADD", "s", "a", "1")
    theirs.command("XADD", "x", "*", "a", "b")
    for key in "lhsx":
        reply = ours.command("RESTORE", "k", 0, theirs.command("DUMP", key))
        assert isinstance(reply, Error) and reply.startswith(BAD_DATA)


def test_every_bit_of_a_payload_counts(client):
    client.command("ZADD", "z", 1, "a", 2.5, "b")
    data = client.command("DUMP", "z")
    for i in range(8 * len(data)):
        broken = bytearray(data)
        broken[i // 8] ^= 1 << i % 8
        assert client.command("RESTORE", "k", 0, bytes(broken)) == WRONG_SUM
    for n in range(len(data)):
        assert client.command("RESTORE", "k", 0, data[:n]) == WRONG_SUM
    assert client.command("EXISTS", "k") == 0


def test_versions(client):
    """7.0 writes 10, 8.0 writes 12."""
    for version in range(13):
        assert client.command("RESTORE", "k", 0, payload(b"\x00\x01a", version), "REPLACE") == b"OK"
    assert client.command("RESTORE", "k", 0, payload(b"\x00\x01a", 13), "REPLACE") == WRONG_SUM
    assert client.command("RESTORE", "k", 0, payload(b"\x00\x01a", 80), "REPLACE") == WRONG_SUM


@pytest.mark.parametrize("resp", [2, 3])
def test_options_and_errors(server, redis, resp):
    """Random options and times on both servers: the same replies, the same keys afterwards."""
    rng = random.Random(SEED + resp)
    good, broken = payload(b"\x00\x01a"), b"x" * 20
    with server.connect(resp=resp) as ours, redis.connect(resp=resp) as theirs:
        for _ in range(1500):
            key = rng.choice(["a", "b", "z"])
            words = ["RESTORE", key, rng.choice(["0", "0", "100000", "-1", "x", "9223372036854775807",
                                                 "33177117420000", "1000"]),
                     rng.choice([good, good, good, broken, zset_payload, b"", nan_payload])]
            for _ in range(rng.randrange(4)):
                words += rng.choice([["REPLACE"], ["replace"], ["ABSTTL"], ["IDLETIME", "5"],
                                     ["IDLETIME", "-1"], ["FREQ", "255"], ["FREQ", "256"], ["FREQ", "x"],
                                     ["IDLETIME"], ["FOO"], ["IDLETIME", "x"], ["FREQ", "-1"]])
            if words[2] == "1000" and "ABSTTL" not in words:
                words[2] = "100000"
            assert ours.raw(*words) == theirs.raw(*words), (SEED, words)
            if rng.random() < 0.3:
                for check in (["TYPE", key], ["EXISTS", key], ["DEL", key]):
                    assert ours.raw(*check) == theirs.raw(*check), (SEED, words)


zset_payload = payload(zset((b"m", 1.5)))
nan_payload = payload(zset((b"m", float("nan"))))


def test_expiry(client):
    data = payload(b"\x00\x01a")
    now_ms = time.time_ns() // 10**6
    client.command("RESTORE", "k", 5000, data)
    assert 4000 < client.command("PTTL", "k") <= 5000
    client.command("RESTORE", "k", now_ms + 90_000, data, "ABSTTL", "REPLACE")
    assert 80_000 < client.command("PTTL", "k") <= 90_000
    client.command("RESTORE", "k", 0, data, "REPLACE")
    assert client.command("PTTL", "k") == -1
    assert client.command("RESTORE", "k", now_ms - 1, data, "ABSTTL", "REPLACE") == b"OK"
    assert client.command("EXISTS", "k") == 0


def test_large_values(pair):
    """In pieces, as they are: a string and a set of some megabytes, while the key changes."""
    ours, theirs = pair
    rng = random.Random(SEED)
    text = rng.randbytes(5_000_001)
    ours.command("SET", "s", text)
    data = ours.command("DUMP", "s")
    assert data == payload(b"\x00" + string(text))
    assert ours.command("RESTORE", "t", 100_000, data) == b"OK"
    assert ours.command("GET", "t") == text
    assert theirs.command("RESTORE", "t", 0, data) == b"OK"
    assert theirs.command("GET", "t") == text

    add(ours, "z", {b"member-%d" % i: b"%d.5" % (i * 7919 % 100_003) for i in range(100_000)})
    want = content(ours, "z")
    data = ours.command("DUMP", "z")
    assert data == payload(data[:-10])
    ours.command("DEL", "z")
    for conn in pair:
        assert conn.command("RESTORE", "y", 0, data) == b"OK"
        assert content(conn, "y") == want
