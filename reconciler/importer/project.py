"""A whole project as files, split as a person would split it. Pure: the same reading gives the same bytes.

Ordered lists that are too long for one file: a file for each node that contains others, and one for the nodes between two of them. Pure.

In: gathered objects. Out: the files, and what is written in place of each list that is split.

One object as YAML: its fields, its flags, its contents. Pure.

Values that nobody chose are left out: null, an empty text or list, a field's usual value. What cannot be written becomes a comment above
it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reconciler.address import bare
from reconciler.config.keys import TOP
from reconciler.config.source.split import INCLUDE
from reconciler.importer.gather import Gathered, GatheredObject, Ref, tag
from reconciler.importer.values import Unwritable, nothing, usual, written
from reconciler.model import Actual
from reconciler.resource import HOSTED, UNSET, Field, FieldRole, Kind, Kinds
from reconciler.text.credentials import MASK
from reconciler.text.names import a
from reconciler.yamltext.emit import EmittedEntry, EmittedList, EmittedMap, document
from reconciler.yamltext.format import document as document_shape, layout

SHOWN_MAX = 60  # characters of a value in a comment


class EntryWriter:
    """Writes the gathered objects. `elsewhere`: what is written in place of a list that is split into files."""

    def __init__(self, gathered: Gathered) -> None:
        self.all = gathered
        self.elsewhere: dict[tuple[Ref, str], EmittedEntry] = {}
        self._flags = _flags(gathered)

    def entry(self, item: GatheredObject, *, without: frozenset[str] = frozenset()) -> EmittedEntry:
        """The entry of an object in a map: its key and its values. `without`: the sections below it that are written elsewhere."""
        kind = item.kind
        fields, comments = self._fields(item)
        bare = kind.place.bare_is
        below = self._below(item, without)
        if bare is not None and [field.key for field in fields] == [bare] and not below:
            return EmittedEntry(item.key, fields[0].value, comments)
        return EmittedEntry(item.key, EmittedMap([*fields, *below], open=kind.within is None), comments)

    def node(self, item: GatheredObject) -> EmittedEntry:
        """The item of an object in an ordered list."""
        place = item.kind.place
        fields, comments = self._fields(item)
        below = self._below(item, frozenset())
        bare = place.bare_is is not None and not below and [field.key for field in fields] == [place.bare_is]
        if bare and isinstance(fields[0].value, str):
            return EmittedEntry(None, fields[0].value, comments)
        return EmittedEntry(None, EmittedMap([*fields, *below]), comments)

    def section(self, kind: Kind, name: str, items: list[GatheredObject], missed: list[str]) -> EmittedEntry:
        """A map or a list of objects, under its name; comments above it list what is missing."""
        comments = tuple(dict.fromkeys((*missed, *self._unread(items))))
        if kind.place.value_is is not None:
            fields, more = self._fields(items[0])
            return EmittedEntry(name, fields[0].value, (*comments, *more))
        if kind.place.in_list:
            return EmittedEntry(name, EmittedList([self.node(item) for item in items]), comments)
        return EmittedEntry(name, EmittedMap([self.entry(item) for item in items], open=True), comments)

    def sections(self, item: GatheredObject) -> list[tuple[str, Kind, list[GatheredObject], list[str]]]:
        """The undeclared contents of an object, by section: (name, the kind of the first, the objects, what is missing)."""
        kinds = self.all.kinds
        names = kinds.sections(item.kind.name) | {name: some[0] for name, some in kinds.lists(item.kind.name).items()}
        names |= kinds.singles(item.kind.name)
        return [
            (name, kind, [gathered for gathered in item.below.get(name, []) if not gathered.declared], item.missed.get(name, []))
            for name, kind in names.items()
        ]

    def _below(self, item: GatheredObject, without: frozenset[str]) -> list[EmittedEntry]:
        entries = []
        for name, kind, items, missed in self.sections(item):
            if name not in without and (items or (missed and not kind.one_per)):
                line = self.elsewhere.get((item.ref, name)) or self.section(kind, name, items, missed)
                entries.append(line if items else EmittedEntry(name, [] if kind.place.in_list else {}, line.comments))
        return entries

    # -- fields ------------------------------------------------------------------------------------------------------------------------

    def _fields(self, item: GatheredObject) -> tuple[list[EmittedEntry], tuple[str, ...]]:
        """The keys of an object with their values, its location in the YAML first; and the comments above it."""
        kind, place, comments = item.kind, item.kind.place, []
        first = tag(kind)
        patched = self.all.patched(item.address) if item.address is not None else {}
        fields: list[EmittedEntry] = []
        if place.tag is not None:
            if first is None:
                fields.append(EmittedEntry(place.tag, item.key))
            else:
                named = self._value(item, first)
                fields.append(EmittedEntry(place.tag, named))
                if named != item.key:
                    fields.append(EmittedEntry("key", item.key))
        if self.all.needs_id(item):
            fields.append(EmittedEntry("id", bare(item.observed.id)))
        for name, field in kind.fields.items():
            if field.role is not FieldRole.VALUE or field is first or name not in self.all.shapes[kind.name].readers:
                continue
            value = item.observed.values.get(name, UNSET)
            # What everybody has by default says nothing about this object; a required field is written all the same.
            if value is UNSET or value == HOSTED or (usual(field, value, item.observed.raw) and not field.required):
                continue
            if field.sensitive:
                comments.append(f"{name} is a secret and was not written")
                continue
            if name in patched and not field.required:
                at = patched[name]
                comments.append(f"{name} was not written: a patch of the environment sets it at {at}")
                continue
            try:
                value_written = self._value(item, field)
            except Unwritable as error:
                if not nothing(field.shown(value)):
                    comments.append(
                        f"{name} is {_cut(field.shown(value) if not field.hides(value) else MASK)}, which is left as it is: {error}"
                    )
                continue
            if not nothing(value_written) or field.required:
                fields.append(EmittedEntry(name, value_written))
        fields += [EmittedEntry(flag, True) for flag in self._flags.get(item.ref, ())]
        return fields, tuple(comments)

    def _value(self, item: GatheredObject, field: Field) -> Any:
        return written(
            self.all.shapes[item.kind.name].readers[field.name],
            item.observed.values.get(field.name, UNSET),
            lambda kind, id: self.all.reference(item, kind, id),
            lambda kind, key: self.all.id_of(item, kind, key),
        )

    def _unread(self, items: list[GatheredObject]) -> list[str]:
        """A comment on what the service never shows of these objects."""
        kinds = dict.fromkeys(item.kind for item in items)
        return [
            f"{name} of {a(kind.name)} was not written: the service {'shows only its own copy' if field.hosted else 'does not show it'}"
            for kind in kinds
            for name, field in kind.fields.items()
            if field.role is FieldRole.VALUE and (not field.readable or _has_copy(items, kind, name))
        ]


def _has_copy(items: list[GatheredObject], kind: Kind, name: str) -> bool:
    """Whether the service shows only its own copy of a value of these objects."""
    return any(item.kind is kind and item.observed.values.get(name) == HOSTED for item in items)


def _flags(gathered: Gathered) -> dict[Ref, list[str]]:
    """The flags to write: where a parent has a choice, and has chosen one."""
    choices: dict[tuple[Ref, str], list[GatheredObject]] = defaultdict(list)
    for item in gathered.items.values():
        for flag in gathered.kinds.flags(item.kind.name):
            chooser = gathered.kinds.chooser(item.kind.name, flag, _around(item))
            if chooser is not None:
                choices[(chooser[0].ref, flag)].append(item)
    flags: dict[Ref, list[str]] = defaultdict(list)
    for (_, flag), some in choices.items():
        chosen = [item for item in some if item.observed.flags.get(flag)]
        if len(chosen) == 1 and len(some) > 1 and not any(item.declared for item in some):
            flags[chosen[0].ref].append(flag)
    return flags


def _around(item: GatheredObject) -> Iterator[tuple[str, GatheredObject]]:
    """The objects in which an object is written, the nearest first, each with its kind."""
    host = item.host
    while host is not None:
        yield host.kind.name, host
        host = host.host


def _cut(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"


@dataclass(frozen=True)
class Limits:
    """`nodes`: the most of a root's list in one file. `file`: the most of any other list in one, because a file is limited in its
    values."""

    nodes: int = 300
    file: int = 10_000


LIMITS: Final = Limits()


class RootFiles:
    """The files of one root. `taken`: paths that are in use."""

    def __init__(self, writer: EntryWriter, limits: Limits, taken: Collection[str] = ()) -> None:
        self.writer, self.limits = writer, limits
        self.files: dict[str, EmittedMap] = {}
        self._paths = {path.lower() for path in taken}  # some file systems ignore case

    def split(self, host: GatheredObject, section: str, folder: str) -> None:
        """Split a list of undeclared nodes into files where it is too long; the writer writes their names in its place."""
        items = [gathered for gathered in host.below.get(section, ()) if not gathered.declared]
        if sum(size(item) for item in items) <= (self.limits.nodes if host.host is None else self.limits.file):
            return
        names = []
        for group in self._groups(items):
            first = group[0]
            name = first.key if self._holds(first) else f"{first.kind.name}s"
            path = self._free(f"{folder}/{name}")
            if len(group) == 1:
                for inner in self.writer.all.kinds.lists(first.kind.name):
                    self.split(first, inner, f"{folder}/{name}")
            self.files[path] = EmittedMap(
                [EmittedEntry(section, EmittedList([self.writer.node(gathered) for gathered in group]))], open=True
            )
            names.append(path)
        self.writer.elsewhere[(host.ref, section)] = EmittedEntry(section, EmittedMap([EmittedEntry(INCLUDE, names)], open=True))

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

    def _free(self, path: str) -> str:
        number, free = 1, f"{path}.yaml"
        while free.lower() in self._paths:
            number += 1
            free = f"{path}-{number}.yaml"
        self._paths.add(free.lower())
        return free


def size(item: GatheredObject) -> int:
    """The number of nodes in a node, itself included."""
    return 1 + sum(size(gathered) for some in item.below.values() for gathered in some)


MODELINE = "yaml-language-server: $schema={schema}"
PROJECT_FILE = "reconciler.yaml"


@dataclass(frozen=True)
class ImportedProject:
    """`files`: relative path to text. `missing`: sentences about objects that are not written, or could not be read. `unwritable`: whether
    an object was left out although everything that is required of it is known."""

    files: Mapping[str, str]
    missing: tuple[str, ...]
    unwritable: bool = False


def project(kinds: Kinds, actual: Actual, *, service: Mapping[str, object], schema: str, limits: Limits = LIMITS) -> ImportedProject:
    """The files of a new project that declares everything in `actual`.

    The first root's key is the project's name. `service`: the keys of that section. `schema`: the location of the schema for editors.
    `limits`: when an ordered list is split into files.
    """
    gathered = Gathered(kinds, actual, {})
    writer = EntryWriter(gathered)
    unseen = unread(actual)
    several = len(gathered.roots) > 1
    files: dict[str, EmittedMap] = {}
    split: dict[str, EmittedMap] = {}
    tops: list[EmittedEntry] = []
    for root in gathered.roots:
        split |= parts(writer, root, several, limits)
        beside, rest = split_files(writer, root, several)
        files |= beside
        entry = writer.entry(root, without=rest)
        tops.append(EmittedEntry(root.kind.place.section_in(None), EmittedMap([entry], open=True)))
    key = gathered.roots[0].key if gathered.roots else "docs"
    top = EmittedMap([EmittedEntry("version", 1), EmittedEntry("project", key)])
    if service:
        top.lines.append(EmittedEntry("service", EmittedMap([EmittedEntry(name, value) for name, value in service.items()], open=True)))
    if files:
        top.lines.append(EmittedEntry("include", _patterns(files)))
    merged: dict[str, EmittedMap] = {}
    for line in tops:
        merged.setdefault(line.key or "", EmittedMap(open=True)).lines.extend(line.value.lines)
    top.lines += [EmittedEntry(section, value) for section, value in merged.items()]
    head = [modeline(PROJECT_FILE, schema), *(f"Not seen: {name}" for name in unseen)]
    texts = {PROJECT_FILE: document(top, head=head)}
    for path, some in (files | split).items():
        texts[path] = document(some, head=[modeline(path, schema)])
    shape = document_shape(kinds, TOP)
    return ImportedProject({path: layout(text, shape) for path, text in texts.items()}, (*unseen, *missing(gathered)), gathered.unwritable)


def modeline(path: str, schema: str) -> str:
    """The comment that names the schema of a file for editors."""
    return MODELINE.format(schema="../" * path.count("/") + schema)


def parts(
    writer: EntryWriter, root: GatheredObject, several: bool, limits: Limits = LIMITS, *, taken: Collection[str] = ()
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
