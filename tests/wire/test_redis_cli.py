"""The modes of redis-cli that look into a server, each for a moment."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from resp import Error

pytestmark = pytest.mark.skipif(
    shutil.which("redis-cli") is None, reason="redis-cli (Debian package redis-tools) is missing"
)
WAIT_S = 20


@pytest.fixture
def filled(server):
    with server.connect() as conn:
        for i in range(30):
            conn.command("SET", f"string:{i}", "x" * i)
        for i in range(20):
            conn.command("ZADD", f"zset:{i}", *[w for k in range(i + 1) for w in (k, f"m{k}")])
        conn.command("GEOADD", "geo", "13.361389", "38.115556", "Palermo")
    return server


def run(server, *words, stdin=None):
    """Runs redis-cli to its end; returns what it prints."""
    done = subprocess.run(
        ["redis-cli", "-s", server.path, *words], capture_output=True, text=True,
        errors="replace", timeout=WAIT_S, input=stdin,
    )
    return done.stdout + done.stderr


class Running:
    """redis-cli in a mode that ends only when it is stopped."""

    def __init__(self, server, *words):
        self.path = server.folder / f"cli-{time.monotonic_ns()}.txt"
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(
                ["redis-cli", "-s", server.path, *words], stdout=out,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "TERM": "dumb"},
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(WAIT_S)

    def wait_for(self, pattern):
        deadline = time.monotonic() + WAIT_S
        while True:
            text = self.path.read_text(errors="replace")
            if re.search(pattern, text, re.M):
                return text
            is_late = self.process.poll() is not None or time.monotonic() > deadline
            assert not is_late, text[-500:]
            time.sleep(0.01)


def test_stat(filled):
    with Running(filled, "--stat", "-i", "0.1") as cli:
        cli.wait_for(r"^51 +\d+(\.\d+)?[BKM] .*\n51 ")


def test_bigkeys(filled):
    text = run(filled, "--bigkeys")
    assert "Sampled 51 keys in the keyspace!" in text
    with filled.connect() as conn:
        if conn.command("STRLEN", "string:29") == 29:
            assert re.search(r"Biggest +string found ['\"]+string:29['\"]+ has 29 bytes", text)
    assert re.search(r"Biggest +zset found ['\"]+zset:19['\"]+ has 20 members", text)


def test_memkeys(filled):
    with filled.connect() as conn:
        if isinstance(conn.command("MEMORY", "USAGE", "string:29"), Error):
            pytest.skip("MEMORY USAGE is not there")
    text = run(filled, "--memkeys")
    assert "Sampled 51 keys in the keyspace!" in text
    assert re.search(r"Biggest +string found ['\"]+string:29['\"]+ has \d+ bytes", text)


def test_hotkeys_is_refused_clearly(filled):
    """There are no frequencies of use without an LFU policy: redis-cli says so."""
    assert re.search(r"Error|ERR", run(filled, "--hotkeys"))


def test_latency(filled):
    text = run(filled, "--latency", "-i", "0.2", "--raw")
    assert re.match(r"\d+ \d+ \d+\.\d+ \d+", text)


def test_latency_history(filled):
    with Running(filled, "--latency-history", "-i", "0.2") as cli:
        cli.wait_for(r"^\d+ \d+ \d+\.\d+ \d+\n -- \d\.\d+ seconds range")


def test_latency_dist(filled):
    with Running(filled, "--latency-dist", "-i", "0.2") as cli:
        cli.wait_for(r"\x1b\[")


def test_intrinsic_latency():
    done = subprocess.run(["redis-cli", "--intrinsic-latency", "1"], capture_output=True,
                          text=True, timeout=WAIT_S)
    assert "Max latency so far" in done.stdout


def test_scan(filled):
    keys = run(filled, "--scan", "--pattern", "zset:*").split()
    assert sorted(keys) == sorted(f"zset:{i}" for i in range(20))


def test_monitor(filled):
    with Running(filled, "monitor") as cli:
        cli.wait_for(r"^OK")
        run(filled, "GEOPOS", "geo", "Palermo")
        cli.wait_for(r'^\d+\.\d{6} \[0 unix:.*\] "GEOPOS" "geo" "Palermo"$')


@pytest.mark.parametrize("words", [
    ["info", "everything"], ["lolwut"], ["latency", "doctor"], ["slowlog", "get"],
    ["client", "list"], ["command", "docs", "geosearch"],
])
def test_commands_that_redis_cli_prints_by_itself(filled, words):
    text = run(filled, *words)
    assert not text.startswith("ERR") and len(text) > 0


def test_hints_come_from_command_docs(filled):
    """With -3 and a terminal redis-cli asks for COMMAND DOCS when it starts."""
    text = run(filled, "-3", stdin="help geosearch\nping\n")
    assert "PONG" in text


def test_pipe(filled):
    data = b"".join(b"*3\r\n$3\r\nSET\r\n$2\r\np%d\r\n$1\r\nx\r\n" % i for i in range(10))
    done = subprocess.run(["redis-cli", "-s", filled.path, "--pipe"], input=data,
                          capture_output=True, timeout=WAIT_S)
    assert b"errors: 0, replies: 10" in done.stdout
