"""A directory that was deleted, and a disk that cannot be written: one calm error with what to do, and no work is lost silently."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, applied_project
from tests.reliability.test_full_disk import mounting

PROGRAM = f"{sys.executable} -m reconciler"
EVERY = (
    "plan",
    "apply --yes",
    "validate",
    "drift",
    "doctor",
    "fmt",
    "init x",
    "init --sandbox",
    "state list",
    "history",
    "sandbox seed --db x y",
)


def in_a_deleted_folder(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    gone = folder / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {PROGRAM} {words}"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", EVERY)
def test_a_deleted_working_directory_is_a_calm_error_of_every_command(tmp_path: Path, words: str) -> None:
    result = in_a_deleted_folder(tmp_path, words)
    assert result.returncode == 1
    assert "error: the current directory no longer exists: it was deleted or moved [RC-no-directory]" in result.stderr
    assert "pass -C DIR before the command" in result.stderr
    assert "defect" not in result.stderr


def test_what_needs_no_directory_works_in_a_deleted_one(tmp_path: Path) -> None:
    applied_project(Cli(tmp_path))
    for words in ("--version", "--help", "explain site", f"validate {tmp_path}/p", f"-C {tmp_path}/p state list"):
        assert in_a_deleted_folder(tmp_path, words).returncode == 0, words


READ_ONLY = [
    # the command, its exit code, and what it says
    ("plan p", 1, "error: the sandbox cannot run: "),
    ("apply p --yes", 1, "error: the sandbox cannot run: "),
    ("drift p", 1, "error: the sandbox cannot run: "),
    ("plan new", 1, "error: the sandbox cannot run: "),
    ("sandbox seed --db x.db seed.yaml", 1, "error: the sandbox cannot run: x.db: read-only file system"),
    ("sandbox clock --db p/.reconciler/sandbox.db", 1, "error: the sandbox cannot run: "),
    ("apply p --yes --sandbox ../writable.db", 1, "state.db cannot be opened"),
    ("plan p --sandbox ../writable.db --out plan.json", 3, "error: the plan cannot be saved to plan.json: read-only file system"),
    ("plan p --sandbox ../writable.db --log-file log.jsonl", 3, "error: the log file log.jsonl cannot be written: read-only file system"),
    ("plan p --sandbox ../writable.db --report html=a.html", 1, "error: the report a.html cannot be written: read-only file system"),
    ("init other", 3, "error: the project cannot be written: read-only file system"),
    ("state list p", 0, "acme/space/guides"),
    ("history p", 0, "apply"),
]


def test_a_read_only_disk_is_a_calm_error_and_what_only_reads_works(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    applied_project(cli)
    cli.write("seed.yaml", "organizations: [{id: org_a}]")
    lines = "\n".join(
        f"{PROGRAM} {words} >$OUT/{number} 2>&1; echo $? >$OUT/{number}.code" for number, (words, _, _) in enumerate(READ_ONLY)
    )
    script = f"""
    set -e
    mkdir disk out; mount -t tmpfs -o size=16m none disk || exit 99
    cp -a p disk/p; cp -a seed.yaml disk/; cp -a p disk/new; rm -r disk/new/.reconciler
    mount -o remount,ro disk
    set +e
    OUT=$PWD/out; cd disk
    {lines}
    exit 0
    """
    mounting(script, tmp_path)
    for number, (words, code, says) in enumerate(READ_ONLY):
        text = (tmp_path / "out" / str(number)).read_text()
        assert says in text, f"{words}: {text}"
        assert (tmp_path / "out" / f"{number}.code").read_text() == f"{code}\n", f"{words}: {text}"
        assert "defect" not in text, f"{words}: {text}"
        assert "Traceback" not in text, f"{words}: {text}"
