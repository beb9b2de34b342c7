"""Looking inside: INFO, SLOWLOG, LATENCY, MONITOR, COMMAND, CONFIG, CLIENT PAUSE, DEBUG and
what a server of its own answers about clusters and modules. Replies with a fixed value are
compared with redis-server byte for byte, others by what they promise."""
import re
import time

import pytest

from resp import Connection, Error, Map, Status, encode

WAIT_S = 30


def eventually(check, what):
    deadline = time.monotonic() + WAIT_S
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def info(conn, *sections):
    text = conn.command("INFO", *sections)
    text = bytes(text).removeprefix(b"txt:").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


# ---- replies with a fixed value ----------------------------------------------

FIXED = """
slowlog get -2
slowlog get x
slowlog foo
slowlog get 1 2
slowlog
slowlog len 1
slowlog reset x
latency
latency history
latency history foo
latency latest
latency latest x
latency reset
latency reset foo
latency graph
latency graph foo
latency foo
latency doctor x
latency histogram geoadd nosuchcommand
config set latency-tracking-info-percentiles foo
config set latency-tracking-info-percentiles 101
config set latency-tracking-info-percentiles -1
config set latency-tracking-info-percentiles
config set slowlog-log-slower-than -5
config set slowlog-log-slower-than x
config set slowlog-max-len -1
config set latency-monitor-threshold -1
config set latency-tracking x
config get slowlog-m*
config get latency-monitor-threshold
config get nosuchoption
config set maxmemory 1 maxmemory 2
config set nosuchoption 1
config set timeout 1 maxmemory x
config get timeout
config rewrite
config rewrite x
config resetstat a
config resetstat
config get
config foo
client pause
client pause x
client pause -1
client pause 0 foo
client pause 1 write foo
client pause x foo
client unpause
client unpause a
client trackinginfo
client trackinginfo x
client getredir
client getredir x
client kill id x
client kill id 0
client kill skipme maybe
client no-evict x
cluster
cluster info
cluster slots
cluster shards
cluster nodes
cluster myid
cluster keyslot
cluster keyslot a
cluster countkeysinslot 1
cluster getkeysinslot 1 2
cluster foo
cluster help
module
module list
module load x
module loadex x
module unload x
module foo
acl whoami
acl users
acl cat
acl cat foo
acl cat geo foo
acl whoami x
role
role x
replicaof no one
slaveof NO ONE
replicaof a b
replicaof a
lolwut version x
bgsave foo
bgsave schedule foo
bgrewriteaof x
save x
monitor x
debug change-repl-id
debug object nosuchkey
debug sleep
debug set-active-expire 1
debug set-active-expire
debug error foo
debug error 
debug error a b
debug log hello
debug foo
debug protocol
debug protocol foo
debug protocol string
debug protocol integer
debug protocol double
debug protocol bignum
debug protocol null
debug protocol array
debug protocol set
debug protocol map
debug protocol push
debug protocol verbatim
debug protocol true
debug protocol false
cluster addslots 1
cluster addslots
cluster addslotsrange 1 2
cluster addslotsrange 1
cluster bumpepoch
cluster bumpepoch x
cluster count-failure-reports x
cluster delslots 1
cluster delslotsrange 1 2
cluster failover
cluster failover force
cluster flushslots
cluster forget x
cluster getkeysinslot 1
cluster links
cluster meet 127.0.0.1 1
cluster replicas x
cluster replicate x
cluster reset
cluster reset hard
cluster saveconfig
cluster set-config-epoch 1
cluster setslot 1 stable
cluster setslot 1
cluster slaves x
cluster shards x
cluster slots x
info nosuchsection
info nosuchsection another
command getkeys
command foo
command count x
command info nosuchcommand nosuch|sub get|x
command docs nosuchcommand
command list filterby
command list filterby aclcat nosuch
command list filterby module nosuch
""".strip().splitlines()


@pytest.fixture(scope="module")
def debug_redis(session_starter):
    return session_starter.redis("--enable-debug-command", "yes")


@pytest.mark.parametrize("resp", [2, 3])
def test_replies_with_a_fixed_value(server, debug_redis, resp):
    found = []
    with server.connect(resp=resp) as ours, debug_redis.connect(resp=resp) as theirs:
        for conn in (ours, theirs):
            conn.command("CONFIG", "RESETSTAT")
        for line in FIXED:
            here, there = ours.raw(*line.split(" ")), theirs.raw(*line.split(" "))
            if here != there:
                found.append(f"{line}: {there!r} there, {here!r} here")
    assert not found, "\n".join(found)


