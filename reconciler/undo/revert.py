"""The Desired that wants a run taken back, and what of it cannot be. Pure.

In: what the run did, the state, and what is seen now. What somebody changed since stays as it is, and is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, Desired, Removed, State, Stood, Turn
from reconciler.model.choices import choices
from reconciler.model.codec import ids_in
from reconciler.plan.names import Names
from reconciler.resource import UNSET, Field, Kinds, Role
from reconciler.undo.current import arranged
from reconciler.undo.dependents import used_by
from reconciler.undo.effects import Cannot, Past
from reconciler.undo.result import Inverse
from reconciler.undo.rows import beside, put_back, standing, uncircled
from reconciler.undo.snapshot import NOWHERE, Thing, things
from reconciler.undo.tracking import bound_again, turned_back

GONE = "it no longer exists"
NO_DELETE = "the service deletes no {}"
UNBOUND = "it is no longer tracked; it was not changed"


def inverse(
    kinds: Kinds, project: Desired, state: State, actual: Actual,
    done: Mapping[Address, Past], turns: Collection[Turn], *, ever: Collection[str],
) -> Inverse:  # fmt: skip
    """What takes the run back. `turns`: what it changed of the state.

    `ever`: ids of all objects any run made or changed; a reference to one of them that is gone stays unset.
    """
    return _Undoing(kinds, project, state, actual, done, turns, set(map(bare, ever))).whole()


@dataclass
class _Undoing:
    kinds: Kinds
    project: Desired
    state: State
    actual: Actual
    done: Mapping[Address, Past]
    turns: Collection[Turn]
    ever: Collection[str]
    values: dict[Address, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    places: dict[Address, Stood] = field(default_factory=dict)
    cannot: list[Cannot] = field(default_factory=list)

    def whole(self) -> Inverse:
        again, self.cannot = bound_again(self.kinds, self.turns, self.state, self.actual)
        known = {**things(self.kinds, self.state, self.actual), **again}
        self.chosen = choices(self.kinds, self.actual.objects)
        self.alive = {bare(id) for some in self.actual.objects.values() for id, one in some.items() if one.deleted_at is None}
        restored = self._restored(known)
        self.removed = {address for address, one in self.done.items() if self._removable(one, known.get(address))}
        self.names = Names((one.id, address) for address, one in {**known, **restored}.items() if address not in self.removed)
        self.alive |= {bare(one.id) for one in restored.values()}
        for address, one in self.done.items():
            self._doubts(one)
            if address in known and one.made is None and one.deleted is None and not one.along:
                self._changed(one, known[address])
            elif address not in known and one.deleted is None and not one.along:
                self._lost_sight_of(one)
        for address, parent in uncircled(self.places, standing(known)):
            self._say(address, f"was in {parent}, which is now inside it; it was not moved")
        self._keep_what_is_used(known)
        for address, thing in restored.items():
            self._placed(self.done[address], thing)
            self.values[address] |= self._fields_of_restored(self.done[address])
        return self._result(known, restored, again)

    def _say(self, address: Address, reason: str) -> None:
        self.cannot.append(Cannot(address, reason))

    def _lost_sight_of(self, one: Past) -> None:
        """Name what the run made or changed, and what is not bound now."""
        now = self.actual.find(one.kind.name, one.made or one.id or "")
        alive = now is not None and now.deleted_at is None
        if one.replaces is not None:
            self._say(one.address, "was replaced; the old object no longer exists")
        elif one.made is not None:
            if alive:
                self._say(one.address, f"was {one.born}, and is no longer tracked; it was not changed")
        elif one.fields or one.stood is not None:
            self._say(one.address, f"{_listed(one.fields) or 'its place'}: {UNBOUND if alive else GONE}")

    def _doubts(self, one: Past) -> None:
        for verb in one.doubts:
            self._say(one.address, f"{verb}: its outcome is unknown; it was not changed")

    # -- what was deleted -------------------------------------------------------------------------------------------------------------

    def _restored(self, known: Mapping[Address, Thing]) -> dict[Address, Thing]:
        """What the run deleted and the service still keeps."""
        found = {}
        for address, one in self.done.items():
            if one.deleted is None and not one.along:
                continue
            kind = one.kind
            now = self.actual.find(kind.name, one.deleted) if one.deleted is not None else None
            if address in known:
                if known[address].id != one.deleted:
                    self._say(address, "was deleted, and another object replaced it")
            elif kind.deleted_at is None or one.deleted is None:
                self._say(address, f"was deleted; the service cannot restore a {kind.name}")
            elif now is None or self._too_late(one, now.deleted_at):
                self._say(address, "was deleted, and can no longer be restored")
            else:
                found[address] = Thing(address, kind, one.deleted, None, now)
        return found

    def _too_late(self, one: Past, deleted_at: Any) -> bool:
        date = self.actual.date
        return deleted_at is not None and date is not None and date - deleted_at >= timedelta(days=one.kind.restore_days)

    def _fields_of_restored(self, one: Past) -> dict[str, Any]:
        wanted = {}
        for name, value in one.fields.items():
            each = one.kind.fields.get(name)
            if each is not None and each.readable and each.role is Role.VALUE and not self._lost(value):
                wanted[name] = self._addressed(value, one.address)
        return wanted

    # -- what was made ----------------------------------------------------------------------------------------------------------------

    def _removable(self, one: Past, thing: Thing | None) -> bool:
        """Whether it was made by the run and nobody changed it since."""
        if one.made is None or thing is None or thing.observed is None or thing.observed.deleted_at is not None:
            return thing is not None and thing.id == one.made  # where it is gone, its binding goes too
        if one.replaces is not None:
            self._say(one.address, "was replaced; the old object no longer exists")
        elif thing.id != one.made:
            self._say(one.address, f"was {one.born}, and another object replaced it")
        elif "delete" not in one.kind.api and not self._goes_along(one):
            self._say(one.address, f"was {one.born}; {NO_DELETE.format(one.kind.name)}")
        elif self._kept(thing):
            self._say(one.address, f"was {one.born}, and is protected; it was not deleted")
        elif changed := [name for name in one.after if self._differs(one, name, thing)]:
            self._say(one.address, f"was {one.born}, and {_listed(changed)} changed since; it was not deleted")
        else:
            return True
        return False

    def _goes_along(self, one: Past) -> bool:
        """Whether its container was made by the run too: deleting that deletes what it has only one of."""
        outer = self.done.get(one.address.container) if one.kind.one_per and one.address.container is not None else None
        return outer is not None and outer.made is not None

    def _kept(self, thing: Thing) -> bool:
        """Whether it is protected by a line of its own, and not only by its kind."""
        declared = self.project.resources.get(thing.address)
        if declared is not None and declared.protect is not None:
            return declared.protect
        return thing.binding is not None and thing.binding.protected and thing.kind.name not in self.project.protect

    def _differs(self, one: Past, name: str, thing: Thing) -> bool:
        each = one.kind.fields.get(name)
        if each is None or each.role is Role.CHOICE or not each.readable:
            return False
        if each.container and one.after[name] is not None and one.after[name] not in self.alive:
            return False  # the service moved it when its container went
        return self._now(each, thing) not in (UNSET, one.after[name])

    def _keep_what_is_used(self, known: Mapping[Address, Thing]) -> None:
        """Take back the removal of what something that stays stands in, or refers to."""
        by_id = {known[address].id: address for address in self.removed}
        users = [one for one in used_by(self.kinds, self.actual, known, self._leaves) if one[0] in by_id]
        kept = True
        while kept:
            kept = False
            for id, user, said in users:
                address = by_id[id]
                if address in self.removed and by_id.get(user) not in self.removed:
                    self.removed.discard(address)
                    self._say(address, f"was {self.done[address].born}, and is used by {said}; it was not deleted")
                    kept = True

        for address in sorted(self.removed):
            one = self.done[address]
            if one.kind.one_per and address in known and address.container not in self.removed:
                self.removed.discard(address)
                self._say(address, f"was {one.born}; {NO_DELETE.format(one.kind.name)}")

    def _leaves(self, address: Address, each: Field) -> bool:
        """Whether the field is about to get another value."""
        return each.name in self.values.get(address, {}) or (each.container and address in self.places)

    # -- what was changed -------------------------------------------------------------------------------------------------------------

    def _now(self, each: Field, thing: Thing) -> Any:
        if each.role is Role.CHOICE:
            return self.chosen.get((thing.kind.name, thing.id), {}).get(each.name, UNSET)
        return thing.observed.values.get(each.name, UNSET) if thing.observed is not None else UNSET

    def _changed(self, one: Past, thing: Thing) -> None:
        if thing.observed is None or thing.observed.deleted_at is not None:
            if one.fields or one.stood is not None:
                self._say(one.address, f"{_listed(one.fields) or 'its place'}: {GONE}")
            return
        for name, before in one.fields.items():
            each = one.kind.fields.get(name)
            if each is None or each.container:
                continue
            reason = self._why_not(one, each, before, thing)
            if reason is None:
                self.values[one.address][name] = self._addressed(before, one.address)
            elif reason:
                self._say(one.address, f"{name} {reason}")
        if one.stood is not None or any(one.kind.fields[name].container for name in one.fields if name in one.kind.fields):
            self._placed(one, thing)

    def _why_not(self, one: Past, each: Field, before: Any, thing: Thing) -> str | None:
        """Why a field stays; "" where it is as it was already, None where it can be set back."""
        now = self._now(each, thing)
        if now == before or (each.one_way and before is not False and before is not UNSET):
            return ""
        if each.one_way:
            return "cannot be undone: the service has no request for it"
        if not each.readable:
            return "is never shown, so its previous value is unknown; it was not changed"
        if one.after.get(each.name, now) != now:
            return "was changed since; it was not deleted"
        if before is UNSET or (not each.clear and each.shown(before) is None and each.role is not Role.CHOICE):
            return "was not set before, and cannot be cleared"
        if self._lost(before):
            return "referred to an object that no longer exists; it was not changed"
        return None

    def _lost(self, value: Any) -> bool:
        """Whether it refers to an object that is gone."""
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

    # -- where it stood ---------------------------------------------------------------------------------------------------------------

    def _placed(self, one: Past, thing: Thing) -> None:
        """Note the place to go back to, unless that is gone or somebody moved it since."""
        inside, stood = one.kind.inside, one.stood
        if stood is None:
            if inside is not None and inside.name in one.fields:
                self._say(one.address, "was in an unmanaged object; it was not moved")
            return
        held = one.fields.get(inside.name) if inside is not None else None
        if isinstance(held, str):  # by its id, because another object may have that address now
            stood = replace(stood, parent=self.names.get(held, stood.parent))
        if stood.parent not in self.names.values() or (isinstance(held, str) and held not in self.names):
            self._say(
                one.address,
                f"was in {stood.parent}, which was deleted; it {'was not moved' if one.deleted is None else 'was moved to the top level'}",
            )
            if one.deleted is not None and inside is not None:
                self.values[one.address][inside.name] = None
            return
        if inside is not None and one.deleted is None:
            now = thing.observed.values.get(inside.name) if thing.observed is not None else None
            then = self._id_of(stood.parent, inside)
            if now not in (then, one.after.get(inside.name) if inside.name in one.fields else then):
                self._say(one.address, "was moved since; it was not moved back")
                return
        behind = None if stood.previous is None else self.names.get(stood.previous.key, stood.previous)  # where it was adopted since
        self.places[one.address] = replace(stood, previous=behind)

    def _id_of(self, parent: Address, inside: Field) -> str | None:
        """The id a container field has below that parent: None directly below the fixed container."""
        id = next(id for id, address in self.names.items() if address == parent)
        return id if self.kinds.of(parent).name == inside.to else None

    # -- together ---------------------------------------------------------------------------------------------------------------------

    def _result(self, known: Mapping[Address, Thing], restored: Mapping[Address, Thing], again: Collection[Address]) -> Inverse:
        staying = {address: one for address, one in {**known, **restored}.items() if address not in self.removed}
        among = beside(self.kinds, self.actual, known, {stood.parent for stood in self.places.values()})
        rows = standing(known, among)
        gone = {*self.removed, *self.places}
        rows = {parent: [one for one in row if one not in gone] for parent, row in rows.items() if parent not in self.removed}
        for address, stood in self.places.items():
            inside = self.done[address].kind.inside
            if inside is not None:
                self.values[address][inside.name] = stood.parent if self.kinds.of(stood.parent).name == inside.to else None
        put_back(rows, self.places, {address: one.stood for address, one in self.done.items() if one.stood is not None})
        desired = arranged(self.kinds, self.project, {**staying, **among}, rows, self.values)
        removed = {
            address: Removed(address, "delete", NOWHERE, f"{self.done[address].born} by the run that is undone") for address in self.removed
        }
        siblings = {one for stood in self.places.values() for one in rows[stood.parent] if one not in among}
        about = {*siblings, *restored, *again, *(address for address, some in self.values.items() if some)}
        only = frozenset({*self.removed, *(about & desired.resources.keys())})
        deleted = {id for one in self.done.values() for id in (one.deleted, one.replaces) if id is not None}
        turns, cannot = turned_back(self.turns, self.state, added={*restored, *again}, removed=self.removed, deleted=deleted)
        return Inverse(replace(desired, removed=removed), only, tuple(sorted({*self.cannot, *cannot})), turns)


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
