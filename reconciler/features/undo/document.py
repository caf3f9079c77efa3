"""What an undo did, as data: a document whose keys `report/schemas` declares. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from reconciler.features.undo import Cannot, YamlLine
from reconciler.model import Outcome, RecordedRun, StateChange
from reconciler.report.documents import record, results_document, state_change_document
from reconciler.report.schemas import runs as run_types, types as t
from reconciler.report.schemas.documents import PrintedDocument


def undo_document(
    run: RecordedRun, outcome: Outcome, state_changes: Iterable[StateChange], cannot: Iterable[Cannot], lines: Iterable[YamlLine]
) -> run_types.UndoDocument:
    """`run`: the run that was undone. `state_changes`: the changes of the state. `cannot`: changes of that run that remain.

    `lines`: lines of the YAML that still declare them.
    """
    return {
        "format": "reconciler.undo/1",
        **results_document(outcome),
        "run": run.id,
        "state": [state_change_document(state_change) for state_change in state_changes],
        "cannot": [record(t.ReasonData, item) for item in cannot],
        "yaml": [record(run_types.LineData, line) for line in lines],
    }


DOCUMENTS: Final = (PrintedDocument("undo", "What an undo did", run_types.UndoDocument),)
