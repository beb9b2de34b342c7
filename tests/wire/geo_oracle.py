"""What a search must answer, worked out the slow way: every member's position is
decoded from its score and the predicate is evaluated with the math library, one member
at a time.

Independent of the engine on purpose. The definitions are those of docs/compat.md:
positions on the midpoints of cells, haversine distances on a sphere, the box by
parallels. """
import functools
import math
from dataclasses import dataclass

EARTH_RADIUS_M = 6372797.560856
LAT_MAX = 85.05112878
LON_MAX = 180.0
RADIANS = math.pi / 180.0
CELLS = 1 << 26
UNITS = {b"m": 1.0, b"km": 1000.0, b"ft": 0.3048, b"mi": 1609.34}
TWO63 = float(1 << 63)


def to_signed(score):
    """A double as x86-64 turns it into a signed 64-bit integer."""
    if math.isnan(score) or not -TWO63 <= score < TWO63:
        return -(1 << 63)
    return int(score)


def to_unsigned(score):
    """The same for an unsigned one, in the two steps that compilers take."""
    if score < TWO63:
        return to_signed(score) & (2**64 - 1)
    return to_signed(score - TWO63) ^ (1 << 63) if score - TWO63 < TWO63 else 0


def _even_bits(value):
    value &= 0x5555555555555555
    for shift, mask in (
        (1, 0x3333333333333333),
        (2, 0x0F0F0F0F0F0F0F0F),
        (4, 0x00FF00FF00FF00FF),
        (8, 0x0000FFFF0000FFFF),
        (16, 0x00000000FFFFFFFF),
    ):
        value = (value | value >> shift) & mask
    return value


def _midpoint(index, limit):
    low = -limit + (index * 1.0 / CELLS) * (limit - -limit)
    high = -limit + ((index + 1) * 1.0 / CELLS) * (limit - -limit)
    return max(-limit, min(limit, (low + high) / 2))


@functools.lru_cache(maxsize=1 << 18)
def decode(score):
    """(longitude, latitude) of a score."""
    bits = to_unsigned(score)
    return _midpoint(_even_bits(bits >> 1), LON_MAX), _midpoint(_even_bits(bits), LAT_MAX)


def distance(lon1, lat1, lon2, lat2):
    """Metres. On one meridian it is the arc itself, without the detour over the sine."""
    lat1r, lat2r = lat1 * RADIANS, lat2 * RADIANS
    v = math.sin((lon2 * RADIANS - lon1 * RADIANS) / 2)
    if v == 0.0:
        return EARTH_RADIUS_M * abs(lat2r - lat1r)
    u = math.sin((lat2r - lat1r) / 2)
    # At antipodes the root may pass 1 by a rounding: C's asin is NaN then, which no
    # radius is smaller than.
    root = math.sqrt(u * u + math.cos(lat1r) * math.cos(lat2r) * v * v)
    return 2.0 * EARTH_RADIUS_M * math.asin(root) if root <= 1 else math.nan


@dataclass
class Shape:
    lon: float
    lat: float
    radius: float = None  # metres
    width: float = None
    height: float = None

    def holds(self, lon, lat):
        """The distance of a position inside the shape, else None."""
        far = distance(self.lon, self.lat, lon, lat)
        if self.radius is not None:
            return None if far > self.radius else far
        if EARTH_RADIUS_M * abs(lat * RADIANS - self.lat * RADIANS) > self.height / 2:
            return None
        if distance(lon, lat, self.lon, lat) > self.width / 2:
            return None
        return far


@dataclass
class Hit:
    member: bytes
    score: float
    lon: float
    lat: float
    far: float  # metres from the centre

    @property
    def place(self):
        return (self.score, self.member)


def search(members, shape):
    """All members (dict member -> score) inside the shape, by (score, member)."""
    hits = []
    half = shape.radius if shape.radius is not None else shape.height / 2
    # No position further away in latitude alone; a little more, for the roundings.
    reach_deg = half / EARTH_RADIUS_M / RADIANS * 1.000001 + 1e-6
    for member, score in members.items():
        lon, lat = decode(score)
        if abs(lat - shape.lat) > reach_deg:
            continue
        far = shape.holds(lon, lat)
        if far is not None:
            hits.append(Hit(member, score, lon, lat, far))
    hits.sort(key=lambda hit: hit.place)
    return hits


# ---- texts -------------------------------------------------------------------


def fixed17(value):
    """A coordinate as `coordinate-format fixed17` prints it."""
    text = b"%.17f" % value
    text = text.rstrip(b"0").rstrip(b".")
    return b"0" if text == b"-0" else text


def score17(value):
    return b"%.17g" % value


def distance_text(value):
    """Four decimals, rounded as the product times 10,000 rounds (ties to even)."""
    units = round(value * 10000.0)
    return b"%s%d.%04d" % (
        b"-" if units < 0 else b"",
        abs(units) // 10000,
        abs(units) % 10000,
    )
