"""Byte streams, right and wrong ones, sent to yonder-server and to redis-server: all
that comes back must be the same, to the byte, until the connection is closed. Inline
commands, quotes, broken lengths, several requests in a write; publish and subscribe;
limits."""
import os
import random
import re
import socket
import time

import pytest

import servers
from resp import Error, encode

SEED = int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**9)
N_STREAMS = 4000

REQUESTS = [
    encode("PING"),
    encode("PING", "x"),
    encode("ECHO", "a word"),
    encode("SET", "s", "v"),
    encode("GET", "s"),
    encode("GET", ""),
    encode("GEOADD", "k", "13.361389", "38.115556", "Palermo"),
    encode("GEODIST", "k", "Palermo", "Palermo", "km"),
    encode("ZADD", "k", "CH", "1", "a", "2", "b"),
    encode("ZRANGE", "k", "0", "-1", "WITHSCORES"),
    encode("NOSUCH", "a", "b"),
    encode("SELECT", "0"),
    encode("DEL", "k", "s"),
    encode("SET", "b", b"\x01\r\n\xff" * 5),
    encode("GET", "b"),
    encode("GEOSEARCH", "k", "FROMLONLAT", "13", "38", "BYRADIUS", "1000", "km", "ASC"),
    encode("AUTH", "x"),
    encode("PING", "a", "b"),
    encode("CLIENT", "SETNAME", "n"),
    encode("CLIENT", "GETNAME"),
    encode("QUIT"),
    b"PING\r\n",
    b"PING\n",
    b"ECHO 'a b'\r\n",
    b'ECHO "\\x41\\n\\t\\""\r\n',
    b'SET s "v w"\r\n',
    b"  GET   s  \r\n",
    b'ECHO ""\r\n',
    b"ECHO 'it''s'\r\n",
    b"ECHO 'a\\'b' \"c'd\"\r\n",
    b"\r\n",
    b"*0\r\n",
    b"*-1\r\n",
    b"*1\r\n$0\r\n\r\n",
    b'GEOADD k 1 1 "m m"\r\n',
    b"ECHO a\tb\r\n",
    b"ECHO a\x0bb\r\n",
    b'ECHO "a\\qb\\x4\\xZZ\\b\\a"\r\n',
]
PIECES = [
    b"\r\n",
    b"\n",
    b"\r",
    b"$",
    b"*",
    b"$-1\r\n",
    b"*1\r\n",
    b"*2\r\n",
    b"$3\r\n",
    b"*99999999\r\n",
    b'"',
    b"'",
    b"$01\r\n",
    b"$+1\r\n",
    b"*+1\r\n",
    b"$ 1\r\n",
    b"$1 \r\n",
    b"*\r\n",
    b"$\r\n",
    b" ",
    b"\xff",
    b":1\r\n",
    b"$999999999999\r\n",
    b"*2147483647\r\n",
    b"*9999999999999999999999\r\n",
]


def stream(rng):
    """Some requests, spoilt a little. No NUL where a line may be: Redis stops reading
    there."""
    data = bytearray(b"".join(rng.choice(REQUESTS) for _ in range(rng.randint(1, 7))))
    for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        form = rng.random()
        if form < 0.3:
            data[at:at] = rng.choice(PIECES)
        elif form < 0.5:
            del data[at : at + rng.choice([1, 1, 2, 5])]
        elif form < 0.7 and at < len(data):
            data[at] = rng.choice(b"\r\n$*:+-0123456789 \"'\\x\x01\xffAZaz")
        elif form < 0.85:
            data[at:at] = bytes(
                rng.choice(b"\r\n$*0123456789 \"'\\ab") for _ in range(rng.randint(1, 9))
            )
        else:
            del data[at:]
    return bytes(data)


def answer(server, data, cuts):
    """All bytes that come back for data, sent in pieces, until the end."""
    with server.connect(timeout=20) as conn:
        try:
            for start, end in zip([0, *cuts], [*cuts, len(data)]):
                conn.send(data[start:end])
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # closed by the server already; its answer is in our buffer
        return conn.receive_until_closed()


UNKNOWN = re.compile(rb"-ERR unknown command '([^']*)'")


def is_unknown_to_us_alone(ours, theirs, redis):
    """Spoilt bytes can make a command that Redis has and Yonder has not (ZADD: XADD). What
    comes before its error is compared, what comes after may differ."""
    for match in UNKNOWN.finditer(ours):
        if theirs.startswith(ours[: match.end()]):
            continue
        with redis.connect() as conn:
            known = conn.command("COMMAND", "INFO", match[1]) != [None]
        return known and theirs.startswith(ours[: match.start()])
    return False


