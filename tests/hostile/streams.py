"""Draws hostile byte streams: what a client could send that is broken, or means harm.

Stream number i of a seed is always the same. It starts, maybe, with a few whole requests
that put the connection into a state (logged in, RESP3, subscribed, inside MULTI, ...);
then come pieces: valid commands drawn from COMMAND DOCS, commands of the wire cases, bytes
that only look like the protocol, and noise. Most streams are then mutated."""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wire"))

from resp import encode  # noqa: E402

CASES = pathlib.Path(__file__).resolve().parents[1] / "wire" / "cases"
SEEDS = pathlib.Path(__file__).resolve().parents[1] / "seeds"
PASSWORD = b"a-password"
USER = b"hostile"
N_DATABASES = 4

# What even the user without a password must not do: end the server, its log of clients, or
# the good client; ACL sees to that.
RIGHTS = """on nopass ~* &* +@all -shutdown -debug -config|set -config|rewrite -flushall
 -flushdb -swapdb -client|kill -client|pause -client|unblock -acl|setuser -acl|deluser -acl|load
 -acl|save -replicaof -slaveof -failover -sync -psync""".split()
# The same for streams that log in with all rights, and so are on the server's fast path.
FORBIDDEN = re.compile(rb"shutdown|debug|config|flush|swapdb|kill|pause|unblock|acl|"
                       rb"\\x", re.IGNORECASE)

EDGES = [b"0", b"-0", b"-1", b"1", b"2147483647", b"2147483648", b"-2147483649", b"4294967296",
         b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
         b"-9223372036854775809", b"18446744073709551615", b"18446744073709551616",
         b"999999999999999999999999", b"", b"+1", b" 1", b"01", b"0x10", b"1e18", b"1e400",
         b"-1e-400", b"nan", b"inf", b"-inf", b"1.7976931348623157e308", b"5e-324", b"(1", b"[a",
         b"+", b"-", b"\x00", b"a" * 300, b"\xff\xfe", b"\r\n", b"*"]
LENGTHS = [b"$-1\r\n", b"$-2\r\n", b"*-1\r\n", b"*0\r\n", b"*1000000\r\n", b"*1048577\r\n",
           b"*2147483647\r\n", b"*2147483648\r\n", b"$536870912\r\n", b"$536870913\r\n",
           b"$100000000\r\n", b"$16385\r\n", b"*11\r\n", b"$9223372036854775807\r\n",
           b"*99999999999999999999\r\n", b"$ 1\r\n", b"$+1\r\n", b"$01\r\n", b"*\r\n", b"$\r\n",
           b"$1", b"\r", b"\n", b"\r\n", b"\x00"]
PREFIXES = b"*$+-:_,#!=(%~>|.\x00"


FREQUENT = (b"geo", b"sorted-set", b"string", b"generic", b"transactions", b"pubsub")


def lines_of(path):
    return [line for line in path.read_bytes().splitlines()
            if line and not line.startswith((b"#", b"==", b"<"))]


def recorded():
    """Streams that other tests use: lines become inline requests."""
    lines = [line.removeprefix(b"> ") + b"\r\n"
             for name in ("commands.txt", "odd_arguments.txt") for line in lines_of(CASES / name)]
    whole = [path.read_bytes() for folder in ("request", "server")
             for path in sorted((SEEDS / folder).iterdir())]
    return [data for data in lines + whole if len(data) < 4096]


