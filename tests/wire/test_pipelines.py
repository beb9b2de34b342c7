"""A pipeline answers as the same commands one by one.

The server looks up ahead what a pipeline's commands will ask for, in sets of some thousand
members. Commands that change sets stand between here, so that what was found ahead is out
of date: members moved, removed and added, keys deleted and made anew. Both runs use the same server, each in a database of its own."""
import os
import random

import pytest

from resp import encode

SEED = int(os.environ.get("YN_SEED", "20261130"))
MEMBERS = 7000
PIPELINES = 150


def member(rng):
    return b"m%d" % rng.randrange(MEMBERS + MEMBERS // 10)


def position(rng):
    return [b"%.6f" % rng.uniform(-180, 180), b"%.6f" % rng.uniform(-85, 85)]


def reading(rng, key):
    few = [member(rng) for _ in range(rng.choice((1, 1, 2, 3, 20, 90)))]
    return rng.choice((
        [b"GEOPOS", key, *few],
        [b"GEOHASH", key, *few],
        [b"ZMSCORE", key, *few],
        [b"ZSCORE", key, member(rng)],
        [b"ZRANK", key, member(rng)],
        [b"GEODIST", key, member(rng), member(rng), b"km"],
        [b"GEODIST", key, member(rng)],  # wrong number of arguments
        [b"GEOPOS", key],
        [b"GEOSEARCH", key, b"FROMMEMBER", member(rng), b"BYRADIUS", b"900", b"km", b"ASC",
         b"COUNT", b"3"],
        [b"PING"],
    ))


def changing(rng, key):
    added = [word for _ in range(rng.choice((1, 1, 1, 5, 40)))
             for word in (*position(rng), member(rng))]
    return rng.choice((
        [b"GEOADD", key, *added],
        [b"GEOADD", key, b"NX", *added],
        [b"GEOADD", key, b"XX", b"CH", *added],
        [b"ZADD", key, b"%d" % rng.randrange(1 << 52), member(rng)],
        [b"ZADD", key, b"1.5", member(rng)],
        [b"ZREM", key, *(member(rng) for _ in range(rng.randrange(1, 4)))],
    ))


def commands(rng):
    """Of one pipeline."""
    for _ in range(rng.choice((2, 5, 16, 17, 60))):
        key = rng.choice((b"big", b"big", b"big", b"other", b"none", b"text"))
        yield changing(rng, key) if rng.random() < 0.2 else reading(rng, key)
    if rng.random() < 0.1:
        yield [b"GEOPOS", b"small", b"m1", b"m2"]
        yield [b"DEL", b"other"]
        yield [b"GEOPOS", b"other", b"m1", b"m2"]
        yield [b"GEOADD", b"other", *position(rng), b"m2", *position(rng), b"m3"]
        yield [b"GEOPOS", b"other", b"m1", b"m2"]


def fill(client):
    rng = random.Random(SEED)
    for key, n in ((b"big", MEMBERS), (b"other", MEMBERS), (b"small", 5)):
        words = [word for i in range(n) for word in (*position(rng), b"m%d" % i)]
        assert client.command(b"GEOADD", key, *words) == n
    client.command(b"SET", b"text", b"m1")


def test_as_one_by_one(start):
    print("seed", SEED)
    server = start.subject()
    rng = random.Random(SEED)
    with server.connect() as piped, server.connect() as single:
        single.command("SELECT", "1")
        fill(piped)
        fill(single)
        for n in range(PIPELINES):
            pipeline = list(commands(rng))
            expected = b"".join(single.raw(*words) for words in pipeline)
            got = piped.batch(pipeline)
            assert got == expected, f"pipeline {n} of seed {SEED}: {pipeline}"


MANY_WORDS = encode("ZMSCORE", "big", *"abcdefghijkl")
LONG_WORD = encode("ECHO", "e" * 20_000)


@pytest.mark.parametrize(
    "change, behind, answer",
    [
        (["RESET"], MANY_WORDS, b"unauthenticated multibulk length"),
        (["RESET"], MANY_WORDS[:5], b"unauthenticated multibulk length"),
        (["RESET"], LONG_WORD, b"unauthenticated bulk length"),
        (["RESET"], LONG_WORD[:50], b"unauthenticated bulk length"),
        (["CONFIG", "SET", "proto-max-bulk-len", "1mb"],
         b"*2\r\n$4\r\nECHO\r\n$1048577\r\nabc", b"invalid bulk length"),
    ],
    ids=["words", "half-words", "bulk", "half-bulk", "config"],
)
@pytest.mark.parametrize("n_between", [0, 3, 13, 14, 15, 16, 40])
def test_limits_that_change(start, change, behind, answer, n_between):
    """What stands behind a command that changes the limits of requests is parsed with the
    new ones, though it may have been parsed ahead; in one piece and in two."""
    server = start.subject("--requirepass", "pw")
    parts = [encode("PING")] * n_between + [encode(*change), behind]
    for pieces in ([b"".join(parts)], [b"".join(parts[:-1]), behind]):
        with server.connect() as conn:
            assert conn.command("AUTH", "pw") == b"OK"
            assert conn.command("CONFIG", "SET", "proto-max-bulk-len", "512mb") == b"OK"
            for i, piece in enumerate(pieces):
                conn.send(piece)
                if i + 1 < len(pieces):
                    for _ in range(n_between):
                        assert conn.read() == b"PONG"
                    assert conn.read() in (b"RESET", b"OK")
            got = conn.receive_until_closed()
            assert got.endswith(b"-ERR Protocol error: " + answer + b"\r\n")
