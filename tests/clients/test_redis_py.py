"""redis-py against yonder-server: the session of session.js in Python. Versions from 5 on
speak RESP3 too."""
import math
import threading
import time

import pytest

redis = pytest.importorskip(
    "redis", reason="Debian package python3-redis is not installed"
)

SPEAKS_RESP3 = int(redis.__version__.split(".")[0]) >= 5
LIMIT_S = 10
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
PALERMO = (13.361389, 38.115556, "Palermo")
CATANIA = (15.087269, 37.502669, "Catania")
PALERMO_POSITION = (13.361389338970184, 38.1155563954963)
ABC = {"a": 1, "b": 2, "c": 3.5}


@pytest.fixture(params=[2, 3] if SPEAKS_RESP3 else [2], ids="RESP{}".format)
def connect(request, server):
    """connect(db=...) makes a client with a pool of connections of its own."""
    clients = []

    def connect(**options):
        if SPEAKS_RESP3:
            options["protocol"] = request.param
        options = {"decode_responses": True, **options}
        clients.append(redis.Redis(host="127.0.0.1", port=server.port, **options))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()
        client.connection_pool.disconnect()


@pytest.fixture
def client(connect):
    return connect()


def until(what, ask):
    """Asks again and again until the answer is true."""
    end = time.monotonic() + LIMIT_S
    while not ask():
        assert time.monotonic() < end, f"{what}: not within {LIMIT_S} s"
        time.sleep(0.002)


def pairs(reply):
    """Members and scores, which are tuples in RESP2 and lists in RESP3."""
    return [tuple(pair) for pair in reply]


def rejects(text, function, *words, **options):
    # redis-py takes "ERR " off.
    with pytest.raises(redis.ResponseError) as caught:
        function(*words, **options)
    assert str(caught.value) == text


# ---- values and keys ------------------------------------------------------------------


def test_strings(client):
    assert client.set("str", "one") is True
    assert client.get("str") == "one"
    assert client.get("nothing") is None
    assert client.set("str", "two", nx=True) is None
    assert client.set("str", "two", get=True) == "one"
    assert client.append("str", " three") == 9
    assert client.getrange("str", -5, -1) == "three"
    assert client.setrange("str", 0, "TWO") == 9
    assert client.getdel("str") == "TWO three"
    assert client.strlen("str") == 0
    assert client.mset({"a": "1", "b": "2"}) is True
    assert client.mget("a", "nothing", "b") == ["1", None, "2"]


def test_bytes_of_any_kind(connect):
    client = connect(decode_responses=False)
    data = bytes(range(256)) * 4
    client.set("bytes", data)
    assert client.get("bytes") == data
    assert client.strlen("bytes") == 1024
    client.set("ключ\r\n", "знач\0ение")
    assert client.get("ключ\r\n") == "знач\0ение".encode()
    large = b"x" * (1 << 20)
    client.set("large", large)
    assert client.get("large") == large
    assert client.delete("bytes", "ключ\r\n", "large", "nothing") == 3


def test_counters(client):
    assert client.incr("n") == 1
    assert client.incrby("n", 41) == 42
    assert client.decrby("n", 50) == -8
    assert client.incrbyfloat("n", 10.5) == 2.5
    rejects("value is not an integer or out of range", client.incr, "n")


def test_names_of_keys(client):
    client.set("from", "v")
    assert client.copy("from", "copied") is True
    assert client.rename("from", "to") is True
    assert client.exists("from", "to", "copied") == 2
    assert client.type("to") == "string"
    assert client.unlink("to", "copied") == 2


def test_expiry(client):
    client.set("k", "v", ex=100)
    assert client.ttl("k") in (99, 100)
    assert client.persist("k") is True
    assert client.ttl("k") == -1
    assert client.expire("k", 50, xx=True) is False
    assert client.expire("k", 50) is True
    assert client.expire("k", 40, gt=True) is False
    at_s = int(time.time()) + 1000
    assert client.expireat("k", at_s) is True
    assert client.execute_command("EXPIRETIME", "k") == at_s
    client.set("k", "w", keepttl=True)
    assert client.pttl("k") > 900000
    assert client.getex("k", px=20) == "w"
    until("the key expires", lambda: not client.exists("k"))
    assert client.ttl("k") == -2
    client.zadd("z", {"m": 1})
    assert client.pexpire("z", 1) is True
    until("the set expires", lambda: not client.exists("z"))


# ---- sorted sets and positions --------------------------------------------------------


