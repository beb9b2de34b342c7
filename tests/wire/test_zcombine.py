"""ZUNION, ZINTER, ZDIFF, their STORE forms, ZINTERCARD and ZRANGESTORE beside redis-server:
random commands over sets with fractions, infinities and equal scores, compared byte for
byte. Redis keeps no set as a listpack here, since that loses the sign of a zero."""
import os
import random
import time

import pytest

import servers

KEYS = [b"a", b"b", b"c", b"d", b"e", b"tie1", b"tie2", b"nokey", b"str"]
DESTINATIONS = [b"d", b"e", b"dst", b"str2", b"a"]
N_ROUNDS = 12
N_COMMANDS = 150


@pytest.fixture(scope="module")
def pair(session_starter):
    if servers.subject_class() is servers.RedisServer:
        ours = session_starter.redis("--zset-max-listpack-entries", "0")
    else:
        ours = session_starter.subject("--coordinate-format", "fixed17")
    return ours, session_starter.redis("--zset-max-listpack-entries", "0")


def score(rng, kind):
    if kind == "fractions":
        return repr(rng.uniform(-1000, 1000))
    if kind == "cells":
        return str(rng.getrandbits(52))
    if kind == "few":
        return str(rng.randrange(3))
    return rng.choice(["inf", "-inf", "0", "-0", "1e308", "-1e308", "0.1", "3", "5e-324"])


def fill(rng):
    commands = [["FLUSHALL"], ["SET", "str", "x"], ["SET", "str2", "y"]]
    kind = rng.choice(["fractions", "cells", "few", "odd", "fractions"])
    n_members = rng.choice([6, 40, 700])
    for key in KEYS[:7]:
        n = 20 if key.startswith(b"tie") else rng.choice([1, 5, n_members, n_members])
        words = ["ZADD", key]
        for i in rng.sample(range(max(n_members, 20)), min(n, max(n_members, 20))):
            words += [score(rng, kind), f"member-{i}" + "x" * (300 if i == 3 else 0)]
        commands.append(words)
    return commands


def weight(rng):
    return rng.choice(
        ["1", "1", "2", "0.1", "-1", "0", "inf", "-inf", "1e-3", "3.7", "nan", "x", "-0"]
        if rng.random() < 0.2
        else ["1", "2", "0.5", "0.1", "-3.25", "1e10", "0", "inf"]
    )


def combination(rng):
    kind = rng.choice(["ZUNION", "ZINTER", "ZDIFF"])
    is_stored = rng.random() < 0.4
    is_card = not is_stored and rng.random() < 0.15
    n = rng.choice([1, 2, 2, 3, 3, 4, 5])
    keys = [rng.choice(KEYS[:7] if rng.random() < 0.95 else KEYS) for _ in range(n)]
    words = ["ZINTERCARD" if is_card else kind + ("STORE" if is_stored else "")]
    if is_stored:
        words.append(rng.choice(DESTINATIONS))
    words += [str(n) if rng.random() < 0.97 else rng.choice(["0", "-1", "x", "7"])] + keys
    options = []
    if rng.random() < 0.5 and (kind != "ZDIFF" or rng.random() < 0.05):
        n_weights = n if rng.random() < 0.95 else n - 1
        options.append(["WEIGHTS"] + [weight(rng) for _ in range(n_weights)])
    if rng.random() < 0.5 and (kind != "ZDIFF" or rng.random() < 0.05):
        options.append(["aggregate", rng.choice(["SUM", "min", "MAX", "max", "sum"])])
    if not is_stored and rng.random() < 0.8:
        options.append(["WITHSCORES"])
    if is_card:
        options = [["LIMIT", rng.choice(["0", "1", "3", "100", "-1", "x"])]]
    if rng.random() < 0.03:
        options.append([rng.choice(["WITHSCORES", "LIMIT", "WEIGHTS", "foo", "AGGREGATE"])])
    rng.shuffle(options)
    return words + [word for option in options for word in option]


def range_store(rng):
    words = ["ZRANGESTORE", rng.choice(DESTINATIONS), rng.choice(KEYS)]
    by = rng.choice([[], ["BYSCORE"], ["BYLEX"]])
    if by == ["BYSCORE"]:
        ends = [rng.choice(["-inf", "(0", "1", "inf", "(2", "100.5"]) for _ in range(2)]
    elif by == ["BYLEX"]:
        words[2] = rng.choice([b"tie1", b"tie2"])  # of unequal scores it is undefined
        ends = [rng.choice(["-", "+", "[member-1", "(member-3"]) for _ in range(2)]
    else:
        ends = [str(rng.randrange(-12, 12)) for _ in range(2)]
    words += ends + by
    if rng.random() < 0.4:
        words.append("REV")
    if by and rng.random() < 0.4:
        words += ["LIMIT", str(rng.randrange(-1, 4)), str(rng.randrange(-1, 9))]
    if rng.random() < 0.03:
        words.append(rng.choice(["WITHSCORES", "LIMIT", "foo"]))
    return words


