"""The plan from one version of a project's files to another, without the service and without a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.cli.wiring.loading import now
from reconciler.config import Project
from reconciler.model import Plan
from reconciler.plan.offline import as_declared, without_ids
from reconciler.plan.planner import plan as make_plan
from reconciler.policies.judge import as_far_as_files_say
from reconciler.resource import Kinds
from reconciler.urls.planned import between

COVERS: Final = (
    "Nothing was read from the service, so exposures and broken URLs are shown only as far as the files declare them. "
    "Pages behind these URLs, and work in progress, are not known here: plan shows them."
)


def with_any_digest_key(kinds: Kinds) -> Kinds:
    """The kinds for a comparison of secrets by digests: no state is read, and none is kept, so any key will do."""
    return kinds.with_digest_key(b"a comparison of files")


def plan_between(kinds: Kinds, earlier: Project | None, new: Project, *, judged_by: Sequence[str] = (), note: str) -> Plan:
    """The plan. `earlier`: None if there was no such project. `judged_by`, `note`: the first and the last note."""
    old = earlier or replace(new, desired=replace(new.desired, resources={}, moved=(), removed={}))
    state, actual = as_declared(kinds, old.desired, new.desired)
    plan = as_far_as_files_say(kinds, new.desired, actual, make_plan(kinds, new.desired, state, actual), today=now().date())
    plan = replace(plan, redirects=between(old.desired.urls if earlier is not None else None, new.desired.urls))
    names = ", ".join(f"vars.{name}" for name in sorted({*old.unset, *new.unset}))
    unset = [f"{names}: no value is known here. unknown.vars.NAME stands for it; what forEach makes of it is not shown."] if names else []
    return without_ids(replace(plan, notes=(*judged_by, *plan.notes, note, *unset)), state)
