"""Reconciler for Python: a project, planned and applied from a program, a notebook, a bot or a test.

    opening     arguments -> the options of a command line -> the operation of a run
    project     a method for each command, a thin call of a run or of a feature
    calls       a call in a thread of its own, which an exception in the caller ends
    results     what a call returns: the model, its document, its page
    refusals    errors, with the way past them in Python

It stands above everything, as the command line does; nothing imports it but `reconciler` itself, when a name is used for the first time.
Forbidden: printing, asking, signals, the environment, the current folder.
"""

from __future__ import annotations

from reconciler.address import Glob as Glob
from reconciler.errors import (
    ConfigError as ConfigError,
    Locked as Locked,
    ReconcilerError as ReconcilerError,
    Refused as Refused,
    ServiceError as ServiceError,
    StalePlan as StalePlan,
    StateError as StateError,
    UsageError as UsageError,
)
from reconciler.interface.opening import open as open
from reconciler.interface.project import OpenedProject as OpenedProject
from reconciler.interface.results import (
    AcceptResult as AcceptResult,
    AccessResult as AccessResult,
    ApplyResult as ApplyResult,
    DriftResult as DriftResult,
    FindResult as FindResult,
    HealthResult as HealthResult,
    ImportResult as ImportResult,
    PlanResult as PlanResult,
    RehearseResult as RehearseResult,
    TestResult as TestResult,
    UndoResult as UndoResult,
    UrlsResult as UrlsResult,
)
from reconciler.run.operation import Limits as Limits
