"""What somebody can read or do because of a change outside Reconciler, to which nobody consented. Pure.

In: the organization as it is, and as it would be if every drifted field still had its last applied value and no unmanaged object showed or
opened anything. Out: what is wider in the former. Readers are those of the audience model (docs/decisions/0007-audiences.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.model import Actual, Concern, Observed, Sort
from reconciler.plan.audience.disclosure import said_of, with_said
from reconciler.plan.audience.openings import Opening, openings
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.drift import Drifted, DriftWord
from reconciler.plan.health.given import HealthInputs, Key
from reconciler.plan.matching.service_copies import copied, service_copies
from reconciler.plan.warnings.exposure import path_text, reader_text
from reconciler.resource import UNSET, Kind

Objects = Mapping[str, Mapping[str, Observed]]


def opened(given: HealthInputs) -> Iterator[Concern]:
    """A concern for each cause of more readers, and for each other field with which somebody opened something."""
    drifted = [resource for resource in given.drift.resources if resource.status is not DriftWord.DELETED and resource.id is not None]
    agreed = _agreed(given, drifted)
    if agreed is None:
        return
    for resource in drifted:
        yield from _settings(given, resource, agreed)
    said, actual = said_of(given.kinds, given.desired), given.actual
    before, after = (
        Audiences(
            given.kinds, with_said(said, given.found.ids, objects), complete=actual.complete, copies=copied(given.kinds, actual.objects)
        )
        for objects in (agreed, actual.objects)
    )
    for opening in openings(given.kinds, before, after):
        if any(_concerns(given, key) for key in (opening.at, *(key for key, _ in opening.opened))):
            yield _line(given, opening, actual)


def _concerns(given: HealthInputs, key: Key) -> bool:
    """Whether an object is managed, or opens a managed one."""
    audience, observed = given.kinds[key[0]].audience, given.actual.find(*key)
    opens = audience.opens if audience is not None else None
    outer = observed.within.get(opens or "", "") if observed is not None else ""
    return key in given.managed or (str(opens), outer) in given.managed


def _agreed(given: HealthInputs, drifted: list[Drifted]) -> Objects | None:
    """The objects as they were last consented to; None where none differs from the objects now."""
    objects: dict[str, dict[str, Observed]] = {name: dict(some) for name, some in given.actual.objects.items()}
    changed = False
    for resource in drifted:
        binding, now = given.found.binding(resource.address), given.actual.find(resource.kind, str(resource.id))
        if binding is None or now is None:
            continue
        fields = {delta.name for delta in resource.fields if not delta.sensitive}
        last = {name: binding.seen.get(name, binding.sent.get(name, UNSET)) for name in fields}
        known = {name: value for name, value in last.items() if value is not UNSET}
        objects[resource.kind][now.id] = replace(now, values={**now.values, **known})
        changed = changed or bool(known)
    made = service_copies(given.kinds, given.actual.objects)
    for name, some in given.actual.objects.items():
        for id in some if _leads(given.kinds[name]) else ():
            if (name, id) not in given.managed and (name, id) not in made:
                del objects[name][id]
                changed = True
    return objects if changed else None


def _leads(kind: Kind) -> bool:
    """Whether objects of a kind admit their readers to other objects without containing them."""
    return kind.audience is not None and bool(kind.audience.shows or kind.audience.opens)


def _settings(given: HealthInputs, resource: Drifted, agreed: Objects) -> Iterator[Concern]:
    """The fields that open something other than read access."""
    kind = given.kinds[resource.kind]
    modelled = {*kind.audience.gates, *kind.audience.inherits} if kind.audience is not None else set()
    now, then = given.actual.objects[kind.name][str(resource.id)], agreed[kind.name][str(resource.id)]
    for delta in resource.fields:
        field = kind.fields.get(delta.name)
        if field is None or field.exposes is None or field.name in modelled:
            continue
        if delta.sensitive or field.exposes.opened(then.values.get(field.name, UNSET), now.values.get(field.name, UNSET)):
            yield Concern(Sort.EXPOSURE, str(resource.address), f"{field.exposes.says}: {field.name} was changed outside Reconciler")


def _line(given: HealthInputs, opening: Opening, actual: Actual) -> Concern:
    readers = dict.fromkeys(reader_text(actual.objects, given.called, opening.at, access) for access in opening.readers)
    way = " -> ".join(path_text(given.called, opening.path))
    unmanaged = opening.cause not in given.managed
    cause = f"{given.called(opening.cause)} is unmanaged" if unmanaged else f"{given.called(opening.cause)} was changed outside Reconciler"
    return Concern(Sort.EXPOSURE, str(given.called(opening.at)), f"it can be read by {'; '.join(readers)} ({way}): {cause}")
