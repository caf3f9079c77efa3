"""What features check in a plan, by who can read what before and after its requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from reconciler.address import Address
from reconciler.model import Violation
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.plan.containment import Key
from reconciler.plan.world import World
from reconciler.seams import Seam


@dataclass(frozen=True)
class CheckResults:
    """`violations` and `notes` for the plan. `questions` and `lists`: what must be read to be sure; see `Plan`."""

    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    questions: frozenset[Key] = frozenset()
    lists: frozenset[Key] = frozenset()


class PlanCheck(Protocol):
    """`partial`: the run is limited to some addresses, or needs a second run. `waiting`: true as well where something is blocked."""

    def __call__(
        self, world: World, ids: Mapping[Address, str], disclosed: Disclosure, *, partial: bool, waiting: bool
    ) -> CheckResults: ...


CHECKS: Final[Seam[PlanCheck]] = Seam("plan", "checks of a plan")


def checked(world: World, ids: Mapping[Address, str], disclosed: Disclosure, *, partial: bool, waiting: bool) -> CheckResults:
    """The results of all checks, in their order."""
    results = [check(world, ids, disclosed, partial=partial, waiting=waiting) for check in CHECKS]
    return CheckResults(
        tuple(violation for result in results for violation in result.violations),
        tuple(note for result in results for note in result.notes),
        frozenset(question for result in results for question in result.questions),
        frozenset(key for result in results for key in result.lists),
    )
