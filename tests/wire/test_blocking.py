"""Commands that wait for a key: random interleavings of several clients beside a model
(waiting_model.py), the model beside redis-server, and what a model does not show.

Nothing here sleeps to let the server come so far: a test waits for what the server says
(INFO's blocked_clients, a reply), and measures with the server's clock."""
import os
import signal
import subprocess
import sys
import threading

import pytest

import resp
import waiting_model

SEED = int(os.environ.get("YN_SEED", "1"))
N_STEPS = int(os.environ.get("YN_STEPS", "2500"))


# ---- beside the model ----


def run_model(server, seed, **more):
    print(f"seed {seed}")
    driver = waiting_model.Driver(server, seed, server.name == "redis-server",
                                  knows=waiting_model.known_commands(server), **more)
    try:
        driver.run(N_STEPS)
    finally:
        driver.close()
    model = driver.model
    print(f"{driver.n_commands} commands, {model.n_blocks} waited, {model.n_served} "
          f"served, {model.n_aborted} transactions failed")
    assert model.n_served > N_STEPS // 50


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 6))
def test_random_interleavings(server, seed):
    # what Redis pops for a client that has just hung up is a matter of luck
    run_model(server, seed, waits_for_hang_up=server.name == "redis-server")


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 3))
def test_the_model_holds_for_redis(redis, seed):
    run_model(redis, seed)


# ---- beside redis-server, byte for byte ----


def n_blocked(conn):
    text = conn.command("INFO", "clients")
    return int(text.partition(b"\r\nblocked_clients:")[2].split(b"\r\n")[0])


def wait_until_blocked(conn, n):
    for _ in range(200000):
        if n_blocked(conn) == n:
            return
    raise AssertionError(f"{n_blocked(conn)} clients wait, not {n}")


def block(conn, observer, *words, behind=b""):
    """Sends the command and waits until the server knows that it waits."""
    n = n_blocked(observer)
    conn.send(resp.encode(*words) + behind)
    wait_until_blocked(observer, n + 1)


REPLIES = [
    ("BZPOPMIN", "none", "0.001"),
    ("BZPOPMAX", "none", "other", "0.001"),
    ("BZMPOP", "0.001", "2", "none", "other", "MIN"),
    ("BZPOPMIN", "none", "-1"),
    ("BZPOPMIN", "none", "x"),
    ("BZPOPMIN", "none", "nan"),
    ("BZPOPMIN", "text", "0"),
    ("BZPOPMIN", "none", "text", "0"),
    ("BZMPOP", "0", "1", "text", "MAX"),
    ("BZMPOP", "0", "0", "none", "MAX"),
    ("BZMPOP", "0", "1", "none", "MEAN"),
    ("BZPOPMIN", "none"),
    ("CLIENT", "UNBLOCK"),
    ("CLIENT", "UNBLOCK", "x"),
    ("CLIENT", "UNBLOCK", "123456789"),
    ("CLIENT", "UNBLOCK", "123456789", "SOON"),
    ("CLIENT", "UNBLOCK", "x", "SOON"),
    ("CLIENT", "UNBLOCK", "123456789", "ERROR", "x"),
]


@pytest.mark.parametrize("version", (2, 3))
def test_replies_are_those_of_redis(server, redis, version):
    got = []
    for each in (server, redis):
        with each.connect(resp=version) as conn:
            conn.command("SET", "text", "x")
            got.append([conn.raw(*words) for words in REPLIES])
    assert got[0] == got[1]


@pytest.mark.parametrize("version", (2, 3))
@pytest.mark.parametrize("how", ((), ("TIMEOUT",), ("ERROR",)))
def test_client_unblock(server, redis, version, how):
    got = []
    for each in (server, redis):
        with each.connect(resp=version) as conn, each.connect() as observer:
            number = conn.command("CLIENT", "ID")
            block(conn, observer, "BZPOPMIN", "none", "0")
            assert observer.command("CLIENT", "UNBLOCK", number, *how) == 1
            got.append(conn.read_raw())
            assert observer.command("CLIENT", "UNBLOCK", number, *how) == 0
    assert got[0] == got[1]


