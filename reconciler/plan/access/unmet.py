"""The access tests of a project against the service as it is now, regardless of what a plan would change. Pure.

In: what was read, the ids of all addresses, and the resources to ask about. Out: a violation for each that a reader sees and must not, or
must see and does not; and the resources for which that is unknown, because their sources of access could not be read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from reconciler.address import Address
from reconciler.dataclass import dataclass
from reconciler.model import Actual, Desired, Severity, Violation
from reconciler.plan.access.misses import Miss, When, violation
from reconciler.plan.access.verdicts import UNREAD, Sees
from reconciler.plan.access.worlds import WorldInputs
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.resource import Kinds


@dataclass
class Unmet:
    """`violations`: what is not as a test demands. `unread`: resources for which that is unknown, each with the reason."""

    violations: list[Violation] = field(default_factory=list)
    unread: dict[Address, str] = field(default_factory=dict)


def unmet(kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], about: Collection[Address]) -> Unmet:
    """The results of the tests today; nothing is computed where there are none. `about`: the resources to ask about."""
    result = Unmet()
    asked = [(test, demand, address) for test in desired.access for demand, address in test.asks if address in about]
    if not asked:
        return result
    sides = WorldInputs(kinds, actual, ids, Disclosure(()), {address for _, _, address in asked}).sides()
    for test, demand, address in asked:
        look = sides.before if demand.sees else sides.spread_before
        key = (kinds.of(address).name, ids[address])
        verdict = look.verdict(demand.reader, key)
        if verdict.sees is (Sees.YES if demand.sees else Sees.NO):
            continue
        if verdict.sees is Sees.UNDECIDED and UNREAD in verdict.doubt:
            result.unread[address] = f"whether {demand.reader.says} can read it is not known: {verdict.doubt}"
        else:
            miss = Miss(test, demand, address, When.TODAY, verdict, look, key)
            result.violations.append(violation(miss, desired, sides.called, Severity.ERROR))
    return result
