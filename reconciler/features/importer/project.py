"""A whole project as files, split as a person would split it. Pure: the same reading gives the same bytes.

A small project is one file. Of a larger one, each list and each site is a file, and a list that is too long for one has a file for each
node that contains others, and one for the nodes between two of them.

In: gathered objects. Out: the files, and what is written in place of each list that is split.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.config.keys import TOP
from reconciler.config.source.includes import INCLUDE
from reconciler.features.access.today import REASON, tests_of_today
from reconciler.features.importer.defaults import shared_values
from reconciler.features.importer.entry import EntryWriter, FreePaths
from reconciler.features.importer.gather import Gathered, GatheredObject
from reconciler.model import Actual
from reconciler.resource import Kinds
from reconciler.yamltext.emit import EmittedEntry, EmittedList, EmittedMap, document
from reconciler.yamltext.format import document as document_shape, layout


@dataclass(frozen=True)
class FileSizes:
    """`lines`: the most of a project in one file. `nodes`: the most of a root's list in one file. `file`: the most of any other list in
    one, because a file is limited in its values. `depth`: the most lists inside each other in one file, which is limited in its levels."""

    lines: int = 150
    nodes: int = 300
    file: int = 10_000
    depth: int = 30


LIMITS: Final = FileSizes()
SPLIT: Final = FileSizes(lines=0, nodes=0)
"""A file for each list of a root, for each site, and for each node of a list that contains others."""


class RootFiles:
    """The files of one root. `taken`: paths that are in use."""

    def __init__(self, writer: EntryWriter, limits: FileSizes, taken: Collection[str] = ()) -> None:
        self.writer, self.limits = writer, limits
        self.files: dict[str, EmittedMap] = {}
        self._paths = FreePaths(taken)

    def split(self, host: GatheredObject, section: str, folder: str) -> None:
        """Split a list of undeclared nodes into files where it is too long; the writer writes their names in its place."""
        items = [gathered for gathered in host.below.get(section, ()) if not gathered.declared]
        if sum(size(item) for item in items) <= (self.limits.nodes if host.host is None else self.limits.file):
            self._fold(host, section, folder, 0)
            return
        names = []
        for group in self._groups(items):
            first = group[0]
            name = first.key if self._holds(first) else f"{first.kind.name}s"
            path = self._paths.free(f"{folder}/{name}", ".yaml")
            if len(group) == 1:
                for inner in self.writer.all.kinds.lists(first.kind.name):
                    self.split(first, inner, f"{folder}/{name}")
            self.files[path] = EmittedMap(
                [EmittedEntry(section, EmittedList([self.writer.node(gathered) for gathered in group], open=True))], open=True
            )
            names.append(path)
        self.writer.elsewhere[(host.ref, section)] = EmittedEntry(section, EmittedMap([EmittedEntry(INCLUDE, names)], open=True))

    def _fold(self, host: GatheredObject, section: str, folder: str, level: int) -> None:
        """Write lists that are inside too many others into files of their own. `level`: how many are around this one."""
        items = host.below.get(section, ())
        for item in items:
            for inner in self.writer.all.kinds.lists(item.kind.name):
                self._fold(item, inner, folder, level + 1)
        if level > 0 and level % self.limits.depth == 0 and items and not any(item.declared for item in items):
            path = self._paths.free(f"{folder}/{host.key}", ".yaml")
            content = EmittedEntry(section, EmittedList([self.writer.node(item) for item in items], open=True))
            self.files[path] = EmittedMap([content], open=True)
            self.writer.elsewhere[(host.ref, section)] = EmittedEntry(section, EmittedMap([EmittedEntry(INCLUDE, [path])], open=True))

    def _groups(self, items: list[GatheredObject]) -> Iterator[list[GatheredObject]]:
        """The nodes of each file: one that contains others, or consecutive ones without contents."""
        group: list[GatheredObject] = []
        for item in items:
            if self._holds(item) or len(group) >= self.limits.file:
                if group:
                    yield group
                group = []
            if self._holds(item):
                yield [item]
            else:
                group.append(item)
        if group:
            yield group

    def _holds(self, item: GatheredObject) -> bool:
        return bool(self.writer.all.kinds.lists(item.kind.name))


def size(item: GatheredObject) -> int:
    """The number of nodes in a node, itself included."""
    return 1 + sum(size(gathered) for some in item.below.values() for gathered in some)


def depth(item: GatheredObject) -> int:
    """How many levels of nodes are in a node."""
    return max((1 + depth(gathered) for some in item.below.values() for gathered in some), default=0)


MODELINE = "yaml-language-server: $schema={schema}"
PROJECT_FILE = "reconciler.yaml"


@dataclass(frozen=True)
class ImportedProject:
    """`files`: relative path to text. `missing`: sentences about objects that are not written, or could not be read. `unwritable`: whether
    an object was left out although everything that is required of it is known."""

    files: Mapping[str, str]
    missing: tuple[str, ...]
    unwritable: bool = False


@dataclass(frozen=True)
class NewFiles:
    """What new files are like. `schema`: where the schema for editors is. `limits`: when they are split. `taken`: paths that none may have,
    beside those of YAML files. `access_tests`: whether who can read what today becomes tests."""

    schema: str
    limits: FileSizes = LIMITS
    taken: Collection[str] = ()
    access_tests: bool = False


def project(kinds: Kinds, actual: Actual, new: NewFiles, *, service: Mapping[str, object]) -> ImportedProject:
    """The files of a new project that declares everything in `actual`.

    The first root's key is the project's name. `service`: the keys of that section.
    """
    gathered = Gathered(kinds, actual, {})
    writer = EntryWriter(gathered, taken=new.taken)
    writer.defaults = defaults = shared_values(writer)  # the writer keeps the values that this compares
    unseen = unread(actual)
    top = EmittedMap([EmittedEntry("version", 1), EmittedEntry("project", gathered.roots[0].key if gathered.roots else "docs")])
    if service:
        top.lines.append(EmittedEntry("service", EmittedMap([EmittedEntry(name, value) for name, value in service.items()])))
    if defaults:
        top.lines.append(EmittedEntry("defaults", EmittedMap([EmittedEntry(kind, values) for kind, values in defaults.items()], open=True)))
    if new.access_tests and (tests := _access_tests(gathered)):
        top.lines.append(EmittedEntry("access", EmittedList(tests, open=True)))
    schema, limits = new.schema, new.limits
    head = [modeline(PROJECT_FILE, schema), *(f"Not seen: {name}" for name in unseen)]
    files: dict[str, EmittedMap] = {}
    text = ""
    if sum(map(size, gathered.roots)) <= limits.lines and max(map(depth, gathered.roots), default=0) <= limits.depth:
        text = document(_with_roots(top, [(root, writer.entry(root)) for root in gathered.roots]), head=head)
    if not text or text.count("\n") > limits.lines:
        top, files = _split(writer, top, limits)
        text = document(top, head=head)
    texts = {PROJECT_FILE: text, **{path: document(content, head=[modeline(path, schema)]) for path, content in files.items()}}
    shape = document_shape(kinds, TOP)
    texts = {path: layout(text, shape) for path, text in texts.items()} | writer.certificates
    return ImportedProject(texts, (*unseen, *missing(gathered)), gathered.unwritable)


def _access_tests(gathered: Gathered) -> list[EmittedEntry]:
    """Who can read what today, as tests."""
    ids = {item.address: item.observed.id for item in gathered.items.values() if item.address is not None}
    return [
        EmittedEntry(
            None,
            EmittedMap(
                [
                    EmittedEntry("as", test.reader),
                    *([EmittedEntry("sees", test.sees)] if test.sees else []),
                    *([EmittedEntry("mustNotSee", test.must_not_see)] if test.must_not_see else []),
                    EmittedEntry("reason", REASON),
                ],
                open=True,
            ),
        )
        for test in tests_of_today(gathered.kinds, gathered.actual, ids)
    ]


def _with_roots(top: EmittedMap, entries: Sequence[tuple[GatheredObject, EmittedEntry]]) -> EmittedMap:
    """The project file with the roots in it."""
    sections: dict[str, EmittedMap] = {}
    for root, entry in entries:
        sections.setdefault(root.kind.place.section_in(None), EmittedMap(open=True)).lines.append(entry)
    return EmittedMap([*top.lines, *(EmittedEntry(section, value) for section, value in sections.items())], open=top.open)


def _split(writer: EntryWriter, top: EmittedMap, limits: FileSizes) -> tuple[EmittedMap, dict[str, EmittedMap]]:
    """The project file, and the other files of a project that is too long for one."""
    several = len(writer.all.roots) > 1
    files: dict[str, EmittedMap] = {}
    split: dict[str, EmittedMap] = {}
    entries: list[tuple[GatheredObject, EmittedEntry]] = []
    for root in writer.all.roots:
        split |= parts(writer, root, several, limits)
        beside, rest = split_files(writer, root, several)
        files |= beside
        entries.append((root, writer.entry(root, without=rest)))
    include = [EmittedEntry("include", _patterns(files))] if files else []
    return _with_roots(EmittedMap([*top.lines, *include]), entries), files | split


def modeline(path: str, schema: str) -> str:
    """The comment that names the schema of a file for editors."""
    return MODELINE.format(schema="../" * path.count("/") + schema)


def parts(
    writer: EntryWriter, root: GatheredObject, several: bool, limits: FileSizes = LIMITS, *, taken: Collection[str] = ()
) -> dict[str, EmittedMap]:
    """The files of the ordered lists of a root that are too long for one, where nothing in the list is declared yet."""
    root_files = RootFiles(writer, limits, taken)
    for section, kind, _, _ in writer.sections(root):
        if kind.place.in_list and not any(gathered.declared for gathered in root.below.get(section, ())):
            root_files.split(root, section, f"{root.key}/{section}" if several else section)
    return root_files.files


def split_files(writer: EntryWriter, root: GatheredObject, several: bool) -> tuple[dict[str, EmittedMap], frozenset[str]]:
    """The files with parts of a root, and the names of the sections in them: each list, and each section whose entries can contain
    others."""
    kinds = writer.all.kinds
    whose = [EmittedEntry(root.kind.name, root.key)] if several else []
    files: dict[str, EmittedMap] = {}
    names = set()
    folder = f"{root.key}/" if several else ""
    for section, kind, items, missed in writer.sections(root):
        if (root.ref, section) in writer.elsewhere:
            continue
        if kind.place.in_list:
            if items or missed:
                files[f"{folder}{section}.yaml"] = EmittedMap([*whose, writer.section(kind, section, items, missed)], open=True)
            names.add(section)
        elif items and (kinds.sections(kind.name) or kinds.lists(kind.name)):
            for index, item in enumerate(items):
                line = writer.section(kind, section, [item], missed if index == 0 else [])
                files[f"{folder}{section}/{item.key}.yaml"] = EmittedMap([*whose, line], open=True)
            names.add(section)
    return files, frozenset(names)


def _patterns(files: Mapping[str, object]) -> Sequence[str]:
    """The value of `include` for these files: each at the top level by its name, each folder by a pattern."""
    patterns = {path if "/" not in path else f"{path.rpartition('/')[0]}/*.yaml" for path in files}
    return sorted(patterns, key=lambda pattern: ("/" in pattern, pattern))


def unread(actual: Actual) -> tuple[str, ...]:
    """Sentences about what could not be read."""
    return tuple(
        dict.fromkeys(
            f"{unknown.kind}" + (f" in {unknown.scope}" if unknown.scope else "") + f": {unknown.reason}" for unknown in actual.unknown
        )
    )


def missing(gathered: Gathered) -> tuple[str, ...]:
    """Sentences about objects that were seen and are not written."""
    return tuple(sentence for item in gathered.items.values() for some in item.missed.values() for sentence in some)
