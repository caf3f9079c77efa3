"""The requests of a run, not yet in order: what each one sends. Pure.

In: drafts, rows of siblings, removals. Out: sketches of steps; `rules` says what each of them waits for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Before, Binding, Position
from reconciler.plan.decisions import Draft, Removal, Transfer
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.siblings.moves import SiblingMove
from reconciler.plan.siblings.rows import SiblingRow
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds, Verb, placeholders


@dataclass(frozen=True)
class StepSketch:
    """A step before it has its number; its fields are those of `Step`."""

    draft: Draft | Removal
    verb: Verb
    path: tuple[str | Address, ...]
    body: Any = None
    writes: Mapping[str, Any] = field(default_factory=dict)
    target: str | Address | None = None
    create_like: bool = False
    identity: Mapping[str, Any] = field(default_factory=dict)
    source: str | Address | None = None
    brings: tuple[tuple[str, str, Address], ...] = ()
    takes: tuple[Address, ...] = ()
    renames: Mapping[Address, Address] = field(default_factory=dict)


class Sketches:
    """All sketches of one plan, and where to find them. Numbers are places in `all`.

    By address:
    - `of`: all sketches of the object
    - `providers`: the create, restore or transfer before which nothing else can be sent for it; of its parent, where that creates it too
    - `transfers`: the transfer of the object itself
    - `memberships`: the join or leave that changes its container
    - `moves`: its move to another container or position
    - `deletes`: its delete

    `first_children`: by a resource that is created and a kind, the child that its create creates. `leave_before`: by join, the leave before
    it. `temporary`: by a step that writes a unique value and the name of the field, the step that writes a temporary value before it.
    """

    def __init__(
        self,
        kinds: Kinds,
        drafts: Mapping[Address, Draft],
        rows: Sequence[SiblingRow],
        removals: Mapping[Address, Removal],
        ids: Mapping[Address, str],
        positions: Mapping[Address, Position],
    ) -> None:
        self.kinds, self.drafts, self.rows, self.removals, self.ids, self.positions = kinds, drafts, rows, removals, ids, positions
        self.first_children = {
            (draft.created_with, draft.kind.name): address for address, draft in reversed([*drafts.items()]) if draft.created_with
        }
        self.all: list[StepSketch] = []
        self.providers: dict[Address, int] = {}
        self.of: dict[Address, list[int]] = defaultdict(list)
        self.memberships: dict[Address, int] = {}
        self.moves: dict[Address, int] = {}
        self.deletes: dict[Address, int] = {}
        self.transfers: dict[Address, int] = {}
        self.leave_before: dict[int, int] = {}
        self.temporary: dict[tuple[int, str], int] = {}

    # -- sketching ---------------------------------------------------------------------------------------------------------------

    def add(self, sketch: StepSketch) -> int:
        self.all.append(sketch)
        index = len(self.all) - 1
        self.of[sketch.draft.address].append(index)
        return index

    def add_creates(self) -> None:
        """The creates and restores, so that every later step can name the one it needs."""
        for draft in self.drafts.values():
            if not draft.active:
                continue
            if draft.is_restored:
                verb = draft.kind.api["restore"]
                self.providers[draft.address] = self.add(StepSketch(draft, verb, self._path(verb, draft), target=draft.id))
            elif draft.is_transferred:
                self.transfers[draft.address] = self._transfer(draft)
            elif draft.is_new and draft.created_with is None:
                self.providers[draft.address] = self._create(draft)
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
        return self.add(
            StepSketch(draft, verb, self._path(verb, draft), body_of(draft.kind, writes), writes, target=draft.id, renames=renames)
        )

    def _create(self, draft: Draft) -> int:
        kind, verb = draft.kind, draft.kind.api["create"]
        writes: dict[str, Any] = {}
        for declared_field in kind.sent_by("create"):
            value = draft.wants.get(declared_field.name, UNSET)
            if value is UNSET or (declared_field.container and value is None):
                continue
            if declared_field.role is not FieldRole.SEED:
                writes[declared_field.name] = value
        children = ((name, at, self.first_children.get((draft.address, name))) for name, at in verb.brings.items())
        body = {**body_of(kind, writes), **self._container(draft, verb)}
        return self.add(
            StepSketch(
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
        )

    def add_changes(self) -> None:
        """The changes of fields of existing and newly created objects, in as few requests as possible."""
        for draft in self.drafts.values():
            if not (draft.differences and draft.active):
                continue
            is_created = draft.is_new and draft.created_with is None
            open_fields = {difference.field.name for difference in draft.sendable}
            if is_created:
                open_fields -= {declared_field.name for declared_field in draft.kind.sent_by("create")}
            elif draft.created_with is not None:
                open_fields -= _fields_set_by_parent(draft)
            for verb in draft.kind.update_verbs:
                carried = [declared_field for declared_field in draft.kind.sent_by(verb.name) if declared_field.name in open_fields]
                if not carried:
                    continue
                open_fields -= {declared_field.name for declared_field in carried}
                if verb.whole:
                    carried = [
                        declared_field
                        for declared_field in draft.kind.sent_by(verb.name)
                        if draft.wants.get(declared_field.name, UNSET) is not UNSET
                    ]
                for fields in _separately(draft, verb, carried):
                    writes = {declared_field.name: draft.wants[declared_field.name] for declared_field in fields}
                    sent = {name: _completed(draft, name, value) for name, value in writes.items() if not draft.kind.fields[name].one_way}
                    body = body_of(draft.kind, sent)
                    body = {**_unmanaged_values(draft, verb), **body, **self._container(draft, verb)}
                    self.add(StepSketch(draft, verb, self._path(verb, draft), body or None, writes, target=self._self(draft)))
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
            assert difference.field.join is not None
            assert difference.field.leave is not None
            assert difference.field.to is not None
            left = None
            if difference.before is not UNSET and difference.before is not None:
                path = self._path(difference.field.leave, draft, {difference.field.to: difference.before})
                left = self.add(
                    StepSketch(draft, difference.field.leave, path, None, {difference.field.name: None}, target=self._self(draft))
                )
            if difference.after is not None:
                path = self._path(difference.field.join, draft, {difference.field.to: difference.after})
                body = {difference.field.wire: self._named(draft)}
                joined = StepSketch(
                    draft, difference.field.join, path, body, {difference.field.name: difference.after}, target=self._self(draft)
                )
                self.memberships[draft.address] = join = self.add(joined)
                if left is not None:
                    self.leave_before[join] = left
            elif left is not None:
                self.memberships[draft.address] = left

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
        return [step for step in self.of.get(address, ()) if name in self.all[step].writes]

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
        return self.add(StepSketch(draft, verb, self._path(verb, draft), body, writes, target=self._self(draft)))

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
            takes = tuple(sorted(_deleted_with(removal.address, below)))
            self.deletes[removal.address] = self.add(StepSketch(removal, verb, path, target=removal.id, takes=takes))

    # -- for undo ----------------------------------------------------------------------------------------------------------------

    def before(self, sketch: StepSketch) -> Before:
        """What undoing the request needs: the values and the position that it changes, as they are now."""
        position = None if sketch.verb in sketch.draft.kind.update_verbs else self.positions.get(sketch.draft.address)
        if isinstance(sketch.draft, Removal):
            return Before(_values_deleted(sketch.draft), position)
        if sketch.draft.is_new:
            made_anew = sketch.draft.old if sketch.verb.name == "create" else None
            return Before(replaces=made_anew.id if made_anew is not None else None)
        if sketch.verb.name == "restore":
            return Before()
        if isinstance(sketch.draft.purpose, Transfer) and sketch.verb.name == "transfer":
            return Before(
                _container_left(sketch.draft.kind, sketch.draft.purpose), self.positions.get(sketch.draft.address), renames=sketch.renames
            )
        values = {
            difference.field.name: _as_sent(sketch.draft, difference)
            for difference in sketch.draft.sendable
            if _is_recorded(sketch, difference)
        }
        return Before(values, position, unmanaged=_not_managed(sketch.draft.binding, values))

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
                holes[name] = _named_value(draft, name)
            else:
                container = self.kinds.container(draft.address, name)
                holes[name] = self.ids.get(container, container)
        return tuple(holes[part[1:-1]] if part.startswith("{") else part for part in verb.path.strip("/").split("/"))


def _named_value(draft: Draft, name: str) -> Any:
    """The value by which a path names an object: as the service shows it, which may differ from the declared one in case."""
    shown = draft.observed.values.get(name) if draft.observed is not None and draft.kind.fields[name].caseless else None
    return shown if isinstance(shown, str) else draft.wants.get(name)


def _deleted_with(address: Address, below: Mapping[Address, Sequence[Address]]) -> set[Address]:
    """Everything that is deleted with an object, at whatever depth. `below`: what is deleted with each."""
    deleted: set[Address] = set()
    waiting = [address]
    while waiting:
        new = set(below.get(waiting.pop(), ())) - deleted
        deleted |= new
        waiting += new
    return deleted


def body_of(kind: Kind, writes: Mapping[str, Any]) -> dict[str, Any]:
    return {kind.fields[name].wire: value for name, value in writes.items()}


def _separately(draft: Draft, verb: Verb, fields: Sequence[Field]) -> list[Sequence[Field]]:
    """The fields of a request, in two requests where some have prerequisites: what they wait for must not hold up the others."""
    waiting = {prerequisite.field for prerequisite in draft.prerequisites if prerequisite.address is not None}
    if verb.whole or not waiting:
        return [fields]
    now = [declared_field for declared_field in fields if declared_field.name not in waiting]
    later = [declared_field for declared_field in fields if declared_field.name in waiting]
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
    carried = (
        declared_field
        for declared_field in draft.kind.sent_by(verb.name)
        if declared_field.role is FieldRole.VALUE and not declared_field.hosted
    )
    seen = {declared_field.name: draft.observed.values.get(declared_field.name, UNSET) for declared_field in carried}
    return body_of(draft.kind, {name: value for name, value in seen.items() if value is not UNSET and value is not None})


def _fields_set_by_parent(draft: Draft) -> set[str]:
    """The fields that the parent's create has already set on the child it brings: what identifies it."""
    return {declared_field.name for declared_field in draft.kind.fields.values() if declared_field.key or declared_field.container}


def _is_recorded(sketch: StepSketch, difference: FieldDifference) -> bool:
    return difference.field.name in sketch.writes and not difference.field.hides(difference.before)


def _not_managed(binding: Binding | None, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the fields of a tracked object that were not managed yet."""
    return tuple(name for name in names if name not in binding.sent and name not in binding.seen) if binding is not None else ()


def _as_sent(draft: Draft, difference: FieldDifference) -> Any:
    """The value before, in the form in which it would be sent again: the last sent value, where the object still shows it."""
    binding = draft.binding
    if binding is not None and difference.before is not UNSET and binding.seen.get(difference.field.name, UNSET) == difference.before:
        sent = binding.sent.get(difference.field.name, difference.before)
        return difference.before if difference.field.hides(sent) else sent
    return difference.before


def _container_left(kind: Kind, transfer: Transfer) -> dict[str, Any]:
    """The location that a transferred object leaves: its container and its node."""
    left: dict[str, Any] = {kind.transferable.name: transfer.source_id} if kind.transferable is not None else {}
    return left | ({kind.inside.name: transfer.left} if kind.inside is not None and transfer.left is not None else {})


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
