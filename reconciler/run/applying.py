"""One apply: recover, plan, apply, with one client that can write, under the lease on the state."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from reconciler import exits
from reconciler.apply import FRESH, ApplyOptions, apply
from reconciler.apply.recover import recover
from reconciler.client.answers import Answer
from reconciler.client.service import Writer
from reconciler.config import Project
from reconciler.errors import Refused, ServiceError
from reconciler.features.urls.model.ledger import CLOSED
from reconciler.features.urls.model.pages import AnsweringUrls
from reconciler.features.urls.model.redirects import RecordedUrls, RedirectPlan, url_settings
from reconciler.features.urls.read.ledger import read_answering, read_ledger
from reconciler.features.urls.redirects.planned import private_moves, with_redirects
from reconciler.features.urls.redirects.written import check_redirects, settled_redirects
from reconciler.model import Actual, Desired, Listener, Outcome, State
from reconciler.observe import observe
from reconciler.plan.audience.disclosure import caller
from reconciler.resource import Kinds
from reconciler.run import codes
from reconciler.run.connection.connecting import ConnectedService, recording_end
from reconciler.run.loading import keyed
from reconciler.run.opened import Run
from reconciler.run.operation import Operation
from reconciler.run.stages import Planned, PlanSource, checked, make
from reconciler.run.voice import Voice
from reconciler.state import Journal, Store


@dataclass(frozen=True)
class ApplyTarget:
    """What is applied, and to which service. `kinds`: with the key of the state's digests."""

    voice: Voice
    service: ConnectedService
    kinds: Kinds
    project: Project
    operation: Operation


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
            source = PlanSource(self.writer, self.journal.page_trees, self.journal.recorded_urls, earlier=earlier)
            planned = self._runner.run(make(source, self.kinds, self.desired, self._state(), self.operation, stage=stage))
        return checked(planned)

    def apply(self, planned: Planned, *, on_error: Literal["continue", "stop"], verify: Literal["written", "full"] = "written") -> Outcome:
        """Apply a plan. The first signal stops it after the requests under way, and `signal` is its number."""
        steps = planned.plan.steps
        if steps and self._keeps_ledger:
            # What answers now is public, whoever moved it there: a run that is killed leaves no other memory of it.
            self._recorded(planned.actual)
            if url_settings(self.project.desired) is not None:
                self.journal.remember_moves(private_moves(planned.plan))
            self.journal.doubt_urls()
        with self.voice.phase(f"Applying {len(steps):,} request{'s' if len(steps) != 1 else ''}", steps) if steps else nullcontext():
            return self._runner.run(self._apply(planned, on_error, verify))

    def carry_out(
        self, planned: Planned, *, on_error: Literal["continue", "stop"], verify: Literal["written", "full"] = "written"
    ) -> tuple[Outcome, int]:
        """Apply a plan, record what answers then, and write the files of redirects; the outcome, and the exit code of the run so far.

        Raises `UsageError` before anything is sent if one of these files cannot be written.
        """
        check_redirects(self.project.settings.root, planned.plan.redirects)
        outcome = self.apply(planned, on_error=on_error, verify=verify)
        written = self.settle_redirects(planned)
        code = codes.of_outcome(outcome, signal=self.signal)
        return outcome, code if written else exits.strongest([code, exits.PARTLY])

    async def _apply(self, planned: Planned, on_error: Literal["continue", "stop"], verify: Literal["written", "full"]) -> Outcome:

        # What an undo opens was asked for this once. The next apply must not find it in the state as something agreed to.
        plan = replace(planned.plan, consents=()) if self.alone else planned.plan
        self.journal.keep_trees(planned.trees)
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
                    deadline=self.project.settings.timeout, selection=self.operation.selection, listener=self.listener,
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

    def settle_redirects(self, planned: Planned) -> bool:
        """Record what answers after a run, and write the files of redirects. Returns False, and says why, if they could not be written."""
        redirects, settings = self._settled(planned), url_settings(self.project.desired)
        written = settled_redirects(self.voice, self.project.settings.root, redirects, planned.plan.redirects)
        if (
            written
            and redirects is not None
            and settings is not None
            and self.project.desired.writes_files
            and (planned.recorded.moves or self.journal.moves)
        ):
            self.journal.forget_moves()
        return written

    def _settled(self, planned: Planned) -> RedirectPlan | None:
        """Record in the ledger at which URLs pages answer after a run, and return the redirects that follow; None where nobody could look.

        Sends GET requests alone. What cannot be read is said, and changes neither the ledger nor the result of the run.
        """
        if not self._keeps_ledger or self.signal is not None:
            return None
        try:
            with self.voice.lasting("Recording published URLs"):
                actual = planned.actual
                if planned.plan.steps:
                    actual = self._runner.run(observe(self.writer, self.kinds, self.project.desired, self.journal.state()))
                after = self._recorded(actual)
        except ServiceError as error:
            self.voice.warn(f"The published URLs were not recorded: {error.message}", id="RC-ledger-not-updated")
            return None
        if url_settings(self.project.desired) is None:
            return None
        # What the plan knew as public counts as that, although what ended with the run is recorded by now.
        public = {**self.journal.recorded_urls().public, **planned.recorded.public}
        recorded = RecordedUrls(public, planned.recorded.moves)
        return with_redirects(self.project.desired, planned.plan, recorded, after=after).redirects

    @property
    def _keeps_ledger(self) -> bool:
        """Whether URLs are recorded: a ledger that has begun is continued without `urls:` too, or it would say what is not so."""
        return url_settings(self.project.desired) is not None or bool(self.journal.url_digests())

    def _recorded(self, actual: Actual) -> AnsweringUrls:
        """Record at which URLs pages answer; returns all that answer to anybody. Raises `ServiceError`."""
        return self._runner.run(self._read_ledger(actual))

    async def _read_ledger(self, actual: Actual) -> AnsweringUrls:
        known = self.journal.url_digests()
        called = caller(self.kinds, self.journal.state().addresses, actual.objects, actual.objects)
        reading, trees = await read_ledger(self.writer, self.kinds, actual, called, known, self.journal.page_trees)
        self.journal.keep_trees(trees)
        # What could not be read may still be published.
        open = {site for site, digest in known.items() if digest != CLOSED}
        gone = () if actual.unknown else open - reading.sites.keys() - reading.unread.keys()
        # By the service's clock, where it shows one: what happens to pages there has its times.
        self.journal.record_urls(reading.sites, gone, actual.date)
        for site, why in reading.unread.items():
            self.voice.warn(f"{site}: its published URLs were not recorded: {why}", id="RC-ledger-not-updated")
        answering, more = await read_answering(self.writer, self.kinds, actual, called, self.journal.page_trees)
        self.journal.keep_trees(more)
        return answering


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
