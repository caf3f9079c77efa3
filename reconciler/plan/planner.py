"""The planner: the order of the passes, and the plan that their decisions make.

In: Desired, State and Actual. Out: a Plan. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from reconciler.address import Address, Glob
from reconciler.model import Actual, Desired, Plan, SiblingPlace, State
from reconciler.plan.access.tests import tested
from reconciler.plan.audience.disclosure import disclosure
from reconciler.plan.cascades import taken_along
from reconciler.plan.changes import blockages, changes, departures, differing, remarks, strayed, unmanaged
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import derivations, staying, suffixed, underived
from reconciler.plan.drafts.declared import declared
from reconciler.plan.drafts.undeclared import replaced_objects, undeclared
from reconciler.plan.matching.identity import identified
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.renames import called_today
from reconciler.plan.memory import memory
from reconciler.plan.names import Names
from reconciler.plan.passes.contents import contents
from reconciler.plan.passes.expectations import expectations
from reconciler.plan.passes.last_admin import last_admin
from reconciler.plan.passes.renames import probable_renames
from reconciler.plan.passes.repeated_renames import repeated_renames
from reconciler.plan.passes.second_run import rearrangements, second_run
from reconciler.plan.passes.targets import targets, waits
from reconciler.plan.selection import Selection
from reconciler.plan.siblings.positions import stood, strangers
from reconciler.plan.siblings.rows import SiblingRow, arrange
from reconciler.plan.steps.schedule import requests
from reconciler.plan.transfers.drafts import shown_where, stood_before, transferred
from reconciler.plan.transfers.obstacles import brought_unmanaged
from reconciler.plan.warnings.broken_urls import broken
from reconciler.plan.warnings.consents import asked, consents
from reconciler.plan.warnings.exposure import audience_lines, exposures, who_reads, windows
from reconciler.plan.warnings.loosened_rules import changed, freed, loosened
from reconciler.plan.warnings.permissions import forbidden
from reconciler.plan.warnings.transfers import by_transfers, given_away
from reconciler.plan.warnings.twins import twins
from reconciler.plan.warnings.unshown import unshown
from reconciler.plan.world import Decisions, Pass, World
from reconciler.resource import Kinds

PASSES: Final[tuple[Pass, ...]] = (
    undeclared,  # what is no longer declared is deleted or forgotten
    rearrangements,  # the service rearranges a container whose first or last object of a kind changes
    declared,  # each declared resource is created, updated, moved, restored, replaced, adopted, or kept
    replaced_objects,  # the old object of a replacement is deleted
    repeated_renames,  # a rename that was carried out before must not exchange titles now
    probable_renames,  # a delete and a create that look alike wait until the YAML says whether they are a rename
    contents,  # nothing is deleted while something that stays is in it
    last_admin,  # an organization keeps its admins
    second_run,  # what the service rearranges waits for a second run
    targets,  # the run is limited to what people selected
    underived,  # nothing is created from a value that is still to change
    expectations,  # what the service derives must be what the YAML expects
    waits,  # what needs something blocked waits for it
)
"""All decisions, in the order in which they are taken: each pass sees those of the passes before it."""


def decide(world: World, matches: Matches) -> Decisions:
    """What happens to each address."""
    decisions = Decisions(matches)
    for pass_ in PASSES:
        decisions = pass_(world, decisions)
    return decisions


def plan(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    *,
    selection: Selection | None = None,
    allow_replace: Collection[str] = (),
    matches: Matches | None = None,
) -> Plan:
    """What has to happen so that Actual becomes Desired.

    `allow_replace`: patterns over the addresses that may be deleted and created again. `matches`: what is `identified`, where that is known
    already. The same inputs give the same plan, to the byte.
    """
    matches = identified(kinds, desired, state, actual) if matches is None else matches
    desired = replace(desired, removed=called_today(desired.removed, matches.former))
    patterns = tuple(Glob.parse(text) for text in allow_replace)
    world = World(kinds, desired, matches.former.state, actual, selection or Selection(), patterns)
    world, decisions = transferred(world, matches, decide)
    return _planned(world, decisions, actual)


def _planned(world: World, decisions: Decisions, before: Actual) -> Plan:
    """The requests that carry out the decisions, in their order, and what people read of them. `before`: what was read."""
    kinds, desired, state, actual, selection = world.kinds, world.desired, world.state, world.actual, world.selection
    matches, every, leaving = decisions.matches, decisions.drafts, decisions.removals
    mine, gone = decisions.of_this_run()
    rows = arrange(every, mine)
    names = Names((id, address) for address, id in (*matches.replaced.items(), *matches.ids.items()))
    names |= {binding.id: address for address, binding in state.bindings.items() if address not in desired.resources}
    places = stood([*every.values(), *leaving.values()], strangers(kinds, actual, names), names)
    places |= stood_before(world, decisions, before, names)
    derived = derivations(kinds, actual, matches.ids, every, mine, gone)
    steps = requests(kinds, mine, rows, gone, matches.ids, places, derived)
    about_rules = selection.only is None  # else it is a run about other runs, not about the project
    rules = changed(desired, matches.former.before) if about_rules else None
    pruned = {removal.kind.name for removal in gone.values() if removal.pruned and removal.active}
    deleted = {address for address, removal in gone.items() if removal.active and removal.deletes}
    looser = loosened(desired, state, pruned, deleted) if about_rules else ()
    disclosed = disclosure(kinds, desired, before, matches.ids, steps, derived)
    deferred, blocked = _deferred(*mine.values(), *gone.values()), blockages(mine, gone)
    partial = selection != Selection() or bool(deferred)
    access = tested(kinds, desired, before, matches.ids, disclosed, partial=partial, waiting=bool(blocked))
    others = [opening for opening in disclosed.openings if not by_transfers(world, opening)]
    opened = (
        *audience_lines(kinds, others, mine, names, disclosed.called, before.objects),
        *windows(disclosed.windows, kinds, disclosed.called, before.objects),
        *exposures(desired, state, mine, gone, names, freed=freed(desired, state) if about_rules else ()),
        *given_away(world, mine, disclosed),
    )
    exposed = asked((*looser, *opened), state)
    along = taken_along(kinds, actual, gone, decisions.rearrangements)
    return Plan(
        project=desired.project,
        environment=desired.environment,
        changes=(*changes(desired, mine, rows, names, derived), *departures(gone), *along),
        steps=disclosed.steps,
        questions=disclosed.questions | access.questions | shown_where(world, mine, before),
        lists=access.lists | disclosed.lists,
        unmanaged=unmanaged(kinds, desired, state, before, matches),
        unknown=actual.unknown,
        in_doubt=tuple(sorted({intent.address for intent in state.intents})),
        blocked=blocked,
        deferred=deferred,
        places=_places(rows),
        memory=replace(memory(desired, matches, mine, gone, whole=selection == Selection(), waiting=decisions.unsettled), rules=rules),
        exposures=exposed,
        consents=consents(exposed, who_reads(disclosed.reach, disclosed.called), mine, names),
        broken=broken(kinds, actual, mine, gone),
        forbidden=forbidden(kinds, actual, steps, matches.ids),
        notes=(
            *(f"{address} is included: a target requires it" for address in decisions.required),
            *remarks(mine),
            *unshown(mine),
            *decisions.notes,
            *brought_unmanaged(world, decisions),
            *twins(every, mine),
            *suffixed(mine, derived),
            *staying(every, mine),
            *access.notes,
        ),
        violations=access.violations,
        differing=differing(mine, names),
        strayed=strayed(rows),
        outside=_outside(world, decisions, names) if selection.partial else None,
        objects={address: draft.id for address, draft in mine.items()} if desired.policies else {},
        managed=sum(
            1
            for address, resource in desired.resources.items()
            if not resource.implied and (address in matches.ids or address in state.bindings)
        ),
    )


def _deferred(*entries: Draft | Removal) -> dict[Address, str]:
    """What waits for a second run, and why."""
    return {entry.address: entry.deferred for entry in entries if entry.deferred is not None}


def _outside(world: World, decisions: Decisions, names: Names) -> int:
    """How many addresses that this run leaves alone have something pending, or something that cannot be done."""
    mine, gone = decisions.of_this_run()
    drafts = {address: draft for address, draft in decisions.drafts.items() if address not in mine}
    removals = {address: removal for address, removal in decisions.removals.items() if address not in gone and removal.replaces is None}
    rows = arrange(decisions.drafts, decisions.drafts)
    pending = {change.address for change in (*changes(world.desired, drafts, rows, names), *departures(removals))}
    stuck: list[Draft | Removal] = [*drafts.values(), *removals.values()]
    pending |= {entry.address for entry in stuck if not entry.active}
    return len(pending - mine.keys() - gone.keys())


def _places(rows: Collection[SiblingRow]) -> dict[Address, SiblingPlace]:
    return {address: place for row in rows for address, place in row.places().items()}
