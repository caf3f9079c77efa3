"""What differs between a declared resource and its object, and what can be done about each difference. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from reconciler.address import Address, bare
from reconciler.model import Blocked, Origin
from reconciler.model.codec import unresolved_addresses
from reconciler.plan.decisions import Adopt, Draft, Keep, Restore, Transfer
from reconciler.plan.drafts.new import draft_create, draft_replacement, without
from reconciler.plan.drafts.undeclared import pruned_later
from reconciler.plan.matching.differences import Correction, FieldDifference, correction_of, differences, with_note
from reconciler.plan.matching.earlier_runs import last_moment, left_over, span, window
from reconciler.plan.matching.identity import is_other, other
from reconciler.plan.matching.matches import Matches
from reconciler.plan.world import World

Choices = Mapping[tuple[str, str], Mapping[str, str]]
"""Which child carries a flag now: (parent's kind, parent's id) -> choice field -> child's id."""


@dataclass(frozen=True)
class DraftFacts:
    """The data on which drafts are based, looked up once.

    `known`: ids by which references are compared, including those of unread resources. `unread`: (kind, scope) of failed lists, and why.

    `settled`: resources that the service itself moves to where they are declared, and why they wait.
    """

    world: World
    matches: Matches
    choices: Choices
    settled: Mapping[Address, str]
    known: Mapping[Address, str]
    doubtful: frozenset[Address]
    unread: Mapping[tuple[str, str | None], str]

    @classmethod
    def of(cls, world: World, matches: Matches, choices: Choices, settled: Mapping[Address, str]) -> DraftFacts:
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
    draft = replace(draft, deferred=facts.settled.get(address), id=id, observed=now, batch=facts.world.batches.get(address))
    if now.deleted_at is not None:
        ago, left = window(kind, now.deleted_at, actual)
        if left <= timedelta(0):
            return draft_create(replace(draft, id=None, observed=None), gone=True, may_replace=facts.world.may_replace(address))
        reason = f"deleted {span(ago)} ago, {left_over(left)} left"
        draft = replace(draft, purpose=Restore(), reason=reason, until=last_moment(kind, now.deleted_at))
    if draft.declared.implied:
        return draft
    return _corrected(facts, _with_intent(facts, _without_ignored(draft)))


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
        return _recreated(facts, replace(draft, purpose=Adopt(), reason=usual))
    root = facts.world.transferred.root_of.get(address)
    if address in facts.world.transferred.roots:
        return replace(draft, purpose=_transfer(facts, draft), reason=f"was {matches.renamed[address]}")
    if root is not None and not draft.is_restored:
        return replace(draft, purpose=Adopt(), reason=f"was {matches.renamed[address]}; is transferred with {root}")
    if address in matches.renamed:
        purpose = Restore(adopt=True) if draft.is_restored else Adopt()
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
            differing.append(difference)
        else:
            reason = f"{difference.field.name} cannot be compared, {unread}"
            draft = _without_field(draft, difference, reason, "run again when the service answers", id="RC-unread")
    if not differing:
        return draft
    deviations = tuple(with_note(kind, difference) for difference in differing if correction_of(difference) is not Correction.NOTHING)
    draft, kept = replace(draft, deviations=deviations), list[FieldDifference]()
    for difference in differing:
        if is_other(difference):
            why = other(kind, difference, id, draft.declared.id is not None, draft.address)
            return replace(draft.block(*why, id="RC-another-object"), purpose=Keep())
        correction = correction_of(difference) if not (settled and difference.field is kind.inside) else Correction.SEND
        if correction is Correction.SEND:
            kept.append(difference)
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
