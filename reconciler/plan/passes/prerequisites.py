"""What must be so for a request to be sent: an organization keeps its last admin, single sign-on requires a provider, and what the service
derives is what the YAML expects. Pure.

In: what this run changes. Out: the same; a change is blocked where too few would remain, or nothing that it requires exists. Every other
one gets a `Prerequisite`: the object that must still be as it was read, or the requests of this run that must have succeeded before it. So
a promotion that fails never leaves an organization without an admin, whatever else of the plan succeeds.

`lists`: what must still be read to know whether there is an object that is required. A value that nobody can know before the object exists
(a URL) is compared as soon as it exists, by the next plan. `unmet` compares what exists today, for `drift`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reconciler.address import Address, bare
from reconciler.model import WHEN_READ, Blocked, Declared, ExpectedValue, Observed, Severity, Violation, waiting
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Draft, Prerequisite, Removal
from reconciler.plan.derived import Derivation, derivations
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.warnings.notes import broken_urls
from reconciler.plan.world import Decisions, World
from reconciler.resource import Field, Kind
from reconciler.resource.kind import URL

# -- What a request requires ---------------------------------------------------------------------------------------------------------


def last_admin(world: World, decisions: Decisions) -> Decisions:
    """Block changes that would leave fewer than `guards.minAdmins` admins in a container, or take the role from the token's owner.

    All others get as prerequisites the admins who remain, and the promotions of this run if too few remain without them.
    """
    for kind in world.kinds.values():
        for field in kind.fields.values():
            if field.scarce is not None:
                decisions = decisions.changed(_guarded(world, decisions, kind, field))
    return decisions


def _guarded(world: World, decisions: Decisions, kind: Kind, field: Field) -> Iterator[Draft | Removal]:
    """The changes that take the scarce value of a field from objects which need it, blocked or with their prerequisites."""
    least, holding = world.desired.guards.min_admins, defaultdict[str, list[str]](list)
    for observed in world.actual.objects.get(kind.name, {}).values():
        if _holds(kind, observed):
            holding[_scope(kind, observed)].append(observed.id)
    drafts, removals = decisions.of_this_run()
    active = [draft for draft in drafts.values() if draft.kind is kind and draft.active]
    changing = [draft for draft in active if any(difference.field is field for difference in draft.sendable)]
    losing: list[Draft | Removal] = [draft for draft in changing if _holds(kind, draft.observed)]
    losing += [removal for removal in removals.values() if removal.kind is kind and removal.deletes and _holds(kind, removal.observed)]
    lost = {entry.id for entry in losing}
    remaining = {scope: sorted(id for id in ids if id not in lost) for scope, ids in holding.items()}
    gaining: dict[str, list[Draft]] = defaultdict(list)
    for draft in changing:
        able = draft.observed is not None and kind.is_active(draft.observed.values)
        if able and not _holds(kind, draft.observed) and draft.wants.get(field.name) == field.scarce:
            gaining[_scope(kind, draft.observed)].append(draft)
    for entry in losing:
        scope = _scope(kind, entry.observed)
        staying, gained = remaining[scope], gaining[scope]
        if len(staying) + len(gained) < least:
            reason = f"would leave {len(staying) + len(gained)} with {field.name} {field.scarce} in {entry.address.container}"
            remedy = f"make somebody else {field.scarce} first, or lower guards.minAdmins"
            yield entry.block(f"{reason}; guards.minAdmins is {least}", remedy, id="RC-last-admin")
        elif _owns_token(world, decisions, entry):
            reason = f"owns the token (service.member); without {field.name} {field.scarce} the next run could do nothing"
            yield entry.block(reason, f"set service.member to another {field.scarce}, and use their token", id="RC-own-token")
        else:
            name, enough = field.name if isinstance(entry, Draft) else "", max(least, 1)
            required = [Prerequisite(name, remains=(kind.name, id)) for id in staying[:enough]]
            if len(staying) < enough:  # even where the project allows none, a promotion that fails must not be what leaves none
                required += [Prerequisite(name, draft.address, field.name) for draft in gained]
            yield replace(entry, prerequisites=(*entry.prerequisites, *required))


def _holds(kind: Kind, observed: Observed | None) -> bool:
    return observed is not None and kind.holds_scarce(observed.values)


def _scope(kind: Kind, observed: Observed | None) -> str:
    return observed.within.get(kind.within or "", "") if observed is not None else ""


def _owns_token(world: World, decisions: Decisions, entry: Draft | Removal) -> bool:
    """Whether it is the token's owner, in any container: the same key, now or in the YAML, or the same object under another key."""
    owner, key_is = world.desired.lister, entry.kind.place.key_is
    if owner is None or owner.kind != entry.kind.name or entry.observed is None:
        return False
    own = decisions.matches.ids.get(owner)
    key = str(entry.observed.values.get(key_is)) if key_is is not None else ""
    return owner.key in (entry.address.key, key) or (own is not None and bare(entry.observed.id) == bare(own))


# -- settings that require an object -----------------------------------------------------------------------------------------------


