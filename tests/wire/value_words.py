"""Words for commands of values: keys, members, numbers of every kind, bounds.

Everything comes from one random.Random, so that a seed repeats an epoch exactly. Few keys
and few members, so that commands meet each other's results and types collide.

Keys come in two pools. In the pool of lexical keys every score is 0, since the answer of
a range by member is defined only there; commands mix keys of one pool only."""
import struct

ZSETS = [b"z0", b"z1", b"z2", b"z3"]
STRINGS = [b"s0", b"s1", b"s2", b"s3"]
ODD_KEYS = [b"", b"\x00\xff\r\n key", b"o{tag}x"]
LEX_ZSETS = [b"l0", b"l1", b"l2"]
LEX_STRINGS = [b"ls"]
MISSING, LEX_MISSING = b"nope", b"lnope"
DATABASES = [0, 1, 2, 3]

INT64_MAX = 2**63 - 1
INTEGERS_AT_LIMITS = [
    b"9223372036854775807",
    b"-9223372036854775808",
    b"-9223372036854775807",
    b"9223372036854775806",
]
# No word of these is a number between a million and half a billion: SETRANGE would take
# that for an offset.
NO_INTEGERS = [
    b"",
    b"x",
    b"1.0",
    b"1e3",
    b" 1",
    b"1 ",
    b"+1",
    b"01",
    b"-0",
    b"0x10",
    b"1\x00",
    b"--1",
    b"-",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"18446744073709551616",
    b"99999999999999999999999",
]
NO_FLOATS = [
    b"",
    b"x",
    b"nan",
    b"-nan",
    b"NaN",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b" 1",
    b"1 ",
    b"1,5",
    b"1e",
    b"0x",
    b"1\x00",
    b"infinit",
    b"--1",
    b"(1",
    b"1.2.3",
]
ODD_FLOATS = [
    b"0x10",
    b"0x1.8p1",
    b"-0x1p-3",
    b"+5",
    b".5",
    b"5.",
    b"-.25",
    b"1E5",
    b"1e+2",
    b"infinity",
    b"-Infinity",
    b"INF",
    b"+Inf",
    b"-0",
    b"-0.0",
    b"5e-324",
    b"2.2250738585072014e-308",
    b"1.7976931348623157e308",
    b"-1e300",
    b"9007199254740993",
    b"0.1000000000000000055511151231257827",
    b"1000000000000000000000",
    b"3.0e0",
    b"00012",
]
WORDS = [
    b"a",
    b"b",
    b"aa",
    b"ab",
    b"B",
    b"",
    b"\x00",
    b"\xff",
    b"a\r\nb",
    b"-5",
    b"007",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"1e5",
    b"m" * 63,
    b"m" * 64,
    b"m" * 65,
    b"n" * 300,
]
JUNK = [
    *NO_INTEGERS[:12],
    *NO_FLOATS[:12],
    *INTEGERS_AT_LIMITS[:1],
    b"NX",
    b"XX",
    b"GT",
    b"LT",
    b"CH",
    b"INCR",
    b"GET",
    b"KEEPTTL",
    b"PERSIST",
    b"EX",
    b"PX",
    b"EXAT",
    b"PXAT",
    b"WITHSCORES",
    b"WITHSCORE",
    b"LIMIT",
    b"REV",
    b"BYSCORE",
    b"BYLEX",
    b"COUNT",
    b"MATCH",
    b"TYPE",
    b"MIN",
    b"MAX",
    b"WEIGHTS",
    b"AGGREGATE",
    b"SUM",
    b"REPLACE",
    b"DB",
    b"ASYNC",
    b"SYNC",
    b"0",
    b"1",
    b"2",
    b"-1",
    b"inf",
    b"200",
    b"\xff\x00",
]


