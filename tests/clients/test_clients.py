"""Other people's clients against yonder-server: node-redis and ioredis (RESP2 and RESP3),
redis-py, redis-cli, redis-benchmark. Each runs a GEO session and checks the answers."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "wire"))
import servers  # noqa: E402

NODE_AT_LEAST = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = servers.subject_class()(tmp_path_factory.mktemp("s"))
    yield server
    server.stop()


def run(*words, timeout=120, **more):
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        **more,
    )


# ---- Node.js ----------------------------------------------------------------------


def is_installed():
    """node_modules is there and is of this package-lock.json."""
    mark = HERE / "node_modules" / ".package-lock.json"
    return (
        mark.exists()
        and mark.stat().st_mtime >= (HERE / "package-lock.json").stat().st_mtime
    )


@pytest.fixture(scope="module")
def node():
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None:
        pytest.skip("node is not installed")
    version = run(node, "--version").stdout.strip()
    if int(re.match(r"v(\d+)", version).group(1)) < NODE_AT_LEAST:
        pytest.skip(
            f"node {version} is older than {NODE_AT_LEAST}, which the clients need"
        )
    if not is_installed():
        if npm is None:
            pytest.skip("npm is not installed, and node_modules is not there")
        done = run(
            npm,
            "ci",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            cwd=HERE,
            timeout=240,
        )
        if done.returncode != 0:
            pytest.skip(
                f"npm ci cannot install the clients: {done.stderr.strip()[-300:]}"
            )
        (HERE / "node_modules" / ".package-lock.json").touch()
    return node


@pytest.mark.parametrize("client", ["node-redis", "ioredis"])
def test_node_client(client, node, server):
    done = run(
        node,
        "--test",
        HERE / f"{client}.test.js",
        cwd=HERE,
        env={**os.environ, "YONDER_PORT": str(server.port)},
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE), done.stdout[-2000:]
    assert re.search(r"^# fail 0$", done.stdout, re.MULTILINE)


def test_lock_file_names_no_registry():
    assert '"resolved"' not in (HERE / "package-lock.json").read_text()


# ---- redis-py -----------------------------------------------------------------------


def test_redis_py(server):
    redis = pytest.importorskip(
        "redis", reason="Debian package python3-redis is not installed"
    )
    client = redis.Redis(host="127.0.0.1", port=server.port, decode_responses=True)
    client.flushall()
    assert client.ping()
    assert (
        client.geoadd(
            "k", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")
        )
        == 2
    )
    assert client.geoadd("k", (13.361389, 38.115556, "Palermo"), ch=True) == 0
    assert client.geodist("k", "Palermo", "Catania", "km") == 166.2742
    assert client.geodist("k", "Palermo", "nobody") is None
    assert client.geohash("k", "Palermo", "Catania") == ["sqc8b49rny0", "sqdtr74hyu0"]
    assert client.geopos("k", "Palermo", "nobody") == [
        (13.361389338970184, 38.1155563954963),
        None,
    ]
    search = dict(longitude=15, latitude=37, radius=200, unit="km")
    assert client.geosearch("k", **search, sort="ASC") == ["Catania", "Palermo"]
    found = client.geosearch(
        "k", **search, sort="DESC", withdist=True, withhash=True, withcoord=True
    )
    assert found[0] == [
        "Palermo",
        190.4424,
        3479099956230698,
        (13.361389338970184, 38.1155563954963),
    ]
    assert client.geosearch("k", member="Palermo", width=1, height=1, unit="km") == [
        "Palermo"
    ]
    assert client.geosearchstore("d", "k", **search, storedist=True) == 2
    assert client.zrange("d", 0, -1, withscores=True) == [
        ("Catania", 56.4412578701582),
        ("Palermo", 190.44242984775784),
    ]
    assert client.georadius("k", 15, 37, 100, "km") == ["Catania"]
    assert client.georadiusbymember("k", "Palermo", 200, "km", sort="ASC") == [
        "Palermo",
        "Catania",
    ]
    client.set("s", "x")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        client.geopos("s", "m")
    with pytest.raises(redis.ResponseError, match="COUNT must be > 0"):
        client.execute_command(
            "GEOSEARCH", "k", "FROMLONLAT", 15, 37, "BYRADIUS", 1, "km", "COUNT", 0
        )
    with client.pipeline(transaction=False) as pipe:
        for i in range(1000):
            pipe.geoadd("m", (i / 10, 1, f"m{i}"))
        assert pipe.execute() == [1] * 1000
    assert len(dict(client.zscan_iter("m"))) == 1000
    assert set(client.scan_iter()) == {"k", "d", "s", "m"}
    assert client.info("server")["tcp_port"] == server.port
    client.close()


# ---- redis-tools ----------------------------------------------------------------------


@pytest.fixture
def tool(server):
    def start(name, *words, **more):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} (Debian package redis-tools) is not installed")
        return run(path, "-p", server.port, *words, **more)

    return start


def test_redis_cli(tool):
    def cli(*words):
        done = tool("redis-cli", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert cli("FLUSHALL") == "OK\n"
    assert (
        cli(
            "GEOADD",
            "k",
            "13.361389",
            "38.115556",
            "Palermo",
            "15.087269",
            "37.502669",
            "Catania",
        )
        == "2\n"
    )
    assert cli("GEODIST", "k", "Palermo", "Catania") == "166274.1516\n"
    assert cli("GEOPOS", "k", "Palermo") == "13.361389338970184\n38.1155563954963\n"
    search = ("GEOSEARCH", "k", "FROMLONLAT", "15", "37", "BYRADIUS", "200", "km", "ASC")
    assert cli(*search) == "Catania\nPalermo\n"
    assert cli("--no-raw", *search, "WITHDIST") == (
        '1) 1) "Catania"\n   2) "56.4413"\n2) 1) "Palermo"\n   2) "190.4424"\n'
    )
    nested = cli("-3", "--no-raw", *search, "WITHCOORD")
    assert "(double) 13.36138933897018" in nested and '"Palermo"' in nested
    assert cli("--no-raw", "GEOHASH", "k", "nobody") == "1) (nil)\n"
    assert "ERR unsupported unit provided" in cli("GEODIST", "k", "a", "b", "cm")
    assert cli("PING") == "PONG\n"
    assert "# Server" in cli("INFO")


def test_redis_cli_reads_commands_from_its_input(tool, server):
    path = shutil.which("redis-cli")
    if path is None:
        pytest.skip("redis-cli is not installed")
    lines = "".join(f"GEOADD piped {i / 10} 1 m{i}\n" for i in range(1000))
    done = subprocess.run(
        [path, "-p", str(server.port)],
        input=lines + "ZCARD piped\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.endswith("1000\n")


def test_redis_cli_pipe_mode(server):
    path = shutil.which("redis-cli")
    if path is None:
        pytest.skip("redis-cli is not installed")
    from resp import encode

    data = b"".join(encode("GEOADD", "bulk", i / 100, 1, f"m{i}") for i in range(5000))
    done = subprocess.run(
        [path, "-p", str(server.port), "--pipe"],
        input=data,
        capture_output=True,
        timeout=60,
    )
    assert b"errors: 0, replies: 5000" in done.stdout, done.stdout + done.stderr


def test_redis_benchmark(tool):
    """Custom commands end without an error."""
    for words in (
        ["-r", "1000", "GEOADD", "bench", "13.36", "38.11", "m__rand_int__"],
        [
            "GEOSEARCH",
            "bench",
            "FROMLONLAT",
            "13.36",
            "38.11",
            "BYRADIUS",
            "200",
            "km",
            "COUNT",
            "10",
            "WITHDIST",
        ],
        ["-t", "ping,set,get"],
        ["-P", "16", "GEOPOS", "bench", "m000000000001"],
    ):
        done = tool("redis-benchmark", "-n", "3000", "-c", "10", "-q", "-e", *words)
        assert done.returncode == 0, done.stderr
        text = (done.stdout + done.stderr).replace("\r", "\n")
        assert "requests per second" in text
        # It asks for two settings that concern persistence, and may say that they are
        # missing.
        assert not re.search(r"(?m)^(?!WARNING).*\b(rror|ERR)", text), text
