"""One test of a project, run on a twin: the sandbox in a temporary folder, with the engine that `apply` uses, over HTTP.

    seed ──> sandbox, state ──steps──> sandbox ──asked──> plan, readers, pages ──> mismatches

Nothing else is reached: no service, no state of the project, no variable of the environment. The same test gives the same result, because
ids are counted and requests are sent one at a time.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from reconciler import exits
from reconciler.address import Address, bare
from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.errors import ConfigError, ReconcilerError, Refused
from reconciler.features.testing.declared import TwinStep
from reconciler.features.testing.expectations import Counts, Expectation, IsBlocked, IsRefused, Refusal, ServedPage, Snapshot, lines_of
from reconciler.features.testing.model import Mismatch, ProjectTestResult
from reconciler.features.testing.twin.colleague import calls_of_create, calls_of_delete, calls_of_edit, send, substituted
from reconciler.features.testing.twin.people import as_files_say, people_in_files
from reconciler.features.urls.redirects.required import canonical
from reconciler.kinds import load as load_kinds
from reconciler.model import NamedReader, Observed, Outcome, Plan, ReaderSort, Source, StepStatus
from reconciler.model.state import StateScope
from reconciler.plan.audience.people import some
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet, sheet_text
from reconciler.resource import Kinds
from reconciler.run import codes
from reconciler.run.applying import ApplyTarget, applying_to
from reconciler.run.connection.connecting import ConnectedService
from reconciler.run.connection.embedded import sandbox_errors
from reconciler.run.connection.seed_file import SeedFile, seed_errors
from reconciler.run.loading import keyed, now, sensitive_texts
from reconciler.run.narration import Narration
from reconciler.run.operation import EVERYTHING, Limits, Operation
from reconciler.run.stages import Planned, PlanSource, checked, make
from reconciler.state import Store
from reconciler.text.masks import Masks

TWIN, STATE, WHO = "twin.db", "state.db", "reconciler test"
WIDTH: Final = 100  # columns of a snapshot, whatever the terminal


@dataclass(frozen=True)
class ProjectTest:
    """One test, ready to be run. `seed`: what exists before, of which `seed_file` is a part; `before`: the project that is applied first.
    `folder`: that of its file, where its snapshots are. `seeded`: the e-mails of the people whom the seed has, beside those that a project
    assumes."""

    name: str
    source: Source
    project: Project
    steps: tuple[TwinStep, ...]
    expectations: tuple[Expectation, ...]
    seed: Mapping[str, Any]
    seed_file: SeedFile | None = None
    before: Project | None = None
    folder: Path = Path()
    sort: str = "test"
    seeded: frozenset[str] = frozenset()

    @property
    def snapshots(self) -> tuple[str, ...]:
        """The names of its snapshots, relative to its folder."""
        return tuple(item.name for item in self.expectations if isinstance(item, Snapshot))


def run_test(test: ProjectTest, snapshots: Mapping[str, str], *, update: bool = False) -> ProjectTestResult:
    """The result of a test. `snapshots`: the texts of those that exist, by name. `update`: the plan is returned for each instead of
    compared."""
    result = ProjectTestResult(test.name, test.source, test.sort, test.project.desired.environment)
    try:
        with tempfile.TemporaryDirectory(prefix="reconciler-test-") as folder, ExitStack() as stack:
            twin = _started(test, Path(folder), snapshots, stack)
            if test.before is not None:
                twin.mismatches += twin.steps((TwinStep("apply", test.source),), as_files_say(twin.kinds, test.before, test.seeded))
            twin.mismatches += twin.steps(test.steps, twin.project)
            mismatches = [*twin.mismatches, *twin.unexpected_refusals(test), *twin.unfinished(test)]
            for expectation in test.expectations:
                if not (update and isinstance(expectation, Snapshot)):
                    mismatches += expectation.check(twin.kinds, twin)
            texts = tuple((name, twin.text) for name in test.snapshots) if update else ()
            shown = twin.voice.masks.data(tuple(dict.fromkeys(mismatches)))
            wrong, left = (tuple(item for item in shown if item.left is is_left) for is_left in (False, True))
            return replace(result, mismatches=wrong, left=left, written=texts)
    except ConfigError as error:
        return replace(result, problems=error.problems)
    except ReconcilerError as error:
        return replace(result, mismatches=(Mismatch(test.source, f"it could not be run: {error.message}", id=error.id),))


def _started(test: ProjectTest, folder: Path, snapshots: Mapping[str, str], stack: ExitStack) -> RunningTwin:
    """A new twin that holds what the test says."""
    with sandbox_errors():
        from reconciler.sandbox.server import embedded  # an extra: the sandbox needs its packages
        from reconciler.sandbox.store import Store as Sandbox
    file, counts = folder / TWIN, Counter[str]()

    def new_id(prefix: str) -> str:
        counts[prefix] += 1
        return f"{prefix}_{counts[prefix]}"

    with sandbox_errors(), seed_errors(test.seed_file):
        running = stack.enter_context(embedded(file, seed=test.seed, new_id=new_id))
    voice = Narration(Masks())
    voice.hide([running.token])
    # One request at a time, so that everything is created in the same order every time.
    settings = ClientSettings(running.base_url, running.token, max_concurrency=1, secrets=voice.masks.values)
    service = ConnectedService(f"sandbox:{running.identity}", settings, "the twin", embedded=True)
    scope = StateScope(test.project.settings.project, test.project.desired.environment, service.identity)
    state = stack.enter_context(Store.open(f"sqlite:///{folder / STATE}", scope, clock=now, create=True, beside=folder))
    sandbox = Sandbox(file)
    stack.callback(sandbox.close)
    kinds = keyed(load_kinds(), state.digest_key(), test.project)
    voice.hide(sensitive_texts(test.project, kinds))
    limits = EVERYTHING if all(step.consent for step in test.steps) else Limits()
    project = as_files_say(kinds, test.project, test.seeded)
    return RunningTwin(voice, kinds, service, state, sandbox, project, Operation(limits=limits), snapshots, seeded=test.seeded)


@dataclass
class RunningTwin:
    """A twin while its test runs. `operation`: the consents of the fresh plan. `mismatches`: the steps that failed."""

    voice: Narration
    kinds: Kinds
    service: ConnectedService
    state: Store
    sandbox: Any
    project: Project
    operation: Operation
    snapshots: Mapping[str, str]
    # The e-mails of people whom the seed has, beside those that the project assumes.
    seeded: frozenset[str] = frozenset()
    mismatches: list[Mismatch] = field(default_factory=list)
    # Of each apply in its order; None if it was not refused.
    refusals: list[Refusal | None] = field(default_factory=list)
    # Of each apply in its order that was not refused, with its step.
    outcomes: list[tuple[TwinStep, Outcome]] = field(default_factory=list)
    known: set[Address] = field(default_factory=set)

    # -- steps -----------------------------------------------------------------------------------------------------------------------

    def steps(self, steps: Collection[TwinStep], project: Project) -> Iterator[Mismatch]:
        """Do these steps with a project; a mismatch for each that fails."""
        do = {
            "apply": self._apply,
            "plan": self._plan,
            "edit": self._edit,
            "create": self._create,
            "delete": self._delete,
            "api": self._call,
        }
        for step in steps:
            try:
                yield from do[step.sort](step, project)
            except ReconcilerError as error:
                yield Mismatch(step.source, f"{step.sort} failed: {error.message}", id=error.id)
            self.known.update(self.state.read().bindings)

    def _apply(self, step: TwinStep, project: Project) -> Iterator[Mismatch]:
        limits = EVERYTHING if step.consent else Limits()
        self.refusals.append(None)
        operation = Operation(limits=limits)
        target = ApplyTarget(self.voice, self.service, self.kinds, project, operation)
        with applying_to(self.state, target, who=WHO, command="apply") as session:
            journal = session.journal
            try:
                planned = session.plan()
                planned.check(limits)
            except Refused as refused:
                self.refusals[-1] = Refusal(refused.id, refused.message, step.source)
                journal.finish(exit_code=refused.exit_code, summary={})
                return
            outcome = session.apply(planned, on_error="continue")
            if session.signal is not None:
                raise self.operation.supervision.signals.raised()
            journal.finish(exit_code=codes.of_outcome(outcome), summary=outcome.summary)
        self.outcomes.append((step, outcome))
        for result in outcome.results:
            if result.status is not StepStatus.DONE:
                wrong = f"{result.step.address}: {result.step.verb} {result.status}: {result.error}"
                yield Mismatch(step.source, f"apply failed at {wrong}", id=result.id or "RC-test-step-failed")

    def _plan(self, step: TwinStep, project: Project) -> Iterator[Mismatch]:
        self._planned(project)
        yield from ()

    def _planned(self, project: Project) -> Planned:
        """A plan that finds what a step is about, whatever an apply would refuse of it."""
        return self._read(project, Operation(limits=EVERYTHING))

    def _read(self, project: Project, operation: Operation) -> Planned:
        async def read() -> Planned:
            async with Reader(self.service.settings, listener=self.voice) as reader:
                return await make(PlanSource(reader), self.kinds, project.desired, self.state.read(), operation)

        return checked(asyncio.run(read()))

    def _edit(self, step: TwinStep, project: Project) -> Iterator[Mismatch]:
        planned, address = self._planned(project), self._address(step)
        id = planned.matches.id(address)
        if id is None:
            yield self._missing(step)
            return
        observed = planned.actual.find(self.kinds.of(address).name, id)
        calls = calls_of_edit(self.kinds, address, step.values, planned.matches.ids, observed)
        if isinstance(calls, str):
            yield Mismatch(step.source, calls, id="RC-test-step-failed")
            return
        for method, path, body in calls:
            yield from self._sent(step, method, path, body)

    def _create(self, step: TwinStep, project: Project) -> Iterator[Mismatch]:
        ids = self._planned(project).matches.ids
        for method, path, body in calls_of_create(self.kinds, self._address(step), step.values, ids):
            yield from self._sent(step, method, path, body)

    def _delete(self, step: TwinStep, project: Project) -> Iterator[Mismatch]:
        planned, address = self._planned(project), self._address(step)
        id = planned.matches.id(address)
        calls = calls_of_delete(self.kinds, address, planned.matches.ids, planned.actual) if id is not None else []
        if id is None:
            yield self._missing(step)
        if isinstance(calls, str):
            yield Mismatch(step.source, calls, id="RC-test-step-failed")
            return
        for method, path, body in calls:
            yield from self._sent(step, method, path, body)

    def _call(self, step: TwinStep, project: Project) -> Iterator[Mismatch]:
        ids = self._planned(project).matches.ids if "{" in f"{step.path}{step.body}" else {}
        path, body, missing = substituted(step.path, step.body, ids)
        if missing:
            wrong = f"{', '.join(missing)} has no object on the twin, or is not declared"
            yield Mismatch(step.source, wrong, id="RC-test-step-failed")
            return
        yield from self._sent(step, step.method, path, body)

    def _sent(self, step: TwinStep, method: str, path: str, body: Any) -> Iterator[Mismatch]:
        refusal = send(self.service.settings.base_url, self.service.settings.token, method, path, body)
        if refusal is not None:
            yield Mismatch(step.source, f"{step.sort}: {method} {path} was refused: {refusal}", id="RC-test-step-failed")

    @staticmethod
    def _address(step: TwinStep) -> Address:
        assert step.address is not None
        return step.address

    @staticmethod
    def _missing(step: TwinStep) -> Mismatch:
        wrong = f"{step.sort}: {step.address} does not exist on the twin; apply first, or add it to the seed"
        return Mismatch(step.source, wrong, id="RC-test-step-failed")

    def unexpected_refusals(self, test: ProjectTest) -> Iterator[Mismatch]:
        """The refusals that the test does not ask for: it can ask for that of the last apply."""
        is_asked = any(isinstance(item, IsRefused) for item in test.expectations)
        for refusal in self.refusals[:-1] if is_asked else self.refusals:
            if refusal is not None:
                first, *lines = refusal.message.splitlines()
                texts = tuple(line.strip() for line in lines)
                yield Mismatch(refusal.source, f"apply was refused: {first}", lines=texts, id=refusal.id)

    def unfinished(self, test: ProjectTest) -> Iterator[Mismatch]:
        """The applies that ended with another exit code than 0, although every request was done. What the test expects to be blocked may
        be, and what waits for a second run may wait where another apply follows."""
        asks = [item.asks_for for item in test.expectations if isinstance(item, IsBlocked | Counts)]
        for number, (step, outcome) in enumerate(self.outcomes, start=1):
            plan = outcome.plan
            asked = {item.address for item in plan.blocked if any(is_asked(item) for is_asked in asks)}
            blocked = tuple(item for item in plan.blocked if asked.isdisjoint((item.address, item.cause)))
            left = replace(plan, blocked=blocked, deferred=plan.deferred if number == len(self.outcomes) else {})
            code = codes.of_outcome(replace(outcome, plan=left))
            if code != exits.DONE and outcome.went_through:
                texts = (*lines_of((), blocked), *(f"{address}: deferred, {why}" for address, why in left.deferred.items()))
                others = tuple(line.strip() for line in self._text(outcome_sheet(outcome)).splitlines() if line.strip())
                wrong = f"apply ends with exit code {code}: {exits.MEANINGS[code]}"
                yield Mismatch(step.source, wrong, lines=texts or others, id="RC-test-step-failed")

    @property
    def refusal(self) -> Refusal | None:
        """That of the last apply."""
        return self.refusals[-1] if self.refusals else None

    # -- what expectations ask -------------------------------------------------------------------------------------------------------

    @cached_property
    def last(self) -> Planned:
        """A fresh plan after the last step."""
        return self._read(self.project, self.operation)

    @property
    def plan(self) -> Plan:
        return self.last.plan

    @cached_property
    def text(self) -> str:
        return self._text(plan_sheet(self.voice.masks.data(self.plan), full=True))

    @staticmethod
    def _text(sheet: Sheet) -> str:
        spans = sheet_text(sheet, width=WIDTH)
        return "".join(line.rstrip() + "\n" for line in "".join(span.text for span in spans).splitlines())

    @cached_property
    def ids(self) -> Mapping[Address, str]:
        """Of everything that exists: a deleted object keeps its id for as long as it can be restored."""
        return {address: id for address, id in self.last.matches.ids.items() if not self._is_deleted(address, id)}

    def _is_deleted(self, address: Address, id: str) -> bool:
        observed = self.last.actual.find(self.kinds.of(address).name, id)
        return observed is not None and observed.deleted_at is not None

    def find(self, address: Address) -> Observed | None:
        id = self.ids.get(address)
        return self.last.actual.find(self.kinds.of(address).name, id) if id is not None else None

    def read_by(self, reader: NamedReader, *, informed: bool) -> Collection[tuple[str, str]]:
        from reconciler.sandbox.sites.named import read_by

        role, who = reader.role if reader.sort is ReaderSort.ROLE else None, self._reader(reader, informed=informed)
        if reader.person is None:
            return read_by(self.sandbox, who, role)
        each = [read_by(self.sandbox, who, member=id) for id in self._people(reader)]
        return frozenset.union(*each) if informed else frozenset.intersection(*each)

    def nobody(self, reader: NamedReader) -> str:
        if reader.person is None:
            return ""
        people, known = self._people(reader), people_in_files(self.project.desired, self.seeded)
        unknown = sorted(email for email in people.values() if email not in known) if people else [reader.says]
        way = "declare the role in members, or add it to the seed"
        return f"no file says what {some(unknown)} may do, so the test proves nothing; {way}" if unknown else ""

    def _people(self, reader: NamedReader) -> Mapping[str, str]:
        """The e-mails of the people on the twin that a reader stands for, by id."""
        from reconciler.sandbox.sites.named import people_in

        assert reader.person is not None
        home, team = self.ids.get(reader.person.root, ""), bare(self.ids.get(reader.person, ""))
        people = people_in(self.sandbox, home, team if reader.sort is ReaderSort.TEAM else None)
        named = {id: email.lower() for id, email in people.items()}
        return named if reader.sort is ReaderSort.TEAM else {id: email for id, email in named.items() if email == reader.person.key.lower()}

    def _reader(self, reader: NamedReader, *, informed: bool) -> Any:
        """A reader as the sandbox knows them."""
        from reconciler.sandbox.sites.named import key_of
        from reconciler.sandbox.sites.readers import Reader

        match reader.sort:
            case ReaderSort.LINK:
                link = self.ids.get(reader.link) if reader.link is not None else None
                return Reader(address=True, shareKey=key_of(self.sandbox, link) if link is not None else None)
            case ReaderSort.CLAIMS:
                return Reader(claims=dict(reader.claims))
            case ReaderSort.AGENT:
                return Reader(agent=True)
            case _:
                return Reader(address=informed)

    def pages(self, reader: NamedReader, site: Address | None, path: str) -> Mapping[str, ServedPage | None]:
        from reconciler.sandbox.sites.named import pages_at

        id = None if site is None else self.ids.get(site, "")
        # As a server is asked for it: without a query and an anchor, and without escapes.
        path = unquote(urlsplit(canonical(self.service.settings.base_url + path) or path).path)
        addresses = {(self.kinds.of(address).name, id): str(address) for address, id in self.ids.items()}
        who = self._reader(reader, informed=True)  # whoever asks for a URL knows it
        return {
            addresses.get(page.site, page.name): None
            if page.title is None
            else ServedPage(addresses.get(page.space, page.space[1]), page.title)
            for page in pages_at(self.sandbox, self.service.settings.base_url, path, who, id)
        }

    def snapshot(self, name: str) -> str | None:
        return self.snapshots.get(name)
