"""What somebody can read or do because of a change outside Reconciler, to which nobody consented. Pure.

In: the organization as it is, and as it would be if every drifted field still had its last applied value and no unmanaged object showed or
opened anything. Out: what is wider in the former. Readers are those of the audience model (docs/decisions/0007-audiences.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.model import Actual, Concern, Observed, Sort
from reconciler.plan.audience.agreed import agreed_value
from reconciler.plan.audience.disclosure import said_of, with_said
from reconciler.plan.audience.openings import Opening, openings
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.containment import Key
from reconciler.plan.drift import Drifted, DriftWord
from reconciler.plan.health.inputs import HealthInputs
from reconciler.plan.matching.service_copies import copied, service_copies
from reconciler.plan.warnings.exposure import path_text, reader_text
from reconciler.resource import UNSET, Kind

Objects = Mapping[str, Mapping[str, Observed]]


def exposure_concerns(inputs: HealthInputs) -> Iterator[Concern]:
    """A concern for each cause of more readers, and for each other field with which somebody opened something."""
    drifted = [resource for resource in inputs.drift.resources if resource.status is not DriftWord.DELETED and resource.id is not None]
    consented = _consented(inputs, drifted)
    if consented is None:
        return
    for resource in drifted:
        yield from _settings(inputs, resource, consented)
    said, actual = said_of(inputs.kinds, inputs.desired), inputs.actual
    before, after = (
        Audiences(
            inputs.kinds, with_said(said, inputs.found.ids, objects), complete=actual.complete, copies=copied(inputs.kinds, actual.objects)
        )
        for objects in (consented, actual.objects)
    )
    for opening in openings(inputs.kinds, before, after):
        if any(_concerns(inputs, key) for key in (opening.at, *(key for key, _ in opening.opened))):
            yield _line(inputs, opening, actual)


def _concerns(inputs: HealthInputs, key: Key) -> bool:
    """Whether an object is managed, or opens a managed one."""
    audience, observed = inputs.kinds[key[0]].audience, inputs.actual.find(*key)
    opens = audience.opens if audience is not None else None
    outer = observed.within.get(opens or "", "") if observed is not None else ""
    return key in inputs.managed or (str(opens), outer) in inputs.managed


def _consented(inputs: HealthInputs, drifted: list[Drifted]) -> Objects | None:
    """The objects as they were last consented to; None where none differs from the objects now."""
    objects: dict[str, dict[str, Observed]] = {name: dict(some) for name, some in inputs.actual.objects.items()}
    changed = False
    for resource in drifted:
        binding, now = inputs.found.binding(resource.address), inputs.actual.find(resource.kind, str(resource.id))
        if binding is None or now is None:
            continue
        known = {
            delta.name: agreed_value(inputs.kinds[resource.kind].fields[delta.name], now.values.get(delta.name, UNSET), binding)
            for delta in resource.fields
            if not delta.sensitive and delta.name in inputs.kinds[resource.kind].fields
        }
        objects[resource.kind][now.id] = replace(now, values={**now.values, **known})
        changed = changed or bool(known)
    made = service_copies(inputs.kinds, inputs.actual.objects)
    for name, some in inputs.actual.objects.items():
        for id in some if _leads(inputs.kinds[name]) else ():
            if (name, id) not in inputs.managed and (name, id) not in made:
                del objects[name][id]
                changed = True
    return objects if changed else None


def _leads(kind: Kind) -> bool:
    """Whether objects of a kind admit their readers to other objects without containing them."""
    return kind.audience is not None and bool(kind.audience.shows or kind.audience.opens)


def _settings(inputs: HealthInputs, resource: Drifted, consented: Objects) -> Iterator[Concern]:
    """The fields that open something other than read access."""
    kind = inputs.kinds[resource.kind]
    modelled = {*kind.audience.gates, *kind.audience.inherits} if kind.audience is not None else set()
    now, then = inputs.actual.objects[kind.name][str(resource.id)], consented[kind.name][str(resource.id)]
    for delta in resource.fields:
        field = kind.fields.get(delta.name)
        if field is None or field.exposes is None or field.name in modelled:
            continue
        if delta.sensitive or field.exposes.opened(then.values.get(field.name, UNSET), now.values.get(field.name, UNSET)):
            yield Concern(Sort.EXPOSURE, str(resource.address), f"{field.exposes.says}: {field.name} was changed outside Reconciler")


def _line(inputs: HealthInputs, opening: Opening, actual: Actual) -> Concern:
    readers = dict.fromkeys(reader_text(actual.objects, inputs.called, opening.at, access) for access in opening.readers)
    way = " -> ".join(path_text(inputs.called, opening.path))
    unmanaged = opening.cause not in inputs.managed
    cause = (
        f"{inputs.called(opening.cause)} is unmanaged" if unmanaged else f"{inputs.called(opening.cause)} was changed outside Reconciler"
    )
    return Concern(Sort.EXPOSURE, str(inputs.called(opening.at)), f"it can be read by {'; '.join(readers)} ({way}): {cause}")