def round_of(rng):
    commands = fill(rng)
    for _ in range(N_COMMANDS):
        draw = rng.random()
        if draw < 0.8:
            commands.append(combination(rng))
        elif draw < 0.9:
            commands.append(range_store(rng))
        else:
            commands.append(["ZRANGE", rng.choice(DESTINATIONS), "0", "-1", "WITHSCORES"])
    # sets of one score, so that BYLEX is defined
    ties = [[w if i < 2 or i % 2 else "1" for i, w in enumerate(c)] for c in commands[8:10]]
    commands[8:10] = ties
    return commands + [["TYPE", key] for key in DESTINATIONS] + [["DBSIZE"]]


def seeds():
    if os.environ.get("YN_SEED"):
        return int(os.environ["YN_SEED"])
    return int(time.time())


def test_random_combinations(pair):
    ours, redis = pair
    first = seeds()
    print(f"YN_SEED={first}")
    n_compared = 0
    for i in range(N_ROUNDS):
        rng = random.Random(first + i)
        commands = round_of(rng)
        resp = 2 + i % 2
        with ours.connect(resp=resp) as mine, redis.connect(resp=resp) as theirs:
            for words in commands:
                a, b = mine.raw(*words), theirs.raw(*words)
                assert a == b, (first + i, resp, words)
                n_compared += 1
    assert n_compared > 1000


def test_sums_to_the_last_bit(pair):
    """Fractions in five sets: every order of the sources and many weights, sums included
    that another order of adding would round differently."""
    ours, redis = pair
    rng = random.Random(5)
    differing = 0
    with ours.connect() as mine, redis.connect() as theirs:
        for conn in (mine, theirs):
            conn.command("FLUSHALL")
        for s in range(5):
            words = ["ZADD", f"s{s}"]
            for m in range(200 - (s % 2) * 20):  # some have the same number
                words += [repr(rng.uniform(-1, 1) * 10 ** rng.randrange(-3, 4)), f"m{m}"]
            assert mine.raw(*words) == theirs.raw(*words)
        for _ in range(150):
            names = rng.sample([f"s{s}" for s in range(5)], rng.randrange(2, 6))
            kind = rng.choice(["ZUNION", "ZINTER"])
            tail = ["WEIGHTS"] + [repr(rng.uniform(-2, 2)) for _ in names]
            words = [kind, str(len(names)), *names, *tail, "WITHSCORES"]
            reply = theirs.raw(*words)
            assert mine.raw(*words) == reply, words
            turned = [kind, str(len(names)), *names[::-1], "WEIGHTS"]
            turned += tail[:0:-1] + ["WITHSCORES"]
            other = theirs.raw(*turned)
            assert mine.raw(*turned) == other, turned
            differing += other != reply
    assert differing > 10  # the order of what has one number does count


@pytest.mark.parametrize("resp", [2, 3])
def test_keys_of_combinations(pair, resp):
    ours, redis = pair
    lines = [
        "zunionstore d 2 a b weights 1 2",
        "zunionstore d 0 a",
        "zunionstore d 5 a",
        "zunionstore d x a",
        "zunion 0 a",
        "zinter -1 a",
        "zinter 2 a b withscores",
        "zdiff 1 a",
        "zdiffstore d 2 a b",
        "zinterstore d 1 a aggregate max",
        "zintercard 1 a",
        "zintercard 3 a b",
        "zrangestore d s 0 -1",
        "zunion 1",
    ]
    with ours.connect(resp=resp) as mine, redis.connect(resp=resp) as theirs:
        for line in lines:
            for sub in ("GETKEYS", "GETKEYSANDFLAGS"):
                words = ["COMMAND", sub, *line.split()]
                assert mine.raw(*words) == theirs.raw(*words), words
        names = "zunion zinter zdiff zunionstore zinterstore zdiffstore zintercard"
        for name in (names + " zrangestore").split():
            words = ["COMMAND", "INFO", name]
            assert mine.raw(*words) == theirs.raw(*words), words
