"""Rights on keys, over every command that has some. Each is run, in one form for each way in
which it reaches keys, and it is watched what it really reads and writes: whatever it does is
what COMMAND GETKEYSANDFLAGS tells, and that is what the rights are held against: at once, when
a transaction is filled, when it runs, when a command that waited goes on."""
import time

import pytest

from resp import Error, encode

NOPERM_KEY = b"NOPERM No permissions to access a key"
CHANGED = (b"NOPERM ACLs rules changed between the moment the transaction was accumulated and "
           b"the EXEC call. This command is no longer allowed for the following reason: "
           b"no permission to touch the specified keys")
WRITES = {"insert", "update", "delete"}

# z1, z2, z3: sorted sets; s1, s2: strings; n1, n2: no keys
FORMS = """
append s1 x
bzmpop 0 1 z1 MIN
bzmpop 0 3 n1 z1 z2 MAX COUNT 2
bzpopmax n1 z1 z2 0
bzpopmin z1 z2 0
copy z1 n1
copy z1 z2 REPLACE
decr s1
decrby s1 3
del z1 s1
dump z1
exists z1 s1
expire z1 100
expire s1 100 XX
expireat z1 32503680000 NX
expiretime s1
geoadd z1 1 2 m1
geodist z1 m1 m2
geohash z1 m1
geopos z1 m1 m2
georadius z1 13 52 999 km
georadius z1 13 52 999 km STORE n1
georadius z1 13 52 999 km STOREDIST z2
georadius z1 13 52 999 km STORE n1 STORE z2
georadius z1 13 52 999 km STORE n1 STOREDIST z2
georadius z1 13 52 999 km STOREDIST n1 ASC STORE z2 COUNT 1
georadius z1 13 52 999 km STORE STORE STORE n1
georadius_ro z1 13 52 999 km WITHDIST
georadiusbymember z1 m1 999 km
georadiusbymember z1 m1 999 km STORE n1
georadiusbymember z1 m1 999 km STOREDIST z2 STORE n1 STOREDIST n2
georadiusbymember_ro z1 m1 999 km
geosearch z1 FROMMEMBER m1 BYBOX 999 999 km
geosearchstore n1 z1 FROMLONLAT 13 52 BYRADIUS 999 km
geosearchstore z1 z1 FROMLONLAT 13 52 BYRADIUS 9 km
get s1
getdel s1
getex s1
getex s1 PERSIST
getrange s1 0 1
getset s1 x
incr s1
incrby s1 3
incrbyfloat s1 0.5
memory usage z1
mget s1 s2 n1
move s1 1
mset s1 x n1 y
msetnx n1 x n2 y
object encoding s1
object freq s1
object idletime s1
object refcount s1
persist s1
pexpire z1 100000
pexpireat z1 32503680000000
pexpiretime s1
psetex s1 100000 x
pttl s1
rename z1 n1
rename z1 z2
renamenx z1 n1
restore n1 0 DUMP
restore z1 0 DUMP REPLACE
set s1 x
set n1 x
set s1 x GET
set s1 x XX KEEPTTL
set s1 x EX 100 GET
setex s1 100 x
setnx n1 x
setrange s1 1 x
strlen s1
substr s1 0 1
touch s1 z1
ttl s1
type s1
unlink z1 s1
watch z1 s1
zadd z1 1 m1
zadd z1 GT CH 1 m1 9e15 m2
zadd z1 INCR 1 m1
zcard z1
zcount z1 0 4e15
zdiff 2 z1 z2 WITHSCORES
zdiffstore n1 2 z1 z2
zincrby z1 1 m1
zinter 3 z1 z2 z3 WITHSCORES
zintercard 2 z1 z2
zinterstore z3 2 z1 z2 WEIGHTS 1 2
zlexcount z1 - +
zmpop 2 n1 z1 MIN
zmpop 2 z1 z2 MAX COUNT 2
zmscore z1 m1 m2
zpopmax z1
zpopmin z1 2
zrandmember z1 100 WITHSCORES
zrange z1 0 -1 WITHSCORES
zrangebylex z1 - +
zrangebyscore z1 -inf +inf
zrangestore n1 z1 0 -1
zrangestore z2 z1 0 1
zrank z1 m1
zrem z1 m1
zremrangebylex z1 - +
zremrangebyrank z1 0 0
zremrangebyscore z1 -inf +inf
zrevrange z1 0 -1
zrevrangebylex z1 + -
zrevrangebyscore z1 +inf -inf
zrevrank z1 m1
zscan z1 0
zscore z1 m1
zunion 2 z1 z2 WITHSCORES
zunionstore n1 3 z1 z2 z3
zunionstore z1 1 z1
"""

