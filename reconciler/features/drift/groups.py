"""Drift as decisions: what was changed outside Reconciler, by what happened and what it means for readers and URLs. Pure.

A group is what people decide on as one:

    deleted      an object, what was deleted with it, and references to it that the service removed
    alike        the same fields of siblings, with the same values before and now
    unmanaged    an unmanaged object that gives people access
    else         one object

Its class follows from two worlds, the one before the changes (`before`) and the one now: who can read more or less, as a model of audiences
says it, with the change that causes it; and which URLs answer no longer. What neither model sees is declared with the fields (`Exposes`).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field as item, replace
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.features.drift.before import before_drift, last_value
from reconciler.features.drift.model import Drift, DriftBounds, DriftClass, Drifted, DriftedReaders, DriftGroup, DriftWord, EndedUrl
from reconciler.features.urls.plan.changes import ANY
from reconciler.model import Actual, Observed, Unmanaged
from reconciler.model.variants import Variant
from reconciler.plan.audience.disclosure import caller, local_values, with_local
from reconciler.plan.audience.openings import Opening, openings
from reconciler.plan.audience.readers import Access, Audiences, Objects, order, whole_of
from reconciler.plan.containment import Key, copied, showing_kinds
from reconciler.plan.matching.matches import Matches
from reconciler.plan.variants import Published, variants
from reconciler.plan.warnings.exposure import canonical, reader_text
from reconciler.plan.world import World
from reconciler.resource import UNSET, Exposes, FieldRole, Kinds
from reconciler.resource.risks import ANYONE_WITH_THE_URL, LINK_HOLDERS, VISITORS

STRANGERS: Final = (ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS)
"""Readers whom nobody invited, the most first."""
UNBOUNDED: Final = DriftBounds()
LESS: Final = "less is permitted than before"
ID_DIGITS: Final = 12
"""Of the digest that identifies a group."""


@dataclass
class _OpenGroup:
    """A group in the making. `root`: what was deleted with all the others; `keys`: of its objects."""

    root: Address | None = None
    resources: list[Drifted] = item(default_factory=list)
    unmanaged: Unmanaged | None = None
    keys: list[Key] = item(default_factory=list)
    gains: dict[str, dict[Address, None]] = item(default_factory=lambda: defaultdict(dict))
    losses: dict[str, dict[Address, None]] = item(default_factory=lambda: defaultdict(dict))
    urls: list[EndedUrl] = item(default_factory=list)
    ends_urls: bool = False


def grouped(world: World, matches: Matches, drift: Drift, *, between: DriftBounds = UNBOUNDED) -> Drift:
    """The drift of a world with its groups. `between`: when it happened, as far as readings say it."""
    kinds, actual = world.kinds, world.actual
    undeclared = {(found.kind, found.id): found for found in drift.unmanaged if _matters(world, matches, found)}
    causes = [*_causes(kinds, matches, drift.resources), *(_OpenGroup(unmanaged=found, keys=[key]) for key, found in undeclared.items())]
    if not causes:
        return drift
    by_key = {key: cause for cause in causes for key in cause.keys}
    worlds = _Worlds(world, matches, before_drift(kinds, actual, matches, drift.resources, undeclared))
    _add_readers(kinds, worlds, by_key)
    _add_urls(kinds, worlds, causes)
    groups = [_group(kinds, worlds, matches, cause, between) for cause in causes if _is_shown(kinds, worlds, cause)]
    merged = _alike(kinds, matches, groups)
    return replace(drift, groups=tuple(sorted(merged, key=lambda group: (group.drift_class.rank, group.addresses[0]))))


# -- what happened ---------------------------------------------------------------------------------------------------------------------


def _causes(kinds: Kinds, matches: Matches, resources: Sequence[Drifted]) -> Iterator[_OpenGroup]:
    """One for each object, and one for what was deleted together."""
    deleted = {(drifted.kind, drifted.id): drifted.address for drifted in resources if drifted.status is DriftWord.DELETED}
    joined: dict[Address, Address] = {}

    def first(address: Address) -> Address:
        while address in joined:
            address = joined[address]
        return address

    for drifted in resources:
        for outer in _deleted_around(kinds, matches, drifted, deleted):
            one, other = first(outer), first(drifted.address)
            if one != other:
                joined[other] = one
    causes: dict[Address, _OpenGroup] = {}
    for drifted in resources:
        root = first(drifted.address)
        cause = causes.setdefault(root, _OpenGroup(root))
        cause.resources.append(drifted)
        cause.keys.append((drifted.kind, str(drifted.id)))
    yield from causes.values()


def _deleted_around(
    kinds: Kinds, matches: Matches, drifted: Drifted, deleted: Mapping[tuple[str, str | None], Address]
) -> Iterator[Address]:
    """The deleted objects because of which this one was deleted, or has lost the only thing in which it differs."""
    kind, binding = kinds[drifted.kind], matches.binding(drifted.address)
    if binding is None:
        return
    by_address = set(deleted.values())
    names: Collection[str] = [delta.name for delta in drifted.fields]
    if drifted.status is DriftWord.DELETED:
        at = drifted.address.container
        while at is not None and at not in by_address:
            at = at.container
        if at is not None:
            yield at
        # What was inside a deleted object was deleted with it; its members were only moved out of it.
        names = [name for name, field in kind.fields.items() if field.role not in (FieldRole.CHOICE, FieldRole.MEMBER)]
    elif drifted.place is not None:
        return
    outer = [deleted.get((str(kind.fields[name].to or kind.fields[name].refers), _text(last_value(kind, binding, name)))) for name in names]
    if drifted.status is DriftWord.DELETED or all(address is not None for address in outer):
        yield from (address for address in outer if address is not None and address != drifted.address)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _matters(world: World, matches: Matches, found: Unmanaged) -> bool:
    """Whether an undeclared object may give people access to what is managed, and the selection takes it or what contains it."""
    kinds, desired, actual = world.kinds, world.desired, world.actual
    kind, observed = kinds[found.kind], actual.find(found.kind, found.id)
    if observed is None or kind.within is None:
        return False
    outer = (kind.within, observed.within.get(kind.within, ""))
    container = next((address for address, id in matches.ids.items() if (desired.resources[address].kind, id) == outer), None)
    if container is None or not any(map(world.selection.takes, (container, container.child(kind.name, bare(found.id))))):
        return False
    if kind.undeclared:  # where the project lists no people, it says nothing about them
        return any(
            other.kind == kind.name and not other.implied and other.address.container == container for other in desired.resources.values()
        )
    return bool(kind.lets) or kind.name in showing_kinds(kinds)


# -- the two worlds --------------------------------------------------------------------------------------------------------------------


class _Worlds:
    """Who could read what before the changes, and who can now."""

    def __init__(self, world: World, matches: Matches, before: Objects) -> None:
        kinds, desired, actual = world.kinds, world.desired, world.actual
        local = local_values(kinds, desired)
        ids = {address: str(binding.id) for address in desired.resources if (binding := matches.binding(address)) is not None} | matches.ids
        copies = copied(kinds, actual.objects)
        # What gives access in an object whose lists were not read is unknown in both worlds.
        complete = actual.complete | {(name, id) for name in kinds for some in before.values() for id in some.keys() - _ids(actual)}
        self.before = Audiences(kinds, with_local(local, ids, before), complete=complete, copies=copies, guarded=actual.guarded)
        self.now = Audiences(kinds, with_local(local, ids, actual.objects), complete=complete, copies=copies, guarded=actual.guarded)
        # What was deleted and created again has two ids.
        bound = [(address, str(binding.id)) for address in desired.resources if (binding := matches.binding(address)) is not None]
        known = [(address, id) for address, id in (*bound, *ids.items()) if address in desired.resources]
        addresses = {(desired.resources[address].kind, id): address for address, id in known}
        self.called = caller(kinds, addresses, actual.objects, before)
        self.published = Published(kinds, self.now)
        self.published_before = Published(kinds, self.before, earlier=self.published, past=True)


def _ids(actual: Actual) -> set[str]:
    return {id for some in actual.objects.values() for id in some}


def _add_readers(kinds: Kinds, worlds: _Worlds, by_key: Mapping[Key, _OpenGroup]) -> None:
    """Who gains and who loses what, each with its cause."""
    for openings_now, objects, gains in (
        (openings(kinds, worlds.before, worlds.now), worlds.now, True),
        (openings(kinds, worlds.now, worlds.before), worlds.before, False),
    ):
        for opening in openings_now:
            cause = by_key.get(opening.cause) or by_key.get(opening.at) or _on_the_way(opening, by_key)
            if cause is not None:
                readers = cause.gains if gains else cause.losses
                for key, access in sorted(opening.opened, key=lambda entry: (entry[0], order(entry[1]))):
                    who = _who(objects.objects, worlds, key, access) + ("" if gains else _except(worlds.now, key, access))
                    readers[who][worlds.called(key)] = None


def _on_the_way(opening: Opening, by_key: Mapping[Key, _OpenGroup]) -> _OpenGroup | None:
    return next((by_key[key] for key in opening.path if key in by_key), None)


def _who(objects: Objects, worlds: _Worlds, key: Key, access: Access) -> str:
    return reader_text(objects, worlds.called, key, access)


def _except(now: Audiences, key: Key, lost: Access) -> str:
    """Of readers who lost an object, the class that can still read it although nobody invited them: `, except anyone with the URL`."""
    kept = [access.who for access in now.of(key) if access != lost and lost.includes(access)]
    return next((f", except {who}" for who in STRANGERS if who in kept and who != lost.who), "")


# -- URLs ------------------------------------------------------------------------------------------------------------------------------


def _add_urls(kinds: Kinds, worlds: _Worlds, causes: Iterable[_OpenGroup]) -> None:
    """The URLs that answered with some content before, and do not now."""
    moving = {key: cause for cause in causes for key in cause.keys if _may_move(kinds, cause, key)}
    if not moving:
        return
    now = variants(worlds.published)
    before = variants(worlds.published_before, now)
    answering: dict[tuple[Key, str], None] = {(variant.space, base): None for variant in now.values() for base in variant.bases.values()}
    for variant in before.values():
        chain = (variant.at, variant.space, *whole_of(kinds, worlds.before.objects, variant.at))
        concerned = list({id(moving[key]): moving[key] for key in chain if key in moving}.values())
        for base in variant.bases.values() if concerned else ():
            if (variant.space, base) not in answering:
                ended = EndedUrl(base + ANY, _new_base(now, variant))
                for cause in concerned:
                    cause.urls += [] if ended in cause.urls else [ended]
        for cause in _renaming(kinds, worlds, moving, chain):
            cause.ends_urls = True


def _may_move(kinds: Kinds, cause: _OpenGroup, key: Key) -> bool:
    if cause.unmanaged is not None:
        return False
    kind = kinds[key[0]]
    names = kind.modelled | {name for name, field in kind.fields.items() if field.address or field.role is FieldRole.CHOICE}
    return any(
        drifted.status is DriftWord.DELETED or any(delta.name in names for delta in drifted.fields)
        for drifted in cause.resources
        if (drifted.kind, drifted.id) == key
    )


def _renaming(kinds: Kinds, worlds: _Worlds, moving: Mapping[Key, _OpenGroup], chain: Collection[Key]) -> Iterator[_OpenGroup]:
    """The causes that change a whole address, by which people know everything below it."""
    within = {
        (name, id)
        for key in chain
        for name, id in (worlds.before.objects[key[0]][key[1]].within.items() if key[1] in worlds.before.objects.get(key[0], {}) else ())
    }
    for key in {*chain, *within}:
        cause = moving.get(key)
        whole = {name for name, field in kinds[key[0]].fields.items() if field.address == "whole"}
        if cause is not None and any(delta.name in whole for drifted in cause.resources for delta in drifted.fields):
            yield cause


def _new_base(now: Mapping[Key, Variant], variant: Variant) -> str | None:
    """Where the content answers now: at the same object, else on the same site."""
    candidates = [other for other in now.values() if other.space == variant.space and other.site == variant.site and 0 in other.bases]
    best = min(candidates, key=lambda other: (other.at != variant.at, other.bases[0]), default=None)
    return best.bases[0] + ANY if best is not None else None


# -- groups ------------------------------------------------------------------------------------------------------------------------------


def _is_shown(kinds: Kinds, worlds: _Worlds, cause: _OpenGroup) -> bool:
    """Whether it is a group: an undeclared object only if it gives somebody access."""
    if cause.unmanaged is None:
        return True
    kind = kinds[cause.unmanaged.kind]
    if kind.lets:
        return kind.audience is None or bool(cause.gains) or bool(worlds.now.of(cause.keys[0]))
    return bool(cause.gains)


def _group(kinds: Kinds, worlds: _Worlds, matches: Matches, cause: _OpenGroup, between: DriftBounds) -> DriftGroup:
    wider, narrower, looser = _effects(kinds, matches, worlds.now.objects, cause)
    ended = _ended(kinds, matches, cause)
    deleted = {drifted.address for drifted in cause.resources if drifted.status is DriftWord.DELETED}
    if cause.unmanaged is not None:
        kind = kinds[cause.unmanaged.kind]
        classes = [DriftClass.ACCESS if kind.lets else DriftClass.EXPOSING]
        wider = [kind.lets] if kind.lets else []
        addresses: tuple[Address, ...] = (worlds.called(cause.keys[0]),)
    else:
        classes = [*_classes(kinds, cause, wider, narrower, looser)]
        addresses = tuple(drifted.address for drifted in _outermost_first(cause))
    # Of an unmanaged object, only what it gives access to is news.
    itself = set(addresses) if cause.unmanaged is not None else set()
    sides = ((True, cause.gains), (False, cause.losses))
    changes = [(who, gains, tuple(sorted(at.keys() - itself))) for gains, side in sides for who, at in side.items()]
    readers = [DriftedReaders(who, gains, at) for who, gains, at in changes if at]
    effects = tuple(dict.fromkeys((*wider, *looser, *ended, *([LESS] if narrower and cause.root not in deleted else []))))
    deleted_at = [drifted.deleted_at for drifted in cause.resources if drifted.deleted_at is not None]
    bounds = DriftBounds(min(deleted_at), min(deleted_at)) if deleted_at else between
    parts = [_difference(kinds, matches, worlds.now.objects, drifted) for drifted in cause.resources] or [
        [str(addresses[0]), bare(cause.keys[0][1])]
    ]
    return DriftGroup(
        _digest(parts), classes[0], addresses, tuple(cause.resources), cause.unmanaged, effects, tuple(readers), tuple(cause.urls), bounds,
        also=frozenset(classes[1:]),
    )  # fmt: skip


def _outermost_first(cause: _OpenGroup) -> list[Drifted]:
    """What was deleted first, containers before what they contain, then the rest."""

    def rank(drifted: Drifted) -> Any:
        return drifted.status is not DriftWord.DELETED, len(drifted.address.parts), drifted.address != cause.root, drifted.address

    return sorted(cause.resources, key=rank)


def _classes(kinds: Kinds, cause: _OpenGroup, wider: Collection[str], narrower: bool, looser: Collection[str]) -> Iterator[DriftClass]:
    """What the changes mean, the worst first."""
    deleted = [kinds[drifted.kind] for drifted in cause.resources if drifted.status is DriftWord.DELETED]
    meanings: dict[DriftClass, object] = {
        DriftClass.EXPOSING: cause.gains or wider,
        DriftClass.DELETING: any(not kind.lets for kind in deleted),
        DriftClass.LOCKING_OUT: deleted or cause.losses or narrower,
        DriftClass.BREAKING_URLS: cause.urls or cause.ends_urls,
        DriftClass.LOOSENING_RULES: looser,
    }
    meant = [drift_class for drift_class, so in meanings.items() if so]
    yield from meant or [DriftClass.COSMETIC]


def _effects(kinds: Kinds, matches: Matches, now: Objects, cause: _OpenGroup) -> tuple[list[str], bool, list[str]]:
    """What declarations say of the changed fields: what somebody may do now; whether somebody may do less; which rules are looser."""
    wider: list[str] = []
    looser: list[str] = []
    narrower = False
    for drifted in cause.resources:
        kind, binding = kinds[drifted.kind], matches.binding(drifted.address)
        observed = now.get(kind.name, {}).get(str(drifted.id))
        for delta in drifted.fields if binding is not None and observed is not None else ():
            exposes = kind.fields[delta.name].exposes if delta.name in kind.fields else None
            if exposes is None or binding is None or observed is None or delta.name in kind.modelled:
                continue
            then, value = last_value(kind, binding, delta.name), observed.values.get(delta.name, UNSET)
            if exposes.rule:
                looser += [exposes.says] if exposes.opened(then, value) else []
            elif exposes.widened(then, value):
                wider.append(_says(exposes, then, value))
            elif exposes.widened(value, then):
                narrower = True
    return wider, narrower, looser


def _ended(kinds: Kinds, matches: Matches, cause: _OpenGroup) -> Iterator[str]:
    """What a deletion ends that neither readers nor URLs show."""
    for drifted in cause.resources:
        kind, binding = kinds[drifted.kind], matches.binding(drifted.address)
        if drifted.status is not DriftWord.DELETED or binding is None:
            continue
        if kind.loses:
            yield kind.loses
        elif kind.access and kind.audience is None:
            yield f"no longer {kind.access}"
        # Of a site that no longer exists, nobody knows the URL; only that it had one.
        unless = kind.published.unless if kind.published is not None and not kind.published.secret else None
        if unless is not None and last_value(kind, binding, unless[0]) not in (UNSET, unless[1]) and not cause.urls:
            yield "its published URLs stop working"


def _says(exposes: Exposes, then: Any, now: Any) -> str:
    return exposes.says if exposes.opened(then, now) else "may do more in it"


def _difference(kinds: Kinds, matches: Matches, now: Objects, drifted: Drifted) -> list[Any]:
    """What differs, for the digest: what it is now, secrets as the state has them."""
    observed: Observed | None = now.get(drifted.kind, {}).get(str(drifted.id))
    values = []
    for delta in sorted(drifted.fields, key=lambda delta: delta.name):
        field = kinds[drifted.kind].fields.get(delta.name)
        secret = field is not None and field.sensitive and observed is not None
        value = field.stored(observed.values.get(delta.name, UNSET), str(drifted.id)) if secret and field and observed else delta.before
        values.append([delta.name, canonical(value)])
    now_at = [str(drifted.place[1].parent), str(drifted.place[1].previous)] if drifted.place is not None else None
    return [str(drifted.address), drifted.status.value, values, now_at]


def _digest(parts: Iterable[Any]) -> str:
    return hashlib.sha256(canonical(sorted(parts, key=canonical)).encode()).hexdigest()[:ID_DIGITS]


def _alike(kinds: Kinds, matches: Matches, groups: Sequence[DriftGroup]) -> Iterator[DriftGroup]:
    """The groups, those of siblings that were changed alike as one."""
    by_likeness: dict[Any, list[DriftGroup]] = {}
    for group in groups:
        by_likeness.setdefault(_likeness(kinds, matches, group) or group.id, []).append(group)
    for alike in by_likeness.values():
        yield alike[0] if len(alike) == 1 else _together(alike)


def _likeness(kinds: Kinds, matches: Matches, group: DriftGroup) -> Any:
    """What groups of siblings have in common; None for one that is never put together with others."""
    if len(group.resources) != 1 or group.resources[0].place is not None or group.resources[0].status is DriftWord.DELETED:
        return None
    (drifted,) = group.resources
    kind, binding = kinds[drifted.kind], matches.binding(drifted.address)
    if binding is None or any(delta.sensitive for delta in drifted.fields):
        return None
    inside = kind.inside.name if kind.inside is not None else ""
    parent = last_value(kind, binding, inside) if inside else None
    fields = tuple((delta.name, canonical(delta.last), canonical(delta.before)) for delta in drifted.fields)
    return group.drift_class, drifted.kind, drifted.address.container, canonical(parent), fields, group.effects, group.between


def _together(alike: Sequence[DriftGroup]) -> DriftGroup:
    readers: dict[tuple[str, bool], dict[Address, None]] = {}
    for change in (change for group in alike for change in group.readers):
        readers.setdefault((change.who, change.gains), {}).update(dict.fromkeys(change.addresses))
    return replace(
        alike[0],
        id=_digest([group.id] for group in alike),
        addresses=tuple(address for group in alike for address in group.addresses),
        resources=tuple(drifted for group in alike for drifted in group.resources),
        readers=tuple(DriftedReaders(who, gains, tuple(sorted(at))) for (who, gains), at in readers.items()),
        urls=tuple(dict.fromkeys(url for group in alike for url in group.urls)),
    )