def test_streams(server, redis):
    print(f"seed {SEED}")
    flush = encode("FLUSHALL")
    for number in range(N_STREAMS):
        rng = random.Random(f"{SEED} {number}")
        data = flush + stream(rng)
        cuts = sorted(rng.randrange(len(data)) for _ in range(rng.choice([0, 0, 1, 3])))
        ours, theirs = answer(server, data, cuts), answer(redis, data, [])
        assert ours == theirs or is_unknown_to_us_alone(
            ours, theirs, redis
        ), f"stream {number} of seed {SEED}: {data!r}, cut at {cuts}"


@pytest.mark.parametrize("half", [b"PIN", b"*", b"*1", b"*1\r", b"*2\r\n$4", b"ECHO 'a "])
def test_half_a_request_leaves_nothing_behind(server, half):
    """Parsers go from hand to hand. One that has seen half a request must not meet another
    one: neither of its own connection nor of any other."""
    rest = {
        b"PIN": b"G\r\n",
        b"*": b"1\r\n$4\r\nPING\r\n",
        b"*1": b"\r\n$4\r\nPING\r\n",
        b"*1\r": b"\n$4\r\nPING\r\n",
        b"*2\r\n$4": b"\r\nECHO\r\n$3\r\na b\r\n",
        b"ECHO 'a ": b"b'\r\n",
    }
    forms = [encode("ECHO", "other"), b"ECHO other\r\n"]
    for n_before in range(4):
        with server.connect() as one, server.connect() as other:
            for before in forms:
                one.send(before * n_before + half)
                for _ in range(n_before):
                    assert one.read() == b"other"
                time.sleep(0.01)  # it has seen the half
                for form in forms:
                    other.send(form * 20)
                    assert [other.read() for _ in range(20)] == [b"other"] * 20
                one.send(rest[half] + before * 20)
                whole = half + rest[half]
                assert one.read() == (b"PONG" if b"PING" in whole else b"a b")
                assert [one.read() for _ in range(20)] == [b"other"] * 20


def test_nul_in_a_line(client):
    """Redis takes a NUL for the end of what has come and waits; here it is a byte like
    others."""
    client.send(b"*1\r\n$4\x00\r\nPING\r\n")
    assert (
        client.receive_until_closed() == b"-ERR Protocol error: invalid bulk length\r\n"
    )


def test_protocol_errors_under_client_reply(server, redis):
    """CLIENT REPLY OFF and SKIP silence the error, the connection is closed all the
    same."""
    for mode in (b"OFF", b"SKIP", b"ON"):
        data = (
            encode("PING")
            + encode("CLIENT", "REPLY", mode)
            + b"*1\r\n$x\r\n"
            + encode("PING")
        )
        assert answer(server, data, []) == answer(redis, data, [])


def test_skip_means_the_next_command(client):
    """Redis lets a blank line use up CLIENT REPLY SKIP; here only a command does."""
    client.send(encode("CLIENT", "REPLY", "SKIP") + b"\r\n*0\r\n" + encode("PING", "a"))
    assert client.command("PING", "b") == b"b"


def test_replies_before_a_browser_request_are_sent(client):
    """Redis drops the replies that are not written yet when it meets POST or Host:."""
    client.send(encode("PING") + b"POST / HTTP/1.1\r\n" + encode("PING"))
    assert client.receive_until_closed() == b"+PONG\r\n"


# ---- publish and subscribe ------------------------------------------------------------


# One channel or pattern at a time where Redis's order is that of a hash table.
SUBSCRIBER_LINES = [
    ["SUBSCRIBE", "a", "b", "a"],
    ["PSUBSCRIBE", "ab*", "?"],
    ["PING"],
    ["PING", "x"],
    ["GET", "s"],
    ["GEOADD", "k", "1", "1", "m"],
    ["NOSUCH"],
    ["UNSUBSCRIBE", "a"],
    ["SUBSCRIBE"],
    ["UNSUBSCRIBE"],
    ["UNSUBSCRIBE", "nosuch"],
    ["PUNSUBSCRIBE", "?"],
    ["PUNSUBSCRIBE"],
    ["PUNSUBSCRIBE"],
    ["PING"],
    ["GET", "s"],
    ["SUBSCRIBE", "c"],
    ["RESET"],
    ["GET", "s"],
    ["SUBSCRIBE", "\r\n"],
    ["QUIT"],
]


