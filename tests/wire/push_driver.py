"""Lets several clients of a server do random things and compares what each of them has been
sent, after each step, with what the model (push_model.py) predicts."""
import random

import resp
from push_model import INVALIDATE, Client, Model, error

PUSHED = object()


class Driver:
    """Clients of a server and of the model, side by side."""

    N_CLIENTS = 6
    KEYS = ("a0", "a1", "ab", "b0", "b1")
    CHANNELS = ("c0", "c1", "d0", "__keyevent@0__:set")
    PATTERNS = ("c*", "*", "__key*", "__keyspace@?__:a*", "d?")
    PREFIXES = ("a", "b", "a0", "ab", "")
    LETTERS = "KKEEg$zmnx"

    def __init__(self, server, seed, unknown):
        self.server = server
        self.is_redis = server.name == "redis-server"
        self.random = random.Random(seed)
        self.unknown = unknown
        self.model = Model(self.is_redis)
        self.conns = {}
        self.trace = []
        self.n_commands = 0
        self.observer = server.connect()
        self.observer.command("FLUSHALL")
        self.set_events("")
        for _ in range(self.N_CLIENTS):
            self.connect()

    def connect(self):
        version = self.random.choice((2, 3, 3))
        conn = self.server.connect(resp=version)
        client = Client(conn.command("CLIENT", "ID"), version)
        self.conns[client] = conn
        self.model.clients[client.number] = client

    def disconnect(self, client):
        """The server has noticed when this returns."""
        self.conns.pop(client).close()
        self.model.forget(client)
        while self.observer.command("CLIENT", "LIST", "ID", client.number):
            pass

    def close(self):
        self.observer.command("CONFIG", "SET", "notify-keyspace-events", "")
        for conn in (*self.conns.values(), self.observer):
            conn.close()

    def set_events(self, letters):
        self.model.events = letters.replace("A", "g$lshzxetd")
        assert self.observer.command("CONFIG", "SET", "notify-keyspace-events",
                                     letters) == b"OK"

    # -- what clients do --

    def some(self, of, most=2):
        return [self.random.choice(of) for _ in range(self.random.randint(1, most))]

    def key(self):
        return self.random.choice(self.KEYS)

    def pubsub_words(self):
        choose = self.random.choice
        name = choose(("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE",
                       "PUNSUBSCRIBE", "SUNSUBSCRIBE"))
        names = self.PATTERNS if name[0] == "P" else self.CHANNELS
        if "UNSUB" in name and choose((True, False)):
            return (name,)
        return (name, *self.some(names))

    def asking_words(self):
        choose = self.random.choice
        return choose((
            ("PUBSUB", "NUMPAT"), ("PUBSUB", "CHANNELS"), ("PUBSUB", "CHANNELS", "c*"),
            ("PUBSUB", "NUMSUB", *self.some(self.CHANNELS)), ("PUBSUB", "SHARDCHANNELS"),
            ("PUBSUB", "SHARDNUMSUB", *self.some(self.CHANNELS)),
            ("CLIENT", "TRACKINGINFO"), ("CLIENT", "GETREDIR")))

    def tracking_words(self, client):
        choose = self.random.choice
        if choose(range(5)) == 0:
            return ("CLIENT", "TRACKING", "OFF")
        words = ["CLIENT", "TRACKING", "ON"]
        if client.version == 2 or choose(range(4)) == 0:
            number = choose([*self.model.clients] * 5 + [1 << 40])
            words += ["REDIRECT", str(number)]
        mode = choose(("", "", "", "BCAST", "OPTIN", "OPTOUT"))
        words += [mode] if mode else []
        if choose(range(3)) == 0:
            words.append("NOLOOP")
        if mode == "BCAST" or choose(range(12)) == 0:
            for prefix in self.some(self.PREFIXES[:choose((2, 2, 5))]):
                words += ["PREFIX", prefix] if choose((True, False)) else []
        return tuple(words)

    def read_words(self):
        return self.random.choice((
            ("GET", self.key()), ("GET", self.key()), ("MGET", *self.some(self.KEYS, 3)),
            ("EXISTS", *self.some(self.KEYS)), ("TYPE", self.key()), ("TTL", self.key()),
            ("ZSCORE", self.key(), "m"), ("ZCARD", self.key()),
            ("GEOPOS", self.key(), "m")))

    def write_words(self):
        choose, key, member = self.random.choice, self.key(), self.random.choice("mno")
        words = choose((
            ("SET", key, "v"), ("SET", key, "v"), ("SET", key, "v", "EX", "1000"),
            ("SET", key, "v", "GET"), ("SET", key, "v", "NX"), ("APPEND", key, "x"),
            ("MSET", key, "1", self.key(), "2"), ("MSETNX", key, "1", self.key(), "2"),
            ("GETDEL", key), ("DEL", *self.some(self.KEYS)), ("UNLINK", key),
            ("ZADD", key, choose("123"), member), ("ZADD", key, "1", "m", "2", "n"),
            ("GEOADD", key, "13", "52", member), ("GEOADD", key, "13", "52", member),
            ("ZREM", key, member), ("ZREMRANGEBYRANK", key, "0", "-1"),
            ("ZRANGESTORE", key, self.key(), "0", "-1"),
            ("ZUNIONSTORE", key, "1", self.key()), ("EXPIRE", key, choose(("1000", "-1"))),
            ("PERSIST", key), ("RENAME", key, self.key()), ("RENAMENX", key, self.key()),
            ("COPY", key, self.key()), ("COPY", key, self.key(), "REPLACE"),
            ("MOVE", key, choose("01"))))
        return self.write_words() if words[0] in self.unknown else words

    def words(self, client):
        choose = self.random.choice
        in_multi = client.queue is not None
        kind = choose(["write"] * 7 + ["read"] * 9 + ["publish"] * 3 + ["tracking"] * 3 +
                      ["caching"] * 2 + ["pubsub"] * 3 + ["ask", "rare", "multi"])
        if client.in_pubsub_mode() and choose((True, False)):
            kind = "pubsub"
        if in_multi and kind in ("pubsub", "tracking"):
            kind = "write"
        # 7.0 writes messages into the replies of EXEC and MGET
        hears_itself = self.is_redis and (client.n_subs() > 0 or client.is_target)
        if kind == "publish":
            name = choose(("PUBLISH", "PUBLISH", "SPUBLISH"))
            return (name, choose(self.CHANNELS), f"message {self.n_commands}")
        if kind == "caching":
            return ("CLIENT", "CACHING", choose(("YES", "NO")))
        if kind == "multi" or in_multi and choose(range(5)) == 0:
            end = "DISCARD" if hears_itself else choose(("EXEC", "EXEC", "DISCARD"))
            return (end if in_multi else "MULTI",)
        if kind == "rare":
            rare = [("SELECT", choose("01")), ("FLUSHDB",), ("FLUSHALL",), ("NONSENSE",),
                    ("RESET",), ("SELECT", "0")]
            return choose(rare + ([] if in_multi else [("EXEC",)] + [("HELLO", choose("2333"))] * 3))
        if kind == "tracking":
            return self.tracking_words(client)
        words = {"write": self.write_words, "read": self.read_words, "pubsub": self.pubsub_words,
                 "ask": self.asking_words}[kind]()
        return ("GET", words[1]) if words[0] == "MGET" and hears_itself else words

    # -- reading --

    def receive(self, client, seen):
        """Reads one thing; returns it, or PUSHED."""
        item = self.conns[client].read()
        verb = item[0] if isinstance(item, list) and item else None
        if verb in (b"invalidate", b"tracking-redir-broken"):
            seen.stale.append(item)
        elif verb == b"message" and item[1] == INVALIDATE:
            seen.stale.append(item)
        elif verb in (b"message", b"pmessage", b"smessage"):
            seen.messages.append(item)
        elif isinstance(verb, bytes) and verb.endswith(b"subscribe"):
            seen.acks.append(item)
        else:
            assert not isinstance(item, resp.Push), item
            return item
        assert isinstance(item, resp.Push) == (client.version == 3)
        return PUSHED

    def read_behind_barrier(self, client, seen):
        if client.queue is not None:
            words, want = ("MULTI",), error("MULTI calls can not be nested")
        elif client.in_pubsub_mode():
            token = b"barrier %d" % self.n_commands
            words, want = ("PING", token), [b"pong", token]
        else:
            words, want = ("CLIENT", "ID"), client.number
        self.conns[client].send(resp.encode(*words))
        got = PUSHED
        while got is PUSHED:
            got = self.receive(client, seen)
        assert got == want

    # -- comparing --

    @staticmethod
    def sort_keys(item):
        keys = item[-1]
        return [*item[:-1], sorted(keys) if isinstance(keys, list) else keys]

    def check_pushes(self, client, seen):
        messages = list(seen.messages)
        for plain, patterns in client.messages:
            if plain:
                assert messages[:1] == [plain]
                del messages[0]
            n = len(patterns)
            assert sorted(messages[:n]) == sorted(patterns)
            del messages[:n]
        assert not messages
        want = client.stale
        got = [self.sort_keys(item) for item in seen.stale]
        if client.is_loose:
            want, got = sorted(want, key=repr), sorted(got, key=repr)
        assert got == want
        want, got = client.acks, seen.acks
        if self.is_redis and len(want) > 1 and "un" in str(want[0][0]):
            assert sorted(item[1] for item in got) == sorted(item[1] for item in want)
            want, got = [item[2] for item in want], [item[2] for item in got]
        assert got == want

    def check_reply(self, words, want, got, queue):
        if want is None:
            return
        if words[0] == "EXEC" and isinstance(want, list):
            assert len(got) == len(want)
            for each_words, each_want, each_got in zip(queue, want, got):
                self.check_reply(each_words, each_want, each_got, None)
        else:
            if words[:2] == ("CLIENT", "TRACKINGINFO") and isinstance(got, list):
                got = [sorted(got[1]), got[3], sorted(got[5])]
            if words[0] == "PUBSUB" and "CHANNELS" in words[1] and isinstance(got, list):
                got = sorted(got)
            assert got == want and isinstance(got, resp.Error) == isinstance(
                want, resp.Error)

    # -- running --

    def step(self):
        choose = self.random.choice
        if choose(range(30)) == 0:
            self.set_events("".join(self.some(self.LETTERS, 6)) +
                            choose(("", "A", "KEA", "KEAm", "KEAmn")))
        client = choose(list(self.conns))
        if choose(range(60)) == 0:
            self.trace.append((client.number, "leaves"))
            self.disconnect(client)
            self.connect()
            return
        words = self.words(client)
        self.n_commands += 1
        self.trace.append((client.number, client.version, client.db, words))
        model, queue = self.model, client.queue
        for each in self.conns:
            each.forget_pushes()
        want = model.request(client, words)
        model.broadcast()
        self.conns[client].send(resp.encode(*words))
        seen = {each: Client(0, 0) for each in self.conns}
        if client.acks:
            while len(seen[client].acks) < len(client.acks):
                got = self.receive(client, seen[client])
                assert got is PUSHED, got
        else:
            got = PUSHED
            while got is PUSHED:
                got = self.receive(client, seen[client])
                # as in 8.0, nothing comes before the reply
                assert got is not PUSHED or self.is_redis
            self.check_reply(words, want, got, queue)
        for each in (client, *(c for c in self.conns if c is not client)):
            self.read_behind_barrier(each, seen[each])
            self.check_pushes(each, seen[each])

    def run(self, n_steps):
        try:
            for _ in range(n_steps):
                self.step()
        except (AssertionError, resp.Malformed, OSError):
            for line in self.trace[-25:]:
                print(line)
            raise
