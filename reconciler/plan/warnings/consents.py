"""What people consent to with a plan, and what they consented to for the run that it continues. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Consent, Exposure, State
from reconciler.plan.audience.readers import Access
from reconciler.plan.decisions import Draft
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.names import Names, named
from reconciler.resource.audience import LEVELS


def with_consent_needed(exposures: Iterable[Exposure], state: State) -> tuple[Exposure, ...]:
    """The exposures, each with whether it needs consent: not where the unfinished run was allowed exactly that."""
    return tuple(replace(exposure, asked=not state.consents.issuperset(exposure.consents)) for exposure in exposures)


def consents(exposures: Iterable[Exposure], reach: Iterable[Consent], drafts: Mapping[Address, Draft], names: Names) -> tuple[Consent, ...]:
    """Everything that a plan opens: its exposures, who can read what its steps open, and what it creates with fields that could be one.

    What is created exposes nothing that existed, and neither does what moves from one public place to another. If the run is killed in
    between, the next one finds an object that exists, or has no readers, which it opens; that was consented to then. `reach`: who can read
    what the steps open.
    """
    shown = (consent for exposure in exposures for consent in exposure.consents)
    return tuple(sorted({*shown, *reach, *_fresh(drafts, names)}))


def consent_to(address: Address, field: str, value: str) -> Consent:
    """The consent to a field change, or to a delete, that names no readers."""
    return Consent(str(address), field, "", "", "", value)


def consent_to_readers(address: Address, access: Access, admits: Address) -> Consent:
    """The consent to readers of an object, who reach it through what admits them."""
    return Consent(str(address), "", str(access), LEVELS[access.level], str(admits), "")


def consent_value(draft: Draft, difference: FieldDifference, names: Names) -> str:
    """What is consented to when a field is sent: the same before and after what it refers to was created."""
    value = named(difference.after, names, draft.address)
    return canonical(difference.field.stored(value, str(draft.address)))


def canonical(value: Any) -> str:
    """The same text for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def _fresh(drafts: Mapping[Address, Draft], names: Names) -> Iterator[Consent]:
    for draft in drafts.values():
        if draft.active and draft.is_new:
            for difference in draft.sendable:
                word = difference.field.exposes
                if word is not None and word.may_open(difference.after):
                    yield consent_to(draft.address, difference.field.name, consent_value(draft, difference, names))
