#!/usr/bin/python3
"""sets_in_bulk.py [--members N] [--rounds N] [--no-redis]: what commands on whole sorted sets cost in
yonder-server and in redis-server: unions, intersections, differences, stored ranges, removals of
ranges. Each set has N members; half of them are in both.

A figure is the server's processor time of the one command, in milliseconds; the median of rounds
in turn. What the servers hold after each command is compared first: its number of members and a
thousand of them with their scores."""

import argparse
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/wire"))
import servers  # noqa: E402

BATCH = 1000


def cpu_ms(server):
    """Processor time of all threads of the server so far."""
    total = 0
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e6


def load(conn, key, members, score):
    for start in range(0, len(members), BATCH):
        part = members[start:start + BATCH]
        conn.command("ZADD", key, *[word for m in part for word in (score(m), b"m%d" % m)])


def fill(conn, n):
    """Two sets with half of their members in common, one of twice the size, two of one score."""
    conn.command("FLUSHALL")
    spread = lambda m: b"%d" % (m * 2654435761 % (1 << 52))  # noqa: E731
    load(conn, "a", range(n), spread)
    load(conn, "b", range(n // 2, n + n // 2), spread)
    load(conn, "c", range(2 * n, 3 * n), spread)
    load(conn, "same1", range(n), lambda m: b"0")
    load(conn, "same2", range(n // 2, n + n // 2), lambda m: b"0")


ROWS = [
    # name, commands before it that are not measured, the command, the key that it leaves
    ("ZUNIONSTORE, half in common", [], ["ZUNIONSTORE", "d", "2", "a", "b"], "d"),
    ("ZUNIONSTORE, nothing in common", [], ["ZUNIONSTORE", "d", "2", "a", "c"], "d"),
    ("ZUNIONSTORE, all scores alike", [], ["ZUNIONSTORE", "d", "2", "same1", "same2"], "d"),
    ("ZINTERSTORE", [], ["ZINTERSTORE", "d", "2", "a", "b"], "d"),
    ("ZDIFFSTORE", [], ["ZDIFFSTORE", "d", "2", "a", "b"], "d"),
    ("ZINTERCARD", [], ["ZINTERCARD", "2", "a", "b"], None),
    ("ZRANGESTORE, all", [], ["ZRANGESTORE", "d", "a", "0", "-1"], "d"),
    ("ZREMRANGEBYRANK, half", [["ZUNIONSTORE", "d", "2", "a", "c"]],
     ["ZREMRANGEBYRANK", "d", "{quarter}", "{three_quarters}"], "d"),
    ("ZREMRANGEBYSCORE, all but some", [["ZUNIONSTORE", "d", "2", "a", "c"]],
     ["ZREMRANGEBYSCORE", "d", "-inf", str(1 << 51 | 1 << 50 | 1 << 49)], "d"),
]


def run_row(server, conn, row, n):
    """(milliseconds, what is left to compare)"""
    _, before, command, key = row
    words = [w.format(quarter=n // 2, three_quarters=n + n // 2 - 1) if "{" in w else w
             for w in command]
    for preparation in before:
        conn.command(*preparation)
    start = cpu_ms(server)
    reply = conn.command(*words)
    took = cpu_ms(server) - start
    if key is None:
        return took, reply
    left = conn.command("ZCARD", key), conn.command("ZRANGE", key, n // 3, n // 3 + 999, "WITHSCORES")
    conn.command("UNLINK", key)
    conn.command("PING")
    return took, (reply, left)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-redis", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yn-bulk-") as folder:
        running = [servers.YonderServer(folder + "/y")]
        try:
            if not args.no_redis:
                running.append(servers.RedisServer(folder + "/r"))
            conns = [server.connect() for server in running]
            for conn in conns:
                conn.sock.settimeout(600)
                fill(conn, args.members)
            print(f"{args.members:,} members a set, {args.rounds} rounds, milliseconds\n")
            print("| command | Yonder | Redis | ratio |\n| --- | ---: | ---: | ---: |", flush=True)
            for row in ROWS:
                times = [[] for _ in running]
                for _ in range(args.rounds):
                    results = [run_row(*pair, row, args.members) for pair in zip(running, conns)]
                    for kept, (took, _) in zip(times, results):
                        kept.append(took)
                    if any(left != results[0][1] for _, left in results):
                        sys.exit(f"{row[0]}: the servers' answers differ")
                medians = [statistics.median(t) for t in times]
                ratio = f"{medians[1] / medians[0]:.1f}" if len(medians) > 1 else "-"
                redis = f"{medians[1]:.0f}" if len(medians) > 1 else "-"
                print(f"| {row[0]} | {medians[0]:.0f} | {redis} | {ratio} |", flush=True)
        finally:
            for server in running:
                server.stop()


if __name__ == "__main__":
    main()