# What a key holds: as it is, and another value of the same type. s1 has a time to live.
VALUES = {
    "z1": (["GEOADD", "z1", "13.4", "52.5", "m1", "13.5", "52.6", "m2", "13.6", "52.1", "m3"],
           ["GEOADD", "z1", "14.4", "51.5", "m1", "13.1", "52.6", "m2", "13", "52", "m7",
            "13", "52.5", "m8"]),
    "z2": (["GEOADD", "z2", "14.4", "52.7", "m1", "14.5", "52.6", "m4"],
           ["GEOADD", "z2", "14.4", "51.5", "m1", "13.1", "52.9", "m2", "9", "50", "m9"]),
    "z3": (["GEOADD", "z3", "14.4", "52.7", "m1", "14.5", "52.6", "m3"],
           ["GEOADD", "z3", "14.4", "51.5", "m1"]),
    "s1": (["SET", "s1", "10", "PXAT", "32503680000000"],
           ["SET", "s1", "7777777", "PXAT", "33000000000000"]),
    "s2": (["SET", "s2", "text"], ["SET", "s2", "another text"]),
}
KEYS = [*VALUES, "n1", "n2"]

# With these the reply depends on what the key holds, and no right to read it is asked for, as
# in Redis: they tell how long it is, or how much of it they have changed. ZADD INCR tells the
# new score. (docs/security.md)
TELLS_BY_THE_WAY = {"append", "strlen", "setrange", "zcard", "zadd", "zremrangebyscore",
                    "zremrangebylex", "object|refcount"}


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


@pytest.fixture(scope="module")
def server(session_starter):
    """Not the shared one: users would stay."""
    return session_starter.subject()


@pytest.fixture(scope="module")
def world(server):
    with server.connect() as admin:
        admin.command("CONFIG", "SET", "acllog-max-len", "0")
        yield World(admin)


class World:
    """Keys with the same values at the start of each run."""

    def __init__(self, admin):
        self.admin = admin
        admin.command("ZADD", "dumped", "1", "x")
        self.dump = admin.command("DUMP", "dumped")

    def forms(self):
        """[(full name, words)]"""
        found = []
        for line in FORMS.strip().splitlines():
            words = [self.dump if word == "DUMP" else word for word in line.split()]
            is_sub = words[0] in ("object", "memory")
            found.append(("|".join(words[:2]) if is_sub else words[0], words))
        return found

    def keys_of(self, words):
        """{key: flags}, of a key that is named twice all of its flags."""
        found = {}
        for key, flags in self.admin.command("COMMAND", "GETKEYSANDFLAGS", *words):
            found.setdefault(key.decode(), set()).update(flag.decode() for flag in flags)
        return found

    def checked_keys_of(self, words):
        """Those that a user must have: of a GEORADIUS with several destinations all of them,
        though the last one only is written."""
        found, i = self.keys_of(words), 6
        if words[0] in ("georadius", "georadiusbymember"):
            i -= words[0] == "georadiusbymember"
            while i < len(words):
                if words[i] in ("STORE", "STOREDIST"):
                    i += 1
                    found.setdefault(words[i], set()).add("update")
                i += 1
        return found

    def make(self, *other):
        """The keys anew; those named have their other value."""
        replies = self.admin.pipeline(
            [["FLUSHALL"], *(VALUES[key][key in other] for key in VALUES)])
        assert not any(isinstance(reply, Error) for reply in replies), replies

    def look(self):
        """{key: all that there is to know of it}"""
        replies = self.admin.pipeline(
            [words for key in KEYS for words in (["DUMP", key], ["PEXPIRETIME", key])])
        soon = (time.time() + 10000) * 1000
        times = ["soon" if 0 <= at < soon else at for at in replies[1::2]]
        return dict(zip(KEYS, zip(replies[::2], times)))

    def set_user(self, *rules):
        reply = self.admin.command("ACL", "SETUSER", "u", "resetkeys", "clearselectors",
                                   "nocommands", *rules)
        assert reply == b"OK", reply

    def may(self, words):
        return self.admin.command("ACL", "DRYRUN", "u", *words) == b"OK"


@pytest.fixture
def client(world, server):
    """Somebody who has the rights of `u`."""
    world.admin.command("ACL", "SETUSER", "u", "reset", "on", "nopass")
    with server.connect() as client:
        assert client.command("AUTH", "u", "x") == b"OK"
        yield client


def all_with_keys(admin):
    found = set()
    for entry in admin.command("COMMAND"):
        for spec in [entry, *entry[9]]:
            if spec is entry and entry[9]:
                continue
            has_specs = any(b"not_key" not in pairs(s)[b"flags"] for s in spec[8])
            may_move = b"movablekeys" in [bytes(flag) for flag in spec[2]]
            if has_specs or may_move:
                found.add(spec[0].decode())
    return found


