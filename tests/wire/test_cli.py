"""yonder-cli beside Debian's redis-cli: the same commands, the same server, the same bytes."""
import os
import pty
import select
import shutil
import socket
import subprocess
import threading
import time

import pytest

from servers import binary, free_port

MODES = [["--no-raw"], ["--raw"], ["-3", "--no-raw"], ["-3", "--raw"], []]

GEO = [
    "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
    "GEODIST g Palermo Catania km",
    "GEOPOS g Palermo nobody Catania",
    "GEOHASH g Palermo nobody",
    "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC",
    "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST WITHHASH WITHCOORD",
    "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 m ASC WITHDIST",
    "ZADD z 1 one 2.5 two inf three -inf four",
    "ZRANGE z 0 -1 WITHSCORES",
    "ZSCORE z two",
    "ZSCAN z 0",
    "ZMSCORE z one nobody",
    "ZRANK z nobody",
    "SET s value",
    "GET s",
    "GET missing",
    "GET z",
    "DEL missing",
    "KEYS nothing*",
    "TYPE z",
    "NOSUCH a b",
    "GEOADD g 200 0 x",
    "GEOSEARCH g",
    "CONFIG GET maxmemory",
    "CONFIG GET nothing",
    "COMMAND INFO geopos nosuch",
    "COMMAND GETKEYS GEOSEARCHSTORE a b FROMLONLAT 1 1 BYRADIUS 1 m",
    "ECHO hello",
    "CLIENT GETNAME",
]

KINDS = ["string", "integer", "double", "null", "array", "set", "map", "verbatim", "true", "false"]


def run(program, server, *words, env=None, **more):
    if "input" not in more:
        more["stdin"] = subprocess.DEVNULL
    return subprocess.run([str(program), "-p", str(server.port), *words], capture_output=True,
                          timeout=60, env={**os.environ, **(env or {})}, **more)


def ours(server, *words, **more):
    return run(binary("yonder-cli"), server, *words, **more)


def theirs(server, *words, **more):
    return run(shutil.which("redis-cli"), server, *words, **more)


def check_same(server, mode, *words, **more):
    mine, his = ours(server, *mode, *words, **more), theirs(server, *mode, *words, **more)
    assert mine.stdout == his.stdout, (mode, words)
    assert mine.returncode == his.returncode, (mode, words)
    assert mine.stderr == b""


# ---- layouts ----------------------------------------------------------------

@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_replies_look_as_in_redis_cli(server, mode):
    for command in GEO:
        name = command.split()[0]
        if name in ("GEOADD", "ZADD", "SET"):
            theirs(server, *command.split())  # so that both see the second time
        check_same(server, mode, *command.split())


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_every_kind_of_reply(start, mode):
    redis = start.redis("--enable-debug-command", "yes")
    for kind in KINDS:
        check_same(redis, mode, "DEBUG", "PROTOCOL", kind)


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_nested_replies_line_up(start, mode):
    redis = start.redis()
    script = ("return {1,{},{2,{'a','b'},{3}},'x',false,1,1,1,1,1,{'t',{11,12,{13}}}}",
              "return {map={1,2}}",
              "redis.setresp(3);return {map={a={1,{2,3}},}}",
              "redis.setresp(3);return {{set={a=true}},{map={}},{set={}},{double=3.5},{}}",
              "redis.setresp(3);return {map={h={{1,2}},}}",
              "redis.setresp(3);return {{map={h={{map={x={{map={y={1,2}}}}}}}}}}",
              "redis.setresp(3);return {map={f={set={g=true}}}}",
              "redis.setresp(3);return {{map={d={map={a=1}}}},{map={e={map={}}}}}",
              "return {ok='fine'}", "return {err='ERR bad'}", "return {{err='ERR in'},{ok='o'}}")
    for text in script:
        check_same(redis, mode, "EVAL", text, "0")


def test_bytes_in_quotes(server):
    every_byte = bytes(range(256))
    with server.connect() as conn:
        conn.command("SET", "s", every_byte)
        conn.command("SET", "empty", b"")
        conn.command("ZADD", "z", 1, every_byte)
    for mode in MODES:
        check_same(server, mode, "GET", "s")
        check_same(server, mode, "GET", "empty")
        check_same(server, mode, "ZRANGE", "z", "0", "-1")


def test_reports_are_raw_for_people_too(server):
    for words in (["INFO", "server"], ["CLIENT", "LIST"], ["CLIENT", "INFO"]):
        reply = ours(server, "--no-raw", *words).stdout
        assert not reply.startswith(b'"') and reply.count(b"\\n") == 0
        assert reply.count(b"\n") >= 1


# ---- where commands come from -----------------------------------------------

SCRIPT = (b"SET s \"a\\x00b\\n\\t\\\"q\"\nGET s\n\n   \nGET 's'\nGET \"s\nGET 'it\\'s'\n"
          b"NOSUCH\r\nzadd z 1 a\nZRANGE z 0 -1 WITHSCORES\nget s")


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_commands_from_standard_input(server, mode):
    mine = ours(server, *mode, input=SCRIPT)
    with server.connect() as conn:
        conn.command("FLUSHALL")
    his = theirs(server, *mode, input=SCRIPT)
    assert mine.stdout == his.stdout
    assert mine.returncode == his.returncode == 0


