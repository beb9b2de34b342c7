"""Replies without one right value, checked by what they promise: ZSCAN, SCAN, KEYS,
TIME, INFO, COMMAND, CLIENT, CONFIG. Also BYPOLYGON and the shortest texts, which Redis
7.0 does not know."""
import decimal
import math
import os
import random
import re
import time

import pytest

import cases
import generate
import geo_oracle
import servers
from cases import bytes_table
from resp import NULL_ARRAY, Double, Error, Map, Status

SEED = int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**9)


@pytest.fixture
def rng(request):
    print(f"seed {SEED}")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def oracle(redis):
    with redis.connect() as conn:
        yield conn


# ---- scans ----------------------------------------------------------------------


def scan_step(client, cursor, *words, key=None):
    head = ["ZSCAN", key] if key else ["SCAN"]
    reply = client.command(*head, cursor, *words)
    assert type(reply) is list and len(reply) == 2
    assert type(reply[0]) is bytes and re.fullmatch(rb"0|[1-9][0-9]*", reply[0])
    return reply


def scan_all(client, *words, key=None):
    cursor, found, steps = b"0", [], 0
    while True:
        cursor, part = scan_step(client, cursor, *words, key=key)
        found += part
        steps += 1
        assert steps < 200_000
        if cursor == b"0":
            return found, steps


@pytest.mark.parametrize("n", [0, 1, 100, 128, 129, 1000, 20_000])
def test_zscan_of_a_resting_set(client, n, rng):
    members = {b"m%d" % i: float(rng.randrange(2**52)) for i in range(n)}
    client.batch([[b"ZADD", b"k", b"%d" % score, m] for m, score in members.items()])
    found, steps = scan_all(client, "COUNT", 100, key=b"k")
    assert {found[i]: float(found[i + 1]) for i in range(0, len(found), 2)} == members
    assert len(found) == 2 * n
    assert steps <= 1 + n // 20


@pytest.mark.parametrize("n", [50, 129, 3000])
def test_zscan_finds_every_member_that_stays(client, n, rng):
    """Members that are there from the first call to the last are handed out, whatever
    else is added, moved and removed between the calls."""
    for _ in range(4):
        client.command("DEL", "k")
        stay = [b"stay%d" % i for i in range(n)]
        goers = [b"go%d" % i for i in range(n)]
        client.batch(
            [[b"ZADD", b"k", b"%d" % rng.randrange(2**52), m] for m in stay + goers]
        )
        cursor, found = b"0", set()
        for step in range(100_000):
            cursor, part = scan_step(
                client, cursor, "COUNT", rng.choice([1, 10, 50]), key=b"k"
            )
            found |= set(part[::2])
            if cursor == b"0":
                break
            changes = []
            for _ in range(rng.choice([0, 5, 200])):
                kind = rng.random()
                if kind < 0.4:  # move one that stays
                    changes.append(
                        [b"ZADD", b"k", b"%d" % rng.randrange(2**52), rng.choice(stay)]
                    )
                elif kind < 0.7:
                    changes.append([b"ZREM", b"k", rng.choice(goers)])
                else:
                    changes.append(
                        [
                            b"GEOADD",
                            b"k",
                            b"%.6f" % rng.uniform(-180, 180),
                            b"%.6f" % rng.uniform(-85, 85),
                            b"new%d" % rng.randrange(10 * n),
                        ]
                    )
            client.batch(changes)
        assert cursor == b"0"
        assert set(stay) <= found


@pytest.mark.parametrize("n", [50, 1000])
def test_zscan_scores_in_fixed17(server, client, oracle, rng, n):
    """The text of each score is that of Redis 7.0, which differs by the size of the
    set."""
    scores = [generate.odd_score(rng) for _ in range(n)]
    client.command("CONFIG", "SET", "coordinate-format", "fixed17")
    try:
        for conn in (client, oracle):
            conn.batch(
                [
                    [b"ZADD", b"k", repr(score), b"%d" % i]
                    for i, score in enumerate(scores)
                ]
            )
        pairs = []
        for conn in (client, oracle):
            found, _ = scan_all(conn, "COUNT", 100, key=b"k")
            pairs.append(sorted(zip(found[::2], found[1::2])))
        assert pairs[0] == pairs[1]
    finally:
        client.command("CONFIG", "SET", "coordinate-format", "shortest")


