"""The inputs of `validate --lint` besides the project: the clock, the state if there is one, and the files that a fix changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.config import Project
from reconciler.config.environments.folder import values_of
from reconciler.config.source.includes import texts
from reconciler.errors import ReconcilerError
from reconciler.features.edits.fixes import fixed, with_edits as edited
from reconciler.features.lint.accepted import findings, in_environments, variables_of
from reconciler.features.lint.rules import LintFacts
from reconciler.features.policies.judge import by_configuration
from reconciler.files import rewrite
from reconciler.model import Finding, State
from reconciler.report.findings import in_order, of_violation
from reconciler.resource import Kinds
from reconciler.run.connection.connecting import known_service, open_store
from reconciler.run.loading import load, now
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice
from reconciler.yamltext import line_ends


def checked(operation: Operation, voice: Voice, kinds: Kinds) -> tuple[Project, Sequence[Finding]]:
    """The project, and what lint finds in it with the policies that it violates, by place. Raises `ConfigError`."""
    project = load(operation, voice, kinds, decrypt=False, warn=False)
    violations = by_configuration(kinds, project.desired, now().date())[0]
    return project, in_order([*map(of_violation, violations), *found(operation, voice, kinds, project)])


def found(operation: Operation, voice: Voice, kinds: Kinds, project: Project) -> Sequence[Finding]:
    """What lint finds, by place."""
    return everywhere(project.settings.root, findings(facts_of(operation, voice, kinds, project)))


def facts_of(operation: Operation, voice: Voice, kinds: Kinds, project: Project) -> LintFacts:
    """The facts that the rules check."""
    state = _state(operation, voice, project)
    return LintFacts(kinds, project.desired, now().date(), project.unused, project.ignores, state, project.variables, project.sensitive)


def _state(operation: Operation, voice: Voice, project: Project) -> State | None:
    """The state, if a rule needs it and it exists; it is only read."""
    if not project.desired.moved and not any(declared.previously for declared in project.desired.resources.values()):
        return None
    try:
        service = known_service(operation, voice, project)
        if service is None:
            return None
        with open_store(operation, voice, project, service, create=False) as store:
            state = store.read()
    except ReconcilerError as error:
        voice.say(f"previously-done and moved-done were not checked, because the state cannot be read: {error.message}.")
        return None
    return state if state.bindings else None


def with_edits(operation: Operation, kinds: Kinds, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with the edits of their fixes."""
    before = texts(operation.project, kinds)[1]
    return edited({name: text.removeprefix(line_ends.BOM) for name, text in before.items()}, findings)


def fix(operation: Operation, kinds: Kinds, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], Mapping[Finding, str], list[str]]:
    """Apply the fixes, and write the files. Returns the corrected findings, the others with the reason, and the files."""
    root, before = texts(operation.project, kinds)
    changed, done, left = fixed(before, findings)
    return done, left, rewrite(root, changed)


def everywhere(root: Path, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with the fix of an unused variable extended to the environments that set it: otherwise those values would be errors."""
    names = variables_of(findings)
    return in_environments(findings, values_of(root, names) if names else {})
