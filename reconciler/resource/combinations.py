"""All kinds that fit together, or what contradicts between two of them, with what to correct. Pure. (Within one: `contradictions`.)

A mistake here would show late and far away: a path with a placeholder that nothing fills fails at the first request of a run, and two
sections of one name would make a reader of YAML choose. So nothing starts with kinds that do not fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from reconciler.errors import DeclarationError
from reconciler.resource.contradictions import RESERVED, references
from reconciler.resource.kind import Kind
from reconciler.resource.registry import Kinds
from reconciler.resource.verbs import placeholders
from reconciler.text.suggest import did_you_mean


def combined(declared: Iterable[Kind]) -> Kinds:
    """The kinds together. Raises `DeclarationError` if two declarations contradict each other."""
    kinds = Kinds(declared)
    for kind in kinds.values():
        contradiction = next(contradictions_between(kinds, kind), None)
        if contradiction is not None:
            raise DeclarationError(f"kind {kind.name}: {contradiction}", id="RC-kind-contradiction")
    return kinds


def contradictions_between(kinds: Kinds, kind: Kind) -> Iterator[str]:
    """What one of the kinds declares that another one contradicts, the first cause first."""
    parts = (_containers, _references, _needed, _transfer, _readings, _paths, _sections, _lists)
    return chain.from_iterable(part(kinds, kind) for part in parts)


def _containers(kinds: Kinds, kind: Kind) -> Iterator[str]:
    if kind.within is None and len(kinds.roots) > 1:
        yield f"only one kind has no container, but {' and '.join(root.name for root in kinds.roots)} have none; declare one with within"
    if kind.within is not None and kinds[kind.within].local_ids:
        yield f"its container is {kind.within}, whose local_ids cannot fill a path"
    for permission in (kind.permission, kind.create_permission):
        if permission is not None and permission.of is not None and permission.of not in kinds.containers(kind.name):
            yield f"it requires a permission of {permission.of}, which does not contain it"


def _references(kinds: Kinds, kind: Kind) -> Iterator[str]:
    for field in kind.fields.values():
        for name in (field.to, *(reference.kind for reference in references(field.type))):
            if name is not None and name not in kinds:
                yield f"field {field.name} refers to the kind {name}, which does not exist{did_you_mean(name, kinds)}"
        if field.derived is not None and field.derived.reference is not None:
            refers = kind.fields[field.derived.reference].refers
            if refers is None or refers not in kinds or field.derived.field not in kinds[refers].fields:
                yield f"field {field.name} is derived from {field.derived.source}, which leads to no field"
    for verb in kind.api.values():
        for name in (*verb.brings, *verb.reshapes, *verb.anchors):
            if name not in kinds:
                yield f"verb {verb.name} names the kind {name}, which does not exist{did_you_mean(name, kinds)}"


def _needed(kinds: Kinds, kind: Kind) -> Iterator[str]:
    needed = kind.needed
    for name in (kind.within, *needed.of) if needed is not None else ():
        known = name is not None and name in kinds and name in (kind.within, *(other.name for other in kinds.below(str(kind.within))))
        if not known or needed is None or needed.field not in kinds[str(name)].fields:
            yield f"needed names a field of {name or 'its container'}, which is not its container or beside it, or has no such field"


def _transfer(kinds: Kinds, kind: Kind) -> Iterator[str]:
    for field in kind.fields.values():
        if field.container and field.to is not None and kinds[field.to].transferable is not None and kind.transferable is None:
            yield f"it cannot be transferred, but may be inside a {field.to}, which can"
    if kind.transferable is not None and kind.within not in {root.name for root in kinds.roots}:
        yield f"it is transferred between objects of the kind {kind.within}, which are in others themselves"


def _readings(kinds: Kinds, kind: Kind) -> Iterator[str]:
    for reading in kind.reads:
        if reading.names is not None and reading.names not in kinds:
            yield f"a reading names the kind {reading.names}, which does not exist{did_you_mean(reading.names, kinds)}"
    for sighting in kind.sightings:
        if sighting.all and (kinds[sighting.kind].within != kind.within or not kind.whole_listings):
            yield f"the list of {sighting.kind} can only show all of them in a container of both, which has a list of each"


def _paths(kinds: Kinds, kind: Kind) -> Iterator[str]:
    """The placeholders of paths that nothing fills."""
    inner = kind.inside.to if kind.inside is not None else None
    known = {*kinds.containers(kind.name), *kind.fields, "id", inner}
    for verb in kind.api.values():
        for hole in verb.placeholders:
            if hole not in known:
                yield _unfilled(hole, f"{verb.method} {verb.path}", kinds, kind)
    readings = [(listing.path, {"lister", listing.each}) for listing in kind.listings]
    readings += [(kind.by_id.path, set())] if kind.by_id is not None else []
    for path, more in readings:
        for hole in placeholders(path):
            if hole not in known | more:
                yield _unfilled(hole, f"GET {path}", kinds, kind)


def _unfilled(hole: str, request: str, kinds: Kinds, kind: Kind) -> str:
    names = (*kinds.containers(kind.name), "id")
    return f"nothing fills {{{hole}}} in {request}; a path may name {', '.join(f'{{{name}}}' for name in names)} and fields"


def _sections(kinds: Kinds, kind: Kind) -> Iterator[str]:
    """Names in the YAML of a container that mean two things."""
    for host, section in kind.place.hosts(kind.within).items():
        if host not in kinds:
            yield f"its place is in the kind {host}, which does not exist{did_you_mean(host, kinds)}"
            continue
        others = [other.name for other in kinds.values() if other is not kind and section == other.place.hosts(other.within).get(host)]
        if others and not kind.place.in_list:
            yield f"its name in the YAML of {host}, {section}, is that of {others[0]}; choose another"
        written = kinds[host].fields.get(section)
        if section in RESERVED or (written is not None and written.written):
            yield f"its name in the YAML of {host}, {section}, is that of a field; choose another"


def _lists(kinds: Kinds, kind: Kind) -> Iterator[str]:
    for host, section in kind.place.hosts(kind.within).items() if kind.place.in_list else ():
        beside = kinds.lists(host)[section]
        if Counter(other.place.tag for other in beside)[kind.place.tag] > 1:
            yield f"two kinds in the list {section} of {host} begin with {kind.place.tag}: …; choose another tag"
        narrow = narrow_kinds(other for other in beside if not other.place.alone) if not kind.place.alone else frozenset()
        missing = narrow - kind.api["move"].anchors.keys() if kind.name in narrow else frozenset()
        if missing:
            yield (
                f"its verb move must name each kind of sibling in the list {section} of {host} that it can be placed beside; "
                f"missing in anchors={{…}}: {', '.join(sorted(missing))}"
            )


def narrow_kinds(siblings: Iterable[Kind]) -> frozenset[str]:
    """The names of those sibling kinds whose moves cannot name siblings of every kind; these can name one another."""
    ordered = {kind.name: kind for kind in siblings if kind.ordered}
    return frozenset(name for name, kind in ordered.items() if not ordered.keys() <= kind.api["move"].anchors.keys())
