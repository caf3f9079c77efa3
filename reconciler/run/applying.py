"""One apply: recover, plan, apply, with one client that can write, under the lease on the state."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeVar

from reconciler import exits
from reconciler.apply import FRESH, ApplyOptions, apply
from reconciler.apply.recover import recover
from reconciler.client.answers import Answer
from reconciler.client.service import Writer
from reconciler.config import Project
from reconciler.errors import Refused
from reconciler.model import Actual, Desired, Listener, Outcome, State
from reconciler.observe import observe
from reconciler.resource import Kinds
from reconciler.run import codes
from reconciler.run.connection.connecting import ConnectedService, recording_end
from reconciler.run.loading import keyed
from reconciler.run.opened import Run
from reconciler.run.operation import Operation
from reconciler.run.planning import make
from reconciler.run.stages import Planned, PlanSource, checked
from reconciler.run.voice import Voice
from reconciler.seams import Seam
from reconciler.state import Journal, Store

T = TypeVar("T")


@dataclass(frozen=True)
class ApplyTarget:
    """What is applied, and to which service. `kinds`: with the key of the state's digests."""

    voice: Voice
    service: ConnectedService
    kinds: Kinds
    project: Project
    operation: Operation


class BesideApply(NamedTuple):
    """What a feature does beside an apply.

    `checks`: before anything is sent; raises where `ends` could not do its part. `begins`: before the first request. `ends`: behind the
    last one, and after a run that stopped; returns False, having said why, where something is left to do.
    """

    checks: Callable[[ApplySession, Planned], None]
    begins: Callable[[ApplySession, Planned], None]
    ends: Callable[[ApplySession, Planned], bool]


BESIDE: Final[Seam[BesideApply]] = Seam("apply", "what features do beside an apply")


