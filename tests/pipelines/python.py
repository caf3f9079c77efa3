"""A `python` for the steps of a pipeline that installs nothing: `-m venv` and `-m pip` only do what the steps after them need.

Whatever else it is asked for, Python does. `-m reconciler` is this repository's, in a process that has imported it already.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Final

from tests import processes

ROOT: Final = Path(__file__).parents[2]
LOCKED: Final = ROOT / "reconciler" / "requirements.txt"

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
        --wheel-dir) mkdir -p "$word" && cp {wheel} "$word/" ;;
        --requirement) cmp "$word" {locked} ;;
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
    wheel = place / "docs_reconciler-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(LOCKED, "reconciler/requirements.txt")
    file = place / "python"
    real = f"env PYTHONPATH={ROOT} {sys.executable} -P -m reconciler"
    words = {
        "log": place / "pip.log",
        "wheel": wheel,
        "locked": LOCKED,
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
