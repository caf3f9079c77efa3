"""Write each example's expected-plan.txt: its first plan on a fresh sandbox. `python docs/expected.py`; then read what changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAM = Path(sys.executable).with_name("reconciler")
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/reconciler.yaml"))


def run(folder: Path, command: str, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """One command on an example below `folder`, as a reader beside the examples would type it, on a sandbox of its own."""
    environ = {each: value for each, value in os.environ.items() if not each.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
    return subprocess.run(  # noqa: S603  our own program
        [str(PROGRAM), command, f"examples/{name}", "--sandbox", f".reconciler/{name}.db", *options],
        cwd=folder,
        env={**environ, "HOME": str(folder), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def copied(name: str, folder: Path) -> None:
    """Copy an example below `folder`, without what a run left in it."""
    shutil.copytree(EXAMPLES / name, folder / "examples" / name, ignore=shutil.ignore_patterns(".reconciler"))


def main() -> None:
    for name in NAMES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            copied(name, folder)
            planned = run(folder, "plan", name, "--color", "never")
            if planned.returncode:
                raise SystemExit(planned.stderr)
        (EXAMPLES / name / "expected-plan.txt").write_text(planned.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
