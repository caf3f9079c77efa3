"""The planner: the order of the passes, and the plan that their decisions make.

In: Desired, State and Actual. Out: a Plan. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from reconciler.address import Address, Glob, Selection
from reconciler.model import Actual, BrokenUrl, Desired, Exposure, Plan, State, Step
from reconciler.model.variants import SiteUrls, Variant
from reconciler.plan.audience.agreed import AgreedWorld, agreed_before
from reconciler.plan.audience.disclosure import Disclosure, caller, disclosure
from reconciler.plan.audience.people import newly, unasked
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.changes import (
    Names,
    blockages,
    changes,
    differing,
    ignored,
    moved_outside,
    remarks,
    removal_changes,
    state_update,
    unmanaged,
    unmanaged_cascades,
)
from reconciler.plan.checks import checked
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import Derivation, derivations, pending_derivations, suffix_notes, taken_values, unchanged_notes
from reconciler.plan.drafts.declared import declared
from reconciler.plan.drafts.synced import synced_notes
from reconciler.plan.drafts.undeclared import replaced_objects, undeclared
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.renames import current_addresses
from reconciler.plan.passes.contents import contents
from reconciler.plan.passes.prerequisites import expectations, last_admin, required_kinds
from reconciler.plan.passes.renames import probable_renames, repeated_renames
from reconciler.plan.passes.second_run import beside_others, rearrangements, second_run
from reconciler.plan.passes.targets import targets, waits
from reconciler.plan.siblings.order import current_positions, unmanaged_siblings
from reconciler.plan.siblings.rows import SiblingRow, arrange, ignored_positions
from reconciler.plan.steps.rules import scheduled
from reconciler.plan.transfers import decide_with_transfers, positions_before_transfer, shown_where, unmanaged_in_transfers
from reconciler.plan.variants import Published, answers_alike, readable, site_urls, touches_urls, unread_openers
from reconciler.plan.warnings.exposure import (
    audience_lines,
    changed_rules,
    consents,
    exposures,
    loosened_rules,
    lost_readers,
    unprotected_kinds,
    windows,
    with_consent_needed,
)
from reconciler.plan.warnings.limits import instead_notes, limit_notes
from reconciler.plan.warnings.notes import (
    broken_urls,
    condition_notes,
    forbidden_requests,
    schemas_to_read,
    similar_names,
    twins,
    unshown,
    unstarted,
)
from reconciler.plan.warnings.outside import accepted_exposures, by_transfers, transfer_exposures
from reconciler.plan.world import Decisions, Pass, World
from reconciler.resource import Kinds

PASSES: Final[tuple[Pass, ...]] = (
    undeclared,  # what is no longer declared is deleted or forgotten
    rearrangements,  # the service rearranges a container whose first or last object of a kind changes
    declared,  # each declared resource is created, updated, moved, restored, replaced, adopted, or kept
    replaced_objects,  # the old object of a replacement is deleted
    repeated_renames,  # a rename that was carried out before must not exchange titles now
    probable_renames,  # a delete and a create that look alike wait until the YAML says whether they are a rename
    targets,  # the run is limited to what people selected, with what that requires
    beside_others,  # nothing is created where the service would move it into something else
    pending_derivations,  # nothing is created from a value that is still to change
    expectations,  # what the service derives must be what the YAML expects
    waits,  # what needs something blocked waits for it
    contents,  # nothing is deleted while something that stays is in it
    second_run,  # what the service rearranges waits for a second run
    waits,  # and so does what needs that
    taken_values,  # no value is sent that a sibling keeps
    last_admin,  # an organization keeps its admins: decided on what is really sent
    required_kinds,  # a setting that requires an object of a kind is turned on only where there is one
)
"""All decisions, in the order in which they are taken: each pass sees those of the passes before it."""


def decide(world: World, matches: Matches) -> Decisions:
    """What happens to each address.

    What a selection requires is known when it is decided what happens to it, and that depends in turn on what the run is about: what the
    service rearranges. So it is decided again with what was required; each time there is more of it, so this ends.
    """
    required = frozenset[Address]()
    while True:
        decisions = Decisions(matches, required=required)
        for pass_ in PASSES:
            decisions = pass_(world, decisions)
        if decisions.required <= required:
            return decisions
        required |= decisions.required


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

    `allow_replace`: patterns over the addresses that may be deleted and created again. `matches`: what is `identify`, where that is known
    already. The same inputs give the same plan, to the byte.
    """
    selection, before = selection or Selection(), actual

    # First phase: which object is which resource, and what happens to each address.
    matches = identify(kinds, desired, state, actual) if matches is None else matches
    world, decisions = decide_with_transfers(_world(kinds, desired, matches, actual, selection, allow_replace), matches, decide)
    desired, state, matches = world.desired, world.state, decisions.matches

    # Second phase: the requests of this run.
    run = _run(world, decisions, before)
    drafts, removals, names = run.drafts, run.removals, run.names
    entries: list[Draft | Removal] = [*drafts.values(), *removals.values()]
    deferred = {entry.address: entry.deferred for entry in entries if entry.deferred is not None}
    blocked = blockages(drafts, removals)

    # Third phase: who can read what before and after the requests. It decides their final order, the access tests, and what needs consent.
    agreed = agreed_before(state, drafts.values(), removals.values())
    read = replace(world, actual=before)
    disclosed = disclosure(read, matches.ids, run.steps, run.derived, agreed)
    partial = selection != Selection() or bool(deferred)
    results = checked(read, matches.ids, disclosed, partial=partial, waiting=bool(blocked))
    exposed = with_consent_needed(_exposures(world, run, disclosed, agreed, before), state)

    called = caller(kinds, {**state.addresses, **kinds.addresses(matches.ids)}, before.objects, before.objects)
    urls = _site_urls(kinds, desired, before, run, disclosed, called)

    # Last phase: everything that people and later runs read of it. What is deleted with something says so itself.
    included = sorted(at for at in decisions.required if at not in decisions.removals or decisions.removals[at].deleted_with is None)
    positions = ignored_positions(decisions.drafts, drafts)
    schemas = schemas_to_read(kinds, desired, drafts.values(), matches.ids)
    removals_of_all = {**decisions.removals, **decisions.left_alone}.values()
    deleted = [entry for entry in removals_of_all if isinstance(entry, Removal) and entry.deletes and entry.replaces is None]
    managed = sum(not resource.implied and (at in matches.ids or at in state.bindings) for at, resource in desired.resources.items())
    update = state_update(desired, matches, drafts, removals, is_complete=selection == Selection(), waiting=decisions.unsettled)
    return Plan(
        project=desired.project,
        environment=desired.environment,
        changes=(
            *changes(desired, drafts, run.rows, names, matches.renamed, run.derived),
            *removal_changes(removals),
            *unmanaged_cascades(world, removals, decisions.rearrangements),
        ),
        steps=disclosed.steps,
        questions=disclosed.questions
        | results.questions
        | shown_where(world, drafts, before)
        | (unasked(kinds, before) if desired.read_people else frozenset()),
        trees=disclosed.trees,
        lists=results.lists | disclosed.lists | decisions.lists | schemas | unread_openers(kinds, before, urls),
        unmanaged=unmanaged(kinds, desired, state, before, matches),
        unknown=tuple(failure for failure in world.actual.unknown if (failure.kind, failure.scope) not in schemas),
        in_doubt=tuple(sorted({intent.address for intent in state.intents})),
        blocked=blocked,
        deferred=deferred,
        places={address: place for row in run.rows for address, place in row.places().items()},
        # A run about other runs is not about the rules of the project.
        state_update=replace(update, rules=changed_rules(desired.as_written, matches.former.before) if selection.only is None else None),
        exposures=exposed,
        consents=consents(exposed, disclosed.reach, disclosed.called, drafts, names),
        broken=tuple(
            inner
            for line in broken_urls(kinds, world.actual, drafts, removals, _recreated(kinds, urls, drafts, disclosed), disclosed.called)
            for inner in _still_broken(urls, line, disclosed.called)
        ),
        site_urls=urls,
        lost_readers=lost_readers(disclosed, before.objects),
        forbidden=forbidden_requests(kinds, world.actual, run.steps, matches.ids),
        notes=(
            *(f"{address} is included: a target requires it" for address in included),
            *remarks(drafts),
            *unshown(drafts),
            *decisions.notes,
            *unmanaged_in_transfers(world, decisions),
            *twins(decisions.drafts, drafts),
            *similar_names(before, decisions.drafts, drafts, decisions.removals),
            *suffix_notes(run.derived),
            *unchanged_notes(decisions.drafts, drafts),
            *condition_notes(kinds, desired, drafts.values(), matches.ids, before),
            *synced_notes(drafts, positions),
            *unstarted(kinds, run.steps, matches.ids),
            *limit_notes(kinds, before, run.steps, matches.ids),
            *instead_notes(kinds, run.steps),
            *results.notes,
        ),
        violations=results.violations,
        differing=differing(drafts, names),
        moved_outside=moved_outside(run.rows),
        ignored=ignored(drafts, positions, names),
        outside=_outside(world, decisions, names) if selection.partial else None,
        objects=_judged(world, decisions, drafts) if desired.policies else {},
        managed=managed,
        managed_before=managed + len(deleted),
    )


