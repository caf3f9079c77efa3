"""The files that docs/pipelines.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml

PAGE: Final = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")
BLOCKS: Final = [(name, text) for name, text in re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)]
"""The name and the text of each."""

COMMIT: Final = re.compile(r"[\w./-]+@[0-9a-f]{40}")
OURS: Final = "acme/reconciler@v1"


def files(name: str) -> list[Any]:
    """What the blocks with a name contain, in the order of the page; the first one is the whole file."""
    return [yaml.safe_load(text) for known, text in BLOCKS if known == name]


def workflow(name: str = "documentation") -> Any:
    """A workflow of GitHub."""
    return files(f".github/workflows/{name}.yml")[0]
