"""`--rules-from REF`: judge the project by the rules of another commit, which the files that are judged cannot change.

In: the project and a git ref. Out: the project with the guards, prune scopes, protected kinds, access tests and policies of that commit,
and with what suspends them: exceptions, the sites that have redirects, and the URLs of `urls.gone`. What its own files say of them is
still compared with the last apply, so that loosening them stays an exposure. Forbidden: judging by no rules where those of the ref cannot
be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.config.sections import SECTIONS, judged_keys
from reconciler.errors import ConfigError, UsageError
from reconciler.git.working import NamedCommit, WorkingRepository
from reconciler.report.schemas.plan import RulesFromData
from reconciler.report.words import listed
from reconciler.resource import Kinds
from reconciler.run.loading import load
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice

OWN: Final = ("guards", "prune", "protect")
"""The rules of the kernel, by their keys."""


def rule_names() -> list[str]:
    """What is taken from the other commit: the rules of the kernel, then those of features."""
    return [*OWN, *judged_keys()]


@dataclass(frozen=True)
class JudgedProject:
    """A project and where the rules that judge it come from; None: from its own files."""

    project: Project
    commit: NamedCommit | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for the reader of a plan."""
        return () if self.commit is None else (f"Judged by the rules of {self.commit}: {listed(names := rule_names(), len(names))}.",)

    @property
    def origin(self) -> RulesFromData | None:
        """What a saved plan records of it."""
        return None if self.commit is None else {"ref": self.commit.name, "commit": self.commit.id}


def judged(operation: Operation, voice: Voice, kinds: Kinds, project: Project) -> JudgedProject:
    """The project with the rules of `--rules-from`. Raises `UsageError` or `ConfigError` where they cannot be read."""
    if operation.rules is None:
        return JudgedProject(project)
    if operation.supervision.rules is not None:
        id, root = operation.supervision.rules
        commit = NamedCommit(operation.rules, id)
        return JudgedProject(with_rules_of(kinds, project, rules_at(operation, voice, kinds, commit, root)), commit)
    folder = operation.project if operation.project.is_dir() else operation.project.parent
    repository = WorkingRepository.around(folder)
    commit = repository.commit(operation.rules)
    with repository.files(commit) as root:
        rules = rules_at(operation, voice, kinds, commit, root)
    return JudgedProject(with_rules_of(kinds, project, rules), commit)


def rules_at(
    operation: Operation, voice: Voice, kinds: Kinds, commit: NamedCommit, root: Path, *, environ: Mapping[str, str] | None = None
) -> Project:
    """The project of the commit. Its secrets are not decrypted, and values that are not known here are placeholders. `environ`: the
    environment, None for that of this process."""
    name = project_file(operation.project).name
    missing = name if not (root / name).is_file() else ""
    if operation.environment and not missing and not (root / ENVIRONMENTS / f"{operation.environment}.yaml").is_file():
        missing = f"{ENVIRONMENTS}/{operation.environment}.yaml"
    if missing:
        raise UsageError(
            f"--rules-from {commit}: this commit has no {missing}, and so no rules for this project",
            id="RC-no-rules-there",
            hint="Name a commit that has the project in the same directory, or judge it by its own files: leave out --rules-from.",
        )
    path = root if operation.project.is_dir() else root / operation.project.name
    try:
        return load(replace(operation, project=path), voice, kinds, decrypt=False, stand_ins=True, warn=False, environ=environ)
    except ConfigError as error:
        raise error.in_version(f"{commit.short}:", str(root)) from None


def with_rules_of(kinds: Kinds, project: Project, rules: Project) -> Project:
    """The project, judged by the rules of another version of it."""
    own, other = project.desired, rules.desired
    # Without the key of dead URLs it depends on what else a project says, which must not be this one.
    guards = replace(other.guards, dead_urls=other.dead_urls)
    judged = replace(own, guards=guards, prune=other.prune, protect=other.protect, own_rules=own)
    for section in SECTIONS:
        judged = section.judged(kinds, judged, other)
    return replace(project, desired=judged)
