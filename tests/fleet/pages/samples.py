"""Views with rich and hostile values, for tests of the pages and for looking at them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from reconciler.features.rehearsal.report import rehearsal_document
from reconciler.fleet.model import Approval, AuditRecord, ChangeClass, Mode, Quarantine
from reconciler.fleet.pages import readers, render, views as v
from reconciler.fleet.pages.query import PAGE_SIZE, AuditQuery, Query
from reconciler.fleet.status import Cell, Sample, StatusWord
from tests.features.rehearsal.test_first_screen import rehearsal

NOW = datetime(2026, 11, 23, 14, 2, 11, tzinfo=UTC)
MARKUP = "\"><script src=//evil.example/x.js></script><img src=x onerror=alert(1)>'{{ 7*7 }}{% raw %}"
RTL = "مجلة \u202eتوثيق\u202c الشركة שלום"
EMOJI = "📘 👩‍👩‍👧‍👦 🏳️‍🌈 Zürich"
LONG = "a-name-without-any-end-" * 9
CONTROL = "red \x1b[31m alert \u0007 and\u200bzero\nnew line"
HOSTILE = (MARKUP, RTL, EMOJI, LONG[:200], CONTROL, "javascript:alert(1)", "</textarea></title></style></svg>", "' onmouseover='alert(1)")

VIEWER = v.Viewer("ada@acme.example", csrf="c5rf-0123456789", is_admin=True)
FRAME = v.Frame(NOW, VIEWER, version="1.4.0", workers=4)
CAUSES = (
    "the commit is ahead by 3 resources",
    "drift: 12 resources changed outside Reconciler",
    "both: 1 resource changed by the commit and outside Reconciler",
    "41 objects unmanaged",
)
PLAN = """\
acme/site/docs/section/guides            sites/docs.yaml:12
  ~ title       Guide -> Guides
  > after       acme/site/docs/section/start          (was first)
acme/team/writers                        content.yaml:31
  = adopt       team_9f2 "Writers" exists and is unmanaged
acme/space/api                           content.yaml:44
  + title       API reference with a title that is so long that it does not fit on one line and goes
                on below
acme/space/legacy
  - delete      spc_legacy "Legacy guides"; 34 pages and 2 variants are deleted with it
acme/space/salaries                      content.yaml:58
  ! exposure    it can be read by anyone
                by space salaries -> site-space docs/salaries -> site docs
acme/site/docs                           sites/docs.yaml:3
  ! breaks      https://docs.acme.example/legacy -> https://docs.acme.example/archive
                (basename changes)
acme/openapi/payments                    content.yaml:80
  ! blocked     the space that it belongs to cannot be read [RC-unread]