def test_sorted_sets(client):
    assert client.zadd("s", ABC) == 3
    assert client.zadd("s", {"a": 0, "c": 4}, gt=True, ch=True) == 1
    assert client.zadd("s", {"a": 9}, nx=True) == 0
    assert client.zadd("s", {"a": 1.25}, incr=True) == 2.25
    assert client.zincrby("s", -0.75, "a") == 1.5
    assert client.zscore("s", "c") == 4
    assert client.zscore("s", "nobody") is None
    assert client.zmscore("s", ["a", "nobody", "b"]) == [1.5, None, 2]
    client.zadd("s", {"top": math.inf, "bottom": -math.inf})
    assert pairs(client.zrange("s", 0, -1, withscores=True)) == [
        ("bottom", -math.inf),
        ("a", 1.5),
        ("b", 2),
        ("c", 4),
        ("top", math.inf),
    ]
    assert client.zcard("s") == 5
    assert client.zrank("s", "b") == 2
    assert client.zrevrank("s", "b") == 2
    assert client.zrank("s", "nobody") is None
    assert client.zcount("s", "(1.5", "+inf") == 3
    assert client.zrem("s", "top", "bottom", "nobody") == 2
    client.set("str", "x")
    rejects(WRONG_TYPE, client.zcard, "str")


def test_ranges_of_sorted_sets(client):
    client.zadd("r", {f"m{i}": i for i in range(100)})
    assert client.zrange("r", 0, 2) == ["m0", "m1", "m2"]
    assert client.zrange("r", 0, 1, desc=True) == ["m99", "m98"]
    assert client.zrange("r", "(10", "+inf", byscore=True, offset=1, num=2) == [
        "m12",
        "m13",
    ]
    assert client.zrevrange("r", 0, 0) == ["m99"]
    assert client.zrangebyscore("r", 3, 4) == ["m3", "m4"]
    assert client.zrevrangebyscore("r", 4, 3) == ["m4", "m3"]
    assert client.zrangestore("r2", "r", 5, 7) == 3
    assert pairs(client.zrange("r2", 0, -1, withscores=True)) == [
        ("m5", 5),
        ("m6", 6),
        ("m7", 7),
    ]
    client.zadd("lex", dict.fromkeys("abcd", 0))
    assert client.zrange("lex", "[b", "(d", bylex=True) == ["b", "c"]
    assert client.zrangebylex("lex", "-", "[b") == ["a", "b"]
    assert client.zlexcount("lex", "-", "[c") == 3
    assert client.zremrangebylex("lex", "[c", "+") == 2
    assert client.zremrangebyscore("r", 50, "(60") == 10
    assert client.zremrangebyrank("r", 0, 9) == 10
    names = dict(client.zscan_iter("r"))
    assert len(names) == 80
    some = client.zrandmember("r", 10)
    assert len(set(some)) == 10 and set(some) <= set(names)


def test_sorted_sets_that_are_joined_and_popped(client):
    client.zadd("x", ABC)
    client.zadd("y", {"b": 10, "c": 20, "d": 30})
    assert pairs(client.zunion(["x", "y"], withscores=True)) == [
        ("a", 1),
        ("b", 12),
        ("c", 23.5),
        ("d", 30),
    ]
    both = client.zinter(["x", "y"], withscores=True)
    assert pairs(both) == [("b", 12), ("c", 23.5)]
    assert client.zdiff(["x", "y"]) == ["a"]
    assert client.zintercard(2, ["x", "y"], limit=1) == 1
    assert client.zunionstore("u", {"x": 2, "y": 1}, aggregate="MAX") == 4
    assert pairs(client.zpopmin("u", 2)) == [("a", 2), ("b", 10)]
    assert pairs(client.zpopmax("u", 1)) == [("d", 30)]
    key, members = client.zmpop(2, ["nothing", "u"], min=True, count=5)
    assert (key, [(name, float(score)) for name, score in members]) == ("u", [("c", 20)])
    assert client.zmpop(1, ["u"], min=True) is None
    assert client.exists("u") == 0


def test_positions(client):
    assert client.geoadd("k", PALERMO + CATANIA) == 2
    assert client.geoadd("k", PALERMO, ch=True) == 0
    assert client.geodist("k", "Palermo", "Catania", "km") == 166.2742
    assert client.geodist("k", "Palermo", "nobody") is None
    assert client.geohash("k", "Palermo", "Catania") == ["sqc8b49rny0", "sqdtr74hyu0"]
    assert client.geopos("k", "Palermo", "nobody") == [PALERMO_POSITION, None]
    search = {"longitude": 15, "latitude": 37, "radius": 200, "unit": "km"}
    assert client.geosearch("k", **search, sort="ASC") == ["Catania", "Palermo"]
    found = client.geosearch(
        "k", **search, sort="DESC", withdist=True, withhash=True, withcoord=True
    )
    assert found[0] == ["Palermo", 190.4424, 3479099956230698, PALERMO_POSITION]
    assert client.geosearch("k", member="Palermo", width=1, height=1, unit="km") == [
        "Palermo"
    ]
    assert client.geosearchstore("d", "k", **search, storedist=True) == 2
    assert pairs(client.zrange("d", 0, -1, withscores=True)) == [
        ("Catania", 56.4412578701582),
        ("Palermo", 190.44242984775784),
    ]
    assert client.georadius("k", 15, 37, 100, "km") == ["Catania"]
    assert client.georadiusbymember("k", "Palermo", 200, "km", sort="ASC") == [
        "Palermo",
        "Catania",
    ]
    client.set("s", "x")
    rejects(WRONG_TYPE, client.geopos, "s", "m")
    words = ["GEOSEARCH", "k", "FROMLONLAT", 15, 37, "BYRADIUS", 1, "km", "COUNT", 0]
    rejects("COUNT must be > 0", client.execute_command, *words)
    assert set(client.scan_iter()) == {"k", "d", "s"}


