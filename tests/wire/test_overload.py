"""Too much of everything, beside one client that is served throughout; and what it took is
given back afterwards. What each overload is, the names of the tests say."""
import contextlib
import random
import resource
import socket
import struct
import threading
import time

import pytest

import resp

TCP_REPAIR = 19


@pytest.fixture(params=(1, 4), ids=("one-thread", "four-threads"))
def server(start, request):
    return start.subject("--threads", str(request.param), "--save", "")


class Served:
    """A client that asks all the time, in a thread of its own, until the block ends."""

    def __init__(self, server):
        self.server, self.n, self.error = server, 0, None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._ask)

    def _ask(self):
        try:
            with self.server.connect() as conn:
                while not self.over.is_set():
                    assert conn.command("INCR", "served") == self.n + 1
                    self.n += 1
                    assert conn.command("GEOADD", "g", "1", "2", f"m{self.n}") == 1
                    assert conn.command("GEOPOS", "g", f"m{self.n}")[0] is not None
        except Exception as error:  # shown by the test
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(60)
        assert self.error is None and self.n > 0, self.error


def figures(conn):
    """(bytes of clients, bytes used or None)."""
    clients = sum(int(line.partition(b" tot-mem=")[2].split()[0])
                  for line in conn.command("CLIENT", "LIST").split(b"\n")
                  if line and b"cmd=client|list" not in line)
    text = conn.command("INFO", "memory")
    used = int(text.partition(b"\r\nused_memory:")[2].split(b"\r\n")[0])
    return clients, used if b"mem_allocator:jemalloc" in text else None


@contextlib.contextmanager
def given_back(server, slack=3_000_000):
    """What is used at the end of the block is what was used at its beginning, soon."""
    with server.connect() as conn:
        with Served(server):  # has filled what it fills
            time.sleep(0.1)
        conn.command("FLUSHALL", "SYNC")
        clients, used = figures(conn)
    yield
    with server.connect() as conn:  # the one from before may be too idle to live
        deadline = time.monotonic() + 60
        while True:
            conn.command("FLUSHALL", "SYNC")
            now_clients, now_used = figures(conn)
            is_alone = b"connected_clients:1\r\n" in conn.command("INFO", "clients")
            if is_alone and now_clients <= clients + 100_000 and (
                    used is None or now_used <= used + slack):
                return
            assert time.monotonic() < deadline, (clients, now_clients, used, now_used)
            time.sleep(0.05)


def in_threads(n, work):
    errors = []

    def run(i):
        try:
            work(i)
        except Exception as error:  # shown below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors and not any(thread.is_alive() for thread in threads), errors


# ---- connections ----


def test_no_descriptor_is_left(server):
    """Further clients are sent away, with words; the others are served; when some have left
    new ones are taken."""
    with server.connect() as conn:
        assert conn.command("PING") == b"PONG"
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (60, 60))
        conns = []
        sent_away = 0
        with Served(server):
            for _ in range(150):
                sock = socket.create_connection(server.address, timeout=30)
                sock.sendall(resp.encode("PING"))
                try:
                    answer = sock.recv(100)
                except ConnectionError:
                    answer = b""
                if answer == b"+PONG\r\n":
                    conns.append(sock)
                else:
                    assert answer in (b"", b"-ERR max number of clients reached\r\n")
                    sent_away += 1
                    sock.close()
            assert 10 < len(conns) < 60 and sent_away == 150 - len(conns)
            assert "file descriptors are in use" in server.log_text()
            assert server.log_text().count("file descriptors are in use") == 1
            for sock in conns:
                sock.close()
            deadline = time.monotonic() + 30
            while True:
                with socket.create_connection(server.address, timeout=30) as sock:
                    sock.sendall(resp.encode("PING"))
                    with contextlib.suppress(ConnectionError):
                        if sock.recv(100) == b"+PONG\r\n":
                            break
                assert time.monotonic() < deadline


def test_thousands_of_connects_and_resets(server):
    def come_and_go(seed):
        chance = random.Random(seed)
        for i in range(800):
            sock = socket.create_connection(server.address, timeout=60)
            if i % 2:
                sock.sendall(resp.encode("SET", "k", "v")[:chance.randrange(30)])
            if i % 3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()

    with given_back(server), Served(server):
        in_threads(4, come_and_go)


def test_peers_that_vanish(start):
    """No end of stream comes, since the other machine is gone: keepalive finds out."""
    server = start.subject("--tcp-keepalive", "1")
    with given_back(server), Served(server):
        socks = [socket.create_connection(server.address) for _ in range(20)]
        for sock in socks:
            sock.sendall(resp.encode("SUBSCRIBE", "c"))
            sock.recv(1000)
        try:
            for sock in socks:
                sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        except PermissionError:
            pytest.skip("only root can make a socket vanish")
        for sock in socks:
            sock.close()  # in repair mode nothing is sent


