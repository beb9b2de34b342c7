"""Damaged and made-up byte streams by the hundred thousand against a running server, beside
one well-behaved client.

    /usr/bin/python3 tests/wire/hostile.py [--streams N] [--seed N] [--threads N]

Streams start from requests of every command that the server knows (COMMAND DOCS says what
they take, so a new command is part of it at once) and from tables of odd bytes. They are
cut, flipped, spliced, repeated, and lie about lengths; clients log in or do not, are in
transactions, subscribe, monitor, track, speak RESP3; they send in random pieces, read or do
not, and hang up in every way. Between them the well-behaved client runs transactions whose
replies are known. Every so often all others are gone, and memory has to be back.

The server is the one of YONDER_BIN_DIR: with a build that has sanitizers, a report of theirs
is a failure. Fails with the seed, the last streams are kept in a file."""
import argparse
import os
import pathlib
import random
import shutil
import socket
import struct
import sys
import tempfile
import time

import resp
import servers

PASSWORD = "right"
# What would end the server, the well-behaved client or the run itself.
BARRED = {"shutdown", "debug", "acl|setuser", "acl|deluser", "acl|load", "acl|save",
          "config|set", "config|rewrite", "client|kill", "client|pause", "replicaof",
          "slaveof", "failover"}
WORDS = [b"k", b"k2", b"s", b"m", b"a", b"", b"*", b"0", b"1", b"-1", b"km", b"nan", b"inf",
         b"-inf", b"(1", b"[a", b"+", b"-", b"9223372036854775807", b"-9223372036854775808",
         b"18446744073709551616", b"1e308", b"1e-400", b"\r\n", b"\x00", b"\xff" * 9,
         b"x" * 300, b"y" * 70000, b"COUNT", b"ANY", b"BYRADIUS", b"WITHDIST", b"LIMIT",
         b"STORE", b"nx", b"GET", b"SUBSCRIBE"]
BYTES = [b"\r\n", b"\n", b"*", b"$", b"*-1\r\n", b"*0\r\n", b"$-1\r\n", b"*1048577\r\n",
         b"*2147483647\r\n", b"$536870913\r\n", b"*1\r\n$1048576\r\n", b"*99999\r\n",
         b"*1\r\n$9223372036854775807\r\n", b"*3\r\n:1\r\n", b"%1\r\n", b"GET / HTTP/1.1\r\n",
         b"\"unbalanced\r\n", b"'a' \"b\\x41\"\r\n", b"PING\r\n", b"z" * 70000, b"\x16\x03\x01",
         bytes(64)]


# ---- requests of every command ----


class Requests:
    """Requests as COMMAND DOCS describes them."""

    def __init__(self, rng, conn):
        self.rng = rng
        self.specs = {}
        docs = conn.command("COMMAND", "DOCS")
        for name, doc in zip(docs[::2], docs[1::2]):
            self._add(name.decode(), as_map(doc))

    def _add(self, name, doc):
        subs = as_map(doc.get(b"subcommands", []))
        for sub, sub_doc in subs.items():
            self._add(sub.decode(), as_map(sub_doc))
        if not subs and name not in BARRED:
            self.specs[name] = [as_map(arg) for arg in doc.get(b"arguments", [])]

    def _value(self, kind):
        rng = self.rng
        if rng.random() < 0.15:
            return rng.choice(WORDS)
        if kind == b"key":
            return rng.choice((b"k", b"k2", b"s", b"z"))
        if kind == b"integer":
            return b"%d" % rng.choice((0, 1, 2, 5, 10, 100, -1, 2**31, 2**63 - 1))
        if kind == b"double":
            return rng.choice((b"1", b"2.5", b"-179.99", b"85.05", b"1000", b"1e300"))
        if kind == b"unix-time":
            return b"%d" % (time.time() + rng.randrange(-2, 100))
        return rng.choice((b"m", b"a", b"b", b"member", b"1"))

    def _argument(self, arg, out):
        rng = self.rng
        flags = arg.get(b"flags", [])
        if b"optional" in flags and rng.random() < 0.6:
            return
        for _ in range(rng.choice((1, 1, 2, 5)) if b"multiple" in flags else 1):
            if b"token" in arg:
                out.append(arg[b"token"])
            kind = arg[b"type"]
            parts = [as_map(part) for part in arg.get(b"arguments", [])]
            if kind == b"oneof":
                self._argument(rng.choice(parts), out)
            elif kind == b"block":
                for part in parts:
                    self._argument(part, out)
            elif kind != b"pure-token":
                out.append(self._value(kind))

    def one(self):
        name = self.rng.choice(list(self.specs))
        words = [word.encode() for word in name.split("|")]
        for arg in self.specs[name]:
            self._argument(arg, words)
        if words[0] in (b"bzpopmin", b"bzpopmax", b"bzmpop"):
            words[-1 if words[0] != b"bzmpop" else 1] = b"0.05"
        return resp.encode(*words)


