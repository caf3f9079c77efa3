"""The most steps of a plan of which each requires the one before it: `python -m benchmarks.longest FILE`, the plan as JSON.

A process of its own: what the process that measures keeps in memory would be counted as the memory of those that it starts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def longest(steps: list[dict[str, Any]]) -> int:
    """Steps come after those that they require."""
    depths: dict[int, int] = {}
    for step in steps:
        depths[step["id"]] = 1 + max((depths.get(before, 0) for before in (*step["needs"], *step["after"])), default=0)
    return max(depths.values(), default=0)


if __name__ == "__main__":
    print(longest(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["steps"]))
