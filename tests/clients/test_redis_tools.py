"""redis-cli and redis-benchmark (Debian package redis-tools) against yonder-server."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess

import pytest

from resp import encode

DEADLINE_S = 20


@pytest.fixture
def program():
    """program("redis-cli") is its path."""

    def find(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} (Debian package redis-tools) is not installed")
        return path

    return find


@pytest.fixture
def cli(program, run, server):
    """cli("word", ...) gives what redis-cli writes; input is what it reads."""

    def cli(*words, **more):
        done = run(program("redis-cli"), "-p", server.port, *words, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return cli


def session(cli, text):
    """Lines of commands from redis-cli's input; what it writes, as lines."""
    return cli(input=text).split("\n")[:-1]


# ---- redis-cli: a session -------------------------------------------------------------


def test_positions(cli):
    assert cli("FLUSHALL") == "OK\n"
    places = "13.361389 38.115556 Palermo 15.087269 37.502669 Catania".split()
    assert cli("GEOADD", "k", *places) == "2\n"
    assert cli("GEODIST", "k", "Palermo", "Catania") == "166274.1516\n"
    place = cli("GEOPOS", "k", "Palermo").split()
    assert [float(text) for text in place] == [13.361389338970184, 38.1155563954963]
    search = ("GEOSEARCH", "k", "FROMLONLAT", "15", "37", "BYRADIUS", "200", "km", "ASC")
    assert cli(*search) == "Catania\nPalermo\n"
    assert cli("--no-raw", *search, "WITHDIST") == (
        '1) 1) "Catania"\n   2) "56.4413"\n2) 1) "Palermo"\n   2) "190.4424"\n'
    )
    nested = cli("-3", "--no-raw", *search, "WITHCOORD")
    assert "(double) 13.36138933897018" in nested and '"Palermo"' in nested
    assert cli("--no-raw", "GEOHASH", "k", "nobody") == "1) (nil)\n"
    assert "ERR unsupported unit provided" in cli("GEODIST", "k", "a", "b", "cm")
    assert cli("PING") == "PONG\n"
    assert "# Server" in cli("INFO")


def test_values_and_expiry(cli):
    lines = session(
        cli,
        """SET s one EX 100
        APPEND s " two"
        GET s
        TTL s
        PERSIST s
        INCRBY n 42
        ZADD z 1 a 2 b 3.5 c
        ZINCRBY z 1 a
        ZRANGE z +inf (1 BYSCORE REV LIMIT 0 2 WITHSCORES
        ZPOPMIN z
        EXPIRE z 0
        EXISTS s n z
        """,
    )
    assert lines[3] in ("99", "100")
    del lines[3]
    assert [line for line in lines if line] == [
        *("OK", "7", "one two", "1", "42", "3", "2"),
        *"c 3.5 b 2 a 2 1 2".split(),
    ]


@pytest.mark.parametrize("protocol", ["-2", "-3"])
def test_transactions(cli, protocol):
    text = """MULTI
        SET k 5
        INCR k
        ZADD k 1 m
        GEOADD g 13.361389 38.115556 Palermo
        EXEC
        MULTI
        SET k 9
        DISCARD
        MULTI
        NOSUCHCOMMAND
        EXEC
        WATCH k
        SET k 7
        MULTI
        SET k 8
        EXEC
        GET k
        """
    lines = [line for line in cli(protocol, input=text).split("\n") if line]
    assert [line for line in lines if line not in ("OK", "QUEUED")] == [
        "6",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "1",
        "ERR unknown command 'NOSUCHCOMMAND', with args beginning with: ",
        "EXECABORT Transaction discarded because of previous errors.",
        "7",
    ]


def test_commands_from_its_input(cli):
    lines = "".join(f"GEOADD piped {i / 10} 1 m{i}\n" for i in range(1000))
    assert cli(input=lines + "ZCARD piped\n").endswith("1000\n")


def test_pipe_mode(program, server):
    data = b"".join(encode("GEOADD", "bulk", i / 100, 1, f"m{i}") for i in range(5000))
    done = subprocess.run(
        [program("redis-cli"), "-p", str(server.port), "--pipe"],
        input=data,
        capture_output=True,
        timeout=60,
    )
    assert b"errors: 0, replies: 5000" in done.stdout, done.stdout + done.stderr


# ---- redis-cli: messages, waiting, a server that dies ---------------------------------


