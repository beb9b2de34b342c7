"""Runs steps of commands beside each other on two servers, several clients a server, and
compares all replies byte for byte, and what the databases hold.

A step is (client, commands): a pipeline of one client. No step begins before all replies
of the one before are there, so both servers see one order of commands. A client that
blocks is left waiting (CLIENT LIST says so), its later steps are skipped, and after each
step of another the same clients must have been served on both sides."""
import select
import time

import explain_values
from differential import SHRINK_S, Failure
from explain import Unexplained, first_difference, shorten
from explain_values import Case
from generate_values import BLOCKING, N_CLIENTS
from resp import Connection, encode, parse
from shrink import show, shrink_list
from value_words import DATABASES

WAIT_S = 30
PSEUDO = b"!"
EVENTS = b"__keyevent@"


class Client(Connection):
    """A connection that can send now and read later."""

    def ask(self, commands):
        """The raw replies of a pipeline."""
        self.send(b"".join(encode(*words) for words in commands))
        return [self.read_raw() for _ in commands]

    def has_reply(self):
        if self.reader.pending():
            return True
        return bool(select.select([self.sock], [], [], 0)[0])


class Side:
    """One server: its clients, and a connection that watches."""

    def __init__(self, server, protocols, client_class=Client):
        def connect(resp):
            return client_class(server.path, resp=resp)

        self.connect = connect
        self.clients = [connect(resp) for resp in protocols]
        self.ids = [client.command("CLIENT", "ID") for client in self.clients]
        self.path = server.path
        self.control = Client(self.path)
        self.listener = None

    def listen(self, classes):
        """From now on, key events of these classes are kept for `events`."""
        self.control.command("CONFIG", "SET", "notify-keyspace-events", classes)
        if classes:
            self.listener = Client(self.path)
            self.listener.command("PSUBSCRIBE", EVENTS + b"*")

    def events(self):
        """What was told since the last call: [(channel, key)]. Keys that expire are left
        out: when a server finds them is its own affair."""
        self.control.command("PUBLISH", EVENTS + b"end", "")
        found = []
        while True:
            _, _, channel, key = self.listener.read()
            if channel == EVENTS + b"end":
                return found
            if not channel.endswith(b":expired"):
                found.append((channel[len(EVENTS) :], key))

    def listed(self):
        """CLIENT LIST: the fields of each client, by its number."""
        found = {}
        for line in self.control.command("CLIENT", "LIST").decode().splitlines():
            fields = dict(part.partition("=")[::2] for part in line.split(" "))
            if int(fields["id"]) in self.ids:
                found[self.ids.index(int(fields["id"]))] = fields
        return found

    def blocked(self):
        """The numbers of the clients that wait in a blocking command."""
        return {n for n, fields in self.listed().items() if "b" in fields["flags"]}

    def database(self, client):
        return self.listed()[client]["db"].encode()

    def replace(self, client, resp):
        """A new connection in the place of one that waits."""
        self.clients[client].close()
        gone = b"id=%d " % self.ids[client]
        await_condition(
            lambda: gone not in self.control.command("CLIENT", "LIST"),
            f"client {client} has gone and is still listed",
        )
        self.clients[client] = self.connect(resp)
        self.ids[client] = self.clients[client].command("CLIENT", "ID")

    def clear(self):
        """Empties the server, after all clients of an earlier run have left it."""
        await_condition(
            lambda: b"flags=b" not in self.control.command("CLIENT", "LIST"),
            "a client of an earlier run still waits",
        )
        assert self.control.command("FLUSHALL") == b"OK"

    def now_us(self):
        seconds, microseconds = self.control.command("TIME")
        return int(seconds) * 1_000_000 + int(microseconds)

    def close(self):
        for client in [*self.clients, self.control, self.listener]:
            if client is not None:
                client.close()


def await_condition(condition, fault):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(fault)


class Diverged(Exception):
    """An allowed difference after which the servers hold different things."""


