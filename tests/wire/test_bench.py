"""yonder-bench: its figures against servers that are known, its data in the server, and a
comparison from end to end."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

import pytest

import servers

BENCH = servers.binary("yonder-bench")


def bench(*words, status=0, timeout=120, **environment):
    """Runs the program; returns (standard output, standard error)."""
    done = subprocess.run(
        [str(BENCH), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "YONDER_SOURCE_DIR": str(servers.ROOT),
             **{name: str(value) for name, value in environment.items()}},
    )
    assert done.returncode == status, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def run(server, *words, **more):
    out, _ = bench("run", "-p", server.port, "--json", "--no-progress", *words, **more)
    return json.loads(out)


class FakeServer:
    """Answers every request of a fixed length with the same bytes, in small pieces."""

    def __init__(self, request_len, reply, piece=7):
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.request_len, self.reply, self.piece = request_len, reply, piece
        self.n_requests, self.lock = 0, threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        with conn, contextlib.suppress(ConnectionError):
            self._answer(conn)

    def _answer(self, conn):
        waiting = 0
        while data := conn.recv(1 << 16):
            if data.startswith(b"*1\r\n$4\r\nINFO"):
                conn.sendall(b"-ERR what\r\n")
                continue
            n, waiting = divmod(waiting + len(data), self.request_len)
            with self.lock:
                self.n_requests += n
            out = self.reply * n
            for at in range(0, len(out), self.piece):
                conn.sendall(out[at : at + self.piece])

    def close(self):
        self.sock.close()


@pytest.fixture
def fake():
    made = []

    def make(*args, **more):
        made.append(FakeServer(*args, **more))
        return made[-1]

    yield make
    for server in made:
        server.close()


class TestRun:
    def test_counts_every_reply(self, fake):
        request = b"*1\r\n$4\r\nPING\r\n"
        reply = b"*3\r\n$12\r\n*1\r\n+\r\n$-1\r\n\r\n:5\r\n$-1\r\n"
        server = fake(len(request), reply)
        figures = run(server, "-n", 600, "-c", 7, "-P", 5, "-t", 3, "PING")
        assert figures["requests"] == 600 == server.n_requests
        assert figures["nulls"] == 600
        assert figures["bytes_per_reply"] == len(reply)
        assert "server_cpu_us" not in figures
        latency = figures["latency_us"]
        assert 0 < latency["p50"] <= latency["p99"] <= latency["p99.9"] <= latency["max"]

    def test_whole_pipelines_are_sent(self, fake):
        server = fake(14, b"+OK\r\n")
        assert run(server, "-n", 5, "-c", 1, "-P", 4, "PING")["requests"] == 8

    def test_duration(self, server):
        figures = run(server, "-d", 0.5, "-c", 3, "PING")
        assert 0.4 < figures["seconds"] < 5
        assert figures["requests"] > 10

    def test_lost_connection_fails(self, fake):
        server = fake(14, b"+OK\r\n")
        server.reply = b"hello\r\n"
        _, err = bench("run", "-p", server.port, "-n", 5, "PING", status=1)
        assert "no RESP" in err

    def test_more_replies_than_requests(self, fake):
        server = fake(14, b"+OK\r\n+OK\r\n", piece=100)
        _, err = bench("run", "-p", server.port, "-n", 5, "-c", 1, "PING", status=1)
        assert "more replies than requests" in err

    def test_nobody_answers(self):
        _, err = bench("run", "-p", servers.free_port(), "-n", 5, "PING", status=1)
        assert "onnection refused" in err

    def test_error_replies(self, server):
        _, err = bench("run", "-p", server.port, "-n", 50, "NOSUCH", status=1)
        assert "unknown command" in err
        figures = run(server, "-n", 50, "--allow-errors", "NOSUCH")
        assert (figures["requests"], figures["errors"]) == (50, 50)

    def test_unix_socket_and_resp3(self, server):
        out, _ = bench("run", "-s", server.path, "-3", "-n", 100, "PING")
        assert re.search(r"requests +100 in", out)

    def test_server_cpu(self, server):
        """From the process, found or given, and about the same as INFO tells."""
        words = ("-n", 20000, "-P", 10, "PING")
        out, _ = bench("run", "-p", server.port, *words)
        assert "from the process" in out
        for more in ((), ("--server-pid", server.pid)):
            with server.connect() as conn:
                before = sum(cpu_of(conn))
                figures = run(server, *more, *words)
                used_us = (sum(cpu_of(conn)) - before) * 1e6 / figures["requests"]
            cpu = figures["server_cpu_us"]
            assert cpu["total"] == pytest.approx(cpu["user"] + cpu["system"], abs=1e-3)
            assert cpu["total"] == pytest.approx(used_us, rel=0.5, abs=0.5)

    def test_large_requests_and_replies_in_pieces(self, server, client):
        run(server, "-n", 3, "-c", 1, "--piece", 1000, "SET", "v", "{bytes:3000000}")
        value = client.command("GET", "v")
        assert len(value) == 3000000 and re.fullmatch(b"[a-p]*", value)
        figures = run(server, "-n", 3, "-c", 2, "--piece", 1000, "GET", "v")
        assert figures["bytes_per_reply"] == 3000000 + len("$3000000\r\n\r\n")

    def test_random_parts_reach_the_server(self, server, client):
        run(server, "-n", 3000, "-P", 10, "--ring", 3000,
            "GEOADD", "k", "{near:7,55,40km}", "m{member:1-50}")
        members = {b"m%d" % i for i in range(1, 51)}
        assert set(client.command("ZRANGE", "k", 0, -1)) == members
        found = client.command("GEOSEARCH", "k", "FROMLONLAT", 7, 55, "BYRADIUS", 40.01, "km")
        assert set(found) == members

    @pytest.mark.parametrize("words", [
        ("-n", "0", "PING"), ("-c", "0", "PING"), ("-n", "5", "-d", "1", "PING"), (),
        ("-n", "5", "GEOPOS", "k", "{member:5}"), ("--nonsense", "PING"),
        ("--cpus", "x", "PING"), ("-p",),
    ])
    def test_wrong_options(self, words):
        _, err = bench("run", *words, status=2)
        assert err.startswith("yonder-bench: ")


def cpu_of(conn):
    info = dict(line.split(b":", 1) for line in conn.command("INFO", "cpu").split(b"\r\n")
                if b":" in line)
    return float(info[b"used_cpu_user"]), float(info[b"used_cpu_sys"])


class TestData:
    def test_csv_and_load_are_the_same_points(self, server, client):
        out, _ = bench("data", "osm", 5000, "--csv")
        rows = [line.split(",") for line in out.splitlines()]
        assert rows[0] == ["id", "lon", "lat"] and len(rows) == 5001
        bench("data", "osm", 5000, "--load", f"127.0.0.1:{server.port}", "--key", "k")
        bench("data", "osm", 5000, "--load", server.port)
        assert client.command("ZCARD", "k") == client.command("ZCARD", "key") == 5000
        for name, lon, lat in rows[1::100]:
            [[x, y]] = client.command("GEOPOS", "k", name)
            assert float(x) == pytest.approx(float(lon), abs=6e-6)
            assert float(y) == pytest.approx(float(lat), abs=3e-6)

    def test_resp(self, server, client):
        done = subprocess.run([BENCH, "data", "outlet", "250", "--resp"], check=True,
                              capture_output=True,
                              env={**os.environ, "YONDER_SOURCE_DIR": str(servers.ROOT)})
        assert done.stdout.startswith(b"*302\r\n$6\r\nGEOADD\r\n$6\r\noutlet\r\n")
        with server.connect() as conn:
            conn.send(done.stdout)
            assert [conn.read() for _ in range(3)] == [100, 100, 50]

    def test_same_every_time(self):
        first = bench("data", "osm", 300)
        assert first == bench("data", "osm", 300)
        assert first != bench("data", "osm", 300, "--seed", 2)

    def test_sicily(self):
        out, _ = bench("data", "sicily")
        assert out == (
            "id,lon,lat\nPalermo,13.361389,38.115556\nCatania,15.087269,37.502669\n"
            "edge1,12.758489,38.788135\nedge2,17.241510,38.788135\n"
        )

    def test_moves(self, server, client):
        bench("data", "fleet", 100, "--load", server.port)
        home = client.command("GEOPOS", "fleet", *range(1, 101))
        bench("data", "fleet", 100, "--moves", 250, "--load", server.port)
        assert client.command("ZCARD", "fleet") == 100
        now = client.command("GEOPOS", "fleet", *range(1, 101))
        assert all(a != b for a, b in zip(home, now))

    def test_wrong_words(self):
        for words in (("atlantis", 5), (), ("osm", "x"), ("osm", 5, "--moves", 3),
                      ("osm", 5, "--places", "/nowhere"), ("osm", 5, "--load", "nowhere")):
            _, err = bench("data", *words, status=2)
            assert err.startswith("yonder-bench: ")

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BENCH, "data", "uniform", "1000"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "could not write" in done.stderr


class TestCompare:
    QUICK = ("--points", "20k", "--rounds", 2, "--duration", 0.05)

    def test_reports(self, tmp_path):
        files = {kind: tmp_path / kind for kind in ("json", "markdown", "html")}
        options = [word for kind, path in files.items() for word in (f"--{kind}", path)]
        out, _ = bench("compare", *self.QUICK, "--group", "load|point|search|small|update",
                       "--test", "^(load|geo-60M|geopos-1-2|1key|moves)", *options)
        report = json.loads(files["json"].read_text())
        rows = {row["name"]: row for row in report["rows"]}
        assert report["failed"] == report["pending"] == 0
        assert report["succeeded"] == len(rows) >= 20
        for name in ("geo-60M-elements-geodist", "geo-60M-elements-geosearch-fromlonlat-bybox",
                     "1key-geo-2-elements-geosearch-fromlonlat-withcoord-pipeline-10",
                     "moves-pipeline-100", "load"):
            row = rows[name]
            assert row["outcome"] == "succeeded"
            for side in (row["a"], row["b"]):
                assert side["rate"]["median"] > 0 and side["cpu_us"]["median"] > 0
            assert name in files["markdown"].read_text()
            assert name in files["html"].read_text()
        assert rows["1key-geo-2-elements-geosearch-fromlonlat-withcoord"]["hits"] == 4
        for fact in ("commit", "branch", "date", "processor", "compiler", "flags"):
            assert report[fact]
        assert f"{len(rows)} rows: {len(rows)} succeeded, 0 failed, 0 pending" in out

    def report(self, tmp_path, *options, **more):
        bench("compare", *self.QUICK, "--json", tmp_path / "json", *options, **more)
        return json.loads((tmp_path / "json").read_text())

    def test_searches_tell_what_was_looked_at(self, tmp_path):
        report = self.report(tmp_path, "--test", "geosearch-fromlonlat(-count-10)?$|elements-geopos$|"
                             "earth$|three-members$", "--brief-markdown", tmp_path / "brief")
        rows = {row["name"].replace("geo-60M-elements-", ""): row for row in report["rows"]}
        assert all(row["outcome"] == "succeeded" for row in rows.values()), report
        circle, count = (rows[f"geosearch-fromlonlat{more}"] for more in ("", "-count-10"))
        assert circle["candidates"] == count["candidates"] > circle["hits"] > count["hits"] == 10
        assert 0 < count["points_tested"] <= 20000 and 1 <= count["leaves_visited"] < 200
        assert rows["worst-three-members"]["candidates"] == 3
        assert rows["worst-three-members"]["points_tested"] == 3
        earth = rows["worst-whole-earth"]
        assert earth["hits"] == earth["candidates"] == 85318 and earth["points_tested"] == 0
        assert "candidates" not in rows["geopos"] and "points_tested" not in rows["geopos"]
        brief = (tmp_path / "brief").read_text()
        assert "| worst-three-members | 3.000 | 3.000 | 3.000 |" in brief
        lines = [line for line in brief.splitlines() if line.startswith("|")]
        assert len(lines) == len(rows) + 2
        assert {line.count("|") for line in lines} == {9}

    def test_polygons(self, tmp_path):
        """Against a peer that has none, and against one that has."""
        words = ("--points", "500k", "--test", "worst-polygon")
        report = self.report(tmp_path, *words, "--markdown", tmp_path / "markdown")
        [row] = report["rows"]
        assert row["outcome"] == "succeeded", row
        assert row["checked"] == "5 as tested one by one"
        assert "BYPOLYGON" in row["command"] and "WITHCOORD" in row["their_command"]
        assert row["candidates"] >= row["hits"] > 0
        assert row["b"]["bytes_per_reply"] > row["a"]["bytes_per_reply"]
        assert row["note"] in (tmp_path / "markdown").read_text()
        report = self.report(tmp_path, *words, "--baseline-program",
                             servers.binary("yonder-server"))
        [row] = report["rows"]
        assert row["checked"] == "5 same"

    def test_growth(self, tmp_path):
        report = self.report(tmp_path, "--suite", "growth", "--points", "160k", "--rounds", 1,
                             "--duration", 0.02)
        assert report["suite"] == "growth"
        assert report["failed"] == report["pending"] == 0, report["rows"]
        series = {}
        for row in report["rows"]:
            series.setdefault(row["series"], []).append(row)
        by_size = [10000, 40000, 160000]
        for name in ("load", "look-up", "count-by-total"):
            assert [row["x"] for row in series[name]] == by_size
        assert [row["x"] for row in series["total"]] == by_size[1:]
        for row in series["total"]:
            assert 800 < row["hits"] < 1200
        hits = [row["x"] for row in series["hits"]]
        assert hits == [row["hits"] for row in series["hits"]] == sorted(hits)
        assert [row["x"] for row in series["count-by-radius"]][-1] == 2000
        for row in series["load"]:
            ours, theirs = row["bytes_per_point"]["a"], row["bytes_per_point"]["b"]
            assert 80 < theirs < 200
            assert 20 < ours < 80 or ours == 0  # sanitizers hide the figure
        self.check_plots(tmp_path, is_memory_known=ours > 0)

    def check_plots(self, tmp_path, is_memory_known):
        script = [servers.ROOT / "scripts" / "plot_growth"]
        subprocess.run([*script, tmp_path / "json", tmp_path / "plots"], check=True)
        pictures = {path.stem: path for path in (tmp_path / "plots").iterdir()}
        assert set(pictures) == {"hits", "total", "count-by-radius", "count-by-total",
                                 "memory", "look-up", "load"}
        for path in pictures.values():
            root = xml.etree.ElementTree.parse(path).getroot()
            tags = [element.tag.rpartition("}")[2] for element in root.iter()]
            classes = [element.get("class") for element in root.iter()]
            if path.stem == "memory" and not is_memory_known:
                continue
            assert classes.count("line a") == classes.count("line b") == 1
            assert tags.count("circle") >= 2 and tags.count("rect") - 1 == tags.count("circle")
            words = [element.text for element in root.iter() if element.text]
            assert any(word.startswith("yonder") for word in words)
            assert any(word.startswith("redis") for word in words)
        (tmp_path / "json").write_text('{"rows": []}')
        for path in (tmp_path / "json", tmp_path / "none"):
            done = subprocess.run([*script, path, tmp_path], stderr=subprocess.PIPE, text=True)
            assert done.returncode == 2 and done.stderr.startswith("plot_growth: ")

    def test_filters(self):
        def names(*options):
            out, _ = bench("compare", "--list", *options)
            return [line.split()[1] for line in out.splitlines()]

        everything = names()
        assert len(everything) == len(set(everything)) > 30
        assert names("--test", "bybox") == [name for name in everything if "bybox" in name]
        assert set(names("--command", "geohash")) == {
            f"geo-60M-elements-geohash{more}" for more in ("", "-pipeline-10", "-pipeline-100")}
        assert names("--group", "^load$") == ["load"]
        assert all(name.startswith("growth-") for name in names("--suite", "growth"))
        bench("compare", "--suite", "shrink", status=2)
        bench("compare", "--test", "nothing-like-it", status=2)
        bench("compare", "--test", "(", status=2)

    def test_peer_that_runs(self, redis):
        out, _ = bench("compare", *self.QUICK, "--test", "geosearch-fromlonlat$", "--peer",
                       f"127.0.0.1:{redis.port}")
        assert "1 rows: 1 succeeded" in out
        assert redis.is_running()

    def test_baseline(self):
        out, _ = bench("compare", *self.QUICK, "--test", "geopos$", "--baseline-program",
                       servers.binary("yonder-server"))
        assert "2 rows: 2 succeeded" in out

    def test_interrupted(self):
        """Ctrl-C while a key is loaded: servers are stopped, rows are told as pending."""
        process = subprocess.Popen(
            [BENCH, "compare", "--points", "50M", "--test", "geodist$|geopos$"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "YONDER_SOURCE_DIR": str(servers.ROOT)})
        while "loading key" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "3 rows: 0 succeeded, 1 failed, 2 pending" in out

    def test_unknown_revision(self):
        for revision in ("no-such-revision", "-x", "a;b"):
            _, err = bench("compare", *self.QUICK, "--baseline", revision, status=2)
            assert "revision" in err or "does not know" in err

    def test_history(self, tmp_path):
        paths = [tmp_path / f"{i}.json" for i in range(3)]
        bench("compare", *self.QUICK, "--test", "^ping", "--json", paths[0])
        report = json.loads(paths[0].read_text())
        for i, path in enumerate(paths):
            report["date"], report["commit"] = f"202{9 - i}", f"<commit{i}"
            path.write_text(json.dumps(report))
        out, _ = bench("history", *paths)
        assert out.count("<svg") == len(report["rows"]) == 2
        labels = re.findall(r'middle">([^<]*)<', out)[:3]
        assert labels == ["&lt;commit"] * 3
        assert re.findall(r"commit(\d),", out)[:3] == ["2", "1", "0"]
        bench("history", *paths, "--html", tmp_path / "page")
        assert (tmp_path / "page").read_text() == out
        report["points"] = 1
        paths[0].write_text(json.dumps(report))
        assert bench("history", *paths)[0].count("<h2>") == 2
        paths[1].write_text("{}")
        bench("history", *paths, status=2)
        bench("history", status=2)
        bench("history", tmp_path / "none", status=2)

    def test_wrong_answers_fail_the_row(self, fake):
        """A peer that says OK to everything has no member in its key."""
        server = fake(1, b"+OK\r\n", piece=1 << 16)
        out, _ = bench("compare", *self.QUICK, "--test", "geodist$", "--peer",
                       f"127.0.0.1:{server.port}", status=1)
        assert "0 succeeded, 1 failed" in out

    def test_server_that_does_not_start(self):
        _, err = bench("compare", *self.QUICK, "--redis", "/nowhere/redis-server", status=2)
        assert "could not run" in err
        _, err = bench("compare", *self.QUICK, "--server", "/nowhere/yonder", status=2)
        assert "could not run" in err

    def test_no_server_is_left(self, tmp_path):
        """Its servers run in a folder of their own under TMPDIR."""

        def left():
            found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True)
            return [line for line in found.stdout.splitlines() if str(tmp_path) in line]

        bench("compare", *self.QUICK, "--test", "^ping$", TMPDIR=tmp_path)
        bench("compare", *self.QUICK, "--redis", "/nowhere/redis-server", status=2,
              TMPDIR=tmp_path)
        assert left() == [] and list(tmp_path.iterdir()) == []


class TestMixed:
    QUICK = ("--points", "20k", "--rounds", 1, "--duration", 0.3, "--rate", 200)

    def test_help(self):
        out, _ = bench("mixed", "--help")
        for word in ("--searchers", "--writers", "time-table", "real-time", "halting"):
            assert word in out

    @pytest.mark.parametrize("words", [
        ("--nonsense",), ("--points",), ("--points", "x"), ("--searchers", "65"), ("what",),
        ("--readers", "1001"), ("--rate", "0"), ("--rate", "-1"), ("--duration", "0"),
        ("--rounds", "65"), ("--radius", "5001"), ("--no-load",), ("--threads", "x"),
        ("--threads", "1,,0"), ("--threads", "1,2,3,4,5,6,7,8"), ("--join", "nowhere"),
        ("--join", "1:2", "--threads", "1"), ("--cpus", "x"),
    ])
    def test_wrong_options(self, words):
        _, err = bench("mixed", *words, status=2)
        assert err.startswith("yonder-bench: ")

    def check_phase(self, phase, n_requests, is_loaded):
        for name in ("geopos_ms", "geoadd_ms"):
            latency = phase[name]
            everything = latency["all"]
            assert everything["requests"] == n_requests
            for figures in (latency, everything):
                assert 0 < figures["p50"] <= figures["p99"] <= figures["p99.9"]
            assert latency["p99.9"] <= everything["max"]
            assert latency["p99_of_rounds"] == [latency["p99"]]
        assert phase["lag_ms"]["requests"] == 2 * n_requests
        assert phase["server_cpu_percent"] > 0
        if is_loaded:
            assert phase["searches_per_second"] > 0 and phase["search_ms"]["requests"] >= 4
            assert 200 < phase["members"] < 800  # a 50th of the points
        else:
            assert phase["searches_per_second"] == phase["members"] == 0

    def test_both_servers(self, tmp_path):
        out, err = bench("mixed", *self.QUICK, "--json", tmp_path / "json", "--markdown",
                         tmp_path / "markdown")
        report = json.loads((tmp_path / "json").read_text())
        assert (report["points"], report["searchers"], report["rate"]) == (20000, 4, 200)
        assert report["commit"] and report["radius_km"] > 1
        ours, theirs = report["servers"]
        assert ours["threads"] >= 1 and f", threads {ours['threads']}" in ours["server"]
        assert ours["server"].startswith("yonder ") and theirs["server"].startswith("redis ")
        for side in (ours, theirs):
            assert side["done"] and side["load_s"] > 0
            self.check_phase(side["quiet"], 4 * 60, is_loaded=False)
            self.check_phase(side["beside"], 4 * 60, is_loaded=True)
            assert out.count(side["server"]) == 5
        markdown = (tmp_path / "markdown").read_text()
        assert markdown.count(" | beside searches | ") == 4 + 1  # and the heading
        assert "[1/1] beside searches" in err

    def test_threads(self, tmp_path):
        """Each number is measured; the comparison runs on one, whatever the default is."""
        bench("mixed", *self.QUICK, "--alone", "--threads", "1,3", "--json", tmp_path / "json")
        report = json.loads((tmp_path / "json").read_text())
        assert [side["threads"] for side in report["servers"]] == [1, 3]
        process = subprocess.Popen(
            [BENCH, "compare", "--points", "2k", "--test", "^ping$", "--rounds", "1",
             "--duration", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "YONDER_SOURCE_DIR": str(servers.ROOT)})
        while "[1/1" not in process.stderr.readline():
            pass
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        words = [pathlib.Path(f"/proc/{child}/cmdline").read_text().split("\0")
                 for child in children.split()]
        [ours] = [each for each in words if "yonder-server" in each[0]]
        assert ours[ours.index("--threads") + 1] == "1"
        process.communicate(timeout=60)
        assert process.returncode == 0

    def test_server_that_runs(self, server, client, tmp_path):
        """Its key is loaded, or used as it is; the radius is the one that is asked for."""
        words = ("mixed", *self.QUICK, "--join", server.port, "--json", tmp_path / "json")
        bench(*words, "--writers", 1, "--readers", 2, "--searchers", 1)
        assert client.command("ZCARD", "key") == 20000
        client.command("ZREMRANGEBYRANK", "key", 0, -1)
        bench("data", "osm", "20k", "--load", server.port)
        bench(*words, "--no-load", "--radius", 300)
        report = json.loads((tmp_path / "json").read_text())
        [side] = report["servers"]
        assert report["radius_km"] == 300 and side["load_s"] == 0
        assert 0 < side["beside"]["members"] < 400
        assert server.is_running()

    @pytest.mark.parametrize("n_members", [0, 1, 2, 3, 11])
    def test_ends_of_small_replies(self, server, client, n_members):
        """The mark behind a reply is found wherever it stands."""
        client.command("DEL", "key")
        for i in range(1, 12):
            client.command("GEOADD", "key", 7 if i <= n_members else 100, 55, i)
        words = ("mixed", "--points", 11, "--join", server.port, "--no-load", "--radius", 50,
                 "--rounds", 1, "--duration", 0.1, "--rate", 0.1)
        if n_members == 0:
            _, err = bench(*words, status=1)
            assert "empty replies" in err
            return
        out, _ = bench(*words)
        assert re.search(rf"^yonder [^\n]+ +[0-9.]+ +{n_members} +[0-9.]+ ", out, re.MULTILINE)

    def test_wrong_answers(self, server, client):
        """Members that are missing, and a key that is no set, are no measurement."""
        words = ("mixed", *self.QUICK, "--join", server.port, "--no-load", "--radius", 300)
        client.command("DEL", "key")
        _, err = bench(*words, status=1)
        assert "members are missing" in err
        client.command("SET", "key", "v")
        _, err = bench(*words, status=1)
        assert "WRONGTYPE" in err
        client.command("DEL", "key")
        _, err = bench(*words[:-2], status=1)
        assert "empty" in err or "missing" in err

    def test_nobody_answers(self):
        _, err = bench("mixed", *self.QUICK, "--join", servers.free_port(), status=1)
        assert "onnection refused" in err
        _, err = bench("mixed", *self.QUICK, "--server", "/nowhere", "--alone", status=1)
        assert "/nowhere" in err

    def test_a_stall_is_counted_for_every_request(self, server, client, tmp_path):
        """Requests that were due while the server stood still waited for it, though a client
        that waits for each reply would have sent one of them."""
        bench("data", "osm", "20k", "--load", server.port)
        process = subprocess.Popen(
            [BENCH, "mixed", "--points", "20k", "--join", f":{server.port}", "--no-load",
             "--radius", "300", "--rounds", "1", "--duration", "3", "--rate", "100", "--json",
             tmp_path / "json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr.readline().startswith("yonder ")
        time.sleep(1.2)  # behind the warm-up of half a second
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(server.pid, signal.SIGCONT)
        process.communicate(timeout=60)
        assert process.returncode == 0
        [side] = json.loads((tmp_path / "json").read_text())["servers"]
        stalled = max((side["quiet"], side["beside"]),
                      key=lambda phase: phase["geopos_ms"]["all"]["average"])
        for name in ("geopos_ms", "geoadd_ms"):
            everything = stalled[name]["all"]
            assert everything["requests"] == 4 * 300
            assert everything["max"] > 900 and everything["average"] > 80

    def test_interrupted(self):
        """Ctrl-C while a key is loaded: the server is stopped."""
        process = subprocess.Popen(
            [BENCH, "mixed", "--points", "50M", "--alone"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "YONDER_SOURCE_DIR": str(servers.ROOT)})
        while "loading 50000000" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1 and "interrupted" in err


def test_scaling():
    """The script that measures threads and servers side by side, at its smallest."""
    done = subprocess.run(
        [sys.executable, servers.ROOT / "bench" / "scaling.py", "--points", "2000",
         "--rounds", "1", "--duration", "0.05", "--only", "GEO..., pipeline 10$"],
        capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    threads, split = done.stdout.split("\n\n")
    rows = [line.split("|")[1].strip() for line in threads.splitlines()]
    assert rows == ["row", "---", "GEOPOS, pipeline 10", "GEOADD, pipeline 10"]
    subjects = [line.split("|")[1].strip() for line in split.splitlines()][2:]
    assert subjects == ["1 Yonder, 1 thread", "1 Yonder, 2 threads", "2 Yonder, 1 thread each",
                        "1 Redis", "2 Redis"]
