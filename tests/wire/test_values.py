"""Large string values: the server keeps the block that a value was read into, and replies
with them piece by piece. Wherever the pieces of a request end, whatever comes before and
after it, and whatever happens to the key meanwhile, every byte is right."""
import os
import pathlib
import random
import re
import time

import pytest

from resp import encode

SEED = int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**9)
KB = 1024
MB = KB * KB
LENGTHS = [16 * KB, 64 * KB - 1, 64 * KB, 65 * KB, 100_000, 300_000, MB, 3 * MB + 1]


def send_in_pieces(conn, data, sizes):
    at = 0
    while at < len(data):
        size = next(sizes)
        conn.send(data[at : at + size])
        at += size


def random_sizes(rng, longest):
    while True:
        yield rng.randint(1, longest)


@pytest.mark.parametrize("longest", [1_000, 30_000, 65_536, 400_000])
def test_pieces(server, longest):
    """Several values in one stream, among small commands, cut anywhere."""
    rng = random.Random(SEED + longest)
    values = {}
    requests, replies = [], []

    def ask(reply, *words):
        requests.append(encode(*words))
        replies.append(reply)

    for _ in range(24):
        key = b"k%d" % rng.randrange(4)
        value = rng.randbytes(rng.choice(LENGTHS))
        options = rng.choice([[], [], [], ["EX", "1000"], ["KEEPTTL"], ["GET"]])
        ask(values.get(key) if options == ["GET"] else b"OK", "SET", key, value, *options)
        values[key] = value
        for _ in range(rng.randrange(3)):
            key = b"k%d" % rng.randrange(4)
            form = rng.randrange(5)
            if form == 0:
                ask(values.get(key), "GET", key)
            elif form == 1:
                ask([values.get(key), values.get(b"k1")], "MGET", key, "k1")
            elif form == 2:
                ask(int(values.pop(key, None) is not None), "DEL", key)
            elif form == 3:
                ask(b"PONG", "PING")
            else:
                ask(values[b"k0"] if b"k0" in values else None, "GET", "k0")
    with server.connect(tcp=True) as conn:
        conn.command("FLUSHALL")
        # A part is sent, then its replies are read: neither side waits for the other.
        while requests:
            n = rng.randint(1, 4)
            send_in_pieces(conn, b"".join(requests[:n]), random_sizes(rng, longest))
            assert [conn.read() for _ in requests[:n]] == replies[:n]
            del requests[:n], replies[:n]


def test_cut_at_every_place_near_the_ends(client):
    """A value of 64 KB and a command behind it, cut in two at each place of the heads and
    tails."""
    value = random.Random(SEED).randbytes(64 * KB + 1)
    data = encode("SET", "k", value) + encode("PING") + encode("GET", "k")
    start = data.index(value)
    end = start + len(value)
    places = [*range(1, start + 3), *range(end - 2, end + 20), 65_535, 65_536, 65_537]
    for at in places:
        client.send(data[:at])
        time.sleep(0.002)
        client.send(data[at:])
        assert [client.read() for _ in range(3)] == [b"OK", b"PONG", value], at
    client.command("DEL", "k")


CHANGES = {
    "del": ["DEL", "k"],
    "small": ["SET", "k", "small"],
    "large": ["SET", "k", b"y" * (8 * MB)],
    "other": ["ZADD", "other", "1", "m"],
    "flush": ["FLUSHALL"],
    "expires": ["SET", "k", b"z" * 100_000, "PX", "1"],
    "append": ["APPEND", "k", "tail"],
    "setrange": ["SETRANGE", "k", 4 * MB, b"w" * MB],
    "getdel": ["GETDEL", "k"],
}
REQUESTS = {
    "get": (["GET", "k"], lambda value: value),
    "getset": (["GETSET", "k", "new"], lambda value: value),
    "set-get": (["SET", "k", "new", "GET", "EX", "100"], lambda value: value),
    "getex": (["GETEX", "k", "EX", "100"], lambda value: value),
    "getrange": (["GETRANGE", "k", 5, -7], lambda value: value[5:-6]),
    "mget": (["MGET", "k", "none", "s", "k"], lambda value: [value, None, b"small", value]),
    "getdel": (["GETDEL", "k"], lambda value: value),
}