# ---- what commands do ----------------------------------------------------------------


def test_no_command_is_missing(world):
    assert {name for name, _ in world.forms()} == all_with_keys(world.admin)


def steady(name, reply):
    """The reply without what differs from call to call."""
    if name == "zrandmember":
        return sorted(reply)
    return {"ttl": lambda: round(reply / 1e8), "pttl": lambda: round(reply / 1e11)}.get(
        name, lambda: reply)()


def run_and_look(world, words, *other):
    world.make(*other)
    before = world.look()
    reply = world.admin.command(*words)
    assert not isinstance(reply, Error) or words[:2] == ["object", "freq"], (words, reply)
    if words[0] == "watch":
        world.admin.command("UNWATCH")
    return before, steady(words[0], reply), world.look()


def test_what_is_written_and_read_is_what_is_told(world):
    """A key whose value is another one afterwards was written; one whose other value leads
    to another reply, or to other values elsewhere, was read."""
    told_by_the_way, written_by, read_by = set(), set(), set()
    for name, words in world.forms():
        flags = world.keys_of(words)
        before, reply, after = run_and_look(world, words)
        for key in KEYS:
            if after[key] != before[key]:
                written_by.add(name)
                assert flags.get(key, set()) & WRITES, (words, key, flags)
        for key in VALUES:
            _, other_reply, other_after = run_and_look(world, words, key)
            if other_reply == reply and all(other_after[k] == after[k]
                                            for k in KEYS if k != key):
                continue
            assert key in flags, (words, key, reply, other_reply)
            if "access" in flags[key]:
                read_by.add(name)
            else:
                told_by_the_way.add(name)
    assert told_by_the_way == TELLS_BY_THE_WAY
    # and the forms above do what they are there for
    for name, words in world.forms():
        for flags in world.keys_of(words).values():
            assert name in written_by or not flags & WRITES, name
            # (MOVE's other database is not looked at)
            assert name in read_by or "access" not in flags or name == "move", name


def test_keys_are_those_that_redis_tells(world, redis):
    """But of a GEORADIUS with several destinations: docs/compat.md, where they are tested."""
    with redis.connect() as oracle:
        for name, words in world.forms():
            if sum(word in ("STORE", "STOREDIST") for word in words) > 1:
                continue
            mine = world.keys_of(words)
            other = {}
            for key, flags in oracle.command("COMMAND", "GETKEYSANDFLAGS", *words):
                other.setdefault(key.decode(), set()).update(f.decode() for f in flags)
            assert mine == other, words


# ---- what users may do ---------------------------------------------------------------


def exact(keys):
    return [f"~{key}" for key in keys]


def test_refused_without_a_key_and_allowed_with_it(world, client):
    n_refused = 0
    for name, words in world.forms():
        keys = world.checked_keys_of(words)
        assert keys
        world.make()
        expected = steady(name, world.admin.command(*words))
        after = world.look()
        world.admin.command("UNWATCH")
        world.set_user("+@all", *exact(keys))
        world.make()
        assert repr(steady(name, client.command(*words))) == repr(expected), words
        assert world.look() == after, words
        for missing in keys:
            world.set_user("+@all", *exact(key for key in keys if key != missing))
            world.make()
            before = world.look()
            assert client.command(*words) == NOPERM_KEY, (words, missing)
            assert client.command("MULTI") == b"OK"
            refused = client.command(*words)
            assert refused == (NOPERM_KEY if name != "watch" else refused), words
            assert client.command("EXEC").startswith(b"EXECABORT"), words
            assert world.look() == before, (words, missing)
            n_refused += 1
    assert n_refused > 150


def test_rights_that_go_before_exec(world, client):
    """What was queued with all rights runs with those that are left."""
    for name, words in world.forms():
        if name == "watch":
            continue
        keys = world.checked_keys_of(words)
        for missing in keys:
            world.make()
            before = world.look()
            world.set_user("+@all", *exact(keys))
            assert client.command("MULTI") == b"OK"
            assert client.command(*words) == b"QUEUED"
            world.set_user("+@all", *exact(key for key in keys if key != missing))
            assert client.command("EXEC") == [CHANGED], (words, missing)
            assert world.look() == before, (words, missing)


def needs(flags):
    """The rights that a key with these flags asks for."""
    return {right for right, wanted in (("R", {"access"}), ("W", WRITES)) if flags & wanted}


