"""MULTI, EXEC, DISCARD, WATCH, UNWATCH: random interleavings of several clients beside a
model (waiting_model.py), the model beside redis-server, and what a model does not show."""
import os
import random
import subprocess
import sys
import threading

import pytest

import resp
import servers
import waiting_model
from waiting_model import OK, QUEUED

SEED = int(os.environ.get("YN_SEED", "1"))
N_STEPS = int(os.environ.get("YN_STEPS", "2500"))


# ---- beside the model ----


def run_model(server, seed):
    print(f"seed {seed}")
    driver = waiting_model.Driver(server, seed, server.name == "redis-server",
                                  waiting_share=0.03,
                                  knows=waiting_model.known_commands(server))
    try:
        driver.run(N_STEPS)
    finally:
        driver.close()
    model = driver.model
    print(f"{driver.n_commands} commands, {model.n_run} transactions, "
          f"{model.n_aborted} more failed")
    assert model.n_run > N_STEPS // 40 and model.n_aborted > N_STEPS // 100


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 6))
def test_random_interleavings(server, seed):
    run_model(server, seed)


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 3))
def test_the_model_holds_for_redis(redis, seed):
    run_model(redis, seed)


# ---- beside redis-server, byte for byte ----

# Sessions of one client; all replies must be the same.
SESSIONS = [
    "EXEC; DISCARD; UNWATCH; WATCH; EXEC a; DISCARD b; MULTI c",
    "MULTI; MULTI; PING; EXEC; EXEC",
    "MULTI; EXEC",
    "MULTI; WATCH a; PING; EXEC",
    "MULTI; UNWATCH; PING; EXEC",
    "MULTI; SHUTDOWN NOSAVE; PING; EXEC",
    "MULTI; SHUTDOWN NOSAVE; DISCARD; MULTI; PING; EXEC",
    "MULTI; EXEC a; EXEC",
    "MULTI; DISCARD a; EXEC",
    "MULTI; MULTI a; EXEC",
    "MULTI; WATCH; EXEC",
    "MULTI; NONSENSE; PING; EXEC; PING",
    "MULTI; ZADD; EXEC",
    "MULTI; CLIENT NONSENSE; EXEC",
    "MULTI; CLIENT; EXEC",
    "MULTI; CLIENT GETNAME; CLIENT SETNAME me; CLIENT GETNAME; EXEC; CLIENT GETNAME",
    "MULTI; ZADD z 1 a; ZRANGE z 0 -1 WITHSCORES; ZADD z x; SET z y; ZCARD z; GET z; EXEC",
    "MULTI; SELECT 3; SET k 1; SELECT 99; EXEC; GET k; DEL k; SELECT 0; GET k",
    "SET q 1; MULTI; SET q 2; RESET; GET q; EXEC",
    "SET q 1; WATCH q; SET q 2; MULTI; GET q; EXEC; MULTI; GET q; EXEC",
    "SET q 1; WATCH q; SET q 1; MULTI; GET q; EXEC",
    "WATCH q; SET q 2; UNWATCH; MULTI; GET q; EXEC",
    "WATCH q; SET q 2; MULTI; DISCARD; MULTI; GET q; EXEC",
    "WATCH q; SET q 2; RESET; MULTI; PING; EXEC",
    "WATCH q; DEL q; MULTI; PING; EXEC",
    "WATCH q; SET q 2; MULTI; NONSENSE; EXEC; MULTI; PING; EXEC",
    "WATCH q; SELECT 1; SET q 2; SELECT 0; MULTI; PING; EXEC; FLUSHALL",
    "SELECT 1; WATCH q; SELECT 0; SET q 2; MULTI; PING; EXEC; SELECT 0; FLUSHALL",
    "WATCH q q a q; SET a 2; MULTI; PING; EXEC",
    "ZADD z 1 a; WATCH z; ZADD z 1 a; ZREM z b; MULTI; PING; EXEC",
    "ZADD z 1 a; WATCH z; ZADD z 2 a; MULTI; PING; EXEC",
    "GEOADD g 1 1 a; WATCH g; GEOADD g 1 1 a; MULTI; PING; EXEC",
    "GEOADD g 1 1 a; WATCH g; GEOADD g 1 2 a; MULTI; PING; EXEC",
    "WATCH q; FLUSHDB; MULTI; PING; EXEC",
    "SET q 1; WATCH q; FLUSHDB; MULTI; PING; EXEC",
    "SET q 1; WATCH q; FLUSHALL; MULTI; PING; EXEC",
    "SET q 1; SELECT 2; WATCH q; FLUSHALL; MULTI; PING; EXEC",
    "SET q 1; WATCH q; EXPIRE q 100; MULTI; PING; EXEC",
    "SET q 1; WATCH q; GET q; EXISTS q; TYPE q; MULTI; PING; EXEC",
    "MULTI; SUBSCRIBE x; PING; UNSUBSCRIBE; PING; EXEC; PING",
    "MULTI; HELLO 3; ZADD z 1 a; ZSCORE z a; ZSCORE z b; HELLO 2; ZSCORE z a; ECHO x",
    "CONFIG SET maxmemory 1; MULTI; GET q; EXEC; MULTI; EXEC; CONFIG SET maxmemory 0",
    "CONFIG SET maxmemory 1; MULTI; GET q; DISCARD; CONFIG SET maxmemory 0",
    "MULTI; CLIENT REPLY SKIP; PING; EXEC; ECHO lost; ECHO x",
    "MULTI; PING; CLIENT REPLY OFF; PING; EXEC; ECHO lost; CLIENT REPLY ON; ECHO x",
    "CLIENT REPLY OFF; MULTI; PING; CLIENT REPLY ON; ECHO x; EXEC; ECHO y",
    "CLIENT REPLY SKIP; MULTI; PING; CLIENT REPLY SKIP; PING; EXEC; ECHO lost; ECHO y",
    "MULTI; QUIT; PING",
    "MULTI; PING; CLIENT KILL TYPE normal SKIPME no; PING; EXEC; PING",
    "COMMAND INFO multi exec discard watch unwatch shutdown client|unblock",
    "COMMAND GETKEYS WATCH a b; COMMAND COUNT EXTRA",
]


