"""The commands that install packages into the running environment, with or without pip in it."""

from __future__ import annotations

import shlex
from typing import Final

from reconciler.interpreters import program

DISTRIBUTION: Final = "docs-reconciler"  # as in pyproject.toml
PUBLISHED: Final = False
"""Whether a version is on PyPI. Until then nobody has the name there, and whoever registers it decides what its installation runs: no
message, page or recipe may install it by its name."""


def installing(*requirements: str) -> str:
    """`python3 -I -m pip --python /path/of/python install fastapi uvicorn`. -I: the current directory may contain a `pip.py`."""
    return shlex.join(["python3", "-I", "-m", "pip", "--python", program(), "install", *requirements])


def installing_extra(extra: str) -> str:
    """The command that installs an extra of this program; where no version is published, in a clone."""
    return installing(f"{DISTRIBUTION}[{extra}]") if PUBLISHED else f"{installing(f'.[{extra}]')} (in a clone of Reconciler)"
