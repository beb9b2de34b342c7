"""Users: what they may do, beside redis-server where both can be asked, and over the whole
table of commands. Texts are those of Redis 8.0; Debian's redis-server is older: it writes
"this user" for "User NAME", and puts the rules about commands into an order of its own."""
import os
import pathlib
import random
import re
import signal
import time

import pytest

from resp import Closed, Connection, Error, Map, Set, Status, encode
from servers import YonderServer, binary

NOPERM_KEY = b"NOPERM No permissions to access a key"
NOPERM_CHANNEL = b"NOPERM No permissions to access a channel"
LOGIN = {"auth", "hello", "quit", "reset"}


def noperm(user, command):
    return f"NOPERM User {user} has no permissions to run the '{command}' command".encode()


@pytest.fixture
def server(start):
    return start.subject()


@pytest.fixture
def redis(shared_redis):
    """The oracle without users from before."""
    with shared_redis.connect() as connection:
        for name in connection.command("ACL", "USERS"):
            if name != b"default":
                connection.command("ACL", "DELUSER", name)
    return shared_redis


@pytest.fixture
def admin(server):
    with server.connect() as connection:
        yield connection


def login(server, user, password="pw", resp=2):
    connection = server.connect()
    assert connection.command("AUTH", user, password) == b"OK"
    if resp == 3:
        connection.command("HELLO", "3")
    return connection


def set_user(admin, name, *rules):
    """A user with these rules and no others."""
    reply = admin.command("ACL", "SETUSER", name, "reset", "on", ">pw", *rules)
    assert reply == b"OK", reply


def is_closed(connection):
    try:
        connection.command("PING")
    except (Closed, ConnectionError):
        return True
    return False


def user(admin, name):
    reply = admin.command("ACL", "GETUSER", name)
    return None if reply is None else dict(zip(reply[::2], reply[1::2]))


# ---- the whole table ---------------------------------------------------------------


def all_specs(admin):
    """{full name: (arity, flags, key specs)} of all commands and subcommands."""
    found = {}
    for entry in admin.command("COMMAND"):
        for spec in [entry, *entry[9]]:
            if spec is entry and entry[9]:
                continue  # a container runs nothing by itself
            found[spec[0].decode()] = (spec[1], {f.decode() for f in spec[2]}, spec[8])
    return found


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def example(name, arity, key_specs, keyword=None):
    """Words that have keys in all the places that the key specs tell, of keywords behind
    that one. They need not make sense: who may not run a command is told before they are
    looked at."""
    words = name.split("|")
    n_words = max(abs(arity), 3 if arity < 0 else 0)
    while len(words) < n_words:
        words.append(f"w{len(words)}")
    for spec in key_specs:
        spec = pairs(spec)
        begin, find = pairs(spec[b"begin_search"]), pairs(spec[b"find_keys"])
        if begin[b"type"] == b"keyword":
            if keyword == pairs(begin[b"spec"])[b"keyword"]:
                words += [keyword.decode(), "destination"]
        elif find[b"type"] == b"keynum":
            at = pairs(begin[b"spec"])[b"index"]
            words += [f"w{i}" for i in range(len(words), at + 3)]
            words[at] = "2"
    return words


def examples_with_keys(admin):
    """[(full name, words, {key: flags})]"""
    found = []
    for name, (arity, _, key_specs) in all_specs(admin).items():
        keys = [s for s in key_specs if b"not_key" not in pairs(s)[b"flags"]]
        if not keys:
            continue
        begins = [pairs(pairs(s)[b"begin_search"]) for s in keys]
        keywords = [pairs(b[b"spec"])[b"keyword"] for b in begins if b[b"type"] == b"keyword"]
        for keyword in [None, *keywords]:
            words = example(name, arity, keys, keyword)
            reply = admin.command("COMMAND", "GETKEYSANDFLAGS", *words)
            assert not isinstance(reply, Error), (words, reply)
            found.append((name, words, {key.decode(): {f.decode() for f in flags}
                                        for key, flags in reply}))
    return found


