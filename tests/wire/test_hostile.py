"""A short run of hostile.py; `make hostile` is the long one."""
import os
import time

import hostile


def test_hostile_streams(run_folder):
    seed = int(os.environ.get("YN_SEED") or time.time_ns() % 10**9)
    print("seed", seed)
    server = hostile.start_server(run_folder / "hostile", 3)
    try:
        hostile.Run(server, seed).run(2000)
        assert server.stop() == 0, server.log_text()
    finally:
        server.kill()
