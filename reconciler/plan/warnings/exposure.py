"""What a plan makes public or no longer protects, each with the consent that it needs. Pure.

Who can read what is a question about the whole world before and after the plan (`audience`). The other exposures are changes of single
fields that their declarations call dangerous, protections that end, and deletes that take one away.

A consent names exactly what is consented to: the address, the readers and what admits them, or the value. If the run is killed, the next
one opens the same things from another starting point; what was consented to then needs no second consent, and anything else does.

A rule of the project that is looser than it was at the last apply is an exposure too. Where the state remembers no rules, `prune: all` is
one as soon as it deletes something: nobody knows whether the project was ever applied under it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from reconciler.address import Address, Glob
from reconciler.model import Consent, DeadUrls, Desired, Exposure, Guards, Rules, Severity, Source, State
from reconciler.model.desired import Looser
from reconciler.model.policies import PLAN
from reconciler.plan.audience.disclosure import Disclosure, ReaderWindow
from reconciler.plan.audience.openings import Opening
from reconciler.plan.audience.readers import Access, Objects, folded
from reconciler.plan.changes import Names, is_protected, named
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.matching.differences import FieldDifference
from reconciler.resource import UNSET, Field, FieldRole, Kinds
from reconciler.resource.risks import LEVELS

UNGUARDED: Final = "it is deleted without further consent when its line is removed"

VALUE_MAX: Final = 200
"""Characters of a value in the text of an exposure; longer ones are shown with the change."""

Called = Callable[[Key], Address]
"""The address of an object, managed or not."""


def exposures(
    desired: Desired,
    state: State,
    drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
    names: Names,
    *,
    freed: Collection[str],
) -> Iterator[Exposure]:
    """One for each field that opens something, each protection that ends, and each delete that removes one.

    `freed`: kinds that are no longer protected, which have an exposure of their own.
    """
    for draft in drafts.values():
        if draft.active:
            yield from _granted(draft, names)
            yield from _opened(draft, names)
            yield from _local(draft, state)
            # A protection that was recorded in the state and is no longer declared; that of a whole kind has a line of its own.
            held = draft.binding is not None and draft.observed is not None and draft.binding.protected
            unprotected = held and not is_protected(desired, draft)
            if unprotected and (draft.declared.protect is not None or draft.kind.name not in freed):
                yield Exposure(
                    draft.address,
                    draft.kind.name,
                    "protect",
                    True,
                    False,
                    UNGUARDED,
                    draft.declared.source,
                    id="RC-protection-removed",
                    consents=(consent_to(draft.address, "protect", canonical(False)),),
                )
    for removal in removals.values():
        if removal.deletes and removal.replaces is None and removal.kind.loses:
            yield Exposure(
                removal.address,
                removal.kind.name,
                "",
                UNSET,
                UNSET,
                removal.kind.loses,
                id="RC-protection-deleted",
                consents=(consent_to(removal.address, "", canonical(removal.id)),),
            )


def _granted(draft: Draft, names: Names) -> Iterator[Exposure]:
    """What the create of an object lets others do, with the values on which that depends: a consent is for exactly these."""
    if not draft.kind.grants or not draft.is_new or draft.old is not None:
        return
    keys = [named(draft.wants.get(field.name), names, draft.address) for field in draft.kind.keys]
    opening = [difference for difference in draft.sendable if difference.field.exposes is not None]
    values = (consent_to(draft.address, difference.field.name, consent_value(draft, difference, names)) for difference in opening)
    texts = [f"{difference.field.name}: {text}" for difference in opening if (text := _short(draft, difference, names))]
    says = f"{draft.kind.grants} ({', '.join(texts)})" if texts else draft.kind.grants
    yield Exposure(
        draft.address,
        draft.kind.name,
        "",
        UNSET,
        UNSET,
        says,
        draft.declared.source,
        id="RC-access-granted",
        consents=(consent_to(draft.address, "", canonical(keys)), *values),
    )


def _short(draft: Draft, difference: FieldDifference, names: Names) -> str:
    """The new value of a field, as part of a line; "" for one that is secret, that nobody can read, or that only identifies the object."""
    value = shown_value(difference.field, difference.after, names, draft.address)
    if difference.field.key or difference.field.expires or not isinstance(value, str | Address):
        return ""
    text = str(value)
    return text if len(text) <= VALUE_MAX and text.isprintable() else ""


def audience_lines(
    kinds: Kinds,
    openings: Collection[Opening],
    drafts: Mapping[Address, Draft],
    names: Names,
    called: Called,
    before: Objects,
    newly: Callable[[Key, Access], str] = lambda key, access: "",
) -> tuple[Exposure, ...]:
    """The openings as people read them. `before`: the objects before the plan. `newly`: the people of a class of readers who are new."""

    def text(key: Key, access: Access) -> str:
        people = newly(key, access)
        return reader_text(before, called, key, access) + (f": {people}" if people else "")

    return tuple(
        _line(kinds, opening, drafts, names, called, tuple(text(opening.at, access) for access in opening.readers)) for opening in openings
    )


def reader_text(before: Objects, called: Called, key: Key, access: Access) -> str:
    """A class of readers as people read it; of people of another container than the object is in, it says whose they are."""
    observed = before.get(key[0], {}).get(key[1])
    own = access.of is None or observed is None or access.of in observed.within.items()
    return str(access) if own or access.of is None else access.text(str(called(access.of)))


def _line(
    kinds: Kinds, opening: Opening, drafts: Mapping[Address, Draft], names: Names, called: Called, texts: tuple[str, ...]
) -> Exposure:
    kind, address = kinds[opening.at[0]], called(opening.at)
    draft, cause = drafts.get(address), drafts.get(called(opening.cause))
    readers = tuple(dict.fromkeys(texts))
    before = after = UNSET
    says = f"it can be read by {'; '.join(readers)}"
    if opening.field:
        field = kind.fields[opening.field]
        difference = next((other for other in draft.sendable if other.field is field), None) if draft is not None else None
        if difference is not None:
            before, after = shown_value(field, difference.before, names, address), shown_value(field, difference.after, names, address)
        else:
            after = shown_value(field, field.initial, names, address)
        says = field.exposes.says if field.exposes is not None else says
    source = None
    for origin in (draft, cause):
        if origin is not None and source is None and (origin is cause or opening.field):
            source = origin.declared.positions.get(opening.field, origin.declared.source)
    return Exposure(
        address,
        kind.name,
        opening.field,
        before,
        after,
        says,
        source,
        id="RC-more-readers",
        readers=readers,
        path=path_text(called, opening.path),
        cause=called(opening.cause),
        admits=called(opening.path[-1]) if opening.path else None,
        reaches=tuple(sorted({called(key) for key, _ in opening.opened} - {address})),
        consents=tuple(sorted(consent_to_readers(called(key), access, called(end)) for (key, access), end in opening.opened.items())),
    )


def lost_readers(disclosed: Disclosure, before: Objects) -> dict[Address, tuple[str, ...]]:
    """The objects that remain and lose readers, with these as people read them. `before`: the objects before the plan."""
    lost: dict[Address, tuple[str, ...]] = {}
    by_object: dict[Key, dict[Access, tuple[Access, ...]]] = defaultdict(dict)
    for key, access, left in disclosed.closings:
        by_object[key][access] = left
    for key, access, left in ((key, shown, some[access]) for key, some in by_object.items() for shown, access in folded(some).items()):
        # Who may still read it but no longer change it is named by the level.
        narrower = [reader_text(before, disclosed.called, key, other) for other in left if other.conditions != access.conditions]
        whole = access if narrower else replace(access, conditions=frozenset())
        text = reader_text(before, disclosed.called, key, whole) + (f", except {' and '.join(narrower)}" if narrower else "")
        address = disclosed.called(key)
        lost[address] = tuple(dict.fromkeys((*lost.get(address, ()), text)))
    return lost


def path_text(called: Called, path: Iterable[Key]) -> tuple[str, ...]:
    """`space salaries`, `site-space docs/salaries`, `site docs`."""
    return tuple(f"{key[0]} {'/'.join(called(key).parts[2::2])}" for key in path)


def windows(opened: Collection[ReaderWindow], kinds: Kinds, called: Called, before: Objects) -> Iterator[Exposure]:
    """What is open for a while although neither the world before nor the one after lets anybody read it.

    The holders of several share links are one line: they are the same readers to whoever reads it, and the same consent.
    """
    longest: dict[tuple[Key, str], ReaderWindow] = {}
    for window in opened:
        text = reader_text(before, called, window.key, window.access)
        known = longest.get((window.key, text))
        if known is None or window.requests > known.requests:
            longest[window.key, text] = window
    for (key, reader), (_, access, requests, path) in longest.items():
        says = f"it can be read by {reader} for {requests} request{'s' if requests != 1 else ''} of this run"
        consents = (consent_to_readers(called(key), access, called(key)),)
        yield Exposure(
            called(key),
            kinds[key[0]].name,
            "",
            UNSET,
            UNSET,
            says,
            id="RC-readers-for-a-moment",
            readers=(reader,),
            path=path_text(called, path),
            window=requests,
            consents=consents,
        )


def _opened(draft: Draft, names: Names) -> Iterator[Exposure]:
    """The fields that open something other than read access."""
    audience = draft.kind.audience
    modelled = {*audience.gates, *audience.inherits} if audience is not None else set()
    # What is new exposes nothing that existed; a replacement is new only to the service.
    if draft.is_new and draft.old is None:
        return
    for difference in draft.sendable:
        field, exposes = difference.field, difference.field.exposes
        before = draft.old.values.get(field.name, UNSET) if draft.old is not None else difference.before
        if exposes is not None and field.name not in modelled and exposes.opened(before, difference.after):
            yield Exposure(
                draft.address,
                draft.kind.name,
                field.name,
                shown_value(field, before, names, draft.address),
                shown_value(field, difference.after, names, draft.address),
                exposes.says,
                draft.declared.positions.get(field.name, draft.declared.source),
                id="RC-setting-exposes",
                consents=(consent_to(draft.address, field.name, consent_value(draft, difference, names)),),
            )


def _local(draft: Draft, state: State) -> Iterator[Exposure]:
    """What the project newly declares for an existing object and what that opens; nothing is new to a project that was never applied."""
    if draft.observed is None or state.rules is None:
        return
    sent = draft.binding.sent if draft.binding is not None else {}
    for field in draft.kind.fields.values():
        if field.role is FieldRole.LOCAL and field.exposes is not None:
            before, after = sent.get(field.name, UNSET), draft.wants.get(field.name, UNSET)
            if after is not UNSET and field.exposes.opened(before, after):
                source = draft.declared.positions.get(field.name, draft.declared.source)
                consents = (consent_to(draft.address, field.name, canonical(after)),)
                yield Exposure(
                    draft.address,
                    draft.kind.name,
                    field.name,
                    before,
                    after,
                    field.exposes.says,
                    source,
                    id="RC-setting-exposes",
                    consents=consents,
                )


def shown_value(field: Field, value: Any, names: Names, where: Address) -> Any:
    """A value as people read it, with addresses for ids; UNSET for a secret."""
    return UNSET if value is UNSET or field.sensitive else named(field.shown(value), names, where)


# -- what people consent to --------------------------------------------------------------------------------------------------------


def with_consent_needed(exposures: Iterable[Exposure], state: State) -> tuple[Exposure, ...]:
    """The exposures, each with whether it needs consent: not where the unfinished run was allowed exactly that."""
    return tuple(replace(exposure, asked=not state.consents.issuperset(exposure.consents)) for exposure in exposures)


def consents(
    exposures: Iterable[Exposure],
    reach: Iterable[tuple[Key, Access, Key]],
    called: Called,
    drafts: Mapping[Address, Draft],
    names: Names,
) -> tuple[Consent, ...]:
    """Everything that a plan opens: its exposures, who can read what its steps open, and what it creates with fields that could be one.

    What is created exposes nothing that existed, and neither does what moves from one public place to another. If the run is killed in
    between, the next one finds an object that exists, or has no readers, which it opens; that was consented to then. `reach`: who can read
    what the steps open, new or not: (object, reader, what admits them).
    """
    shown = (consent for exposure in exposures for consent in exposure.consents)
    reading = (consent_to_readers(called(key), access, called(end)) for key, access, end in reach)
    return tuple(sorted({*shown, *reading, *_fresh(drafts, names)}))


def consent_to(address: Address, field: str, value: str) -> Consent:
    """The consent to a field change, or to a delete, that names no readers."""
    return Consent(str(address), field, "", "", "", value)


def consent_to_readers(address: Address, access: Access, admits: Address) -> Consent:
    """The consent to readers of an object, who reach it through what admits them."""
    return Consent(str(address), "", str(access), LEVELS[access.level], str(admits), "")


def consent_value(draft: Draft, difference: FieldDifference, names: Names) -> str:
    """What is consented to when a field is sent: the same before and after what it refers to was created."""
    value = named(difference.after, names, draft.address)
    return canonical(difference.field.stored(value, str(draft.address)))


def canonical(value: Any) -> str:
    """The same text for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def _fresh(drafts: Mapping[Address, Draft], names: Names) -> Iterator[Consent]:
    for draft in drafts.values():
        if draft.active and draft.is_new:
            for difference in draft.sendable:
                exposes = difference.field.exposes
                if exposes is not None and exposes.may_open(difference.after):
                    yield consent_to(draft.address, difference.field.name, consent_value(draft, difference, names))


