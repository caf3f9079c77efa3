"""`apply --plan FILE`: the conditions for applying a saved plan, and the messages about its parts that are no longer valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler import exits
from reconciler.address import Glob
from reconciler.config import Project
from reconciler.errors import StalePlan, UsageError
from reconciler.model import Outcome, Plan, RecordedRun, SavedPlanCheck, StepStatus
from reconciler.report.saved import saved_plan
from reconciler.report.schemas.plan import OriginData
from reconciler.report.sections import SECTIONS
from reconciler.run.connection.connecting import ConnectedService
from reconciler.run.connection.unseen import Unseen
from reconciler.run.loading import now
from reconciler.run.operation import Limits, Operation
from reconciler.run.saved.approval import ApprovedPlan, approve
from reconciler.run.saved.origin import sentence
from reconciler.run.saved.plan_file import Saved, check, digests_of, plan_inputs, read
from reconciler.run.stages import Planned, narrow
from reconciler.run.voice import Voice
from reconciler.state import Store
from reconciler.text.names import HERE, clock_time

if TYPE_CHECKING:  # a plan imports no apply
    from reconciler.run.applying import ApplySession

MOST_ADDRESSES: Final = 50  # addresses that are said at most
GLOBS_MAX: Final = 1_000  # patterns of one option; more than anybody types
AGAIN: Final = "Create a new one: reconciler plan --out FILE."


@dataclass
class SavedPlanUse:
    """One use of a saved plan. `operation`: what this run is asked, with the scope from the file.

    `same`: whether the evaluated configuration is that of the file; None if the file does not contain its digest. `seen`: whether somebody
    saw what the file shows and consents to it, by saving or approving it; a program that made it does not.
    """

    voice: Voice
    operation: Operation
    saved: Saved
    seen: bool = True
    approval: ApprovedPlan | None = field(default=None, init=False)
    same: bool | None = field(default=None, init=False)

    def check_project(self, project: str) -> None:
        """Raise `StalePlan` if the file was created for another project or environment. Called before a connection creates a sandbox."""
        self._same("project", self.saved.document["project"], project)
        self._same("environment", self.saved.document["environment"], self.operation.environment or None)

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
        next_step = f"The plan was applied already, at {clock_time(earlier.ended or earlier.started, HERE)} by {earlier.who}."
        return Outcome(run, Plan(document["project"], document["environment"]), next_step=next_step)

    def begin(self, session: ApplySession, store: Store) -> Planned:
        """The part of a fresh plan that the file allows. Raises `StalePlan` where the file was used, or belongs to another state."""
        self._check_state(session.journal.state().lineage, store)
        self._compare(session.project, store)
        return self.approved(session, store)

    @property
    def refused(self) -> Mapping[str, str]:
        """What of the file does not hold, by address, and why; nothing before it was compared."""
        return self.approval.refused if self.approval is not None else {}

    @property
    def limits(self) -> Limits:
        """What this run allows: what is typed again, and what the file shows, which whoever saved or approved it has seen."""
        if not self.seen:
            return self.operation.limits
        limits, shown = self.operation.limits.with_exposures, self.saved.document.get("redirects")
        dead = [url["url"] for url in shown["dead"]] if shown is not None else []
        return replace(limits, dead_urls=(*limits.dead_urls, *dead))

    def ended(self, outcome: Outcome, code: int) -> tuple[Outcome, int]:
        """The outcome with what to do next, and the exit code."""
        assert self.approval is not None
        if self.approval.refused:
            code = exits.strongest([code, exits.PARTLY])
        untouched = outcome.results and not outcome.count(StepStatus.DONE) and not outcome.count(StepStatus.IN_DOUBT)
        if untouched and code != exits.DONE:
            next_step = "Nothing was done, so the plan file can be used again."
        elif code != exits.DONE:
            next_step = "The plan file has been used; create a new plan for the rest."
        elif self.approval.new:
            next_step = "The plan file was applied; newer changes need a new plan."
        else:
            next_step = "The plan file was applied."
        return replace(outcome, next_step=next_step, not_applied=self._not_applied()), code

    def nothing(self, run: str) -> Outcome | None:
        """The outcome where nothing was done because not all of it holds; None where it was not compared at all."""
        if self.approval is None:
            return None
        plan = replace(self.approval.planned.plan, changes=(), steps=())
        stopped, next_step = "the saved plan is no longer valid", "Nothing was applied, so the plan file can be used again."
        return Outcome(run, plan, stopped=stopped, next_step=next_step, not_applied=self._not_applied())

    def _not_applied(self) -> SavedPlanCheck:

        assert self.approval is not None
        return SavedPlanCheck(self.approval.refused, self.approval.new, self.saved.document.get("origin"), self.same)

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
        self.same = then == digests_of(self.voice, self.saved.document["digests"]["lineage"], store.digest_key()).of(project.digest)
        if self.same:
            self.voice.say("The evaluated configuration is the one that the plan was created from.")
        else:
            self.voice.say(
                "The evaluated configuration changed since the plan was created; only addresses whose plan is the same are applied."
            )

    def approved(self, session: ApplySession, store: Store) -> Planned:
        """Plan again, and narrow that to the file."""
        session.operation = self.operation
        with self.fitting():
            fresh = session.plan()
        self.approval = self._limited(fresh, session.project, store)
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

    def valid(self, fresh: Planned, project: Project, store: Store) -> ApprovedPlan:
        """What the file allows of a fresh plan that nobody sends. Raises `StalePlan` where `apply` would, or would ask about the rest."""
        self._check_state(store.read().lineage, store)
        self._compare(project, store)
        approval = self._limited(fresh, project, store)
        if approval.refused:
            raise StalePlan(
                f"part of {self.saved.path} is no longer valid: {_first(approval.refused)}", id="RC-saved-plan-stale", hint=AGAIN
            )
        if approval.new:
            self.voice.say("These changes are not in the saved plan, and not part of this:")
            self._list(approval.new)
        return approval

    def _limited(self, fresh: Planned, project: Project, store: Store) -> ApprovedPlan:
        """A fresh plan, limited to the file."""
        document = self.saved.document
        digests = digests_of(self.voice, document["digests"]["lineage"], store.digest_key())

        def describe(planned: Planned) -> Mapping[str, Any]:
            # What only a new file records is compared with nothing.
            inputs = plan_inputs(document["options"], project, planned.state, document["service"])
            return saved_plan(planned.plan, planned.kinds, planned.actual, created_at=now(), inputs=inputs, digests=digests)

        return approve(document, fresh, describe=describe, narrow=lambda planned, only: narrow(planned, self.operation.only(only)))

    def tell(self) -> None:
        """Say what of the file does not hold, and what is not in it."""
        assert self.approval is not None
        refused, new = self.approval.refused, self.approval.new
        if refused:
            self.voice.say("These parts of the saved plan are no longer valid and were not applied:")
            self._list(f"{at}: {why}" for at, why in sorted(refused.items()))
        if new:
            self.voice.say("These changes are not in the saved plan and were not applied:")
            self._list(new)
        # Pages are written all the time, so a plan does not become invalid by them; what it ends is a decision that somebody took.
        for section in SECTIONS:
            if says := section.since(self.saved.document, self.approval.planned.plan):
                self.voice.say(says)

    def _list(self, lines: Iterable[str]) -> None:
        every = list(lines)
        for line in every[:MOST_ADDRESSES]:
            self.voice.say(f"  {line}")
        if len(every) > MOST_ADDRESSES:
            self.voice.say(f"  and {len(every) - MOST_ADDRESSES:,} more")

    def rest(self, planned: Planned) -> str:
        """What of the file still holds, where not all of it does. Raises `StalePlan` where that is nothing."""
        if not planned.plan.pending:
            raise StalePlan(f"nothing in {self.saved.path} is still valid: {_first(self.refused)}", id="RC-saved-plan-stale", hint=AGAIN)
        number = len(planned.plan.steps)
        return f"the {number:,} request{'s' if number != 1 else ''} that {'is' if number == 1 else 'are'} still valid"

    def partly(self, rest: str) -> StalePlan:
        """The error where nobody asked for the rest alone."""
        return StalePlan(
            f"part of {self.saved.path} is no longer valid: {_first(self.refused)}",
            id="RC-saved-plan-stale",
            hint=f"--partial applies {rest}. Or create a new plan: reconciler plan --out FILE.",
        )


def opened(voice: Voice, path: Path, *, commit: str | None = None) -> Saved:
    """A plan file that may be used. `commit`: the first digits of the commit it must be of.

    Raises `UsageError`, `Refused` where it is not signed as it should be, `StalePlan` where it is of another commit.
    """
    saved = read(path)
    check(voice, path, saved.document)
    origin = saved.document.get("origin")
    if commit is not None:
        _check_commit(path, origin, commit)
    if origin is not None:
        voice.say(sentence(origin))
    if (rules := saved.document.get("rulesFrom")) is not None:
        voice.say(f"It was judged by the rules of {rules['ref'][:100]} ({rules['commit'][:9]}).")
    return saved


def use_of(voice: Voice, operation: Operation, saved: Saved, *, seen: bool = True) -> SavedPlanUse:
    """The use of a file by an operation that has its scope. `seen`: see `SavedPlanUse`."""
    # Whoever saved the plan typed these, and was shown what the file still shows.
    allowed = globs(saved.path, saved.document["options"].get("allowOpenWork", []))
    limits = replace(operation.limits, open_work=(*operation.limits.open_work, *allowed)) if seen else operation.limits
    return SavedPlanUse(voice, replace(operation, limits=limits), saved, seen)


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


def globs(path: Path, texts: Sequence[str]) -> tuple[Glob, ...]:
    """The patterns in a file. Raises `UsageError`."""

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