def test_pipeline_without_transaction(client, server):
    with client.pipeline(transaction=False) as pipe:
        for i in range(1000):
            pipe.geoadd("m", (i / 10, 1, f"m{i}"))
        assert pipe.execute() == [1] * 1000
    assert len(dict(client.zscan_iter("m"))) == 1000
    assert client.info("server")["tcp_port"] == server.port


# ---- transactions, messages, waiting --------------------------------------------------


def test_transactions(client):
    with client.pipeline() as pipe:
        pipe.set("t", "5").incrby("t", 2).get("t").zadd("tz", ABC).zcard("t")
        pipe.zrange("tz", 0, 1, withscores=True).geoadd("tg", PALERMO)
        pipe.geopos("tg", "Palermo")
        replies = pipe.execute(raise_on_error=False)
    wrong = replies.pop(4)  # the others have run
    assert isinstance(wrong, redis.ResponseError) and WRONG_TYPE in str(wrong)
    replies[4] = pairs(replies[4])
    assert replies == [True, 7, "7", 3, [("a", 1), ("b", 2)], 1, [PALERMO_POSITION]]
    for words in (["NOSUCHCOMMAND"], ["GET"]):
        with client.pipeline() as pipe:
            pipe.set("t", "x").execute_command(*words)
            with pytest.raises(redis.ResponseError):
                pipe.execute()
    assert client.get("t") == "7"


def test_watched_keys(client, connect):
    other = connect()
    client.set("w", "1")
    with client.pipeline() as pipe:
        pipe.watch("w", "wz")
        pipe.multi()
        assert pipe.incr("w").execute() == [2]

        pipe.watch("w", "wz")
        other.zadd("wz", ABC)
        pipe.multi()
        pipe.incr("w")
        with pytest.raises(redis.WatchError):
            pipe.execute()
        assert client.get("w") == "2"

        pipe.watch("w")
        other.delete("w")
        pipe.unwatch()
        pipe.multi()
        assert pipe.incr("w").execute() == [1]