def requests_left(kinds: Kinds, desired: Desired, state: State, actual: Actual, *, selection: Selection | None = None) -> tuple[Step, ...]:
    """The requests of the plan, without what people read of it, which takes as long again."""
    matches = identify(kinds, desired, state, actual)
    world, decisions = decide_with_transfers(_world(kinds, desired, matches, actual, selection or Selection(), ()), matches, decide)
    return _run(world, decisions, actual).steps


def plan_to_carry_out(kinds: Kinds, desired: Desired, state: State, actual: Actual, matches: Matches) -> Plan:
    """The plan as far as `carried_out` needs it: the requests, in an order that no reader has decided, the positions of siblings, and what
    the state remembers. `matches`: which object is which resource."""
    world, decisions = decide_with_transfers(_world(kinds, desired, matches, actual, Selection(), ()), matches, decide)
    run = _run(world, decisions, actual)
    update = state_update(world.desired, decisions.matches, run.drafts, run.removals, is_complete=True, waiting=decisions.unsettled)
    places = {address: place for row in run.rows for address, place in row.places().items()}
    return Plan(desired.project, desired.environment, steps=run.steps, places=places, state_update=update)


def _world(kinds: Kinds, desired: Desired, matches: Matches, actual: Actual, selection: Selection, allow_replace: Collection[str]) -> World:
    """What the plan is about, under today's addresses."""
    desired = replace(desired, removed=current_addresses(desired.removed, matches.former))
    return World(kinds, desired, matches.former.state, actual, selection, tuple(map(Glob.parse, allow_replace)))


