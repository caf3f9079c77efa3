"""What is broken or expires in an organization, whether or not it is as declared. Pure; nothing more is read for it.

In: one reading, and the drift that was computed from it. Out: concerns, and sentences about what cannot be known. What a plan would break
is not a concern: it is broken only if somebody applies the plan, whose report says so.

- `concerns`: published URLs, how the service processes objects, certificates and names with a date; `exposures`: readers
- `inputs`: the reading and the drift
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.drift.model import Drift, Drifted, DriftWord
from reconciler.features.health.model import CheckResult, Concern, Sort
from reconciler.model import Actual, Delta, Desired, Observed, State
from reconciler.plan.audience.agreed import agreed_value
from reconciler.plan.audience.disclosure import caller, local_values, with_local
from reconciler.plan.audience.openings import Opening, openings
from reconciler.plan.audience.readers import Audiences, order
from reconciler.plan.containment import Key, copied, service_copies
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.warnings.exposure import path_text, reader_text
from reconciler.plan.warnings.limits import limits_of
from reconciler.plan.warnings.notes import is_read
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds, ProcessingField
from reconciler.text.certificate import expiry
from reconciler.text.names import until

__all__ = ["HealthInputs", "free_checks", "health"]


def health(inputs: HealthInputs, *, unseen: str = "") -> tuple[tuple[Concern, ...], tuple[str, ...]]:
    """The concerns about what was read, and a sentence for each unknown because of which it cannot be called healthy.

    `unseen`: why it is unknown what was changed outside Reconciler, "" where it is known."""
    exposures = exposure_concerns(inputs) if not unseen else ()
    lines = [*url_concerns(inputs), *processing_concerns(inputs), *expiry_concerns(inputs), *payment_concerns(inputs), *exposures]
    concerns = dict.fromkeys(line for line in lines if isinstance(line, Concern))
    unread = [line for line in lines if isinstance(line, str)]
    return tuple(concerns), tuple(dict.fromkeys([*_unread(inputs, unseen), *unread]))


def _unread(inputs: HealthInputs, unseen: str) -> Iterator[str]:
    if unseen:
        yield f"nobody knows what was changed outside Reconciler: {unseen}"
    yield from _not_read(inputs)


def _not_read(inputs: HealthInputs) -> Iterator[str]:
    for unknown in inputs.actual.unknown:
        yield f"{unknown.what} could not be read: {unknown.reason}"


def free_checks(inputs: HealthInputs, *, unseen: str = "") -> tuple[CheckResult, ...]:
    """The same as checks: what each looked at cost no request of its own. `unseen`: as in `health`."""

    def check(name: str, lines: Iterable[Concern | str], unread: Iterable[str] = ()) -> CheckResult:
        lines = list(dict.fromkeys(lines))
        concerns = tuple(line for line in lines if isinstance(line, Concern))
        texts = dict.fromkeys([*unread, *(line for line in lines if isinstance(line, str))])
        return CheckResult(name, at=inputs.now, concerns=concerns, unread=tuple(texts))

    outside = [f"nobody knows what was changed outside Reconciler: {unseen}"] if unseen else []
    return (
        check("reading", (), _not_read(inputs)),
        check("exposures", exposure_concerns(inputs) if not unseen else (), outside),
        check("publishedUrls", url_concerns(inputs)),
        check("processing", processing_concerns(inputs)),
        check("expiry", expiry_concerns(inputs)),
        check("payments", payment_concerns(inputs)),
    )


# -- the inputs --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HealthInputs:
    """One reading, and what was computed from it. `now`: the time of the reading. `only`: the objects to look at; None: all."""

    kinds: Kinds
    desired: Desired
    state: State
    actual: Actual
    drift: Drift
    now: datetime
    only: frozenset[Key] | None = None

    @cached_property
    def matches(self) -> Matches:
        return identify(self.kinds, self.desired, self.state, self.actual)

    @cached_property
    def managed(self) -> Mapping[Key, Address]:
        """The addresses of the objects that are declared."""
        resources = self.desired.resources
        return {(resources[address].kind, id): address for address, id in self.matches.ids.items() if not resources[address].implied}

    @cached_property
    def called(self) -> Callable[[Key], Address]:
        """The address of an object, managed or not."""
        addresses = {(self.desired.resources[address].kind, id): address for address, id in self.matches.ids.items()}
        return caller(self.kinds, addresses, self.actual.objects, self.actual.objects)

    def objects(self) -> Iterator[tuple[Kind, Observed]]:
        """Everything that was read and is not deleted, as far as it is to be looked at."""
        for name, some in self.actual.objects.items():
            for observed in some.values():
                if observed.deleted_at is None and (self.only is None or (name, observed.id) in self.only):
                    yield self.kinds[name], observed

    def concern(self, sort: Sort, kind: Kind, observed: Observed, sentence: str) -> Concern:
        return Concern(sort, str(self.called((kind.name, observed.id))), sentence)


LONG: Final = timedelta(hours=1)  # unfinished work that is older than this is not expected to finish

# -- published URLs ----------------------------------------------------------------------------------------------------------------


def url_concerns(inputs: HealthInputs) -> Iterator[Concern]:
    """Concerns for URLs that a change outside Reconciler has broken, or that show nothing."""
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
            if _had_url(inputs, kind, resource):
                yield Concern(Sort.LINKS, str(resource.address), "it was deleted outside Reconciler, and its published URL with it")
            continue
        changed = [delta for delta in resource.fields if _breaks(kind, delta)]
        if changed:
            values = " and ".join(f"{delta.name} {_text(delta.last)} -> {_text(delta.before)}" for delta in changed)
            yield Concern(Sort.LINKS, str(resource.address), f"its published URL was changed outside Reconciler: {values}")


def _had_url(inputs: HealthInputs, kind: Kind, resource: Drifted) -> bool:
    """Whether a deleted object was published, as far as it shows: its URLs ended with it, or its own setting said so."""
    if any(resource.address in group.addresses and group.urls for group in inputs.drift.groups):
        return True
    binding = inputs.matches.binding(resource.address)
    unless = kind.published.unless if kind.published is not None else None
    if unless is None or binding is None:
        return False
    return bool({**binding.sent, **binding.seen}.get(unless[0]) != unless[1])


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
    if kind.url(observed.raw) is None or not is_read(inputs.kinds, inputs.actual, kind, observed):
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


def _state(inputs: HealthInputs, kind: Kind, processing: ProcessingField, observed: Observed) -> Iterator[Concern | str]:
    state, since = _at(observed.raw, processing.state), _moment(_at(observed.raw, processing.changed_at))
    error = _at(observed.raw, processing.error) if processing.error else None
    if error:
        yield inputs.concern(Sort.PROCESSING, kind, observed, f"the service could not process it: {error}")
    elif not isinstance(state, str):
        yield f"the service does not say whether it has processed {inputs.called((kind.name, observed.id))}"
    elif state in processing.done:
        return
    elif since is not None and inputs.now - since > LONG:
        sentence = f"the service has not finished it since {since:%Y-%m-%d %H:%M} UTC: it is {state}"
        yield inputs.concern(Sort.PROCESSING, kind, observed, sentence)
    else:
        yield f"the service is still working on {inputs.called((kind.name, observed.id))}: it is {state}"


def _behind(inputs: HealthInputs, kind: Kind, processing: ProcessingField, observed: Observed) -> Iterator[Concern | str]:
    for field in kind.service_copies:
        to, original = str(field.to), observed.values.get(str(field.copies))
        if not isinstance(original, str) or not isinstance(observed.values.get(field.name), str):
            continue  # it has no result yet; its own state is reported
        source = inputs.actual.find(to, original)
        changed = _moment(_at(source.raw, processing.changed_at)) if source is not None else None
        worked = _moment(_at(observed.raw, processing.changed_at))
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
                what = f"its {field.name}" if field.expires == "certificate" else f"by its {field.name}, it"
                yield replace(inputs.concern(Sort.EXPIRY, kind, observed, f"{what} ends on {day}"), until=day)
            elif field.expires == "certificate":
                yield f"nobody can read when the {field.name} of {inputs.called((kind.name, observed.id))} ends"


def _day(field: Field, value: Any) -> date | None:
    if not isinstance(value, str):
        return None
    if field.expires == "certificate":
        return expiry(value)
    return _day_of(until(value) or "")


def _day_of(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


# -- payments ----------------------------------------------------------------------------------------------------------------------


def payment_concerns(inputs: HealthInputs) -> Iterator[Concern]:
    """A concern for each thing about payments because of which the service may refuse requests, or will from a day on."""
    for kind, observed in inputs.objects():
        for limit in limits_of(kind, observed):
            concern = inputs.concern(Sort.PAYMENT, kind, observed, f"it {limit.says}")
            yield replace(concern, until=_day_of(limit.until))


# -- exposures outside Reconciler --------------------------------------------------------------------------------------------------


Objects = Mapping[str, Mapping[str, Observed]]


def exposure_concerns(inputs: HealthInputs) -> Iterator[Concern]:
    """A concern for each cause of more readers, and for each other field with which somebody opened something."""
    drifted = [resource for resource in inputs.drift.resources if resource.status is not DriftWord.DELETED and resource.id is not None]
    consented = _consented(inputs, drifted)
    if consented is None:
        return
    for resource in drifted:
        yield from _settings(inputs, resource, consented)
    local, actual = local_values(inputs.kinds, inputs.desired), inputs.actual
    before, after = (
        Audiences(
            inputs.kinds,
            with_local(local, inputs.matches.ids, objects),
            complete=actual.complete,
            copies=copied(inputs.kinds, actual.objects),
        )
        for objects in (consented, actual.objects)
    )
    widest_first = sorted(openings(inputs.kinds, before, after), key=lambda opening: [order(access) for access in opening.readers])
    for opening in widest_first:
        if any(_concerns(inputs, key) for key in (opening.at, *(key for key, _ in opening.opened))):
            yield _opening_concern(inputs, opening, actual)


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
        binding, now = inputs.matches.binding(resource.address), inputs.actual.find(resource.kind, str(resource.id))
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
    # What is tracked and no longer declared was consented to when it was applied; until a plan deletes it, it is public on purpose.
    for name, some in inputs.actual.objects.items():
        if _leads(inputs.kinds[name]):
            for id in some:
                if not any((name, id) in known for known in (inputs.managed, inputs.state.addresses, made)):
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


def _opening_concern(inputs: HealthInputs, opening: Opening, actual: Actual) -> Concern:
    readers = dict.fromkeys(reader_text(actual.objects, inputs.called, opening.at, access) for access in opening.readers)
    way = " -> ".join(path_text(inputs.called, opening.path))
    unmanaged = opening.cause not in inputs.managed
    cause = (
        f"{inputs.called(opening.cause)} is unmanaged" if unmanaged else f"{inputs.called(opening.cause)} was changed outside Reconciler"
    )
    return Concern(Sort.EXPOSURE, str(inputs.called(opening.at)), f"it can be read by {'; '.join(readers)} ({way}): {cause}")
