"""What a run carries out, with what, and how.

Which steps of a plan open something or cannot be undone, and the port to whoever is asked before each of them.

By default nobody is asked, because the plan was approved. A program that embeds this one passes a `StepPermission` in `ApplyOptions`, with
which it can refuse all further steps at any moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from reconciler.address import Address, Selection
from reconciler.client.service import Writer
from reconciler.model import Actual, Desired, Listener, Plan, Step
from reconciler.resource import Kinds
from reconciler.state import CommitGroup, Journal

# Asked before each step that opens something or cannot be undone, with what it does: `delete`, `replace`, `transfer`, `expose` or `change`.
# The result is why no such step may be sent now, as the end of a sentence; None where it may. Must not raise.
StepPermission = Callable[[str], Awaitable[str | None]]

REVERSIBLE: Final = frozenset({"create", "update", "move", "restore"})
"""The verbs that `undo` has a request for."""


def serious(kinds: Kinds, plan: Plan) -> Mapping[int, str]:
    """The steps to ask about, by id, with what they do."""
    opening = {name for exposure in plan.exposures for name in exposure.names}
    steps = ((step, _what(kinds, step, opening)) for step in plan.steps)
    return {step.id: what for step, what in steps if what is not None}


def _what(kinds: Kinds, step: Step, opening: set[Address]) -> str | None:
    if step.before.replaces is not None:
        return "replace"
    if step.verb in ("delete", "transfer"):
        return step.verb
    if step.gates or step.address in opening:
        return "expose"
    kind = kinds[step.kind]
    lost = any(kind.fields[name].sensitive or not kind.fields[name].readable for name in step.writes) and step.verb != "create"
    stays = step.verb == "create" and "delete" not in kind.api and not kind.one_per
    return "change" if step.verb not in REVERSIBLE or lost or stays else None


FRESH: Final = 10.0  # seconds; older readings are repeated before a write


@dataclass
class Halt:
    """Whether nothing new is started: `stop` is set from outside; after a failure, where `on_error` says so; after somebody refused a step,
    with the reason in `refused`."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    on_error: Literal["continue", "stop"] = "continue"
    failed: bool = False
    refused: str | None = None

    def __bool__(self) -> bool:
        return self.stop.is_set() or self.refused is not None or (self.failed and self.on_error == "stop")


@dataclass(frozen=True)
class ApplyOptions:
    """How a plan is carried out.

    `deadline`: seconds one request may take, everything included, at most `SEND_SECONDS_MAX`; it is written into every intent. `selection`:
    what the run is limited to. `stop`: when set, nothing new is started. `fresh`: what was read longer ago, in seconds, is read again
    before it is written. `verify`: what is read again at the end: what was written, with what lists with it, or everything. `nonce`:
    randomness, eight hexadecimal digits, where a created object gets a marker as its name first. `settle`: seconds after which the service
    shows what was written. `permission`: asked before each step that cannot be undone.
    """

    deadline: float
    selection: Selection | None = None
    listener: Listener = field(default_factory=Listener)
    on_error: Literal["continue", "stop"] = "continue"
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    fresh: float = FRESH
    verify: Literal["written", "full"] = "written"
    nonce: Callable[[], str] | None = None
    settle: float = 0.0
    permission: StepPermission | None = None


@dataclass(frozen=True)
class Task:
    """One apply: what it carries out, what it was planned from, and where it writes; while steps run, only the `group` writes."""

    writer: Writer
    kinds: Kinds
    desired: Desired
    plan: Plan
    actual: Actual
    journal: Journal
    group: CommitGroup
    options: ApplyOptions
