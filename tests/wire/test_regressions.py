"""Faults that were found once, each with the right answer."""
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import servers
from explain import first_difference
from rdb_payload import seal
from resp import NULL_ARRAY, Status, encode
from test_server import only_yonder, ping_s, wait_until

MB = 1 << 20


def load(client, n):
    """n members all over the world under the key "k"."""
    for start in range(0, n, 1000):
        triples = []
        for i in range(start, min(start + 1000, n)):
            triples += [i * 7.3 % 360 - 180, i * 3.7 % 170 - 85, f"member-{i}"]
        client.command("GEOADD", "k", *triples)


WHOLE_WORLD = ("GEOSEARCH", "k", "FROMLONLAT", 0, 0, "BYRADIUS", "inf", "m", "WITHCOORD")


def cli(*words, **more):
    return subprocess.run(
        [str(servers.binary("yonder-cli")), *map(str, words)], timeout=60, **more
    )


# ---- start -------------------------------------------------------------------------


@only_yonder
@pytest.mark.parametrize("kind", ["SOCK_DGRAM", "SOCK_SEQPACKET"])
def test_socket_of_another_kind_is_not_removed(run_folder, kind):
    """Only a socket that refuses connections is a leftover. One of another kind (the
    system log's, say) was taken for one and removed."""
    path = run_folder / f"other-{kind}"
    with socket.socket(socket.AF_UNIX, getattr(socket, kind)) as other:
        other.bind(str(path))
        inode = os.stat(path).st_ino
        done = subprocess.run(
            [str(servers.binary("yonder-server")), "--port", "0", "--unixsocket", path],
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 1
        assert "in use" in done.stderr
        assert os.stat(path).st_ino == inode
    path.unlink()


# ---- work in the background --------------------------------------------------------


@only_yonder
def test_config_set_does_not_put_off_the_cron(start):
    """Each CONFIG SET started the timer again: sent more often than it fires, keys did
    not expire and idle clients stayed."""
    server = start.subject("--timeout", "1")
    with server.connect() as client, server.connect() as idle:
        assert idle.command("SET", "s", "v", "PX", 20) == Status(b"OK")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            client.command("CONFIG", "SET", "timeout", 1)
            time.sleep(0.02)
        assert b"expired_keys:1\r\n" in client.command("INFO", "stats")
        assert client.command("CLIENT", "LIST").count(b"id=") == 1


@only_yonder
def test_hz_can_be_changed(start):
    """The other side of it: a new period still takes effect."""
    server = start.subject("--hz", "1")
    with server.connect() as client:
        assert client.command("CONFIG", "SET", "hz", 100) == Status(b"OK")
        time.sleep(1.2)
        client.command("SET", "s", "v", "PX", 1)
        time.sleep(0.5)
        assert b"expired_keys:1\r\n" in client.command("INFO", "stats")


# ---- idle clients ------------------------------------------------------------------


@only_yonder
def test_client_that_stopped_reading_is_idle(start):
    """A client with a reply under way was never idle, and held its view of the set for
    ever."""
    server = start.subject()
    with server.connect() as client:
        load(client, 100000)
        client.command("CONFIG", "SET", "timeout", 1)
        with server.connect(receive_buffer=4096) as stuck:
            stuck.send(encode(*WHOLE_WORLD))

            def is_gone():
                return client.command("CLIENT", "LIST").count(b"id=") == 1

            wait_until(is_gone)


@only_yonder
def test_client_that_reads_slowly_is_not_idle(start):
    """One long write counted as a single event, at its end: a client that kept reading
    was closed in the middle of its reply."""
    server = start.subject()
    with server.connect() as client:
        client.command("SET", "s", b"v" * (8 * MB))
        client.command("CONFIG", "SET", "timeout", 2)
        with server.connect(receive_buffer=65536) as slow:
            slow.send(encode("GET", "s"))
            got, began = 0, time.monotonic()
            while got < 8 * MB + 10:
                piece = slow.sock.recv(65536)
                assert piece, f"closed after {got} bytes"
                got += len(piece)
                if time.monotonic() - began < 5:
                    time.sleep(0.05)
                ping_s(client)


# ---- replies -----------------------------------------------------------------------


@only_yonder
def test_one_reply_has_one_coordinate_format(start):
    """CONFIG SET of another client changed the format in the middle of a reply."""
    server = start.subject()
    with server.connect() as client:
        load(client, 60000)
        right = client.raw(*WHOLE_WORLD)
        with server.connect(receive_buffer=4096) as slow:
            slow.send(encode(*WHOLE_WORLD))
            time.sleep(0.3)
            client.command("CONFIG", "SET", "coordinate-format", "fixed17")
            assert slow.read_raw() == right
            assert slow.raw(*WHOLE_WORLD) == client.raw(*WHOLE_WORLD) != right


def expect_answers(client, kind, names, counts):
    """Reads the answers to (UN)SUBSCRIBE as one run of bytes: there are many."""
    wanted = b"".join(
        b"*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:%d\r\n" % (len(kind), kind, len(name), name, n)
        for name, n in zip(names, counts)
    )
    got = client.reader.take(len(wanted))
    assert got == wanted, first_difference(got, wanted)


def subscribe(client, names):
    """Subscribes and reads the answers at the same time."""
    sender = threading.Thread(
        target=client.send, args=(encode("SUBSCRIBE", *names),), daemon=True
    )
    sender.start()
    expect_answers(client, b"subscribe", names, range(1, len(names) + 1))
    sender.join()


@only_yonder
@pytest.mark.parametrize("how", ["all", "by name", "close"])
def test_ending_many_subscriptions_blocks_nobody(start, how):
    """The cost of ending one grew with their number: 200,000 took a minute, in which the
    server served no one."""
    server = start.subject("--client-output-buffer-limit", "pubsub 0 0 0")
    names = [b"%d" % i for i in range(200000)]
    with server.connect() as other, server.connect() as client:
        subscribe(client, names)
        if how == "close":
            client.close()
            wait_until(lambda: other.command("PUBSUB", "CHANNELS") == [])
            return
        client.send(encode("UNSUBSCRIBE", *(names if how == "by name" else [])))
        time.sleep(0.05)
        assert ping_s(other) < 5
        expect_answers(client, b"unsubscribe", names, reversed(range(len(names))))
        assert other.command("PUBSUB", "CHANNELS") == []


def test_subscriptions_of_many_clients(server):
    """Topics with many subscribers and clients with many topics, ended in any order."""
    clients = [server.connect() for _ in range(5)]
    for i, client in enumerate(clients):
        for k in range(i + 1):
            change = [b"subscribe", b"c%d" % k, k + 1]
            assert client.command("SUBSCRIBE", f"c{k}") == change
    clients[2].close()
    with server.connect() as other:
        wait_until(lambda: other.command("PUBSUB", "NUMSUB", "c0") == [b"c0", 4])
        assert clients[3].command("UNSUBSCRIBE", "c1") == [b"unsubscribe", b"c1", 3]
        assert clients[3].command("UNSUBSCRIBE", "c1") == [b"unsubscribe", b"c1", 3]
        assert other.command("PUBLISH", "c1", "m") == 2
        assert clients[1].read() == clients[4].read() == [b"message", b"c1", b"m"]
        assert other.command("PUBLISH", "c0", "m") == 4
        assert clients[0].read() == [b"message", b"c0", b"m"]
        assert clients[3].command("SUBSCRIBE", "c1") == [b"message", b"c0", b"m"]
        assert clients[3].read() == [b"subscribe", b"c1", 4]
        for client in clients[:2] + clients[3:]:
            client.close()
        wait_until(lambda: other.command("PUBSUB", "CHANNELS") == [])


def test_clients_are_listed_in_the_order_of_the_numbers(server):
    """They were listed in the order of their connections, each once."""
    with server.connect() as first, server.connect() as second:
        a, b = first.command("CLIENT", "ID"), second.command("CLIENT", "ID")
        lines = first.command("CLIENT", "LIST", "ID", b, a, a + 10**9, b).splitlines()
        assert [line.split()[0] for line in lines] == [b"id=%d" % n for n in (b, a, b)]


LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("CLIENT", "KILL", "TYPE", LONG),
        ("CLIENT", "KILL", "USER", LONG),
        ("CLIENT", "KILL", "TYPE", "a\0b"),
        ("CLIENT", "KILL", "ID", "5", "TYPE"),
        ("CLIENT", "KILL", "ID", "0", "TYPE"),
        ("CLIENT", "KILL", "TYPE", "nosuch", "ID"),
        ("CLIENT", "LIST", "TYPE", LONG),
        ("CLIENT", LONG),
        ("HELLO", "3", LONG),
        ("CONFIG", "SET", LONG, "1"),
        ("CONFIG", "SET", "hz", "10", "hz"),
        ("PUBSUB", "CHANNELS", "a", "b"),
        ("pubsub", "ChanNels", "a", "b", "c"),
        ("PUBSUB", LONG),
    ],
    ids=lambda words: " ".join(words)[:40].replace("\0", "?"),
)
def test_errors_of_odd_arguments(server, redis, words):
    """Long words were cut off, and pairs were counted before they were looked at."""
    with server.connect() as ours, redis.connect() as theirs:
        assert ours.raw(*words) == theirs.raw(*words)


