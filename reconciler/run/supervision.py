"""What a program that embeds this one supplies to a run: the worker of a fleet, whose runs share a budget and can be stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from reconciler.apply.task import Clearance
from reconciler.client import SharedBudget


@dataclass(frozen=True)
class Supervision:
    """None of it for a run that a person started."""

    # Asked before each request, because other runs of the worker use the same token.
    budget: SharedBudget | None = None
    # Asked before each step that cannot be undone, because a window may close or an approval be withdrawn in the middle of a run.
    clearance: Clearance | None = None
    # The commit whose rules judge the project, and a directory with its files: a worker's projects are in no repository.
    rules: tuple[str, Path] | None = None
    # Asked before the first request of an apply is recorded: None where it may begin, else why not. Approvals are used up then.
    begin: Callable[[], Awaitable[str | None]] | None = None
