"""Plans made by hand, for reports."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Any

from reconciler.address import Address
from reconciler.model import Action, Cause, Change, Delta, Outcome, Plan, Position, Source, Step, StepResult, StepStatus, Unmanaged
from reconciler.report.layout import Span
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import WIDTH, sheet_text

SITE = Address.parse("acme/site/docs")


def at(text: str) -> Address:
    return Address.parse(text)


def change(address: str, *actions: Action, **words: Any) -> Change:
    place = at(address)
    return Change(place, place.kind or "organization", actions, **words)


def delta(name: str, before: Any, after: Any, cause: Cause = Cause.YOURS, **words: Any) -> Delta:
    return Delta(name, before, after, cause, **words)


def step(id: int, address: str, verb: str = "update", **words: Any) -> Step:
    place = at(address)
    words.setdefault("method", "PATCH")
    words.setdefault("path", ("orgs", "org_acme"))
    return Step(id, place, place.kind or "organization", verb, **words)


def result(id: int, address: str, status: StepStatus, error: str | None = None, verb: str = "update") -> StepResult:
    return StepResult(step(id, address, verb), status, error)


def plan(*changes: Change, **words: Any) -> Plan:
    words.setdefault("managed", 20)
    return Plan("acme-docs", None, changes, **words)


def outcome(*results: StepResult, plan: Plan | None = None, **words: Any) -> Outcome:
    words.setdefault("requests", len(results))
    return Outcome("run", plan if plan is not None else Plan("acme-docs", None), results, **words)


def the_example() -> Plan:
    """The plan that stands in the design, but for the date of the deletion, which a plan does not know."""
    return plan(
        change(
            "acme/site/docs/section/guides",
            Action.UPDATE,
            Action.MOVE,
            fields=(delta("title", "Guide", "Guides"),),
            before=Position(SITE, previous=None),
            after=Position(SITE, previous=at("acme/site/docs/section/start")),
            source=Source("sites/docs.yaml", 12),
            id="sec_1",
        ),
        change("acme/space/legacy", Action.RESTORE, reason="deleted 3 days ago, 4 days left", source=Source("content.yaml", 9), id="spc_1"),
        change("acme/team/writers", Action.ADOPT, source=Source("content.yaml", 31), id="team_9f2", title="Writers"),
        steps=(
            step(
                1,
                "acme/site/docs/section/guides",
                path=("orgs", "org_acme", "sites", SITE, "sections", "sec_1"),
                writes={"title": "Guides"},
            ),
            step(2, "acme/site/docs/section/guides", "move", method="POST", needs=frozenset({1}), after=frozenset({3})),
            step(3, "acme/space/legacy", "restore", method="POST", path=("spaces", "spc_1", "restore")),
        ),
        unmanaged=tuple(Unmanaged("space", f"spc_{number}", f"Space {number}") for number in range(14)),
    )


def plan_text(plan: Plan, *, width: int = WIDTH, full: bool = False, zone: tzinfo | None = UTC) -> tuple[Span, ...]:
    """A plan as a screen shows it."""
    return sheet_text(plan_sheet(plan, full=full, zone=zone), width=width)


def outcome_text(outcome: Outcome) -> tuple[Span, ...]:
    """An outcome as a screen shows it."""
    return sheet_text(outcome_sheet(outcome, not_applied=False))