class Grammar:
    """Valid words for every command, from the server's own COMMAND DOCS."""

    def __init__(self, docs):
        self.commands, self.frequent = [], []
        for name, doc in zip(docs[::2], docs[1::2]):
            self._add([name], dict(zip(doc[::2], doc[1::2])))

    def _add(self, words, doc):
        sub = doc.get(b"subcommands", [])
        for name, inner in zip(sub[::2], sub[1::2]):
            self._add([words[0], name.rpartition(b"|")[2]], dict(zip(inner[::2], inner[1::2])))
        if not sub:
            command = (words, doc.get(b"arguments", []))
            self.commands.append(command)
            if doc[b"group"] in FREQUENT:
                self.frequent.append(command)

    def draw(self, rng):
        words, arguments = rng.choice(rng.choice([self.commands, self.frequent]))
        words = list(words)
        for argument in arguments:
            self._argument(rng, argument, words)
        return words

    def _argument(self, rng, flat, out):
        argument = dict(zip(flat[::2], flat[1::2]))
        flags = argument.get(b"flags", [])
        if b"optional" in flags and rng.random() < 0.5:
            return
        n = rng.choice([1, 1, 2, 3, 8]) if b"multiple" in flags else 1
        for i in range(n):
            token = argument.get(b"token")
            if token is not None and (i == 0 or b"multiple_token" in flags):
                out.append(token)
            self._value(rng, argument, out)

    def _value(self, rng, argument, out):
        kind = argument[b"type"]
        inner = argument.get(b"arguments", [])
        if kind == b"oneof":
            self._argument(rng, rng.choice(inner), out)
        elif kind == b"block":
            for each in inner:
                self._argument(rng, each, out)
        elif kind == b"key":
            out.append(rng.choice([b"g", b"z", b"s", b"k%d" % rng.randrange(20)]))
        elif kind == b"integer":
            out.append(rng.choice([b"0", b"1", b"1", b"2", b"2", b"3", b"10", b"-1", rng.choice(EDGES)]))
        elif kind == b"double":
            out.append(rng.choice([b"13.361389", b"38.115556", b"0.1", b"1", b"200", b"-5",
                                   b"1000", rng.choice(EDGES)]))
        elif kind == b"unix-time":
            out.append(b"%d" % rng.choice([1, 2000000000, 2000000000000]))
        elif kind != b"pure-token":
            out.append(rng.choice([b"m", b"a", b"b*", b"v" * rng.randrange(60),
                                   rng.choice(EDGES)]))


STATES = [
    [],
    [],
    [[b"HELLO", b"3"]],
    [[b"MULTI"]],
    [[b"WATCH", b"k1", b"z"], [b"MULTI"]],
    [[b"SUBSCRIBE", b"a", b"b"], [b"PSUBSCRIBE", b"*"]],
    [[b"HELLO", b"3"], [b"SUBSCRIBE", b"a"], [b"SSUBSCRIBE", b"s"]],
    [[b"HELLO", b"3"], [b"CLIENT", b"TRACKING", b"ON"]],
    [[b"HELLO", b"3"], [b"CLIENT", b"TRACKING", b"ON", b"BCAST", b"PREFIX", b"k"]],
    [[b"MONITOR"]],
    [[b"CLIENT", b"REPLY", b"OFF"]],
    [[b"CLIENT", b"REPLY", b"SKIP"]],
    [[b"SELECT", b"2"]],
]
LOGINS = [[[b"AUTH", USER, b"x"]]] * 3 + [[[b"AUTH", PASSWORD]]] * 2 + [[]]


class Stream:
    """One stream: `data`, and where the client stops for a moment (`cuts`)."""

    def __init__(self, data, cuts, ending):
        self.data, self.cuts, self.ending = data, cuts, ending

    def pieces(self):
        at = 0
        for cut in [*self.cuts, len(self.data)]:
            yield self.data[at:cut]
            at = cut


# How the client leaves: it ends its side and reads all; resets; ends its side and goes
# without reading; just goes; stays, and reads nothing; stays in the middle, and reads.
ENDINGS = ["drain"] * 5 + ["reset"] * 2 + ["half", "close", "stay", "read"]


