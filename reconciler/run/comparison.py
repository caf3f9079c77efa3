"""Two versions of a project's files, and the plan from one to the other: without the service, a state, or anything that is executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.errors import ConfigError
from reconciler.features.policies.judge import as_far_as_files_say
from reconciler.features.urls.model.redirects import url_settings
from reconciler.features.urls.redirects.planned import between
from reconciler.git.working import NamedCommit
from reconciler.kinds import load as load_kinds
from reconciler.model import Plan
from reconciler.plan.offline import as_declared, without_ids
from reconciler.plan.planner import plan as make_plan
from reconciler.resource import Kinds
from reconciler.run.loading import keyed, load, now
from reconciler.run.operation import Operation
from reconciler.run.rules import JudgedProject
from reconciler.run.voice import Voice

COMPARED: Final = "Compared: "
COVERS: Final = (
    "Nothing was read from the service, so exposures and broken URLs are shown only as far as the files declare them. "
    "Pages behind these URLs, and work in progress, are not known here: plan shows them."
)

TABLES: Final = (
    "Redirects are shown as their tables have them. Which ones an apply writes follows from the ledger and the service, which are not read."
)


def comparing_kinds() -> Kinds:
    """The kinds, with a key for the digests of secrets. No state is read, so there is no key of a state; any key will do, because none is
    kept."""
    return keyed(load_kinds(), b"a comparison of files")


def loaded_version(
    operation: Operation, voice: Voice, kinds: Kinds, commit: NamedCommit, *, below: str = "", optional: bool = False, quiet: bool = False
) -> Project | None:
    """The project of a commit, whose files are in the folder that the options name. Raises `ConfigError`, whose problems name the commit.

    `below`: the path of the project with a slash at its end, for these names. `optional`: None if the commit has no such project, which is
    an error otherwise. `quiet`: without warnings, and without the variables of this process.
    """
    folder = operation.project if operation.project.is_dir() else operation.project.parent
    # A version from before the project had environments is compared as it is; what is compared with it is read as a run reads it.
    environment = operation.environment if not optional or (folder / ENVIRONMENTS).is_dir() else None
    unknown = environment is not None and not (folder / ENVIRONMENTS / f"{environment}.yaml").is_file()
    if optional and (not project_file(operation.project).is_file() or unknown):
        return None
    try:
        chosen = replace(operation, environment=environment)
        return load(chosen, voice, kinds, decrypt=False, stand_ins=True, warn=not quiet, environ={} if quiet else None)
    except ConfigError as error:
        root = str(folder).removesuffix(below.rstrip("/")).rstrip("/")
        raise error.in_version(f"{commit.label}:{below}", root) from None


def plan_between(kinds: Kinds, old: Project | None, new: Project, judge: Callable[[Project], JudgedProject], *, compared: str) -> Plan:
    """The plan from one version of a project to another; None: the project is new. `judge`: the rules that judge it. `compared`: which
    versions, for the reader."""
    judged_project = judge(new)
    new = judged_project.project
    before = old.desired if old is not None else replace(new.desired, resources={}, moved=(), removed={})
    state, actual = as_declared(kinds, before, new.desired)
    plan = as_far_as_files_say(kinds, new.desired, actual, make_plan(kinds, new.desired, state, actual), today=now().date())
    plan = replace(plan, redirects=between(url_settings(old.desired) if old is not None else None, url_settings(new.desired)))
    redirects = [TABLES] if url_settings(new.desired) is not None and (plan.redirects is not None or plan.changes) else []
    names = ", ".join(f"vars.{name}" for name in sorted({*(old or new).unset, *new.unset}))
    unset = [f"{names}: no value is known here. unknown.vars.NAME stands for it; what forEach makes of it is not shown."] if names else []
    return without_ids(
        replace(plan, notes=(*judged_project.notes, *plan.notes, f"{COMPARED}{compared} {COVERS}", *redirects, *unset)), state
    )
