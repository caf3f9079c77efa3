"""`--rules-from REF`: judge the project by the rules of another commit, which the files that are judged cannot change.

In: the project and a git ref. Out: the project with the guards, prune scopes, protected kinds, access tests and policies of that commit,
and with what suspends them: exceptions, the sites that have redirects, and the URLs of `urls.gone`. What its own files say of them is
still compared with the last apply, so that loosening them stays an exposure. Forbidden: judging by no rules where those of the ref cannot
be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.errors import ConfigError, UsageError
from reconciler.features.access.section import rematched
from reconciler.features.urls.model.redirects import UrlSettings
from reconciler.git.working import NamedCommit, WorkingRepository
from reconciler.model import Desired, Guards
from reconciler.model.policies import Policies
from reconciler.report.schemas.plan import RulesFromData
from reconciler.resource import Kinds
from reconciler.run.loading import load
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice

RULES: Final = "guards, prune, protect, access, policies and urls"


@dataclass(frozen=True)
class JudgedProject:
    """A project and where the rules that judge it come from; None: from its own files."""

    project: Project
    commit: NamedCommit | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for the reader of a plan."""
        return () if self.commit is None else (f"Judged by the rules of {self.commit}: {RULES}.",)

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
    judging = {name: take(kinds, own, other) for name, take in TAKEN.items()}
    return replace(project, desired=replace(own, **judging, own_rules=own))


def _guards(_: Kinds, own: Desired, other: Desired) -> Guards:
    # Without the key of dead URLs it depends on what else a project says, which must not be this one.
    return replace(other.guards, dead_urls=other.dead_urls)


def _policies(_: Kinds, own: Desired, other: Desired) -> Policies:
    return replace(other.policies, asks=frozenset((at, kind) for at, kind in other.policies.asks if at in own.resources))


def _urls(_: Kinds, own: Desired, other: Desired) -> UrlSettings | None:
    """The redirects of the files, and those of the sites that have some in the other commit; `gone` is that of the other commit."""
    if other.urls is None:
        return replace(own.urls, gone=()) if own.urls is not None else None
    urls, theirs = own.urls or UrlSettings(), other.urls
    left = {site: files for site, files in theirs.sites.items() if site in own.resources and site not in urls.sites}
    texts = {path: text for path, text in theirs.texts.items() if any(path.startswith(f"{files.folder}/") for files in left.values())}
    return replace(
        urls,
        sites={**urls.sites, **left},
        formats=urls.formats or theirs.formats,
        folder=urls.folder or theirs.folder,
        silent=urls.silent - left.keys(),
        gone=theirs.gone,
        earlier=(*urls.earlier, *(redirect for redirect in theirs.earlier if redirect.site in left)),
        texts={**texts, **urls.texts},
    )


TAKEN: Final[Mapping[str, Callable[[Kinds, Desired, Desired], Any]]] = {
    "guards": _guards,
    "prune": lambda kinds, own, other: other.prune,
    "protect": lambda kinds, own, other: other.protect,
    "access": lambda kinds, own, other: rematched(kinds, own, other.access),
    "policies": _policies,
    "urls": _urls,
}
"""How a field of `Desired` follows from the project and the other commit, for each of the keys `JUDGING`."""
