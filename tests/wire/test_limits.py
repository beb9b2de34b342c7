"""One test for each limit.

    limit                        test
    maxmemory: writes            test_streams.py::test_maxmemory
    maxmemory: what is counted   test_maxmemory_counts_buffers, .._counts_frozen_views
    maxmemory: queues            test_transactions.py::test_queue_of_a_full_server
    maxclients                   test_maxclients
    client-query-buffer-limit    test_streams.py::test_query_buffer_limit
    .. many arguments            test_streams.py::test_argument_memory_is_bounded
    .. of a transaction          test_transactions.py::test_a_transaction_that_grows_without_..
    client-output-buffer-limit   test_output_limit (normal and pubsub, hard and soft)
    proto-max-bulk-len           test_streams.py::test_longest_bulk
    timeout                      test_timeout
    tcp-keepalive                test_tcp_keepalive
    tcp-backlog                  test_tcp_backlog
    arguments: their number      test_number_of_arguments
    .. counts, limits, numbers   test_numbers_at_the_edge
    before AUTH: requests        test_requests_before_auth
    .. memory                    test_memory_before_auth
    search-timeout               test_long_work.py::test_timeout
    tracking-table-max-keys      test_push.py::test_tracking_table_max_keys
"""
import os
import pathlib
import signal
import socket
import time

import pytest

import servers
from load import (MB, PATIENCE_S, Level, clients, info, is_closed, is_measured,
                  send_what_fits, total_memory, wait_until)
from resp import Closed, Error, encode

OOM = Error(b"OOM command not allowed when used memory > 'maxmemory'.")
IS_REDIS = servers.subject_class() is servers.RedisServer


def is_oom(conn):
    return conn.command("SET", "probe", "x") == OOM


# ---- maxmemory ----


