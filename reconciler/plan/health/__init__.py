"""What is broken or expires in an organization, whether or not it is as declared. Pure; nothing more is read for it.

In: one reading, and the plan and the drift that were computed from it. Out: concerns, and sentences about what cannot be known.

- `concerns`: published URLs, how the service processes objects, certificates and names with a date; `exposures`: readers
- `inputs`: the reading, the plan and the drift
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.model import Concern
from reconciler.plan.health.concerns import expiry_concerns, processing_concerns, url_concerns
from reconciler.plan.health.exposures import exposure_concerns
from reconciler.plan.health.inputs import HealthInputs

__all__ = ["HealthInputs", "OrganizationHealth", "health"]


@dataclass(frozen=True)
class OrganizationHealth:
    """`unread`: a sentence for each unknown because of which the organization cannot be called healthy."""

    concerns: tuple[Concern, ...] = ()
    unread: tuple[str, ...] = ()


def health(inputs: HealthInputs, *, unseen: str = "") -> OrganizationHealth:
    """The health of what was read. `unseen`: why it is unknown what was changed outside Reconciler, "" where it is known."""
    exposures = exposure_concerns(inputs) if not unseen else ()
    lines = [*url_concerns(inputs), *processing_concerns(inputs), *expiry_concerns(inputs), *exposures]
    concerns = dict.fromkeys(line for line in lines if isinstance(line, Concern))
    unread = [line for line in lines if isinstance(line, str)]
    return OrganizationHealth(tuple(concerns), tuple(dict.fromkeys([*_unread(inputs, unseen), *unread])))


def _unread(inputs: HealthInputs, unseen: str) -> Iterator[str]:
    if unseen:
        yield f"nobody knows what was changed outside Reconciler: {unseen}"
    for unknown in inputs.actual.unknown:
        yield f"{unknown.what} could not be read: {unknown.reason}"
