"""A client that behaves well, and compares every answer with what it must be: the one that
must be served throughout, whatever others do. Its keys begin with PREFIX, which nobody else
uses."""
import threading
import time

from resp import Error

PREFIX = b"good:9b1e-"
PAUSE_S = 0.002
MEMBERS = [b"m%d" % i for i in range(50)]


class Model:
    """What the server must hold, and the next commands with their replies."""

    def __init__(self, rng):
        self.rng = rng
        self.strings, self.scores, self.n = {}, {}, 0

    def step(self):
        """Returns a list of (words, expected reply)."""
        return self.rng.choice([self._set, self._get, self._count, self._add, self._score,
                                self._range, self._geo, self._transaction])()

    def _key(self):
        return PREFIX + b"s%d" % self.rng.randrange(20)

    def _set(self):
        key, value = self._key(), self.rng.randbytes(self.rng.choice([1, 20, 300, 20000]))
        self.strings[key] = value
        return [([b"SET", key, value], b"OK")]

    def _get(self):
        keys = [self._key() for _ in range(4)]
        return [([b"MGET", *keys], [self.strings.get(key) for key in keys]),
                ([b"STRLEN", keys[0]], len(self.strings.get(keys[0], b"")))]

    def _count(self):
        self.n += 7
        return [([b"INCRBY", PREFIX + b"n", b"7"], self.n)]

    def _add(self):
        member, score = self.rng.choice(MEMBERS), self.rng.randrange(-1000, 1000)
        is_new = member not in self.scores
        self.scores[member] = score
        return [([b"ZADD", PREFIX + b"z", b"%d" % score, member], int(is_new))]

    def _score(self):
        member = self.rng.choice(MEMBERS)
        score = self.scores.pop(member, None)
        return [([b"ZSCORE", PREFIX + b"z", member],
                 None if score is None else b"%d" % score),
                ([b"ZREM", PREFIX + b"z", member], int(score is not None)),
                ([b"ZCARD", PREFIX + b"z"], len(self.scores))]

    def _range(self):
        order = sorted(self.scores, key=lambda member: (self.scores[member], member))
        return [([b"ZRANGE", PREFIX + b"z", b"0", b"-1"], order)]

    def _geo(self):
        return [([b"GEOADD", PREFIX + b"g", b"13.361389", b"38.115556", b"Palermo",
                  b"15.087269", b"37.502669", b"Catania"], None),
                ([b"GEODIST", PREFIX + b"g", b"Palermo", b"Catania", b"km"], b"166.2742"),
                ([b"GEOSEARCH", PREFIX + b"g", b"FROMLONLAT", b"15", b"37", b"BYRADIUS",
                  b"100", b"km"], [b"Catania"])]

    def _transaction(self):
        self.n += 1
        return [([b"MULTI"], b"OK"), ([b"INCR", PREFIX + b"n"], b"QUEUED"),
                ([b"GET", PREFIX + b"n"], b"QUEUED"),
                ([b"EXEC"], [self.n, b"%d" % self.n])]


class GoodClient(threading.Thread):
    """Goes on until `end` is called; `fault` says what was wrong, `n` how much it has asked.
    The connection's timeout is the deadline of each answer."""

    def __init__(self, connect, rng):
        super().__init__(daemon=True)
        self.connect, self.model = connect, Model(rng)
        self.fault, self.n = None, 0
        self._ended = threading.Event()
        self.start()

    def run(self):
        try:
            with self.connect() as conn:
                while not self._ended.is_set():
                    self._ask(conn)
                    time.sleep(PAUSE_S)
        except Exception as error:  # shown by the main thread
            self.fault = f"the good client after {self.n} commands: {error!r}"

    def _ask(self, conn):
        step = self.model.step()
        for (words, expect), got in zip(step, conn.pipeline([words for words, _ in step])):
            self.n += 1
            is_right = got == expect or (expect is None and isinstance(got, int))
            if isinstance(got, Error) or not is_right:
                raise AssertionError(f"{words[:3]}: {got!r:.300} in place of {expect!r:.300}")

    def end(self):
        self._ended.set()
        self.join()
        return self.fault