class Streams:
    def __init__(self, seed, docs):
        self.seed = seed
        self.grammar = Grammar(docs)
        self.recorded = recorded()

    def draw(self, number):
        rng = random.Random(f"{self.seed} {number}")
        login = rng.choice(LOGINS)
        state = rng.choice(STATES)
        head = b"".join(encode(*words) for words in [*login, *state])
        body = self._body(rng)
        if rng.random() < 0.75:
            body = self._mutate(rng, body)
        if rng.random() < 0.1:
            head = self._mutate(rng, head)
        data = head + body
        if login and login[0][1] == PASSWORD and FORBIDDEN.search(data):
            data = data.replace(encode(*login[0]), encode(b"AUTH", USER, b"x"), 1)
            data = data.replace(PASSWORD, b"no-password")
        n_cuts = rng.choice([0, 0, 1, 2, 8])
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(n_cuts))
        return Stream(data, cuts, rng.choice(ENDINGS))

    def _body(self, rng):
        return b"".join(self._piece(rng) for _ in range(rng.choice([1, 2, 4, 10, 30])))

    def _piece(self, rng):
        kind = rng.random()
        if kind < 0.6:
            return encode(*self.grammar.draw(rng))
        if kind < 0.8:
            return rng.choice(self.recorded)
        if kind < 0.9:
            return self._like_protocol(rng)
        if kind < 0.95:
            return rng.randbytes(rng.randrange(200))
        return encode(*self.grammar.draw(rng)) * rng.choice([2, 20, 200])

    @staticmethod
    def _like_protocol(rng):
        parts = []
        for _ in range(rng.randrange(1, 12)):
            parts.append(rng.choice([
                rng.choice(LENGTHS), rng.choice(EDGES),
                b"%c%d\r\n" % (rng.choice(PREFIXES), rng.randrange(-3, 40)),
                bytes(rng.choice(b"*$\r\n0123456789 \"'\\xaG") for _ in range(rng.randrange(20))),
            ]))
        return b"".join(parts)

    def _mutate(self, rng, data):
        data = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 5, 20])):
            if not data:
                break
            rng.choice(MUTATIONS)(rng, data, self)
            del data[1 << 18:]
        return bytes(data)


def flip(rng, data, _):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def put_byte(rng, data, _):
    data[rng.randrange(len(data))] = rng.randrange(256)


def truncate(rng, data, _):
    del data[rng.randrange(len(data)):]


def remove(rng, data, _):
    at = rng.randrange(len(data))
    del data[at:at + rng.choice([1, 2, 8, 100])]


def repeat(rng, data, _):
    at = rng.randrange(len(data))
    piece = bytes(data[at:at + rng.choice([1, 4, 30, 300])])
    data[at:at] = piece * rng.choice([1, 2, 10, 100])


def splice(rng, data, streams):
    other = rng.choice(streams.recorded)
    at, start = rng.randrange(len(data)), rng.randrange(len(other))
    data[at:at + rng.randrange(40)] = other[start:start + rng.randrange(1, 200)]


def swap_ends(rng, data, _):
    at = rng.randrange(len(data))
    data[:] = data[at:] + data[:at]


def lie(rng, data, _):
    """Changes a length to another one: near it, or far from it."""
    found = list(re.finditer(rb"[*$](\d+)\r\n", data))
    if not found:
        return
    match = rng.choice(found)
    value = int(match[1])
    new = rng.choice([value + 1, value - 1, value * 2, value + 100000, 2**31 - 1, 2**63 - 1,
                      -value, 10**25])
    data[match.start(1):match.end(1)] = b"%d" % new


def put_length(rng, data, _):
    at = rng.randrange(len(data))
    data[at:at] = rng.choice(LENGTHS)


def put_edge(rng, data, _):
    """Puts an odd value in the place of an argument, its length right."""
    found = list(re.finditer(rb"\$(\d{1,5})\r\n", data))
    if not found:
        return
    match = rng.choice(found)
    word = rng.choice(EDGES)
    data[match.start():match.end() + int(match[1])] = b"$%d\r\n%s" % (len(word), word)


MUTATIONS = [flip, put_byte, truncate, remove, repeat, splice, swap_ends, lie, lie, put_length,
             put_edge, put_edge]
