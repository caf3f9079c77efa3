"""Changes of the state without a request, as text and as data. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.address import bare
from reconciler.model import StateChange

if TYPE_CHECKING:
    from reconciler.report.schemas.runs import TurnData


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
