#!/usr/bin/python3
"""Sends hostile byte streams to a running server, beside a client that behaves well.

Many connections at a time, each with a stream of its own (streams.py), cut at random, left
in every way a connection can be left. After each round of streams: the server lives and has
said nothing of a sanitizer, the good client (good_client.py) has had right answers
throughout, all that came back was well-formed; and once the hostile ones are gone, and the
keys they made, memory and descriptors are back at the level of the first rounds.

A fault is reproduced with --seed, --first and --streams as printed; the bytes of the streams
that were under way are kept too."""
import argparse
import os
import pathlib
import random
import socket
import struct
import sys
import tempfile
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "wire"), str(FOLDER.parent / "stress")]

import good_client  # noqa: E402
import resp  # noqa: E402
import streams  # noqa: E402
from run_server import REPORT, faults_of  # noqa: E402
from servers import YonderServer  # noqa: E402

N_WORKERS = 8
SEND_TIMEOUT_S = 3
DRAIN_MAX = 4 << 20
PATIENCE_S = 120
WARM_UP_ROUNDS = 3
PAUSE_S = 0.002


def abandon(sock):
    """Closes with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def drain(sock):
    """All that comes until the server closes, or says nothing for a while."""
    parts, n = [], 0
    try:
        while n < DRAIN_MAX:
            piece = sock.recv(1 << 16)
            if not piece:
                break
            parts.append(piece)
            n += len(piece)
    except OSError:
        pass
    return b"".join(parts)


def check_replies(data):
    """Raises Malformed unless the bytes are replies, of which the last may be cut."""
    pieces = [data]
    reader = resp.Reader(lambda n: pieces.pop() if pieces else b"")
    try:
        while pieces or reader.pending():
            reader.read()
    except resp.Closed:
        pass


class Hostile:
    """The hostile clients of a round."""

    def __init__(self, server, drawn):
        self.server, self.drawn = server, drawn
        self.lock = threading.Lock()
        self.held, self.under_way, self.faults = [], {}, []
        self.next = self.end = 0

    def round(self, first, n):
        self.next, self.end = first, first + n
        threads = [threading.Thread(target=self._work) for _ in range(N_WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for sock in self.held:
            sock.close()
        self.held.clear()

    def _take(self):
        with self.lock:
            number = self.next
            self.next += 1
        return number if number < self.end and not self.faults else None

    def _work(self):
        while (number := self._take()) is not None:
            stream = self.drawn.draw(number)
            self.under_way[threading.get_ident()] = (number, stream)
            try:
                self._attack(stream)
            except resp.Malformed as fault:
                self.faults.append(f"stream {number}: the answer is no RESP: {fault}")
            except OSError:
                if not self.server.is_running():
                    self.faults.append(f"stream {number}: the server is gone")

    def _connect(self, by_tcp):
        family = socket.AF_INET if by_tcp else socket.AF_UNIX
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.settimeout(SEND_TIMEOUT_S)
        sock.connect(self.server.address if by_tcp else self.server.path)
        return sock

    def _attack(self, stream):
        sock = self._connect(by_tcp=stream.ending in ("reset", "drain"))
        try:
            for piece in stream.pieces():
                sock.sendall(piece)
                if stream.cuts:
                    time.sleep(PAUSE_S)
            self._leave(sock, stream.ending)
        except OSError:
            sock.close()
            raise

    def _leave(self, sock, ending):
        if ending == "stay":
            self.held.append(sock)
        elif ending == "reset":
            abandon(sock)
        elif ending == "close":
            sock.close()
        elif ending == "half":
            sock.shutdown(socket.SHUT_WR)
            self.held.append(sock)
        elif ending == "read":
            sock.settimeout(0.05)
            drain(sock)
            self.held.append(sock)
        else:
            sock.shutdown(socket.SHUT_WR)
            answer = drain(sock)
            sock.close()
            check_replies(answer)

    def keep(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for number, stream in self.under_way.values():
            (folder / f"stream-{self.drawn.seed}-{number}.bin").write_bytes(stream.data)
        return [number for number, _ in self.under_way.values()]


class Auditor:
    """Cleans up after a round and looks whether all is back at its level."""

    def __init__(self, server, options):
        self.server, self.margin = server, options.margin
        self.conn = server.connect(timeout=PATIENCE_S)
        assert self.conn.command("AUTH", streams.PASSWORD) == b"OK"
        self.levels, self.highest = [], 0

    def prepare(self):
        """Makes the hostile user."""
        for rule in streams.RIGHTS:
            reply = self.conn.command("ACL", "SETUSER", streams.USER, rule)
            assert reply == b"OK" or rule.startswith("-"), (rule, reply)
        docs = self.conn.command("COMMAND", "DOCS")
        for rule in ("-shutdown", "-flushall", "-client|kill", "-config|set"):
            assert b"no permissions" in self.conn.command(
                "ACL", "DRYRUN", streams.USER, *rule[1:].split("|"), "a", "b"), rule
        return docs

    def _info(self, name):
        for line in self.conn.command("INFO").split(b"\r\n"):
            if line.startswith(name + b":"):
                return int(line.partition(b":")[2])
        raise AssertionError(f"INFO does not tell {name}")

    def _remove_keys(self):
        for db in range(16):
            assert self.conn.command("SELECT", db) == b"OK"
            names = self.conn.command("KEYS", "*")
            strange = [name for name in names if not name.startswith(good_client.PREFIX)]
            for at in range(0, len(strange), 1000):
                self.conn.command("UNLINK", *strange[at:at + 1000])

    def _forget(self):
        self._remove_keys()
        for words in (["SLOWLOG", "RESET"], ["ACL", "LOG", "RESET"], ["LATENCY", "RESET"],
                      ["CONFIG", "RESETSTAT"]):
            assert not isinstance(self.conn.command(*words), resp.Error), words

    def _figures(self):
        self._forget()
        self.conn.command("MEMORY", "PURGE")
        n_fds = len(os.listdir(f"/proc/{self.server.pid}/fd"))
        return self._info(b"used_memory"), n_fds, self._info(b"connected_clients")

    def _level(self):
        first = self.levels[:WARM_UP_ROUNDS]
        return min(memory for memory, _ in first), max(n_fds for _, n_fds in first)

    def fill(self):
        """What the commands of the next round find."""
        for db in range(streams.N_DATABASES):
            self.conn.command("SELECT", db)
            self.conn.command("GEOADD", "g", *(word for i in range(300) for word in (
                i * 0.9 - 130, i * 0.5 - 70, f"m{i}")), 13.361389, 38.115556, "m")
            self.conn.command("ZADD", "z", *(word for i in range(300) for word in (
                i, f"m{i}")), 5, "m", 7, "a")
            self.conn.command("SET", "s", "v" * 1000)
            for i in range(10):
                self.conn.command("SET", f"k{i}", i)

    def check(self):
        """Returns a fault or None. Clients that have gone are noticed soon, not at once."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            memory, n_fds, n_clients = self._figures()
            is_warm = len(self.levels) >= WARM_UP_ROUNDS
            level, fds = self._level() if is_warm else (memory, n_fds)
            if n_clients == 2 and memory <= level + self.margin and n_fds <= fds:
                break
            if time.monotonic() > deadline:
                return (f"not back at its level: {n_clients} clients in place of 2, "
                        f"{memory} bytes ({level}), {n_fds} descriptors ({fds}); "
                        f"{self.conn.command('CLIENT', 'LIST')[:2000]}")
            time.sleep(0.1)
        self.highest = max(self.highest, memory - level)
        self.levels.append((memory, n_fds))
        return None


