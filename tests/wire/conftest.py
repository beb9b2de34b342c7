"""Fixtures: servers that live as long as the test session, and servers for one test."""
import itertools
import tempfile
import pathlib
import shutil

import pytest

import servers

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def run_folder():
    """A short path: a unix socket's address holds about 100 bytes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yn-wire-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class Starter:
    """Starts servers and stops them at the end of its life; shows their logs on
    failure."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def _start(self, cls, options, **more):
        server = cls(self.folder / f"{next(_numbers)}", *options, **more)
        self.running.append(server)
        return server

    def subject(self, *options, **more):
        return self._start(servers.subject_class(), options, **more)

    def redis(self, *options, **more):
        return self._start(servers.RedisServer, options, **more)

    def stop_all(self):
        faults = []
        for server in self.running:
            if not server.is_running() and server.process.returncode not in (0, 1, -9):
                faults.append(
                    f"{server.name} ended with {server.process.returncode}:\n"
                    f"{server.log_text()[-6000:]}"
                )
            server.stop()
        return faults


@pytest.fixture(scope="session")
def session_starter(run_folder):
    starter = Starter(run_folder)
    yield starter
    faults = starter.stop_all()
    assert not faults, "\n".join(faults)


@pytest.fixture
def start(run_folder, request):
    """start.subject("--option", "value") starts a server for this test alone."""
    starter = Starter(run_folder)
    request.node.yn_servers = starter.running
    yield starter
    faults = starter.stop_all()
    assert not faults, "\n".join(faults)


@pytest.fixture(scope="session")
def shared_server(session_starter):
    return session_starter.subject()


@pytest.fixture(scope="session")
def shared_redis(session_starter):
    return session_starter.redis()


@pytest.fixture
def server(shared_server, request):
    """The server under test, shared by all tests; empty at the start of each."""
    request.node.yn_servers = [shared_server]
    with shared_server.connect() as conn:
        conn.command("FLUSHALL")
    return shared_server


@pytest.fixture
def redis(shared_redis):
    """The oracle, shared; empty at the start of each test."""
    with shared_redis.connect() as conn:
        conn.command("FLUSHALL")
    return shared_redis


@pytest.fixture
def client(server):
    with server.connect() as conn:
        yield conn


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in getattr(item, "yn_servers", []):
            report.sections.append((f"log of {server.name}", server.log_text()[-6000:]))