def test_attribute_of_debug_protocol(client):
    """In RESP2 only the reply behind the attribute is sent; in RESP3 both are."""
    assert client.command("DEBUG", "PROTOCOL", "attrib").startswith(b"Some real reply")
    client.command("HELLO", "3")
    client.send(encode("DEBUG", "PROTOCOL", "attrib"))
    head = b""
    want = b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
    while len(head) < len(want):
        head += client.sock.recv(len(want) - len(head))
    assert head == want
    assert client.read().startswith(b"Some real reply")


# ---- COMMAND INFO ------------------------------------------------------------

# Where COMMAND INFO differs from 7.0.15: (command, element).
KNOWN_DIFFERENCES = {
    ("command|getkeys", "arity"),  # 8.0: a command alone is looked at, too
    ("command|getkeysandflags", "arity"),
    ("set", "keys"),  # the note beside the flags is in our words
    ("zrank", "arity"),  # WITHSCORE came with 7.2
    ("zrevrank", "arity"),
}
ELEMENTS = ["name", "arity", "flags", "first", "last", "step", "acl", "tips", "keys"]


def differences(theirs, ours):
    name = theirs[0].decode()
    for element, a, b in zip(ELEMENTS, theirs, ours):
        if (type(a), a) != (type(b), b) and (name, element) not in KNOWN_DIFFERENCES:
            yield f"{name}, {element}: {a!r} there, {b!r} here"
    subs = {sub[0]: sub for sub in ours[9]}
    for sub in theirs[9]:
        if sub[0] in subs:
            yield from differences(sub, subs[sub[0]])


@pytest.mark.parametrize("resp", [2, 3])
def test_command_info_is_that_of_redis(server, redis, resp):
    with server.connect(resp=resp) as ours, redis.connect(resp=resp) as theirs:
        known = {entry[0]: entry for entry in theirs.command("COMMAND")}
        found = []
        for entry in ours.command("COMMAND"):
            if entry[0] in known:
                found += differences(known[entry[0]], entry)
        assert not found, "\n".join(found)


def test_command_docs_has_what_hints_need(client):
    client.command("HELLO", "3")
    docs = client.command("COMMAND", "DOCS")
    assert isinstance(docs, Map)
    for name, fields in zip(docs[::2], docs[1::2]):
        fields = dict(zip(fields[::2], fields[1::2]))
        assert {b"summary", b"since", b"group", b"complexity"} <= set(fields), name


def test_command_docs_has_the_arguments_of_commands_that_take_some(client):
    """All but CLUSTER and MODULE, which refuse whatever they are given."""
    client.command("HELLO", "3")
    with_arguments = set()

    def visit(docs):
        for name, fields in zip(docs[::2], docs[1::2]):
            fields = dict(zip(fields[::2], fields[1::2]))
            if b"arguments" in fields:
                with_arguments.add(name)
            visit(fields.get(b"subcommands", []))

    visit(client.command("COMMAND", "DOCS"))
    taking = set()
    for entry in client.command("COMMAND"):
        for name, arity in [entry[:2], *(below[:2] for below in entry[9])]:
            is_container = name == entry[0] and entry[9]
            if arity not in (1 + name.count(b"|"), -1) and not is_container:
                taking.add(name)
    missing = {name for name in taking - with_arguments
               if not name.startswith((b"cluster|", b"module|"))}
    assert not missing


# ---- INFO --------------------------------------------------------------------

DYNAMIC = ("cmdstat_", "latency_percentiles_usec_", "errorstat_", "db")


def test_info_has_the_fields_of_redis(server, redis):
    with server.connect() as ours, redis.connect() as theirs:
        for section in (
            "server clients memory persistence stats replication cpu modules cluster"
        ).split():
            here, there = info(ours, section), info(theirs, section)
            missing = [f for f in there if f not in here and not f.startswith(DYNAMIC)]
            assert not missing, section
            for field in set(there) - {"master_replid", "master_replid2"}:
                if re.fullmatch(r"-?\d+", there[field]) and not field.startswith(DYNAMIC):
                    assert re.fullmatch(r"-?\d+", here[field]), field
                elif re.fullmatch(r"-?\d+\.\d+%?", there[field]):
                    assert re.fullmatch(r"-?\d+\.\d+%?", here[field]), field


