"""One test for each limit. Those that stand elsewhere:

maxmemory                        test_streams.py::test_maxmemory; what counts: here
maxclients                       test_server.py::test_maxclients
client-query-buffer-limit        test_streams.py::test_query_buffer_limit
client-output-buffer-limit       here: normal and pubsub, hard and soft
proto-max-bulk-len               test_streams.py::test_longest_bulk
number of arguments              test_streams.py::test_argument_memory_is_bounded
timeout                          here; test_server.py::test_idle_clients_are_closed
search-timeout                   test_long_work.py
tcp-keepalive, tcp-backlog       here
before the login                 here
COUNT, LIMIT, ranks, numbers     test_cases.py (odd_arguments.txt); the edges of 64 bits: here
"""
import os
import pathlib
import signal
import socket
import time

import pytest

import resp
import servers
from load import (MB, Level, clients, info, is_closed, send_what_fits)
from resp import encode

IS_REDIS = servers.subject_class() is servers.RedisServer
PASSWORD = "secret"


def is_measured(conn):
    return used_memory(conn) > 0


def used_memory(conn):
    text = conn.command("INFO", "memory")
    return int(text.partition(b"\r\nused_memory:")[2].split(b"\r\n")[0])


def wait_until(is_so, what=""):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


# ---- maxmemory ----


def is_full(conn):
    reply = conn.command("SET", "probe", "1")
    if isinstance(reply, resp.Error):
        assert str(reply).find("OOM command not allowed") >= 0, reply
        return True
    return False


def test_maxmemory_counts_what_clients_have_sent(start):
    """Requests that are not complete are no data, but they are in memory."""
    server = start.subject("--maxmemory", "40mb")
    with server.connect() as conn:
        if not is_measured(conn):
            pytest.skip("the allocator does not tell")
        assert not is_full(conn)
        senders = [server.connect() for _ in range(5)]
        for sender in senders:
            sender.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$12000000\r\n" + b"x" * 10_000_000)
        wait_until(lambda: is_full(conn))
        assert conn.command("DBSIZE") == 1 and conn.command("DEL", "probe") == 1
        for sender in senders:
            sender.close()
        wait_until(lambda: not is_full(conn))


def test_maxmemory_counts_what_views_keep(start):
    """A reply that is read slowly keeps what it shows, though the key is gone."""
    server = start.subject("--maxmemory", "60mb")
    with server.connect() as conn, server.connect(receive_buffer=4096) as slow:
        if not is_measured(conn):
            pytest.skip("the allocator does not tell")
        n = 300_000
        for at in range(0, n, 50_000):
            conn.command("ZADD", "z", *[w for i in range(at, at + 50_000)
                                        for w in (i, f"a member of some length {i:07}")])
        size = used_memory(conn)
        slow.send(resp.encode("ZRANGE", "z", 0, -1))
        assert slow.sock.recv(4) == b"*300"
        conn.command("DEL", "z")
        time.sleep(0.5)
        assert used_memory(conn) > size / 2
        slow.close()
        wait_until(lambda: used_memory(conn) < size / 2)


# ---- output ----


@pytest.mark.parametrize("limit, seconds", (("1mb 0 0", 0), ("0 512kb 1", 1)))
def test_output_of_subscribers(start, limit, seconds):
    """Over the hard limit a subscriber that does not read is closed at once, over the soft
    one when that has lasted so long; one that reads is not."""
    server = start.subject("--client-output-buffer-limit", f"pubsub {limit}")
    with server.connect() as conn, server.connect(receive_buffer=4096) as deaf, \
            server.connect() as reader:
        deaf.command("SUBSCRIBE", "c")
        reader.command("SUBSCRIBE", "c")
        message = "x" * 100_000
        began = time.monotonic()
        n = 2
        for _ in range(2000):
            n = conn.command("PUBLISH", "c", message)
            assert reader.read()[2] == message.encode()
            if n == 1:
                break
            if conn.command("CLIENT", "LIST").count(b"sub=1 ") == 1:
                break
            if seconds and time.monotonic() - began < 10:
                time.sleep(0.01)
        while conn.command("PUBLISH", "c", "last") == 2:  # its thread has yet to close it
            assert reader.read()[2] == b"last"
        assert reader.read()[2] == b"last"
        assert time.monotonic() - began >= seconds
        text = conn.command("INFO", "stats")
        assert b"client_output_buffer_limit_disconnections:1\r\n" in text
        assert "client-output-buffer-limit" in server.log_text()


