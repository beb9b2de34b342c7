"""One test for each limit. Those that stand elsewhere:

maxmemory                        test_streams.py::test_maxmemory; what counts: here
maxclients                       test_server.py::test_maxclients
client-query-buffer-limit        test_streams.py::test_query_buffer_limit
client-output-buffer-limit       normal: test_server.py::test_replies_queued_by_a_client_that_reads_nothing;
                                 pubsub, hard and soft: here
proto-max-bulk-len               test_streams.py::test_longest_bulk
number of arguments              test_streams.py::test_argument_memory_is_bounded
timeout                          test_server.py::test_idle_clients_are_closed
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

PASSWORD = "secret"


def is_measured(conn):
    return b"\r\nmem_allocator:jemalloc" in conn.command("INFO", "memory")


def used_memory(conn):
    text = conn.command("INFO", "memory")
    return int(text.partition(b"\r\nused_memory:")[2].split(b"\r\n")[0])


def wait_until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
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
            pytest.skip("sanitizers hide how much memory is used")
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
            pytest.skip("sanitizers hide how much memory is used")
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


# ---- numbers ----

BEYOND = ("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e30")
EDGES = ("9223372036854775807", "-9223372036854775808")


@pytest.mark.parametrize("value", BEYOND + EDGES)
def test_numbers_at_the_edge(server, redis, value):
    """The answer is Redis's, and nothing is allocated for what was only announced."""
    commands = [
        ("GEOSEARCH", "k", "FROMLONLAT", "1", "1", "BYRADIUS", "1", "km", "COUNT", value),
        ("GEOSEARCH", "k", "FROMLONLAT", "1", "1", "BYRADIUS", value, "km"),
        ("GEORADIUS", "k", "1", "1", "1", "km", "COUNT", value, "ANY"),
        ("ZRANGE", "k", value, "-1"), ("ZRANGE", "k", "0", value),
        ("ZRANGEBYSCORE", "k", "-inf", "inf", "LIMIT", "0", value),
        ("ZRANGEBYSCORE", "k", "-inf", "inf", "LIMIT", value, "1"),
        ("ZPOPMIN", "none", value), ("ZMPOP", "1", "none", "MIN", "COUNT", value),
        ("ZMPOP", value, "none", "MIN"), ("ZUNION", value, "k"),
        ("ZRANDMEMBER", "none", value), ("ZINTERCARD", "1", "k", "LIMIT", value),
        ("GETRANGE", "s", value, "-1"),
        ("SETRANGE", "s", value, "x"), ("INCRBY", "n", value), ("DECRBY", "n", value),
        ("EXPIRE", "k", value), ("PEXPIREAT", "k", value), ("SELECT", value),
        ("ZSCAN", "k", "0", "COUNT", value), ("SET", "t", "v", "PX", value),
        ("CLIENT", "UNBLOCK", value)]
    for words in commands:
        got = []
        for each in (server, redis):
            with each.connect() as conn:
                conn.command("FLUSHALL")
                conn.command("GEOADD", "k", "1", "1", "m")
                conn.command("SET", "s", "text")
                got.append(conn.command(*words))
        assert got[0] == got[1], words
