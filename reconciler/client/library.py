"""httpx without its command line, which would import rich, pygments and click's prompts: more than httpx itself.

httpx does without its command line where a part of it is not installed. Here nothing ever asks for it, so it is not found while httpx is
imported. Every module of this package takes httpx from here. A process that imported httpx already keeps what it has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["httpx"]


@contextmanager
def _missing(name: str) -> Iterator[None]:
    """A module that is not imported yet is not found in this block."""
    modules: dict[str, Any] = sys.modules
    if name in modules:
        yield
        return
    modules[name] = None
    try:
        yield
    finally:
        del modules[name]


with _missing("httpx._main"):
    import httpx