def test_reading_writing_and_selectors(world, client):
    for name, words in world.forms():
        keys = world.checked_keys_of(words)
        wanted = {key: needs(flags) for key, flags in keys.items()}
        for key in keys:
            others = exact(other for other in keys if other != key)
            for right in ("R", "W", "RW"):
                world.set_user("+@all", *others, f"%{right}~{key}")
                world.make()
                before = world.look()
                allowed = wanted[key] <= set(right)
                reply = client.command(*words)
                client.command("UNWATCH")
                assert (reply != NOPERM_KEY) == allowed, (words, key, right)
                assert allowed or world.look() == before, (words, key, right)
                # all rights, but in a selector
                world.set_user(f"(+@all {' '.join(others)} %{right}~{key})")
                assert world.may(words) == allowed, (words, key, right)
        # rights of several selectors do not add up
        first, *rest = keys
        if rest:
            world.set_user(f"(+@all ~{first})", f"(+@all {' '.join(exact(rest))})")
            assert not world.may(words), words
        world.set_user("+@all", "%R~*", "(+@all %W~*)")
        everything = [need for need in wanted.values()]
        assert world.may(words) == (all(need <= {"R"} for need in everything) or
                                    all(need <= {"W"} for need in everything)), words
        # the command in one, the keys in another
        world.set_user("+@all", f"(~{first} ~*)")
        assert not world.may(words), words


def test_the_same_rights_as_in_redis(world, client, redis):
    with redis.connect() as oracle:
        oracle.command("ACL", "SETUSER", "u", "reset", "on", "nopass")
        for name, words in world.forms():
            if sum(word in ("STORE", "STOREDIST") for word in words) > 1:
                continue
            keys = world.checked_keys_of(words)
            for key in keys:
                others = exact(other for other in keys if other != key)
                for right in ([], [f"%R~{key}"], [f"%W~{key}"], [f"~{key}"], [f"~{key}?"]):
                    rules = ["+@all", *others, *right]
                    world.set_user(*rules)
                    oracle.command("ACL", "SETUSER", "u", "resetkeys", *rules)
                    theirs = oracle.command("ACL", "DRYRUN", "u", *words) == b"OK"
                    assert world.may(words) == theirs, (words, rules)
        oracle.command("ACL", "DELUSER", "u")


# ---- commands that wait --------------------------------------------------------------

WAITING = [["bzpopmin", "n1", "n2", "0"], ["bzpopmax", "n1", "n2", "0"],
           ["bzmpop", "0", "2", "n1", "n2", "MIN"], ["bzmpop", "0", "2", "n1", "n2", "MAX"]]


def test_every_command_that_waits_is_here(world):
    blocking = {entry[0].decode() for entry in world.admin.command("COMMAND")
                if b"blocking" in [bytes(flag) for flag in entry[2]]}
    assert blocking - {words[0] for words in WAITING} <= {"wait", "waitaof"}


def wait_until_blocked(world):
    deadline = time.monotonic() + 60
    while b"blocked_clients:1\r\n" not in world.admin.command("INFO", "clients"):
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("words", WAITING, ids=" ".join)
@pytest.mark.parametrize("rules, allowed", [
    (["+@all", "~n1", "~n2"], True),
    (["+@all", "~n1"], False),
    (["+@all", "~n2"], False),  # the key that is served, or the other
    (["+@all"], False),
    (["+@all", "%R~n1", "~n2"], False),
    (["+@all", "%W~n1", "~n2"], False),
    (["+@all", "(+@all ~n1)", "(+@all ~n2)"], False),
    (["(+@all ~n*)"], True),
    (["-@all", "~n*"], False),
])
def test_rights_that_go_while_a_command_waits(world, client, words, rules, allowed):
    world.make()
    world.set_user("+@all", "~n1", "~n2")
    client.send(encode(*words))
    wait_until_blocked(world)
    world.set_user(*rules)
    world.admin.command("ZADD", "n1", "1", "m")
    reply = client.read()
    if allowed:
        assert reply[0] == b"n1"
        assert world.admin.command("EXISTS", "n1") == 0
    else:
        assert isinstance(reply, Error) and reply.startswith(b"NOPERM"), reply
        assert world.admin.command("ZCARD", "n1") == 1
    # nothing of it is left
    assert world.admin.command("INFO", "clients").count(b"blocked_clients:0") == 1
    world.set_user("+@all", "~n1", "~n2")
    assert client.command("PING") == b"PONG"


def test_whose_user_is_deleted_is_not_served(world, server):
    world.make()
    world.admin.command("ACL", "SETUSER", "gone", "on", "nopass", "~*", "+@all")
    with server.connect() as waiter:
        waiter.command("AUTH", "gone", "x")
        waiter.send(b"BZPOPMIN n1 0\r\n")
        wait_until_blocked(world)
        replies = world.admin.pipeline([["ACL", "DELUSER", "gone"], ["ZADD", "n1", "1", "m"]])
        assert replies == [1, 1]
        assert waiter.receive_until_closed() == b""
    assert world.admin.command("ZCARD", "n1") == 1
