"""Drift as data: a document whose keys `report/schemas` declares, and read back as drift. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Final

from reconciler.address import Address, Glob
from reconciler.features.drift import documents
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
from reconciler.features.drift.report.groups import DriftCommands, group_text
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.model import Cause, Delta, Unmanaged
from reconciler.report.documents import (
    UNREAD,
    exposure_data,
    ignored_data,
    record,
    source_of,
    spot_data,
    unknown_data,
    unmanaged_data,
    violation_data,
)
from reconciler.report.reading import SPAN_MAX, Data, DocumentFormat, exposure_of, ignored_of, spot_of, unknown_of, violation_of
from reconciler.report.schemas import types as t
from reconciler.report.sheet import Sheet
from reconciler.report.words import HIDDEN, data
from reconciler.text.names import utc_text

EVERYTHING: Final = Glob.parse("**")


def drift_document(drift: Drift, commands: DriftCommands | None = None) -> documents.DriftDocument:
    """The document of drift; `whole`: everything was read, so that the coverage is complete."""
    # What is unknown about one address is not a kind that could not be read, but programs must treat it alike.
    unread: list[t.UnknownData] = [
        {"kind": item.kind, "reason": f"{item.address}: {item.reason}", "id": UNREAD} for item in (*drift.unread, *drift.undecided)
    ]
    document: documents.DriftDocument = {
        "format": "reconciler.drift/1",
        "project": drift.project,
        "environment": drift.environment,
        "summary": {
            "changed": drift.count(DriftWord.CHANGED),
            "deleted": drift.count(DriftWord.DELETED),
            "moved": drift.count(DriftWord.MOVED),
            "unmanaged": len(drift.unmanaged),
            "managed": drift.managed,
            "silenced": len(drift.ignored),
            "unjudged": len(drift.unjudged),
            "coverage": {kind: share.ratio for kind, share in drift.coverage.items()},
            "whole": drift.whole,
        },
        "resources": [_drifted(item) for item in drift.resources],
        "unmanaged": unmanaged_data(drift.unmanaged),
        "unknown": unknown_data(drift.unknown) + unread,
        "unjudged": [str(address) for address in drift.unjudged],
        "silenced": [
            {"address": str(item.address), "field": item.field, "reason": item.known.reason, "until": item.known.until.isoformat()}
            for item in drift.ignored
        ],
        "notes": list(drift.notes),
        "violations": [violation_data(item) for item in drift.violations],
    }
    if drift.groups:
        document["groups"] = [_drift_group(item) for item in drift.groups]
    if commands is not None:
        for entry, group in zip(document.get("groups", ()), drift.groups, strict=True):
            entry["revert"] = commands.revert([group])
            entry["accept"] = commands.accept(drift, [group])
    if drift.exposures:
        document["exposures"] = [exposure_data(item) for item in drift.exposures]
    if drift.left_alone:
        document["summary"]["ignored"] = drift.left_alone_count
        document["ignored"] = ignored_data(drift.left_alone)
    return document


def _drift_group(group: DriftGroup) -> documents.DriftGroupData:
    after, before = (None if moment is None else utc_text(moment) for moment in (group.between.after, group.between.before))
    data: documents.DriftGroupData = {
        "id": group.id,
        "class": group.drift_class.value,
        "addresses": [str(address) for address in group.addresses],
        "between": {"after": after, "before": before},
        "says": group_text(group),
        "readers": [{"who": item.who, "gains": item.gains, "addresses": [str(at) for at in item.addresses]} for item in group.readers],
        "urls": [{"before": url.before, "after": url.after} for url in group.urls],
    }
    if group.effects:
        data["effects"] = list(group.effects)
    if group.unmanaged is not None:
        (data["unmanaged"],) = unmanaged_data([group.unmanaged])
    return data


def _drifted(resource: Drifted) -> documents.DriftedData:
    return record(
        documents.DriftedData,
        resource,
        fields=[_drifted_field(delta) for delta in resource.fields],
        place=None if resource.place is None else {"lastApplied": spot_data(resource.place[0]), "now": spot_data(resource.place[1])},
        deletedAt=None if resource.deleted_at is None else utc_text(resource.deleted_at),
        restorableFor=None if resource.left is None else int(resource.left.total_seconds()),
    )


def _drifted_field(delta: Delta) -> documents.DriftedFieldData:
    # Drift is seen from what was applied last: "now" is what a plan calls "before".
    last, now, declared = (HIDDEN,) * 3 if delta.sensitive else (data(delta.last), data(delta.before), data(delta.after))
    return record(documents.DriftedFieldData, delta, lastApplied=last, now=now, declared=declared, cannotBeSet=delta.note is not None)


# -- read back --------------------------------------------------------------------------------------------------------------------------


def sheet_of(document: Data) -> Sheet:
    """The sheet of a document."""
    resources = tuple(map(_drifted_of, document["resources"]))
    by_address = {resource.address: resource for resource in resources}
    drift = Drift(
        document["project"],
        document["environment"],
        resources,
        tuple(Unmanaged(**item) for item in document["unmanaged"]),
        tuple(map(unknown_of, document["unknown"])),
        managed=document["summary"]["managed"],
        # Only their number is shown.
        ignored=tuple(
            IgnoredDifference(Address.parse(item["address"]), item["field"], KnownDrift(EVERYTHING, None, item["reason"], date.max))
            for item in document["silenced"]
        ),
        notes=tuple(document["notes"]),
        unjudged=tuple(map(Address.parse, document["unjudged"])),
        violations=tuple(map(violation_of, document.get("violations", ()))),
        left_alone=ignored_of(document),
        exposures=tuple(map(exposure_of, document.get("exposures", ()))),
        groups=tuple(_group_of(item, by_address) for item in document.get("groups", ())),
    )
    return drift_sheet(drift, full=True)


def _group_of(item: Data, resources: Mapping[Address, Drifted]) -> DriftGroup:
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


def _drifted_of(item: Data) -> Drifted:
    place = None
    if item["place"] is not None:
        then, now = spot_of(item["place"]["lastApplied"]), spot_of(item["place"]["now"])
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


FORMAT: Final = DocumentFormat("reconciler.drift/1", documents.DriftDocument, sheet_of)
