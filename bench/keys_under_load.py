#!/usr/bin/python3
"""keys_under_load.py [--keys N] [--members N] [--span S] [--redis]: what PING feels while very many
keys go: how long it takes when nothing happens, while N keys with an expiry fall due within S
seconds, while a sorted set of N members is unlinked, expires or is replaced, and while FLUSHALL
ASYNC removes as many keys again and the set.

A second process sends PING every millisecond, as in load_points.py. It, and the server's main thread,
go before other processes if the machine allows that. For each step: PING p50, p99
and the longest, in milliseconds; memory in use before and after as the server tells it
(used_memory), resident memory after; and how long it was until all of it was given back. During the
expiry a line every few seconds tells how many keys are left, and how many should be."""

import argparse
import multiprocessing
import os
import random
import signal
import subprocess
import time

from load_points import BIN, connect, free_port, measure_pings, resident_bytes

MB = 1 << 20


class Client:
    """Sends commands and reads replies of one line, or one bulk."""

    def __init__(self, port):
        self.sock = connect(port)
        self.file = self.sock.makefile("rb")

    def reply(self):
        line = self.file.readline()
        if line.startswith(b"-"):
            raise RuntimeError(line.decode().strip())
        if line.startswith(b"$"):
            return self.file.read(int(line[1:]) + 2)[:-2]
        return line[1:].strip()

    def run(self, *words):
        self.sock.sendall(encode(words))
        return self.reply()

    def info(self):
        pairs = (line.split(":", 1) for line in self.run(b"INFO").decode().splitlines()
                 if ":" in line)
        return dict(pairs)

    def used(self):
        return int(self.info()["used_memory"])

    def count(self):
        return int(self.run(b"DBSIZE"))