def skip_unless_measured(conn):
    if b"\r\nmem_allocator:jemalloc" not in conn.command("INFO", "memory"):
        pytest.skip("sanitizers hide how much memory is used")


def wait_until_alone(conn):
    """Another thread may still have to notice that a client has hung up."""
    while b"connected_clients:1\r\n" not in conn.command("INFO", "clients"):
        pass


@pytest.mark.parametrize("version", (2, 3))
@pytest.mark.parametrize("session", SESSIONS)
def test_session_as_in_redis(server, redis, session, version):
    got = []
    for each in (server, redis):
        with each.connect() as conn:
            conn.command("FLUSHALL")
            if "maxmemory" in session:
                skip_unless_measured(conn)
        with each.connect(resp=version) as conn:
            wait_until_alone(conn)
            conn.send(b"".join(resp.encode(*line.split()) for line in session.split(";")))
            if "KILL" not in session and "QUIT" not in session:
                conn.send(resp.encode("QUIT"))
            got.append(conn.receive_until_closed())
        with each.connect() as conn:
            conn.command("CONFIG", "SET", "maxmemory", "0")
    assert got[0] == got[1]


@pytest.mark.parametrize("version", (2, 3))
def test_refused_exec(server, redis, version):
    """Memory runs out, or a password is set, between MULTI and EXEC."""
    got = []
    for each in (server, redis):
        raws = []
        with each.connect(resp=version) as conn, each.connect() as other:
            skip_unless_measured(other)
            for option, value, none in (("maxmemory", "1", "0"), ("requirepass", "x", "")):
                for queued in (("SET", "q", "1"), ("GET", "q")):
                    conn.pipeline([("MULTI",), queued])
                    if option == "requirepass":
                        conn.command("RESET")
                        if version == 3:
                            conn.command("HELLO", "3")
                        conn.pipeline([("MULTI",), queued])
                    other.command("CONFIG", "SET", option, value)
                    raws += [conn.raw("EXEC"), conn.raw("EXEC")]
                    other.command("CONFIG", "SET", option, none)
        got.append(raws)
    assert got[0] == got[1]


