"""Random commands on sorted sets, strings, keys and transactions, sent to yonder-server
and to redis-server 7.0.15 by several clients in RESP2 and RESP3, all replies compared byte
for byte, and now and then all that the databases hold.

An epoch is one seed. Only differences that explain_values proves are let pass; they are
those of docs/compat.md. Anything else fails with the seed and the shortest list of steps
that still shows it.

How long: see differential.run_epochs. seeds_values.txt has seeds that failed once; they
run first.
"""
import collections
import random
import re

import pytest

import beside
import explain_values
import servers
from differential import Failure, kept_seeds, run_epochs
from generate_values import N_CLIENTS, TESTED, make_steps
from rdb_payload import seal
from resp import NULL_ARRAY, Error, encode

N_COMMANDS = 100_000
SEEDS_FILE = "seeds_values.txt"
EVENT_CLASSES = "EAn"  # all, new keys among them
# Commands that the server need not know yet. They are left out while it does not.
NOT_YET = set()


@pytest.fixture(scope="module")
def both(session_starter, shared_redis):
    if servers.subject_class() is servers.RedisServer:
        ours = session_starter.redis()
    else:
        ours = session_starter.subject("--coordinate-format", "fixed17")
    return ours, shared_redis


def protocols_of(seed):
    return [random.Random(f"protocols {seed}").choice([2, 3]) for _ in range(N_CLIENTS)]


@pytest.fixture(scope="module")
def unknown(both):
    """The commands that are left out."""
    with both[0].connect() as conn:
        infos = conn.command("COMMAND", "INFO", *sorted(TESTED))
    names = {name for name, info in zip(sorted(TESTED), infos) if info in (None, NULL_ARRAY)}
    assert names <= NOT_YET
    if names & {b"OBJECT", b"PEXPIRETIME"}:
        pytest.skip("the server cannot tell yet what its databases hold")
    return names


def steps_of(seed, unknown=frozenset()):
    steps = []
    for client, commands in make_steps(random.Random(seed)):
        kept = [words for words in commands if words[0].upper() not in unknown]
        if kept:
            steps.append((client, kept))
    return steps


def events_of(seed):
    """In every other epoch the events of keys are compared, too."""
    return EVENT_CLASSES if seed % 2 else ""


def run_epoch(both, seed, counts, unknown):
    """Returns the number of commands; fails with the shortest steps found."""
    steps, protocols = steps_of(seed, unknown), protocols_of(seed)
    events = events_of(seed)
    try:
        return beside.run_steps(both, steps, counts, protocols, events=events)
    except Failure as fault:
        if beside.diverges_in_step(both, steps, fault.at, protocols):
            return sum(len(commands) for _, commands in steps[: fault.at])
        short, last = beside.shrink_steps(both, steps, protocols, events, fault)
        raise Failure(
            f"seed {seed}: {last}\nsteps (client> command):\n{beside.show_steps(short)}\n"
            f"repeat: YN_SEED={seed} YN_EPOCHS=1; add the seed to {SEEDS_FILE}"
        ) from None


def test_every_command_is_drawn():
    drawn = set()
    for seed in range(60):
        for _, commands in make_steps(random.Random(seed)):
            drawn.update(words[0].upper() for words in commands)
    assert TESTED <= drawn


def test_kept_seeds(both, unknown):
    """Seeds that failed once."""
    for seed in kept_seeds(SEEDS_FILE):
        run_epoch(both, seed, collections.Counter(), unknown)


def test_random_commands(both, unknown):
    counts = collections.Counter()
    run_epochs(lambda seed: run_epoch(both, seed, counts, unknown), N_COMMANDS)
    print(f"allowed differences: {dict(counts)}")


def compat_names():
    """The names in docs/compat.md, in the table of the random test."""
    text = (servers.ROOT / "docs" / "compat.md").read_text()
    part = text.partition("## What the random test lets pass")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| (\w[^|]*?) +\|", part, re.MULTILINE)) - {"name"}


def test_allowed_differences_are_documented():
    assert compat_names() == set(explain_values.NAMES)


def waiting(server, *words):
    """A client that waits."""
    conn = server.connect()
    number = conn.command("CLIENT", "ID")
    conn.send(encode(*words))
    with server.connect() as control:
        listed = b"id=%d " % number

        def waits():
            lines = control.command("CLIENT", "LIST").splitlines()
            return any(line.startswith(listed) and b" flags=b" in line for line in lines)

        beside.await_condition(waits, "the client does not wait")
    return conn


