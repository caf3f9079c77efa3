"""The two libraries of HTTP without what nothing here asks for, and what takes as long to import as all the rest of them.

httpx would import its command line, and with it rich, pygments and click's prompts. It does without where a part of that is not installed,
so the command line is not found while httpx is imported. Every module of this package takes httpx from here.

aiohttp would load the machine's certificate authorities twice, for connections that are opened without a context for TLS. Here each one has
its own (`transport.default_transport`), so aiohttp is imported while there are none to load: `with without_certificates(): import aiohttp`.
A connection that is opened by aiohttp's own contexts afterwards is refused, because they trust nobody.

A process that imported either of them already keeps what it has.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["httpx", "without_certificates"]


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


@contextmanager
def without_certificates() -> Iterator[None]:
    """A context for TLS that is made in this block finds no certificates where the machine keeps them."""
    load = ssl.SSLContext.set_default_verify_paths
    ssl.SSLContext.set_default_verify_paths = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        ssl.SSLContext.set_default_verify_paths = load  # type: ignore[method-assign]


with _missing("httpx._main"):
    import httpx
