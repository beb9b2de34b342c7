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

import pytest

import beside
import servers
from differential import Failure, kept_seeds, run_epochs
from generate_values import N_CLIENTS, TESTED, make_steps
from resp import NULL_ARRAY

N_COMMANDS = 50_000
SEEDS_FILE = "seeds_values.txt"
EVENT_CLASSES = "EA"
# Commands that the server need not know yet. They are left out while it does not.
NOT_YET = TESTED


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
