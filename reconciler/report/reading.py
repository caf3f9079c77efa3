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
from datetime import date, datetime, timedelta
from typing import Any, Final, cast

from reconciler.address import Address, Glob
from reconciler.features.drift.model import (
    Drift,
    DriftBounds,
    DriftClass,
    Drifted,
    DriftedReaders,
    DriftGroup,
    DriftWord,
    EndedUrl,
    IgnoredDifference,
    KnownDrift,
)
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.rehearsal.documents import RehearsalDocument
from reconciler.features.rehearsal.report import rehearsal_document_sheet
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
from reconciler.report.sections import SECTIONS
from reconciler.report.sheet import Sheet
from reconciler.report.words import HIDDEN

Data = Mapping[str, Any]
FAILED: Final = "The job failed before it had a result."
EVERYTHING: Final = Glob.parse("**")
SPAN_MAX: Final = 10**9  # seconds; a document can have a number that is too large for a span


def sheet_of(document: Data) -> Sheet:
    """The sheet of a document whose `format` is one of `FORMATS`. Raises `ValueError`."""
    return FORMATS[document["format"]](document)


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
        tuple(_unknown(item) for item in document["unknown"]),
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
        violations=tuple(map(_violation, document.get("violations", ()))),
        notes=tuple(document["notes"]),
        outside=numbers["outside"] or None,
        files_only=numbers["unmanaged"] is None,
        ignored=_ignored(document),
        features={key: value for section in SECTIONS for key, value in section.read(document).items()},
    )
    sheet = plan_sheet(plan, full=True, remedies=True)
    # A document does not say how many objects are managed.
    sheet = replace(sheet, summary=sheet.headline) if plan.empty else sheet
    return replace(sheet, kind="diff") if plan.files_only else sheet


def _change(item: Data) -> Change:
    place = item["place"] or {"before": None, "after": None}
    fields = tuple(map(_delta, item["fields"]))
    return Change(
        Address.parse(item["address"]),
        item["kind"],
        tuple(map(Action, item["actions"])),
        fields,
        _spot(place["before"]),
        _spot(place["after"]),
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


def _violation(item: Data) -> Violation:
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


# -- outcomes, drift, findings --------------------------------------------------------------------------------------------------------


def _outcome(document: Data) -> Sheet:
    saved = document["savedPlan"]
    not_applied = None
    if saved is not None:
        not_applied = SavedPlanCheck({item["address"]: item["reason"] for item in saved["refused"]}, tuple(saved["new"]))
    outcome = Outcome(
        "",
        Plan(document.get("project", ""), document.get("environment"), outside=document["summary"]["outside"] or None),
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


def _drift(document: Data) -> Sheet:
    resources = tuple(map(_drifted, document["resources"]))
    by_address = {resource.address: resource for resource in resources}
    drift = Drift(
        document["project"],
        document["environment"],
        resources,
        tuple(Unmanaged(**item) for item in document["unmanaged"]),
        tuple(map(_unknown, document["unknown"])),
        managed=document["summary"]["managed"],
        # Only their number is shown.
        ignored=tuple(
            IgnoredDifference(Address.parse(item["address"]), item["field"], KnownDrift(EVERYTHING, None, item["reason"], date.max))
            for item in document["silenced"]
        ),
        notes=tuple(document["notes"]),
        unjudged=tuple(map(Address.parse, document["unjudged"])),
        violations=tuple(map(_violation, document.get("violations", ()))),
        left_alone=_ignored(document),
        exposures=tuple(map(exposure_of, document.get("exposures", ()))),
        groups=tuple(_drift_group(item, by_address) for item in document.get("groups", ())),
    )
    return drift_sheet(drift, full=True)


def _drift_group(item: Data, resources: Mapping[Address, Drifted]) -> DriftGroup:
    addresses = tuple(map(Address.parse, item["addresses"]))
    after, before = (
        None if text is None else datetime.fromisoformat(text) for text in (item["between"]["after"], item["between"]["before"])
    )
    return DriftGroup(
        item["id"],
        DriftClass(item["class"]),
        addresses,
        tuple(resources[address] for address in addresses if address in resources),
        Unmanaged(**item["unmanaged"]) if "unmanaged" in item else None,
        tuple(item.get("effects", ())),
        tuple(DriftedReaders(one["who"], one["gains"], tuple(map(Address.parse, one["addresses"]))) for one in item["readers"]),
        tuple(EndedUrl(url["before"], url["after"]) for url in item["urls"]),
        DriftBounds(after, before),
    )


def _drifted(item: Data) -> Drifted:
    place = None
    if item["place"] is not None:
        then, now = _spot(item["place"]["lastApplied"]), _spot(item["place"]["now"])
        place = (then, now) if then is not None and now is not None else None
    return Drifted(
        Address.parse(item["address"]),
        item["kind"],
        DriftWord(item["status"]),
        tuple(
            Delta(
                field["name"],
                field["now"],
                field["declared"],
                Cause(field["cause"]),
                HIDDEN in (field["lastApplied"], field["now"]),
                field["note"],
                last=field["lastApplied"],
            )
            for field in item["fields"]
        ),
        place,
        None if item["deletedAt"] is None else datetime.fromisoformat(item["deletedAt"]),
        None if item["restorableFor"] is None else timedelta(seconds=min(item["restorableFor"], SPAN_MAX)),
        source=source_of(item["source"]),
    )


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


def _rehearsal(document: Data) -> Sheet:
    return rehearsal_document_sheet(cast("RehearsalDocument", document))


# -- parts of all of them -------------------------------------------------------------------------------------------------------------


def _address(text: str | None) -> Address | None:
    return None if text is None else Address.parse(text)


def _spot(item: Data | None) -> Position | None:
    # Only what is at the top of everything has no parent, and it has no siblings: nulls are a position that was not known.
    if item is None or item["parent"] is item["previous"] is None:
        return None
    return Position(_address(item["parent"]), previous=_address(item["previous"]))


def _unknown(item: Data) -> Unknown:
    # The reason says already in which container.
    return Unknown(item["kind"], None, item["reason"])


def _ignored(document: Data) -> dict[Address, tuple[Delta, ...]]:
    ignored: dict[Address, tuple[Delta, ...]] = {}
    for item in document.get("ignored", ()):
        address = Address.parse(item["address"])
        ignored[address] = (*ignored.get(address, ()), Delta(item["field"], None, None, Cause.DRIFT))
    return ignored


FORMATS: Final[Mapping[str, Callable[[Data], Sheet]]] = {
    "reconciler.plan/1": _plan,
    "reconciler.outcome/1": _outcome,
    "reconciler.drift/1": _drift,
    "reconciler.findings/1": _findings,
    "reconciler.rehearsal/1": _rehearsal,
}