def test_waiting_clients_are_served_as_in_8(server):
    """The three differences from 7.0 in whom members go to."""
    with server.connect() as conn:
        with waiting(server, "BZPOPMIN", "a", "b", "0") as waiter:
            conn.command("SET", "a", "x")
            conn.command("ZADD", "b", "1", "m")
            assert waiter.read().startswith(b"WRONGTYPE")
            assert conn.command("ZCARD", "b") == 1
        conn.command("FLUSHALL")
        with waiting(server, "BZPOPMIN", "a", "b", "0") as waiter:
            conn.pipeline([["MULTI"], ["ZADD", "b", "1", "m"], ["ZADD", "a", "2", "n"], ["EXEC"]])
            assert waiter.read() == [b"a", b"n", b"2"]
        conn.command("FLUSHALL")
        conn.command("ZADD", "from", "1", "m")
        with waiting(server, "BZPOPMIN", "a", "0") as waiter:
            conn.command("SET", "a", "x")
            conn.command("ZUNIONSTORE", "a", "1", "from")
            assert waiter.read() == [b"a", b"m", b"1"]


# Each way gives a key 25 ms to live; `at` is that time on the server's clock.
WAYS_TO_EXPIRE = {
    "PEXPIRE": lambda key, at: [["SET", key, "x"], ["PEXPIRE", key, "25"]],
    "PEXPIREAT": lambda key, at: [["SET", key, "x"], ["PEXPIREAT", key, at]],
    "PEXPIRE of a set": lambda key, at: [["ZADD", key, "1", "m"], ["PEXPIRE", key, "25"]],
    "SET PX": lambda key, at: [["SET", key, "x", "PX", "25"]],
    "SET PXAT": lambda key, at: [["SET", key, "x", "PXAT", at]],
    "SET KEEPTTL": lambda key, at: [["PSETEX", key, "25", "x"], ["SET", key, "y", "KEEPTTL"]],
    "PSETEX": lambda key, at: [["PSETEX", key, "25", "x"]],
    "GETEX PX": lambda key, at: [["SET", key, "x"], ["GETEX", key, "PX", "25"]],
    "RENAME": lambda key, at: [["PSETEX", "from", "25", "x"], ["RENAME", "from", key]],
    "COPY": lambda key, at: [["PSETEX", "from", "25", "x"], ["COPY", "from", key]],
    "RESTORE": lambda key, at: [["RESTORE", key, "25", seal(b"\x00\x01x")]],
    "RESTORE ABSTTL": lambda key, at: [
        ["RESTORE", key, at, seal(b"\x00\x01x"), "ABSTTL"]
    ],
    "SETRANGE after": lambda key, at: [["PSETEX", key, "25", "x"], ["SETRANGE", key, "1", "y"]],
    "ZADD after": lambda key, at: [
        ["ZADD", key, "1", "m"],
        ["PEXPIRE", key, "25"],
        ["ZADD", key, "2", "n"],
    ],
}


def now_us(conn):
    seconds, microseconds = conn.command("TIME")
    return int(seconds) * 1_000_000 + int(microseconds)


@pytest.mark.parametrize("way", WAYS_TO_EXPIRE)
def test_keys_expire_on_time(both, way):
    """A key is there until its time and not after it, on either server, whoever looks."""
    for server in both:
        with server.connect() as conn:
            conn.command("FLUSHALL")
            at = str(now_us(conn) // 1000 + 25)
            for words in WAYS_TO_EXPIRE[way]("k", at):
                assert not isinstance(conn.command(*words), Error), words
            time_ms = conn.command("PEXPIRETIME", "k")
            while True:
                before = now_us(conn)
                is_there = conn.command("EXISTS", "k")
                if now_us(conn) < time_ms * 1000:
                    assert is_there == 1
                if before > (time_ms + 1) * 1000:
                    assert is_there == 0
                    break
            for words in (["TTL", "k"], ["OBJECT", "ENCODING", "k"], ["TYPE", "k"]):
                assert conn.command(*words) in (-2, None, b"none")
            assert conn.command("KEYS", "*") == []
