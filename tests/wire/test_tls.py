"""TLS: handshakes, certificates, reloading, large replies, peers that misbehave."""
import contextlib
import os
import random
import socket
import ssl
import subprocess
import threading
import time

import pytest

import certificates
import resp
import servers


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def files(authority):
    """The server's certificate, and those of clients."""
    return {name: authority.issue(name) for name in ("server", "other", "client")}


def context_for(authority, client=None, **versions):
    context = ssl.create_default_context(cafile=authority.file)
    if client is not None:
        context.load_cert_chain(*client)
    for name, version in versions.items():
        setattr(context, name, version)
    return context


class Secured:
    """A server with a port for TLS."""

    def __init__(self, start, authority, pair, *options, **more):
        self.port = servers.lasting_port()
        self.authority = authority
        self.server = start.subject(
            "--port", str(servers.lasting_port()), "--tls-port", str(self.port),
            "--tls-cert-file", str(pair[0]),
            "--tls-key-file", str(pair[1]), "--tls-ca-cert-file", str(authority.file),
            *options, **more)

    def connect(self, client=None, context=None, **options):
        context = context or context_for(self.authority, client)
        return resp.Connection(("127.0.0.1", self.port), context=context, **options)

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@pytest.fixture(scope="module")
def secured(session_starter, authority, files):
    return Secured(session_starter, authority, files["server"], "--tls-auth-clients", "no",
                   "--threads", "3", "--loglevel", "verbose")


def wait_for_log(server, text):
    deadline = time.monotonic() + 30
    while text not in server.log_text():
        assert time.monotonic() < deadline, server.log_text()[-2000:]
        time.sleep(0.01)


# ---- use ----


def test_commands(secured):
    for version in (2, 3):
        with secured.connect(resp=version) as conn:
            assert conn.command("SET", "k", "v") == b"OK"
            assert conn.command("GET", "k") == b"v"
            assert conn.pipeline([("ECHO", str(i)) for i in range(1000)]) == [
                b"%d" % i for i in range(1000)]
            assert b"listener" in conn.command("INFO", "server")
            assert b"name=tls" in conn.command("INFO", "server")


def test_plain_port_is_there_too(secured):
    with secured.server.connect(tcp=True) as plain, secured.connect() as conn:
        plain.command("SET", "both", "1")
        assert conn.command("GET", "both") == b"1"


def test_port_0_means_tls_only(start, authority, files):
    port = servers.lasting_port()
    server = start.subject(
        "--tls-port", str(port), "--tls-cert-file", str(files["server"][0]),
        "--tls-key-file", str(files["server"][1]), "--tls-auth-clients", "no", wait=False)
    wait_for_log(server, "ready to accept TLS connections on 127.0.0.1:%d" % port)
    assert "ready to accept connections on 127.0.0.1" not in server.log_text()
    with resp.Connection(("127.0.0.1", port), context=context_for(authority)) as conn:
        assert conn.command("PING") == b"PONG"


@pytest.mark.parametrize("length", (0, 1, 16383, 16384, 16385, 100_000, 5_000_000))
def test_values_of_any_length(secured, length):
    value = random.Random(length).randbytes(length)
    with secured.connect() as conn:
        assert conn.command("SET", "k", value) == b"OK"
        assert conn.command("GET", "k") == value
        assert conn.command("APPEND", "k", b"x") == length + 1
        conn.command("DEL", "k")


def test_request_byte_by_byte(secured):
    with secured.connect() as conn:
        for byte in resp.encode("SET", "k", "slowly") + resp.encode("GET", "k"):
            conn.send(bytes([byte]))
        assert [conn.read(), conn.read()] == [b"OK", b"slowly"]


def test_handshake_byte_by_byte(secured, authority):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context_for(authority).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with secured.raw() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def push():
            for byte in outgoing.read():
                sock.sendall(bytes([byte]))

        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                push()
                incoming.write(sock.recv(7))
        push()
        tls.write(resp.encode("PING"))
        push()
        got = b""
        while got != b"+PONG\r\n":
            try:
                got += tls.read(100)
            except ssl.SSLWantReadError:
                incoming.write(sock.recv(7))


