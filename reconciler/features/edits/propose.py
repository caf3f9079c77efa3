"""Proposals: operations on the files of the working copy, checked in memory before anything is written, and undone as a whole.

    data ──> operations ──> texts ──> valid in every environment? ──> files     all of them, or none
                                      policies, rules, consents

Nothing is sent, and nothing but YAML files of the project is written. What the change leads to is for the plan, which people read.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from reconciler.address import bare
from reconciler.config import Project
from reconciler.config.keys import project_file
from reconciler.config.source.files import unreadable
from reconciler.errors import ConfigError, Refused
from reconciler.features.edits.changes import carried_out
from reconciler.features.edits.operations import EditOperation, operations
from reconciler.features.edits.release_notes import release_notes
from reconciler.features.edits.texts import ProjectTexts, project_texts
from reconciler.features.policies.judge import SORT, asks_the_plan, by_configuration
from reconciler.model import Desired, Plan, Severity, Violation
from reconciler.resource import Kinds
from reconciler.run.comparison import comparing_kinds, plan_between
from reconciler.run.connection.unseen import known_state
from reconciler.run.loading import load_options, now, sensitive_texts
from reconciler.run.operation import Operation
from reconciler.run.replaced_files import only_change, replace_files, settle, taken_back
from reconciler.run.rules import judged
from reconciler.run.voice import Voice
from reconciler.text.escape import terminal

CONTEXT: Final = 2  # lines around a change


@dataclass(frozen=True)
class ProposedChange:
    """What was proposed. `diff`: of the files, as lines. `plan`: from the files before to those after, in `environment`; None for an undo.
    `notes`: what is to be known beside them. `written`: False if only the result was asked for, or nothing changes."""

    diff: tuple[str, ...]
    files: tuple[str, ...]
    plan: Plan | None = None
    environment: str | None = None
    notes: tuple[str, ...] = ()
    written: bool = True


def propose(operation: Operation, voice: Voice, kinds: Kinds, data: Any, *, write: bool = True) -> ProposedChange:
    """Carry out operations. Raises `UsageError`, `Refused` and `ConfigError` before anything is written."""
    steps, root = operations(kinds, data), _root(operation)
    with only_change(root, partial(_waiting, voice)) if write else nullcontext():
        notes = _settled(root) if write else []
        with _unwritten("the project"):
            before = project_texts(operation.project, kinds, **load_options(operation, decrypt=False, stand_ins=True))
            environment = operation.environment or before.environments[0]
            old = before.load(environment) if environment not in before.environments else before.projects[environment]
            _hide(voice, kinds, before)
        with _unwritten("the project after these operations"):
            after = carried_out(before, steps)
            _hide(voice, kinds, after)
        _check_policies(kinds, before, after)
        _check_ids(operation, voice, before, after)
        changed = {name: text for name, text in after.texts.items() if text != before.texts[name]}
        judge = partial(judged, operation, voice, kinds)
        plan = plan_between(comparing_kinds(), old, after.projects[environment], judge, compared="the files before and after the proposal.")
        judged_alone = [*_check_plan(plan, after.projects[environment].desired, after.projects)]
        if write:  # also what changes nothing is the last proposal: an undo must not take back the one before it
            replace_files(root, before.texts, changed)
    diff = tuple(line for name, text in changed.items() for line in _diff(voice, name, before.texts[name], text))
    released = [
        note for step in steps if step.op == "release" for note in release_notes(old.desired, after.projects[environment].desired, step)
    ]
    notes += [*released, *judged_alone, *_patched(steps, before.projects), *([] if environment is None else [_of(environment, before)])]
    return ProposedChange(diff, tuple(changed), plan, environment, tuple(notes), written=bool(changed) and write)


def undo(operation: Operation, voice: Voice, *, own: bool = False) -> ProposedChange:
    """Restore the files as they were before the last proposal. Raises `Refused` if there is none, or if one was changed since. `own`: only
    if this process made it."""
    root = _root(operation)
    with only_change(root, partial(_waiting, voice)):
        notes = _settled(root)
        if notes:
            return ProposedChange((), (), notes=tuple(notes))
        replacement = taken_back(root, own=own)
    diff = (line for name, (before, after) in replacement.files.items() for line in _diff(voice, name, after, before))
    return ProposedChange(tuple(diff), tuple(replacement.files))


def _waiting(voice: Voice, attempt: int) -> None:
    """Say once that somebody else changes the files now."""
    if not attempt:
        voice.say("Waiting until another change of these files is written.", event="progress")
    voice.waiting(0.0, "another change of these files")


def _root(operation: Operation) -> Path:
    """The project's directory. Raises `ConfigError` where there is no project."""
    file = project_file(operation.project)
    if (wrong := unreadable(operation.project, file)) is not None:
        raise ConfigError([wrong], undone="written")
    return file.parent.resolve()