@pytest.mark.parametrize("resp", [2, 3])
def test_subscriber_session(server, redis, resp):
    """One connection, line by line; a second one publishes to it in between."""
    heard = []
    for target in (server, redis):
        with target.connect(resp=resp) as conn, target.connect() as publisher:
            data = b""
            for words in SUBSCRIBER_LINES:
                conn.send(encode(*words))
                conn.sock.settimeout(20)
                data += b"|" + conn.sock.recv(1 << 16)
                conn.sock.settimeout(0.02)
                data += drain(conn)
                counts = [
                    publisher.command("PUBLISH", channel, "hi")
                    for channel in ("a", "ab", "c")
                ]
                data += b"%r" % counts
                n_told = data.count(b"$2\r\nhi\r\n") + sum(counts)
                conn.sock.settimeout(20)  # another thread may be the one that sends them
                while data.count(b"$2\r\nhi\r\n") < n_told:
                    data += conn.sock.recv(1 << 16)
                conn.sock.settimeout(0.02)
                data += drain(conn)
            heard.append(data)
    assert heard[0].split(b"|") == heard[1].split(b"|")


def drain(conn):
    data = b""
    try:
        while piece := conn.sock.recv(1 << 16):
            data += piece
    except (TimeoutError, BlockingIOError, ConnectionResetError):
        pass
    return data


def test_pubsub_counts(server, redis):
    answers = []
    for target in (server, redis):
        with target.connect() as one, target.connect() as two, target.connect() as asker:
            for conn, words in (
                (one, ["SUBSCRIBE", "x"]),
                (two, ["SUBSCRIBE", "x"]),
                (two, ["PSUBSCRIBE", "x*"]),
            ):
                conn.command(*words)
            answers.append(
                [
                    asker.command("PUBSUB", "NUMSUB", "x", "y"),
                    asker.command("PUBSUB", "NUMPAT"),
                    sorted(asker.command("PUBSUB", "CHANNELS")),
                    asker.command("PUBSUB", "CHANNELS", "z*"),
                    asker.command("PUBLISH", "x", "m"),
                    asker.command("PUBLISH", "xy", "m"),
                ]
            )
    assert answers[0] == answers[1]


# ---- limits ---------------------------------------------------------------------------


def test_longest_bulk(start):
    server = start.subject("--proto-max-bulk-len", "1mb")
    with server.connect() as conn:
        assert conn.command("SET", "a", "x" * (1 << 20)) == b"OK"
        conn.send(b"*2\r\n$4\r\nECHO\r\n$1048577\r\n")
        assert (
            conn.receive_until_closed() == b"-ERR Protocol error: invalid bulk length\r\n"
        )


def test_query_buffer_limit(start):
    """A request that would take more than the limit ends its connection, nobody
    else's."""
    server = start.subject("--client-query-buffer-limit", "1mb")
    with server.connect() as good, server.connect() as conn:
        conn.sock.settimeout(20)
        try:
            conn.send(
                b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3000000\r\n" + b"x" * 3_000_000 + b"\r\n"
            )
            assert conn.receive_until_closed() == b""
        except OSError:
            pass
        assert good.command("GET", "a") is None


def test_argument_memory_is_bounded(start):
    """X11: a request of a million arguments is refused by the query limit, not
    collected."""
    server = start.subject("--client-query-buffer-limit", "4mb")
    with server.connect() as good:
        before = server.resident_bytes()
        for _ in range(5):
            with server.connect() as conn:
                try:
                    conn.send(
                        b"*1000000\r\n" + (b"$16384\r\n" + b"x" * 16384 + b"\r\n") * 1000
                    )
                    conn.receive_until_closed()
                except OSError:
                    pass
        assert good.command("PING") == b"PONG"
        assert server.grown_bytes(before) < 64 << 20


def test_maxmemory(start):
    """Writes are refused, nothing is evicted; reading and deleting go on."""
    server = start.subject("--maxmemory", "32mb")
    with server.connect() as conn:
        if servers.subject_class() is servers.YonderServer and not is_measured(conn):
            pytest.skip("sanitizers hide how much memory is used")
        value, stored = "x" * 100_000, 0
        while stored < 2000:
            reply = conn.command("SET", f"k{stored}", value)
            if isinstance(reply, Error):
                break
            stored += 1
            if stored % 50 == 0:
                time.sleep(0.15)  # memory is measured ten times a second
        text = Error(b"OOM command not allowed when used memory > 'maxmemory'.")
        assert reply == text and 100 < stored < 400
        for words in (
            ["GEOADD", "g", "1", "1", "m"],
            ["ZADD", "z", "1", "m"],
            ["GEORADIUS", "g", "1", "1", "1", "m"],
        ):
            assert conn.command(*words) == text
        assert conn.command("DBSIZE") == stored
        assert conn.command("GET", "k0") == value.encode()
        assert (
            conn.command("GEOSEARCH", "g", "FROMLONLAT", "1", "1", "BYRADIUS", "1", "m")
            == []
        )
        assert conn.command("DEL", *(f"k{i}" for i in range(stored))) == stored
        assert conn.command("GEOADD", "g", "1", "1", "m") == 1


def is_measured(conn):
    return b"mem_allocator:jemalloc" in conn.command("INFO", "memory")
