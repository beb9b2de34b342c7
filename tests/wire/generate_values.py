"""Random commands on sorted sets, strings, keys and transactions.

`make_steps` draws an epoch: a list of steps (client, commands), each a pipeline that one
client sends. It looks at no reply, so that any part of it can be run again alone. A
command whose first word starts with "!" is for the runner (test_differential_values.py):

  !state            compare everything that all databases hold
  !expire key ...   let keys expire
  !scan word ...    a whole iteration with SCAN or ZSCAN
  !leave            a client that waits goes, and another comes in its place
  !dump key to ...  DUMP on either server, RESTORE on the other
"""
from explain_values import is_refused_end
from value_commands import Keys, SortedSets, Strings
from value_words import LEX_MISSING, MISSING

N_CLIENTS = 4
# These wait for replicas or for members. Outside of MULTI each is a step of its own.
BLOCKING = frozenset([b"BZPOPMIN", b"BZPOPMAX", b"BZMPOP", b"WAIT"])

# All commands that are drawn and meant.
TESTED = frozenset(
    b"""
    ZADD ZINCRBY ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX ZCARD ZCOUNT
    ZLEXCOUNT ZSCORE ZMSCORE ZRANK ZREVRANK ZRANGE ZRANGESTORE ZREVRANGE ZRANGEBYSCORE
    ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX ZRANDMEMBER ZPOPMIN ZPOPMAX ZMPOP BZPOPMIN
    BZPOPMAX BZMPOP ZUNION ZINTER ZDIFF ZUNIONSTORE ZINTERSTORE ZDIFFSTORE ZINTERCARD ZSCAN
    SET GET GETDEL GETEX GETSET MGET MSET MSETNX SETNX SETEX PSETEX STRLEN APPEND INCR DECR
    INCRBY DECRBY INCRBYFLOAT GETRANGE SUBSTR SETRANGE
    DEL UNLINK EXISTS TOUCH TYPE EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL EXPIRETIME
    PEXPIRETIME PERSIST RENAME RENAMENX COPY MOVE SELECT SWAPDB RANDOMKEY DBSIZE KEYS SCAN
    OBJECT MEMORY WAIT FLUSHDB FLUSHALL DUMP RESTORE
    MULTI EXEC DISCARD WATCH UNWATCH
    """.split()
)


# (method, weight, is drawn from the pool of lexical keys always, never or as it comes)
LEX_ONLY, NO_LEX, EITHER = "lex", "no", "either"
COMMANDS = [
    ("zadd", 60, EITHER),
    ("zadd_many", 3, EITHER),
    ("zincrby", 10, EITHER),
    ("zrem", 10, EITHER),
    ("zremrangebyrank", 4, EITHER),
    ("zremrangebyscore", 5, EITHER),
    ("zremrangebylex", 5, LEX_ONLY),
    ("zcard", 3, EITHER),
    ("zcount", 8, EITHER),
    ("zlexcount", 7, LEX_ONLY),
    ("zscore", 5, EITHER),
    ("zmscore", 5, EITHER),
    ("zrank", 8, EITHER),
    ("zrange", 25, EITHER),
    ("zrangestore", 12, EITHER),
    ("zrevrange", 6, EITHER),
    ("zrangebyscore", 12, EITHER),
    ("zrangebylex", 10, LEX_ONLY),
    ("zrandmember", 8, EITHER),
    ("zrandmember_of_limits", 1, NO_LEX),
    ("zpop", 8, EITHER),
    ("zmpop", 6, EITHER),
    ("bzpop", 5, EITHER),
    ("bzmpop", 5, EITHER),
    ("bad_timeout", 1, EITHER),
    ("zop", 16, EITHER),
    ("zopstore", 16, EITHER),
    ("zintercard", 6, EITHER),
    ("zscan", 5, EITHER),
    ("whole_zscan", 2, EITHER),
    ("set", 30, EITHER),
    ("get", 8, EITHER),
    ("getdel", 5, EITHER),
    ("getex", 10, EITHER),
    ("getset", 5, EITHER),
    ("mget", 5, EITHER),
    ("mset", 8, EITHER),
    ("setnx", 5, EITHER),
    ("setex", 8, EITHER),
    ("append", 8, EITHER),
    ("incr", 8, EITHER),
    ("incrby", 8, EITHER),
    ("incrbyfloat", 10, EITHER),
    ("getrange", 10, EITHER),
    ("setrange", 8, EITHER),
    ("delete", 10, EITHER),
    ("ask", 6, EITHER),
    ("type", 4, EITHER),
    ("expire", 25, EITHER),
    ("ttl", 12, EITHER),
    ("persist", 6, EITHER),
    ("rename", 10, EITHER),
    ("copy", 10, EITHER),
    ("move", 6, EITHER),
    ("select", 5, EITHER),
    ("swapdb", 2, EITHER),
    ("randomkey", 2, EITHER),
    ("dbsize", 2, EITHER),
    ("list_keys", 3, EITHER),
    ("scan", 3, EITHER),
    ("whole_scan", 2, EITHER),
    ("object", 8, EITHER),
    ("memory_usage", 3, EITHER),
    ("wait", 2, EITHER),
    ("flush", 1, EITHER),
    ("dump", 2, EITHER),
    ("let_expire", 3, EITHER),
    ("cross_dump", 4, EITHER),
    ("spoilt_restore", 3, EITHER),
    ("getkeys", 3, EITHER),
]
NOT_SPOILT = BLOCKING | frozenset(
    [b"COMMAND", b"ZRANDMEMBER", b"FLUSHALL", b"FLUSHDB", b"SETRANGE"]
)
SET_TIMES = {b"SET", b"GETEX", b"SETEX", b"PSETEX", b"EXPIRE", b"PEXPIRE", b"RESTORE"}
SETS_SCORES = {b"ZADD", b"ZINCRBY"}


