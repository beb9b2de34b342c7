"""Random data sets and random commands for the differential test.

Everything comes from one random.Random, so that a seed repeats an epoch exactly.
Commands are lists of bytes. Most are right, some are spoilt on purpose (`spoil`). """
import csv
import math

import geo_oracle
import servers

GEO_KEYS = [b"k", b"k2"]
DESTINATIONS = [b"d1", b"d2", b"d3"]
STRING_KEY = b"s"
MISSING_KEY = b"missing"
LAT_MAX = geo_oracle.LAT_MAX

SIZES = [0, 1, 2, 5, 20, 60, 120, 127, 128, 129, 130, 200, 300, 600, 1200, 3000]
SIZE_WEIGHTS = [1, 2, 2, 4, 6, 6, 4, 3, 4, 4, 3, 6, 6, 4, 3, 2]

_cities = []


def cities():
    """Positions of real places; empty if the data file is not there."""
    path = servers.ROOT / "data" / "cities.csv"
    if not _cities and path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if abs(float(row["lat"])) <= LAT_MAX:
                    _cities.append((float(row["lon"]), float(row["lat"])))
    return _cities


# ---- positions ----------------------------------------------------------------


def uniform(rng):
    return rng.uniform(-180, 180), rng.uniform(-LAT_MAX, LAT_MAX)


def clip(lon, lat):
    return max(-180.0, min(180.0, lon)), max(-LAT_MAX, min(LAT_MAX, lat))


class Places:
    """A source of positions of one kind."""

    KINDS = [
        "uniform",
        "cities",
        "clusters",
        "poles",
        "antimeridian",
        "limits",
        "duplicates",
        "lattice",
        "meridian",
        "mixed",
    ]

    def __init__(self, rng, kind):
        self.rng, self.kind = rng, kind
        self.centers = [uniform(rng) for _ in range(rng.randint(1, 4))]
        self.spread = 10 ** rng.uniform(-5, 1)

    def draw(self):
        kind = self.kind
        if kind == "mixed":
            kind = self.rng.choice(self.KINDS[:-1])
        if kind == "cities" and not cities():
            kind = "clusters"
        return getattr(self, kind)()

    def uniform(self):
        return uniform(self.rng)

    def cities(self):
        return self.rng.choice(cities())

    def clusters(self):
        lon, lat = self.rng.choice(self.centers)
        return clip(self.rng.gauss(lon, self.spread), self.rng.gauss(lat, self.spread))

    def poles(self):
        sign = self.rng.choice([1, -1])
        return self.rng.uniform(-180, 180), sign * self.rng.uniform(78, LAT_MAX)

    def antimeridian(self):
        offset = self.rng.choice([0.0, 1e-9, 1e-5, self.rng.uniform(0, 3)])
        return self.rng.choice([1, -1]) * (180 - offset), self.rng.uniform(
            -LAT_MAX, LAT_MAX
        )

    def limits(self):
        lon = self.rng.choice(
            [
                180.0,
                -180.0,
                179.99999999999997,
                179.999998,
                0.0,
                self.rng.uniform(-180, 180),
            ]
        )
        lat = self.rng.choice(
            [
                LAT_MAX,
                -LAT_MAX,
                85.0511287,
                85.05,
                0.0,
                self.rng.uniform(-LAT_MAX, LAT_MAX),
            ]
        )
        return lon, lat

    def duplicates(self):
        return (
            self.centers[0] if self.rng.random() < 0.7 else self.rng.choice(self.centers)
        )

    def lattice(self):
        if self.rng.random() < 0.5:
            return float(self.rng.randint(-180, 180)), float(self.rng.randint(-85, 85))
        step = self.rng.choice([2, 3, 4, 8])
        return (
            self.rng.randint(0, 2**step - 1) * 360 / 2**step - 180,
            self.rng.randint(0, 2**step - 1) * 2 * LAT_MAX / 2**step - LAT_MAX,
        )

    def meridian(self):
        return self.centers[0][0], self.rng.uniform(-LAT_MAX, LAT_MAX)


def number(rng, value):
    """A text for a number; now and then an unusual one."""
    form = rng.random()
    if math.isinf(value):
        return rng.choice([b"inf", b"INF", b"+inf", b"Infinity"])
    if form < 0.6:
        return repr(value).encode()
    if form < 0.8:
        return b"%.6f" % value
    if form < 0.9:
        return b"%.17g" % value
    if form < 0.95:
        return b"%.3e" % value
    return rng.choice(
        [b"%+.4f" % value, b"%.0f" % value, value.hex().encode(), b"0%.2f" % abs(value)]
    )