def test_every_key_of_every_command_is_checked(server, admin):
    """With all its keys a command may run; without any one of them it may not, neither at
    once nor in a transaction."""
    examples = examples_with_keys(admin)
    assert len(examples) > 80
    assert {len(keys) for _, _, keys in examples} >= {1, 2, 3}
    set_user(admin, "u")
    for name, words, keys in examples:
        patterns = [f"~{key}" for key in keys]
        with_all = ["resetkeys", "+@all", "allchannels", *patterns]
        assert admin.command("ACL", "SETUSER", "u", *with_all) == b"OK"
        assert admin.command("ACL", "DRYRUN", "u", *words) == b"OK", words
        with login(server, "u") as client:
            reply = client.command(*words)
            assert not (isinstance(reply, Error) and reply.startswith(b"NOPERM")), words
        for missing in keys:
            rest = [p for p in patterns if p != f"~{missing}"]
            admin.command("ACL", "SETUSER", "u", "resetkeys", *rest)
            text = f"User u has no permissions to access the '{missing}' key"
            assert admin.command("ACL", "DRYRUN", "u", *words) == text.encode(), words
            with login(server, "u") as client:
                assert client.command(*words) == NOPERM_KEY, (words, missing)
                if name in ("watch", "monitor"):
                    continue
                assert client.command("MULTI") == b"OK"
                assert client.command(*words) == NOPERM_KEY, (words, missing)
                assert client.command("EXEC").startswith(b"EXECABORT")


def test_reading_and_writing_are_told_apart(admin):
    """%R and %W, by the flags of each key."""
    for name, words, keys in examples_with_keys(admin):
        for key, flags in keys.items():
            reads = "access" in flags
            writes = bool(flags & {"insert", "update", "delete"})
            others = [f"~{other}" for other in keys if other != key]
            for pattern, allowed in ((f"%R~{key}", not writes), (f"%W~{key}", not reads),
                                     (f"%RW~{key}", True)):
                set_user(admin, "u", "+@all", *others, pattern)
                reply = admin.command("ACL", "DRYRUN", "u", *words)
                assert (reply == b"OK") == allowed, (words, pattern, flags, reply)


def test_every_command_is_refused_and_allowed_by_name(server, admin):
    set_user(admin, "none", "~*", "&*")
    none = login(server, "none")
    for name, (arity, flags, key_specs) in all_specs(admin).items():
        words = example(name, arity, key_specs)
        refused = f"User none has no permissions to run the '{name}' command".encode()
        if "no_auth" in flags:
            assert name in LOGIN
            assert admin.command("ACL", "DRYRUN", "none", *words) == b"OK"
            continue
        assert admin.command("ACL", "DRYRUN", "none", *words) == refused
        abort = b"EXECABORT Transaction discarded because of: " if name == "exec" else b""
        assert none.command(*words) == abort + b"NOPERM " + refused
        set_user(admin, "one", "~*", "&*", f"+{name}")
        assert admin.command("ACL", "DRYRUN", "one", *words) == b"OK"
        set_user(admin, "one", "~*", "&*", "+@all", f"-{name}")
        assert admin.command("ACL", "DRYRUN", "one", *words) == refused.replace(
            b"none", b"one")
        container = name.split("|")[0]
        set_user(admin, "one", "~*", "&*", f"+{container}")
        assert admin.command("ACL", "DRYRUN", "one", *words) == b"OK"


def test_categories_are_those_of_command_info(admin):
    by_category = {}
    for entry in admin.command("COMMAND"):
        for spec in [entry, *entry[9]]:
            for category in spec[6]:
                by_category.setdefault(category[1:], set()).add(spec[0])
    categories = admin.command("ACL", "CAT")
    assert set(by_category) <= set(categories)
    for category in categories:
        names = admin.command("ACL", "CAT", category)
        assert len(names) == len(set(names))
        assert set(names) == by_category.get(category, set())


def test_destination_given_twice(server, admin):
    """Redis's own check once looked at one destination and wrote to another."""
    set_user(admin, "u", "+@all", "~a*")
    admin.command("GEOADD", "a", "13.4", "52.5", "m")
    with login(server, "u") as client:
        for options in (["STORE", "a1", "STORE", "b"], ["STOREDIST", "a1", "STORE", "b"],
                        ["STORE", "a1", "STOREDIST", "b"], ["STORE", "STORE", "STORE", "b"],
                        ["COUNT", "1", "STORE", "a1", "ASC", "STOREDIST", "b"]):
            for words in (["GEORADIUS", "a", "13.4", "52.5", "9", "km"],
                          ["GEORADIUSBYMEMBER", "a", "m", "9", "km"]):
                assert client.command(*words, *options) == NOPERM_KEY
        assert client.command("GEORADIUSBYMEMBER", "a", "m", "9", "km", "STORE", "a1",
                              "STORE", "a2") == 1
    assert sorted(admin.command("KEYS", "*")) == [b"a", b"a2"]


# ---- beside redis-server -----------------------------------------------------------

