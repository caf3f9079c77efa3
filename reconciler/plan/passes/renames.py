"""Renames that the YAML does not state, or states again. Pure.

`probable_renames`: an address that is no longer declared is beside a new one that looks like it, or that declares what is in its object.
Without `previously`, the former object would be deleted and a new one created: its content and its published URL would be lost. So both
wait until the YAML says which is meant. Objects that only share their location get a remark. A resource that was moved to another root,
whose object could be transferred there, waits for its line in `moved`; so does, under `--rules-from`, what is declared again by its id.

    no longer declared              new                                what both contain
    section more "More"             section further "More"             -                              it looks alike: the same title
    section more "More"             section further "Further reading"  site-space more-five           it is declared in the new one now
    site docs "Docs"                site handbook "Handbook"           docs/section/start             the same kind and key are in both
    group a, with section b in it   group c, with section d in it      b is probably d                found from the inside out

`repeated_renames`: a rename that had its effect already and now means something else. A line of the YAML renames once. Where it is left in
place and the titles are exchanged again, ignoring it would give the content of one object the title of another.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Blocked, Desired, Observed, waiting
from reconciler.model.codec import comparable, substitute, title
from reconciler.plan.containment import parent
from reconciler.plan.decisions import Draft, Purpose, Removal
from reconciler.plan.matching.match import moved_line
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET, Field, FieldRole, Kind
from reconciler.text.names import canonical

NAMES = ("title", "name", "label")
"""Fields by which people know an object."""

COMPARED: Final = 50  # keys that are searched for the one most like a former key


def probable_renames(world: World, decisions: Decisions) -> Decisions:
    """Block every probable rename on both sides, with a note for each pair that only shares its location."""
    desired = world.desired
    vanished = {removal.address: removal for removal in decisions.removals.values() if _vanished(desired, removal)}
    fresh = {draft.address: draft for draft in decisions.drafts.values() if draft.is_new and draft.old is None and draft.binding is None}
    blocked: list[Draft | Removal] = []
    same: dict[Address, str] = {}
    alike: list[tuple[Removal, Draft]] = []
    every_vanished, every_fresh = dict(vanished), dict(fresh)
    while pairs := _pairs(vanished, fresh, same):
        for removal, draft in pairs:
            old, new = vanished.pop(removal), fresh.pop(draft)
            same[new.address] = old.id
            alike.append((old, new))
            name = title(old.observed) if old.observed is not None else old.id
            blocked += _blocked(
                desired, old, new, f"{new.address} looks like it ({name!r})", f"looks like {old.address}, which is no longer declared"
            )
    claims = _claims(decisions, every_vanished, every_fresh, alike) if every_vanished and every_fresh else {}
    blocked += _claimed(desired, [(old, new) for old, new in claims if old in vanished and new in fresh], vanished, fresh)
    blocked += _waiting_contents(decisions, claims, [entry for entry in blocked if isinstance(entry, Draft)])
    blocked += _under_another_key(decisions, vanished)
    blocked += _elsewhere(decisions, vanished, fresh)
    blocked += _taken_over(decisions, vanished)
    blocked += _out_of_its_rules(decisions) if desired.own_rules is not None else []
    for address, meant in _mistyped(desired, vanished, fresh).items():
        old, new = vanished.pop(meant), fresh.pop(address)
        former = "names a former key that is not tracked"
        blocked += _blocked(desired, old, new, f"{new.address} {former}", f"{former}, and {old.address} is no longer declared")
    notes = (*decisions.notes, *_remarks(vanished.values(), fresh.values()))
    return replace(decisions.changed(blocked), notes=notes)


def _claims(
    decisions: Decisions, vanished: Mapping[Address, Removal], fresh: Mapping[Address, Draft], alike: Iterable[tuple[Removal, Draft]]
) -> dict[tuple[Address, Address], None]:
    """Each object that is no longer declared with each new resource of its kind, in the same container, that declares something in it.

    `alike`: pairs that look like renames; what these are in follows from the inside out.
    """
    ids = {(removal.kind.name, removal.id): address for address, removal in vanished.items()}
    beside: dict[tuple[str, Address | None], list[Address]] = defaultdict(list)
    for address, draft in fresh.items():
        beside[draft.kind.name, address.container].append(address)
    claims: dict[tuple[Address, Address], None] = {}

    def claim(kind: Kind, observed: Observed | None, new: Draft) -> None:
        outer, node = new.declared.parent, parent(kind, observed) if observed is not None else None
        old = ids.get(node) if node is not None else None
        if old is None or outer not in fresh or (old, outer) in claims:
            return
        if outer in beside[vanished[old].kind.name, old.container]:
            claims[old, outer] = None
            claim(vanished[old].kind, vanished[old].observed, fresh[outer])

    for draft in decisions.drafts.values():
        claim(draft.kind, draft.observed or draft.old, draft)
    for old, new in alike:
        claim(old.kind, old.observed, new)
    holders: dict[Hashable, dict[Address, None]] = defaultdict(dict)
    for address, draft in decisions.drafts.items():
        if address.container is not None and address.container in fresh:
            for sign in _content_signs(draft.kind, address, draft.wants):
                holders[sign][address.container] = None
    for address, removal in decisions.removals.items() if holders else ():
        container = address.container
        if container is not None and container in vanished:
            values = {**removal.observed.raw, **removal.observed.values} if removal.observed is not None else {}
            shared = {holder for sign in _content_signs(removal.kind, address, values) for holder in holders.get(sign, ())}
            for holder in beside[vanished[container].kind.name, container.container]:
                if holder in shared:
                    claims[container, holder] = None
    return claims


def _content_signs(kind: Kind, address: Address, values: Mapping[str, Any]) -> Iterator[Hashable]:
    """What it has in common with the same content of another container: its key, what people call it, and its natural key without its
    location. A singleton has none: every container of its kind may have one."""
    if not address.is_singleton:
        yield kind.name, address.key
        for sign in _shown(values, [field for field in kind.keys if not field.container]):
            yield kind.name, *sign


def _claimed(
    desired: Desired, claims: Collection[tuple[Address, Address]], vanished: dict[Address, Removal], fresh: dict[Address, Draft]
) -> Iterator[Draft | Removal]:
    """Block what is no longer declared, and the new resources that declare what is in it; where several do, each is named."""
    new_ones, old_ones = defaultdict[Address, list[Draft]](list), defaultdict[Address, list[Removal]](list)
    for old, new in claims:
        new_ones[old].append(fresh[new])
        old_ones[new].append(vanished[old])
    for address, drafts in new_ones.items():
        removal = vanished.pop(address)
        names = " and ".join(str(draft.address) for draft in drafts)
        reason = f"is no longer declared, and what it contains is declared in {names}: probably a rename"
        way = _way(desired, [(removal, draft) for draft in drafts])
        first = drafts[0].declared
        yield replace(removal, blocked=Blocked(address, reason, way, first.source, first.address, id="RC-probable-rename"))
    for address, removals in old_ones.items():
        draft = fresh.pop(address)
        names = " and ".join(str(removal.address) for removal in removals)
        reason = f"would be created with what is in {names}, which {'is' if len(removals) == 1 else 'are'} no longer declared"
        yield draft.block(
            f"{reason}: probably a rename", _way(desired, [(removal, draft) for removal in removals]), id="RC-probable-rename"
        )


def _waiting_contents(decisions: Decisions, claims: Collection[tuple[Address, Address]], blocked: Iterable[Draft]) -> Iterator[Draft]:
    """What could only be replaced, because its container cannot change, waits for the container: a rename changes nothing of it."""
    claimed = {new for _, new in claims}
    containers = {draft.address: draft.blocked for draft in blocked if draft.address in claimed}
    for draft in decisions.drafts.values() if containers else ():
        outer = containers.get(draft.declared.parent) if draft.declared.parent is not None else None
        if outer is not None and draft.blocked is not None and draft.blocked.id == "RC-replacement-needs-consent":
            yield replace(draft, blocked=waiting(draft.address, outer, draft.declared.source))


def _under_another_key(decisions: Decisions, vanished: dict[Address, Removal]) -> Iterator[Draft | Removal]:
    """Block the delete of what is declared under its present key: the service changed the value that was its key, as an e-mail.

    Only of a kind that no request creates: of others, the new key is a create that looks like the former one.
    """
    deleted = {address: removal for address, removal in vanished.items() if removal.deletes and "create" not in removal.kind.api}
    missing = (draft for draft in decisions.drafts.values() if draft.id is None and draft.binding is None) if deleted else ()
    for old, new in _pairs(deleted, {draft.address: draft for draft in missing}, {}):
        removal, draft = vanished.pop(old), decisions.drafts[new]
        reason = f"is no longer declared, and is declared as {new} now: its key changed on the service"
        way = f"write previously: [{old.key}] on {new}"
        yield replace(removal, blocked=Blocked(old, reason, way, draft.declared.source, id="RC-probable-rename"))
        yield draft.block(f"is tracked as {old}, which is no longer declared: its key changed on the service", way, id="RC-probable-rename")


def _elsewhere(decisions: Decisions, vanished: dict[Address, Removal], fresh: dict[Address, Draft]) -> Iterator[Draft | Removal]:
    """Block what is no longer declared in one root and looks like something in another one: it would be a transfer."""
    transferable = {address: removal for address, removal in vanished.items() if removal.kind.transferable is not None}
    created = {address: draft for address, draft in fresh.items() if draft.kind.transferable is not None}
    declared = decisions.drafts.values() if transferable else ()
    ids = {(draft.kind.name, draft.declared.id): draft for draft in declared if draft.declared.id is not None}
    pairs = [(at, draft.address) for at, old in transferable.items() if (draft := ids.get((old.kind.name, old.id))) is not None]
    transferable = {at: old for at, old in transferable.items() if at not in dict(pairs)}
    pairs += _pairs(transferable, created, {}, _signs_anywhere) if transferable and created else []
    ways = {new: (vanished[old], decisions.drafts[new]) for old, new in pairs}
    for old, draft in ways.values():
        vanished.pop(old.address)
        fresh.pop(draft.address, None)
        yield from _transfer_blocked(*_outermost(ways, old, draft), old, draft)


def _taken_over(decisions: Decisions, vanished: dict[Address, Removal]) -> Iterator[Draft | Removal]:
    """Block what is deleted out of something that a line transfers, where the object that has its key there would get its name."""
    former = decisions.matches.former
    tracked = former.state.bindings if vanished and former.state.renamed else {}
    transferred_to = {binding.id: address.root for address, binding in tracked.items() if former.origin(address) is not None}
    if transferred_to:
        for old in [*vanished.values()]:
            root = transferred_to.get(_was(old, old.kind.inside.name)) if old.kind.inside is not None else None
            draft = decisions.drafts.get(old.address.renamed(old.address.root, root)) if root is not None else None
            if draft is None or draft.observed is None or not any(_would_take(draft, old, name) for name in NAMES):
                continue
            vanished.pop(old.address)
            line = f"moved: [{{from: {old.address:yaml}, to: {Address((*draft.address.parts[:-1], 'NEW-KEY'))}}}]"
            way = f"to transfer it, declare it with a key that is free, and {line}; to delete it, add to {delete_line(old.address)}"
            gone = f"is no longer declared, and {draft.address}, which is another object, would get its name"
            new = f"would get the name of {old.address}, which is another object and no longer declared"
            source = draft.declared.source
            yield replace(old, blocked=Blocked(old.address, gone, way, source, id="RC-probable-transfer"))
            yield replace(draft, blocked=Blocked(draft.address, new, way, source, old.address, id="RC-probable-transfer"))


def _out_of_its_rules(decisions: Decisions) -> Iterator[Draft | Removal]:
    """Block what would be tracked under another address than before, where the rules of another commit judge: they name the former one."""
    present = {(draft.kind.name, draft.id): draft for draft in decisions.drafts.values() if not draft.declared.implied}
    forgotten = [removal for removal in decisions.removals.values() if removal.purpose is Purpose.FORGET and removal.binding is not None]
    moved = {old.address: (old, draft) for old in forgotten if (draft := present.get((old.kind.name, old.id))) is not None}
    for old, draft in moved.values():
        at, new = old.address, draft.address
        while at.container in moved and new.container is not None and moved[at.container][1].address == new.container:
            at, new = at.container, new.container
        line = f"previously: [{at.key}] on {new}" if at.container == new.container else moved_line(at, new)
        reason, way = f"was tracked as {old.address}, which rules of the other commit may name", f"write {line}"
        source, cause = draft.declared.source, new if new != draft.address else None
        yield replace(old, blocked=Blocked(old.address, f"is declared as {draft.address}", way, source, new, id="RC-probable-rename"))
        yield replace(draft, blocked=Blocked(draft.address, reason, way, source, cause, id="RC-probable-rename"))


def delete_line(address: Address) -> str:
    """What to write to delete something."""
    return f"removed: {{address: {address:yaml}, action: delete}}"


def _outermost(ways: Mapping[Address, tuple[Removal, Draft]], old: Removal, draft: Draft) -> tuple[Removal, Draft]:
    """What brings an object if it is transferred with what it is in; itself where nothing does."""
    while (outer := ways.get(draft.declared.parent) if draft.declared.parent is not None else None) is not None:
        inside = old.kind.inside
        if inside is None or _was(old, inside.name) != outer[0].id:
            break
        old, draft = outer
    return old, draft


def _transfer_blocked(top: Removal, top_draft: Draft, old: Removal, draft: Draft) -> tuple[Removal, Draft]:
    """Both, blocked. `top`, `top_draft`: of what they are in, where its line would be enough."""
    line = f"moved: [{{from: {top.address:yaml}, to: {top_draft.address:yaml}}}]"
    way = f"to transfer it with its content, write {line}; if they are two, add to {delete_line(old.address)}"
    cause = top_draft.address if top_draft is not draft else None
    gone = f"is no longer declared, and {draft.address} looks like it: its line went to {draft.address.root} without one in moved"
    new = f"would be created, and looks like {old.address}, which is no longer declared: its line came from {old.address.root} without one"
    source = draft.declared.source
    return (
        replace(old, blocked=Blocked(old.address, gone, way, source, cause, id="RC-probable-transfer")),
        replace(draft, blocked=Blocked(draft.address, f"{new} in moved", way, source, cause, id="RC-probable-transfer")),
    )


def _pairs(
    vanished: Mapping[Address, Removal],
    fresh: Mapping[Address, Draft],
    same: Mapping[Address, str],
    signs: Callable[[Kind, Address, Mapping[str, Any]], Iterator[Hashable]] | None = None,
) -> list[tuple[Address, Address]]:
    """Those that look alike, each once; `same`: those found so far, whose referrers then look alike too."""
    if not vanished:
        return []
    alike: dict[Hashable, deque[Address]] = defaultdict(deque)
    signs = signs or _signs
    for address, new in fresh.items():
        values = substitute(dict(new.wants), same)
        for sign in signs(new.kind, address, values):
            alike[sign].append(address)
    position = {address: index for index, address in enumerate(fresh)}
    taken: set[Address] = set()
    pairs: list[tuple[Address, Address]] = []
    for address, old in vanished.items():
        candidates: list[Address] = []
        observed = old.observed
        for sign in signs(old.kind, address, {**observed.raw, **observed.values} if observed is not None else {}):
            queue = alike.get(sign, deque())
            while queue and queue[0] in taken:
                queue.popleft()
            candidates += [queue[0]] if queue else []
        if candidates:
            first = min(candidates, key=lambda candidate: position[candidate])
            taken.add(first)
            pairs.append((address, first))
    return pairs


def _signs(kind: Kind, address: Address, values: Mapping[str, Any]) -> Iterator[Hashable]:
    """What it has in common with whatever people would call the same, or has the same natural key, beside it."""
    for sign in _shown(values, kind.keys):
        yield kind.name, address.container, *sign


def _shown(values: Mapping[str, Any], keys: Sequence[Field]) -> Iterator[tuple[str, str]]:
    """What people call it, and its natural key, where it has all of these fields."""
    for name in NAMES:
        if values.get(name, UNSET) not in (UNSET, None, ""):
            yield name, _folded(values[name])
    if keys and all(values.get(field.name, UNSET) is not UNSET for field in keys):
        yield "", repr([comparable(field, values.get(field.name, UNSET)) for field in keys])


def _folded(name: Any) -> str:
    """A name in the form in which names are compared."""
    return repr(canonical(name) if isinstance(name, str) else name)


def _signs_anywhere(kind: Kind, address: Address, values: Mapping[str, Any]) -> Iterator[Hashable]:
    """What it has in common with what is the same object in another root: its key, or whatever people would call the same."""
    yield kind.name, "", address.key
    for name in NAMES:
        if values.get(name, UNSET) not in (UNSET, None, ""):
            yield kind.name, name, _folded(values[name])


def _mistyped(desired: Desired, vanished: Mapping[Address, Removal], fresh: Mapping[Address, Draft]) -> dict[Address, Address]:
    """What would be created although it names a former key, with what would be deleted although it may be what is meant."""
    if not vanished:
        return {}
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


def _vanished(desired: Desired, removal: Removal) -> bool:
    """Whether its declaration was removed without a `removed` entry, while the object exists and its container is declared."""
    exists = removal.observed is not None and removal.observed.deleted_at is None
    return (
        exists and removal.binding is not None and removal.address not in desired.removed and removal.address.container in desired.resources
    )


def _was(old: Removal, name: str) -> Any:
    return old.observed.values.get(name, UNSET) if old.observed is not None else UNSET


def _blocked(desired: Desired, old: Removal, new: Draft, gone: str, come: str) -> tuple[Removal, Draft]:
    """Both, blocked. `gone`, `come`: why the one may have become the other. Resources of a `forEach` have no lines of their own to edit."""
    source, way = new.declared.source, _way(desired, [(old, new)])
    reason = f"is no longer declared, and {gone}: probably a rename"
    return (
        replace(old, blocked=Blocked(old.address, reason, way, source, new.address, id="RC-probable-rename")),
        new.block(f"would be created, and {come}: probably a rename", way, id="RC-probable-rename"),
    )


def _way(desired: Desired, pairs: Sequence[tuple[Removal, Draft]]) -> str:
    """What to write if one of these pairs is a rename, and what to write if none is."""
    lines = []
    for old, new in pairs:
        line = f"write previously: [{old.address.key}] on {new.address} ({new.declared.source.file_and_line})"
        if new.address in desired.generated:
            line = f"add to moved: {{from: {old.address:yaml}, to: {new.address:yaml}}}"
        lines.append(line)
    deletes = [
        f"add to {desired.list_of(at)}: {{address: {at:yaml}, action: delete}}" for at in dict.fromkeys(old.address for old, _ in pairs)
    ]
    return f"if so, {', or '.join(lines)}; if not, {', and '.join(deletes)}"


def _remarks(vanished: Iterable[Removal], fresh: Iterable[Draft]) -> Iterable[str]:
    """One deleted and one new object in the same location, of a kind that is identified by what it shows: perhaps a rename."""
    gone: dict[tuple[str, Any], list[Removal]] = {}
    come: dict[tuple[str, Any], list[Draft]] = {}
    for old in vanished:
        inside = old.kind.inside
        if old.deletes and inside is not None and inside.role is FieldRole.INSIDE and inside.cascade:
            gone.setdefault((old.kind.name, _was(old, inside.name)), []).append(old)
    for new in fresh:
        if new.kind.inside is not None and new.active:
            come.setdefault((new.kind.name, new.wants.get(new.kind.inside.name, UNSET)), []).append(new)
    for place, olds in gone.items():
        news = come.get(place, [])
        if len(olds) == len(news) == 1:
            line = f"previously: [{olds[0].address.key}]"
            yield f"{olds[0].address} is deleted and {news[0].address} created in its place; if it is a rename, write {line} on the new one"


# -- repeated renames --------------------------------------------------------------------------------------------------------------


def repeated_renames(world: World, decisions: Decisions) -> Decisions:
    """Block both resources of a rename that was carried out before, where one would get the title that the other has now.

    Not where an interrupted run exchanged the keys: the titles are still to be written.
    """
    former, drafts = decisions.matches.former, dict(decisions.drafts)
    carried_out = {*former.state.fulfilled} - {*former.followed.values()}
    for old, new in former.renames.items():
        if old not in carried_out or former.state.fulfilled[old] != new or old not in drafts or new not in drafts:
            continue
        taker, giver = drafts[new], drafts[old]
        if (taker.kind.name, taker.id) in former.before.readdressed:
            continue
        if taker.active and giver.active and any(_would_take(taker, giver, name) for name in NAMES):
            drafts |= {draft.address: _blocked_again(draft, old, new) for draft in (taker, giver)}
    return replace(decisions, drafts=drafts)


def _would_take(taker: Draft, giver: Draft | Removal, name: str) -> bool:
    """Whether a name is to be written that the other object has now."""
    if taker.observed is None or giver.observed is None:
        return False
    wanted = taker.wants.get(name, UNSET)
    return wanted is not UNSET and wanted == giver.observed.values.get(name, UNSET) != taker.observed.values.get(name, UNSET)


def _blocked_again(draft: Draft, old: Address, new: Address) -> Draft:
    again = (
        f"use reconciler state mv: {new} to a free address, {old} to {new}, and that address to {old}"
        if old.root == new.root
        else f"declare both with new keys, with lines in moved from {new} and {old} to these"
    )
    return draft.block(
        f"{new} was renamed from {old} by an earlier run, so its object would now only get the title of the object at {old}",
        f"if only the titles change, remove the former keys of both; to swap the objects again, {again}",
        id="RC-repeated-rename",
    )
