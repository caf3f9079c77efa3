"""Make docs/plan.svg: a real plan of examples/acme, run here and exported by rich. `python docs/picture.py [FILE.svg]`.

The example is applied to a sandbox of its own, then the files are edited, and someone edits behind their back. What the next plan says is
the picture; nothing in it is drawn by hand. The ids are the sandbox's and differ each time.
"""

from __future__ import annotations

import io
import os
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
SANDBOX = ".reconciler/acme.db"
COMMAND = f"reconciler plan examples/acme --sandbox {SANDBOX}"


def run(folder: Path, *words: str) -> str:
    """The output of one command of reconciler, as a terminal would get it."""
    command = [str(PROGRAM), *words, "--sandbox", SANDBOX]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    done = subprocess.run(command, cwd=folder, env={**environ, "COLUMNS": str(WIDTH)}, capture_output=True, text=True)  # noqa: S603  our own program
    if done.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def edit(file: Path, old: str, new: str) -> None:
    """Change one place of a file, which must be there."""
    text = file.read_text(encoding="utf-8")
    if old not in text:
        raise SystemExit(f"{file.name} no longer holds {old!r}; the picture needs another edit")
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def scene(folder: Path) -> str:
    """Apply, edit, let somebody else edit, plan."""
    acme = folder / "examples" / "acme"
    shutil.copytree(ROOT / "examples" / "acme", acme, ignore=shutil.ignore_patterns(".reconciler"))
    run(folder, "apply", "examples/acme", "--yes")
    ids = dict(line.split()[::2] for line in run(folder, "state", "list", "examples/acme").splitlines())

    edit(
        acme / "people.yaml",
        "  support:\n    title: Support",
        "  support-engineers:\n    title: Support engineers\n    previously: [support]",
    )
    edit(acme / "content.yaml", "      - {space: webhooks, title: Webhooks}\n", "")
    edit(acme / "content.yaml", "      - {space: guides, ", "      - {space: webhooks, title: Webhooks}\n      - {space: guides, ")
    python, go = (f"                  - {{space: sdk-{word}, path: {word}}}\n" for word in ("python", "go"))
    edit(acme / "sites" / "docs.yaml", python + go, go + python)
    edit(acme / "sites" / "partners.yaml", "auditors: {name: Auditors 2025, active: false}", "auditors: {name: Auditors, active: true}")

    run(folder, "api", "PATCH", f"/spaces/{ids['acme/space/guides']}", "-f", "title=Guides (do not edit)")
    run(folder, "api", "DELETE", f"/spaces/{ids['acme/space/concepts']}")
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
