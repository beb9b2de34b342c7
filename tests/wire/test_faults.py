"""Does the differential test find faults? redis-server beside redis-server, one of them
with a fault in between: each fault must be found within some epochs, and without a fault
nothing may differ."""
import collections
import random

import pytest

import beside
from differential import Failure
from faults import FAULTS, faulty_client
from generate_values import make_steps
from test_differential_values import protocols_of

N_EPOCHS = 60
FIRST_SEED = 1000


@pytest.fixture(scope="module")
def twins(session_starter, shared_redis):
    return session_starter.redis(), shared_redis


def run(twins, seed, client_class):
    beside.run_steps(
        twins,
        make_steps(random.Random(seed)),
        collections.Counter(),
        protocols_of(seed),
        (client_class, beside.Client),
    )


def test_no_fault_is_found_where_none_is(twins):
    for seed in range(FIRST_SEED, FIRST_SEED + 10):
        run(twins, seed, beside.Client)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(twins, name):
    client_class = faulty_client(FAULTS[name])
    for seed in range(FIRST_SEED, FIRST_SEED + N_EPOCHS):
        try:
            run(twins, seed, client_class)
        except Failure:
            return
    pytest.fail(f"{N_EPOCHS} epochs did not find it")