def test_peers_that_never_say_anything(start):
    server = start.subject("--timeout", "1", "--threads", "2")
    with given_back(server), Served(server):
        socks = [socket.create_connection(server.address) for _ in range(200)]
        for sock in socks[::2]:
            sock.sendall(b"*2\r\n$4\r\nECHO\r\n$100\r\nhalf")
        for sock in socks:
            sock.settimeout(60)
            assert sock.recv(1) == b""


# ---- requests ----


def test_flood_of_tiny_commands(server):
    def flood(_):
        with server.connect() as conn:
            for _ in range(20):
                conn.send(b"PING\r\n" * 5000)
                for _ in range(5000):
                    assert conn.read() == b"PONG"

    with given_back(server), Served(server):
        in_threads(4, flood)


def test_announced_bulks(server):
    """Hundreds of megabytes each, of which little comes."""
    with given_back(server), Served(server), server.connect() as conn:
        _, before = figures(conn)
        conns = [server.connect() for _ in range(30)]
        for each in conns:
            each.send(b"*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$400000000\r\n" + b"x" * 500_000)
        time.sleep(0.3)
        clients, used = figures(conn)
        assert clients < 30 * 3_000_000
        assert used is None or used - before < 30 * 3_000_000
        for each in conns:
            each.close()


def test_queues_of_transactions(server):
    with given_back(server), Served(server):
        conns = [server.connect() for _ in range(10)]
        for conn in conns:
            conn.send(resp.encode("MULTI") + resp.encode("SET", "k", "v" * 100) * 10_000)
            for _ in range(10_001):
                conn.read()
        for conn in conns:
            conn.close()


def test_watches(server):
    with given_back(server), Served(server):
        conns = [server.connect() for _ in range(5)]
        for i, conn in enumerate(conns):
            conn.command("WATCH", *[f"watched:{i}:{k}" for k in range(20_000)])
        for conn in conns:
            conn.close()


# ---- replies, messages ----


def test_replies_that_nobody_reads(server):
    """A view and a chunk of each, not the reply."""
    with given_back(server), Served(server), server.connect() as conn:
        conn.command("ZADD", "z", *[w for i in range(100_000) for w in (i, f"member:{i:07}")])
        conns = [server.connect(receive_buffer=4096) for _ in range(20)]
        for each in conns:
            each.send(resp.encode("ZRANGE", "z", 0, -1, "WITHSCORES") * 100)
        time.sleep(0.5)
        clients, _ = figures(conn)
        assert clients < 20 * 2_500_000
        for each in conns:
            each.close()


def test_subscriptions(server):
    with given_back(server), Served(server):
        with server.connect() as a, server.connect() as b:
            for conn, verb in ((a, "SUBSCRIBE"), (b, "PSUBSCRIBE")):
                for at in range(0, 30_000, 1000):
                    conn.send(resp.encode(verb, *[f"c{at + k}" for k in range(1000)]))
                    for _ in range(1000):
                        conn.read()


def test_messages_to_one_who_does_not_read(start):
    server = start.subject("--client-output-buffer-limit", "pubsub 1mb 0 0", "--threads", "2")
    with given_back(server), Served(server), server.connect() as conn:
        deaf = [server.connect(receive_buffer=4096) for _ in range(10)]
        for each in deaf:
            each.command("SUBSCRIBE", "c")
        for _ in range(3000):
            if conn.command("PUBLISH", "c", "x" * 20_000) == 0:
                break
        assert conn.command("PUBLISH", "c", "x") == 0
        for each in deaf:
            each.close()


def test_clients_that_wait(server):
    with given_back(server), Served(server), server.connect() as conn:
        conns = [server.connect() for _ in range(300)]
        for i, each in enumerate(conns):
            each.send(resp.encode("BZPOPMIN", *[f"q{(i + k) % 50}" for k in range(20)], "0"))
        while b"\r\nblocked_clients:300\r\n" not in conn.command("INFO", "clients"):
            time.sleep(0.01)
        for each in conns:
            each.close()


def test_tracked_keys(start):
    server = start.subject("--tracking-table-max-keys", "20000", "--threads", "4")
    with given_back(server, slack=8_000_000), Served(server), server.connect() as conn:
        conns = [server.connect(resp=3) for _ in range(5)]
        for i, each in enumerate(conns):
            each.command("CLIENT", "TRACKING", "ON")
            for at in range(0, 20_000, 1000):
                each.send(resp.encode("MGET", *[f"t:{i}:{at + k}" for k in range(1000)]))
        for each in conns:
            n = 0
            while n < 20:  # what makes room is told in between
                n += not isinstance(each.read(), resp.Push)
        text = conn.command("INFO", "stats")
        assert int(text.partition(b"tracking_total_keys:")[2].split(b"\r\n")[0]) <= 20_000
        for each in conns:
            each.close()
