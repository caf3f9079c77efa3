"""What the service rearranges by itself when the first object of a kind comes or the last one leaves. Pure.

Sections and site spaces are such kinds: the first section takes in what is at the top of its site, and the last one that is deleted leaves
its own there; every other section takes its site spaces with it. In: what was matched, drafts and removals. Out: which containers change
their form in this run, and what waits for a second run because of that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, Blocked, Observed, waiting
from reconciler.model.codec import title
from reconciler.plan.drafts.drafts import Draft
from reconciler.plan.matching.match import Matches
from reconciler.plan.removals import Removal
from reconciler.resource import Field, Kind, Kinds, Role


@dataclass(frozen=True)
class Reshape:
    """A container in which the first object of a kind comes, or the last one leaves.

    `names`: the kinds that the service rearranges then. `keeper`: the one that is created first, or deleted last; `keeper_id`: its id, None
    where it comes. `leaving`: all that are deleted. `top`: whether something is declared outside them. `settled`: the declared
    resources that the service itself moves where they are declared.
    """

    kind: Kind
    names: frozenset[str]
    container: Address
    keeper: Address
    keeper_id: str | None
    leaving: tuple[Address, ...] = ()
    top: bool = False
    settled: frozenset[Address] = frozenset()

    @property
    def reason(self) -> str:
        if self.keeper_id is None:
            return f"the service moves it into {self.keeper}, the first {self.kind.name}"
        return f"the service rearranges it when the last {self.kind.name} goes"


def reshapes(
    kinds: Kinds, actual: Actual, found: Matches, drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]
) -> tuple[Reshape, ...]:
    """Every container that changes its form. Drafts and removals may still be blocked for what they could not know of it."""
    changing = []
    for kind in kinds.values():
        names = kind.reshapes
        if not names:
            continue
        existing = _by_scope(kind, actual.objects.get(kind.name, {}).values())
        below = {name: _by_scope(kinds[name], actual.objects.get(name, {}).values()) for name in names}
        declared, going, inner = _by_container(kind, names, drafts, removals)
        for container in sorted({*declared, *going}):
            scope = found.ids.get(container)
            if scope is None or (kind.name, scope) not in actual.complete:
                continue
            present = existing.get(scope, [])
            moved = [one for name in names for one in below[name].get(scope, [])]
            leaving = {removal.id: removal.address for removal in going.get(container, [])}
            if not present and moved and container in declared:
                changing.append(_first(kind, names, container, declared[container], inner.get(container, [])))
            elif present and container not in declared and all(one.id in leaving for one in present):
                changing.append(_last(kind, names, container, present, leaving, inner.get(container, [])))
    return tuple(changing)


def _by_scope(kind: Kind, objects: Iterable[Observed]) -> dict[str, list[Observed]]:
    """The objects by the id of their fixed container."""
    scopes: dict[str, list[Observed]] = defaultdict(list)
    for one in objects:
        scopes[one.within.get(kind.within or "", "")].append(one)
    return scopes


def _by_container(
    kind: Kind, names: frozenset[str], drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]
) -> tuple[dict[Address, list[Draft]], dict[Address, list[Removal]], dict[Address, list[Draft]]]:
    """By container: the declared resources of the kind, those that are deleted, and the declared ones of the kinds it rearranges."""
    declared: dict[Address, list[Draft]] = defaultdict(list)
    inner: dict[Address, list[Draft]] = defaultdict(list)
    going: dict[Address, list[Removal]] = defaultdict(list)
    for draft in drafts.values():
        if draft.address.container is not None and (draft.kind is kind or draft.kind.name in names):
            (declared if draft.kind is kind else inner)[draft.address.container].append(draft)
    for removal in removals.values():
        if removal.kind is kind and removal.delete and removal.active and removal.address.container is not None:
            going[removal.address.container].append(removal)
    return declared, going, inner


def _first(kind: Kind, names: frozenset[str], container: Address, declared: Sequence[Draft], inner: Sequence[Draft]) -> Reshape:
    """The first that is declared is created first; what is declared in it and is at the top already comes into it by itself."""
    keeper = declared[0].address
    mine = [draft for draft in inner if draft.declared.parent == keeper]
    brought = kind.api["create"].brings
    first = {draft.kind.name: draft.address for draft in reversed(mine) if draft.kind.name in brought}
    settled = {draft.address for draft in mine if _existing(draft) is not None and draft.address not in first.values()}
    return Reshape(kind, names, container, keeper, None, settled=frozenset(settled))


def _last(
    kind: Kind,
    names: frozenset[str],
    container: Address,
    present: Sequence[Observed],
    leaving: Mapping[str, Address],
    inner: Sequence[Draft],
) -> Reshape:
    """The one that holds most of what is declared at the top is deleted last, so that the least is deleted and created again."""
    kept: dict[str, list[Address]] = defaultdict(list)
    for draft in inner:
        stands = where(_existing(draft), draft.kind)
        if isinstance(stands, str) and draft.declared.parent == container:
            kept[stands].append(draft.address)
    keeper = min(present, key=lambda one: (-len(kept.get(one.id, [])), one.rank or 0, one.id))
    settled = frozenset(kept.get(keeper.id, []))
    top = any(draft.declared.parent == container for draft in inner)
    return Reshape(kind, names, container, leaving[keeper.id], keeper.id, tuple(leaving.values()), top, settled)


def _existing(draft: Draft) -> Observed | None:
    """The object that has the address now, whatever becomes of it."""
    return draft.observed if draft.observed is not None else draft.old


def where(one: Observed | None, kind: Kind) -> Any:
    """The id of the node in which an object is; None at the top of its container."""
    return one.values.get(kind.inside.name) if one is not None and kind.inside is not None else None


def settle(changing: Sequence[Reshape], found: Matches) -> dict[Address, str]:
    """What the service moves by itself, with the reason why it waits; none of it is replaced."""
    settled = {address: reshape.reason for reshape in changing for address in reshape.settled}
    for address in settled:
        if address in found.replaced:
            found.ids[address] = found.replaced.pop(address)
    return settled


def defer(
    changing: Sequence[Reshape],
    kinds: Kinds,
    actual: Actual,
    found: Matches,
    drafts: dict[Address, Draft],
    removals: dict[Address, Removal],
) -> None:
    """Put off to a second run what the service rearranges in this one, and count what is deleted meanwhile."""
    by_container: dict[Address, list[Draft | Removal]] = defaultdict(list)
    everyone: list[Draft | Removal] = [*drafts.values(), *removals.values()]
    for touched in everyone:
        if touched.address.container is not None:
            by_container[touched.address.container].append(touched)
    for reshape in changing:
        inner = by_container[reshape.container]
        if reshape.keeper_id is None:
            _defer_first(reshape, inner, drafts)
        else:
            _defer_last(reshape, reshape.keeper_id, inner, drafts, removals)
    _block_top(changing, kinds, actual, found, by_container)
    for draft in drafts.values():
        waits = [one.field.name for one in draft.sendable if _chosen_later(draft, one.field, drafts)]
        if waits and draft.active:
            draft.deferred = f"{' and '.join(waits)} waits for what the service rearranges"


def _chosen_later(draft: Draft, field: Field, drafts: Mapping[Address, Draft]) -> bool:
    """Whether the field chooses one of the objects that wait."""
    chosen = draft.declared.values.get(field.name)
    return field.role is Role.CHOICE and isinstance(chosen, Address) and chosen in drafts and drafts[chosen].deferred is not None


def _defer_first(reshape: Reshape, inner: Sequence[Draft | Removal], drafts: Mapping[Address, Draft]) -> None:
    keeper = drafts[reshape.keeper]
    for touched in inner:
        if touched.kind is reshape.kind and isinstance(touched, Draft) and touched is not keeper:
            touched.behind = (keeper.address,)
        if touched.kind.name not in reshape.names:
            continue
        if where(touched.old if isinstance(touched, Draft) and touched.old else touched.observed, touched.kind) is None:
            touched.settles = keeper.address
        if isinstance(touched, Draft) and touched.deferred == reshape.reason and keeper.blocked is not None:
            touched.deferred, touched.blocked = None, waiting(touched.address, keeper.blocked, touched.declared.source)


def _defer_last(
    reshape: Reshape, keeper_id: str, inner: Sequence[Draft | Removal], drafts: Mapping[Address, Draft], removals: dict[Address, Removal]
) -> None:
    stopped = next((removals[address].blocked for address in reshape.leaving if removals[address].blocked is not None), None)
    others = {removals[address].id: address for address in reshape.leaving if address != reshape.keeper}
    if stopped is None:
        removals[reshape.keeper].behind = tuple(others.values())
    for touched in inner:
        if touched.kind.name not in reshape.names:
            continue
        if isinstance(touched, Removal):
            stays = where(touched.observed, touched.kind) not in others
            if stopped is None and reshape.top and touched.replaces is None and touched.active and stays:
                touched.deferred = reshape.reason
            continue
        if touched.blocked is not None or not (touched.born or touched.sendable):
            continue
        if stopped is not None:
            touched.deferred, touched.blocked = None, waiting(touched.address, stopped, touched.declared.source)
            continue
        touched.deferred = reshape.reason
        section = others.get(where(touched.old, touched.kind))
        if touched.old is not None and section is not None:
            removals.pop(reshape.container.child(touched.kind.name, bare(touched.old.id)), None)
            reason = f"goes along with {section}; a second run creates it again"
            removals[touched.address] = Removal(
                touched.address, touched.kind, touched.old.id, True, reason, touched.old, touched.binding, covered_by=section
            )  # fmt: skip


def _block_top(
    changing: Sequence[Reshape],
    kinds: Kinds,
    actual: Actual,
    found: Matches,
    by_container: Mapping[Address, Sequence[Draft | Removal]],
) -> None:
    """Nothing can be created at the top of a container in which there are objects that would take it in."""
    moving = {(reshape.kind.name, reshape.container) for reshape in changing}
    for kind in kinds.values():
        names = kind.reshapes
        if not names:
            continue
        existing = _by_scope(kind, actual.objects.get(kind.name, {}).values())
        unread = {failed.scope: failed.reason for failed in actual.unknown if failed.kind == kind.name and failed.id is None}
        for container, inner in by_container.items():
            scope = found.ids.get(container, "")
            present = existing.get(scope, [])
            if not (present or scope in unread) or (kind.name, container) in moving:
                continue
            for draft in inner:
                if not isinstance(draft, Draft) or draft.kind.name not in names or draft.declared.parent != container:
                    continue
                if draft.active and draft.born and scope in unread:
                    reason = f"would be created outside any {kind.name}, but the {kind.name}s of {container} are not known: {unread[scope]}"
                    draft.blocked = Blocked(draft.address, reason, "run again when the service answers", draft.declared.source)
                elif draft.active and draft.born:
                    listed = ", ".join(repr(title(one)) for one in present[:5]) + (f" and {len(present) - 5} more" if present[5:] else "")
                    reason = f"would be created outside any {kind.name}, but {container} still has the {kind.name}s {listed}"
                    way = f"delete these {kind.name}s first, or declare it in one of them"
                    draft.blocked = Blocked(draft.address, reason, way, draft.declared.source)
