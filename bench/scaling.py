#!/usr/bin/env python3
"""What threads cost and bring over sockets: processor time a request of yonder-server with
one and with two threads, in turn; and beside it n servers of one thread each, Yonder's and
Debian's redis-server, between which the keys are split: requests a second, memory.

    bench/scaling.py [--points 1000000] [--rounds 5] [--duration 1] [--threads 1,2]
                     [--only REGEX] [--pin] [--skip-servers] [--skip-threads]

The generator (yonder-bench run, as many threads for one server as for n) shares the
processors with the servers, so that requests a second grow by less than the processors;
processor time a request is what counts. It depends on how busy a loop is: one that is
always behind takes many requests at a wake, one that waits for the generator sleeps and
wakes for each. With --pin the servers have one processor and the generator another, so
that all loops together are as busy as one alone, and what is left are the threads
themselves: their lock, and their sharing. A figure is the median of the rounds, a ratio
the median of the ratios of each round, whose runs follow each other. Requests a second of
n servers are the sum of n generators that start together: a round must last longer than
their start. GEOADD moves a random member to a random point.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "wire"))
import servers  # noqa: E402

BENCH = str(servers.binary("yonder-bench"))
N_CONNECTIONS = 50
COMMANDS = (
    ("GEOPOS", "GEOPOS key {{member:1-{n}}}"),
    ("GEODIST", "GEODIST key {{member:1-{n}}} {{member:1-{n}}}"),
    ("GEOADD", "GEOADD key {{point:osm:{n}}} {{member:1-{n}}}"),
    ("small search", "GEOSEARCH Sicily FROMLONLAT {{near:15,37,1km}} BYBOX 400 400 km ASC "
                     "WITHCOORD WITHDIST"),
)
PIPELINES = (1, 10, 100)


def say(text):
    print(text, file=sys.stderr, flush=True)


def bench(*words):
    return subprocess.Popen(
        [BENCH, *map(str, words)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "YONDER_SOURCE_DIR": str(ROOT)})


def finish(process):
    out, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"scaling: {' '.join(process.args)} ended with {process.returncode}")
    return out


def load(some_servers, options):
    """The points are dealt out to the servers, which are filled side by side."""
    for server in some_servers if options.pin else ():
        pin(server, 0)
    n_points = options.points
    n = n_points // len(some_servers)
    loads = [bench("data", "osm", n, "--no-progress", "--load", server.port)
             for server in some_servers]
    loads += [bench("data", "sicily", "--no-progress", "--load", server.port)
              for server in some_servers]
    for process in loads:
        finish(process)


def pin(server, processor):
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {processor})


def drive(some_servers, command, pipeline, n_points, options):
    """Runs a command on all servers at once; returns requests a second and processor time a
    request in us, of all together."""
    words = command.format(n=n_points).split()
    runs = [bench("run", "-p", server.port, "--server-pid", server.pid, "--json",
                  "--no-progress", "-c", N_CONNECTIONS // len(some_servers), "-P", pipeline,
                  "-t", max(options.threads[-1] // len(some_servers), 1),
                  "-d", options.duration, "--warm-up", options.duration / 5,
                  *(("--cpus", 1) if options.pin else ()), *words)
            for server in some_servers]
    figures = [json.loads(finish(run)) for run in runs]
    total = sum(one["requests"] for one in figures)
    if any(one["nulls"] or one["empty"] for one in figures):
        raise SystemExit("scaling: members are missing")
    return (sum(one["requests_per_second"] for one in figures),
            sum(one["server_cpu_us"]["total"] * one["requests"] for one in figures) / total)


class Figures:
    """Of one subject in one row: lists over the rounds."""

    def __init__(self):
        self.rates, self.cpu = [], []

    def add(self, rate, cpu):
        self.rates.append(rate)
        self.cpu.append(cpu)

    @property
    def rate(self):
        return statistics.median(self.rates)

    def cpu_ratio(self, base):
        return statistics.median(a / b for a, b in zip(self.cpu, base.cpu))


def measure(subjects, options, pipelines=PIPELINES):
    """Yields (row, {subject: Figures}). subjects: name -> (servers, points of each)."""
    for name, command in COMMANDS:
        for pipeline in pipelines:
            row = f"{name}, pipeline {pipeline}"
            if not re.search(options.only, row):
                continue
            say(row)
            figures = {subject: Figures() for subject in subjects}
            for _ in range(options.rounds):
                for subject, (some_servers, n_points) in subjects.items():
                    figures[subject].add(*drive(some_servers, command, pipeline, n_points,
                                                options))
            yield row, figures


def start(cls, folder, n, *words):
    return [cls(pathlib.Path(folder) / f"{i}", *words) for i in range(n)]


def stop(subjects):
    for some_servers, _ in subjects.values():
        for server in some_servers:
            server.stop()


def compare_threads(folder, options):
    """CPU a request, the first number of threads being the yardstick."""
    subjects = {}
    try:
        for n_threads in options.threads:
            some = start(servers.YonderServer, f"{folder}/threads-{n_threads}", 1,
                         "--threads", n_threads)
            subjects[n_threads] = (some, options.points)
            say(f"loading {options.points} points, threads {n_threads}")
            load(some, options)
        first, *others = options.threads
        print("| row | " + " | ".join(f"threads {n}: CPU µs" for n in options.threads) +
              " | " + " | ".join(f"{n} to {first}" for n in others) + " | " +
              " | ".join(f"threads {n}: a second" for n in options.threads) + " |")
        print("| --- |" + " ---: |" * (3 * len(options.threads) - 1))
        for row, figures in measure(subjects, options):
            cells = [f"{statistics.median(figures[n].cpu):.3f}" for n in options.threads]
            cells += [f"{figures[n].cpu_ratio(figures[first]):.2f}" for n in others]
            cells += [f"{figures[n].rate:,.0f}" for n in options.threads]
            print(f"| {row} | " + " | ".join(cells) + " |", flush=True)
    finally:
        stop(subjects)


def compare_servers(folder, options):
    """n threads of one server, n servers of one thread, n redis-servers."""
    n = options.threads[-1]
    kinds = [("1 Yonder, 1 thread", servers.YonderServer, 1, ("--threads", 1)),
             (f"1 Yonder, {n} threads", servers.YonderServer, 1, ("--threads", n)),
             (f"{n} Yonder, 1 thread each", servers.YonderServer, n, ("--threads", 1)),
             ("1 Redis", servers.RedisServer, 1, ()),
             (f"{n} Redis", servers.RedisServer, n, ())]
    subjects, memory = {}, {}
    try:
        for name, cls, n_servers, words in kinds:
            some = start(cls, f"{folder}/{len(subjects)}", n_servers, *words)
            subjects[name] = (some, options.points // n_servers)
            say(f"loading {options.points} points: {name}")
            load(some, options)
            memory[name] = sum(server.resident_bytes() for server in some)
        rows = dict(measure(subjects, options, pipelines=(1, 10)))
        print("\n| servers | memory MB | " +
              " | ".join(f"{row}: a second | CPU µs" for row in rows) + " |")
        print("| --- | ---: |" + " ---: | ---: |" * len(rows))
        for name in subjects:
            cells = [f"{memory[name] / 1e6:.0f}"]
            for figures in rows.values():
                cells += [f"{figures[name].rate:,.0f}",
                          f"{statistics.median(figures[name].cpu):.2f}"]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    finally:
        stop(subjects)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", type=float, default=1)
    parser.add_argument("--threads", default="1,2",
                        type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--skip-servers", action="store_true")
    parser.add_argument("--skip-threads", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yn-scaling-") as folder:
        if not options.skip_threads:
            compare_threads(folder, options)
        if not options.skip_servers:
            compare_servers(folder, options)


if __name__ == "__main__":
    main()
