"""An object whose readers cannot be limited on create first shows something that they can read already. Pure.

A create may take no condition, so that what it shows would be open until the next request. In: the steps of a plan, and what would be open.
Out: the same steps, with such creates showing a stand-in, and a last step for each that shows the declared object.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Step
from reconciler.plan.audience.barriers import Worlds
from reconciler.plan.audience.readers import Access, Audiences, included
from reconciler.plan.containment import Key
from reconciler.plan.derived import Derivation
from reconciler.plan.steps.requests import body_of
from reconciler.resource import Field, Kind, Kinds, placeholders


@dataclass(frozen=True)
class ShownByCreate:
    """What a create shows: `carrier`: the field of its request, `child` and `field`: the object and its field that show it, `key`: what."""

    carrier: Field
    child: Address
    kind: Kind
    field: Field
    key: Key


def shown_by(kinds: Kinds, step: Step, worlds: Worlds) -> ShownByCreate | None:
    """What a create shows, by itself or by a child that it brings; None where it shows nothing."""
    kind = kinds[step.kind]
    pairs = [(step.address, kind, name, name) for name in kind.audience.shows] if kind.audience is not None else []
    for name, _, child in step.brings:
        first, audience = kind.first, kinds[name].audience
        if first is not None and first.to == name and first.child_field is not None and audience is not None:
            pairs += [(child, kinds[name], first.name, shown) for shown in audience.shows if shown == first.child_field]
    for address, shower, carrier, name in pairs:
        value, field = step.writes.get(carrier), shower.fields[name]
        id = worlds.ids.get(value) if isinstance(value, Address) else value
        if isinstance(id, str) and field.refers is not None:
            return ShownByCreate(kind.fields[carrier], address, shower, field, (field.refers, id))
    return None


class StandIns:
    """Objects that certain readers can read before the plan and after it, and that are in one container all the time."""

    def __init__(self, kinds: Kinds, worlds: Worlds) -> None:
        self.kinds, self.worlds = kinds, worlds
        self._known: dict[tuple[str, str | None, frozenset[Access]], str | None] = {}

    def find(self, key: Key, accesses: frozenset[Access]) -> str | None:
        """The id of a stand-in of the same kind, in the container of this object; None where there is none."""
        kind, container = key[0], _container(self.kinds, self.worlds.after, key)
        if (kind, container, accesses) not in self._known:
            before, after = self.worlds.before, self.worlds.after
            # In the container before the plan and after it, because an object is never shown outside its own; and read by them both times.
            self._known[kind, container, accesses] = next(
                (
                    id
                    for id in sorted(before.objects.get(kind, {}))
                    if all(_container(self.kinds, world, (kind, id)) == container for world in (before, after))
                    and all(included(access, world.of((kind, id))) for access in accesses for world in (before, after))
                ),
                None,
            )
        return self._known[kind, container, accesses]


def _container(kinds: Kinds, world: Audiences, key: Key) -> str | None:
    """The id of the container that an object is in; None where the object does not exist."""
    observed = world.objects.get(key[0], {}).get(key[1])
    return observed.within.get(str(kinds[key[0]].within)) if observed is not None else None


def with_stand_ins(
    kinds: Kinds,
    steps: Sequence[Step],
    worlds: Worlds,
    open_for: Mapping[Key, Collection[Access]],
    late: Collection[int],
    derived: Mapping[Address, Derivation] = {},
) -> tuple[Step, ...]:
    """The steps, with a stand-in in each create of `late` that would open something; the same tuple where no stand-in exists.

    `open_for`: what would be open for a while, and to whom. `late`: the steps before which an audience should have been narrowed.
    `derived`: what the service would derive from the declared object, and now derives from the stand-in.
    """
    stand_ins, result, last = StandIns(kinds, worlds), list(steps), max(step.id for step in steps)
    changed = False
    for index, step in enumerate(steps):
        shown = shown_by(kinds, step, worlds) if step.verb == "create" and step.id in late else None
        accesses = frozenset(open_for.get(shown.key, ())) if shown is not None else frozenset()
        id = stand_ins.find(shown.key, accesses) if shown is not None and accesses else None
        if shown is None or id is None or id == shown.key[1]:
            continue
        meant = _meant(kinds, step, shown, last + 1, derived.get(shown.child))
        if meant is None:
            continue
        writes = {**step.writes, shown.carrier.name: id}
        identity = {**step.identity, shown.carrier.name: id} if shown.carrier.name in step.identity else step.identity
        body = {**step.body, shown.carrier.wire: id}
        result[index] = replace(step, writes=writes, body=body, identity=identity)
        result.append(meant)
        last, changed = last + 1, True
    return tuple(result) if changed else tuple(steps)


def _meant(kinds: Kinds, step: Step, shown: ShownByCreate, number: int, derived: Derivation | None) -> Step | None:
    """The step that shows the declared object, with what the service derives from it; None where no request on an existing object can do
    that."""
    verb = next((verb for verb in shown.kind.update_verbs if shown.field in shown.kind.sent_by(verb.name)), None)
    if verb is None:
        return None
    writes: dict[str, Any] = {shown.field.name: step.writes[shown.carrier.name]}
    if derived is not None and derived.shown and derived.derived.reference == shown.field.name:
        if derived.value is None or derived.field not in shown.kind.sent_by(verb.name):
            return None
        writes[derived.field.name] = derived.value
    return Step(
        id=number,
        address=shown.child,
        kind=shown.kind.name,
        verb=verb.name,
        method=verb.method,
        path=_path(kinds, verb.path, shown.child, step),
        body=body_of(shown.kind, writes),
        writes=writes,
        target=shown.child,
        needs=frozenset({step.id, *step.needs}),
    )


def _path(kinds: Kinds, template: str, address: Address, step: Step) -> tuple[str | Address, ...]:
    """The path of a request on an object that the plan creates, with the ids that the path of its create contains."""
    own_path = kinds[step.kind].api[step.verb].path
    filled = [part for hole, part in zip(own_path.strip("/").split("/"), step.path, strict=True) if hole.startswith("{")]
    known = dict(zip(placeholders(own_path), filled, strict=False))
    holes: dict[str, str | Address] = {"id": address}
    for name in placeholders(template):
        if name not in holes:
            holes[name] = known[name] if name in known else kinds.container(address, name)
    return tuple(holes[part[1:-1]] if part.startswith("{") else part for part in template.strip("/").split("/"))
