"""What clients are sent unasked: random interleavings of several clients beside a model
(push_model.py, push_driver.py), the model beside redis-server, and what a model does not show: many
subscribers, slow ones, bounds.

Nothing here sleeps: behind the reply to the client that causes something, every client
asks for something itself, and reads up to the answer."""
import collections
import os
import random
import resource

import pytest

import push_driver
import resp

SEED = int(os.environ.get("YN_SEED", "1"))
N_STEPS = int(os.environ.get("YN_STEPS", "2500"))


# ---- beside the model ----


def unknown_commands(server):
    names = ("COPY", "MOVE", "RENAME", "RENAMENX")
    with server.connect() as conn:
        return {name for name in names if conn.command(
            "COMMAND", "INFO", name)[0] in (None, resp.NULL_ARRAY)}


def run_model(server, seed):
    print(f"seed {seed}")
    driver = push_driver.Driver(server, seed, unknown_commands(server))
    try:
        driver.run(N_STEPS)
    finally:
        driver.close()
    print(f"{driver.n_commands} commands, pushes: {dict(driver.model.n_pushes)}")
    return driver.model.n_pushes


SEEDS = range(SEED * 100, SEED * 100 + 6)
n_pushes_of = {}  # by seed


@pytest.mark.parametrize("seed", SEEDS)
def test_random_interleavings(server, seed):
    n_pushes_of[seed] = run_model(server, seed)


def test_interleavings_had_pushes_of_every_kind():
    """Over all seeds: a single one may go by without a prefix that matches."""
    if set(n_pushes_of) != set(SEEDS) or N_STEPS < 2500:
        pytest.skip("test_random_interleavings did not run, or only in part")
    total = sum(n_pushes_of.values(), collections.Counter())
    least = {"events": 2400, "key": 240, "bcast": 60, "all": 60}
    assert all(total[kind] > n for kind, n in least.items()), total


@pytest.mark.parametrize("seed", range(SEED * 100, SEED * 100 + 3))
def test_the_model_holds_for_redis(redis, seed):
    run_model(redis, seed)


# ---- the order of pushes and answers ----


def test_no_message_behind_the_end_of_a_subscription(server):
    """Also when PUBLISH and UNSUBSCRIBE arrive together: a RESP2 client would take the
    message for the answer to its next command."""
    n_messages = 0
    with server.connect() as listener, server.connect() as writer, \
            server.connect() as other:
        other.command("ZADD", "z", *(w for i in range(20000) for w in (i, f"m{i}")))
        for _ in range(200):
            listener.command("SUBSCRIBE", "c")
            # while the server is at it, the two requests arrive
            other.send(resp.encode("ZUNIONSTORE", "to", "1", "z"))
            writer.send(resp.encode("PUBLISH", "c", "m"))
            listener.send(resp.encode("UNSUBSCRIBE", "c") + resp.encode("ECHO", "x"))
            items = []
            while b"x" not in items:
                items.append(listener.read())
            assert items in ([[b"unsubscribe", b"c", 0], b"x"],
                             [[b"message", b"c", b"m"], [b"unsubscribe", b"c", 0], b"x"])
            assert writer.read() == len(items) - 2
            assert other.read() == 20000
            n_messages += len(items) - 2
    print(f"{n_messages} messages")


def pushes_of(conn):
    """What has been pushed to a RESP3 client so far."""
    conn.send(resp.encode("CLIENT", "ID"))
    return pushes_before_reply(conn)


def pushes_before_reply(conn):
    """The reply may come behind what another thread of the server pushes; it is dropped."""
    pushes = []
    while isinstance(item := conn.read(), resp.Push):
        pushes.append(item)
    return pushes


def test_noloop_hears_of_what_another_client_changes_too(start):
    """In one batch: Redis keeps who was first, and leaves that client with a stale copy."""
    server = start.subject()
    with server.connect(resp=3) as own, server.connect() as other:
        own.command("CLIENT", "TRACKING", "ON", "BCAST", "NOLOOP")
        for _ in range(300):
            own.send(resp.encode("SET", "k", "mine"))
            other.send(resp.encode("SET", "k", "another's"))
            pushes = pushes_before_reply(own)
            other.read()
            pushes += pushes_of(own)
            assert pushes == [[b"invalidate", [b"k"]]]


@pytest.mark.parametrize("version", (2, 3))
def test_transactions_that_subscribe(server, version):
    """As in 8.0, what is published meanwhile comes behind the reply of EXEC."""
    with server.connect(resp=version) as conn:
        assert conn.pipeline([("MULTI",), ("SUBSCRIBE", "c"), ("PUBLISH", "c", "m"),
                              ("PSUBSCRIBE", "*"), ("UNSUBSCRIBE", "c")])[1:] == [
            b"QUEUED"] * 4
        if server.name == "redis-server":
            return
        assert conn.command("EXEC") == [[b"subscribe", b"c", 1], 1,
                                        [b"psubscribe", b"*", 2],
                                        [b"unsubscribe", b"c", 1]]
        assert conn.read() == [b"message", b"c", b"m"]


