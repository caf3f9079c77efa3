"""What the state tracks, as data: the documents of `state list` and `state show`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reconciler.address import bare
from reconciler.model import Binding, State
from reconciler.report.values import data

if TYPE_CHECKING:
    from reconciler.report.schemas import state as state_types


def bindings_document(state: State) -> state_types.StateListDocument:
    """Every tracked object, by address."""
    bindings = [_binding(state.bindings[address]) for address in sorted(state.bindings)]
    return {"format": "reconciler.state-list/1", "lineage": state.lineage, "serial": state.serial, "bindings": bindings}


def binding_document(binding: Binding, fields: Mapping[str, tuple[Any, Any]]) -> state_types.StateShowDocument:
    """One tracked object. `fields`: what was sent and what was seen after it, by field; sensitive values are hidden already."""
    listed: list[state_types.TrackedFieldData] = [
        {"name": name, "sent": data(sent), "seen": data(seen)} for name, (sent, seen) in fields.items()
    ]
    return {"format": "reconciler.state-show/1", **_binding(binding), "fields": listed}


def _binding(binding: Binding) -> state_types.TrackedData:
    return {
        "address": str(binding.address),
        "kind": binding.kind,
        "id": bare(binding.id),
        "origin": binding.origin.value,
        "protected": binding.protected,
    }
