"""The string commands beside redis-server: random words, both versions of the protocol, every
reply byte for byte. Where 8.0 differs from 7.0.15, the test says so and has the value of 8.0."""
import os
import random
import time

import pytest

SEED = int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**9)
N_COMMANDS = int(os.environ.get("YN_STRING_COMMANDS") or 6000)

KEYS = ["a", "b", "c", "n", "f", "z", ""]
INTEGERS = ["0", "1", "-1", "7", "100", "-100", "9223372036854775807", "-9223372036854775808",
            "9223372036854775808", "4611686018427387904", "1.5", "x", "", " 1", "01", "-0", "+1"]
FLOATS = ["0", "1", "-1", "0.1", "0.2", "-0.1", "3.0e3", "1e-4", "1e17", "1e-17", "1e-18", "5.",
          ".5", "0x1p3", "inf", "-inf", "nan", "infinity", "1e4932", "-1e4932", "1e4933",
          "1e-4950", "1e-5000", "x", "", " 1", "1 ", "-0", "123456789012345678901234567890",
          "0.00000000000000001", "1.000000000000000005", "9007199254740993", "5e-324", "\t1"]
INDEXES = ["0", "1", "2", "3", "-1", "-2", "-3", "5", "100", "-100", "9223372036854775807",
           "-9223372036854775808", "x", "1.0"]
VALUES = ["", "v", "value", "12", "-3", "0.5", "10.50", "a longer value of some forty bytes\r\n",
          "\x00\xff", "9223372036854775807", "-9223372036854775808", "3.0e3", "inf"]
# Far off or long past, so that both servers agree on what is expired.
TIMES = ["100000", "0", "-1", "x", "1.5", "9223372036854775807", "9223372036854775",
         "9223372036854776", "250000", "", "33177117420000"]
EXPIRY = ["EX", "PX", "EXAT", "PXAT", "ex", "KEEPTTL", "PERSIST"]


def option_words(rng):
    words = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        word = rng.choice(["NX", "XX", "GET", "nx", "get", "foo"] + EXPIRY * 2)
        words.append(word)
        if word.upper() in ("EX", "PX", "EXAT", "PXAT") and rng.random() < 0.95:
            words.append(rng.choice(TIMES))
    return words


def random_command(rng):
    key = rng.choice(KEYS)
    value = rng.choice(VALUES)
    commands = [
        lambda: ["SET", key, value, *option_words(rng)],
        lambda: ["SET", key, value],
        lambda: ["GETEX", key, *option_words(rng)],
        lambda: ["GET", key],
        lambda: ["GETDEL", key],
        lambda: ["GETSET", key, value],
        lambda: ["MGET", *rng.choices(KEYS, k=rng.randint(1, 4))],
        lambda: [rng.choice(["MSET", "MSETNX"]),
                 *rng.choices(KEYS + VALUES, k=rng.choice([1, 2, 2, 3, 4, 4, 5]))],
        lambda: ["SETNX", key, value],
        lambda: [rng.choice(["SETEX", "PSETEX"]), key, rng.choice(TIMES), value],
        lambda: ["STRLEN", key],
        lambda: ["APPEND", key, value],
        lambda: [rng.choice(["INCR", "DECR"]), key],
        lambda: [rng.choice(["INCRBY", "DECRBY"]), key, rng.choice(INTEGERS)],
        lambda: ["INCRBYFLOAT", key, rng.choice(FLOATS)],
        lambda: ["SET", key, rng.choice(FLOATS + INTEGERS)],
        lambda: [rng.choice(["GETRANGE", "SUBSTR"]), key, rng.choice(INDEXES), rng.choice(INDEXES)],
        lambda: ["SETRANGE", key, rng.choice(INDEXES + INDEXES[:8] * 3), value],
        lambda: ["TTL", key],
        lambda: ["TYPE", key],
        lambda: ["ZADD", "z", "1", "m"],
        lambda: ["DEL", key],
    ]
    words = rng.choice(commands)()
    if rng.random() < 0.02:
        words = words[:-1]
    return words


def negative_end_outside(words, redis_conn):
    """GETRANGE with an end before the string: 7.0.15 takes it for the first byte, 8.0 finds
    nothing there."""
    if words[0] not in ("GETRANGE", "SUBSTR") or len(words) != 4:
        return False
    try:
        end = int(words[3])
    except ValueError:
        return False
    length = redis_conn.command("STRLEN", words[1])
    return isinstance(length, int) and 0 < length < -end


@pytest.mark.parametrize("resp", [2, 3])
def test_random_commands(server, redis, resp):
    rng = random.Random(SEED + resp)
    log = []
    with server.connect(resp=resp) as ours, redis.connect(resp=resp) as theirs:
        for i in range(N_COMMANDS):
            words = random_command(rng)
            excused = negative_end_outside(words, theirs)
            got, want = ours.raw(*words), theirs.raw(*words)
            if excused and got != want:
                assert got == b"$0\r\n\r\n", (SEED, i, words)
                continue
            if words[0] == "TTL" and got != want:  # the clock went on between the two
                assert abs(int(got[1:]) - int(want[1:])) <= 1, (SEED, i, words)
                continue
            assert got == want, (SEED, i, got, want, [x for x in log if words[-1] in x[0] or words[1] in x[0]][-8:], words)
            log.append((words, got))


def test_getrange_with_an_end_before_the_string(client):
    client.command("SET", "k", "abc")
    assert client.command("GETRANGE", "k", 0, -4) == b""
    assert client.command("GETRANGE", "k", 0, -3) == b"a"
    assert client.command("GETRANGE", "k", -10, -4) == b""
    assert client.command("SUBSTR", "k", -9223372036854775808, -9223372036854775808) == b""


def test_incrbyfloat_sums(server, redis):
    """Sums that grow: the text that is stored is the next one's input."""
    rng = random.Random(SEED)
    with server.connect() as ours, redis.connect() as theirs:
        for key in ("p", "q", "r"):
            for _ in range(400):
                step = rng.choice([
                    "%.*f" % (rng.randint(0, 20), rng.uniform(-10, 10) * 10 ** rng.randint(-9, 9)),
                    "%.*e" % (rng.randint(0, 20), rng.uniform(-10, 10) * 10 ** rng.randint(-20, 9)),
                    "%d" % rng.randint(-(10**12), 10**12)])
                assert ours.raw("INCRBYFLOAT", key, step) == theirs.raw("INCRBYFLOAT", key, step), (
                    SEED, key, step)


def test_longest_string(start, redis):
    server = start.subject("--proto-max-bulk-len", "1mb")
    with redis.connect() as theirs:
        theirs.command("CONFIG", "SET", "proto-max-bulk-len", "1mb")
        try:
            with server.connect() as ours:
                for words in (
                    ["SETRANGE", "k", 2**20 - 1, "x"],
                    ["SETRANGE", "k", 2**20, "x"],
                    ["SETRANGE", "k", 2**20, ""],
                    ["SETRANGE", "k", 2**63 - 1, "xyz"],
                    ["SETRANGE", "new", 2**20, "x"],
                    ["SETRANGE", "new", 2**40, ""],
                    ["EXISTS", "new"],
                    ["APPEND", "k", "x"],
                    ["APPEND", "k", ""],
                    ["STRLEN", "k"],
                    ["GETRANGE", "k", -3, -1],
                    ["GETRANGE", "k", 5, 70000],
                ):
                    assert ours.raw(*words) == theirs.raw(*words), words
        finally:
            theirs.command("CONFIG", "SET", "proto-max-bulk-len", "512mb")
