"""A model of transactions and of commands that wait, and a driver that lets several
clients do random things and predicts every reply.

The model knows a few keys in two databases, sorted sets and strings. It is written from
Redis's documentation, not from our server, and is itself proven beside redis-server 7.0.15
(test_transactions.py, test_blocking.py). There the model is told of the one point in
which 7.0 serves its clients in another way than 8.0: 7.0 pops from the key that became
ready, 8.0 runs the client's command again, which looks at its keys in their order.
"""
import collections
import random

import resp

WRONGTYPE = resp.Error(
    b"WRONGTYPE Operation against a key holding the wrong kind of value")
EXECABORT = resp.Error(b"EXECABORT Transaction discarded because of previous errors.")
UNBLOCKED = resp.Error(b"UNBLOCKED client unblocked via CLIENT UNBLOCK")
OK = resp.Status(b"OK")
QUEUED = resp.Status(b"QUEUED")
BLOCKS = object()
AT_ONCE = ("MULTI", "EXEC", "DISCARD", "WATCH", "RESET")


class Client:
    def __init__(self, number, version):
        self.number = number
        self.version = version
        self.db = 0
        self.queue = None  # of a transaction
        self.has_failed = False
        self.watches = {}
        self.is_touched = False
        self.waits_for = None  # (command, keys)
        self.behind = collections.deque()  # commands sent after the one that waits

    def null(self):
        return resp.NULL_ARRAY if self.version == 2 else None

    def score(self, value):
        text = b"%d" % value
        return text if self.version == 2 else resp.Double(text)


