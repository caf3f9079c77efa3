"""Reconciler: documentation organizations as code.

`reconciler.open(…)` opens a project for a program (docs/python.md). The names are imported when they are used for the first time, so that
`import reconciler`, every command and the sandbox import nothing for them.
"""

__version__ = "0.1.0"

# `python -m reconciler` runs this file while the current folder can still be imported from: it imports nothing by name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from reconciler.interface import (
        AcceptResult as AcceptResult,
        AccessResult as AccessResult,
        ApplyResult as ApplyResult,
        ConfigError as ConfigError,
        DriftResult as DriftResult,
        FindResult as FindResult,
        Glob as Glob,
        HealthResult as HealthResult,
        ImportResult as ImportResult,
        Limits as Limits,
        Locked as Locked,
        OpenedProject as OpenedProject,
        PlanResult as PlanResult,
        ReconcilerError as ReconcilerError,
        Refused as Refused,
        RehearseResult as RehearseResult,
        ServiceError as ServiceError,
        StalePlan as StalePlan,
        StateError as StateError,
        TestResult as TestResult,
        UndoResult as UndoResult,
        UrlsResult as UrlsResult,
        UsageError as UsageError,
        open as open,
    )

__all__ = [
    "AcceptResult",
    "AccessResult",
    "ApplyResult",
    "ConfigError",
    "DriftResult",
    "FindResult",
    "Glob",
    "HealthResult",
    "ImportResult",
    "Limits",
    "Locked",
    "OpenedProject",
    "PlanResult",
    "ReconcilerError",
    "Refused",
    "RehearseResult",
    "ServiceError",
    "StalePlan",
    "StateError",
    "TestResult",
    "UndoResult",
    "UrlsResult",
    "UsageError",
]
"""Without `open`, which would hide Python's own in a module that imports all of them."""


def __getattr__(name: str) -> object:
    if name == "open" or name in __all__:
        return getattr(__import__("reconciler.interface", fromlist=[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
