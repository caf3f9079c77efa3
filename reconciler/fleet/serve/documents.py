"""The documents of the API that no command prints."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from reconciler.fleet.facts import Judged
from reconciler.fleet.model import ChangeClass, RehearsalRule
from reconciler.fleet.reports import rehearsal_data
from reconciler.fleet.store import audit
from reconciler.fleet.store.dashboard.listing import ProjectSelection
from reconciler.text.names import utc_text

Line = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^\x00]*\S[^\x00]*$")]
Digest = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[0-9A-Za-z:_-]+$", description="The digest of the plan that was read.")
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


Word = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]


class Selected(_Model):
    """The filters and the order of a list of projects."""

    text: Annotated[Word, Field(description="A part of the name, of the tenant, of the repository's URL or of what is wrong.")] = ""
    status: Literal["", "Synced", "OutOfSync", "Unknown", "orphaned"] = ""
    health: Literal["", "Broken", "Warning", "Unknown", "Healthy"] = ""
    tenant: Word = ""
    mode: Literal["", "watch", "plan", "apply"] = ""
    sort: Literal["status", "name", "tenant", "age", "coverage", "health", "mode"] = "name"
    order: Literal["up", "down"] = "up"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    size: Annotated[int, Field(ge=1, le=500)] = 100

    @property
    def selection(self) -> ProjectSelection:
        offset = (self.page - 1) * self.size
        return ProjectSelection(
            self.text, self.status, self.health, self.tenant, self.mode, self.sort, self.order == "down", offset, self.size
        )


class Problem(_Model):
    """What is wrong (RFC 9457). `remedy`: what to do. `id`: of the cause, for `reconciler explain`."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str = ""
    id: str = ""


class Run(_Model):
    id: Annotated[int, Field(description="Of all runs of the fleet.")]
    number: Annotated[int, Field(description="Of the runs of its project, from 1.")]
    admittedAt: str
    startedAt: str | None
    endedAt: str | None
    ended: Annotated[Literal["done", "failed", "late", "lost"] | None, Field(description="Null while it is under way.")]
    says: str | None
    commit: str | None
    exitCode: int | None
    requests: Annotated[int | None, Field(description="That it sent to the service.")]


class Runs(_Model):
    """The runs of a project, the newest first."""

    format: Literal["reconciler.fleet-runs/1"] = "reconciler.fleet-runs/1"
    runs: list[Run]


class Decision(_Model):
    person: str
    approves: bool
    classes: list[ChangeClass]
    digest: str
    reason: str
    rehearsal: Annotated[str | None, Field(description="The digest of the rehearsal that the person saw.")]


class Rehearsal(_Model):
    """A rehearsal of the plan. Its document: getRehearsal."""

    state: Literal["waiting", "underWay", "failed", "done"]
    askedBy: str
    askedAt: str
    error: str | None
    digest: Annotated[str | None, Field(description="Of the last result: what approvals name.")]
    asPlanned: Annotated[bool | None, Field(description="Whether the copy did what the plan says.")]
    valid: Annotated[bool, Field(description="Whether it is of this plan on what the service contained at the last reading.")]


class Approvals(_Model):
    """What the last plan of a project needs, and what people decided on it."""

    format: Literal["reconciler.fleet-approvals/1"] = "reconciler.fleet-approvals/1"
    digest: str
    commit: str
    classes: Annotated[list[ChangeClass], Field(description="The classes of change that the plan contains.")]
    missing: Annotated[dict[ChangeClass, int], Field(description="How many people must still approve each class.")]
    rejectedBy: list[str]
    rehearse: Annotated[RehearsalRule, Field(description="Whether approvals must name a valid rehearsal.")]
    rehearsal: Annotated[Rehearsal | None, Field(description="Of this plan; null if nobody asked for one.")]
    allowed: Annotated[bool, Field(description="Whether nothing is missing and nobody rejects it.")]
    decisions: list[Decision]


class AuditLine(_Model):
    id: int
    at: str
    person: str
    action: str
    project: str | None
    tenant: str | None
    details: dict[str, Any]


class AuditLog(_Model):
    """Lines of the audit log, oldest first. Pass the id of the last one as `after` to continue."""

    format: Literal["reconciler.fleet-audit/1"] = "reconciler.fleet-audit/1"
    lines: list[AuditLine]


class Pause(_Model):
    """A pause."""

    until: Annotated[AwareDatetime, Field(description="When it ends: at most 30 days from now.")]
    reason: Line


class Approval(_Model):
    """An approval of a plan."""

    digest: Digest
    classes: Annotated[list[ChangeClass] | None, Field(min_length=1, max_length=20, description="By default, all that need somebody.")] = (
        None
    )
    rehearsal: Annotated[
        str,
        Field(
            max_length=200, pattern=r"^[0-9a-f]*$", description="The digest of the rehearsal that was read; needed where one is required."
        ),
    ] = ""
    allowUnplanned: Annotated[bool, Field(description="Whether to approve it although its rehearsal did not go as planned.")] = False


class Asked(_Model):
    """A request to rehearse a plan."""

    digest: Digest


class Rejection(_Model):
    """A rejection of a plan."""

    digest: Digest
    reason: Line


class Revert(_Model):
    """A decision to revert what was changed outside Reconciler."""

    digest: Annotated[Digest, Field(description="The `driftDigest` that was read.")]
    addresses: Annotated[list[str], Field(max_length=200, description="By default, everything.")] = []


class Ignore(Revert):
    """A decision to ignore what was changed outside Reconciler."""

    until: Annotated[AwareDatetime, Field(description="When it alarms again: at most 90 days from now.")]
    reason: Line


class Accepted(_Model):
    """The result of an action."""

    project: str
    action: Literal["sync", "pause", "resume", "revert", "ignore"]


def run(row: Mapping[str, Any]) -> Run:
    def at(key: str) -> str | None:
        moment: datetime | None = row[key]
        return utc_text(moment) if moment is not None else None

    return Run(
        id=row["id"], number=row["number"], admittedAt=at("admitted_at") or "", startedAt=at("started_at"), endedAt=at("ended_at"),
        ended=row["ended"], says=row["says"], commit=row["commit"], exitCode=row["exit_code"], requests=row["requests"],
    )  # fmt: skip


def approvals(judged: Judged) -> Approvals:
    """The approvals of the last plan."""
    decisions = [
        Decision(
            person=decision.person,
            approves=decision.approves,
            classes=sorted(decision.changes),
            digest=decision.digest,
            reason=decision.reason,
            rehearsal=decision.rehearsal,
        )
        for decision in judged.decisions
        if decision.person
    ]
    plan, verdict, rehearsal = judged.plan, judged.verdict, rehearsal_data(judged)
    return Approvals(
        digest=plan.digest or "",
        commit=plan.commit,
        classes=sorted(plan.changes),
        missing=dict(verdict.lacking),
        rejectedBy=[rejection.person for rejection in verdict.rejected],
        rehearse=judged.rule,
        rehearsal=Rehearsal.model_validate(rehearsal) if rehearsal is not None else None,
        allowed=verdict.allows,
        decisions=decisions,
    )


def line(record: audit.AuditRecord) -> AuditLine:
    return AuditLine(
        id=record.id,
        at=utc_text(record.at) if record.at is not None else "",
        person=record.person,
        action=record.action,
        project=record.project,
        tenant=record.tenant,
        details=dict(record.details),
    )
