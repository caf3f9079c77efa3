"""`load`: from a project directory to `Project`, every problem found at once; `load_settings`: the settings only.

The only module that knows the order of the steps: read the project file, its variables, the files it includes; evaluate; then
`assembled` walks the trees and resolves references. Reads files inside the project only (through `reader`); sends no requests.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from reconciler.config.assembled import EvaluatedFiles, assembled
from reconciler.config.environments.folder import chosen
from reconciler.config.environments.mentions import unmentioned
from reconciler.config.environments.overlay import Overlay, lay_over, overlay
from reconciler.config.keys import ENVIRONMENTS, IGNORED, SECRETS, SERVICE, SETTINGS, STATE, TOP, project_file
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.files import ProjectFiles
from reconciler.config.language.stand_ins import stand_in, take_unset
from reconciler.config.language.variable_files import VariableFile, read_files
from reconciler.config.language.variables import Variables, read_variables
from reconciler.config.secrets.secrets import Secrets
from reconciler.config.settings import KeyReader, Project, databases, read_settings
from reconciler.config.source.files import Files, unreadable
from reconciler.config.source.includes import included, is_encrypted_document
from reconciler.config.source.nodes import List, Map, MapEntry, Node, scalars
from reconciler.config.source.problems import PROBLEMS_MAX, Enough, Problems, described, wrong_form
from reconciler.config.source.split import Split
from reconciler.errors import ConfigError
from reconciler.model import Desired, Source
from reconciler.resource import Kinds
from reconciler.text.suggest import closest, did_you_mean


@dataclass(frozen=True)
class FileAccess:
    """`variables`: the files of `--var-file`. `allowed`: files and folders outside the project that `file()` and `secrets` may read.
    `decrypt`: False if only the names of secrets are checked; expressions that use one then have no value. `stand_ins`: unknown values
    of variables and secrets become placeholder texts instead of problems."""

    variables: tuple[VariableFile, ...] = ()
    allowed: tuple[Path, ...] = ()
    decrypt: bool = True
    stand_ins: bool = False


PROJECT_ONLY = FileAccess()


class LoadOptions(TypedDict, total=False):
    """`environment`: its name. `variables`: `--var` pairs. `public`: the names of variables from the environment that are not secret.
    `environ`: the environment. `access`: other files that may be read."""

    environment: str | None
    variables: Mapping[str, str]
    public: Collection[str]
    environ: Mapping[str, str]
    access: FileAccess


def load(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> Project:
    """The project in a directory, or of a project file. Raises `ConfigError` with all problems."""
    loading = Loading(Path(path), kinds, Problems([]), options)
    return _without_problems(loading, loading.run)


def load_settings(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> Project:
    """The project with its settings only: whatever else its files say is neither read nor checked. Raises `ConfigError`."""
    loading = Loading(Path(path), kinds, Problems([]), options)
    return _without_problems(loading, loading.settings)


def _without_problems(loading: Loading, read: Callable[[], Project | None]) -> Project:
    """What `read` returns. Raises `ConfigError` with all problems of the loading."""
    problems = loading.problems
    project: Project | None = None
    with _uncollected(), suppress(Enough):
        project = read()
    if problems.found or project is None:
        raise ConfigError(problems.found, more=len(problems.found) >= PROBLEMS_MAX, sensitive=loading.secret_texts)
    return project


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the cycle collector, which would walk the growing trees again and again: 40 % of the time for 10,000 resources."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Loading:
    """One run of `load`. `documents`: the files by name, the project file first; `given`: the variables, and `supplied`: the values
    of `--var-file`, known once it has run.

    `look`: called with each file before its expressions are evaluated. `include`: the files that the project file names. `overlay`: the
    file of the environment, None without environments; `missing`: the project has environments, and none is chosen. `changed`: the
    replacements of nodes by patches, by identity; `generated`: the results of `forEach`.
    """

    def __init__(
        self,
        path: Path,
        kinds: Kinds,
        problems: Problems,
        options: LoadOptions,
        *,
        look: Callable[[Node], None] | None = None,
    ) -> None:
        self.path, self.kinds, self.problems, self.look = path, kinds, problems, look
        self.environment, self.access = options.get("environment") or None, options.get("access", PROJECT_ONLY)
        self.variables, self.environ = options.get("variables", {}), options.get("environ", {})
        self.public = options.get("public", ())
        self.documents: dict[str, Node] = {}
        self.given: Variables
        self.supplied: Mapping[str, MapEntry] = {}
        self.include: MapEntry | None = None
        self.overlay: Overlay | None = None
        self.missing = False
        self.secrets: Secrets | None = None
        self.changed: Mapping[int, Node | None] = {}
        self.generated: Mapping[int, list[Any]] = {}
        self.roots = {kind.place.section_in(None): kind for kind in kinds.roots}

    def _begin(self) -> tuple[Files, Map, list[MapEntry]] | None:
        """The files of the project, its project file with that of the environment laid over it, and what names encrypted files. `given` is
        known from then on."""
        file = project_file(self.path)
        wrong = unreadable(self.path, file)
        if wrong is not None:
            self.problems.found.append(wrong)
            return None
        files = Files(file.parent.resolve(), self.problems)
        top = files.read(file.name)
        environment = self._environment(files) if self.environment is not None or (file.parent / ENVIRONMENTS).is_dir() else None
        if top is None or self.missing:
            return None
        if not isinstance(top, Map):
            form = f"a project file must be a map, not {described(top)}; it must begin with version: 1"
            self.problems.add(top.at, form, id=wrong_form(top))
            return None
        chosen: Mapping[str, MapEntry] = {}
        if environment is not None:
            self.overlay = overlay(environment, frozenset(self.roots), self.problems)
            chosen = self.overlay.variables
            lay_over(top, environment)
            files.literal.discard(file.name)  # the overlay may contain expressions
        self.supplied = supplied = self._supplied(self.access.variables)
        declared = top.entries.pop("vars", None)
        unset = self._unset(declared, {*chosen, *supplied})
        given = read_variables(declared, self.variables, self.public, self.environ, self.problems, chosen=chosen, files=supplied)
        self.given = given.with_stand_ins(unset)
        return files, top, [entry for entry in (self._secrets(environment), top.entries.pop(SECRETS, None)) if entry is not None]

    def run(self) -> Project | None:
        """The project, with its problems noted."""
        begun = self._begin()
        if begun is None:
            return None
        files, top, encrypted = begun
        file = project_file(self.path)
        self.include = top.entries.pop("include", None)
        names = included(files.root, file.name, self.include, self.problems)
        split = Split(files, file.name, self.problems, dict(names))
        self.documents = {file.name: top} | {name: document for name in names if (document := files.read(name)) is not None}
        documents = list(self.documents.values())[1:]
        if self.look is not None:
            for document in self.documents.values():
                self.look(document)
        evaluation = Evaluation(files.root, self.given, self.environment, self.problems, literal=files.literal)
        evaluation.allowed, evaluation.stand_ins = self.access.allowed, self.access.stand_ins
        if encrypted:
            self.secrets = evaluation.secrets = self._encrypted(encrypted, evaluation, databases(top, files.root))
        split.evaluated = self._evaluated(evaluation)
        evaluation.top(top, SERVICE.name, STATE)
        evaluation.refuse(databases(top, files.root))
        evaluation.top(top)
        maps = [one for one in documents if isinstance(one, Map) and not is_encrypted_document(one, self.problems)]
        for one in documents:
            if not isinstance(one, Map):
                name = next(iter(self.kinds.lists(self.kinds.roots[0].name)), "") if isinstance(one, List) else ""
                way = f"; include it where its nodes belong: {name}: {{include: [{one.at.file}]}}" if name else ""
                self.problems.add(one.at, f"an included file must be a map of sections, not {described(one)}{way}", id=wrong_form(one))
        for one in maps:
            evaluation.top(one)
        if self.overlay is not None:
            self._evaluate_overlay(self.overlay, evaluation)
        assembly = assembled(self.kinds, self.problems, self.environment, EvaluatedFiles(top, maps, split, evaluation, self.overlay))
        project, self.changed, self.generated = assembly.project, assembly.changed, assembly.generated
        self.documents |= {name: document for name, document in split.documents.items() if document is not None}
        unused = {f"vars.{name}": at for name, at in self._unused(evaluation, files, project).items()}
        return replace(
            project,
            sensitive=self.given.secrets | self.secret_texts,
            supplied=frozenset(scalar.text for entry in self.supplied.values() for scalar in scalars(entry.node)),
            unused={**project.unused, **unused},
            variables=frozenset(evaluation.variables.places),
            unset=tuple(sorted(self.given.unset)),
            undecrypted=self.secrets.unchecked if self.secrets is not None else (),
            encrypted=bool(encrypted),
            texts={**files.texts, **evaluation.texts},
        )

    def settings(self) -> Project | None:
        """The project with its settings, which declares nothing: of its files only that of the project and of the environment are read."""
        begun = self._begin()
        if begun is None:
            return None
        files, top, encrypted = begun
        evaluation = Evaluation(files.root, self.given, self.environment, self.problems, literal=files.literal)
        evaluation.allowed = self.access.allowed
        written = [top.entries[key].node for key in SETTINGS if key in top.entries]
        if encrypted and any(SECRETS in scalar.text for node in written for scalar in scalars(node)):
            self.secrets = evaluation.secrets = self._encrypted(encrypted, evaluation, databases(top, files.root))
        evaluation.top(top, SERVICE.name, STATE)
        evaluation.refuse(databases(top, files.root))
        evaluation.top(top, *SETTINGS)
        settings = read_settings(KeyReader("", top.entries, self.problems), top.at, files.root)
        known = (*TOP, "moved", "removed", *self.roots)
        for key, entry in top.entries.items():
            if key not in known and not key.startswith(IGNORED) and closest(key, SETTINGS):  # a setting that is misspelled
                self.problems.add(entry.at, f'unknown key "{key}"{did_you_mean(key, known)}', id="RC-unknown-key")
        nothing = Desired(settings.project, self.environment, {}, {}, frozenset())
        return Project(settings, nothing, sensitive=self.given.secrets | self.secret_texts, texts={**files.texts, **evaluation.texts})

    @property
    def secret_texts(self) -> frozenset[str]:
        """Every text that was decrypted."""
        return self.secrets.texts if self.secrets is not None else frozenset()

    def _unset(self, declared: MapEntry | None, others: Collection[str]) -> Mapping[str, tuple[Source, str]]:
        """Remove variables without a value from `vars`, if that is allowed: where each is declared, and its placeholder text."""
        if not self.access.stand_ins:
            return {}

        return {name: (entry.at, stand_in([name])) for name, entry in take_unset(declared, self.variables, self.environ, others).items()}

    def _supplied(self, given: Sequence[VariableFile]) -> Mapping[str, MapEntry]:
        """The values of `--var-file` by name."""
        if not given:
            return {}

        return read_files(given, self.problems)

    def _unused(self, evaluation: Evaluation, files: Files, made: Project) -> Mapping[str, Source]:
        """The variables that no expression uses, of this environment or of another one, and no policy."""
        unused = {name: at for name, at in evaluation.unused().items() if name not in made.desired.policies.variables}
        if not unused or self.environment is None:
            return unused

        names = unmentioned(files.root, unused, files.texts)
        return {name: at for name, at in unused.items() if name in names}

    def _environment(self, files: Files) -> Node | None:
        """The file of the chosen environment."""
        name = chosen(files.root, self.environment, self.problems)
        node = files.read(name) if name is not None else None
        self.missing = node is None
        if node is not None and self.look is not None:
            self.look(node)
        return node

    def _secrets(self, environment: Node | None) -> MapEntry | None:
        """The encrypted files that the environment names."""
        return environment.entries.get(SECRETS) if isinstance(environment, Map) else None

    def _encrypted(self, entries: list[MapEntry], evaluation: Evaluation, refused: list[Path]) -> Secrets:
        """The values in encrypted files. `entries`: the sections that name them, the environment's first."""
        files = ProjectFiles(evaluation.root, refused, texts=evaluation.texts, allowed=evaluation.allowed)
        secrets = Secrets(files, self.environ, self.problems, self.access.decrypt)
        for entry in reversed(entries):
            secrets.add(entry)
        return secrets

    def _evaluate_overlay(self, overlay: Overlay, evaluation: Evaluation) -> None:
        for node in (*overlay.patches, *(entry.node for entry in (*overlay.roots.values(), *overlay.removed))):
            evaluation.node(node)

    def _evaluated(self, evaluation: Evaluation) -> Callable[[Node], Node]:
        """A function that evaluates the node of a file that a map or list includes."""

        def evaluated(document: Node) -> Node:
            if self.look is not None:
                self.look(document)
            return evaluation.document(document)

        return evaluated
