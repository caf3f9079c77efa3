"""The contents of the pages. Plain data: the routes fill it from rows, and `render` turns it into HTML. Pure.

Texts are unescaped: the templates escape them. Times have a zone; `Frame.now` is the database's time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

from reconciler.fleet.health import HealthWord, ProjectHealth
from reconciler.fleet.model import Approval, AuditRecord, ChangeClass, Mode, Quarantine
from reconciler.fleet.pages.query import AuditQuery, Query
from reconciler.fleet.rehearsals import DONE
from reconciler.fleet.status import Cell, Sample, StatusWord

Health = HealthWord


@dataclass(frozen=True)
class Viewer:
    """Who sees a page. `csrf`: sent back by every form. `is_admin`: of at least one tenant. `can_log_out`: false for the single user of a
    loopback address."""

    name: str
    csrf: str
    is_admin: bool = False
    can_log_out: bool = True


@dataclass(frozen=True)
class Frame:
    """The frame of every page. `viewer`: None before the login. `workers`: the number of live ones; None if not queried. `notice`: a
    sentence about the viewer's last action, or why it failed (`failed`)."""

    now: datetime
    viewer: Viewer | None = None
    version: str = ""
    workers: int | None = None
    notice: str = ""
    failed: bool = False


# -- the list of projects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PauseView:
    """A pause in effect. `until`: None for one without an end."""

    by: str
    reason: str
    until: datetime | None = None


@dataclass(frozen=True)
class RowView:
    """A project in a list. `causes`: the reasons for the status. `age`: of the reading. `coverage`: 0 to 1. `waits`: why changes are not
    applied. `running`: when the present run began. `origin`: its generator, "" for none."""

    name: str
    tenant: str
    mode: Mode
    status: StatusWord
    causes: tuple[str, ...] = ()
    age: timedelta | None = None
    coverage: float | None = None
    health: ProjectHealth = field(default_factory=lambda: ProjectHealth(HealthWord.UNKNOWN))
    waits: str | None = None
    wave: int = 0
    running: datetime | None = None
    recovering: bool = False
    orphaned: bool = False
    paused: PauseView | None = None
    origin: str = ""


@dataclass(frozen=True)
class GeneratorsView:
    """The problems of the generators. `read_at`: when they were last read completely."""

    says: str
    read_at: datetime | None


@dataclass(frozen=True)
class ListView:
    """One page of the list. `rows`: at most `query.PAGE_SIZE`. `matching`: how many projects match the whole query. `counts`: how many
    match the query without its status, by status (`Synced`, `OutOfSync`, `Unknown`, `orphaned`). `total`: how many the viewer sees.
    `tenants`: for the filter. `generators`: None without problems, or if the viewer may not see them."""

    frame: Frame
    query: Query
    rows: Sequence[RowView]
    matching: int
    total: int
    counts: Mapping[str, int]
    tenants: Sequence[str] = ()
    generators: GeneratorsView | None = None


# -- a project --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceView:
    """The source of a project and its schedule. `commit`: of the last reading; `applied`: the last one applied. `windows`: in words.
    References and URLs only, never a secret."""

    git: str
    ref: str
    path: str
    base_url: str
    every: timedelta
    environment: str | None = None
    commit: str | None = None
    applied: str | None = None
    windows: tuple[str, ...] = ()
    revert_drift: bool = False


@dataclass(frozen=True)
class ReadersView:
    """Readers that an object gains or loses. `says`: the end of a sentence. `path`: how they get access. `where`: `file:line`."""

    address: str
    says: str
    readers: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    reaches: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True)
class PlanView:
    """The last plan. `text`: as the command line shows it. `summary`: sentences about readers, URLs and what is deleted.
    `gained`, `lost`: by `readers.gained`, `readers.lost` of its document.
    `requests`: the number that applying it sends."""

    digest: str
    commit: str
    made_at: datetime
    text: str
    authors: tuple[str, ...] = ()
    gained: tuple[ReadersView, ...] = ()
    lost: tuple[ReadersView, ...] = ()
    requests: int | None = None
    summary: tuple[str, ...] = ()


