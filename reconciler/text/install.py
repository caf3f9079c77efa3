"""The command that installs the packages of an extra into the running environment, with or without pip in it."""

from __future__ import annotations

import shlex
import sys
from typing import Final

DISTRIBUTION: Final = "docs-reconciler"  # as in pyproject.toml


def installing(*requirements: str) -> str:
    """`python3 -m pip --python /path/of/python install fastapi uvicorn`."""
    return shlex.join(["python3", "-m", "pip", "--python", sys.executable, "install", *requirements])