def test_quit_ends_a_script(server):
    for word in (b"quit", b"EXIT"):
        assert ours(server, input=b"PING\n" + word + b"\nPING\n").stdout == b"PONG\n"


def test_last_argument_from_standard_input(server):
    value = b"any \x00 bytes\r\n"
    assert ours(server, "-x", "SET", "s", input=value).stdout == b"OK\n"
    with server.connect() as conn:
        assert conn.command("GET", "s") == value


def test_many_lines(server):
    lines = b"".join(b"ZADD z %d m%d\n" % (i, i) for i in range(3000))
    assert ours(server, input=lines).stdout == b"1\n" * 3000


def test_a_large_reply(server):
    value = b"v" * (8 * 1024 * 1024)
    ours(server, "-x", "SET", "s", input=value)
    assert ours(server, "GET", "s").stdout == value + b"\n"


def test_client_reply_off_does_not_wait(server):
    script = (b"CLIENT REPLY OFF\nSET s 1\nCLIENT REPLY ON\nCLIENT REPLY SKIP\nSET s 2\nGET s\n")
    done = ours(server, input=script)
    # ON is answered; the request after SKIP gets no reply, so GET's is the next
    assert done.stdout == b"OK\n2\n"


# ---- options ----------------------------------------------------------------

def test_unix_socket(server):
    done = subprocess.run([str(binary("yonder-cli")), "-s", server.path, "PING"],
                          capture_output=True, timeout=60)
    assert done.stdout == b"PONG\n"


def test_password(start):
    server = start.subject("--requirepass", "open sesame")
    assert ours(server, "-a", "open sesame", "PING").stdout == b"PONG\n"
    for name in ("YONDER_AUTH", "REDISCLI_AUTH"):
        assert ours(server, "PING", env={name: "open sesame"}).stdout == b"PONG\n"
    assert ours(server, "PING").stdout == b"NOAUTH Authentication required.\n\n"
    bad = ours(server, "-a", "wrong", "PING")
    assert bad.returncode == 1 and b"could not authenticate: WRONGPASS" in bad.stderr


def test_exit_status_of_errors(server):
    assert ours(server, "NOSUCH").returncode == 0
    assert ours(server, "-e", "NOSUCH").returncode == 1
    assert ours(server, "-e", "PING").returncode == 0
    assert ours(server, "-e", input=b"NOSUCH\nPING\n").returncode == 1


@pytest.mark.parametrize("words, text", [
    (["-p", "70000", "PING"], "-p must be a number of 0 to 65535"),
    (["-p", "x", "PING"], "-p must be a number"),
    (["-n", "-1", "PING"], "-n must be a number"),
    (["-p"], "no value for -p"),
    (["--nosuch", "PING"], "unknown option --nosuch"),
    (["-s", "/nowhere/at/all", "PING"], 'could not connect to "/nowhere/at/all"'),
    (["-s", "x" * 200, "PING"], "path of the socket is too long"),
    (["-h", "no such host", "PING"], 'could not resolve "no such host"'),
])
def test_bad_options(words, text):
    done = subprocess.run([str(binary("yonder-cli")), *words], capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert text in done.stderr.decode()
    assert done.stdout == b""


def test_help_and_version():
    for option, text in (("--help", b"Usage: yonder-cli"), ("--version", b"yonder-cli 0.")):
        done = subprocess.run([str(binary("yonder-cli")), option], capture_output=True)
        assert done.returncode == 0 and done.stdout.startswith(text)


# ---- when things go wrong ---------------------------------------------------

def test_no_server():
    port = str(free_port())
    for more in ({"args": ["PING"]}, {"args": [], "input": b"PING\n"}):
        args = more.pop("args")
        done = subprocess.run([str(binary("yonder-cli")), "-p", port, *args],
                              capture_output=True, timeout=60, **more)
        assert done.returncode == 1
        assert f"could not connect to 127.0.0.1:{port}: Connection refused" in done.stderr.decode()


class FakeServer:
    """Answers the first connection with given bytes and closes it."""

    def __init__(self, reply):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, args=[reply])
        self.thread.start()

    def _serve(self, reply):
        conn, _ = self.listener.accept()
        with conn:
            conn.recv(65536)
            conn.sendall(reply)
            conn.shutdown(socket.SHUT_WR)
            conn.settimeout(30)
            while conn.recv(65536):
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.thread.join(30)
        self.listener.close()


@pytest.mark.parametrize("reply, text", [
    (b"", "connection lost: closed by the server"),
    (b"$5\r\nab", "connection lost: closed by the server"),
    (b"?what\r\n", "the server broke the protocol at byte"),
])
def test_bad_servers(reply, text):
    with FakeServer(reply) as fake:
        done = ours(fake, "PING")
        assert done.returncode == 1
        assert text in done.stderr.decode()


def test_push_messages_are_shown_beside_the_reply():
    with FakeServer(b">2\r\n$3\r\nnew\r\n:1\r\n+PONG\r\n") as fake:
        assert ours(fake, "--no-raw", "PING").stdout == b'1) "new"\n2) (integer) 1\nPONG\n'


