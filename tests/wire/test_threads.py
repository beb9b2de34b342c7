"""Several threads: connections are spread over them, and it must not show.

Connections go to the threads in turn, so that any two that are opened one after the other
are served by different ones (io-thread of CLIENT LIST).
"""
import socket
import threading
import time

import pytest

import resp

N_THREADS = 4


@pytest.fixture(scope="module")
def threaded(session_starter):
    return session_starter.subject("--threads", str(N_THREADS))


@pytest.fixture
def pair(threaded):
    """Two connections of different threads."""
    with threaded.connect() as a, threaded.connect() as b:
        a.command("FLUSHALL")
        assert thread_of(a) != thread_of(b)
        yield a, b


def thread_of(conn):
    return int(conn.command("CLIENT", "INFO").partition(b"io-thread=")[2].split()[0])


def wait_until(is_so):
    """Others need a moment; a test that waits in vain is ended by its socket's timeout."""
    for _ in range(100000):
        if is_so():
            return
    raise AssertionError("waited in vain")


def all_done(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_connections_are_spread(threaded):
    conns = [threaded.connect() for _ in range(2 * N_THREADS)]
    assert sorted(map(thread_of, conns)) == sorted(2 * list(range(N_THREADS)))
    text = conns[0].command("INFO", "server")
    assert b"\r\nyonder_threads:%d\r\n" % N_THREADS in text
    for conn in conns:
        conn.close()


@pytest.mark.parametrize("n", (1, 3, 128))
def test_option(start, n):
    server = start.subject("--threads", str(n))
    with server.connect() as conn:
        assert b"\r\nyonder_threads:%d\r\n" % n in conn.command("INFO", "server")
        assert conn.command("CONFIG", "GET", "threads") == [b"threads", b"%d" % n]
        error = conn.command("CONFIG", "SET", "threads", "2")
        assert "immutable" in str(error)


def test_what_one_writes_the_other_reads(pair):
    a, b = pair
    for i in range(300):
        assert a.command("SET", "k", str(i)) == b"OK"
        assert b.command("GET", "k") == b"%d" % i
        assert b.command("GEOADD", "g", "2", "3", f"m{i}") == 1
        assert a.command("ZCARD", "g") == i + 1


def test_transactions_are_seen_whole(threaded, pair):
    """Two keys change together; no command sees one without the other."""
    a, _ = pair
    a.command("MSET", "x", "0", "y", "0")
    wrong = []

    def write():
        with threaded.connect() as conn:
            for _ in range(300):
                conn.send(b"".join(resp.encode(*words) for words in (
                    ("MULTI",), ("INCR", "x"), ("INCR", "y"), ("EXEC",))))
                for _ in range(4):
                    conn.read()

    def read():
        with threaded.connect() as conn:
            for _ in range(600):
                x, y = conn.command("MGET", "x", "y")
                if x != y:
                    wrong.append((x, y))

    all_done([threading.Thread(target=work) for work in (write, read, write, read)])
    assert not wrong
    assert a.command("MGET", "x", "y") == [b"600", b"600"]


def test_no_increment_is_lost(threaded, pair):
    a, _ = pair

    def count():
        with threaded.connect() as conn:
            for _ in range(20):
                conn.send(resp.encode("INCR", "n") * 100)
                replies = [conn.read() for _ in range(100)]
                assert replies == sorted(replies)

    all_done([threading.Thread(target=count) for _ in range(8)])
    assert a.command("GET", "n") == b"16000"


def test_pipelines_of_reads_and_writes_keep_their_order(threaded, pair):
    """Others write between the requests of a pipeline, and what was looked up ahead is never
    older than what a request before it has seen."""
    a, _ = pair
    a.command("ZADD", "s", "0", "m", "0", "other")
    a.command("SET", "moved", "0")
    n_moves, wrong = 10000, []
    is_over = threading.Event()

    def move():
        with threaded.connect() as conn:
            for first in range(1, n_moves, 500):
                conn.pipeline([command for i in range(first, first + 500) for command in
                               (("ZADD", "s", str(i), "m"), ("SET", "moved", str(i)))])
        is_over.set()

    def look(own):
        commands = 20 * [("GET", "moved"), ("ZSCORE", "s", "m")] \
            + [("INCR", own), ("ZADD", "s", "1", own), ("GET", own), ("ZSCORE", "s", own)]
        with threaded.connect() as conn:
            turn = 0
            while not is_over.is_set() or turn < 5:
                turn += 1
                replies = conn.pipeline(commands)
                moves = [float(reply) for reply in replies[:40]]
                if any(a > b for a, b in zip(moves[::2], moves[1::2])):
                    wrong.append(moves)
                if replies[40] != turn or replies[42:] != [b"%d" % turn, b"1"]:
                    wrong.append(replies)

    all_done([threading.Thread(target=move)]
             + [threading.Thread(target=look, args=(f"own{i}",)) for i in range(3)])
    assert not wrong


def test_watch(pair):
    a, b = pair
    for i in range(100):
        a.command("WATCH", "k")
        if i % 2:
            b.command("SET", "k", "1")
        a.command("MULTI")
        a.command("INCR", "done")
        assert (a.command("EXEC") is resp.NULL_ARRAY) == bool(i % 2)
    assert a.command("GET", "done") == b"50"


def test_watch_counts_right(threaded, pair):
    """The lock-free counter of the manual: read, add one, EXEC, again if it was touched."""
    a, _ = pair

    def count():
        with threaded.connect() as conn:
            for _ in range(50):
                while True:
                    conn.command("WATCH", "n")
                    value = int(conn.command("GET", "n") or 0)
                    conn.command("MULTI")
                    conn.command("SET", "n", str(value + 1))
                    if conn.command("EXEC") is not resp.NULL_ARRAY:
                        break

    all_done([threading.Thread(target=count) for _ in range(4)])
    assert a.command("GET", "n") == b"200"


def test_blocked_client_is_served_by_the_writer(pair):
    """The member is gone before the next command of the one who has added it."""
    a, b = pair
    for i in range(100):
        a.send(resp.encode("BZPOPMIN", "k", "0"))
        wait_until(lambda: b"\r\nblocked_clients:1\r\n" in b.command("INFO", "clients"))
        b.send(resp.encode("ZADD", "k", str(i), "m") + resp.encode("EXISTS", "k"))
        assert [b.read(), b.read()] == [1, 0]
        assert a.read() == [b"k", b"m", b"%d" % i]


def test_blocked_client_goes_on(pair):
    """What it has sent behind its command, and what it is told meanwhile, in order."""
    a, b = pair
    a.command("HELLO", "3")
    a.command("SUBSCRIBE", "news")
    a.send(resp.encode("BZMPOP", "0", "1", "k", "MIN", "COUNT", "100000") +
           resp.encode("ECHO", "after"))
    wait_until(lambda: b"\r\nblocked_clients:1\r\n" in b.command("INFO", "clients"))
    words = [w for i in range(50000) for w in (i, f"member{i:05}")]
    b.send(resp.encode("PUBLISH", "news", "before") + resp.encode("MULTI") +
           resp.encode("ZADD", "k", *words) + resp.encode("PUBLISH", "news", "now") +
           resp.encode("EXEC"))
    assert [b.read() for _ in range(5)] == [1, b"OK", b"QUEUED", b"QUEUED", [50000, 1]]
    assert a.read() == [b"message", b"news", b"before"]
    assert a.read() == [b"message", b"news", b"now"]
    key, members = a.read()
    assert key == b"k" and len(members) == 50000 and members[-1][0] == b"member49999"
    assert a.read() == b"after"


def test_deadlines(pair):
    a, b = pair
    assert a.command("BZPOPMIN", "none", "0.01") is resp.NULL_ARRAY
    assert b.command("BZPOPMIN", "none", "0.01") is resp.NULL_ARRAY


def test_messages_arrive_in_order(threaded, pair):
    a, b = pair
    a.command("SUBSCRIBE", "c")
    n = 2000
    for i in range(0, n, 100):
        b.send(b"".join(resp.encode("PUBLISH", "c", i + k) for k in range(100)))
        assert [b.read() for _ in range(100)] == [1] * 100
    assert [a.read()[2] for _ in range(n)] == [b"%d" % i for i in range(n)]
    a.command("UNSUBSCRIBE", "c")


def test_expired_keys_that_reads_meet(start):
    """A read changes nothing; the key goes, and is told of, when its batch is over."""
    server = start.subject("--threads", "2", "--notify-keyspace-events", "Ex",
                           "--enable-debug-command", "yes")
    with server.connect() as a, server.connect() as b:
        a.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        a.command("SUBSCRIBE", "__keyevent@0__:expired")
        for command in ("GET", "STRLEN", "TTL", "EXISTS", "TYPE", "DUMP", "ZSCORE"):
            b.command("SET", command, "v", "PX", "1")
            words = (command, command) + (("m",) if command == "ZSCORE" else ())
            while b.command("EXISTS", command):
                pass
            b.command(*words)
            assert a.read() == [b"message", b"__keyevent@0__:expired", command.encode()]
            assert b.command("DBSIZE") == 0


def test_key_that_is_set_again_stays(start):
    """Between the read that has met it, and its removal."""
    server = start.subject("--threads", "2", "--enable-debug-command", "yes")
    with server.connect() as a, server.connect() as b:
        a.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        for i in range(300):
            a.command("SET", "k", "old", "PX", "1")
            b.send(resp.encode("GET", "k") * 20)
            a.send(resp.encode("SET", "k", f"new{i}"))
            assert a.read() == b"OK"
            for _ in range(20):
                b.read()
            assert b.command("GET", "k") == b"new%d" % i


def test_client_kill(pair, threaded):
    a, b = pair
    for _ in range(50):
        with threaded.connect() as other:
            other.command("SUBSCRIBE", "c")
            other_id = [line for line in b.command("CLIENT", "LIST").split(b"\n")
                        if b"sub=1 " in line][0].split()[0].partition(b"=")[2]
            assert b.command("CLIENT", "KILL", "ID", other_id) == 1
            assert b.command("PUBLISH", "c", "x") == 0
            assert b.command("CLIENT", "KILL", "ID", other_id) == 0
            assert other.receive_until_closed() == b""


def test_pause_and_unpause(pair):
    a, b = pair
    b.command("CLIENT", "PAUSE", "100000", "WRITE")
    a.send(resp.encode("SET", "k", "v"))
    wait_until(lambda: b"\r\nblocked_clients:1\r\n" in b.command("INFO", "clients"))
    assert b.command("EXISTS", "k") == 0
    b.command("CLIENT", "UNPAUSE")
    assert a.read() == b"OK"
    a.command("CLIENT", "PAUSE", "30")  # set by a thread that is not the main one
    assert b.command("GET", "k") == b"v"


def test_tracking(pair):
    a, b = pair
    a.command("HELLO", "3")
    a.command("CLIENT", "TRACKING", "ON")
    assert b"\r\ntracking_clients:1\r\n" in b.command("INFO", "clients")
    for i in range(100):
        a.command("GET", "k")
        b.command("SET", "k", i)
        assert a.read() == [b"invalidate", [b"k"]]


def test_monitor_sees_reads_of_all(pair):
    a, b = pair
    a.command("MONITOR")
    for i in range(100):
        b.command("GET", f"k{i}")
        assert a.read().endswith(b'"GET" "k%d"' % i)


def test_configuration_reaches_every_thread(threaded):
    conns = [threaded.connect() for _ in range(N_THREADS)]
    try:
        conns[0].command("CONFIG", "SET", "proto-max-bulk-len", "1mb")
        for conn in conns:
            conn.command("PING")  # a batch notes what has changed before it
            conn.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048577\r\n")
            assert b"invalid bulk length" in conn.receive_until_closed()
    finally:
        with threaded.connect() as conn:
            conn.command("CONFIG", "SET", "proto-max-bulk-len", "512mb")


def test_statistics_are_of_all(threaded, pair):
    a, b = pair
    a.command("CONFIG", "RESETSTAT")
    for conn in (a, b):
        for _ in range(10):
            conn.command("ECHO", "x")
            conn.command("NOSUCH")
    text = a.command("INFO", "all")
    assert b"cmdstat_echo:calls=20," in text
    assert b"errorstat_ERR:count=20\r\n" in text


def test_hostile_halves(threaded, pair):
    """Many come, say half of something, and vanish, beside one that is served."""
    a, _ = pair

    def annoy():
        for i in range(100):
            sock = socket.create_connection(("127.0.0.1", threaded.port))
            sock.sendall((resp.encode("SUBSCRIBE", "c", "d") + resp.encode("MULTI") +
                          resp.encode("WATCH", "k") + resp.encode("BZPOPMIN", "z", 0))
                         [: 20 + i])
            sock.close()

    threads = [threading.Thread(target=annoy) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(500):
        assert a.command("INCR", "served") == i + 1
    for thread in threads:
        thread.join(60)
    wait_until(lambda: b"\r\nconnected_clients:2\r\n" in a.command("INFO", "clients"))


def test_stops_with_clients_on_every_thread(start):
    server = start.subject("--threads", "4")
    conns = [server.connect() for _ in range(8)]
    for conn in conns[:7]:
        conn.command("SET", "k", "v")
    conns[0].send(resp.encode("BZPOPMIN", "none", "0"))
    conns[7].send(resp.encode("SHUTDOWN", "NOSAVE"))
    server.process.wait(30)
    assert server.process.returncode == 0
    for conn in conns:
        conn.close()


def test_broadcast_after_an_expired_key_was_read(start):
    """Whoever removes a key that a read met has something to tell those who track by prefixes;
    the reads behind it, under the shared lock, took that for theirs, and the server ended."""
    server = start.subject("--threads", 2)
    with server.connect(resp=3) as tracker, server.connect() as client:
        client.command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        assert tracker.command("CLIENT", "TRACKING", "ON", "BCAST") == b"OK"
        client.command("SET", "k", "v", "PX", 1)
        assert tracker.read() == resp.Push([b"invalidate", [b"k"]])
        time.sleep(0.02)
        assert client.pipeline([("GET", "k")] * 64) == [None] * 64
        assert tracker.read() == resp.Push([b"invalidate", [b"k"]])
        assert client.command("PING") == b"PONG"
