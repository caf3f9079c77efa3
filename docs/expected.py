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


def names() -> list[str]:
    """Each example; one that has environments is named once for each: `environments@staging`."""
    found: list[str] = []
    for example in sorted(path.parent for path in EXAMPLES.glob("*/reconciler.yaml")):
        environments = sorted(path.stem for path in (example / "environments").glob("*.yaml"))
        found += [f"{example.name}@{environment}" for environment in environments] or [example.name]
    return found


NAMES = names()


def words(name: str) -> list[str]:
    """The project and the environment of an example, as they are typed."""
    example, _, environment = name.partition("@")
    return [f"examples/{example}", *([f"--env={environment}"] if environment else [])]


def expected(name: str) -> Path:
    """The file of its first plan."""
    example, _, environment = name.partition("@")
    return EXAMPLES / example / (f"expected-plan-{environment}.txt" if environment else "expected-plan.txt")


def run(folder: Path, command: str, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """One command on an example below `folder`, as a reader beside the examples would type it, on a sandbox of its own."""
    environ = {each: value for each, value in os.environ.items() if not each.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
    environ |= {
        "PATH": f"{PROGRAM.parent}{os.pathsep}{environ.get('PATH', '')}",
        "SOPS_AGE_KEY_FILE": str(EXAMPLES.resolve() / "secrets" / "age.key"),
    }
    return subprocess.run(  # noqa: S603  our own program
        [str(PROGRAM), command, *words(name), "--sandbox", f".reconciler/{name}.db", *options],
        cwd=folder,
        env={**environ, "HOME": str(folder), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def copied(name: str, folder: Path) -> None:
    """Copy an example below `folder`, without what a run left in it."""
    example = name.partition("@")[0]
    shutil.copytree(EXAMPLES / example, folder / "examples" / example, ignore=shutil.ignore_patterns(".reconciler"))


def main() -> None:
    for name in NAMES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            copied(name, folder)
            planned = run(folder, "plan", name, "--color", "never")
            if planned.returncode:
                raise SystemExit(planned.stderr)
        expected(name).write_text(planned.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
