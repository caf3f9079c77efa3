"""The line that installs what an extra of this package would have installed, into the environment that runs, with or without pip in it."""

from __future__ import annotations

import shlex
import sys
from typing import Final

DISTRIBUTION: Final = "docs-reconciler"  # as in pyproject.toml


def installing(*requirements: str) -> str:
    """`python3 -m pip --python /path/of/python install fastapi uvicorn`."""
    return shlex.join(["python3", "-m", "pip", "--python", sys.executable, "install", *requirements])
