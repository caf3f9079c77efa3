"""What happens to each declared address: nothing, adopt, create, update, move, restore, replace, or blocked. Pure.

In: the world and what was matched. Out: one `Draft` per address. Requests and their order come later (`steps`, `siblings`).

A difference is sent, noted, or refused; if no request can correct it on an existing object, the object is replaced where people allowed
that. A replacement keeps the values that the YAML does not manage, as far as a request can write them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from reconciler.address import Address, bare
from reconciler.model import WHEN_READ, Actual, Blocked, Cause, Declared, Desired, Observed, Origin, waiting
from reconciler.model.codec import choices, substitute, title, unresolved_addresses, wanted
from reconciler.plan.decisions import Draft, Purpose, Replace, Transfer
from reconciler.plan.drafts.synced import create_refused, without_synced
from reconciler.plan.drafts.undeclared import left_behind, pruned_later
from reconciler.plan.matching.differences import Correction, FieldDifference, correction_of, differences, with_note
from reconciler.plan.matching.match import is_other, other
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.missing import last_moment, left_over, window
from reconciler.plan.matching.outsiders import outsider
from reconciler.plan.matching.renames import Former
from reconciler.plan.put_elsewhere import container_field, put_elsewhere, unread_lists
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET, Field, FieldRole, Kind, Verb
from reconciler.text.names import a, span


def declared(world: World, decisions: Decisions) -> Decisions:
    """Decide what happens to each declared address; what refers to a replaced object is decided again with the replacement known."""
    rearranged = frozenset(change.container for change in decisions.rearrangements)
    settled = {address: change.reason for change in decisions.rearrangements for address in change.settled}
    matches, chosen = decisions.matches, choices(world.kinds, world.actual.objects)
    drafts: dict[Address, Draft] = {}
    undecided: Collection[Address] = world.desired.resources
    while undecided:
        facts = DraftFacts.of(world, matches, chosen, settled, rearranged)
        for address in undecided:
            drafts[address] = _draft(facts, world.desired.resources[address], drafts)
        replaced = [address for address in undecided if drafts[address].old is not None and address in matches.ids]
        if replaced:
            matches = matches.with_({at: matches[at]._replace(id=None, replaced=matches[at].id) for at in replaced})
        undecided = _with_referrers(world.desired, replaced)
    lists = decisions.lists | frozenset(unread_lists(world.actual, drafts))
    return replace(decisions, matches=matches, drafts=_with_first_children(drafts), lists=lists)


def parents(desired: Desired, declared: Declared) -> Iterator[Address]:
    """The resources that a resource is declared in, the nearest first."""
    parent = declared.parent
    while parent is not None:
        yield parent
        parent = desired.resources[parent].parent if parent in desired.resources else parent.container


def needed(declared: Declared) -> set[Address]:
    """The addresses that must exist before a resource can be created: its container, its parent, and what it refers to."""
    addresses = {*unresolved_addresses(list(declared.values.values())), declared.parent, declared.address.container}
    return {address for address in addresses if address is not None and address != declared.address}


def _with_referrers(desired: Desired, addresses: Collection[Address]) -> list[Address]:
    """These addresses and all that refer to one of them, in the order of Desired."""
    if not addresses:
        return []
    return [
        address
        for address, declared in desired.resources.items()
        if address in addresses or any(other in addresses for other in needed(declared))
    ]


def _draft(facts: DraftFacts, declared: Declared, drafts: Mapping[Address, Draft]) -> Draft:
    """One address; `drafts`: those of its container and of all before it."""
    matches, state, address = facts.matches, facts.world.state, declared.address
    kind = facts.world.kinds[declared.kind]
    match = matches[address]
    # Where people created the object again, the tracked one is another one, and no longer exists.
    binding = None if match.recreated is not None else matches.binding(address)
    blocker = matches.former.rename_blocker(address, parents(facts.world.desired, declared))
    draft = Draft(address, kind, declared, wanted(kind, declared, facts.known), binding=binding)
    if blocker is not None:
        draft = replace(draft, blocked=replace(blocker, address=address, source=blocker.source or declared.source))
    elif match.blocked is not None:
        draft = replace(draft, blocked=match.blocked)
    elif address in facts.doubtful:
        draft = draft.block("a request of an earlier run is in doubt", "reconciler apply finds out what happened to it", id="RC-in-doubt")
    elif match.unknown is not None:
        draft = _unknown(matches, draft, match.unknown, drafts)
    elif match.replaced is not None:
        draft = draft_replacement(draft, facts.world.actual, match.replaced)
    elif match.id is not None:
        draft = draft_existing(facts, draft)
    else:
        draft = draft_create(draft, gone=match.gone, may_replace=facts.world.may_replace(address))
        container = matches.ids.get(address.container) if address.container is not None else None
        draft = create_refused(facts.world.kinds, facts.world.actual, draft, container)
    if draft.is_new and (kind.name, address.container) in state.held:
        draft = draft.block(f"another {kind.name} is in doubt there, and its list could not be read", WHEN_READ, id="RC-in-doubt-beside")
    return refuse_ambiguous(refuse_outsiders(facts.world, matches, draft), matches.former)


def _unknown(matches: Matches, draft: Draft, reason: str, drafts: Mapping[Address, Draft]) -> Draft:
    """Block a resource that could not be read; where its container could not be read either, it waits for the container."""
    container = draft.address.container
    outer = drafts.get(container) if container is not None and matches[container].unknown is not None else None
    if outer is not None and outer.blocked is not None:
        return replace(draft, blocked=waiting(draft.address, outer.blocked, draft.declared.source))
    return draft.block(f"it could not be read: {reason}", WHEN_READ, id="RC-unread")


def _with_first_children(drafts: Mapping[Address, Draft]) -> dict[Address, Draft]:
    """Mark the children that their parent's create creates, and block parents whose first child cannot be created."""
    children: dict[tuple[Address, str], list[Address]] = defaultdict(list)
    for draft in drafts.values():
        if draft.declared.parent is not None:
            children[draft.declared.parent, draft.kind.name].append(draft.address)
    result = dict(drafts)
    for address in drafts:
        parent, first = result[address], result[address].kind.first
        below = children.get((address, first.to or ""), []) if first is not None else []
        if not (below and parent.is_new and parent.active):
            continue
        child = result[below[0]]
        if not child.active:
            assert child.blocked is not None
            result[address] = replace(parent, blocked=waiting(address, child.blocked, parent.declared.source))
        elif child.is_new:
            result[child.address] = replace(child, created_with=address)
    return result


