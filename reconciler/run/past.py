"""Find a past run by its id, the beginning of its id, or `last`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reconciler.errors import UsageError
from reconciler.model import RecordedRun
from reconciler.report.history import did, shortest
from reconciler.text.names import HERE, clock_time

LAST: Final = "last"
LISTED: Final = 5  # runs that are named where the one that was asked for is not known


def find_run(runs: Sequence[RecordedRun], text: str) -> RecordedRun:
    """The run that `text` names; `last` is the newest that did anything. `runs`: newest first. Raises `UsageError`."""
    if text == LAST:
        candidates = [run for run in runs if run.anything][:1]
    else:
        candidates = [run for run in runs if run.id == text] or [run for run in runs if text and run.id.startswith(text)]
    if len(candidates) > 1:
        listing = ", ".join(run.id[: shortest(candidates)] for run in candidates[:5]) + (" …" if len(candidates) > 5 else "")
        raise UsageError(
            f"{len(candidates)} runs begin with {text}: {listing}", id="RC-run-ambiguous", hint="Use more characters of the id."
        )
    if not candidates:
        raise UsageError(
            "no run has done anything yet" if text == LAST else f"run {text} does not exist", id="RC-no-such-run", hint=_known(runs)
        )
    return candidates[0]


def _known(runs: Sequence[RecordedRun]) -> str:
    """The newest runs that did anything, to choose from."""
    length, listed = shortest(runs), [run for run in runs if run.anything]
    lines = [f"{run.id[:length]}  {clock_time(run.started, HERE)}  {run.command}: {did(run)}" for run in listed[:LISTED]]
    if not lines:
        return "No run of this project has done anything yet." if runs else "Nothing has run yet."
    more = f"\nand {len(listed) - LISTED:,} more: reconciler history lists them." if len(listed) > LISTED else ""
    return "These runs did something, newest first:\n" + "\n".join(lines) + more
