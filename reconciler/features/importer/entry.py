"""One object as YAML: its fields, its flags, its contents. Pure.

Values that nobody chose are left out: null, an empty text or list, a field's usual value, and what the project's `defaults` give. What
cannot be written becomes a comment above it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from reconciler.address import bare
from reconciler.features.importer.gather import Gathered, GatheredObject, Ref, tag
from reconciler.features.importer.values import Unwritable, nothing, usual, written
from reconciler.plan.audience.people import given_one_by_one, some as three_of
from reconciler.plan.drafts.synced import repository
from reconciler.report.words import count
from reconciler.resource import HOSTED, UNSET, Field, FieldRole, Kind
from reconciler.text.credentials import MASK
from reconciler.text.names import a
from reconciler.yamltext.emit import EmittedEntry, EmittedExpression, EmittedList, EmittedMap

SHOWN_MAX: Final = 60  # characters of a value in a comment
CERTIFICATES: Final = "certs"


class FreePaths:
    """Paths of new files. `taken`: those that are in use."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = {path.lower() for path in taken}  # some file systems ignore case

    def free(self, stem: str, ending: str) -> str:
        """A path that is not in use, and is from now on."""
        number, free = 1, f"{stem}{ending}"
        while free.lower() in self._taken:
            number += 1
            free = f"{stem}-{number}{ending}"
        self._taken.add(free.lower())
        return free


class EntryWriter:
    """Writes the gathered objects. `defaults`: the values that the project gives by kind and field, as written; UNSET for one that is not
    known. `taken`: paths that are in use. `elsewhere`: what is written in place of a list that is split into files. `certificates`: the
    texts of certificates that have been written, by path."""

    def __init__(self, gathered: Gathered, defaults: Mapping[str, Mapping[str, Any]] | None = None, taken: Collection[str] = ()) -> None:
        self.all, self.defaults, self.paths = gathered, defaults or {}, FreePaths(taken)
        self.elsewhere: dict[tuple[Ref, str], EmittedEntry] = {}
        self.certificates: dict[str, str] = {}
        self._flags = _flags(gathered)
        self._given = given_one_by_one(gathered.kinds, gathered.actual)
        self._values: dict[tuple[Ref, str], Any] = {}
        self._certificate_paths: dict[tuple[Ref, str], str] = {}

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
            # Spaces in a site are words on one line; nodes that contain others have lines of their own.
            return EmittedEntry(
                name,
                EmittedList([self.node(item) for item in items], open=any(item.kind.place.bare_is is None for item in items)),
                comments,
            )
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
        if (git := repository(kind, item.observed.raw)) is not None:
            comments.append(f"Git governs its titles, paths and structure, from {git}: change them there")
        fields: list[EmittedEntry] = []
        if place.tag is not None:
            if first is None:
                fields.append(EmittedEntry(place.tag, item.key))
            else:
                named = self.value(item, first)
                fields.append(EmittedEntry(place.tag, named))
                if named != item.key:
                    fields.append(EmittedEntry("key", item.key))
        if self.all.needs_id(item):
            fields.append(EmittedEntry("id", bare(item.observed.id)))
        for name, field in kind.fields.items():
            if field.role is not FieldRole.VALUE or field is first or name not in self.all.shapes[kind.name].readers:
                continue
            value, default = item.observed.values.get(name, UNSET), self.defaults.get(kind.name, {})
            # What everybody has by default says nothing about this object; a required field is written all the same.
            if value is UNSET or value == HOSTED or (name not in default and not field.required and usual(field, value, item.observed.raw)):
                continue
            if field.sensitive:
                comments.append(f"{name} is a secret and was not written")
                continue
            if name in patched and not field.required:
                at = patched[name]
                comments.append(f"{name} was not written: a patch of the environment sets it at {at}")
                continue
            try:
                value_written = self.value(item, field)
            except Unwritable as error:
                if not nothing(field.shown(value)):
                    comments.append(
                        f"{name} is {_cut(field.shown(value) if not field.hides(value) else MASK)}, which is left as it is: {error}"
                    )
                continue
            if name in default:
                if default[name] is UNSET or comparable(value_written) != comparable(default[name]):
                    fields.append(EmittedEntry(name, value_written))
            elif field.expires == "certificate" and isinstance(value_written, str):
                fields.append(EmittedEntry(name, self._certificate(item, field, value_written)))
            elif not nothing(value_written) or field.required:
                fields.append(EmittedEntry(name, value_written))
        given = self._given.get(item.observed.key, [])
        comments += [f"{count(len(given), 'person was', 'people were')} given access one by one: {three_of(given)}"] if given else []
        fields += [EmittedEntry(flag, True) for flag in self._flags.get(item.ref, ())]
        return fields, tuple(comments)

    def value(self, item: GatheredObject, field: Field) -> Any:
        """A field of an object as it is written, usual values included; UNSET where it is not known. Raises `Unwritable`."""
        place = (item.ref, field.name)
        if place not in self._values:
            try:
                self._values[place] = self._written(item, field)
            except Unwritable as error:
                self._values[place] = error
        if isinstance(self._values[place], Unwritable):
            raise self._values[place]
        return self._values[place]

    def _written(self, item: GatheredObject, field: Field) -> Any:
        value = item.observed.values.get(field.name, UNSET)
        if value is UNSET or value == HOSTED:
            return UNSET
        return written(
            self.all.shapes[item.kind.name].readers[field.name],
            value,
            lambda kind, id: self.all.reference(item, kind, id),
            lambda kind, key: self.all.id_of(item, kind, key),
        )

    def is_usual(self, item: GatheredObject, field: Field, value_written: Any) -> bool:
        """Whether a value is left out where no default says otherwise."""
        value = item.observed.values.get(field.name, UNSET)
        return not field.required and (nothing(value_written) or usual(field, value, item.observed.raw))

    def _certificate(self, item: GatheredObject, field: Field, text: str) -> EmittedExpression:
        """The expression for a certificate, whose text gets a file of its own."""
        place = (item.ref, field.name)
        if place not in self._certificate_paths:
            self._certificate_paths[place] = self.paths.free(f"{CERTIFICATES}/{item.key}", ".pem")
        path = self._certificate_paths[place]
        self.certificates[path] = text
        return EmittedExpression(f'${{{{ file("{path}") }}}}')

    def _unread(self, items: list[GatheredObject]) -> list[str]:
        """A comment on what the service never shows of these objects."""
        kinds = dict.fromkeys(item.kind for item in items)
        return [
            f"not written: {name} of {a(kind.name)}, {_why_unread(field)}"
            for kind in kinds
            for name, field in kind.fields.items()
            if field.role is FieldRole.VALUE and (not field.readable or _has_copy(items, kind, name)) and not _gathered(items, kind, name)
        ]


def _why_unread(field: Field) -> str:
    if field.gathered:
        return "which reconciler import --people reads"
    return f"of which the service shows {'only its own copy' if field.hosted else 'nothing'}"


def _gathered(items: list[GatheredObject], kind: Kind, name: str) -> bool:
    """Whether the value of each of these objects is known from elsewhere."""
    return all(item.observed.values.get(name, UNSET) is not UNSET for item in items if item.kind is kind)


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


def comparable(value: Any) -> str:
    """A value as written, in the form in which equal ones are the same text."""
    return json.dumps(value, sort_keys=True, default=str)


def _cut(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"
