"""Who gains and who loses access by a transfer. Pure.

Both follow from the audiences before a plan and after it. An organization's admins can read everything in it, so every transfer is an
exposure. The API does not say which teams and people have access beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Exposure
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.plan.audience.openings import Opening, gained
from reconciler.plan.audience.readers import Access, Audiences, order
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.warnings.consents import canonical, consent_to, consent_to_readers
from reconciler.plan.world import World

ADMINS = "admins"


def by_transfers(world: World, opening: Opening) -> bool:
    """Whether an opening is one that `transfer_exposures` reports."""
    owner = world.kinds[opening.at[0]].transferable
    return owner is not None and opening.field == owner.name


def transfer_exposures(world: World, drafts: Mapping[Address, Draft], disclosed: Disclosure) -> Iterator[Exposure]:
    """One exposure for each transfer request, with everything that is transferred by it."""
    openings = {opening.at: opening for opening in disclosed.openings if by_transfers(world, opening)}
    contents: dict[Key, list[Key]] = {}
    for key, outer in disclosed.worlds.transferred.items() if disclosed.worlds is not None else ():
        contents.setdefault(outer, []).append(key)
    for root in world.transferred.roots:
        draft = drafts.get(root)
        if draft is not None and draft.active and isinstance(draft.purpose, Transfer):
            key = (draft.kind.name, str(draft.id))
            included = tuple(sorted(address for address, by in world.transferred.root_of.items() if by == root))
            yield replace(_line(disclosed, draft, draft.purpose.source, contents.get(key, [key]), openings.get(key)), reaches=included)


def _line(disclosed: Disclosure, draft: Draft, was: Address, keys: list[Key], opening: Opening | None) -> Exposure:
    root, owner = draft.address, draft.kind.transferable
    assert owner is not None
    then = root.root
    opened = opening.opened if opening is not None else {}
    worlds, source = disclosed.worlds, draft.purpose.source_id if isinstance(draft.purpose, Transfer) else ""
    gain, loss = _people(then, set()), _people(was, set())
    if worlds is not None:
        target = worlds.after.objects[draft.kind.name][str(draft.id)].within.get(str(owner.to), "")
        gain = _people(then, _readers(worlds.before, worlds.after, keys, target))
        loss = _people(was, _readers(worlds.after, worlds.before, keys, source))
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


def _readers(without: Audiences, having: Audiences, keys: list[Key], container: str) -> set[Access]:
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
