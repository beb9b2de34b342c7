"""prometheus-redis-exporter against yonder-server: a scrape must show a healthy server, with
the series that it shows of redis-server."""
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import servers

LIMIT_S = 10
SERIES = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)$")

# Series of redis-server that are not there: Yonder has no threads that do its writing.
NOT_HERE = {"redis_config_io_threads"}


class Exporter:
    """A running exporter. series: {(name, labels): value} of the last scrape."""

    def __init__(self, path, server, log_path):
        self.url = f"http://127.0.0.1:{servers.lasting_port()}/metrics"
        self.log_path = log_path
        words = [
            *(path, "-web.listen-address", self.url.split("/")[2]),
            *("-redis.addr", f"redis://127.0.0.1:{server.port}"),
            *("-check-keys", "*", "-export-client-list", "-include-system-metrics"),
        ]
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)

    def scrape(self):
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                with urllib.request.urlopen(self.url, timeout=LIMIT_S) as reply:
                    text = reply.read().decode()
                break
            except urllib.error.URLError:  # not yet listening
                assert self.process.poll() is None, self.log_text()
                assert time.monotonic() < end, self.log_text()
                time.sleep(0.01)
        lines = [line for line in text.splitlines() if line.startswith("redis_")]
        found = [SERIES.match(line).groups(default="") for line in lines]
        self.series = {(name, labels): float(value) for name, labels, value in found}
        self.names = {name for name, _ in self.series}
        return self

    def __getitem__(self, name):
        name, _, labels = name.rstrip("}").partition("{")
        return self.series[(name, labels)]

    def log_text(self):
        return self.log_path.read_text()

    def stop(self):
        self.process.terminate()
        self.process.wait(LIMIT_S)


@pytest.fixture
def export(run_folder):
    """export(server) starts an exporter for it."""
    path = shutil.which("prometheus-redis-exporter")
    if path is None:
        pytest.skip("Debian package prometheus-redis-exporter is not installed")
    running = []

    def export(server):
        log_path = run_folder / f"exporter{len(running)}.log"
        running.append(Exporter(path, server, log_path))
        return running[-1]

    yield export
    for exporter in running:
        exporter.stop()


def fill(server):
    """Some keys, hits, misses, an error and a subscriber, which stays."""
    conn = server.connect()
    conn.command("SET", "text", "x" * 100)
    conn.command("SET", "passing", "x", "EX", 1000)
    conn.command("ZADD", "set", 1, "a", 2, "b")
    conn.command("GEOADD", "places", 13.361389, 38.115556, "Palermo")
    conn.command("GET", "text")
    conn.command("GET", "nothing")
    conn.command("ZCARD", "text")
    conn.command("SUBSCRIBE", "news")
    return conn


def test_a_healthy_server(server, export):
    subscriber = fill(server)
    exporter = export(server).scrape().scrape()
    assert exporter["redis_up"] == 1
    assert exporter['redis_exporter_last_scrape_error{err=""}'] == 0
    assert exporter["redis_target_scrape_request_errors_total"] == 0
    assert not re.search("level=(error|warn|fatal)", exporter.log_text())

    assert exporter['redis_db_keys{db="db0"}'] == 4
    assert exporter['redis_db_keys_expiring{db="db0"}'] == 1
    assert 0 <= exporter['redis_db_avg_ttl_seconds{db="db0"}'] <= 1000
    assert exporter['redis_key_size{db="db0",key="text"}'] == 100
    assert exporter['redis_key_size{db="db0",key="set"}'] == 2
    assert exporter['redis_key_size{db="db0",key="places"}'] == 1
    assert exporter["redis_connected_clients"] >= 2
    assert exporter["redis_blocked_clients"] == 0
    assert exporter["redis_pubsub_channels"] == 1
    assert exporter["redis_keyspace_misses_total"] >= 1
    assert exporter["redis_keyspace_hits_total"] >= 1
    assert exporter["redis_commands_processed_total"] >= 8
    assert exporter["redis_total_error_replies"] >= 1
    assert exporter['redis_commands_total{cmd="zadd"}'] == 1
    assert exporter['redis_commands_failed_calls_total{cmd="zcard"}'] == 1
    assert exporter['redis_commands_duration_seconds_total{cmd="geoadd"}'] > 0
    assert exporter["redis_memory_used_bytes"] >= 0  # sanitizers count nothing
    assert exporter["redis_memory_used_rss_bytes"] > 1 << 20
    assert exporter["redis_total_system_memory_bytes"] > 1 << 26
    assert exporter["redis_process_id"] == server.pid
    assert exporter["redis_config_maxclients"] == 10000
    assert exporter["redis_config_maxmemory"] == 0
    assert abs(exporter["redis_start_time_seconds"] - time.time()) < 60
    assert exporter["redis_slowlog_length"] >= 0
    (labels,) = [labels for name, labels in exporter.series if "instance_info" in name]
    assert 'role="master"' in labels and 'redis_mode="standalone"' in labels
    assert any(name == "redis_connected_clients_details" for name in exporter.names)
    subscriber.close()


def test_the_series_of_redis_server(server, export, run_folder):
    try:
        redis = servers.RedisServer(run_folder / "oracle")
    except FileNotFoundError as fault:
        pytest.skip(str(fault))
    subscribers = [fill(server), fill(redis)]
    theirs, ours = export(redis).scrape(), export(server).scrape()
    redis.stop()
    assert theirs.names - ours.names - NOT_HERE == set()
    for subscriber in subscribers:
        subscriber.close()


def test_a_server_that_is_killed_and_comes_back(server, keeper, export):
    exporter = export(server).scrape()
    assert exporter["redis_up"] == 1
    keeper.kill()
    assert exporter.scrape()["redis_up"] == 0
    keeper.start()
    assert exporter.scrape()["redis_up"] == 1
