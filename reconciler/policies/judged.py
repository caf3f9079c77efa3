"""Add policy violations to a plan, and evaluate policies on a configuration alone. Pure; the day is an argument."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Final

from reconciler.config.language.variables import is_unknown
from reconciler.config.policies.checks import uses
from reconciler.model import Actual, Desired, Plan, Severity, Violation
from reconciler.policies.judge import SORT, judge
from reconciler.policies.planned import of_plan
from reconciler.policies.scene import of_configuration
from reconciler.resource import Kinds

OF_THE_SERVICE: Final = frozenset({"actor", "inside"})  # names that the files do not determine
FILES_SAY: Final = "as far as the files say"


def with_violations(kinds: Kinds, desired: Desired, actual: Actual, plan: Plan, *, today: date) -> Plan:
    """The plan with the policies that it violates."""
    scene = of_plan(kinds, desired, actual, plan)
    judgement = judge(desired.policies, scene, environment=desired.environment, today=today)
    return replace(plan, violations=(*plan.violations, *judgement.violations), notes=(*plan.notes, *judgement.notes))


def as_far_as_files_say(kinds: Kinds, desired: Desired, actual: Actual, plan: Plan, *, today: date) -> Plan:
    """The same for a plan that was created without the service: violations that only the service can decide are warnings."""
    judged = with_violations(kinds, desired, actual, plan, today=today) if desired.policies else plan
    asking = {policy.id for policy in desired.policies.rules if uses(policy.test).names & OF_THE_SERVICE}

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


def by_configuration(kinds: Kinds, desired: Desired, *, today: date) -> tuple[tuple[Violation, ...], str]:
    """The violations of the configuration, and lines on the exceptions and on the policies that only a plan can decide."""
    judgement = judge(desired.policies, of_configuration(kinds, desired), environment=desired.environment, today=today)
    names = ", ".join(f"{policy.id} ({policy.source.file_and_line})" for policy in judgement.undecided)
    lines = [f"{note}\n" for note in judgement.notes]
    lines += [f"Not evaluated, because they ask about the service or the plan: {names}\n"] if names else []
    return judgement.violations, "".join(lines)
