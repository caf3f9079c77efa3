"""The service as somebody last agreed to it: each tracked object with the values that the state remembers. Pure.

In: what a run is about, and what was read. Out: the remembered values that differ from those on the service and decide who can read
something or do something. A plan compares the world after it with these too, because a change made outside Reconciler that the files
repeat leaves nothing to change, and would never be shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field as item, replace
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Binding, Observed, State
from reconciler.model.codec import comparable
from reconciler.plan.audience.readers import Objects
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Purpose, Removal
from reconciler.resource import UNSET, Field, Kind


@dataclass(frozen=True)
class RecordedObject:
    """A tracked object, and those of its fields whose current values this run takes as agreed, or reports as changed."""

    address: Address
    kind: Kind
    observed: Observed
    binding: Binding
    names: Collection[str]

    @property
    def key(self) -> Key:
        """The kind and the id of the object."""
        return self.kind.name, self.observed.id


@dataclass(frozen=True)
class AgreedWorld:
    """What differs between the service and what somebody agreed to.

    `values`: the agreed values of fields that have others now. `absent`: objects that nobody agreed to. `addresses`: of all these objects.
    """

    values: Mapping[Key, Mapping[str, Any]] = item(default_factory=dict)
    absent: frozenset[Key] = frozenset()
    addresses: Mapping[Key, Address] = item(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.values or self.absent)

    def of(self, objects: Objects) -> Objects:
        """The objects as they were agreed to."""
        result = {name: dict(some) for name, some in objects.items()}
        for (name, id), values in self.values.items():
            observed = result[name][id]
            result[name][id] = replace(observed, values={**observed.values, **values})
        for name, id in self.absent:
            result[name].pop(id, None)
        return result


AS_AGREED: Final = AgreedWorld()
"""Nothing differs from what was agreed to."""


def agreed_world(tracked: Iterable[RecordedObject], adopted: Iterable[tuple[Address, Key]] = ()) -> AgreedWorld:
    """The values of tracked objects that differ from the last agreed ones. `adopted`: objects that nobody agreed to."""
    values: dict[Key, dict[str, Any]] = {}
    addresses = {key: address for address, key in adopted}
    absent = frozenset(addresses)
    for member in tracked:
        for name in sorted(member.names):
            field = member.kind.fields[name]
            now = member.observed.values.get(name, UNSET)
            agreed = agreed_value(field, now, member.binding)
            if agreed is not now:
                values.setdefault(member.key, {})[name] = agreed
                addresses[member.key] = member.address
    return AgreedWorld(values, absent, addresses)


def agreed_value(field: Field, now: Any, binding: Binding) -> Any:
    """The last agreed value of a field: the current one where it is what was sent or what was seen after it, else what was sent."""
    sent = field.remembered(binding.sent.get(field.name, UNSET))
    seen = field.reading(field.remembered(binding.seen.get(field.name, UNSET)))
    known = [value for value in (sent, seen) if value is not UNSET]
    if now is UNSET or not known:
        return now
    stored = field.stored(now, binding.id)
    if stored in known:
        return now
    alike = field.caseless and any(comparable(field, stored) == comparable(field, value) for value in known)
    return now if alike or any(field.same(stored, value, value) for value in known) else known[0]


def agreed_before(state: State, drafts: Iterable[Draft], removals: Iterable[Removal]) -> AgreedWorld:
    """What differs between the service and what was agreed to, of everything that a run would record as agreed.

    A field that no request corrects is not recorded, and stays drift. What the YAML no longer says, and an object that is no longer
    managed, are forgotten: their values are what remains. `ignoreChanges` is consent to later changes.
    """
    drafts = tuple(drafts)
    return agreed_world((*_declared(drafts), *_forgotten(removals)), _adopted(state, drafts))


def _declared(drafts: Iterable[Draft]) -> Iterator[RecordedObject]:
    for draft in drafts:
        if draft.blocked is None and draft.observed is not None and draft.binding is not None and draft.binding.id == draft.observed.id:
            kept = {difference.field.name for difference in (*draft.differences, *draft.deviations) if difference.note is not None}
            kept |= {name for name, _ in draft.blocked_fields} | draft.declared.aside | draft.declared.ignores
            written = {name for name, value in draft.wants.items() if value is not UNSET}
            names = draft.kind.deciding & (written | draft.binding.sent.keys()) - kept
            yield RecordedObject(draft.address, draft.kind, draft.observed, draft.binding, names)


def _forgotten(removals: Iterable[Removal]) -> Iterator[RecordedObject]:
    for removal in removals:
        if removal.forgets and removal.observed is not None and removal.binding is not None and removal.replaces is None:
            names = removal.kind.deciding & removal.binding.sent.keys()
            yield RecordedObject(removal.address, removal.kind, removal.observed, removal.binding, names)


def _adopted(state: State, drafts: Iterable[Draft]) -> Iterator[tuple[Address, Key]]:
    """Adopted objects that admit readers of their own to what the state tracks already: somebody created them outside Reconciler."""
    for draft in drafts:
        if not draft.active or draft.observed is None or draft.binding is not None or draft.purpose is not Purpose.ADOPT:
            continue
        outer = draft.kind.audience.opens if draft.kind.audience is not None else None
        if outer is not None and (outer, draft.observed.within.get(outer, "")) in state.addresses:
            yield draft.address, (draft.kind.name, draft.observed.id)