# ---- sockets ----


def test_tcp_keepalive(start):
    """The server's sockets have the timer of keepalive set, to no more than the option."""
    server = start.subject("--tcp-keepalive", "77")
    with server.connect(tcp=True) as conn:
        conn.command("PING")
        port = conn.sock.getsockname()[1]
        time.sleep(0.3)  # the timer of the acknowledgement has gone
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            words = line.split()
            local, remote = (int(w.split(":")[1], 16) for w in words[1:3])
            if (local, remote) == (server.port, port):
                kind, ticks = words[5].split(":")
                assert kind == "02", line
                assert 0 < int(ticks, 16) <= 77 * os.sysconf("SC_CLK_TCK")
                return
    raise AssertionError("the connection is not in /proc/net/tcp")


def test_tcp_backlog(start):
    """While the server does not accept, so many wait, and no more are let in."""
    server = start.subject("--tcp-backlog", "3")
    socks = []
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for _ in range(12):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(server.address)
            socks.append(sock)
        time.sleep(0.3)
        connected = 0
        for sock in socks:
            try:
                sock.getpeername()
                connected += 1
            except OSError:
                pass
        assert connected == 4  # Linux lets in one more than it is told
    finally:
        os.kill(server.pid, signal.SIGCONT)
    for sock in socks:
        sock.close()
    with server.connect() as conn:
        assert conn.command("PING") == b"PONG"


# ---- before the login ----


def test_stranger_holds_a_few_kilobytes(start):
    """Whoever has not logged in, whatever it sends: a request as large as may be, or many, or
    slowly; a line without end."""
    server = start.subject("--requirepass", PASSWORD, "--threads", "2")
    bulk = b"$16384\r\n" + b"x" * 16384 + b"\r\n"
    with server.connect() as conn:
        conn.command("AUTH", PASSWORD)
        strangers = []
        for i in range(200):
            stranger = server.connect()
            stranger.send((b"*10\r\n" + bulk * 9 + b"$16384\r\n" + b"y" * 16383,
                           b"*10\r\n" + bulk,
                           b"*2\r\n$4\r\nAUTH\r\n$16384\r\n" + b"z" * 10000,
                           b"q" * 19000)[i % 4])
            strangers.append(stranger)

        def memory():
            return [int(line.partition(b" tot-mem=")[2].split()[0])
                    for line in conn.command("CLIENT", "LIST").split(b"\n")
                    if line and b"cmd=client|list" not in line]

        wait_until(lambda: len(memory()) == 150)  # the first kind is sent away
        assert max(memory()) < 50_000
        for stranger in strangers:
            stranger.close()
        wait_until(lambda: not memory())
        assert "longer than any" not in server.log_text()  # strangers do not fill the log


@pytest.mark.parametrize("request_bytes, text", (
    (b"*11\r\n", b"unauthenticated multibulk length"),
    (b"*2\r\n$4\r\nAUTH\r\n$16385\r\n", b"unauthenticated bulk length"),
))
def test_stranger_is_told(start, request_bytes, text):
    server = start.subject("--requirepass", PASSWORD)
    with server.connect() as conn:
        conn.send(request_bytes)
        assert text in conn.receive_until_closed()
    with server.connect() as conn:
        assert conn.command("AUTH", PASSWORD) == b"OK"
        conn.send(b"*11\r\n$4\r\nMGET\r\n" + b"$1\r\nk\r\n" * 10)
        assert conn.read() == [None] * 10


def test_login_at_the_head_of_a_long_pipeline(start):
    """What follows AUTH in the same write has its rights."""
    server = start.subject("--requirepass", PASSWORD)
    with server.connect() as conn:
        value = b"v" * 300_000
        conn.send(resp.encode("AUTH", PASSWORD) + resp.encode("SET", "k", value) +
                  resp.encode("GET", "k"))
        assert [conn.read(), conn.read(), conn.read()] == [b"OK", b"OK", value]