@pytest.mark.parametrize("words", ["", "default", "all", "everything", "keyspace cpu"])
def test_info_has_the_sections_of_redis(server, redis, words):
    def titles(conn):
        text = conn.command("INFO", *words.split()).decode()
        return re.findall(r"^# (\w+)\r$", text, re.M)

    with server.connect() as ours, redis.connect() as theirs:
        assert titles(ours) == titles(theirs)


def test_info_counts(start):
    server = start.subject("--requirepass", "secret")
    with server.connect() as conn:
        conn.command("AUTH", "wrong")
        conn.command("AUTH", "secret")
        conn.command("SET", "a", "1", "PX", "100000")
        conn.command("SET", "b", "1", "PX", "300000")
        conn.command("SET", "c", "1")
        conn.command("GET")
        values = info(conn, "everything")
        assert values["acl_access_denied_auth"] == "1"
        found = re.fullmatch(
            r"keys=3,expires=2,avg_ttl=(\d+),subexpiry=0", values["db0"]
        )
        assert 150_000 < int(found.group(1)) <= 200_000
        assert re.search(r"calls=3,.*failed_calls=0", values["cmdstat_set"])
        assert values["cmdstat_get"].startswith("calls=0,")
        assert "rejected_calls=1," in values["cmdstat_get"]
        assert values["errorstat_WRONGPASS"] == "count=1"
        assert int(values["used_memory_startup"]) >= 0  # sanitizers count nothing
        assert int(values["used_memory"]) >= int(values["used_memory_startup"])
        assert re.match(r"p50=\d+\.\d{3},p99=\d+\.\d{3},p99\.9=\d+\.\d{3}$",
                        values["latency_percentiles_usec_set"])
        conn.command("CONFIG", "RESETSTAT")
        values = info(conn, "everything")
        assert "cmdstat_set" not in values
        assert "latency_percentiles_usec_set" not in values
        assert "errorstat_WRONGPASS" not in values
        assert values["acl_access_denied_auth"] == "0"


# ---- SLOWLOG -----------------------------------------------------------------


def slow_session(server):
    """What SLOWLOG keeps of the same commands: arguments and client names."""
    with server.connect() as conn:
        conn.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
        conn.command("SLOWLOG", "RESET")
        conn.command("CLIENT", "SETNAME", "me")
        conn.command("ECHO", "x" * 127)
        conn.command("ECHO", "x" * 128)
        conn.command("ECHO", "x" * 129)
        conn.command("ECHO", b"\x00" * 1000)
        conn.command("DEL", *range(30))
        conn.command("DEL", *range(31))
        conn.command("DEL", *range(32))
        conn.command("DEL", *range(100))
        conn.command("DEL", *(["y" * 200] * 40))
        conn.command("AUTH", "a")
        conn.command("AUTH", "a", "b")
        conn.command("HELLO", "2", "AUTH", "a", "b", "SETNAME", "z")
        conn.command("HELLO", "2", "SETNAME", "auth", "AUTH", "default", "b")
        conn.command("CONFIG", "SET", "timeout", "0", "requirepass", "")
        conn.command("NOSUCH", "a")
        conn.command("GET")
        conn.command("GET", "k", "k")
        conn.command("SET", "k", "v", "NOSUCH")
        conn.pipeline([["PING"]] * 3 + [["GET", "a"], ["GET", "b"]])
        conn.pipeline([["MULTI"], ["SET", "a", "1"], ["GET", "a"], ["GET", "b"], ["EXEC"]])
        entries = conn.command("SLOWLOG", "GET", "-1")
        assert conn.command("SLOWLOG", "LEN") == len(entries) + 1
        assert len(conn.command("SLOWLOG", "GET")) == 10
        assert len(conn.command("SLOWLOG", "GET", "3")) == 3
        conn.command("CONFIG", "SET", "slowlog-max-len", "4")
        conn.command("PING")
        assert conn.command("SLOWLOG", "LEN") == 4
        conn.command("CONFIG", "SET", "slowlog-log-slower-than", "-1")
        conn.command("SLOWLOG", "RESET")
        conn.command("PING")
        assert conn.command("SLOWLOG", "GET") == []
        conn.command("CONFIG", "SET", "slowlog-log-slower-than", "10000")
        return entries