def _settled(root: Path) -> list[str]:
    names = settle(root)
    return [f"An earlier proposal was interrupted, and was taken back: {', '.join(names)}."] if names else []


@contextmanager
def _unwritten(where: str) -> Iterator[None]:
    """Say in problems of the project that nothing was written."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.problems, more=error.more, sensitive=error.sensitive, where=where, undone="written") from None


def _hide(voice: Voice, kinds: Kinds, texts: ProjectTexts) -> None:
    """Mask what the project keeps secret; raises `ConfigError` where it is not valid in an environment."""
    for project in texts.projects.values():
        voice.hide([*project.sensitive, *sensitive_texts(project, kinds)])


def _check_policies(kinds: Kinds, before: ProjectTexts, after: ProjectTexts) -> None:
    """Raise `Refused` if the files violate a policy that they did not violate before."""
    for environment, project in after.projects.items():
        known = {(violation.rule, violation.address) for violation in _violations(kinds, before.projects[environment].desired)}
        for violation in _violations(kinds, project.desired):
            if violation.level is Severity.ERROR and (violation.rule, violation.address) not in known:
                raise _violated(violation)


def _check_plan(plan: Plan, desired: Desired, environments: Collection[str | None]) -> Iterator[str]:
    """Raise `Refused` if the change violates a policy that looks at a plan. Yields what was not judged for that."""
    asking = [policy for policy in desired.policies.rules if asks_the_plan(policy)]
    names = {policy.id for policy in asking}
    for violation in plan.violations:
        if violation.sort == SORT and violation.level is Severity.ERROR and violation.rule in names:
            raise _violated(violation)
    if asking and len(environments) > 1:
        listed = ", ".join(f"{policy.id} ({policy.source.file_and_line})" for policy in asking)
        yield f"Judged in {desired.environment} alone, because they look at a plan: {listed}."


def _violated(violation: Violation) -> Refused:
    about = f"{violation.address}: " if violation.address is not None else ""
    where = f" ({violation.source.file_and_line})" if violation.source is not None else ""
    wrong = f"{about}policy {violation.rule}: {violation.message}{where}"
    return Refused(wrong, id="RC-policy-violated", hint=violation.remedy or "Propose what the policy allows.")


def _check_ids(operation: Operation, voice: Voice, before: ProjectTexts, after: ProjectTexts) -> None:
    """Raise `Refused` if an object that is managed at one address is added at another one: what is said of the first would not hold there,
    such as its protection, its policies and who may read it. The state is read only if something is added with an id."""
    for environment, project in after.projects.items():
        known = before.projects[environment].desired.resources
        added = {
            (declared.kind, bare(declared.id)): address
            for address, declared in project.desired.resources.items()
            if declared.id is not None and address not in known and not declared.previously
        }
        if not added:
            continue
        with known_state(replace(operation, environment=environment), voice, project) as store:
            bindings = store.read().bindings if store is not None else {}
        for old, binding in bindings.items():
            new = added.get((binding.kind, bare(binding.id)))
            # Ids of some kinds are only different within their container.
            if new is not None and new != old and (bare(binding.id) == binding.id or new.container == old.container):
                wrong = f"{new}: its id is that of {old}, which is managed already"
                raise Refused(wrong, id="RC-not-proposed", hint="Rename that instead, without removing it.")


def _violations(kinds: Kinds, desired: Desired) -> Iterator[Any]:
    if desired.policies:
        yield from by_configuration(kinds, desired, now().date())[0]


def _patched(steps: tuple[EditOperation, ...], projects: Mapping[str | None, Project]) -> Iterator[str]:
    """A sentence for each field that was set, and that an environment sets too."""
    for environment, project in projects.items():
        for step in steps:
            for patch in project.desired.patches:
                for name in patch.sets.keys() & step.fields.keys() if patch.glob.matches(step.address) else ():
                    yield f"{step.address}.{name} has another value in {environment}, at {patch.sets[name]}: only people change that."


def _of(environment: str, texts: ProjectTexts) -> str:
    others = [name for name in texts.environments if name not in (environment, None)]
    also = f" The files are valid in {', '.join(map(str, others))} too." if others else ""
    return f"This is the plan of the environment {environment}.{also}"


def _diff(voice: Voice, name: str, before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=CONTEXT)
    return (terminal(voice.masks.text(line)) for line in lines)
