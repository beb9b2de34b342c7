"""Random commands, sent to yonder-server and to redis-server 7.0.15, replies compared
byte for byte in RESP2 and RESP3.

An epoch is one seed: flush, load random sets, then rounds of writes, reads and STORE
forms. Only differences that `explain` proves are let pass; they are those of
docs/compat.md. Anything else fails with the seed and the shortest list of commands that
still shows it.

How long: see differential.run_epochs. seeds.txt has seeds that failed once; they run
first.
"""
import collections
import pathlib
import random
import time

import pytest

import cases
import generate
import geo_oracle
import servers
from differential import (
    CLOCK_SLACK_S,
    SHRINK_S,
    Failure,
    first_seed,
    is_near,
    kept_seeds,
    run_epochs,
)
from explain import (
    NEWER,
    Unexplained,
    explain,
    first_difference,
    is_newer_option,
    parse_query,
    shorten,
)
from resp import parse, split_replies
from shrink import show, shrink_list

N_COMMANDS = 50_000
N_CITIES = 30_000
SEEDS_FILE = "seeds.txt"
ALL_KEYS = [*generate.GEO_KEYS, *generate.DESTINATIONS, generate.STRING_KEY]
# Left out of a replay. GEORADIUS and GEORADIUSBYMEMBER may store.
READS = {
    b"GEOSEARCH",
    b"GEORADIUS_RO",
    b"GEORADIUSBYMEMBER_RO",
    b"GEODIST",
    b"GEOPOS",
    b"GEOHASH",
    b"ZRANGE",
    b"ZRANGEBYSCORE",
    b"ZSCORE",
    b"ZMSCORE",
    b"ZRANK",
    b"ZREVRANK",
    b"ZCARD",
}


class Pair:
    """The two servers, each with a connection in RESP2 and one in RESP3."""

    def __init__(self, ours, redis):
        self.servers = ours, redis
        self.ours = {resp: ours.connect(resp=resp) for resp in (2, 3)}
        self.redis = {resp: redis.connect(resp=resp) for resp in (2, 3)}

    def check_protocols(self):
        """No command may have switched a connection to the other protocol."""
        for side in (self.ours, self.redis):
            assert side[2].raw("HELLO").startswith(b"*")
            assert side[3].raw("HELLO").startswith(b"%")

    def batch(self, commands, resp):
        """Both servers' replies to all commands, as two lists of raw replies, or None
        if they are the same."""
        ours = self.ours[resp].batch(commands)
        theirs = self.redis[resp].batch(commands)
        if ours == theirs:
            return None
        return split_replies(ours), split_replies(theirs)

    def one(self, words, resp):
        return self.ours[resp].raw(*words), self.redis[resp].raw(*words)

    def both(self, *words):
        return self.ours[2].command(*words), self.redis[2].command(*words)

    def members(self, key):
        """What a key holds: {member: score}, the same on both sides, else None."""
        ours, theirs = self.one([b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], 2)
        return to_members(ours) if ours == theirs else None


def to_members(raw):
    value = parse(raw)
    if not isinstance(value, list):
        return {}
    return {value[i]: float(value[i + 1]) for i in range(0, len(value), 2)}


def is_clock(words, ours, theirs):
    """TTL may tick between the two servers."""
    if words[0] != b"TTL" or ours[:1] != b":" or theirs[:1] != b":":
        return False
    return is_near(int(ours[1:]), int(theirs[1:]), CLOCK_SLACK_S)


