"""What a service manager is told (sd_notify(3)) and passes (sd_listen_fds(3)), with a socket
of ours in the place of systemd's."""
import ctypes
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time

import pytest

import certificates

from resp import Connection
from servers import ROOT, YonderServer, binary, other_address

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


def test_sockets_named_tls_are_for_tls(launch, tmp_path):
    authority = certificates.Authority(tmp_path)
    cert, key = authority.issue("server")
    passed = [listening(), listening(), listening()]
    options = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no"]
    server = launch(*options, passed=passed, env={"LISTEN_FDNAMES": "plain:tls:tlsx"})
    context = ssl.create_default_context(cafile=str(authority.file))
    for i, sock in enumerate(passed):
        more = {"context": context} if i == 1 else {}
        with Connection(sock.getsockname(), **more) as client:
            assert client.command("PING") == b"PONG"
            assert f"tcp_port:{passed[0].getsockname()[1]}\r\n".encode() in client.command(
                "INFO", "server")
    assert f"TLS connections on 127.0.0.1:{passed[1].getsockname()[1]}" in server.log_text()
    # without a certificate there is no server
    server = launch(passed=[passed[1]], env={"LISTEN_FDNAMES": "tls"}, wait=False)
    assert server.process.wait(60) == 1


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
    server = launch(passed=[listening() for _ in range(40)], wait=False)
    assert server.process.wait(60) == 1
    assert "passes 40 sockets: 33 are the most" in server.log_text()


def test_protected_mode_holds_for_passed_sockets(launch):
    other = other_address()
    if other is None:
        pytest.skip("this machine has only loopback addresses")
    sock = listening(address=(other, 0))
    launch(passed=[sock])
    with Connection(sock.getsockname()) as client:
        assert client.read().startswith(b"DENIED this server runs in protected mode")


# ---- units -------------------------------------------------------------------------


@pytest.fixture
def units(tmp_path):
    """units(prefix) installs the units as `make install` does, into a folder of ours."""
    def install(prefix):
        given = {"CMAKE_INSTALL_PREFIX": prefix, "SOURCE": ROOT, "BINARY": tmp_path / "b",
                 "BINDIR": "bin", "DOCDIR": "share/doc/yonder"}
        subprocess.run(["cmake", *(f"-D{name}={value}" for name, value in given.items()),
                        "-P", ROOT / "dist" / "install_units.cmake"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(tmp_path)})
        return tmp_path
    return install


@pytest.mark.parametrize("prefix, conf", [
    ("/usr", "/etc/yonder"), ("/usr/local", "/usr/local/etc/yonder"),
    ("/opt/yonder", "/opt/yonder/etc/yonder")])
def test_units_name_what_was_installed(units, prefix, conf):
    root = units(prefix)
    folder = pathlib.Path(f"{root}{prefix}/lib/systemd/system")
    assert sorted(path.name for path in folder.iterdir()) == ["yonder-server.service",
                                                              "yonder-server.socket"]
    text = (folder / "yonder-server.service").read_text()
    assert f"ExecStart={prefix}/bin/yonder-server %d/yonder.conf --supervised" in text
    assert f"LoadCredential=yonder.conf:{conf}/yonder.conf" in text
    assert "@bin" not in text and "@doc" not in text and "@conf" not in text
    installed = pathlib.Path(f"{root}{conf}/yonder.conf")
    assert installed.stat().st_mode & 0o777 == 0o600
    installed.write_text("port 7000\n")  # the administrator's, from now on
    units(prefix)
    assert installed.read_text() == "port 7000\n"


def test_units_are_valid(units):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    root = units("/usr")
    folder = root / "usr/lib/systemd/system"
    service = folder / "yonder-server.service"
    service.write_text(service.read_text().replace("/usr/bin/yonder-server",
                                                   str(binary("yonder-server"))))
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", service,
         folder / "yonder-server.socket"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if b"Failed to initialize manager" in told.stdout:
        pytest.skip("systemd-analyze cannot work here")
    lines = [line for line in told.stdout.decode().splitlines() if "yonder" in line]
    assert told.returncode == 0 and not lines, told.stdout
    # what it may still do, from 0 to 100 (systemd calls up to 20 "OK")
    subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=20",
                    "--no-pager", service], check=True, stdout=subprocess.DEVNULL)


def test_runs_without_any_privilege(start, run_folder):
    """As the unit runs it: a user who may nothing, no capabilities, none to be had."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can give its privileges away")

    class Unprivileged(YonderServer):
        def _command(self, options):
            users = self.folder / "users.acl"
            users.write_text("user default on nopass ~* &* +@all\n")
            for path in (self.folder, users):
                os.chown(path, 65534, 65534)
            return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                    "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs",
                    *super()._command(options)]

    run_folder.chmod(0o755)
    server = start._start(Unprivileged, ["--aclfile", "users.acl", "--unixsocketperm", "770",
                                         "--threads", "2", "--maxclients", "10000"])
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    for line in ("Uid:\t65534\t65534", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in status
    with server.connect() as client:
        assert client.command("GEOADD", "k", "1", "2", "m") == 1
        assert len(client.command("GEOSEARCH", "k", "FROMLONLAT", "1", "2", "BYRADIUS", "1",
                                  "km")) == 1
        assert client.command("ACL", "SETUSER", "a", "on") == b"OK"
        assert client.command("ACL", "SAVE") == b"OK"
        assert client.command("CONFIG", "SET", "maxclients", "20000") in (
            b"OK", b"ERR Failed applying possibly changed configuration")
        assert client.command("PING") == b"PONG"
    assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o770
    assert server.stop() == 0
