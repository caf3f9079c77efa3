"""One file per kind. A new file here is loaded automatically; see CONTRIBUTING, "Add a kind"."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from reconciler.resource import Kind, Kinds, Resource, combined


@cache
def load() -> Kinds:
    """Every kind declared in this package. Raises `ReconcilerError` if declarations contradict each other."""
    kinds: list[Kind] = []
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{__name__}.{module.name}")
            kinds += [
                value.kind
                for value in vars(loaded).values()
                if isinstance(value, type) and issubclass(value, Resource) and value is not Resource
            ]
    return combined(kinds)
