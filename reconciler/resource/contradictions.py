"""The contradictions within one kind, each as a sentence with what to correct. Pure. (Between kinds: `combinations`.)"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, get_args

from reconciler.address import KIND_PATTERN, Address
from reconciler.resource.field import Field, FieldRole
from reconciler.resource.kind import Kind
from reconciler.resource.values import UNSET, To
from reconciler.resource.verbs import placeholders

RESERVED = ("id", "key", "previously", "protect", "adopt", "expect", "forEach", "ignoreChanges")
"""Keys that every resource accepts; no field may have one of these names."""

PRUNE_SCOPES = ("owned", "all", "none")


def contradictions(kind: Kind) -> Iterator[str]:
    """What a declaration contradicts itself in, the first cause first."""
    parts = (
        _words,
        _place,
        _single_value,
        _verbs,
        _fields,
        _named_fields,
        _transfer,
        _readings,
    )
    return chain.from_iterable(part(kind) for part in parts)


def references(hint: Any) -> Iterator[To]:
    """The references anywhere in a type."""
    if isinstance(hint, To):
        yield hint
    for part in get_args(hint):
        yield from references(part)
    for part in getattr(hint, "__metadata__", ()):
        yield from references(part)


def _words(kind: Kind) -> Iterator[str]:
    if not kind.doc:
        yield "a docstring of one sentence is missing"
    if re.fullmatch(KIND_PATTERN, kind.name) is None:
        yield "its name is part of addresses: write lower-case words joined by -"
    if kind.prune not in PRUNE_SCOPES:
        yield f"prune is {kind.prune!r}, not one of {', '.join(PRUNE_SCOPES)}"
    if sum(field.role is FieldRole.WITHIN for field in kind.fields.values()) > 1:
        yield "it has two fixed containers; keep the innermost, which is in the others itself"
    if kind.owner and kind.within is None:
        yield "owner names its container, but it has none; declare one with within"
    if kind.local_ids and kind.within is None:
        yield "local_ids are local to a container, but it has none; declare one with within"
    if not kind.reads:
        yield "no reading shows its objects: reads = (Listing(…),)"


def _place(kind: Kind) -> Iterator[str]:
    place = kind.place
    if place.in_list and not kind.ordered:
        yield "its list in the YAML has an order, but it has no verb move; add one, or declare place=Keyed(…)"
    if kind.ordered and not place.in_list:
        yield "it has a verb move, but its place has no order; declare place=ListItem(…)"
    for word, name in (("bare", place.bare_is if place.bare_is != place.tag else None), ("key_is", place.key_is)):
        if name is not None and name not in kind.fields:
            yield f"place has {word}={name!r}, which is not a field"


def _single_value(kind: Kind) -> Iterator[str]:
    value = kind.place.value_is
    if kind.one_per != (value is not None):
        yield "place=SingleValue(…) and one_per(…) are declared together: one without the other means nothing"
    if value is not None:
        field = kind.fields.get(value)
        if field is None or not field.written:
            yield f"place has value_is={value!r}, which is not a field that users write"
        elif not field.required:
            yield f"field {value} is its whole value in the YAML: add required=True"
        for other in kind.fields.values():
            if other.written and other.name != value:
                yield f"field {other.name} cannot be written: the value in the YAML is the field {value}. Make one field of both"
    if kind.one_per and ("create" not in kind.api or not kind.api["create"].upsert):
        yield "with one_per, its create needs upsert=True: sending it twice creates nothing new"
    if kind.one_per and "delete" in kind.api:
        yield "with one_per it has no delete: it is deleted with its container. Leave the verb out"


def _verbs(kind: Kind) -> Iterator[str]:
    for verb in kind.api.values():
        if not verb.path.startswith("/"):
            yield f"the path of the verb {verb.name} must begin with /"
        for name in verb.whole:
            if name not in kind.fields or kind.fields[name].readable or verb.name not in kind.fields[name].on:
                yield f"verb {verb.name} has whole={name!r}, which must be a field that it sends and that has readable=False"


def _fields(kind: Kind) -> Iterator[str]:
    for name, field in kind.fields.items():
        if name in RESERVED:
            yield f"field {name} has the name of a key that every resource has; choose another, and say wire= and read="
        if field.type is None and field.written:
            yield f"field {name} has no annotation"
        if field.type is Address or (Address in get_args(field.type) and field.refers is None):
            yield f'field {name} is a reference without a kind: write Annotated[Address, To("KIND")]'
        if "." in field.wire:
            yield f"field {name} has wire={field.wire!r}, and a name in a request has no dot; write how it is nested with a WireForm"
        for verb in field.on:
            if verb not in kind.api:
                yield f"field {name} names the verb {verb}, which api does not have"
        if field.initial is not UNSET and ("create" not in kind.api or field.required or not field.compared):
            yield f"field {name} has an initial value, but no create can leave it out"
        if field.on_change == "replace" and not kind.replaceable:
            yield f'field {name} has on_change="replace", but the kind is not replaceable=True'
        if _is_only_created(field):
            yield f'field {name} is sent by no verb but create; say on_change="refuse", "report" or "replace"'


def _is_only_created(field: Field) -> bool:
    """Whether no request can send a change of the field, although nothing says what a change means."""
    changes = field.compared and field.role is not FieldRole.MEMBER and not field.key
    return changes and field.on in ((), ("create",)) and field.on_change == "send"


def _named_fields(kind: Kind) -> Iterator[str]:
    """What names a field that the kind does not have, or that is not of the right sort."""
    for name, field in kind.fields.items():
        original = kind.fields.get(field.copies) if field.copies is not None else None
        if field.copies is not None and (
            field.to is None or original is None or original.role is not FieldRole.OUTPUT or original.to != field.to
        ):
            yield f"field {name} copies {field.copies}, which is not an output that names an object of the same kind"
        if field.derived is not None and (field.derived.reference or field.derived.field) not in kind.fields:
            yield f"field {name} is derived from {field.derived.source}, which is not a field"
    if kind.published is not None and kind.published.unless is not None and kind.published.unless[0] not in kind.fields:
        yield f"it is published unless {kind.published.unless[0]}, which is not a field"
    if kind.audience is not None:
        for name in (*kind.audience.gates, *kind.audience.inherits, *kind.audience.shows):
            if name not in kind.fields:
                yield f"its audience names {name}, which is not a field"
    later = [verb.name for verb in kind.update_verbs]
    for verb in kind.api.values():
        marker = kind.fields.get(verb.marker) if verb.marker is not None else None
        if verb.marker is not None and not (marker and marker.key and "create" in marker.on and any(name in marker.on for name in later)):
            yield f"verb {verb.name} has marker={verb.marker!r}, which must be a key that the create and a later verb send"


def _transfer(kind: Kind) -> Iterator[str]:
    """Why an object that changes its container could not be found by its id alone."""
    for field in kind.fields.values():
        if field.role is not FieldRole.WITHIN and "transfer" in field.on:
            yield f"field {field.name} is not the fixed container, and a transfer sends nothing else"
    if ("transfer" in kind.api) != (kind.transferable is not None):
        yield 'a verb transfer and the container that it changes are declared together: within(…, on="transfer")'
    if kind.transferable is not None and (kind.local_ids or kind.by_id is None or placeholders(kind.by_id.path) != ("id",)):
        yield "an object that can be transferred is read by its id alone, which is the same in every container"


def _readings(kind: Kind) -> Iterator[str]:
    keys = {name for name, field in kind.fields.items() if field.key or field.role is FieldRole.SEED}
    for path in (*(listing.path for listing in kind.listings), *((kind.by_id.path,) if kind.by_id is not None else ())):
        if not path.startswith("/"):
            yield f"the path {path} of a reading must begin with /"
    if kind.by_id is not None and not {"id", *keys} & set(placeholders(kind.by_id.path)):
        yield f"One({kind.by_id.path!r}) reads one object, but its path names none; add {{id}}"
    for listing in kind.listings:
        if listing.each is not None and listing.each not in placeholders(listing.path):
            yield f"{listing.path} has no {{{listing.each}}}, which each={listing.each!r} fills"
    if "create" in kind.api and not kind.keys and not kind.one_per:
        yield "no field has key=True: after an interrupted create, its object could not be recognized"
