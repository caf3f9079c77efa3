"""Plans made by hand, for reports."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from reconciler.address import Address
from reconciler.features.drift.model import Drift
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.health.model import CheckResult, Concern, HealthReport, Sort
from reconciler.features.health.site.model import SiteHealth, SiteHistory, SitePart
from reconciler.features.urls.model.ledger import EndedUrls
from reconciler.features.work.model import WorkItem, WorkSort
from reconciler.model import Action, Cause, Change, Delta, Outcome, Plan, Position, Source, Step, StepResult, StepStatus, Unmanaged
from reconciler.model.state import SiteRun
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


def site_page(title: str) -> SiteHealth:
    """A site with two sections, one of whose spaces could not be read, and three runs. `title`: of everything that has one."""
    start = datetime(2026, 11, 1, tzinfo=UTC)
    node, space = at("acme/site/docs/section/guides"), at("acme/space/guides")
    url = "https://docs.acme.example"
    parts = (
        SitePart(at("acme/site/docs/site-space/guides"), title, f"{url}/guides/v2", space, "anyone", 8, "", node, title, True, True),
        SitePart(at("acme/site/docs/site-space/old"), title, f"{url}/guides/v1", at("acme/space/old"), "visitors", 2, "", node, title),
    )
    closed = SitePart(at("acme/site/docs/site-space/faq"), title, None, at("acme/space/faq"), "", None, "GET …: 403")
    counted = replace(parts[0], address=at("acme/site/docs/site-space/top"), node=None, node_title="", pages=2)
    runs = tuple(
        SiteRun(f"run{day}", start + timedelta(days=day), "Ada", "apply", "a" * 40, {"update": 1}, begun, ended, live)
        for day, begun, ended, live in ((20, 0, 2, 12), (10, 6, 2, 14), (0, 10, 0, 10))
    )
    ended = (EndedUrls(f"{url}/use/**", f"{url}/guides/**", 4, start + timedelta(days=20), "run20"),)
    work = {space: (WorkSort("draft change request", 3, (WorkItem("cr_1", title, "Grace", start),)),)}
    results = (CheckResult("reading", at=start), CheckResult("expiry", at=start, concerns=(Concern(Sort.LINKS, str(space), title),)))
    report = HealthReport("acme-docs", None, start.date(), results, (title,))
    shown = (*parts, counted) if title == "Docs" else (*parts, counted, closed)
    return SiteHealth(report, SITE, title, url, "anyone", shown, 12, work, SiteHistory(runs, 12, ended))


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


def drift_text(drift: Drift) -> tuple[Span, ...]:
    """Drift as a screen shows it."""
    return sheet_text(drift_sheet(drift))