def test_zscan_scores_by_size_of_the_set(client, rng):
    """Shortest in a small set, 17 digits in a large one, in Redis 8 as in 7."""
    scores = [generate.odd_score(rng) for _ in range(500)] + [0.1, 166274.15156960039]
    for n, text in ((100, shortest), (len(scores), lambda score: b"%.17g" % score)):
        client.command("DEL", "k")
        chosen = scores[-n:]
        client.batch(
            [[b"ZADD", b"k", repr(score), b"%d" % i] for i, score in enumerate(chosen)]
        )
        found, _ = scan_all(client, key=b"k")
        texts = dict(zip(found[::2], found[1::2]))
        for i, score in enumerate(chosen):
            assert texts[b"%d" % i] == text(score)


def test_what_counts_as_small_is_configured(client):
    client.command("ZADD", "k", "0.1", "a", "0.2", "b")
    for entries, text in ((2, b"0.1"), (1, b"%.17g" % 0.1)):
        client.command("CONFIG", "SET", "zset-max-listpack-entries", entries)
        found, _ = scan_all(client, key=b"k")
        assert dict(zip(found[::2], found[1::2]))[b"a"] == text
    client.command("CONFIG", "SET", "zset-max-listpack-entries", 128)


def test_zscan_match_and_count(client):
    client.batch([[b"ZADD", b"k", b"%d" % i, b"m%d" % i] for i in range(500)])
    found, _ = scan_all(client, "MATCH", "m1?", key=b"k")
    assert sorted(found[::2]) == [b"m1%d" % i for i in range(10)]
    assert scan_all(client, "MATCH", "nothing*", "COUNT", 7, key=b"k")[0] == []


def test_zscan_errors_are_those_of_redis(client, oracle):
    for conn in (client, oracle):
        conn.command("SET", "s", "x")
        conn.command("ZADD", "k", "1.5", "a", "3", "b")
    for words in (
        ["ZSCAN", "k"],
        ["ZSCAN", "k", "x"],
        ["ZSCAN", "k", "0", "COUNT"],
        ["ZSCAN", "k", "0", "COUNT", "0"],
        ["ZSCAN", "k", "0", "COUNT", "x"],
        ["ZSCAN", "k", "0", "FOO"],
        ["ZSCAN", "s", "0"],
        ["ZSCAN", "nokey", "0"],
        ["ZSCAN", "k", "0"],
        ["ZSCAN", "k", "0", "match", "a*", "count", "10"],
        ["ZSCAN", "k", "18446744073709551616"],
        ["SCAN"],
        ["SCAN", "x"],
        ["SCAN", "0", "COUNT", "0"],
        ["SCAN", "0", "TYPE"],
        ["SCAN", "0", "BAR", "1"],
    ):
        assert client.raw(*words) == oracle.raw(*words), words


def test_negative_cursor_is_refused(client):
    """As Redis 8 has it; 7.0 wraps it round."""
    client.command("ZADD", "k", "1", "a")
    assert client.command("ZSCAN", "k", "-1") == Error(b"ERR invalid cursor")
    assert client.command("SCAN", "-1") == Error(b"ERR invalid cursor")


def test_scan_finds_every_key_that_stays(client, rng):
    stay = [b"stay%d" % i for i in range(1500)]
    client.batch([[b"SET", key, b"1"] for key in stay])
    for _ in range(3):
        client.batch([[b"SET", b"go%d" % i, b"1"] for i in range(1500)])
        cursor, found = b"0", set()
        while True:
            cursor, part = scan_step(client, cursor, "COUNT", rng.choice([1, 10, 100]))
            found |= set(part)
            if cursor == b"0":
                break
            client.batch(
                [
                    rng.choice(
                        [
                            [b"DEL", b"go%d" % rng.randrange(1500)],
                            [b"SET", b"new%d" % rng.randrange(9000), b"1"],
                        ]
                    )
                    for _ in range(rng.choice([0, 1, 300]))
                ]
            )
        assert set(stay) <= found