# -- Looser rules --------------------------------------------------------------------------------------------------------------------

KIND: Final = "project"
SCOPES: Final = ("none", "owned", "all")  # of prune, from the one that deletes least
PRUNED: Final = {"owned": "objects without a line are deleted", "all": "unmanaged objects are deleted too"}
UNPROTECTED: Final = "one is deleted without further consent when its line is removed"
UNTESTED: Final = {"mustNotSee": "a later run may let them read it", "sees": "a later run may take it from them"}
REMOVED: Final = "removed"
NOT_CHECKED: Final = "what it forbids is no longer refused"
CHANGED: Final = "it may allow what it refused before"
IGNORED: Final = "later changes of it are neither reported nor set back"
EXCEPTED: Final = "the policy is not applied there"


def changed_rules(desired: Desired, state: State) -> Rules | None:
    """The rules that the state should record after a successful run; None where it already does."""
    return None if state.rules == desired.rules else desired.rules


def loosened_rules(desired: Desired, state: State, pruned: Collection[str], leaving: Collection[Address] = ()) -> tuple[Exposure, ...]:
    """One for each rule that is looser. `pruned`: the kinds of which unmanaged objects are deleted; `leaving`: what is deleted."""
    if state.rules is None:
        return tuple(_exposure(desired, "prune", kind, UNSET, desired.prune[kind], PRUNED["all"]) for kind in sorted(pruned))
    unprotected = [_exposure(desired, "protect", kind, True, False, UNPROTECTED) for kind in sorted(unprotected_kinds(desired, state))]
    untested = _untested(desired, state, leaving)
    return (*_loosened(desired, state.rules), *unprotected, *untested, *_policies(desired, state.rules), *_ignored(desired, state))