class Words:
    """Draws single words. `lex`: now in the pool of lexical keys."""

    def __init__(self, rng):
        self.rng = rng
        self.lex = False
        self.n_members = rng.choice([3, 6, 12, 40, 200])
        self.used_seconds = []

    def chance(self, p):
        return self.rng.random() < p

    # ---- keys ----

    def key(self, kind):
        """`kind`: z, s or any."""
        if self.lex:
            weights = {"z": (88, 6, 6), "s": (6, 88, 6), "any": (75, 15, 10)}[kind]
            group = self.rng.choices(
                [LEX_ZSETS, LEX_STRINGS, [LEX_MISSING]], weights
            )[0]
        else:
            weights = {
                "z": (79, 7, 7, 7),
                "s": (7, 79, 7, 7),
                "any": (40, 40, 12, 8),
            }[kind]
            group = self.rng.choices([ZSETS, STRINGS, ODD_KEYS, [MISSING]], weights)[0]
        return self.rng.choice(group)

    def keys(self, kind, n_max=4):
        return [self.key(kind) for _ in range(self.rng.randint(1, n_max))]

    def destination(self):
        return self.key("z") if self.chance(0.9) else self.key("any")

    # ---- members, values ----

    def member(self):
        form = self.rng.random()
        if form < 0.8:
            return b"%d" % self.rng.randrange(self.n_members)
        return self.rng.choice(WORDS)

    def value(self):
        """What a string holds."""
        form = self.rng.random()
        if form < 0.3:
            return b"%d" % self.rng.randint(-20, 200)
        if form < 0.4:
            return self.rng.choice(INTEGERS_AT_LIMITS)
        if form < 0.55:
            return self.rng.choice(ODD_FLOATS)
        if form < 0.65:
            return self.rng.choice(NO_INTEGERS)
        if form < 0.75:
            return b"%.3f" % self.rng.uniform(-5, 5)
        if form < 0.9:
            return self.rng.choice(WORDS)
        return bytes(
            self.rng.randrange(256) for _ in range(self.rng.choice([20, 44, 45, 500]))
        )

    # ---- numbers ----

    def integer(self, low=-10, high=10):
        """A small integer, or one at the limits of 64 bits, or none."""
        form = self.rng.random()
        if form < 0.92:
            return b"%d" % self.rng.randint(low, high)
        if form < 0.96:
            return self.rng.choice(INTEGERS_AT_LIMITS)
        return self.rng.choice(NO_INTEGERS)

    def score(self):
        """A right score."""
        if self.lex:
            return b"0"
        form = self.rng.random()
        if form < 0.5:
            return b"%d" % self.rng.randint(-6, 12)
        if form < 0.65:
            return b"%.1f" % self.rng.uniform(-5, 10)
        if form < 0.75:
            return repr(self.rng.uniform(-5, 10)).encode()
        if form < 0.8:
            return b"%d" % self.rng.randrange(2**52)
        if form < 0.86:
            return self.rng.choice([b"inf", b"-inf", b"+inf"])
        if form < 0.95:
            return self.rng.choice(ODD_FLOATS)
        bits = struct.pack("<Q", self.rng.getrandbits(64))
        number = struct.unpack("<d", bits)[0]
        return b"0" if number != number else repr(number).encode()

    def any_score(self):
        if not self.lex and self.chance(0.04):
            return self.rng.choice(NO_FLOATS)
        return self.score()

    def weight(self):
        form = self.rng.random()
        if form < 0.6:
            return self.rng.choice([b"1", b"2", b"0.5", b"3", b"10"])
        if form < 0.95:
            return self.score()
        return self.rng.choice(NO_FLOATS)

    # ---- bounds ----

    def score_bound(self):
        form = self.rng.random()
        if form < 0.25:
            return self.rng.choice([b"-inf", b"+inf", b"inf", b"(-inf", b"(+inf"])
        if form < 0.95:
            return (b"(" if self.chance(0.3) else b"") + self.score()
        return self.rng.choice([*NO_FLOATS, b"(", b"((1", b"[1"])

    def lex_bound(self):
        form = self.rng.random()
        if form < 0.25:
            return self.rng.choice([b"-", b"+"])
        if form < 0.95:
            return self.rng.choice([b"[", b"("]) + self.member()
        return self.rng.choice([b"", b"x", b"-x", b"+x", b"-inf", b"1", b"(", b"["])

    def two_bounds(self, draw, high_first=False):
        """Two bounds, mostly with something between them."""
        low, high = draw(), draw()
        if self.chance(0.7):
            key = float_key if draw == self.score_bound else lex_key
            low, high = sorted((low, high), key=key)
            if high_first:
                low, high = high, low
        return low, high

    def rank(self):
        form = self.rng.random()
        if form < 0.75:
            return b"%d" % self.rng.choice([0, 0, 1, 2, 5, 100, -1, -1, -2, -3, -100])
        return self.integer(-300, 300)

    # ---- times ----

    def relative_s(self):
        """Seconds from now. No two of an epoch are near each other, so that which of two
        expiries is later does not hang on the clock."""
        while True:
            seconds = self.rng.randint(1000, 10**6)
            if all(abs(seconds - other) > 30 for other in self.used_seconds):
                self.used_seconds.append(seconds)
                return seconds

    def relative(self, ms):
        form = self.rng.random()
        if form < 0.8:
            return b"%d" % (self.relative_s() * (1000 if ms else 1))
        if form < 0.9:
            return self.rng.choice([b"0", b"-1", b"-1000", b"-9223372036854775808"])
        if form < 0.95:
            limit = b"%d" % (INT64_MAX // 1000 - self.relative_s() * ms)
            return self.rng.choice([b"9223372036854775807", limit])
        return self.rng.choice(NO_INTEGERS)

    def absolute(self, ms):
        """The year 2100 and later, or long ago."""
        form = self.rng.random()
        if form < 0.8:
            seconds = 4102444800 + self.rng.choice([0, 1, 1000, 10**6, 10**9])
            return b"%d" % (seconds * 1000 + self.rng.choice([0, 1, 499, 500, 999])
                            if ms else seconds)
        if form < 0.9:
            return self.rng.choice([b"1", b"1000", b"0", b"-1", b"1600000000"])
        if form < 0.95:
            return self.rng.choice(
                [b"9223372036854775807", b"9223372036854775", b"9223372036854776"]
            )
        return self.rng.choice(NO_INTEGERS)

    # ---- spelling ----

    def option(self, *words):
        """Option words, now and then in another case."""
        if self.chance(0.9):
            return list(words)
        return [self.any_case(words[0]), *words[1:]]

    def any_case(self, word):
        return bytes(
            c ^ 32 if chr(c).isalpha() and self.chance(0.5) else c for c in word
        )

    def maybe(self, p, *words):
        return self.option(*words) if self.chance(p) else []

    def shuffled(self, parts):
        self.rng.shuffle(parts)
        return [word for part in parts for word in part]

    def spoil(self, words, first=2):
        """Changes a command a little, from its word number `first` on; it may stay
        right."""
        words = list(words)
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            if len(words) < 2:
                words.append(self.rng.choice(JUNK))
                continue
            at = self.rng.randrange(1, len(words))
            form = self.rng.random()
            if form < 0.3 and at >= first:
                words[at] = self.rng.choice(JUNK)
            elif form < 0.5 and len(words) >= first:
                words.insert(
                    self.rng.randrange(first, len(words) + 1), self.rng.choice(JUNK)
                )
            elif form < 0.7:
                del words[at]
            elif form < 0.8:
                other = self.rng.randrange(1, len(words))
                if at >= first and other >= first:
                    words[at], words[other] = words[other], words[at]
            elif form < 0.9 and at >= first:
                words.insert(at, words[at])
            elif at >= first:
                words[at] = words[at].swapcase()
        return words


def float_key(bound):
    try:
        return float(bound.lstrip(b"("))
    except ValueError:
        return 0.0


def lex_key(bound):
    if bound == b"-":
        return b""
    if bound == b"+":
        return b"\xff" * 400
    return b"\x00" + bound[1:]
