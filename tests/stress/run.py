#!/usr/bin/python3
"""Starts a server, lets the stress program loose on it, and looks at what the server said.

    YONDER_BIN_DIR=build-tsan tests/stress/run.py --seconds 600 --threads 4

Fails when the program does, when the server ends by itself or badly, or when a sanitizer reported
anything. All reports are kept, not only the first. At last the server is stopped while
clients still send. YN_SEED or --seed repeats what the clients do (not how the threads meet)."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "wire"))
from run_server import faults_of, keep_all_reports  # noqa: E402
from servers import YonderServer, binary  # noqa: E402


class ConfiguredServer(YonderServer):
    """With a file, so that CONFIG REWRITE has something to write."""

    def _command(self, options):
        program, *words = super()._command(options)
        return [program, str(self.folder / "yonder.conf"), *words]


def run(options, folder):
    (folder / "yonder.conf").write_text("\n".join(options.option) + "\n")
    users = folder / "users.acl"
    users.write_text("user default on nopass ~* &* +@all\n")
    server = ConfiguredServer(folder, "--aclfile", users,
                              *(["--threads", options.threads] if options.threads else []))
    program = binary("tests/stress")
    words = ["--socket", server.path, "--port", server.port, "--seconds", options.seconds,
             "--clients", options.clients, "--patience", options.patience, "--big", options.big]
    if options.seed:
        words += ["--seed", options.seed]
    command = [str(program), *map(str, words), str(HERE / "commands.txt")]
    faults = []
    try:
        done = subprocess.run(command, timeout=options.seconds + 2 * options.patience + 60)
        if done.returncode != 0:
            faults.append(f"the program's status is {done.returncode}")
    except subprocess.TimeoutExpired:
        faults.append("the program does not end")
    finally:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as more:
            time.sleep(1)  # so that the server is stopped with its hands full
            faults += faults_of(server, options.keep_log)
            more.kill()
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0, help="0: the server's default")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", default=os.environ.get("YN_SEED"))
    parser.add_argument("--patience", type=int, default=60)
    parser.add_argument("--big", type=int, default=20000, help="members of the large set")
    parser.add_argument("--option", action="append", default=[],
                        help="a line of the server's configuration")
    parser.add_argument("--keep-log", help="file for the server's log if anything fails")
    options = parser.parse_args()
    keep_all_reports()
    with tempfile.TemporaryDirectory(prefix="yn-stress-") as folder:
        faults = run(options, pathlib.Path(folder))
    print("\n".join(faults) if faults else "stress: nothing found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