def test_scan_type_and_match(client):
    client.batch(
        [[b"SET", b"s%d" % i, b"1"] for i in range(50)]
        + [[b"ZADD", b"z%d" % i, b"1", b"a"] for i in range(50)]
    )
    assert sorted(scan_all(client, "TYPE", "zset")[0]) == sorted(
        b"z%d" % i for i in range(50)
    )
    assert sorted(scan_all(client, "TYPE", "string", "MATCH", "?1*")[0]) == sorted(
        [b"s1"] + [b"s1%d" % i for i in range(10)]
    )
    assert client.command("DBSIZE") == 100


# ---- patterns ---------------------------------------------------------------------


def glob(pattern, text):
    """Whether a pattern matches: * ? [a-z] [^x] and \\c, written out slowly."""
    if not pattern:
        return not text
    head = pattern[0:1]
    if head == b"*":
        return any(glob(pattern[1:], text[i:]) for i in range(len(text) + 1))
    if head == b"[":
        fits, rest = in_class(pattern[1:], text)
        return fits and glob(rest, text[1:])
    if head == b"\\" and len(pattern) > 1:
        pattern = pattern[1:]
    elif head == b"?":
        return bool(text) and glob(pattern[1:], text[1:])
    return text[:1] == pattern[:1] and glob(pattern[1:], text[1:])


def in_class(pattern, text):
    if not text:
        return False, b""
    inverted = pattern[:1] == b"^"
    at, fits, c = int(inverted), False, text[0]
    while at < len(pattern) and pattern[at : at + 1] != b"]":
        if pattern[at : at + 1] == b"\\" and at + 1 < len(pattern):
            at += 1
            fits |= pattern[at] == c
        elif pattern[at + 1 : at + 2] == b"-" and at + 2 < len(pattern):
            low, high = sorted((pattern[at], pattern[at + 2]))
            fits |= low <= c <= high
            at += 2
        else:
            fits |= pattern[at] == c
        at += 1
    return fits != inverted, pattern[at + 1 :]


def test_keys_patterns(client, oracle, rng):
    names = {
        b"a",
        b"b",
        b"ab",
        b"abc",
        b"hello",
        b"hallo",
        b"hxllo",
        b"h*llo",
        b"h[llo",
        b"h]",
        b"a\\b",
        b"a-b",
        b"^",
        b"\x00\xff",
        b"key:1",
        b"key:22",
        b"x" * 60,
        b"*",
        b"?",
    }
    names |= {
        bytes(rng.choice(b"ab*?[]-^\\c") for _ in range(rng.randint(1, 6)))
        for _ in range(200)
    }
    for conn in (client, oracle):
        conn.batch([[b"SET", name, b"1"] for name in names])
    patterns = [
        b"*",
        b"",
        b"?",
        b"h?llo",
        b"h[ae]llo",
        b"h[^e]llo",
        b"h[a-b]llo",
        b"h[b-a]llo",
        b"h\\*llo",
        b"*b*",
        b"**",
        b"key:*",
        b"[",
        b"[a",
        b"[^",
        b"a\\",
        b"[]",
        b"[^]",
    ]
    patterns += [
        bytes(rng.choice(b"aabbcc*?[]-^\\") for _ in range(rng.randint(1, 7)))
        for _ in range(400)
    ]
    for pattern in patterns:
        ours = sorted(client.command("KEYS", pattern))
        assert ours == sorted(oracle.command("KEYS", pattern)), pattern
        closed = pattern.count(b"[") == pattern.count(b"]") == 0
        if closed and not pattern.endswith(b"\\"):
            assert ours == sorted(name for name in names if glob(pattern, name)), pattern


def test_keys_finds_the_empty_name(client):
    client.command("SET", "", "1")
    assert client.command("KEYS", "*") == [b""]
    assert client.command("KEYS", "") == [b""]
    assert scan_all(client)[0] == [b""]


def test_a_pattern_of_many_stars_ends(client):
    client.command("SET", "a" * 100, "1")
    start = time.monotonic()
    assert client.command("KEYS", "a*" * 30 + "b") == []
    assert time.monotonic() - start < 20


