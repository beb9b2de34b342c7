"""hiredis against yonder-server: hiredis_session.c, which the build makes where it finds
libhiredis. (Debian 12 has version 0.14, which speaks RESP2.)"""
import os
import re

import pytest

import servers


def test_hiredis(run, server, keeper):
    program = servers.binary("tests/hiredis_session")
    if not program.exists():
        pytest.skip("built without libhiredis (Debian package libhiredis-dev)")
    env = {"YONDER_PORT": str(server.port), "YONDER_KEEPER_PORT": str(keeper.port)}
    done = run(program, env={**os.environ, **env})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"PASSED *\] [1-9]", done.stdout + done.stderr)
