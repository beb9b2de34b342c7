"""Floods: more overload (test_overload.py has the rest), each kind beside a client that must be
served throughout with right answers (load.good_client); memory and the number of clients are
back at their level when it is over."""
import os
import pathlib
import resource
import select
import socket
import threading
import time

import pytest

import servers
from load import (MB, PATIENCE_S, Level, abandon, clients, good_client, info, is_closed,
                  send_what_fits, wait_until)
from resp import Closed, encode

REFUSED = b"-ERR max number of clients reached\r\n"


@pytest.fixture
def loaded(start):
    """A server with two threads, a connection to look at it, and the good client."""
    if servers.subject_class() is servers.RedisServer:
        pytest.skip("of yonder-server")
    server = start.subject("--threads", "2", "--client-query-buffer-limit", "32mb",
                           "--client-output-buffer-limit", "pubsub 4mb 0 0")
    with server.connect(timeout=PATIENCE_S) as admin, good_client(server):
        server.admin = admin
        yield server
        assert server.is_running()


# ---- connections ----


class TestDescriptors:
    """The limit on open files is below maxclients."""

    LIMIT = 64

    @pytest.fixture
    def small(self, start):
        if servers.subject_class() is servers.RedisServer:
            pytest.skip("of yonder-server")
        server = start.subject("--threads", "2")
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (self.LIMIT, self.LIMIT))
        return server

    @staticmethod
    def is_served(conn):
        try:
            return conn.command("PING") == b"PONG"
        except (Closed, OSError):
            return False

    @pytest.mark.parametrize("tcp", (False, True))
    def test_all_are_in_use(self, small, tcp):
        with small.connect() as admin, good_client(small):
            conns = [small.connect(tcp=tcp) for _ in range(self.LIMIT + 20)]
            served = [conn for conn in conns if self.is_served(conn)]
            assert 20 < len(served) < self.LIMIT
            assert "file descriptors are in use" in small.log_text()
            assert small.log_text().count("file descriptors are in use") < 3
            assert info(admin, "rejected_connections") >= 20
            before = cpu_ticks(small.pid)
            time.sleep(0.5)  # nobody knocks: nothing is to be done
            assert cpu_ticks(small.pid) - before < 0.4 * os.sysconf("SC_CLK_TCK")
            for conn in served:
                assert conn.command("PING") == b"PONG"
            for conn in conns[::2]:
                conn.close()
            with_room = []

            def comes_in():
                with_room.append(small.connect(tcp=tcp))
                return self.is_served(with_room[-1])

            for _ in range(5):
                wait_until(comes_in, "new clients come in when others have left")
            for conn in conns + with_room:
                conn.close()

    def test_refusal_is_told(self, small):
        with good_client(small):
            conns = [small.connect() for _ in range(self.LIMIT + 5)]
            assert conns[-1].receive_until_closed() == REFUSED
            for conn in conns:
                conn.close()


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_connections_that_are_gone_when_they_are_accepted(loaded):
    """More than the backlog holds, all of them reset at once, again and again."""
    level = Level(loaded.admin)
    for _ in range(10):
        socks = []
        for _ in range(300):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(loaded.address)
            socks.append(sock)
        for sock in socks:
            abandon(sock)
    level.back()