@dataclass(frozen=True)
class PlannedRun:
    """What is sent in this run, and what it is about; the rest of the decisions is left alone."""

    drafts: Mapping[Address, Draft]
    removals: Mapping[Address, Removal]
    # The order of siblings.
    rows: tuple[SiblingRow, ...]
    # Addresses by id, for people to read.
    names: Names
    # What the service derives for what is created.
    derived: Mapping[Address, Derivation]
    # Not yet in the order that keeps readers out.
    steps: tuple[Step, ...]


def _run(world: World, decisions: Decisions, before: Actual) -> PlannedRun:
    """Siblings are put in order first; what the service derives depends on that, and the requests on both. `before`: what was read."""
    kinds, matches = world.kinds, decisions.matches
    drafts, removals = decisions.of_this_run()
    rows = arrange(decisions.meant(), drafts)
    replaced = ((match.replaced, address) for address, match in matches.items() if match.replaced is not None)
    names = Names((*replaced, *((id, address) for address, id in matches.ids.items())))
    names |= {binding.id: address for address, binding in world.state.bindings.items() if address not in world.desired.resources}
    places = current_positions(
        [*decisions.drafts.values(), *decisions.removals.values()], unmanaged_siblings(kinds, world.actual, names), names
    )
    places |= positions_before_transfer(world, decisions, before, names)
    derived = derivations(world, decisions)
    return PlannedRun(drafts, removals, rows, names, derived, scheduled(kinds, drafts, rows, removals, matches.ids, places, derived))


def _exposures(world: World, run: PlannedRun, disclosed: Disclosure, agreed: AgreedWorld, before: Actual) -> Iterator[Exposure]:
    """What becomes public or is no longer protected, rules of the project first."""
    kinds, desired, state, drafts, removals, names = world.kinds, world.desired, world.state, run.drafts, run.removals, run.names
    freed: Collection[str] = ()
    if world.selection.only is None:
        pruned = {removal.kind.name for removal in removals.values() if removal.pruned and removal.active}
        deleted = {address for address, removal in removals.items() if removal.active and removal.deletes}
        yield from loosened_rules(desired.as_written, state, pruned, deleted)
        freed = unprotected_kinds(desired.as_written, state)
    openings = [opening for opening in disclosed.openings if not by_transfers(world, opening)]
    worlds = disclosed.worlds
    named = [newly(kinds, before, worlds.before, worlds.after)] if worlds is not None and before.personal else []
    yield from audience_lines(kinds, openings, drafts, names, disclosed.called, before.objects, *named)
    yield from windows(disclosed.windows, kinds, disclosed.called, before.objects)
    yield from exposures(desired, state, drafts, removals, names, freed=freed)
    yield from transfer_exposures(world, drafts, disclosed)
    yield from accepted_exposures(world, drafts, removals, names, disclosed, agreed)


