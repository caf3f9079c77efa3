"""Packages whose names are imported when they are first used, because a command needs few of them and importing takes longer than running.

A package says where each of its names is defined:

    if not TYPE_CHECKING:
        __getattr__ = deferred(__name__, {"load": "project"})

and imports the same names under TYPE_CHECKING, for whoever reads or checks the types.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def deferred(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: a name is imported from its module of the package at the first use, and kept."""

    def get(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
