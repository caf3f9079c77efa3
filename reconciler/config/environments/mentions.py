"""Which variables the environments that are not chosen use: what only production needs is not unused in staging.

In: the project's directory and names of variables. Out: those that no environment's file names in an expression. Reads these files only.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from reconciler.config.environments.folder import files
from reconciler.config.source.nodes import MARK


def unmentioned(root: Path, names: Collection[str]) -> frozenset[str]:
    """Those of the names that no file of an environment uses, as far as its text shows."""
    left = set(names)
    for file in files(root):
        try:
            text = (root / file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if MARK not in text:
            continue
        if re.search(r"\bvars\s*\[", text) is not None:
            return frozenset()  # it may use any
        left -= set(re.findall(r"\bvars\s*\.\s*(\w+)", text))
    return frozenset(left)
