"""yonder-bench drive: one row of the comparison on one server."""
import json
import subprocess

import pytest

import servers

BENCH = servers.binary("yonder-bench")


def drive(server, *words, status=0):
    done = subprocess.run(
        [str(BENCH), "drive", "-h", "127.0.0.1", "-p", str(server.port), *map(str, words)],
        capture_output=True, text=True, timeout=120, cwd=servers.ROOT,
        stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if status == 0 else done.stderr


def test_loading_and_driving_apart(server, client):
    assert drive(server, "geo-60M-elements-geodist", "--points", 3000, "--load-only") == ""
    assert client.command("ZCARD", "key") == 3000
    client.command("SET", "other", "1")
    found = json.loads(drive(server, "geo-60M-elements-geodist", "--points", 3000, "--no-load",
                             "--requests", 500, "--json"))
    assert found["row"] == "geo-60M-elements-geodist" and found["requests"] == 500
    assert found["server_cpu_us"]["total"] > 0
    assert client.command("GET", "other") == b"1"


def test_the_key_is_made_anew(server, client):
    client.command("GEOADD", "three", "1", "1", "stale")
    drive(server, "worst-three-members", "-n", 10)
    assert client.command("ZCARD", "three") == 3


@pytest.mark.parametrize("row", ["ping", "moves-pipeline-100", "geopos-beside-searches",
                                 "geopos-1-2-threads-4-pipeline-10", "load",
                                 "1key-geo-2-elements-geosearch-fromlonlat-withcoord"])
def test_rows_of_every_kind(server, row):
    out = drive(server, row, "--points", 5000, "--duration", 0.1)
    assert out.startswith(f"{row}: ") and "server CPU" in out


def test_a_missing_key_is_told(server):
    assert "all replies are empty" in drive(
        server, "geo-60M-elements-geosearch-fromlonlat", "--no-load", "-n", 5, status=1)
    assert "nulls in the replies" in drive(
        server, "geo-60M-elements-geopos", "--no-load", "-n", 5, "--points", 100, status=1)


def test_wrong_options(server):
    assert 'no row "nonsense"' in drive(server, "nonsense", status=2)
    assert "either --load-only or --no-load" in drive(
        server, "ping", "--load-only", "--no-load", status=2)
    assert "Usage: yonder-bench drive" in drive(server, status=2)


def test_a_server_that_is_not_there():
    class Nobody:
        port = servers.free_port()
    assert drive(Nobody, "ping", "-n", 1, status=1)
