"""What a service manager is told (sd_notify(3)) and passes (sd_listen_fds(3)), with a socket
of ours in the place of systemd's."""
import os
import pathlib
import select
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from resp import Connection
from servers import ROOT, YonderServer, binary

# Moves the descriptors argv[1] to 3 and up, as systemd passes them, and becomes the program.
LAUNCHER = """
import fcntl, os, sys
fds = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",") if fd]
for i, fd in enumerate(fds):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ["LISTEN_PID"] = str(os.getpid() + int(sys.argv[2]))
os.environ["LISTEN_FDS"] = str(len(fds))
os.execv(sys.argv[3], sys.argv[3:])
"""


class Supervised(YonderServer):
    """A server with more in its environment, and with sockets passed to it."""

    def __init__(self, folder, *options, env=None, passed=(), pid_offset=0, **more):
        self.env = env or {}
        self.passed = passed
        self.pid_offset = pid_offset
        super().__init__(folder, *options, **more)

    def _command(self, options):
        words = super()._command(options)
        if self.passed:
            fds = ",".join(str(s.fileno()) for s in self.passed)
            words = [sys.executable, "-c", LAUNCHER, fds, str(self.pid_offset), *words]
        return words

    def _start(self, options):
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self._command(options), cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **self.env},
                pass_fds=[s.fileno() for s in self.passed])

    def _is_ready(self):
        if "ready to accept connections" not in self.log_text():
            return False
        super()._is_ready()  # the port, if there is one
        return True


class Manager:
    """The socket that a service manager listens on."""

    def __init__(self, address):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(address.replace("@", "\0", 1) if address[0] == "@" else address)
        self.address = address

    def next(self, timeout_s=60):
        """What is said next, as a list of lines; None: nothing in this time."""
        if not select.select([self.sock], [], [], timeout_s)[0]:
            return None
        return self.sock.recv(4096).decode().split("\n")


@pytest.fixture
def manager(run_folder):
    path = str(run_folder / f"notify-{time.monotonic_ns()}")
    manager = Manager(path)
    yield manager
    manager.sock.close()
    os.unlink(path)


@pytest.fixture
def launch(start):
    """launch("--option", ..., env={}, passed=[]) starts a server."""
    def run(*options, **more):
        return start._start(Supervised, options, **more)
    return run


def supervised(connection):
    info = connection.command("INFO", "server").decode()
    return [line for line in info.splitlines() if line.startswith("process_supervised:")][0]


# ---- what is told ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["systemd", "auto"])
def test_ready_and_stopping_are_told(launch, manager, mode):
    server = launch("--supervised", mode, env={"NOTIFY_SOCKET": manager.address})
    assert manager.next() == ["READY=1", "STATUS=Serving clients"]
    with server.connect() as client:
        assert client.command("PING") == b"PONG"
        assert supervised(client) == "process_supervised:systemd"
        assert client.command("CONFIG", "GET", "supervised") == [b"supervised",
                                                                 mode.encode()]
        assert b"ERR" in client.command("CONFIG", "SET", "supervised", "no")
    server.stop()
    assert manager.next() == ["STOPPING=1", "STATUS=Finishing replies"]
    assert manager.next(0) is None
    assert "service manager" not in server.log_text()


def test_ready_is_told_when_clients_are_served(launch, manager, run_folder):
    """Not before: whoever is started after this one may connect at once."""
    server = launch("--supervised", "systemd", env={"NOTIFY_SOCKET": manager.address},
                    wait=False)
    assert manager.next()[0] == "READY=1"
    with server.connect() as client:
        assert client.command("PING") == b"PONG"


def test_nothing_is_told_before_a_start_that_fails(launch, manager):
    server = launch("--supervised", "systemd", "--bind", "192.0.2.1",
                    env={"NOTIFY_SOCKET": manager.address}, wait=False)
    assert server.process.wait(60) == 1
    assert manager.next(0) is None


def test_address_without_a_file(launch):
    manager = Manager(f"@yonder-test-{os.getpid()}-{time.monotonic_ns()}")
    server = launch("--supervised", "auto", env={"NOTIFY_SOCKET": manager.address})
    assert manager.next()[0] == "READY=1"
    server.stop()
    assert manager.next()[0] == "STOPPING=1"
    manager.sock.close()


def test_nobody_is_told_unless_wanted(launch, manager):
    server = launch(env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "400000"})
    with server.connect() as client:
        assert supervised(client) == "process_supervised:no"
    server.stop()
    assert manager.next(0) is None


def test_without_a_manager_the_server_starts_all_the_same(launch):
    quiet = launch("--supervised", "auto", env={"NOTIFY_SOCKET": ""})
    loud = launch("--supervised", "systemd", env={"NOTIFY_SOCKET": ""})
    wrong = launch("--supervised", "auto", env={"NOTIFY_SOCKET": "vsock:2:1234"})
    gone = launch("--supervised", "auto", env={"NOTIFY_SOCKET": "/nosuch/socket"})
    for server in (quiet, loud, wrong, gone):
        with server.connect() as client:
            assert client.command("PING") == b"PONG"
        assert server.stop() == 0
    assert "NOTIFY_SOCKET" not in quiet.log_text()
    assert "there is no NOTIFY_SOCKET" in loud.log_text()
    assert 'NOTIFY_SOCKET "vsock:2:1234" is no address' in wrong.log_text()
    assert 'could not tell the service manager "READY=1": No such' in gone.log_text()


def test_watchdog_is_fed(launch, manager):
    server = launch("--supervised", "systemd",
                    env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "1200000"})
    assert manager.next()[0] == "READY=1"
    for _ in range(3):
        assert manager.next() == ["WATCHDOG=1"]
    # a server that hangs gives no sign
    os.kill(server.pid, signal.SIGSTOP)
    stopped = pathlib.Path(f"/proc/{server.pid}/stat")
    while ") T " not in stopped.read_text():
        time.sleep(0.01)
    while manager.next(0) is not None:
        pass
    assert manager.next(0.7) is None
    os.kill(server.pid, signal.SIGCONT)
    assert manager.next() == ["WATCHDOG=1"]
    server.stop()
    while (lines := manager.next()) == ["WATCHDOG=1"]:
        pass
    assert lines[0] == "STOPPING=1"


def test_watchdog_of_another_process(launch, manager):
    server = launch("--supervised", "systemd",
                    env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "400000",
                         "WATCHDOG_PID": "1"})
    assert manager.next()[0] == "READY=1"
    assert manager.next(0.5) is None
    server.stop()
    assert manager.next()[0] == "STOPPING=1"


def test_a_manager_that_does_not_read_holds_nobody_up(launch, manager):
    """Its queue is full: signs of life are dropped, and what else is to be told is waited
    for about a second."""
    server = launch("--supervised", "systemd",
                    env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "4000"})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.connect(manager.address)
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                other.send(b"X=1")
    with server.connect() as client:
        for _ in range(5):
            time.sleep(0.1)
            assert client.command("PING") == b"PONG"
    assert server.stop() == 0
    assert 'could not tell the service manager "STOPPING=1"' in server.log_text()


def test_upstart_is_refused(launch):
    server = launch("--supervised", "upstart", wait=False)
    assert server.process.wait(60) == 1
    assert "upstart is not supported" in server.log_text()
