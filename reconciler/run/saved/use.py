"""`apply --plan FILE`: the conditions for applying a saved plan, and the messages about its parts that are no longer valid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.address import Address, Glob
from reconciler.cli.option_table import ROWS
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.errors import StalePlan, UsageError
from reconciler.model import Outcome, Plan, RecordedRun, StepStatus, Withheld
from reconciler.report.plan import plan_sheet
from reconciler.report.saved import saved_plan
from reconciler.report.schemas.plan import OriginData
from reconciler.report.sheet import sheet_text
from reconciler.report.words import count, listed
from reconciler.resource import Kinds
from reconciler.run.applying import ApplySession
from reconciler.run.connecting import ConnectedService
from reconciler.run.guards import check as check_plan
from reconciler.run.loading import now
from reconciler.run.operation import Limits
from reconciler.run.saved.approval import ApprovedPlan, approve, more_urls
from reconciler.run.saved.origin import sentence
from reconciler.run.saved.plan_file import Saved, check, digests_of, plan_inputs, read
from reconciler.run.stages import Planned, narrowed
from reconciler.run.unseen import Unseen
from reconciler.state import Store
from reconciler.text.names import HERE, clock_time

FRESH: Final = 10.0  # seconds; what was read longer ago is read again before anything is sent
NAMED: Final = 50  # addresses that are said at most
GLOBS_MAX: Final = 1_000  # patterns of one option; more than anybody types
AGAIN: Final = "Create a new one: reconciler plan --out FILE."


@dataclass
class Use:
    """One use of a saved plan. `options`: those of the command line, with the scope of the run from the file.

    `same`: whether the evaluated configuration is that of the file; None if the file does not contain its digest.
    """

    screen: Screen
    options: Options
    saved: Saved
    partial: bool
    ask: bool
    approval: ApprovedPlan | None = field(default=None, init=False)
    same: bool | None = field(default=None, init=False)

    def check_project(self, project: str) -> None:
        """Raise `StalePlan` if the file was created for another project or environment. Called before a connection creates a sandbox."""
        self._same("project", self.saved.document["project"], project)
        self._same("environment", self.saved.document["environment"], self.options.env or None)

    def check_service(self, service: ConnectedService) -> None:
        """Raise `StalePlan` if the file was created for another service."""
        self._same("service", self.saved.document["service"], service.identity)

    def _same(self, what: str, asked: str | None, now: str | None) -> None:
        if asked != now:
            wrong = f"{self.saved.path} was created for the {what} {_quoted(asked)}, and this is {_quoted(now)}"
            raise StalePlan(wrong, id="RC-saved-plan-elsewhere", hint=AGAIN)

    def check_new(self, new: Unseen) -> None:
        """Raise `StalePlan` if the file was created from a state, and this one has never seen the project."""
        if self.saved.document["digests"]["lineage"] != "":
            reason = f"{self.saved.path} was created from a different state"
            wrong = f"{reason}: {new.fact[0].lower()}{new.fact[1:].rstrip('.')}"
            raise StalePlan(wrong, id="RC-saved-plan-other-state", hint=f"Correct {new.named}. {AGAIN}")

    def applied_before(self, store: Store) -> RecordedRun | None:
        """The run that applied the whole file; None if none did, or a part of it is left, failed or is in doubt."""
        # A run that applies a file ends with 0 only if nothing of the file was refused, and everything was done and read again (0058).
        return next(
            (run for run in store.users(self.saved.digest) if run.anything and run.exit_code == exits.DONE and not run.undone), None
        )

    def repeated(self, run: str, earlier: RecordedRun) -> Outcome:
        """The outcome of a run that found the whole file applied: a job that is started again ends as it did the first time."""
        document = self.saved.document
        onward = f"The plan was applied already, at {clock_time(earlier.ended or earlier.started, HERE)} by {earlier.who}."
        return Outcome(run, Plan(document["project"], document["environment"]), onward=onward)

    def approved_part(self, session: ApplySession, store: Store, *, full: bool, new: Unseen | None = None) -> Planned | None:
        """The part of a fresh plan that the file allows, recorded in the journal; None if it was declined.

        `new`: the state that this creates, where that takes consent: the file did not ask for it.

        Raises `StalePlan` where the file was used, belongs to another state, or does not hold and nobody said that the rest will do.
        """
        self._check_state(session.journal.state().lineage, store)
        self._compare(session.project, store)
        planned = self._approved(session, store)
        while True:
            assert self.approval is not None
            self._tell()
            self._show(planned, full=full)
            check_plan(planned.plan, session.desired, self.limits)
            if not self.approval.refused:
                break
            if not self._rest_will_do(planned):
                return None
            # Somebody may think about the question for an hour. What they agreed to must still be true when it is sent.
            if planned.age <= FRESH:
                break
            shown, again = self.approval, self._approved(session, store)
            if again.plan == planned.plan and self.approval.refused == shown.refused:
                planned = again
                break
            self.screen.say("The service changed in the meantime; this is what is still valid.")
            planned = again
        if new is not None:
            self.screen.say(new.fact)
            if not click.confirm("Create the state there?", default=False, err=True):
                return None
        session.journal.carry_out(self.saved.digest)
        return planned

    @property
    def limits(self) -> Limits:
        """What this run allows: what is typed again, and what the file shows, which whoever saved or approved it has seen."""
        limits, shown = self.options.limits.with_exposures, self.saved.document.get("redirects")
        dead = [url["url"] for url in shown["dead"]] if shown is not None else []
        return replace(limits, dead_urls=(*limits.dead_urls, *dead))

    def ended(self, outcome: Outcome, code: int) -> tuple[Outcome, int]:
        """The outcome with what to do next, and the exit code."""
        assert self.approval is not None
        if self.approval.refused:
            code = exits.strongest([code, exits.PARTLY])
        untouched = outcome.results and not outcome.count(StepStatus.DONE) and not outcome.count(StepStatus.IN_DOUBT)
        if untouched and code != exits.DONE:
            onward = "Nothing was done, so the plan file can be used again."
        elif code != exits.DONE:
            onward = "The plan file has been used; create a new plan for the rest."
        elif self.approval.new:
            onward = "The plan file was applied; newer changes need a new plan."
        else:
            onward = "The plan file was applied."
        return replace(outcome, onward=onward, withheld=self._withheld()), code

    def nothing(self, run: str) -> Outcome | None:
        """The outcome where nothing was done because not all of it holds; None where it was not compared at all."""
        if self.approval is None:
            return None
        plan = replace(self.approval.planned.plan, changes=(), steps=())
        stopped, onward = "the saved plan is no longer valid", "Nothing was applied, so the plan file can be used again."
        return Outcome(run, plan, stopped=stopped, onward=onward, withheld=self._withheld())

    def _withheld(self) -> Withheld:

        assert self.approval is not None
        return Withheld(self.approval.refused, self.approval.new, self.saved.document.get("origin"), self.same)

    def _check_state(self, now: str, store: Store) -> None:
        """Raise `StalePlan` if the file is of another state than the one with the lineage `now`, or was used."""
        lineage = self.saved.document["digests"]["lineage"]
        if lineage not in ("", now):
            raise StalePlan(
                f"{self.saved.path} was created from a different state", id="RC-saved-plan-other-state", hint=f"Is --state right? {AGAIN}"
            )
        # A file is one permission. Used twice, it would repeat deletions that somebody undid in between.
        for run in store.users(self.saved.digest):
            if run.did or "in-doubt" in run.undone:
                raise StalePlan(
                    f"{self.saved.path} was already used by run {run.id} of {run.who}",
                    id="RC-saved-plan-used",
                    hint=f"reconciler show {run.id[:8]} shows what it did. For what is left: reconciler plan --out FILE.",
                )

    def _compare(self, project: Project, store: Store) -> None:
        """Report whether the evaluated configuration is unchanged. The commit may differ: a merge or a squash has the same one."""
        then = self.saved.document["digests"]["configuration"]
        if then is None:
            return
        self.same = then == digests_of(self.screen, self.saved.document["digests"]["lineage"], store.digest_key()).of(project.digest)
        if self.same:
            self.screen.say("The evaluated configuration is the one that the plan was created from.")
        else:
            self.screen.say(
                "The evaluated configuration changed since the plan was created; only addresses whose plan is the same are applied."
            )

    def _approved(self, session: ApplySession, store: Store) -> Planned:
        """Plan again, and narrow that to the file."""
        session.operation = self.options.operation
        with self.fitting():
            fresh = session.plan()
        self.approval = self._limited(fresh, session.project, session.kinds, store, session.narrowed)
        if self.approval.only is not None:
            session.operation = session.operation.only(self.approval.only)
        return self.approval.planned

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Planning for the file: a target that is nothing any more raises `StalePlan`."""
        try:
            yield
        except UsageError as error:
            raise StalePlan(
                f"{self.saved.path} no longer fits the project: {error.message}", id="RC-saved-plan-stale", hint=AGAIN
            ) from error

    def valid(self, fresh: Planned, project: Project, kinds: Kinds, store: Store) -> ApprovedPlan:
        """What the file allows of a fresh plan that nobody sends. Raises `StalePlan` where `apply` would, or would ask about the rest."""
        self._check_state(store.read().lineage, store)
        self._compare(project, store)
        operation = self.options.operation
        approval = self._limited(
            fresh, project, kinds, store, lambda planned, only: narrowed(kinds, project.desired, planned, operation.only(only))
        )
        if approval.refused:
            raise StalePlan(
                f"part of {self.saved.path} is no longer valid: {_first(approval.refused)}", id="RC-saved-plan-stale", hint=AGAIN
            )
        if approval.new:
            self.screen.say("These changes are not in the saved plan, and not part of this:")
            self._list(approval.new)
        return approval

    def _limited(
        self, fresh: Planned, project: Project, kinds: Kinds, store: Store, narrow: Callable[[Planned, frozenset[Address]], Planned]
    ) -> ApprovedPlan:
        """A fresh plan, limited to the file."""
        digests = digests_of(self.screen, self.saved.document["digests"]["lineage"], store.digest_key())

        def describe(planned: Planned) -> Mapping[str, Any]:
            inputs = plan_inputs(self.options, project, planned.state, self.saved.document["service"])
            return saved_plan(planned.plan, kinds, planned.actual, created_at=now(), inputs=inputs, digests=digests)

        return approve(self.saved.document, fresh, describe=describe, narrow=narrow)

    def _tell(self) -> None:
        assert self.approval is not None
        refused, new = self.approval.refused, self.approval.new
        if refused:
            self.screen.say("These parts of the saved plan are no longer valid and were not applied:")
            self._list(f"{at}: {why}" for at, why in sorted(refused.items()))
        if new:
            self.screen.say("These changes are not in the saved plan and were not applied:")
            self._list(new)
        # Pages are written all the time, so a plan does not become invalid by them; what it ends is a decision that somebody took.
        if more := more_urls(self.saved.document, self.approval.planned.plan):
            self.screen.say(
                f"Pages were added since the plan was saved: it ends or moves {count(more, 'more URL')} of pages than it shows."
            )

    def _list(self, lines: Iterable[str]) -> None:
        every = list(lines)
        for line in every[:NAMED]:
            self.screen.say(f"  {line}")
        if len(every) > NAMED:
            self.screen.say(f"  and {len(every) - NAMED:,} more")

    def _show(self, planned: Planned, *, full: bool) -> None:

        if self.options.format == "text":
            self.screen.spans(sheet_text(plan_sheet(planned.plan, full=full, zone=HERE), width=self.screen.width))

    def _rest_will_do(self, planned: Planned) -> bool:
        assert self.approval is not None
        refused = self.approval.refused
        first = _first(refused)
        if not planned.plan.pending:
            raise StalePlan(f"nothing in {self.saved.path} is still valid: {first}", id="RC-saved-plan-stale", hint=AGAIN)
        number = len(planned.plan.steps)
        rest = f"the {number:,} request{'s' if number != 1 else ''} that {'is' if number == 1 else 'are'} still valid"
        if self.partial:
            return True
        if self.ask and self.screen.can_ask:
            return click.confirm(f"Apply {rest}?", default=False, err=True)
        raise StalePlan(
            f"part of {self.saved.path} is no longer valid: {first}",
            id="RC-saved-plan-stale",
            hint=f"--partial applies {rest}. Or create a new plan: reconciler plan --out FILE.",
        )


