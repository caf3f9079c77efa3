"""What expires on a date: certificates, and objects whose names contain their last day. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from reconciler.model import Concern, Sort
from reconciler.plan.health.given import HealthInputs
from reconciler.resource import UNSET, Field
from reconciler.text.certificate import expiry
from reconciler.text.times import until


def ends(given: HealthInputs) -> Iterator[Concern | str]:
    """A concern for each known expiry, however far away it is, and a sentence for each certificate that cannot be read."""
    fields = {name: [field for field in kind.fields.values() if field.expires] for name, kind in given.kinds.items()}
    for kind, observed in given.objects():
        unless = kind.published.unless if kind.published is not None else None
        if not fields[kind.name] or (unless is not None and observed.values.get(unless[0]) == unless[1]):
            continue
        for field in fields[kind.name]:
            value = observed.values.get(field.name, UNSET)
            day = _day(field, value)
            if day is not None:
                yield replace(given.concern(Sort.EXPIRY, kind, observed, f"its {field.name} ends on {day}"), until=day)
            elif field.expires == "certificate":
                yield f"nobody can read when the {field.name} of {given.called((kind.name, observed.id))} ends"


def _day(field: Field, value: Any) -> date | None:
    if not isinstance(value, str):
        return None
    if field.expires == "certificate":
        return expiry(value)
    try:
        return date.fromisoformat(until(value) or "")
    except ValueError:
        return None
