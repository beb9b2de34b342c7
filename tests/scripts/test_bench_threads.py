"""The measurements behind docs/threads.md run, and print their tables; how fast is not asked."""

import os
import pathlib
import subprocess

import pytest

BENCH = pathlib.Path(os.environ["YONDER_BIN_DIR"]) / "bench"


def rows_of(name, *args):
    program = BENCH / name
    if not program.exists():
        pytest.skip("a build without measurements")
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    cells = [line.strip("| \n").split(" | ") for line in done.stdout.splitlines()
             if line.startswith("|") and "---" not in line]
    return cells[1:]


@pytest.mark.parametrize("lock", ["run", "batch", "pthread"])
def test_threads_run_every_kind_of_work(lock):
    rows = rows_of("threads", "--busy-too", "--ms", "5", "--rounds", "1", "--threads", "1,2",
                   "--members", "2000", "--lock", lock, "--sockets")
    assert {row[0] for row in rows} == {"geopos", "geodist", "geosearch", "mixed",
                                        "mixed-search", "half"}
    assert [row[1] for row in rows[:3]] == ["1", "10", "100"]
    assert all(float(row[3]) >= 0 for row in rows)  # a busy machine may do nothing in time


def test_simulation_of_reads_scales():
    rows = rows_of("contention", "--line-ns", "100", "--threads", "4,32", "--reads", "100,50")
    assert [row[0] for row in rows] == ["100 %", "50 %"]
    reads, half = rows
    assert float(reads[3]) == pytest.approx(32, rel=0.01)
    assert 1 < float(half[3]) < 32
