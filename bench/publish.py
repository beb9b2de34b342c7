#!/usr/bin/env python3
"""What publishing costs: processor time of the server for each message, with 1, 100 and
10,000 subscribers, ours beside Debian's redis-server. Medians of several rounds.

    bench/publish.py [--subscribers 1,100,10000] [--rounds 3] [--size 100] [--resp 2]
                     [--pipeline 1]

The messages of a round are published one after the other (--pipeline: so many at once);
the subscribers are read between the rounds, so that the time is the server's alone. It is
the time that the kernel's scheduler has counted for the server's main thread.
"""
import argparse
import pathlib
import resource
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "wire"))
import resp  # noqa: E402
import servers  # noqa: E402

SUBSCRIBED_BYTES = 50000  # of messages that one subscriber gets in a round, at most


def cpu_ns(server):
    text = pathlib.Path(f"/proc/{server.pid}/schedstat").read_text(encoding="ascii")
    return int(text.split()[0])


def drain(conn, n):
    while n > 0:
        n -= len(conn.sock.recv(n))


def measure(server, n_subscribers, options):
    """Returns processor time and elapsed time of a message, in us."""
    conns = []
    for _ in range(n_subscribers):
        conns.append(server.connect(resp=options.resp))
        conns[-1].command("SUBSCRIBE", "news")
    text = "x" * options.size
    wire_len = len(resp.encode("message", "news", text))
    n_messages = max(1, min(SUBSCRIBED_BYTES // wire_len, 2000000 // n_subscribers))
    n_repeats = max(1, min(100, 20000 // (n_subscribers * n_messages)))
    batch = resp.encode("PUBLISH", "news", text) * options.pipeline
    cpu, elapsed = [], []
    with server.connect() as writer:
        for i in range(options.rounds + 1):
            used_ns = spent_ns = n = 0
            for _ in range(n_repeats):
                before_ns, began_ns = cpu_ns(server), time.perf_counter_ns()
                n_round = 0
                while n_round < n_messages:
                    writer.send(batch)
                    for _ in range(options.pipeline):
                        assert writer.read() == n_subscribers
                    n_round += options.pipeline
                spent_ns += time.perf_counter_ns() - began_ns
                for conn in conns:
                    drain(conn, wire_len * n_round)
                used_ns += cpu_ns(server) - before_ns
                n += n_round
            if i > 0:  # the first warms up
                cpu.append(used_ns / n / 1000)
                elapsed.append(spent_ns / n / 1000)
    for conn in conns:
        conn.close()
    return statistics.median(cpu), statistics.median(elapsed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subscribers", default="1,100,10000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--resp", type=int, default=2, choices=(2, 3))
    parser.add_argument("--pipeline", type=int, default=1)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{'subscribers':>11}  {'server':14} {'cpu us/message':>14} "
          f"{'cpu us/delivery':>15} {'elapsed us':>10}")
    with tempfile.TemporaryDirectory(prefix="yn-publish-") as folder:
        for cls in (servers.YonderServer, servers.RedisServer):
            server = cls(pathlib.Path(folder) / cls.name, "--maxclients", "20000")
            try:
                for n in map(int, options.subscribers.split(",")):
                    cpu, elapsed = measure(server, n, options)
                    print(f"{n:11}  {server.name:14} {cpu:14.2f} {cpu / n:15.3f} "
                          f"{elapsed:10.1f}", flush=True)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