class Model:
    def __init__(self, serves_as_7_0=False):
        self.serves_as_7_0 = serves_as_7_0
        self.dbs = [{}, {}]  # key -> bytes, or a dict of member -> score
        self.clients = []
        self.queues = collections.defaultdict(list)  # (db, key) -> clients that wait
        self.ready = {}  # (db, key), in order
        self.replies = []  # (client, reply) of the present step, in order
        self.woken = collections.deque()  # clients that do not wait any more, in order
        self.n_blocks = self.n_served = self.n_aborted = self.n_run = 0

    # -- what a change means to others --

    def touch(self, db, key):
        for client in self.clients:
            if (db, key) in client.watches:
                client.watches = {}
                client.is_touched = True
        if self.queues[db, key] and isinstance(self.dbs[db].get(key), dict):
            self.ready[db, key] = True

    def touch_db(self, db, before):
        """`before`: the keys that were there."""
        for key in sorted(set(before) | set(self.dbs[db])):
            self.touch(db, key)

    # -- commands on keys --

    def run(self, client, words):
        """Returns the reply, or BLOCKS."""
        return getattr(self, "do_" + words[0].lower())(client, *words[1:])

    def do_zadd(self, client, key, *pairs):
        keys = self.dbs[client.db]
        if isinstance(keys.get(key), bytes):
            return WRONGTYPE
        members = keys.setdefault(key, {})
        n_added, has_changed = 0, False
        for score, member in zip(pairs[::2], pairs[1::2]):
            n_added += member not in members
            has_changed |= members.get(member) != int(score)
            members[member] = int(score)
        if has_changed:
            self.touch(client.db, key)
        return n_added

    def remove(self, db, key, members):
        found = self.dbs[db][key]
        for member in members:
            del found[member]
        if not found:
            del self.dbs[db][key]
        if members:
            self.touch(db, key)

    def do_zrem(self, client, key, *members):
        found = self.dbs[client.db].get(key, {})
        if isinstance(found, bytes):
            return WRONGTYPE
        gone = [m for m in dict.fromkeys(members) if m in found]
        if gone:
            self.remove(client.db, key, gone)
        return len(gone)

    def do_zcard(self, client, key):
        found = self.dbs[client.db].get(key, {})
        return WRONGTYPE if isinstance(found, bytes) else len(found)

    def do_set(self, client, key, value):
        self.dbs[client.db][key] = value.encode()
        self.touch(client.db, key)
        return OK

    def do_del(self, client, *names):
        n = 0
        for key in names:
            if self.dbs[client.db].pop(key, None) is not None:
                n += 1
                self.touch(client.db, key)
        return n

    def do_expire(self, client, key, _seconds):
        if key not in self.dbs[client.db]:
            return 0
        self.touch(client.db, key)
        return 1

    def do_pexpireat(self, client, key, _past):
        return self.do_del(client, key)

    def do_rename(self, client, source, target):
        keys = self.dbs[client.db]
        if source not in keys:
            return resp.Error(b"ERR no such key")
        keys[target] = keys.pop(source)
        self.touch(client.db, source)
        self.touch(client.db, target)
        return OK

    def do_flushdb(self, client):
        before = self.dbs[client.db]
        self.dbs[client.db] = {}
        self.touch_db(client.db, before)
        return OK

    def do_swapdb(self, _client, a, b):
        a, b = int(a), int(b)
        self.dbs[a], self.dbs[b] = self.dbs[b], self.dbs[a]
        self.touch_db(a, self.dbs[b])
        self.touch_db(b, self.dbs[a])
        return OK

    def do_select(self, client, db):
        client.db = int(db)
        return OK

    def do_echo(self, _client, text):
        return text.encode()

    # -- commands that wait --

    def pop(self, client, db, key, is_max, count):
        members = sorted(self.dbs[db][key].items(), key=lambda m: (m[1], m[0]),
                         reverse=is_max)[:count]
        self.remove(db, key, [name for name, _ in members])
        return [[name.encode(), client.score(score)] for name, score in members]

    def pop_first(self, client, keys, pop):
        for key in keys:
            value = self.dbs[client.db].get(key)
            if isinstance(value, bytes):
                return WRONGTYPE
            if value:
                return pop(key)
        return BLOCKS

    @staticmethod
    def parse_waiting(words):
        """(keys, from the maximum, count)"""
        if words[0] == "BZMPOP":
            n = int(words[2])
            end = words[3 + n :]
            return words[3 : 3 + n], end[0] == "MAX", int(end[2]) if len(end) > 1 else 1
        return words[1:-1], words[0] == "BZPOPMAX", 1

    def pop_reply(self, client, words, key):
        _, is_max, count = self.parse_waiting(words)
        popped = self.pop(client, client.db, key, is_max, count)
        if words[0] == "BZMPOP":
            return [key.encode(), popped]
        return [key.encode(), *popped[0]]

    def wait(self, client, words):
        keys, _, _ = self.parse_waiting(words)
        return self.pop_first(client, keys,
                              lambda key: self.pop_reply(client, words, key))

    def do_bzpopmin(self, client, *words):
        return self.wait(client, ("BZPOPMIN", *words))

    def do_bzpopmax(self, client, *words):
        return self.wait(client, ("BZPOPMAX", *words))

    def do_bzmpop(self, client, *words):
        return self.wait(client, ("BZMPOP", *words))

    def leave_queues(self, client):
        for queue in self.queues.values():
            if client in queue:
                queue.remove(client)
        client.waits_for = None

    def release(self, client, reply):
        """The client has its answer, and what it sent meanwhile is run."""
        self.leave_queues(client)
        self.woken.append(client)
        self.replies.append((client, reply))

    def serve(self):
        while self.ready:
            db, key = next(iter(self.ready))
            del self.ready[db, key]
            for client in list(self.queues[db, key]):
                if not isinstance(self.dbs[db].get(key), dict):
                    break
                words = client.waits_for
                if self.serves_as_7_0:
                    reply = self.pop_reply(client, words, key)
                else:
                    reply = self.wait(client, words)
                if reply is not BLOCKS:
                    self.n_served += 1
                    self.release(client, reply)

    # -- transactions --

    def end_transaction(self, client):
        client.queue = None
        client.has_failed = False
        client.watches = {}
        client.is_touched = False

    def run_exec(self, client):
        if client.queue is None:
            return resp.Error(b"ERR EXEC without MULTI")
        queue, has_failed, is_touched = client.queue, client.has_failed, client.is_touched
        self.end_transaction(client)
        self.n_aborted += has_failed or is_touched
        if has_failed:
            return EXECABORT
        if is_touched:
            return client.null()
        self.n_run += 1
        replies = [self.run(client, words) for words in queue]
        return [client.null() if reply is BLOCKS else reply for reply in replies]

    def run_at_once(self, client, words):
        name = words[0]
        if name == "EXEC":
            return self.run_exec(client)
        if name == "MULTI":
            if client.queue is not None:
                return resp.Error(b"ERR MULTI calls can not be nested")
            client.queue = []
            return OK
        if name == "DISCARD":
            if client.queue is None:
                return resp.Error(b"ERR DISCARD without MULTI")
            self.end_transaction(client)
            return OK
        if name == "RESET":
            self.end_transaction(client)
            client.db, client.version = 0, 2
            return resp.Status(b"RESET")
        if client.queue is not None:
            return resp.Error(b"ERR WATCH inside MULTI is not allowed")
        if not client.is_touched:
            client.watches.update({(client.db, key): True for key in words[1:]})
        return OK

    # -- one request --

    def request(self, client, words):
        """A client sends a command. Replies of everyone go to self.replies."""
        if client.waits_for is not None:
            client.behind.append(words)
            return
        reply = self.answer(client, words)
        if reply is BLOCKS:
            client.waits_for = words
            self.n_blocks += 1
            for key in dict.fromkeys(self.parse_waiting(words)[0]):
                self.queues[client.db, key].append(client)
        else:
            self.replies.append((client, reply))
        self.serve()

    def answer(self, client, words):
        if words[0] in AT_ONCE:
            return self.run_at_once(client, words)
        if words[0] == "NONSENSE":
            client.has_failed = client.queue is not None
            return resp.Error(
                b"ERR unknown command 'NONSENSE', with args beginning with: ")
        if words[0] == "ZREM" and len(words) < 3:
            client.has_failed = client.queue is not None
            return resp.Error(b"ERR wrong number of arguments for 'zrem' command")
        if client.queue is not None:
            client.queue.append(words)
            return QUEUED
        if words[0] == "UNWATCH":
            return self.do_unwatch(client)
        return self.run(client, words)

    def do_unwatch(self, client):
        client.watches = {}
        client.is_touched = False
        return OK

    def settle(self):
        """Those who do not wait any more go on with what they sent meanwhile: in the order
        in which they were woken, when the one who woke them has run all of its own."""
        while self.woken:
            client = self.woken.popleft()
            while client.behind and client.waits_for is None:
                self.request(client, client.behind.popleft())

    def n_waiting(self):
        return sum(client.waits_for is not None for client in self.clients)