def test_two_that_count_with_watch_lose_nothing(connect):
    def add_one(pipe):
        value = int(pipe.get("sum") or 0)
        pipe.multi()
        pipe.set("sum", value + 1)

    def add_twenty(client):
        for _ in range(20):
            client.transaction(add_one, "sum")

    threads = [threading.Thread(target=add_twenty, args=[connect()]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert connect().get("sum") == "40"


def take(subscriber):
    """The next message as (kind, pattern, channel, data)."""
    message = subscriber.get_message(timeout=LIMIT_S)
    assert message is not None, "no message"
    return tuple(message[name] for name in ("type", "pattern", "channel", "data"))


def test_publish_and_subscribe(client):
    with client.pubsub() as subscriber:
        subscriber.subscribe("news", "other")
        assert take(subscriber) == ("subscribe", None, "news", 1)
        assert take(subscriber) == ("subscribe", None, "other", 2)
        subscriber.psubscribe("n?ws*")
        assert take(subscriber) == ("psubscribe", None, "n?ws*", 3)
        assert sorted(client.pubsub_channels()) == ["news", "other"]
        assert client.pubsub_numsub("news", "none") == [("news", 1), ("none", 0)]
        assert client.pubsub_numpat() == 1

        assert client.publish("news", "one") == 2
        assert take(subscriber) == ("message", None, "news", "one")
        assert take(subscriber) == ("pmessage", "n?ws*", "news", "one")
        assert client.publish("nowsreel", "двa\r\n") == 1
        assert take(subscriber) == ("pmessage", "n?ws*", "nowsreel", "двa\r\n")
        assert client.publish("nobody listens", "x") == 0

        subscriber.unsubscribe("news")
        assert take(subscriber) == ("unsubscribe", None, "news", 2)
        for i in range(500):
            client.publish("other", f"n{i}")
        for i in range(500):
            assert take(subscriber) == ("message", None, "other", f"n{i}")
        subscriber.punsubscribe()
        assert take(subscriber) == ("punsubscribe", None, "n?ws*", 1)
        subscriber.unsubscribe()
        assert take(subscriber) == ("unsubscribe", None, "other", 0)
        assert client.pubsub_channels() == []


def test_messages_on_sharded_channels(client):
    with client.pubsub() as subscriber:
        subscriber.subscribe("orders")
        assert take(subscriber) == ("subscribe", None, "orders", 1)
        if hasattr(subscriber, "ssubscribe"):
            subscriber.ssubscribe("orders")
        else:  # redis-py 4 has no function for it, but reads what comes
            subscriber.execute_command("SSUBSCRIBE", "orders")
        assert take(subscriber) == ("ssubscribe", None, "orders", 1)
        counts = client.execute_command("PUBSUB SHARDNUMSUB", "orders")
        assert [*counts] == ["orders", 1]
        assert client.execute_command("SPUBLISH", "orders", "one") == 1
        assert client.publish("orders", "two") == 1
        assert take(subscriber) == ("smessage", None, "orders", "one")
        assert take(subscriber) == ("message", None, "orders", "two")


def test_events_of_keys(client):
    client.config_set("notify-keyspace-events", "Egz$x")
    with client.pubsub(ignore_subscribe_messages=True) as subscriber:
        subscriber.psubscribe("__keyevent@0__:*")
        subscriber.get_message(timeout=LIMIT_S)
        client.set("e", "v")
        client.geoadd("ez", PALERMO)
        client.zrem("ez", "Palermo")
        client.pexpire("e", 1)
        for event, key in (
            *(("set", "e"), ("zadd", "ez"), ("zrem", "ez"), ("del", "ez")),
            *(("expire", "e"), ("expired", "e")),
        ):
            assert take(subscriber)[2:] == (f"__keyevent@0__:{event}", key)


def test_pops_that_wait(client, connect):
    waiting = connect()

    def wait_for(function, change):
        """What function() returns if change() happens while it waits."""
        popped = []
        thread = threading.Thread(target=lambda: popped.append(function()))
        thread.start()
        until("the client waits", lambda: client.info("clients")["blocked_clients"] == 1)
        change()
        thread.join(LIMIT_S)
        return popped[0]

    def add_two():
        with client.pipeline() as pipe:
            pipe.zadd("q1", ABC).zrem("q1", "c").execute()

    popped = wait_for(
        lambda: waiting.bzpopmin(["q1", "q2"]), lambda: client.zadd("q2", ABC)
    )
    assert tuple(popped) == ("q2", "a", 1)
    assert tuple(waiting.bzpopmax(["q1", "q2"])) == ("q2", "c", 3.5)
    key, members = waiting.bzmpop(0, 2, ["q1", "q2"], min=True, count=5)
    assert (key, [(name, float(score)) for name, score in members]) == ("q2", [("b", 2)])

    key, members = wait_for(
        lambda: waiting.bzmpop(0, 2, ["q1", "q2"], max=True, count=2), add_two
    )
    assert key == "q1"
    assert [(name, float(score)) for name, score in members] == [("b", 2), ("a", 1)]
    assert client.exists("q1", "q2") == 0

    start = time.monotonic()
    assert waiting.bzpopmin("q1", timeout=0.1) is None
    assert time.monotonic() - start >= 0.095
    assert waiting.bzmpop(0.01, 1, ["q1"], min=True) is None


# ---- the server dies ------------------------------------------------------------------


def test_a_server_that_is_killed_and_comes_back(connect, keeper):
    named = connect(client_name="tester", db=3)
    client = connect()
    named.set("kept", "in memory")
    with client.pubsub() as subscriber:
        subscriber.subscribe("news")
        subscriber.psubscribe("p*")
        assert [take(subscriber)[0] for _ in range(2)] == ["subscribe", "psubscribe"]

        keeper.kill()
        with pytest.raises(redis.ConnectionError):
            client.ping()
        keeper.start()

        assert named.get("kept") is None
        assert named.client_getname() == "tester"
        info = dict(
            field.split("=") for field in named.execute_command("CLIENT", "INFO").split()
        )
        assert info["db"] == "3"
        try:
            back = take(subscriber)
        except redis.ConnectionError:  # told of the loss; the next call connects again
            back = take(subscriber)
        assert back[:3] == ("subscribe", None, "news")
        assert take(subscriber)[:3] == ("psubscribe", None, "p*")
        assert client.publish("news", "again") == 1
        assert take(subscriber) == ("message", None, "news", "again")
        assert client.publish("pn", "again") == 1
        assert take(subscriber) == ("pmessage", "p*", "pn", "again")
    with client.pipeline() as pipe:
        assert pipe.set("k", "v").get("k").execute() == [True, "v"]
