"""Fixtures: a server for each test, and its keeper. With YN_WIRE_SUBJECT=redis the sessions
run against Debian's redis-server, which shows that they ask for what Redis does."""
import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "wire"))
import keeper as keepers  # noqa: E402
import servers  # noqa: E402

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def run_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yn-clients-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server(run_folder, request):
    """The server under test, on a port that it gets again after a restart."""
    folder = run_folder / f"{next(_numbers)}"
    server = servers.subject_class()(folder, port=servers.lasting_port())
    request.node.yn_servers = [server]
    yield server
    assert server.is_running(), f"{server.name} has ended:\n{server.log_text()[-6000:]}"
    assert server.stop() == 0, server.log_text()[-6000:]


@pytest.fixture
def keeper(server):
    keeper = keepers.Keeper(server)
    yield keeper
    keeper.close()


@pytest.fixture(scope="session")
def run():
    """run("program", "word", ...) runs a program to its end and gives what it wrote."""

    def run(*words, timeout=120, **more):
        return subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            timeout=timeout,
            **{"stdin": None if "input" in more else subprocess.DEVNULL, **more},
        )

    return run


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in getattr(item, "yn_servers", []):
            report.sections.append((f"log of {server.name}", server.log_text()[-6000:]))