class Transaction:
    """What a client has queued, followed by its words alone."""

    def __init__(self, queue=None):
        self.queue = queue

    def note(self, words):
        """Returns the queue that this command executes, or None."""
        name = words[0].upper()
        if self.queue is None:
            if name == b"MULTI" and len(words) == 1:
                self.queue = []
            return None
        if name == b"EXEC" or (name == b"DISCARD" and len(words) == 1):
            queue, self.queue = self.queue, None  # an EXEC with more words ends it, too
            return queue if name == b"EXEC" else None
        if name not in (b"MULTI", b"WATCH"):
            self.queue.append(words)
        return None


def list_or_none(queue):
    return None if queue is None else list(queue)


class Run:
    """Steps on both servers, from empty ones on. `counts` counts allowed differences."""

    def __init__(
        self,
        servers,
        counts,
        protocols,
        client_classes=(Client, Client),
        patience_s=5,
        events="",
    ):
        self.counts, self.protocols = counts, protocols
        self.sides = [
            Side(server, protocols, cls) for server, cls in zip(servers, client_classes)
        ]
        for side in self.sides:
            side.clear()
            side.listen(events)
        self.hears_events = bool(events)
        self.transactions = [Transaction() for _ in range(N_CLIENTS)]
        self.patience_s = patience_s  # until both have served a client
        self.waiting = {}  # client: words of its blocking command
        self.n_expired, self.expired = 0, set()
        self.n_commands = 0

    def close(self):
        for side in self.sides:
            side.close()

    def step(self, client, commands):
        if commands[0] == [b"!leave"]:
            self.leave(client)
            return
        rest = self.without_chance(list(commands))
        while rest and client not in self.waiting:
            n = self.n_together(client, rest)
            self.piece(client, rest[:n])
            del rest[:n]
            if self.waiting:
                self.collect(self.waiting)
        if self.hears_events:
            self.compare_events(client, commands)

    def n_together(self, client, commands):
        """How many of these commands may go in one pipeline: one that may block goes alone.
        Most stand alone already; but a client that waited has missed its MULTI."""
        queue = list_or_none(self.transactions[client].queue)
        ahead = Transaction(queue)
        for i, words in enumerate(commands):
            is_alone = words[0].startswith(PSEUDO) or (
                ahead.queue is None and words[0].upper() in BLOCKING
            )
            if is_alone:
                return max(i, 1)
            ahead.note(words)
        return len(commands)

    def piece(self, client, commands):
        first = commands[0]
        in_multi = self.transactions[client].queue is not None
        self.n_commands += len(commands)
        for words in filter(may_expire_at_once, commands):
            self.n_expired += 1
            self.expired.update(words[1:3])
        if first[0].startswith(PSEUDO):
            if not in_multi:
                self.pseudo(client, first)
        elif first[0].upper() in BLOCKING and not in_multi:
            self.may_block(client, first)
        else:
            self.compare_pipeline(client, commands)

    # ---- comparisons ----

    def ask(self, client, commands):
        return [side.clients[client].ask(commands) for side in self.sides]

    def compare_pipeline(self, client, commands):
        ours, theirs = self.ask(client, commands)
        for i, words in enumerate(commands):
            queue = self.transactions[client].note(words)
            if ours[i] == theirs[i]:
                continue
            following = (commands[i + 1], theirs[i + 1]) if i + 1 < len(commands) else None
            self.explain(client, words, ours[i], theirs[i], following, queue)

    def explain(self, client, words, ours, theirs, following=None, queue=None):
        try:
            if queue is not None:
                names = explain_values.explain_exec(ours, theirs, queue, self.n_expired)
            else:
                names = explain_values.explain(
                    Case(words, ours, theirs, following, self.n_expired)
                )
        except Unexplained as fault:
            self.fail(client, words, ours, theirs, fault)
        for name in names:
            self.counts[name] += 1

    def fail(self, client, words, ours, theirs, fault):
        if self.waiting:
            waiting, self.waiting = self.waiting, {}
            self.collect(waiting)  # that one is served otherwise may be why
        failure = Failure(
            f"client {client} (RESP{self.protocols[client]}): {fault}\n"
            f"{show([words])}\nyonder: {shorten(ours)}\nredis:  {shorten(theirs)}\n"
            f"{first_difference(ours, theirs)}"
        )
        failure.name = words[0].upper()
        raise failure

    def compare_events(self, client, commands):
        """The events of a step: the same ones in the same order."""
        ours, theirs = (side.events() for side in self.sides)
        if ours == theirs or commands[0][0] == b"!expire":
            return  # PEXPIRE key 1 may find its time over, and delete
        ours, theirs = self.without_expired(ours), self.without_expired(theirs)
        mine, other = new_apart(ours), new_apart(theirs)
        is_restore = commands[0][0] == b"!dump"
        if ours != theirs and (mine == other or (is_restore and mine[1] == other[1])):
            self.counts[explain_values.NEW_KEYS] += 1
        elif ours != theirs:
            texts = [b"\n".join(b" ".join(event) for event in e) for e in (ours, theirs)]
            self.fail(client, commands[-1], *texts, "events of this step differ")

    def without_expired(self, events):
        """Redis tells of the removal of a key that has expired, if it is still there."""
        return [
            (channel, key)
            for channel, key in events
            if not (channel.endswith(b":del") and key in self.expired)
        ]

    # ---- clients that wait ----

    def may_block(self, client, words):
        for side in self.sides:
            side.clients[client].send(encode(*words))
        if must_answer(words):
            self.read_one(client, words)
            return
        blocked = [self.is_left_waiting(side, client) for side in self.sides]
        if blocked[0] != blocked[1]:
            self.fail(client, words, *describe(blocked), "one waits, the other does not")
        if blocked[0]:
            self.waiting[client] = words
        else:
            self.read_one(client, words)

    def is_left_waiting(self, side, client):
        state = {}

        def is_known():
            # In this order: a client that has been served is no longer listed.
            state["blocked"] = client in side.blocked()
            state["replied"] = side.clients[client].has_reply()
            return state["blocked"] or state["replied"]

        await_condition(is_known, f"client {client} neither waits nor has a reply")
        return not state["replied"]

    def read_one(self, client, words):
        ours, theirs = (side.clients[client].read_raw() for side in self.sides)
        if ours != theirs:
            self.explain(client, words, ours, theirs)

    def collect(self, waiting):
        """Reads the replies of those that wait no longer."""
        found = []

        def is_same():
            found[:] = [side.blocked() & set(waiting) for side in self.sides]
            return found[0] == found[1]

        start = time.monotonic()
        while not is_same():
            if time.monotonic() > start + min(self.patience_s, 0.1):
                self.check_left_waiting(found[1] - found[0], waiting)
                for client in sorted(set(waiting) - found[0] - found[1]):
                    self.read_served(client, waiting.pop(client))  # may be why
            if time.monotonic() > start + self.patience_s:
                client = min(found[0] ^ found[1])
                still = [client in blocked for blocked in found]
                self.fail(
                    client, waiting[client], *describe(still), "one still waits"
                )
        for client in sorted(set(waiting) - found[0]):
            self.read_served(client, waiting.pop(client))

    def read_served(self, client, words):
        """The reply of a client that has waited."""
        ours, theirs = (side.clients[client].read_raw() for side in self.sides)
        if ours == theirs:
            return
        name = self.served_as_in_8(client, words, ours, theirs)
        if name is None:
            self.explain(client, words, ours, theirs)
            return
        self.counts[name] += 1
        raise Diverged

    def served_as_in_8(self, client, words, ours, theirs):
        """Redis 7.0 serves a client from the key that has come. 8.0 and Yonder run its
        command anew: that may meet an earlier key that holds no set, or one that came
        later."""
        if not theirs.startswith(b"*"):
            return None
        keys = keys_of(words)
        before = keys[: keys.index(parse(theirs)[0])]
        if ours.startswith(b"*") and parse(ours)[0] in before:
            return explain_values.FIRST_KEY
        if ours.startswith(b"-WRONGTYPE"):
            types = self.sides[0].clients[client].ask([[b"TYPE", key] for key in before])
            if b"+string\r\n" in types:
                return explain_values.WRONG_TYPE
        return None

    def check_left_waiting(self, clients, waiting):
        """Redis leaves a client waiting whose key held something else before a set was
        stored over it. Proof: in Redis a key that the client waits for has members."""
        for client in clients:
            looks = [[b"SELECT", self.sides[1].database(client)]]
            looks += [[b"ZCARD", key] for key in keys_of(waiting[client])]
            counts = map(parse, self.sides[1].control.ask(looks)[1:])
            if any(type(count) is int and count > 0 for count in counts):
                self.counts[explain_values.LEFT_WAITING] += 1
                raise Diverged

    def leave(self, client):
        if client not in self.waiting:
            return
        del self.waiting[client]
        self.transactions[client] = Transaction()
        for side in self.sides:
            side.replace(client, self.protocols[client])

    def without_chance(self, commands):
        """Which of several keys Redis serves first after SWAPDB hangs on the seed of its
        hash: no SWAPDB while clients wait for several keys."""
        if sum(len(keys_of(words)) for words in self.waiting.values()) < 2:
            return commands
        kept = []
        for words in commands:
            queues = [transaction.queue or [] for transaction in self.transactions]
            if words[0].upper() == b"SWAPDB":
                continue
            if words[0].upper() == b"EXEC" and any(map(swaps, queues)):
                words = [b"DISCARD"]
            kept.append(words)
        return kept

    # ---- pseudo commands ----

    def pseudo(self, client, words):
        methods = {
            b"!state": self.compare_state,
            b"!expire": self.let_expire,
            b"!scan": self.compare_scan,
            b"!dump": self.cross_dump,
        }
        methods[words[0]](client, *words[1:])

    def let_expire(self, client, *keys):
        """Keys expire; nobody looks at them before the next command does."""
        self.compare_pipeline(client, [[b"PEXPIRE", key, b"1"] for key in keys])
        self.n_expired += len(keys)
        self.expired.update(keys)
        for side in self.sides:
            end = side.now_us() + 2000
            await_condition(lambda: side.now_us() > end, "the clock stands")

    def compare_scan(self, client, *words):
        ours, theirs = (scan(side.clients[client], list(words)) for side in self.sides)
        if ours != theirs:
            mine, other = repr(ours).encode(), repr(theirs).encode()
            self.fail(client, [b"!scan", *words], mine, other, "a whole iteration")

    def cross_dump(self, client, key, to, *rest):
        ours, theirs = ([raw for (raw,) in self.ask(client, [[b"DUMP", key]])])
        if ours != theirs:
            self.explain(client, [b"DUMP", key], ours, theirs)
        payloads = parse(ours), parse(theirs)
        if not all(type(payload) is bytes for payload in payloads):
            return
        replies = []
        for side, payload in zip(self.sides, reversed(payloads)):
            ttl, *options = rest
            words = [b"RESTORE", to, ttl, payload, *options]
            replies += side.clients[client].ask([words])
        self.n_expired += 1
        if replies[0] != replies[1]:
            words = [b"!dump", key, to, *rest]
            fault = f"RESTORE of {shorten(payloads[1])} here, of {shorten(payloads[0])} there"
            self.fail(client, words, *replies, fault)

    def compare_state(self, client=0):
        """All keys of all databases: type, value, expiry and encoding."""
        for database in DATABASES:
            select_words = [b"SELECT", b"%d" % database]
            lists = [
                sorted(parse(side.control.ask([select_words, [b"KEYS", b"*"]])[1]))
                for side in self.sides
            ]
            self.same_state(client, select_words, [b"KEYS", b"*"], *map(bulks, lists))
            for key in lists[0]:
                self.compare_key(client, select_words, key)

    def compare_key(self, client, select_words, key):
        looks = [
            [b"TYPE", key],
            [b"OBJECT", b"ENCODING", key],
            [b"PEXPIRETIME", key],
            [b"GET", key],
            [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"],
        ]
        answers = zip(looks, *(side.control.ask(looks) for side in self.sides))
        for words, ours, theirs in answers:
            self.same_state(client, select_words, words, ours, theirs)

    def same_state(self, client, select_words, words, ours, theirs):
        if ours == theirs:
            return
        try:
            for name in explain_values.explain(Case(words, ours, theirs)):
                self.counts[name] += 1
        except Unexplained:
            fault = f"what the servers hold differs ({b' '.join(select_words).decode()})"
            self.fail(client, words, ours, theirs, fault)


def may_expire_at_once(words):
    """Could this command leave a key that has already expired? Roughly: it may be in DBSIZE."""
    return any(word.upper() in (b"PXAT", b"EXAT", b"ABSTTL") for word in words)


def must_answer(words):
    """WAIT in the forms that are drawn, and a timeout that is soon over."""
    name = words[0].upper()
    if name == b"WAIT" or len(words) < 3:
        return True
    try:
        return 0 < float(words[1 if name == b"BZMPOP" else -1]) <= 1
    except ValueError:
        return True


def new_apart(events):
    """The events of new keys, sorted, and all others in their order."""
    is_new = [channel.endswith(b":new") for channel, _ in events]
    return (
        sorted(event for event, new in zip(events, is_new) if new),
        [event for event, new in zip(events, is_new) if not new],
    )


def keys_of(words):
    """The keys that a blocking command waits for."""
    if words[0].upper() == b"BZMPOP":
        return words[3 : 3 + int(words[2])]
    return words[1:-1]


def swaps(queue):
    return any(words[0].upper() == b"SWAPDB" for words in queue)


def describe(waits):
    return [b"waits" if wait else b"has a reply" for wait in waits]


def bulks(items):
    return b"".join(encode(item) for item in items)


def scan(client, words):
    """A whole iteration: the elements, sorted, without repetitions; or the error."""
    at = 1 if words[0] == b"SCAN" else 2
    elements, words = set(), list(words)
    for _ in range(100_000):
        (raw,) = client.ask([words])
        reply = parse(raw)
        if not isinstance(reply, list):
            return raw
        if words[0] == b"SCAN":
            elements.update(reply[1])
        else:
            elements.update(
                (reply[1][i], float(reply[1][i + 1])) for i in range(0, len(reply[1]), 2)
            )
        words[at] = reply[0]
        if reply[0] == b"0":
            return sorted(elements)
    raise Failure(f"no end of {words!r}")


# ---- a run, and what is left of it when it fails ---------------------------------


def run_steps(servers, steps, counts, protocols, client_classes=(Client, Client), **more):
    """Runs all steps and returns the number of commands, or raises Failure."""
    run = Run(servers, counts, protocols, client_classes, **more)
    try:
        for at, (client, commands) in enumerate(steps):
            try:
                run.step(client, commands)
            except Failure as fault:
                fault.at = at
                raise
            except Diverged:
                return run.n_commands
    finally:
        run.close()
    return run.n_commands


def one_by_one(steps):
    return [(client, [words]) for client, commands in steps for words in commands]


def diverges_in_step(servers, steps, at, protocols):
    """Is there an allowed difference after which the servers hold different things, in the
    step number `at`? A pipeline may hide it: run one by one, its commands show it."""
    n_before = len(one_by_one(steps[:at]))
    run = Run(servers, FORGOTTEN, protocols)
    try:
        for n, (client, commands) in enumerate(one_by_one(steps[: at + 1])):
            try:
                run.step(client, commands)
            except Failure:
                return False
            except Diverged:
                return n >= n_before
    finally:
        run.close()
    return False


def shrink_steps(servers, steps, protocols, events, first_fault):
    """The smallest list of steps found that still fails, and its fault."""
    deadline = time.monotonic() + SHRINK_S
    last = [first_fault]

    def fails(part):
        try:
            run_steps(
                servers, part, FORGOTTEN, protocols, patience_s=0.2, events=events
            )
        except Failure as fault:
            if fault.name == first_fault.name:
                last[0] = fault
                return True
        return False

    single = one_by_one(steps)
    start = single if fails(single) else steps
    short = shrink_list(start, fails, deadline) if fails(start) else start
    return short, last[0]


class Forgetful(dict):
    """Counts that nobody reads."""

    def __missing__(self, key):
        return 0


FORGOTTEN = Forgetful()


def show_steps(steps, n_max=100):
    """The last ones of many, and none longer than some lines."""
    lines = [
        f"  {client}> {line.strip()[:500]}"
        for client, commands in steps
        for line in show(commands).splitlines()
    ]
    return "\n".join(["  ..."] * (len(lines) > n_max) + lines[-n_max:])