def test_large_reply_to_a_slow_reader(secured):
    """Forty megabytes, of which the server holds little."""
    with secured.connect() as conn, secured.connect(receive_buffer=4096) as slow:
        members = [f"member{i:08}" for i in range(1_000_000)]
        for at in range(0, len(members), 50_000):
            words = [w for m in members[at:at + 50_000] for w in ("1", m)]
            conn.command("ZADD", "large", *words)
        slow.send(resp.encode("ZRANGE", "large", 0, -1))
        time.sleep(0.3)
        line = [line for line in conn.command("CLIENT", "LIST").split(b"\n")
                if b"cmd=zrange" in line][0]
        assert int(line.partition(b" tot-mem=")[2].split()[0]) < 2_000_000
        assert slow.read() == [m.encode() for m in members]
        conn.command("DEL", "large")


def test_commands_behind_a_large_reply(secured):
    """They wait in records that were read already."""
    with secured.connect() as conn:
        conn.command("ZADD", "z", *[w for i in range(200_000) for w in (i, f"m{i:06}")])
        conn.send((resp.encode("ZRANGE", "z", 0, -1) + resp.encode("PING")) * 3)
        for _ in range(3):
            assert len(conn.read()) == 200_000
            assert conn.read() == b"PONG"
        conn.command("DEL", "z")


def test_messages(secured):
    with secured.connect() as a, secured.connect() as b:
        a.command("SUBSCRIBE", "c")
        for i in range(500):
            assert b.command("PUBLISH", "c", str(i)) == 1
        assert [a.read()[2] for _ in range(500)] == [b"%d" % i for i in range(500)]


def test_blocked_client_and_its_end(secured):
    with secured.connect() as a, secured.connect() as b:
        a.send(resp.encode("BZPOPMIN", "queue", "0"))
        while b"\r\nblocked_clients:1\r\n" not in b.command("INFO", "clients"):
            pass
        b.command("ZADD", "queue", "1", "m")
        assert a.read() == [b"queue", b"m", b"1"]


def test_end_is_told(secured):
    """QUIT is followed by the notice of TLS that no more comes."""
    with secured.connect() as conn:
        assert conn.command("QUIT") == b"OK"
        assert conn.sock.recv(1) == b""  # a bare end would be an error of the module


@pytest.mark.parametrize("behind", (b"", b"\x17\x03\x03\x40\x00" + b"j" * 500),
                         ids=("nothing", "bytes"))
