"""What clients are sent unasked: random interleavings of several clients beside a model
(push_model.py, push_driver.py), the model beside redis-server, and what a model does not show: many
subscribers, slow ones, bounds.

Nothing here sleeps: behind the reply to the client that causes something, every client
asks for something itself, and reads up to the answer."""
import os

import pytest

import push_driver
import resp

SEED = int(os.environ.get("YN_SEED", "1"))
N_STEPS = int(os.environ.get("YN_STEPS", "2500"))


# ---- beside the model ----


def unknown_commands(server):
    names = ("COPY", "MOVE", "RENAME", "RENAMENX")
    with server.connect() as conn:
        return {name for name in names if conn.command(
            "COMMAND", "INFO", name)[0] in (None, resp.NULL_ARRAY)}


def run_model(server, seed):
    print(f"seed {seed}")
    driver = push_driver.Driver(server, seed, unknown_commands(server))
    try:
        driver.run(N_STEPS)
    finally:
        driver.close()
    print(f"{driver.n_commands} commands, pushes: {dict(driver.model.n_pushes)}")
    least = {"events": 200, "key": 30, "bcast": 5, "all": 5}
    assert all(driver.model.n_pushes[kind] > n for kind, n in least.items())


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 6))
def test_random_interleavings(server, seed):
    run_model(server, seed)


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 3))
def test_the_model_holds_for_redis(redis, seed):
    run_model(redis, seed)
