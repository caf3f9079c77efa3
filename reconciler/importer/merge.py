"""Import into an existing project: only what it does not declare, where a person would add it; every other byte is unchanged. Pure.

Locations in YAML files that people wrote: of a resource, and where entries can be added next to it. Pure.

In: texts, and locations from the configuration. Out: edits, each an offset and a text to insert; every other byte is unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import yaml

from reconciler.address import Address
from reconciler.config.source.includes import INCLUDE
from reconciler.errors import Refused
from reconciler.importer.entry import EntryWriter
from reconciler.importer.gather import Gathered, GatheredObject
from reconciler.importer.matched import excluded_objects, removed_by
from reconciler.importer.project import LIMITS, FileSizes, ImportedProject, missing, modeline, parts, split_files, unread
from reconciler.model import Actual, Declared, Desired, Source, State
from reconciler.model.desired import Generation
from reconciler.plan.matching.match import identify
from reconciler.resource import Kind, Kinds
from reconciler.yamltext.emit import STEP, EmittedEntry, closed, document, entry, item as list_item, scalar

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BLOCKS: Final = ("|", ">")


@dataclass(frozen=True)
class YamlSpot:
    """One entry of a map or item of a list: the containing node, its index there, and its value."""

    holder: yaml.CollectionNode
    index: int
    node: yaml.Node


class EditedFile:
    """One file: its nodes by location, and the edits to it so far."""

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.top: yaml.Node | None = yaml.compose(self.text, _LOADER)
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._spots: dict[tuple[int, int], YamlSpot] = {}
        self._edits: list[tuple[int, int, str]] = []
        if self.top is not None:
            self._walk(self.top)

    def _walk(self, node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            for index, (key, value) in enumerate(node.value):
                self._spots.setdefault(_start(key), YamlSpot(node, index, value))
                self._walk(value)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                for start in {_start(value), *(_start(key) for key, _ in (value.value if isinstance(value, yaml.MappingNode) else ()))}:
                    self._spots[start] = YamlSpot(node, index, value)
                if isinstance(value, yaml.MappingNode):
                    for _, inner in value.value:
                        self._walk(inner)

    def spot(self, source: Source) -> YamlSpot | None:
        """The entry or item at a location; None where nothing begins there. For a node in a list, the whole node."""
        return self._spots.get((source.line - 1, source.column - 1))

    # -- edits -------------------------------------------------------------------------------------------------------------------------

    def add(self, holder: yaml.Node, lines: list[EmittedEntry], *, after: int | None = None) -> None:
        """Add entries or items to a map or list: after that index, at the end where None, at the beginning where -1."""
        assert isinstance(holder, yaml.CollectionNode)
        keyed = isinstance(holder, yaml.MappingNode)
        if holder.flow_style:
            self._add_closed(holder, lines, after, keyed)
            return
        column = holder.start_mark.column
        emitted = [part for line in lines for part in (entry(line, column) if keyed else list_item(line, column))]
        text = "".join(f"{line}\n" for line in emitted)
        index = len(holder.value) - 1 if after is None else after
        if index < 0:
            self._edit(self._above(holder.start_mark.line), 0, text)
            return
        at = self._line(self._last(_value(holder, index)) + 1)
        self._edit(at, 0, text if at == 0 or self.text[at - 1] == "\n" else f"\n{text}")

    def _add_closed(self, holder: yaml.CollectionNode, lines: list[EmittedEntry], after: int | None, keyed: bool) -> None:
        texts = [f"{scalar(line.key or '')}: {closed(line.value)}" if keyed else closed(line.value) for line in lines]
        index = len(holder.value) - 1 if after is None else after
        if not holder.value:
            self._edit(self._offset(holder.start_mark) + 1, 0, ", ".join(texts))
        elif index < 0:
            self._edit(self._offset(holder.start_mark) + 1, 0, "".join(f"{text}, " for text in texts))
        else:
            self._edit(self._offset(_value(holder, index).end_mark), 0, "".join(f", {text}" for text in texts))

    def expand_empty(self, spot: YamlSpot, lines: list[EmittedEntry], *, keyed: bool) -> None:
        """Fill an empty map or list (`{}`, `[]`) with entries or items on lines of their own."""
        if spot.holder.flow_style:
            self._add_closed(spot.node, lines, None, keyed)  # type: ignore[arg-type]
            return
        column = spot.holder.start_mark.column + STEP
        begin, end = self._offset(spot.node.start_mark), self._offset(spot.node.end_mark)
        emitted = [part for line in lines for part in (entry(line, column) if keyed else list_item(line, column))]
        behind = self.text[end:].split("\n", 1)[0]
        while begin and self.text[begin - 1] == " ":
            begin -= 1
        self._edit(begin, end + len(behind) - begin, f"{behind.rstrip()}\n" + "\n".join(emitted))

    def edited(self) -> str:
        """The text with its edits."""
        parts, at = [], 0
        # Two edits at one offset: the deeper one first, because the contents of a node end before the node does.
        for begin, length, text in sorted(self._edits, key=lambda edit: (edit[0], -_indent(edit[2]))):
            parts += [self.text[at:begin], text]
            at = begin + length
        return "".join([*parts, self.text[at:]])

    def _edit(self, at: int, length: int, text: str) -> None:
        self._edits.append((at, length, text))

    # -- offsets -----------------------------------------------------------------------------------------------------------------------

    def _line(self, number: int) -> int:
        return self._starts[min(number, len(self._starts) - 1)]

    def _offset(self, mark: yaml.Mark) -> int:
        return self._line(mark.line) + mark.column

    def _above(self, line: int) -> int:
        """The index at which to insert before a line: above the comments that belong to it."""
        while line and self.text[self._line(line - 1) : self._line(line)].lstrip().startswith("#"):
            line -= 1
        return self._line(line)

    def _last(self, node: yaml.Node) -> int:
        """The last line, from 0, of a node, without comments after it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            return self._last(_value(node, len(node.value) - 1))
        line = node.end_mark.line
        if isinstance(node, yaml.ScalarNode) and node.style in _BLOCKS:
            line -= 1 if node.end_mark.column == 0 else 0
            while line > node.start_mark.line and not self.text[self._line(line) : self._line(line + 1)].strip():
                line -= 1
            while line > node.start_mark.line and self.text[self._line(line) : self._line(line + 1)].startswith("#"):
                line -= 1
        return line