def opened(screen: Screen, options: Options, path: Path, *, partial: bool, ask: bool, commit: str | None = None) -> Use:
    """The use of a file, which contains the scope of the run. `commit`: the first digits of the commit it must be of.

    Raises `UsageError`, `Refused` where it is not signed as it should be, `StalePlan` where it is of another commit.
    """
    if any(options.saved("scope").values()):
        scope = [f"--{row.name}" for row in ROWS if row.saved == "scope"]
        hint = f"Remove {listed(scope, len(scope))}."
        raise UsageError("--plan FILE already selects the addresses", id="RC-options-conflict", hint=hint)
    saved = read(path)
    check(screen, path, saved.document)
    origin = saved.document.get("origin")
    if commit is not None:
        _check_commit(path, origin, commit)
    if origin is not None:
        screen.say(sentence(origin))
    if (rules := saved.document.get("rulesFrom")) is not None:
        screen.say(f"It was judged by the rules of {rules['ref'][:100]} ({rules['commit'][:9]}).")
    options = options.with_scope(saved.document["options"], lambda texts: _globs(path, texts))
    # Whoever saved the plan typed these, and was shown what the file still shows.
    allowed = _globs(path, saved.document["options"].get("allowOpenWork", []))
    return Use(screen, replace(options, allow_open_work=(*options.allow_open_work, *allowed)), saved, partial, ask)


