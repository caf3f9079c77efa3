"""The result of an undo as data: the document `reconciler.undo/1`."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.model import Outcome, RecordedRun, StateChange
from reconciler.report.documents import results_document, source_data
from reconciler.report.schemas.runs import UndoDocument
from reconciler.report.state import turn_document
from reconciler.undo import Cannot, YamlLine


def undo_document(
    run: RecordedRun, outcome: Outcome, turns: Iterable[StateChange], cannot: Iterable[Cannot], lines: Iterable[YamlLine]
) -> UndoDocument:
    """`run`: the run that was undone. `turns`: the changes of the state. `cannot`: changes of that run that remain.

    `lines`: lines of the YAML that still declare them.
    """
    return {
        "format": "reconciler.undo/1",
        **results_document(outcome),
        "run": run.id,
        "state": [turn_document(turn) for turn in turns],
        "cannot": [{"address": str(item.address), "reason": item.reason} for item in cannot],
        "yaml": [{"address": str(line.address), "source": source_data(line.source), "what": line.what} for line in lines],
    }