@pytest.mark.parametrize("version", (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3))
def test_client_that_ends_its_side(secured, authority, version, behind):
    """What it has sent before its notice is answered, also what had to wait until answers
    were read, and so is the notice; bytes behind it are nobody's."""
    n = 100
    with secured.connect() as other:
        other.command("SET", "k", "x" * 50000)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context_for(authority, maximum_version=version).wrap_bio(
        incoming, outgoing, server_hostname="localhost")
    with secured.raw() as sock:

        def until_done(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    sock.sendall(outgoing.read())
                    data = sock.recv(1 << 16)
                    assert data, "ended without a notice"
                    incoming.write(data)

        until_done(client.do_handshake)
        for _ in range(n):
            client.write(resp.encode("GET", "k"))
        with pytest.raises(ssl.SSLWantReadError):
            client.unwrap()
        sock.sendall(outgoing.read() + behind)
        text = b""
        try:
            while piece := until_done(lambda: client.read(1 << 16)):
                text += piece
        except ssl.SSLZeroReturnError:
            pass
        assert text == (b"$50000\r\n" + b"x" * 50000 + b"\r\n") * n


# ---- versions ----


@pytest.mark.parametrize("protocols, offered, works", (
    ("TLSv1.2", ssl.TLSVersion.TLSv1_2, True),
    ("TLSv1.2", ssl.TLSVersion.TLSv1_3, False),
    ("TLSv1.3", ssl.TLSVersion.TLSv1_3, True),
    ("TLSv1.3", ssl.TLSVersion.TLSv1_2, False),
    ("TLSv1.2 TLSv1.3", ssl.TLSVersion.TLSv1_2, True),
))
def test_protocols(secured, authority, protocols, offered, works):
    with secured.connect() as admin:
        assert admin.command("CONFIG", "SET", "tls-protocols", protocols) == b"OK"
        context = context_for(authority, minimum_version=offered, maximum_version=offered)
        try:
            if works:
                with secured.connect(context=context) as conn:
                    assert conn.command("PING") == b"PONG"
            else:
                with pytest.raises(ssl.SSLError):
                    secured.connect(context=context)
        finally:
            admin.command("CONFIG", "SET", "tls-protocols", "")


# ---- certificates of clients ----


@pytest.mark.parametrize("mode, without, with_one", (
    ("yes", False, True), ("optional", True, True), ("no", True, True)))
def test_auth_clients(secured, authority, files, mode, without, with_one):
    with secured.server.connect() as admin:
        admin.command("CONFIG", "SET", "tls-auth-clients", mode)
    for client, works in ((None, without), (files["client"], with_one)):
        try:
            with secured.connect(client) as conn:
                assert conn.command("PING") == b"PONG"
                assert works
        except (ssl.SSLError, ConnectionError, resp.Closed):
            assert not works
    with secured.server.connect() as admin:
        admin.command("CONFIG", "SET", "tls-auth-clients", "no")


@pytest.mark.parametrize("kind", ("expired", "foreign"))
def test_bad_client_certificate_is_named_in_the_log(start, tmp_path, authority, files, kind):
    secured = Secured(start, authority, files["server"])
    if kind == "expired":
        pair, text = authority.issue("late", days=-1), "certificate has expired"
    else:
        pair = certificates.Authority(tmp_path, "another").issue("stranger")
        text = "unable to get local issuer certificate"
    with pytest.raises((ssl.SSLError, ConnectionError, resp.Closed)):
        with secured.connect(pair) as conn:
            conn.command("PING")
    wait_for_log(secured.server, f"refused: its certificate: {text}")
    with secured.connect(files["client"]) as conn:
        assert conn.command("PING") == b"PONG"


@pytest.mark.parametrize("version", (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3))
def test_session_ends_with_the_certificate(start, authority, files, version):
    """A client that takes a session up again shows no certificate; it must not come in by
    one that has expired since."""
    secured = Secured(start, authority, files["server"])
    end = time.time() + 6
    pair = authority.issue("brief", end=time.strftime("%Y%m%d%H%M%SZ", time.gmtime(end)))
    context = context_for(authority, pair, maximum_version=version)

    def come(session=None):
        raw = secured.raw()
        with context.wrap_socket(raw, server_hostname="localhost", session=session) as sock:
            sock.sendall(b"PING\r\n")
            answer = sock.recv(100)
            return answer, sock.session, sock.session_reused

    answer, session, _ = come()
    assert answer == b"+PONG\r\n"
    answer, session, is_reused = come(session)
    assert answer == b"+PONG\r\n" and is_reused
    time.sleep(max(0, end - time.time()) + 1.5)
    try:
        assert come(session)[0] == b""
    except (ssl.SSLError, ConnectionError):
        pass
    wait_for_log(secured.server, "refused: its certificate: certificate has expired")


def test_client_refuses_another_authority(secured, tmp_path):
    other = certificates.Authority(tmp_path, "another")
    with pytest.raises(ssl.SSLCertVerificationError):
        secured.connect(context=context_for(other))
    with secured.connect() as conn:
        assert conn.command("PING") == b"PONG"


# ---- starting ----


def start_error(options):
    done = subprocess.run([str(servers.binary("yonder-server")), "--port", "0", *options],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    return done.stdout + done.stderr


def test_start_errors(authority, files, tmp_path):
    cert, key = map(str, files["server"])
    port = ["--tls-port", str(servers.lasting_port())]
    pair = ["--tls-cert-file", cert, "--tls-key-file", key]
    assert "set both tls-cert-file and tls-key-file" in start_error(port)
    assert "tls-ca-cert-file" in start_error(port + pair)
    text = start_error(port + ["--tls-cert-file", "/nowhere", "--tls-key-file", key])
    assert 'tls-cert-file "/nowhere": No such file or directory' in text
    other_key = str(files["other"][1])
    text = start_error(port + ["--tls-cert-file", cert, "--tls-key-file", other_key])
    assert other_key in text and "key" in text
    late, late_key = map(str, authority.issue("late-server", days=-1))
    text = start_error(port + ["--tls-cert-file", late, "--tls-key-file", late_key,
                               "--tls-auth-clients", "no"])
    assert f'tls-cert-file "{late}": the certificate has expired' in text
    auth = ["--tls-auth-clients", "no"]
    assert "tls-protocols" in start_error(port + pair + auth + ["--tls-protocols", "SSLv3"])
    assert "tls-ciphers" in start_error(port + pair + auth + ["--tls-ciphers", "nonsense"])
    empty = tmp_path / "empty"
    empty.write_text("")
    assert str(empty) in start_error(port + pair + ["--tls-ca-cert-file", str(empty)])


def test_key_with_a_password(start, authority):
    pair = authority.issue("hidden", passphrase="open sesame")
    secured = Secured(start, authority, pair, "--tls-key-file-pass", "open sesame",
                      "--tls-auth-clients", "no")
    with secured.connect() as conn:
        assert conn.command("PING") == b"PONG"
    assert "key" in start_error(
        ["--tls-port", "1", "--tls-cert-file", str(pair[0]), "--tls-key-file", str(pair[1]),
         "--tls-key-file-pass", "wrong", "--tls-auth-clients", "no"])


def test_password_is_not_shown(secured):
    with secured.server.connect() as conn, secured.server.connect() as monitor:
        conn.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
        monitor.command("MONITOR")
        conn.command("CONFIG", "SET", "tls-key-file-pass", "open sesame")
        conn.command("CONFIG", "SET", "slowlog-log-slower-than", "10000",
                     "tls-key-file-pass", "")
        assert "open sesame" not in repr(conn.command("SLOWLOG", "GET", "10"))
        conn.command("ECHO", "done")
        while b"done" not in (line := monitor.read()):
            assert b"sesame" not in line


# ---- CONFIG SET ----


def subject_of(secured, context):
    with secured.connect(context=context) as conn:
        return dict(x[0] for x in conn.sock.getpeercert()["subject"])["commonName"]


def test_reload(secured, authority, files):
    """New clients get the new certificate; old ones go on."""
    context = context_for(authority)
    with secured.connect() as old:
        assert subject_of(secured, context) == "server"
        cert, key = map(str, files["other"])
        assert old.command("CONFIG", "SET", "tls-cert-file", cert, "tls-key-file",
                           key) == b"OK"
        assert subject_of(secured, context) == "other"
        assert old.command("PING") == b"PONG"
        cert, key = map(str, files["server"])
        assert old.command("CONFIG", "SET", "tls-key-file", key, "tls-cert-file",
                           cert) == b"OK"
        assert subject_of(secured, context) == "server"


def test_reload_that_fails_changes_nothing(secured, authority, files):
    late, late_key = map(str, authority.issue("too-late", days=-1))
    with secured.connect() as conn:
        before = conn.command("CONFIG", "GET", "tls-*")
        for words, text in (
                (("tls-cert-file", "/nowhere"), "/nowhere"),
                (("tls-key-file", files["other"][1]), "key"),
                (("tls-cert-file", late, "tls-key-file", late_key), "has expired"),
                (("maxclients", "77", "tls-ciphers", "nonsense"), "tls-ciphers"),
                (("tls-auth-clients", "yes", "tls-ca-cert-file", ""), "tls-ca-cert-file")):
            error = conn.command("CONFIG", "SET", *map(str, words))
            assert text in str(error), error
            assert conn.command("CONFIG", "GET", "tls-*") == before
        assert conn.command("CONFIG", "GET", "maxclients") != [b"maxclients", b"77"]
        assert subject_of(secured, context_for(authority)) == "server"


def test_many_reloads_beside_many_clients(secured, authority, files):
    errors = []
    stops = threading.Event()

    def come_and_go():
        try:
            context = context_for(authority)
            while not stops.is_set():
                with secured.connect(context=context) as conn:
                    assert conn.command("PING") == b"PONG"
        except Exception as error:  # shown below
            errors.append(error)

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    with secured.connect() as conn:
        for i in range(60):
            cert, key = map(str, files[("server", "other")[i % 2]])
            assert conn.command("CONFIG", "SET", "tls-cert-file", cert, "tls-key-file",
                                key) == b"OK"
        cert, key = map(str, files["server"])
        conn.command("CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key)
    stops.set()
    for thread in threads:
        thread.join(60)
    assert not errors


# ---- peers that misbehave ----


def total_memory(conn):
    return sum(int(line.partition(b" tot-mem=")[2].split()[0])
               for line in conn.command("CLIENT", "LIST").split(b"\n") if line)


def test_hostile_streams(secured, authority):
    """Plain text, noise, handshakes that are cut or damaged, records that are damaged."""
    seed = int(os.environ.get("YN_SEED") or random.SystemRandom().getrandbits(32))
    print("seed", seed)
    chance = random.Random(seed)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context_for(authority).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    hello = outgoing.read()
    with secured.connect() as served:
        before = total_memory(served)
        for i in range(300):
            stream = bytearray(chance.choice((
                resp.encode("PING"), chance.randbytes(chance.randrange(1, 2000)), hello,
                hello + hello, b"\x16\x03\x01\xff\xff" + bytes(100), b"")))
            if stream and chance.random() < 0.7:
                stream[chance.randrange(len(stream))] ^= 1 << chance.randrange(8)
            if chance.random() < 0.4:
                del stream[chance.randrange(len(stream) + 1):]
            with contextlib.suppress(ConnectionError), secured.raw() as sock:
                sock.sendall(stream)
                if chance.random() < 0.5:
                    sock.settimeout(0.01)
                    with contextlib.suppress(TimeoutError, socket.timeout):
                        sock.recv(10000)
            assert served.command("INCR", "hostile") == i + 1
        served.command("DEL", "hostile")
        while b"connected_clients:1\r\n" not in served.command("INFO", "clients"):
            time.sleep(0.01)
        assert total_memory(served) < before + 100_000


def test_damaged_record_ends_the_connection(secured, authority):
    with secured.raw() as sock:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context_for(authority).wrap_bio(incoming, outgoing, server_hostname="localhost")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(outgoing.read())
                incoming.write(sock.recv(10000))
        tls.write(resp.encode("SET", "damaged", "1"))
        record = bytearray(outgoing.read())
        record[-1] ^= 1
        sock.sendall(record)
        while sock.recv(10000):  # an alert, and the end
            pass
    with secured.connect() as conn:
        assert conn.command("EXISTS", "damaged") == 0


def test_endless_handshake(secured):
    """A greeting that announces 100,000 bytes is not waited for."""
    body = b"\x01" + (100_000).to_bytes(3, "big") + bytes(100_000)
    with secured.raw() as sock, contextlib.suppress(ConnectionError):
        for at in range(0, 90_000, 16_384):
            piece = body[at:at + 16_384]
            sock.sendall(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece)
        assert sock.recv(1) == b""
    wait_for_log(secured.server, "its handshake is longer than any")


def test_silent_client_is_sent_away(secured):
    with secured.raw() as sock:
        assert sock.recv(1) == b""


# ---- programs ----


def test_redis_cli(secured, authority, files):
    done = subprocess.run(
        ["redis-cli", "--tls", "-p", str(secured.port), "--cacert", str(authority.file),
         "--cert", str(files["client"][0]), "--key", str(files["client"][1]), "PING"],
        capture_output=True, text=True, timeout=60)
    assert done.stdout == "PONG\n", done.stderr


def program(name, secured, *words):
    return subprocess.run(
        [str(servers.binary(name)), *map(str, words)], capture_output=True, text=True,
        timeout=60, stdin=subprocess.DEVNULL)


def test_yonder_cli(start, authority, files, tmp_path):
    secured = Secured(start, authority, files["server"])  # wants certificates
    own = ["--cert", files["client"][0], "--key", files["client"][1]]
    base = ["--tls", "-h", "localhost", "-p", secured.port]
    done = program("yonder-cli", secured, *base, "--cacert", authority.file, *own, "PING")
    assert (done.returncode, done.stdout) == (0, "PONG\n"), done.stderr
    done = program("yonder-cli", secured, *base, *own, "PING")
    assert done.returncode == 1 and "certificate" in done.stderr
    done = program("yonder-cli", secured, *base, *own, "--insecure", "PING")
    assert done.stdout == "PONG\n", done.stderr
    done = program("yonder-cli", secured, *base, "--cacert", authority.file, *own, "--sni",
                   "elsewhere", "PING")
    assert done.returncode == 1 and "mismatch" in done.stderr
    done = program("yonder-cli", secured, *base, "--cacert", authority.file, "PING")
    assert done.returncode == 1 and "certificate" in done.stderr
    done = program("yonder-cli", secured, *base, "--cacert", "/nowhere", "PING")
    assert done.returncode == 1 and '"/nowhere": No such file' in done.stderr
    done = program("yonder-cli", secured, *base, "--cacert", authority.file, *own[:2], "PING")
    assert done.returncode == 1 and "together" in done.stderr
    done = program("yonder-cli", secured, "--cacert")
    assert done.returncode == 1 and "no value for --cacert" in done.stderr


def test_yonder_bench(secured, authority):
    done = program("yonder-bench", secured, "run", "--tls", "--cacert", authority.file, "-h",
                   "localhost", "-p", secured.port, "-P", "10", "-c", "4", "-d", "0.2",
                   "PING")
    assert done.returncode == 0, done.stderr
    assert "requests" in done.stdout or "replies" in done.stdout or done.stdout
