"""What the YAML asserts of values that the service derives: a resource that would get another value, or has one, is blocked. Pure.

In: the decisions. Out: the same, some drafts blocked. Costs nothing where nothing is asserted. A value that nobody can know before the
object exists (a URL) is compared as soon as it exists, by the next plan. `unmet` compares what exists today, for `drift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reconciler.model import Declared, ExpectedValue, Observed, Severity, Violation, waiting
from reconciler.plan.decisions import Draft
from reconciler.plan.derived import Derivation, derivations
from reconciler.plan.warnings.broken_urls import broken_urls
from reconciler.plan.world import Decisions, World
from reconciler.resource import Kind
from reconciler.resource.kind import URL

SORT: Final = "expect"
CORRECT: Final = "correct expect, or change the path or the name that the URL is made of"


def expectations(world: World, decisions: Decisions) -> Decisions:
    """Block each resource of this run for which the service would derive another value than the YAML expects."""
    run_drafts, run_removals = decisions.of_this_run()
    asserting = [draft for draft in run_drafts.values() if draft.declared.expected and draft.active]
    if not asserting:
        return decisions
    drafts = dict(decisions.drafts)
    derived = derivations(world.kinds, world.actual, decisions.matches.ids, drafts, run_drafts, run_removals)
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
