"""Settings that require an object of a kind in their container: single sign-on requires a provider. Pure.

In: what this run changes. Out: the same; a setting that would be turned on where no such object is left is not sent, and every other one
requires the requests that create or change such objects. `lists`: what must be read to know whether there is one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Blocked, waiting
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Prerequisite
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.world import Decisions, World
from reconciler.resource import Kind


def required_kinds(world: World, decisions: Decisions) -> Decisions:
    """Turn no setting on that requires an object of a kind where none is left, or before those of this run are created and changed."""
    for kind in world.kinds.values():
        if kind.needed is not None and kind.within is not None:
            run = _Run(world, decisions, kind, kind.within)
            decisions = replace(decisions.changed(run.settled()), lists=decisions.lists | run.lists)
    return decisions


class _Run:
    """What one run does to the objects of a kind that settings require. `lists`: those that must still be read."""

    def __init__(self, world: World, decisions: Decisions, kind: Kind, container: str) -> None:
        self.world, self.decisions, self.kind, self.container = world, decisions, kind, container
        self.drafts, removals = decisions.of_this_run()
        self.deleted = {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
        self.declared: dict[Address | None, list[Draft]] = defaultdict(list)
        for draft in decisions.drafts.values():
            if draft.kind is kind:
                self.declared[draft.address.container].append(draft)
        self.lists: set[Key] = set()

    def settled(self) -> Iterator[Draft]:
        """The resources of which a setting waits, or is not sent."""
        for draft in self.drafts.values():
            for difference in draft.sendable if draft.active and draft.observed is not None else ():
                if self._turns_on(draft, difference):
                    draft = self._with_prerequisites(draft, difference)
                    yield draft

    def _turns_on(self, draft: Draft, difference: FieldDifference) -> bool:
        needed = self.kind.needed
        assert needed is not None
        setting = draft.kind.name in (self.container, *needed.of) and difference.field.name == needed.field
        return setting and difference.after == needed.value

    def _with_prerequisites(self, draft: Draft, difference: FieldDifference) -> Draft:
        container = self.world.kinds.container(draft.address, self.container)
        scope = self.decisions.matches.ids.get(container, "")
        sent = [other for other in self.declared[container] if other.address in self.drafts and other.active]
        pending = [other.address for other in sent if other.is_new or other.sendable]
        staying = min(self._staying(scope), default=None)
        if staying is None and not any(self.drafts[address].is_new for address in pending):
            return draft.without(difference, self._refusal(draft, difference, container, scope))
        required = [Prerequisite(difference.field.name, address) for address in pending]
        if staying is not None:
            required.append(Prerequisite(difference.field.name, remains=(self.kind.name, staying)))
        return replace(draft, prerequisites=(*draft.prerequisites, *required))

    def _staying(self, scope: str) -> Iterator[str]:
        """The ids of the objects that exist and are not deleted in this run."""
        for observed in self.world.contents.inside(self.kind.name, self.container, scope):
            if (observed.kind, observed.id) not in self.deleted and observed.deleted_at is None:
                yield observed.id

    def _refusal(self, draft: Draft, difference: FieldDifference, container: Address, scope: str) -> Blocked:
        """Why a setting is not turned on, and what to do."""
        name, field, source = self.kind.name, difference.field.name, draft.declared.positions.get(difference.field.name)
        declared = self.declared[container]
        blocked = next((other.blocked for other in declared if other.blocked is not None and other.address in self.drafts), None)
        if blocked is not None:
            return waiting(draft.address, blocked, source, reason=f"{field} waits for {blocked.address}, which is blocked")
        excluded = next((other.address for other in declared if other.address not in self.drafts), None)
        if excluded is not None:
            reason = f"{field} requires {excluded}, which is not part of this run"
            return Blocked(draft.address, reason, f"include {excluded}", source, id="RC-outside-selection")
        if (name, scope) not in self.world.actual.complete:
            self.lists.add((name, scope))
            reason = f"{field} requires a {name} in {container}, and the list of them could not be read"
            return Blocked(draft.address, reason, "run again when the service answers", source, id="RC-unread")
        reason = f"{field} requires a {name} in {container}, and there is none after this run"
        way = f"declare a {name} in {container}, or remove the line {field} until there is one"
        return Blocked(draft.address, reason, way, source, id="RC-required-kind-missing")