# -- references that must not be sent ----------------------------------------------------------------------------------------------


def refuse_outsiders(world: World, matches: Matches, draft: Draft) -> Draft:
    """Send no reference to an object that is not known to belong to the declared organization."""
    fields, values = draft.kind.fields, draft.declared.values
    return _refused(draft, lambda name: outsider(world.kinds, draft.declared, fields[name], values.get(name), world.actual, matches))


def refuse_ambiguous(draft: Draft, former: Former) -> Draft:
    """Send no reference to an address that two objects claim: the user may have meant either of them."""
    if not former.refused:
        return draft

    def wrong(name: str) -> Blocked | None:
        for address in unresolved_addresses(draft.declared.values.get(name)):
            if address in former.refused:
                source = draft.declared.source if draft.is_new else draft.declared.positions.get(name, draft.declared.source)
                reason = f"waits for {address}, whose rename is blocked"
                return waiting(draft.address, former.refused[address], source, reason=reason if draft.is_new else f"{name} {reason}")
        return None

    return _refused(draft, wrong)


def _refused(draft: Draft, wrong: Callable[[str], Blocked | None]) -> Draft:
    """Block a resource to create that has a wrong reference; for an existing one, block only the fields that would send it."""
    if not draft.active or not (draft.is_new or draft.differences):
        return draft
    if draft.is_new:
        blocked = next((reason for name in draft.declared.values if (reason := wrong(name)) is not None), None)
        return draft if blocked is None else replace(draft, blocked=blocked)
    for difference in draft.sendable:
        blocked = wrong(difference.field.name)
        if blocked is not None:
            draft = draft.without(difference, blocked)
    return draft


# -- One resource --------------------------------------------------------------------------------------------------------------------