# ---- the server about itself --------------------------------------------------------


def test_time(client):
    seconds, micros = client.command("TIME")
    assert abs(int(seconds) - time.time()) < 60
    assert 0 <= int(micros) < 10**6


def info(client, *sections):
    reply = client.command("INFO", *sections)
    text = bytes(reply).decode()
    assert "\n" not in text.replace("\r\n", "")
    fields, names = {}, []
    for line in text.split("\r\n"):
        if line.startswith("# "):
            names.append(line[2:])
        elif line:
            name, colon, value = line.partition(":")
            assert colon, line
            fields[name] = value
    return fields, names


def test_info(client, server):
    client.command("SET", "s", "1")
    client.command("GEOADD", "k", "1", "2", "m")
    client.command("EXPIRE", "s", "1000")
    fields, names = info(client)
    assert names[0] == "Server" and {"Clients", "Memory", "Stats", "Keyspace"} <= set(
        names
    )
    assert int(fields["process_id"]) == server.pid
    assert int(fields["tcp_port"]) == server.port
    assert int(fields["connected_clients"]) >= 1
    if fields["mem_allocator"].startswith("jemalloc"):  # sanitizers hide the figure
        assert int(fields["used_memory"]) > 1000
    assert int(fields["total_commands_processed"]) > 0
    assert fields["db0"].startswith("keys=2,expires=1")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", fields["redis_version"])


def test_info_counts_the_work_of_searches(client):
    def counts():
        fields = info(client, "stats")[0]
        return [int(fields[f"geo_{name}"])
                for name in ("searches", "leaves_visited", "points_tested", "hits")]

    for i in range(10):
        client.command("GEOADD", "k", i, 0, f"m{i}")
    before = counts()
    circle = ("FROMLONLAT", 0, 0, "BYRADIUS", 500, "km")
    assert len(client.command("GEOSEARCH", "k", *circle)) == 5
    assert client.command("GEOSEARCHSTORE", "to", "k", *circle) == 5
    assert client.command("GEOSEARCH", "nosuch", *circle) == []
    searches, leaves, tested, hits = (b - a for a, b in zip(before, counts()))
    assert (searches, hits) == (2, 10)
    assert 2 <= leaves and 20 <= tested <= 10 * leaves
    assert client.command("CONFIG", "RESETSTAT") == b"OK"
    assert counts() == [0, 0, 0, 0]


def test_info_of_one_section(client):
    fields, names = info(client, "keyspace")
    assert names == ["Keyspace"]
    assert info(client, "nosuchsection") == ({}, [])
    names = info(client, "server", "clients")[1]
    assert names == ["Server", "Clients"]


def test_command_replies_agree_with_each_other(client):
    count = client.command("COMMAND", "COUNT")
    listed = client.command("COMMAND", "LIST")
    whole = client.command("COMMAND")
    containers = {name for name in listed if b"|" not in name}
    assert count == len(containers) == len(whole)
    assert containers == {entry[0] for entry in whole}
    assert {
        b"geoadd",
        b"geosearch",
        b"georadius",
        b"zadd",
        b"zrange",
        b"zscan",
    } <= containers
    assert {name.split(b"|")[0] for name in listed} == containers


def flat_command(entry):
    """Name, arity, flags, first, last, step of COMMAND INFO."""
    return entry[0], entry[1], sorted(entry[2]), entry[3:6]


def test_command_info_is_that_of_redis(client, oracle):
    names = sorted(client.command("COMMAND", "LIST"))
    ours = client.command("COMMAND", "INFO", *names)
    theirs = oracle.command("COMMAND", "INFO", *names)
    for name, mine, other in zip(names, ours, theirs):
        if name in (b"zrank", b"zrevrank"):  # WITHSCORE is newer
            assert (mine[1], other[1]) == (-3, 3)
        elif name.startswith((b"geo", b"z")) and other is not NULL_ARRAY:
            assert flat_command(mine) == flat_command(other), name
    assert client.raw("COMMAND", "INFO", "nosuch") == oracle.raw(
        "COMMAND", "INFO", "nosuch"
    )


