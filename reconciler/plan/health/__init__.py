"""What is broken or expires in an organization, whether or not it is as declared. Pure; nothing more is read for it.

In: one reading, and the plan and the drift that were computed from it. Out: concerns, and sentences about what cannot be known.

- `links`: published URLs; `work`: how the service processes objects; `ends`: certificates and names with a date; `opened`: readers
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.dataclass import dataclass
from reconciler.model import Concern
from reconciler.plan.health.ends import ends
from reconciler.plan.health.given import HealthInputs
from reconciler.plan.health.links import links
from reconciler.plan.health.opened import opened
from reconciler.plan.health.work import work

__all__ = ["HealthInputs", "OrganizationHealth", "health"]


@dataclass(frozen=True)
class OrganizationHealth:
    """`unread`: a sentence for each unknown because of which the organization cannot be called healthy."""

    concerns: tuple[Concern, ...] = ()
    unread: tuple[str, ...] = ()


def health(given: HealthInputs, *, unseen: str = "") -> OrganizationHealth:
    """The health of what was read. `unseen`: why it is unknown what was changed outside Reconciler, "" where it is known."""
    lines = [*links(given), *work(given), *ends(given), *(opened(given) if not unseen else ())]
    concerns = dict.fromkeys(line for line in lines if isinstance(line, Concern))
    unread = [line for line in lines if isinstance(line, str)]
    return OrganizationHealth(tuple(concerns), tuple(dict.fromkeys([*_unread(given, unseen), *unread])))


def _unread(given: HealthInputs, unseen: str) -> Iterator[str]:
    if unseen:
        yield f"nobody knows what was changed outside Reconciler: {unseen}"
    for unknown in given.actual.unknown:
        yield f"{unknown.what} could not be read: {unknown.reason}"