def test_maxmemory_counts_buffers(start):
    """Half a request is memory: others are refused, and served again when it is gone."""
    server = start.subject("--maxmemory", "64mb")
    with server.connect() as good:
        if not is_measured(good):
            pytest.skip("the allocator does not tell")
        with server.connect() as holder:
            holder.send(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$100000000\r\n" + b"x" * (80 * MB))
            wait_until(lambda: is_oom(good), "a write is refused")
            assert good.command("GET", "a") is None
            assert good.command("DEL", "probe") in (0, 1)
        wait_until(lambda: not is_oom(good), "writes go on")


def test_maxmemory_counts_frozen_views(start):
    """A set that is deleted while its reply waits for a reader is still memory."""
    server = start.subject("--maxmemory", "0")
    with server.connect() as good:
        if not is_measured(good):
            pytest.skip("the allocator does not tell")
        n = 300_000
        before = info(good, "used_memory")
        for at in range(0, n, 10_000):
            good.command("ZADD", "z", *(word for i in range(at, at + 10_000)
                                        for word in (i, f"member-{i:08d}")))
        size = info(good, "used_memory") - before
        assert size > 5 * MB
        reader = server.connect(receive_buffer=4096)
        reader.send(encode("ZRANGE", "z", "0", "-1", "WITHSCORES"))
        reader.sock.recv(1)
        assert good.command("DEL", "z") == 1
        limit = before + size // 2
        assert good.command("CONFIG", "SET", "maxmemory", limit) == b"OK"
        wait_until(lambda: is_oom(good), "a write is refused")
        time.sleep(0.3)  # sets are freed by a thread: this one is not
        assert is_oom(good)
        reader.close()
        wait_until(lambda: not is_oom(good), "writes go on")


# ---- numbers of clients, and of those who wait for being one ----


def test_maxclients(start):
    """Whoever is too much is told so, over each kind of socket; those who are there stay,
    also when the limit is lowered below their number."""
    server = start.subject("--maxclients", "5")
    held = [server.connect(tcp=i % 2 == 0) for i in range(5)]
    assert [conn.command("PING") for conn in held] == [b"PONG"] * 5
    for tcp in (False, True):
        with server.connect(tcp=tcp) as extra:
            assert (extra.receive_until_closed() ==
                    b"-ERR max number of clients reached\r\n")
    assert info(held[0], "rejected_connections") == 2
    assert held[0].command("CONFIG", "SET", "maxclients", "2") == b"OK"
    for conn in held[2:]:
        assert conn.command("PING") == b"PONG"
        conn.close()
    wait_until(lambda: len(clients(held[0])) == 2)
    with server.connect() as extra:
        assert extra.receive_until_closed() == b"-ERR max number of clients reached\r\n"
    held[1].close()

    def is_served():
        with server.connect() as conn:
            try:
                return conn.command("PING") == b"PONG"
            except (Closed, OSError):
                return False

    wait_until(is_served)
    held[0].close()


def test_tcp_backlog(start):
    """As many as the option says wait at the door while the server does not accept."""
    server = start.subject("--tcp-backlog", "3")
    knocking = []
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for _ in range(12):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(server.address)
            knocking.append(sock)
        time.sleep(0.3)
        n_waiting = sum(is_connected(sock) for sock in knocking)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert n_waiting == 4  # Linux lets one more in
    for sock in knocking:  # the others try again by themselves
        wait_until(lambda s=sock: is_connected(s))
        sock.settimeout(PATIENCE_S)
        sock.sendall(b"PING\r\n")
        assert sock.recv(100) == b"+PONG\r\n"
        sock.close()


def is_connected(sock):
    try:
        sock.getpeername()
        return True
    except OSError:
        return False


# ---- idle and vanished clients ----


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


def keepalive_s(server, conn):
    """After how many seconds the server's socket will ask whether the client is there; None:
    never."""
    ports = (f":{server.port:04X}", f":{conn.sock.getsockname()[1]:04X}")
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(ports[0]) and fields[2].endswith(ports[1]):
            kind, when = fields[5].split(":")
            return int(when, 16) / os.sysconf("SC_CLK_TCK") if int(kind) == 2 else None
    raise AssertionError("the connection is not there")


def test_tcp_keepalive(start):
    server = start.subject("--tcp-keepalive", "77")
    with server.connect() as admin, server.connect(tcp=True) as conn:
        assert conn.command("PING") == b"PONG"
        wait_until(lambda: keepalive_s(server, conn) is not None)
        assert 10 < keepalive_s(server, conn) <= 77.1
        assert admin.command("CONFIG", "SET", "tcp-keepalive", "0") == b"OK"
        with server.connect(tcp=True) as other:
            assert other.command("PING") == b"PONG"
            time.sleep(0.5)  # no longer a matter of the last bytes' acknowledgement
            assert keepalive_s(server, other) is None


# ---- output ----


@pytest.mark.parametrize("kind", ("hard", "soft"))
@pytest.mark.parametrize("group", ("normal", "pubsub"))
def test_output_limit(start, group, kind):
    """A client that does not read is closed when its output passes the limit, at once or
    after the seconds of the soft one; one that reads is not, and is counted right."""
    limit = "300kb 0 0" if kind == "hard" else "0 300kb 1"
    server = start.subject("--client-output-buffer-limit", f"{group} {limit}")
    with server.connect() as good, server.connect(receive_buffer=4096) as mute:
        good.command("SET", "k", "x" * 100_000)
        with server.connect(receive_buffer=4096) as reads:
            for conn in (mute, reads) if group == "pubsub" else ():
                conn.command("SUBSCRIBE", "news")
            if group == "normal":
                reads.send(encode("GET", "k") * 2)
                mute.send(encode("GET", "k") * 12)
                assert [len(reads.read()) for _ in range(2)] == [100_000] * 2
            for _ in range(12 if group == "pubsub" else 0):
                good.command("PUBLISH", "news", "x" * 100_000)
                assert len(reads.read()[2]) == 100_000
            wait_until(lambda: len(clients(good)) == 2, "the mute client is closed")
            assert info(good, "client_output_buffer_limit_disconnections") == 1
            if group == "normal":
                assert reads.command("PING") == b"PONG"
            else:
                assert good.command("PUBLISH", "news", "x") == 1


# ---- arguments ----


def test_number_of_arguments(start):
    """INT_MAX arguments may be announced, and cost nothing before they come; more are an
    error."""
    server = start.subject()
    with server.connect() as good:
        before = total_memory(good)
        for text, is_right in ((b"2147483647", True), (b"2147483648", False),
                               (b"9223372036854775808", False), (b"1x", False)):
            with server.connect() as conn:
                conn.send(b"*" + text + b"\r\n" + b"$4\r\nPING\r\n" * is_right)
                if is_right:
                    wait_until(lambda: len(clients(good)) == 2)
                    assert total_memory(good) < before + 300_000
                else:
                    assert (conn.receive_until_closed() ==
                            b"-ERR Protocol error: invalid multibulk length\r\n")


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


# ---- before AUTH ----


def test_requests_before_auth(start):
    """Ten arguments of 16 KB each, and not one more or longer; after AUTH all others."""
    server = start.subject("--requirepass", "x")
    noauth = b"-NOAUTH Authentication required.\r\n"
    for request, answer in (
            (encode(*["PING"] * 10), noauth),
            (encode(*["PING"] * 11), b"-ERR Protocol error: unauthenticated multibulk length\r\n"),
            (encode("ECHO", "x" * 16384), noauth),
            (encode("ECHO", "x" * 16385),
             b"-ERR Protocol error: unauthenticated bulk length\r\n")):
        with server.connect() as conn:
            conn.send(request)
            conn.sock.shutdown(socket.SHUT_WR)
            assert conn.receive_until_closed() == answer
    with server.connect() as conn:
        assert conn.pipeline([["AUTH", "x"], ["MSET", *["a"] * 20_000],
                              ["SET", "a", "x" * MB]]) == [b"OK"] * 3


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
