"""Published URLs that do not work, will not work, or show nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.model import Concern, Delta, Observed, Sort
from reconciler.plan.drift import DriftWord
from reconciler.plan.health.given import HealthInputs
from reconciler.resource import FieldRole, Kind


def links(given: HealthInputs) -> Iterator[Concern]:
    """Concerns for URLs that the plan breaks, that a change outside Reconciler has broken, or that show nothing."""
    for url in given.plan.broken:
        broken = url.before or "its published URL"
        yield Concern(Sort.LINKS, str(url.address), f"{broken} stops working when the plan is applied: {url.reason}")
    yield from _broken_outside(given)
    for kind, observed in given.objects():
        if kind.published is not None and _is_empty(given, kind, observed):
            published = kind.url(observed.raw)
            yield given.concern(Sort.LINKS, kind, observed, f"readers find nothing at {published}: it contains nothing")


def _broken_outside(given: HealthInputs) -> Iterator[Concern]:
    for resource in given.drift.resources:
        kind = given.kinds[resource.kind]
        if kind.published is None:
            continue
        if resource.status is DriftWord.DELETED:
            yield Concern(Sort.LINKS, str(resource.address), "it was deleted outside Reconciler, and its published URL with it")
            continue
        changed = [delta for delta in resource.fields if _breaks(kind, delta)]
        if changed:
            values = " and ".join(f"{delta.name} {_text(delta.last)} -> {_text(delta.before)}" for delta in changed)
            yield Concern(Sort.LINKS, str(resource.address), f"its published URL was changed outside Reconciler: {values}")


def _breaks(kind: Kind, delta: Delta) -> bool:
    field = kind.fields.get(delta.name)
    if field is None or delta.sensitive or not isinstance(delta.last, str | bool):
        return False
    return bool(field.address) or (delta.last in field.opens and delta.before not in field.opens)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_empty(given: HealthInputs, kind: Kind, observed: Observed) -> bool:
    """Whether readers see one part of the object first, and complete lists show that it has none."""
    parts = [field.to for field in kind.fields.values() if field.role is FieldRole.CHOICE and field.to is not None]
    inside = [part for part in parts if given.kinds[part].within == kind.name]
    if not inside or inside != parts or any((part, observed.id) not in given.actual.complete for part in inside):
        return False
    if kind.url(observed.raw) is None or not given.is_read(kind, observed):
        return False
    return not any(part.within.get(kind.name) == observed.id for name in inside for part in given.actual.objects.get(name, {}).values())
