"""Large string values: the server keeps the block that a value was read into, and replies
with them piece by piece. Wherever the pieces of a request end, whatever comes before and
after it, and whatever happens to the key meanwhile, every byte is right."""
import os
import random
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


@pytest.mark.parametrize(
    "change",
    [
        ["DEL", "k"],
        ["SET", "k", "small"],
        ["SET", "k", b"y" * (8 * MB)],
        ["ZADD", "other", "1", "m"],
        ["FLUSHALL"],
        ["SET", "k", b"z" * 100_000, "PX", "1"],
    ],
    ids=["del", "small", "large", "other", "flush", "expires"],
)
def test_a_reply_shows_the_value_it_began_with(server, change):
    value = random.Random(SEED).randbytes(8 * MB)
    with server.connect() as writer:
        assert writer.command("SET", "k", value) == b"OK"
        with server.connect(tcp=True, receive_buffer=4096) as reader:
            reader.send(encode("GET", "k") + encode("PING"))
            head = reader.sock.recv(1000)
            writer.command(*change)
            # A new value of the same size must not be read into the old one's block.
            writer.command("SET", "again", b"x" * (8 * MB))
            reader.reader._data += head
            assert reader.read() == value
            assert reader.read() == b"PONG"
        assert writer.command("GET", "again") == b"x" * (8 * MB)
        writer.command("FLUSHALL")


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
