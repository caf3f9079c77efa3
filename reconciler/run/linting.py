"""The inputs of `validate --lint` besides the project: the clock, the state if there is one, and the files that a fix changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.config.environments.folder import values_of
from reconciler.config.source.includes import texts
from reconciler.errors import ReconcilerError
from reconciler.files import rewrite
from reconciler.lint import LintFacts, fixed, in_environments, variables_of, with_edits as edited
from reconciler.model import Finding, State
from reconciler.resource import Kinds
from reconciler.run.connecting import known_service, open_store
from reconciler.run.loading import now
from reconciler.yamltext import line_ends


def facts_of(screen: Screen, options: Options, kinds: Kinds, project: Project) -> LintFacts:
    """The facts that the rules check."""
    state = _state(screen, options, project)
    return LintFacts(kinds, project.desired, now().date(), project.unused, project.ignores, state, project.variables, project.sensitive)


def _state(screen: Screen, options: Options, project: Project) -> State | None:
    """The state, if a rule needs it and it exists; it is only read."""
    if not project.desired.moved and not any(declared.previously for declared in project.desired.resources.values()):
        return None
    try:
        service = known_service(screen, options, project)
        if service is None:
            return None
        with open_store(screen, options, project, service, create=False) as store:
            state = store.read()
    except ReconcilerError as error:
        screen.say(f"previously-done and moved-done were not checked, because the state cannot be read: {error.message}.")
        return None
    return state if state.bindings else None


def with_edits(options: Options, kinds: Kinds, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with the edits of their fixes."""
    before = texts(options.project, kinds)[1]
    return edited({name: text.removeprefix(line_ends.BOM) for name, text in before.items()}, findings)


def fix(options: Options, kinds: Kinds, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], Mapping[Finding, str], list[str]]:
    """Apply the fixes, and write the files. Returns the corrected findings, the others with the reason, and the files."""
    root, before = texts(options.project, kinds)
    changed, done, left = fixed({name: line_ends.plain(text) for name, text in before.items()}, findings)
    return done, left, rewrite(root, {name: line_ends.as_before(text, before[name]) for name, text in changed.items()})


def everywhere(root: Path, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with the fix of an unused variable extended to the environments that set it: otherwise those values would be errors."""
    names = variables_of(findings)
    return in_environments(findings, values_of(root, names) if names else {})
