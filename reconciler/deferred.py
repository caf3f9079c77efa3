"""Packages whose names are imported on first use, because a command needs few of them and importing takes longer than running.

A package says which of its modules defines which of its names:

    if not TYPE_CHECKING:
        __getattr__ = deferred(__name__, {"project": "load", "settings": "Project Settings"})

and imports the same names under TYPE_CHECKING, for readers and type checkers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def deferred(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: imports a name from its module on first use and caches it.

    `modules`: the names that each module defines; `NAME=OTHER` where the module calls it OTHER.
    """
    homes: dict[str, tuple[str, str]] = {}
    for module, names in modules.items():
        for name in names.split():
            public, _, defined = name.partition("=")
            homes[public] = (module, defined or public)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, defined = homes[name]
        value = getattr(importlib.import_module(f"{package}.{module}"), defined)
        setattr(sys.modules[package], name, value)
        return value

    return get