def test_stranger_cannot_queue(start):
    server = start.subject("--requirepass", PASSWORD)
    with server.connect() as conn:
        for words in (("MULTI",), ("SUBSCRIBE", "c"), ("WATCH", "k"), ("MONITOR",),
                      ("BZPOPMIN", "k", "0"), ("CLIENT", "TRACKING", "ON")):
            assert str(conn.command(*words)).find("NOAUTH") >= 0


def before_auth(kind):
    """What a stranger may send, to make the server hold much."""
    wide = b"PING " * 700 + b"\r\n"
    return {
        "half a request": b"*10\r\n" + (b"$16384\r\n" + b"x" * 16384 + b"\r\n") * 9,
        "half a line": b"x" * 65000,
        "half a word behind a wide line": wide + b"*2\r\n$4\r\nPI",
        "replies that are not read": encode("PING") * 100_000,
        "long errors that are not read": encode("x" * 128, *["y" * 128] * 5) * 10_000,
        "transactions": encode("MULTI") + encode("PING") * 100_000,
        "HELLO": encode("HELLO", "3", "SETNAME", "x" * 10_000) * 1000,
        "names": encode("CLIENT", "SETNAME", "x" * 10_000) * 1000,
        "watches": b"".join(encode("WATCH", f"k{i}") for i in range(20_000)),
        "subscriptions": b"".join(encode("SUBSCRIBE", f"k{i}") for i in range(20_000)),
    }[kind]


@pytest.mark.skipif(IS_REDIS, reason="Redis lets strangers hold more")
@pytest.mark.parametrize("kind", (
    "half a request", "half a line", "half a word behind a wide line",
    "replies that are not read", "long errors that are not read", "transactions", "HELLO",
    "names", "watches", "subscriptions"))
def test_memory_before_auth(start, kind):
    """A hundred strangers, none of whom reads: each holds a few KB, or is closed."""
    server = start.subject("--requirepass", "x")
    n = 100
    with server.connect() as admin:
        admin.command("AUTH", "x")
        level = Level(admin)
        data = before_auth(kind)
        strangers = [server.connect(receive_buffer=4096) for _ in range(n)]
        for conn in strangers:
            send_what_fits(conn.sock, data, quiet_s=0.02)
        for client in clients(admin):
            assert int(client["tot-mem"]) < 64 << 10, client
        assert level.grown() < n * (48 << 10) + MB
        for conn in strangers:
            conn.close()
        level.back()


# ---- idle clients ----


def test_timeout(start):
    """Who does nothing is closed; who is busy, waits or listens stays."""
    server = start.subject("--timeout", "1")
    with server.connect() as busy, server.connect() as idle, server.connect(
            tcp=True) as idle_too, server.connect() as waits, server.connect() as listens:
        waits.send(encode("BZPOPMIN", "queue", "0"))
        listens.command("SUBSCRIBE", "news")
        idle_too.command("PING")
        socks = [idle.sock, idle_too.sock]
        while socks:
            assert busy.command("PING") == b"PONG"
            socks = [sock for sock in socks if not is_closed(sock)]
        end = time.monotonic() + 2.5  # the others would be closed by now
        while time.monotonic() < end:
            assert busy.command("PING") == b"PONG"
            time.sleep(0.1)
        assert busy.command("PUBLISH", "news", "x") == 1
        assert listens.read() == [b"message", b"news", b"x"]
        assert busy.command("ZADD", "queue", "1", "m") == 1
        assert waits.read() == [b"queue", b"m", b"1"]


# ---- output of clients that ask ----