@pytest.mark.parametrize(
    "request_name, change_name",
    [("get", change) for change in CHANGES]
    + [(name, change) for name in REQUESTS for change in ("large", "setrange") if name != "get"],
)
def test_a_reply_shows_the_value_it_began_with(server, request_name, change_name):
    request_words, expected = REQUESTS[request_name]
    value = random.Random(SEED).randbytes(8 * MB)
    with server.connect() as writer:
        assert writer.command("SET", "k", value) == b"OK"
        assert writer.command("SET", "s", "small") == b"OK"
        with server.connect(tcp=True, receive_buffer=4096) as reader:
            reader.send(encode(*request_words) + encode("PING"))
            head = reader.sock.recv(1000)
            writer.command(*CHANGES[change_name])
            # A new value of the same size must not be read into the old one's block.
            writer.command("SET", "again", b"x" * (8 * MB))
            reader.reader._data += head
            assert reader.read() == expected(value)
            assert reader.read() == b"PONG"
        assert writer.command("GET", "again") == b"x" * (8 * MB)
        writer.command("FLUSHALL")


def peak_bytes(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * KB


@pytest.mark.parametrize(
    "head, tail",
    [
        (["SET", "k"], []),
        (["SET", "k"], ["EX", "1000"]),
        (["SET", "k"], ["PX", "1000000", "NX"]),
        (["SETEX", "k", "1000"], []),
        (["SETNX", "k"], []),
        (["GETSET", "k"], []),
        (["APPEND", "k"], []),
        (["RESTORE", "k", "0"], ["REPLACE"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_value_is_not_copied(start, head, tail):
    """Whatever stands before and behind it: it becomes the key's where it was read."""
    server = start.subject()
    value = b"v" * (64 * MB)
    data = value
    if head[0] == "RESTORE":
        with server.connect() as conn:
            conn.command("SET", "other", value)
            data = conn.command("DUMP", "other")
            conn.command("DEL", "other")
            for _ in range(100):  # until the block that is kept has gone
                if server.resident_bytes() < 40 * MB:
                    break
                time.sleep(0.1)
        pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    with server.connect(tcp=True) as conn:
        before = server.resident_bytes()
        conn.send(encode(*head, data, *tail) + encode("PING"))
        conn.read()
        assert conn.read() == b"PONG"
        assert conn.command("GET", "k") == value
        assert server.grown_bytes(before) < 80 * MB
        if server.grown_bytes(before) > 0:  # no sanitizer
            assert peak_bytes(server) - before < 80 * MB


def test_append_to_a_large_value(client):
    """Small pieces, as many as make some megabytes: nothing is copied over and over."""
    piece = random.Random(SEED).randbytes(KB)
    requests = encode("APPEND", "k", piece) * 100
    for i in range(1, 201):
        client.send(requests)
        assert [client.read() for _ in range(100)][-1] == i * 100 * KB
    assert client.command("GET", "k") == piece * 20_000
    client.command("DEL", "k")


def test_reader_that_dies(server):
    value = b"v" * (4 * MB)
    with server.connect() as writer:
        writer.command("SET", "k", value)
        for _ in range(20):
            with server.connect(tcp=True, receive_buffer=4096) as reader:
                reader.send(encode("GET", "k"))
                reader.sock.recv(100)
            writer.command("SET", "k", value)
        assert writer.command("GET", "k") == value
        writer.command("FLUSHALL")


def test_replies_switched_off(client):
    client.send(encode("CLIENT", "REPLY", "OFF"))
    client.send(encode("SET", "k", b"v" * MB) + encode("GET", "k"))
    client.send(encode("CLIENT", "REPLY", "ON"))
    assert client.read() == b"OK"
    assert client.command("GET", "k") == b"v" * MB
    client.command("DEL", "k")


def test_blocks_are_given_back(server):
    """A block is kept for the next value for about a second, not for ever."""
    with server.connect() as conn:
        conn.command("FLUSHALL")
        before = server.resident_bytes()
        for _ in range(6):
            conn.command("SET", "k", b"v" * (40 * MB))
        assert server.grown_bytes(before) < 100 * MB
        conn.command("DEL", "k")
        end = time.monotonic() + 20
        while server.grown_bytes(before) > 20 * MB and time.monotonic() < end:
            time.sleep(0.2)
        assert server.grown_bytes(before) < 20 * MB
