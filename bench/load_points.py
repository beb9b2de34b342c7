#!/usr/bin/python3
"""load_points.py [--points N] [--batch N] [--no-redis]: loads random points by GEOADD into
yonder-server and redis-server, and reports time, CPU, memory a point and the longest PING.

Points are uniform over the globe, members are "1".."N" in random order, `batch` points a
command. A second process sends PING every millisecond during the load. Its first figure is how
long a PING took on the idle server, since a busy machine stops processes too."""

import argparse
import multiprocessing
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("YONDER_BIN_DIR", ROOT / "build"))
TICK = os.sysconf("SC_CLK_TCK")


def write_commands(path, n, batch, seed):
    """RESP commands for all points; a multiplicative step visits every number once."""
    rng = random.Random(seed)
    step = 2654435761
    with open(path, "wb") as out:
        for start in range(0, n, batch):
            count = min(batch, n - start)
            parts = [b"*%d\r\n$6\r\nGEOADD\r\n$3\r\nkey\r\n" % (2 + 3 * count)]
            for i in range(start, start + count):
                lon = b"%.6f" % rng.uniform(-180, 180)
                lat = b"%.6f" % rng.uniform(-85, 85)
                name = b"%d" % (i * step % n + 1)
                parts.append(b"$%d\r\n%s\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n"
                             % (len(lon), lon, len(lat), lat, len(name), name))
            out.write(b"".join(parts))
    return (n + batch - 1) // batch


def connect(port, timeout=30):
    deadline = time.monotonic() + timeout
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def ping_loop(port, stop, results):
    """Sends PING every millisecond; reports the sorted times in milliseconds."""
    try:  # or the times are those of the scheduler
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("without the right to real-time priority: PING times include waiting for a "
              "processor", flush=True)
    sock = connect(port)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    while not stop.is_set():
        start = time.perf_counter()
        sock.sendall(b"PING\r\n")
        sock.recv(64)
        times.append((time.perf_counter() - start) * 1000)
        time.sleep(0.001)
    results.put(sorted(times))


def in_background(work):
    """Runs the work in a process of low priority, so that it does not keep the one that
    measures from its processor."""
    def run():
        os.nice(15)
        work()
    process = multiprocessing.Process(target=run)
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit("loading failed")


def measure_pings(port, work):
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    process = multiprocessing.Process(target=ping_loop, args=(port, stop, results))
    process.start()
    in_background(work)
    stop.set()
    times = results.get()
    process.join()
    return times


def send_all(port, path, n_replies):
    sock = connect(port)
    sock.setblocking(False)
    with open(path, "rb") as commands:
        pending, seen = memoryview(b""), 0
        ended = False
        while seen < n_replies:
            if not pending and not ended:
                pending = memoryview(commands.read(1 << 20))
                ended = not pending
            progressed = False
            if pending:
                try:
                    pending = pending[sock.send(pending):]
                    progressed = True
                except BlockingIOError:
                    pass
            try:
                data = sock.recv(1 << 16)
                if b"-" in data:
                    sys.exit(f"the server answered {data[:200]!r}")
                seen += data.count(b"\n")
                progressed = True
            except BlockingIOError:
                pass
            if not progressed:
                time.sleep(0.0005)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_bytes(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def run(name, command, path, n, n_replies):
    port = free_port()
    allowed = os.sched_getaffinity(0)
    process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        if len(allowed) > 1:  # one processor for the server alone
            first, *others = sorted(allowed)
            os.sched_setaffinity(process.pid, {first})
            os.sched_setaffinity(0, set(others))
        connect(port).close()
        idle = measure_pings(port, lambda: time.sleep(2))
        before = resident_bytes(process.pid)
        start, cpu = time.monotonic(), cpu_seconds(process.pid)
        pings = measure_pings(port, lambda: send_all(port, path, n_replies))
        wall, cpu = time.monotonic() - start, cpu_seconds(process.pid) - cpu
        memory = resident_bytes(process.pid) - before
        p99 = pings[len(pings) * 99 // 100]
        print(f"{name:14} {wall:8.1f} {cpu:8.1f} {cpu / n * 1e6:10.3f} {memory / n:10.1f} "
              f"{idle[-1]:10.2f} {p99:10.2f} {pings[-1]:10.2f}", flush=True)
    finally:
        os.sched_setaffinity(0, allowed)
        process.send_signal(signal.SIGTERM)
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-redis", action="store_true")
    args = parser.parse_args()
    with tempfile.NamedTemporaryFile(suffix=".resp") as commands:
        print(f"writing {args.points:,} points ...", flush=True)
        n_replies = write_commands(commands.name, args.points, args.batch, args.seed)
        print(f"{'server':14} {'wall s':>8} {'CPU s':>8} {'us/point':>10} {'B/point':>10} "
              f"{'PING idle':>10} {'p99 ms':>10} {'max ms':>10}", flush=True)
        run("yonder-server",
            lambda port: [BIN / "yonder-server", "--port", str(port)],
            commands.name, args.points, n_replies)
        if not args.no_redis:
            run("redis-server",
                lambda port: ["redis-server", "--port", str(port), "--save", "",
                              "--appendonly", "no"],
                commands.name, args.points, n_replies)


if __name__ == "__main__":
    main()