Choices = Mapping[tuple[str, str], Mapping[str, str]]
"""Which child carries a flag now: (parent's kind, parent's id) -> choice field -> child's id."""


@dataclass(frozen=True)
class DraftFacts:
    """The data on which drafts are based, looked up once.

    `known`: ids by which references are compared, including those of unread resources. `unread`: (kind, scope) of failed lists, and why.

    `settled`: resources that the service itself moves to where they are declared, and why they wait. `rearranged`: the containers in which
    it moves something in this run.
    """

    world: World
    matches: Matches
    choices: Choices
    settled: Mapping[Address, str]
    rearranged: frozenset[Address]
    known: Mapping[Address, str]
    doubtful: frozenset[Address]
    unread: Mapping[tuple[str, str | None], str]

    @classmethod
    def of(
        cls, world: World, matches: Matches, choices: Choices, settled: Mapping[Address, str], rearranged: frozenset[Address]
    ) -> DraftFacts:
        tracked = {
            address: binding.id
            for address, match in matches.items()
            if match.unknown is not None and (binding := matches.binding(address)) is not None
        }
        return cls(
            world,
            matches,
            choices,
            settled,
            rearranged,
            known={**tracked, **matches.ids},
            doubtful=frozenset(intent.address for intent in world.state.intents),
            unread={(reading.kind, reading.scope): reading.reason for reading in world.actual.unknown if reading.id is None},
        )


def draft_existing(facts: DraftFacts, draft: Draft) -> Draft:
    """The draft of an address whose object is known."""
    kind, address, actual = draft.kind, draft.address, facts.world.actual
    id = facts.matches.ids[address]
    now = actual.find(kind.name, id)
    assert now is not None
    batch, deferred = facts.world.batches.get(address), facts.settled.get(address)
    draft = Draft(address, kind, draft.declared, draft.wants, binding=draft.binding, id=id, observed=now, batch=batch, deferred=deferred)
    if now.deleted_at is not None:
        ago, left = window(kind, now.deleted_at, actual)
        if left <= timedelta(0):
            return draft_create(replace(draft, id=None, observed=None), gone=True, may_replace=facts.world.may_replace(address))
        reason = f"deleted {span(ago.total_seconds())} ago, {left_over(left)} left"
        draft = replace(draft, purpose=Purpose.RESTORE, reason=reason, until=last_moment(kind, now.deleted_at))
    if draft.declared.implied:
        return draft
    return _corrected(facts, _with_intent(facts, without_synced(facts.world.kinds, actual, _without_ignored(draft))))


def _without_ignored(draft: Draft) -> Draft:
    """The draft without the fields that the YAML says to leave alone, and their differences.

    A field that was never sent to an object that Reconciler created is not ignored: its creation was interrupted.
    """
    binding, declared = draft.binding, draft.declared
    unsent = binding is not None and binding.origin is Origin.CREATED
    names = {name for name in declared.ignores if name in draft.wants and not (unsent and binding is not None and name not in binding.sent)}
    if not names or draft.observed is None:
        return draft
    wants = {name: want for name, want in draft.wants.items() if name in names}
    return replace(
        draft,
        declared=replace(
            declared,
            values={name: value for name, value in declared.values.items() if name not in names},
            aside=declared.aside | names,
        ),
        wants={name: want for name, want in draft.wants.items() if name not in names},
        ignored=differences(draft.kind, wants, draft.observed, binding, {}),
    )


def _with_intent(facts: DraftFacts, draft: Draft) -> Draft:
    """The draft with its intent, and the reason for it where that is not obvious."""
    matches, address = facts.matches, draft.address
    if matches[address].adopted and not draft.is_restored:
        came_late = (draft.kind.name, draft.id) in matches.late
        usual = "created by a late request of an earlier run" if came_late else "exists and is unmanaged"
        return _recreated(facts, replace(draft, purpose=Purpose.ADOPT, reason=usual))
    root = facts.world.transferred.root_of.get(address)
    if address in facts.world.transferred.roots:
        return replace(draft, purpose=_transfer(facts, draft), reason=f"was {matches.renamed[address]}")
    if root is not None and not draft.is_restored:
        return replace(draft, purpose=Purpose.RENAME, reason=f"was {matches.renamed[address]}; is transferred with {root}")
    if address in matches.renamed:
        purpose = Purpose.RESTORE_AND_RENAME if draft.is_restored else Purpose.RENAME
        return replace(draft, purpose=purpose, reason=draft.reason or f"was {matches.renamed[address]}")
    return draft


