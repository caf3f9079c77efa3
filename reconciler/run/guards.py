"""Guards: a run that would delete, expose or end more than it may is refused before its first request. Pure.

In: a plan, the rules of the project, and what whoever started the run allows beyond them. Out: every refusal, with the way past it. `apply`
raises the first, a rehearsal lists all of them, and a run with `hold` leaves alone what they are about: of a guard that counts, all that it
counts. An option belongs to a guard only through its field of `Limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from reconciler.address import Address, Glob
from reconciler.errors import Refused
from reconciler.model import Change, Desired, Exposure, Plan, Severity, Violation
from reconciler.plan.warnings.exposure import KIND as RULE
from reconciler.run.operation import Limits
from reconciler.seams import Seam

WAYS: Final = 20  # options that a refusal names
MOST_ADDRESSES: Final = 5  # addresses that a refusal lists


def deletes(plan: Plan) -> tuple[Change, ...]:
    """The changes that delete something, cascaded children and replacements included."""
    return tuple(change for change in plan.changes if change.destructive)


def exposed(plan: Plan) -> tuple[Address, ...]:
    """The objects that gain a reader, by whatever cause and for however long. What is created exposes nothing that existed."""
    return tuple(sorted({at for exposure in plan.exposures if exposure.readers for at in (exposure.address, *exposure.reaches)}))


def concerned(exposure: Exposure) -> tuple[Address, ...]:
    """The objects of an exposure: what is exposed, what else is by the same cause, the cause, and what admits the readers."""
    return tuple(dict.fromkeys((*exposure.names, *exposure.reaches)))


Guard = Callable[[Plan, Desired, Limits], Refused | None]


def refusals(plan: Plan, desired: Desired, limits: Limits) -> tuple[Refused, ...]:
    """Why this plan must not be applied: an error of each guard that it violates, with the exact way past it."""
    return tuple(refused for guard in _guards() if (refused := guard(plan, desired, limits)) is not None)


def check(plan: Plan, desired: Desired, limits: Limits) -> Plan:
    """The plan, unchanged. Raises the first of its refusals."""
    raise_first(*refusals(plan, desired, limits))
    return plan


def raise_first(*refusals: Refused | None) -> None:
    """Raise the first refusal, if there is one."""
    for refused in refusals:
        if refused is not None:
            raise refused


def _violated_rules(plan: Plan, desired: Desired, limits: Limits) -> Refused | None:
    return violated(plan.violations, "the plan")


def _deletions(plan: Plan, desired: Desired, limits: Limits) -> Refused | None:
    own, changes = desired.guards, deletes(plan)
    most = max(own.max_delete_at_least, int(plan.managed_before * own.max_delete_percent / 100))
    rule = f"maxDelete ({own.max_delete_percent:g} % of {plan.managed_before}, at least {own.max_delete_at_least}) allows {most}"
    if limits.deletions is not None:
        most, rule = limits.deletions, f"this run may delete {limits.deletions}"
    if len(changes) <= most:
        return None
    addresses = [change.address for change in changes]
    wrong = f"the plan deletes {_counted(addresses, rule)}"
    return Refused(wrong, id="RC-delete-limit", hint=f"if this is intended: --allow-delete {len(changes)}", about=addresses)


def _exposed(plan: Plan, desired: Desired, limits: Limits) -> Refused | None:
    opened, most = exposed(plan), desired.guards.max_exposed
    rule = f"guards.maxExposed allows {most}"
    if limits.exposed is not None:
        most, rule = limits.exposed, f"this run may expose {limits.exposed}"
    if most is None or len(opened) <= most:
        return None
    wrong = f"the plan exposes {_counted(opened, rule)}"
    about = {address for exposure in plan.exposures if exposure.readers for address in concerned(exposure)}
    return Refused(wrong, id="RC-exposure-limit", hint=f"if this is intended: --max-exposed {len(opened)}", about=about)


def _exposures(plan: Plan, desired: Desired, limits: Limits) -> Refused | None:
    return missing_consent(plan.exposures, limits.exposures, "the plan makes something public or removes a protection, which")


class ConsentGuard(NamedTuple):
    """A guard of a feature, which consent passes. `id`: of its refusals."""

    id: str
    refuses: Guard


FEATURE_GUARDS: Final[Seam[ConsentGuard]] = Seam("run", "guards with consent")


def _guards() -> Iterator[Guard]:
    """In the order in which `apply` refuses: what no option overrides comes first, and the consent that most plans need comes last."""
    yield from (_violated_rules, _deletions, _exposed)
    yield from (guard.refuses for guard in FEATURE_GUARDS)
    yield _exposures


def is_consent(refused: Refused) -> bool:
    """Whether the lines of a refusal say what happens, and not that it requires consent."""
    return refused.id in ("RC-consent-required", *(guard.id for guard in FEATURE_GUARDS))


def _counted(addresses: Sequence[Address], rule: str) -> str:
    """`6 objects, and this run may delete 3: acme/a, … and 1 more`. `rule`: what allows fewer."""
    number = len(addresses)
    names = ", ".join(map(str, addresses[:MOST_ADDRESSES])) + (f" and {number - MOST_ADDRESSES} more" if number > MOST_ADDRESSES else "")
    return f"{number} object{'s' if number != 1 else ''}, and {rule}: {names}"


def violated(violations: Sequence[Violation], what: str) -> Refused | None:
    """The refusal of violated rules of the project that are more than a warning; None without any. `what`: what violates them."""
    violations = [violation for violation in violations if violation.level is Severity.ERROR]
    if not violations:
        return None
    alike: dict[tuple[str, str], list[Violation]] = {}
    for violation in violations:
        where = f" ({violation.source.file_and_line})" if violation.source is not None else ""
        by = f" by {' -> '.join(violation.path)}" if len(violation.path) > 1 else ""
        alike.setdefault((f"{violation.name}{where}", f"{violation.message}{by}"), []).append(violation)
    # `policy two-admins (reconciler.yaml:12) at acme and 2 more: fewer than two admins`
    lines = []
    for (rule, message), some in alike.items():
        more = f" and {len(some) - 1} more" if len(some) > 1 else ""
        at = f" at {some[0].address}{more}" if some[0].address is not None else ""
        lines.append(f"{rule}{at}: {message}")
    ways = list(dict.fromkeys(violation.remedy for violation in violations if violation.remedy)) or ["correct the project"]
    number = len({violation.name for violation in violations})
    wrong = f"{what} violates {number} rule{'s' if number != 1 else ''}{below(lines)}"
    whole = any(violation.address is None for violation in violations)
    about = () if whole else {at for violation in violations for at in (violation.address, *violation.along) if at is not None}
    return Refused(wrong, id="RC-rule-violated", hint=f"no option of the command line overrides a rule{below(ways)}", about=about)


def below(lines: Sequence[str]) -> str:
    """The end of a sentence: the one address, or several below the sentence, one line each."""
    more = [f"and {len(lines) - MOST_ADDRESSES} more"] if len(lines) > MOST_ADDRESSES else []
    return f": {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in [*lines[:MOST_ADDRESSES], *more])


def missing_consent(exposures: Sequence[Exposure], allowed: Sequence[Glob], what: str) -> Refused | None:
    """The refusal of exposures without consent; None if all have it. `what`: the beginning of the sentence.

    `allowed`: patterns for the addresses of what is exposed, or of what exposes it.
    """
    missing = _lacking_consent(exposures, allowed)
    if not missing:
        return None
    lines = [f"{exposure.address}{f' ({exposure.field})' if exposure.field else ''}: {exposure.says}" for exposure in missing]
    way = consent_options(missing, allowed)
    # A looser rule of the project is about the whole plan: nobody knows what it would have refused.
    about = () if any(exposure.kind == RULE for exposure in missing) else {at for exposure in missing for at in exposure.names}
    wrong = f"{what} requires consent{below(lines)}"
    return Refused(wrong, id="RC-consent-required", hint=f"if this is intended: {way}", about=about)


def consent_options(exposures: Sequence[Exposure], allowed: Sequence[Glob]) -> str:
    """The options that consent to what `allowed` leaves: `--allow-exposure ADDRESS` for each; "" if nothing is left."""
    addresses = list(dict.fromkeys(exposure.address for exposure in _lacking_consent(exposures, allowed)))
    more = " and so on (patterns are allowed: --allow-exposure 'acme/site/docs/**')" if len(addresses) > WAYS else ""
    return " ".join(f"--allow-exposure {address:sh}" for address in addresses[:WAYS]) + more


def _lacking_consent(exposures: Sequence[Exposure], allowed: Sequence[Glob]) -> list[Exposure]:
    return [exposure for exposure in exposures if exposure.asked and not any(glob.matches(at) for glob in allowed for at in exposure.names)]