def as_map(value):
    if isinstance(value, dict):
        return value
    items = list(value)
    return dict(zip(items[::2], items[1::2]))


# ---- streams ----


def damage(rng, data):
    """Changes the bytes in one way."""
    data = bytearray(data)
    at = rng.randrange(len(data) + 1)
    way = rng.randrange(8)
    if way == 0 and data:
        data[at % len(data)] ^= 1 << rng.randrange(8)
    elif way == 1:
        del data[at:at + rng.choice((1, 2, 10, 1000))]
    elif way == 2:
        data[at:at] = rng.choice(BYTES)
    elif way == 3:
        data[at:at] = data[:rng.randrange(200)] * rng.choice((1, 2, 20))
    elif way == 4:
        digits = [i for i, byte in enumerate(data) if 48 <= byte < 58]
        if digits:
            data[rng.choice(digits)] = rng.choice(b"0123456789-+ .")
    elif way == 5:
        marks = [i for i, byte in enumerate(data) if byte in b"*$"]
        if marks:
            i = rng.choice(marks) + 1
            data[i:i] = rng.choice((b"9", b"-", b"99999", b"00"))
    elif way == 6:
        data[at:at] = rng.randbytes(rng.choice((1, 5, 100)))
    else:
        data = data[:at]
    return bytes(data)


OPENINGS = [[], [("HELLO", "3")], [("MULTI",)], [("MULTI",), ("SET", "s", "v")],
            [("SUBSCRIBE", "m")], [("PSUBSCRIBE", "*")], [("HELLO", "3"), ("SUBSCRIBE", "a")],
            [("MONITOR",)], [("CLIENT", "TRACKING", "ON")], [("WATCH", "k", "s")],
            [("HELLO", "3"), ("CLIENT", "TRACKING", "ON", "BCAST")],
            [("CLIENT", "REPLY", "OFF")], [("SELECT", "9")], [("BZPOPMIN", "none", "0")]]


def make_stream(rng, requests):
    parts = []
    if rng.random() < 0.85:
        parts.append(resp.encode("AUTH", PASSWORD))
        parts += [resp.encode(*words) for words in rng.choice(OPENINGS)]
    n = rng.choice((1, 2, 3, 5, 20))
    body = [requests.one() if rng.random() < 0.85 else rng.choice(BYTES) for _ in range(n)]
    body = b"".join(body)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        body = damage(rng, body)
    return b"".join(parts) + body


def send_stream(rng, address, stream):
    """Sends it in pieces, reads or does not, and leaves in some way."""
    sock = socket.create_connection(address, timeout=30)
    try:
        cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
        for start, end in zip([0, *cuts], [*cuts, len(stream)]):
            sock.sendall(stream[start:end])
        sock.setblocking(False)
        if rng.random() < 0.5:
            time.sleep(rng.choice((0, 0, 0.0005)))
            try:
                while sock.recv(65536):
                    pass
            except BlockingIOError:
                pass
        leave = rng.randrange(4)
        if leave == 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif leave == 1:
            sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the server has hung up first
    return sock


# ---- the run ----