def _site_urls(
    kinds: Kinds, desired: Desired, before: Actual, run: PlannedRun, disclosed: Disclosure, called: Callable[[Key], Address]
) -> SiteUrls:
    """What shows pages before and after the requests, where they change a URL. `called`: the address of an object where nothing changes."""
    worlds, judged = disclosed.worlds, desired.judges_urls
    if worlds is None or not touches_urls(kinds, disclosed.steps):
        now = Published(kinds, Audiences(kinds, before.objects, complete=before.complete))
        shown = tuple(readable(now).values()) if judged else ()
        return SiteUrls(names=_names(shown, called), readable_before=shown, readable_after=shown)
    derived = {
        (kinds.of(address).name, worlds.ids[address]): {derivation.field.name: derivation.value}
        for address, derivation in run.derived.items()
        if address in worlds.ids
    }
    now = Published(kinds, worlds.before)
    then = Published(kinds, worlds.after, derived, earlier=now)
    urls = site_urls(now, then, disclosed.called)
    if not judged:
        return urls
    old = readable(now)
    shown, new = tuple(old.values()), tuple(readable(then, old).values())
    names = {**urls.names, **_names((*shown, *new), disclosed.called)}
    created = urls.created | {variant.space for variant in new if now.find(variant.space) is None}
    return replace(urls, names=names, created=created, readable_before=shown, readable_after=new)


def _names(variants: Iterable[Variant], called: Callable[[Key], Address]) -> dict[Key, Address]:
    keys = {key for variant in variants for key in (variant.space, variant.site)}
    return {key: called(key) for key in sorted(keys)}


def _recreated(kinds: Kinds, urls: SiteUrls, drafts: Mapping[Address, Draft], disclosed: Disclosure) -> dict[Address, str]:
    """The new URLs of what is recreated, as far as they are known."""
    known = {variant.at: variant.bases[0] for variant in urls.after if variant.bases}
    ids = disclosed.worlds.ids if disclosed.worlds is not None else {}
    keys = {address: (draft.kind.name, ids.get(address, "")) for address, draft in drafts.items() if draft.old is not None}
    return {address: known[key] for address, key in keys.items() if key in known}


def _still_broken(urls: SiteUrls, line: BrokenUrl, called: Callable[[Key], Address]) -> Iterator[BrokenUrl]:
    """The URL that breaks; where the same pages answer at it by another default, those below it that break instead."""
    if not answers_alike(urls, line.before):
        yield line
        return
    now, above = {variant.at: variant for variant in urls.after}, (line.before or "").rstrip("/")
    for variant in urls.before:
        base = variant.bases.get(0, "")
        if base.startswith(f"{above}/") and not answers_alike(urls, base):
            after = now[variant.at].bases.get(0) if variant.at in now else None
            yield BrokenUrl(called(variant.at), variant.at[0], base, after, line.reason, line.source)


def _judged(world: World, decisions: Decisions, drafts: Mapping[Address, Draft]) -> dict[Address, str | None]:
    """What policies judge: what this run is about, and what is held, as it stays. Else a policy would not see that its limit is exceeded by
    what is applied beside something held."""
    held = {at: entry.id for at, entry in decisions.left_alone.items() if isinstance(entry, Draft) and at in world.selection.held}
    return {address: draft.id for address, draft in drafts.items()} | {at: id for at, id in held.items() if id is not None}


def _outside(world: World, decisions: Decisions, names: Names) -> int:
    """How many addresses that this run leaves alone have something pending, or something that cannot be done."""
    left = [entry for address, entry in decisions.left_alone.items() if address not in world.selection.held]
    entries = [entry for entry in left if not isinstance(entry, Removal) or entry.replaces is None]
    drafts = {entry.address: entry for entry in entries if isinstance(entry, Draft)}
    removals = {entry.address: entry for entry in entries if isinstance(entry, Removal)}
    rows = arrange(decisions.meant(), drafts)
    pending = {
        change.address for change in (*changes(world.desired, drafts, rows, names, decisions.matches.renamed), *removal_changes(removals))
    }
    return len(pending | {entry.address for entry in entries if not entry.active})