def _transfer(facts: DraftFacts, draft: Draft) -> Transfer:
    """The current location of an object that is to be transferred. A deleted object is not transferred: `transfers.obstacles`."""
    origin, inside = facts.matches.former.origin(draft.address), draft.kind.inside
    assert origin is not None
    assert draft.observed is not None
    node = draft.kind.fields[inside.name].value_in(draft.observed.raw) if inside is not None else None
    return Transfer(origin, str(facts.matches[draft.address].transfers), node if isinstance(node, str) else None)


def _recreated(facts: DraftFacts, draft: Draft) -> Draft:
    """The draft with a note that people created the object in place of the tracked one, and until when that one can be restored."""
    former, actual = facts.matches[draft.address].recreated, facts.world.actual
    if former is None:
        return draft
    reason, old = "was deleted and created again outside Reconciler", actual.find(draft.kind.name, former)
    if old is None or old.deleted_at is None:
        return replace(draft, reason=reason)
    left = window(draft.kind, old.deleted_at, actual)[1]
    if left <= timedelta(0):
        return replace(draft, reason=reason)
    reason += f"; the deleted one ({bare(former)}) can be restored for another {left_over(left)}"
    return replace(draft, reason=reason, until=last_moment(draft.kind, old.deleted_at))


def _corrected(facts: DraftFacts, draft: Draft) -> Draft:
    """The draft with the differences that requests correct; replaced or blocked where no request corrects one."""
    kind, now, settled = draft.kind, draft.observed, draft.address in facts.settled
    id = facts.matches.ids[draft.address]
    assert now is not None
    differing: list[FieldDifference] = []
    for difference in differences(kind, draft.wants, now, draft.binding, facts.choices.get((kind.name, id), {})):
        unread = _unread(facts, draft, difference)
        if unread is None:
            differing.append(_with_cause(facts, draft, difference))
        else:
            reason = f"{difference.field.name} cannot be compared, {unread}"
            draft = _without_field(draft, difference, reason, WHEN_READ, id="RC-unread")
    if not differing:
        return draft
    deviations = tuple(with_note(kind, difference) for difference in differing if correction_of(difference) is not Correction.NOTHING)
    draft, kept = replace(draft, deviations=deviations), list[FieldDifference]()
    for difference in differing:
        if is_other(difference):
            why = other(kind, difference, id, draft.declared.id is not None, draft.address)
            return replace(draft.block(*why, id="RC-another-object"), purpose=Purpose.KEEP)
        correction = correction_of(difference) if not (settled and difference.field is kind.inside) else Correction.SEND
        if correction is Correction.SEND:
            kept.append(difference)
        elif correction is Correction.REPLACE and (elsewhere := _put_elsewhere(facts, draft, difference)) is not None:
            return draft.block(*elsewhere, id="RC-put-elsewhere")
        elif correction is Correction.REPLACE and facts.world.may_replace(draft.address):
            lost = pruned_later(facts.world, facts.matches, kind, now)
            return (
                draft.block(*lost, id="RC-result-would-be-pruned") if lost is not None else draft_replacement(draft, facts.world.actual, id)
            )
        elif correction is Correction.REPLACE:
            reason = f"{difference.field.name} cannot be changed on an existing {kind.name}; it would be replaced"
            return draft.block(reason, f"to delete and recreate it: --allow-replace {draft.address:sh}", id="RC-replacement-needs-consent")
        elif correction is not Correction.NOTHING:
            cause = "RC-not-undoable" if correction is Correction.IRREVERSIBLE else "RC-not-changeable"
            draft = _without_field(draft, difference, *_refusal(draft, difference, correction), id=cause)
    for verb in kind.update_verbs:
        lacking = without(draft, verb) if any(verb.name in difference.field.on for difference in kept) else None
        if lacking is not None:
            return draft.block(*lacking, id="RC-sent-together")
    return replace(draft, differences=tuple(kept))


