"""The requests of a run, not yet in order: what each one sends. Pure.

In: drafts, rows of siblings, removals. Out: steps, numbered as they were added; `rules` says what each of them waits for, and gives
them the numbers of the order in which they could be sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Before, Position, Step
from reconciler.plan.containment import reached
from reconciler.plan.decisions import Draft, Removal, Transfer
from reconciler.plan.derived import Derivation
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.siblings.moves import SiblingMove
from reconciler.plan.siblings.rows import SiblingRow
from reconciler.plan.steps.graph import Waits
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds, Verb, placeholders


class Requests:
    """All requests of one plan, and where to find them. The id of a step is its position in `steps`, and in `entries` that of its draft."""

    def __init__(
        self,
        kinds: Kinds,
        drafts: Mapping[Address, Draft],
        rows: Sequence[SiblingRow],
        removals: Mapping[Address, Removal],
        ids: Mapping[Address, str],
        positions: Mapping[Address, Position],
        derived: Mapping[Address, Derivation],
    ) -> None:
        self.kinds, self.drafts, self.rows, self.removals, self.ids, self.positions = kinds, drafts, rows, removals, ids, positions
        # What created objects get by themselves.
        self.derived = derived
        self.steps: list[Step] = []
        self.entries: list[Draft | Removal] = []
        # The edges of the rules so far.
        self.waits = Waits()
        # All steps of an object.
        self.of: dict[Address, list[int]] = defaultdict(list)
        # The create, restore or transfer before which nothing else can be sent for it; that of its parent, where that creates it too.
        self.providers: dict[Address, int] = {}
        # The transfer of the object itself.
        self.transfers: dict[Address, int] = {}
        # The join or leave that changes its container.
        self.memberships: dict[Address, int] = {}
        # Its move to another container or position.
        self.moves: dict[Address, int] = {}
        self.deletes: dict[Address, int] = {}
        # By join: the leave of the same object, which comes before it.
        self.leave_before: dict[int, int] = {}
        # By the step that writes a unique value and the name of its field: the step that writes a temporary value before it.
        self.temporary: dict[tuple[int, str], int] = {}
        # By a resource that is created and a kind: the first child of that kind, which its create creates.
        self.first_children = {
            (draft.created_with, draft.kind.name): address for address, draft in reversed([*drafts.items()]) if draft.created_with
        }

    def __iter__(self) -> Iterator[tuple[Step, Draft | Removal]]:
        """Every step with the draft or removal that it carries out."""
        return zip(self.steps, self.entries, strict=True)

    # -- adding ------------------------------------------------------------------------------------------------------------------

    def add(
        self,
        entry: Draft | Removal,
        verb: Verb,
        path: tuple[str | Address, ...],
        body: Any = None,
        writes: Mapping[str, Any] = {},
        **others: Any,
    ) -> int:
        """Add a request. `others`: further fields of its step."""
        step = Step(len(self.steps), entry.address, entry.kind.name, verb.name, verb.method, path, body, writes, **others)
        return self._append(entry, step)

    def add_like(self, id: int, writes: Mapping[str, Any]) -> int:
        """Add the same request with other values, to be sent before it."""
        step, entry = self.steps[id], self.entries[id]
        return self._append(entry, replace(step, id=len(self.steps), body=body_of(entry.kind, writes), writes=writes))

    def _append(self, entry: Draft | Removal, step: Step) -> int:
        names = step.writes if isinstance(entry, Draft) else ("",)
        relies = (other.remains for other in entry.prerequisites if other.remains is not None and other.field in names)
        self.steps.append(replace(step, before=self._before(step, entry), relies=tuple(relies)))
        self.entries.append(entry)
        self.of[entry.address].append(step.id)
        return step.id

    def add_creates(self) -> None:
        """The creates and restores, so that every later step can name the one it needs."""
        for draft in self.drafts.values():
            if not draft.active:
                continue
            if draft.is_restored:
                verb = draft.kind.api["restore"]
                self.providers[draft.address] = self.add(draft, verb, self._path(verb, draft), target=draft.id)
            elif draft.is_transferred:
                self.transfers[draft.address] = self._transfer(draft)
            elif draft.is_new and draft.created_with is None:
                self.providers[draft.address] = self._create(draft)
        # Second, because what brings them may be declared after them.
        for draft in self.drafts.values():
            if draft.active and draft.created_with is not None:
                self.providers[draft.address] = self.providers[draft.created_with]
            if draft.active and draft.last_transfer in self.transfers:
                self.providers[draft.address] = self.transfers[draft.last_transfer]

    def _transfer(self, draft: Draft) -> int:
        verb, owner = draft.kind.api["transfer"], draft.kind.transferable
        assert owner is not None
        container = self.kinds.container(draft.address, str(owner.to))
        writes = {owner.name: self.ids.get(container, container)}
        renames = draft.batch.moves if draft.batch is not None and draft.last_transfer == draft.address else {}
        return self.add(draft, verb, self._path(verb, draft), body_of(draft.kind, writes), writes, target=draft.id, renames=renames)

    def _create(self, draft: Draft) -> int:
        kind, verb = draft.kind, draft.kind.api["create"]
        writes: dict[str, Any] = {}
        for field in kind.sent_by("create"):
            value = draft.wants.get(field.name, UNSET)
            # None in a field that names what contains the object is the top, which a create says by not naming it.
            if value is not UNSET and not (field.container and value is None) and field.role is not FieldRole.SEED:
                writes[field.name] = value
        children = ((name, at, self.first_children.get((draft.address, name))) for name, at in verb.brings.items())
        body = {**body_of(kind, writes), **self._container(draft, verb)}
        return self.add(
            draft,
            verb,
            self._path(verb, draft),
            body or None,
            writes,
            create_like=not verb.upsert,
            identity={key.name: draft.wants.get(key.name) for key in kind.keys},
            source=draft.wants.get(verb.copies) if verb.copies is not None else None,
            brings=tuple((name, at, child) for name, at, child in children if child is not None),
        )

    def add_changes(self) -> None:
        """The changes of fields of existing and newly created objects, in as few requests as possible."""
        for draft in self.drafts.values():
            if not (draft.differences and draft.active):
                continue
            open_fields = {difference.field.name for difference in draft.sendable}
            if draft.is_new and draft.created_with is None:
                open_fields -= {field.name for field in draft.kind.sent_by("create")}
            elif draft.created_with is not None:
                # The parent's create has set what identifies the child that it brings.
                open_fields -= {field.name for field in draft.kind.fields.values() if field.key or field.container}
            # The first request that can carry a field carries it, so that as few as possible are sent.
            for verb in draft.kind.update_verbs:
                carried = [field for field in draft.kind.sent_by(verb.name) if field.name in open_fields]
                if not carried:
                    continue
                open_fields -= {field.name for field in carried}
                if verb.whole:
                    carried = [field for field in draft.kind.sent_by(verb.name) if draft.wants.get(field.name, UNSET) is not UNSET]
                for fields in _separately(draft, verb, carried):
                    writes = {field.name: draft.wants[field.name] for field in fields}
                    sent = {name: _completed(draft, name, value) for name, value in writes.items() if not draft.kind.fields[name].one_way}
                    body = body_of(draft.kind, sent)
                    body = {**_unmanaged_values(draft, verb), **body, **self._container(draft, verb)}
                    self.add(draft, verb, self._path(verb, draft), body or None, writes, target=self._self(draft))
            self._membership(draft)

    def _container(self, draft: Draft, verb: Verb) -> dict[str, Any]:
        """The ids of fixed containers that a request names in its body."""
        named = {}
        for outer in draft.kind.sent_by(verb.name):
            if outer.role is FieldRole.WITHIN:
                container = self.kinds.container(draft.address, str(outer.to))
                named[outer.wire] = bare(self.ids[container]) if container in self.ids else container
        return named

    def _membership(self, draft: Draft) -> None:
        for difference in draft.sendable:
            if difference.field.role is not FieldRole.MEMBER:
                continue
            name, to, join, leave = difference.field.name, difference.field.to, difference.field.join, difference.field.leave
            assert to is not None
            assert join is not None
            assert leave is not None
            left = None
            if difference.before is not UNSET and difference.before is not None:
                path = self._path(leave, draft, {to: difference.before})
                left = self.memberships[draft.address] = self.add(draft, leave, path, None, {name: None}, target=self._self(draft))
            if difference.after is not None:
                path, body = self._path(join, draft, {to: difference.after}), {difference.field.wire: self._named(draft)}
                joined = self.add(draft, join, path, body, {name: difference.after}, target=self._self(draft))
                self.memberships[draft.address] = joined
                if left is not None:
                    self.leave_before[joined] = left

    def add_moves(self) -> None:
        """Moves among siblings and to other containers, one request each."""
        for row in self.rows:
            for move in row.moving():
                self.moves[move.item] = self._move(self.drafts[move.item], move)

    def appended_by(self, address: Address) -> int | None:
        """The step that brings an object to the end of its row."""
        return self.memberships.get(address, self.transfers.get(address, self.providers.get(address)))

    def writers(self, address: Address, name: str) -> list[int]:
        """The steps that write a field of an object."""
        return [id for id in self.of.get(address, ()) if name in self.steps[id].writes]

    def _move(self, draft: Draft, move: SiblingMove[Address]) -> int:
        verb, inside = draft.kind.api["move"], draft.kind.inside
        writes: dict[str, Any] = {}
        if inside is not None and "move" in inside.on:
            carried = any(difference.field is inside for difference in draft.sendable)
            if carried or (draft.is_new and "create" not in inside.on):
                writes[inside.name] = draft.wants.get(inside.name)
        body = body_of(draft.kind, writes)
        anchor, side = (move.before, "before") if move.before is not None else (move.after, "after")
        if anchor is not None:
            name = self.ids.get(anchor, anchor) if anchor not in self.providers or not self.drafts[anchor].is_new else anchor
            named = verb.anchors[self.kinds.of(anchor).name]
            body["position"] = {side: {key: name if value == "{id}" else value for key, value in named.items()}}
        elif inside is not None and draft.kind.moves_to_end:
            body[inside.wire] = draft.wants.get(inside.name)
        if not body:
            raise AssertionError(f"a move of {draft.address} that says nothing")
        return self.add(draft, verb, self._path(verb, draft), body, writes, target=self._self(draft))

    def add_deletes(self) -> None:
        """The deletes, one request for everything that is deleted with an object."""
        below: dict[Address, list[Address]] = defaultdict(list)
        for removal in self.removals.values():
            if removal.deleted_with is not None and removal.active:
                below[removal.deleted_with].append(removal.address)
        for removal in self.removals.values():
            if not removal.deletes or removal.deleted_with is not None:
                continue
            verb = removal.kind.api["delete"]
            holes: dict[str, Any] = {"id": bare(removal.id), **(removal.observed.within if removal.observed else {})}
            if removal.observed is not None:
                holes |= {field.name: removal.observed.values.get(field.name) for field in removal.kind.keys}
            path = tuple(str(holes[part[1:-1]]) if part.startswith("{") else part for part in verb.path.strip("/").split("/"))
            takes = tuple(sorted(reached([removal.address], lambda at: below.get(at, ())) - {removal.address}))
            self.deletes[removal.address] = self.add(removal, verb, path, target=removal.id, takes=takes)

    # -- for undo ----------------------------------------------------------------------------------------------------------------

    def _before(self, step: Step, entry: Draft | Removal) -> Before:
        """What undoing the request needs: the values and the position that it changes, as they are now."""
        is_update = step.verb in (verb.name for verb in entry.kind.update_verbs)
        position = None if is_update else self.positions.get(entry.address)
        if isinstance(entry, Removal):
            return Before(_values_deleted(entry), position)
        if entry.is_new:
            return Before(replaces=entry.old.id if entry.old is not None and step.verb == "create" else None)
        if step.verb == "restore":
            return Before()
        if isinstance(entry.purpose, Transfer) and step.verb == "transfer":
            owner, inside = entry.kind.transferable, entry.kind.inside
            left: dict[str, Any] = {owner.name: entry.purpose.source_id} if owner is not None else {}
            if inside is not None and entry.purpose.left is not None:
                left[inside.name] = entry.purpose.left
            return Before(left, self.positions.get(entry.address), renames=step.renames)
        written = [difference for difference in entry.sendable if difference.field.name in step.writes]
        values = {other.field.name: _as_sent(entry, other) for other in written if not other.field.hides(other.before)}
        # Fields of a tracked object that were not managed yet: an undo leaves them unmanaged again.
        known = {*entry.binding.sent, *entry.binding.seen} if entry.binding is not None else values.keys()
        return Before(values, position, unmanaged=tuple(name for name in values if name not in known))

    # -- paths and numbers -------------------------------------------------------------------------------------------------------

    def _self(self, draft: Draft) -> str | Address:
        return draft.id if draft.id is not None else draft.address

    def _named(self, draft: Draft) -> str | Address:
        """What a request calls it."""
        return bare(draft.id) if draft.id is not None else draft.address

    def _path(self, verb: Verb, draft: Draft, extra: Mapping[str, Any] | None = None) -> tuple[str | Address, ...]:
        holes: dict[str, Any] = dict(extra or {})
        for name in placeholders(verb.path):
            if name in holes:
                continue
            if name == "id":
                holes[name] = self._named(draft)
            elif name in draft.kind.fields and draft.kind.fields[name].role is not FieldRole.WITHIN:
                # By the value as the service shows it, which may differ from the declared one in case.
                shown = draft.observed.values.get(name) if draft.observed is not None and draft.kind.fields[name].caseless else None
                holes[name] = shown if isinstance(shown, str) else draft.wants.get(name)
            else:
                container = self.kinds.container(draft.address, name)
                holes[name] = self.ids.get(container, container)
        return tuple(holes[part[1:-1]] if part.startswith("{") else part for part in verb.path.strip("/").split("/"))


def body_of(kind: Kind, writes: Mapping[str, Any]) -> dict[str, Any]:
    return {kind.fields[name].wire: value for name, value in writes.items()}


def _separately(draft: Draft, verb: Verb, fields: Sequence[Field]) -> list[Sequence[Field]]:
    """The fields of a request, in two requests where some have prerequisites: what they wait for must not hold up the others."""
    waiting = {prerequisite.field for prerequisite in draft.prerequisites if prerequisite.address is not None}
    if verb.whole or not waiting:
        return [fields]
    now = [field for field in fields if field.name not in waiting]
    later = [field for field in fields if field.name in waiting]
    return [part for part in (now, later) if part]


def _completed(draft: Draft, name: str, wanted: Any) -> Any:
    """A value as a request sends it: with the parts of the current one that nobody manages."""
    field, last = draft.kind.fields[name], draft.binding.sent.get(name, UNSET) if draft.binding is not None else UNSET
    if draft.observed is None:
        return wanted
    whole = field.whole(draft.observed.raw)
    return field.completed(wanted, draft.observed.values.get(name, UNSET) if whole is UNSET else whole, last)


def _unmanaged_values(draft: Draft, verb: Verb) -> dict[str, Any]:
    """The current values of unmanaged fields, which a request that replaces the whole object must repeat."""
    if not verb.whole or draft.observed is None:
        return {}
    carried = (field for field in draft.kind.sent_by(verb.name) if field.role is FieldRole.VALUE and not field.hosted)
    seen = {field.name: draft.observed.values.get(field.name, UNSET) for field in carried}
    return body_of(draft.kind, {name: value for name, value in seen.items() if value is not UNSET and value is not None})


def _as_sent(draft: Draft, difference: FieldDifference) -> Any:
    """The value before, in the form in which it would be sent again: the last sent value, where the object still shows it."""
    binding = draft.binding
    if binding is not None and difference.before is not UNSET and binding.seen.get(difference.field.name, UNSET) == difference.before:
        sent = binding.sent.get(difference.field.name, difference.before)
        return difference.before if difference.field.hides(sent) else sent
    return difference.before


def _values_deleted(removal: Removal) -> dict[str, Any]:
    """The managed values of an object to delete, and its containers; empty where the object was not read."""
    if removal.observed is None:
        return {}
    sent = removal.binding.sent if removal.binding is not None else {}
    return {
        name: value
        for name, value in removal.observed.values.items()
        if value is not UNSET and not removal.kind.fields[name].hides(value) and (name in sent or removal.kind.fields[name].container)
    }