class Generator(SortedSets, Strings, Keys):
    """Draws the steps of an epoch. Knows which clients are inside of MULTI, and nothing
    else of what the servers answer."""

    def __init__(self, rng):
        super().__init__(rng)
        self.in_multi = [False] * N_CLIENTS
        self.sizes = rng.choice([[120, 127, 128, 129, 140, 400]] * 15 + [[1000, 4000]])
        self.methods = [getattr(self, name) for name, _, _ in COMMANDS]
        self.weights = [weight for _, weight, _ in COMMANDS]
        self.pools = {name: pool for name, _, pool in COMMANDS}

    def command(self):
        """One command, right or spoilt."""
        method = self.rng.choices(self.methods, self.weights)[0]
        pool = self.pools[method.__name__]
        self.lex = pool == LEX_ONLY or (pool == EITHER and self.chance(0.15))
        words = method()
        name = words[0]
        if name.startswith(b"!"):
            return words
        if name not in NOT_SPOILT and self.chance(0.1):
            words = self.spoil_in_pool(words)
            if name in SET_TIMES:
                words = words[:2] + [self.later(word) for word in words[2:]]
        if name in (b"ZREMRANGEBYSCORE", b"ZRANGESTORE"):
            # 7.0 would take these ends and write, 8.0 does not.
            words = [b"3" if is_refused_end(word) else word for word in words]
        if self.chance(0.05):
            words[0] = self.any_case(words[0])
        return words

    def later(self, word):
        """No spoilt command may let a key expire within the run of an epoch: when that is
        seen would hang on the clock."""
        if word.isdigit() and 0 < int(word) < 10**6:
            return b"%d" % (self.relative_s() * 1000)
        return word

    def spoil_in_pool(self, words):
        """Lexical sets stay so: their scores stand, and no key of another pool comes in."""
        if not self.lex:
            return self.spoil(words)
        if words[0] in SETS_SCORES or b"STORE" in words[0]:
            return words[: self.rng.randint(1, len(words))]
        spoilt = self.spoil(words)
        known = {*words, *(word.swapcase() for word in words)}
        if words[0] in (b"RENAME", b"RENAMENX", b"COPY"):
            return [w if w in known else LEX_MISSING for w in spoilt[:3]] + spoilt[3:]
        return spoilt

    def probe(self, words):
        """What a random pick was picked from is asked for right after it."""
        if words[0] == b"ZRANDMEMBER" and len(words) > 1:
            return [[b"ZRANGE", words[1], b"0", b"-1", b"WITHSCORES"]]
        if words[0] == b"RANDOMKEY":
            return [[b"KEYS", b"*"]]
        return []

    def getkeys(self):
        """Which words of a command are its keys? 7.0 wants more than its name."""
        words = self.command_for_queue()
        while len(words) < 2:
            words = self.command_for_queue()
        return [b"COMMAND", b"GETKEYS", *words]

    # ---- transactions ----

    def begin(self):
        return [b"MULTI"]

    def end(self):
        form = self.rng.random()
        if form < 0.85:
            return [b"EXEC"]
        return [b"DISCARD"]

    def in_transaction(self, client):
        """What a client sends inside of MULTI."""
        form = self.rng.random()
        if form < 0.2:
            self.in_multi[client] = False
            return self.end()
        if form < 0.21:  # ends it, as well
            self.in_multi[client] = False
            return [b"EXEC", b"x"]
        if form < 0.24:
            return self.rng.choice(
                [[b"MULTI"], [b"WATCH", self.key("any")], [b"UNWATCH"], [b"NOSUCH", b"x"]]
                + [[b"DISCARD", b"x"], [b"MULTI", b"x"], [b"GET"]]
            )
        return self.command_for_queue()

    def outside(self, client):
        form = self.rng.random()
        if form < 0.04:
            self.in_multi[client] = True
            return self.begin()
        if form < 0.09:
            return [b"WATCH", *self.keys("any")]
        if form < 0.1:
            return self.rng.choice([[b"UNWATCH"], [b"EXEC"], [b"DISCARD"], [b"WATCH"]])
        return self.command()

    def pipeline(self, client):
        """The commands of a step; one that may block stands alone."""
        commands = []
        for _ in range(self.rng.choice([1, 1, 2, 3, 5, 10, 30])):
            inside = self.in_multi[client]
            words = self.in_transaction(client) if inside else self.outside(client)
            may_block = not inside and words[0].upper() in BLOCKING
            if (may_block or words[0].startswith(b"!")) and commands:
                continue
            commands += [words, *self.probe(words)]
            if may_block or words[0].startswith(b"!"):
                break
        return commands

    def watched_change(self, client):
        """Does a command count as a change of the key that it names?"""
        other = self.rng.choice([i for i in range(N_CLIENTS) if i != client])
        words = self.command()
        while words[0].upper() in BLOCKING or words[0] in (b"!dump", b"!scan", b"!state"):
            words = self.command()
        keys = [word for word in words[1:4] if word] or [MISSING]
        return [
            (client, [[b"WATCH", *keys]]),
            (other, [words]),
            (client, [[b"MULTI"], [b"PING"], [b"EXEC"]]),
        ]

    def waiting(self, client):
        """Clients wait for members; then something may or may not bring some."""
        self.lex = False
        keys = list(dict.fromkeys(self.key("z") for _ in range(self.rng.randint(1, 2))))
        others = [i for i in range(N_CLIENTS) if i != client]
        steps = [(client, [[b"DEL", *keys]])]
        chosen = self.rng.sample(others, self.rng.randint(1, 2))
        for other in chosen:
            if self.chance(0.5):
                name = self.rng.choice([b"BZPOPMIN", b"BZPOPMAX"])
                words = [name, *keys, b"0"]
            else:
                words = [b"BZMPOP", b"0", b"%d" % len(keys), *keys, b"MIN"]
                words += self.maybe(0.4, b"COUNT", self.rng.choice([b"1", b"2", b"9"]))
            steps.append((other, [words]))
        key = self.rng.choice(keys)
        for _ in range(self.rng.randint(1, 3)):
            steps.append((client, self.bring(key)))
        if self.chance(0.9):
            steps += [(other, [[b"!leave"]]) for other in chosen]
        return steps

    def bring(self, key):
        """Commands that mostly leave members under the key."""
        form = self.rng.random()
        members = [b"ZADD", key, *self.pairs(self.rng.randint(1, 3))]
        source = self.rng.choice([b"z0", b"z1", b"o{tag}x"])
        if form < 0.3:
            return [members]
        if form < 0.45:
            return [[b"MULTI"], members, self.command_for_queue(), [b"EXEC"]]
        if form < 0.55:
            return [[b"MULTI"], members, [b"DEL", key], [b"EXEC"]]
        if form < 0.62:
            return [[b"SET", key, b"x"], [b"DEL", key]]
        return self.rng.choice(
            [
                [[b"RENAME", source, key]],
                [[b"COPY", source, key]],
                [[b"ZUNIONSTORE", key, b"1", source]],
                [[b"ZRANGESTORE", key, source, b"0", b"1"]],
                [[b"ZINCRBY", key, b"1", self.member()]],
                [[b"GEOADD", key, b"13.5", b"38.1", self.member()]],
                [[b"SELECT", b"1"], members, [b"MOVE", key, b"0"], [b"SELECT", b"0"]],
                [[b"SELECT", b"1"], members, [b"SWAPDB", b"0", b"1"], [b"SELECT", b"0"]],
                [[b"!dump", source, key, b"0"]],
            ]
        )

    def command_for_queue(self):
        while True:
            words = self.command()
            if not words[0].startswith(b"!") and not is_newer_only(words):
                return words