def unprotected_kinds(desired: Desired, state: State) -> frozenset[str]:
    """The kinds that were protected and are no longer."""
    return frozenset() if state.rules is None else (state.rules.protect - desired.protect) & desired.prune.keys()


def _loosened(desired: Desired, was: Rules) -> Iterator[Exposure]:
    # Without the key, what happens to dead URLs depends on what else a project says.
    old = replace(was.guards, dead_urls=was.guards.dead_urls or DeadUrls.WARN)
    new = replace(desired.guards, dead_urls=desired.dead_urls)
    for guard in fields(Guards):
        looser: Looser = guard.metadata["looser"]
        before, after = getattr(old, guard.name), getattr(new, guard.name)
        if _is_looser(looser, before, after):
            yield _exposure(desired, "guards", looser.key, _shown(before), _shown(after), looser.says)
    for kind, scope in sorted(desired.prune.items()):
        before = was.prune.get(kind, scope)
        if SCOPES.index(scope) > SCOPES.index(before):
            yield _exposure(desired, "prune", kind, before, scope, PRUNED[scope])


def _untested(desired: Desired, state: State, leaving: Collection[Address]) -> Iterator[Exposure]:
    """One for each pattern of a reader's test that no pattern of this reader covers any more; not for an object that ceases to exist."""
    now: dict[str, list[Glob]] = defaultdict(list)
    for test in desired.access:
        for demand in test.demands:
            now[f"{demand.reader} {demand.word}"].append(demand.pattern.glob)
    if state.rules is not None:
        for text in sorted(state.rules.access):
            who, _, pattern = text.rpartition(" ")
            glob = Glob.parse(pattern)
            if not any(other.covers(glob) for other in now.get(who, ())) and not _gone(pattern, desired, state, leaving):
                yield _exposure(desired, "access", text, True, False, UNTESTED[who.rpartition(" ")[2]])


