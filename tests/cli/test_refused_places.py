"""A directory that was deleted, and a disk that cannot be written: one calm error with what to do, and no work is lost silently."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.command_line import Cli, applied_project
from tests.interpreter import COMMAND, ROOT
from tests.proofs import costly
from tests.reliability.test_full_disk import mounting

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
    program = f"import os, runpy; os.rmdir({str(gone)!r}); runpy.run_module('reconciler', run_name='__main__', alter_sys=True)"
    return processes.run([sys.executable, "-c", program, *words.split()], cwd=gone, capture_output=True, text=True)


@costly
def test_a_program_that_is_started_in_a_deleted_directory_says_so(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m reconciler plan"
    assert_calm(subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False))


@pytest.mark.parametrize("words", EVERY)
def test_a_deleted_working_directory_is_a_calm_error_of_every_command(tmp_path: Path, words: str) -> None:
    assert_calm(in_a_deleted_folder(tmp_path, words))


def assert_calm(result: subprocess.CompletedProcess[str]) -> None:
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


@costly
def test_a_read_only_disk_is_a_calm_error_and_what_only_reads_works(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    applied_project(cli)
    cli.write("seed.yaml", "organizations: [{id: org_a}]")
    lines = "".join(json.dumps(words.split()) + "\n" for words, _, _ in READ_ONLY)
    cli.write("lines", lines)
    script = f"""
    set -e
    mkdir disk; mount -t tmpfs -o size=16m none disk || exit 99
    cp -a p disk/p; cp -a seed.yaml disk/; cp -a p disk/new; rm -r disk/new/.reconciler
    mount -o remount,ro disk
    cd disk; PYTHONPATH={ROOT} {" ".join(COMMAND)} < ../lines
    """
    answers = [json.loads(line) for line in mounting(script, tmp_path).splitlines()]
    for (words, code, says), (ended, *streams) in zip(READ_ONLY, answers, strict=True):
        text = "".join(bytes.fromhex(stream).decode() for stream in streams)
        assert says in text, f"{words}: {text}"
        assert ended == code, f"{words}: {text}"
        assert "defect" not in text, f"{words}: {text}"
        assert "Traceback" not in text, f"{words}: {text}"