def test_commands_before_the_password(start):
    server, redis = start.subject("--requirepass", "x"), start.redis("--requirepass", "x")
    got = []
    for each in (server, redis):
        with each.connect() as conn:
            got.append([conn.raw(*words.split()) for words in
                        ("MULTI", "EXEC", "EXEC a", "WATCH a", "DISCARD", "AUTH x", "MULTI",
                         "AUTH y", "PING", "EXEC", "PING")])
    assert got[0] == got[1]


def words_of_a_pipeline(random_):
    """Look-ups and changes of two sets in two databases, in and out of transactions."""
    choose = random_.choice
    lines = []
    for _ in range(random_.randrange(5, 40)):
        key, members = choose("st"), [choose("abcdefgh") for _ in range(choose((1, 1, 4)))]
        lines.append(choose((
            ("ZSCORE", key, members[0]), ("ZMSCORE", key, *members),
            ("ZSCORE", key, members[0]), ("ZMSCORE", key, *members),
            ("GEOPOS", key, *members), ("GEODIST", key, "a", "b"),
            ("ZADD", key, choose("1234"), members[0]), ("ZREM", key, *members),
            ("GEOADD", key, choose("1234"), "1", members[0]), ("ZRANK", key, members[0]),
            ("MULTI",), ("EXEC",), ("EXEC",), ("SELECT", choose("01")), ("DEL", key),
            ("WATCH", key), ("DISCARD",),
        )))
    return lines


@pytest.mark.parametrize("version", (2, 3))
def test_pipelines_as_in_redis(start, redis, version):
    """Scores that were looked up ahead must not outlive a transaction, nor SELECT."""
    print(f"seed {SEED}")
    random_ = random.Random(SEED)
    is_yonder = servers.subject_class() is servers.YonderServer
    server = start.subject(*(("--coordinate-format", "fixed17") if is_yonder else ()))
    with server.connect(resp=version) as ours, redis.connect(resp=version) as theirs:
        for _ in range(300):
            lines = words_of_a_pipeline(random_)
            got = [conn.batch(lines + [("RESET",)] + (
                [("HELLO", "3")] if version == 3 else [])) for conn in (ours, theirs)]
            if version == 3:  # the greeting differs, and is last
                got = [data.partition(b"+RESET\r\n")[0] for data in got]
            assert got[0] == got[1], lines


# ---- keys that expire ----


def wait_until_gone(conn, key):
    """By the clock alone: looking at the key would remove it."""
    at_ms = conn.command("PEXPIRETIME", key)
    while True:
        seconds, us = conn.command("TIME")
        if int(seconds) * 1000 + int(us) // 1000 > at_ms:
            return


@pytest.fixture(params=["subject", "redis"])
def without_active_expiry(request, start):
    if request.param == "redis":
        server = start.redis("--enable-debug-command", "yes")
    else:
        server = start.subject()
    with server.connect() as conn:
        conn.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    return server


def try_expiry(server, expires_first, meanwhile):
    """Watches a key that expires before or after WATCH; returns what EXEC says."""
    with server.connect() as conn, server.connect() as other:
        other.pipeline([("FLUSHALL",), ("SET", "k", "1", "PX", "60")])
        if expires_first:
            wait_until_gone(other, "k")
            conn.command("WATCH", "k")
        else:
            conn.command("WATCH", "k")
            if other.command("EXISTS", "k") == 0:
                return try_expiry(server, expires_first, meanwhile)
            wait_until_gone(other, "k")
        if meanwhile:
            other.command(*meanwhile)
        return conn.pipeline([("MULTI",), ("PING",), ("EXEC",)])[-1]