RULES = [
    "on", "off", "nopass", "resetpass", ">a", ">b", "<a", "!" + "0" * 64, "#" + "0" * 64,
    "#x", "~*", "~a*", "~a?", "%R~b*", "%W~a*", "%RW~c", "%R~a*", "%Q~a", "%~a", "allkeys",
    "resetkeys", "&*", "&c", "&d*", "&c:[ab]", "allchannels", "resetchannels", "+@all",
    "-@all", "allcommands", "nocommands", "+@read", "-@read", "+@write", "-@write",
    "+@GEO", "-@fast", "+@slow", "+@dangerous", "-@dangerous", "+@pubsub", "+@string",
    "+@sortedset", "+get", "-get", "+GETDEL", "+set", "+del", "-set", "+config",
    "-config", "+config|get", "-config|get", "+client|id", "+select|0", "+select|1",
    "-select", "+ping", "+publish", "+subscribe", "+psubscribe", "+object|help", "+foo",
    "+@foo", "-get|x", "+config|x", "+config|get|x", "+get|", "clearselectors", "reset",
    "(+get ~a*)", "(+@all ~c)", "(%R~* +mget &c)", "(+subscribe &d*)", "(+get", "~x)",
    "()", "(on)", "", "foo", "sanitize-payload", "~a b", "&a b", "~", "&",
]
COMMANDS = [
    ["GET", "a1"], ["GET", "b1"], ["GET", "c"], ["GET"], ["SET", "a1", "x"],
    ["SET", "b1", "x"], ["SET", "a1", "x", "GET"], ["SET", "c", "x", "EX", "1", "GET"],
    ["GETDEL", "b1"], ["DEL", "a1", "b1"], ["EXISTS", "b1"], ["MGET", "a1", "b1", "c"],
    ["MSET", "a1", "x", "b1", "y"], ["GEOADD", "a1", "1", "2", "m"], ["GEOPOS", "b1", "m"],
    ["GEOSEARCHSTORE", "a1", "b1", "FROMMEMBER", "m", "BYRADIUS", "1", "m"],
    ["GEORADIUS", "b1", "1", "2", "3", "m", "STORE", "a1"],
    ["GEORADIUS", "b1", "1", "2", "3", "m", "STORE", "c", "STOREDIST", "b1"],
    ["ZUNIONSTORE", "a1", "2", "b1", "c"], ["ZUNION", "9", "a"], ["ZADD", "a1", "1", "m"],
    ["ZRANGE", "b1", "0", "1"], ["RENAME", "a1", "c"], ["CONFIG", "GET", "x"],
    ["CONFIG", "SET", "a", "b"], ["CONFIG"], ["CONFIG", "NOPE"], ["NOPE"],
    ["CLIENT", "ID"], ["SELECT", "0"], ["SELECT", "1"], ["PING"], ["AUTH", "x"],
    ["PUBLISH", "c", "x"], ["PUBLISH", "e", "x"], ["SUBSCRIBE", "c", "d1"],
    ["SUBSCRIBE", "c:a"], ["PSUBSCRIBE", "d*"], ["PSUBSCRIBE", "c"], ["SSUBSCRIBE", "d1"],
    ["UNSUBSCRIBE", "e"], ["FLUSHALL"], ["OBJECT", "HELP"], ["OBJECT", "ENCODING", "b1"],
    ["MULTI"], ["WATCH", "a1", "c"], ["SCAN", "0"], ["ACL", "WHOAMI"], ["ACL", "LIST"],
]


def as_new(text):
    """What the older server says, in the words of the newer one."""
    if isinstance(text, bytes):
        return type(text)(re.sub(rb"^(NOPERM )?[Tt]his user ", rb"\1User u ", text))
    return text


def told(admin, name):
    """GETUSER without what has another form in the older server."""
    found = user(admin, name)
    if found is None:
        return None
    flags = {flag for flag in found[b"flags"] if b"sanitize" not in flag}
    selectors = [[s[i] for i in range(len(s)) if i != 1] for s in found[b"selectors"]]
    return (flags, found[b"passwords"], found[b"keys"], found[b"channels"], selectors)


@pytest.mark.parametrize("resp", [2, 3])
def test_random_rules_beside_redis(start, redis, resp):
    seed = int(os.environ.get("YN_SEED", random.randrange(1 << 30)))
    print("YN_SEED =", seed)
    chance = random.Random(seed)
    ours, theirs = start.subject().connect(resp), redis.connect(resp)
    for _ in range(250):
        rules = [chance.choice(RULES) for _ in range(chance.randrange(7))]
        if chance.random() < 0.3:
            rules.insert(0, "reset")
        words = ["ACL", "SETUSER", "u", *rules]
        assert ours.command(*words) == theirs.command(*words), words
        assert told(ours, "u") == told(theirs, "u"), words
        if user(ours, "u") is None:
            continue
        # what we tell makes the same user there, too
        line = [l for l in ours.command("ACL", "LIST") if l.startswith(b"user u ")][0]
        for name, dry in ((b"v", [b"reset", *line.split(b" ")[2:]]), (b"u", [])):
            if dry:
                assert theirs.command("ACL", "SETUSER", name, *dry) == b"OK", line
            for command in chance.sample(COMMANDS, 20):
                mine = ours.command("ACL", "DRYRUN", "u", *command)
                other = theirs.command("ACL", "DRYRUN", name, *command)
                assert mine == as_new(other), (words, command, line)


