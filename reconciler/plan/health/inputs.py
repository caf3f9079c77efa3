"""The inputs of health: one reading, and the plan and the drift that were computed from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from reconciler.address import Address
from reconciler.model import Actual, Concern, Desired, Observed, Plan, Sort, State
from reconciler.plan import Matches
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.containment import Key
from reconciler.plan.drift import Drift
from reconciler.plan.matching.identity import identify
from reconciler.plan.warnings.broken_urls import is_read
from reconciler.resource import Kind, Kinds


@dataclass(frozen=True)
class HealthInputs:
    """One reading, and what was computed from it. `now`: the time of the reading."""

    kinds: Kinds
    desired: Desired
    state: State
    actual: Actual
    plan: Plan
    drift: Drift
    now: datetime

    @cached_property
    def found(self) -> Matches:
        return identify(self.kinds, self.desired, self.state, self.actual)

    @cached_property
    def managed(self) -> Mapping[Key, Address]:
        """The addresses of the objects that are declared."""
        resources = self.desired.resources
        return {(resources[address].kind, id): address for address, id in self.found.ids.items() if not resources[address].implied}

    def called(self, key: Key) -> Address:
        """The address of an object, managed or not."""
        objects = self.actual.objects
        return caller(self.kinds, self._addresses, objects, objects)(key)

    @cached_property
    def _addresses(self) -> Mapping[Key, Address]:
        return {(self.desired.resources[address].kind, id): address for address, id in self.found.ids.items()}

    def objects(self) -> Iterator[tuple[Kind, Observed]]:
        """Everything that was read and is not deleted."""
        for name, some in self.actual.objects.items():
            for observed in some.values():
                if observed.deleted_at is None:
                    yield self.kinds[name], observed

    def is_read(self, kind: Kind, observed: Observed) -> bool:
        """Whether somebody reads the object at its published URL."""
        return is_read(self.kinds, self.actual, kind, observed)

    def concern(self, sort: Sort, kind: Kind, observed: Observed, sentence: str) -> Concern:
        return Concern(sort, str(self.called((kind.name, observed.id))), sentence)