def _put_elsewhere(facts: DraftFacts, draft: Draft, difference: FieldDifference) -> tuple[str, str] | None:
    """Why a replacement would end where the object is now, and what to do; None where it would not."""
    world, container, field = facts.world, draft.address.container, container_field(facts.world.kinds, draft.kind, draft.declared)
    if field is None or difference.field is not field or not isinstance(difference.before, str) or container in facts.rearranged:
        return None
    node = world.actual.find(str(field.to), difference.before)
    if (str(field.to), difference.before) in world.state.addresses:
        return None  # people put it there
    name = title(node) if node is not None else str(container.key if container is not None else "")
    return put_elsewhere(world.kinds, world.desired, draft.declared, draft.kind, bare(difference.before), name)


def _with_cause(facts: DraftFacts, draft: Draft, difference: FieldDifference) -> FieldDifference:
    """The difference; drift alone where the YAML still refers to what it referred to, and that object was deleted."""
    field, binding = difference.field, draft.binding
    referred = list(unresolved_addresses(difference.after))
    if difference.cause is not Cause.BOTH or binding is None or not referred:
        return difference
    former = {address: bound.id for address in referred if (bound := facts.matches.binding(address)) is not None}
    then = substitute(difference.after, former)
    edited = not field.same(then, field.remembered(binding.sent[field.name]), then)
    return difference if edited else replace(difference, cause=Cause.DRIFT)


def _without_field(draft: Draft, difference: FieldDifference, reason: str, remedy: str, *, id: str) -> Draft:
    return draft.without(difference, Blocked(draft.address, reason, remedy, draft.declared.source, id=id))


def _unread(facts: DraftFacts, draft: Draft, difference: FieldDifference) -> str | None:
    """What could not be read of the objects that a field refers to; None where all was read."""
    field = difference.field
    for referred in unresolved_addresses(draft.declared.values.get(field.name)):
        if facts.matches[referred].unknown is not None:
            return f"{referred} could not be read: {facts.matches[referred].unknown}"
    to, within = field.to or "", draft.observed.within.values() if draft.observed is not None else ()
    if field.container and isinstance(difference.before, str) and facts.world.actual.find(to, difference.before) is None:
        reason = next((facts.unread[to, scope] for scope in (None, *within) if (to, scope) in facts.unread), None)
        return f"the {to}s could not be read: {reason}" if reason is not None else None
    return None


def _refusal(draft: Draft, difference: FieldDifference, correction: Correction) -> tuple[str, str]:
    """Why no request corrects a difference, and what to do."""
    field = difference.field
    if correction is Correction.IRREVERSIBLE:
        return f"{field.name} cannot be undone: the service has no request for it", f"write {field.name}: true, or remove the line"
    before = field.shown(difference.before)
    values = "its value" if field.sensitive else f"{before} -> {field.shown(difference.after)}"
    remedy = "remove the line" if field.sensitive else f"write {field.name}: {before}, or remove the line"
    return f"{field.name} cannot be changed on an existing {draft.kind.name} ({values})", remedy


# -- creates and replacements ------------------------------------------------------------------------------------------------------


def draft_create(draft: Draft, *, gone: bool, may_replace: bool) -> Draft:
    """The draft of a resource without an object, blocked where it cannot be created. `gone`: its object was deleted outside Reconciler."""
    kind, address, first = draft.kind, draft.address, draft.kind.first
    if "create" not in kind.api:
        return draft.block(
            f"no longer exists, and {a(kind.name)} cannot be created",
            f"stop managing it: reconciler state forget {address:sh}",
            id="RC-cannot-be-created",
        )
    if gone and kind.deleted_at is not None and not may_replace:
        reason = "was deleted outside Reconciler and can no longer be restored: its content is lost"
        return draft.block(reason, f"to recreate it: --allow-replace {address:sh}", id="RC-replacement-needs-consent")
    seed = kind.api["create"].copies
    if seed is not None and draft.wants.get(seed, UNSET) is UNSET:
        reason = f"does not exist, and the service creates {a(kind.name)} only as a copy of another"
        return draft.block(reason, f"write {seed}: KEY, or the id of an existing one", id="RC-nothing-to-copy")
    if first is not None and draft.wants.get(first.name, UNSET) is UNSET:
        return draft.block(f"cannot be created without a first {first.to}", f"give it one {first.to}", id="RC-first-part-missing")
    lacking = without(draft, draft.kind.api["create"])
    if lacking is not None:
        return draft.block(*lacking, id="RC-sent-together")
    defaults = {field.name: field.default for field in kind.sent_by("create") if field.default is not UNSET}
    draft = replace(draft, wants={**defaults, **{name: want for name, want in draft.wants.items() if want is not UNSET}})
    reason = "deleted outside Reconciler" if gone else draft.reason
    return replace(draft, purpose=Purpose.CREATE, reason=reason, differences=_from_nothing(draft))