@dataclass(frozen=True)
class DecisionView:
    """A decision of a person. `counts`: whether it is about the displayed plan; `why_not`: why it does not count."""

    person: str
    approves: bool
    changes: tuple[ChangeClass, ...]
    digest: str
    at: datetime
    reason: str = ""
    counts: bool = True
    why_not: str = ""
    rehearsal: str = ""


@dataclass(frozen=True)
class RuleView:
    """A class of change that the plan contains. `missing`: how many people must still approve it; `by`: who approved it."""

    change: ChangeClass
    rule: Approval
    missing: int = 0
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApprovalsView:
    """The approvals that the plan needs and the decisions. `rejected`: by whom, None if by nobody. `cannot`: why the viewer cannot approve
    it, "" if they can. `applies`: what happens to a plan that needs no approval any more, a sentence. `is_decided`: false for a plan that
    the fleet never applies as it is, because it only takes back drift that nobody decided to revert."""

    rules: tuple[RuleView, ...] = ()
    decisions: tuple[DecisionView, ...] = ()
    rejected: DecisionView | None = None
    cannot: str = ""
    applies: str = ""
    is_decided: bool = True


@dataclass(frozen=True)
class RehearsalView:
    """The rehearsal of the plan. `state`: "" if nobody asked for one, or one of `rehearsals.STATES`. `required`: approvals must name it.
    `valid`: it is of this plan on the last reading. `text`: as `rehearse` shows it. `document`: of `rehearse --format json`, None if it was
    not read, or an older version wrote it."""

    required: bool = False
    state: str = ""
    asked_by: str = ""
    asked_at: datetime | None = None
    ended_at: datetime | None = None
    error: str = ""
    digest: str = ""
    as_planned: bool = True
    valid: bool = False
    text: str = ""
    document: Mapping[str, Any] | None = None

    @property
    def word(self) -> str:
        """Its state, or `outdated`."""
        return "outdated" if self.state == DONE and not self.valid else self.state

    @property
    def key(self) -> str:
        """What a page shows of it, to know whether that changed."""
        return f"{self.word}.{self.digest[:12]}"


@dataclass(frozen=True)
class DriftedView:
    """A resource that was changed outside Reconciler. `decision`: what is in effect, in words; "" without one."""

    address: str
    word: str
    decision: str = ""


@dataclass(frozen=True)
class DriftGroupView:
    """What happened as one. `since`: between which readings; `means`: for readers and URLs; `resources`: none of an unmanaged object.
    `revert`, `accept`: commands for a clone of the repository, "" where none helps."""

    drift_class: str
    says: str
    since: str = ""
    means: tuple[str, ...] = ()
    exposes: bool = False
    resources: tuple[DriftedView, ...] = ()
    revert: str = ""
    accept: str = ""


@dataclass(frozen=True)
class DriftView:
    """What was changed outside Reconciler, the worst first, and how each decision is made. `digest`: of all of it, sent back by the forms.
    `more`: how many resources are not listed. `revert`: `button`, `command` (the fleet applies nothing of this project) or `itself`
    (`revertDrift`). `state`: what RECONCILER_STATE contains in a clone of the repository."""

    digest: str
    groups: tuple[DriftGroupView, ...]
    more: int
    revert: Literal["button", "command", "itself"]
    state: str

    @property
    def number(self) -> int:
        """How many resources are listed."""
        return sum(len(group.resources) for group in self.groups)


@dataclass(frozen=True)
class RunView:
    """A run. `id`: of all runs of the fleet; `number`: of those of its project. `ended`: done, failed, late or lost; None while it is in
    progress."""

    id: int
    number: int
    admitted_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ended: str | None = None
    says: str = ""
    commit: str | None = None
    requests: int | None = None
    worker: str = ""


