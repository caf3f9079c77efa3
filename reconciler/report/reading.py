"""A document as a sheet: what another job wrote with `--report json=FILE`, shown by the composers that showed it there.

The document is read back into a plan, an outcome, drift or findings, as far as it says; `sheet_of` composes that. A document is poorer than
what it was written from: it has no ids of objects, and null for a value that was not known. Each place below where that matters chooses the
reading that claims less.

Any user can upload a document to a pull request. Its shape is checked before (`schemas.check.problem`), its texts are not: a text that is
neither an address nor a time after all raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from reconciler.address import Address
from reconciler.model import (
    Action,
    Blocked,
    BrokenUrl,
    Cause,
    Change,
    Delta,
    Edited,
    Exposure,
    Finding,
    ForbiddenRequest,
    HeldChange,
    HeldPart,
    HeldRefusal,
    Outcome,
    Plan,
    Position,
    SavedPlanCheck,
    Severity,
    Source,
    Step,
    StepResult,
    StepStatus,
    Unknown,
    Unmanaged,
    Violation,
)
from reconciler.report.documents import IN_SECOND_RUN, SECOND_RUN, field_notes, source_of
from reconciler.report.findings import findings_sheet
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.schemas.plan import PlanDocument
from reconciler.report.schemas.runs import FindingsDocument, OutcomeDocument
from reconciler.report.sections import SECTIONS
from reconciler.report.sheet import Sheet
from reconciler.report.words import HIDDEN
from reconciler.seams import Seam

Data = Mapping[str, Any]
FAILED: Final = "The job failed before it had a result."
SPAN_MAX: Final = 10**9  # seconds; a document can have a number that is too large for a span


def sheet_of(document: Data) -> Sheet:
    """The sheet of a document whose `format` is one of `formats`. Raises `ValueError`."""
    return formats()[document["format"]].sheet(document)


def failed(kind: str) -> Sheet:
    """The sheet of a job that wrote no document."""
    return Sheet(kind, "", None, FAILED, (), headline=FAILED)


# -- plans and comparisons of files -------------------------------------------------------------------------------------------------


def _plan(document: Data) -> Sheet:
    numbers = document["summary"]
    # A document lists what a second run does among what is blocked, and only its remedy tells.
    blocked = [item for item in document["blocked"] if item["remedy"] != SECOND_RUN]
    later = [item for item in document["blocked"] if item["remedy"] == SECOND_RUN]
    plan = Plan(
        document["project"],
        document["environment"],
        tuple(map(_change, document["changes"])),
        tuple(Step(item["id"], Address.parse(item["address"]), "", item["verb"], item["method"], ()) for item in document["steps"]),
        tuple(Unmanaged(**item) for item in document["unmanaged"]),
        tuple(unknown_of(item) for item in document["unknown"]),
        tuple(map(Address.parse, document["inDoubt"])),
        tuple(map(_blocked, blocked)),
        {Address.parse(item["address"]): item["reason"].removeprefix(IN_SECOND_RUN) for item in later},
        exposures=tuple(map(exposure_of, document["exposures"])),
        broken=tuple(
            BrokenUrl(
                Address.parse(item["address"]), item["kind"], item["before"], item["after"], item["reason"], source_of(item["source"])
            )
            for item in document["broken"]
        ),
        lost_readers={Address.parse(item["address"]): tuple(item["readers"]) for item in document.get("lostReaders", ())},
        forbidden=tuple(
            ForbiddenRequest(Address.parse(item["address"]), item["verb"], item["flag"], Address.parse(item["of"]))
            for item in document["forbidden"]
        ),
        violations=tuple(map(violation_of, document.get("violations", ()))),
        notes=tuple(document["notes"]),
        outside=numbers["outside"] or None,
        files_only=numbers["unmanaged"] is None,
        ignored=ignored_of(document),
        held=held_of(document),
        features={key: value for section in SECTIONS for key, value in section.read(document).items()},
    )
    sheet = plan_sheet(plan, full=True, remedies=True)
    # A document does not say how many objects are managed.
    sheet = replace(sheet, summary=sheet.headline) if plan.empty else sheet
    return replace(sheet, kind="diff") if plan.files_only else sheet


def held_of(document: Data) -> HeldPart:
    """What a plan holds, as its document says it."""
    data = document.get("held", {"changes": (), "refusals": ()})
    return HeldPart(
        tuple(
            HeldChange(Address.parse(item["address"]), tuple(map(Action, item["actions"])), item["refused"], id=item["id"])
            for item in data["changes"]
        ),
        tuple(HeldRefusal(item["message"], item["remedy"], id=item["id"]) for item in data["refusals"]),
    )


def _change(item: Data) -> Change:
    place = item["place"] or {"before": None, "after": None}
    fields = tuple(map(_delta, item["fields"]))
    return Change(
        Address.parse(item["address"]),
        item["kind"],
        tuple(map(Action, item["actions"])),
        fields,
        spot_of(place["before"]),
        spot_of(place["after"]),
        item["reason"].removesuffix("; ".join(field_notes(fields))).removesuffix("; "),
        source_of(item["source"]),
        # Who deleted what is restored is not in a document: nobody is accused.
        deleted_by_us=True,
    )


def _delta(field: Data) -> Delta:
    before, after = field["before"], field["after"]
    return Delta(
        field["name"],
        before,
        after,
        Cause(field["cause"]),
        HIDDEN in (before, after),
        field.get("note"),
        from_defaults=field.get("fromDefaults", False),
    )


def _blocked(item: Data) -> Blocked:
    cause, id = _address(item["cause"]), item.get("id", "")
    return Blocked(Address.parse(item["address"]), item["reason"], item["remedy"], cause=cause, id=id)


def exposure_of(item: Data) -> Exposure:
    """An exposure from its data in a document."""
    return Exposure(
        Address.parse(item["address"]),
        item["kind"],
        item["field"] or "",
        item["before"],
        item["after"],
        item["says"],
        source_of(item["source"]),
        item["asked"],
        tuple(item["readers"]),
        tuple(item["path"]),
        _address(item["cause"]),
        reaches=tuple(map(Address.parse, item["reaches"])),
        window=item["window"],
        id=item.get("id", ""),
    )


def violation_of(item: Data) -> Violation:
    """A violated rule from its data."""
    return Violation(
        item["sort"],
        item["rule"],
        _address(item["address"]),
        item["message"],
        Severity(item["level"]),
        tuple(item["path"]),
        source_of(item["source"]),
        source_of(item["declared"]),
        item["remedy"],
        id=item.get("id", "RC-rule-violated"),
    )


# -- outcomes, findings --------------------------------------------------------------------------------------------------------


def _outcome(document: Data) -> Sheet:
    saved = document["savedPlan"]
    not_applied = None
    if saved is not None:
        not_applied = SavedPlanCheck({item["address"]: item["reason"] for item in saved["refused"]}, tuple(saved["new"]))
    outcome = Outcome(
        "",
        Plan(
            document.get("project", ""),
            document.get("environment"),
            outside=document["summary"]["outside"] or None,
            held=held_of(document),
        ),
        tuple(
            StepResult(
                Step(item["id"], Address.parse(item["address"]), "", item["verb"], "", ()),
                StepStatus(item["status"]),
                item["error"],
                id=item.get("cause"),
            )
            for item in document["steps"]
        ),
        leftover=tuple(map(Address.parse, document["leftover"])),
        edited=tuple(
            Edited(
                Address.parse(item["address"]),
                item["field"],
                item["before"],
                item["after"],
                item["reason"],
                HIDDEN in (item["before"], item["after"]),
            )
            for item in document["edited"]
        ),
        unverified=tuple(map(Address.parse, document["unverified"])),
        not_visible=tuple(map(Address.parse, document.get("notVisible", ()))),
        not_applied=not_applied,
    )
    return outcome_sheet(outcome)


def _findings(document: Data) -> Sheet:
    findings = [
        Finding(
            item["id"],
            Severity(item["severity"]),
            item["message"],
            item["address"] or "",
            None if (source := item["source"]) is None else Source(source["file"], source["line"] or 0, source["column"] or 0),
            item["remedy"] or "",
            rule=item.get("rule") or "",
        )
        for item in document["findings"]
    ]
    return findings_sheet(findings, project=document["project"] or "", environment=document["environment"])


# -- parts of all of them -------------------------------------------------------------------------------------------------------------


def _address(text: str | None) -> Address | None:
    return None if text is None else Address.parse(text)


def spot_of(item: Data | None) -> Position | None:
    """A position from its data."""
    # Only what is at the top of everything has no parent, and it has no siblings: nulls are a position that was not known.
    if item is None or item["parent"] is item["previous"] is None:
        return None
    return Position(_address(item["parent"]), previous=_address(item["previous"]))


def unknown_of(item: Data) -> Unknown:
    """What could not be read, from its data."""
    # The reason says already in which container.
    return Unknown(item["kind"], None, item["reason"])


def ignored_of(document: Data) -> dict[Address, tuple[Delta, ...]]:
    """The differences that the YAML says to leave alone, by address."""
    ignored: dict[Address, tuple[Delta, ...]] = {}
    for item in document.get("ignored", ()):
        address = Address.parse(item["address"])
        ignored[address] = (*ignored.get(address, ()), Delta(item["field"], None, None, Cause.DRIFT))
    return ignored


class DocumentFormat(NamedTuple):
    """The format of a document that can be shown again: its name, its shape, and its sheet."""

    name: str
    shape: Any
    sheet: Callable[[Data], Sheet]


_OURS: Final = (
    DocumentFormat("reconciler.plan/1", PlanDocument, _plan),
    DocumentFormat("reconciler.outcome/1", OutcomeDocument, _outcome),
    DocumentFormat("reconciler.findings/1", FindingsDocument, _findings),
)

FORMATS: Final[Seam[DocumentFormat]] = Seam("formats", "documents of features that can be shown again")


def formats() -> dict[str, DocumentFormat]:
    """Every format by its name."""
    return {row.name: row for row in (*_OURS, *FORMATS)}