Plan: 1 to create, 1 to update, 1 to move, 1 to adopt, 1 to delete; 1 blocked, 1 exposure, 1 published URL broken, 41 objects
unmanaged. 5 requests.
"""
DOCUMENT: dict[str, Any] = {
    "exposures": [
        {
            "address": "acme/space/salaries", "kind": "space", "field": None, "before": None, "after": None, "says": "it can be read by anyone",
            "readers": ["anyone"], "path": ["space salaries", "site-space docs/salaries", "section docs/people", "site docs"],
            "cause": "acme/site/docs/site-space/salaries", "reaches": ["acme/space/bonus", "acme/space/pensions"], "window": 0, "asked": True,
            "source": {"file": "sites/docs.yaml", "line": 58},
        },
        {
            "address": "acme", "kind": "organization", "field": "inviteLinks", "before": False, "after": True,
            "says": "everybody with a link may join", "readers": [], "path": [], "cause": None, "reaches": [], "window": 0, "asked": True,
            "source": None,
        },
    ],
    "broken": [
        {
            "address": "acme/site/docs", "kind": "site", "before": "https://docs.acme.example/legacy",
            "after": "https://docs.acme.example/archive", "reason": "basename changes", "source": {"file": "sites/docs.yaml", "line": 3},
        },
    ],
    "changes": [{"address": "acme/space/legacy", "actions": ["delete"], "source": None}],
}  # fmt: skip


GENERATORS = v.GeneratorsView(
    "the generators cannot be read: https://git.example.com/acme/orgs.git cannot be read: could not resolve the host [RC-fleet-source]",
    NOW - timedelta(hours=3),
)


def ago(**words: float) -> datetime:
    return NOW - timedelta(**words)


def rows(number: int = PAGE_SIZE) -> list[v.RowView]:
    """Rows with every status, health and state among them."""
    made = [
        v.RowView("acme-handbook", "acme", Mode.APPLY, StatusWord.UNKNOWN, ("the last reading is 3 h old", "the last run failed: the service answered 503 to GET /v1/orgs/org_acme/sites, six times in 40 s"), timedelta(hours=3), 0.91, v.ProjectHealth(v.HealthWord.UNKNOWN), recovering=True),
        v.RowView("acme-api", "acme", Mode.APPLY, StatusWord.UNKNOWN, ("it was never read",), None, None, v.ProjectHealth(v.HealthWord.UNKNOWN)),
        v.RowView("globex-docs", "globex", Mode.APPLY, StatusWord.OUT_OF_SYNC, CAUSES, timedelta(seconds=41), 0.999, v.ProjectHealth(v.HealthWord.BROKEN, sentences=("12 links are broken", "the certificate of acme/saml/okta expires in 3 d")), waits="approval is missing: exposure (2 people), delete (1 person)", running=ago(seconds=12)),
        v.RowView("initech-de", "initech", Mode.PLAN, StatusWord.OUT_OF_SYNC, CAUSES[:1], timedelta(minutes=4), 0.5, v.ProjectHealth(v.HealthWord.WARNING, sentences=("a share link of docs expires in 9 d",)), paused=v.PauseView("grace@initech.example", "the migration of Tuesday", NOW + timedelta(hours=2)), wave=1),
        v.RowView("umbrella-old", "umbrella", Mode.WATCH, StatusWord.SYNCED, (), timedelta(days=12), 1.0, v.ProjectHealth(v.HealthWord.UNKNOWN), orphaned=True, origin="generator 1 (organizations)"),
    ]  # fmt: skip
    while len(made) < number:
        index = len(made)
        synced = index % 6 != 0
        made.append(
            v.RowView(
                f"team-{index:04}", ("acme", "globex", "initech")[index % 3], Mode.APPLY, StatusWord.SYNCED if synced else StatusWord.OUT_OF_SYNC,
                () if synced else CAUSES[1:2], timedelta(seconds=index * 17 % 600), 1.0 if index % 4 else 0.87,
                v.ProjectHealth(v.HealthWord.HEALTHY),
            )
        )  # fmt: skip
    return made[:number]


def listing(query: Query | None = None, number: int = PAGE_SIZE, **changes: Any) -> v.ListView:
    counts = {"Unknown": 12, "OutOfSync": 231, "Synced": 9_754, "orphaned": 3}
    values: dict[str, Any] = {
        "frame": FRAME, "query": query or Query(), "rows": rows(number), "matching": 10_000, "total": 10_000, "counts": counts,
        "tenants": ("acme", "globex", "initech", "umbrella"),
    }  # fmt: skip
    return v.ListView(**{**values, **changes})


def empty_list() -> v.ListView:
    return listing(number=0, matching=0, total=0, counts={}, tenants=())


def hostile_list() -> v.ListView:
    made = [
        v.RowView(text, text, Mode.APPLY, StatusWord.OUT_OF_SYNC, (text, text), timedelta(1), 0.5, v.ProjectHealth(v.HealthWord.BROKEN, sentences=(text,)), waits=text, paused=v.PauseView(text, text, NOW))
        for text in HOSTILE
    ]  # fmt: skip
    return listing(Query(text=MARKUP, tenant=MARKUP, status="OutOfSync"), rows=made, matching=len(made), tenants=HOSTILE)


def samples(days: int = 14) -> list[Sample]:
    dice = random.Random(7)
    drift, ahead, unmanaged, made = 0, 0, 38, []
    for number in range(days * 24):
        drift = 0 if dice.random() < 0.04 else drift + (dice.random() < 0.09) * dice.randint(1, 5)
        ahead = 0 if dice.random() < 0.3 else ahead + (dice.random() < 0.04) * dice.randint(1, 9)
        unmanaged += (dice.random() < 0.03) * dice.randint(-2, 3)
        word = StatusWord.UNKNOWN if (150 < number < 160) else StatusWord.OUT_OF_SYNC if drift or ahead else StatusWord.SYNCED
        made.append(Sample(NOW - timedelta(days=days) + timedelta(hours=number), word, ahead, drift, unmanaged, 0.93))
    return made


def project(**changes: Any) -> v.ProjectView:
    """A project with all that a page can show."""
    digest = "9f2c1e7ab04d5566" * 4
    rejected = v.DecisionView("grace@globex.example", False, (), "00" * 32, ago(days=2), "the legacy guides are still linked", False)
    approved = v.DecisionView(
        "ada@acme.example", True, (ChangeClass.CREATE, ChangeClass.DELETE), digest, ago(minutes=12), "agreed in the call"
    )
    author = v.DecisionView(
        "lin@globex.example", True, (ChangeClass.EXPOSURE,), digest, ago(minutes=9), "", False, "they are an author of the commit"
    )
    plan = v.PlanView(
        digest, "4c1d9e0f2ab3445566778899aabbccddeeff0011", ago(minutes=14), PLAN, ("lin@globex.example",), readers.gained(DOCUMENT),
        readers.lost(DOCUMENT), 5, ("New access for anyone: 1 space (acme/space/salaries).", "Deleted: 1 space (acme/space/legacy)."),
    )  # fmt: skip
    rules = (
        v.RuleView(ChangeClass.CREATE, Approval.ONE, 0, ("ada@acme.example",)),
        v.RuleView(ChangeClass.DELETE, Approval.TWO, 1, ("ada@acme.example",)),
        v.RuleView(ChangeClass.EXPOSURE, Approval.TWO, 2, ()),
        v.RuleView(ChangeClass.TITLES, Approval.AUTO, 0, ()),
    )
    runs = [
        v.RunView(4_812, 57, ago(seconds=12), ago(seconds=11)),
        v.RunView(4_790, 56, ago(minutes=10), ago(minutes=10), ago(minutes=9, seconds=48), "done", "5 changes wait for approval", plan.commit, 41),
        v.RunView(4_701, 55, ago(minutes=21), ago(minutes=21), ago(minutes=20, seconds=20), "failed", "the service answered 503 to GET /v1/orgs/org_acme/sites", None, 6),
        v.RunView(4_655, 54, ago(hours=1), ago(hours=1), ago(minutes=45), "lost", "the worker on build-7 was silent for 30 s", None, None),
        v.RunView(4_601, 53, ago(hours=2), ago(hours=2), ago(hours=1, minutes=58), "done", "2 applied, nothing left to do", "77aa0011" * 5, 58),
    ]  # fmt: skip
    values: dict[str, Any] = {
        "frame": FRAME, "row": replace(rows()[2], origin="generator 2 (directories)"),
        "source": v.SourceView("https://git.example.com/globex/docs.git", "main", "orgs/globex", "https://api.example.com", timedelta(minutes=10), "production", plan.commit, "77aa0011" * 5, ("Saturday 22:00 to 06:00, Europe/Berlin",)),
        "may": v.ViewerPermissions(True, True, True), "read_at": ago(seconds=41), "next_due": NOW + timedelta(minutes=9), "plan": plan,
        "approvals": v.ApprovalsView(rules, (author, approved, rejected)), "rehearsal": rehearsed(), "samples": samples(), "runs": runs,
        "quarantines": (Quarantine("1b2c3d4e5f60" * 3, ("globex/space/guides", "globex/site/docs/section/start"), "2026-11-22T09-14-00Z-7f", ago(days=1)),),
    }  # fmt: skip
    return v.ProjectView(**{**values, **changes})


def rehearsed(**changes: Any) -> v.RehearsalView:
    """A rehearsal that went as planned, of a plan that must be rehearsed."""
    values: dict[str, Any] = {
        "required": True, "state": "done", "asked_by": "ada@acme.example", "asked_at": ago(minutes=13), "ended_at": ago(minutes=12),
        "digest": "5e" * 32, "valid": True, "document": rehearsal_document(rehearsal()),
    }  # fmt: skip
    return v.RehearsalView(**{**values, **changes})


def unrehearsed_project(**changes: Any) -> v.ProjectView:
    """A plan that nobody can approve before it is rehearsed."""
    return project(rehearsal=v.RehearsalView(required=True), **changes)


def drift(**changes: Any) -> v.DriftView:
    """What was changed outside Reconciler, with a decision on some of it."""
    where = "orgs/globex --base-url https://api.example.com --env production"
    ignored = "ignored until 1 Dec 2026, 23:59 UTC by ada@globex.example: the fair"

    def group(
        sort: str, name: str, what: str, word: str = "changed", decision: str = "", accept: str = "", **more: Any
    ) -> v.DriftGroupView:
        revert = (
            f"reconciler drift {where} --revert-plan revert.plan.json --group {name} && reconciler apply {where} --plan revert.plan.json"
        )
        address = f"globex/space/{name}"
        accepting = f"reconciler drift {where} --accept {address}{accept}" if word != "deleted" else ""
        changed = (v.DriftedView(address, word, decision),)
        return v.DriftGroupView(sort, f"{address}: {what}", resources=changed, revert=revert, accept=accepting, **more)

    groups = (
        group("exposing", "salaries", "visibility private -> public", accept=" --allow-exposure globex/space/salaries", exposes=True),
        group("cosmetic", "guides", "title Acme guides -> My guides; emoji 1f4d6 -> 1f680"),
        group("deleting", "drafts", "was deleted", "deleted", ignored),
    )
    values = {
        "digest": "drift:" + "ab" * 32, "groups": groups, "more": 0, "revert": "button", "state": "the URL of the fleet's database",
    }  # fmt: skip
    return v.DriftView(**{**values, **changes})


def drifted_project(**changes: Any) -> v.ProjectView:
    """A project in which only something was changed outside Reconciler."""
    says = "The fleet does not apply this plan: changes made outside Reconciler are not reverted without a decision (revertDrift is false)."
    broken = v.ProjectHealth(
        v.HealthWord.BROKEN, sentences=("globex/space/salaries: it can be read by anyone: globex/site/docs was changed outside Reconciler",)
    )
    row = replace(rows()[2], causes=CAUSES[1:2], waits="changes made outside Reconciler are not reverted without a decision", health=broken)
    values: dict[str, Any] = {
        "row": row,
        "quarantines": (),
        "drift": drift(),
        "approvals": v.ApprovalsView(applies=says, is_decided=False),
    }
    return project(**{**values, **changes})


def watched_project() -> v.ProjectView:
    """The same where the fleet applies nothing, for a viewer who may only look, and a state that has never seen it."""
    row = replace(drifted_project().row, mode=Mode.WATCH)
    shown = drift(revert="command", more=3, groups=drift().groups[2:])
    first = 'RECONCILER_STATE="$(cat /var/lib/reconciler/url)" reconciler apply --base-url https://api.example.com --create-state'
    return drifted_project(row=row, drift=shown, may=v.ViewerPermissions(), plan=None, approvals=None, first_apply=first)


def bare_project() -> v.ProjectView:
    """A project that was just declared, for a viewer who may only look."""
    row = v.RowView("new-project", "acme", Mode.WATCH, StatusWord.UNKNOWN, ("it was never read",))
    source = v.SourceView("git@git.example.com:acme/docs.git", "HEAD", ".", "https://api.example.com", timedelta(seconds=600))
    return v.ProjectView(FRAME, row, source, next_due=NOW)


def hostile_project() -> v.ProjectView:
    """Hostile texts wherever a text can be."""
    text = " ".join(HOSTILE)
    row = v.RowView(text, text, Mode.APPLY, StatusWord.OUT_OF_SYNC, HOSTILE, timedelta(1), 0.5, v.ProjectHealth(v.HealthWord.BROKEN, sentences=HOSTILE), text, 0, NOW, True, False, v.PauseView(text, text), text)  # fmt: skip
    entry = v.ReadersView(text, text, HOSTILE, HOSTILE, HOSTILE, text)
    plan = v.PlanView(text, text, NOW, "\n".join(HOSTILE) + "\n  - " + MARKUP, HOSTILE, (entry,), (entry,))
    decision = v.DecisionView(text, True, (ChangeClass.DELETE,), text, NOW, text, False, text)
    approvals = v.ApprovalsView((v.RuleView(ChangeClass.DELETE, Approval.TWO, 1, HOSTILE),), (decision,), decision, text)
    source = v.SourceView(text, text, text, text, timedelta(1), text, text, text, HOSTILE)
    run = v.RunView(1, 1, NOW, NOW, NOW, text, text, text, 1, text)
    quarantine = Quarantine(text, HOSTILE, text, NOW)
    resources = (v.DriftedView(text, text, text), v.DriftedView(MARKUP, RTL, LONG))
    groups = (v.DriftGroupView("exposing", text, text, HOSTILE, True, resources, text, text), v.DriftGroupView(MARKUP, RTL, means=(LONG,)))
    return v.ProjectView(
        FRAME, row, source, v.ViewerPermissions(True, True, True), NOW, NOW, 2, text, plan, approvals, samples(1), (run,), (quarantine,),
        v.DriftView(text, groups, 1, "button", text), text,
        rehearsal=v.RehearsalView(True, "done", text, NOW, NOW, text, text, False, True, text, rehearsal_document(rehearsal(text))),
    )  # fmt: skip


def cells(number: int, tenants: int = 40) -> list[Cell]:
    dice = random.Random(11)
    made = []
    for index in range(number):
        tenant = min(int(dice.paretovariate(0.9)) - 1, tenants - 1) if dice.random() < 0.6 else dice.randrange(tenants)
        chance = dice.random()
        bad = tenant == 3 and dice.random() < 0.6
        word = (
            StatusWord.UNKNOWN
            if chance < 0.02 or (tenant == 7 and chance < 0.7)
            else StatusWord.OUT_OF_SYNC
            if chance < 0.08 or bad
            else StatusWord.SYNCED
        )
        age = int(dice.expovariate(1 / 400)) if word is not StatusWord.UNKNOWN else None if chance < 0.004 else dice.randint(1_900, 200_000)
        made.append(
            Cell(
                f"project-{index:05}",
                f"tenant-{tenant:02}",
                index % 3 if tenant < 5 else 0,
                word,
                age,
                600,
                chance > 0.997,
                chance > 0.99,
                dice.choice((v.HealthWord.BROKEN, v.HealthWord.WARNING, v.HealthWord.UNKNOWN))
                if dice.random() < 0.06
                else v.HealthWord.HEALTHY,
            )
        )
    return made


def overview(number: int = 400, tenants: int = 12) -> v.OverviewView:
    workers = [
        v.WorkerView("build-1", 4_121, 8, 7, "1.4.0", ago(days=2), ago(seconds=2)),
        v.WorkerView("build-2", 991, 8, 3, "1.3.2", ago(days=9), ago(seconds=1)),
        v.WorkerView("build-7", 77, 4, 1, "1.4.0", ago(hours=5), ago(seconds=52), alive=False),
    ]
    budgets = [
        v.BudgetView("env:ACME_TOKEN", (v.LimitView(1_000, 640, NOW + timedelta(seconds=22)), v.LimitView(200, 12, NOW + timedelta(seconds=22))), 4, 6_200),
        v.BudgetView("file:/run/secrets/globex", (v.LimitView(500, 0, NOW + timedelta(minutes=3)),), 0, 2_100, NOW + timedelta(minutes=3)),
        v.BudgetView("env:INITECH_TOKEN", (), 1, 12),
    ]  # fmt: skip
    queue = v.QueueView(31, 12, 6, 10, {"done": 3_412, "failed": 14, "late": 1, "lost": 2})
    broken = [row for row in rows() if row.health.word is v.HealthWord.BROKEN]
    return v.OverviewView(FRAME, cells(number, tenants), queue, workers, budgets, GENERATORS, broken)


def empty_overview() -> v.OverviewView:
    return v.OverviewView(v.Frame(NOW, VIEWER), ())


def hostile_overview() -> v.OverviewView:
    made = [Cell(text, text, index, word, 10, 600) for index, text in enumerate(HOSTILE) for word in StatusWord]
    workers = [v.WorkerView(text, 1, 1, 1, text, NOW, NOW) for text in HOSTILE]
    budgets = [v.BudgetView(text, (v.LimitView(0, 0, NOW),)) for text in HOSTILE]
    ended = v.QueueView(ended=dict.fromkeys(HOSTILE, 1))
    return v.OverviewView(FRAME, made, ended, workers, budgets, v.GeneratorsView(MARKUP, None), hostile_list().rows)


def calendar() -> v.CalendarView:
    month = date(2026, 11, 1)
    items = [
        v.ExpiryView(datetime(2026, 11, 24, 9, 0, tzinfo=UTC), "end", "acme/saml/okta", "acme-handbook", "acme", "SHA-256 4f:1c:99"),
        v.ExpiryView(datetime(2026, 11, 24, 16, 2, tzinfo=UTC), "pause", "the migration of Tuesday", "initech-de", "initech"),
        v.ExpiryView(datetime(2026, 11, 28, 0, 0, tzinfo=UTC), "end", "acme/site/docs/share-link/partners", "acme-handbook", "acme"),
        v.ExpiryView(datetime(2026, 11, 30, 23, 59, tzinfo=UTC), "exception", "broken links of the archive", "globex-docs", "globex", "accepted by grace@globex.example"),
        *(v.ExpiryView(datetime(2026, 11, 28, hour, 30, tzinfo=UTC), "end", f"globex/site/docs/share-link/customer-{hour}", "globex-docs", "globex") for hour in range(8, 14)),
    ]  # fmt: skip
    expired = [v.ExpiryView(datetime(2026, 11, 20, 9, 0, tzinfo=UTC), "end", "umbrella/saml/entra", "umbrella-old", "umbrella")]
    return v.CalendarView(FRAME, month, items, expired, {month: 10, date(2026, 12, 1): 4, date(2027, 1, 1): 2, date(2027, 6, 1): 1})


def hostile_calendar() -> v.CalendarView:
    items = [v.ExpiryView(NOW, "end", text, text, text, text) for text in HOSTILE]
    return v.CalendarView(FRAME, date(2026, 11, 1), items, items)


def audit() -> v.AuditView:
    actions = ("log in", "see", "approve", "reject", "pause", "resume", "sync", "run")
    lines = [
        AuditRecord("ada@acme.example" if index % 3 else "fleet worker build-1", actions[index % 8], "globex-docs" if index % 4 else None, "globex" if index % 4 else None, {"digest": "9f2c1e7ab04d", "classes": ["create", "delete"], "reason": "agreed in the call"} if index % 8 == 2 else {}, 9_000 - index, ago(minutes=index * 7))
        for index in range(25)
    ]  # fmt: skip
    return v.AuditView(FRAME, AuditQuery(), lines, older=8_975)


def hostile_audit() -> v.AuditView:
    lines = [AuditRecord(text, text, text, text, {text: text, "list": [text]}, index, NOW) for index, text in enumerate(HOSTILE)]
    return v.AuditView(FRAME, AuditQuery(MARKUP, RTL, LONG[:200]), lines, 1, 2)


def login(provider: str = "") -> str:
    frame = v.Frame(NOW, version="1.4.0")
    return render.render_login(frame, provider=provider, back="/projects/globex-docs", csrf="c5rf")


def error() -> v.ErrorView:
    return v.ErrorView(FRAME, 409, "The plan has changed", "You approved the plan 9f2c1e7ab04d, but the last run made another one: 1 deletion was added.", "Open the project, read the new plan, and approve that one.", "RC-plan-moved")  # fmt: skip


PAGES: dict[str, Callable[[], str]] = {
    "list": lambda: render.render_list(listing()),
    "list-empty": lambda: render.render_list(empty_list()),
    "list-without-match": lambda: render.render_list(listing(Query(text="nothing"), number=0, matching=0, counts={})),
    "list-filtered": lambda: render.render_list(listing(Query(tenant="acme", sort="age", order="down", live="off"))),
    "list-hostile": lambda: render.render_list(hostile_list()),
    "list-notice": lambda: render.render_list(listing(frame=replace(FRAME, notice=MARKUP, failed=True))),
    "project": lambda: render.render_project(project()),
    "project-unrehearsed": lambda: render.render_project(unrehearsed_project()),
    "project-rehearsal-failed": lambda: render.render_project(
        project(rehearsal=rehearsed(state="failed", error="it took longer than 1200 s [RC-fleet-run-late]", document=None, valid=False))
    ),
    "project-rehearsal-outdated": lambda: render.render_project(project(rehearsal=rehearsed(valid=False))),
    "project-rehearsal-unplanned": lambda: render.render_project(
        project(rehearsal=rehearsed(as_planned=False, document=rehearsal_document(rehearsal(failures=("acme/space/guides: 403: no",)))))
    ),
    "project-drift": lambda: render.render_project(drifted_project()),
    "project-watched": lambda: render.render_project(watched_project()),
    "project-bare": lambda: render.render_project(bare_project()),
    "project-hostile": lambda: render.render_project(hostile_project()),
    "overview": lambda: render.render_overview(overview()),
    "overview-empty": lambda: render.render_overview(empty_overview()),
    "overview-hostile": lambda: render.render_overview(hostile_overview()),
    "calendar": lambda: render.render_calendar(calendar()),
    "calendar-hostile": lambda: render.render_calendar(hostile_calendar()),
    "audit": lambda: render.render_audit(audit()),
    "audit-empty": lambda: render.render_audit(v.AuditView(FRAME, AuditQuery(), ())),
    "audit-hostile": lambda: render.render_audit(hostile_audit()),
    "login": login,
    "login-oidc": lambda: login("Acme SSO " + MARKUP),
    "error": lambda: render.render_error(error()),
    "error-hostile": lambda: render.render_error(v.ErrorView(FRAME, 500, MARKUP, RTL, CONTROL, LONG)),
}
"""Whole pages by name."""

PARTS: dict[str, Callable[[], str]] = {
    "table": lambda: render.render_table(listing()),
    "table-hostile": lambda: render.render_table(hostile_list()),
    "status": lambda: render.render_project_status(project(shown="0000")),
    "status-hostile": lambda: render.render_project_status(replace(hostile_project(), shown=MARKUP, seen=MARKUP)),
    "figures": lambda: render.render_figures(overview()),
}
"""What htmx puts into a page, by name."""