def test_command_getkeys(client, oracle):
    for words in (
        ["GEOADD", "k", "1", "2", "m"],
        ["GEOSEARCHSTORE", "d", "k", "FROMMEMBER", "m", "BYRADIUS", "1", "m"],
        ["GEORADIUS", "k", "1", "2", "3", "m"],
        ["GEORADIUSBYMEMBER", "k", "m", "3", "m", "STOREDIST", "b"],
        ["GEODIST", "k", "a", "b"],
        ["ZADD", "k", "1", "m"],
        ["PING", "x"],
        ["NOSUCH", "a"],
        ["GEOADD", "k"],
        ["DEL", "a", "b", "c"],
        ["MGET", "a", "b"],
        ["SET", "a", "b"],
    ):
        words = ["COMMAND", "GETKEYS", *words]
        assert client.raw(*words) == oracle.raw(*words), words


def test_command_getkeys_knows_the_last_store(client):
    """Only the last STORE is written to; 7.0 names all."""
    words = ["GEORADIUS", "k", "1", "2", "3", "m", "STORE", "a", "STOREDIST", "b"]
    assert client.command("COMMAND", "GETKEYS", *words) == [b"k", b"b"]


def test_command_docs(server):
    with server.connect(resp=3) as client:
        docs = client.command("COMMAND", "DOCS", "geosearch")
        assert type(docs) is Map and docs[0] == b"geosearch"
        fields = dict(zip(docs[1][::2], docs[1][1::2]))
        assert {b"summary", b"since", b"group", b"complexity", b"arguments"} <= set(
            fields
        )
        assert fields[b"group"] == b"geo" and fields[b"since"] == b"6.2.0"
        assert b"BYPOLYGON" in fields[b"differs"]
        assert client.command("COMMAND", "DOCS", "nosuch") == []
        everything = client.command("COMMAND", "DOCS")
        assert len(everything) == 2 * client.command("COMMAND", "COUNT")


def client_fields(line):
    return dict(field.split(b"=", 1) for field in line.strip().split(b" "))


def test_client_id_info_and_list(server):
    with server.connect() as one, server.connect(resp=3) as two:
        first, second = one.command("CLIENT", "ID"), two.command("CLIENT", "ID")
        assert second > first > 0
        assert one.command("CLIENT", "GETNAME") is None
        assert one.command("CLIENT", "SETNAME", "first") == Status(b"OK")
        assert one.command("CLIENT", "GETNAME") == b"first"
        fields = client_fields(bytes(one.command("CLIENT", "INFO")))
        assert int(fields[b"id"]) == first and fields[b"name"] == b"first"
        assert fields[b"resp"] == b"2"
        lines = bytes(two.command("CLIENT", "LIST"))
        if lines.startswith(b"txt:"):
            lines = lines[4:]
        listed = {
            int(client_fields(line)[b"id"]): client_fields(line)
            for line in lines.splitlines()
        }
        assert {first, second} <= set(listed)
        assert listed[second][b"resp"] == b"3"
        assert one.command("CLIENT", "SETNAME", "") == Status(b"OK")
        assert one.command("CLIENT", "GETNAME") is None


def test_client_errors_are_those_of_redis(client, oracle):
    for words in (
        ["CLIENT"],
        ["CLIENT", "NOSUCH"],
        ["CLIENT", "SETNAME", "a b"],
        ["CLIENT", "SETNAME"],
        ["CLIENT", "ID", "x"],
        ["CLIENT", "KILL", "1.2.3.4:5"],
        ["CLIENT", "REPLY", "MAYBE"],
        ["CLIENT", "KILL", "ID", "x"],
        ["CLIENT", "KILL", "ID", "999999999"],
    ):
        assert client.raw(*words) == oracle.raw(*words), words


# ---- what Redis 7.0 does not have ------------------------------------------------------


