"""The scene of a plan: the values before and after it, and the permissions of the token. Pure.

The values after are those that the service would show if every request of the plan succeeded, and those of the YAML for fields that it does
not show. Resources that the plan does not reach (blocked, or left for a second run) keep their values; those not created by it are not in
the scene.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reconciler.address import Address
from reconciler.config.language.bounds import ExpressionError
from reconciler.features.policies.scene import Scene, Subject, Values, observed_values, written
from reconciler.features.policies.section.keys import KEEP
from reconciler.model import Action, Actual, Change, Desired, Observed, Plan
from reconciler.plan.changes import Names
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import Kind, Kinds


def of_plan(kinds: Kinds, desired: Desired, actual: Actual, plan: Plan) -> Scene:
    """The resources of the plan, with those that it deletes or stops managing."""
    return _Maker(kinds, desired, actual, plan).scene()


@dataclass(eq=False)
class _Maker:
    kinds: Kinds
    desired: Desired
    actual: Actual
    plan: Plan

    def scene(self) -> Scene:
        changes = {change.address: change for change in self.plan.changes}
        declared = [self._declared(address, id, changes.get(address)) for address, id in self.plan.objects.items()]
        gone = [self._gone(change) for address, change in changes.items() if address not in self.plan.objects]
        return Scene([*(subject for subject in declared if subject is not None), *gone], inside=self._inside)

    @cached_property
    def names(self) -> Names:
        changed = [(change.id, change.address) for change in self.plan.changes if change.id is not None]
        return Names([*changed, *((id, address) for address, id in self.ids.items())])

    @cached_property
    def ids(self) -> dict[Address, str]:
        return {address: id for address, id in self.plan.objects.items() if id is not None}

    @cached_property
    def replaced(self) -> dict[Address, str]:
        """The objects that are deleted to be recreated."""
        return {step.address: step.target for step in self.plan.steps if step.verb == "delete" and isinstance(step.target, str)}

    @cached_property
    def simulation(self) -> Simulation | None:
        """The service after the plan; None if the plan sends nothing."""
        if not self.plan.steps:
            return None
        simulation = Simulation(self.kinds, self.actual, ids=self.ids, places=self.plan.places)
        for step in self.plan.steps:
            simulation.run(step)
        return simulation

    @cached_property
    def later(self) -> Names:
        """The addresses by id after the plan."""
        if self.simulation is None:
            return self.names
        return Names([*self.names.items(), *((id, address) for address, id in self.simulation.ids.items())])

    def _declared(self, address: Address, id: str | None, change: Change | None) -> Subject | None:
        declared = self.desired.resources.get(address)
        if declared is None or declared.implied:
            return None
        kind = self.kinds[declared.kind]
        actions = tuple(action.value for action in change.actions) if change is not None else (KEEP,)
        # What is recreated has two objects at its address: before is the old one, after the new one.
        old = self.replaced.get(address) if Action.REPLACE.value in actions else id
        observed = self.actual.find(kind.name, old) if old is not None else None
        before = observed_values(kind, observed, self.names, address) if observed is not None else None
        after = before
        if self.simulation is not None:
            item = self.simulation.find(kind.name, self.simulation.ids[address]) if address in self.simulation.ids else None
            if item is not None and item is not observed:
                after = observed_values(kind, item, self.later, address)
        if after is None:
            return None  # this run does not create it
        values = written(kind, declared)
        # What the service will show wins over what the YAML says, except where it does not show what was sent.
        after = {**values, **after, **{name: value for name, value in values.items() if kind.fields[name].lossy}}
        return Subject(address, kind.name, actions, before, after, self._actor(address, observed), declared.parent, declared.source)

    def _gone(self, change: Change) -> Subject:
        kind = self.kinds[change.kind]
        observed = self.actual.find(kind.name, change.id) if change.id is not None else None
        before = observed_values(kind, observed, self.names, change.address) if observed is not None else None
        actions = tuple(action.value for action in change.actions)
        return Subject(change.address, kind.name, actions, before, None, self._actor(change.address, observed), change.address.container)

    def _actor(self, address: Address, observed: Observed | None) -> Mapping[str, Any]:
        """The permissions that the service shows on the object, or on the nearest container that shows some."""
        at: Address | None = address
        while at is not None:
            permissions = observed.raw.get("permissions") if observed is not None else None
            if isinstance(permissions, Mapping):
                return permissions
            at = at.container
            id = self.ids.get(at) if at is not None else None
            observed = self.actual.find(self.kinds.of(at).name, id) if at is not None and id is not None else None
        return {}

    # -- contents ------------------------------------------------------------------------------------------------------------------

    def _inside(self, container: Address, name: str) -> Sequence[Values]:
        kind = self.kinds[name]
        id = self.ids.get(container)
        if id is not None and (name, id) not in self.actual.complete:
            # "at most three admins" must not be true because a page of members could not be read.
            raise ExpressionError(f"not every {name} in {container} could be read", id="RC-unread")
        known = id if id is not None or self.simulation is None else self.simulation.ids.get(container)
        return self._contents(kind).get(known or "", ())

    def _contents(self, kind: Kind) -> Mapping[str, Sequence[Values]]:
        """The objects of a kind after the plan, by the id of their container."""
        known = self._known.get(kind.name)
        if known is None:
            objects = self.simulation.objects if self.simulation is not None else self.actual.objects
            contents: dict[str, list[Values]] = defaultdict(list)
            for observed in objects.get(kind.name, {}).values():
                # The service keeps deleted objects for some days, and they are in its lists.
                if observed.deleted_at is None:
                    address = self.later.get(observed.id) or Address(("unmanaged",))
                    contents[observed.within.get(kind.within or "", "")].append(observed_values(kind, observed, self.later, address))
            known = self._known[kind.name] = contents
        return known

    @cached_property
    def _known(self) -> dict[str, Mapping[str, Sequence[Values]]]:
        return {}