def test_thousands_of_idle_connections(loaded):
    """Each takes a few KB, and gives them back."""
    n = 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n + 200:
        if hard != resource.RLIM_INFINITY and hard < n + 200:
            pytest.skip("too few file descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (n + 200, hard))
    level = Level(loaded.admin)
    conns = [loaded.connect(tcp=True) for _ in range(n)]  # over TCP a full backlog is waited for
    for conn in conns:
        conn.send(encode("PING"))
    for conn in conns:
        assert conn.read() == b"PONG"
    wait_until(lambda: level.grown() < n * 6000 + 4 * MB, "idle clients take little")
    for conn in conns:
        conn.close()
    level.back()


def test_peers_that_have_vanished(start):
    """A peer that is gone without a word, in every state: `timeout` closes it, but not those
    who wait or listen; for those there is tcp-keepalive (test_limits.py) and, once something
    is written to them, the output limit."""
    server = start.subject("--timeout", "2", "--client-output-buffer-limit",
                           "normal 1mb 0 0 pubsub 1mb 0 0")
    with server.connect(timeout=PATIENCE_S) as admin, good_client(server):
        admin.command("SET", "k", "x" * 100_000)
        level = Level(admin)
        said = {"nothing": b"", "half": b"*2\r\n$4\r\nECHO\r\n$100\r\nabc",
                "open": encode("MULTI") + encode("PING"), "reads not": encode("GET", "k") * 300,
                "listens": encode("SUBSCRIBE", "news")}
        gone = {}
        for name, data in said.items():
            gone[name] = server.connect(tcp=True, receive_buffer=4096)
            send_what_fits(gone[name].sock, data)
        wait_until(lambda: admin.command("PUBSUB", "NUMSUB", "news")[1] == 1)
        wait_until(lambda: len(clients(admin)) == level.n_clients + 1, "only one listens")

        def is_gone():
            return admin.command("PUBLISH", "news", "x" * 100_000) == 0

        wait_until(is_gone, "the listener's output passes its limit")
        level.back()
        for conn in gone.values():
            conn.close()


# ---- floods ----


def flood(server, n_clients, data, keep_reading=False, receive_buffer=4096):
    """Lets n clients send the data, as far as the server takes it. Returns the clients."""
    conns = [server.connect(tcp=i % 2 == 1, receive_buffer=receive_buffer)
             for i in range(n_clients)]

    def work(conn):
        view, sent = memoryview(data), 0
        conn.sock.settimeout(0.5)
        try:
            while sent < len(data):
                sent += conn.sock.send(view[sent:sent + 65536])
                if keep_reading:
                    conn.sock.recv(1 << 18)
        except OSError:
            pass

    threads = [threading.Thread(target=work, args=(conn,)) for conn in conns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return conns


def leave(conns):
    """Half of them reset, half end."""
    for i, conn in enumerate(conns):
        abandon(conn.sock) if i % 2 else conn.close()


def test_flood_of_tiny_commands(loaded):
    level = Level(loaded.admin)
    conns = flood(loaded, 6, b"PING\r\n" * 300_000, keep_reading=True)
    assert level.grown() < 6 * 3 * MB
    leave(conns)
    level.back()


def test_flood_of_empty_lines(loaded):
    """They have no answers, so that nothing holds the sender back."""
    level = Level(loaded.admin)
    conns = flood(loaded, 4, b"\r\n" * 2_000_000 + b"*0\r\n" * 500_000)
    assert level.grown() < 4 * MB
    leave(conns)
    level.back()


def test_flood_of_huge_bulks(loaded):
    """Half a bulk each: memory is what has been sent, at most the query limit a client."""
    level = Level(loaded.admin)
    n, sent = 6, 20 * MB
    data = b"*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$30000000\r\n" + b"x" * sent
    conns = flood(loaded, n, data)
    assert level.grown() < n * 34 * MB
    leave(conns)
    level.back()
    assert loaded.admin.command("EXISTS", "big") == 0


def test_huge_bulks_that_are_only_announced(loaded):
    level = Level(loaded.admin)
    conns = flood(loaded, 200, b"*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$30000000\r\nxxx")
    assert level.grown() < 200 * 24_000 + 4 * MB
    leave(conns)
    level.back()


def test_huge_bulks_past_the_limit(loaded):
    """Those who send more than client-query-buffer-limit are closed."""
    level = Level(loaded.admin)
    data = b"*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$100000000\r\n" + b"x" * (8 * MB)
    conns = flood(loaded, 6, data)
    for conn in conns:
        wait_until(lambda c=conn: is_closed(c.sock), "it is closed")
    assert info(loaded.admin, "client_query_buffer_limit_disconnections") == 6
    leave(conns)
    level.back()


def test_many_huge_values(loaded):
    """Complete ones, for one key, over and over."""
    level = Level(loaded.admin)
    conns = flood(loaded, 4, encode("SET", "big", b"x" * (8 * MB)) * 4, keep_reading=True)
    leave(conns)
    loaded.admin.command("DEL", "big")
    level.back()


def test_flood_of_subscriptions(loaded):
    level = Level(loaded.admin)
    data = b"".join(encode(name, *(f"{name}-{i}-{k}" for k in range(20)))
                    for i in range(400) for name in ("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"))
    conns = flood(loaded, 6, data, keep_reading=True, receive_buffer=None)
    for i in range(20):
        loaded.admin.command("PUBLISH", f"SUBSCRIBE-{i}-1", "x")
    assert len(loaded.admin.command("PUBSUB", "CHANNELS", "SUBSCRIBE-1-*")) == 20
    leave(conns)
    level.back()
    assert loaded.admin.command("PUBSUB", "CHANNELS") == []
    assert loaded.admin.command("PUBSUB", "NUMPAT") == 0


def test_replies_that_are_never_read(loaded):
    """Small ones by the thousand, large ones, and searches: each client holds about a MB."""
    level = Level(loaded.admin)
    loaded.admin.command("SET", "k", "x" * 200_000)
    loaded.admin.batch([["GEOADD", "g", "%.4f" % (i * 0.01), "1", f"m{i}"]
                        for i in range(5000)])
    search = encode("GEOSEARCH", "g", "FROMLONLAT", 0, 0, "BYRADIUS", 20000, "km", "WITHCOORD")
    conns = flood(loaded, 4, encode("PING", "y" * 100) * 50_000)
    conns += flood(loaded, 4, encode("GET", "k") * 5000)
    conns += flood(loaded, 4, search * 3000)
    assert level.grown() < len(conns) * 3 * MB
    leave(conns)
    loaded.admin.command("DEL", "k", "g")
    level.back()


def test_monitors_that_never_read(loaded):
    level = Level(loaded.admin)
    conns = flood(loaded, 6, encode("MONITOR"))
    for _ in range(4000):
        loaded.admin.command("SET", "k", "x" * 20_000)
        if info(loaded.admin, "client_output_buffer_limit_disconnections") == 6:
            break
    for conn in conns:
        wait_until(lambda c=conn: is_closed(c.sock), "it is closed")
    leave(conns)
    loaded.admin.command("DEL", "k")
    level.back()


def test_flood_of_blocked_clients(loaded):
    """Each waits for many keys; the keys come, or the clients go, or both."""
    level = Level(loaded.admin)
    keys = [f"queue-{i}" for i in range(200)]
    conns = flood(loaded, 300, encode("BZPOPMIN", *keys, "0"))
    wait_until(lambda: info(loaded.admin, "blocked_clients") == 300)
    for i in range(100):
        loaded.admin.command("ZADD", keys[i], "1", "m")
    wait_until(lambda: info(loaded.admin, "blocked_clients") == 200)
    served = select.select([conn.sock for conn in conns], [], [], PATIENCE_S)[0]
    for conn in conns:
        if conn.sock in served:
            assert len(conn.read()) == 3
    leave(conns)
    level.back()
    loaded.admin.command("DEL", *keys)
    assert info(loaded.admin, "blocked_clients") == 0


@pytest.mark.parametrize("mode", ([], ["BCAST", "PREFIX", "t"]))
def test_flood_of_tracked_keys(loaded, mode):
    """Clients that track, and never read what they are told."""
    level = Level(loaded.admin)
    data = encode("HELLO", "3") + encode("CLIENT", "TRACKING", "ON", *mode)
    data += b"".join(encode("MGET", *(f"t{i}-{k}" for k in range(50))) for i in range(200))
    conns = flood(loaded, 10, data, keep_reading=True)
    wait_until(lambda: info(loaded.admin, "tracking_clients") == 10)
    pairs = [word for i in range(200) for word in (f"t{i}-3", "x" * 100)]
    for _ in range(20):
        loaded.admin.command("MSET", *pairs)
    loaded.admin.command("DEL", *pairs[::2])
    leave(conns)
    # the table forgets the clients' keys bit by bit, or when they change
    wait_until(lambda: info(loaded.admin, "tracking_clients") == 0)
    level.back()


def test_slow_senders(loaded):
    """A byte at a time from many clients."""
    level = Level(loaded.admin)
    data = encode("SET", "slow", "value") + b"PING\r\n"
    conns = [loaded.connect(tcp=True) for _ in range(100)]
    for i in range(len(data)):
        for conn in conns:
            conn.send(data[i:i + 1])
    for conn in conns:
        assert (conn.read(), conn.read()) == (b"OK", b"PONG")
    leave(conns)
    level.back()