def encode(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def send_all(client, commands):
    """Sends many commands, some thousands at a time."""
    pending, n = [], 0

    def flush():
        client.sock.sendall(b"".join(pending))
        for _ in range(n):
            client.reply()

    for command in commands:
        pending.append(command)
        n += 1
        if n == 2000:
            flush()
            pending, n = [], 0
    flush()


def key_commands(n, due_ms=None, span_ms=0, seed=1):
    """SET of n keys; with an expiry that is spread evenly over the span."""
    rng = random.Random(seed)
    value = b"0123456789abcdef"
    for i in range(n):
        name = b"session:%d" % i
        if due_ms is None:
            yield encode((b"SET", name, value))
        else:
            yield encode((b"SET", name, value, b"PXAT",
                          b"%d" % (due_ms + rng.randrange(span_ms))))


def member_commands(key, n, seed=2):
    rng = random.Random(seed)
    for start in range(0, n, 500):
        words = [b"ZADD", key]
        for i in range(start, min(start + 500, n)):
            words += [b"%d" % rng.randrange(1 << 52), b"member:%d" % i]
        yield encode(words)


def wait_until_freed(client):
    """Returns when nothing is left to be freed, and memory has stopped going down."""
    used = client.used()
    while True:
        time.sleep(0.02)
        info = client.info()
        now = int(info["used_memory"])
        pending = info.get("lazyfree_pending_objects", "0")
        if pending == "0" and now >= used - MB // 10:
            return
        used = now


class Step:
    """What is measured of one step: its work runs in a process of its own."""

    def __init__(self, name, server, work):
        self.name, self.server, self.work = name, server, work

    def run(self):
        client = Client(self.server.port)
        before = client.used()
        results = multiprocessing.Queue()

        def work():
            start = time.monotonic()
            self.work()
            results.put(time.monotonic() - start)

        pings = measure_pings(self.server.port, work)
        p50, p99 = pings[len(pings) // 2], pings[len(pings) * 99 // 100]
        print(f"{self.server.name:14} {self.name:24} {p50:9.3f} {p99:9.3f} {pings[-1]:9.2f} "
              f"{before / MB:9.0f} {client.used() / MB:9.0f} "
              f"{resident_bytes(self.server.process.pid) / MB:9.0f} {results.get():8.2f}",
              flush=True)


class Server:
    def __init__(self, name, command):
        self.name = name
        self.port = free_port()
        self.process = subprocess.Popen(command(self.port), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        connect(self.port).close()
        try:  # its main thread, not those that work in the background
            os.sched_setscheduler(self.process.pid, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK,
                                  os.sched_param(1))
        except PermissionError:
            pass

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def watch_expiry(client, n_keys, due_ms, span_ms):
    """Until no key is left, tells how far the server is behind."""
    told = 0
    while client.count() > 0:
        late_ms = time.time() * 1000 - due_ms
        if late_ms > told + span_ms / 6:
            told = late_ms
            should = max(0, round(n_keys * (1 - late_ms / span_ms)))
            print(f"{'':14}   {late_ms / 1000:5.1f} s: {client.count():,} keys are left, "
                  f"{should:,} should be; {client.used() / MB:.0f} MB", flush=True)
        if late_ms > 4 * span_ms + 60000:
            print(f"{'':14}   given up: {client.count():,} keys are left", flush=True)
            return
        time.sleep(0.05)
    late_s = max(0, time.time() * 1000 - due_ms - span_ms) / 1000
    print(f"{'':14}   the last key went {late_s:.2f} s after its time", flush=True)


def expire_keys(server, args):
    client = Client(server.port)
    span_ms = int(args.span * 1000)
    due_ms = int((time.time() + 5 + args.keys / 60000) * 1000)
    send_all(client, key_commands(args.keys, due_ms, span_ms))
    if time.time() * 1000 > due_ms:
        print("loading took longer than planned: keys fell due before the measurement")
    time.sleep(max(0, due_ms / 1000 - time.time()))
    Step(f"expiry of {args.keys:,} keys", server,
         lambda: watch_expiry(Client(server.port), args.keys, due_ms, span_ms)).run()


def lose_set(server, args, name, *command):
    """Loads the set and loses it by the command."""
    client = Client(server.port)
    client.run(b"FLUSHALL")
    send_all(client, member_commands(b"large", args.members))
    client.run(b"SET", b"small", b"value")

    def work():
        own = Client(server.port)
        time.sleep(0.2)
        own.run(*command)
        time.sleep(0.3)  # an expiry is not due at once
        wait_until_freed(own)

    Step(name, server, work).run()


def flush_all(server, args):
    client = Client(server.port)
    client.run(b"FLUSHALL")
    send_all(client, key_commands(args.keys))
    send_all(client, member_commands(b"large", args.members))

    def work():
        own = Client(server.port)
        time.sleep(0.2)
        own.run(b"FLUSHALL", b"ASYNC")
        wait_until_freed(own)

    Step("FLUSHALL ASYNC", server, work).run()


def measure(server, args):
    try:
        Step("idle", server, lambda: time.sleep(2)).run()
        expire_keys(server, args)
        lose_set(server, args, "UNLINK of the set", b"UNLINK", b"large")
        lose_set(server, args, "DEL of the set", b"DEL", b"large")
        lose_set(server, args, "the set expires", b"PEXPIRE", b"large", b"100")
        lose_set(server, args, "RENAME over the set", b"RENAME", b"small", b"large")
        flush_all(server, args)
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--members", type=int, default=10_000_000)
    parser.add_argument("--span", type=float, default=60)
    parser.add_argument("--redis", action="store_true", help="measure redis-server, too")
    parser.add_argument("--only-redis", action="store_true")
    args = parser.parse_args()
    print(f"{'server':14} {'step':24} {'p50 ms':>9} {'p99 ms':>9} {'max ms':>9} "
          f"{'MB before':>9} {'MB after':>9} {'MB res.':>9} {'took s':>8}", flush=True)
    if not args.only_redis:
        measure(Server("yonder-server",
                       lambda port: [BIN / "yonder-server", "--port", str(port)]), args)
    if args.redis or args.only_redis:
        measure(Server("redis-server",
                       lambda port: ["redis-server", "--port", str(port), "--save", "",
                                     "--appendonly", "no"]), args)


if __name__ == "__main__":
    main()