def without(draft: Draft, verb: Verb) -> tuple[str, str] | None:
    """Why a request that replaces the whole object is not sent, and what to do; None where it may be sent."""
    names = [name for name in verb.whole if draft.wants.get(name, UNSET) is UNSET]
    if not names:
        return None
    lost = f"the request replaces the whole {draft.kind.name}, and the service never shows {' and '.join(names)}"
    return f"cannot be sent without {' and '.join(names)}: {lost}", f"write {' and '.join(names)}"


def draft_replacement(draft: Draft, actual: Actual, id: str) -> Draft:
    """The draft of the resource that replaces the object `id`, with the values that the YAML does not manage."""
    old = actual.find(draft.kind.name, id)
    assert old is not None
    values, lost = _carried_over(draft.kind, old, dict(draft.wants), actual)
    draft = replace(draft, purpose=Replace(old), observed=None, id=None, wants={**draft.wants, **values})
    parts = [f"{'keeps' if names is values else 'loses'} {', '.join(names)}" for names in (values, lost) if names]
    reason = (" and ".join(parts) + left_behind(actual, draft.kind, old)).removeprefix("; ")
    return replace(draft, differences=_from_nothing(draft), reason=reason)


def _carried_over(kind: Kind, old: Observed, wants: dict[str, object], actual: Actual) -> tuple[dict[str, object], tuple[str, ...]]:
    """The values that the new object gets in addition to the declared ones, and the names of the fields that are lost.

    `wants`: the declared values, in the request form. A value that the YAML does not manage is kept where a request can write it, unless it
    must be unique among siblings and a sibling has it.
    """
    values: dict[str, object] = {}
    lost: list[str] = []
    for name, field in kind.fields.items():
        value = old.values.get(name, UNSET)
        if field.role is not FieldRole.VALUE or wants.get(name, UNSET) is not UNSET or value in (UNSET, None, ""):
            continue
        if value == (field.usual(old.raw) if callable(field.usual) else field.usual):
            continue  # the service sets it again by itself
        if field.on and not field.sensitive and not field.hosted and not (field.unique and _is_taken(kind, old, wants, actual, field)):
            values[name] = value
        else:
            lost.append(name)
    return values, tuple(lost)


def _is_taken(kind: Kind, old: Observed, wants: dict[str, object], actual: Actual, field: Field) -> bool:
    """Whether another object has the value in the location of the new one."""
    inside = kind.inside
    return any(
        observed.values.get(field.name) == old.values.get(field.name)
        and observed.within == old.within
        and (inside is None or observed.values.get(inside.name) == wants.get(inside.name))
        for observed in actual.objects.get(kind.name, {}).values()
        if observed.id != old.id
    )


def _from_nothing(draft: Draft) -> tuple[FieldDifference, ...]:
    """Every declared field of an object to create, as a difference from UNSET; values that the service sets by itself are left out."""
    differences = []
    for name, field in draft.kind.fields.items():
        value = draft.wants.get(name, UNSET)
        if value is UNSET or not field.compared:
            continue
        if (field.container and value is None) or (field.one_way and not value) or (not field.on and field.role is not FieldRole.MEMBER):
            continue
        differences.append(FieldDifference(field, UNSET, value, Cause.YOURS))
    return tuple(differences)