class EpochRun:
    """Runs one seed."""

    def __init__(self, pair, seed, counts):
        self.pair, self.seed, self.counts = pair, seed, counts
        self.differ = set()  # keys whose content differs in an allowed way
        self.rng = random.Random(seed)
        self.epoch = generate.Epoch(self.rng)
        self.history = []  # every writing command since the flush
        self.n_commands = 0

    def run(self):
        self.pair.both("FLUSHALL")
        self.write(self.epoch.load(), 2)
        self.fetch_state()
        for _ in range(self.rng.randint(1, 4)):
            writes = [self.epoch.write() for _ in range(self.rng.randint(5, 60))]
            self.write(writes + [[b"DEL", generate.MISSING_KEY]], self.rng.choice([2, 3]))
            self.fetch_state()
            self.read(
                [self.epoch.read() for _ in range(self.rng.randint(20, 120))],
                self.rng.choice([2, 3]),
            )
            self.store(self.rng.randint(1, 25), self.rng.choice([2, 3]))
            self.fetch_state()
            if self.rng.random() < 0.4:
                self.mixed(self.rng.randint(10, 60), self.rng.choice([2, 3]))
                self.fetch_state()
        self.store_into_itself()

    # ---- phases ----

    def write(self, commands, resp):
        """Commands that may write: no difference is allowed here."""
        self.n_commands += len(commands)
        answers = self.pair.batch(commands, resp)
        if answers is not None:
            for i, (words, ours, theirs) in enumerate(zip(commands, *answers)):
                if ours == theirs or self.is_let_pass(words, ours, theirs):
                    continue
                self.fail_write(self.history + commands[: i + 1], ours, theirs, resp)
        self.history += commands
        self.note_stores(commands)

    def note_stores(self, commands):
        """Stored without a look at what was stored: it may differ as a search may."""
        for words in commands:
            query = parse_query(words)
            if query is not None and query.store is not None:
                self.differ.add(query.store)

    def read(self, commands, resp):
        self.n_commands += len(commands)
        answers = self.pair.batch(commands, resp)
        if answers is None:
            return
        for words, ours, theirs in zip(commands, *answers):
            if ours == theirs or self.is_let_pass(words, ours, theirs):
                continue
            self.explain_or_fail(words, ours, theirs, resp)

    def mixed(self, n, resp):
        """Reads and writes in one pipeline: each reply is that of its moment."""
        commands = [
            self.epoch.read() if self.rng.random() < 0.6 else self.epoch.write()
            for _ in range(n)
        ]
        commands.append([b"DEL", generate.MISSING_KEY])
        self.n_commands += len(commands)
        answers = self.pair.batch(commands, resp)
        if answers is not None:
            found = False
            for i, (words, ours, theirs) in enumerate(zip(commands, *answers)):
                if ours == theirs or self.is_let_pass(words, ours, theirs):
                    continue
                found = True
                self.replay(commands[:i])
                self.explain_or_fail(words, ours, theirs, resp, fresh=True)
            if found:
                self.replay(commands)
        self.history += commands
        self.note_stores(commands)

    def replay(self, more):
        """Brings both servers to where they were after these commands."""
        self.pair.both("FLUSHALL")
        self.pair.batch(
            [words for words in self.history + more if words[0].upper() not in READS], 2
        )

    def store(self, n, resp):
        """STORE forms, each with a look at what was stored."""
        commands = []
        for _ in range(n):
            words = (
                self.epoch.spoilt_store()
                if self.rng.random() < 0.1
                else self.epoch.store()
            )
            query = parse_query(words)
            destination = query.store if query else words[1]
            commands += [words, [b"ZRANGE", destination, b"0", b"-1", b"WITHSCORES"]]
        self.n_commands += len(commands)
        answers = self.pair.batch(commands, resp)
        if answers is None:
            self.history += commands[::2]
            return
        ours, theirs = answers
        for i in range(0, len(commands), 2):
            mine, other = (b"".join(side[i : i + 2]) for side in (ours, theirs))
            destination = commands[i + 1][1]
            if (
                ours[i] == theirs[i]
                and ours[i].startswith(b"-")
                and destination in self.differ
            ):
                continue  # refused: what was stored before still stands
            self.differ.discard(destination)
            if mine != other:
                self.explain_or_fail(commands[i], mine, other, resp)
                self.differ.add(destination)
        self.history += commands[::2]

    def store_into_itself(self):
        key = self.rng.choice(generate.GEO_KEYS)
        words = self.epoch.store(key, key)
        look = [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"]
        answers = self.pair.batch([words, look], 2)
        self.n_commands += 2
        if answers is not None:
            mine, other = (b"".join(side) for side in answers)
            # The plain search of the proof needs the old content.
            before = self.epoch.state.get(key) or {}
            self.restore({key: before})
            self.explain_or_fail(words, mine, other, 2)

    def restore(self, state):
        for key, members in state.items():
            self.pair.both("DEL", key)
            load = [
                [b"ZADD", key, geo_oracle.score17(score), member]
                for member, score in members.items()
            ]
            if load:
                self.pair.batch(load, 2)

    def fetch_state(self):
        """Reads what all keys hold. Destinations of allowed differences are removed, and
        so is the key that is to be missing: writes may have made it."""
        self.pair.both("DEL", generate.MISSING_KEY)
        self.history.append([b"DEL", generate.MISSING_KEY])
        for key in ALL_KEYS[:-1]:
            members = self.pair.members(key)
            if members is None:
                if key not in self.differ:
                    ours, theirs = self.pair.one(
                        [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], 2
                    )
                    self.fail_write(
                        self.history + [[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"]],
                        ours,
                        theirs,
                        2,
                    )
                self.pair.both("DEL", key)
                self.history.append([b"DEL", key])
                members = {}
            self.differ.discard(key)
            self.epoch.state[key] = members
            self.n_commands += 1

    # ---- verdicts ----

    def note(self, names):
        for name in names:
            self.counts[name] += 1

    def is_let_pass(self, words, ours, theirs):
        """Differences that need no proof."""
        if is_newer_option(words, ours, theirs):
            self.note([NEWER])
            return True
        return is_clock(words, ours, theirs)

    def source(self, words, fresh):
        query = parse_query(words)
        key = query.key if query else words[1] if len(words) > 1 else None
        if fresh and key is not None:
            return key, self.pair.members(key)
        return key, self.epoch.state.get(key)

    def explain_or_fail(self, words, ours, theirs, resp, fresh=False):
        """`fresh`: the servers stand just before the command; else `state` tells its
        source."""
        key, members = self.source(words, fresh)
        try:
            self.note(explain(words, ours, theirs, members, resp, self.pair.redis[2]))
        except Unexplained as fault:
            if members is None:
                members = {}
            commands, fault, ours, theirs = self.shrink_read(
                key, members, words, resp, fault, ours, theirs
            )
            self.report(commands, ours, theirs, resp, fault)

    def fails_read(self, key, members, words, resp):
        """None, or (fault, ours, theirs) of the command on a set of these members."""
        self.restore({key: members})
        query = parse_query(words)
        ours, theirs = self.pair.one(words, resp)
        if query and query.store:
            look = [b"ZRANGE", query.store, b"0", b"-1", b"WITHSCORES"]
            more = self.pair.one(look, resp)
            ours, theirs = ours + more[0], theirs + more[1]
            self.pair.both("DEL", query.store)
            if query.store == key:
                self.restore({key: members})
        if ours == theirs or is_clock(words, ours, theirs):
            return None
        try:
            explain(words, ours, theirs, members, resp, self.pair.redis[2])
        except Unexplained as fault:
            return fault, ours, theirs
        return None

    def shrink_read(self, key, members, words, resp, fault, ours, theirs):
        deadline = time.monotonic() + SHRINK_S
        first = self.fails_read(key, members, words, resp) if key else None
        if first is None:
            state = [[b"ZADD", key, geo_oracle.score17(s), m] for m, s in members.items()]
            return state + [words], f"{fault} (not repeated alone)", ours, theirs
        items = shrink_list(
            list(members.items()),
            lambda part: self.fails_read(key, dict(part), words, resp) is not None,
            deadline,
        )
        kind = theirs[:1]

        def fails_words(part):
            trial = [word for _, word in part]
            if trial[: len(words[:2])] != words[:2]:
                return False
            answer = self.fails_read(key, dict(items), trial, resp)
            return answer is not None and answer[2][:1] == kind

        short = [
            word for _, word in shrink_list(list(enumerate(words)), fails_words, deadline)
        ]
        last = self.fails_read(key, dict(items), short, resp)
        load = [[b"ZADD", key, geo_oracle.score17(score), name] for name, score in items]
        if last is None:
            return load + [words], fault, ours, theirs
        return load + [short], last[0], last[1], last[2]

    def fail_write(self, commands, ours, theirs, resp):
        """The last command's replies differ, or a key's content after it."""
        deadline = time.monotonic() + SHRINK_S
        last = commands[-1]

        def fails(part):
            self.pair.both("FLUSHALL")
            self.pair.batch(part, resp)
            a, b = self.pair.one(last, resp)
            return a != b and not is_clock(last, a, b)

        singles = [single for words in commands[:-1] for single in split_load(words)]
        before = commands[:-1]
        if fails(singles):
            before = singles
        if fails(before):
            before = shrink_list(before, fails, deadline)
            self.pair.both("FLUSHALL")
            self.pair.batch(before, resp)
            ours, theirs = self.pair.one(last, resp)
        self.report(before + [last], ours, theirs, resp, "no difference is allowed here")

    def report(self, commands, ours, theirs, resp, fault):
        raise Failure(
            f"seed {self.seed} (RESP{resp}): {fault}\n"
            f"commands:\n{show(commands)}\n"
            f"yonder: {shorten(ours)}\nredis:  {shorten(theirs)}\n"
            f"{first_difference(ours, theirs)}\n"
            f"repeat: YN_SEED={self.seed} YN_EPOCHS=1; add the seed to {SEEDS_FILE}"
        )


def split_load(words):
    """GEOADD and ZADD without options, one member a command."""
    size = {b"GEOADD": 3, b"ZADD": 2}.get(words[0])
    if size is None or len(words) <= 2 + size or (len(words) - 2) % size:
        return [words]
    parts = [words[2 + i : 2 + i + size] for i in range(0, len(words) - 2, size)]
    return [[*words[:2], *part] for part in parts]


class CitiesRun(EpochRun):
    """Many places of data/cities.csv under one key, and searches among them."""

    def __init__(self, pair, seed, counts):
        super().__init__(pair, seed, counts)
        self.epoch.places = {
            key: generate.Places(self.rng, "cities") for key in generate.GEO_KEYS
        }
        self.epoch.names = {key: [] for key in generate.GEO_KEYS}
        self.epoch.lex = False
        self.epoch.reach = (0, 6)

    def run(self, n_rounds):
        self.pair.both("FLUSHALL")
        places = self.rng.sample(generate.cities(), N_CITIES)
        names = [b"%d" % i for i in range(len(places))]
        self.epoch.names[b"k"] = names
        for start in range(0, len(places), 500):
            words = [b"GEOADD", b"k"]
            for name, (lon, lat) in list(zip(names, places))[start : start + 500]:
                words += [repr(lon).encode(), repr(lat).encode(), name]
            self.write([words], 2)
        self.fetch_state()
        assert len(self.epoch.state[b"k"]) == len(places)
        for _ in range(n_rounds):
            self.read([self.epoch.read() for _ in range(60)], self.rng.choice([2, 3]))
            self.store(3, 2)
            self.write([self.epoch.write() for _ in range(60)], self.rng.choice([2, 3]))
            self.fetch_state()


@pytest.fixture(scope="module")
def pair(session_starter, shared_redis):
    if servers.subject_class() is servers.RedisServer:
        ours = session_starter.redis()
    else:
        ours = session_starter.subject("--coordinate-format", "fixed17")
    return Pair(ours, shared_redis)


@pytest.mark.parametrize("resp", [2, 3])
def test_odd_arguments(pair, resp):
    """A fixed list: wrong numbers of arguments, numbers that are none, options that
    clash."""
    pair = Pair(*pair.servers)  # some of these commands change a connection
    pair.both("FLUSHALL")
    lines = (
        (pathlib.Path(cases.__file__).parent / "odd_arguments.txt")
        .read_text()
        .splitlines()
    )
    for line in lines:
        words = cases.split_words(line)
        if line.startswith("#") or (resp == 3 and words[0] == b"HELLO"):
            continue
        ours, theirs = pair.one(words, resp)
        assert ours == theirs or is_newer_option(words, ours, theirs), line
    pair.both("CONFIG", "SET", "timeout", "0")


def test_kept_seeds(pair):
    """Seeds that failed once."""
    counts = collections.Counter()
    for seed in kept_seeds(SEEDS_FILE):
        EpochRun(pair, seed, counts).run()


@pytest.mark.skipif(not generate.cities(), reason="data/cities.csv is not there")
def test_searches_among_cities(pair):
    """The same with a large set and searches of up to 1,000 km."""
    seed, counts = first_seed(), collections.Counter()
    print(f"seed {seed}")
    run = CitiesRun(pair, seed, counts)
    run.run(5)
    print(f"{run.n_commands} commands; allowed differences: {dict(counts)}")


def test_random_commands(pair):
    counts = collections.Counter()

    def run_one(seed):
        run = EpochRun(pair, seed, counts)
        run.run()
        return run.n_commands

    run_epochs(run_one, N_COMMANDS)
    pair.check_protocols()
    print(f"allowed differences: {dict(counts)}")