# ---- yonder-cli --------------------------------------------------------------------


@only_yonder
def test_cli_tells_when_its_output_is_lost(server):
    with open("/dev/full", "wb") as full:
        done = cli("-s", server.path, "PING", stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert b"could not write" in done.stderr
        done = cli("-s", server.path, input=b"PING\n", stdout=full, stderr=full)
        assert done.returncode == 1


@only_yonder
def test_cli_reads_the_replies_after_reset(server):
    """RESET ends CLIENT REPLY OFF and SKIP; its reply and the next were taken for
    missing."""
    for mode in ("OFF", "SKIP"):
        script = f"CLIENT REPLY {mode}\nRESET\nECHO a\nECHO b\n".encode()
        done = cli("-s", server.path, input=script, capture_output=True)
        assert (done.returncode, done.stdout) == (0, b"RESET\na\nb\n")


@only_yonder
@pytest.mark.parametrize("reply", [b":-1\r\n", b":2\r\n", b":9223372036854775807\r\n"])
def test_import_believes_no_impossible_count(tmp_path, reply):
    path = tmp_path / "one.csv"
    path.write_text("lon,lat,id\n1,1,a\n")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve():
            with listener.accept()[0] as peer:
                peer.recv(4096)
                peer.sendall(reply)
                peer.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        port = listener.getsockname()[1]
        done = cli("-p", port, "import", path, "--key", "k", capture_output=True)
    assert done.returncode == 2
    assert b"more rows than it got" in done.stderr
    assert b" 0 added, 0 updated" in done.stdout


BROKEN_ROWS = (
    b'id,lon,lat\n"a"b,1,1\nc,1,2\n"d",1,3\n"e" f,1,4\n"g","1"x,"5\n"h","1","6"\n'
    b'"i\nj"k,1,7\nl,1,8\n"m""n",1,9\n"o" ,1,10\np"q,1,11\n'
)


@only_yonder
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_import_stops_a_broken_row_at_its_line(server, client, end):
    """A stray quote swallowed the rows up to the next one: they were neither loaded nor
    told."""
    done = cli(
        *("-s", server.path, "import", "-", "--key", "k", "--no-progress"),
        input=BROKEN_ROWS.replace(b"\n", end) + b'"z"y,1,1',
        capture_output=True,
    )
    text = ": text behind the closing quote of a field\n"
    assert done.stderr.decode() == "".join(f"line {n}{text}" for n in (2, 5, 6, 8, 14))
    assert done.returncode == 1
    assert sorted(client.command("ZRANGE", "k", 0, -1)) == sorted(
        [b"c", b"d", b"h", b"l", b'm"n', b"o", b'p"q']
    )


# ---- turns ---------------------------------------------------------------------------


def cpu_s(server):
    with open(f"/proc/{server.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@only_yonder
def test_request_behind_a_large_message(start):
    """The rest of a request that came while a message of more than 1 MB waited to be
    written stayed unanswered until the client sent something else, if the kernel took the
    message in one piece."""
    server = start.subject("--client-output-buffer-limit", "pubsub 0 0 0")
    with (
        server.connect(tcp=True) as writer,
        server.connect(tcp=True, resp=3, receive_buffer=8 * MB) as reader,
    ):
        reader.command("SUBSCRIBE", "c")
        for _ in range(60):  # until the kernel takes so much at once
            writer.command("PUBLISH", "c", "w" * 900_000)
            reader.read()
        reader.sock.settimeout(10)
        publish = encode("PUBLISH", "c", "x" * (MB + 1000))
        for _ in range(20):
            writer.send(publish[:-1])
            reader.send(b"*1\r\n$4\r\nPI")
            time.sleep(0.05)
            os.kill(server.pid, signal.SIGSTOP)  # both ends are read in one iteration
            writer.send(publish[-1:])
            time.sleep(0.005)
            reader.send(b"NG\r\n")
            time.sleep(0.005)
            os.kill(server.pid, signal.SIGCONT)
            replies = [reader.read(), reader.read()]  # in the order of the two events
            assert [b"message", b"c", b"x" * (MB + 1000)] in replies
            assert b"PONG" in replies
            assert writer.read() == 1


@only_yonder
@pytest.mark.parametrize("end", [encode("QUIT"), b"*x\r\n"], ids=["quit", "error"])
def test_closing_for_a_slow_reader_takes_no_time(start, end):
    """Bytes behind QUIT let the connection have one turn after the other until the client
    had read all answers."""
    server = start.subject()
    with server.connect(receive_buffer=4096) as conn:
        assert conn.command("SET", "v", "x" * 900_000) == b"OK"
        conn.send(encode("MGET", "v") + end + encode("PING"))
        time.sleep(0.2)
        before = cpu_s(server)
        time.sleep(1)
        assert cpu_s(server) - before < 0.06
        got = conn.receive_until_closed()
        assert got.startswith(b"*1\r\n$900000\r\n") and b"PONG" not in got


# ---- work without end ----------------------------------------------------------------


@only_yonder
def test_many_prefixes_are_compared_in_order(start):
    """CLIENT TRACKING compared each of its prefixes with each other one."""
    server = start.subject()
    words = [word for i in range(10_000) for word in ("PREFIX", f"p{i:05}")]
    overlapping = words + ["PREFIX", "p00500x"]
    with server.connect(resp=3) as conn:
        before = cpu_s(server)
        for _ in range(5):
            assert conn.command("CLIENT", "TRACKING", "ON", "BCAST", *words) == b"OK"
            assert conn.command("CLIENT", "TRACKING", "OFF") == b"OK"
            assert conn.command("CLIENT", "TRACKING", "ON", "BCAST", *overlapping) == (
                b"ERR Prefix 'p00500' overlaps with another provided prefix 'p00500x'. "
                b"Prefixes for a single client must not overlap."
            )
        assert cpu_s(server) - before < 0.5
        conn.command("CLIENT", "TRACKING", "ON", "BCAST", *words)
        conn.send(encode("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "q", "PREFIX", "p04"))
        assert conn.read() == (
            b"ERR Prefix 'p04' overlaps with an existing prefix 'p04000'. "
            b"Prefixes for a single client must not overlap."
        )


@only_yonder
def test_flushall_looks_at_watches_once(start):
    """FLUSHALL went through the table of watched keys for each database."""
    server = start.subject("--databases", 65536)
    keys = [f"w{i}" for i in range(10_000)]
    with server.connect() as watcher, server.connect() as conn:
        watcher.command("SELECT", 7)
        watcher.command("SET", "w9", "v")
        watcher.command("WATCH", *keys)
        conn.command("SELECT", 8)
        before = cpu_s(server)
        conn.command("FLUSHDB")
        watcher.command("MULTI")
        watcher.command("PING")
        assert watcher.command("EXEC") == [b"PONG"]  # another database was emptied
        watcher.command("WATCH", *keys)
        assert conn.command("FLUSHALL") == b"OK"
        watcher.command("MULTI")
        assert watcher.command("EXEC") == NULL_ARRAY
        watcher.command("WATCH", *keys)  # none of them is there
        conn.command("FLUSHALL")
        watcher.command("MULTI")
        assert watcher.command("EXEC") == []
        assert cpu_s(server) - before < 0.5


def repeating_listpack(n_elements):
    """A compressed packed list that says the same two entries again and again."""
    unit = b"\x07\x01\x00\x01" * 2  # the member 7 with the score 0
    n_runs = (2 * n_elements - len(unit)) // 264
    n_bytes = 6 + len(unit) + 264 * n_runs + 1
    head = struct.pack("<IH", n_bytes, 0xFFFF) + unit
    packed = bytes([len(head) - 1]) + head + b"\xe0\xff\x07" * n_runs + b"\x00\xff"
    lengths = struct.pack(">BQBQ", 0x81, len(packed), 0x81, n_bytes)
    return seal(b"\x11\xc3" + lengths + packed)


@only_yonder
def test_a_packed_list_that_repeats_itself_is_refused_early(start):
    """A payload of 150 KB was unpacked to three million entries, and those were sorted,
    before it was seen that they are all the same."""
    server = start.subject()
    with server.connect() as conn:
        payload = repeating_listpack(6_000_000)
        before = cpu_s(server)
        assert conn.command("RESTORE", "k", 0, payload) == b"ERR Bad data format"
        assert cpu_s(server) - before < 0.09 or server.has_sanitizer()


# ---- memory --------------------------------------------------------------------------


def set_of(key, n):
    return ["ZADD", key, *(word for i in range(n) for word in (i % 997, f"member:{i}"))]


@only_yonder
@pytest.mark.parametrize(
    "commands",
    [
        [("ZUNION", 1, "z")],
        [("COPY", "z", "t", "REPLACE"), ("ZRANGE", "t", 0, -1), ("DEL", "t")],
        [("COPY", "z", "t", "REPLACE"), ("ZPOPMIN", "t", 1_000_000)],
        [("COPY", "z", "t", "REPLACE"), ("DUMP", "t"), ("DEL", "t")],
        [("COPY", "z", "t", "REPLACE"), ("ZRANDMEMBER", "t", -100_000), ("DEL", "t")],
        [("SETRANGE", "s", 2_000_000, "x"), ("GETDEL", "s")],
        [("SETRANGE", "s", 2_000_000, "x"), ("SET", "s", "y", "GET")],
        [
            ("COPY", "g", "t", "REPLACE"),
            ("GEOSEARCH", "t", *WHOLE_WORLD[2:]),
            ("DEL", "t"),
        ],
    ],
    ids=lambda commands: next(c[0] for c in commands if c[0] not in ("COPY", "SETRANGE")),
)
def test_values_that_replies_hold_count_as_output(start, commands):
    """The replies of a transaction held any number of values that had lost their keys,
    and none of them counted for client-output-buffer-limit."""
    server = start.subject("--client-output-buffer-limit", "normal 20mb 0 0")
    with server.connect() as conn, server.connect(receive_buffer=4096) as reader:
        conn.command(*set_of("z", 50_000))
        triples = [w for i in range(50_000) for w in (i % 180, i % 85, f"member:{i}")]
        conn.command("GEOADD", "g", *triples)
        queue = b"".join(encode(*command) for command in commands) * 100
        reader.send(encode("MULTI") + queue + encode("EXEC"))
        n_clients = lambda: conn.command("CLIENT", "LIST").count(b"id=")  # noqa: E731
        wait_until(lambda: n_clients() == 1)  # the reader is closed


@only_yonder
def test_one_large_reply_is_no_output_that_waits(start):
    """What a single reply reads from the keyspace is not copied, and does not count."""
    server = start.subject("--client-output-buffer-limit", "normal 1mb 0 0")
    with server.connect() as conn, server.connect(receive_buffer=4096) as reader:
        conn.command(*set_of("z", 100_000))
        reader.send(encode("ZRANGE", "z", 0, -1))
        time.sleep(0.2)
        assert len(reader.read()) == 100_000
