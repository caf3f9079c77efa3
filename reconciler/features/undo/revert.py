"""The Desired that reverts a run, and what cannot be reverted. Pure.

In: what the run did, the state, and what exists now. Out: an `Inverse`. What somebody changed since is not changed, and is reported.

The premise: undo is not a list of reversed requests. The organization has changed since, and a request that was right then could overwrite
what somebody did yesterday. So undo describes an organization, like everything else, and the one planner finds the requests:

    journal of the run          what exists now              Desired of the undo                 the planner
    ------------------          ----------------             --------------------                ------------
    docs.title  A -> B          docs.title B            ->   docs.title A                        update
    guides.title C -> D         guides.title E          ->   guides.title E, and a sentence      nothing
    created `news`              news as it was created  ->   (not declared)                      delete
    deleted `faq`               faq, deleted, 3 days    ->   faq, with its old title             restore

Everything that is not reverted is declared as it is, so the plan contains nothing else. The three questions to each part of the run: does
the object still exist, does it still have what the run gave it, and does the service have a request that leads back? Each *no* is a
sentence for people, never a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from reconciler.address import Address, bare
from reconciler.features.undo.current import arranged
from reconciler.features.undo.effects import Cannot, Inverse, RunEffect, append_to_roots, transferred_back, under_former_addresses
from reconciler.features.undo.objects import (
    NOWHERE,
    ObservedObject,
    parent_of_position,
    put_back,
    remove_cycles,
    sibling_rows,
    tracked_objects,
    unmanaged_siblings,
    used_by,
)
from reconciler.features.undo.tracking import reverted_state_changes, tracked_again
from reconciler.model import Actual, Desired, Position, Removed, State, StateChange
from reconciler.model.codec import choices, ids_in
from reconciler.plan.changes import Names
from reconciler.resource import HOSTED, UNSET, Field, FieldRole, Kinds
from reconciler.text.names import a

GONE = "it no longer exists"
NO_DELETE = "the service cannot delete it"
UNBOUND = "it is no longer tracked; it was not changed"


@dataclass
class RevertedRun:
    """A run to revert. `state_changes`: what it changed in the state. `ever`: ids of all objects that any run created or changed, as the
    service has them; a reference to one that no longer exists stays unset."""

    kinds: Kinds
    project: Desired
    state: State
    actual: Actual
    done: Mapping[Address, RunEffect]
    state_changes: Collection[StateChange]
    ever: Collection[str]
    back: Mapping[Address, Address] = field(default_factory=dict)
    values: dict[Address, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    places: dict[Address, Position] = field(default_factory=dict)
    cannot: list[Cannot] = field(default_factory=list)
    unmanaged: dict[Address, frozenset[str]] = field(default_factory=dict)

    def inverse(self) -> Inverse:
        """The Desired that reverts it."""
        # First which objects there will be, and under which addresses; then their values, which may refer to any of them.
        again, self.cannot = tracked_again(self.kinds, self.state_changes, self.state, self.actual)
        self.back, here, cannot = transferred_back(self.kinds, self.done, self.state_changes, self.state, self.actual)
        self.cannot += cannot
        self.state_changes = here
        known = {**tracked_objects(self.kinds, self.state, self.actual), **again}
        self.chosen = choices(self.kinds, self.actual.objects)
        self.alive = {bare(id) for objects in self.actual.objects.values() for id, item in objects.items() if item.deleted_at is None}
        restored = self._restored(known)
        self.removed = {address for address, item in self.done.items() if self._removable(item, known.get(address))}
        self.names = Names((item.id, address) for address, item in {**known, **restored}.items() if address not in self.removed)
        self.ids = {address: id for id, address in reversed(self.names.items())}
        self.alive |= {bare(item.id) for item in restored.values()}
        for address, item in self.done.items():
            self._doubts(item)
            if address in known and item.created is None and item.deleted is None and not item.cascaded:
                self._changed(item, known[address])
            elif address not in known and item.deleted is None and not item.cascaded:
                self._lost_sight_of(item)
        # A container may have been moved into what it contained: two places that were right once can be a circle now.
        for address, parent in remove_cycles(self.places, sibling_rows(known)):
            self._say(address, f"was in {parent}, which is now inside it; it was not moved")
        self._keep_what_is_used(known)
        for address, tracked in restored.items():
            self._placed(self.done[address], tracked)
            self.values[address] |= self._fields_of_restored(self.done[address])
        return self._result(known, restored, again)

    def _say(self, address: Address, reason: str) -> None:
        self.cannot.append(Cannot(address, reason))

    def _lost_sight_of(self, change: RunEffect) -> None:
        """Report an object that the run created or changed and that is not tracked now."""
        now = self.actual.find(change.kind.name, change.created or change.id or "")
        alive = now is not None and now.deleted_at is None
        if change.replaces is not None:
            self._say(change.address, "was replaced; the old object no longer exists")
        elif change.created is not None:
            if alive:
                self._say(change.address, f"was {change.participle}, and is no longer tracked; it was not changed")
        elif change.fields or change.position is not None:
            self._say(change.address, f"{_listed(change.fields) or 'its place'}: {UNBOUND if alive else GONE}")

    def _doubts(self, change: RunEffect) -> None:
        for verb in change.doubts:
            self._say(change.address, f"{verb}: its outcome is unknown; it was not changed")

    # -- what was deleted -------------------------------------------------------------------------------------------------------------

    def _restored(self, known: Mapping[Address, ObservedObject]) -> dict[Address, ObservedObject]:
        """Restore what the run deleted and the service still keeps."""
        restored = {}
        for address, change in self.done.items():
            if change.deleted is None and not change.cascaded:
                continue
            kind = change.kind
            now = self.actual.find(kind.name, change.deleted) if change.deleted is not None else None
            if address in known:
                if known[address].id != change.deleted:
                    self._say(address, "was deleted, and another object replaced it")
            elif kind.deleted_at is None or change.deleted is None:
                self._say(address, f"was deleted; the service cannot restore {a(kind.name)}")
            elif now is None or self._too_late(change, now.deleted_at):
                self._say(address, "was deleted, and can no longer be restored")
            else:
                restored[address] = ObservedObject(address, kind, change.deleted, None, now)
        return restored

    def _too_late(self, change: RunEffect, deleted_at: Any) -> bool:
        date = self.actual.date
        return deleted_at is not None and date is not None and date - deleted_at >= timedelta(days=change.kind.restore_days)

    def _fields_of_restored(self, change: RunEffect) -> dict[str, Any]:
        wanted = {}
        for name, value in change.fields.items():
            field = change.kind.fields.get(name)
            if field is not None and field.readable and field.role is FieldRole.VALUE and not self._lost(value):
                wanted[name] = self._addressed(value, change.address)
        return wanted

    # -- what was created---------------------------------------------------------------------------------------------------------------

    def _removable(self, change: RunEffect, tracked: ObservedObject | None) -> bool:
        """Whether the run created the object and nobody changed it since."""
        if change.created is None or tracked is None or tracked.observed is None or tracked.observed.deleted_at is not None:
            return tracked is not None and tracked.id == change.created  # where it no longer exists, its binding is removed too
        if change.replaces is not None:
            self._say(change.address, "was replaced; the old object no longer exists")
        elif tracked.id != change.created:
            self._say(change.address, f"was {change.participle}, and another object replaced it")
        elif "delete" not in change.kind.api and not self._is_deleted_with_another(change):
            self._say(change.address, f"was {change.participle}; {NO_DELETE}")
        elif self._has_own_protection(tracked):
            self._say(change.address, f"was {change.participle}, and is protected; it was not deleted")
        elif changed := [name for name in change.after if self._differs(change, name, tracked)]:
            self._say(change.address, f"was {change.participle}, and {_listed(changed)} changed since; it was not deleted")
        else:
            return True
        return False

    def _is_deleted_with_another(self, change: RunEffect) -> bool:
        """Whether the run created its container too: deleting that deletes the one object of the kind in it."""
        outer = self.done.get(change.address.container) if change.kind.one_per and change.address.container is not None else None
        return outer is not None and outer.created is not None

    def _has_own_protection(self, tracked: ObservedObject) -> bool:
        """Whether it is protected by a line of its own, and not only by its kind."""
        declared = self.project.resources.get(tracked.address)
        if declared is not None and declared.protect is not None:
            return declared.protect
        return tracked.binding is not None and tracked.binding.protected and tracked.kind.name not in self.project.protect

    def _differs(self, change: RunEffect, name: str, tracked: ObservedObject) -> bool:
        field = change.kind.fields.get(name)
        if field is None or field.role is FieldRole.CHOICE or not field.readable:
            return False
        # The container that it was created in was deleted since, and the service moved the object to its root by itself.
        if field.container and change.after[name] is not None and change.after[name] not in self.alive:
            return False  # the service moved it when its container was deleted
        return self._now(field, tracked) not in (UNSET, change.after[name])

    def _keep_what_is_used(self, known: Mapping[Address, ObservedObject]) -> None:
        """Do not delete an object that a remaining one is in, or refers to."""
        by_id = {known[address].id: address for address in self.removed}
        # Until nothing changes: an object that is kept may itself use another one that was to be deleted.
        users = [use for use in used_by(self.kinds, self.actual, known, self._leaves) if use[0] in by_id]
        kept = True
        while kept:
            kept = False
            for id, user, text in users:
                address = by_id[id]
                if address in self.removed and by_id.get(user) not in self.removed:
                    self.removed.discard(address)
                    self._say(address, f"was {self.done[address].participle}, and is used by {text}; it was not deleted")
                    kept = True

        for address in sorted(self.removed):
            change = self.done[address]
            if change.kind.one_per and address in known and address.container not in self.removed:
                self.removed.discard(address)
                self._say(address, f"was {change.participle}; {NO_DELETE}")

    def _leaves(self, address: Address, field: Field) -> bool:
        """Whether the field is about to get another value."""
        return field.name in self.values.get(address, {}) or (field.container and address in self.places)

    # -- what was changed -------------------------------------------------------------------------------------------------------------

    def _now(self, field: Field, tracked: ObservedObject) -> Any:
        if field.role is FieldRole.CHOICE:
            return self.chosen.get((tracked.kind.name, tracked.id), {}).get(field.name, UNSET)
        if not field.readable and not field.sensitive and tracked.binding is not None:
            # The service never shows this field, so the last value that was sent stands for the current one.
            sent = tracked.binding.sent.get(field.name, UNSET)  # only the last sent value is known
            return UNSET if field.hides(sent) else sent
        return tracked.observed.values.get(field.name, UNSET) if tracked.observed is not None else UNSET

    def _changed(self, change: RunEffect, tracked: ObservedObject) -> None:
        if tracked.observed is None or tracked.observed.deleted_at is not None:
            if change.fields or change.position is not None:
                self._say(change.address, f"{_listed(change.fields) or 'its place'}: {GONE}")
            return
        unmanaged = set[str]()
        for name, before in change.fields.items():
            field = change.kind.fields.get(name)
            if field is None or field.container:
                continue
            reason = self._why_not(change, field, before, tracked)
            if reason is None:
                self.values[change.address][name] = self._addressed(before, change.address)
            elif reason:
                self._say(change.address, f"{name} {reason}")
            if not reason and name in change.unmanaged:
                unmanaged.add(name)
        managed = {*tracked.binding.sent, *tracked.binding.seen} if tracked.binding is not None else set()
        if unmanaged & managed:
            self.unmanaged[self.back.get(change.address, change.address)] = frozenset(unmanaged & managed)
        # An object that is not transferred back stays in the order of its new container.
        if change.left is not None and change.address not in self.back:
            return
        if change.position is not None or any(change.kind.fields[name].container for name in change.fields if name in change.kind.fields):
            self._placed(change, tracked)

    def _why_not(self, change: RunEffect, field: Field, before: Any, tracked: ObservedObject) -> str | None:
        """Why a field is not reset; "" where it already has its former value, None where it can be reset."""
        now = self._now(field, tracked)
        if before == HOSTED:
            return "is a copy that the service hosts, so its previous source is unknown; it was not changed"
        if now == before or (field.one_way and before is not False and before is not UNSET):
            return ""
        if field.one_way:
            return "cannot be undone: the service has no request for it"
        if not field.readable and (field.sensitive or now is UNSET):
            return "is never shown, so its previous value is unknown; it was not changed"
        if change.after.get(field.name, now) != now:
            return "was changed since; it was not changed back"
        if before is UNSET or (not field.clear and field.shown(before) is None and field.role is not FieldRole.CHOICE):
            return "was not set before, and cannot be cleared"
        if self._lost(before):
            return "referred to an object that no longer exists; it was not changed"
        return None

    def _lost(self, value: Any) -> bool:
        """Whether the value refers to an object that no longer exists."""
        return any(text in self.ever and text not in self.alive for text in ids_in(value))

    def _addressed(self, value: Any, where: Address) -> Any:
        """The value with the ids of managed objects as references, so that steps know what they need."""
        match value:
            case str():
                return self.names.near(value, where) or value
            case Mapping():
                return {key: self._addressed(part, where) for key, part in value.items()}
            case list() | tuple():
                return [self._addressed(part, where) for part in value]
            case _:
                return value

    # -- positions --------------------------------------------------------------------------------------------------------------------

    def _placed(self, change: RunEffect, tracked: ObservedObject) -> None:
        """Record the position to restore, unless its parent no longer exists or somebody moved the object since."""
        inside, position = change.kind.inside, change.position
        if position is None:
            if inside is not None and inside.name in change.fields:
                self._say(change.address, "was in an unmanaged object; it was not moved")
            return
        held = change.fields.get(inside.name) if inside is not None else None
        if isinstance(held, str):  # by its id, because another object may have that address now
            position = replace(position, parent=self.names.get(held, position.parent))
        if position.parent not in self.ids or (isinstance(held, str) and held not in self.names):
            self._say(
                change.address,
                f"was in {position.parent}, which was deleted; "
                f"it was {'not moved' if change.deleted is None else 'moved to the top level'}",
            )
            if change.deleted is not None and inside is not None:
                self.values[change.address][inside.name] = None
            return
        if inside is not None and change.deleted is None and change.address not in self.back:
            now = tracked.observed.values.get(inside.name) if tracked.observed is not None else None
            # The value of a container field below that parent: None directly below the fixed container.
            then = self.ids[position.parent] if self.kinds.of(position.parent).name == inside.to else None
            if now not in (then, change.after.get(inside.name) if inside.name in change.fields else then):
                self._say(change.address, "was moved since; it was not moved back")
                return
        previous = position.previous
        behind = None if previous is None else self.names.get(previous.key, previous)  # where it was adopted since
        self.places[change.address] = replace(position, previous=behind)

    # -- together ---------------------------------------------------------------------------------------------------------------------

    def _result(
        self, known: Mapping[Address, ObservedObject], restored: Mapping[Address, ObservedObject], again: Collection[Address]
    ) -> Inverse:
        staying = {address: tracked for address, tracked in {**known, **restored}.items() if address not in self.removed}
        among = unmanaged_siblings(self.kinds, self.actual, known, {parent_of_position(position) for position in self.places.values()})
        rows = sibling_rows(known, among)
        moved = {*self.removed, *self.places}
        rows = {parent: [address for address in row if address not in moved] for parent, row in rows.items() if parent not in self.removed}
        for address, position in self.places.items():
            inside = self.done[address].kind.inside
            if inside is not None:
                parent = parent_of_position(position)
                self.values[address][inside.name] = parent if self.kinds.of(parent).name == inside.to else None
        put_back(rows, self.places, {address: change.position for address, change in self.done.items() if change.position is not None})
        append_to_roots(rows, self.back)
        desired = arranged(self.kinds, self.project, {**staying, **among}, rows, self.values)
        removed = {
            address: Removed(address, "delete", NOWHERE, f"{self.done[address].participle} by the run that is undone")
            for address in self.removed
        }
        parents = {parent_of_position(position) for position in self.places.values()}
        siblings = {sibling for parent in parents for sibling in rows[parent] if sibling not in among}
        about = {*siblings, *restored, *again, *self.back, *(address for address, some in self.values.items() if some)}
        about = {self.back.get(address, address) for address in about}
        desired = under_former_addresses(desired, self.back)
        only = frozenset({*self.removed, *(about & desired.resources.keys())})
        deleted = {id for change in self.done.values() for id in (change.deleted, change.replaces) if id is not None}
        state_changes, cannot = reverted_state_changes(
            self.state_changes, self.state, added={*restored, *again}, removed=self.removed, deleted=deleted
        )
        return Inverse(replace(desired, removed=removed), only, tuple(sorted({*self.cannot, *cannot})), state_changes, self.unmanaged)


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