@pytest.mark.parametrize("limit", ("300kb 0 0", "0 300kb 1"))
def test_output_of_others(start, limit):
    """A client that does not read is closed when its output passes the limit, at once or
    after the seconds of the soft one; one that reads is not."""
    server = start.subject("--client-output-buffer-limit", f"normal {limit}")
    with server.connect() as conn, server.connect(receive_buffer=4096) as mute, \
            server.connect(receive_buffer=4096) as reader:
        assert mute.command("PING") == b"PONG"  # it is there
        conn.command("SET", "k", "x" * 100_000)
        reader.send(encode("GET", "k") * 2)
        mute.send(encode("GET", "k") * 12)
        assert [len(reader.read()) for _ in range(2)] == [100_000] * 2
        wait_until(lambda: len(clients(conn)) == 2, "the mute client is closed")
        assert info(conn, "client_output_buffer_limit_disconnections") == 1
        assert reader.command("PING") == b"PONG"


# ---- numbers ----

EDGES = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**32, 2**62,
         2**63 - 1, 2**63, -(2**63) + 1, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**40,
         "1e3", "0x1", "+1", " 1", "1 ", "", "01", "-0", "1.0")
SEARCH = "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC"
NUMBERED = [
    SEARCH + " COUNT N", SEARCH + " COUNT N ANY",
    "GEORADIUS g 15 37 200 km COUNT N ASC",
    "GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km COUNT N",
    "ZRANGE z N -1", "ZRANGE z 0 N", "ZRANGE z N N REV", "ZREVRANGE z 0 N",
    "ZRANGE z -inf +inf BYSCORE LIMIT N 2", "ZRANGE z -inf +inf BYSCORE LIMIT 1 N",
    "ZRANGE z - + BYLEX LIMIT N N", "ZRANGEBYSCORE z -inf +inf LIMIT N N",
    "ZRANGEBYLEX z - + LIMIT 0 N", "ZRANGESTORE d z 0 N", "ZREMRANGEBYRANK none N N",
    "ZCOUNT z N +inf", "ZPOPMIN none N", "ZPOPMAX none N", "ZMPOP 1 none MIN COUNT N",
    "ZMPOP N none MIN", "ZINTERCARD 1 z LIMIT N", "ZINTERCARD N z", "ZUNION N z",
    "ZDIFFSTORE d N z", "ZRANDMEMBER none N", "ZSCAN z N", "ZSCAN z 0 COUNT N",
    "BZPOPMIN z2 N", "INCRBY n N", "DECRBY n N", "SETRANGE s N x", "GETRANGE s N N",
    "EXPIRE none N", "PEXPIRE none N", "EXPIREAT none N", "SET s v EX N", "SET s v PX N",
    "SET s v EXAT N", "SETEX s N v", "PSETEX s N v", "GETEX none EX N", "COPY s s2 DB N",
    "MOVE none N", "SELECT N", "OBJECT FREQ none", "ZINTER N z z WEIGHTS N N",
]
FRESH = ["FLUSHALL", "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
         "ZADD z 1 a 2 b 3 c 4 d", "ZADD z2 1 a", "SET n 9223372036854775800", "SET s value"]


def words_of(line, number):
    return [str(number) if word == "N" else word for word in line.split()]


def test_numbers_at_the_edge(start, redis):
    """Counts, limits, ranks and times at the edges of 32 and 64 bits, and what is no
    number, as in Redis."""
    server = start.subject()
    differ = []
    with server.connect() as ours, redis.connect() as theirs:
        for line in NUMBERED:
            for number in EDGES:
                if is_listed(line, number):
                    continue
                answers = [answer_of(conn, line, number) for conn in (ours, theirs)]
                if answers[0] != answers[1]:
                    differ.append((line, number, *answers))
    assert not differ, "\n".join(map(repr, differ))


def is_listed(line, number):
    """Where docs/compat.md says that the answers differ."""
    return ((line.startswith("ZCOUNT") and number in ("0x1", " 1"))
            or (line == "ZSCAN z N" and str(number).startswith("-"))
            or (line.startswith("BZPOPMIN") and isinstance(number, int) and number >= 2**62)
            or (line == "GETRANGE s N N" and isinstance(number, int) and number < -1))


def answer_of(conn, line, number):
    conn.pipeline([words.split() for words in FRESH])
    raw = conn.raw(*words_of(line, number))
    conn.command("SELECT", "0")
    return raw