def coordinate(rng, value, limit):
    """As number(), but never beyond the limit through rounding."""
    text = number(rng, value)
    try:
        far = abs(float(text)) > limit
    except ValueError:
        far = False
    return repr(value).encode() if far else text


def member_name(rng, i):
    form = rng.random()
    if form < 0.75:
        return b"m%d" % i
    if form < 0.85:
        return b"%d" % rng.randint(-1000, 10 ** rng.randint(1, 18))
    if form < 0.9:
        return bytes(rng.randrange(256) for _ in range(rng.randint(0, 12)))
    if form < 0.95:
        return b"long-%d-" % i + b"x" * rng.choice(
            [50, 56, 57, 58, 59, 64, 250, 260, 1000]
        )
    return rng.choice(
        [b"", b"-0", b"0", b"\r\n", b"a\x00b", b"$3\r\nabc\r\n", b"nan", b"\xff" * 3]
    )


def odd_score(rng):
    return rng.choice(
        [
            rng.uniform(-10, 10),
            float(rng.randint(-1000, 1000)),
            rng.random() * 2**52,
            rng.random() * 2**53,
            float(2**52),
            float(2**52 - 1),
            float(2**53),
            float(2**53 - 1),
            float(2**53 + 2),
            -1.0,
            0.0,
            math.inf,
            -math.inf,
            1e300,
            -1e300,
            5e-324,
            1e17,
            1e21,
            1.5,
            123456.789,
            0.1,
            1e-7,
            -rng.random() * 2**52,
            float(2**63),
            float(2**64),
            -float(2**63),
            float(rng.randrange(2**52)),
            float(rng.randrange(2**54)),
            rng.randrange(2**52) + 0.5,
            rng.uniform(-1, 1) * 10 ** rng.randint(-300, 300),
        ]
    )


def score_text(rng, score):
    if math.isinf(score):
        return rng.choice([b"inf", b"+inf", b"Infinity"]) if score > 0 else b"-inf"
    return rng.choice([b"%.17g" % score, repr(score).encode()])


# ---- an epoch -------------------------------------------------------------------


