"""What the state tracks, as data: the documents of `state list` and `state show`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.address import bare
from reconciler.model import Binding, State
from reconciler.report.values import data

LIST_FORMAT: Final = "reconciler.state-list/1"
SHOW_FORMAT: Final = "reconciler.state-show/1"


def bindings_document(state: State) -> dict[str, Any]:
    """Every tracked object, by address."""
    bindings = [_binding(state.bindings[address]) for address in sorted(state.bindings)]
    return {"format": LIST_FORMAT, "lineage": state.lineage, "serial": state.serial, "bindings": bindings}


def binding_document(binding: Binding, fields: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """One tracked object. `fields`: what was sent and what was seen after it, by field; sensitive values are hidden already."""
    listed = [{"name": name, "sent": data(sent), "seen": data(seen)} for name, (sent, seen) in fields.items()]
    return {"format": SHOW_FORMAT, **_binding(binding), "fields": listed}


def _binding(binding: Binding) -> dict[str, Any]:
    return {
        "address": str(binding.address),
        "kind": binding.kind,
        "id": bare(binding.id),
        "origin": binding.origin.value,
        "protected": binding.protected,
    }
