"""What the service would show, and the state remember, had a project been applied as it is written. Pure.

In: two versions of a project. Out: the world of the first one, in which the second can be planned without a service and without a state.
What can only be adopted exists as in the version that declares it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from reconciler.address import Address, bare
from reconciler.model import Action, Actual, Binding, Change, Declared, Desired, Observed, Origin, Plan, Position, State
from reconciler.model.codec import chooser, path_ids, unresolved_addresses, wanted
from reconciler.plan.containment import Key
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan_to_carry_out
from reconciler.plan.prove import carried_out
from reconciler.plan.siblings.order import is_ranked
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds

LINEAGE = "as declared"


def as_declared(kinds: Kinds, before: Desired, after: Desired) -> tuple[State, Actual]:
    """State and Actual once `before` is applied. What only `after` adopts exists too, as it declares it, and nobody manages it."""
    nothing = State(LINEAGE, 0)
    actual = _with(kinds, Actual(), _adopted(kinds, before, {}, ()))
    matches = identify(kinds, before, nothing, actual)
    plan = plan_to_carry_out(kinds, before, nothing, actual, matches)
    state, shown = carried_out(kinds, before, nothing, actual, plan, matches=matches)
    state, shown = _as_written(kinds, before, state, shown)
    shown = _with(kinds, shown, _settled(kinds, before, state, shown))
    ids = {address: binding.id for address, binding in state.bindings.items()}
    known = {id for objects in shown.objects.values() for id in objects}
    shown = _with(kinds, shown, _adopted(kinds, after, ids, known))
    return replace(state, rules=before.rules), PublishedUrls(kinds, shown).actual()


def declared_objects(kinds: Kinds, desired: Desired) -> tuple[Mapping[Address, str], Actual]:
    """The declared objects, each by itself as it is written, with their ids: enough to say who can read them. What the files do not say has
    the value of a create."""
    ids: dict[Address, str] = {}
    objects = []
    for address, declared in desired.resources.items():
        kind, within = kinds[declared.kind], path_ids(kinds, address.container, ids.get)
        ids[address] = _identity(kind, address, declared, within)
    for address, declared in desired.resources.items():
        kind = kinds[declared.kind]
        silent = {name: field.initial for name, field in kind.fields.items() if field.initial is not UNSET and name not in declared.values}
        values = {**_values(kind, declared, ids), **silent}
        objects.append(Observed(kind.name, ids[address], values, path_ids(kinds, address.container, ids.get), {}))
    return ids, _with(kinds, Actual(), iter(objects))


def without_ids(plan: Plan, state: State) -> Plan:
    """The plan as people read it: without the ids that stand for objects here. What no request creates is assumed to exist."""
    keys = {bare(binding.id): address.key for address, binding in state.bindings.items()}
    blocked = tuple(replace(item, reason=_with_keys(item.reason, keys)) for item in plan.blocked)
    return replace(plan, changes=tuple(map(_without_id, plan.changes)), blocked=blocked, unmanaged=(), files_only=True)


def _without_id(change: Change) -> Change:
    # What has no title is called by its id.
    title = None if change.id is None or change.title == bare(change.id) else change.title
    reason = "must exist on the service" if Action.ADOPT in change.actions else change.reason
    return replace(change, id=None, title=title, reason=reason)


def _with_keys(text: str, keys: Mapping[str, str]) -> str:
    for id in sorted((id for id in keys if id in text), key=len, reverse=True):  # an id may begin with another one
        text = text.replace(id, keys[id])
    return text


def _with(kinds: Kinds, actual: Actual, more: Iterator[Observed]) -> Actual:
    """The same with more objects; everything was read completely."""
    objects = {name: dict(actual.objects.get(name, {})) for name in kinds}
    for observed in more:
        objects[observed.kind][observed.id] = observed
    scopes = {id for some in objects.values() for id in some}
    return replace(actual, objects=objects, complete=frozenset((name, id) for name in kinds for id in scopes))


def _adopted(kinds: Kinds, desired: Desired, known: Mapping[Address, str], shown: Container[str]) -> Iterator[Observed]:
    """The objects of a project that no create makes, containers first, less those that are `shown` already."""
    ids = dict(known)
    for address, declared in desired.resources.items():
        kind = kinds[declared.kind]
        if address in ids or (declared.id is None and "create" in kind.api):
            continue
        within = path_ids(kinds, address.container, ids.get)
        ids[address] = id = _identity(kind, address, declared, within)
        if id not in shown:
            yield Observed(kind.name, id, _values(kind, declared, ids), within, {"id": bare(id)})


def _identity(kind: Kind, address: Address, declared: Declared, within: Mapping[str, str]) -> str:
    """The id of an object that exists already, of which the files may say none. Siblings elsewhere may have the same key."""
    return kind.identity(declared.id or f"the-{kind.name}-{':'.join(address.parts)}", within)


def _as_written(kinds: Kinds, desired: Desired, state: State, shown: Actual) -> tuple[State, Actual]:
    """The same with every resource where and as it is written. One plan cannot reach that where objects of unknown origin exist: what it
    would move first, or may not change, is as declared all the same."""
    bindings = dict(state.bindings)
    ids = {address: binding.id for address, binding in bindings.items()}
    for address, declared in desired.resources.items():
        if address not in ids:
            kind, within = kinds[declared.kind], path_ids(kinds, address.container, ids.get)
            ids[address] = _identity(kind, address, declared, within)
    objects = {name: dict(some) for name, some in shown.objects.items()}
    lists: Counter[tuple[Address | None, str]] = Counter()
    chosen: dict[tuple[Key, str], str] = {}
    for rank, (address, declared) in enumerate(desired.resources.items()):
        kind, id = kinds[declared.kind], ids[address]
        within = path_ids(kinds, address.container, ids.get)
        new = Observed(kind.name, id, dict.fromkeys((name for name, _ in kind.stored_fields), UNSET), within, {"id": bare(id)})
        observed = objects[kind.name].get(id, new)
        values = {name: value for name, value in wanted(kind, declared, ids).items() if kind.fields[name] in _compared(kind)}
        chosen |= {((kind.name, id), name): value for name, value in values.items() if kind.fields[name].role is FieldRole.CHOICE}
        values = {name: value for name, value in values.items() if kind.fields[name].role is not FieldRole.CHOICE}
        observed = replace(observed, within=within, values={**observed.values, **values})
        objects[kind.name][id] = replace(observed, rank=rank if kind.ordered and is_ranked(kind, observed) else observed.rank)
        if declared.implied:
            continue
        place = Position(declared.parent, lists[declared.parent, declared.section]) if kind.ordered else None
        lists[declared.parent, declared.section] += kind.ordered
        stored = kind.stored(values, id)
        binding = bindings.get(address) or Binding(address, kind.name, id, Origin.ADOPTED)
        bindings[address] = replace(binding, sent={**binding.sent, **stored}, seen={**binding.seen, **stored}, place=place or binding.place)
    choose(kinds, objects, chosen)
    return replace(state, bindings=bindings), _with(kinds, shown, (observed for some in objects.values() for observed in some.values()))


def _compared(kind: Kind) -> list[Field]:
    return [field for _, field in kind.stored_fields if field.compared or field.key]


def _settled(kinds: Kinds, desired: Desired, state: State, shown: Actual) -> Iterator[Observed]:
    """The objects with the values that the service derives for them and those that only the project declares."""
    taken = {(kind, _within(observed), name, value) for kind, observed, name, value in _unique(kinds, shown)}
    for address, binding in state.bindings.items():
        kind, observed = kinds[binding.kind], shown.find(*binding.key)
        declared = desired.resources.get(address)
        if observed is None or declared is None:
            continue
        values = dict(observed.values)
        for name, field in kind.fields.items():
            if field.role is FieldRole.LOCAL:
                values[name] = declared.values.get(name, UNSET)
            elif field.derived is not None and values.get(name, UNSET) is UNSET:
                value = _derived(kind, observed, field, shown)
                if value is not None and (key := (kind.name, _within(observed), name, value)) not in taken:
                    taken.add(key)
                    values[name] = value
        yield replace(observed, values=values)


def _unique(kinds: Kinds, shown: Actual) -> Iterator[tuple[str, Observed, str, Any]]:
    """The values that siblings may not share."""
    for kind in kinds.values():
        names = [name for name, field in kind.fields.items() if field.unique]
        for observed in shown.objects.get(kind.name, {}).values():
            yield from ((kind.name, observed, name, observed.values.get(name)) for name in names)


def _within(observed: Observed) -> tuple[tuple[str, str], ...]:
    """The containers of an object, as a comparable value."""
    return tuple(sorted(observed.within.items()))


def _derived(kind: Kind, observed: Observed, field: Field, shown: Actual) -> str | None:
    """What the service derives from the source of a field; None where only the service knows it."""
    assert field.derived is not None
    source: Observed | None = observed
    if field.derived.reference is not None:
        reference = kind.fields[field.derived.reference]
        source = shown.find(str(reference.refers or reference.to), str(observed.values.get(reference.name)))
    text = source.values.get(field.derived.field) if source is not None else None
    return (field.derived.form(text) or None) if isinstance(text, str) else None


def _values(kind: Kind, declared: Declared, ids: Mapping[Address, str]) -> dict[str, Any]:
    """The values of an object that is as declared; values that refer to objects that do not exist yet are set later."""
    values = {name: value for name, value in wanted(kind, declared, ids).items() if not any(unresolved_addresses(value))}
    local = {
        name: declared.values[name] for name, field in kind.fields.items() if field.role is FieldRole.LOCAL and name in declared.values
    }
    return {**{name: value for name, field in kind.stored_fields if (value := values.get(name, _silent(field))) is not UNSET}, **local}


def _silent(field: Field) -> Any:
    """The value of a field that is not declared."""
    return None if field.readable and (field.clear or field.container) and field.role is not FieldRole.CHOICE else UNSET


# -- published URLs ----------------------------------------------------------------------------------------------------------------


class PublishedUrls:
    """Gives objects the published URLs that follow from the paths of what contains them. Without a host, which files do not contain."""

    def __init__(self, kinds: Kinds, shown: Actual) -> None:
        self.kinds, self.shown = kinds, shown
        self._urls: dict[tuple[str, str], str | None] = {}
        self._segments = {
            name: segment
            for name, kind in kinds.items()
            if kind.published is not None
            and (segment := next((field for field in kind.fields.values() if field.address == "segment"), None))
        }

    def actual(self) -> Actual:
        """The given objects, with the URLs."""
        objects = dict(self.shown.objects)
        for name in self._segments:
            objects[name] = {id: self._addressed(self.kinds[name], observed) for id, observed in objects.get(name, {}).items()}
        return replace(self.shown, objects=objects)

    def _addressed(self, kind: Kind, observed: Observed) -> Observed:
        url = self._url(kind, observed)
        if url is None or kind.published is None:
            return observed
        raw: Any = url
        for key in reversed(kind.published.at.split(".")):
            raw = {key: raw}
        return replace(observed, raw={**observed.raw, **raw})

    def _url(self, kind: Kind, observed: Observed) -> str | None:
        key = (kind.name, observed.id)
        if key not in self._urls:
            path = observed.values.get(self._segments[kind.name].name)
            outer = self._outer(kind, observed)
            start = self._url(*outer) if outer is not None else ""
            self._urls[key] = "/".join(filter(None, [start, quote(path)])) if isinstance(path, str) and start is not None else None
        return self._urls[key]

    def _outer(self, kind: Kind, observed: Observed) -> tuple[Kind, Observed] | None:
        """The nearest object with a path of its own that contains an object; None where there is none."""
        ids = [(str(field.to), str(observed.values.get(field.name))) for field in kind.location_fields]
        for name, id in (*ids, *reversed(tuple(observed.within.items()))):
            item = self.shown.find(name, id) if name in self._segments else None
            if item is not None:
                return self.kinds[name], item
        return None


def choose(kinds: Kinds, objects: dict[str, dict[str, Observed]], chosen: Mapping[tuple[Key, str], str]) -> None:
    """Set the flags of the children of which their parent chose another one before."""
    for kind in kinds.values():
        for flag in kinds.flags(kind.name) if chosen else ():
            for id, observed in list(objects.get(kind.name, {}).items()):
                parent = chooser(kinds, kind, flag, observed)
                last = chosen.get(((parent[0], parent[1]), parent[2].name)) if parent is not None else None
                if last is not None:
                    objects[kind.name][id] = replace(observed, flags={**observed.flags, flag: id == last})