class Epoch:
    """Data and commands of one seed. `state` (key -> {member: score}) is set by the
    test after each round of writes, from what the servers hold."""

    def __init__(self, rng):
        self.rng = rng
        self.places = {key: Places(rng, rng.choice(Places.KINDS)) for key in GEO_KEYS}
        self.sizes = {
            b"k": rng.choices(SIZES, SIZE_WEIGHTS)[0],
            b"k2": rng.randint(0, 140),
        }
        self.odd = {b"k": rng.choice([0, 0, 0, 0.02, 0.5]), b"k2": rng.choice([0, 0, 1])}
        self.lex = rng.random() < 0.15
        self.reach = None  # powers of ten of the lengths in metres; None: any length
        self.state = {}
        self.names = {key: [] for key in GEO_KEYS}

    # ---- writes ----

    def load(self):
        commands = []
        for key in GEO_KEYS:
            self.names[key] = [member_name(self.rng, i) for i in range(self.sizes[key])]
            left = self.names[key][:]
            if self.lex and key == b"k2":
                commands += [[b"ZADD", key, b"0", name] for name in left]
                continue
            while left:
                n = self.rng.choice([1, 1, 3, 10, 100])
                if self.rng.random() < self.odd[key]:
                    commands.append(self.zadd_load(key, left[:n]))
                else:
                    commands.append(self.geoadd_load(key, left[:n]))
                del left[:n]
        commands.append([b"SET", STRING_KEY, b"a string"])
        return commands

    def geoadd_load(self, key, names):
        words = [b"GEOADD", key]
        for name in names:
            words += [*self.position_words(key), name]
        return words

    def position_words(self, key):
        lon, lat = self.places[key].draw()
        return [coordinate(self.rng, lon, 180), coordinate(self.rng, lat, LAT_MAX)]

    def zadd_load(self, key, names):
        words = [b"ZADD", key]
        for name in names:
            words += [score_text(self.rng, odd_score(self.rng)), name]
        return words

    def key(self, rare=0.06):
        if self.rng.random() < rare:
            return self.rng.choice([STRING_KEY, MISSING_KEY, *DESTINATIONS])
        return self.rng.choices(GEO_KEYS, [3, 1])[0]

    def member(self, key):
        names = self.names.get(key) or self.names[b"k"]
        if not names or self.rng.random() < 0.05:
            return self.rng.choice([b"nobody", b"", b"M1", b"m1 "])
        return self.rng.choice(names)

    def key_to_add(self):
        """With `lex` k2 keeps equal scores: a range by member has no meaning without."""
        key = self.key()
        return b"k" if self.lex and key == b"k2" else key

    def lex_add(self):
        return [b"ZADD", b"k2", b"0", member_name(self.rng, self.rng.randrange(10**6))]

    def write(self):
        if self.lex and self.rng.random() < 0.1:
            return self.lex_add()
        make = self.rng.choices(
            [
                self.geoadd,
                self.zadd,
                self.zrem,
                self.read_z,
                self.keys,
                self.geodist,
                self.geopos,
            ],
            [7, 7, 3, 4, 3, 1, 1],
        )[0]
        return self.maybe_spoilt(make())

    def geoadd(self):
        key = self.key_to_add()
        words = [b"GEOADD", key]
        for option in (b"NX", b"XX", b"CH", b"ch", b"nx"):
            if self.rng.random() < 0.12:
                words.append(option)
        for _ in range(self.rng.choice([1, 1, 1, 2, 5])):
            new = self.rng.random() < 0.4
            name = (
                member_name(self.rng, self.rng.randrange(10**6))
                if new
                else self.member(key)
            )
            words += [*self.position_words(key if key in GEO_KEYS else b"k"), name]
        return words

    def zadd(self):
        key = self.key_to_add()
        words = [b"ZADD", key]
        for option in (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR", b"incr"):
            if self.rng.random() < 0.13:
                words.append(option)
        single = (
            any(word in (b"INCR", b"incr") for word in words) and self.rng.random() < 0.9
        )
        for _ in range(1 if single else self.rng.choice([1, 1, 2, 4])):
            new = self.rng.random() < 0.3
            name = (
                member_name(self.rng, self.rng.randrange(10**6))
                if new
                else self.member(key)
            )
            score = odd_score(self.rng)
            if self.rng.random() < 0.5:
                score = float(self.rng.randrange(2**52))
            words += [score_text(self.rng, score), name]
        return words

    def zrem(self):
        key = self.key()
        return [
            b"ZREM",
            key,
            *(self.member(key) for _ in range(self.rng.choice([1, 1, 3]))),
        ]

    def keys(self):
        key = self.key(0.7)
        return self.rng.choice(
            [
                [b"SET", STRING_KEY, b"v%d" % self.rng.randrange(100)],
                [
                    b"SET",
                    STRING_KEY,
                    b"v",
                    self.rng.choice([b"NX", b"XX", b"KEEPTTL", b"GET", b"QQ"]),
                ],
                [b"GET", STRING_KEY],
                [b"GET", key],
                [b"MGET", STRING_KEY, key, MISSING_KEY],
                [b"DEL", self.rng.choice(DESTINATIONS)],
                [b"EXISTS", key, key, MISSING_KEY],
                [b"TYPE", key],
                [b"TTL", key],
                [b"EXPIRE", key, b"%d" % self.rng.randint(5000, 90000)],
                [b"PERSIST", key],
                [
                    b"EXPIRE",
                    self.rng.choice(DESTINATIONS),
                    self.rng.choice([b"0", b"-1", b"x"]),
                ],
            ]
        )

    # ---- reads ----

    def read(self):
        make = self.rng.choices(
            [
                self.geosearch,
                self.georadius,
                self.geodist,
                self.geopos,
                self.geohash,
                self.read_z,
            ],
            [10, 8, 3, 2, 2, 5],
        )[0]
        return self.maybe_spoilt(make())

    def unit(self):
        return self.rng.choice([b"m", b"km", b"ft", b"mi", b"KM", b"M", b"Mi", b"fT"])

    def geodist(self):
        key = self.key()
        words = [b"GEODIST", key, self.member(key), self.member(key)]
        return words + ([self.unit()] if self.rng.random() < 0.6 else [])

    def geopos(self):
        key = self.key()
        n = self.rng.choice([0, 1, 1, 3, 40])
        return [b"GEOPOS", key, *(self.member(key) for _ in range(n))]

    def geohash(self):
        return [b"GEOHASH"] + self.geopos()[1:]

    def center(self, key):
        """A centre: (words, lon, lat)."""
        form = self.rng.random()
        members = self.state.get(key)
        if members and form < 0.06:  # the antipode of a member
            lon, lat = geo_oracle.decode(self.rng.choice(list(members.values())))
            lon, lat = lon - 180 if lon > 0 else lon + 180, -lat
        elif form < 0.5:
            lon, lat = self.places.get(key, self.places[b"k"]).draw()
            if self.rng.random() < 0.5:
                lon, lat = clip(
                    lon + self.rng.gauss(0, 0.5), lat + self.rng.gauss(0, 0.5)
                )
        elif form < 0.9:
            lon, lat = uniform(self.rng)
        else:
            lon, lat = Places(
                self.rng, self.rng.choice(["limits", "poles", "lattice"])
            ).draw()
        words = [coordinate(self.rng, lon, 180), coordinate(self.rng, lat, LAT_MAX)]
        try:
            return words, float(words[0]), float(words[1])
        except ValueError:
            return words, lon, lat

    def size(self, key, lon, lat):
        """A length in metres: any magnitude, or exactly the distance to some member."""
        members = self.state.get(key)
        if members and self.rng.random() < 0.25:
            score = self.rng.choice(list(members.values()))
            return geo_oracle.distance(lon, lat, *geo_oracle.decode(score))
        if self.reach:
            return 10 ** self.rng.uniform(*self.reach)
        form = self.rng.random()
        if form < 0.7:
            return 10 ** self.rng.uniform(
                *self.rng.choice([(0, 5), (3, 6), (4, 6.5), (5, 7)])
            )
        return self.rng.choice(
            [
                0.0,
                self.rng.uniform(1e6, 2.2e7),
                self.rng.uniform(1e6, 2.2e7),
                self.rng.choice([4e7, 1e9, math.inf]),
                math.pi
                * geo_oracle.EARTH_RADIUS_M
                * self.rng.choice([1, 0.999999, 1.000001]),
            ]
        )

    def box(self, key, lon, lat):
        """Width and height in metres; now and then with a member exactly on an edge."""
        width, height = self.size(key, lon, lat) * 2, self.size(key, lon, lat) * 2
        members = self.state.get(key)
        if members and self.rng.random() < 0.4:
            there = geo_oracle.decode(self.rng.choice(list(members.values())))
            form = self.rng.random()
            if form < 0.7:
                width = 2 * geo_oracle.distance(*there, lon, there[1])
            if form > 0.3:
                height = (
                    2
                    * geo_oracle.EARTH_RADIUS_M
                    * abs(there[1] * geo_oracle.RADIANS - lat * geo_oracle.RADIANS)
                )
        return width, height

    def size_words(self, metres, unit):
        value = metres / geo_oracle.UNITS[unit.lower()]
        return (
            repr(value).encode() if self.rng.random() < 0.7 else number(self.rng, value)
        )

    def options(self, plain=False):
        words = []
        if self.rng.random() < 0.4:
            words.append([self.rng.choice([b"ASC", b"DESC", b"asc"])])
        if self.rng.random() < 0.35:
            count = [b"COUNT", b"%d" % self.rng.choice([1, 2, 3, 10, 100, 5000])]
            words.append(count + ([b"ANY"] if self.rng.random() < 0.4 else []))
        if not plain:
            for option in (b"WITHCOORD", b"WITHDIST", b"WITHHASH"):
                if self.rng.random() < 0.3:
                    words.append([option])
        self.rng.shuffle(words)
        return words

    def clauses(self, key):
        """FROM and BY clauses of GEOSEARCH."""
        members = self.state.get(key)
        if members and self.rng.random() < 0.35:
            name = self.member(key)
            lon, lat = geo_oracle.decode(members.get(name, 0.0))
            from_words = [b"FROMMEMBER", name]
        else:
            words, lon, lat = self.center(key)
            from_words = [b"FROMLONLAT", *words]
        unit = self.unit()
        if self.rng.random() < 0.55:
            by_words = [
                b"BYRADIUS",
                self.size_words(self.size(key, lon, lat), unit),
                unit,
            ]
        else:
            width, height = self.box(key, lon, lat)
            if self.rng.random() < 0.3:
                unit = b"m"  # no rounding by a unit: edges stay exact
            by_words = [
                b"BYBOX",
                self.size_words(width, unit),
                self.size_words(height, unit),
                unit,
            ]
        return [from_words, by_words]

    def geosearch(self):
        key = self.key()
        parts = self.clauses(key) + self.options()
        self.rng.shuffle(parts)
        name = b"GEOSEARCH" if self.rng.random() < 0.8 else b"geosearch"
        return [name, key, *(word for part in parts for word in part)]

    def georadius(self):
        key = self.key()
        unit = self.unit()
        tail = [word for part in self.options() for word in part]
        suffix = b"_RO" if self.rng.random() < 0.3 else b""
        members = self.state.get(key)
        if members and self.rng.random() < 0.4:
            name = self.member(key)
            lon, lat = geo_oracle.decode(members.get(name, 0.0))
            head = [b"GEORADIUSBYMEMBER" + suffix, key, name]
        else:
            words, lon, lat = self.center(key)
            head = [b"GEORADIUS" + suffix, key, *words]
        return [*head, self.size_words(self.size(key, lon, lat), unit), unit, *tail]

    def store(self, key=None, destination=None):
        """A STORE form. Its source is no destination of others, unless told."""
        key = (
            key
            or self.rng.choices([*GEO_KEYS, MISSING_KEY, STRING_KEY], [12, 4, 1, 1])[0]
        )
        destination = destination or self.rng.choice(DESTINATIONS)
        if self.rng.random() < 0.6:
            parts = self.clauses(key) + self.options(plain=self.rng.random() < 0.95)
            if self.rng.random() < 0.4:
                parts.append([b"STOREDIST"])
            self.rng.shuffle(parts)
            return [
                b"GEOSEARCHSTORE",
                destination,
                key,
                *(w for part in parts for w in part),
            ]
        while True:
            words = self.georadius()
            if not words[0].endswith(b"_RO"):
                break
        words[1] = key
        words = [
            w for w in words if self.rng.random() < 0.05 or not w.startswith(b"WITH")
        ]
        return words + [self.rng.choice([b"STORE", b"STOREDIST", b"store"]), destination]

    # ---- sorted-set reads ----

    def read_z(self):
        key = self.key()
        return self.rng.choice(
            [
                self.zrange_rank,
                self.zrange_score,
                self.zrange_score,
                self.zrange_lex,
                self.z_single,
                self.z_single,
            ]
        )(key)

    def z_single(self, key):
        return self.rng.choice(
            [
                [b"ZCARD", key],
                [b"ZSCORE", key, self.member(key)],
                [
                    b"ZMSCORE",
                    key,
                    *(self.member(key) for _ in range(self.rng.randint(1, 8))),
                ],
                [b"ZRANK", key, self.member(key)],
                [b"ZREVRANK", key, self.member(key)],
            ]
        )

    def with_scores(self):
        return [b"WITHSCORES"] if self.rng.random() < 0.5 else []

    def limit(self):
        if self.rng.random() < 0.6:
            return []
        return [
            b"LIMIT",
            b"%d" % self.rng.choice([0, 0, 1, 5, 100, -1]),
            b"%d" % self.rng.choice([-1, 0, 1, 7, 100, -5]),
        ]

    def zrange_rank(self, key):
        a, b = (
            b"%d"
            % self.rng.choice(
                [
                    0,
                    1,
                    5,
                    -1,
                    -3,
                    -10,
                    127,
                    1000,
                    -9999,
                    9999,
                    self.rng.randint(-200, 200),
                ]
            )
            for _ in range(2)
        )
        return [
            b"ZRANGE",
            key,
            a,
            b,
            *([b"REV"] if self.rng.random() < 0.4 else []),
            *self.with_scores(),
        ]

    def bound(self, key):
        form = self.rng.random()
        if form < 0.3:
            return self.rng.choice([b"-inf", b"+inf", b"inf", b"(-inf", b"(inf"])
        members = self.state.get(key)
        if members and form < 0.8:
            text = score_text(self.rng, self.rng.choice(list(members.values())))
        else:
            text = score_text(self.rng, odd_score(self.rng))
        return (b"(" if self.rng.random() < 0.3 else b"") + text

    def zrange_score(self, key):
        low, high = self.bound(key), self.bound(key)
        if self.rng.random() < 0.3:
            return [b"ZRANGEBYSCORE", key, low, high, *self.with_scores(), *self.limit()]
        parts = [
            [b"BYSCORE"],
            self.with_scores(),
            self.limit(),
            [b"REV"] if self.rng.random() < 0.4 else [],
        ]
        self.rng.shuffle(parts)
        return [b"ZRANGE", key, low, high, *(word for part in parts for word in part)]

    def zrange_lex(self, key):
        """By member; its answer is defined only where all scores are equal."""
        if not self.lex:
            return self.zrange_rank(key)
        low, high = (
            self.rng.choice(
                [
                    b"-",
                    b"+",
                    b"(" + self.member(b"k2"),
                    b"[" + self.member(b"k2"),
                    b"[m",
                    b"(m5",
                    b"x",
                ]
            )
            for _ in range(2)
        )
        parts = [
            [b"BYLEX"],
            self.limit(),
            [b"REV"] if self.rng.random() < 0.4 else [],
            [b"WITHSCORES"] if self.rng.random() < 0.05 else [],
        ]
        self.rng.shuffle(parts)
        return [b"ZRANGE", b"k2", low, high, *(word for part in parts for word in part)]

    # ---- spoiling ----

    JUNK = [
        b"",
        b"x",
        b"-1",
        b"0",
        b"nan",
        b"inf",
        b"1e400",
        b"0x10",
        b" 1",
        b"1 ",
        b"ANY",
        b"COUNT",
        b"ASC",
        b"DESC",
        b"WITHDIST",
        b"WITHCOORD",
        b"WITHHASH",
        b"STORE",
        b"STOREDIST",
        b"BYRADIUS",
        b"BYBOX",
        b"FROMLONLAT",
        b"FROMMEMBER",
        b"km",
        b"NX",
        b"XX",
        b"CH",
        b"GT",
        b"LT",
        b"INCR",
        b"WITHSCORES",
        b"LIMIT",
        b"REV",
        b"BYSCORE",
        b"9223372036854775808",
        b"1.5",
        b"200",
        b"\xff\x00",
        b"01",
        b"+5",
        b"1e-400",
        b"5e-324",
        b"a\r\nb",
    ]

    def maybe_spoilt(self, words):
        return self.spoil(words) if self.rng.random() < 0.12 else words

    def spoil(self, words):
        """Changes a command a little; it may stay right."""
        words = list(words)
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            at = self.rng.randrange(1, len(words)) if len(words) > 1 else 0
            form = self.rng.random()
            if at == 0:
                continue
            if form < 0.3 and at >= 2:
                words[at] = self.rng.choice(self.JUNK)
            elif form < 0.5:
                words.insert(
                    self.rng.randrange(2, len(words) + 1), self.rng.choice(self.JUNK)
                )
            elif form < 0.7:
                del words[at]
            elif form < 0.8 and len(words) > 3:
                other = self.rng.randrange(1, len(words))
                if at >= 2 and other >= 2:
                    words[at], words[other] = words[other], words[at]
            elif form < 0.9 and at >= 2:
                words.insert(at, words[at])
            elif at >= 2:
                words[at] = words[at].swapcase()
        return self.keep_keys_apart(words)

    def spoilt_store(self):
        """GEOSEARCHSTORE with a fault; never into a source."""
        words = self.spoil([b"GEOSEARCHSTORE", b"d1"] + self.geosearch()[1:])
        if len(words) > 2 and words[2] in DESTINATIONS:
            words[2] = b"k"
        return words[:1] + [self.rng.choice(DESTINATIONS)] + words[2:]

    def keep_keys_apart(self, words):
        """Spoilt words must not store into a source or touch keys nobody follows."""
        known = {*GEO_KEYS, *DESTINATIONS, STRING_KEY, MISSING_KEY}
        if len(words) > 1 and words[1] not in known:
            words[1] = MISSING_KEY
        if words[0].upper() in (b"GEORADIUS", b"GEORADIUSBYMEMBER"):
            words[0] += b"_RO"
        if words[0] == b"ZADD":  # the sign of -0 is a matter of its own (test_negative_zero)
            words = [b"0" if word == b"-0" else word for word in words]
        if words[0] == b"ZRANGEBYSCORE" or b"BYSCORE" in map(bytes.upper, words):
            # Redis 8.0 refuses these, 7.0 does not (test_ends_of_score_ranges)
            words = [b"x" if word.lower() in (b"0x10", b" 1") else word for word in words]
        if self.lex and words[0] in (b"GEOADD", b"ZADD") and words[1:2] == [b"k2"]:
            words[1] = b"k"
        return words
