"""Every policy over a scene: the violations, the exceptions used, and the undecided policies. Pure.

An expression is compiled once, and evaluated in this process: a limit on its work is shared by all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.language.bounds import WORK, WORK_MAX, ExpressionError, Function, Usage, kind_of, known, text_of
from reconciler.config.language.compiled import compiled
from reconciler.config.language.expressions import JSON, RANGE, Hole, holes
from reconciler.config.language.functions import as_text
from reconciler.config.language.stand_ins import is_unknown
from reconciler.features.policies.planned import of_plan
from reconciler.features.policies.scene import Partial, Scene, Subject, of_configuration
from reconciler.features.policies.section.keys import GONE, OF_OTHERS, OF_THE_PLAN
from reconciler.model import Actual, Desired, Plan, Severity, Violation
from reconciler.model.policies import Exemption, Policies, Policy
from reconciler.resource import Kinds
from reconciler.text.certificate import expiry
from reconciler.text.names import until

SORT: Final = "policy"
WORK_LEAST: Final = WORK_MAX  # that all of them may read and create together
WORK_EACH: Final = 500  # and for each resource and policy, if there are many
UNKNOWN: Final = "(not known)"
REMEDY: Final = (
    "change the resource, or add an exception (exceptions: [{policy: ID, address: ADDRESS, until: YYYY-MM-DD, reason: …}]), "
    "or set level: warning on the policy"
)
NO_KEY: Final = "there is no key"
SILENT: Final = ", because neither the YAML nor the service says it; | default(…) gives it a value"
EXPIRED: Final = "remove the exception, or give it a later until"


@dataclass(frozen=True)
class Judgement:
    """`notes`: the exceptions used. `undecided`: the policies that need unknown facts, for all or some resources. `evaluations`: how often
    an expression was evaluated."""

    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    undecided: tuple[Policy, ...] = ()
    evaluations: int = 0


def judge(policies: Policies, scene: Scene, *, environment: str | None, today: date, held: Collection[Address] = frozenset()) -> Judgement:
    """Evaluate the policies on a scene. `today`: the day on which exceptions are checked for expiry. `held`: what a run holds."""
    if not policies:
        return Judgement()
    # In proportion to the project: a fixed limit would refuse a large project what it allows a small one.
    token = WORK.set(Usage(max(WORK_LEAST, WORK_EACH * len(scene.subjects) * len(policies.rules))))
    try:
        return _Judge(policies, scene, environment, today, held).judge()
    finally:
        WORK.reset(token)


def asks_the_plan(policy: Policy) -> bool:
    """Whether only a plan can decide the policy."""
    return bool(policy.when) or policy.whole or bool(compiled(policy.test).names & OF_THE_PLAN)


class _Judge:
    """One evaluation of all policies."""

    def __init__(self, policies: Policies, scene: Scene, environment: str | None, today: date, held: Collection[Address]) -> None:
        self.policies, self.scene, self.today, self.held = policies, scene, today, held
        self.subject: Subject | None = None
        self.evaluations = 0
        # What the expression counted for the present resource: it is as much the cause of a violation.
        self.counted: set[tuple[str, str | None]] = set()
        self.context: dict[str, Any] = {
            "env": {"name": environment},
            "vars": policies.variables,
            "today": today.isoformat(),
            **functions(scene, today, lambda: self._subject, self._count),
        }

    def _count(self, action: str, kind: str | None) -> int:
        self.counted.add((action, kind))
        return self.scene.count(action, kind)

    @property
    def _subject(self) -> Subject:
        assert self.subject is not None  # only policies about resources can name what requires one
        return self.subject

    @property
    def _valid(self) -> list[Exemption]:
        """The exceptions that have not expired."""
        return [exemption for exemption in self.policies.exemptions if exemption.until >= self.today]

    def judge(self) -> Judgement:
        violations: list[Violation] = []
        undecided = []
        uses: Counter[Exemption] = Counter()
        for policy in self.policies.rules:
            # `validate` reads no service. It lists what it leaves to the plan, so that nobody takes silence for consent.
            if not self.scene.planned and asks_the_plan(policy):
                undecided.append(policy)
                continue
            exemptions = [exemption for exemption in self._valid if exemption.policy == policy.id]
            partly = False
            for violation in self._violations(policy):
                if violation is None:
                    partly = True
                    continue
                exemption = next((exemption for exemption in exemptions if exemption.covers(violation.address)), None)
                if exemption is None:
                    violations.append(violation)
                else:
                    uses[exemption] += 1
            undecided += [policy] if partly else []
        expired = [self._expired(exemption) for exemption in self.policies.exemptions if exemption.until < self.today]
        return Judgement((*violations, *expired), tuple(map(_note, uses, uses.values())), tuple(undecided), self.evaluations)

    def _violations(self, policy: Policy) -> Iterator[Violation | None]:
        """One for each resource that violates a policy; None for each resource for which that is undecided."""
        run = compiled(policy.test).over(self.context)
        for subject in [None] if policy.whole else self._subjects(policy):
            self._look_at(subject)
            self.evaluations += 1
            self.counted.clear()
            try:
                value = known(run())
                wrong = "" if isinstance(value, bool) else f"assert must be true or false, and is {kind_of(value)}"
            except ExpressionError as error:
                # An expression that fails is a violation: a policy that cannot be evaluated must not let everything pass.
                more = SILENT if error.message.startswith(NO_KEY) else ""
                value, wrong = False, f"it cannot be evaluated: {error.message}{more}"
            # The expression looked at a field that the YAML does not manage: what it says without the value is not what a plan will say.
            if subject is not None and isinstance(subject.after, Partial) and subject.after.touched:
                yield None
            elif wrong or not value:
                yield self._violation(policy, subject, wrong)

    def _subjects(self, policy: Policy) -> Sequence[Subject]:
        """The resources that a policy checks, in the order of the scene."""
        wanted = frozenset(policy.when)
        single = next(iter(policy.kinds)) if len(policy.kinds) == 1 and not policy.globs else None
        every = self.scene.subjects if single is None else self.scene.of_kind(single)
        # What is held and unchanged violates nothing that it does not violate today, unless the policy looks beyond it.
        left = self.held if compiled(policy.test).names.isdisjoint(OF_OTHERS) else ()
        return [
            subject
            for subject in every
            if not (subject.address in left and subject.unchanged)
            and (not wanted.isdisjoint(subject.actions) if wanted else subject.after is not None and GONE.isdisjoint(subject.actions))
            and (single is not None or policy.applies(subject.address, subject.kind))
        ]

    def _look_at(self, subject: Subject | None) -> None:
        self.subject = subject
        if subject is None:
            return
        if isinstance(subject.after, Partial):
            subject.after.touched = False
        self.context.update(
            address=str(subject.address),
            kind=subject.kind,
            action=subject.actions[0],
            actions=list(subject.actions),
            before=subject.before,
            after=subject.after,
            actor=subject.actor,
        )

    def _violation(self, policy: Policy, subject: Subject | None, wrong: str) -> Violation:
        address, source = (subject.address, subject.source) if subject is not None else (None, None)
        along = {at for action, kind in self.counted for at in self.scene.counted(action, kind)}
        message = f"{self._message(policy)} ({wrong})" if wrong else self._message(policy)
        return Violation(
            SORT, policy.id, address, message, policy.level, id="RC-policy-violated", source=policy.source, declared=source, remedy=REMEDY,
            along=tuple(sorted(along)),
        )  # fmt: skip

    def _message(self, policy: Policy) -> str:
        return "".join(part if isinstance(part, str) else self._part(part) for part in holes(policy.message))

    def _part(self, hole: Hole) -> str:
        """The value of an expression in a message; an unknown value does not suppress the message."""
        try:
            return text_of(compiled(hole.source)(self.context))
        except ExpressionError:
            return UNKNOWN

    def _expired(self, exemption: Exemption) -> Violation:
        where = f" for {exemption.address}" if exemption.address is not None else ""
        message = f"its exception{where} expired on {exemption.until.isoformat()} ({exemption.reason})"
        return Violation(
            SORT, exemption.policy, None, message, Severity.ERROR, id="RC-exception-expired", source=exemption.source, remedy=EXPIRED
        )


def _note(exemption: Exemption, number: int) -> str:
    where = f" to {exemption.address}" if exemption.address is not None else ""
    many = f" ({number:,} resources)" if number > 1 else ""
    return f"policy {exemption.policy} is not applied{where}{many} until {exemption.until.isoformat()}: {exemption.reason}"


OF_THE_SERVICE: Final = frozenset({"actor", "inside"})  # names that the files do not determine
FILES_SAY: Final = "as far as the files say"


def with_violations(
    kinds: Kinds, desired: Desired, actual: Actual, plan: Plan, *, today: date, held: Collection[Address] = frozenset()
) -> Plan:
    """The plan with the policies that it violates. `held`: what it leaves alone because a guard refuses it."""
    scene = of_plan(kinds, desired, actual, plan)
    judgement = judge(desired.policies, scene, environment=desired.environment, today=today, held=held)
    return replace(plan, violations=(*plan.violations, *judgement.violations), notes=(*plan.notes, *judgement.notes))


def as_far_as_files_say(kinds: Kinds, desired: Desired, actual: Actual, plan: Plan, *, today: date) -> Plan:
    """The same for a plan that was created without the service: violations that only the service can decide are warnings."""
    judged = with_violations(kinds, desired, actual, plan, today=today) if desired.policies else plan
    asking = {policy.id for policy in desired.policies.rules if compiled(policy.test).names & OF_THE_SERVICE}

    def unknown(violation: Violation) -> bool:
        """Whether the resource, or for a policy on the plan any resource, has an unknown value."""
        declared = desired.resources.get(violation.address) if violation.address is not None else None
        resources = [declared] if declared is not None else desired.resources.values()
        return any(is_unknown(str(value)) for resource in resources for value in resource.values.values())

    # Access tests that fail without a path visible in the files are undecided.
    violations = [
        replace(violation, level=Severity.WARNING, message=f"{violation.message} ({FILES_SAY})") if unsure else violation
        for violation in judged.violations
        for unsure in [violation.rule in asking or unknown(violation) if violation.sort == SORT else len(violation.path) < 2]
    ]
    return replace(judged, violations=tuple(violations))


def by_configuration(kinds: Kinds, desired: Desired, today: date) -> tuple[tuple[Violation, ...], str]:
    """The violations of the configuration, and lines on the exceptions and on the policies that only a plan can decide."""
    if not desired.policies:
        return (), ""
    judgement = judge(desired.policies, of_configuration(kinds, desired), environment=desired.environment, today=today)
    names = ", ".join(f"{policy.id} ({policy.source.file_and_line})" for policy in judgement.undecided)
    lines = [f"{note}\n" for note in judgement.notes]
    lines += [f"Not evaluated, because they ask about the service or the plan: {names}\n"] if names else []
    return judgement.violations, "".join(lines)


# -- what expressions call --------------------------------------------------------------------------------------------------------------


def functions(scene: Scene, today: date, subject: Callable[[], Subject], count: Callable[[str, str | None], int]) -> Mapping[str, Any]:
    """The functions by name. `subject`: the present resource; `count`: how many resources of a kind an action happens to."""
    return {
        "json": JSON,
        "range": RANGE,
        "days": Function("days", lambda day: (_day(day) - today).days),
        "until": Function("until", _until),
        "expires": Function("expires", _expires),
        "count": Function("count", lambda action, kind=None: count(as_text(action), None if kind is None else as_text(kind))),
        "others": Function("others", lambda field: scene.others(subject(), as_text(field))),
        "inside": Function("inside", lambda kind, *about: scene.inside(subject(), as_text(kind), *map(known, about))),
    }


def _day(value: Any) -> date:
    try:
        return date.fromisoformat(as_text(value))
    except ValueError:
        raise ExpressionError("days requires a day: YYYY-MM-DD", id="RC-function-arguments") from None


def _until(value: Any) -> str | None:
    """The day after the last word `until` in a text."""
    return until(as_text(value))


def _expires(value: Any) -> str:
    day = expiry(as_text(value))
    if day is None:
        raise ExpressionError("expires requires a certificate in PEM format", id="RC-function-arguments")
    return day.isoformat()