def test_slowlog_keeps_what_redis_keeps(start):
    ours, theirs = slow_session(start.subject()), slow_session(start.redis())
    assert [e[3] for e in ours] == [e[3] for e in theirs]
    assert [e[5] for e in ours] == [e[5] for e in theirs]
    ids = [e[0] for e in ours]
    assert ids == list(range(ids[0], ids[0] - len(ids), -1))
    assert all(len(e) == 6 and e[2] >= 0 for e in ours)
    assert all(abs(e[1] - time.time()) < 60 for e in ours)


def test_slowlog_measures(start):
    server = start.subject("--slowlog-log-slower-than", "20000")
    with server.connect() as conn:
        conn.pipeline([["PING"]] * 50)
        conn.command("DEBUG", "SLEEP", "0.05")
        entries = conn.command("SLOWLOG", "GET")
        sleeps = [e for e in entries if e[3] == [b"DEBUG", b"SLEEP", b"0.05"]]
        assert len(sleeps) == 1 and 50_000 <= sleeps[0][2] < 5_000_000


# ---- LATENCY -----------------------------------------------------------------


def test_latency_events(start):
    server = start.subject()
    with server.connect() as conn:
        assert b"not monitored" in conn.command("LATENCY", "DOCTOR")
        conn.command("DEBUG", "SLEEP", "0.02")
        assert conn.command("LATENCY", "LATEST") == []
        conn.command("CONFIG", "SET", "latency-monitor-threshold", "20")
        assert b"20 ms or more" in conn.command("LATENCY", "DOCTOR")
        conn.command("DEBUG", "SLEEP", "0.03")
        conn.command("DEBUG", "SLEEP", "0.06")
        events = {e[0]: e for e in conn.command("LATENCY", "LATEST")}
        name, at, last, worst = events[b"command"]
        assert abs(at - time.time()) < 60 and 60 <= worst and last <= worst
        history = conn.command("LATENCY", "HISTORY", "command")
        assert history[-1] == [at, last] and len(history) in (1, 2)
        graph = conn.command("LATENCY", "GRAPH", "command").decode().split("\n")
        assert graph[0].endswith(f"(all time high {worst} ms)")
        assert set(graph[1]) == {"-"}
        assert conn.command("LATENCY", "DOCTOR").startswith(b"command: ")
        assert conn.command("LATENCY", "RESET", "command", "nosuch") == 1
        assert conn.command("LATENCY", "HISTORY", "command") == []


def histograms(conn, *names):
    flat = conn.command("LATENCY", "HISTOGRAM", *names)
    result = {}
    for name, value in zip(flat[::2], flat[1::2]):
        assert value[0] == b"calls" and value[2] == b"histogram_usec"
        result[name] = (value[1], dict(zip(value[3][::2], value[3][1::2])))
    return result


@pytest.mark.parametrize("n", [1, 16, 100])
def test_latency_histograms_count_every_call(start, n):
    """Brief commands share one look at the clock; each of them is counted all the same."""
    server = start.subject()
    with server.connect() as conn:
        conn.command("GEOADD", "k", "1", "2", "m")
        conn.pipeline([["PING"]] * n + [["GEOPOS", "k", "m"]] * n + [["INFO"]] * 2)
        conn.pipeline([["GET", "a"], ["PING"]] * n)
        found = histograms(conn)
        for name, calls in ((b"ping", 2 * n), (b"geopos", n), (b"get", n), (b"info", 2)):
            assert found[name][0] == calls
            bounds = found[name][1]
            assert list(bounds) == sorted(bounds)
            assert list(bounds.values()) == sorted(set(bounds.values()))
            assert list(bounds.values())[-1] == calls
        conn.command("CONFIG", "GET", "port")
        assert set(histograms(conn, "config", "ping", "config|get")) >= {b"config|get"}
        conn.command("CONFIG", "SET", "latency-tracking", "no")
        conn.command("PING")
        assert histograms(conn, "ping")[b"ping"][0] == 2 * n
        conn.command("CONFIG", "RESETSTAT")
        assert histograms(conn) == {}


