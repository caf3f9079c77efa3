"""The documents about runs and about a project: those of `apply`, `history`, `show`, `undo`, `doctor` and `validate`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from reconciler.model import RunStatus, Severity, StepStatus, What
from reconciler.report.schemas import types as t
from reconciler.report.schemas.plan import HeldData, OriginData
from reconciler.report.words import Level


class ResultsSummaryData(t.Record):
    done: t.Count
    failed: t.Count
    skipped: t.Count
    asked: NotRequired[t.Count]
    inDoubt: t.Count
    stale: t.Count
    requests: t.Count
    outside: t.Count


class ResultData(t.Record):
    id: t.Number
    address: t.AddressText
    verb: t.Text
    status: Annotated[str, t.OneOf(StepStatus)]
    error: Annotated[t.Text | None, t.doc("Why it failed; null where it is done.")]
    cause: NotRequired[Annotated[t.CauseId | None, t.doc("Its cause; null where it is done.")]]


class EditedData(t.Record):
    address: t.AddressText
    field: Annotated[t.Text | None, t.doc("The field, as the YAML calls it; null where it is about the whole object.")]
    before: Annotated[Any, t.doc("What was read after this run's write, or for the plan where it wrote nothing.")]
    after: Annotated[Any, t.doc("The value at the end of the run.")]
    reason: Annotated[t.Text, t.doc("What happened to the whole object; empty for a field.")]


class ResultsData(t.Record):
    """What an apply did."""

    summary: ResultsSummaryData
    steps: t.Items[ResultData]
    edited: Annotated[t.Items[EditedData], t.doc("What somebody else changed during the run.")]
    leftover: Annotated[t.Items[t.AddressText], t.doc("What still differs from what is declared, as read after the run.")]
    unverified: Annotated[t.Items[t.AddressText], t.doc("What was written and could not be read again.")]
    held: NotRequired[Annotated[HeldData, t.doc("What was refused and left alone, with --hold.")]]
    ignored: NotRequired[Annotated[t.Items[t.IgnoredData], t.doc("Differences that the YAML says to leave alone (`ignoreChanges`).")]]
    notVisible: NotRequired[Annotated[t.Items[t.AddressText], t.doc("What was written and is still shown in its previous state.")]]


class WithheldData(t.Record):
    refused: Annotated[t.Items[t.ReasonData], t.doc("What the file shows and was not done, because it does not hold any more.")]
    new: Annotated[t.Items[t.AddressText], t.doc("What would change although the file does not show it; it was not done.")]
    origin: NotRequired[Annotated[OriginData | None, t.doc("Who created the file, from which commit; null where it does not say that.")]]
    sameConfiguration: NotRequired[
        Annotated[bool | None, t.doc("Whether the evaluated configuration is that of the file; null where it was created without a state.")]
    ]


class OutcomeDocument(ResultsData):
    """What an apply did."""

    format: Literal["reconciler.outcome/1"]
    project: NotRequired[Annotated[t.Text, t.doc("The project's name. Absent in documents of older versions.")]]
    environment: NotRequired[t.Text | None]
    savedPlan: Annotated[WithheldData | None, t.doc("What a saved plan did not bring about; null where none was applied.")]


class RunData(t.Record):
    id: t.Text
    who: Annotated[t.Text, t.doc("The user and the machine.")]
    command: t.Text
    started: Annotated[t.Moment, t.doc("When it took the lease.")]
    ended: Annotated[t.Moment | None, t.doc("Null where it is running or was killed.")]
    exit: Annotated[int | None, t.doc("Its exit code; null where it is running or was killed.")]
    status: Annotated[str, t.OneOf(RunStatus), t.doc("killed: it has no end, and does not hold the state.")]
    did: Annotated[dict[str, t.Count], t.doc("Requests that were done, by verb.")]
    changed: NotRequired[Annotated[dict[str, t.Count], t.doc("How many objects it changed, as its plan counted them.")]]
    undone: Annotated[dict[str, t.Count], t.doc("Requests that failed or are in doubt, by how they ended.")]
    turned: Annotated[dict[str, t.Count], t.doc("Changes of the state without a request, by what they were.")]


class HistoryDocument(t.Record):
    """Every run."""

    format: Literal["reconciler.history/1"]
    environment: NotRequired[Annotated[t.Text, t.doc("The environment whose runs these are; absent: none.")]]
    runs: Annotated[t.Items[RunData], t.doc("Newest first.")]


_From = TypedDict("_From", {"from": Annotated[t.AddressText | None, t.doc("The address it had; null where it was not renamed.")]})


class TurnData(t.ResourceData, _From):
    what: Annotated[str, t.OneOf(What)]
    object: Annotated[t.Text, t.doc("The id of the object.")]


Turns = Annotated[t.Items[TurnData], t.doc("What changed in the state without a request.")]


class SentFieldData(t.Record):
    name: Annotated[t.Text, t.doc("The field, as the YAML calls it.")]
    before: Annotated[Any, t.doc("The value before; null also where it is unknown. Sensitive values are not shown.")]
    after: Annotated[Any, t.doc("The value that was sent; null also where none was.")]
    kept: NotRequired[Annotated[Any, t.doc("The value that the service stored instead of the one that was sent.")]]


class SentData(t.ResourceData):
    id: Annotated[t.Count, t.doc("The step of the plan.")]
    verb: Annotated[t.Text, t.doc("What the request did to the address.")]
    method: t.Method
    path: t.RequestPath
    at: Annotated[t.Moment, t.doc("When it was about to be sent.")]
    status: Annotated[t.Ended, t.doc("recovered: a later run found that it was done.")]
    error: Annotated[t.Text | None, t.doc("Why it failed; null where it did not.")]
    object: Annotated[t.Text | None, t.doc("The id of the object it was about, or created; null where it is unknown.")]
    fields: t.Items[SentFieldData]


class RunDocument(RunData):
    """What one run did."""

    format: Literal["reconciler.run/1"]
    environment: NotRequired[Annotated[t.Text, t.doc("The environment of the run; absent: none.")]]
    state: Turns
    steps: Annotated[t.Items[SentData], t.doc("In the order in which they were sent.")]


class LineData(t.Record):
    address: t.AddressText
    source: t.SourceData | None
    what: t.Text


class UndoDocument(ResultsData):
    """What an undo did."""

    format: Literal["reconciler.undo/1"]
    run: Annotated[t.Text, t.doc("The id of the run that was undone.")]
    state: Turns
    cannot: Annotated[t.Items[t.ReasonData], t.doc("What stays as that run left it.")]
    yaml: Annotated[t.Items[LineData], t.doc("What the YAML still declares as that run left it.")]


class CheckData(t.Record):
    check: Annotated[t.Text, t.doc("What was checked; several findings may share it.")]
    status: Annotated[str, t.OneOf(Level), t.doc("skipped: it could not be checked.")]
    message: Annotated[t.Text, t.doc("The result.")]
    remedy: Annotated[t.Text | None, t.doc("What to do; null where there is nothing to do.")]
    id: NotRequired[Annotated[t.CauseId | None, t.doc("The cause of a problem or a warning.")]]


class DoctorSummaryData(t.Record):
    ok: t.Count
    skipped: t.Count
    warning: t.Count
    problem: t.Count


class DoctorDocument(t.Record):
    """Problems that doctor found."""

    format: Literal["reconciler.doctor/1"]
    summary: DoctorSummaryData
    checks: t.Items[CheckData]


class FindingsSummaryData(t.Record):
    error: t.Count
    warning: t.Count
    fixable: Annotated[t.Count, t.doc("How many `validate --fix` corrects.")]


class PlaceData(t.Record):
    """Where something is written."""

    file: Annotated[t.Text, t.doc("Relative to the project; the name of an option where the command line is meant.")]
    line: Annotated[t.Number | None, t.doc("From 1; null where the whole file is meant.")]
    column: Annotated[t.Number | None, t.doc("From 1; null where the whole file is meant.")]


class FindingData(t.Record):
    id: Annotated[t.CauseId, t.doc("The cause; of lint, `RC-` and the name of the rule.")]
    rule: NotRequired[Annotated[t.Text | None, t.doc("The violated rule of the project, such as `policy/NAME`; null for others.")]]
    severity: Annotated[str, t.OneOf(Severity)]
    message: t.Text
    address: Annotated[t.Text | None, t.doc("The resource, or a setting such as `vars.brand`.")]
    source: PlaceData | None
    remedy: Annotated[t.Text | None, t.doc("What to do.")]
    fix: Annotated[t.Text | None, t.doc("What `validate --fix` does; null where a person must decide.")]


class FindingsDocument(t.Record):
    """What is wrong with a project, or probably a mistake, by place."""

    format: Literal["reconciler.findings/1"]
    project: Annotated[t.Text | None, t.doc("The name of the project; null where it cannot be loaded.")]
    environment: t.Text | None
    summary: FindingsSummaryData
    findings: t.Items[FindingData]
