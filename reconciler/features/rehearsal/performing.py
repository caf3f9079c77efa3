"""A rehearsal: the living organization is read, copied, and the plan is applied to the copy with the engine that `apply` uses, and undone.

    living service --GET--> answers -> copy (a sandbox in a temporary folder)
    living state   --read-> a document -> state of the copy
                                            plan, apply: after every write the copy is asked what readers see
                                            plan again, undo, compare

The living service is reached through a client that cannot write, and the living state is opened for reading. What `apply` would refuse is
noted instead: nothing that happens on the copy needs consent.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reconciler import exits
from reconciler.address import Address, bare
from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.features.rehearsal.access import AccessMoments, asked_readers
from reconciler.features.rehearsal.assumptions import assumptions
from reconciler.features.rehearsal.copying import LivingAnswers, read_living, root_ids
from reconciler.features.rehearsal.differences import Rows, leftovers, rows_of
from reconciler.features.rehearsal.model import DeletedObject, Divergence, Rehearsal
from reconciler.features.rehearsal.moments import Moments
from reconciler.features.rehearsal.people import new_people
from reconciler.features.rehearsal.predictions import PlannedWorld, RehearsedWorld, divergences, second_plan
from reconciler.features.rehearsal.preview import preview_of, rehearsed_sites
from reconciler.features.rehearsal.redirects import tested_redirects
from reconciler.features.rehearsal.report import step_text
from reconciler.features.undo.session import change_state, inverse_of, undo_only
from reconciler.features.work.guard import listed_sorts
from reconciler.features.work.model import OPEN_WORK
from reconciler.model import NamedReader, Outcome, Plan, ReaderSort, Severity, Step, StepStatus
from reconciler.model.listener import Following, Listener
from reconciler.model.state import StateScope
from reconciler.plan.matching.match import identify
from reconciler.report.documents import plan_document
from reconciler.run.applying import ApplySession, ApplyTarget, applying_to
from reconciler.run.connection.connecting import ConnectedService, current_user, recording_end
from reconciler.run.connection.embedded import embedded, sandbox_errors
from reconciler.run.guards import is_consent
from reconciler.run.loading import now
from reconciler.run.narration import current_step
from reconciler.run.opened import Run
from reconciler.run.operation import Limits
from reconciler.run.saved.use import SavedPlanUse
from reconciler.run.stages import Planned, checked
from reconciler.state import Store
from reconciler.text.escape import as_json

COPY, STATE = "copy.db", "state.db"
SHOWN = 500  # characters of what a plan says about an address


def rehearse(
    run: Run, use: SavedPlanUse | None = None, *, everything: bool = False, limited: Callable[[Planned], Planned] = lambda planned: planned
) -> Rehearsal:
    """Apply the plan of a run to a copy of what the service holds now. `use`: of a saved plan, which limits it. `everything`: make the plan
    from all that exists. `limited`: the plan with the limits of its operation, before anything is copied; may raise.

    Raises what reading raises, `NotASandbox`, and `StalePlan` where the saved plan does not hold.
    """
    with sandbox_errors():
        from reconciler.sandbox import copies  # an extra: the sandbox needs its packages
    voice, project, service, operation = run.voice, run.project, run.service, run.operation
    with run.store() as store:
        document = store.pull()
        with run.reading(), use.fitting() if use is not None else nullcontext():
            planned, read = run.ask(lambda reader: _read(run, reader, copies.wanted, everything))
        planned = limited(planned)
        if use is not None:
            approval = use.valid(planned, project, store)
            planned, operation = approval.planned, operation.only(approval.only)
    refusals = _refusals(planned, use.limits if use is not None else planned.operation.limits)
    with tempfile.TemporaryDirectory(prefix="reconciler-rehearsal-") as folder, sandbox_errors():
        copy = Path(folder) / COPY
        copies.write_copy(copy, copies.copied(service.settings.base_url, read.answers), refused=read.refused)
        with embedded(copy, None, None) as running:
            voice.hide([running.token])
            # One request at a time: what readers see after each is asked before the next is sent.
            settings = ClientSettings(running.base_url, running.token, max_concurrency=1, secrets=voice.masks.values)
            twin = ConnectedService(f"sandbox:{running.identity}", settings, "the copy", embedded=True)
            url = f"sqlite:///{Path(folder) / STATE}"
            scope = StateScope(project.settings.project, operation.environment or None, twin.identity)
            with Store.open(url, scope, clock=now, create=True, beside=Path(folder)) as twin_state:
                target = ApplyTarget(voice, twin, run.kinds, project, operation)
                copied_run = CopiedRun(target, twin_state, copy, service.settings.base_url)
                if document is not None:
                    copied_run.carry(document)
                rehearsal = copied_run.perform(planned, read, refusals)
    return rehearsal if use is None else replace(rehearsal, plan_digest=use.saved.digest)


async def _read(run: Run, reader: Reader, wanted: Any, everything: bool) -> tuple[Planned, LivingAnswers]:
    """The plan for the living service, and everything that a copy of it needs, in one reading."""
    with reader.keeping() as answers:
        # The copy needs the trees of pages too, so that those of the state would save no request.
        planned = checked(await run.make(reader, everything=everything, rereads=True))
    read = await read_living(reader, run.kinds, root_ids(run.project.desired), wanted, earlier=dict(answers))
    # What only the plan asked for, such as an object by its id.
    unknown = planned.actual.unknown
    unread = (*read.unread, *(f"{some.kind}: {some.reason}" for some in unknown))
    refused = {*read.refused, *(some.path for some in unknown if some.path)}
    return planned, replace(read, unread=tuple(dict.fromkeys(unread)), refused=tuple(sorted(refused)), requests=reader.requests)


def _refusals(planned: Planned, limits: Limits) -> tuple[str, ...]:
    """What `apply` would refuse about this plan: all of it, where `apply` ends with the first."""
    refusals: list[str] = []
    for refused in planned.refusals(limits):
        first, *lines = refused.message.splitlines()
        end = "; this requires consent" if is_consent(refused) else ""
        refusals += [f"{line.strip()}{end}" for line in lines] or [first]
    return (*refusals, *(f"{blocked.address}: {blocked.reason}" for blocked in planned.plan.blocked))


class _Following(Following):
    """Tells `moments` of every write that was answered. `plan`: what its steps are for."""

    def __init__(self, before: Listener, moments: Moments, access: AccessMoments, plan: Plan) -> None:
        super().__init__(before)
        self.moments, self.access, self.changes = moments, access, {change.address: change for change in plan.changes}
        self.last = {(step.address, name): step.id for step in plan.steps for name in step.writes}

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        self.before.answer(method, path, status, seconds)
        if method != "GET":
            step = current_step()
            address = step.address if step is not None else None
            self.moments.after(f"{method} {path}", address, self._request_text(step) if step is not None else "")
            self.access.after(self.moments.end)

    def _request_text(self, step: Step) -> str:
        later = [name for name in step.writes if self.last.get((step.address, name)) != step.id]
        return step_text(step, self.changes.get(step.address), later)


class CopiedRun:
    """A copy with its state, on which one plan is applied and undone. `copy`: its file; `base`: the URL of the original."""

    def __init__(self, target: ApplyTarget, state: Store, copy: Path, base: str) -> None:
        self.target, self.voice, self.project, self.kinds = target, target.voice, target.project, target.kinds
        self.twin, self.state, self.operation = target.service, state, target.operation
        self.copy, self.base, self.organizations = copy, base, root_ids(target.project.desired)

    def carry(self, document: Mapping[str, Any]) -> None:
        """Give the copy the state of the original."""
        checked = self.state.check({**document, "service": self.twin.identity})
        with self.state.lease(who=current_user(), command="rehearse") as journal, recording_end(journal):
            journal.replace(checked, force=True)
            journal.finish(exit_code=exits.DONE, summary={})

    def perform(self, planned: Planned, read: LivingAnswers, refusals: Sequence[str]) -> Rehearsal:
        """Apply, plan again, undo; and what all of it showed."""
        tests = self.project.desired.access
        from reconciler.sandbox.sites.moment import moment
        from reconciler.sandbox.sites.picture import picture
        from reconciler.sandbox.snapshot import exported
        from reconciler.sandbox.store import Store as Sandbox

        look = Sandbox(self.copy)
        try:
            export = partial(exported, look)
            asked = {name: _asked(reader) for name, reader in asked_readers(tests).items()}
            moments = Moments(partial(moment, look, self.base, self.organizations, asked))
            access = AccessMoments(moments.start)
            before, addresses = rows_of(export()), self._addresses()
            pictured = partial(picture, look, self.base, self.organizations)
            start = pictured()
            run, outcome, ours, again = self._applied(planned, moments, access)
            addresses |= self._addresses()
            end = pictured()
            people = new_people(PlannedWorld(self.kinds, self.project.desired, planned.plan, planned.actual, planned.matches))
            gained = moments.changes(moments.gained(), addresses, people)
            lost = moments.changes(moments.lost(), addresses)
            undone = self._undone(run, before, export, addresses)
        finally:
            look.close()
        refused = access.refusals(tests, addresses)
        redirects = tested_redirects(planned.plan, moments.start.urls, moments.end.urls)
        failures = [f"{result.step.address}: {result.error}" for result in outcome.results if result.status is not StepStatus.DONE]
        return Rehearsal(
            project=self.project.desired.project,
            environment=self.project.desired.environment,
            plan_digest=_digest(plan_document(planned.plan, created_at=now(), forecast=planned.forecast)["changes"]),
            reading_digest=_digest(read.answers),
            copy_requests=read.requests,
            writes=len(moments.rows),
            unread=(*_unread(read, addresses), *_otherwise(ours.plan, planned.plan, read)),
            remaining=_remaining(again.plan),
            undo_exact=not undone,
            leftovers=undone,
            gained=gained,
            lost=lost,
            urls_before=len(moments.start.urls),
            urls_after=len(moments.end.urls),
            dead=moments.dead(),
            moved=moments.moved(),
            moments=tuple(
                replace(row, refused=tuple(refusal.text for refusal in refused if row.after in refusal.after)) for row in moments.judged()
            ),
            forbidden=bool(refused) or any(violation.level is Severity.ERROR for violation in planned.plan.violations),
            refusals=(*refusals, *map(str, refused)),
            failures=tuple(failures),
            divergences=() if failures else (*self._divergences(planned, ours, again, read, moments, addresses), *redirects.defects),
            redirects=redirects.asked,
            broken_redirects=() if failures else redirects.broken,
            assumptions=assumptions(self.kinds, planned.plan),
            open_work=tuple(
                f"{work.address} ({work.effect}): {listed_sorts(work)}" for work in planned.plan.feature(OPEN_WORK).works if not work.asked
            ),
            deleted=_deleted(planned.plan, moments, addresses, {id: len(content["pages"]) for id, content in start.contents.items()}),
            sites=rehearsed_sites(moments, start, end, addresses),
            closed=moments.closed_groups(),
            preview=preview_of(moments, start, end, addresses),
        )

    def _applied(self, planned: Planned, moments: Moments, access: AccessMoments) -> tuple[str, Outcome, Planned, Planned]:
        """The run, its outcome, the plan of the copy, and the plan after it."""
        following = _Following(self.voice.listener, moments, access, planned.plan)
        with self._applying("rehearse", following) as session:
            ours = session.plan()
            outcome = self._sent(session, ours)
            session.journal.finish(exit_code=exits.DONE, summary={status.value: outcome.count(status) for status in StepStatus})
            return session.journal.run, outcome, ours, session.plan()

    def _applying(self, command: str, listener: Listener | None = None) -> AbstractContextManager[ApplySession]:
        return applying_to(self.state, self.target, who=current_user(), command=command, listener=listener)

    def _divergences(
        self,
        planned: Planned,
        ours: Planned,
        again: Planned,
        read: LivingAnswers,
        moments: Moments,
        addresses: Mapping[tuple[str, str], Address],
    ) -> tuple[Divergence, ...]:
        """Where the planner said something else than the copy showed. Every request succeeded."""
        if read.unread and not read.refused:
            return ()  # an answer was of no use, which the copy cannot repeat
        if read.unread and not _same(ours.plan, planned.plan, why=False):
            return ()  # said with what could not be read
        if not _same(ours.plan, planned.plan, why=not read.unread):
            address, prediction, observation = _first_difference(ours.plan, planned.plan)
            return (Divergence(prediction, observation, address),)
        observed = RehearsedWorld(moments, addresses, again.plan, again.actual, again.matches.ids)
        if read.unread or planned.plan.unknown:
            # The copy lacks what could not be read, and refuses to show it; so does the planner's model.
            return second_plan(planned.plan, observed)
        matches = identify(self.kinds, self.project.desired, planned.state, read.actual)
        return divergences(PlannedWorld(self.kinds, self.project.desired, planned.plan, read.actual, matches), observed)

    def _sent(self, session: ApplySession, planned: Planned) -> Outcome:
        """The outcome of a plan on the copy. Raises what a signal raises: half an apply shows nothing, and the copy is of no use."""
        outcome = session.apply(planned, on_error="continue")
        if session.signal is not None:
            raise self.operation.supervision.signals.raised()
        return outcome

    def _undone(self, run: str, before: Rows, export: Any, addresses: Mapping[tuple[str, str], Address]) -> tuple[str, ...]:
        """What differs from the start after an undo, with the reason where undo names one."""
        with self._applying("undo") as session:
            session.alone = True
            inverse = inverse_of(session, self.state, run)
            undo_only(session, inverse)
            outcome = self._sent(session, session.plan())
            change_state(session.journal, outcome, inverse)
            session.journal.finish(exit_code=exits.DONE, summary={})
        reasons = {cannot.address: cannot.reason for cannot in inverse.cannot}
        return leftovers(before, rows_of(export()), addresses, reasons)

    def _addresses(self) -> dict[tuple[str, str], Address]:
        bindings = self.state.read().bindings
        return {(binding.kind, bare(binding.id)): address for address, binding in bindings.items()}


def _asked(reader: NamedReader) -> Any:
    """A reader of an access test, as the sandbox describes readers."""
    from reconciler.sandbox.sites.asked import AskedReader
    from reconciler.sandbox.sites.readers import Reader as SandboxReader

    claims = dict(reader.claims) if reader.sort is ReaderSort.CLAIMS else None
    return AskedReader(SandboxReader(claims=claims, agent=reader.sort is ReaderSort.AGENT), reader.role or None)


def _deleted(
    plan: Plan, moments: Moments, addresses: Mapping[tuple[str, str], Address], pages: Mapping[str, int]
) -> tuple[DeletedObject, ...]:
    """What the plan deletes, and what readers could see and is deleted with it."""
    planned = {change.address: change for change in plan.changes if change.destructive}
    rows = {
        address: DeletedObject(change.kind, change.title or "", address, pages.get(bare(change.id or ""), 0))
        for address, change in planned.items()
    }
    others = [
        DeletedObject(kind, title, addresses.get((kind, id)), pages.get(id, 0))
        for (kind, id), title in moments.start.titles.items()
        if (kind, id) not in moments.end.titles and addresses.get((kind, id)) not in rows
    ]
    return (*rows.values(), *others)


def _same(ours: Plan, living: Plan, *, why: bool) -> bool:
    """Whether two plans do the same. `why`: they also give the same reasons for what is blocked, which name the answers of a service."""
    blocked = ([(some.address, some.reason if why else "") for some in plan.blocked] for plan in (ours, living))
    return (ours.changes, ours.steps, next(blocked)) == (living.changes, living.steps, next(blocked))


def _otherwise(ours: Plan, living: Plan, read: LivingAnswers) -> tuple[str, ...]:
    """Where another plan was applied to the copy than to the original, because of what could not be read."""
    if not read.unread or _same(ours, living, why=False):
        return ()
    address, prediction, observation = _first_difference(ours, living)
    return (
        f"{f'{address}: ' if address is not None else ''}not rehearsed, for lack of what could not be read: {prediction}; {observation}",
    )


def _unread(read: LivingAnswers, addresses: Mapping[tuple[str, str], Address]) -> tuple[str, ...]:
    """What could not be read, with the innermost managed object that each path is about."""
    by_id = {quote(id, safe=""): address for (_, id), address in addresses.items()}
    sentences = []
    for sentence in read.unread:
        about = [by_id[part] for part in re.split(r"[\s/?]", sentence) if part in by_id]
        sentences.append(f"{max(about, key=lambda address: len(address.parts))}: {sentence}" if about else sentence)
    return tuple(sentences)


def _first_difference(ours: Plan, living: Plan, *, why: bool = True) -> tuple[Address | None, str, str]:
    """The first address for which the plan of the copy is another one, and what both plans say about it."""
    our_acts, living_acts = _acts(ours, why=why), _acts(living, why=why)
    address = next((at for at in (*living_acts, *our_acts) if our_acts.get(at) != living_acts.get(at)), None)
    if address is None:
        return None, "the requests of the original, in their order", "the plan of the copy has them in another order"
    prediction, observation = ("; ".join(acts[address])[:SHOWN] if address in acts else "nothing to do" for acts in (living_acts, our_acts))
    return address, f"by the plan of the original, {prediction}", f"by the plan of the copy, {observation}"


def _acts(plan: Plan, *, why: bool) -> dict[Address, list[str]]:
    """What a plan says about each address: actions, requests, and why it is blocked. No values, which may be secret."""
    acts: dict[Address, list[str]] = defaultdict(list)
    for change in plan.changes:
        acts[change.address].append(" and ".join((*change.actions, *(delta.name for delta in change.fields))))
    for step in plan.steps:
        acts[step.address].append(" ".join((step.verb, *step.fields)))
    for blocked in plan.blocked:
        acts[blocked.address].append(f"blocked: {blocked.reason}" if why else "blocked")
    return acts


def _remaining(plan: Plan) -> tuple[str, ...]:
    """What a second plan would still do."""
    return tuple(f"{step.address}: {step.verb}" for step in plan.steps)


def _digest(value: Any) -> str:
    return sha256(as_json(value).encode()).hexdigest()
