"""A `python` for the steps of a pipeline that installs nothing: `-m venv` and `-m pip` only do what the steps after them need.

Whatever else it is asked for, Python does. `-m reconciler` is this repository's, in a process that has imported it already.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from tests import processes

ROOT: Final = Path(__file__).parents[4]
LOCKED: Final = ROOT / "reconciler" / "requirements.txt"
SANDBOX: Final = ROOT / "reconciler" / "requirements-sandbox.txt"
REPOSITORY: Final = "https://gitlab.example.com/acme/reconciler.git"
COMMIT: Final = "0123456789abcdef0123456789abcdef01234567"

GIT: Final = """#!/bin/sh
case "$*" in
  "-C "*" fetch "*{repository}*)
    env > {log}
    [ "$GIT_ALLOW_PROTOCOL" = https ] || exit 98
    mkdir -p "$2/reconciler" && exec cp {locked} {sandbox} "$2/reconciler/" ;;
  "-C "*" checkout --quiet {commit}") exit 0 ;;
  *) exec {git} "$@" ;;
esac
"""
"""A `git` that has the repository of Reconciler at one commit, and writes the variables that it was given into a log."""

SCRIPT: Final = """#!/bin/sh
[ "$1" = -I ] || {{ echo "python was started without -I: $*" >&2; exit 97; }}
case "$2 $3" in
  "-m venv")
    [ "$4" = --without-pip ] && mkdir -p "$5/bin" && cp "$0" "$5/bin/python" ;;
  "-m pip")
    echo "$*" >> {log}
    previous=
    for word; do
      case "$previous" in
        --find-links) ls "$word"/* > /dev/null 2>&1 || exit 1 ;;
        --dest) mkdir -p "$word" && echo wheel > "$word/some.whl" ;;
        --requirement) case "$word" in *-sandbox.txt) cmp "$word" {sandbox} ;; *) cmp "$word" {locked} ;; esac ;;
      esac
      previous=$word
    done ;;
  "-m reconciler")
    shift 3;
    exec {program} "$@" ;;
  "-c import sysconfig"*)
    folder="$(dirname "$0")/../site-packages"
    mkdir -p "$folder" && echo "$folder" ;;
  *) exec {python} "$@" ;;
esac
"""


def python(folder: Path, *, apart: bool = False) -> Path:
    """The program, in a folder of its own. `apart`: reconciler is a process below the script, not a fork of the tests."""
    place = folder / "python"
    place.mkdir()
    git = place / "git"
    locks = {"locked": LOCKED, "sandbox": SANDBOX}
    given = {"log": place / "git.log", "repository": REPOSITORY, "commit": COMMIT, **locks, "git": shutil.which("git")}
    git.write_text(GIT.format(**given), encoding="utf-8")
    git.chmod(0o755)
    file = place / "python"
    real = f"env PYTHONPATH={ROOT} {sys.executable} -P -m reconciler"
    words = {
        "log": place / "pip.log",
        **locks,
        "program": real if apart else processes.program() / "reconciler",
        "python": sys.executable,
    }
    file.write_text(SCRIPT.format(**words), encoding="utf-8")
    file.chmod(0o755)
    return file


def installs(file: Path) -> list[str]:
    """What pip was asked for."""
    log = file.parent / "pip.log"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def search_path(*folders: Path) -> str:
    """A PATH with the programs of the machine behind folders; `python` and `reconciler` of this environment are not on it."""
    shell = [str(Path(found).parent) for name in ("bash", "git", "cp") if (found := shutil.which(name))]
    return os.pathsep.join([*map(str, folders), *dict.fromkeys(shell)])


def variables_of_git(file: Path) -> str:
    """The environment in which git fetched Reconciler."""
    return (file.parent / "git.log").read_text(encoding="utf-8")