def _check_commit(path: Path, origin: OriginData | None, commit: str) -> None:
    """Raise `StalePlan` if the file was created from another commit."""
    recorded = origin["commit"] if origin is not None else None
    if recorded is None:
        hint = "Create it in a clone of the repository, or with plan --out FILE --commit SHA."
        raise StalePlan(
            f"{path} does not say from which commit it was created, and --require-commit asks for {commit}",
            id="RC-saved-plan-commit",
            hint=hint,
        )
    if not recorded.startswith(commit):
        raise StalePlan(
            f"{path} was created from commit {recorded}, and --require-commit asks for {commit}", id="RC-saved-plan-commit", hint=AGAIN
        )


def _globs(path: Path, texts: Sequence[str]) -> tuple[Glob, ...]:

    # The file may come from anybody. Each pattern is compared with each address.
    if len(texts) > GLOBS_MAX:
        wrong = f"{path} is not a saved plan: it names {len(texts):,} patterns, and at most {GLOBS_MAX:,} are allowed"
        raise UsageError(wrong, id="RC-not-a-saved-plan", hint=AGAIN)
    try:
        return tuple(Glob.parse(text) for text in texts)
    except ValueError as error:
        raise UsageError(f"{path} is not a saved plan: {str(error)[:200]}", id="RC-not-a-saved-plan", hint=AGAIN) from error


def _first(refused: Mapping[str, str]) -> str:
    more = f" and {len(refused) - 3:,} more" if len(refused) > 3 else ""
    return ", ".join(f"{at} ({why})" for at, why in sorted(refused.items())[:3]) + more


def _quoted(name: str | None) -> str:
    return "none" if name is None else repr(name[:100])
