#!/usr/bin/python3
"""Starts a server and checks that its histories are linearizable (linear.c says how).

    tests/linear/run.py --seconds 60 --threads 1 2 4

For each number of threads: histories on small sets, then on sets of a hundred thousand members that
slow readers read all the time, and faults that the recorder makes, which must be found. Fails too when a
sanitizer reported something, or the server ended."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "wire"), str(HERE.parent / "stress")]
from run_server import faults_of, keep_all_reports  # noqa: E402
from servers import YonderServer, binary  # noqa: E402

PLANTS = ["torn-exec", "split-geoadd", "stale-read", "lost-move"]
PLANT_SECONDS = 30  # they are found at once


def linear(server, *words, seconds):
    command = [binary("tests/linear"), "--socket", server.path, "--port", server.port,
               "--seconds", seconds, *words]
    if os.environ.get("YN_SEED"):
        command += ["--seed", os.environ["YN_SEED"]]
    print("linear:", *words, flush=True)
    try:
        done = subprocess.run([str(word) for word in command], timeout=seconds + 300)
    except subprocess.TimeoutExpired:
        return ["the program does not end"]
    return [f"the program's status is {done.returncode}"] if done.returncode else []


def run(options, threads, folder):
    server = YonderServer(folder, *(["--threads", threads] if threads else []))
    faults = []
    try:
        faults += linear(server, seconds=options.seconds / 2)
        for plant in PLANTS:
            faults += linear(server, "--plant", plant, seconds=PLANT_SECONDS)
        faults += linear(server, "--ballast", options.ballast, "--slow", options.slow,
                         seconds=options.seconds / 2)
    finally:
        faults += faults_of(server, options.keep_log)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="for each number of threads")
    parser.add_argument("--threads", type=int, nargs="*", default=[0],
                        help="of the server; 0: its default")
    parser.add_argument("--ballast", type=int, default=100000)
    parser.add_argument("--slow", type=int, default=8, help="slow readers")
    parser.add_argument("--keep-log", help="file for the server's log if anything fails")
    options = parser.parse_args()
    keep_all_reports()
    faults = []
    for threads in options.threads:
        print(f"threads: {threads or 'default'}", flush=True)
        with tempfile.TemporaryDirectory(prefix="yn-linear-") as folder:
            faults += run(options, threads, pathlib.Path(folder))
    print("\n".join(faults) if faults else "linear: nothing found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