def _value(holder: yaml.CollectionNode, index: int) -> yaml.Node:
    entry_node = holder.value[index]
    value: yaml.Node = entry_node[1] if isinstance(holder, yaml.MappingNode) else entry_node
    return value


def _indent(text: str) -> int:
    plain = text.lstrip("\n")
    return len(plain) - len(plain.lstrip(" "))


def _start(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line, node.start_mark.column


def key_of(node: yaml.Node | None, name: str) -> YamlSpot | None:
    """The entry of a key of a map; None where there is none."""
    if isinstance(node, yaml.MappingNode):
        for index, (key, value) in enumerate(node.value):
            if key.value == name:
                return YamlSpot(node, index, value)
    return None


def pages(texts: Mapping[str, str]) -> dict[str, EditedFile]:
    """The files by name."""
    return {name: EditedFile(text) for name, text in texts.items()}


def into(
    kinds: Kinds,
    actual: Actual,
    desired: Desired,
    state: State,
    texts: Mapping[str, str],
    *,
    schema: str,
    limits: FileSizes = LIMITS,
    taken: Collection[str] = (),
) -> ImportedProject:
    """The files that change or are new. `texts`: every file of the project, the project file first. `limits`: when a new list is split.
    `taken`: paths that no new file may have.

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
    writer = EntryWriter(gathered, desired.defaults, taken)
    adding = _Adding(writer, declared, pages(texts), next(iter(texts)), schema, limits)
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
    return ImportedProject(adding.files(texts) | writer.certificates, (*unread(actual), *missing(gathered), *left), gathered.unwritable)


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
        self,
        writer: EntryWriter,
        declared: Mapping[Address, Declared],
        pages: Mapping[str, EditedFile],
        top: str,
        schema: str,
        limits: FileSizes,
    ) -> None:
        self.writer, self.declared, self.pages, self.top, self.schema, self.limits = writer, declared, pages, top, schema, limits
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
                taken = (*self.pages, *self.new, *self.parts)
                for path, emitted in parts(self.writer, item, self.several, self.limits, taken=taken).items():
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
