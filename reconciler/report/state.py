"""What the state tracks, as data: the documents of `state list` and `state show`, and changes without a request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.address import bare
from reconciler.model import Binding, State, StateChange
from reconciler.report.schemas import state as state_types
from reconciler.report.schemas.runs import TurnData
from reconciler.report.values import data


def bindings_document(state: State) -> state_types.StateListDocument:
    """Every tracked object, in the order of addresses."""
    bindings = [_binding(binding) for _, binding in sorted(state.bindings.items())]
    return {"format": "reconciler.state-list/1", "lineage": state.lineage, "serial": state.serial, "bindings": bindings}


def binding_document(binding: Binding, fields: Mapping[str, tuple[Any, Any]]) -> state_types.StateShowDocument:
    """One tracked object. `fields`: the values sent and read back, by field; sensitive values are hidden already."""
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


def turn_document(turn: StateChange) -> TurnData:
    """The data of one change. `from` is null unless it is a rename."""
    return {
        "what": turn.what.value,
        "address": str(turn.address),
        "kind": turn.kind,
        "object": bare(turn.id),
        "from": None if turn.old is None else str(turn.old),
    }


def turn_line(turn: StateChange) -> str:
    """`forget acme/team/writers (team_9f2)`."""
    old = "" if turn.old is None else f"{turn.old} to "
    return f"{turn.what.value} {old}{turn.address} ({bare(turn.id)})"
