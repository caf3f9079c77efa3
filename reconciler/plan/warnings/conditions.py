"""Conditions that a plan writes and that may hide nothing: those without a known meaning, and claims that the service's schema lacks. Pure.

In: the drafts, and what was read. Out: the schemas to read, which the project does not manage, and sentences for the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.address import Address
from reconciler.model import Actual, Desired
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft
from reconciler.resource import Kind, Kinds
from reconciler.resource.claims import claim_mistakes
from reconciler.resource.conditions import mistake


def schemas_to_read(kinds: Kinds, desired: Desired, drafts: Iterable[Draft], ids: Mapping[Address, str]) -> frozenset[Key]:
    """The lists with the schemas of claims that conditions of this plan depend on and that the project does not manage."""
    return frozenset((kind.name, ids[container]) for _, kind, container, _ in _unmanaged(kinds, desired, drafts) if container in ids)


def condition_notes(kinds: Kinds, desired: Desired, drafts: Iterable[Draft], ids: Mapping[Address, str], actual: Actual) -> Iterator[str]:
    """One sentence for each condition that the plan writes and that may hide nothing."""
    for draft, name, condition in _written(drafts):
        wrong = mistake(condition)
        if wrong is not None:
            yield f"{draft.address}: {name} cannot be understood ({wrong}), so everybody may see it"
    for draft, kind, container, conditions in _unmanaged(kinds, desired, drafts):
        assert kind.claims is not None
        failures = [failure for failure in actual.unknown if (failure.kind, failure.scope) == (kind.name, ids.get(container))]
        yield from (f"{draft.address}: its claims could not be checked: {failure.reason}" for failure in failures)
        shown = [observed for observed in actual.objects.get(kind.name, {}).values() if container in ids]
        schemas = [kind.claims(observed.values) for observed in shown if observed.within.get(str(kind.within)) == ids[container]]
        for name, condition in conditions:
            for wrong_claim in (claim_mistake for schema in schemas for claim_mistake in claim_mistakes(condition, schema)):
                yield f"{draft.address}: {name} may hide nothing: {wrong_claim.message} ({container}, not managed)"


def _written(drafts: Iterable[Draft]) -> Iterator[tuple[Draft, str, str]]:
    """Every condition that is written: its draft, its field and its text."""
    for draft in drafts:
        for difference in draft.sendable if draft.active else ():
            if difference.field.condition and isinstance(difference.after, str):
                yield draft, difference.field.name, difference.after


def _unmanaged(kinds: Kinds, desired: Desired, drafts: Iterable[Draft]) -> Iterator[tuple[Draft, Kind, Address, list[tuple[str, str]]]]:
    """Each draft with conditions whose container has no declared schema of claims: the schema's kind, the container, the conditions."""
    declaring = {kind.name: kind for kind in kinds.values() if kind.claims is not None}
    declared = {(resource.kind, address.container) for address, resource in desired.resources.items() if resource.kind in declaring}
    written: dict[Address, tuple[Draft, list[tuple[str, str]]]] = {}
    for draft, name, condition in _written(drafts):
        written.setdefault(draft.address, (draft, []))[1].append((name, condition))
    for draft, conditions in written.values():
        for kind in declaring.values():
            container = draft.address.container
            if container is not None and kind.within == draft.kind.within and (kind.name, container) not in declared:
                yield draft, kind, container, conditions
