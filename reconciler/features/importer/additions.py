"""Import into an existing project: only what it does not declare, where a person would add it; every other byte is unchanged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from reconciler.address import Address
from reconciler.config.source.includes import INCLUDE
from reconciler.errors import Refused
from reconciler.features.edits.writer import ProjectWriter, Row
from reconciler.features.importer.entry import EntryWriter
from reconciler.features.importer.gather import Gathered, GatheredObject
from reconciler.features.importer.matched import excluded_objects, removed_by
from reconciler.features.importer.project import ImportedProject, NewFiles, missing, modeline, parts, split_files, unread
from reconciler.model import Actual, Desired, State
from reconciler.model.desired import Generation
from reconciler.plan.matching.match import identify
from reconciler.resource import Kind, Kinds
from reconciler.text.patterns import PathPattern
from reconciler.yamltext.emit import document
from reconciler.yamltext.entries import Edits
from reconciler.yamltext.trail import entry


def into(
    kinds: Kinds,
    actual: Actual,
    desired: Desired,
    state: State,
    texts: Mapping[str, str],
    new: NewFiles,
) -> ImportedProject:
    """The files that change or are new. `texts`: every file of the project, the project file first.

    Raises `Refused` where it is not clear which object a declared address is.
    """
    matches = identify(kinds, desired, state, actual)
    unclear = [match.blocked for at, match in matches.items() if match.blocked is not None and not desired.resources[at].implied]
    if unclear:
        more = f", and {len(unclear) - 1} more" if len(unclear) > 1 else ""
        raise Refused(f"{unclear[0].address}: {unclear[0].reason}{more}", id=unclear[0].id, hint=unclear[0].remedy)
    declared = {address: resource for address, resource in desired.resources.items() if not resource.implied}
    known = {(declared[address].kind, id): address for address, id in matches.ids.items() if address in declared}
    known |= excluded_objects(kinds, desired, state, actual, matches)
    declared |= {address: excluded.declared for address, excluded in desired.excluded.items()}
    gathered = Gathered(kinds, actual, known, keys=frozenset(declared), patches=desired.patches)
    writer = EntryWriter(gathered, desired.defaults, new.taken)
    adding = _Adding(writer, ProjectWriter(kinds, texts, [desired]), new)
    left: list[str] = []
    for item in list(gathered.items.values()):
        generation = desired.generated.get(item.address) if item.address is not None else None
        if item.address in desired.excluded:
            left += _excluded(item, desired)
        elif item.declared and generation is not None:
            left += _unwritten(item, generation)
        elif item.declared:
            adding.to(item)
    left += _ids_of(gathered, desired.environment)
    return ImportedProject(adding.texts() | writer.certificates, (*unread(actual), *missing(gathered), *left), gathered.unwritable)


def _ids_of(gathered: Gathered, environment: str | None) -> list[str]:
    """Sentences about new entries with an id, in a project with environments."""
    if environment is None:
        return []
    new = [item.address for item in gathered.items.values() if item.address is not None and not item.declared and gathered.needs_id(item)]
    way = "in other environments it has another: a patch can set the id there"
    return [f"{address} was written with its id in {environment}; {way}" for address in new]


def _excluded(item: GatheredObject, desired: Desired) -> list[str]:
    """Sentences about objects that a patch removes; not about their contents."""
    assert item.address is not None
    item.missed.clear()
    if item.address.container in desired.excluded or (item.host is not None and item.host.address in desired.excluded):
        return []
    return [f"not written: {item.name}: {removed_by(item.address, desired.excluded[item.address].source)}"]


def _unwritten(item: GatheredObject, generation: Generation) -> list[str]:
    """Sentences about what is not written into a resource that `forEach` generates: it would be added to all resources of the same
    lines."""
    return [
        f"not written: {gathered.name}: {item.address} is generated; change {generation}"
        for some in item.below.values()
        for gathered in some
        if not gathered.declared
    ]


class _Adding:
    """The additions, by file."""

    def __init__(self, entries: EntryWriter, files: ProjectWriter, new: NewFiles) -> None:
        self.entries, self.files, self.schema, self.limits = entries, files, new.schema, new.limits
        self.new: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.several = sum(1 for address in files.declared if address.container is None) > 1

    def texts(self) -> dict[str, str]:
        """The files to write: the changed texts, the new ones, and the project file where it has to include them."""
        self._include()
        return {**self.files.changed(), **self.new, **self.parts}

    def to(self, item: GatheredObject) -> None:
        """Add the undeclared contents of a declared object."""
        sections = {name: (kind, items) for name, kind, items, _ in self.entries.sections(item) if items}
        if item.host is None:
            if not any(kind.place.in_list and self._is_written(item, name) for name, (kind, _) in sections.items()):
                taken = (*self.files.files, *self.new, *self.parts)
                for path, emitted in parts(self.entries, item, self.several, self.limits, taken=taken).items():
                    self.parts[path] = document(emitted, head=[modeline(path, self.schema)])
            files, names = split_files(self.entries, item, self.several)
            for name in names & set(sections):
                kind, _ = sections[name]
                if not kind.place.in_list or not self._is_written(item, name):
                    for path, emitted in files.items():
                        if emitted.lines[-1].key == name:
                            free = self._free(path)
                            self.new[free] = document(emitted, head=[modeline(free, self.schema)])
                    del sections[name]
        for name, (kind, items) in sections.items():
            with self.files.by_hand(item.address):
                self._section(item, name, kind, items)

    def _is_written(self, item: GatheredObject, name: str) -> bool:
        """Whether the list or map of a declared object is written, maybe empty."""
        assert item.address is not None
        row = item.address, name
        return bool(self.files.rows[row]) or self.files.value(*row) is not None or self.files.where(row).top is not None

    def _section(self, item: GatheredObject, name: str, kind: Kind, items: list[GatheredObject]) -> None:
        """Add to one map or list, which may be missing."""
        assert item.address is not None
        row: Row = (item.address, name)
        if kind.one_per or not self._is_written(item, name):
            line = self.entries.elsewhere.get((item.ref, name)) or self.entries.section(kind, name, items, [])
            self.files.add_section(item.address, line)
            return
        self._check_split(row, keyed=not kind.place.in_list)
        behind: Address | None = None
        for new, group in groupby(item.below[name], key=lambda gathered: gathered in items):
            some = [gathered for gathered in group if gathered.address is not None]
            if new:
                write = self.entries.node if kind.place.in_list else self.entries.entry
                self.files.add(row, {gathered.address: write(gathered) for gathered in some if gathered.address is not None}, behind)
            known = [gathered.address for gathered in some if gathered.address in self.files.rows[row]]
            behind = known[-1] if known and kind.place.in_list else behind

    def _check_split(self, row: Row, *, keyed: bool) -> None:
        """Raise `Refused` where a map or list is split into files, none of which declares anything, and none of which can be added to."""
        value = self.files.value(*row)
        if self.files.rows[row] or value is None or entry(value, INCLUDE) is None or self.files.where(row).top is not None:
            return
        at = self.files.source(self.files.moving.latest, value.start)
        raise Refused(
            f"{row[0]}: {row[1]} is split into files that declare nothing, at {at.line}:{at.column}",
            id="RC-split-files-empty",
            hint=f'Replace the whole file by "{row[1]}: {"{}" if keyed else "[]"}" and run the command again.',
        )

    def _free(self, path: str) -> str:
        """A path that no file of the project has."""
        number, free = 1, path
        while free in self.files.files or free in self.new:
            number += 1
            free = f"{path.removesuffix('.yaml')}-{number}.yaml"
        return free

    def _include(self) -> None:
        """Add the new files to `include` of the project file."""
        root, marked = self.files.root(self.files.top), self.files.files[self.files.top]
        child = entry(root, "include")
        patterns = [part.value.text for part in child.value.children] if child is not None else []
        paths = [path for path in self.new if not any(PathPattern.parse(pattern).matches(path) for pattern in patterns)]
        if not paths:
            return
        edits = Edits(marked.text)
        if child is not None:
            edits.replace(root, child, [*patterns, *paths])
        else:
            edits.add(root, "include", paths, behind=entry(root, "project"))
        edits.apply(marked)