def shape(value):
    if isinstance(value, list):
        return type(value).__name__, [shape(v) for v in value]
    return type(value).__name__


@pytest.mark.parametrize("resp", [2, 3])
def test_replies_have_the_shapes_of_redis(start, redis, resp):
    sides = [start.subject().connect(resp), redis.connect(resp)]
    for words in (["ACL", "LOG", "RESET"],
                  ["ACL", "SETUSER", "s", "reset", "on", "skip-sanitize-payload", "nopass",
                   ">x", ">y", "~a", "&b", "+get", "(+set ~b)"],
                  ["ACL", "GETUSER", "s"], ["ACL", "GETUSER", "nosuch"], ["ACL", "USERS"],
                  ["ACL", "WHOAMI"], ["ACL", "LIST"], ["ACL", "GENPASS"],
                  ["ACL", "GENPASS", "7"], ["ACL", "GENPASS", "0"], ["ACL", "GENPASS", "x"],
                  ["ACL", "GENPASS", "4097"], ["ACL", "LOG", "x"], ["ACL", "LOG", "-1"],
                  ["ACL", "LOG", "RESET", "x"], ["ACL", "DRYRUN", "s", "GET", "a"],
                  ["ACL", "DRYRUN", "s", "GET", "b"], ["ACL", "DRYRUN", "nosuch", "GET"],
                  ["ACL", "SETUSER", "a b"], ["ACL", "SAVE"], ["ACL", "LOAD"],
                  ["ACL", "DELUSER", "default"], ["ACL", "DELUSER", "s", "nosuch"]):
        mine, other = [side.command(*words) for side in sides]
        assert shape(mine) == shape(other), (words, mine, other)
        if isinstance(mine, (Error, Status)):
            assert mine == other, words
    mine, other = [
        [side.command("AUTH", "nosuch", "x"), side.command("ACL", "LOG")[0]]
        for side in sides]
    assert mine[0] == other[0]
    assert shape(mine[1])[1][: len(other[1])] == shape(other[1])[1]
    assert mine[1][:10] == other[1][:10]
    assert mine[1][14::2] == [b"entry-id", b"timestamp-created", b"timestamp-last-updated"]
    if resp == 3:
        assert isinstance(mine[1], Map)
        flags = sides[0].command("ACL", "GETUSER", "default")[1]
        assert isinstance(flags, Set)


# ---- sessions ----------------------------------------------------------------------


def test_login(server, admin):
    set_user(admin, "u", "+@all", "~*", "&*")
    with server.connect() as client:
        wrong = b"WRONGPASS invalid username-password pair or user is disabled."
        assert client.command("AUTH", "u", "x") == wrong
        assert client.command("AUTH", "nosuch", "pw") == wrong
        assert client.command("ACL", "WHOAMI") == b"default"
        assert client.command("AUTH", "u", "pw") == b"OK"
        assert client.command("ACL", "WHOAMI") == b"u"
        assert b" user=u " in client.command("CLIENT", "INFO")
        assert client.command("RESET") == b"RESET"
        assert client.command("ACL", "WHOAMI") == b"default"
        assert isinstance(client.command("HELLO", "3", "AUTH", "u", "pw"), Map)
        assert client.command("ACL", "WHOAMI") == b"u"
        admin.command("ACL", "SETUSER", "u", "off")
        assert client.command("ACL", "WHOAMI") == b"u"  # who is in stays in
        assert client.command("AUTH", "u", "pw") == wrong
        assert client.command("ACL", "WHOAMI") == b"u"


def test_requirepass_is_the_default_user(start):
    server = start.subject("--requirepass", "one")
    first = login(server, "default", "one")
    assert b"nopass" not in user(first, "default")[b"flags"]
    with server.connect() as client:
        assert client.command("PING") == b"NOAUTH Authentication required."
        assert first.command("ACL", "SETUSER", "default", ">two") == b"OK"
        assert client.command("AUTH", "two") == b"OK"
        assert first.command("CONFIG", "SET", "requirepass", "three") == b"OK"
        assert client.command("AUTH", "two").startswith(b"WRONGPASS")
        assert client.command("AUTH", "one").startswith(b"WRONGPASS")
        assert client.command("AUTH", "three") == b"OK"
        assert first.command("CONFIG", "SET", "requirepass", "") == b"OK"
        assert b"nopass" in user(first, "default")[b"flags"]
    with server.connect() as client:
        assert client.command("PING") == b"PONG"
        assert client.command("AUTH", "x").startswith(b"ERR AUTH <password> called without")
        # nobody is let in any more without a password, but who is in stays
        assert first.command("ACL", "SETUSER", "default", "off") == b"OK"
        assert client.command("PING") == b"PONG"
    with server.connect() as client:
        assert client.command("PING") == b"NOAUTH Authentication required."
        assert client.command("AUTH", "default", "x").startswith(b"WRONGPASS")