def test_bounds_of_histograms_are_those_of_redis(start):
    """Both count in buckets of 1024 ns times powers of two."""
    allowed = {1 << k for k in range(5)} | {
        (1024 * (1 << k) * 129 // 128 - 1) // 1000 for k in range(31)
    }
    for server in (start.subject(), start.redis("--enable-debug-command", "yes")):
        with server.connect() as conn:
            for seconds in ("0.0001", "0.001", "0.003", "0.02", "0.07"):
                conn.command("DEBUG", "SLEEP", seconds)
            bounds = histograms(conn, "debug")[b"debug"][1]
            assert set(bounds) <= allowed and len(bounds) >= 2


# ---- MONITOR -----------------------------------------------------------------

SESSION = [
    ["PING"],
    ["set", "k", 'a"b\\c\r\n\t\a\b\x01\x7f'.encode() + b"\x00\xff"],
    ["SELECT", "3"],
    ["GET", ""],
    ["NOSUCH", "x"],
    ["GET"],
    ["SELECT", "0"],
    ["CONFIG", "GET", "port"],
    ["AUTH", "a"],
    ["AUTH", "a", "b"],
    ["HELLO", "2", "AUTH", "a", "b", "SETNAME", "me"],
    ["HELLO", "2", "SETNAME", "me"],
    ["COMMAND", "COUNT"],
    ["CLIENT", "GETNAME"],
    ["CLIENT", "LIST"],
    ["GEOADD", "g", "13.361389", "38.115556", "Palermo"],
    ["DEL", *["key%d" % i for i in range(40)]],
    ["ECHO", "x" * 1000],
    ["INFO", "cpu"],
    ["MULTI"],
    ["SET", "a", "1"],
    ["GET", "a"],
    ["CONFIG", "GET", "port"],
    ["EXEC"],
    ["MULTI"],
    ["GET", "a"],
    ["DISCARD"],
    ["MULTI"],
    ["NOSUCH"],
    ["EXEC"],
    ["BZPOPMIN", "nokey", "0.01"],
    ["RESET"],
]
TIME = re.compile(rb"\+\d{10}\.\d{6} \[(\d+) (?:127\.0\.0\.1:\d+|unix:[^\]]*)\] (.*)\Z",
                  re.S)


def monitored(server, resp, tcp):
    lines = []
    with server.connect(resp=resp) as monitor, server.connect(tcp=tcp) as conn:
        assert monitor.command("MONITOR") == b"OK"
        monitor.send(encode("MONITOR"))  # again: Redis does not answer
        for words in SESSION:
            conn.command(*words)
        conn.command("ECHO", "last")
        while not lines or b"last" not in lines[-1]:
            line = monitor.read()
            assert isinstance(line, Status)
            found = TIME.match(b"+" + line)
            assert found, line
            assert (b"unix:" in line) != tcp
            lines.append(found.group(1) + b" " + found.group(2))
        assert monitor.command("PING") == b"PONG"
        assert monitor.read().endswith(b'"PING"')
        assert b" flags=O" in conn.command("CLIENT", "LIST")
    return lines


@pytest.mark.parametrize("resp", [2, 3])
@pytest.mark.parametrize("tcp", [True, False])
def test_monitor_shows_what_redis_shows(server, redis, resp, tcp):
    assert monitored(server, resp, tcp) == monitored(redis, resp, tcp)


def test_monitor_ends_with_reset(server):
    with server.connect() as monitor, server.connect() as conn:
        monitor.command("MONITOR")
        assert monitor.command("RESET") == b"RESET"
        conn.command("PING")
        assert monitor.command("ECHO", "a") == b"a"


def test_slow_monitor_is_cut_off(start):
    server = start.subject("--client-output-buffer-limit", "pubsub", "1mb", "0", "0")
    with server.connect(receive_buffer=4096) as monitor, server.connect() as conn:
        monitor.command("MONITOR")
        for _ in range(200):
            conn.pipeline([["ECHO", "x" * 10000]] * 10)
            if info(conn, "stats")["client_output_buffer_limit_disconnections"] == "1":
                break
        else:
            pytest.fail("a monitor that does not read is not cut off")
        assert info(conn, "clients")["connected_clients"] == "1"
        assert conn.command("PING") == b"PONG"


# ---- CLIENT PAUSE ------------------------------------------------------------


def blocked(conn):
    return int(info(conn, "clients")["blocked_clients"])


def test_pause_of_writes(server):
    with server.connect() as a, server.connect() as b:
        assert b.command("CLIENT", "PAUSE", "60000", "WRITE") == b"OK"
        assert a.command("GET", "k") is None
        a.send(encode("GET", "k") + encode("SET", "k", "1") + encode("GET", "k"))
        assert a.read() is None
        eventually(lambda: blocked(b) == 1, "the writer is not held")
        assert b" flags=b" in b.command("CLIENT", "LIST")
        assert b.command("GET", "k") is None
        assert b.command("SET", "k") == b"ERR wrong number of arguments for 'set' command"
        assert b.command("CLIENT", "UNPAUSE") == b"OK"
        assert a.read() == b"OK"
        assert a.read() == b"1"
        assert blocked(b) == 0


def test_pause_of_writes_holds_transactions_that_write(server):
    with server.connect() as a, server.connect() as b:
        a.pipeline([["MULTI"], ["SET", "k", "1"]])
        b.pipeline([["MULTI"], ["GET", "k"]])
        with server.connect() as c:
            c.command("CLIENT", "PAUSE", "60000", "WRITE")
            assert b.command("EXEC") == [None]
            a.send(encode("EXEC"))
            eventually(lambda: blocked(c) == 1, "EXEC is not held")
            assert c.command("GET", "k") is None
            c.command("CLIENT", "UNPAUSE")
            assert a.read() == [b"OK"]


def test_held_and_killed(server):
    with server.connect() as a, server.connect() as b:
        a.command("CLIENT", "PAUSE", "60000", "WRITE")
        number = b.command("CLIENT", "ID")
        b.send(encode("SET", "k", "1"))
        eventually(lambda: blocked(a) == 1, "the writer is not held")
        assert a.command("CLIENT", "KILL", "ID", number) == 1
        eventually(lambda: blocked(a) == 0, "a killed client is still held")
        a.command("CLIENT", "UNPAUSE")
        assert a.command("GET", "k") is None


def test_pause_of_all_ends_by_itself(server):
    with server.connect() as a, server.connect() as b:
        began = time.monotonic()
        a.command("CLIENT", "PAUSE", "150")
        assert b.pipeline([["PING"], ["ECHO", "x"]]) == [b"PONG", b"x"]
        assert 0.14 < time.monotonic() - began < 10


def test_pause_only_grows(server):
    with server.connect() as a, server.connect() as b:
        a.command("CLIENT", "PAUSE", "60000", "WRITE")
        a.command("CLIENT", "PAUSE", "10", "WRITE")
        b.send(encode("SET", "k", "1"))
        eventually(lambda: blocked(a) == 1, "the writer is not held")
        time.sleep(0.05)
        assert blocked(a) == 1
        a.command("CLIENT", "UNPAUSE")
        assert b.read() == b"OK"


def test_client_that_hangs_up_while_held(server):
    with server.connect() as a:
        a.command("CLIENT", "PAUSE", "60000", "WRITE")
        with server.connect() as b:
            b.send(encode("SET", "k", "1"))
            eventually(lambda: blocked(a) == 1, "the writer is not held")
        eventually(lambda: blocked(a) == 0, "a closed client is still held")
        a.command("CLIENT", "UNPAUSE")
        assert a.command("GET", "k") is None


def test_keys_do_not_expire_in_a_pause(server):
    with server.connect() as conn:
        conn.command("CLIENT", "PAUSE", "60000", "WRITE")
        before = info(conn, "stats")["expired_keys"]
        conn.command("CLIENT", "UNPAUSE")
        conn.command("SET", "k", "1", "PX", "1")
        conn.command("CLIENT", "PAUSE", "60000", "WRITE")
        eventually(lambda: conn.command("GET", "k") is None, "the key is still seen")
        time.sleep(0.25)
        expired = int(info(conn, "stats")["expired_keys"]) - int(before)
        size = conn.command("DBSIZE")
        assert expired + size == 1
        conn.command("CLIENT", "UNPAUSE")
        eventually(lambda: conn.command("DBSIZE") == 0, "the key is never removed")


# ---- CONFIG ------------------------------------------------------------------


def test_config_set_is_all_or_nothing(client):
    error = client.command("CONFIG", "SET", "timeout", "77", "maxmemory", "x")
    assert isinstance(error, Error)
    assert client.command("CONFIG", "GET", "timeout") == [b"timeout", b"0"]
    assert client.command("CONFIG", "SET", "timeout", "77", "hz", "20") == b"OK"
    got = client.command("CONFIG", "GET", "time*", "h?")
    assert dict(zip(got[::2], got[1::2])) == {b"timeout": b"77", b"hz": b"20"}
    client.command("CONFIG", "SET", "timeout", "0", "hz", "10")


CONFIG = """# the file of a server
port 0
   timeout 10

# two lines for one option
maxmemory 10mb
maxmemory 20mb
client-output-buffer-limit pubsub 1mb 1mb 5
loglevel notice"""


@pytest.fixture
def configured(start, run_folder):
    path = run_folder / f"rewrite-{time.monotonic_ns()}.conf"
    path.write_text(CONFIG)
    path.chmod(0o640)

    class FromFile(type(start)):
        def subject(self, *options):
            return super().subject(*options)

    server = start.subject("--requirepass", "", wait=False)
    server.kill()
    server._command = lambda options: [server_binary(), str(path)] + [
        "--unixsocket", server.path, *options]
    server.log_path.unlink()
    server._start([])
    server.wait_ready()
    return server, path


def server_binary():
    import servers

    return str(servers.binary("yonder-server"))


def test_config_rewrite_keeps_what_is_still_true(configured):
    server, path = configured
    with server.connect() as conn:
        assert conn.command("CONFIG", "REWRITE") == b"OK"
        lines = path.read_text().split("\n")
        kept = CONFIG.split("\n")
        assert lines[: len(kept)] == kept
        assert lines[len(kept) :] == [
            "# Set while the server ran:", f"unixsocket {server.path}", ""]
        conn.command("CONFIG", "SET", "maxmemory", "30mb", "requirepass", 'a "b\\\n',
                     "client-output-buffer-limit", "normal 1000000 2 3")
        assert conn.command("CONFIG", "REWRITE") == b"OK"
        text = path.read_text()
        assert text.count("maxmemory") == 1 and "maxmemory 31457280\n" in text
        assert "# the file of a server\n" in text and "   timeout 10\n" in text
        assert '\nrequirepass "a \\"b\\\\\\n"\n' in text
        assert conn.command("CONFIG", "REWRITE") == b"OK"
        assert path.read_text() == text
        assert path.stat().st_mode & 0o777 == 0o640
        assert [p.name for p in path.parent.glob(path.name + "*")] == [path.name]
        before = conn.command("CONFIG", "GET", "*")
    server.stop()
    server.log_path.unlink()
    server._start([])
    server.wait_ready()
    with server.connect() as conn:
        assert conn.command("AUTH", 'a "b\\\n') == b"OK"
        assert conn.command("CONFIG", "GET", "*") == before


# ---- the others --------------------------------------------------------------


def test_saving_says_that_it_is_not_built_in(client):
    for words in (["SAVE"], ["BGSAVE"], ["BGSAVE", "SCHEDULE"], ["BGREWRITEAOF"],
                  ["REPLICAOF", "127.0.0.1", "1"]):
        assert b"not built into this version" in client.command(*words)
    assert abs(client.command("LASTSAVE") - time.time()) < 86400


@pytest.mark.parametrize("words", [[], ["VERSION", "5", "1", "2"], ["1", "2", "3", "x"],
                                   ["VERSION", "6", "0", "0", "180", "1"],
                                   ["0", "0", "400", "1"]])
def test_lolwut_is_a_map(client, words):
    text = client.command("LOLWUT", *words).decode()
    assert "Redis ver. " in text and "Yonder" in text
    lines = text.split("\n")
    assert {len(line) for line in lines[:22]} == {72} and len(text) < 4000
    assert "A" in "".join(lines[:22]) or "B" in "".join(lines[:22])


def test_change_of_the_replication_id(client):
    before = info(client, "replication")
    client.command("DEBUG", "CHANGE-REPL-ID")
    after = info(client, "replication")
    assert after["master_replid2"] == before["master_replid"] != after["master_replid"]


def test_debug_object(client):
    client.command("SET", "n", "12")
    client.command("SET", "s", "text")
    client.command("SET", "r", "x" * 100)
    client.command("ZADD", "z", "1", "a")
    for key, encoding in (("n", "int"), ("s", "embstr"), ("r", "raw"), ("z", "listpack")):
        text = client.command("DEBUG", "OBJECT", key).decode()
        assert re.match(rf"Value at:0x[0-9a-f]+ refcount:\d+ encoding:{encoding} "
                        r"serializedlength:\d+ lru:\d+ lru_seconds_idle:\d+$", text)


def test_help_of_each(client):
    for name in ("SLOWLOG", "LATENCY", "MODULE", "ACL", "CONFIG", "CLIENT", "DEBUG",
                 "COMMAND", "MEMORY", "OBJECT", "PUBSUB"):
        lines = client.command(name, "HELP")
        assert lines[0].startswith(name.encode()) and b"HELP" in lines