# ---- one by one ----


def test_one_command_serves_three(server, client):
    conns = [server.connect() for _ in range(4)]
    for conn in conns:
        block(conn, client, "BZPOPMIN", "k", "0")
    assert client.command("ZADD", "k", "3", "c", "1", "a", "2", "b") == 3
    assert [conn.read() for conn in conns[:3]] == [
        [b"k", b"a", b"1"], [b"k", b"b", b"2"], [b"k", b"c", b"3"]]
    assert n_blocked(client) == 1
    assert client.command("EXISTS", "k") == 0
    conns[3].close()
    wait_until_blocked(client, 0)


def test_what_follows_sees_the_set_without_what_was_served(server, client):
    with server.connect() as conn:
        block(conn, client, "BZPOPMIN", "k", "0")
        assert client.pipeline([("ZADD", "k", "1", "a", "2", "b"),
                                ("ZSCORE", "k", "a"), ("ZMSCORE", "k", "a", "b"),
                                ("ZRANGE", "k", "0", "-1")]) == [
            2, None, [None, b"2"], [b"b"]]
        assert conn.read() == [b"k", b"a", b"1"]


def test_commands_behind_wait(server, client):
    with server.connect() as conn:
        block(conn, client, "BZPOPMIN", "k", "0",
              behind=resp.encode("ECHO", "x") + resp.encode("ZADD", "done", "1", "m"))
        assert client.command("EXISTS", "done") == 0
        client.command("ZADD", "k", "1", "a")
        assert [conn.read() for _ in range(3)] == [[b"k", b"a", b"1"], b"x", 1]


def test_a_transaction_does_not_wait(client):
    assert client.pipeline([("MULTI",), ("BZPOPMIN", "k", "0"),
                            ("BZMPOP", "0", "1", "k", "MIN"), ("ZADD", "k", "1", "m"),
                            ("BZPOPMIN", "k", "0"), ("EXEC",)])[-1] == [
        resp.NULL_ARRAY, resp.NULL_ARRAY, 1, [b"k", b"m", b"1"]]


def test_served_after_the_whole_transaction(server, client):
    """8.0 runs the command of the waiting client again, so its first key comes first."""
    with server.connect() as conn:
        block(conn, client, "BZMPOP", "0", "2", "first", "second", "MIN", "COUNT", "9")
        client.pipeline([("MULTI",), ("ZADD", "second", "1", "a"),
                         ("ZADD", "first", "1", "b"), ("ZADD", "first", "2", "c"),
                         ("EXEC",)])
        want = [b"second", [[b"a", b"1"]]] if server.name == "redis-server" else [
            b"first", [[b"b", b"1"], [b"c", b"2"]]]
        assert conn.read() == want


def test_a_set_that_is_gone_again_serves_nobody(server, client):
    with server.connect() as conn:
        block(conn, client, "BZPOPMIN", "k", "0")
        client.pipeline([("MULTI",), ("ZADD", "k", "1", "a"), ("DEL", "k"), ("EXEC",)])
        assert n_blocked(client) == 1
        client.command("ZADD", "k", "2", "b")
        assert conn.read() == [b"k", b"b", b"2"]


def test_a_string_serves_nobody(server, client):
    with server.connect() as conn:
        block(conn, client, "BZPOPMIN", "k", "0")
        client.command("SET", "k", "x")
        assert n_blocked(client) == 1
        client.command("DEL", "k")
        client.command("ZADD", "k", "1", "a")
        assert conn.read() == [b"k", b"a", b"1"]


