"""What a change outside Reconciler made public or no longer protected: the exposures between what was agreed to and what remains. Pure.

Two callers: a plan, for what the files accept, which nobody agreed to yet; and drift, for what the service shows now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Exposure
from reconciler.plan.audience.agreed import AgreedWorld
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.plan.audience.openings import Opening, gained
from reconciler.plan.audience.readers import Access, Audiences, Objects, order
from reconciler.plan.changes import Names, named
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Removal, Transfer
from reconciler.plan.warnings.exposure import audience_lines, canonical, consent_to, consent_to_readers, shown_value
from reconciler.plan.world import World
from reconciler.resource import UNSET, Kinds

ACCEPTED: Final = "; it was changed outside Reconciler"
ID: Final = "RC-exposed-outside"
"""Its cause, by which reports tell it from others."""

Later = Callable[[Key, str], Any]
"""The value of a field after the plan."""


def accepted_exposures(
    world: World,
    drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
    names: Names,
    disclosed: Disclosure,
    agreed: AgreedWorld,
) -> Iterator[Exposure]:
    """One for each change made outside Reconciler that a run of the plan would record as agreed to, and that exposes something."""
    if not agreed:
        return
    about = {**{address: draft for address, draft in drafts.items() if draft.active}, **removals}
    openings = [opening for opening in disclosed.outside if not by_transfers(world, opening)]
    sent = {
        (address, difference.field.name): difference for address, draft in drafts.items() if draft.active for difference in draft.sendable
    }

    def later(key: Key, name: str) -> Any:
        difference = sent.get((agreed.addresses[key], name))
        return difference.after if difference is not None else _value(world.actual.objects, key, name)

    def shown_already(key: Key, name: str) -> bool:
        difference = sent.get((agreed.addresses[key], name))
        exposes = difference.field.exposes if difference is not None else None
        return difference is not None and exposes is not None and exposes.opened(_value(world.actual.objects, key, name), difference.after)

    lines = [
        *_audience(world.kinds, openings, drafts, names, disclosed),
        *_settings(world.kinds, agreed, later, shown_already, names),
    ]
    for line in lines:
        draft = drafts.get(line.address)
        source = draft.declared.positions.get(line.field, draft.declared.source) if draft is not None else line.source
        if line.address in about or line.readers:
            yield replace(line, says=f"{line.says}{ACCEPTED}", source=source)


def drifted_exposures(kinds: Kinds, names: Names, disclosed: Disclosure, agreed: AgreedWorld, actual: Objects) -> Iterator[Exposure]:
    """One for each change outside Reconciler that exposes something now."""
    yield from _audience(kinds, disclosed.outside, {}, names, disclosed)
    yield from _settings(kinds, agreed, lambda key, name: _value(actual, key, name), lambda key, name: False, names)


def _audience(
    kinds: Kinds, openings: Collection[Opening], drafts: Mapping[Address, Draft], names: Names, disclosed: Disclosure
) -> Iterator[Exposure]:
    """The openings as people read them, each with the agreed value of its field and the value that remains."""
    lines = audience_lines(kinds, openings, drafts, names, disclosed.called, disclosed.after)
    for opening, line in zip(openings, lines, strict=True):
        before = after = UNSET
        if opening.field:
            field = kinds[opening.at[0]].fields[opening.field]
            before, after = (
                shown_value(field, _value(objects, opening.at, opening.field), names, line.address)
                for objects in (disclosed.before, disclosed.after)
            )
        yield replace(line, before=before, after=after, id=ID)


def _settings(
    kinds: Kinds, agreed: AgreedWorld, later: Later, shown_already: Callable[[Key, str], bool], names: Names
) -> Iterator[Exposure]:
    """The fields that open something other than read access."""
    for key, values in agreed.values.items():
        kind, address = kinds[key[0]], agreed.addresses[key]
        modelled = {*kind.audience.gates, *kind.audience.inherits} if kind.audience is not None else set[str]()
        for name, before in values.items():
            field, after = kind.fields[name], later(key, name)
            if field.exposes is None or name in modelled or shown_already(key, name) or not field.exposes.opened(before, after):
                continue
            value = canonical(field.stored(named(after, names, address), str(address)))
            yield Exposure(
                address,
                kind.name,
                name,
                shown_value(field, before, names, address),
                shown_value(field, after, names, address),
                field.exposes.says,
                id="RC-exposed-outside",
                consents=(consent_to(address, name, value),),
            )


def _value(objects: Objects, key: Key, name: str) -> Any:
    observed = objects.get(key[0], {}).get(key[1])
    return observed.values.get(name, UNSET) if observed is not None else UNSET


# -- transfers ---------------------------------------------------------------------------------------------------------------------


ADMINS = "admins"


def by_transfers(world: World, opening: Opening) -> bool:
    """Whether an opening is one that `transfer_exposures` reports."""
    owner = world.kinds[opening.at[0]].transferable
    return owner is not None and opening.field == owner.name


def transfer_exposures(world: World, drafts: Mapping[Address, Draft], disclosed: Disclosure) -> Iterator[Exposure]:
    """One exposure for each transfer request, with everything that is transferred by it."""
    openings = {opening.at: opening for opening in disclosed.openings if by_transfers(world, opening)}
    contents: dict[Key, list[Key]] = {}
    if disclosed.worlds is not None:
        for key, outer in disclosed.worlds.transferred.items():
            contents.setdefault(outer, []).append(key)
    for root in world.transferred.roots:
        draft = drafts.get(root)
        if draft is not None and draft.active and isinstance(draft.purpose, Transfer):
            key = (draft.kind.name, str(draft.id))
            included = tuple(sorted(address for address, by in world.transferred.root_of.items() if by == root))
            yield replace(
                _transfer_line(disclosed, draft, draft.purpose.source, contents.get(key, [key]), openings.get(key)), reaches=included
            )


def _transfer_line(disclosed: Disclosure, draft: Draft, was: Address, keys: list[Key], opening: Opening | None) -> Exposure:
    root, owner = draft.address, draft.kind.transferable
    assert owner is not None
    then = root.root
    opened = opening.opened if opening is not None else {}
    worlds, source = disclosed.worlds, draft.purpose.source_id if isinstance(draft.purpose, Transfer) else ""
    gain, loss = _people(then, set()), _people(was, set())
    if worlds is not None:
        target = worlds.after.objects[draft.kind.name][str(draft.id)].within.get(str(owner.to), "")
        gain = _people(then, _people_of(worlds.before, worlds.after, keys, target))
        loss = _people(was, _people_of(worlds.after, worlds.before, keys, source))
    more = f" and to the {len(keys) - 1} in it" if len(keys) > 1 else ""
    readers = sorted(consent_to_readers(disclosed.called(key), access, disclosed.called(end)) for (key, access), end in opened.items())
    return Exposure(
        root,
        draft.kind.name,
        owner.name,
        str(was),
        str(then),
        f"{_listed(gain)} get access to it{more}; {_listed(loss)} lose it",
        draft.declared.source,
        id="RC-given-away",
        readers=gain,
        consents=(consent_to(root, owner.name, canonical(str(then))), *readers),
    )


def _people_of(without: Audiences, having: Audiences, keys: list[Key], container: str) -> set[Access]:
    """The people of a container who can read some of the objects in the one world and not in the other, by whatever cause."""
    accesses = {access for key in keys for access in gained(without, having, key)}
    return {access for access in accesses if access.of is not None and access.of[1] == container}


def _people(container: Address, accesses: set[Access]) -> tuple[str, ...]:
    """The people of a container: its admins, and each class of readers that no other of them includes."""
    widest = [access for access in accesses if not any(other.includes(access) for other in accesses if other != access)]
    texts = (access.text(str(container)) for access in sorted(widest, key=order))
    return (f"{ADMINS} of {container}", *dict.fromkeys(texts))


def _listed(people: tuple[str, ...]) -> str:
    """`admins of acme and members of acme (edit)`."""
    return " and ".join([", ".join(people[:-1]), people[-1]] if len(people) > 1 else people)
