"""Make docs/plan.svg: a real plan of examples/acme, run here and exported by rich. `python docs/picture.py [FILE.svg]`.

The example is applied to a sandbox of its own, then the files are edited, and someone edits behind their back. What the next plan says is
the picture. It holds no ids and no times, so making it again changes nothing unless the output did.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).with_name("reconciler")
WIDTH = 100  # columns
COMMAND = "reconciler plan examples/acme"


def run(folder: Path, *words: str) -> str:
    """The output of one command of reconciler, as a terminal would get it."""
    command = [str(PROGRAM), *words, "--sandbox", ".reconciler/acme.db"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)  # noqa: S603 - our own program
    if done.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    if old not in text:
        raise SystemExit(f"{file.name} no longer holds {old!r}; the picture needs another edit")
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def scene(folder: Path) -> str:
    """Apply, edit, let somebody else edit, plan."""
    project = folder / "examples" / "acme"
    shutil.copytree(ROOT / "examples" / "acme", project, ignore=shutil.ignore_patterns(".reconciler"))
    run(folder, "apply", "examples/acme", "--yes")
    return run(folder, "plan", "examples/acme", "--color", "always")


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "plan.svg"
    with tempfile.TemporaryDirectory() as folder:
        output = scene(Path(folder))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "bold green"), COMMAND))
    console.print(Text.from_ansi(output.rstrip("\n")))
    svg = console.export_svg(title="reconciler", theme=MONOKAI, unique_id="plan")
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # nothing is fetched: the reader's own monospace font will do
    target.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
