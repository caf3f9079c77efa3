"""Which rules of the project are looser than those it was last applied under. Pure.

In: Desired, State, what `prune: all` deletes. Out: one exposure for each; none for one that is tighter. Where the state remembers no rules,
`prune: all` is one as soon as it deletes something: nobody knows whether the project was ever applied under it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, Final

from reconciler.address import Address, Glob
from reconciler.model import Desired, Exposure, Rules, Severity, Source, State
from reconciler.model.policy import PLAN
from reconciler.plan.warnings.exposure import canonical, consent_to
from reconciler.resource import UNSET

KIND: Final = "project"
SCOPES: Final = ("none", "owned", "all")  # of prune, from the one that deletes least
MORE: Final = "one run may delete more managed objects"
PRUNED: Final = {"owned": "objects without a line are deleted", "all": "unmanaged objects are deleted too"}
UNPROTECTED: Final = "one is deleted without further consent when its line is removed"
MORE_EXPOSED: Final = "one run may expose more objects"
FEWER: Final = "fewer may remain"
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
    old, new = was.guards, desired.guards
    for name, least, most in (
        ("maxDelete.percent", old.max_delete_percent, new.max_delete_percent),
        ("maxDelete.atLeast", old.max_delete_at_least, new.max_delete_at_least),
    ):
        if most > least:
            yield _exposure(desired, "guards", name, _number(least), _number(most), MORE)
    if new.min_admins < old.min_admins:
        yield _exposure(desired, "guards", "minAdmins", old.min_admins, new.min_admins, FEWER)
    if old.max_exposed is not None and (new.max_exposed is None or new.max_exposed > old.max_exposed):
        limit = UNSET if new.max_exposed is None else new.max_exposed
        yield _exposure(desired, "guards", "maxExposed", old.max_exposed, limit, MORE_EXPOSED)
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
        Address((rule,)), KIND, name, before, after, says, _line(desired, f"{rule}.{name}"), id="RC-rule-loosened", consents=consents
    )


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def _line(desired: Desired, name: str) -> Source | None:
    """The line of a rule, or else of what contains it; None where neither is in the files."""
    while name and name not in desired.rule_lines:
        name = name.rpartition(".")[0]
    return desired.rule_lines.get(name)
