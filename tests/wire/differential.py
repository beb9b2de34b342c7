"""What the differential tests share: seeds, limits, the failure that they raise."""
import os
import pathlib
import time

CLOCK_SLACK_S = 10
SHRINK_S = 30
FOLDER = pathlib.Path(__file__).parent


class Failure(AssertionError):
    """A difference that nothing allows. `name`: of the command that showed it; `at`: the
    number of its step."""

    name = at = None


def first_seed():
    return int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**12)


def kept_seeds(file_name):
    """Seeds that failed once, from a file with one a line."""
    path = FOLDER / file_name
    lines = path.read_text().splitlines() if path.exists() else []
    return [int(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]


def is_near(a, b, slack):
    """Two times that may be one, read from two clocks."""
    return min(a, b) > 0 and abs(a - b) <= slack


def run_epochs(run_one, n_commands_min):
    """Calls run_one(seed), which returns a number of commands, until there are as many as
    `n_commands_min`, or as the environment says. Prints a line of figures.

    YN_SEED=n          first seed (default: from the clock); an epoch's seed repeats it alone
    YN_EPOCHS=n        so many epochs instead of a number of commands
    YN_LONG=1          run for YN_SECONDS (default 600)
    """
    first = first_seed()
    epochs = int(os.environ.get("YN_EPOCHS") or 0)
    seconds = (
        float(os.environ.get("YN_SECONDS") or 600) if os.environ.get("YN_LONG") else 0
    )
    start, n_commands, n = time.monotonic(), 0, 0
    print(f"seed {first}")
    while True:
        n_commands += run_one(first + n)
        n += 1
        elapsed = time.monotonic() - start
        if (
            n >= epochs
            if epochs
            else elapsed >= seconds
            if seconds
            else n_commands >= n_commands_min
        ):
            break
    print(f"{n_commands} commands in {n} epochs, {elapsed:.1f} s")
