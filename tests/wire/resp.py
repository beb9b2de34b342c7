"""A small strict reader of RESP2 and RESP3, and a blocking connection on top of it.

Strict: lengths and integers must be canonical decimals, lines must end in CR LF and hold
neither CR nor LF, booleans must be t or f. A server that is sloppy fails here, where the
usual client libraries would look away.

Values: bytes for bulk strings, int, None for a null, list for an array; the other kinds
have classes of their own below, so that a test can tell a status from a bulk string.
"""
import os
import re
import select
import socket


class Malformed(Exception):
    """The peer sent bytes that are no RESP."""


class Closed(Exception):
    """The peer closed the connection inside or before a reply."""


class Status(bytes):
    """+text"""


class Error(bytes):
    """-text, without the minus sign"""


class Double(bytes):
    """RESP3 ,text as it was written; float(value) gives the number."""


class BigNumber(bytes):
    """RESP3 (digits"""


class Verbatim(bytes):
    """RESP3 =len format:text, with the format"""


class Push(list):
    """RESP3 >n"""


class Set(list):
    """RESP3 ~n"""


class Map(list):
    """RESP3 %n as a flat list key, value, key, value"""


class NullArray:
    """RESP2 *-1"""

    def __repr__(self):
        return "NULL_ARRAY"


NULL_ARRAY = NullArray()
# The null of RESP3 stands for both nulls of RESP2, and is read as None.

_CANONICAL = re.compile(rb"(?:0|-?[1-9][0-9]*)\Z")
_DOUBLE = re.compile(rb"(?:inf|-inf|nan|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\Z")


def _integer(text):
    if not _CANONICAL.match(text):
        raise Malformed(f"not a canonical integer: {text!r}")
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise Malformed(f"integer out of 64 bits: {text!r}")
    return value


def _length(text):
    value = _integer(text)
    if value < -1:
        raise Malformed(f"negative length: {text!r}")
    return value


class Reader:
    """Reads replies from `receive(n) -> bytes` (b"" at the end of the stream)."""

    def __init__(self, receive):
        self._receive = receive
        self._data = bytearray()
        self._at = 0

    def _more(self):
        piece = self._receive(1 << 18)
        if not piece:
            raise Closed(f"closed after {bytes(self._data[-200:])!r}")
        self._data += piece

    def _line(self):
        start, scan = self._at, self._at
        while True:
            end = self._data.find(b"\n", scan)
            if end >= 0:
                break
            scan = len(self._data)
            self._more()
        if end == start or self._data[end - 1] != 13:
            raise Malformed(f"line without CR LF: {bytes(self._data[start:end + 1])!r}")
        text = bytes(self._data[start : end - 1])
        if b"\r" in text:
            raise Malformed(f"CR inside a line: {text!r}")
        self._at = end + 1
        return text

    def _bulk(self, n):
        while len(self._data) - self._at < n + 2:
            self._more()
        text = bytes(self._data[self._at : self._at + n])
        if self._data[self._at + n : self._at + n + 2] != b"\r\n":
            raise Malformed("bulk string not followed by CR LF")
        self._at += n + 2
        return text

    def _value(self):
        line = self._line()
        kind, text = line[:1], line[1:]
        if kind == b"$":
            n = _length(text)
            return None if n < 0 else self._bulk(n)
        if kind == b"*":
            n = _length(text)
            return NULL_ARRAY if n < 0 else [self._value() for _ in range(n)]
        if kind == b":":
            return _integer(text)
        if kind == b"+":
            return Status(text)
        if kind == b"-":
            return Error(text)
        if kind == b",":
            if not _DOUBLE.match(text):
                raise Malformed(f"not a double: {text!r}")
            return Double(text)
        if kind == b"_":
            if text:
                raise Malformed("null with a text")
            return None
        return self._rare(kind, text)

    def _rare(self, kind, text):
        if kind == b"#":
            if text not in (b"t", b"f"):
                raise Malformed(f"not a boolean: {text!r}")
            return text == b"t"
        if kind == b"(":
            if not _CANONICAL.match(text):
                raise Malformed(f"not a big number: {text!r}")
            return BigNumber(text)
        n = _integer(text) if kind in (b"=", b"~", b">", b"%") else -1
        if n < 0:
            raise Malformed(f"unknown kind of reply: {kind + text!r}")
        if kind == b"=":
            body = self._bulk(n)
            if len(body) < 4 or body[3:4] != b":":
                raise Malformed(f"verbatim string without its format: {body!r}")
            return Verbatim(body)
        cls = {b"~": Set, b">": Push, b"%": Map}[kind]
        return cls(self._value() for _ in range(n * 2 if kind == b"%" else n))

    def read(self):
        """Returns (value, raw bytes) of the next reply."""
        start = self._at
        value = self._value()
        raw = bytes(self._data[start : self._at])
        if self._at > 1 << 16 or self._at == len(self._data):
            del self._data[: self._at]
            self._at = 0
        return value, raw

    def take(self, n):
        """Returns the next n bytes, whatever they are."""
        while len(self._data) - self._at < n:
            self._more()
        taken = bytes(self._data[self._at : self._at + n])
        del self._data[: self._at + n]
        self._at = 0
        return taken

    def pending(self):
        """Bytes that have arrived and belong to no reply read so far."""
        return bytes(self._data[self._at :])


