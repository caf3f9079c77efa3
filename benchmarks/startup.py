"""What a command imports: modules and seconds, by `python -X importtime`."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import TOKEN

CLICK = "import click; click.Group(commands=[click.Command(n) for n in 'abcdefgh']).main(['--help'])"
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)")
NAMES = {"pyyaml": "yaml", "typing-extensions": "typing_extensions"}


@dataclass(frozen=True)
class Imports:
    """The modules that a process imported, and how long that took."""

    modules: tuple[str, ...]
    seconds: float

    @property
    def number(self) -> int:
        return len(self.modules)


def imports(arguments: Sequence[str], times: int = 3) -> Imports:
    """The imports of an interpreter with these arguments; of some runs the quickest."""
    return min((_imports(arguments) for _ in range(times)), key=lambda found: found.seconds)


def _imports(arguments: Sequence[str]) -> Imports:
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "", "RECONCILER_TOKEN": TOKEN, **_path()})
    found = LINE.findall(done.stderr)
    return Imports(tuple(name for _, name in found), sum(int(micros) for micros, _ in found) / 1e6)


def _path() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[1])}


def libraries(modules: Sequence[str]) -> list[str]:
    """The packages that pyproject.toml names and that are among the modules, as they are imported."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [re.split(r"[<>=~\[ ]", line)[0].lower() for line in project["dependencies"]]
    packages = {module.partition(".")[0] for module in modules}
    return sorted(name for name in (NAMES.get(name, name) for name in named) if name in packages)
