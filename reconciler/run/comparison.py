"""Two versions of a project's files, and the plan from one to the other: without the service, a state, or anything that is executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.errors import ConfigError
from reconciler.git.working import NamedCommit
from reconciler.kinds import load as load_kinds
from reconciler.model import Actual, Desired, Plan
from reconciler.plan.offline import as_declared, without_ids
from reconciler.plan.planner import plan as make_plan
from reconciler.resource import Kinds
from reconciler.run.loading import keyed, load
from reconciler.run.operation import Operation
from reconciler.run.rules import JudgedProject
from reconciler.run.voice import Voice
from reconciler.seams import Seam

COMPARED: Final = "Compared: "
COVERS: Final = (
    "Nothing was read from the service, so exposures and broken URLs are shown only as far as the files declare them. "
    "Pages behind these URLs, and work in progress, are not known here: plan shows them."
)


class FilesCompared(NamedTuple):
    """Two versions of a project, old and new, None: the project is new; and what the service would show of the old one."""

    kinds: Kinds
    old: Desired | None
    new: Desired
    actual: Actual


FILE_STAGES: Final[Seam[Callable[[FilesCompared, Plan], tuple[Plan, Sequence[str]]]]] = Seam(
    "run", "what features say of a comparison of files"
)
"""Each returns the plan with what it says, and sentences for the reader."""


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
    compared_files = FilesCompared(kinds, old.desired if old is not None else None, new.desired, actual)
    plan, notes = make_plan(kinds, new.desired, state, actual), list[str]()
    for stage in FILE_STAGES:
        plan, more = stage(compared_files, plan)
        notes += more
    names = ", ".join(f"vars.{name}" for name in sorted({*(old or new).unset, *new.unset}))
    unset = [f"{names}: no value is known here. unknown.vars.NAME stands for it; what forEach makes of it is not shown."] if names else []
    return without_ids(replace(plan, notes=(*judged_project.notes, *plan.notes, f"{COMPARED}{compared} {COVERS}", *notes, *unset)), state)
