"""Import the two HTTP libraries without their unused parts, which take as long to import as the rest of them.

httpx would import its command line, and with it rich, pygments and click's prompts. httpx skips its command line if a part of that is not
installed, so it is hidden during the import. Every module of this package imports httpx from here.

aiohttp would load the machine's certificate authorities twice, for connections that are opened without a context for TLS. Here each one has
its own (`transport.default_transport`), so aiohttp is imported while it finds none: `with without_certificates(): import aiohttp`.
A connection that is opened by aiohttp's own contexts afterwards is refused, because they trust no authority.

A process that imported either of them already keeps that import.
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
    """Hide a module that is not imported yet during this block."""
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
    """Hide the machine's certificates from TLS contexts that are created during this block."""
    load = ssl.SSLContext.set_default_verify_paths
    ssl.SSLContext.set_default_verify_paths = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        ssl.SSLContext.set_default_verify_paths = load  # type: ignore[method-assign]


with _missing("httpx._main"):
    import httpx
