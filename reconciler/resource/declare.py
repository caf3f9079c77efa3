"""`Resource`, the base class of every declaration: compiles a class body into a `Kind` and refuses contradictions.

Raises `ReconcilerError` when the class is defined, so that an invalid declaration cannot be imported.

A contradiction is what a declaration contradicts itself in, or what contradicts between two of them, as a sentence with what to correct.

A mistake here would show late and far away: a path with a placeholder that nothing fills fails at the first request of a run, and two
sections of one name would make a reader of YAML choose. So no module with such a declaration can be imported, and nothing starts with kinds
that do not fit together.

Each function below yields rules: whether a declaration breaks one, and the sentence about it. The first one that is broken is reported, so
a rule may rely on those before it.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, get_args, get_type_hints

from reconciler.address import KIND_PATTERN, Address
from reconciler.errors import ReconcilerError
from reconciler.resource.field import Field, FieldRole
from reconciler.resource.kind import Kind
from reconciler.resource.places import Place
from reconciler.resource.registry import Kinds
from reconciler.resource.requests import Listing, One, Reading, Verbs, placeholders
from reconciler.resource.values import UNSET, To
from reconciler.text.names import did_you_mean

# -- Contradictions ------------------------------------------------------------------------------------------------------------------

RESERVED = ("id", "key", "previously", "protect", "adopt", "expect", "forEach", "ignoreChanges")
"""Keys that every resource accepts; no field may have one of these names."""

PRUNE_SCOPES = ("owned", "all", "none")

Rule = tuple[bool, str]
"""Whether it is broken, and what is wrong then."""


def check(kind: Kind) -> None:
    """Raise `ReconcilerError` if a declaration contradicts itself."""
    for part in (_keywords, _place, _single_value, _verbs, _fields, _named_fields, _transfer, _readings):
        _refuse(kind, part(kind))


def combined(declared: Iterable[Kind]) -> Kinds:
    """The kinds together. Raises `ReconcilerError` if two declarations contradict each other."""
    kinds = Kinds(declared)
    for kind in kinds.values():
        for part in (_containers, _references, _needed, _transfers, _named_kinds, _paths, _sections, _lists):
            _refuse(kind, part(kinds, kind))
    return kinds


def _refuse(kind: Kind, rules: Iterator[Rule]) -> None:
    for broken, sentence in rules:
        if broken:
            raise ReconcilerError(f"kind {kind.name}: {sentence}", id="RC-kind-contradiction")


def references(hint: Any) -> Iterator[To]:
    """The references anywhere in a type."""
    if isinstance(hint, To):
        yield hint
    for part in (*get_args(hint), *getattr(hint, "__metadata__", ())):
        yield from references(part)


# -- within one declaration ---------------------------------------------------------------------------------------------------------------


def _keywords(kind: Kind) -> Iterator[Rule]:
    fixed = sum(field.role is FieldRole.WITHIN for field in kind.fields.values())
    yield not kind.doc, "a docstring of one sentence is missing"
    yield re.fullmatch(KIND_PATTERN, kind.name) is None, "its name is part of addresses: write lower-case words joined by -"
    yield kind.prune not in PRUNE_SCOPES, f"prune is {kind.prune!r}, not one of {', '.join(PRUNE_SCOPES)}"
    yield fixed > 1, "it has two fixed containers; keep the innermost, which is in the others itself"
    rootless = kind.within is None
    yield rootless and kind.owner != "", "owner names its container, but it has none; declare one with within"
    yield rootless and kind.local_ids, "local_ids are local to a container, but it has none; declare one with within"
    yield not kind.reads, "no reading shows its objects: reads = (Listing(…),)"


def _place(kind: Kind) -> Iterator[Rule]:
    place, bare = kind.place, kind.place.bare_is
    unmoved = "its list in the YAML has an order, but it has no verb move; add one, or declare place=Keyed(…)"
    yield place.in_list and not kind.ordered, unmoved
    yield kind.ordered and not place.in_list, "it has a verb move, but its place has no order; declare place=ListItem(…)"
    # A bare scalar may also set the tag, which is the key and no field.
    yield bare is not None and bare != place.tag and bare not in kind.fields, f"place has bare={bare!r}, which is not a field"
    yield place.key_is is not None and place.key_is not in kind.fields, f"place has key_is={place.key_is!r}, which is not a field"


def _single_value(kind: Kind) -> Iterator[Rule]:
    value = kind.place.value_is
    alone = "place=SingleValue(…) and one_per(…) are declared together: one without the other means nothing"
    yield kind.one_per != (value is not None), alone
    if value is not None:
        field = kind.fields.get(value)
        yield field is None or not field.written, f"place has value_is={value!r}, which is not a field that users write"
        yield field is not None and not field.required, f"field {value} is its whole value in the YAML: add required=True"
        for other in kind.fields.values():
            unwritable = f"field {other.name} cannot be written: the value in the YAML is the field {value}. Make one field of both"
            yield other.written and other.name != value, unwritable
    # A create that is sent twice after an interrupted run would otherwise fail: there is no id by which the first one could be found.
    repeatable = "create" in kind.api and kind.api["create"].upsert
    yield kind.one_per and not repeatable, "with one_per, its create needs upsert=True: sending it twice creates nothing new"
    yield kind.one_per and "delete" in kind.api, "with one_per it has no delete: it is deleted with its container. Leave the verb out"


def _verbs(kind: Kind) -> Iterator[Rule]:
    for verb in kind.api.values():
        yield not verb.path.startswith("/"), f"the path of the verb {verb.name} must begin with /"
        for name in verb.whole:
            sent = name in kind.fields and not kind.fields[name].readable and verb.name in kind.fields[name].on
            yield not sent, f"verb {verb.name} has whole={name!r}, which must be a field that it sends and that has readable=False"


def _fields(kind: Kind) -> Iterator[Rule]:
    for name, field in kind.fields.items():
        unnamed = field.type is Address or (Address in get_args(field.type) and field.refers is None)
        always_sent = "create" not in kind.api or field.required or not field.compared
        nested = f"field {name} has wire={field.wire!r}, and a name in a request has no dot; write how it is nested with a WireForm"
        unsent = f'field {name} is sent by no verb but create; say on_change="refuse", "report" or "replace"'
        yield name in RESERVED, f"field {name} has the name of a key that every resource has; choose another, and say wire= and read="
        yield field.type is None and field.written, f"field {name} has no annotation"
        yield unnamed, f'field {name} is a reference without a kind: write Annotated[Address, To("KIND")]'
        yield "." in field.wire, nested
        for verb in field.on:
            yield verb not in kind.api, f"field {name} names the verb {verb}, which api does not have"
        yield field.initial is not UNSET and always_sent, f"field {name} has an initial value, but no create can leave it out"
        replaces = field.on_change == "replace" and not kind.replaceable
        yield replaces, f'field {name} has on_change="replace", but the kind is not replaceable=True'
        yield _is_only_created(field), unsent


def _is_only_created(field: Field) -> bool:
    """Whether no request can send a change of the field, although nothing says what a change means."""
    changes = field.compared and field.role is not FieldRole.MEMBER and not field.key
    return changes and field.on in ((), ("create",)) and field.on_change == "send"


def _named_fields(kind: Kind) -> Iterator[Rule]:
    """What names a field that the kind does not have, or that is not of the right sort."""
    for name, field in kind.fields.items():
        if field.copies is not None:
            original = kind.fields.get(field.copies)
            alike = original is not None and original.role is FieldRole.OUTPUT and original.to == field.to is not None
            yield not alike, f"field {name} copies {field.copies}, which is not an output that names an object of the same kind"
        if field.derived is not None:
            source = field.derived.reference or field.derived.field
            yield source not in kind.fields, f"field {name} is derived from {field.derived.source}, which is not a field"
    if kind.published is not None and kind.published.unless is not None:
        unless = kind.published.unless[0]
        yield unless not in kind.fields, f"it is published unless {unless}, which is not a field"
    if kind.audience is not None:
        for name in (*kind.audience.gates, *kind.audience.inherits, *kind.audience.shows):
            yield name not in kind.fields, f"its audience names {name}, which is not a field"
    later = {verb.name for verb in kind.update_verbs}
    for verb in kind.api.values():
        if verb.marker is not None:
            marker = kind.fields.get(verb.marker)
            replaced = marker is not None and marker.key and "create" in marker.on and not later.isdisjoint(marker.on)
            yield not replaced, f"verb {verb.name} has marker={verb.marker!r}, which must be a key that the create and a later verb send"


def _transfer(kind: Kind) -> Iterator[Rule]:
    """Why an object that changes its container could not be found by its id alone."""
    for field in kind.fields.values():
        outside = field.role is not FieldRole.WITHIN and "transfer" in field.on
        yield outside, f"field {field.name} is not the fixed container, and a transfer sends nothing else"
    transferable, by_id = kind.transferable is not None, kind.by_id
    apart = 'a verb transfer and the container that it changes are declared together: within(…, on="transfer")'
    yield ("transfer" in kind.api) != transferable, apart
    lost = kind.local_ids or by_id is None or placeholders(by_id.path) != ("id",)
    yield transferable and lost, "an object that can be transferred is read by its id alone, which is the same in every container"


def _readings(kind: Kind) -> Iterator[Rule]:
    keys = {name for name, field in kind.fields.items() if field.key or field.role is FieldRole.SEED}
    by_id = () if kind.by_id is None else (kind.by_id.path,)
    for path in (*(listing.path for listing in kind.listings), *by_id):
        yield not path.startswith("/"), f"the path {path} of a reading must begin with /"
    for path in by_id:
        nameless = {"id", *keys}.isdisjoint(placeholders(path))
        yield nameless, f"One({path!r}) reads one object, but its path names none; add {{id}}"
    if kind.pages is not None:
        tree = kind.pages.tree
        yield placeholders(tree) != ("id",), f"pages names {tree}, which is filled with the id of one object: write it with {{id}} alone"
    for listing in kind.listings:
        empty = listing.each is not None and listing.each not in placeholders(listing.path)
        yield empty, f"{listing.path} has no {{{listing.each}}}, which each={listing.each!r} fills"
    unrecognizable = "create" in kind.api and not kind.keys and not kind.one_per
    yield unrecognizable, "no field has key=True: after an interrupted create, its object could not be recognized"


# -- between declarations -----------------------------------------------------------------------------------------------------------------


def _containers(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    roots = " and ".join(root.name for root in kinds.roots)
    rootless = kind.within is None and len(kinds.roots) > 1
    yield rootless, f"only one kind has no container, but {roots} have none; declare one with within"
    local = kind.within is not None and kinds[kind.within].local_ids
    yield local, f"its container is {kind.within}, whose local_ids cannot fill a path"
    for permission in (kind.permission, kind.create_permission):
        if permission is not None and permission.of is not None:
            outside = permission.of not in kinds.containers(kind.name)
            yield outside, f"it requires a permission of {permission.of}, which does not contain it"


def _references(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    for field in kind.fields.values():
        for name in (field.to, *(reference.kind for reference in references(field.type))):
            if name is not None:
                yield name not in kinds, f"field {field.name} refers to the kind {name}, which does not exist{did_you_mean(name, kinds)}"
        if field.derived is not None and field.derived.reference is not None:
            refers = kind.fields[field.derived.reference].refers
            nowhere = refers is None or refers not in kinds or field.derived.field not in kinds[refers].fields
            yield nowhere, f"field {field.name} is derived from {field.derived.source}, which leads to no field"
    for verb in kind.api.values():
        for name in (*verb.brings, *verb.reshapes, *verb.anchors):
            yield name not in kinds, f"verb {verb.name} names the kind {name}, which does not exist{did_you_mean(name, kinds)}"


def _needed(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    if kind.needed is not None:
        near = {kind.within, *(other.name for other in kinds.below(str(kind.within)))}
        for name in (kind.within, *kind.needed.of):
            has_it = name is not None and name in near and kind.needed.field in kinds[name].fields
            where = name or "its container"
            yield not has_it, f"needed names a field of {where}, which is not its container or beside it, or has no such field"


def _transfers(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    for field in kind.fields.values():
        if field.container and field.to is not None:
            left = kinds[field.to].transferable is not None and kind.transferable is None
            yield left, f"it cannot be transferred, but may be inside a {field.to}, which can"
    inner = kind.transferable is not None and kind.within not in {root.name for root in kinds.roots}
    yield inner, f"it is transferred between objects of the kind {kind.within}, which are in others themselves"


def _named_kinds(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    for reading in kind.reads:
        name = reading.names
        if name is not None:
            yield name not in kinds, f"a reading names the kind {name}, which does not exist{did_you_mean(name, kinds)}"
    for sighting in kind.sightings:
        apart = sighting.all and (kinds[sighting.kind].within != kind.within or not kind.whole_listings)
        yield apart, f"the list of {sighting.kind} can only show all of them in a container of both, which has a list of each"


def _paths(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    """The placeholders of paths that nothing fills."""
    containers = kinds.containers(kind.name)
    inner = kind.inside.to if kind.inside is not None else None
    filled = {*containers, *kind.fields, "id", inner}
    paths = [(f"{verb.method} {verb.path}", filled) for verb in kind.api.values()]
    paths += [(f"GET {listing.path}", filled | {"lister", listing.each}) for listing in kind.listings]
    paths += [(f"GET {kind.by_id.path}", filled)] if kind.by_id is not None else []
    names = ", ".join(f"{{{name}}}" for name in (*containers, "id"))
    for request, known in paths:
        for hole in placeholders(request):
            yield hole not in known, f"nothing fills {{{hole}}} in {request}; a path may name {names} and fields"


def _sections(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    """Names in the YAML of a container that mean two things."""
    for host, section in kind.place.hosts(kind.within).items():
        yield host not in kinds, f"its place is in the kind {host}, which does not exist{did_you_mean(host, kinds)}"
        others = [other.name for other in kinds.values() if other is not kind and section == other.place.hosts(other.within).get(host)]
        ambiguous = others != [] and not kind.place.in_list
        yield ambiguous, f"its name in the YAML of {host}, {section}, is that of {', '.join(others[:1])}; choose another"
        field = kinds[host].fields.get(section)
        taken = section in RESERVED or (field is not None and field.written)
        yield taken, f"its name in the YAML of {host}, {section}, is that of a field; choose another"


def _lists(kinds: Kinds, kind: Kind) -> Iterator[Rule]:
    if not kind.place.in_list:
        return
    for host, section in kind.place.hosts(kind.within).items():
        beside = kinds.lists(host)[section]
        twice = Counter(other.place.tag for other in beside)[kind.place.tag] > 1
        yield twice, f"two kinds in the list {section} of {host} begin with {kind.place.tag}: …; choose another tag"
        narrow = narrow_kinds(other for other in beside if not other.place.alone) if not kind.place.alone else frozenset()
        missing = narrow - kind.api["move"].anchors.keys() if kind.name in narrow else frozenset()
        unnamed = (
            f"its verb move must name each kind of sibling in the list {section} of {host} that it can be placed beside; "
            f"missing in anchors={{…}}: {', '.join(sorted(missing))}"
        )
        yield missing != frozenset(), unnamed


def narrow_kinds(siblings: Iterable[Kind]) -> frozenset[str]:
    """The names of those sibling kinds whose moves cannot name siblings of every kind; these can name one another."""
    ordered = {kind.name: kind for kind in siblings if kind.ordered}
    return frozenset(name for name, kind in ordered.items() if not ordered.keys() <= kind.api["move"].anchors.keys())


# -- Declarations --------------------------------------------------------------------------------------------------------------------


class Resource:
    """A resource kind: subclass it with a docstring, `reads`, `api` and fields. See CONTRIBUTING, "Add a kind".

    Keywords of the class: `kind`, its name; `place`, its location in the YAML; and the attributes of `Kind` that have a default.
    """

    kind: ClassVar[Kind]
    reads: ClassVar[tuple[Reading, ...]] = ()
    api: ClassVar[Verbs] = Verbs()

    def __init_subclass__(cls, *, kind: str, place: Place, **options: Any) -> None:
        super().__init_subclass__()
        hints = get_type_hints(cls, include_extras=True)
        fields = {
            name: replace(field, name=name, type=hints.get(name), wire=field.wire or name, on=_sent_by(field.on, cls.api))
            for name, field in vars(cls).items()
            if isinstance(field, Field)
        }
        declared = Kind(kind, inspect.cleandoc(cls.__doc__ or ""), place, cls.reads, cls.api, fields, **options)
        permission = declared.permission
        if declared.create_permission is None and permission is not None and permission.of is not None:
            declared = replace(declared, create_permission=permission)
        if any(field.one_per for field in fields.values()):
            # One object by its container's path shows all that the container can have: it is a list that is never incomplete.
            reads = tuple(Listing(reading.path, single=True) if isinstance(reading, One) else reading for reading in cls.reads)
            declared = replace(declared, one_per=True, local_ids=True, reads=reads)
        cls.kind = replace(declared, object=declared.object or kind)
        check(cls.kind)


def _sent_by(on: tuple[str, ...], api: Verbs) -> tuple[str, ...]:
    """The verbs that send a field; of those with a "?", the ones that the kind has."""
    return tuple(verb.removesuffix("?") for verb in on if not verb.endswith("?") or verb.removesuffix("?") in api)