class Driver:
    """Clients of a server and of the model, side by side."""

    KEYS = ("k0", "k1", "k2")
    N_CLIENTS = 6

    def __init__(self, server, seed, serves_as_7_0, waiting_share=0.25, knows=(),
                 waits_for_hang_up=True):
        self.server = server
        self.random = random.Random(seed)
        self.model = Model(serves_as_7_0)
        self.waiting_share = waiting_share
        self.knows = set(knows)
        self.waits_for_hang_up = waits_for_hang_up
        self.observer = server.connect()
        self.observer.command("FLUSHALL")
        self.conns = {}
        self.ids = {}
        self.n_made = 0
        self.n_commands = 0
        self.trace = []
        for _ in range(self.N_CLIENTS):
            self.connect()

    def connect(self):
        version = self.random.choice((2, 3))
        client = Client(self.n_made, version)
        self.n_made += 1
        conn = self.server.connect(resp=version)
        self.conns[client] = conn
        self.ids[client] = conn.command("CLIENT", "ID")
        self.model.clients.append(client)

    def close(self):
        for conn in (*self.conns.values(), self.observer):
            conn.close()

    # -- looking at the server --

    def info(self, field):
        for line in self.observer.command("INFO", "clients").splitlines():
            name, _, value = line.partition(b":")
            if name == field.encode():
                return int(value)
        raise KeyError(field)

    def wait_until_blocked(self):
        """The barrier: the server knows of as many clients that wait as the model."""
        for _ in range(200000):
            if self.info("blocked_clients") == self.model.n_waiting():
                return
        raise AssertionError(f"blocked: {self.info('blocked_clients')}, "
                             f"expected {self.model.n_waiting()}")

    def server_us(self):
        seconds, us = self.observer.command("TIME")
        return int(seconds) * 1000000 + int(us)

    # -- what clients do --

    def key(self):
        return self.random.choice(self.KEYS)

    def keys(self):
        return [self.key() for _ in range(self.random.choice((1, 1, 2, 2, 3)))]

    def member(self):
        return self.random.choice("abcd")

    def waiting_words(self, timeout):
        name = self.random.choice(("BZPOPMIN", "BZPOPMAX", "BZMPOP"))
        if name != "BZMPOP":
            return (name, *self.keys(), timeout)
        keys = self.keys()
        count = self.random.choice(((), ("COUNT", "2")))
        return (name, timeout, str(len(keys)), *keys,
                self.random.choice(("MIN", "MAX")), *count)

    def write_words(self):
        choose = self.random.choice
        name = choose(["ZADD"] * 8 + ["ZREM"] * 3 + ["DEL"] * 3 + [
            "SET", "EXPIRE", "PEXPIREAT", "ZCARD", "FLUSHDB", "RENAME", "ECHO"])
        if name == "ZADD":
            pairs = [(str(choose(range(4))), self.member())
                     for _ in range(choose((1, 1, 2, 3)))]
            return (name, self.key(), *(word for pair in pairs for word in pair))
        if name == "ZREM":
            return (name, self.key(), *(self.member() for _ in range(choose((1, 2)))))
        if name == "RENAME" and "rename" in self.knows:
            source = self.key()
            return (name, source, choose([k for k in self.KEYS if k != source]))
        more = {"SET": ("text",), "EXPIRE": ("1000",), "PEXPIREAT": ("1",)}
        if name in ("ECHO", "RENAME"):
            return ("ECHO", "text")
        return (name,) if name == "FLUSHDB" else (name, self.key(), *more.get(name, ()))

    def words(self, client):
        choose = self.random.choice
        if client.queue is not None and self.random.random() < 0.35:
            return (choose(("EXEC", "EXEC", "EXEC", "EXEC", "DISCARD")),)
        if self.random.random() < self.waiting_share:
            return self.waiting_words("0")
        kind = self.random.random()
        if kind < 0.30 and (client.queue is None or kind < 0.02):
            return (choose(["MULTI"] * 6 + ["EXEC", "DISCARD", "NONSENSE"]),)
        if kind < 0.40:
            return choose([("WATCH", *self.keys())] * 8 + [("UNWATCH",), ("ZREM", "k0")])
        if kind < 0.43:
            return choose((("SELECT", "0"), ("SELECT", "1"), ("RESET",)))
        return self.write_words()

    # -- steps --

    def expect(self):
        """Reads what the model says, in the order of each client's own replies."""
        self.model.settle()
        for client, want in self.model.replies:
            have = self.conns[client].read()
            self.trace.append(f"  {client.number} < {have!r}")
            assert have == want and type(have) is type(want), (
                f"client {client.number} got {have!r} instead of {want!r}\n"
                + "\n".join(self.trace[-60:]))
        self.model.replies = []

    def send(self, client, *commands):
        n_blocks = self.model.n_blocks
        self.conns[client].send(b"".join(resp.encode(*words) for words in commands))
        for words in commands:
            self.trace.append(f"{client.number} > {' '.join(words)}")
            self.n_commands += 1
            self.model.request(client, words)
        self.expect()
        if self.model.n_blocks > n_blocks:
            self.wait_until_blocked()

    def try_timeout(self, client):
        """Waits for a short time; nobody else does anything meanwhile."""
        if client.waits_for is not None or client.queue is not None:
            return
        ms = self.random.choice((1, 10, 20))
        words = self.waiting_words(str(ms / 1000))
        before_us = self.server_us()
        self.trace.append(f"{client.number} > {' '.join(words)}")
        self.conns[client].send(resp.encode(*words))
        self.model.request(client, words)
        if client.waits_for is not None:
            self.model.release(client, client.null())
            self.expect()
            assert self.server_us() - before_us >= ms * 1000
        self.expect()

    def unblock(self, client):
        how = self.random.choice(((), ("TIMEOUT",), ("ERROR",)))
        self.trace.append(f"unblock {client.number} {how}")
        n = self.observer.command("CLIENT", "UNBLOCK", str(self.ids[client]), *how)
        assert n == (client.waits_for is not None)
        if client.waits_for is not None:
            self.model.release(client, UNBLOCKED if how == ("ERROR",) else client.null())
        self.expect()
        self.wait_until_blocked()

    def hang_up(self, client):
        self.trace.append(f"{client.number} hangs up")
        self.conns.pop(client).close()
        self.model.leave_queues(client)
        self.model.clients.remove(client)
        if self.waits_for_hang_up:
            self.wait_until_blocked()
        self.connect()

    def swap(self, client):
        """Only where at most one key gets ready, since the order of several is open."""
        model = self.model
        if "swapdb" not in self.knows or client.waits_for or client.queue is not None:
            return
        ready = [(db, key) for (db, key), queue in model.queues.items()
                 if queue and isinstance(model.dbs[1 - db].get(key), dict)]
        if len(ready) <= 1:
            self.send(client, ("SWAPDB", "0", "1"))

    def may_send(self, client, n):
        """A server may let others have a turn between two commands of a client. So that
        all can be predicted, there is one client at most that has sent more than what runs
        at once."""
        ahead = [c for c in self.model.clients if c.behind and c is not client]
        return not ahead or (n == 1 and client.waits_for is None)

    def step(self):
        clients = self.model.clients
        if self.random.random() < 0.85:  # mostly one that runs what it sends
            clients = [c for c in clients if c.waits_for is None] or clients
        client = self.random.choice(clients)
        kind = self.random.random()
        if self.model.n_waiting() == len(self.model.clients):
            kind = 0.02 + kind * 0.06  # everyone waits: free somebody
        if kind < 0.02:
            self.try_timeout(client)
        elif kind < 0.06:
            self.unblock(client)
        elif kind < 0.08:
            self.hang_up(client)
        elif kind < 0.10:
            self.swap(client)
        else:
            n = 3 if kind < 0.20 else 1
            if self.may_send(client, n):
                self.send(client, *(self.words(client) for _ in range(n)))

    def check_keys(self):
        for db, keys in enumerate(self.model.dbs):
            self.observer.command("SELECT", str(db))
            for key in self.KEYS:
                value = keys.get(key)
                kind = {dict: b"zset", bytes: b"string"}.get(type(value), b"none")
                assert self.observer.command("TYPE", key) == kind, (db, key)
                if kind == b"zset":
                    names = sorted(value, key=lambda m: (value[m], m))
                    have = self.observer.command("ZRANGE", key, "0", "-1")
                    assert have == [name.encode() for name in names]
        assert self.info("blocked_clients") == self.model.n_waiting()

    def run(self, n_steps):
        for i in range(n_steps):
            self.step()
            if i % 50 == 0:
                self.check_keys()
        self.check_keys()


def known_commands(server):
    """Of those that the driver can do without."""
    with server.connect() as conn:
        return [name for name in ("rename", "swapdb")
                if conn.command("COMMAND", "INFO", name)[0] not in (None, resp.NULL_ARRAY)]