def shortest(value):
    """The shortest text of a double, in the layout of Redis 8: plain while few digits
    follow the point or the number is of ordinary size, else d.ddde+x."""
    if math.isinf(value) or (value == int(value) and abs(value) <= 2**62):
        return b"%.0f" % value
    sign, digits, power = decimal.Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    magnitude = abs(power + len(text) - 1)
    if power >= 0 and magnitude < len(text) + 7:
        text += "0" * power
    elif power < 0 and (power > -7 or magnitude < 4):
        text = text.rjust(1 - power, "0")
        text = f"{text[:power]}.{text[power:]}"
    else:
        tail = f".{text[1:]}" if len(text) > 1 else ""
        text = f"{text[0]}{tail}e{power + len(text) - 1:+d}"
    return ("-" * sign + text).encode()


def test_score_text(server, rng):
    """Default: shortest text; fixed17: %.17g, as Redis 7.0 prints scores."""
    scores = [generate.odd_score(rng) for _ in range(3000)]
    scores += [rng.uniform(-1e7, 1e7) for _ in range(1000)]
    scores += [float(rng.randrange(2**53)) for _ in range(500)]
    scores += [
        166274.15156960039,
        190.44242984775784,
        1e-5,
        1.5e-6,
        123456.5,
        2.0**52,
        1e21,
    ]
    with server.connect() as client, server.connect(resp=3) as client3:
        client.batch(
            [[b"ZADD", b"k", repr(score), b"%d" % i] for i, score in enumerate(scores)]
        )
        names = [b"%d" % i for i in range(len(scores))]
        try:
            for form, text in (("shortest", shortest), ("fixed17", geo_oracle.score17)):
                client.command("CONFIG", "SET", "coordinate-format", form)
                plain = client.command("ZMSCORE", "k", *names)
                expect = [text(score) for score in scores]
                assert plain == expect
                assert client3.command("ZMSCORE", "k", *names) == expect
        finally:
            client.command("CONFIG", "SET", "coordinate-format", "shortest")


def test_coordinate_text(server, rng):
    """Default: shortest text; fixed17: the text of Redis up to 7.4. One double."""
    with server.connect() as client, server.connect(resp=3) as client3:
        places = [generate.uniform(rng) for _ in range(2000)]
        places += [
            (0.0, 0.0),
            (13.361389, 38.115556),
            (180.0, 85.05112878),
            (1e-4, 1e-5),
            (-1e-5, -5e-5),
        ]
        places += [
            (rng.uniform(-1e-3, 1e-3), rng.uniform(-1e-3, 1e-3)) for _ in range(500)
        ]
        names = [b"%d" % i for i in range(len(places))]
        client.batch(
            [
                [b"GEOADD", b"k", repr(lon), repr(lat), name]
                for (lon, lat), name in zip(places, names)
            ]
        )
        scores = client.command("ZMSCORE", "k", *names)
        positions = [geo_oracle.decode(float(score)) for score in scores]
        try:
            for form, text in (("shortest", shortest), ("fixed17", geo_oracle.fixed17)):
                assert client.command("CONFIG", "SET", "coordinate-format", form) == b"OK"
                plain = client.command("GEOPOS", "k", *names)
                nested = client3.command("GEOPOS", "k", *names)
                for position, two, three in zip(positions, plain, nested):
                    assert two == [text(value) for value in position]
                    assert [Double(value) for value in two] == three
                    if form == "shortest":
                        assert tuple(map(float, two)) == position
        finally:
            client.command("CONFIG", "SET", "coordinate-format", "shortest")


def test_coordinate_text_of_the_documentation(client):
    client.command("GEOADD", "k", "13.361389", "38.115556", "Palermo")
    assert client.command("GEOPOS", "k", "Palermo") == [
        [b"13.361389338970184", b"38.1155563954963"]
    ]
    client.command("CONFIG", "SET", "coordinate-format", "fixed17")
    try:
        assert client.command("GEOPOS", "k", "Palermo") == [
            [b"13.36138933897018433", b"38.11555639549629859"]
        ]
    finally:
        client.command("CONFIG", "SET", "coordinate-format", "shortest")


