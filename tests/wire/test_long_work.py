"""Long work beside the loops: with offload-threshold 0 every search, union and store goes
there. DEBUG HOLD-WORK keeps it from beginning, so that what other clients do meanwhile is
told by the order of events, not by time."""
import random
import select
import time

import pytest

from resp import Connection, Error, NULL_ARRAY, Push, Status, encode

OK = Status(b"OK")
QUEUED = Status(b"QUEUED")
PATIENCE_S = 60
ALL = ["FROMLONLAT", "0", "0", "BYRADIUS", "30000", "km"]
N = 5000


@pytest.fixture(params=["unix", "tcp"])
def tcp(request):
    return request.param == "tcp"


@pytest.fixture
def long_server(start):
    """All that can be is done apart. k, l: positions; d is free."""
    server = start.subject("--offload-threshold", "0", "--worker-threads", "2",
                           "--enable-debug-command", "yes")
    fill(server)
    return server


def fill(server, n=N):
    chance = random.Random(1)
    with server.connect() as c:
        c.pipeline([["FLUSHALL"]] + [
            ["GEOADD", key, f"{chance.uniform(-20, 20):.6f}",
             f"{chance.uniform(-20, 20):.6f}", f"m{i}"]
            for i in range(n) for key in ("k" if i % 3 else "l", "k")])


def info(client):
    lines = client.command("INFO", "stats").decode().splitlines()
    return {name: int(value) for name, _, value in (line.partition(":") for line in lines)
            if name.startswith("offload_") or name == "search_timeouts"}


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_answered(client):
    return bool(select.select([client.sock], [], [], 0)[0])


def hold(client, on=True):
    assert client.command("DEBUG", "HOLD-WORK", "1" if on else "0") == OK


def inline(client, *words):
    """What the command answers when it is not done apart."""
    client.command("CONFIG", "SET", "offload-threshold", "-1")
    reply = client.raw(*words)
    client.command("CONFIG", "SET", "offload-threshold", "0")
    return reply


def endless():
    """A command that takes the better part of a minute: it goes through k and l again and
    again. Its request is small."""
    return encode("ZINTERCARD", "40000", *["k", "l"] * 20000)


def start_endless(server, observer, tcp=False):
    """Returns the connection that waits for it, when a thread works on it."""
    client = server.connect(tcp=tcp)
    for key in "kl":
        observer.pipeline([
            ["ZADD", key, *(word for j in range(i, i + 500) for word in (f"{j}", f"x{j}"))]
            for i in range(0, 40000, 500)])
    client.send(endless())
    wait_for(lambda: info(observer)["offload_running"] == 1)
    return client


# ---- others go on ----

SEARCHES = [
    ["GEOSEARCH", "k", *ALL],
    ["GEOSEARCH", "k", *ALL, "ASC", "WITHDIST", "WITHCOORD", "WITHHASH"],
    ["GEOSEARCH", "k", *ALL, "DESC", "COUNT", "100"],
    ["GEOSEARCH", "k", "FROMMEMBER", "m7", "BYBOX", "500", "500", "km"],
    ["GEOSEARCH", "k", "BYPOLYGON", "4", "0", "0", "0", "9", "9", "9", "9", "0"],
    ["GEORADIUS", "k", "1", "2", "500", "km", "WITHDIST"],
    ["GEORADIUSBYMEMBER_RO", "k", "m9", "500", "km"],
    ["ZUNION", "2", "k", "l", "WITHSCORES"],
    ["ZINTER", "2", "k", "l"],
    ["ZDIFF", "2", "k", "l"],
    ["ZINTERCARD", "2", "k", "l"],
]


@pytest.mark.parametrize("resp", [2, 3])
def test_others_are_served_meanwhile(long_server, resp):
    with long_server.connect() as other, long_server.connect(resp=resp) as client:
        for words in SEARCHES:
            fill(long_server, 500)
            wanted = inline(client, *words)
            hold(other)
            client.send(encode(*words))
            wait_for(lambda: info(other)["offload_waiting"] == 1)
            assert other.command("GEOADD", "k", "0", "0", "new") == 1
            assert other.command("ZREM", "k", "m7", "m9", "m11") == 3
            assert other.command("DEL", "l") == 1
            assert not is_answered(client)
            hold(other, False)
            assert client.read_raw() == wanted, words
        assert info(other)["offload_done"] == len(SEARCHES)