def test_rights_change_at_once(server, admin):
    set_user(admin, "u", "+@all", "~*", "&*")
    with login(server, "u") as client:
        assert client.command("SET", "k", "1") == b"OK"
        admin.command("ACL", "SETUSER", "u", "-set")
        assert client.command("SET", "k", "1") == noperm("u", "set")
        admin.command("ACL", "SETUSER", "u", "+@all", "resetkeys", "~a")
        assert client.command("SET", "k", "1") == NOPERM_KEY
        assert client.command("SET", "a", "1") == b"OK"
        admin.command("ACL", "SETUSER", "u", "~*")
        assert client.command("SET", "k", "1") == b"OK"
        # one that takes rights from itself, in a pipeline
        replies = client.pipeline([["ACL", "SETUSER", "u", "-get"], ["GET", "k"],
                                   ["ACL", "SETUSER", "u", "+get"], ["GET", "k"]])
        assert replies == [b"OK", noperm("u", "get"), b"OK", b"1"]
    admin.command("ACL", "SETUSER", "default", "-get")
    assert admin.command("GET", "k") == noperm("default", "get")
    admin.command("ACL", "SETUSER", "default", "+@all")
    assert admin.command("GET", "k") == b"1"


def test_deleted_users_are_gone(server, admin):
    set_user(admin, "u", "+@all", "~*", "&*")
    set_user(admin, "v", "+@all", "~*", "&*")
    clients = [login(server, "u"), login(server, "u"), login(server, "v")]
    subscriber = login(server, "u")
    subscriber.command("SUBSCRIBE", "c")
    waiting = login(server, "u")
    waiting.send(b"BZPOPMIN z 0\r\n")
    # in a pipeline and in a transaction, nothing runs after it
    replies = clients[0].pipeline([["PING"], ["MULTI"], ["ACL", "DELUSER", "u"],
                                   ["SET", "k", "1"]])
    assert replies[3] == b"QUEUED"
    clients[0].send(b"EXEC\r\nSET k 2\r\n")
    clients[0].receive_until_closed()
    assert admin.command("EXISTS", "k") == 0
    for connection in (clients[1], subscriber, waiting):
        assert is_closed(connection)
    assert clients[2].command("PING") == b"PONG"
    assert admin.command("ACL", "USERS") == [b"default", b"v"]
    clients[2].send(b"PING\r\nACL DELUSER v\r\nSET k 2\r\n")
    assert clients[2].receive_until_closed() == b"+PONG\r\n:1\r\n"
    assert admin.command("EXISTS", "k") == 0
    assert admin.command("ACL", "DELUSER", "u", "v") == 0


def test_kill_by_user(server, admin):
    set_user(admin, "u", "+@all")
    clients = [login(server, "u"), login(server, "u"), server.connect()]
    assert clients[2].command("PING") == b"PONG"
    assert admin.command("CLIENT", "KILL", "USER", "nosuch") == b"ERR No such user 'nosuch'"
    assert admin.command("CLIENT", "KILL", "USER", "u") == 2
    assert is_closed(clients[0]) and is_closed(clients[1])
    assert clients[2].command("PING") == b"PONG"


def test_transactions_are_checked_twice(server, admin):
    set_user(admin, "u", "+@all", "~*", "&*")
    changed = (b"NOPERM ACLs rules changed between the moment the transaction was "
               b"accumulated and the EXEC call. This command is no longer allowed for the "
               b"following reason: ")
    with login(server, "u") as client:
        client.command("MULTI")
        for words in (["SET", "a", "1"], ["SET", "b", "1"], ["GET", "a"],
                      ["PUBLISH", "c", "x"], ["PING"]):
            assert client.command(*words) == b"QUEUED"
        admin.command("ACL", "SETUSER", "u", "-get", "resetkeys", "~a", "resetchannels")
        assert client.command("EXEC") == [
            b"OK", changed + b"no permission to touch the specified keys",
            changed + b"no permission to execute the command or subcommand",
            changed + b"no permission to access one of the channels used as arguments to "
            b"the command", b"PONG"]
        log = [pairs(entry) for entry in admin.command("ACL", "LOG")]
        assert [entry[b"context"] for entry in log] == [b"multi"] * 3
        client.command("MULTI")
        assert client.command("GET", "a") == noperm("u", "get")
        assert client.command("EXEC") == (
            b"EXECABORT Transaction discarded because of previous errors.")
        client.command("MULTI")
        client.command("PING")
        admin.command("ACL", "SETUSER", "u", "-exec")
        assert client.command("EXEC") == (
            b"EXECABORT Transaction discarded because of: " + noperm("u", "exec"))
        assert client.command("EXEC") == noperm("u", "exec").replace(
            b"NOPERM", b"EXECABORT Transaction discarded because of: NOPERM", 1)