def test_a_string_at_an_earlier_key_is_an_error_when_served(server, client):
    with server.connect() as conn:
        block(conn, client, "BZPOPMIN", "a", "b", "0")
        client.command("SET", "a", "x")
        client.command("ZADD", "b", "1", "m")
        want = [b"b", b"m", b"1"] if server.name == "redis-server" else (
            waiting_model.WRONGTYPE)
        assert conn.read() == want


def test_a_set_stored_over_a_string_serves(server, client):
    """Redis forgets this client until the key has been removed."""
    if server.name == "redis-server":
        pytest.skip("not in Redis")
    with server.connect() as conn:
        block(conn, client, "BZPOPMAX", "k", "0")
        client.command("SET", "k", "x")
        client.command("GEOADD", "g", "1", "1", "m")
        client.command("GEOSEARCHSTORE", "k", "g", "FROMLONLAT", "1", "1", "BYRADIUS",
                       "1", "km")
        assert conn.read()[:2] == [b"k", b"m"]


@pytest.mark.parametrize("how", ("OFF", "SKIP"))
def test_unwanted_replies_are_not_sent(server, client, how):
    with server.connect() as conn:
        conn.send(resp.encode("CLIENT", "REPLY", how))
        block(conn, client, "BZPOPMIN", "k", "0",
              behind=resp.encode("CLIENT", "REPLY", "ON") + resp.encode("ECHO", "x"))
        client.command("ZADD", "k", "1", "a")
        assert [conn.read(), conn.read()] == [b"OK", b"x"]
    assert client.command("EXISTS", "k") == 0


def test_pushes_reach_a_client_that_waits(server, client):
    with server.connect(resp=3) as conn:
        conn.command("SUBSCRIBE", "news")
        block(conn, client, "BZPOPMIN", "k", "0")
        assert client.command("PUBLISH", "news", "hello") == 1
        assert conn.read() == resp.Push([b"message", b"news", b"hello"])
        assert n_blocked(client) == 1


def test_what_client_list_and_info_say(server, client):
    with server.connect() as conn:
        number = conn.command("CLIENT", "ID")
        block(conn, client, "BZPOPMIN", "a", "b", "a", "1000")
        line = client.command("CLIENT", "LIST", "ID", number)
        assert b" flags=b " in line or b" flags=bU " in line
        assert b" cmd=bzpopmin " in line
        info = client.command("INFO", "clients")
        assert b"\r\nblocked_clients:1\r\n" in info
        assert b"\r\nclients_in_timeout_table:1\r\n" in info
        if server.name != "redis-server":
            assert b"\r\ntotal_blocking_keys:2\r\n" in info
        client.command("CLIENT", "KILL", "ID", number)
        wait_until_blocked(client, 0)
        with pytest.raises((resp.Closed, ConnectionError)):
            conn.read()


def test_calls_are_counted_when_they_have_an_answer(server, client):
    """7.0.15 counts them when they begin."""
    if server.name == "redis-server":
        pytest.skip("as in 8.0")
    client.command("CONFIG", "RESETSTAT")
    with server.connect() as conn:
        number = conn.command("CLIENT", "ID")
        block(conn, client, "BZPOPMIN", "k", "0")
        assert b"cmdstat_bzpopmin:calls=1" not in client.command("INFO", "commandstats")
        client.command("ZADD", "k", "1", "a")
        conn.read()
        assert b"cmdstat_bzpopmin:calls=1," in client.command("INFO", "commandstats")
        block(conn, client, "BZPOPMIN", "k", "0")
        client.command("CLIENT", "UNBLOCK", number, "ERROR")
        conn.read()
        assert b"cmdstat_bzpopmin:calls=2," in client.command("INFO", "commandstats")


# ---- clients that go ----