@pytest.fixture
def start_cli(program, server):
    """start_cli("word", ...) starts a redis-cli whose lines are read one by one."""
    running = []

    def start_cli(*words):
        child = subprocess.Popen(
            [program("redis-cli"), "-p", str(server.port), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            env={**os.environ, "TERM": "dumb"},
        )
        running.append(child)
        return child

    # A child that is stuck lets readline() wait for ever: it is ended after a while.
    signal.signal(signal.SIGALRM, lambda *_: [child.kill() for child in running])
    signal.alarm(DEADLINE_S)
    yield start_cli
    signal.alarm(0)
    for child in running:
        child.kill()
        child.communicate()


def take(child, count):
    """The next lines that a child writes."""
    return [child.stdout.readline().rstrip("\n") for _ in range(count)]


def test_messages(cli, start_cli):
    plain = start_cli("SUBSCRIBE", "news")
    assert take(plain, 3) == ["subscribe", "news", "1"]
    matching = start_cli("PSUBSCRIBE", "n*")
    assert take(matching, 3) == ["psubscribe", "n*", "1"]
    sharded = start_cli("SSUBSCRIBE", "news")
    assert take(sharded, 3) == ["ssubscribe", "news", "1"]
    assert cli("PUBLISH", "news", "one") == "2\n"
    assert take(plain, 3) == ["message", "news", "one"]
    assert take(matching, 4) == ["pmessage", "n*", "news", "one"]
    assert cli("SPUBLISH", "news", "two") == "1\n"
    assert take(sharded, 3) == ["smessage", "news", "two"]


def test_pops_that_wait(cli, start_cli):
    waiting = start_cli("BZPOPMIN", "q1", "q2", "0")
    while "blocked_clients:1" not in cli("INFO", "clients"):
        assert waiting.poll() is None
    assert cli("ZADD", "q2", "1.5", "m") == "1\n"
    assert take(waiting, 4) == ["q2", "m", "1.5", ""]
    assert cli("BZPOPMIN", "q1", "0.01") == "\n"


class Terminal:
    """redis-cli as a person uses it, on a terminal."""

    PROMPT = re.compile(r"(?:^|\n)(\S+|not connected)> $")

    def __init__(self, path, port):
        self.master, slave = pty.openpty()
        words = [path, "-p", str(port)]
        env = {**os.environ, "TERM": "dumb"}
        self.child = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, env=env
        )
        os.close(slave)
        self.prompt = None
        self._read()

    def _read(self):
        """What it writes until the next prompt."""
        text = ""
        while not (end := self.PROMPT.search(text)):
            assert select.select([self.master], [], [], DEADLINE_S)[0], text
            text += os.read(self.master, 4096).decode().replace("\r", "")
        self.prompt = end[1]
        return text[: end.start()]

    def ask(self, line):
        os.write(self.master, line.encode() + b"\n")
        return self._read().removeprefix(line + "\n")

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.master)


def test_a_server_that_is_killed_and_comes_back(program, server, keeper):
    place = f"127.0.0.1:{server.port}"
    terminal = Terminal(program("redis-cli"), server.port)
    assert (terminal.ask("SET k v"), terminal.prompt) == ("OK", place)
    assert terminal.ask("SELECT 3") == "OK" and terminal.prompt == place + "[3]"
    keeper.kill()
    assert terminal.ask("GET k") != '"v"' and terminal.prompt == "not connected"
    keeper.start()
    assert (terminal.ask("SET k again"), terminal.prompt) == ("OK", place + "[3]")
    assert terminal.ask("GET k") == '"again"'
    assert terminal.ask("MULTI") == "OK" and terminal.prompt == place + "[3](TX)"
    assert terminal.ask("APPEND k !") == "QUEUED"
    assert terminal.ask("EXEC") == "1) (integer) 6" and terminal.prompt == place + "[3]"
    terminal.close()


# ---- redis-cli: looking inside --------------------------------------------------------


def test_monitor(cli, start_cli):
    monitor = start_cli("MONITOR")
    assert take(monitor, 1) == ["OK"]
    cli("SET", "k", "a b\r\n")
    (line,) = take(monitor, 1)
    assert re.fullmatch(r'\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "k" "a b\\r\\n"', line)


def test_stat(cli, start_cli):
    cli("SET", "k", "v")
    child = start_cli("--stat", "-i", "0.01")
    head = take(child, 2)
    assert "data" in head[0] and "keys" in head[1] and "requests" in head[1]
    for line in take(child, 3):
        keys, memory = line.split()[:2]
        assert keys == "1" and re.fullmatch(r"[\d.]+[BKMG]", memory)


def test_latency(cli):
    low, high, mean, count = cli("--latency", "-i", "0.05").split()
    assert int(low) <= float(mean) <= int(high) and int(count) >= 1


def test_largest_keys(cli):
    cli("SET", "text", "x" * 100)
    cli("SET", "more text", "x" * 1000)
    cli("ZADD", "set", *"1 a 2 b 3 c".split())
    out = cli("--bigkeys")
    assert "Sampled 3 keys in the keyspace!" in out
    assert """Biggest string found '"more text"' has 1000 bytes""" in out
    assert """Biggest   zset found '"set"' has 3 members""" in out
    out = cli("--memkeys")
    assert "Sampled 3 keys in the keyspace!" in out
    assert re.search("""Biggest string found '"more text"' has 1\\d\\d\\d bytes""", out)
    assert re.search("""Biggest   zset found '"set"' has [1-9]\\d+ bytes""", out)


def test_most_used_keys_are_refused(program, run, server, cli):
    """There is no eviction by use, so there are no counts, and redis-cli is told so."""
    cli("SET", "k", "v")
    done = run(program("redis-cli"), "-p", server.port, "--hotkeys")
    assert done.returncode != 0
    assert "An LFU maxmemory policy is not selected" in done.stdout + done.stderr


def test_scan(cli):
    cli("MSET", "a1", "v", "a2", "v", "b1", "v")
    assert sorted(cli("--scan", "--pattern", "a*").split()) == ["a1", "a2"]


# ---- redis-benchmark ------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["-r", "1000", "GEOADD", "bench", "13.36", "38.11", "m__rand_int__"],
        "GEOSEARCH bench FROMLONLAT 13.36 38.11 BYRADIUS 200 km COUNT 10 WITHDIST".split(),
        ["-t", "ping,set,get,incr,zadd,zpopmin,mset"],
        ["-t", "set,get", "-3"],
        ["-P", "16", "GEOPOS", "bench", "m000000000001"],
    ],
    ids=["geoadd", "geosearch", "own tests", "RESP3", "pipeline"],
)
def test_redis_benchmark(program, run, server, words):
    """Commands end without an error."""
    done = run(
        program("redis-benchmark"),
        *("-p", server.port, "-n", 3000, "-c", 10, "-q", "-e"),
        *words,
    )
    assert done.returncode == 0, done.stderr
    text = (done.stdout + done.stderr).replace("\r", "\n")
    assert "requests per second" in text
    # It asks for two settings that concern persistence, and may say that they are missing.
    assert not re.search(r"(?m)^(?!WARNING).*\b([Ee]rror|ERR)", text), text
