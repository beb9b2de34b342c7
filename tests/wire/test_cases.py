"""Every checked case over the wire: as it stands, in one write, byte by byte, and split
in two at every byte."""
import random
import os

import pytest

import cases
import servers
from cases import bytes_table
from resp import Connection, encode

COMMANDS = cases.load_commands()
BYTES = bytes_table.CASES
N_COMMAND_CASES, N_BYTE_CASES = 59, 28
IS_REDIS = servers.subject_class() is servers.RedisServer
if IS_REDIS:  # run against the oracle: leave out what it answers otherwise
    COMMANDS = [case for case in COMMANDS if not case.notes]
    BYTES = [case for case in BYTES if not case.notes]
SEED = int(os.environ.get("YN_SEED", "1"))
# Longer inputs are split at every byte up to here, and at random places after it.
EVERY_BYTE_UP_TO = 1200
RANDOM_SPLITS = 60
QUIET_S = 0.005


def by_name(case):
    return case.name


def check(case, values):
    for words, expect, value in zip(case.commands, case.expect, values):
        assert cases.matches(
            expect, value
        ), f"{words}: expected {expect!r}, got {value!r}"


def splits(n, name):
    if n <= EVERY_BYTE_UP_TO:
        return range(1, n)
    rng = random.Random(f"{SEED} {name}")
    return [
        *range(1, EVERY_BYTE_UP_TO),
        *sorted(rng.randrange(EVERY_BYTE_UP_TO, n) for _ in range(RANDOM_SPLITS)),
    ]


@pytest.fixture(scope="module")
def barrier(shared_server):
    """A second connection: once its PING is answered the server has read what others
    sent."""
    with shared_server.connect() as conn:
        yield lambda: conn.command("PING")


@pytest.mark.parametrize("case", COMMANDS, ids=by_name)
class TestCommands:
    def test_as_given(self, case, client):
        check(case, [client.command(*words) for words in case.commands])

    def test_in_one_write(self, case, client):
        check(case, client.pipeline(case.commands))

    def test_over_tcp_in_resp3(self, case, server):
        with server.connect(resp=3, tcp=True) as conn:
            values = [conn.command(*words) for words in case.commands]
        for words, expect, value in zip(case.commands, case.expect, values):
            if words[0] == b"ZRANGE":
                value = cases.flatten_pairs(value)
            assert cases.matches(expect, value), f"{words}: {expect!r}, got {value!r}"

    def test_byte_by_byte(self, case, client, barrier):
        data = b"".join(encode(*words) for words in case.commands)
        for at in range(len(data)):
            client.send(data[at : at + 1])
            barrier()
        check(case, [client.read() for _ in case.commands])

    def test_split_in_two_at_every_byte(self, case, client, barrier):
        data = b"".join(encode(*words) for words in case.commands)
        for at in splits(len(data), case.name):
            client.send(encode("FLUSHALL") + data[:at])
            barrier()
            client.send(data[at:])
            client.read()
            check(case, [client.read() for _ in case.commands])


@pytest.fixture(scope="module")
def locked_server(session_starter):
    return session_starter.subject("--requirepass", "pw")


def exchange(server, case, pieces, barrier=None):
    """Sends the pieces on a new connection and returns (all bytes that came, closed)."""
    with server.connect(resp=case.resp, timeout=20) as conn:
        if case.flush:
            conn.command("FLUSHALL")
        for number, piece in enumerate(pieces):
            try:
                conn.send(piece)
            except (BrokenPipeError, ConnectionResetError):
                break  # refused already; the answer is in our buffer
            if barrier and number + 1 < len(pieces):
                barrier()
        if case.closed:
            return conn.receive_until_closed(), True
        return receive_expected(conn, case)


def receive_expected(conn, case):
    """Reads what is expected, then makes sure that nothing follows."""
    if case.expect_prefix is not None:
        value, raw = conn.reader.read()
        got = raw
    else:
        got = b""
        while len(got) < len(case.expect):
            piece = conn.sock.recv(1 << 16)
            if not piece:
                return got, True
            got += piece
    conn.sock.settimeout(QUIET_S)
    try:
        more = conn.sock.recv(1 << 16)
        return got + more, more == b""
    except (TimeoutError, BlockingIOError):
        return got, False
    except ConnectionResetError:
        return got, True


def check_bytes(case, answer):
    got, closed = answer
    if case.expect_prefix is not None:
        assert got.startswith(case.expect_prefix)
    else:
        assert got == case.expect
    assert closed == case.closed


@pytest.mark.parametrize("case", BYTES, ids=by_name)
class TestBytes:
    @pytest.fixture
    def target(self, case, request):
        return request.getfixturevalue("locked_server" if case.auth else "server")

    @pytest.fixture
    def gate(self, case, target):
        """As `barrier`, for the server of this case."""
        conn = target.connect()
        if case.auth:
            conn.command("AUTH", "pw")
        yield lambda: conn.command("PING")
        conn.close()

    def test_as_given(self, case, target, gate):
        check_bytes(case, exchange(target, case, case.send, gate))

    def test_in_one_write(self, case, target):
        check_bytes(case, exchange(target, case, [b"".join(case.send)]))

    def test_byte_by_byte(self, case, target, gate):
        data = b"".join(case.send)
        head = data[:EVERY_BYTE_UP_TO]
        pieces = [head[i : i + 1] for i in range(len(head))] + [data[len(head) :]]
        check_bytes(case, exchange(target, case, [p for p in pieces if p], gate))

    def test_split_in_two_at_every_byte(self, case, target, gate):
        data = b"".join(case.send)
        places = splits(len(data), case.name)
        if len(data) > EVERY_BYTE_UP_TO:
            places = [*places][:150] + [*places][-30:]
        for at in places:
            check_bytes(case, exchange(target, case, [data[:at], data[at:]], gate))


def test_first_bytes_of_a_case_leave_others_alone(server):
    """Connections that stop inside a request, at each byte, cost nobody else anything."""
    data = encode("GEOADD", "k", "1", "2", "m") + encode("GEOPOS", "k", "m")
    held = []
    for at in range(1, len(data)):
        conn = Connection(server.path)
        conn.send(data[:at])
        held.append((conn, at))
    with server.connect() as conn:
        assert conn.command("PING") == b"PONG"
    random.Random(SEED).shuffle(held)
    for conn, at in held:
        conn.send(data[at:])
        assert conn.read() in (0, 1)
        assert len(conn.read()[0]) == 2
        conn.close()


@pytest.mark.skipif(IS_REDIS, reason="a selection only")
def test_no_case_is_lost():
    assert (len(COMMANDS), len(BYTES)) == (N_COMMAND_CASES, N_BYTE_CASES)
    assert len({case.name for case in COMMANDS + BYTES}) == len(COMMANDS) + len(BYTES)
