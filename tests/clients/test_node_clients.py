"""The clients of Node.js against yonder-server: node-redis and ioredis in RESP2 and RESP3,
iovalkey in RESP2. Each runs a GEO session of its own and the session of session.js."""
import os
import pathlib
import re
import shutil

import pytest

import certificates
import servers

HERE = pathlib.Path(__file__).parent
NODE_AT_LEAST = 20


def is_installed():
    """node_modules is there and is of this package-lock.json."""
    mark = HERE / "node_modules" / ".package-lock.json"
    return (
        mark.exists()
        and mark.stat().st_mtime >= (HERE / "package-lock.json").stat().st_mtime
    )


@pytest.fixture(scope="module")
def node(run):
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


@pytest.mark.parametrize("client", ["node-redis", "ioredis", "iovalkey"])
def test_node_client(client, node, run, server, keeper):
    done = run(
        node,
        *("--test", "--test-reporter=spec", HERE / f"{client}.test.js"),
        cwd=HERE,
        env={
            **os.environ,
            "YONDER_PORT": str(server.port),
            "YONDER_KEEPER_PORT": str(keeper.port),
        },
    )
    text = done.stdout
    assert done.returncode == 0, text.partition("failing tests:")[2] or text
    assert re.search(r"\bpass [1-9]", text) and re.search(r"\bfail 0\b", text), text
    assert re.search(r"\bskipped 0\b", text), text


def test_lock_file_names_no_registry():
    assert '"resolved"' not in (HERE / "package-lock.json").read_text()


def test_node_clients_over_tls(node, run, run_folder, tmp_path):
    authority = certificates.Authority(tmp_path)
    cert, key = authority.issue("server")
    authority.issue("client")
    authority.issue("late", days=-1)
    port = servers.lasting_port()
    server = servers.YonderServer(
        run_folder / "tls", "--tls-port", str(port), "--tls-cert-file", str(cert),
        "--tls-key-file", str(key), "--tls-ca-cert-file", str(authority.file),
        port=servers.lasting_port())
    try:
        done = run(
            node,
            *("--test", "--test-reporter=spec", HERE / "tls.test.js"),
            cwd=HERE,
            env={**os.environ, "YONDER_TLS_PORT": str(port),
                 "YONDER_TLS_FOLDER": str(tmp_path)},
        )
    finally:
        server.stop()
    text = done.stdout
    assert done.returncode == 0, text.partition("failing tests:")[2] or text
    assert re.search(r"\bpass 5\b", text) and re.search(r"\bfail 0\b", text), text
