"""What a service manager is told (sd_notify(3)) and passes (sd_listen_fds(3)), with a socket
of ours in the place of systemd's."""
import ctypes
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
from servers import YonderServer, other_address

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


PTRACE_DETACH, PTRACE_ATTACH, WAIT_FOR_ANY_THREAD = 17, 16, 0x40000000


def test_watchdog_looks_at_every_loop(launch, manager):
    """One thread alone is held up, without the lock: the others go on, but some clients are
    not served."""
    server = launch("--supervised", "systemd", "--threads", "3",
                    env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "800000"})
    assert manager.next()[0] == "READY=1"
    assert manager.next() == ["WATCHDOG=1"]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    waits = {t for t in map(int, os.listdir(f"/proc/{server.pid}/task")) if t != server.pid}
    assert waits
    n_that_matter = 0
    for thread in waits:
        if libc.ptrace(PTRACE_ATTACH, thread, None, None) != 0:
            pytest.skip("no ptrace here")
        os.waitpid(thread, WAIT_FOR_ANY_THREAD)
        while manager.next(0) is not None:
            pass
        signs = [manager.next(0.6), manager.next(0.6)]  # one may have been on its way
        n_that_matter += None in signs
        assert libc.ptrace(PTRACE_DETACH, thread, None, None) == 0
        assert manager.next() == ["WATCHDOG=1"]
    assert n_that_matter >= 2


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


# ---- sockets that are passed -------------------------------------------------------


def listening(family=socket.AF_INET, address=("127.0.0.1", 0)):
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.bind(address)
    sock.listen(100)
    return sock


def is_refused(address):
    try:
        Connection(address, timeout=5).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    return False


def test_passed_sockets_take_the_place_of_the_others(launch, run_folder):
    path = str(run_folder / f"passed-{time.monotonic_ns()}")
    tcp, unix = listening(), listening(socket.AF_UNIX, path)
    port = tcp.getsockname()[1]
    with Connection(tcp.getsockname()) as early:  # before the server is there
        early.send(b"PING\r\n")
        server = launch(passed=[tcp, unix])
        assert early.read() == b"PONG"
    tcp.close()
    unix.close()
    assert is_refused(server.path)  # the one of the option unixsocket
    log = server.log_text()
    assert f"ready to accept connections on 127.0.0.1:{port}\n" in log
    assert f"ready to accept connections on {path}\n" in log
    assert log.count("ready to accept") == 2
    for address in (("127.0.0.1", port), path):
        with Connection(address) as client:
            assert client.command("SET", "k", "v") == b"OK"
            info = client.command("INFO", "server").decode()
            assert f"tcp_port:{port}\r\n" in info
            assert f"listener0:name=tcp,bind=127.0.0.1,port={port}\r\n" in info
            assert f"listener1:name=unix,bind={path}\r\n" in info
    with Connection(path) as client:
        assert f" addr={path}:0 ".encode() in client.command("CLIENT", "INFO")
        client.command("MONITOR")
        with Connection(path) as other:
            other.command("PING")
        assert f" [0 unix:{path}] ".encode() in client.read_raw()
    assert server.stop() == 0
    # what the manager has made, it keeps
    assert stat.S_ISSOCK(os.stat(path).st_mode)
    os.unlink(path)


def test_ipv6_and_addresses_without_a_file(launch):
    name = f"\0yonder-test-{os.getpid()}-{time.monotonic_ns()}"
    try:
        passed = [listening(socket.AF_INET6, ("::1", 0)), listening(socket.AF_UNIX, name)]
    except OSError:
        pytest.skip("no IPv6 here")
    server = launch(passed=passed)
    port = passed[0].getsockname()[1]
    assert f"connections on [::1]:{port}\n" in server.log_text()
    assert f"connections on @{name[1:]}\n" in server.log_text()
    with Connection(name) as client:
        assert client.command("PING") == b"PONG"
        assert b" flags=U " in client.command("CLIENT", "INFO")


def test_a_server_started_again_takes_the_sockets_again(launch):
    """Clients that come in between wait, and lose nothing."""
    sock = listening()
    server = launch(passed=[sock])
    assert server.stop() == 0
    with Connection(sock.getsockname()) as client:
        client.send(b"PING\r\n")
        server.start_again()
        assert client.read() == b"PONG"


def test_sockets_of_another_process_are_left_alone(launch):
    sock = listening()
    server = launch(passed=[sock], pid_offset=1)
    with server.connect() as client:
        assert client.command("PING") == b"PONG"
    with Connection(sock.getsockname(), timeout=0.5) as client, \
            pytest.raises(TimeoutError):
        client.command("PING")


def datagram():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


def silent():
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock


@pytest.mark.parametrize("make, fault", [
    (datagram, "it is no stream socket"),
    (silent, "it does not listen"),
    (lambda: open("/dev/null"), "Socket operation on non-socket"),
])
def test_what_is_no_listening_socket_is_refused(launch, make, fault):
    server = launch(passed=[listening(), make()], wait=False)
    assert server.process.wait(60) == 1
    assert f"socket 2 of 2 that the service manager passes: {fault}" in server.log_text()
    assert "ready to accept" not in server.log_text()


def test_too_many_sockets_are_refused(launch):
    server = launch(passed=[listening() for _ in range(18)], wait=False)
    assert server.process.wait(60) == 1
    assert "passes 18 sockets: 17 are the most" in server.log_text()


def test_protected_mode_holds_for_passed_sockets(launch):
    other = other_address()
    if other is None:
        pytest.skip("this machine has only loopback addresses")
    sock = listening(address=(other, 0))
    launch(passed=[sock])
    with Connection(sock.getsockname()) as client:
        assert client.read().startswith(b"DENIED this server runs in protected mode")