def crosses(polygon, lon, lat):
    """Even-odd rule in longitude and latitude, half-open edges."""
    inside, before = False, polygon[-1]
    for vertex in polygon:
        (x1, y1), (x2, y2) = vertex, before
        if (y1 > lat) != (y2 > lat) and lon < (x2 - x1) * (lat - y1) / (y2 - y1) + x1:
            inside = not inside
        before = vertex
    return inside


def test_polygons(client, rng):
    for _ in range(40):
        client.command("FLUSHALL")
        places = generate.Places(rng, rng.choice(generate.Places.KINDS))
        members = [b"m%d" % i for i in range(rng.choice([5, 100, 1000]))]
        client.batch([[b"GEOADD", b"k", *map(repr, places.draw()), m] for m in members])
        scores = dict(zip(members, client.command("ZMSCORE", "k", *members)))
        positions = {m: geo_oracle.decode(float(score)) for m, score in scores.items()}
        for _ in range(10):
            n = rng.randint(3, 9)
            center, size = places.draw(), 10 ** rng.uniform(-1, 2)
            polygon = [
                generate.clip(rng.gauss(center[0], size), rng.gauss(center[1], size))
                if rng.random() < 0.9
                else rng.choice(list(positions.values()))
                for _ in range(n)
            ]
            words = [
                b"BYPOLYGON",
                b"%d" % n,
                *(repr(v) for point in polygon for v in point),
            ]
            found = client.command("GEOSEARCH", "k", *words)
            expect = sorted(
                m for m, (lon, lat) in positions.items() if crosses(polygon, lon, lat)
            )
            assert sorted(found) == expect, words
            asc = client.command("GEOSEARCH", "k", *words, "ASC", "WITHDIST")
            assert sorted(item[0] for item in asc) == expect
            far = [float(item[1]) for item in asc]
            assert far == sorted(far)


def test_zrank_withscore(server):
    """Newer than 7.0."""
    with server.connect() as client, server.connect(resp=3) as client3:
        client.command("ZADD", "k", "1.5", "a", "3", "b")
        assert client.command("ZRANK", "k", "b", "WITHSCORE") == [1, b"3"]
        assert client.command("ZREVRANK", "k", "a", "WITHSCORE") == [1, b"1.5"]
        assert client3.command("ZRANK", "k", "a", "withscore") == [0, Double(b"1.5")]
        assert client.command("ZRANK", "k", "c", "WITHSCORE") is NULL_ARRAY
        assert client.command("ZRANK", "nokey", "c", "WITHSCORE") is NULL_ARRAY
        assert client3.command("ZRANK", "k", "c", "WITHSCORE") is None
        assert client.command("ZRANK", "k", "a", "WITHSCORES") == Error(
            b"ERR syntax error"
        )


def test_negative_zero(client, oracle):
    """The sign of -0 is kept; Redis keeps it in a set of more than 128 members only. It
    matters to no order and no position."""
    for conn, text in ((client, b"-0"), (oracle, b"0")):
        conn.command("ZADD", "k", "-0", "a")
        assert conn.command("ZSCORE", "k", "a") == text
    oracle.batch([[b"ZADD", b"k", b"%d" % i, b"m%d" % i] for i in range(1, 200)])
    oracle.command("ZADD", "k", "-0", "b")
    assert oracle.command("ZSCORE", "k", "b") == b"-0"
    assert client.command("ZADD", "k", "CH", "0", "a") == 0
    assert client.command("ZRANGE", "k", "0", "0", "BYSCORE") == [b"a"]
    assert client.command("GEOHASH", "k", "a") == [b"00bh0hbj200"]


def test_order_among_equal_distances(client):
    """By score, then by the member's bytes; also where COUNT cuts."""
    names = [b"m%02d" % i for i in range(40)]
    client.batch([[b"GEOADD", b"k", b"10", b"10", name] for name in reversed(names)])
    search = ["GEOSEARCH", "k", "FROMLONLAT", "10", "10", "BYRADIUS", "1", "km"]
    assert client.command(*search, "ASC") == names
    assert client.command(*search, "DESC") == names
    assert client.command(*search, "COUNT", 7) == names[:7]
    assert client.command(*search, "COUNT", 7, "DESC") == names[:7]
    assert client.command(*search) == names


