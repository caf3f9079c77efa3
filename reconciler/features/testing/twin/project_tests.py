"""The tests of a project: their files, read, and everything that they name. Sends no requests, and reads no variable of the environment.

    paths ──> project, files ──> headers ──load──> projects ──> steps, expectations ──> ProjectTest

A test may come from a pull request of a stranger: the files that it names are in its own folder, links followed, none of them hidden.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address
from reconciler.config import Project
from reconciler.config.environments.folder import SUFFIX, files as environment_files
from reconciler.config.keys import ENVIRONMENTS, PROJECT_FILE, project_file
from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.files import ProjectFiles
from reconciler.config.project import FileAccess, load_evaluated
from reconciler.config.source.nodes import Map, MapEntry, Node, Scalar, plain
from reconciler.config.source.problems import Problems, shown
from reconciler.errors import ConfigError, UsageError
from reconciler.features.policies.cases import EXAMPLES, Case, differences
from reconciler.features.testing.declared import Header, TwinStep
from reconciler.features.testing.expectations import Readers
from reconciler.features.testing.files import ENDING, FOLDER, discovered, in_folder
from reconciler.features.testing.keys import TESTS
from reconciler.features.testing.model import Mismatch, ProjectTestResult
from reconciler.features.testing.reading import FORM, TestReader, check_top, headers
from reconciler.features.testing.twin import policy_examples
from reconciler.features.testing.twin.running import ProjectTest
from reconciler.files import path_from_here
from reconciler.model import Source
from reconciler.model.policies import Policies
from reconciler.resource import Kinds
from reconciler.run.connection.embedded import own_seed, seed_document
from reconciler.run.connection.seed_file import SeedFile, parsed_seed
from reconciler.run.loading import sensitive_texts
from reconciler.text.names import did_you_mean
from reconciler.text.patterns import text_pattern

UNKNOWN: Final = FileAccess(option="", decrypt=False, stand_ins=True)
"""Secrets and variables without a value have a placeholder."""


@dataclass(frozen=True)
class TestFile:
    """A file of tests. `name`: in positions, relative to the project if it is inside."""

    __test__ = False  # not a test of pytest

    name: str
    path: Path
    top: Map


@dataclass(frozen=True)
class ReadyTests:
    """`tests`: to be run. `results`: of the examples of policies, which need no twin. `hidden`: texts to be masked."""

    tests: tuple[ProjectTest, ...]
    results: tuple[ProjectTestResult, ...]
    hidden: frozenset[str]


def chosen(paths: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """The project and the test files among the arguments; None where only files are named, and none is above them."""
    projects, files = [], []
    for path in paths:
        if path.is_dir() and (path / PROJECT_FILE).is_file():
            projects.append(path)
        elif path.is_dir():
            inside = in_folder(path)
            if not inside:
                raise UsageError(f"{path} contains no tests and is not a project", id="RC-no-tests", hint=f"Write {path}/NAME.yaml: {FORM}")
            files += inside
        elif _is_tests(path):
            files.append(path)
        else:
            projects.append(path)
    if len(projects) > 1:
        raise UsageError(f"{projects[1]} is a second project", id="RC-unexpected-argument", hint="Test one project at a time.")
    if projects or not files:
        return projects[0] if projects else None, files
    folders = files[0].absolute().parents
    return next((path_from_here(folder) for folder in folders if (folder / PROJECT_FILE).is_file()), None), files


def _is_tests(path: Path) -> bool:
    top = policy_examples.document(path, Problems([], silent=True), "tests")
    return path.name.endswith(ENDING) or (top is not None and bool({TESTS, EXAMPLES} & top.entries.keys()))


def gather(kinds: Kinds, project: Path, files: Sequence[Path], names: Sequence[str], *, environment: str | None) -> ReadyTests:
    """The tests of a project. `files`: those that are named; all if there are none, and then the `access` of the project too. `names`:
    patterns of names. `environment`: of tests that name none. Raises `ConfigError` with every problem, and `UsageError` without tests."""
    gathering = _Gathering(kinds, project, Problems([]), tuple(names), environment)
    with gathering.problems.raised(where="the tests", undone="run"):
        ready = gathering.run(files)
    unused = [pattern for pattern in names if not any(map(text_pattern(pattern).matches, gathering.names))]
    if unused:
        hint = did_you_mean(unused[0], gathering.names).removeprefix("; ") or "Without --name, all tests run."
        raise UsageError(f"no test is called {' or '.join(map(shown, unused))}", id="RC-no-tests", hint=hint)
    if not ready.tests and not ready.results:
        raise _without_tests(gathering, files)
    return ready


def _without_tests(gathering: _Gathering, files: Sequence[Path]) -> UsageError:
    where, way = ", ".join(map(str, files)) or str(gathering.root), f"Write {FOLDER}/NAME.yaml beside the project file: {TESTS}: {FORM}"
    return UsageError(f"there are no tests in {where}", id="RC-no-tests", hint=way)


def snapshots_of(test: ProjectTest) -> dict[str, str]:
    """The texts of the snapshots of a test that exist, by name. Raises `UsageError`."""
    texts, files = {}, ProjectFiles(test.folder, option="")
    for name in test.snapshots:
        try:
            texts[name] = files(name)
        except ExpressionError as error:
            if error.id != "RC-file-not-found":
                raise UsageError(f"{test.source}  snapshot: {error.message}", id=error.id) from None
    return texts


@dataclass(eq=False)
class _Gathering:
    """One `gather`. `names`: the names of the tests that exist."""

    kinds: Kinds
    project: Path
    problems: Problems
    patterns: tuple[str, ...]
    environment: str | None
    names: list[str] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    _loaded: dict[tuple[Path, str | None, str], tuple[Project, Evaluation] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not project_file(self.project).is_file():
            wrong = f"{project_file(self.project)} does not exist"
            raise UsageError(wrong, id="RC-no-project", hint="Name a project, or a test file in one.")
        self.root = project_file(self.project).parent

    def run(self, files: Sequence[Path]) -> ReadyTests:
        read = [file for path in (files or discovered(self.root)) if (file := self._file(path)) is not None]
        tests = [test for file in read for test in self._tests(file)]
        if not files:
            tests += self._access()
        results = [result for file in read if EXAMPLES in file.top.entries for result in self._examples(file)]
        return ReadyTests(tuple(tests), tuple(results), frozenset(self.hidden))

    def _file(self, path: Path) -> TestFile | None:
        inside = path.absolute().is_relative_to(self.root.absolute())
        name = path.absolute().relative_to(self.root.absolute()).as_posix() if inside else path.as_posix()
        top = policy_examples.document(path, self.problems, "tests", name=name)
        if top is None:
            return None
        check_top(top, self.problems)
        return TestFile(name, path, top)

    def _wanted(self, name: str) -> bool:
        self.names.append(name)
        return not self.patterns or any(text_pattern(pattern).matches(name) for pattern in self.patterns)

    # -- projects --------------------------------------------------------------------------------------------------------------------

    def _load(self, path: Path, environment: str | None, variables: Mapping[str, MapEntry]) -> tuple[Project, Evaluation] | None:
        """A project as a test has it, and what evaluates its expressions; None if it is invalid, which is reported."""
        key = (path, environment, json.dumps({name: plain(entry.node) for name, entry in variables.items()}, default=str, sort_keys=True))
        if key not in self._loaded:
            try:
                loaded = load_evaluated(path, self.kinds, environment=environment, environ={}, access=UNKNOWN, values=variables)
                self.hidden |= set(sensitive_texts(loaded[0], self.kinds))
                self._loaded[key] = loaded
            except ConfigError as error:
                self.problems.found += error.problems
                self._loaded[key] = None
        return self._loaded[key]

    @staticmethod
    def _environments(root: Path) -> list[str]:
        return [Path(name).name.removesuffix(SUFFIX) for name in environment_files(root)]

    def _environment(self, header: Header, path: Path) -> tuple[str | None] | None:
        """The environment of a test, in a tuple; None, with a problem, if it does not exist or is missing."""
        known = self._environments(project_file(path).parent)
        name, at = header.environment or (self.environment, header.source)
        if name is not None and header.environment is None and not known:
            return (None,)
        if name is None and known:
            ways = " or ".join(f"with: {{env: {environment}}}" for environment in known)
            self.problems.add(at, f"this project has environments; write {ways}, or pass --env", id="RC-environment-missing")
            return None
        if name is not None and name not in known:
            which = f"this project has {', '.join(known)}" if known else f"this project has none: no folder {ENVIRONMENTS}"
            wrong = f"environment {shown(name)} does not exist{did_you_mean(name, known)} ({which})"
            self.problems.add(at, wrong, id="RC-environment-unknown")
            return None
        return (name,)

    # -- tests -----------------------------------------------------------------------------------------------------------------------

    def _tests(self, file: TestFile) -> Iterator[ProjectTest]:
        for header in headers(file.top, self.problems) if TESTS in file.top.entries else ():
            if self._wanted(header.name):
                test = self._test(file, header)
                if test is not None:
                    yield test

    def _test(self, file: TestFile, header: Header) -> ProjectTest | None:
        folder = file.path.parent
        path = self.project if header.project is None else self._project_of(folder, *header.project)
        environment = self._environment(header, path) if path is not None else None
        if path is None or environment is None or "expect" not in header.entries:
            return None
        loaded = self._load(path, environment[0], header.variables)
        if loaded is None:
            return None
        project, evaluation = loaded
        reader = self._reader(path, folder, header, project, evaluation, environment[0])
        steps, expectations = reader.steps(header), reader.expectations(header)
        before = self._before(folder, header, environment[0])
        seed_file = self._seed(folder, header, evaluation)
        seed = self._seeded(project, before, seed_file)
        seeded = self._people(project, seed_file)
        return ProjectTest(header.name, header.source, project, steps, expectations, seed, seed_file, before, folder, seeded=seeded)

    def _reader(
        self, path: Path, folder: Path, header: Header, project: Project, evaluation: Evaluation, environment: str | None
    ) -> TestReader:
        own = Evaluation(folder.resolve(), evaluation.variables, environment, self.problems)
        own.option, own.stand_ins, own.secrets = "", True, evaluation.secrets
        own.refuse(list(evaluation.refused))

        def edited(address: Address, values: MapEntry) -> Mapping[str, Any]:
            return self._edited(path, environment, header, address, values)

        removed = {address: excluded.declared for address, excluded in project.desired.excluded.items()}
        return TestReader(self.kinds, project.desired.resources, self.problems, own.node, edited, removed)

    def _edited(self, path: Path, environment: str | None, header: Header, address: Address, values: MapEntry) -> Mapping[str, Any]:
        """What an edit sets, read as a patch of an environment sets it."""
        at, kind = values.at, self.kinds.of(address)
        fields = values.node.entries if isinstance(values.node, Map) else {}
        foreign = [entry for name, entry in fields.items() if name in ("id", "key", "protect", "adopt", "expect", "ignoreChanges")]
        for entry in foreign:
            self.problems.add(entry.at, f"{entry.key} is nothing that the service has; set fields of {kind.name}", id="RC-unknown-field")
        if foreign:
            return {}
        match = MapEntry("match", at, Scalar(at, str(address)))
        patch: Node = Map(at, {"match": match, "set": MapEntry("set", at, values.node)})
        try:
            project, _ = load_evaluated(
                path, self.kinds, environment=environment, environ={}, access=UNKNOWN, values=header.variables, patches=[patch]
            )
        except ConfigError as error:
            self.problems.found += error.problems
            return {}
        declared = project.desired.resources[address]
        return {name: declared.values[name] for name in fields if name in declared.values}

    def _project_of(self, folder: Path, name: str, at: Source) -> Path | None:
        """Another project file, which a test names."""
        place = folder / name
        file = f"{name.rstrip('/')}/{PROJECT_FILE}" if place.is_dir() else name
        return folder / file if self._content(folder, file, at, ()) is not None else None

    def _before(self, folder: Path, header: Header, environment: str | None) -> Project | None:
        path = self._project_of(folder, *header.before) if header.before is not None else None
        loaded = self._load(path, environment, header.variables) if path is not None else None
        return loaded[0] if loaded is not None else None

    def _seed(self, folder: Path, header: Header, evaluation: Evaluation) -> SeedFile | None:
        if header.seed is None:
            return None
        name, at = header.seed
        text = self._content(folder, name, at, evaluation.refused)
        if text is None:
            return None
        try:
            return parsed_seed(text, (folder / name).as_posix())
        except ConfigError as error:
            self.problems.found += error.problems
        except UsageError as error:
            self.problems.add(at, error.message, id=error.id)
        return None

    def _content(self, folder: Path, name: str, at: Source, refused: Sequence[Path]) -> bytes | None:
        """The content of a file of a test's folder; None with a problem."""
        try:
            return ProjectFiles(folder.resolve(), refused, option="").content(
                name, f'file "{name if len(name) <= 60 else name[:59] + "…"}"'
            )
        except ExpressionError as error:
            place = f"a test reads files of its own folder, {folder.as_posix()}"
            self.problems.add(at, f"{error.message}; {place}", id=error.id)
            return None

    def _seeded(self, project: Project, before: Project | None, own: SeedFile | None) -> dict[str, Any]:
        """What exists before a test: the seed, and what the projects assume."""
        try:
            given = own or own_seed(project)
        except ConfigError as error:
            self.problems.found += error.problems
            return {}
        document = seed_document(project, self.kinds, given)
        if before is None:
            return document
        return seed_document(before, self.kinds, SeedFile("", document, Map(Source("", 1), {})))

    def _people(self, project: Project, own: SeedFile | None) -> frozenset[str]:
        """The e-mails of the people whom a seed has itself."""
        try:
            given = own or own_seed(project)
        except ConfigError:
            return frozenset()  # reported with the seed
        emails: set[str] = set()
        for kind in self.kinds.values():
            rows = given.document.get(kind.seeds) if given is not None and kind.undeclared and kind.seeds else None
            listed = [row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, Mapping)]
            emails |= {str(row.get(str(kind.place.key_is))).lower() for row in listed}
        return frozenset(emails)

    # -- the rules of the project, as tests --------------------------------------------------------------------------------------------

    def _access(self) -> Iterator[ProjectTest]:
        """`access` of the project, which is true on a twin too: a test for each environment."""
        known: list[str | None] = [*self._environments(self.root)]
        for environment in [self.environment] if self.environment in known else known or [None]:
            loaded = self._load(self.project, environment, {})
            access = loaded[0].desired.access if loaded is not None else ()
            name = f"access in {environment}" if environment else "access"
            if loaded is None or not any(True for test in access for _ in test.asks) or not self._wanted(name):
                continue
            project, at = loaded[0], access[0].source
            expectations = tuple(Readers(test, of_service=True) for test in access)
            yield ProjectTest(
                name,
                at,
                project,
                (TwinStep("apply", at),),
                expectations,
                self._seeded(project, None, None),
                None,
                None,
                self.root,
                "access",
                self._people(project, None),
            )

    def _examples(self, file: TestFile) -> Iterator[ProjectTestResult]:
        """The examples of policies in a file."""
        own = policy_examples.inline(self.kinds, file.top, self.problems)
        known = self._environments(self.root)
        usual = self.environment if self.environment in known else next(iter(known), None)
        policies = self._policies(own, usual)
        if policies is None:
            return
        for case in policy_examples.cases(self.kinds, file.top, policies, self.problems):
            if self._wanted(case.name):
                environment = case.environment if case.environment in known else usual
                yield _result(case, self._policies(own, environment) or policies)

    def _policies(self, own: Policies | None, environment: str | None) -> Policies | None:
        if own is not None:
            return own
        loaded = self._load(self.project, environment, {})
        return loaded[0].desired.policies if loaded is not None else None


def _result(case: Case, policies: Policies) -> ProjectTestResult:
    mismatches = tuple(Mismatch(case.source, line) for line in differences(policies, case))
    return ProjectTestResult(case.name, case.source, "policy", case.environment, mismatches)
