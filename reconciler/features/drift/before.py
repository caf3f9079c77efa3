"""The service as it was before it was changed outside Reconciler, as far as the state remembers it. Pure.

In: the objects as they are, and what differs. Out: the same objects with their last-applied values, those that were deleted, and without
unmanaged access. Two worlds are compared with each other then, as for a plan: who can read what (`audience`), and which URLs
answer (`urls`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from reconciler.features.drift.model import Drifted, DriftWord
from reconciler.model import Actual, Binding, Observed
from reconciler.plan.audience.readers import Objects
from reconciler.plan.containment import Key
from reconciler.plan.matching.matches import Matches
from reconciler.plan.offline import choose
from reconciler.resource import UNSET, FieldRole, Kind, Kinds


def before_drift(kinds: Kinds, actual: Actual, matches: Matches, drifted: Iterable[Drifted], undeclared: Collection[Key]) -> Objects:
    """The objects before these changes. `undeclared`: objects that are taken for new."""
    objects: dict[str, dict[str, Observed]] = defaultdict(dict)
    objects |= {name: dict(some) for name, some in actual.objects.items()}
    chosen: dict[tuple[Key, str], str] = {}
    deleted: list[Key] = []
    for resource in drifted:
        binding, kind = matches.binding(resource.address), kinds[resource.kind]
        if binding is None:
            continue
        observed = actual.find(kind.name, binding.id)
        if resource.status is DriftWord.DELETED:
            objects[kind.name][binding.id] = _revived(kinds, matches, kind, binding, observed)
            deleted.append((kind.name, binding.id))
            for name in (name for name, field in kind.fields.items() if field.role is FieldRole.CHOICE):
                child = last_value(kind, binding, name)
                chosen |= {((kind.name, binding.id), name): child} if isinstance(child, str) else {}
        elif observed is not None:
            names = [delta.name for delta in resource.fields if delta.name in kind.fields]
            values = {name: last_value(kind, binding, name) for name in names if kind.fields[name].role is not FieldRole.CHOICE}
            known = {name: value for name, value in values.items() if value is not UNSET}
            objects[kind.name][binding.id] = replace(observed, values={**observed.values, **known})
            for name in names:
                child = last_value(kind, binding, name)
                if kind.fields[name].role is FieldRole.CHOICE and isinstance(child, str):
                    chosen[(kind.name, binding.id), name] = child
    for name, id in deleted:
        objects[name][id] = _with_derived(kinds[name], objects[name][id], objects)
    for name, id in undeclared:
        objects[name].pop(id, None)
    choose(kinds, objects, chosen)
    return objects


def last_value(kind: Kind, binding: Binding, name: str) -> Any:
    """What was seen of a field after the last write, else what was sent; UNSET if neither is known."""
    field = kind.fields[name]
    seen = field.reading(field.remembered(binding.seen.get(name, UNSET)))
    return seen if seen is not UNSET else field.remembered(binding.sent.get(name, UNSET))


def _revived(kinds: Kinds, matches: Matches, kind: Kind, binding: Binding, observed: Observed | None) -> Observed:
    """A deleted object as it was seen last."""
    if observed is not None:
        return replace(observed, deleted_at=None)
    within: dict[str, str] = {}
    at = binding.address.container
    while at is not None:
        outer = matches.binding(at)
        id = outer.id if outer is not None else matches.ids.get(at)
        within |= {kinds.of(at).name: id} if id is not None else {}
        at = at.container
    names = binding.seen.keys() | binding.sent.keys()
    values = {name: last_value(kind, binding, name) for name in sorted(names) if name in kind.fields}
    return Observed(kind.name, binding.id, dict.fromkeys(kind.fields, UNSET) | values, within, {})


def _with_derived(kind: Kind, observed: Observed, objects: Objects) -> Observed:
    """A deleted object with the values that the service derived for it, where nobody wrote others."""
    values = dict(observed.values)
    for name, field in kind.fields.items():
        if field.derived is None or values.get(name, UNSET) is not UNSET:
            continue
        source: Any = values
        if field.derived.reference is not None:
            to, id = kind.fields[field.derived.reference].refers, values.get(field.derived.reference)
            other = objects.get(str(to), {}).get(id) if isinstance(id, str) else None
            source = other.values if other is not None else {}
        text = source.get(field.derived.field, UNSET)
        values[name] = (field.derived.form(text) or UNSET) if isinstance(text, str) else UNSET
    return replace(observed, values=values)
