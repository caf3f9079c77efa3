"""From an object as the service shows it to `Observed`, and from written values to the request form. Pure.

Which child of an object its parent chooses, as far as flags on the children show it. Pure.

Creates under a unique name: the object is created with a marker as its name, and then gets its declared name. Pure.

In: creates, and random digits. Out: the create with the marker in place of the name, and the step that sets the name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.address import Address, bare, is_id
from reconciler.model import Binding, Declared, Observed, Step
from reconciler.resource import UNSET, Field, FieldRole, Foreign, Kind, Kinds, Verb
from reconciler.text.names import canonical, without_aside
from reconciler.text.unreadable import LOST, PartlyUnreadable, UnreadableText, unreadable_texts

_NAMING = (str, type(None), type(UNSET))  # the types of fields that give an object's location
_NO_FLAGS: Final[Mapping[str, bool]] = {}  # one for thousands of objects
_PLAIN = frozenset({str, bool, int, float, type(None)})  # the types of values without references


def observed(kinds: Kinds, kind: Kind, raw: Mapping[str, Any], *, within: Mapping[str, str], rank: int | None = None) -> Observed:
    """The `Observed` of one raw object. `raw` must have an `id`, unless its container has only one. `within` is kept, not copied."""
    flags, kept = kinds.flags(kind.name), kinds.kept[kind.name]
    return Observed(
        kind=kind.name,
        id=kind.identity(kind.own_id(raw), within),
        values={name: field.value_in(raw) for name, field in kind.stored_fields},
        within=within,
        raw=raw if kept is None else kept.of(raw),
        flags={flag: bool(raw[flag]) for flag in flags if isinstance(raw.get(flag), bool)} if flags else _NO_FLAGS,
        rank=rank,
        deleted_at=moment(raw.get(kind.deleted_at)) if kind.deleted_at else None,
        unreadable=_unreadable_fields(kind, raw) if isinstance(raw, PartlyUnreadable) else (),
    )


def _unreadable_fields(kind: Kind, raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields whose texts were not received completely."""
    return tuple(name for name, field in kind.stored_fields if field.readable and unreadable_texts(field.read_from(raw)))


def why_unreadable(observed: Observed) -> str:
    """Why nothing is decided about an object whose texts were not received completely."""
    names = " and ".join(observed.unreadable)
    return f"{names} of {title(observed)!r} contains an incomplete character, so it cannot be compared: correct it on the service"


def path_ids(kinds: Kinds, container: Address | None, id: Callable[[Address], str | None]) -> dict[str, str]:
    """The ids by kind for the placeholders of paths: of a fixed container and of its containers, as far as `id` knows them."""
    ids_by_kind: dict[str, str] = {}
    while container is not None:
        known = id(container)
        if known is not None:
            ids_by_kind[kinds.of(container).name] = known
        container = container.container
    return ids_by_kind


