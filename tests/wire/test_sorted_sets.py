"""Sorted sets where Redis 8.0 answers otherwise than 7.0.15, each with the value of 8.0, and
replies that are random."""
import collections

import pytest

from resp import NULL_ARRAY, Double, Error

NO_FLOAT = Error(b"ERR min or max is not a float")


def test_ends_of_score_ranges(client):
    """Decimals only, and no blanks; 7.0 reads what C's strtod reads."""
    client.command("ZADD", "k", "1", "a", "2", "b", "16", "c")
    for text in ("0x10", " 1", "\t1", "1 ", "0x1p4", "nan", "x"):
        for end in (text, "(" + text):
            for words in (
                ["ZRANGEBYSCORE", "k", end, "99"],
                ["ZREVRANGEBYSCORE", "k", "99", end],
                ["ZRANGE", "k", end, "99", "BYSCORE"],
                ["ZCOUNT", "k", "0", end],
                ["ZREMRANGEBYSCORE", "k", end, "99"],
            ):
                assert client.command(*words) == NO_FLOAT, words
    # where both versions agree
    assert client.command("ZCOUNT", "k", "", "1e400") == 3
    assert client.command("ZCOUNT", "k", "(", "+1.") == 1
    assert client.command("ZCOUNT", "k", "1e-400", "1\x00x") == 1
    assert client.command("ZCOUNT", "k", "-Infinity", "(16") == 2


def test_scan_options_of_other_types(client):
    """Since 7.4 NOVALUES is known, but not of sorted sets."""
    client.command("ZADD", "k", "1", "a")
    error = Error(b"ERR NOVALUES option can only be used in HSCAN")
    assert client.command("ZSCAN", "k", "0", "NOVALUES") == error
    assert client.command("SCAN", "0", "COUNT", "5", "novalues") == error
    assert client.command("ZSCAN", "none", "0", "NOVALUES") == [b"0", []]


@pytest.mark.parametrize("timeout", ["inf", "1e400", "9223372036854776", "9223372036854775"])
def test_timeouts_beyond_the_clock(client, timeout):
    """7.0 calls them negative, or waits for ever."""
    client.command("ZADD", "k", "1", "a")
    error = Error(b"ERR timeout is out of range")
    assert client.command("BZPOPMIN", "k", timeout) == error
    assert client.command("BZMPOP", timeout, "1", "k", "MAX") == error
    assert client.command("ZCARD", "k") == 1


def test_shapes_of_pops(server):
    with server.connect() as client, server.connect(resp=3) as client3:
        add = ["ZADD", "k", "1", "a", "2", "b", "3.5", "c", "4", "d"]
        client.command(*add)
        assert client.command("ZPOPMIN", "k") == [b"a", b"1"]
        assert client.command("ZPOPMIN", "k", "1") == [b"b", b"2"]
        assert client.command("ZMPOP", "1", "k", "MIN") == [b"k", [[b"c", b"3.5"]]]
        assert client.command("BZPOPMAX", "none", "k", "0") == [b"k", b"d", b"4"]
        assert client.command("ZPOPMIN", "k") == []
        assert client.command("ZMPOP", "1", "k", "MIN") is NULL_ARRAY
        client.command(*add)
        one, three = Double(b"1"), Double(b"3.5")
        assert client3.command("ZPOPMIN", "k") == [b"a", one]
        assert client3.command("ZPOPMIN", "k", "1") == [[b"b", Double(b"2")]]
        assert client3.command("ZMPOP", "1", "k", "MIN") == [b"k", [[b"c", three]]]
        assert client3.command("BZPOPMAX", "none", "k", "0") == [b"k", b"d", Double(b"4")]
        assert client3.command("ZPOPMIN", "k", "5") == []
        assert client3.command("ZMPOP", "1", "k", "MIN") is None


def test_random_members(client):
    """As many as asked for, of the set; distinct ones unless the count is negative."""
    names = [b"m%d" % i for i in range(1000)]
    client.batch([[b"ZADD", b"k", b"%d" % i, name] for i, name in enumerate(names)])
    for count in (1, 5, 60, 100, 999):
        found = client.command("ZRANDMEMBER", "k", str(count))
        assert len(found) == len(set(found)) == count and set(found) <= set(names)
    assert client.command("ZRANDMEMBER", "k", "1000") == names[::-1]
    pairs = client.command("ZRANDMEMBER", "k", "-5000", "WITHSCORES")
    assert len(pairs) == 10_000
    assert all(b"m" + score == name for name, score in zip(pairs[::2], pairs[1::2]))
    counts = collections.Counter(pairs[::2])
    assert len(counts) > 900 and max(counts.values()) < 30
    assert len({client.command("ZRANDMEMBER", "k") for _ in range(100)}) > 60


def test_endless_random_members(server):
    """More than any memory holds: others are served while it goes on."""
    with server.connect() as client:
        client.command("ZADD", "k", "1", "a", "2", "b")
        endless = server.connect()
        endless.send(b"*3\r\n$11\r\nZRANDMEMBER\r\n$1\r\nk\r\n$20\r\n-9223372036854775807\r\n")
        for i in range(200):
            assert client.command("ZADD", "k", str(i), "b%d" % i) == 1
        endless.close()
        assert client.command("ZCARD", "k") == 202


def test_pop_of_many(client):
    """The reply is read from the set as it was, while others change it."""
    n = 30_000
    client.batch([[b"ZADD", b"k", b"%d" % i, b"m%d" % i] for i in range(n)])
    replies = client.pipeline(
        [[b"ZPOPMAX", b"k", b"20000"], [b"ZADD", b"k", b"0", b"new"], [b"ZCARD", b"k"]]
        + [[b"ZMPOP", b"1", b"k", b"MIN", b"COUNT", b"100000"], [b"EXISTS", b"k"]]
    )
    assert replies[0][::2] == [b"m%d" % i for i in range(n - 1, n - 20_001, -1)]
    assert replies[1:3] == [1, n - 20_000 + 1]
    lowest = [[b"m0", b"0"], [b"new", b"0"]]
    assert replies[3] == [b"k", lowest + [[b"m%d" % i, b"%d" % i] for i in range(1, 10_000)]]
    assert replies[4] == 0