def is_newer_only(words):
    """ZRANK key member word, and COMMAND GETKEYS name, are refused by 7.0 before they are
    queued, and abort the transaction."""
    name = words[0].upper()
    return len(words) > 3 if name in (b"ZRANK", b"ZREVRANK") else (
        name == b"COMMAND" and len(words) <= 3
    )


def load(generator):
    """The first commands of an epoch: something under most keys."""
    commands = []
    for _ in range(generator.rng.randint(5, 25)):
        generator.lex = generator.chance(0.2)
        commands.append(
            generator.rng.choice(
                [generator.zadd, generator.zadd, generator.zadd_many, generator.set]
            )()
        )
    return (0, commands)


def make_steps(rng):
    generator = Generator(rng)
    steps = [load(generator)]
    for _ in range(rng.choice([30, 100, 300])):
        client = rng.randrange(N_CLIENTS)
        form = rng.random()
        if form < 0.12 and not any(generator.in_multi):
            steps += generator.watched_change(client)
        elif form < 0.16 and not any(generator.in_multi):
            steps += generator.waiting(client)
        elif form < 0.18:
            steps.append((client, [[b"!leave"]]))
        elif form < 0.2:
            steps.append((client, [[b"!state"]]))
        else:
            commands = generator.pipeline(client)
            if commands:
                steps.append((client, commands))
    for client in range(N_CLIENTS):
        if generator.in_multi[client]:
            steps.append((client, [[b"EXEC"]]))
    steps.append((0, [[b"!state"]]))
    return steps
