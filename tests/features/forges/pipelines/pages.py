"""The files that docs/pipelines.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml

PAGE: Final = (Path(__file__).parents[4] / "docs" / "pipelines.md").read_text(encoding="utf-8")
SECURITY: Final = (Path(__file__).parents[4] / "docs" / "security.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^```yaml\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS: Final = BLOCK.findall(PAGE)
"""The name and the text of each."""

COMMIT: Final = re.compile(r"[\w./-]+@[0-9a-f]{40}")
OURS: Final = "acme/reconciler@v1"


def files(name: str) -> list[Any]:
    """What the blocks with a name contain, in the order of the page; the first one is the whole file."""
    return [yaml.safe_load(text) for known, text in BLOCKS if known == name]


def workflow(name: str = "documentation") -> Any:
    """A workflow of GitHub."""
    return files(f".github/workflows/{name}.yml")[0]


def public() -> Any:
    """The inputs of the action in a public repository."""
    ((_, text),) = BLOCK.findall(SECURITY)
    return yaml.safe_load(text)[0]["with"]