def test_a_client_may_redirect_to_itself(server, redis):
    for each in (server, redis):
        with each.connect() as conn, each.connect() as writer:
            number = conn.command("CLIENT", "ID")
            assert conn.command("CLIENT", "TRACKING", "ON", "REDIRECT", number) == b"OK"
            conn.command("GET", "k")
            conn.command("SUBSCRIBE", "c")
            writer.command("SET", "k", "v")
            assert conn.read() == [b"message", b"__redis__:invalidate", [b"k"]]


# ---- many, and slow ones ----


def raise_descriptor_limit(wanted):
    """Returns how many descriptors there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted and soft != resource.RLIM_INFINITY:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else soft


def receive_exactly(sock, n):
    data = bytearray()
    while len(data) < n:
        piece = sock.recv(n - len(data))
        assert piece, f"closed after {len(data)} of {n} bytes"
        data += piece
    return bytes(data)


def wire_of(version, *words):
    head = b">" if version == 3 else b"*"
    return head + resp.encode(*words)[1:]


def test_ten_thousand_subscribers(start):
    """Of a channel, some of them of a pattern as well; one never reads. Everyone else gets
    everything in order, the slow one is closed at its limit, and memory stays bounded."""
    wanted = 10000
    n = min(wanted, raise_descriptor_limit(wanted + 200) - 200)
    if n < wanted:
        print(f"only {n} subscribers: no more descriptors are allowed")
    limit = 256 * 1024
    server = start.subject("--maxclients", n + 100, "--client-output-buffer-limit",
                           f"pubsub {limit} 0 0")
    conns = []
    with server.connect() as client:
        for i in range(n):
            conn = server.connect(resp=2 + i % 2)
            conns.append(conn)
            assert conn.command("SUBSCRIBE", "news") == [b"subscribe", b"news", 1]
            if i % 10 == 0:
                assert conn.command("PSUBSCRIBE", "n*")[2] == 2
        slow = conns[n // 2]
        assert slow.command("SUBSCRIBE", "flood")[0] == b"subscribe"
        n_heard = n + len(conns[::10])
        assert client.command("PUBSUB", "NUMSUB", "news", "flood") == [
            b"news", n, b"flood", 1]
        before = server.resident_bytes()
        n_messages, n_floods, is_slow_there = 0, 0, True
        for _ in range(12):
            texts = [f"message {n_messages + k:0100}" for k in range(10)]
            n_messages += len(texts)
            for text in texts:
                n_now = client.command("PUBLISH", "news", text)
                assert n_now in (n_heard, n_heard - 1 - (n // 2 % 10 == 0))
            for _ in range(4):
                n_floods += client.command("PUBLISH", "flood", "f" * 16384)
            want = {(version, matches): b"".join(
                wire_of(version, "message", "news", text) + (
                    wire_of(version, "pmessage", "n*", "news", text) if matches else b"")
                for text in texts) for version in (2, 3) for matches in (False, True)}
            for i, conn in enumerate(conns):
                if conn is not slow:
                    expected = want[2 + i % 2, i % 10 == 0]
                    assert receive_exactly(conn.sock, len(expected)) == expected
            assert server.grown_bytes(before) < 32 << 20
        assert client.command("PUBSUB", "NUMSUB", "news", "flood") == [
            b"news", n - 1, b"flood", 0]
        # what the kernel had taken, the limit, and the message that passed it
        n_flood_bytes = n_floods * 16384
        assert limit <= n_flood_bytes < 12 * 4 * 16384
        got = slow.receive_until_closed()
        assert 0 < len(got) < n_flood_bytes + (1 << 20)
        print(f"{n} subscribers; the slow one was closed after {n_flood_bytes} bytes; "
              f"memory grew by {server.grown_bytes(before)} bytes")
    for conn in conns:
        conn.close()


def test_many_slow_subscribers_and_large_messages(start):
    """Each is closed at its limit; the one who reads loses nothing."""
    limit = 1 << 20
    server = start.subject("--client-output-buffer-limit", f"pubsub {limit} 0 0")
    with server.connect() as client, server.connect() as reader:
        reader.command("PSUBSCRIBE", "*")
        before = server.resident_bytes()
        for _ in range(3):
            slow = [server.connect(resp=2 + i % 2) for i in range(20)]
            for conn in slow:
                conn.command("PSUBSCRIBE", "*")
            for i in range(100):
                text = (f"{i} " * 30000)[:60000]
                client.command("PUBLISH", "c", text)
                assert reader.read() == [b"pmessage", b"*", b"c", text.encode()]
                assert server.grown_bytes(before) < 21 * 2 * limit + (16 << 20)
            assert client.command("PUBLISH", "c", "end") == 1
            for conn in slow:
                conn.receive_until_closed()
            assert reader.read()[3] == b"end"


def info_field(conn, field):
    text = conn.command("INFO", "stats")
    return int(text.partition(b"\r\n%s:" % field)[2].split(b"\r\n")[0])


def test_a_hot_key_of_a_thousand_trackers(start):
    server = start.subject()
    with server.connect() as writer:
        conns = [server.connect(resp=3) for _ in range(1000)]
        for i, conn in enumerate(conns):
            mode = ((), ("NOLOOP",), ("OPTOUT",), ("BCAST", "PREFIX", "hot"))[i % 4]
            assert conn.command("CLIENT", "TRACKING", "ON", *mode) == b"OK"
        for i in range(10):
            for conn in conns:
                conn.send(resp.encode("GET", "hot") * 2)
            for conn in conns:
                assert [conn.read(), conn.read()] == [b"%d" % (i - 1) if i else None] * 2
            assert info_field(writer, b"tracking_total_items") == 750
            writer.command("SET", "hot", i)
            writer.command("SET", "hot", i)
            assert info_field(writer, b"tracking_total_items") == 0
            for k, conn in enumerate(conns):
                n_told = 2 if k % 4 == 3 else 1
                assert [conn.read() for _ in range(n_told)] == [
                    [b"invalidate", [b"hot"]]] * n_told
        for conn in conns:
            assert pushes_of(conn) == []
            conn.close()


def test_trackers_that_are_gone_take_no_memory(start):
    """A key that one client after the other reads, and nobody changes."""
    server = start.subject()
    with server.connect() as observer:
        for _ in range(2000):
            with server.connect() as conn:
                assert conn.pipeline([("CLIENT", "TRACKING", "ON"), ("GET", "k")]) == [
                    b"OK", None]
        assert info_field(observer, b"tracking_total_keys") == 1
        assert info_field(observer, b"tracking_total_items") < 100


def test_tracking_table_max_keys(start):
    """The oldest keys make room, and their readers are told."""
    server = start.subject("--tracking-table-max-keys", 100)
    with server.connect(resp=3) as conn, server.connect() as writer:
        conn.command("CLIENT", "TRACKING", "ON")
        stale = []
        for first in range(0, 1000, 10):
            conn.send(b"".join(resp.encode("GET", f"k{i}")
                               for i in range(first, first + 10)))
            stale += [item[1][0] for item in (
                conn.read() for _ in range(10 if first < 100 else 20)) if item]
            assert info_field(writer, b"tracking_total_keys") <= 100
        assert stale == [b"k%d" % i for i in range(900)]
        for i in range(1000):
            writer.command("SET", f"k{i}", "v")
        assert [item[1] for item in pushes_of(conn)] == [
            [b"k%d" % i] for i in range(900, 1000)]
        assert info_field(writer, b"tracking_total_items") == 0
        before = server.resident_bytes()
        for first in range(0, 100000, 1000):
            conn.batch([("GET", f"another key {first + i}") for i in range(1000)])
        assert server.grown_bytes(before) < 8 << 20


# ---- the options ----


def test_letters_of_the_events_are_printed_as_redis_prints_them(server, redis):
    rng = random.Random(SEED)
    with server.connect() as ours, redis.connect() as theirs:
        for _ in range(300):
            letters = "".join(rng.choice("KEg$lshzxetdmnA") for _ in range(
                rng.randint(0, 12))) + rng.choice(("", "", "", "q"))
            got = []
            for conn in (ours, theirs):
                reply = conn.command("CONFIG", "SET", "notify-keyspace-events", letters)
                got.append((reply == b"OK",
                            conn.command("CONFIG", "GET", "notify-keyspace-events")))
            assert got[0] == got[1], letters
        for conn in (ours, theirs):
            conn.command("CONFIG", "SET", "notify-keyspace-events", "")


def test_looking_at_a_key_from_outside_is_no_miss(server, redis):
    got = []
    for each in (server, redis):
        with each.connect(resp=3) as conn, each.connect() as client:
            client.command("CONFIG", "SET", "notify-keyspace-events", "KEAm")
            conn.command("PSUBSCRIBE", "*")
            for words in (("OBJECT", "ENCODING", "none"), ("OBJECT", "IDLETIME", "none"),
                          ("MEMORY", "USAGE", "none"), ("TTL", "none"), ("TYPE", "none"),
                          ("SET", "none", "v", "GET"), ("GETDEL", "none"),
                          ("GETDEL", "none"), ("EXPIRE", "none", "1")):
                client.command(*words)
            got.append(pushes_of(conn))
            client.command("CONFIG", "SET", "notify-keyspace-events", "")
    assert got[0] == got[1]