def test_who_waits_is_checked_again(server, admin):
    set_user(admin, "u", "+@all", "~*")
    with login(server, "u") as client:
        client.send(b"BZPOPMIN z 0\r\n")
        while b"cmd=bzpopmin" not in admin.command("CLIENT", "LIST"):
            time.sleep(0.01)
        admin.command("ACL", "SETUSER", "u", "resetkeys")
        admin.command("ZADD", "z", "1", "m")
        assert client.read() == NOPERM_KEY
        assert admin.command("ZCARD", "z") == 1
        assert client.command("PING") == b"PONG"


def test_subscriptions_that_lose_their_right_are_closed(server, admin):
    set_user(admin, "u", "+@all", "&a*", "&b*", "&p?")

    def subscriber(*words):
        connection = login(server, "u")
        connection.command(*words)
        return connection

    with login(server, "u") as client:
        assert client.command("SUBSCRIBE", "c") == NOPERM_CHANNEL
        assert client.command("PSUBSCRIBE", "a1*") == NOPERM_CHANNEL
        assert client.command("SSUBSCRIBE", "c") == NOPERM_CHANNEL
        assert client.command("PUBLISH", "c", "x") == NOPERM_CHANNEL
        assert client.command("SPUBLISH", "c", "x") == NOPERM_CHANNEL
        assert client.command("PUBLISH", "a1", "x") == 0
    kept = [subscriber("SUBSCRIBE", "a1"), subscriber("PSUBSCRIBE", "a*"),
            subscriber("PING")]
    lost = [subscriber("SUBSCRIBE", "b1"), subscriber("PSUBSCRIBE", "b*"),
            subscriber("SSUBSCRIBE", "p1"), subscriber("PSUBSCRIBE", "p?")]
    assert admin.command("ACL", "SETUSER", "u", "resetchannels", "&a*", "(&q)") == b"OK"
    for connection in lost:
        assert is_closed(connection)
    for connection in kept:
        assert not is_closed(connection)


# ---- what was refused --------------------------------------------------------------


def test_log_and_counters(server, admin):
    set_user(admin, "u", "+get", "+subscribe", "~a")
    client = login(server, "u")
    client.command("AUTH", "nosuch", "x")
    for words in (["SET", "a", "1"], ["SET", "a", "1"], ["GET", "b"], ["SUBSCRIBE", "c"],
                  ["CONFIG", "GET", "x"]):
        assert client.command(*words).startswith(b"NOPERM")
    log = [pairs(entry) for entry in admin.command("ACL", "LOG")]
    assert [(e[b"reason"], e[b"object"], e[b"username"], e[b"count"]) for e in log] == [
        (b"command", b"config|get", b"u", 1), (b"channel", b"c", b"u", 1),
        (b"key", b"b", b"u", 1), (b"command", b"set", b"u", 2),
        (b"auth", b"AUTH", b"nosuch", 1)]
    assert b" user=u " in log[0][b"client-info"]
    assert [e[b"entry-id"] for e in log] == [4, 3, 2, 1, 0]
    assert len(admin.command("ACL", "LOG", "2")) == 2
    info = admin.command("INFO", "stats")
    for line in (b"acl_access_denied_auth:1", b"acl_access_denied_cmd:3",
                 b"acl_access_denied_key:1", b"acl_access_denied_channel:1"):
        assert line in info
    assert b"rejected_calls=2" in [
        line for line in admin.command("INFO", "commandstats").splitlines()
        if line.startswith(b"cmdstat_set:")][0]
    admin.command("CONFIG", "SET", "acllog-max-len", "2")
    assert len(admin.command("ACL", "LOG")) == 2
    admin.command("CONFIG", "SET", "acllog-max-len", "0")
    client.command("SET", "a", "1")
    assert admin.command("ACL", "LOG") == []
    admin.command("CONFIG", "SET", "acllog-max-len", "128")
    client.command("SET", "a", "1")
    assert len(admin.command("ACL", "LOG")) == 1
    assert admin.command("ACL", "LOG", "RESET") == b"OK"
    assert admin.command("ACL", "LOG") == []