@pytest.mark.parametrize("reply, text", [
    (b"(1234567890123456789012345678901234567890\r\n",
     b"(bignum) 1234567890123456789012345678901234567890\n"),
    (b"|1\r\n+key\r\n+value\r\n+reply\r\n", b"reply\n"),
    (b"%1\r\n%1\r\n:1\r\n:2\r\n%1\r\n:3\r\n:4\r\n",
     b"1# 1# (integer) 1 => (integer) 2 => 1# (integer) 3 => (integer) 4\n"),
    (b"%1\r\n*2\r\n:1\r\n:2\r\n*2\r\n:3\r\n:4\r\n",
     b"1# 1) (integer) 1\n   2) (integer) 2 => \n   1) (integer) 3\n   2) (integer) 4\n"),
    (b"%1\r\n+k\r\n*1\r\n=7\r\ntxt:a\nb\r\n", b"1# k => 1) a\nb\n"),
])
def test_replies_from_the_wire(reply, text):
    with FakeServer(reply) as fake:
        assert ours(fake, "--no-raw", "PING").stdout == text


def test_shutdown_is_no_lost_connection(start):
    server = start.subject()
    done = ours(server, "SHUTDOWN", "NOSAVE")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    server.process.wait(30)


# ---- messages without end -----------------------------------------------------

def lines_of(program, n):
    return [program.stdout.readline() for _ in range(n)]


@pytest.mark.parametrize("mode", [[], ["-3"]], ids=["2", "3"])
@pytest.mark.parametrize("way", ["words", "input"])
def test_subscribers_are_shown_what_comes(server, mode, way):
    """Until the server goes, or the user; the confirmations of all channels among it."""
    words = [str(binary("yonder-cli")), "-p", str(server.port), *mode]
    if way == "words":
        words += ["SUBSCRIBE", "a", "b"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        if way == "input":
            program.stdin.write(b"SUBSCRIBE a b\n")
            program.stdin.flush()
        assert lines_of(program, 6) == [b"subscribe\n", b"a\n", b"1\n",
                                        b"subscribe\n", b"b\n", b"2\n"]
        with server.connect() as conn:
            for text in (b"first", b"second"):
                assert conn.command("PUBLISH", "b", text) == 1
                assert lines_of(program, 3) == [b"message\n", b"b\n", text + b"\n"]
            conn.command("CLIENT", "KILL", "TYPE", "pubsub")
        assert program.wait(30) == 1
        assert b"connection lost: closed by the server" in program.stderr.read()


def test_a_monitor_is_shown_what_comes(server):
    with subprocess.Popen([str(binary("yonder-cli")), "-p", str(server.port), "MONITOR"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as program:
        assert lines_of(program, 1) == [b"OK\n"]
        with server.connect() as conn:
            for word in (b"one", b"two"):
                conn.command("ECHO", word)
                assert lines_of(program, 1)[0].endswith(b'"ECHO" "%s"\n' % word)
        program.terminate()


def test_a_subscription_in_a_transaction_is_only_queued(server):
    assert ours(server, input=b"MULTI\nSUBSCRIBE a\nDISCARD\nSUBSCRIBE\nMONITOR x\n"
                ).stdout.startswith(b"OK\nQUEUED\nOK\nERR wrong number of arguments")


# ---- at a terminal ----------------------------------------------------------

class Terminal:
    def __init__(self, words):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            try:
                os.environ["TERM"] = "dumb"
                os.execv(words[0], words)
            finally:
                os._exit(127)  # never on into a second run of these tests
        self.text = b""

    def read_until(self, text, timeout=20):
        deadline = time.monotonic() + timeout
        while text not in self.text:
            assert time.monotonic() < deadline, (text, self.text)
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:
                    break
        assert text in self.text
        head, self.text = self.text.split(text, 1)
        return head

    def write(self, text):
        os.write(self.fd, text)

    def wait(self):
        status = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        os.close(self.fd)
        return status


def test_prompt(start):
    server = start.subject()
    terminal = Terminal([str(binary("yonder-cli")), "-p", str(server.port)])
    prompt = f"127.0.0.1:{server.port}> ".encode()
    terminal.read_until(prompt)
    terminal.write(b"SET s v\n")
    terminal.read_until(b"OK\r\n" + prompt)
    terminal.write(b"GET s\n")
    terminal.read_until(b'"v"\r\n' + prompt)
    terminal.write(b'GET "s\n')
    terminal.read_until(b"Invalid argument(s)\r\n" + prompt)
    terminal.write(b"help\n")
    assert b"COMMAND DOCS NAME" in terminal.read_until(prompt)

    # a server that goes away is told, and looked for again by the next command
    server.stop()
    terminal.write(b"GET s\n")
    terminal.read_until(b"connection lost")
    terminal.read_until(b"not connected> ")
    terminal.write(b"GET s\n")
    terminal.read_until(b"could not connect")
    terminal.read_until(b"not connected> ")
    terminal.write(b"quit\n")
    assert terminal.wait() == 0
