"""Follow a page as a reader would: run its commands, make its edits, write its files, and compare what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests import processes

AUTHOR = {f"GIT_{role}_{name}": "ada@acme.example" for role in ("AUTHOR", "COMMITTER") for name in ("NAME", "EMAIL")}


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of code of a text, in order: language and content."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def shell(script: str, folder: Path, *, environ: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run lines of shell beside nothing but this environment and `environ`; what goes wrong in between is noticed by its output."""
    added = environ
    path = os.pathsep.join([str(processes.program()), str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
    environ |= {"PATH": path, "HOME": str(folder), "XDG_STATE_HOME": str(folder / ".local/state"), "COLUMNS": "100", **AUTHOR, **added}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def edit(file: Path, hunk: str) -> None:
    """Replace the lines of a hunk that begin with - by those that begin with +."""
    old, new = ("".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] == sign) for sign in "-+")
    before = file.read_text(encoding="utf-8")
    assert before.count(old) == 1, old
    file.write_text(before.replace(old, new), encoding="utf-8")


def follow(text: str, folder: Path) -> None:
    """Follow the blocks of a text in order.

    A `diff` edits reconciler.yaml, in several places where lines `@@` separate them. `yaml` that begins with a name writes that file. The
    commands before it print every line of `text`.
    """
    output = ""
    for language, content in blocks(text):
        match language:
            case "sh":
                output = shell(content, folder)
                entered = re.search(r"^cd (\w+)$", content, flags=re.MULTILINE)
                folder = folder / entered[1] if entered else folder
            case "diff":
                for hunk in content.split("@@\n"):
                    edit(folder / "reconciler.yaml", hunk)
            case "yaml":
                name = re.match(r"# (\S+)\n", content)
                assert name is not None, content
                (folder / name[1]).parent.mkdir(parents=True, exist_ok=True)
                (folder / name[1]).write_text(content, encoding="utf-8")
            case "text":
                assert [line for line in content.splitlines() if line not in output.splitlines()] == [], output
            case _:
                pytest.fail(f"a block of {language!r} that nothing checks")
