"""What works badly or not for much longer: published URLs, objects that the service processes, and what expires on a date. Pure.

In: the inputs of health. Out: concerns, and a sentence for what cannot be known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from reconciler.model import Concern, Delta, Observed, Sort
from reconciler.plan.drift import DriftWord
from reconciler.plan.health.inputs import HealthInputs
from reconciler.resource import UNSET, Field, FieldRole, Kind, ProcessingField
from reconciler.text.certificate import expiry
from reconciler.text.times import until

LONG: Final = timedelta(hours=1)  # unfinished work that is older than this is not expected to finish

# -- published URLs ----------------------------------------------------------------------------------------------------------------


def url_concerns(inputs: HealthInputs) -> Iterator[Concern]:
    """Concerns for URLs that the plan breaks, that a change outside Reconciler has broken, or that show nothing."""
    for url in inputs.plan.broken:
        broken = url.before or "its published URL"
        yield Concern(Sort.LINKS, str(url.address), f"{broken} stops working when the plan is applied: {url.reason}")
    yield from _broken_outside(inputs)
    for kind, observed in inputs.objects():
        if kind.published is not None and _is_empty(inputs, kind, observed):
            published = kind.url(observed.raw)
            yield inputs.concern(Sort.LINKS, kind, observed, f"readers find nothing at {published}: it contains nothing")


def _broken_outside(inputs: HealthInputs) -> Iterator[Concern]:
    for resource in inputs.drift.resources:
        kind = inputs.kinds[resource.kind]
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


def _is_empty(inputs: HealthInputs, kind: Kind, observed: Observed) -> bool:
    """Whether readers see one part of the object first, and complete lists show that it has none."""
    parts = [field.to for field in kind.fields.values() if field.role is FieldRole.CHOICE and field.to is not None]
    inside = [part for part in parts if inputs.kinds[part].within == kind.name]
    if not inside or inside != parts or any((part, observed.id) not in inputs.actual.complete for part in inside):
        return False
    if kind.url(observed.raw) is None or not inputs.is_read(kind, observed):
        return False
    return not any(part.within.get(kind.name) == observed.id for name in inside for part in inputs.actual.objects.get(name, {}).values())


# -- processing --------------------------------------------------------------------------------------------------------------------


def processing_concerns(inputs: HealthInputs) -> Iterator[Concern | str]:
    """A concern for each object for which the service failed or whose result is outdated; a sentence where that is unknown, or work
    continues."""
    for kind, observed in inputs.objects():
        if kind.work is not None:
            yield from _state(inputs, kind, kind.work, observed)
            yield from _behind(inputs, kind, kind.work, observed)


def _state(inputs: HealthInputs, kind: Kind, word: ProcessingField, observed: Observed) -> Iterator[Concern | str]:
    state, since = _at(observed.raw, word.state), _moment(_at(observed.raw, word.changed_at))
    error = _at(observed.raw, word.error) if word.error else None
    if error:
        yield inputs.concern(Sort.PROCESSING, kind, observed, f"the service could not process it: {error}")
    elif not isinstance(state, str):
        yield f"the service does not say whether it has processed {inputs.called((kind.name, observed.id))}"
    elif state in word.done:
        return
    elif since is not None and inputs.now - since > LONG:
        sentence = f"the service has not finished it since {since:%Y-%m-%d %H:%M} UTC: it is {state}"
        yield inputs.concern(Sort.PROCESSING, kind, observed, sentence)
    else:
        yield f"the service is still working on {inputs.called((kind.name, observed.id))}: it is {state}"


def _behind(inputs: HealthInputs, kind: Kind, word: ProcessingField, observed: Observed) -> Iterator[Concern | str]:
    for field in kind.service_copies:
        to, original = str(field.to), observed.values.get(str(field.copies))
        if not isinstance(original, str) or not isinstance(observed.values.get(field.name), str):
            continue  # it has no result yet; its own state is reported
        source = inputs.actual.find(to, original)
        changed = _moment(_at(source.raw, word.changed_at)) if source is not None else None
        worked = _moment(_at(observed.raw, word.changed_at))
        called = inputs.called((kind.name, observed.id))
        if changed is None or worked is None:
            yield f"nobody knows whether {called} is behind: the service does not say when it, or what it copies, changed"
        elif changed > worked:
            times = f"{changed:%Y-%m-%d %H:%M}, after its last run at {worked:%Y-%m-%d %H:%M} UTC"
            yield inputs.concern(Sort.BEHIND, kind, observed, f"what it copies, {inputs.called((to, original))}, changed at {times}")


def _at(raw: Mapping[str, Any], path: str) -> Any:
    """The value of a response at a dotted path; None where there is none."""
    value: Any = raw
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _moment(value: Any) -> datetime | None:
    """The time that a text of the service gives; None where it is not a time."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)


# -- expiry ------------------------------------------------------------------------------------------------------------------------


def expiry_concerns(inputs: HealthInputs) -> Iterator[Concern | str]:
    """A concern for each known expiry, however far away it is, and a sentence for each certificate that cannot be read."""
    fields = {name: [field for field in kind.fields.values() if field.expires] for name, kind in inputs.kinds.items()}
    for kind, observed in inputs.objects():
        unless = kind.published.unless if kind.published is not None else None
        if not fields[kind.name] or (unless is not None and observed.values.get(unless[0]) == unless[1]):
            continue
        for field in fields[kind.name]:
            value = observed.values.get(field.name, UNSET)
            day = _day(field, value)
            if day is not None:
                yield replace(inputs.concern(Sort.EXPIRY, kind, observed, f"its {field.name} ends on {day}"), until=day)
            elif field.expires == "certificate":
                yield f"nobody can read when the {field.name} of {inputs.called((kind.name, observed.id))} ends"


def _day(field: Field, value: Any) -> date | None:
    if not isinstance(value, str):
        return None
    if field.expires == "certificate":
        return expiry(value)
    try:
        return date.fromisoformat(until(value) or "")
    except ValueError:
        return None