def required_kinds(world: World, decisions: Decisions) -> Decisions:
    """Turn no setting on that requires an object of a kind where none is left, or before those of this run are created and changed."""
    for kind in world.kinds.values():
        if kind.needed is not None and kind.within is not None:
            run = _Requirements(world, decisions, kind, kind.within)
            decisions = replace(decisions.changed(run.settled()), lists=decisions.lists | run.lists)
    return decisions


class _Requirements:
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
            if draft.active and draft.observed is not None:
                for difference in draft.sendable:
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
            if observed.key not in self.deleted and observed.deleted_at is None:
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
            return Blocked(draft.address, reason, WHEN_READ, source, id="RC-unread")
        reason = f"{field} requires a {name} in {container}, and there is none after this run"
        way = f"declare a {name} in {container}, or remove the line {field} until there is one"
        return Blocked(draft.address, reason, way, source, id="RC-required-kind-missing")


# -- What the YAML expects of derived values -----------------------------------------------------------------------------------------

SORT: Final = "expect"
CORRECT: Final = "correct expect, or change the path or the name that the URL is made of"


def expectations(world: World, decisions: Decisions) -> Decisions:
    """Block each resource of this run for which the service would derive another value than the YAML expects."""
    run_drafts, run_removals = decisions.of_this_run()
    asserting = [draft for draft in run_drafts.values() if draft.declared.expected and draft.active]
    if not asserting:
        return decisions
    drafts = dict(decisions.drafts)
    derived = derivations(world, decisions)
    urls = {url.before: url.after for url in broken_urls(world.kinds, world.actual, run_drafts, run_removals) if url.before is not None}
    for draft in asserting:
        for name, expected in draft.declared.expected.items():
            blocked = _url(draft, expected, urls) if name == URL else _field(draft, name, expected, derived.get(draft.address))
            if blocked is None:
                continue
            drafts[draft.address] = blocked
            parent = drafts.get(draft.created_with) if draft.created_with is not None else None
            if parent is not None and parent.active and blocked.blocked is not None:
                drafts[parent.address] = replace(parent, blocked=waiting(parent.address, blocked.blocked, parent.declared.source))
            break
    return replace(decisions, drafts=drafts)


def unmet(kind: Kind, declared: Declared, observed: Observed) -> Iterator[Violation]:
    """A violation for each value that an object has today and that is not the expected one, whatever a plan would change."""
    for name, expected in declared.expected.items():
        value = kind.url(observed.raw) if name == URL else observed.values.get(name)
        same = value == expected.value or (name == URL and isinstance(value, str) and value.rstrip("/") == expected.value.rstrip("/"))
        if not isinstance(value, str) or same:
            continue
        yield Violation(
            SORT,
            name,
            declared.address,
            f"it is {value}, not {expected.value}",
            id="RC-expectation-not-met",
            level=Severity.ERROR,
            source=expected.source,
            declared=declared.source,
            remedy=CORRECT if name == URL else _way(name, value, expected),
        )


def _way(name: str, value: str, expected: ExpectedValue) -> str:
    return f"write {name}: {expected.value} instead of expect to set it, or expect {value}"


def _field(draft: Draft, name: str, expected: ExpectedValue, derivation: Derivation | None) -> Draft | None:
    """The draft, blocked, where the field gets or has another value; None where it does not, or that is unknown."""
    if draft.is_new:
        value = derivation.value if derivation is not None and derivation.field.name == name else None
        if derivation is None or value is None or value == expected.value:
            return None
        says = f"the service will derive {value} ({derivation.note})"
    else:
        value = draft.observed.values.get(name) if draft.observed is not None else None
        if not isinstance(value, str) or value == expected.value:
            return None
        says = f"the service has {value}"
    return _blocked(draft, f"expect.{name} is {expected.value}, but {says}", _way(name, value, expected), expected)


def _url_after(url: str, changed: Mapping[str, str | None]) -> str | None:
    """What a URL will be: changed like the nearest one above it that changes; None where that is not known."""
    head, rest = url, ""
    while head.count("/") > 2:
        if head in changed or f"{head}/" in changed:
            after = changed.get(head, changed.get(f"{head}/"))
            return None if after is None else after.rstrip("/") + rest
        head, _, last = head.rpartition("/")
        rest = f"/{last}{rest}"
    return url


def _url(draft: Draft, expected: ExpectedValue, urls: Mapping[str, str | None]) -> Draft | None:
    now = draft.kind.url(draft.observed.raw) if draft.observed is not None and not draft.is_new else None
    after = _url_after(now.rstrip("/"), urls) if now is not None else None
    if now is None or after is None or after == expected.value.rstrip("/"):
        return None
    says = f"it is {now}" if after == now.rstrip("/") else f"this plan changes it to {after}"
    return _blocked(draft, f"expect.{URL} is {expected.value}, but {says}", CORRECT, expected)


def _blocked(draft: Draft, reason: str, way: str, expected: ExpectedValue) -> Draft:
    blocked = draft.block(reason, way, id="RC-expectation-not-met")
    assert blocked.blocked is not None
    return replace(blocked, blocked=replace(blocked.blocked, source=expected.source))
