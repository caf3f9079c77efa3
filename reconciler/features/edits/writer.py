"""The one writer of a project's files: values, additions, moves and removals of resources; every other byte is as before. Pure.

    texts ──> ProjectWriter ──> set, add, move, take ──> changed()     each resource has a mark, which moves with its lines

In: the texts, and what they declare. Out: the new texts by file. Whether a change may be made, its callers decide. Raises `Untouchable`
where an alias repeats what would change, or where nothing can be added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.keys import TOP
from reconciler.config.resources.shapes import KindShape, shapes
from reconciler.config.source.includes import INCLUDE
from reconciler.errors import ConfigError, Problem, ReconcilerError, Refused
from reconciler.model import Declared, Desired, Source
from reconciler.model.desired import Generation
from reconciler.resource import Kind, Kinds
from reconciler.text.patterns import PathPattern
from reconciler.yamltext import line_ends
from reconciler.yamltext.emit import EmittedEntry, entry as entry_lines, item as item_lines
from reconciler.yamltext.entries import EditedYaml, ResourcePlace
from reconciler.yamltext.format import document, layout
from reconciler.yamltext.move import Host, Moving, Piece
from reconciler.yamltext.trail import entry, node, resource
from reconciler.yamltext.tree import MarkedText, Node, Untouchable, line_starts, parse

Row = tuple[Address, str]
"""A list or a map of resources: what contains it, and its name there."""
HINT: Final = "Change it by hand: {}."


def in_layout(kinds: Kinds, before: str, text: str) -> str:
    """The new text of a file, in canonical layout where the file was in it before, with its line breaks. `text`: with `\\n` only."""
    shape, old = document(kinds, TOP), line_ends.plain(before)
    with suppress(ReconcilerError):
        text = layout(text, shape) if layout(old, shape) == old else text
    return line_ends.as_before(text, before)


def formatted(kinds: Kinds, before: Mapping[str, str]) -> dict[str, str]:
    """The new texts of the files that change. Raises `ConfigError` for files that cannot be laid out."""
    shape = document(kinds, TOP)
    changed, problems = {}, []
    for name, text in before.items():
        try:
            after = line_ends.settled(layout(text, shape), text)
        except ReconcilerError as error:
            problems.append(Problem(name, 0, 0, error.message, id=error.id))
            continue
        if after != text:
            changed[name] = after
    if problems:
        raise ConfigError(problems)
    return changed


class ProjectWriter:
    """Writes the files of a project. `texts`: of those that declare resources, the project file first. `desired`: in each environment."""

    def __init__(self, kinds: Kinds, texts: Mapping[str, str], desired: Sequence[Desired]) -> None:
        self.kinds, self.shapes, self.before = kinds, shapes(kinds), texts
        self.top = next(iter(texts))
        self.files = {name: MarkedText(line_ends.plain(text)) for name, text in texts.items()}
        self.moving = Moving(self.files)
        self._roots: dict[str, tuple[str, Node]] = {}  # parsing is most of the time
        self.declared: dict[Address, Declared] = {}
        self.generated: Mapping[Address, Generation] = {
            address: generation for part in reversed(desired) for address, generation in part.generated.items()
        }
        for part in desired:
            for declared in (*part.resources.values(), *(excluded.declared for excluded in part.excluded.values())):
                if not declared.implied and declared.source.file in self.files:
                    self.declared.setdefault(declared.address, declared)
        starts = {name: line_starts(marked.text) for name, marked in self.files.items()}
        self.parents: dict[Address, Address] = {}
        self.rows: dict[Row, list[Address]] = defaultdict(list)
        for address, declared in sorted(self.declared.items(), key=lambda pair: pair[1].index):
            at = declared.source
            self.files[at.file].marks[address] = starts[at.file][at.line - 1] + at.column - 1
            if declared.parent is not None:
                self.parents[address] = declared.parent
                self.rows[(declared.parent, declared.section)].append(address)

    def changed(self) -> dict[str, str]:
        """The new texts of the files that change, in canonical layout where they were in it before, with their line breaks."""
        texts = {name: marked.text for name, marked in self.files.items()}
        before = {name: line_ends.plain(text) for name, text in self.before.items()}
        return {name: in_layout(self.kinds, self.before[name], text) for name, text in texts.items() if text != before[name]}

    @contextmanager
    def by_hand(self, about: object, hint: str = HINT) -> Iterator[None]:
        """Turn `Untouchable` into `Refused`, with the location."""
        try:
            yield
        except Untouchable as error:
            where = f"{self.moving.latest or self.top}:{error.line}:{error.column}"
            at = "" if "{}" in hint else f", at {where}"
            raise Refused(f"{about}: {error}{at}", id="RC-edit-by-hand", hint=hint.format(where)) from None

    # -- what is written where ---------------------------------------------------------------------------------------------------------

    def root(self, file: str) -> Node:
        """The root of a file as it is now, only to be read."""
        text = self.files[file].text
        if file not in self._roots or self._roots[file][0] != text:
            self._roots[file] = text, parse(text).root
        return self._roots[file][1]

    def source(self, file: str, index: int) -> Source:
        """The line and column of an index."""
        text = self.files[file].text
        return Source(file, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))

    def value(self, address: Address, name: str) -> Node | None:
        """The value of a key of a resource as it is written; None where it is not."""
        kind, file = self.kinds.of(address), self.moving.file(address)
        _, body = (node if kind.place.in_list else resource)(self.root(file), self.files[file].marks[address])
        if kind.place.value_is is not None:
            return body if name == kind.place.value_is else None
        if body.shape == "scalar":
            return body if name in (kind.place.bare_is, kind.place.tag) else None
        child = entry(body, name)
        return child.value if child is not None else None

    def raw(self, address: Address, name: str) -> str | None:
        """The value of a key of a resource to the letter; None where it is not written."""
        value = self.value(address, name)
        return self.files[self.moving.latest].text[value.start : value.end].rstrip() if value is not None else None

    def generation_around(self, row: Row, behind: Address | None, moved: Address | None = None) -> Generation | None:
        """The `forEach` that generates both neighbors of a position, between which nothing can be. `moved`: what leaves the list."""
        members = [address for address in self.rows[row] if address != moved]
        beside = members[members.index(behind) :][:2] if behind is not None else []
        before, after = (self.generated.get(other) for other in beside) if len(beside) == 2 else (None, None)
        return before if before is not None and after is not None and before.source == after.source else None

    def where(self, row: Row) -> Host:
        """The list or map, as it is now."""
        host, section = row
        return Host(host, self.kinds.of(host).place.in_list, section, tuple(self.rows[row]), self._top_of(host, section))

    def _top_of(self, host: Address, section: str) -> str | None:
        """The file that contains a list or map at its top level: of a root, or one that `include` names; None where there is none."""
        included = entry(files, INCLUDE) if (files := self.value(host, section)) is not None and files.shape == "map" else None
        patterns = [part.text for part in (included.value, *(child.value for child in included.value.children))] if included else []
        for file in self.files if host.container is None or patterns else ():
            root = self.root(file)
            if patterns:
                fits = any(pattern and PathPattern.parse(pattern).matches(file) for pattern in patterns)
            else:
                whose = entry(root, self.kinds.of(host).name)
                fits = whose is None or whose.value.text == host.key
            if fits and entry(root, section) is not None:
                return file
        return None

    # -- changes -----------------------------------------------------------------------------------------------------------------------

    def set(self, values: Mapping[Address, Mapping[str, Any]], about: object = None, hint: str = HINT) -> None:
        """Give resources values by key; `DROP` removes a key. A tag whose value was the key too leaves the key as one of its own.

        Raises `Refused` about the address, or what is passed, where that cannot simply be written.
        """
        pages: dict[str, EditedYaml] = {}
        # From the end of each file, so that no edit moves what follows.
        for address in sorted(values, key=lambda address: self.files[self.moving.file(address)].marks[address], reverse=True):
            kind, given = self.kinds.of(address), dict(values[address])
            tag = kind.place.tag
            if tag in given and tag in self.shapes[kind.name].readers and self.value(address, "key") is None:
                given["key"] = address.key
            file = self.moving.file(address)
            page = pages[file] if file in pages else pages.setdefault(file, EditedYaml(self.files[file]))
            with self.by_hand(about or address, hint):
                page.put(ResourcePlace(page.marked.marks[address], tag, kind.place.bare_is, kind.place.value_is), given)

    def move(self, address: Address, row: Row, behind: Address | None) -> None:
        """Move the lines of a resource into a list, after a member, or first."""
        for members in self.rows.values():
            if address in members:
                members.remove(address)
        self.moving.move(address, self.where(row), behind=behind)
        self._insert(address, row, behind)

    def add(self, row: Row, lines: Mapping[Address, EmittedEntry], behind: Address | None = None) -> None:
        """Write new resources of one kind: into a list after a member, or first; into a map after all others. `lines`: what is written
        there, an item without a key."""
        kind, where = self.kinds.of(next(iter(lines))), self.where(row)
        if len(lines) > 1 and self._in_braces(row):
            for address, line in lines.items():
                self.add(row, {address: line}, behind)
                behind = address if kind.place.in_list else None
            return
        piece = _piece(lines.values())
        for child, address in zip(parse(piece.text.text).root.children, lines, strict=True):
            self._note(piece.text, kind, address, row, child.value, child.key.start if child.key is not None else None)
        piece = _closed(piece)
        if kind.place.in_list:
            self.moving.put(piece, where, behind)
        elif kind.place.value_is is not None:
            self.moving.put_value(piece, where)
        else:
            self.moving.put_entry(piece, where)
        for address in lines:
            self._insert(address, row, behind)
            behind = address if kind.place.in_list else None

    def _in_braces(self, row: Row) -> bool:
        """Whether the members of a list or map are in braces."""
        for address in self.rows[row][:1]:
            find, file = node if self.kinds.of(address).place.in_list else resource, self.moving.file(address)
            return find(self.root(file), self.files[file].marks[address])[0][-1].holder.flow
        return False

    def add_section(self, address: Address, line: EmittedEntry) -> None:
        """Write a list or map that a resource does not have yet, after its last entry."""
        self.moving.put_value(_closed(_piece([line])), self.where((address, str(line.key))))

    def _insert(self, address: Address, row: Row, behind: Address | None) -> None:
        members, self.parents[address] = self.rows[row], row[0]
        last = 0 if self.kinds.of(address).place.in_list else len(members)
        members.insert(members.index(behind) + 1 if behind is not None else last, address)

    def _note(self, marked: MarkedText, kind: Kind, address: Address, row: Row, body: Node, start: int | None) -> None:
        """Mark a new resource and what it contains."""
        shape = self.shapes[kind.name]
        tag = entry(body, str(shape.tag)) if body.shape == "map" and shape.tag is not None else None
        marked.marks[address] = start if start is not None else tag.start if tag is not None else body.start
        self.parents[address] = row[0]
        at = Source(self.top, 0)
        self.declared[address] = Declared(address, kind.name, {}, at, row[0], row[1], 0)
        for child in body.children if body.shape == "map" else ():
            name = child.key.text if child.key is not None else ""
            inner = shape.sections.get(name)
            for part in child.value.children if inner is not None or name in shape.lists else ():
                members = shape.lists.get(name, {})
                tags = [member for member in members if part.value.shape == "map" and entry(part.value, member) is not None]
                bare = next((member for member in members.values() if member.place.bare_is is not None), None)
                within = inner or (members[tags[0]] if tags else bare)
                key = part.key or _key_of(part.value, tags)
                if within is None or key is None or key.text == INCLUDE:
                    continue
                below = self.kinds.container(address, str(within.within)).child(within.name, key.text)
                self.rows[(address, name)].append(below)
                self._note(marked, within, below, (address, name), part.value, part.key.start if part.key is not None else None)
            if name in shape.singles:
                below = address.child(shape.singles[name].name)
                self.rows[(address, name)].append(below)
                self._note(marked, shape.singles[name], below, (address, name), child.value, child.start)

    def remove(self, address: Address, contents: Sequence[Address]) -> None:
        """Remove the lines of a resource, which are those of its contents too."""
        self.moving.take(address, keyed=not self.kinds.of(address).place.in_list)
        next(members for members in self.rows.values() if address in members).remove(address)
        for inner in (address, *contents):
            del self.declared[inner], self.parents[inner]
            for row in self.rows_of(inner):
                self.rows.pop(row, None)

    def contents(self, address: Address) -> Iterator[Address]:
        """The resources whose lines are among those of another."""
        for row in self.rows_of(address):
            for member in self.rows.get(row, ()):
                yield member
                yield from self.contents(member)

    def rows_of(self, address: Address) -> list[Row]:
        """The lists and maps that a resource can have."""
        shape: KindShape = self.shapes[self.kinds.of(address).name]
        return [(address, name) for name in (*shape.sections, *shape.lists, *shape.singles)]


def _piece(lines: Iterable[EmittedEntry]) -> Piece:
    texts = [text for line in lines for text in (item_lines(line, 0) if line.key is None else entry_lines(line, 0))]
    return Piece(MarkedText("\n".join(texts) + "\n"), closed=False)


def _closed(piece: Piece) -> Piece:
    """The lines, as a value or an entry where they are one line."""
    text = piece.text.text
    return Piece(piece.text.cut(2 if text.startswith("- ") else 0, len(text) - 1), closed=True) if text.count("\n") == 1 else piece


def _key_of(body: Node, tags: Sequence[str]) -> Node | None:
    """The key of a node of a list; None where it has none."""
    if not tags:
        return body if body.shape == "scalar" else None
    child = entry(body, "key") or entry(body, tags[0])
    return child.value if child is not None and child.value.shape == "scalar" else None