def faults_of_round(server, hostile, auditor, good):
    faults = list(hostile.faults)
    if good.fault:
        faults.append(good.fault)
    if not server.is_running():
        faults.append(f"the server ended with status {server.process.returncode}")
    elif not faults:
        fault = auditor.check()
        faults += [fault] if fault else []
    if REPORT.search(server.log_text()):
        faults.append("a report of a sanitizer or of an assertion")
    return faults


def attack(options, server):
    auditor = Auditor(server, options)
    hostile = Hostile(server, streams.Streams(options.seed, auditor.prepare()))

    def connect():
        conn = server.connect(timeout=PATIENCE_S)
        conn.command("AUTH", streams.PASSWORD)
        return conn

    good = good_client.GoodClient(connect, random.Random(options.seed))
    at, end, began = options.first, options.first + options.streams, time.monotonic()
    while at < end:
        n = min(options.round, end - at)
        auditor.fill()
        hostile.round(at, n)
        try:
            faults = faults_of_round(server, hostile, auditor, good)
        except (OSError, resp.Closed) as error:
            faults = [f"the auditor: {error!r}"]
        if faults:
            numbers = hostile.keep(pathlib.Path(options.keep))
            print(f"streams {at} to {at + n - 1} (last ones {numbers}, kept in {options.keep}); "
                  f"again: --seed {options.seed} --first {at} --streams {n}")
            return faults
        at += n
        if options.verbose:
            print(f"{at - options.first} streams, {time.monotonic() - began:.0f} s, "
                  f"{auditor.levels[-1][0]} bytes, good client {good.n} commands", flush=True)
    fault = good.end()
    print(f"hostile: {options.streams} streams, {good.n} commands of the good client, memory at "
          f"most {auditor.highest} bytes above its level")
    return [fault] if fault else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--round", type=int, default=500, help="streams between two checks")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("YN_SEED") or
                                                        time.time_ns() // 1000 % 10**9))
    parser.add_argument("--threads", type=int, default=0, help="0: the server's default")
    parser.add_argument("--margin", type=int, default=8 << 20, help="bytes of memory")
    parser.add_argument("--keep", default="hostile-kept", help="folder for failing streams")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    print(f"hostile: seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="yn-hostile-") as folder:
        server = YonderServer(folder, "--requirepass", streams.PASSWORD.decode(), "--threads",
                              options.threads, "--client-query-buffer-limit", "64mb")
        try:
            faults = attack(options, server)
        finally:
            more = faults_of(server, pathlib.Path(options.keep + ".log"))
        faults += more
    print("\n".join(faults) if faults else "hostile: nothing found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
