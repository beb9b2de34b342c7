"""Keys: SCAN while they come and go, what frees large values in the background, last use, and
random commands beside redis-server. The seed is printed; YN_SEED sets it."""
import os
import random
import time

import pytest

from resp import encode

SEED = int(os.environ.get("YN_SEED") or time.time())
N_DATABASES = 3
N_MEMBERS = 100_000


@pytest.fixture
def rng(request):
    print(f"seed {SEED}")
    return random.Random(f"{SEED} {request.node.name}")


def info(client, field):
    text = client.command("INFO").decode()
    return int(text.split(f"\r\n{field}:")[1].split("\r\n")[0])


def wait_until(condition, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ---- SCAN ------------------------------------------------------------------------------


class Churn:
    """Keys that come and go in one database: new ones, gone ones, renamed and moved ones, and
    those that expire: their names say when."""

    def __init__(self, client, rng):
        self.client, self.rng = client, rng

    def now_ms(self):
        seconds, micros = self.client.command("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def one(self, now_ms):
        rng = self.rng
        go, other = b"go%d" % rng.randrange(3000), b"go%d" % rng.randrange(3000)
        at_ms = now_ms + rng.choice([1, 2, 5, 20, 100_000])
        return rng.choice(
            [
                [b"SET", go, b"1"],
                [b"ZADD", go, b"1", b"m"],
                [b"DEL", go, other],
                [b"UNLINK", go],
                [b"RENAME", go, other],
                [b"COPY", go, other, b"DB", b"%d" % rng.randrange(N_DATABASES)],
                [b"MOVE", go, b"%d" % rng.randrange(N_DATABASES)],
                [b"SET", b"until:%d:%d" % (at_ms, rng.randrange(1000)), b"1", b"PXAT",
                 b"%d" % at_ms],
            ]
        )

    def run(self, n):
        now_ms = self.now_ms()
        self.client.batch([self.one(now_ms) for _ in range(n)])


def fill_with_stayers(client, db, n):
    stay = {b"stay:%d:%d" % (db, i): b"zset" if i % 3 == 0 else b"string" for i in range(n)}
    client.command("SELECT", db)
    client.batch(
        [
            [b"ZADD", key, b"1", b"m"] if kind == b"zset" else [b"SET", key, b"1"]
            for key, kind in stay.items()
        ]
    )
    some = list(stay)[::7]
    client.batch([[b"EXPIRE", key, b"1000"] for key in some])
    return stay


def scan_while_keys_change(client, churn, rng, words):
    """One whole scan: the keys that it handed out, and how often."""
    cursor, seen = b"0", {}
    while True:
        before_ms = churn.now_ms()
        reply = client.command("SCAN", cursor, "COUNT", rng.choice([1, 10, 100, 1000]), *words)
        cursor = reply[0]
        for key in reply[1]:
            seen[key] = seen.get(key, 0) + 1
            if key.startswith(b"until:"):
                assert int(key.split(b":")[1]) > before_ms, f"{key} is expired"
        if cursor == b"0":
            return seen
        churn.run(rng.choice([0, 1, 20, 400]))


@pytest.mark.parametrize("expires_actively", [1, 0])
def test_scan_guarantees_while_keys_come_and_go(start, rng, expires_actively):
    server = start.subject("--databases", N_DATABASES, "--enable-debug-command", "yes")
    with server.connect() as client:
        client.command("DEBUG", "SET-ACTIVE-EXPIRE", expires_actively)
        stayers = [fill_with_stayers(client, db, 1200) for db in range(N_DATABASES)]
        for round_ in range(4):
            for db, stay in enumerate(stayers):
                client.command("SELECT", db)
                churn = Churn(client, rng)
                churn.run(2000)
                kind = rng.choice([None, b"zset", b"string"])
                words = [b"TYPE", kind] if kind else [b"MATCH", b"*"]
                seen = scan_while_keys_change(client, churn, rng, words)
                expect = {key for key, k in stay.items() if kind in (None, k)}
                assert expect <= set(seen)
                assert all(seen[key] == 1 for key in expect)
                assert not any(key in seen for other in stayers if other is not stay
                               for key in other)


# ---- in the background -------------------------------------------------------------------


def add_large_set(client, key=b"large"):
    client.batch(
        [
            [b"ZADD", key]
            + [w for k in range(i, i + 500) for w in (b"%d" % k, b"member:%d" % k)]
            for i in range(0, N_MEMBERS, 500)
        ]
    )


def begin_reading(server):
    """A client that has asked for the whole set and read the reply's beginning."""
    reader = server.connect(receive_buffer=4096, timeout=120)
    reader.send(encode("ZRANGE", "large", 0, -1))
    head = reader.sock.recv(1000)
    assert head.startswith(b"*%d\r\n" % N_MEMBERS)
    reader.reader._data += head
    return reader


WAYS = {
    "unlink": ["UNLINK", "large"],
    "del": ["DEL", "large"],
    "overwritten": ["SET", "large", "v"],
    "rename": ["RENAME", "small", "large"],
    "copy": ["COPY", "small", "large", "REPLACE"],
    "expired": ["PEXPIRE", "large", "1"],
    "flushall": ["FLUSHALL", "ASYNC"],
    "flushdb": ["FLUSHDB"],
    "flushall at once": ["FLUSHALL", "SYNC"],
}


@pytest.mark.parametrize("way", WAYS)
def test_large_sets_are_freed(start, way):
    server = start.subject()
    with server.connect() as client:
        add_large_set(client)
        client.batch([[b"SET", b"k%d" % i, b"v"] for i in range(5000)])
        client.command("SET", "small", "v")
        with_data = info(client, "used_memory")
        client.command(*WAYS[way])
        if b"mem_allocator:jemalloc" in client.command("INFO", "memory"):
            # sanitizers bring an allocator that does not count
            wait_until(lambda: info(client, "used_memory") < with_data - 1_000_000)
        wait_until(lambda: info(client, "lazyfreed_objects") > 0 or "once" in way)
        wait_until(lambda: info(client, "lazyfree_pending_objects") == 0)
        n_freed = info(client, "lazyfreed_objects")
        if way in ("flushall", "flushdb"):
            assert n_freed == 5003  # the large set is an object of its own, too
        else:
            assert n_freed == (0 if "once" in way else 1)
        client.command("CONFIG", "RESETSTAT")
        assert info(client, "lazyfreed_objects") == 0


@pytest.mark.parametrize("way", WAYS)
def test_large_sets_are_freed_after_their_readers(start, way):
    """A reply under way is the set as it was, whatever becomes of the set."""
    server = start.subject()
    with server.connect() as client:
        add_large_set(client)
        client.batch([[b"SET", b"k%d" % i, b"v"] for i in range(5000)])
        client.command("SET", "small", "v")
        expect = client.command("ZRANGE", "large", 0, -1)
        readers = [begin_reading(server) for _ in range(2)]
        client.command(*WAYS[way])
        wait_until(lambda: client.command("ZCARD", "large") != N_MEMBERS)
        add_large_set(client, b"another")
        for reader in readers:
            assert reader.read() == expect
            reader.close()
        wait_until(lambda: info(client, "lazyfree_pending_objects") == 0)
        assert client.command("ZCARD", "another") == N_MEMBERS


def test_readers_that_give_up(start):
    server = start.subject()
    with server.connect() as client:
        for i in range(5):
            add_large_set(client)
            reader = begin_reading(server)
            client.command("UNLINK", "large")
            reader.close()
        wait_until(lambda: info(client, "lazyfree_pending_objects") == 0)
        assert info(client, "lazyfreed_objects") == 5
        assert client.command("DBSIZE") == 0


def test_freeing_at_once_where_it_is_asked_for(start):
    options = ("user-del", "user-flush", "expire", "server-del")
    server = start.subject(*(w for o in options for w in (f"--lazyfree-lazy-{o}", "no")))
    with server.connect() as client:
        for command in WAYS["del"], WAYS["overwritten"], WAYS["expired"], WAYS["flushdb"]:
            client.command("DEL", "large")
            add_large_set(client)
            client.command(*command)
            wait_until(lambda: client.command("EXISTS", "large") == (command[0] == "SET"))
        assert info(client, "lazyfreed_objects") == 0
        client.command("DEL", "large")
        add_large_set(client)
        client.command("UNLINK", "large")
        wait_until(lambda: info(client, "lazyfreed_objects") == 1)
        assert client.command("CONFIG", "SET", "lazyfree-lazy-user-del", "yes") == b"OK"
        assert client.command("CONFIG", "GET", "lazyfree-lazy-user-*") in (
            [b"lazyfree-lazy-user-del", b"yes", b"lazyfree-lazy-user-flush", b"no"],
            [b"lazyfree-lazy-user-flush", b"no", b"lazyfree-lazy-user-del", b"yes"],
        )


# ---- last use ----------------------------------------------------------------------------


def test_idle_time(client):
    client.batch([[b"SET", key, b"v"] for key in (b"a", b"b", b"c")])
    client.command("DEBUG", "SLEEP", "2.1")
    client.command("CLIENT", "NO-TOUCH", "ON")
    client.batch([[b"GET", b"a"], [b"EXISTS", b"a"], [b"TTL", b"a"], [b"TYPE", b"a"]])
    assert client.command("OBJECT", "IDLETIME", "a") >= 2
    assert client.command("TOUCH", "a") == 1  # TOUCH is a use, whatever the client said
    assert client.command("OBJECT", "IDLETIME", "a") <= 1
    client.command("CLIENT", "NO-TOUCH", "OFF")
    client.batch([[b"EXISTS", b"b"], [b"TTL", b"b"], [b"TYPE", b"b"]])
    assert client.command("OBJECT", "IDLETIME", "b") >= 2
    client.command("GET", "b")
    assert client.command("OBJECT", "IDLETIME", "b") <= 1
    assert client.command("OBJECT", "IDLETIME", "c") >= 2


# ---- all of a sudden ------------------------------------------------------------------------


def test_expired_keys_go_by_themselves(client):
    client.batch([[b"SET", b"k%d" % i, b"v", b"PX", b"%d" % (1 + i % 50)] for i in range(20_000)])
    client.command("SET", "stays", "v")
    wait_until(lambda: client.command("DBSIZE") == 1)
    assert b"expires=0,avg_ttl=0" in client.command("INFO", "keyspace")


def test_swapdb_exchanges_what_clients_see(start):
    server = start.subject("--databases", 4)
    with server.connect() as one, server.connect() as two:
        two.command("SELECT", 1)
        one.command("SET", "a", "1")
        two.command("SET", "b", "2", "EX", "1000")
        assert one.command("SWAPDB", 0, 1) == b"OK"
        assert one.command("KEYS", "*") == [b"b"]
        assert two.command("KEYS", "*") == [b"a"]
        assert one.command("TTL", "b") in (999, 1000)
        assert one.command("SWAPDB", 2, 0) == b"OK"
        assert one.command("DBSIZE") == 0


def test_wait_and_waitaof(client):
    assert client.command("WAIT", 1, 100000) == 0
    assert client.command("WAITAOF", 0, 0, 0) == [0, 0]
    assert client.command("WAITAOF", 0, 5, 100000) == [0, 0]
    for words, error in (
        ((1, 0, 0), "WAITAOF cannot be used when numlocal is set but appendonly is disabled."),
        ((2, 0, 0), "value is out of range, value must between 0 and 1"),
        ((0, -1, 0), "value is out of range, must be positive"),
        ((0, 0, -1), "timeout is negative"),
        ((0, 0, "x"), "timeout is not an integer or out of range"),
        (("x", 0, 0), "value is not an integer or out of range"),
    ):
        assert client.raw("WAITAOF", *words) == b"-ERR %s\r\n" % error.encode()


def test_memory(client):
    client.batch([[b"ZADD", b"z", b"%d" % i, b"m%d" % i] for i in range(1000)])
    client.command("SET", "s", "x" * 1000)
    assert 1000 < client.command("MEMORY", "USAGE", "s") < 1200
    assert 10_000 < client.command("MEMORY", "USAGE", "z", "SAMPLES", 0) < 100_000
    stats = client.command("MEMORY", "STATS")
    stats = dict(zip(stats[::2], stats[1::2]))
    assert stats[b"keys.count"] == 2
    assert stats[b"total.allocated"] <= stats[b"peak.allocated"]
    assert float(stats[b"peak.percentage"]) <= 100
    assert client.command("MEMORY", "PURGE") == b"OK"
    assert len(client.command("MEMORY", "MALLOC-STATS")) > 20
    assert client.command("MEMORY", "DOCTOR").endswith(b".\n")


# ---- beside redis-server ----------------------------------------------------------------

KEYS = [b"a", b"b", b"c", b"", b"k" * 50, b"z"]
NUMBERS = [b"0", b"1", b"-1", b"2", b"99", b"x", b"99999999999", b"9223372036854775807",
           b"9223372036854775808", b"-9223372036854775808", b"9223372036854775",
           b"9223372036854776", b"-9223372036854776", b"100000", b"1.5", b"", b" 1", b"01"]
VALUES = [b"1", b"hello", b"10000", b"9999", b"x" * 44, b"x" * 45, b"-5", b"007",
          b"9223372036854775807", b"9223372036854775808"]


class Generator:
    def __init__(self, rng):
        self.rng = rng

    def key(self):
        return self.rng.choice(KEYS)

    def number(self):
        return self.rng.choice(NUMBERS)

    def db(self):
        return self.rng.choice([b"0", b"1", b"2", b"0", b"1", self.number()])

    def some(self, words, most):
        return [self.rng.choice(words) for _ in range(self.rng.randrange(most + 1))]

    def at_s(self):
        return int(time.time()) + self.rng.choice([100, 1000, -10, 1_000_000])

    def expiry(self):
        rng = self.rng
        name, unit = rng.choice([(b"EXPIREAT", 1), (b"PEXPIREAT", 1000)])
        at = b"%d" % (self.at_s() * unit) if rng.random() < 0.7 else self.number()
        if rng.random() < 0.3:
            # a relative time only if it has passed, or is far away, or wrong
            name = rng.choice([b"EXPIRE", b"PEXPIRE"])
            at = rng.choice([n for n in NUMBERS if n not in (b"1", b"2", b"99")])
        return [name, self.key(), at] + self.some([b"nx", b"XX", b"gt", b"Lt", b"foo"], 2)

    def copy(self):
        words = [b"COPY", self.key(), self.key()]
        for _ in range(self.rng.randrange(3)):
            words += self.rng.choice([[b"replace"], [b"DB", self.db()], [b"db"], [b"foo"]])
        return words

    def command(self):
        rng, key = self.rng, self.key
        return rng.choice([
            lambda: [b"SET", key(), rng.choice(VALUES)],
            lambda: [b"SET", key(), rng.choice(VALUES)],
            lambda: [b"ZADD", key(), b"1", rng.choice([b"m", b"n", b"o" * 64, b"o" * 65])],
            lambda: [rng.choice([b"RENAME", b"RENAMENX"]), key(), key()],
            self.copy, self.copy, self.expiry, self.expiry,
            lambda: [b"MOVE", key(), self.db()],
            lambda: [b"SWAPDB", self.db(), self.db()],
            lambda: [rng.choice([b"TOUCH", b"EXISTS", b"DEL", b"UNLINK"]), key(), key()],
            lambda: [b"TYPE", key()],
            lambda: [b"OBJECT", rng.choice([b"encoding", b"freq", b"refcount", b"foo"]), key()],
            lambda: [rng.choice([b"EXPIRETIME", b"PEXPIRETIME", b"PERSIST"]), key()],
            lambda: [b"SELECT", self.db()],
            lambda: [b"DBSIZE"],
            lambda: [b"FLUSHDB"] + self.some([b"async", b"SYNC", b"foo"], 2),
            lambda: [b"WAIT", self.number(), rng.choice([b"x", b"-1", b"1"])],
            lambda: [b"MEMORY", b"USAGE", b"none"] + self.some([b"samples", b"5", b"x"], 3),
            lambda: [b"GET", key()],
        ])()


def without_clock(command, reply):
    """Times that were set relative to the clock differ by how long it took."""
    if command[0].endswith(b"EXPIRETIME") and reply.startswith(b":"):
        return round(int(reply[1:]) / (1 if command[0] == b"EXPIRETIME" else 1000) / 10)
    return reply


@pytest.mark.parametrize("resp", [2, 3])
def test_random_commands_beside_redis(server, redis, rng, resp):
    generator = Generator(rng)
    with server.connect(resp=resp) as one, redis.connect(resp=resp) as two:
        log = []
        for _ in range(5000):
            command = generator.command()
            ours, theirs = one.raw(*command), two.raw(*command)
            log.append((command, ours, theirs))
            if without_clock(command, ours) != without_clock(command, theirs):
                pytest.fail("\n".join(map(str, log[-12:])))