def _gone(pattern: str, desired: Desired, state: State, leaving: Collection[Address]) -> bool:
    """Whether a pattern is the address of something that no longer exists, or is deleted now."""
    if "*" in pattern:
        return False
    address = Address.parse(pattern)
    return address not in desired.resources and (address not in state.bindings or address in leaving)


def _policies(desired: Desired, was: Rules) -> Iterator[Exposure]:
    """One for each policy that refused something and was removed, weakened or changed, and for each exception that is new."""
    now = desired.policies.levels
    for id, level in was.policies.items():
        before, _, demands = level.partition(" ")
        after, _, other = now.get(id, REMOVED).partition(" ")
        if before != Severity.ERROR or now.get(id) == level:
            continue
        if after == before and demands == other:
            continue
        changed = after == before
        yield _exposure(desired, "policies", id, before, "changed" if changed else after, CHANGED if changed else NOT_CHECKED)
    for exemption in desired.policies.exemptions:
        if exemption.text not in was.exceptions and exemption.policy in was.policies:
            at = exemption.address or PLAN
            exposure = _exposure(desired, "exceptions", exemption.policy, UNSET, f"{at} until {exemption.until.isoformat()}", EXCEPTED)
            yield replace(exposure, source=exemption.source)


def _ignored(desired: Desired, state: State) -> Iterator[Exposure]:
    """One for each field of a managed object that can open something, and whose changes are ignored from now on."""
    if state.rules is not None:
        for text in sorted(desired.ignored - state.rules.ignored):
            at, _, name = text.rpartition(".")
            address = Address.parse(at)
            binding = state.bindings.get(address)
            if binding is None or name not in {*binding.sent, *binding.seen}:
                continue
            declared, consents = desired.resources[address], (consent_to(address, name, canonical(IGNORED)),)
            yield Exposure(
                address, declared.kind, name, "compared", "ignored", IGNORED, declared.source, id="RC-changes-ignored", consents=consents
            )


def _exposure(desired: Desired, rule: str, name: str, before: Any, after: Any, says: str) -> Exposure:
    consents = (consent_to(Address((rule,)), name, canonical(after)),)
    return Exposure(
        Address((rule,)), KIND, name, before, after, says, _written_at(desired, f"{rule}.{name}"), id="RC-rule-loosened", consents=consents
    )


def _is_looser(rule: Looser, before: Any, after: Any) -> bool:
    """Whether a rule allows more than before."""
    match rule.order:
        case "more":
            return before is not None and (after is None or after > before)
        case "less":
            return bool(after < before)
        case values:
            return values.index(after) > values.index(before)


def _shown(value: Any) -> Any:
    """The value of a limit for people: UNSET for none, and a whole number without decimals."""
    if value is None:
        return UNSET
    return int(value) if isinstance(value, float) and value == int(value) else str(value) if isinstance(value, str) else value


def _written_at(desired: Desired, name: str) -> Source | None:
    """The line of a rule, or else of what contains it; None where neither is in the files."""
    while name and name not in desired.rule_lines:
        name = name.rpartition(".")[0]
    return desired.rule_lines.get(name)
