"""What about payments may make the service refuse requests, as it shows it itself. Pure.

In: what was read. Out: sentences for the plan, for a refused request, and for whoever asks about the health of an organization.
Nothing is refused or left out because of them: whether the service does is its own decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reconciler.address import Address
from reconciler.model import Actual, Observed, Step
from reconciler.resource import Kind, Kinds, PlanLimit

REFUSALS: Final = frozenset({402, 403})
"""The statuses that such a limit may explain."""


def limits_of(kind: Kind, observed: Observed) -> Iterator[PlanLimit]:
    """What the service shows of an object that limits what may be done with it."""
    yield from kind.limited(observed.raw) if kind.limited is not None else ()


def limits_around(kinds: Kinds, actual: Actual, addresses: Iterable[Address], ids: Mapping[Address, str]) -> Iterator[str]:
    """A sentence for each limit of these resources and of what contains them. `ids`: of the objects that exist."""
    around = dict.fromkeys(outer for address in addresses for outer in (*reversed(address.containers), address))
    for address in around:
        kind = kinds.of(address)
        observed = actual.find(kind.name, ids[address]) if address in ids else None
        for limit in limits_of(kind, observed) if observed is not None else ():
            yield f"{address} {limit.says}"


def limit_notes(kinds: Kinds, actual: Actual, steps: Iterable[Step], ids: Mapping[Address, str]) -> Iterator[str]:
    """A sentence for each limit of what the requests are about."""
    for sentence in limits_around(kinds, actual, (step.address for step in steps), ids):
        yield f"{sentence}: the service may refuse requests of this plan (402 or 403)"


def instead_notes(kinds: Kinds, steps: Iterable[Step]) -> Iterator[str]:
    """A sentence for each answer that may come instead of the object, with the requests that it may come to."""
    requests: dict[tuple[str, str, str], list[Address]] = {}
    for step in steps:
        verb = kinds[step.kind].api.get(step.verb)
        for answer, says in verb.instead.items() if verb is not None else ():
            requests.setdefault((step.verb, answer, says), []).append(step.address)
    for (name, answer, says), addresses in requests.items():
        yield f"{', '.join(map(str, addresses))}: {name} may be answered with a {answer}: {says}"