@pytest.mark.parametrize("expires_first, meanwhile, runs", [
    (False, (), False),  # gone since
    (False, ("GET", "k"), False),
    (False, ("DEL", "k"), False),
    (True, (), True),  # was not there for us, and is not there
    (True, ("GET", "k"), True),
    (True, ("DEL", "k"), True),
    (True, ("FLUSHALL",), True),
    (True, ("SET", "k", "2"), False),
    (True, ("ZADD", "k", "1", "a"), False),
])
def test_expiry_of_a_watched_key(without_active_expiry, expires_first, meanwhile, runs):
    want = [resp.Status(b"PONG")] if runs else resp.NULL_ARRAY
    assert try_expiry(without_active_expiry, expires_first, meanwhile) == want


def test_active_expiry_of_a_watched_key(server, client):
    with server.connect() as other:
        other.command("SET", "k", "1", "PX", "40")
        client.command("WATCH", "k")
        while other.command("DBSIZE") > 0:
            pass
        assert client.pipeline([("MULTI",), ("PING",), ("EXEC",)])[-1] is resp.NULL_ARRAY


# ---- one by one ----


def test_what_client_list_and_info_say(server, client):
    with server.connect() as other:
        def line():
            text = other.command("CLIENT", "LIST", "ID", number)
            return dict(word.split(b"=", 1) for word in text.split())

        number = client.command("CLIENT", "ID")
        assert line()[b"multi"] == b"-1" and line()[b"multi-mem"] == b"0"
        client.pipeline([("WATCH", "a", "b", "a"), ("MULTI",)])
        assert line()[b"multi"] == b"0" and b"x" in line()[b"flags"]
        client.pipeline([("PING",), ("ECHO", "x" * 1000)])
        assert line()[b"multi"] == b"2" and int(line()[b"multi-mem"]) > 1000
        if server.name != "redis-server":
            assert line()[b"watch"] == b"2"
            info = other.command("INFO", "clients")
            assert b"\r\nwatching_clients:1\r\n" in info
            assert b"\r\ntotal_watched_keys:2\r\n" in info
        other.command("SET", "b", "1")
        assert b"d" in line()[b"flags"]
        if server.name != "redis-server":
            assert line()[b"watch"] == b"0"
            assert b"\r\ntotal_watched_keys:0\r\n" in other.command("INFO", "clients")
        assert client.command("EXEC") is resp.NULL_ARRAY
        assert line()[b"multi"] == b"-1" and b"d" not in line()[b"flags"]


def test_commands_are_counted_when_they_run(client):
    client.command("CONFIG", "RESETSTAT")
    client.pipeline([("MULTI",), ("ECHO", "x"), ("ECHO", "y")])
    client.command("DISCARD")
    assert b"cmdstat_echo" not in client.command("INFO", "commandstats")
    client.pipeline([("MULTI",), ("ECHO", "x"), ("ECHO", "y"), ("EXEC",)])
    stats = client.command("INFO", "commandstats")
    assert b"cmdstat_echo:calls=2," in stats and b"cmdstat_exec:calls=1," in stats


def test_a_message_to_oneself_comes_after_exec(server):
    """As in 8.0; 7.0.15 puts it into the middle of the reply."""
    with server.connect(resp=3) as conn:
        conn.command("SUBSCRIBE", "news")
        conn.pipeline([("MULTI",), ("PUBLISH", "news", "x"), ("PING",)])
        conn.send(resp.encode("EXEC"))
        if server.name != "redis-server":
            assert conn.read() == [1, resp.Status(b"PONG")]
            assert conn.read() == resp.Push([b"message", b"news", b"x"])


