"""The problems of `validate` and the findings of `lint` for one project, from the texts as they are typed.

In: the project, the texts that are not saved. Out: `CheckedProject`. Reads files of the project only; sends nothing, decrypts nothing, and
takes no value from the environment, so a message cannot contain a secret of this machine: unknown values become placeholder texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler.address import Address
from reconciler.config import Project
from reconciler.config.environments.folder import SUFFIX, files as environment_files, values_of
from reconciler.config.keys import ENVIRONMENTS, PROJECT_FILE
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.project import FileAccess, Loading, LoadOptions, attempt
from reconciler.config.source.includes import INCLUDE
from reconciler.config.source.nodes import Map, Node, Scalar, parts_of, scalars
from reconciler.errors import Problem
from reconciler.features.lint.accepted import findings, in_environments, variables_of
from reconciler.features.lint.rules import LintFacts
from reconciler.features.lsp.documents import ParsedFiles
from reconciler.features.lsp.tests_of_project import test_problems
from reconciler.features.policies.judge import by_configuration
from reconciler.features.testing.files import is_test_file
from reconciler.model import Declared, Finding, State
from reconciler.report.findings import of_problem, of_violation
from reconciler.resource import Kinds
from reconciler.text.patterns import PathPattern
from reconciler.yamltext.tree import Untouchable

HALF_WRITTEN: Final = (Untouchable, ValueError, StopIteration, yaml.YAMLError)
"""What is raised by whatever looks for positions in a text that is not YAML at the moment."""
ACCESS: Final = FileAccess(decrypt=False, stand_ins=True)


@dataclass(frozen=True)
class CheckedProject:
    """One project at one moment. `found`: problems and findings, those of the whole project at its project file. `resources`: what it
    declares, in any environment. `documents`: its files after evaluation; `sections`: those of them that a map or list includes, with its
    name. `projects`: by environment, None without environments; only those that could be read. `include`: the files that the
    project file names. `secrets`: by name, the encrypted values of every environment, whose names are readable."""

    root: Path
    found: tuple[Finding, ...] = ()
    resources: Mapping[Address, Declared] = field(default_factory=dict)
    documents: Mapping[str, Node] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    projects: Mapping[str | None, Project] = field(default_factory=dict)
    environments: tuple[str, ...] = ()
    include: Node | None = None
    secrets: Mapping[str, Any] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether a file belongs to the project, as far as that is known."""
        known = (PROJECT_FILE, *self.documents, *(f"{ENVIRONMENTS}/{environment}{SUFFIX}" for environment in self.environments))
        return name in known or (
            not is_test_file(name) and any(finding.source is not None and finding.source.file == name for finding in self.found)
        )

    def includes(self, name: str) -> bool:
        """Whether a pattern of the project would include a file of that name."""
        nodes = [self.include] if self.include is not None else []
        waiting = list(self.documents.values())
        while waiting:
            node = waiting.pop()
            if isinstance(node, Map) and INCLUDE in node.entries:
                nodes.append(node.entries[INCLUDE].node)
            waiting += parts_of(node) if not isinstance(node, Scalar) else []
        return any(PathPattern.parse(scalar.text).matches(name) for node in nodes for scalar in scalars(node))

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables."""
        return tuple(sorted({name for project in self.projects.values() for name in project.variables}))


def nearest(file: Path) -> Path | None:
    """The folder of the project that a file belongs to: the nearest one with a project file; None if there is none."""
    return next((folder for folder in file.parents if (folder / PROJECT_FILE).is_file()), None)


def check(
    root: Path, kinds: Kinds, *, parsed: ParsedFiles, unsaved: Mapping[str, str], today: date, state_of: Callable[[Project], State | None]
) -> CheckedProject:
    """Check a project in each of its environments. `unsaved`: texts that count instead of those on the disk, by the names of files.
    `state_of`: the state of an environment, as far as it is known."""
    access = replace(ACCESS, texts=unsaved)
    environments = tuple(Path(name).name.removesuffix(SUFFIX) for name in environment_files(root) if name.endswith(SUFFIX))
    problems: list[Problem] = []
    others: list[Finding] = []
    projects: dict[str | None, Project] = {}
    resources: dict[Address, Declared] = {}
    documents: dict[str, Node] = {}
    sections: dict[str, str] = {}
    include: Node | None = None
    secrets: dict[str, Any] = {}
    loaded: dict[str | None, tuple[Project, Evaluation]] = {}
    for environment in environments or (None,):
        options: LoadOptions = {"environment": environment, "access": access, "parse": parsed.parse}
        project, loading = attempt(root, kinds, **options)
        problems += loading.problems.found
        documents |= loading.documents
        sections |= loading.sections
        include = loading.include.node if loading.include is not None else include
        if loading.secrets is not None:
            secrets |= {name: file.content.values[name] for name, file in loading.secrets.by_name.items()}
        if project is not None:
            projects[environment] = project
            loaded[environment] = (project, loading.evaluation)
            resources = {**project.desired.resources, **resources}
        # A project with problems is not looked at more closely; one that only contains a half-written file is, as it was before.
        if project is not None and all(parsed.broken(problem.file) for problem in loading.problems.found):
            others += _findings(kinds, project, loading, state_of(project), unsaved, today)
    problems += test_problems(root, kinds, loaded, unsaved)
    parsed.keep({*documents, *(problem.file for problem in problems), *(f"{ENVIRONMENTS}/{name}{SUFFIX}" for name in environments)})
    found = tuple(dict.fromkeys([*map(of_problem, dict.fromkeys(problems)), *others]))
    return CheckedProject(root, found, resources, documents, sections, projects, environments, include, secrets)


def _findings(
    kinds: Kinds, project: Project, loading: Loading, state: State | None, unsaved: Mapping[str, str], today: date
) -> Sequence[Finding]:
    """What lint finds, and the policies that are violated."""

    facts = LintFacts(kinds, project.desired, today, project.unused, project.ignores, state, project.variables, project.sensitive)
    results = findings(facts)
    names = variables_of(results)
    results = in_environments(results, values_of(loading.root, names, unsaved) if names else {})
    violations = by_configuration(kinds, project.desired, today)[0]
    return [*map(of_violation, violations), *results]