HANGING = """
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"BZPOPMIN k 0\\r\\n")
s.setblocking(False)
try:
    for _ in range(int(sys.argv[2])):
        s.send(b"PING\\r\\n" * 1000)
except BlockingIOError:
    pass
print("sent", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("n_behind", (0, 10, 10000))
def test_killed_client_takes_nothing(server, client, n_behind):
    """Also when more lies behind its command than the server reads."""
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(server.path), str(n_behind)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"sent\n"
    wait_until_blocked(client, 1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    if server.name == "redis-server":
        wait_until_blocked(client, 0)
    assert client.command("ZADD", "k", "1", "a") == 1
    assert client.command("ZCARD", "k") == 1
    wait_until_blocked(client, 0)


def test_waiting_costs_no_time(start):
    """Not even with commands behind it."""
    server = start.subject()
    with server.connect() as conn, server.connect() as client:
        block(conn, client, "BZPOPMIN", "k", "0", behind=b"PING\r\n" * 100000)

        def cpu_s():
            with open(f"/proc/{server.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before = cpu_s()
        client.command("BZPOPMIN", "none", "0.5")
        assert cpu_s() - before < 0.2
        client.command("ZADD", "k", "1", "a")
        assert conn.read() == [b"k", b"a", b"1"]
        assert [conn.read() for _ in range(100000)] == [b"PONG"] * 100000


def test_idle_timeout_spares_those_who_wait(start):
    server = start.subject("--timeout", "1")
    with server.connect() as conn, server.connect() as client:
        idle = server.connect()
        block(conn, client, "BZPOPMIN", "k", "4")
        assert idle.receive_until_closed() == b""
        with server.connect() as other:
            other.command("ZADD", "k", "1", "a")
        assert conn.read() == [b"k", b"a", b"1"]


def test_shutdown_with_clients_that_wait(start):
    server = start.subject()
    conns = [server.connect() for _ in range(10)]
    with server.connect() as client:
        for conn in conns:
            block(conn, client, "BZPOPMIN", "k", "0")
        client.send(resp.encode("SHUTDOWN", "NOSAVE"))
        for conn in conns:
            assert conn.receive_until_closed() == b""
    assert server.process.wait(20) == 0


# ---- many ----


def test_deadlines_of_many(server, client):
    """Each at its time: not before, and those that come later do not hold it up."""
    conns = [server.connect() for _ in range(200)]

    def now_us():
        seconds, us = client.command("TIME")
        return int(seconds) * 1000000 + int(us)

    for i, conn in enumerate(conns):
        conn.asked_us, conn.ms = now_us(), 1 + (i * 7919) % 300
        conn.send(resp.encode("BZPOPMIN", f"k{i % 7}", conn.ms / 1000))
    for conn in sorted(conns, key=lambda conn: conn.ms):
        assert conn.read() is resp.NULL_ARRAY
        assert now_us() - conn.asked_us >= conn.ms * 1000
        conn.close()
    assert n_blocked(client) == 0


def test_nothing_is_lost_or_given_twice(server):
    """Producers and consumers in threads; some consumers hang up without reading."""
    n_members, n_consumers = 4000, 6
    got, errors = [], []

    def produce(first):
        with server.connect() as conn:
            for i in range(first, n_members, 2):
                conn.command("ZADD", f"k{i % 3}", i, f"m{i}")

    def consume(number):
        try:
            with server.connect() as conn:
                while True:
                    reply = conn.command(("BZPOPMIN", "BZPOPMAX")[number % 2],
                                         "k0", "k1", "k2", "end", "0")
                    if reply[0] == b"end":
                        return
                    got.append(reply[1])
        except Exception as error:  # shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=consume, args=(i,)) for i in range(n_consumers)]
    threads += [threading.Thread(target=produce, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads[n_consumers:]:
        thread.join(60)
    with server.connect() as conn:
        wait_until_blocked(conn, n_consumers)
        conn.command("ZADD", "end", *(w for i in range(n_consumers) for w in (i, f"e{i}")))
    for thread in threads[:n_consumers]:
        thread.join(60)
    assert not errors
    assert sorted(got) == sorted(f"m{i}".encode() for i in range(n_members))