def test_secrets_are_shown_to_nobody(server, admin):
    admin.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
    with server.connect() as watcher:
        watcher.command("MONITOR")
        admin.command("ACL", "SETUSER", "hidden-user", "on", ">secret-word", "+ping")
        admin.command("AUTH", "hidden-user", "secret-word")
        admin.command("PING")
        seen = b""
        while b'"PING"' not in seen:
            seen += watcher.read_raw()
    with server.connect() as other:
        slow = repr(other.command("SLOWLOG", "GET", "-1")).encode()
        for text in (seen, slow):
            assert b"secret-word" not in text and b"hidden-user" not in text
            assert b"(redacted)" in text
        assert b"secret-word" not in repr(other.command("ACL", "LIST")).encode()
    assert "secret-word" not in server.log_text()


def test_generated_passwords(admin):
    assert len(admin.command("ACL", "GENPASS")) == 64
    for bits in (1, 4, 5, 255, 256, 257, 4096):
        text = admin.command("ACL", "GENPASS", bits)
        assert re.fullmatch(rb"[0-9a-f]+", text) and len(text) == (bits + 3) // 4
    assert len({admin.command("ACL", "GENPASS") for _ in range(100)}) == 100


# ---- files -------------------------------------------------------------------------


def test_file_is_loaded_whole_or_not(start, run_folder):
    path = pathlib.Path(run_folder) / "users.acl"
    path.write_text("user default on nopass ~* &* +@all\nuser a on >pw ~a* +@all\n")
    server = start.subject("--aclfile", path)
    admin, client = server.connect(), login(server, "a")
    listed = admin.command("ACL", "LIST")
    for text, fault in (
        ("user a on +@all\nfoo\n", f"{path}:2 should start with user keyword followed by "
         "the username."),
        ("\nuser a on +foo\nuser b (+x)\n", f"{path}:2: Error in applying operation '+foo': "
         "Unknown command or category name in ACL. "
         f"{path}:3: Error in applying operation '(+x)': Unknown command or category name "
         "in ACL."),
        ("user a on\nuser b on\nuser a off\n", "WARNING: Duplicate user 'a' found on line "
         "3."),
    ):
        path.write_text(text)
        assert admin.command("ACL", "LOAD").decode() == (
            f"ERR {fault} WARNING: ACL errors detected, no change to the previously active "
            "ACL rules was performed")
        assert admin.command("ACL", "LIST") == listed
    path.unlink()
    assert admin.command("ACL", "LOAD").startswith(b"ERR Error loading ACLs, opening file")
    assert admin.command("ACL", "LIST") == listed
    # what is saved is what is loaded
    set_user(admin, "b", "~x", "%R~y", "&c", "-@all", "+@geo", "-geoadd", "(+get ~z)")
    assert admin.command("ACL", "SAVE") == b"OK"
    assert path.stat().st_mode & 0o777 == 0o600
    listed = admin.command("ACL", "LIST")
    assert path.read_bytes() == b"".join(line + b"\n" for line in listed)
    admin.command("ACL", "DELUSER", "b")
    assert admin.command("ACL", "LOAD") == b"OK"
    assert admin.command("ACL", "LIST") == listed
    # who is still there goes on, with other rights; who is not is closed
    assert client.command("SET", "b", "1") == NOPERM_KEY
    gone = login(server, "b")
    path.write_text("user a on >pw ~b +@all\n")
    assert client.command("ACL", "LOAD") == b"OK"
    assert client.command("SET", "b", "1") == b"OK"
    assert client.command("SET", "a", "1") == NOPERM_KEY
    assert is_closed(gone)
    assert admin.command("PING") == b"PONG"
    path.write_text("user default on nopass +@all\n")
    client.send(b"ACL LOAD\r\nPING\r\n")
    assert client.receive_until_closed() == b"+OK\r\n"
    assert admin.command("ACL", "USERS") == [b"default"]


def test_start_with_a_wrong_file_fails(start, run_folder):
    path = pathlib.Path(run_folder) / "wrong.acl"
    path.write_text("user default on\nuser a +nosuch\n")
    for options in (["--aclfile", path], ["--aclfile", "/nosuch/file"],
                    ["--user", "a", "+nosuch"], ["--user", "a", "--user", "a"],
                    ["--aclfile", path, "--user", "b"]):
        server = start.subject(*options, wait=False)
        assert server.process.wait(20) == 1
        assert "could not start: users: " in server.log_text()
    assert "wrong.acl:2: Error" in start.running[0].log_text()


def test_default_user_that_the_file_does_not_tell(start, run_folder):
    """Redis would let everybody in."""
    path = pathlib.Path(run_folder) / "no-default.acl"
    path.write_text("user a on >pw +@all\n")
    server = start.subject("--aclfile", path, "--requirepass", "secret")
    client = login(server, "a")
    for _ in range(2):
        with server.connect() as other:
            assert other.command("PING") == b"NOAUTH Authentication required."
            assert other.command("AUTH", "secret") == b"OK"
        assert client.command("ACL", "LOAD") == b"OK"