@dataclass(frozen=True)
class ViewerPermissions:
    """The viewer's permissions on the project. `approve`: to decide on plans and on what was changed outside Reconciler."""

    approve: bool = False
    sync: bool = False
    pause: bool = False


@dataclass(frozen=True)
class ProjectView:
    """The page of a project. `first_apply`: the command that creates a state which has never seen it, "" for none. `samples` and `runs`:
    the newest last, and the newest first. `error`: why the last run returned no reading. For its part `#status` only: `shown`, the digest
    of the displayed plan, `shown_rehearsal`, the key of its rehearsal, and `seen`, what the viewer was already notified of."""

    frame: Frame
    row: RowView
    source: SourceView
    may: ViewerPermissions = field(default_factory=ViewerPermissions)
    read_at: datetime | None = None
    next_due: datetime | None = None
    failures: int = 0
    error: str | None = None
    plan: PlanView | None = None
    approvals: ApprovalsView | None = None
    samples: Sequence[Sample] = ()
    runs: Sequence[RunView] = ()
    quarantines: Sequence[Quarantine] = ()
    drift: DriftView | None = None
    first_apply: str = ""
    rehearsal: RehearsalView | None = None
    shown: str | None = None
    shown_rehearsal: str = ""
    seen: str = ""


# -- the fleet as a picture -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueueView:
    """`due`: projects that are due. `late`: seconds by which the oldest of them is late. `waiting`: admitted and not started."""

    due: int = 0
    late: int = 0
    waiting: int = 0
    running: int = 0
    ended: Mapping[str, int] = field(default_factory=dict)  # runs of the last hour, by how they ended


@dataclass(frozen=True)
class WorkerView:
    host: str
    process: int
    concurrency: int
    running: int
    version: str
    started_at: datetime
    seen_at: datetime
    alive: bool = True


@dataclass(frozen=True)
class LimitView:
    """One rate limit of the service. `left`: None if unknown: then one request at a time is sent."""

    size: int
    left: int | None
    resets_at: datetime | None = None


@dataclass(frozen=True)
class BudgetView:
    """The budget of a token. `token`: its reference, such as `env:ACME_TOKEN`, never the token. `projects`: the number that share it."""

    token: str
    limits: tuple[LimitView, ...] = ()
    under_way: int = 0
    projects: int = 0
    held_until: datetime | None = None


@dataclass(frozen=True)
class OverviewView:
    """`broken`: the first projects whose health is Broken."""

    frame: Frame
    cells: Sequence[Cell]
    queue: QueueView = field(default_factory=QueueView)
    workers: Sequence[WorkerView] = ()
    budgets: Sequence[BudgetView] = ()
    generators: GeneratorsView | None = None
    broken: Sequence[RowView] = ()


# -- expiries ---------------------------------------------------------------------------------------------------------------------

Sort = Literal["end", "exception", "pause"]


@dataclass(frozen=True)
class ExpiryView:
    """An object that expires at a time. `what`: its address or name."""

    at: datetime
    sort: Sort
    what: str
    project: str
    tenant: str
    note: str = ""


@dataclass(frozen=True)
class CalendarView:
    """One month. `month`: its first day. `items`: of this month, in any order. `expired`: objects that have expired and still exist.
    `months`: the number of expiries by month, for the links."""

    frame: Frame
    month: date
    items: Sequence[ExpiryView]
    expired: Sequence[ExpiryView] = ()
    months: Mapping[date, int] = field(default_factory=dict)


# -- audit, login, errors ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AuditView:
    """One page of the audit log, the newest line first. `older`, `newer`: the id to continue `before` or `after`; None at the ends."""

    frame: Frame
    query: AuditQuery
    lines: Sequence[AuditRecord]
    older: int | None = None
    newer: int | None = None


@dataclass(frozen=True)
class ErrorView:
    """`title`: a few words. `says`: what is wrong. `remedy`: what to do. `id`: `RC-…`, "" for none. `project`: of the action."""

    frame: Frame
    code: int
    title: str
    says: str
    remedy: str = ""
    id: str = ""
    project: str = ""
