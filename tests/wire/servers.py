"""Starts and stops the servers that the tests talk to: yonder-server, and Debian's
redis-server as the oracle. Each has its own directory, unix socket and port, and is
stopped by its pid."""
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import time

from resp import Connection

ROOT = pathlib.Path(__file__).resolve().parents[2]
READY = re.compile(r"ready to accept connections on \S*?:(\d+)", re.IGNORECASE)
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60


def binary(name):
    """Path of one of the project's programs."""
    folder = pathlib.Path(os.environ.get("YONDER_BIN_DIR") or ROOT / "build")
    return (folder if folder.is_absolute() else ROOT / folder) / name


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def lasting_port():
    """A free port outside of the range that the system gives to connections: it stays free
    while its server is down, and no client that tries to connect can reach itself."""
    text = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    lowest, highest = map(int, text.split())
    chance = random.SystemRandom()
    for _ in range(10000):
        port = chance.randrange(10000, 65536)
        if lowest <= port <= highest:
            continue
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    return free_port()


def other_address():
    """An address of this machine that is no loopback one, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = sock.getsockname()[0]
    return None if address.startswith("127.") or address == "0.0.0.0" else address


class Server:
    """A running server. Attributes: port, path (of the unix socket), pid, log_text()."""

    name = "server"

    def __init__(self, folder, *options, port=None, wait=True):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = str(self.folder / "s.sock")
        self.log_path = self.folder / f"{self.name}.log"
        self.port = port
        self.process = None
        self.options = [str(option) for option in options]
        self._start(self.options)
        if wait:
            self.wait_ready()

    def start_again(self):
        """Starts a server that has ended, on the port that it had."""
        assert not self.is_running()
        pathlib.Path(self.path).unlink(missing_ok=True)
        self._start(self.options)
        self.wait_ready()

    def _command(self, options):
        raise NotImplementedError

    def _start(self, options):
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self._command(options),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def log_text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def _is_ready(self):
        raise NotImplementedError

    def wait_ready(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"{self.name} ended with status {self.process.returncode}:\n{self.log_text()}"
                )
            if time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.name} is not ready:\n{self.log_text()}")
            time.sleep(0.01)

    def connect(self, resp=2, tcp=False, **options):
        return Connection(self.address if tcp else self.path, resp=resp, **options)

    def is_running(self):
        return self.process.poll() is None

    def stop(self):
        """Asks the server to end and returns its exit status."""
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        if self.is_running():
            self.process.kill()
        self.process.wait()

    def has_sanitizer(self):
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        return re.search(r"lib[at]san", maps) is not None

    def grown_bytes(self, before):
        """How much resident memory has grown. Sanitizers keep freed blocks for a while, which
        says nothing about the server: 0 there."""
        return 0 if self.has_sanitizer() else self.resident_bytes() - before

    def resident_bytes(self):
        fields = pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


class YonderServer(Server):
    """Takes more options from the environment variable YN_SERVER_OPTIONS: so all tests can
    be run with "--offload-threshold 0", say."""

    name = "yonder-server"

    def _command(self, options):
        path = binary("yonder-server")
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing: build first, or set YONDER_BIN_DIR"
            )
        port = str(self.port or 0)
        more = os.environ.get("YN_SERVER_OPTIONS", "").split()
        return [str(path), "--port", port, "--unixsocket", self.path, *more, *options]

    def _is_ready(self):
        match = READY.search(self.log_text())
        if match:
            self.port = int(match.group(1))
        return match is not None


class RedisServer(Server):
    name = "redis-server"

    def _command(self, options):
        path = shutil.which("redis-server")
        if path is None:
            raise FileNotFoundError(
                "redis-server (Debian package redis-server) is missing"
            )
        self.port = self.port or free_port()
        return [
            path,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--unixsocket",
            self.path,
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
            "--dir",
            str(self.folder),
            "--logfile",
            "",
            *options,
        ]

    def _is_ready(self):
        return "eady to accept connections" in self.log_text() and os.path.exists(
            self.path
        )


def subject_class():
    """The server under test: yonder-server, or with YN_WIRE_SUBJECT=redis the oracle
    itself, which shows what a test is worth (and which cases Redis answers wrongly)."""
    return RedisServer if os.environ.get("YN_WIRE_SUBJECT") == "redis" else YonderServer