class WellBehaved:
    """A client whose transactions have one right answer, whatever others do."""

    def __init__(self, server):
        self.conn = server.connect()
        assert self.conn.command("AUTH", PASSWORD) == b"OK"
        self.n = 0

    def check(self):
        self.n += 1
        value = f"value{self.n}".encode()
        commands = (("MULTI",), ("SET", "good", value), ("GET", "good"), ("DEL", "good:geo"),
                    ("GEOADD", "good:geo", "13.361389", "38.115556", "Palermo"),
                    ("GEOSEARCH", "good:geo", "FROMLONLAT", "13", "38", "BYRADIUS", "100", "km"),
                    ("GEODIST", "good:geo", "Palermo", "Palermo"), ("EXEC",))
        replies = self.conn.pipeline(commands)
        assert replies[0] == b"OK" and replies[1:-1] == [b"QUEUED"] * 6, replies
        assert replies[-1] == [b"OK", value, 0 if replies[-1][2] == 0 else 1, 1, [b"Palermo"],
                               b"0.0000"], replies

    def clients_memory(self):
        lines = self.conn.command("CLIENT", "LIST").split(b"\n")
        return sum(int(line.partition(b" tot-mem=")[2].split()[0]) for line in lines if line)

    def wait_until_alone(self):
        deadline = time.monotonic() + 60
        while b"connected_clients:1\r\n" not in self.conn.command("INFO", "clients"):
            assert time.monotonic() < deadline, self.conn.command("CLIENT", "LIST")[:5000]
            time.sleep(0.01)

    def rest(self):
        """All others have gone: what they have left is dropped."""
        self.wait_until_alone()
        for words in (("FLUSHALL", "SYNC"), ("SLOWLOG", "RESET"), ("ACL", "LOG", "RESET"),
                      ("MEMORY", "PURGE")):
            assert self.conn.command(*words) == b"OK"
        assert self.clients_memory() < 1_000_000  # its own answer is in it


class Run:
    OPEN_MAX = 60  # connections at a time
    PERIOD = 2000  # streams between two looks at memory
    GROWTH_MAX = 100_000_000

    def __init__(self, server, seed):
        self.server, self.rng = server, random.Random(seed)
        self.good = WellBehaved(server)
        self.requests = Requests(self.rng, self.good.conn)
        self.socks, self.last = [], []
        self.resident = None

    def one(self):
        stream = make_stream(self.rng, self.requests)
        self.last = self.last[-199:] + [stream]
        self.socks.append(send_stream(self.rng, self.server.address, stream))
        if len(self.socks) > self.OPEN_MAX:
            self.socks.pop(self.rng.randrange(len(self.socks))).close()

    def look_at_memory(self):
        for sock in self.socks:
            sock.close()
        self.socks = []
        self.good.rest()
        now = self.server.resident_bytes()
        if self.resident is None:
            self.resident = now
        assert now < self.resident + self.GROWTH_MAX, f"{self.resident} bytes became {now}"

    def run(self, n_streams, tell=lambda text: None):
        began = time.monotonic()
        for i in range(1, n_streams + 1):
            self.one()
            if i % 10 == 0:
                self.good.check()
            if i % self.PERIOD == 0 or i == n_streams:
                self.look_at_memory()
                assert self.server.is_running()
                tell(f"{i} streams, {i / (time.monotonic() - began):.0f} a second, "
                     f"{self.server.resident_bytes() // 1000000} MB resident")


def start_server(folder, threads):
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=16")
    return servers.YonderServer(
        folder, "--requirepass", PASSWORD, "--threads", str(threads), "--timeout", "5",
        "--proto-max-bulk-len", "1mb", "--client-query-buffer-limit", "4mb",
        "--client-output-buffer-limit", "normal 64mb 0 0 pubsub 8mb 0 0",
        "--maxmemory", "4gb", port=servers.lasting_port())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--streams", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("YN_SEED") or time.time_ns() % 10**9))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yn-hostile-"))
    server = start_server(folder, options.threads)
    run = Run(server, options.seed)
    try:
        run.run(options.streams, lambda text: print(text, flush=True))
        status = server.stop()
        assert status == 0, f"the server's exit status is {status}"
    except Exception:
        path = pathlib.Path(f"hostile-{options.seed}.streams")
        path.write_bytes(b"\n====\n".join(run.last))
        print(f"seed {options.seed}: the last streams are in {path}\n"
              f"{server.log_text()[-5000:]}", file=sys.stderr)
        server.kill()
        raise
    shutil.rmtree(folder)
    print(f"{options.streams} passed, 0 failed")


if __name__ == "__main__":
    main()