def test_members_that_redis_loses_come_last(client, oracle):
    """A circle over the pole: the members of Redis's reply in its order, then the lost
    ones."""
    for conn in (client, oracle):
        conn.command("GEOADD", "k", "-1", "85", "w", "1", "85", "c", "1.5", "84.9", "d")
    search = ["GEOSEARCH", "k", "FROMLONLAT", "1", "85", "BYRADIUS", "600", "km"]
    redis = oracle.command(*search)
    assert sorted(redis) == [b"c", b"d"]
    assert client.command(*search) == redis + [b"w"]


def test_scores_that_are_no_cells(client, oracle):
    """Positions of odd scores, as x86-64 has them."""
    odd = [
        "-1",
        "inf",
        "-inf",
        "1e300",
        "-1e300",
        "0.5",
        "-0.5",
        "9007199254740993",
        "1e17",
        "18446744073709551616",
        "9223372036854775808",
        "-9223372036854775808",
        "4503599627370496",
    ]
    for conn in (client, oracle):
        conn.batch([[b"ZADD", b"k", score, f"m{i}"] for i, score in enumerate(odd)])
    names = [f"m{i}" for i in range(len(odd))]
    assert client.command("GEOHASH", "k", *names) == oracle.command(
        "GEOHASH", "k", *names
    )
    ours, theirs = (conn.command("GEOPOS", "k", *names) for conn in (client, oracle))
    for score, a, b in zip(odd, ours, theirs):
        expect = geo_oracle.decode(float(score))
        assert tuple(map(float, a)) == tuple(map(float, b)) == expect, score


def test_command_getkeys_of_a_command_alone(client):
    assert client.command("COMMAND", "GETKEYS", "PING") == Error(
        b"ERR The command has no key arguments"
    )
    assert client.command("COMMAND", "GETKEYS", "GET") == Error(
        b"ERR Invalid number of arguments specified for command"
    )


def test_client_setinfo(client):
    assert client.command("CLIENT", "SETINFO", "lib-name", "tester") == b"OK"
    assert client.command("CLIENT", "SETINFO", "LIB-VER", "1.2") == b"OK"
    fields = client_fields(bytes(client.command("CLIENT", "INFO")))
    assert (fields[b"lib-name"], fields[b"lib-ver"]) == (b"tester", b"1.2")
    assert isinstance(client.command("CLIENT", "SETINFO", "lib-name", "a b"), Error)
    assert isinstance(client.command("CLIENT", "SETINFO", "colour", "red"), Error)


def test_lexical_range_of_unequal_scores(client):
    """Without meaning, but some part of the set, in its order."""
    client.command("ZADD", "k", "1", "b", "2", "a", "3", "c")
    found = client.command("ZRANGE", "k", "[a", "[b", "BYLEX")
    assert found == [name for name in (b"b", b"a", b"c") if name in found]


def test_port_is_fixed_at_the_start(client):
    assert client.command("CONFIG", "SET", "port", "1") == Error(
        b"ERR CONFIG SET failed (possibly related to argument 'port') - can't set immutable config"
    )


# ---- the documentation -----------------------------------------------------------------


def test_differences_name_their_tests():
    """Each difference in docs/compat.md names a test or a case, and all of them exist."""
    text = (servers.ROOT / "docs" / "compat.md").read_text()
    cases_there = {case.name for case in cases.load_commands()}
    cases_there |= {case.name for case in bytes_table.CASES}
    for name in re.findall(r"\bcase ([A-Z]\d+)", text):
        assert name in cases_there, name
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", text):
        source = (servers.ROOT / path).read_text()
        for part in name.split("::"):
            assert re.search(rf"^\s*(def|class) {part}\b", source, re.MULTILINE), (
                path,
                name,
            )
    # The table of the random test is shown by that test, as it says above the table.
    head, _, tail = text.partition("## What the random test lets pass")
    tail = tail.partition("\n## ")[2]
    rows = [line for line in (head + tail).splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for row in rows:
        last = row.rstrip(" |").rpartition("|")[2]
        assert re.search(r"::test_|\bcase [A-Z]\d+|shown by|---", last), row
