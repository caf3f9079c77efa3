"""The planner: Desired, State and Actual in, a Plan out. Pure, total, deterministic; the one algorithm behind plan, apply and drift.

- `matching/`: which object on the service is which declared resource
- `drafts/`: what happens to each declared resource; `removals`: what happens to what is no longer declared
- `passes/`: rules on the whole plan: what must stay, what waits for a second run, what was renamed, what this run is limited to
- `siblings/`: the order of siblings, and the fewest moves that lead to it
- `steps/`: the requests, and what each of them waits for
- `audience/`: who can read what before, during and after the plan, and the order that keeps everybody else out
- `warnings/`: what a reader must know before approving
- `changes`: what people read of the plan, with `names` for ids; `cascades`: unmanaged objects that a delete takes along
- `memory`: what the state records before the first request
- `simulate`: the service as the declarations describe it; `prove` replays a plan on it
- `guard`: limits on a whole plan; `drift`: what was changed outside Reconciler, read off a plan
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from reconciler.address import Address, Glob
from reconciler.model import Actual, Desired, Place, Plan, State
from reconciler.plan.audience.disclosure import disclosure
from reconciler.plan.cascades import taken_along
from reconciler.plan.changes import blockages, changes, departures, differing, remarks, strayed, unmanaged
from reconciler.plan.derived import block_underived, derivations, staying, suffixed
from reconciler.plan.drafts.drafts import Draft, drafts, replaced
from reconciler.plan.matching.identity import identified as match
from reconciler.plan.matching.match import Matches
from reconciler.plan.matching.renames import called_today
from reconciler.plan.memory import memory
from reconciler.plan.names import Names
from reconciler.plan.passes.contents import keep
from reconciler.plan.passes.last_admin import spare
from reconciler.plan.passes.renames import lookalikes
from reconciler.plan.passes.repeated_renames import repeated
from reconciler.plan.passes.second_run import defer, reshapes, settle
from reconciler.plan.passes.targets import Selection, block_what_waits, select
from reconciler.plan.removals import Removal, removals
from reconciler.plan.siblings.positions import stood, strangers
from reconciler.plan.siblings.rows import Row, arrange
from reconciler.plan.steps.schedule import requests
from reconciler.plan.warnings.broken_urls import broken
from reconciler.plan.warnings.consents import asked, consents
from reconciler.plan.warnings.exposure import audience_lines, exposures, who_reads, windows
from reconciler.plan.warnings.loosened_rules import changed, freed, loosened
from reconciler.plan.warnings.permissions import forbidden
from reconciler.plan.warnings.twins import twins
from reconciler.resource import Kinds

__all__ = ["Matches", "Selection", "match", "plan"]


def plan(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    *,
    selection: Selection | None = None,
    allow_replace: Collection[str] = (),
) -> Plan:
    """What has to happen so that Actual becomes Desired.

    `allow_replace`: patterns over the addresses that may be deleted and made anew. The same inputs give the same plan, to the byte.
    """
    permitted = [Glob.parse(text) for text in allow_replace]
    found = match(kinds, desired, state, actual)
    state = found.former.state
    desired = replace(desired, removed=called_today(desired.removed, found.former))

    def may_replace(address: Address) -> bool:
        return any(glob.matches(address) for glob in permitted)

    every = _drafts(kinds, desired, state, actual, found, may_replace, {})
    leaving = removals(kinds, desired, state, actual, found, every)
    changing = reshapes(kinds, actual, found, every, leaving)
    if settled := settle(changing, found):
        every = _drafts(kinds, desired, state, actual, found, may_replace, settled)
        leaving = removals(kinds, desired, state, actual, found, every)
    repeated(found.former, every)
    remarked = lookalikes(desired, every, leaving)
    keep(kinds, desired, actual, every, leaving, changing)
    spare(kinds, desired, actual, every, leaving)
    defer(changing, kinds, actual, found, every, leaving)
    selection = selection or Selection()
    mine, gone, along = select(selection, every, leaving)
    block_underived(every, mine)
    block_what_waits(mine)
    gone = {address: removal for address, removal in gone.items() if removal.replaces is None or mine[removal.replaces].active}
    rows = arrange(every, mine)
    names = Names((id, address) for address, id in (*found.replaced.items(), *found.ids.items()))
    names |= {binding.id: address for address, binding in state.bindings.items() if address not in desired.resources}
    places = stood([*every.values(), *leaving.values()], strangers(kinds, actual, names), names)
    derived = derivations(kinds, actual, found.ids, every, mine, gone)
    steps = requests(kinds, mine, rows, gone, found.ids, places, derived)
    about_rules = selection.only is None  # else it is a run about other runs, not about the project
    rules = changed(desired, state) if about_rules else None
    pruned = {removal.kind.name for removal in gone.values() if removal.pruned and removal.active}
    looser = loosened(desired, state, pruned) if about_rules else ()
    disclosed = disclosure(kinds, desired, actual, found.ids, steps, derived)
    opened = (
        *audience_lines(kinds, disclosed.openings, mine, names, disclosed.called),
        *windows(disclosed.windows, kinds, disclosed.called),
        *exposures(desired, state, mine, gone, names, freed=freed(desired, state) if about_rules else ()),
    )
    exposed = asked((*looser, *opened), state)
    listed = [*changes(desired, mine, rows, names, derived), *departures(gone), *taken_along(kinds, actual, gone, changing)]
    return Plan(
        project=desired.project,
        environment=desired.environment,
        changes=tuple(listed),
        steps=disclosed.steps,
        questions=disclosed.questions,
        unmanaged=unmanaged(kinds, desired, state, actual, found),
        unknown=actual.unknown,
        in_doubt=tuple(sorted({intent.address for intent in state.intents})),
        blocked=blockages(mine, gone),
        deferred={
            **{draft.address: draft.deferred for draft in mine.values() if draft.deferred is not None},
            **{removal.address: removal.deferred for removal in gone.values() if removal.deferred is not None},
        },
        places=_places(rows),
        memory=replace(memory(desired, found, mine, gone, whole=selection == Selection()), rules=rules),
        exposures=exposed,
        consents=consents(exposed, who_reads(disclosed.reach, disclosed.called), mine, names),
        broken=broken(kinds, actual, mine, gone),
        forbidden=forbidden(kinds, actual, steps, found.ids),
        notes=(
            *(f"{address} comes along: a target needs it" for address in along),
            *remarks(mine),
            *remarked,
            *twins(every, mine),
            *suffixed(mine, derived),
            *staying(every, mine),
        ),
        differing=differing(mine, names),
        strayed=strayed(rows),
        outside=_outside(desired, every, leaving, mine, gone, names) if selection.partial else None,
        managed=sum(
            1 for address, one in desired.resources.items() if not one.implied and (address in found.ids or address in state.bindings)
        ),
    )


def _drafts(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    found: Matches,
    may_replace: Callable[[Address], bool],
    settled: Mapping[Address, str],
) -> dict[Address, Draft]:
    """The drafts, once it is known what is replaced: references to that are looked at again."""
    every = drafts(kinds, desired, state, actual, found, may_replace=may_replace, settled=settled)
    while replaced(every, found):
        every = drafts(kinds, desired, state, actual, found, may_replace=may_replace, settled=settled)
    return every


def _outside(
    desired: Desired,
    every: Mapping[Address, Draft],
    leaving: Mapping[Address, Removal],
    mine: Mapping[Address, Draft],
    gone: Mapping[Address, Removal],
    names: Names,
) -> int:
    """How many addresses that this run leaves alone have something pending, or something that cannot be done."""
    drafts = {address: draft for address, draft in every.items() if address not in mine}
    removals = {address: removal for address, removal in leaving.items() if address not in gone and removal.replaces is None}
    pending = {change.address for change in (*changes(desired, drafts, arrange(every, every), names), *departures(removals))}
    stuck: list[Draft | Removal] = [*drafts.values(), *removals.values()]
    pending |= {one.address for one in stuck if one.blocked is not None or one.deferred is not None}
    return len(pending - mine.keys() - gone.keys())


def _places(rows: Collection[Row]) -> dict[Address, Place]:
    return {address: place for row in rows for address, place in row.places().items()}
