"""Import into an existing project: only what it does not declare, where a person would add it; every other byte is unchanged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import yaml

from reconciler.address import Address
from reconciler.config.source.includes import INCLUDE
from reconciler.errors import Refused
from reconciler.importer.entries import EntryWriter
from reconciler.importer.gather import Gathered, GatheredObject
from reconciler.importer.location import EditedFile, YamlSpot, key_of, pages
from reconciler.importer.matched import excluded_objects, removed_by
from reconciler.importer.project import ImportedProject, missing, modeline, parts, split_files, unread
from reconciler.model import Actual, Declared, Desired, State
from reconciler.model.desired import Generation
from reconciler.plan.matching.identity import identify
from reconciler.resource import Kind, Kinds
from reconciler.yamltext.emit import EmittedEntry, document


def into(kinds: Kinds, actual: Actual, desired: Desired, state: State, texts: Mapping[str, str], *, schema: str) -> ImportedProject:
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
    adding = _Adding(EntryWriter(gathered), declared, pages(texts), next(iter(texts)), schema)
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
    return ImportedProject(adding.files(texts), (*unread(actual), *missing(gathered), *left), gathered.unwritable)


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

    def __init__(
        self, writer: EntryWriter, declared: Mapping[Address, Declared], pages: Mapping[str, EditedFile], top: str, schema: str
    ) -> None:
        self.writer, self.declared, self.pages, self.top, self.schema = writer, declared, pages, top, schema
        self.new: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.several = sum(1 for address in declared if address.container is None) > 1

    def files(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files to write: the changed texts, the new ones, and the project file where it has to include them."""
        self._include()
        changed = {name: page.edited() for name, page in self.pages.items()}
        return {**{name: text for name, text in changed.items() if text != texts[name].removeprefix("\ufeff")}, **self.new, **self.parts}

    def to(self, item: GatheredObject) -> None:
        """Add the undeclared contents of a declared object."""
        sections = {name: (kind, items) for name, kind, items, _ in self.writer.sections(item) if items}
        if item.host is None:
            if not any(kind.place.in_list and self._holds(item, name) for name, (kind, _) in sections.items()):
                for path, emitted in parts(self.writer, item, self.several, taken=(*self.pages, *self.new, *self.parts)).items():
                    self.parts[path] = document(emitted, head=[modeline(path, self.schema)])
            files, names = split_files(self.writer, item, self.several)
            for name in names & set(sections):
                kind, _ = sections[name]
                if not kind.place.in_list or not self._holds(item, name):
                    for path, emitted in files.items():
                        if emitted.lines[-1].key == name:
                            free = self._free(path)
                            self.new[free] = document(emitted, head=[modeline(free, self.schema)])
                    del sections[name]
        for name, (kind, items) in sections.items():
            self._section(item, name, kind, items)

    def _holds(self, item: GatheredObject, name: str) -> bool:
        return any(gathered.declared for gathered in item.below.get(name, ())) or self._empty(item, name) is not None

    def _section(self, item: GatheredObject, name: str, kind: Kind, items: list[GatheredObject]) -> None:
        """Add to one map or list, which may be missing."""
        keyed = not kind.place.in_list
        beside = [gathered for gathered in item.below.get(name, ()) if gathered.declared]
        lines = {
            gathered.ref: self.writer.entry(gathered) if keyed else self.writer.node(gathered) for gathered in items if not kind.one_per
        }
        if beside:
            places = {gathered.ref: place for gathered in beside if (place := self._spot(gathered)) is not None}
            page, spot = next(iter(places.values()))
            previous = -1
            for gathered in item.below[name]:
                if gathered.ref in places:
                    page, spot = places[gathered.ref]
                    previous = spot.index
                elif gathered.ref in lines:
                    page.add(spot.holder, [lines[gathered.ref]], after=None if keyed else previous)
            return
        empty = self._empty(item, name) if lines else None
        if empty is not None:
            page, spot = empty
            if isinstance(spot.node, yaml.MappingNode) and spot.node.value:  # it names the files that it is split into
                page, spot = self._part(item, name, spot, keyed=keyed)
            if isinstance(spot.node, yaml.MappingNode) and spot.node.value:
                page.add(spot.node, list(lines.values()))
            else:
                page.expand_empty(spot, list(lines.values()), keyed=keyed)
            return
        assert item.address is not None
        source = self.declared[item.address].source
        page = self.pages[source.file]
        own = page.spot(source)
        assert own is not None
        page.add(own.node, [self.writer.elsewhere.get((item.ref, name)) or self.writer.section(kind, name, items, [])])

    def _spot(self, item: GatheredObject) -> tuple[EditedFile, YamlSpot] | None:
        """The location of a declared object."""
        assert item.address is not None
        source = self.declared[item.address].source
        spot = self.pages[source.file].spot(source)
        return (self.pages[source.file], spot) if spot is not None else None

    def _part(self, item: GatheredObject, name: str, spot: YamlSpot, *, keyed: bool) -> tuple[EditedFile, YamlSpot]:
        """Where entries can be added to a map or list that is split into files, none of which declares anything."""
        files = key_of(spot.node, INCLUDE)
        assert files is not None
        patterns = [pattern.value for pattern in files.node.value] if isinstance(files.node, yaml.SequenceNode) else [files.node.value]
        for path, page in reversed(list(self.pages.items())):
            wrapped = key_of(page.top, name)
            if wrapped is not None and any(fnmatchcase(path, str(pattern)) for pattern in patterns):
                return page, wrapped
        at = f"{spot.node.start_mark.line + 1}:{spot.node.start_mark.column + 1}"
        raise Refused(
            f"{item.address}: {name} is split into files that declare nothing, at {at}",
            id="RC-split-files-empty",
            hint=f'Replace the whole file by "{name}: {"{}" if keyed else "[]"}" and run the command again.',
        )

    def _empty(self, item: GatheredObject, name: str) -> tuple[EditedFile, YamlSpot] | None:
        """The section where it is written and empty; None where it is not written."""
        assert item.address is not None
        source = self.declared[item.address].source
        own = self.pages[source.file].spot(source)
        spot = key_of(own.node, name) if own is not None else None
        if spot is not None:
            return self.pages[source.file], spot
        if item.host is not None:
            return None
        for page in self.pages.values():
            whose = key_of(page.top, item.kind.name)
            spot = key_of(page.top, name)
            if spot is not None and (whose is None or whose.node.value == item.key):
                return page, spot
        return None

    def _free(self, path: str) -> str:
        """A path that no file of the project has."""
        number, free = 1, path
        while free in self.pages or free in self.new:
            number += 1
            free = f"{path.removesuffix('.yaml')}-{number}.yaml"
        return free

    def _include(self) -> None:
        """Add the new files to `include` of the project file."""
        page = self.pages[self.top]
        assert page.top is not None
        spot = key_of(page.top, "include")
        patterns = [pattern.value for pattern in spot.node.value] if spot is not None and isinstance(spot.node, yaml.SequenceNode) else []
        lines = [EmittedEntry(None, path) for path in self.new if not any(fnmatchcase(path, pattern) for pattern in patterns)]
        if not lines:
            return
        if spot is None:
            project = key_of(page.top, "project")
            page.add(
                page.top, [EmittedEntry("include", [line.value for line in lines])], after=project.index if project is not None else None
            )
        elif patterns:
            page.add(spot.node, lines)
        else:
            page.expand_empty(spot, lines, keyed=False)
