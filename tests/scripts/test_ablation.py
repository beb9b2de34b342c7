"""scripts/ablation: the patches still apply, in a tree with and without a repository, and
one that no longer does is told."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("patch") is None, reason="no patch here")


def check(root):
    return subprocess.run([str(root / "scripts/ablation"), "--check"], capture_output=True,
                          text=True, timeout=60)


@pytest.fixture
def tree(tmp_path):
    """What the check looks at, without .git."""
    for name in ("src", "bench/ablation"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/ablation", tmp_path / "scripts/ablation")
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    return tmp_path


def test_every_patch_applies():
    done = check(ROOT)
    assert done.returncode == 0, done.stderr + (
        "\nThe code has moved on: make the patch again (diff -U2), see docs/profiling.md")
    assert done.stdout.endswith("patches apply\n")


def test_the_check_changes_nothing_and_needs_no_repository(tree):
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    done = check(tree)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_faults_are_told(tree):
    arena = tree / "src/cmd/cmd_arena.c"
    arena.write_text(arena.read_text().replace("ARENA_SPLITS 0", "ARENA_SPLITS 2"))
    (tree / "bench/ablation/nearest.patch").unlink()
    (tree / "bench/ablation/own.patch").write_text("nothing\n")
    done = check(tree)
    assert done.returncode == 1
    assert "the patch arena failed" in done.stderr
    assert "bench/ablation/nearest.patch is missing" in done.stderr
    assert "no line in scripts/ablation uses own.patch" in done.stderr
    assert "the patch rectangles" not in done.stderr
