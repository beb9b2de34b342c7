"""Commands that wait for a key: random interleavings of several clients beside a model
(waiting_model.py), the model beside redis-server, and what a model does not show."""
import os
import threading
import time

import pytest

import resp
import waiting_model

SEED = int(os.environ.get("YN_SEED", "1"))
N_STEPS = int(os.environ.get("YN_STEPS", "1500"))


def run_model(server, seed, waits_for_hang_up=True):
    print(f"seed {seed}")
    driver = waiting_model.Driver(
        server, seed, server.name == "redis-server",
        waiting_model.known_commands(server), waits_for_hang_up)
    try:
        driver.run(N_STEPS)
    finally:
        driver.close()
    model = driver.model
    print(f"{driver.n_commands} commands, {model.n_blocks} waited, {model.n_served} "
          f"served, {model.n_aborted} transactions failed")
    assert model.n_served > 0 and model.n_aborted > 0


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 4))
def test_random_interleavings(server, seed):
    run_model(server, seed, waits_for_hang_up=server.name == "redis-server")


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 2))
def test_the_model_holds_for_redis(redis, seed):
    run_model(redis, seed)
