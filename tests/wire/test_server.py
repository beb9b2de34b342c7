"""The server as a program: start and stop, configuration, limits, slow and bad
clients."""
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import time

import pytest

import servers
from resp import Closed, Connection, Error, Malformed, Reader, Status, encode

SEED = int(os.environ.get("YN_SEED") or time.time_ns() // 1000 % 10**9)
IS_REDIS = servers.subject_class() is servers.RedisServer
only_yonder = pytest.mark.skipif(IS_REDIS, reason="of yonder-server only")
MB = 1 << 20
# A bound that only a server that waits for somebody else's client can miss.
PROMPT_S = 20


def run_server(*options, timeout=30):
    """Runs yonder-server to its end, for start-ups that must fail."""
    path = servers.binary("yonder-server")
    return subprocess.run(
        [str(path), *map(str, options)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def reset(conn):
    """Closes a connection with a reset instead of a proper end."""
    conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    conn.close()


def ping_s(conn):
    start = time.monotonic()
    assert conn.command("PING") == Status(b"PONG")
    return time.monotonic() - start


def wait_until(condition, timeout=30):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.02)


# ---- start and stop ----------------------------------------------------------------


@only_yonder
class TestStart:
    def refused(self, *options):
        done = run_server(*options)
        assert done.returncode not in (0, -6, -11), done
        assert done.stderr.strip(), "no message on stderr"
        assert "ready to accept" not in done.stderr
        return done.stderr

    def test_port_taken(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            assert str(port) in self.refused("--port", port)

    def test_unknown_option(self):
        assert "no-such-option" in self.refused("--no-such-option", "1")

    @pytest.mark.parametrize(
        "option, value",
        [
            ("port", "x"),
            ("port", "70000"),
            ("port", "-1"),
            ("maxclients", "many"),
            ("maxclients", "0"),
            ("coordinate-format", "roman"),
            ("protected-mode", "maybe"),
            ("timeout", "-5"),
        ],
    )
    def test_bad_value(self, option, value):
        assert option in self.refused("--port", "0", f"--{option}", value)

    def test_bad_path_of_the_unix_socket(self):
        path = "/no/such/folder/at/all/s.sock"
        assert path in self.refused("--port", "0", "--unixsocket", path)

    def test_unknown_kernel(self, monkeypatch):
        monkeypatch.setenv("YONDER_KERNEL", "avx1024")
        message = self.refused("--port", "0")
        assert "YONDER_KERNEL" in message and "avx1024" in message

    def test_option_without_value(self):
        assert "port" in self.refused("--port")

    def test_missing_config_file(self):
        assert "/no/such/file.conf" in self.refused("/no/such/file.conf")

    def test_bad_line_in_config_file(self, tmp_path):
        path = tmp_path / "y.conf"
        path.write_text("# comment\nport 0\nbogus-directive yes\n")
        message = self.refused(path)
        assert "bogus-directive" in message and "3" in message

    def test_version_and_help(self):
        for option in ("--version", "--help"):
            done = run_server(option)
            assert done.returncode == 0 and "onder" in done.stdout


@only_yonder
@pytest.mark.parametrize("kernel", ["scalar", "avx2", "avx512", ""])
def test_kernel_wanted(start, monkeypatch, kernel):
    """The wish is met, or the log says why not."""
    monkeypatch.setenv("YONDER_KERNEL", kernel)
    server = start.subject()
    with server.connect() as conn:
        info = conn.command("INFO", "server")
    is_met = kernel == "" or f"yonder_kernel:{kernel}\r\n".encode() in info
    assert is_met != ("YONDER_KERNEL" in server.log_text())


@only_yonder
def test_two_servers_have_two_ports(start):
    one, two = start.subject(), start.subject()
    assert one.port != two.port and min(one.port, two.port) > 1023
    for server in (one, two):
        with server.connect(tcp=True) as conn:
            conn.command("SET", "port", server.port)
    for server in (one, two):
        with server.connect() as conn:
            assert conn.command("GET", "port") == b"%d" % server.port


@only_yonder
def test_config_file_and_command_line(start, tmp_path):
    path = tmp_path / "y.conf"
    path.write_text(
        "# a comment\n\n  maxclients 77\ncoordinate-format fixed17\n"
        'requirepass "two words"\n'
    )
    folder = pathlib.Path(start.folder) / f"conf-{os.getpid()}"

    class FromFile(servers.YonderServer):
        def _command(self, options):
            words = super()._command(options)
            return [words[0], str(path), *words[1:]]

    server = FromFile(folder, "--maxclients", "78")
    start.running.append(server)
    with server.connect() as conn:
        assert conn.command("PING") == Error(b"NOAUTH Authentication required.")
        assert conn.command("AUTH", "two words") == b"OK"
        assert conn.command("CONFIG", "GET", "maxclients") == [b"maxclients", b"78"]
        assert conn.command("CONFIG", "GET", "coordinate-*") == [
            b"coordinate-format",
            b"fixed17",
        ]


def test_config_get_and_set(client):
    names = client.command("CONFIG", "GET", "*")[::2]
    assert {b"port", b"maxclients", b"requirepass", b"timeout"} <= set(names)
    assert client.command("CONFIG", "GET", "nosuchthing") == []
    assert client.command("CONFIG", "SET", "timeout", "1000") == b"OK"
    name, value = client.command("CONFIG", "GET", "TIMEOUT")
    assert (name.lower(), value) == (b"timeout", b"1000")
    assert client.command("CONFIG", "SET", "timeout", "0") == b"OK"
    for words in (
        ["CONFIG", "SET", "timeout", "x"],
        ["CONFIG", "SET", "nosuch", "1"],
        ["CONFIG", "SET", "timeout"],
        ["CONFIG"],
        ["CONFIG", "NOSUCH"],
    ):
        assert isinstance(client.command(*words), Error), words
    assert client.command("CONFIG", "GET", "timeout") == [b"timeout", b"0"]
    assert client.command("CONFIG", "RESETSTAT") == b"OK"


def test_a_refused_config_set_changes_nothing(client):
    before = client.command("CONFIG", "GET", "maxclients")
    assert isinstance(
        client.command("CONFIG", "SET", "timeout", "7", "maxclients", "x"), Error
    )
    assert client.command("CONFIG", "GET", "timeout") == [b"timeout", b"0"]
    assert client.command("CONFIG", "GET", "maxclients") == before


def test_protected_mode(start):
    address = servers.other_address()
    if address is None:
        pytest.skip("this machine has only loopback addresses")
    server = start.subject("--bind", "0.0.0.0")
    with Connection((address, server.port)) as conn:
        try:
            conn.send(encode("PING"))
        except OSError:
            pass
        assert conn.receive_until_closed().startswith(b"-DENIED ")
    with server.connect(tcp=True) as conn:
        assert conn.command("PING") == b"PONG"
        assert conn.command("CONFIG", "SET", "protected-mode", "no") == b"OK"
    with Connection((address, server.port)) as conn:
        assert conn.command("PING") == b"PONG"


def test_passwords(start):
    server = start.subject("--requirepass", "pw")
    with server.connect() as conn:
        assert conn.command("GET", "a") == Error(b"NOAUTH Authentication required.")
        wrong = conn.command("AUTH", "no")
        assert wrong == Error(
            b"WRONGPASS invalid username-password pair or user is disabled."
        )
        assert conn.command("AUTH", "pw") == b"OK"
        assert conn.command("GET", "a") is None
        assert conn.command("RESET") == Status(b"RESET")
        assert conn.command("GET", "a") == Error(b"NOAUTH Authentication required.")
        assert conn.command("AUTH", "default", "pw") == b"OK"
    with server.connect() as conn:
        assert isinstance(conn.command("HELLO", "3"), Error)
        assert (
            conn.command("HELLO", "3", "AUTH", "default", "pw", "SETNAME", "me")[0]
            == b"server"
        )
        assert conn.command("CLIENT", "GETNAME") == b"me"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_graceful_stop(start, number):
    server = start.subject()
    idle, busy = server.connect(), server.connect(tcp=True)
    idle.command("SET", "a", "1")
    busy.send(encode("SET", "b", "x" * MB)[: MB // 2])
    server.process.send_signal(number)
    assert server.process.wait(30) == 0
    for conn in (idle, busy):
        assert conn.receive_until_closed() == b""
        conn.close()
    assert not os.path.exists(server.path)


def test_shutdown_command(start):
    server = start.subject()
    with server.connect() as conn:
        conn.send(encode("SHUTDOWN", "NOSAVE"))
        assert conn.receive_until_closed() == b""
    assert server.process.wait(30) == 0


def test_debug_sleep_holds_no_reply_back(client):
    start = time.monotonic()
    client.command("DEBUG", "SLEEP", "0.05")
    assert time.monotonic() - start < PROMPT_S


# ---- limits -------------------------------------------------------------------------


def test_slice_that_ends_before_half_a_request(server):
    """A slice of time ends between two requests, the second of which is cut in an argument:
    the rest of it must still be read."""
    half = encode("SET", "slices", "v" * 300)
    slow = encode("DEBUG", "SLEEP", "0.005")
    for before in (slow, encode("PING") * 3 + slow, slow * 2 + encode("GET", "none")):
        with server.connect(timeout=10) as conn:
            n = before.count(b"*")
            conn.send(before + half[:200])
            for _ in range(n):
                conn.read()
            conn.send(half[200:] + encode("GET", "slices"))
            assert conn.read() == b"OK"
            assert conn.read() == b"v" * 300
            conn.command("DEL", "slices")


def test_time_of_commands_in_a_pipeline(client):
    """Brief commands share a look at the clock; none gets the time of another kind."""

    def stats():
        text = client.command("INFO", "commandstats").decode()
        found = re.findall(r"cmdstat_([\w|]+):calls=(\d+),usec=(\d+)", text)
        return {name: (int(calls), int(usec)) for name, calls, usec in found}

    client.command("GEOADD", "stats-key", "1", "1", "m")
    client.command("CONFIG", "RESETSTAT")
    some = [["PING"]] * 37 + [["GEOPOS", "stats-key", "m"]] * 40
    slow = [["DEBUG", "SLEEP", "0.1"]] * 2
    client.pipeline(some + slow + some + [["GET", "stats-key"]] + some + slow[:1])
    after = stats()
    assert after["ping"][0] == 3 * 37
    assert after["geopos"][0] == 3 * 40
    assert after["get"][0] == 1
    debug = next(value for name, value in after.items() if name.startswith("debug"))
    assert debug[0] == 3
    assert 300_000 <= debug[1] < 5_000_000
    assert all(after[name][1] < 100_000 for name in ("ping", "geopos", "get"))
    # they are timed, too
    client.batch([["GEOPOS", "stats-key", *["m"] * 9]] * 20_000)
    assert stats()["geopos"][1] > after["geopos"][1] + 1000
    client.command("DEL", "stats-key")


def test_maxclients(start):
    server = start.subject("--maxclients", "4")
    held = [server.connect() for _ in range(4)]
    for conn in held:
        assert conn.command("PING") == b"PONG"
    for _ in range(3):
        extra = server.connect()
        assert extra.receive_until_closed() == b"-ERR max number of clients reached\r\n"
        extra.close()
    held.pop().close()

    def is_served():
        with server.connect() as conn:
            try:
                return conn.command("PING") == b"PONG"
            except (Closed, OSError):
                return False

    wait_until(is_served)
    for conn in held:
        assert conn.command("PING") == b"PONG"
        conn.close()


def test_client_kill(server):
    with server.connect() as killer, server.connect() as victim, server.connect(
        tcp=True
    ) as other:
        number = victim.command("CLIENT", "ID")
        assert killer.command("CLIENT", "KILL", "ID", number) == 1
        assert victim.receive_until_closed() == b""
        assert killer.command("CLIENT", "KILL", "ID", number) == 0
        host, port = other.sock.getsockname()
        assert killer.command("CLIENT", "KILL", f"{host}:{port}") == b"OK"
        assert other.receive_until_closed() == b""
        mine = killer.command("CLIENT", "ID")
        assert killer.command("CLIENT", "KILL", "ID", mine) == 0  # SKIPME is yes
        killer.send(encode("CLIENT", "KILL", "ID", mine, "SKIPME", "no"))
        assert killer.read() == 1
        assert killer.receive_until_closed() == b""


def test_idle_clients_are_closed(start):
    server = start.subject("--timeout", "1")
    with server.connect() as conn:
        conn.sock.settimeout(PROMPT_S)
        assert conn.receive_until_closed() == b""


def test_connections_reset_at_once(server):
    """X13: nobody is kept out by clients that come and vanish."""
    with server.connect(tcp=True) as steady:
        for i in range(1500):
            conn = server.connect(tcp=True)
            if i % 3 == 0:
                conn.send(encode("GEOADD", "k", "1", "1", "m")[: i % 40])
            reset(conn)
            if i % 100 == 0:
                assert ping_s(steady) < PROMPT_S
    with server.connect(tcp=True) as conn:
        assert conn.command("PING") == b"PONG"


# ---- large and many requests ----------------------------------------------------------


def test_pipeline_of_100_000_commands(client):
    n = 100_000
    replies = client.batch(
        [
            [b"SET", b"k%d" % (i % 100), b"%d" % i] if i % 2 else [b"PING"]
            for i in range(n)
        ]
    )
    assert replies == b"+PONG\r\n+OK\r\n" * (n // 2)
    assert client.command("GET", "k99") == b"99999"


def test_pipeline_of_100_000_geo_commands(client):
    client.command("GEOADD", "k", "13.361389", "38.115556", "Palermo")
    one = client.raw("GEOPOS", "k", "Palermo")
    assert client.batch([[b"GEOPOS", b"k", b"Palermo"]] * 100_000) == one * 100_000


def test_request_of_64_mb(client):
    value = random.Random(SEED).randbytes(MB) * 64
    data = encode("SET", "big", value)
    for at in range(0, len(data), 777_777):
        client.send(data[at : at + 777_777])
    assert client.read() == b"OK"
    assert client.command("GET", "big") == value
    assert client.command("DEL", "big") == 1


def test_geoadd_of_200_000_members_in_one_request(client):
    rng = random.Random(SEED)
    words = [b"GEOADD", b"k"]
    for i in range(200_000):
        words += [
            b"%.6f" % rng.uniform(-180, 180),
            b"%.6f" % rng.uniform(-85, 85),
            b"m%d" % i,
        ]
    assert client.command(*words) == 200_000
    assert client.command("ZCARD", "k") == 200_000
    assert (
        len(client.command("GEOPOS", "k", *(b"m%d" % i for i in range(100_000))))
        == 100_000
    )


def test_one_byte_writes(server):
    with server.connect(tcp=True) as conn:
        for byte in encode("GEOADD", "k", "1", "2", "m") * 20:
            conn.send(bytes([byte]))
        assert [conn.read() for _ in range(20)] == [1] + [0] * 19


# ---- a million members, and clients that do not read -----------------------------------

N_MANY = int(os.environ.get("YN_MANY") or 1_000_000)
EVERYTHING = ["GEOSEARCH", "many", "FROMLONLAT", "0", "0", "BYRADIUS", "30000", "km"]


@pytest.fixture(scope="module")
def many_server(session_starter):
    server = session_starter.subject()
    rng = random.Random(SEED)
    with server.connect(timeout=300) as conn:
        for start in range(0, N_MANY, 50_000):
            commands = []
            for i in range(start, min(N_MANY, start + 50_000), 500):
                words = [b"GEOADD", b"many"]
                for j in range(i, i + 500):
                    words += [
                        b"%.4f" % rng.uniform(-179, 179),
                        b"%.4f" % rng.uniform(-84, 84),
                        b"m%d" % j,
                    ]
                commands.append(words)
            conn.batch(commands)
        assert conn.command("ZCARD", "many") == N_MANY
    return server


@pytest.fixture
def many(many_server, request):
    request.node.yn_servers = [many_server]
    return many_server


def test_slow_readers_of_a_million_results(many):
    """Their replies are not built in memory; everybody else is served meanwhile."""
    before = many.resident_bytes()
    slow = []
    for _ in range(6):
        conn = many.connect(receive_buffer=4096, timeout=120)
        conn.send(encode(*EVERYTHING, "WITHCOORD", "WITHDIST"))
        slow.append(conn)
    with many.connect(tcp=True) as other:
        worst = max(ping_s(other) for _ in range(50))
        found = other.command(
            "GEOSEARCH",
            "many",
            "FROMLONLAT",
            "10",
            "10",
            "BYRADIUS",
            "100",
            "km",
            "COUNT",
            10,
        )
        assert len(found) <= 10
        time.sleep(0.5)
        worst = max(worst, ping_s(other))
    grown = many.grown_bytes(before)
    print(f"worst PING {worst * 1000:.1f} ms, grown by {grown / MB:.1f} MB")
    assert worst < PROMPT_S
    if not IS_REDIS:
        # Six replies of about 70 MB each would be 420 MB.
        assert grown < 200 * MB
    for conn in slow[:3]:
        reset(conn)
    for conn in slow[3:]:
        conn.close()
    with many.connect() as other:
        assert ping_s(other) < PROMPT_S


def test_reply_read_slowly_while_the_set_changes(many):
    """The answer is the one of the moment of the question, complete and well-formed."""
    with many.connect(timeout=120) as writer:
        expect = writer.command(*EVERYTHING)
        assert len(expect) == N_MANY
        reader = many.connect(receive_buffer=4096, timeout=120)
        reader.send(encode(*EVERYTHING))
        head = reader.sock.recv(1000)
        assert head.startswith(b"*%d\r\n" % N_MANY)
        rng = random.Random(SEED)
        victims = rng.sample(expect, min(20_000, N_MANY))
        writer.batch(
            [
                [b"ZREM", b"many", *victims[i : i + 100]]
                for i in range(0, len(victims), 100)
            ]
        )
        writer.batch(
            [[b"GEOADD", b"many", b"1", b"1", b"new%d" % i] for i in range(10_000)]
        )
        reader.reader._data += head
        assert reader.read() == expect
        reader.close()
        assert writer.command("ZCARD", "many") == N_MANY - len(victims) + 10_000
        # Put back what was there.
        writer.batch([[b"ZREM", b"many", b"new%d" % i] for i in range(10_000)])
        writer.batch(
            [
                [
                    b"GEOADD",
                    b"many",
                    b"%.4f" % rng.uniform(-179, 179),
                    b"%.4f" % rng.uniform(-84, 84),
                    name,
                ]
                for name in victims
            ]
        )
        assert writer.command("ZCARD", "many") == N_MANY


@pytest.mark.parametrize("order", [[], ["ASC"], ["WITHDIST", "WITHCOORD", "WITHHASH"]])
def test_key_deleted_while_its_reply_is_read(server, order):
    rng = random.Random(SEED)
    with server.connect() as writer:
        writer.batch(
            [
                [
                    b"GEOADD",
                    b"many",
                    b"%.4f" % rng.uniform(-179, 179),
                    b"%.4f" % rng.uniform(-84, 84),
                    b"m%d" % i,
                ]
                for i in range(30_000)
            ]
        )
        expect = writer.command(*EVERYTHING, *order)
        for destroy in (["ZREM", "many", "m1"], ["DEL", "many"], ["FLUSHALL"]):
            copy = writer.command("GEOSEARCHSTORE", "copy", *EVERYTHING[1:])
            with server.connect(receive_buffer=4096) as reader:
                reader.send(encode(EVERYTHING[0], "many", *EVERYTHING[2:], *order))
                head = reader.sock.recv(1000)
                writer.command(*destroy)
                writer.command("PING")
                reader.reader._data += head
                assert reader.read() == expect
            writer.command("GEOSEARCHSTORE", "many", "copy", *EVERYTHING[2:])
            writer.command("GEOADD", "many", "1", "1", "m1")
            if destroy != ["FLUSHALL"]:
                expect = writer.command(*EVERYTHING, *order)
            assert copy == 30_000


def test_client_that_dies_in_the_middle_of_a_reply(many):
    with many.connect() as steady:
        before = many.resident_bytes()
        for i in range(12):
            conn = many.connect(receive_buffer=4096)
            conn.send(
                encode(
                    *EVERYTHING, *([], ["WITHDIST"], ["ASC", "COUNT", "500000"])[i % 3]
                )
            )
            assert conn.sock.recv(100)
            reset(conn)
            assert ping_s(steady) < PROMPT_S
        wait_until(lambda: many.grown_bytes(before) < 150 * MB or IS_REDIS)
        assert steady.command("ZCARD", "many") == N_MANY


def test_commands_after_a_large_reply_keep_their_order(many):
    with many.connect(timeout=120) as conn:
        conn.send(
            encode(*EVERYTHING)
            + encode("PING", "a")
            + encode("GEOPOS", "many", "m1")
            + encode("ECHO", "end")
        )
        assert len(conn.read()) == N_MANY
        assert conn.read() == b"a"
        assert len(conn.read()[0]) == 2
        assert conn.read() == b"end"


def test_replies_queued_by_a_client_that_reads_nothing(start):
    """X09: either it is closed at its output limit or it is held back; memory stays
    bounded."""
    server = start.subject("--client-output-buffer-limit", "normal 1mb 0 0")
    with server.connect() as other:
        other.batch(
            [
                [b"GEOADD", b"k", b"%.4f" % (i * 0.01), b"1", b"member-%d" % i]
                for i in range(5000)
            ]
        )
        before = server.resident_bytes()
        conn = server.connect(receive_buffer=4096)
        search = encode(
            "GEOSEARCH",
            "k",
            "FROMLONLAT",
            "0",
            "0",
            "BYRADIUS",
            "20000",
            "km",
            "WITHCOORD",
            "WITHDIST",
            "WITHHASH",
        )
        conn.sock.settimeout(0.2)
        closed = False
        for _ in range(300):
            try:
                conn.send(search)
            except TimeoutError:
                break  # held back
            except OSError:
                closed = True
                break
            assert ping_s(other) < PROMPT_S
        assert server.grown_bytes(before) < 100 * MB
        conn.sock.settimeout(30)
        if not closed:
            try:
                for _ in range(3):
                    assert len(conn.read()) == 5000
            except (Closed, OSError):
                closed = True
        conn.close()
        assert ping_s(other) < PROMPT_S


def test_replies_are_snapshots(server):
    """All members move between two places in one command; a search at either place
    finds all or none, however slowly it is read."""
    n, rounds = 5000, 15
    here, there = ([b"GEOADD", b"k"] for _ in range(2))
    for i in range(n):
        here += [b"10", b"10", b"member-%d" % i]
        there += [b"-100", b"-50", b"member-%d" % i]
    search = [
        "GEOSEARCH",
        "k",
        "FROMLONLAT",
        "10",
        "10",
        "BYRADIUS",
        "100",
        "km",
        "WITHCOORD",
        "WITHHASH",
    ]
    with server.connect() as writer:
        writer.command(*here)
        readers = [server.connect(receive_buffer=4096) for _ in range(4)]
        for number in range(rounds):
            for conn in readers:
                conn.send(encode(*search))
            moved = writer.command(*(here if number % 2 else there))
            assert moved == 0
            for conn in readers:
                found = conn.read()
                assert len(found) in (0, n)
                assert len({hit[0] for hit in found}) == len(found)
                assert len({hit[1] for hit in found}) <= 1
        for conn in readers:
            conn.close()


def test_long_members(client):
    """A member may be long; it is found, printed and removed like any other."""
    big = b"x" * (20 * MB)
    assert client.command("GEOADD", "k", "1", "1", big, "1", "1", "small") == 2
    found = client.command(
        "GEOSEARCH", "k", "FROMLONLAT", "1", "1", "BYRADIUS", "1", "km", "ASC"
    )
    assert sorted(found, key=len) == [b"small", big]
    assert client.command("GEODIST", "k", big, "small") == b"0.0000"
    assert (
        client.command(
            "GEOSEARCHSTORE", "d", "k", "FROMMEMBER", big, "BYRADIUS", "1", "m"
        )
        == 2
    )
    assert client.command("ZREM", "k", big) == 1
    assert client.command("ZRANGE", "d", "0", "-1") == sorted([b"small", big])


def test_memory_is_given_back(server):
    """Loading and flushing again and again does not grow the server."""
    rng = random.Random(SEED)
    load = [
        [
            b"GEOADD",
            b"k%d" % (i % 7),
            b"%.4f" % rng.uniform(-179, 179),
            b"%.4f" % rng.uniform(-84, 84),
            b"member-%d" % i,
        ]
        for i in range(20_000)
    ]
    with server.connect() as conn:
        for number in range(12):
            conn.batch(load)
            conn.batch(
                [
                    [b"ZREM", b"k%d" % (i % 7), b"member-%d" % i]
                    for i in range(0, 20_000, 2)
                ]
            )
            conn.command(
                "GEOSEARCHSTORE",
                "d",
                "k1",
                "FROMLONLAT",
                "0",
                "0",
                "BYRADIUS",
                "9000",
                "km",
            )
            conn.command("FLUSHALL" if number % 2 else "FLUSHDB")
            if number == 3:
                before = server.resident_bytes()
        assert server.grown_bytes(before) < 24 * MB


# ---- bad bytes -------------------------------------------------------------------------


SEED_STREAMS = [
    encode("GEOADD", "k", "13.361389", "38.115556", "Palermo"),
    encode(
        "GEOSEARCH",
        "k",
        "FROMLONLAT",
        "15",
        "37",
        "BYRADIUS",
        "200",
        "km",
        "ASC",
        "WITHCOORD",
    ),
    encode("GEORADIUS", "k", "15", "37", "200", "km", "STOREDIST", "d"),
    encode("ZADD", "z", "CH", "1.5", "a", "-inf", "b"),
    encode("ZRANGE", "z", "0", "-1", "WITHSCORES"),
    encode("SET", "s", "v"),
    encode("HELLO", "3"),
    encode("ZSCAN", "z", "0"),
    encode("CLIENT", "LIST"),
    encode("INFO"),
    encode("CONFIG", "GET", "*"),
    encode("COMMAND", "DOCS"),
    b"PING\r\n",
    b'GEOADD k 1 1 "m\\x00"\r\n',
    b"*0\r\n",
    b"*-1\r\n",
    b"\r\n",
]


def bad_stream(rng):
    form = rng.random()
    if form < 0.25:
        return rng.randbytes(rng.randint(1, 400))
    if form < 0.4:
        return bytes(
            rng.choice(b"*$+-:\r\n0123456789abc \"'\\")
            for _ in range(rng.randint(1, 300))
        )
    data = bytearray(b"".join(rng.choice(SEED_STREAMS) for _ in range(rng.randint(1, 6))))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        kind = rng.random()
        if kind < 0.4:
            data[at] = rng.randrange(256)
        elif kind < 0.6:
            del data[at : at + rng.randint(1, 8)]
        elif kind < 0.8:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        else:
            data[at:at] = rng.choice(
                [b"\r\n", b"$-1\r\n", b"*1000000\r\n", b"$536870912\r\n", b"*2\r\n"]
            )
        if not data:
            break
    return bytes(data)


def test_bad_bytes_harm_nobody_else(start):
    """Random and spoilt requests from many connections; a good client is served
    throughout, its data unharmed, and what comes back is well-formed as far as it
    goes."""
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    server = start.subject()
    with server.connect(tcp=True) as good:
        good.command("GEOADD", "good", "1", "2", "m")
        expect = good.raw(
            "GEOSEARCH", "good", "FROMLONLAT", "1", "2", "BYRADIUS", "1", "km", "WITHHASH"
        )
        for number in range(1500):
            conn = server.connect(timeout=10)
            try:
                data = bad_stream(rng)
                if b"SHUTDOWN" in data.upper() or b"FLUSH" in data.upper():
                    continue
                cut = rng.randrange(len(data)) if data else 0
                conn.send(data[:cut])
                conn.send(data[cut:])
                conn.sock.shutdown(socket.SHUT_WR)
                answer = conn.receive_until_closed()
                check_replies(answer)
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                conn.close()
            if number % 20 == 0:
                assert (
                    good.raw(
                        "GEOSEARCH",
                        "good",
                        "FROMLONLAT",
                        "1",
                        "2",
                        "BYRADIUS",
                        "1",
                        "km",
                        "WITHHASH",
                    )
                    == expect
                )
        assert server.is_running()


def check_replies(data):
    """Complete replies until the end of the data."""
    pieces = [data]
    reader = Reader(lambda n: pieces.pop() if pieces else b"")
    n = 0
    try:
        while pieces or reader.pending():
            reader.read()
            n += 1
    except Closed:
        pass  # the last one was cut by the end
    except Malformed as fault:
        raise AssertionError(f"after {n} replies: {fault} in {data[:300]!r}") from fault


def test_memory_stays_flat_over_argument_errors(server):
    """X15: errors after a polygon has been read leave nothing behind."""
    polygon = [
        b"GEOSEARCH",
        b"k",
        b"BYPOLYGON",
        b"3",
        b"-1",
        b"-1",
        b"1",
        b"-1",
        b"0",
        b"1",
    ]
    spoilt = [
        polygon + [b"COUNT", b"x"],
        polygon + [b"COUNT", b"0"],
        polygon + [b"FOO"],
        polygon + [b"BYPOLYGON", b"3", b"0", b"0"],
        polygon + [b"FROMMEMBER", b"m"],
    ]
    with server.connect() as conn:
        conn.batch(spoilt * 2000)
        before = server.resident_bytes()
        for _ in range(9):
            conn.batch(spoilt * 2000)
        assert server.grown_bytes(before) < 16 * MB
