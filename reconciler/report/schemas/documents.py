"""The JSON Schemas of the documents. Checked in as `schemas/*.schema.json`; a test fails if they are out of date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reconciler.report.schemas.fleet import FleetApprovalDocument, FleetAuditLine, FleetPlanDocument, FleetStatusDocument
from reconciler.report.schemas.plan import AccessDocument, DriftDocument, PlanDocument, SavedPlanDocument
from reconciler.report.schemas.runs import DoctorDocument, FindingsDocument, HistoryDocument, OutcomeDocument, RunDocument, UndoDocument
from reconciler.report.schemas.state import StateDocument, StateListDocument, StateShowDocument
from reconciler.text.escape import as_json

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: Final[Mapping[str, tuple[str, Any]]] = {
    "plan": ("A plan", PlanDocument),
    "saved-plan": ("A saved plan", SavedPlanDocument),
    "outcome": ("What an apply did", OutcomeDocument),
    "drift": ("Drift", DriftDocument),
    "access": ("Who can read what", AccessDocument),
    "history": ("Every run", HistoryDocument),
    "run": ("What one run did", RunDocument),
    "undo": ("What an undo did", UndoDocument),
    "findings": ("Findings about a project", FindingsDocument),
    "doctor": ("Problems that doctor found", DoctorDocument),
    "state": ("A whole state", StateDocument),
    "state-list": ("What the state tracks", StateListDocument),
    "fleet-plan": ("What a fleet file changes", FleetPlanDocument),
    "fleet-approval": ("A decision on a plan of a fleet", FleetApprovalDocument),
    "fleet-audit": ("A line of the audit log of a fleet", FleetAuditLine),
    "fleet-status": ("The status of a fleet", FleetStatusDocument),
    "state-show": ("What the state remembers of an address", StateShowDocument),
}


class _Schema(GenerateJsonSchema):
    """Without titles: every name is a key or a definition already."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        json_schema = super().typed_dict_schema(schema)
        json_schema.pop("title", None)
        return json_schema


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every document, by file name."""
    return {f"{name}.schema.json": schema_of(name) for name in DOCUMENTS}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of one document; its `$id` changes only with the version of its format."""
    title, document = DOCUMENTS[name]
    schema = TypeAdapter(document).json_schema(schema_generator=_Schema)
    form = str(schema.get("properties", {}).get("format", {}).get("const", ""))
    return {"$schema": DRAFT, "$id": f"urn:docs-reconciler:{name}:{form.partition('/')[2] or 1}", "title": title, **schema}


def dumped() -> dict[str, str]:
    """The texts of those files, by name."""
    return {name: as_json(schema) + "\n" for name, schema in schemas().items()}