def test_killed_client_leaves_nothing(server, client):
    code = ("import socket, sys\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "s.connect(sys.argv[1])\n"
            "s.sendall(b'WATCH w\\r\\nMULTI\\r\\nSET k 1\\r\\nSET k 2\\r\\n')\n"
            "s.recv(5)\n"
            "print('sent', flush=True)\n"
            "sys.stdin.read()\n")
    process = subprocess.Popen([sys.executable, "-c", code, str(server.path)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"sent\n"
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    if server.name != "redis-server":
        while b"\r\nwatching_clients:0\r\n" not in client.command("INFO", "clients"):
            pass
    assert client.command("EXISTS", "k") == 0
    assert client.command("SET", "w", "1") == OK


def test_a_hundred_thousand_commands(server, client):
    n = 100000
    client.command("MULTI")
    for at in range(0, n, 1000):
        assert client.pipeline([("ZADD", "k", i, i) for i in range(at, at + 1000)]) == [
            QUEUED] * 1000
    assert client.command("ZCARD", "k") == QUEUED
    with server.connect() as other:
        assert other.command("EXISTS", "k") == 0
        assert client.command("EXEC") == [1] * n + [n]
        assert other.command("ZCARD", "k") == n


def test_a_transaction_that_grows_without_end_is_closed(start):
    server = start.subject("--client-query-buffer-limit", "2mb")
    if server.name == "redis-server":
        pytest.skip("7.0.15 has no limit")
    with server.connect() as conn, server.connect() as client:
        before = server.resident_bytes()
        conn.command("MULTI")
        n = 0
        with pytest.raises((resp.Closed, ConnectionError)):
            while n < 100000:
                conn.pipeline([("ECHO", "x" * 1000)] * 10)
                n += 10
        assert 1000 < n < 3000
        assert server.grown_bytes(before) < 8 << 20
        assert client.command("PING") == b"PONG"


def test_queue_of_a_full_server(start):
    """What is queued counts as memory; a transaction can always be given up."""
    server = start.subject("--maxmemory", "60mb")
    with server.connect() as conn:
        skip_unless_measured(conn)
        conn.command("MULTI")
        for _ in range(1000):
            reply = conn.command("ECHO", "x" * 1000000)
            if reply != QUEUED:
                break
        assert reply == resp.Error(
            b"OOM command not allowed when used memory > 'maxmemory'.")
        assert conn.command("DISCARD") == OK
        while conn.command("SET", "k", "x") != OK:
            pass


# ---- large replies ----


def fill(client, n):
    for at in range(0, n, 10000):
        client.batch([("ZADD", "big", *(w for i in range(at, at + 10000)
                                        for w in (i, f"member:{i:020d}")))])


def test_large_replies_stand_in_their_places(server, client):
    fill(client, 50000)
    every = client.command("ZRANGE", "big", "0", "-1")
    with server.connect() as conn:
        replies = conn.pipeline([
            ("MULTI",), ("ECHO", "a"), ("ZRANGE", "big", "0", "-1"), ("ECHO", "b"),
            ("ZREM", "big", "member:%020d" % 0), ("ZRANGE", "big", "0", "-1", "REV"),
            ("SUBSCRIBE", "x"), ("UNSUBSCRIBE", "x"), ("ZRANGE", "big", "0", "2"),
            ("DEL", "big"), ("ZRANGE", "big", "0", "-1"), ("EXEC",)])[-1]
    assert replies[:2] == [b"a", every] and replies[2:4] == [b"b", 1]
    assert replies[4] == every[:0:-1]
    # each confirmation of SUBSCRIBE is a reply of its own
    assert replies[5:7] == [[b"subscribe", b"x", 1], [b"unsubscribe", b"x", 0]]
    assert replies[7:] == [every[1:4], 1, []]


def test_protocol_changes_between_large_replies(server, client):
    fill(client, 20000)
    rows = client.pipeline([("MULTI",), ("ZRANGE", "big", "0", "-1", "WITHSCORES"),
                            ("HELLO", "3"), ("ZRANGE", "big", "0", "-1", "WITHSCORES"),
                            ("HELLO", "2"), ("ZRANGE", "big", "0", "-1", "WITHSCORES"),
                            ("EXEC",)])[-1]
    assert rows[0] == rows[4] and len(rows[0]) == 40000
    assert len(rows[2]) == 20000 and rows[2][7] == [rows[0][14], resp.Double(b"7")]


def test_slow_reader_of_a_huge_reply(start):
    """A gigabyte of replies in one EXEC costs little memory, and holds up nobody."""
    server = start.subject()
    if server.name == "redis-server":
        pytest.skip("Redis keeps all of it in memory")
    with server.connect() as client:
        fill(client, 200000)
        every = client.raw("ZRANGE", "big", "0", "-1")
        before = server.resident_bytes()
        with server.connect(receive_buffer=4096) as slow:
            n = 150
            slow.send(resp.encode("MULTI") + b"".join(
                resp.encode("ZRANGE", "big", "0", "-1") + resp.encode("ECHO", i)
                for i in range(n)) + resp.encode("EXEC"))
            assert slow.read() == OK
            for _ in range(2 * n):
                assert slow.read() == QUEUED
            while b"cmdstat_exec:calls=1" not in client.command("INFO", "commandstats"):
                pass
            client.command("DEL", "big")
            assert client.command("PING") == b"PONG"
            assert server.grown_bytes(before) < 64 << 20
            # reading it all would take long: the beginning, then hang up
            assert slow.reader._line() == b"*%d" % (2 * n)
            assert slow.read_raw() == every
            assert slow.read() == b"0"
            assert slow.read_raw() == every
            assert slow.read() == b"1"
        assert client.command("PING") == b"PONG"


def test_output_limit_ends_a_transaction(start):
    """Replies that are no jobs are dropped once the limit is passed; all commands run."""
    server = start.subject("--client-output-buffer-limit", "normal 2mb 0 0")
    with server.connect() as conn, server.connect() as client:
        client.command("SET", "k", "x" * 100000)
        conn.send(resp.encode("MULTI") + resp.encode("GET", "k") * 1000
                  + resp.encode("SET", "done", "1") + resp.encode("EXEC"))
        conn.receive_until_closed()
        assert client.command("GET", "done") == b"1"
        assert client.command("PING") == b"PONG"


# ---- many ----


def test_counters_of_many_clients(server, client):
    """Each adds one when nobody else has changed the counter meanwhile."""
    n_threads, n_each = 6, 100
    failures, errors = [], []

    def count():
        try:
            with server.connect() as conn:
                done = 0
                while done < n_each:
                    conn.command("WATCH", "n")
                    value = int(conn.command("GET", "n") or 0)
                    reply = conn.pipeline([("MULTI",), ("SET", "n", value + 1),
                                           ("EXEC",)])[-1]
                    if reply is resp.NULL_ARRAY:
                        failures.append(1)
                    else:
                        assert reply == [OK]
                        done += 1
        except Exception as error:  # shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=count) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert client.command("GET", "n") == b"%d" % (n_threads * n_each)


def test_ten_thousand_watches(server, client):
    """Touching them all at once, and ending them, takes time in proportion."""
    conns = [server.connect() for _ in range(20)]
    names = [f"key:{i}" for i in range(5000)]
    for name in names[:100]:
        client.command("SET", name, "1")
    for conn in conns:
        assert conn.command("WATCH", *names) == OK
        assert conn.command("WATCH", *names) == OK
    client.command("FLUSHALL")
    for conn in conns:
        assert conn.pipeline([("MULTI",), ("PING",), ("EXEC",)])[-1] is resp.NULL_ARRAY
        conn.close()
    assert client.command("PING") == b"PONG"
