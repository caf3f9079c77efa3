"""Reconciler: documentation organizations as code.

`reconciler.open(…)` opens a project for a program (docs/python.md). The names are imported when they are used for the first time, so that
`import reconciler`, every command and the sandbox import nothing for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from reconciler.interface import (
        Accepted as Accepted,
        Access as Access,
        ConfigError as ConfigError,
        Drift as Drift,
        Glob as Glob,
        Health as Health,
        Imported as Imported,
        Limits as Limits,
        Locked as Locked,
        Objects as Objects,
        Outcome as Outcome,
        Plan as Plan,
        Project as Project,
        ReconcilerError as ReconcilerError,
        Refused as Refused,
        Rehearsal as Rehearsal,
        ServiceError as ServiceError,
        StalePlan as StalePlan,
        StateError as StateError,
        Tests as Tests,
        Undone as Undone,
        Urls as Urls,
        UsageError as UsageError,
        open as open,
    )

__all__ = [
    "Accepted",
    "Access",
    "ConfigError",
    "Drift",
    "Glob",
    "Health",
    "Imported",
    "Limits",
    "Locked",
    "Objects",
    "Outcome",
    "Plan",
    "Project",
    "ReconcilerError",
    "Refused",
    "Rehearsal",
    "ServiceError",
    "StalePlan",
    "StateError",
    "Tests",
    "Undone",
    "Urls",
    "UsageError",
]
"""Without `open`, which would hide Python's own in a module that imports all of them."""


def __getattr__(name: str) -> Any:
    if name == "open" or name in __all__:
        return getattr(import_module("reconciler.interface"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
