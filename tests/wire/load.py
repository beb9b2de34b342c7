"""What the tests of limits and of overload share: looking at a server's memory and clients,
beside load that others make."""
import contextlib
import random
import socket
import struct
import time

from good_client import GoodClient

PATIENCE_S = 60
MB = 1 << 20


def wait_until(condition, what=""):
    """Polls until it is true; a generous deadline."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.02)


def info(conn, name):
    """A number of INFO."""
    for line in conn.command("INFO", "everything").split(b"\r\n"):
        if line.startswith(name.encode() + b":"):
            return int(line.partition(b":")[2])
    raise AssertionError(f"INFO does not tell {name}")


def clients(conn):
    """CLIENT LIST as dictionaries."""
    lines = bytes(conn.command("CLIENT", "LIST")).decode().splitlines()
    return [dict(field.partition("=")[::2] for field in line.split()) for line in lines]


def total_memory(conn):
    return sum(int(client["tot-mem"]) for client in clients(conn))


def is_measured(conn):
    """Whether the server knows how much memory it has."""
    return info(conn, "used_memory") > 0


def abandon(sock):
    """Closes with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def send_what_fits(sock, data, quiet_s=0.3):
    """Sends until the server takes no more for a moment, or closes. Returns how much went."""
    sock.settimeout(quiet_s)
    sent = 0
    view = memoryview(data)
    try:
        while sent < len(data):
            sent += sock.send(view[sent:sent + 65536])
    except OSError:
        pass
    return sent


def is_closed(sock):
    """Whether the peer has closed; drops what it had sent."""
    sock.settimeout(0.05)
    try:
        while sock.recv(1 << 18):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


@contextlib.contextmanager
def good_client(server, password=None):
    """A client that is served throughout: every answer right, each within PATIENCE_S."""

    def connect():
        conn = server.connect(timeout=PATIENCE_S)
        if password:
            assert conn.command("AUTH", password) == b"OK"
        return conn

    good = GoodClient(connect, random.Random(1))
    wait_until(lambda: good.n > 0 or good.fault, "first answers of the good client")
    try:
        yield good
        n = good.n
        wait_until(lambda: good.n > n or good.fault, "answers after the load")
    finally:
        fault = good.end()
    assert fault is None, fault


class Level:
    """Memory and clients of a server before load; `back` waits until it is there again."""

    def __init__(self, conn, margin=4 * MB):
        self.conn, self.margin = conn, margin
        self.memory, self.n_clients = info(conn, "used_memory"), len(clients(conn))

    def grown(self):
        return info(self.conn, "used_memory") - self.memory

    def _is_back(self):
        return (len(clients(self.conn)) <= self.n_clients and self.grown() <= self.margin
                and total_memory(self.conn) <= (self.n_clients + 1) * MB)

    def back(self):
        try:
            wait_until(self._is_back)
        except AssertionError:
            raise AssertionError(
                f"{self.grown()} bytes above the level, clients {clients(self.conn)}"[:3000]
            ) from None
