"""`load`: from a project directory to `Project`, every problem found at once; `load_settings`: the settings only.

The only module that knows the order of the steps: read the project file, its variables, the files it includes; evaluate; then
`assembled` walks the trees and resolves references. Reads files inside the project only (through `reader`); sends no requests.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from reconciler.config.assembled import assembled
from reconciler.config.environments.folder import chosen, unmentioned
from reconciler.config.environments.overlay import Overlay, lay_over, overlay
from reconciler.config.key import by_name
from reconciler.config.keys import ENVIRONMENTS, EVERYWHERE, IGNORED, SECRETS, SERVICE, SETTINGS, STATE, TOP, project_file
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.files import ALLOW_FILE, ProjectFiles
from reconciler.config.language.stand_ins import stand_in, take_unset
from reconciler.config.language.variables import ValueSources, Variables, read_files, read_variables
from reconciler.config.secrets.secrets import Secrets
from reconciler.config.settings import KeyReader, Project, databases, read_settings
from reconciler.config.source.files import Files, unreadable
from reconciler.config.source.includes import Split, included, is_encrypted_document
from reconciler.config.source.nodes import List, Map, MapEntry, Node, scalars
from reconciler.config.source.problems import Enough, Problems, described, wrong_form
from reconciler.config.source.reader import Document, read
from reconciler.errors import ConfigError
from reconciler.model import Desired, Source
from reconciler.resource import Kinds
from reconciler.text.names import closest, did_you_mean


@dataclass(frozen=True)
class FileAccess:
    """`variables`: the name and the bytes of each file of `--var-file`.

    `allowed`: files and folders outside the project that `file()` and `secrets` may read; `option`: what allows more, "" for nothing.
    `decrypt`: False if only the names of secrets are checked; expressions that use one then have no value. `stand_ins`: unknown values
    of variables and secrets become placeholder texts instead of problems.
    `texts`: of project files by name, instead of what is on the disk: what an editor has not saved, what a change would write."""

    variables: tuple[tuple[str, bytes], ...] = ()
    allowed: tuple[Path, ...] = ()
    option: str = ALLOW_FILE
    decrypt: bool = True
    stand_ins: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)


PROJECT_ONLY = FileAccess()


class LoadOptions(TypedDict, total=False):
    """`environment`: its name. `variables`: `--var` pairs. `public`: the names of variables from the environment that are not secret.
    `environ`: the environment. `access`: other files that may be read. `values`: of variables, with their positions, as those of
    `--var-file`. `patches`: further patches, as those of an environment; they contain no expressions. `parse`: that of `Files`."""

    environment: str | None
    variables: Mapping[str, str]
    public: Collection[str]
    environ: Mapping[str, str]
    access: FileAccess
    values: Mapping[str, MapEntry]
    patches: Sequence[Node]
    parse: Callable[[bytes, str], Document]


def load(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> Project:
    """The project in a directory, or of a project file. Raises `ConfigError` with all problems."""
    loading = Loading(Path(path), kinds, Problems([]), options)
    return _without_problems(loading, loading.run)


def load_evaluated(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> tuple[Project, Evaluation]:
    """The same, with what evaluated its expressions and can evaluate others. Raises `ConfigError` with all problems."""
    loading = Loading(Path(path), kinds, Problems([]), options)
    return _without_problems(loading, loading.run), loading.evaluation


def load_settings(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> Project:
    """The project with its settings only: whatever else its files say is neither read nor checked. Raises `ConfigError`."""
    loading = Loading(Path(path), kinds, Problems([]), options)
    return _without_problems(loading, loading.settings)


def attempt(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> tuple[Project | None, Loading]:
    """The project as far as it could be read, None if not at all, and the loading with its problems; for editors, where files are
    half-written most of the time."""
    loading = Loading(Path(path), kinds, Problems([]), options)
    project: Project | None = None
    with _uncollected(), suppress(Enough):
        project = loading.run()
    return project, loading


def _without_problems(loading: Loading, read: Callable[[], Project | None]) -> Project:
    """What `read` returns. Raises `ConfigError` with all problems of the loading."""
    problems = loading.problems
    project: Project | None = None
    with _uncollected(), suppress(Enough):
        project = read()
    if problems.found or project is None:
        raise ConfigError(problems.found, more=problems.full, sensitive=loading.secret_texts)
    return project


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the cycle collector, which would walk the growing trees again and again: 40 % of the time for 10,000 resources."""
    # Nodes have no references back, so there is nothing that counting references does not free.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Loading:
    """One run of `load`.

        project file -> environment laid over it -> variables -> included files -> secrets -> service and state -> everything else
                                                                                              |
        what `file()` may not read is known only after their expressions are evaluated <------+

    `look` is called with each file before its expressions are evaluated. What a run found is kept for `rendered`, which prints the files.
    """

    def __init__(
        self,
        path: Path,
        kinds: Kinds,
        problems: Problems,
        options: LoadOptions,
        *,
        look: Callable[[Node], None] = lambda node: None,
    ) -> None:
        self.path, self.kinds, self.problems, self.look, self.options = path, kinds, problems, look, options
        self.environment, self.access = options.get("environment") or None, options.get("access", PROJECT_ONLY)
        # The files by name, the project file first.
        self.documents: dict[str, Node] = {}
        # The section of each file that a map or list includes.
        self.sections: Mapping[str, str] = {}
        # The values of variables, and those of `--var-file`.
        self.given: Variables
        self.supplied: Mapping[str, MapEntry] = {}
        # Evaluates the expressions of the files.
        self.evaluation: Evaluation
        # The files that the project file names.
        self.include: MapEntry | None = None
        # The file of the environment, None without environments.
        self.overlay: Overlay | None = None
        self.secrets: Secrets | None = None
        # The replacements of nodes by patches, and the results of `forEach`, both by the identity of a node.
        self.changed: Mapping[int, Node | None] = {}
        self.generated: Mapping[int, list[Any]] = {}

    def _begin(self) -> tuple[Files, Map, list[MapEntry]] | None:
        """The files of the project, its project file with that of the environment laid over it, and what names encrypted files. `given` is
        known from then on."""
        file = project_file(self.path)
        wrong = unreadable(self.path, file)
        if wrong is not None:
            self.problems.found.append(wrong)
            return None
        files = Files(file.parent.resolve(), self.problems, given=self.access.texts, parse=self.options.get("parse", read))
        top = files.read(file.name)
        environment: Node | None = None
        if self.environment is not None or (file.parent / ENVIRONMENTS).is_dir():
            name = chosen(files.root, self.environment, self.problems)
            environment = files.read(name) if name is not None else None
            if environment is None:
                return None
            self.look(environment)
        if top is None:
            return None
        if not isinstance(top, Map):
            form = f"a project file must be a map, not {described(top)}; it must begin with version: 1"
            self.problems.add(top.at, form, id=wrong_form(top))
            return None
        if environment is not None:
            self.overlay = overlay(environment, frozenset(kind.place.section_in(None) for kind in self.kinds.roots), self.problems)
            lay_over(top, environment)
            files.literal.discard(file.name)  # the overlay may contain expressions
        if patches := tuple(self.options.get("patches", ())):
            before = self.overlay or Overlay()
            self.overlay = replace(before, patches=(*before.patches, *patches))
        # Variables come before every expression, so they contain none: each is known whatever order the files are read in.
        values = self.overlay.variables if self.overlay is not None else {}
        self.supplied = {**read_files(self.access.variables, self.problems), **self.options.get("values", {})}
        declared, variables, environ = top.entries.pop("vars", None), self.options.get("variables", {}), self.options.get("environ", {})
        unset = take_unset(declared, variables, environ, {*values, *self.supplied}) if self.access.stand_ins else {}
        public = self.options.get("public", ())
        sources = ValueSources(variables, self.supplied, environ, values)
        given = read_variables(declared, sources, public, self.problems)
        self.given = given.with_stand_ins({name: (entry.at, stand_in([name])) for name, entry in unset.items()})
        of_environment = environment.entries.get(SECRETS) if isinstance(environment, Map) else None
        return files, top, [entry for entry in (of_environment, top.entries.pop(SECRETS, None)) if entry is not None]

    def run(self) -> Project | None:
        """The project, with its problems noted."""
        begun = self._begin()
        if begun is None:
            return None
        files, top, encrypted = begun
        top_file = project_file(self.path).name
        self.include = top.entries.pop("include", None)
        names = included(files.root, top_file, self.include, self.problems)
        self.documents = {top_file: top} | {name: document for name in names if (document := files.read(name)) is not None}
        documents = list(self.documents.values())[1:]
        for document in self.documents.values():
            self.look(document)
        evaluation = self.evaluation = self._evaluation(files, top, encrypted)
        evaluation.top(top)
        maps = []
        for document in documents:
            if not isinstance(document, Map):
                name = next(iter(self.kinds.lists(self.kinds.roots[0].name)), "") if isinstance(document, List) else ""
                way = f"; include it where its nodes belong: {name}: {{include: [{document.at.file}]}}" if name else ""
                wrong = f"an included file must be a map of sections, not {described(document)}{way}"
                self.problems.add(document.at, wrong, id=wrong_form(document))
            elif not is_encrypted_document(document, self.problems):
                maps.append(document)
                evaluation.top(document)
        if self.overlay is not None:
            for node in (*self.overlay.patches, *(entry.node for entry in (*self.overlay.roots.values(), *self.overlay.removed))):
                evaluation.node(node)

        def evaluated(document: Node) -> Node:
            self.look(document)
            return evaluation.document(document)

        split = Split(files, top_file, self.problems, dict(names), evaluated)
        project, self.changed, self.generated = assembled(
            self.kinds, self.problems, self.environment, top, included=maps, split=split, evaluation=evaluation, overlay=self.overlay
        )
        self.documents |= {name: document for name, document in split.documents.items() if document is not None}
        self.sections = dict(split.sections)
        unused = {f"vars.{name}": at for name, at in self._unused(evaluation, files, project).items()}
        return replace(
            project,
            sensitive=self.given.secrets | self.secret_texts,
            supplied=frozenset(scalar.text for entry in self.supplied.values() for scalar in scalars(entry.node)),
            unused={**project.unused, **unused},
            variables=frozenset(evaluation.variables.places),
            unset=tuple(sorted(self.given.unset)),
            variable_texts=self.given.texts,
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
        written = [top.entries[key].node for key in SETTINGS if key in top.entries]
        # Decrypting takes a key that whoever only asks for the state may not have.
        uses_secrets = any(SECRETS in scalar.text for node in written for scalar in scalars(node))
        evaluation = self._evaluation(files, top, encrypted if uses_secrets else [])
        evaluation.top(top, *SETTINGS)
        settings = read_settings(KeyReader("", top.entries, self.problems), top.at, files.root)
        known = (*TOP, *by_name(EVERYWHERE), *(kind.place.section_in(None) for kind in self.kinds.roots))
        for key, entry in top.entries.items():
            if key not in known and not key.startswith(IGNORED) and closest(key, SETTINGS):  # a setting that is misspelled
                self.problems.add(entry.at, f'unknown key "{key}"{did_you_mean(key, known)}', id="RC-unknown-key")
        nothing = Desired(settings.project, self.environment, {}, {}, frozenset())
        return Project(settings, nothing, sensitive=self.given.secrets | self.secret_texts, texts={**files.texts, **evaluation.texts})

    def _evaluation(self, files: Files, top: Map, encrypted: list[MapEntry]) -> Evaluation:
        """Evaluates expressions. `encrypted`: what names encrypted files, the environment's first."""
        evaluation = Evaluation(files.root, self.given, self.environment, self.problems, literal=files.literal)
        # Before the service and the state are evaluated below: they may use a variable without a value too.
        evaluation.allowed, evaluation.option, evaluation.stand_ins = self.access.allowed, self.access.option, self.access.stand_ins
        if encrypted:
            refused, given = databases(top, files.root), self.access
            readable = ProjectFiles(evaluation.root, refused, texts=evaluation.texts, allowed=given.allowed, option=given.option)
            self.secrets = evaluation.secrets = Secrets(readable, self.options.get("environ", {}), self.problems, self.access.decrypt)
            for entry in reversed(encrypted):  # that of the environment wins
                self.secrets.add(entry)
        # Where the databases are may come from an expression, and file() must return neither. So these two are evaluated first, then every
        # other expression is refused what they name.
        evaluation.top(top, SERVICE.name, STATE)
        evaluation.refuse(databases(top, files.root))
        return evaluation

    @property
    def root(self) -> Path:
        """The project's directory."""
        return project_file(self.path).parent.resolve()

    @property
    def secret_texts(self) -> frozenset[str]:
        """Every text that was decrypted."""
        return self.secrets.texts if self.secrets is not None else frozenset()

    def _unused(self, evaluation: Evaluation, files: Files, project: Project) -> Mapping[str, Source]:
        """The variables that no expression uses, of this environment or of another one, and no policy."""
        unused = {name: at for name, at in evaluation.unused().items() if name not in project.desired.policies.variables}
        if not unused or self.environment is None:
            return unused

        names = unmentioned(files.root, unused, files.texts, files.given)
        return {name: at for name, at in unused.items() if name in names}