def test_users_in_the_configuration_file(start, run_folder):
    path = pathlib.Path(run_folder) / "users.conf"

    class FromFile(YonderServer):
        def _command(self, options):
            if not path.exists():
                path.write_text('# head\nuser a on ">with blank" ~a* +@all\nport 0\n'
                                f"unixsocket {self.path}\n")
            return [str(binary("yonder-server")), str(path)]

    server = start._start(FromFile, [])
    head = f"# head\nport 0\nunixsocket {server.path}\n".encode()
    with login(server, "a", "with blank") as client:
        assert client.command("SET", "b", "1") == NOPERM_KEY
    admin = server.connect()
    set_user(admin, "b", "+get", "(+set ~x)")
    assert admin.command("CONFIG", "REWRITE") == b"OK"
    listed = admin.command("ACL", "LIST")
    assert path.read_bytes() == head + b"".join(line + b"\n" for line in listed)
    server.stop()
    server.start_again()
    admin = server.connect()
    assert admin.command("ACL", "LIST") == listed
    admin.command("ACL", "DELUSER", "a", "b")
    assert admin.command("CONFIG", "REWRITE") == b"OK"
    assert path.read_bytes() == head


def test_channels_of_new_users(server, admin):
    set_user(admin, "a")
    assert user(admin, "a")[b"channels"] == b""
    admin.command("CONFIG", "SET", "acl-pubsub-default", "allchannels")
    set_user(admin, "a", "()")
    admin.command("ACL", "SETUSER", "b")
    assert user(admin, "a")[b"channels"] == user(admin, "b")[b"channels"] == b"&*"
    assert user(admin, "a")[b"selectors"][0][5] == b"&*"
    admin.command("CONFIG", "SET", "acl-pubsub-default", "resetchannels")
    set_user(admin, "a")
    assert user(admin, "a")[b"channels"] == b""


def test_many_users(server, admin):
    names = [f"user{i}" for i in range(300)]
    random.Random(1).shuffle(names)
    for name in names:
        set_user(admin, name, f"~{name}:*", "+@all")
    assert admin.command("ACL", "USERS") == sorted(
        [b"default", *(name.encode() for name in names)])
    before = server.resident_bytes()
    for name in names:
        with login(server, name) as client:
            assert client.command("SET", f"{name}:k", "1") == b"OK"
            assert client.command("SET", "other", "1") == NOPERM_KEY
    for _ in range(20):
        for name in names[:50]:
            set_user(admin, name, f"~{name}:*", "+@all", "(+get)")
    assert server.grown_bytes(before) < 4 << 20
    assert admin.command("ACL", "DELUSER", *names) == 300
    assert admin.command("ACL", "USERS") == [b"default"]


def test_users_change_while_clients_are_turned_away(start, run_folder):
    """A connection that is refused stays for a moment, and has a user, too."""
    path = pathlib.Path(run_folder) / "away.acl"
    path.write_text("user default on nopass ~* &* +@all\n")
    server = start.subject("--maxclients", "1", "--aclfile", path)
    admin = server.connect()
    assert admin.command("PING") == b"PONG"
    for words in (["ACL", "SETUSER", "u", "on"], ["ACL", "LOAD"], ["ACL", "DELUSER", "u"],
                  ["CONFIG", "SET", "requirepass", ""], ["CLIENT", "KILL", "USER", "x"]):
        os.kill(server.pid, signal.SIGSTOP)
        others = [Connection(server.path) for _ in range(5)]
        admin.send(encode(*words))
        os.kill(server.pid, signal.SIGCONT)
        admin.read()
        for other in others:
            assert b"max number of clients" in other.receive_until_closed()
    assert admin.command("PING") == b"PONG"


def test_line_of_a_client_with_long_names(server, admin):
    name = "u" * 3000
    set_user(admin, name, "+@all")
    with login(server, name) as client:
        client.command("CLIENT", "SETNAME", "n" * 200)
        client.command("CLIENT", "SETINFO", "LIB-NAME", "l" * 200)
        assert client.command("ACL", "WHOAMI") == name.encode()
        assert client.command("GET", "k") == NOPERM_KEY
        lines = admin.command("CLIENT", "LIST").split(b"\n")
        assert len(lines) == 3 and lines[2] == b""
        assert any(b" user=uuuu" in line and b" tot-cmds=" in line for line in lines)
        admin.command("ACL", "SETUSER", name, "-get")
        reply = client.command("GET", "k")
        assert reply.startswith(b"NOPERM User uuuu")
        assert reply.endswith(b"has no permissions to run the 'get' command")