def split_replies(data):
    """Splits a run of complete replies into their raw bytes."""
    reader = Reader(lambda n: b"")
    reader._data = bytearray(data)
    raws, at = [], 0
    while reader._at < len(data):
        reader._value()
        raws.append(data[at : reader._at])
        at = reader._at
    return raws


def parse(data):
    """Returns the value of exactly one complete reply."""
    reader = Reader(lambda n: b"")
    reader._data = bytearray(data)
    value = reader._value()
    if reader._at != len(data):
        raise Malformed(f"{len(data) - reader._at} bytes after the reply")
    return value


def to_bytes(word):
    if isinstance(word, bytes):
        return word
    if isinstance(word, float):
        return repr(word).encode()
    return str(word).encode("utf-8")


def encode(*words):
    """A request: an array of bulk strings."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = to_bytes(word)
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Connection:
    """A blocking connection. `address` is a unix socket's path or (host, port)."""

    def __init__(self, address, resp=2, timeout=60, receive_buffer=None, context=None):
        family = (
            socket.AF_UNIX if isinstance(address, (str, os.PathLike)) else socket.AF_INET
        )
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(timeout)
        self.sock.connect(str(address) if family == socket.AF_UNIX else address)
        if family == socket.AF_INET:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:  # of the module ssl
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        self.reader = Reader(self.sock.recv)
        if resp == 3:
            reply = self.command("HELLO", "3")
            assert isinstance(reply, Map), reply

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.sendall(data)

    def read(self):
        return self.reader.read()[0]

    def read_raw(self):
        return self.reader.read()[1]

    def command(self, *words):
        self.send(encode(*words))
        return self.read()

    def raw(self, *words):
        self.send(encode(*words))
        return self.read_raw()

    def pipeline(self, commands):
        """Sends all commands in one write and returns their values."""
        self.send(b"".join(encode(*words) for words in commands))
        return [self.read() for _ in commands]

    def batch(self, commands, token=b"end-of-batch-5c1e"):
        """Sends all commands and returns the bytes of all their replies, unparsed. Reads
        while it writes, so that neither side can block the other for ever."""
        mark = b"$%d\r\n%s\r\n" % (len(token), token)
        out = memoryview(
            b"".join(encode(*words) for words in commands) + encode("ECHO", token)
        )
        got = bytearray()
        assert not self.reader.pending()
        timeout = self.sock.gettimeout()
        step = 1 << 16
        while out:
            self.sock.settimeout(0)
            try:
                n = self.sock.send(out[:step])
                out = out[n:]
            except BlockingIOError:
                self.sock.settimeout(timeout)
                if not self._may_send():
                    got += self._receive(got)
        self.sock.settimeout(timeout)
        while not got.endswith(mark):
            got += self._receive(got)
        return bytes(got[: -len(mark)])

    def _may_send(self):
        """Waits until there is room for more, or something to read."""
        readable, writable, _ = select.select(
            [self.sock], [self.sock], [], self.sock.gettimeout())
        if not readable and not writable:
            raise TimeoutError("the server neither reads nor answers")
        return not readable

    def _receive(self, got):
        piece = self.sock.recv(1 << 20)
        if not piece:
            raise Closed(f"closed after {bytes(got[-200:])!r}")
        return piece

    def receive_until_closed(self):
        """All bytes until the peer closes; a reset counts as closed."""
        parts = [self.reader.pending()]
        try:
            while True:
                piece = self.sock.recv(1 << 18)
                if not piece:
                    break
                parts.append(piece)
        except ConnectionResetError:
            pass
        return b"".join(parts)

    def close(self):
        self.sock.close()
