"""Runs and what they did, as sheets and as data: `history` and `show`. Pure; no value of a sensitive field is in them.

`names`: the addresses by id, so that people read addresses instead of ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import groupby
from typing import Any, Final

from reconciler.address import bare
from reconciler.model import JournalEntry, RecordedRun, StateChange, renamed_with_containers
from reconciler.plan.changes import Names, named, the_objects
from reconciler.report.documents import record as record_of, state_change_document
from reconciler.report.layout import Style
from reconciler.report.schemas import runs as run_types
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine, SheetTable, TableCell, TableGroup
from reconciler.report.words import HIDDEN, count, data, difference_lines, shown
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds
from reconciler.text.names import clock_time, utc_text

ID_SHOWN: Final = 8  # characters of a run's id, as git shows them; more if two have the same beginning
NOTHING: Final = "no request"
HEADER: Final = ("run", "started", "who", "command", "ended", "what it did")


@dataclass(frozen=True)
class RunRecord:
    """A run, its requests, and its changes of the state without a request."""

    run: RecordedRun
    entries: Sequence[JournalEntry]
    state_changes: Sequence[StateChange]


def history_document(runs: Sequence[RecordedRun]) -> run_types.HistoryDocument:
    """Every run, newest first."""
    return {"format": "reconciler.history/1", "runs": [_run(run) for run in runs]}


def run_document(record: RunRecord, kinds: Kinds, names: Names) -> run_types.RunDocument:
    """One run with all its requests, and its changes of the state without a request."""
    steps = [_step(entry, kinds, names) for entry in record.entries]
    state = [state_change_document(state_change) for state_change in record.state_changes]
    return {"format": "reconciler.run/1", **_run(record.run), "state": state, "steps": steps}  # type: ignore[typeddict-item]  # no environment


def _run(run: RecordedRun) -> run_types.RunData:
    ended = None if run.ended is None else utc_text(run.ended)
    return record_of(run_types.RunData, run, started=utc_text(run.started), ended=ended, exit=run.exit_code)


def _step(entry: JournalEntry, kinds: Kinds, names: Names) -> run_types.SentData:
    intent = entry.intent
    kept = _kept(entry, kinds.get(intent.kind), names)
    fields: list[run_types.SentFieldData] = []
    for name, before, after in _fields(entry, kinds.get(intent.kind), names):
        field: run_types.SentFieldData = {"name": name, "before": data(before), "after": data(after)}
        fields.append({**field, "kept": data(kept[name])} if name in kept else field)
    return {
        "id": intent.step,
        "address": str(intent.address),
        "kind": intent.kind,
        "verb": intent.verb,
        "method": intent.method,
        "path": f"/v1{intent.path}",
        "at": utc_text(entry.at),
        "status": entry.status,
        "error": entry.error,
        "object": _object(entry),
        "fields": fields,
    }


def _object(entry: JournalEntry) -> str | None:
    """The id of the object that the request changed or created; None if unknown."""
    id = entry.bound.get(entry.intent.address) or (entry.intent.target if entry.intent.verb != "create" else None)
    return bare(id) if id is not None else None


def _fields(entry: JournalEntry, kind: Kind | None, names: Names) -> list[tuple[str, Any, Any]]:
    """The fields that the request carried, before and after; no values for a kind that this program does not know."""
    before, writes = entry.intent.before.values, entry.intent.writes
    # A delete carries no fields: its body is not a value of one.
    if entry.intent.verb == "delete":
        writes = {}

    def shown(field: Field, value: Any) -> Any:
        return UNSET if value is UNSET else named(field.shown(value), names, entry.intent.address)

    lines = []
    for name in dict.fromkeys((*writes, *before)):
        field = kind.fields.get(name) if kind is not None else None
        # A newer version may have written fields that this one does not know; they could be secrets.
        if field is None or field.sensitive:
            lines.append((name, HIDDEN, HIDDEN))
        else:
            lines.append((name, shown(field, before.get(name, UNSET)), shown(field, writes.get(name, UNSET))))
    return lines


def _kept(entry: JournalEntry, kind: Kind | None, names: Names) -> dict[str, Any]:
    """The values that the service stored differently from what it was sent, by field, as it showed them."""
    seen = entry.after.get(entry.intent.address, {}) if entry.done and entry.intent.verb != "delete" else {}
    fields = {} if kind is None else {name: kind.fields[name] for name in entry.intent.writes if name in kind.fields}
    return {
        name: named(field.shown(seen[name]), names, entry.intent.address)
        for name, field in fields.items()
        if name in seen and not field.sensitive and field.role is not FieldRole.CHOICE and seen[name] != entry.intent.writes[name]
    }


def history_sheet(runs: Sequence[RecordedRun], environment: str | None, zone: tzinfo | None = UTC) -> Sheet:
    """A table with a row for each run: its id and time, who ran what, its end and its actions."""
    length = shortest(runs)
    rows = [(run.id[:length], clock_time(run.started, zone), run.who, run.command, _ending(run), did(run)) for run in runs]
    group = TableGroup("", [[[TableCell(text)] for text in row] for row in rows])
    return Sheet("history", "", environment, "", tables=[SheetTable("Runs", HEADER, [group])])


def run_sheet(record: RunRecord, kinds: Kinds, names: Names, environment: str | None = None, zone: tzinfo | None = UTC) -> Sheet:
    """One run, its changes of the state, then its requests by address."""
    run = record.run
    what = SheetLine(Style.PLAIN, " ", run.command, f"{did(run)}; {_ending(run)}", run.who)
    parts = [SheetEntry(run.id, clock_time(run.started, zone), [what])]
    changed = []
    for state_change, contents in _with_contents(record.state_changes):
        was = f", was {state_change.old}{contents}" if state_change.old is not None else ""
        note = f"{bare(state_change.id)}{was}"
        changed.append(SheetLine(Style.PLAIN, " ", state_change.what.value, str(state_change.address), note))
    parts += [SheetEntry("in the state, without a request", "", changed)] if changed else []
    for address, group in groupby(record.entries, key=lambda entry: entry.intent.address):
        lines = [line for entry in group for line in _sent(entry, kinds.get(entry.intent.kind), names)]
        parts.append(SheetEntry(str(address), "", lines))
    return Sheet("run", "", environment, "", parts)


def state_change_lines(state_changes: Collection[StateChange]) -> Iterator[str]:
    """`forget acme/team/writers (team_9f2)`; what is renamed with its container has no line of its own."""
    for state_change, contents in _with_contents(state_changes):
        old = "" if state_change.old is None else f"{state_change.old} to "
        yield f"{state_change.what.value} {old}{state_change.address} ({bare(state_change.id)}){contents}"


def _with_contents(state_changes: Collection[StateChange]) -> Iterator[tuple[StateChange, str]]:
    """The changes without those that only follow the rename of their container; its own says how many these are."""
    followers = renamed_with_containers({change.old: change.address for change in state_changes if change.old is not None})
    numbers = Counter(followers.values())
    for change in state_changes:
        if change.old not in followers:
            number = numbers[change.old] if change.old is not None else 0
            yield change, f", with {the_objects(number)} in it" if number else ""


def shortest(runs: Sequence[RecordedRun]) -> int:
    """How many characters distinguish the ids of these runs, at least the usual number."""
    length = ID_SHOWN
    while length < max((len(run.id) for run in runs), default=0) and len({run.id[:length] for run in runs}) < len(runs):
        length += 1
    return length


def did(run: RecordedRun) -> str:
    """`9 create, 3 adopt, by 11 requests`: what it did to how many objects, as its plan counted them."""
    requests = sum(run.did.values())
    numbers = run.changed or run.did
    parts = [f"{number:,} {word}" for word, number in numbers.items()]
    parts += [f"by {count(requests, 'request')}"] if requests != sum(numbers.values()) else []
    parts += [f"{number:,} {word}" for word, number in run.undone.items()]
    kept = ", ".join(f"{number:,} {word}" for word, number in run.turned.items() if word not in run.changed)
    return "; ".join([", ".join(parts) or NOTHING, *([f"in the state {kept}"] if kept else [])])


def _ending(run: RecordedRun) -> str:
    """`exit 0`, `running` or `killed`."""
    return run.status.value if run.exit_code is None else f"exit {run.exit_code}"


def _sent(entry: JournalEntry, kind: Kind | None, names: Names) -> Iterator[SheetLine]:
    """A request, and below it the fields that it carried."""
    style = Style.PLAIN if entry.done else Style.BLOCKED
    ended = entry.status if entry.error is None else f"{entry.status}: {entry.error}"
    yield SheetLine(style, " " if entry.done else "!", entry.intent.verb, _object(entry) or "", ended)
    kept = _kept(entry, kind, names)
    for name, before, after in _fields(entry, kind, names):
        if HIDDEN in (before, after):
            lines = [(name, HIDDEN)]
        elif entry.intent.verb == "create":
            lines = [(name, shown(after))]
        elif entry.intent.verb == "delete":
            lines = [(name, shown(before))]
        else:
            lines = difference_lines(name, before, after)
        note = f"the service keeps {shown(kept[name])}" if name in kept else ""
        yield from (SheetLine(Style.DIM, " ", f"  {path}", value, note) for path, value in lines)
    position = entry.intent.before.position
    if position is not None:
        where = "first" if position.previous is None else f"after {position.previous}"
        yield SheetLine(Style.DIM, " ", "  place", f"was {where} in {position.parent}")
