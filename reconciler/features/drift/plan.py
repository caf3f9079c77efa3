"""Drift: what was changed outside Reconciler since our last write. Pure; derived from a plan, as actual against last-applied.

In: the inputs of a plan, and the plan. Out: `Drift`, including the assertions of the project that are not met. What is declared but not
applied yet, or no longer declared, is not drift; what could not be read is reported, and never as drift.

- `before`: the service as it was before
- `groups`: what happened, in groups, and what each means for readers and URLs
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from reconciler.address import Address, bare
from reconciler.features.access.plan import unmet
from reconciler.features.drift.groups import grouped as grouped
from reconciler.features.drift.model import Drift, Drifted, DriftWord, IgnoredDifference, KnownDrift, Unread
from reconciler.model import (
    Actual,
    Cause,
    Desired,
    Exposure,
    Observed,
    Plan,
    State,
    Unknown,
    Violation,
)
from reconciler.model.codec import title
from reconciler.plan.audience.agreed import RecordedObject, agreed_world
from reconciler.plan.audience.disclosure import opened_outside
from reconciler.plan.changes import Names
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.missing import deleted_before, last_moment, window
from reconciler.plan.matching.natural_keys import listed
from reconciler.plan.passes import prerequisites
from reconciler.plan.warnings.outside import drifted_exposures
from reconciler.plan.world import World
from reconciler.report.sheet import Share
from reconciler.resource import Kinds


def drift(world: World, plan: Plan, *, whole: bool = False) -> Drift:
    """What was changed outside Reconciler, derived from a plan made of the same world."""
    kinds, desired, state, actual, chosen = world.kinds, world.desired, world.state, world.actual, world.selection
    matches = identify(kinds, desired, state, actual)
    doubtful = set(plan.in_doubt)
    resources: list[Drifted] = []
    unread: list[Unread] = []
    unjudged: list[Address] = []
    judged = 0
    present: dict[Address, Observed] = {}
    for address, declared in desired.resources.items():
        binding = matches.binding(address)
        if declared.implied or not chosen.takes(address):
            continue
        if binding is None:
            ours = deleted_before(kinds[declared.kind], declared, matches.former.state) == matches.ids.get(address, "")
            if (address in matches.ids and not ours) or not state.bindings:  # not tracked and new, or deleted by a run of ours: no drift
                unjudged.append(address)
            continue
        judged += 1
        drifted = Drifted(address, declared.kind, DriftWord.DELETED, id=binding.id, source=declared.source)
        now = actual.find(declared.kind, binding.id)
        if address in doubtful:
            reason = "a request of an earlier run is in doubt; reconciler apply finds out what happened to it"
            unread.append(Unread(address, declared.kind, reason))
        elif (reason_unread := matches[address].unknown) is not None:
            unread.append(Unread(address, declared.kind, reason_unread))
        elif matches[address].gone:
            resources.append(drifted)
        elif now is not None and now.deleted_at is not None:
            left, until = window(kinds[declared.kind], now.deleted_at, actual)[1], last_moment(kinds[declared.kind], now.deleted_at)
            left = max(left, timedelta(0))
            resources.append(replace(drifted, deleted_at=now.deleted_at, left=left, until=until, title=title(now)))
        elif now is not None:
            present[address] = now
            # What only the YAML changed is a change that is not applied yet, and no drift.
            deltas = tuple(delta for delta in plan.differing.get(address, ()) if delta.cause is not Cause.YOURS)
            place = plan.moved_outside.get(address)
            if deltas or place is not None:
                status = DriftWord.CHANGED if any(not delta.container for delta in deltas) else DriftWord.MOVED
                resources.append(replace(drifted, status=status, fields=deltas, place=place, title=title(now)))
    resources = list(_with_deleted_references(resources))
    again = [
        f"{resource.address} was created again outside Reconciler ({bare(matches.ids[resource.address])}), and apply adopts that object"
        for resource in resources
        if resource.status is DriftWord.DELETED and matches.ids.get(resource.address, resource.id) != resource.id
    ]
    again += [
        f"{resource.address} was not deleted but transferred outside Reconciler, and belongs to {to} now"
        for resource in resources
        if (to := matches[resource.address].transferred) is not None
    ]
    failures, notes = _failures(kinds, desired, state, matches, plan.unknown)
    unmet_tests, undecided = unmet(kinds, desired, actual, matches.ids, present)
    return Drift(
        project=desired.project,
        environment=desired.environment,
        resources=tuple(resources),
        unmanaged=plan.unmanaged,
        unknown=failures,
        notes=(*notes, *again),
        unread=tuple(unread),
        managed=sum(matches.binding(address) is not None for address, resource in desired.resources.items() if not resource.implied),
        coverage=_coverage(kinds, desired, actual, matches.ids),
        whole=whole,
        unjudged=tuple(unjudged),
        judged=judged,
        violations=(*_violations(kinds, desired, present), *unmet_tests),
        left_alone={address: deltas for address, deltas in plan.ignored.items() if chosen.takes(address)},
        undecided=tuple(Unread(address, desired.resources[address].kind, reason) for address, reason in undecided.items()),
        exposures=tuple(_exposures(kinds, desired, actual, matches, resources)),
    )


def _with_deleted_references(resources: Sequence[Drifted]) -> Iterator[Drifted]:
    """The resources with addresses where they referred to what was deleted. Such a reference is declared as before: its object is not the
    same, so that a plan sends it again, and nobody changed the files."""
    deleted = {bare(str(resource.id)): str(resource.address) for resource in resources if resource.status is DriftWord.DELETED}
    for resource in resources:
        fields = []
        for delta in resource.fields:
            last = deleted.get(delta.last) if isinstance(delta.last, str) else None
            cause = Cause.DRIFT if last is not None and str(delta.after) == last else delta.cause
            fields.append(replace(delta, last=last, cause=cause) if last is not None else delta)
        yield replace(resource, fields=tuple(fields))


def looking_for_access(kinds: Kinds, desired: Desired) -> Desired:
    """The project, so that a reading shows all that gives people access to it, declared or not: one list more for each organization and
    each site of which nothing of the kind is declared."""
    lists = {
        (address, kind.name)
        for address, declared in desired.resources.items()
        for kind in kinds.below(declared.kind)
        if kind.lets
        and not kind.undeclared
        and listed(kind)
        and not declared.implied  # of people, those that the YAML lists are read anyway
    }
    return replace(desired, policies=replace(desired.policies, asks=desired.policies.asks | lists))


def _failures(
    kinds: Kinds, desired: Desired, state: State, matches: Matches, unknown: Sequence[Unknown]
) -> tuple[tuple[Unknown, ...], tuple[str, ...]]:
    """What could not be read of what the project is about, and a sentence for each other list, in which undeclared access could be."""
    resources = [(declared.kind, address.container) for address, declared in desired.resources.items()]
    resources += [(binding.kind, binding.address.container) for binding in state.bindings.values()]
    resources += [(name, container) for container, name in desired.policies.asks]
    about = {(name, matches.ids[container]) for name, container in resources if container in matches.ids}

    def is_extra(failure: Unknown) -> bool:
        kind = kinds.get(failure.kind)
        return (
            kind is not None
            and bool(kind.lets)
            and failure.id is None
            and failure.scope is not None
            and (kind.name, failure.scope) not in about
        )

    notes = tuple(f"unmanaged access may be missing here: {failure.what}: {failure.reason}" for failure in unknown if is_extra(failure))
    return tuple(failure for failure in unknown if not is_extra(failure)), notes


def _exposures(kinds: Kinds, desired: Desired, actual: Actual, matches: Matches, resources: Sequence[Drifted]) -> Iterator[Exposure]:
    """What the changes of these objects made public or no longer protected."""
    tracked = []
    for drifted in resources:
        kind, binding = kinds[drifted.kind], matches.binding(drifted.address)
        observed = actual.find(kind.name, drifted.id) if drifted.id is not None and drifted.status is not DriftWord.DELETED else None
        if observed is not None and binding is not None:
            changed = kind.deciding & {delta.name for delta in drifted.fields}
            tracked.append(RecordedObject(drifted.address, kind, observed, binding, changed))
    agreed = agreed_world(tracked)
    disclosed = opened_outside(kinds, desired, actual, matches.ids, agreed)
    names = Names((id, address) for address, id in matches.ids.items())
    for exposure in drifted_exposures(kinds, names, disclosed, agreed, actual.objects):
        declared = desired.resources.get(exposure.address)
        source = declared.positions.get(exposure.field, declared.source) if declared is not None else None
        yield replace(exposure, source=source)


def _violations(kinds: Kinds, desired: Desired, present: Mapping[Address, Observed]) -> Iterator[Violation]:
    """The assertions of the project about these objects that are not met today."""
    for address, observed in present.items():
        declared = desired.resources[address]
        if declared.expected:
            yield from prerequisites.unmet(kinds[declared.kind], declared, observed)


def without_known(drift: Drift, baseline: Sequence[KnownDrift], today: date) -> Drift:
    """The drift without known differences. Expired entries have no effect; they and entries that match nothing are reported."""
    expired = [known for known in baseline if known.until < today]
    valid = [known for known in baseline if known.until >= today]
    left: list[Drifted] = []
    ignored: list[IgnoredDifference] = []
    for resource in drift.resources:
        fields = []
        for delta in resource.fields:
            known = next((entry for entry in valid if entry.covers(resource.address, delta.name)), None)
            if known is None:
                fields.append(delta)
            else:
                ignored.append(IgnoredDifference(resource.address, delta.name, known))
        bare = resource.status is DriftWord.DELETED or resource.place is not None
        known = next((entry for entry in valid if entry.covers(resource.address, None)), None) if bare else None
        if known is not None:
            ignored.append(IgnoredDifference(resource.address, None, known))
        if fields or (bare and known is None):
            left.append(replace(resource, fields=tuple(fields), place=None if known is not None else resource.place))
    used = {id(difference.known) for difference in ignored}
    notes = [
        f"known, and ignored by the baseline: {_field_text(difference)} ({difference.known.reason}, until {difference.known.until})"
        for difference in ignored
    ]
    notes += [f"the baseline's entry for {known} expired on {known.until}: {known.reason}" for known in expired]
    notes += [f"the baseline's entry for {known} matches nothing: remove it" for known in valid if id(known) not in used]
    covered = {(difference.address, difference.field) for difference in ignored}
    exposures = tuple(exposure for exposure in drift.exposures if not any((at, exposure.field) in covered for at in exposure.names))
    return replace(drift, resources=tuple(left), ignored=tuple(ignored), notes=(*drift.notes, *notes), exposures=exposures)


def _field_text(difference: IgnoredDifference) -> str:
    return f"{difference.address}.{difference.field}" if difference.field else str(difference.address)


def _coverage(kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str]) -> dict[str, Share]:
    """By kind, the managed share of the objects that were seen; kinds without any are left out."""
    managed = Counter(
        declared.kind
        for address, declared in desired.resources.items()
        if not declared.implied and address in ids and _lives(actual.find(declared.kind, ids[address]))
    )
    seen = {name: sum(_lives(observed) for observed in actual.objects.get(name, {}).values()) for name in kinds}
    return {name: Share(managed[name], number) for name, number in seen.items() if number}


def _lives(observed: Observed | None) -> bool:
    return observed is not None and observed.deleted_at is None
