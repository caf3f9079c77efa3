"""Who watches over a run: its signals, and what a program that embeds this one supplies, as the worker of a fleet does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.signals import StopSignals

# At run time this would import the client and the apply, which `--help` does not need.
if TYPE_CHECKING:
    from reconciler.apply.task import StepPermission
    from reconciler.client import SharedBudget
    from reconciler.client.pacing import Clock
    from reconciler.run.connection.memory import MemoryPlace


@dataclass(frozen=True)
class Supervision:
    """The defaults are those of a run that a person started."""

    signals: StopSignals = field(default_factory=StopSignals)
    # Of the client; None for the machine's.
    clock: Clock | None = None
    # Asked before each request, because other runs of the worker use the same token.
    budget: SharedBudget | None = None
    # Asked before each step that cannot be undone, because a window may close or an approval be withdrawn in the middle of a run.
    permission: StepPermission | None = None
    # The commit whose rules judge the project, and a directory with its files: a worker's projects are in no repository.
    rules: tuple[str, Path] | None = None
    # Asked before the first request of an apply is recorded: None where it may begin, else why not. Approvals are used up then.
    begin: Callable[[], Awaitable[str | None]] | None = None
    # Whether files may be written into the project. A worker's copy of them is in no repository: nobody would commit what is written there.
    writes: bool = True
    # A service and a state in memory, instead of what the project and the operation name.
    memory: MemoryPlace | None = None
