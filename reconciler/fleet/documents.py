"""The documents of `fleet plan`, `fleet status` and `fleet approve` with `--format json`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from reconciler.features.drift.model import DriftWord
from reconciler.features.health.model import Sort
from reconciler.report.schemas import types as t
from reconciler.report.schemas.documents import PrintedDocument
from reconciler.report.schemas.plan import PlanDocument

WORDS = ("Synced", "OutOfSync", "Unknown")
REHEARSAL_RULES = ("optional", "required")
REHEARSAL_STATES = ("waiting", "underWay", "failed", "done")
HEALTH_WORDS = ("Broken", "Unknown", "Warning", "Healthy")
PREVIEW_CLASSES = ("violating", "exposing", "locking-out", "deleting", "breaking-urls", "loosening-rules", "blocked", "changing")
"""The most serious first."""
PREVIEW_MOMENTS = ("merge", "fleet-apply")


class FleetKeyData(t.Record):
    key: t.Text
    before: Any
    after: Any


class FleetChangingData(t.Record):
    name: t.Text
    keys: Annotated[t.Items[FleetKeyData], t.doc("What differs, as the fleet file calls it.")]


class FleetPlanDocument(t.Record):
    """What a fleet file changes."""

    format: Literal["reconciler.fleet-plan/1"]
    projects: Annotated[t.Count, t.doc("How many the file declares, generated ones included.")]
    appearing: t.Items[t.Text]
    changing: t.Items[FleetChangingData]
    returning: Annotated[t.Items[t.Text], t.doc("Orphaned projects that are declared again.")]
    vanishing: Annotated[t.Items[t.Text], t.doc("They become orphaned: never run again, and nothing of them is deleted.")]
    orphaned: Annotated[t.Items[t.Text], t.doc("Projects that vanished before.")]
    refused: Annotated[t.Text | None, t.doc("Why `fleet apply` asks for consent; null where it does not.")]


class FleetCommitData(t.Record):
    ref: Annotated[t.Text, t.doc("As the command line names it.")]
    commit: t.CommitId


class FleetPreviewGroupData(t.Record):
    projects: Annotated[t.Different[t.Text], t.doc("Those to which the same happens, apart from their own names.")]
    example: Annotated[t.Text, t.doc("The project whose plan is shown.")]
    summary: Annotated[t.Text, t.doc("The numbers of the example's plan in one sentence.")]
    worst: Annotated[str, t.OneOf(PREVIEW_CLASSES), t.doc("The most serious thing that the plan does.")]
    says: Annotated[t.Items[t.Text], t.doc("What the example's plan means for readers and URLs, and what it deletes: a sentence each.")]
    after: Annotated[
        str, t.OneOf(PREVIEW_MOMENTS), t.doc("merge: the commit alone does it. fleet-apply: only the new fleet file, once it takes effect.")
    ]
    plan: Annotated[PlanDocument, t.doc("Of the example.")]


class FleetPreviewProblemData(t.Record):
    project: t.Text
    file: Annotated[t.Text, t.doc("The commit, a colon and the path in the repository; empty where no file is meant.")]
    line: Annotated[int, t.doc("0 where the whole file is meant.")]
    column: int
    message: t.Text
    id: t.CauseId


class FleetPreviewReadingData(t.Record):
    project: t.Text
    status: Annotated[str, t.OneOf(WORDS)]
    health: Annotated[str, t.OneOf(HEALTH_WORDS)]
    at: Annotated[t.Moment | None, t.doc("When it was read; null where it never was.")]
    says: Annotated[t.Items[t.Text], t.doc("Why it is not Synced.")]


class FleetReconfiguredData(t.Record):
    project: t.Text
    keys: Annotated[t.Different[t.Text], t.doc("What differs in the fleet file, as it calls it.")]


class FleetPreviewDocument(t.Record):
    """What a commit does to every project of a fleet, grouped by what happens."""

    format: Literal["reconciler.fleet-preview/1"]
    fleet: Annotated[t.Text, t.doc("The fleet file.")]
    createdAt: t.Moment
    before: FleetCommitData
    after: FleetCommitData
    groups: Annotated[t.Items[FleetPreviewGroupData], t.doc("Of the fewest projects first.")]
    appear: Annotated[t.Items[t.Text], t.doc("Projects that are not in the fleet before.")]
    vanish: Annotated[
        t.Items[t.Text], t.doc("Projects that are not in it afterwards; they become orphaned, and nothing of them is deleted.")
    ]
    unchanged: Annotated[t.Items[t.Text], t.doc("Projects for which the commit changes nothing.")]
    reconfigured: Annotated[t.Items[FleetReconfiguredData], t.doc("Projects of which the fleet file says something else.")]
    problems: Annotated[t.Items[FleetPreviewProblemData], t.doc("Why a project could not be planned.")]
    readings: NotRequired[
        Annotated[t.Items[FleetPreviewReadingData], t.doc("The last reading of each project that changes. Absent without --live.")]
    ]
    notes: Annotated[t.Items[t.Text], t.doc("Sentences for the reader.")]


class FleetPauseData(t.Record):
    until: Annotated[t.Moment | None, t.doc("Null until somebody resumes it.")]
    by: t.Text
    reason: t.Text


class FleetDriftedData(t.Record):
    address: t.Text
    word: Annotated[str, t.OneOf(DriftWord)]
    says: Annotated[t.Items[t.Text], t.doc("What was changed.")]
    exposes: Annotated[bool, t.doc("Whether somebody can read or do more because of it.")]


class FleetReadingData(t.Record):
    commit: t.Text
    at: t.Moment
    ahead: Annotated[t.Count, t.doc("Resources that the commit changes.")]
    drift: Annotated[t.Count, t.doc("Resources changed outside Reconciler.")]
    both: Annotated[t.Count, t.doc("Resources changed by both.")]
    unmanaged: t.Count
    managed: t.Count
    unreadable: t.Items[t.Text]
    inDoubt: t.Count
    coverage: Annotated[t.Share | None, t.doc("The managed share of what was read; null where nothing was.")]
    ignored: Annotated[t.Count, t.doc("Resources changed outside Reconciler that somebody ignores for now; not in `drift`.")]
    driftDigest: Annotated[t.Text | None, t.doc("Of all drift: what people decide on; null without drift.")]
    drifted: Annotated[t.Items[FleetDriftedData], t.doc("What was changed outside Reconciler, ignored or not; at most 100 resources.")]
    firstApply: Annotated[t.Text | None, t.doc("The command that creates the state; null if the state has seen the project.")]


class FleetConcernData(t.Record):
    sort: Annotated[str, t.OneOf(Sort), t.doc("What it is about.")]
    address: Annotated[t.Text, t.doc("The address of the object; of an unmanaged one, with its id.")]
    sentence: t.Text
    until: Annotated[t.Day | None, t.doc("The last day on which it works, of what ends; null where it is broken now, or a warning.")]


class FleetHealthData(t.Record):
    word: Annotated[str, t.OneOf(HEALTH_WORDS)]
    at: Annotated[t.Moment | None, t.doc("When it was read; null where it never was.")]
    sentences: Annotated[t.Items[t.Text], t.doc("Why it is not Healthy.")]
    broken: t.Items[FleetConcernData]
    ending: Annotated[t.Items[FleetConcernData], t.doc("What ends soon, and other warnings.")]


class FleetNeedData(t.Record):
    change: Annotated[t.Text, t.doc("A class of change: `create`, `delete`, …")]
    rule: Annotated[str, t.OneOf(("auto", "one", "two"))]
    missing: Annotated[t.Count, t.doc("How many people must still approve it.")]
    people: Annotated[t.Items[t.Text], t.doc("Who approved it, as far as they count.")]


class FleetRejectionData(t.Record):
    person: t.Text
    reason: t.Text


class FleetRehearsalData(t.Record):
    state: Annotated[str, t.OneOf(REHEARSAL_STATES)]
    askedBy: t.Text
    askedAt: t.Moment
    error: Annotated[t.Text | None, t.doc("Why there is no result; null where there is one, or none yet.")]
    digest: Annotated[t.Text | None, t.doc("Of the last result: what approvals name; null without one.")]
    asPlanned: Annotated[bool | None, t.doc("Whether the copy did what the plan says; null without a result.")]
    valid: Annotated[bool, t.doc("Whether the result is of this plan on what the service contained at the last reading.")]


class FleetVerdictData(t.Record):
    commit: t.Text
    digest: Annotated[t.Text, t.doc("Of what the plan would send: what people approve.")]
    needs: t.Items[FleetNeedData]
    rejected: t.Items[FleetRejectionData]
    rehearse: Annotated[str, t.OneOf(REHEARSAL_RULES), t.doc("Whether approvals must name a valid rehearsal.")]
    rehearsal: Annotated[FleetRehearsalData | None, t.doc("Of this plan; null if nobody asked for one.")]
    allowed: Annotated[bool, t.doc("Whether nothing is missing and nobody rejected it.")]


class FleetApprovalDocument(t.Record):
    """What somebody decided on the plan of a project: `fleet approve` and `fleet reject`."""

    format: Literal["reconciler.fleet-approval/1"]
    project: t.Text
    decision: Annotated[str, t.OneOf(("approve", "reject"))]
    person: t.Text
    classes: Annotated[t.Items[t.Text], t.doc("Of change, that this person approved now.")]
    approvals: FleetVerdictData


class FleetProjectData(t.Record):
    name: t.Text
    tenant: t.Text
    mode: Annotated[str, t.OneOf(("watch", "plan", "apply"))]
    status: Annotated[str, t.OneOf(WORDS)]
    causes: t.Items[t.Text]
    age: Annotated[t.Count | None, t.doc("Seconds since the reading that the status follows from; null without one.")]
    reading: FleetReadingData | None
    health: FleetHealthData
    nextDue: t.Moment
    failures: Annotated[t.Count, t.doc("Runs in a row that ended without a reading.")]
    running: Annotated[bool, t.doc("Whether a run is under way.")]
    recovering: Annotated[bool, t.doc("Whether the last run was lost with its worker, and no other has ended since.")]
    orphaned: bool
    waits: Annotated[t.Text | None, t.doc("Why changes are not applied; null where none wait.")]
    applied: Annotated[t.Text | None, t.doc("The commit that was applied last.")]
    paused: FleetPauseData | None
    approvals: Annotated[FleetVerdictData | None, t.doc("The plan that people decide on; null where nobody has to, and nobody did.")]


class FleetAuditLine(t.Record):
    """One line of the audit log of a fleet."""

    format: Literal["reconciler.fleet-audit/1"]
    id: Annotated[t.Count, t.doc("Grows with each line.")]
    at: t.Moment
    person: Annotated[t.Text, t.doc("An e-mail address or a name; `the fleet` for what no person did.")]
    action: Annotated[t.Text, t.doc("What was done: a verb.")]
    project: Annotated[t.Text | None, t.doc("Null for the whole fleet.")]
    tenant: t.Text | None
    details: dict[str, Any]


class FleetStatusDocument(t.Record):
    """The status of every project of a fleet."""

    format: Literal["reconciler.fleet-status/1"]
    at: Annotated[t.Moment, t.doc("The database's time.")]
    workers: Annotated[t.Count, t.doc("Workers that are alive.")]
    projects: t.Items[FleetProjectData]


DOCUMENTS: Final = (
    PrintedDocument("fleet-plan", "What a fleet file changes", FleetPlanDocument),
    PrintedDocument("fleet-preview", "What a commit does to a fleet", FleetPreviewDocument),
    PrintedDocument("fleet-approval", "A decision on a plan of a fleet", FleetApprovalDocument),
    PrintedDocument("fleet-audit", "A line of the audit log of a fleet", FleetAuditLine),
    PrintedDocument("fleet-status", "The status of a fleet", FleetStatusDocument),
)
