"""Probable renames: an address that is no longer declared beside a new one that looks like it. Pure.

Without the word `previously` the one would be deleted and the other made: its content and its public address would be lost. So both wait
until the YAML says which it is. What only stands in the same place is a remark.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Blocked, Desired
from reconciler.model.codec import substitute, title
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET, Kind, Role

NAMES = ("title", "name", "label")
"""Fields by which people know an object."""

COMPARED: Final = 50  # keys among which the one most like a former key is sought


def probable_renames(world: World, decisions: Decisions) -> Decisions:
    """Block every probable rename on both sides, with a note for each pair that only shares its place."""
    desired = world.desired
    vanished = {removal.address: removal for removal in decisions.removals.values() if _vanished(desired, removal)}
    fresh = {draft.address: draft for draft in decisions.drafts.values() if draft.is_new and draft.old is None and draft.binding is None}
    blocked: list[Draft | Removal] = []
    same: dict[Address, str] = {}
    while pairs := _pairs(vanished, fresh, same):
        for gone, come in pairs:
            old, new = vanished.pop(gone), fresh.pop(come)
            same[new.address] = old.id
            name = title(old.observed) if old.observed is not None else old.id
            blocked += _blocked(
                old, new, f"{new.address} looks like it ({name!r})", f"looks like {old.address}, which is no longer declared"
            )
    for address, meant in _mistyped(desired, vanished, fresh).items():
        old, new = vanished.pop(meant), fresh.pop(address)
        former = "names a former key that is not tracked"
        blocked += _blocked(old, new, f"{new.address} {former}", f"{former}, and {old.address} is no longer declared")
    notes = (*decisions.notes, *_remarks(vanished.values(), fresh.values()))
    return replace(decisions.changed(blocked), notes=notes)


def _pairs(
    vanished: Mapping[Address, Removal], fresh: Mapping[Address, Draft], same: Mapping[Address, str]
) -> list[tuple[Address, Address]]:
    """Those that look alike, each once; `same`: those found so far, whose referrers then look alike too."""
    alike: dict[Hashable, deque[Address]] = defaultdict(deque)
    for address, new in fresh.items():
        values = substitute(dict(new.wants), same)
        for sign in _signs(new.kind, address, values):
            alike[sign].append(address)
    turn = {address: index for index, address in enumerate(fresh)}
    taken: set[Address] = set()
    pairs: list[tuple[Address, Address]] = []
    for address, old in vanished.items():
        candidates: list[Address] = []
        observed = old.observed
        for sign in _signs(old.kind, address, {**observed.raw, **observed.values} if observed is not None else {}):
            queue = alike.get(sign, deque())
            while queue and queue[0] in taken:
                queue.popleft()
            candidates += [queue[0]] if queue else []
        if candidates:
            first = min(candidates, key=lambda candidate: turn[candidate])
            taken.add(first)
            pairs.append((address, first))
    return pairs


def _signs(kind: Kind, address: Address, values: Mapping[str, Any]) -> Iterator[Hashable]:
    """What it has in common with whatever people would call the same, or has the same natural key, beside it."""
    for name in NAMES:
        if values.get(name, UNSET) not in (UNSET, None, ""):
            yield kind.name, address.container, name, repr(values[name])
    keys = [values.get(field.name, UNSET) for field in kind.keys]
    if keys and UNSET not in keys:
        yield kind.name, address.container, "", repr(keys)


def _mistyped(desired: Desired, vanished: Mapping[Address, Removal], fresh: Mapping[Address, Draft]) -> dict[Address, Address]:
    """What would be created although it names a former key, with what would be deleted although it may be what is meant."""
    moved = {move.new: move.old.key for move in desired.moved}
    beside: dict[tuple[str, Address | None], dict[str, Address]] = {}
    for address, removal in vanished.items():
        beside.setdefault((removal.kind.name, address.container), {})[address.key] = address
    pairs: dict[Address, Address] = {}
    for address, draft in fresh.items():
        former = [*(old.key for old in draft.declared.previously), *([moved[address]] if address in moved else [])]
        keys = beside.get((draft.kind.name, address.container), {})
        if former and (close := get_close_matches(former[0], list(keys)[:COMPARED], n=1, cutoff=0.0)):
            pairs[address] = keys.pop(close[0])
    return pairs


def _vanished(desired: Desired, one: Removal) -> bool:
    """Whether its line is gone without a word, while the object and what it stands within are still there."""
    there = one.observed is not None and one.observed.deleted_at is None
    return there and one.binding is not None and one.address not in desired.removed and one.address.container in desired.resources


def _was(old: Removal, name: str) -> Any:
    return old.observed.values.get(name, UNSET) if old.observed is not None else UNSET


def _blocked(old: Removal, new: Draft, gone: str, come: str) -> tuple[Removal, Draft]:
    """Both, blocked. `gone`, `come`: why the one may have become the other."""
    source = new.declared.source
    line = f"previously: [{old.address.key}]"
    way = f"if so, write {line} on {new.address}; if not, add to removed: {{address: {old.address}, action: delete}}"
    return (
        replace(old, blocked=Blocked(old.address, f"is no longer declared, and {gone}: probably a rename", way, source)),
        new.block(f"would be created, and {come}: probably a rename", way),
    )


def _remarks(vanished: Iterable[Removal], fresh: Iterable[Draft]) -> Iterable[str]:
    """One gone and one new in the same place, of a kind that is told apart by what it shows: perhaps a rename."""
    gone: dict[tuple[str, Any], list[Removal]] = {}
    come: dict[tuple[str, Any], list[Draft]] = {}
    for old in vanished:
        inside = old.kind.inside
        if old.delete and old.active and inside is not None and inside.role is Role.INSIDE and inside.cascade:
            gone.setdefault((old.kind.name, _was(old, inside.name)), []).append(old)
    for new in fresh:
        if new.kind.inside is not None and new.active:
            come.setdefault((new.kind.name, new.wants.get(new.kind.inside.name, UNSET)), []).append(new)
    for place, olds in gone.items():
        news = come.get(place, [])
        if len(olds) == len(news) == 1:
            line = f"previously: [{olds[0].address.key}]"
            yield f"{olds[0].address} is deleted and {news[0].address} created in its place; if it is a rename, write {line} on the new one"