def non_sensitive(kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that may be stored in plain text: known values that are not secrets and contain none."""
    return {name: value for name, value in values.items() if value is not UNSET and not kind.fields[name].hides(value)}


def moment(text: Any) -> datetime | None:
    """An ISO 8601 time as the service writes it, in UTC; None where it is absent or unreadable."""
    if not isinstance(text, str):
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def is_kind(kind: Kind, raw: Any) -> bool:
    """Whether a response is an object of the kind: its id can be part of an address, it names no other kind, and its location is given by
    ids.

    An object of a kind without ids must name its kind.
    """
    if not isinstance(raw, Mapping) or not is_id(kind.own_id(raw)):
        return False
    if raw.get("object", None if kind.one_per else kind.object) != kind.object:
        return False
    return all(isinstance(field.value_in(raw), _NAMING) for field in kind.location_fields)


def substitute(value: Any, ids: Mapping[Address, str]) -> Any:
    """A written value with its references as ids in the service's form; references to objects without an id stay `Address`."""
    if type(value) in _PLAIN:
        return value
    match value:
        case Address():
            return bare(ids[value]) if value in ids else value
        case Foreign():
            return value.id
        case Mapping():
            return {key: substitute(part, ids) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [substitute(part, ids) for part in value]
        case _:
            return value


def request(field: Field, value: Any, ids: Mapping[Address, str]) -> Any:
    """The request form of a written value; UNSET stays UNSET."""
    return UNSET if value is UNSET else field.body(substitute(value, ids))


def wanted(kind: Kind, declared: Declared, ids: Mapping[Address, str]) -> dict[str, Any]:
    """The request form of every declared field of a resource."""
    return {name: request(kind.fields[name], value, ids) for name, value in declared.values.items() if name in kind.fields}


def comparable(field: Field, value: Any) -> str:
    """A value of a natural key as a text that is the same for equal values: the order of parts, what services normalize and
    what a temporary name appends are ignored."""
    if isinstance(value, UnreadableText):
        value = value.replace(LOST, "")
    if isinstance(value, str):
        return repr(canonical(without_aside(value), caseless=field.caseless))
    if isinstance(value, Mapping):
        return repr([(key, comparable(field, value[key])) for key in sorted(value)])
    return repr(value)


def holder(kind: Kind, declared: Declared | None, binding: Binding | None, ids: Mapping[Address, str]) -> str | Address | None:
    """The placeholder value of the listing that shows an object (`Kind.listed_by`): an id, or an address without an id yet.

    None where the kind has no such listing, or neither the YAML nor the state gives the value.
    """
    field = kind.listed_by
    if field is None:
        return None
    written = request(field, declared.values.get(field.name, UNSET), ids) if declared is not None else UNSET
    value = binding.seen.get(field.name, UNSET) if written is UNSET and binding is not None else written
    return value if isinstance(value, str | Address) else None


def unresolved_addresses(value: Any) -> Iterable[Address]:
    """The references of a request form that have no id yet."""
    if type(value) in _PLAIN:
        return
    match value:
        case Address():
            yield value
        case Mapping():
            for part in value.values():
                if type(part) not in _PLAIN:
                    yield from unresolved_addresses(part)
        case list() | tuple():
            for part in value:
                if type(part) not in _PLAIN:
                    yield from unresolved_addresses(part)


def outside(value: Any) -> Iterable[Foreign]:
    """The references of a written value to objects outside the project."""
    match value:
        case Foreign():
            yield value
        case Mapping():
            for part in value.values():
                if type(part) not in _PLAIN:
                    yield from outside(part)
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from outside(part)


def ids_in(value: Any) -> Iterable[str]:
    """Every text in a request form: what could be an id."""
    match value:
        case str():
            yield value
        case Mapping():
            for part in value.values():
                yield from ids_in(part)
        case list() | tuple():
            for part in value:
                yield from ids_in(part)


NAMES: Final = ("title", "name", "label", "slug", "email")
"""Fields by which people know an object, the first one that it has."""


def title(observed: Observed) -> str:
    """The title by which people know the object."""
    for name in NAMES:
        value = observed.raw.get(name, observed.values.get(name))  # a simulated object has no raw form
        if isinstance(value, str):
            return value
    return bare(observed.id)


def is_chosen_name(field: Field) -> bool:
    """Whether a field is a name that people choose freely: services may alter it, and a temporary value in it does no harm."""
    return field.name in NAMES and field.key and field.role is FieldRole.VALUE and not field.caseless


Objects = Mapping[str, Mapping[str, Observed]]
"""Objects by kind and id."""


def chooser(kinds: Kinds, kind: Kind, flag: str, observed: Observed) -> tuple[str, str, Field] | None:
    """The object that chooses a child by its flag, as (kind, id, choice field): the node that the child is in, else its container."""
    outer: list[tuple[str, tuple[str, str]]] = []
    node = observed.values.get(kind.inside.name) if kind.inside is not None else None
    if kind.inside is not None and kind.inside.to is not None and node:
        outer.append((kind.inside.to, (kind.inside.to, str(node))))
    if kind.within is not None:
        outer.append((kind.within, (kind.within, observed.within.get(kind.within, ""))))
    owner = kinds.chooser(kind.name, flag, outer)
    return (*owner[0], owner[1]) if owner is not None else None


def choices(kinds: Kinds, objects: Objects) -> dict[tuple[str, str], dict[str, str]]:
    """The chosen children: (kind, id) of the chooser -> choice field -> id of the child."""
    chosen: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for kind in kinds.values():
        for flag in kinds.flags(kind.name):
            for observed in _flagged(objects.get(kind.name, {}).values(), flag):
                parent = chooser(kinds, kind, flag, observed)
                if parent is not None:
                    chosen[parent[:2]][parent[2].name] = observed.id
    return chosen


def _flagged(objects: Iterable[Observed], flag: str) -> Iterable[Observed]:
    return (observed for observed in objects if observed.flags.get(flag))


PREFIX: Final = "reconciler:"
_MARK: Final = re.compile(PREFIX + r"[0-9a-f]{8}")


def is_mark(value: Any) -> bool:
    """Whether a name is a marker: `reconciler:` and eight digits."""
    return isinstance(value, str) and _MARK.fullmatch(value) is not None


def marked(kind: Kind, step: Step, nonce: str) -> Step:
    """The create with a marker as its name; the step itself where creates of the kind carry none. `nonce`: eight hexadecimal digits."""
    name = kind.api[step.verb].marker if step.verb == "create" else None
    if name is None or not isinstance(step.body, dict):
        return step
    mark = PREFIX + nonce
    return replace(
        step,
        body={**step.body, kind.fields[name].wire: mark},
        writes={**step.writes, name: mark},
        identity={**step.identity, name: mark},
    )


def naming(kinds: Kinds, kind: Kind, step: Step) -> Step:
    """The request that gives the object of a marked create the name that the planned `step` has for it."""
    name = kind.api["create"].marker
    assert name is not None
    return renaming(kinds, kind, step, step.address, name, step.writes[name])


def renaming(kinds: Kinds, kind: Kind, step: Step, target: str | Address, name: str, value: Any) -> Step:
    """The request that writes the name of an object, and nothing else. `step`: the planned step that it is part of. `target`: the id of the
    object, or the address of one without an id yet. `name`: the field of its name."""
    verb = naming_verb(kind, name)
    assert verb is not None

    def fill(part: str) -> str | Address:
        if not part.startswith("{"):
            return part
        if part != "{id}":
            return kinds.container(step.address, part[1:-1])
        return bare(target) if isinstance(target, str) else target

    return Step(
        id=step.id,
        address=step.address,
        kind=step.kind,
        verb=verb.name,
        method=verb.method,
        path=tuple(fill(part) for part in verb.path.strip("/").split("/")),
        body={kind.fields[name].wire: value},
        writes={name: value},
        target=target,
    )


def naming_verb(kind: Kind, name: str) -> Verb | None:
    """The verb that can change the field of a name alone; None where the kind has none."""
    return next((verb for verb in kind.update_verbs if verb.name in kind.fields[name].on and not verb.whole), None)