def test_a_pipeline_keeps_its_order(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        hold(other)
        client.send(b"".join(encode(*words) for words in (
            ["ECHO", "1"], SEARCHES[0], ["GEOADD", "k", "0", "0", "new"], SEARCHES[0],
            ["ECHO", "2"])))
        assert client.read() == b"1"
        assert other.command("ZSCORE", "k", "new") is None
        hold(other, False)
        first, added, second = client.read(), client.read(), client.read()
        assert (len(first), added, len(second)) == (N, 1, N + 1)
        assert client.read() == b"2"


def test_many_clients_at_once(long_server):
    clients = [long_server.connect() for _ in range(40)]
    wanted = [inline(clients[0], *words) for words in SEARCHES]
    for i, client in enumerate(clients):
        for k in range(3):
            client.send(encode(*SEARCHES[(i + k) % len(SEARCHES)]))
    for i, client in enumerate(clients):
        for k in range(3):
            assert client.read_raw() == wanted[(i + k) % len(SEARCHES)]
        client.close()


# ---- giving up ----


def test_kill_while_it_waits(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        number = client.command("CLIENT", "ID")
        hold(other)
        client.send(encode(*SEARCHES[0]))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        assert other.command("CLIENT", "KILL", "ID", str(number)) == 1
        assert client.receive_until_closed() == b""
        wait_for(lambda: info(other)["offload_waiting"] == 0)
        hold(other, False)
        assert info(other)["offload_given_up"] == 1
        assert info(other)["offload_done"] == 0


def test_hang_up_while_it_waits(long_server, tcp):
    with long_server.connect() as other:
        client = long_server.connect(tcp=tcp)
        hold(other)
        client.send(encode(*SEARCHES[0]))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        client.close()
        wait_for(lambda: info(other)["offload_waiting"] == 0)
        hold(other, False)
        assert info(other)["offload_given_up"] == 1


def test_kill_while_it_runs(long_server):
    with long_server.connect() as other:
        client = start_endless(long_server, other)
        assert other.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") == 1
        assert client.receive_until_closed() == b""
        wait_for(lambda: info(other)["offload_running"] == 0)
        client.close()


def test_hang_up_while_it_runs(long_server, tcp):
    with long_server.connect() as other:
        start_endless(long_server, other, tcp).close()
        wait_for(lambda: info(other)["offload_running"] == 0)
        assert info(other)["offload_given_up"] == 1


def test_stop_while_it_runs(long_server):
    with long_server.connect() as other:
        client = start_endless(long_server, other)
        other.send(encode("SHUTDOWN"))
        assert long_server.process.wait(PATIENCE_S) == 0
        client.close()


def test_stop_while_it_waits(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        hold(other)
        client.send(encode(*SEARCHES[0]))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        assert long_server.stop() == 0


def test_half_closed(long_server):
    """A client that ends its side over a unix socket still listens."""
    with long_server.connect() as other, long_server.connect() as client:
        hold(other)
        client.send(encode("ZINTERCARD", "2", "k", "l"))
        client.sock.shutdown(1)
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        hold(other, False)
        assert client.read() == N // 3 + 1
        assert client.receive_until_closed() == b""


# ---- search-timeout ----

TIMEOUT = Error(b"TIMEOUT the command was ended: it took longer than 'search-timeout' allows "
                b"(%d ms)")


def test_timeout(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        client.command("CONFIG", "SET", "search-timeout", "60000")
        assert len(client.command(*SEARCHES[0])) == N
        client.command("CONFIG", "SET", "search-timeout", "50")
        assert client.command("CONFIG", "GET", "search-timeout")[1] == b"50"
        client.close()
        client = start_endless(long_server, other)
        client.sock.settimeout(PATIENCE_S)
        assert client.read() == Error(TIMEOUT % 50)
        assert client.command("PING") == Status(b"PONG")
        assert info(other)["search_timeouts"] == 1
        errors = other.command("INFO", "errorstats")
        assert b"errorstat_TIMEOUT:count=1" in errors


def test_timeout_while_it_waits(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        client.command("CONFIG", "SET", "search-timeout", "1")
        hold(other)
        client.send(encode("GEOSEARCHSTORE", "d", "k", *ALL))
        assert client.read() == Error(TIMEOUT % 1)
        hold(other, False)
        assert client.command("EXISTS", "d") == 0


def test_timeout_on_the_loop(start):
    server = start.subject("--offload-threshold", "-1", "--search-timeout", "20")
    fill(server, 20000)
    with server.connect() as client:
        client.send(endless())
        assert client.read() == Error(TIMEOUT % 20)
        assert client.command("ZCARD", "k") == 20000
        assert info(client)["search_timeouts"] == 1


# ---- stores ----

STORES = [
    ["GEOSEARCHSTORE", "d", "k", *ALL],
    ["GEOSEARCHSTORE", "d", "k", *ALL, "STOREDIST"],
    ["GEOSEARCHSTORE", "k", "k", *ALL, "COUNT", "10"],
    ["GEORADIUS", "k", "1", "2", "500", "km", "STORE", "d"],
    ["ZUNIONSTORE", "d", "2", "k", "l"],
    ["ZINTERSTORE", "d", "2", "k", "l"],
    ["ZDIFFSTORE", "d", "2", "k", "l"],
    ["ZRANGESTORE", "d", "k", "5", "100"],
    ["COPY", "k", "d"],
]


def stored(client):
    return [client.command("ZRANGE", key, "0", "-1", "WITHSCORES") for key in "kld"]


@pytest.mark.parametrize("is_changed", [False, True])
def test_stores(long_server, is_changed):
    def change():
        if is_changed:
            assert other.command("GEOADD", "k", "0", "0", "new") == 1
            assert other.command("ZREM", "k", "m7") == 1

    with long_server.connect() as other, long_server.connect() as client:
        for words in STORES:
            fill(long_server, 500)
            change()
            wanted = inline(client, *words), stored(other)
            fill(long_server, 500)
            before = info(other)["offload_run_again"]
            hold(other)
            client.send(encode(*words))
            wait_for(lambda: info(other)["offload_waiting"] == 1)
            change()
            assert other.command("EXISTS", "d") == 0
            hold(other, False)
            assert (client.read_raw(), stored(other)) == wanted, words
            assert info(other)["offload_run_again"] == before + is_changed


def test_a_store_whose_source_never_rests(long_server):
    """It is stored all the same, and is the source's state of some moment."""
    with long_server.connect() as other, long_server.connect() as client:
        other.command("ZADD", "s", *(word for i in range(20000) for word in (str(i), f"m{i}")))
        client.send(encode("ZUNIONSTORE", "d", "1", "s"))
        n = 20000
        while not is_answered(client):
            other.command("ZADD", "s", str(n), f"m{n}")
            n += 1
        n_stored = client.read()
        assert 20000 <= n_stored <= n
        assert other.command("ZCARD", "d") == n_stored
        assert other.command("ZRANGE", "d", "0", "-1") == [b"m%d" % i for i in range(n_stored)]


def test_a_store_is_heard_of(long_server):
    """By those who watch, wait, subscribe and cache."""
    with (long_server.connect() as other, long_server.connect() as client,
          long_server.connect() as waiting, long_server.connect() as watching,
          long_server.connect(resp=3) as hearing):
        client.command("CONFIG", "SET", "notify-keyspace-events", "KA")
        hearing.command("PSUBSCRIBE", "__keyspace*__:d")
        assert watching.pipeline([["WATCH", "d"], ["MULTI"], ["PING"]]) == [OK, OK, QUEUED]
        waiting.send(encode("BZPOPMIN", "d", "0"))
        hold(other)
        client.send(encode("ZRANGESTORE", "d", "k", "0", "9"))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        assert not is_answered(hearing) and not is_answered(waiting)
        hold(other, False)
        assert client.read() == 10
        assert waiting.read()[0] == b"d"
        assert watching.command("EXEC") is NULL_ARRAY
        assert [hearing.read()[-1] for _ in range(2)] == [b"zrangestore", b"zpopmin"]
        assert other.command("ZCARD", "d") == 9


def test_a_store_that_is_not_answered(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        client.send(encode("CLIENT", "REPLY", "OFF")
                    + encode("ZRANGESTORE", "d", "k", "0", "9")
                    + encode(*SEARCHES[0])
                    + encode("CLIENT", "REPLY", "ON"))
        assert client.read() == OK
        assert other.command("ZCARD", "d") == 10


@pytest.mark.parametrize("is_changed", [False, True])
def test_rights_that_have_gone_meanwhile(long_server, is_changed):
    with long_server.connect() as other, long_server.connect() as client:
        assert other.command("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*") == OK
        assert client.command("AUTH", "u", "x") == OK
        hold(other)
        client.send(encode("ZRANGESTORE", "d", "k", "0", "9"))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        if is_changed:
            other.command("ZREM", "k", "m3")
        other.command("ACL", "SETUSER", "u", "resetkeys", "~k")
        hold(other, False)
        assert client.read().startswith(b"NOPERM")
        assert other.command("EXISTS", "d") == 0


def test_nothing_is_stored_during_a_pause(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        hold(other)
        client.send(encode("ZRANGESTORE", "d", "k", "0", "9"))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        other.command("CLIENT", "PAUSE", "1000000", "WRITE")
        hold(other, False)
        wait_for(lambda: info(other)["offload_done"] == 1)
        wait_for(lambda: b"blocked_clients:1" in other.command("INFO", "clients"))
        assert other.command("EXISTS", "d") == 0 and not is_answered(client)
        assert other.command("CLIENT", "UNPAUSE") == OK
        assert client.read() == 10
        assert other.command("ZCARD", "d") == 10


# ---- transactions ----


def test_a_transaction(long_server):
    """Searches see the moment in which they stand, and are answered in their place."""
    transaction = [
        ["ECHO", "1"], ["GEOSEARCH", "k", *ALL, "ASC"], ["GEOADD", "k", "0", "0", "new"],
        ["GEOSEARCH", "k", *ALL, "WITHDIST"], ["ZRANGESTORE", "d", "k", "0", "9"],
        ["ZCARD", "d"], ["ZUNION", "2", "k", "d"], ["DEL", "k"], ["GEOSEARCH", "k", *ALL],
        ["ZINTERCARD", "2", "d", "d"], ["GEOSEARCH", "d", *ALL], ["ECHO", "2"]]
    with long_server.connect() as other, long_server.connect() as client:
        fill(long_server)
        client.command("CONFIG", "SET", "offload-threshold", "-1")
        client.pipeline([["MULTI"]] + transaction)
        wanted = client.raw("EXEC")
        fill(long_server)
        client.command("CONFIG", "SET", "offload-threshold", "0")
        client.pipeline([["MULTI"]] + transaction)
        hold(other)
        client.send(encode("EXEC"))
        # all of it has happened, and one search at a time stands in the queue
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        assert other.pipeline([["EXISTS", "k"], ["EXISTS", "d"]]) == [0, 1]
        other.command("FLUSHALL")
        hold(other, False)
        assert client.read_raw() == wanted
        assert info(other)["offload_done"] == 5


def test_kill_in_a_transaction(long_server):
    with long_server.connect() as other, long_server.connect() as client:
        client.pipeline([["MULTI"]] + [SEARCHES[0]] * 50)
        hold(other)
        client.send(encode("EXEC"))
        wait_for(lambda: info(other)["offload_waiting"] == 1)
        other.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        client.receive_until_closed()
        wait_for(lambda: info(other)["offload_waiting"] == 0)
        hold(other, False)
        assert info(other)["offload_given_up"] == 50


# ---- figures ----


def test_figures(long_server):
    with long_server.connect() as client:
        client.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
        client.command("SLOWLOG", "RESET")
        client.command("CONFIG", "RESETSTAT")
        client.command(*SEARCHES[0])
        client.command("GEOSEARCH", "k", "BYPOLYGON", "40",
                       *(str(i % 13) for i in range(80)))
        client.command("ZUNIONSTORE", "d", "2", "k", "l")
        client.command("CONFIG", "SET", "slowlog-log-slower-than", "-1")
        entries = client.command("SLOWLOG", "GET", "-1")
        words = [entry[3] for entry in entries]
        assert [b"ZUNIONSTORE", b"d", b"2", b"k", b"l"] in words
        assert [word.encode() for word in SEARCHES[0]] in words
        long_one = next(entry for entry in words if b"BYPOLYGON" in entry)
        assert len(long_one) == 32 and long_one[-1] == b"... (53 more arguments)"
        stats = client.command("INFO", "commandstats").decode()
        assert "cmdstat_geosearch:calls=2," in stats
        assert "cmdstat_zunionstore:calls=1," in stats
        figures = info(client)
        assert figures["offload_done"] == 3 and figures["offload_threads"] >= 1


def test_what_is_short_stays(start):
    """With the threshold as it is, small searches do not leave the loop."""
    server = start.subject()
    fill(server, 1000)
    with server.connect() as client:
        for words in SEARCHES + STORES:
            client.command(*words)
        assert info(client)["offload_done"] == 0
        assert info(client)["offload_threads"] == 0