class ApplySession:
    """One apply: a writer for several phases in one event loop, under the lease.

    `desired` and `operation`: what is planned and applied; the project as it is, unless somebody sets something else. `alone`: it neither
    continues the last run nor is continued by the next, so that each asks what it opens. `listener`: who hears of requests and steps, the
    voice unless somebody else is given.
    """

    def __init__(self, target: ApplyTarget, journal: Journal, listener: Listener | None = None) -> None:
        self.voice, self.service, self.kinds, self.project = target.voice, target.service, target.kinds, target.project
        self.journal, self.operation, self.listener = journal, target.operation, listener or target.voice.listener
        self.desired = target.project.desired
        self.alone = False
        self.signal: int | None = None
        # One loop for all phases: the connections of the client belong to it and are kept between recovery, plan and apply.
        self._runner = asyncio.Runner()
        self._writer: Writer | None = None
        self._earlier: tuple[Mapping[str, Answer], float] | None = None

    def __enter__(self) -> ApplySession:
        self._writer = self._runner.run(self._open())
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            if self._writer is not None:
                self._runner.run(self._writer.__aexit__(None, None, None))
        finally:
            self._runner.close()

    async def _open(self) -> Writer:

        return await Writer(self.service.settings, listener=self.listener).__aenter__()

    @property
    def writer(self) -> Writer:
        assert self._writer is not None
        return self._writer

    def recover(self) -> tuple[str, ...]:
        """Resolve what earlier runs left in doubt; returns a sentence for each."""
        if not self.journal.open_intents() and not self.journal.unsaved_endings():
            return ()
        lasting = self.service.effect_seconds(self.project)
        with self.voice.phase("Resolving requests in doubt"):
            return self._runner.run(recover(self.writer, self.kinds, self.project.desired, self.journal, settle=lasting, wait=self._wait))

    async def _wait(self, seconds: float, why: str) -> None:
        self.voice.waiting(seconds, why)
        await asyncio.sleep(seconds)

    def look(self, desired: Desired) -> Actual:
        """What there is of a Desired and the state; the next `plan` asks only for what was not answered here, unless it comes late."""
        began = time.monotonic()
        with self.voice.phase(f"Reading {desired.project}", where=self.service.where), self.writer.keeping() as answers:
            actual = self._runner.run(observe(self.writer, self.kinds, desired, self.journal.state()))
        self._earlier = (answers, began)
        return actual

    def _fresh_reading(self) -> tuple[Mapping[str, Answer], float] | None:
        """What `look` was answered, once, and only while nothing of it would have to be read again before it is written."""
        earlier, self._earlier = self._earlier, None
        return earlier if earlier is not None and time.monotonic() - earlier[1] <= FRESH else None

    def _state(self) -> State:
        state = self.journal.state()
        return replace(state, consents=frozenset()) if self.alone else state

    def plan(self) -> Planned:
        """A plan of the present state of the service."""
        earlier, stage = self._fresh_reading(), self.voice.stage
        reading = self.voice.phase(f"Reading {self.desired.project}", where=self.service.where)
        with reading if earlier is None else self.voice.lasting("Reading what the plan needs"):
            source = PlanSource(self.writer, self.journal, earlier=earlier)
            planned = self._runner.run(make(source, self.kinds, self.desired, self._state(), self.operation, stage=stage))
        return checked(planned)

    def apply(self, planned: Planned, *, on_error: Literal["continue", "stop"], verify: Literal["written", "full"] = "written") -> Outcome:
        """Apply a plan. The first signal stops it after the requests under way, and `signal` is its number."""
        steps = planned.plan.steps
        for beside in BESIDE:
            beside.begins(self, planned)
        with self.voice.phase(f"Applying {len(steps):,} request{'s' if len(steps) != 1 else ''}", steps) if steps else nullcontext():
            return self._runner.run(self._apply(planned, on_error, verify))

    def carry_out(
        self, planned: Planned, *, on_error: Literal["continue", "stop"], verify: Literal["written", "full"] = "written"
    ) -> tuple[Outcome, int]:
        """Apply a plan, and let features do what is theirs; the outcome, and the exit code of the run so far.

        Raises `UsageError` before anything is sent if one of them could not do it.
        """
        for beside in BESIDE:
            beside.checks(self, planned)
        outcome = self.apply(planned, on_error=on_error, verify=verify)
        done = [beside.ends(self, planned) for beside in BESIDE]
        code = codes.of_outcome(outcome, signal=self.signal)
        return outcome, code if all(done) else exits.strongest([code, exits.PARTLY])

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns, which may use the writer."""
        return self._runner.run(work)

    async def _apply(self, planned: Planned, on_error: Literal["continue", "stop"], verify: Literal["written", "full"]) -> Outcome:

        # What an undo opens was asked for this once. The next apply must not find it in the state as something agreed to.
        plan = replace(planned.plan, consents=()) if self.alone else planned.plan
        stop, supervision = asyncio.Event(), self.operation.supervision
        signals = supervision.signals

        def stop_after_these() -> None:
            stop.set()
            self.voice.say("Stopping: no new requests are sent; requests under way get 5 seconds. Press Ctrl-C again to exit immediately.")

        if supervision.begin is not None and (refused := await supervision.begin()) is not None:
            raise Refused(f"nothing was sent: {refused}", id="RC-apply-held")

        with signals.stopping(partial(asyncio.get_running_loop().call_soon_threadsafe, stop_after_these)):
            outcome = await apply(
                self.writer, self.kinds, self.desired, plan, planned.actual, self.journal,
                ApplyOptions(
                    deadline=self.project.settings.timeout, selection=planned.operation.selection, listener=self.listener,
                    on_error=on_error, stop=stop, verify=verify,
                    nonce=(lambda: secrets.token_hex(4)) if self.project.settings.marks else None,
                    settle=self.service.effect_seconds(self.project) or 0.0,
                    permission=supervision.permission,
                ),
            )  # fmt: skip
        self.signal = signals.number if stop.is_set() else None
        # After a run that stopped, the old rules are still those that everything was applied under.
        if outcome.went_through and planned.plan.state_update.rules is not None:
            self.journal.remember_rules(planned.plan.state_update.rules)
        return outcome


@contextmanager
def applying(run: Run, command: str) -> Iterator[tuple[Store, ApplySession]]:
    """The state, and a session that applies, under one lease. The state is locked before the service is read, so that no other run changes
    either in between."""
    with run.leased(command) as (store, journal):
        kinds = keyed(run.plain, store.digest_key(), run.project)
        with ApplySession(ApplyTarget(run.voice, run.service, kinds, run.project, run.operation), journal) as session:
            yield store, session


@contextmanager
def applying_to(store: Store, target: ApplyTarget, *, who: str, command: str, listener: Listener | None = None) -> Iterator[ApplySession]:
    """The same over a state that is open: that of a copy."""
    with (
        store.lease(who=who, command=command) as journal,
        recording_end(journal),
        ApplySession(target, journal, listener) as session,
    ):
        yield session
