"""scripts/limits: the limit of a row is an empty request and the bytes of its reply."""
import json
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def row(name, group, pipeline, cpu_us, n_bytes, outcome="succeeded"):
    return {"name": name, "group": group, "pipeline": pipeline, "outcome": outcome,
            "a": {"cpu_us": {"median": cpu_us}, "bytes_per_reply": n_bytes}}


PING = [row("ping", "empty", 1, 4.5, 7), row("ping-pipeline-10", "empty", 10, 0.5, 7)]


def limits(tmp_path, rows):
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"rows": rows}))
    return subprocess.run([ROOT / "scripts/limits", file], capture_output=True, text=True,
                          check=False)


@pytest.mark.parametrize("pipeline, cpu_us, n_bytes, cells", [
    (1, 9.0, 0, ["4.5", "9", "50 %"]),
    (10, 1.0, 500, ["0.6", "1", "60 %"]),     # 0.5 and 500 bytes at 5,000 a microsecond
    (100, 0.1, 0, ["0.05", "0.1", "50 %"]),   # a tenth of the share at 10
    (1, 400.0, 1_477_500, ["300", "400", "75 %"]),
])
def test_rows(tmp_path, pipeline, cpu_us, n_bytes, cells):
    ran = limits(tmp_path, PING + [row("r", "point", pipeline, cpu_us, n_bytes)])
    assert ran.stdout.splitlines()[2:] == [f"| r | {n_bytes:,} | {' | '.join(cells)} |"]


def test_rows_left_out(tmp_path):
    rows = PING + [row("failed", "point", 1, 9, 9, "failed"), row("load", "load", 1, 9, 9)]
    assert len(limits(tmp_path, rows).stdout.splitlines()) == 2


def test_no_empty_row(tmp_path):
    ran = limits(tmp_path, PING[:1])
    assert ran.returncode != 0 and "ping-pipeline-10" in ran.stderr
