"""What an undo did, as data: the document `reconciler.undo/1`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from reconciler.address import Address
from reconciler.model import Outcome, Run, Source, Turn
from reconciler.report.documents import results_document
from reconciler.report.state_changes import turn_document

UNDO_FORMAT: Final = "reconciler.undo/1"


class Staying(Protocol):
    """Something that could not be taken back."""

    @property
    def address(self) -> Address: ...
    @property
    def reason(self) -> str: ...


class Wanting(Protocol):
    """A place in the YAML that wants the run again; `source` is None where a line is missing."""

    @property
    def address(self) -> Address: ...
    @property
    def source(self) -> Source | None: ...
    @property
    def what(self) -> str: ...


def undo_document(run: Run, outcome: Outcome, turns: Iterable[Turn], cannot: Iterable[Staying], lines: Iterable[Wanting]) -> dict[str, Any]:
    """`run`: the one that was undone. `turns`: what changed of the state. `cannot`: what stays as that run left it.

    `yaml`: what still wants it again.
    """
    return {
        "format": UNDO_FORMAT,
        **results_document(outcome),
        "run": run.id,
        "state": [turn_document(turn) for turn in turns],
        "cannot": [{"address": str(one.address), "reason": one.reason} for one in cannot],
        "yaml": [
            {
                "address": str(line.address),
                "source": None if line.source is None else {"file": line.source.file, "line": line.source.line},
                "what": line.what,
            }
            for line in lines
        ],
    }
