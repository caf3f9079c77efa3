"""Values of the model as texts of rows, and back: what every way of reading a state understands by its rows.

In: rows as tuples. Out: values; `StateError` where the database holds something else. Forbidden: connections, and the import of a library
for them, which takes longer than a small state takes to read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from sys import intern
from typing import Any, Final

from pydantic_core import from_json as shared

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import Binding, Guards, Origin, Rules, SiblingPlace
from reconciler.resource import UNSET

RESTORE: Final = "Restore it from a backup, or move it away and track existing objects with `reconciler adopt ADDRESS ID`."
NOT_MADE: Final = ("not-sent", "failed", "recovered")  # statuses of a create whose object may still appear
ENDED_WELL: Final = 0  # the exit code of a run that ended well
SENT_NOTHING: Final = (1, 3, 4, 6)  # exit codes
STATE_COMMANDS: Final = "state "  # beginnings of commands that change only the state
RUNS_READ: Final = 100  # how far back to look for a run that sent something
REMEMBERED: Final = timedelta(days=30)  # longer than any service restores what was deleted
SLACK: Final = timedelta(minutes=10)  # machines that share a state may differ in their clocks
RULES: Final = "the rules of the project"
RECORDED: Final = "record"  # what a run did that changed no binding but in the values of its fields
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)  # `json.dumps` makes a new one at each call


def to_json(value: Any, what: str) -> str:
    """Canonical JSON: sorted keys, compact, plain ASCII. Raises StateError for what JSON cannot say."""
    try:
        return _CANONICAL.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        wrong = f"{what} cannot be recorded: it is not plain JSON"
        raise StateError(wrong, id="RC-value-not-recorded", hint="This is a defect of Reconciler, please report it.") from error


def to_json_or_null(value: Any, what: str) -> str | None:
    """The same for a field: None for UNSET, which means that nothing is recorded."""
    return None if value is UNSET else to_json(value, what)


def from_json(text: str, what: str) -> Any:
    """The value; raises StateError naming `what` where the database holds something else."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise damaged(what) from error


def recorded(summary: str | None) -> dict[str, int]:
    """By what they are, the changes of the state of a run that only recorded values which the service had already."""
    number = mapping(summary, "the summary of a run").get("recorded") if summary else None
    return {RECORDED: number} if isinstance(number, int) else {}


def mapping(text: str, what: str) -> dict[str, Any]:
    """The object of JSON; raises StateError naming `what` where the database holds something else."""
    value = from_json(text, what)
    if not isinstance(value, dict):
        raise damaged(what)
    return value


def damaged(what: str) -> StateError:
    """The error for a row that this program did not write."""
    return StateError(f"the state is damaged: {what} cannot be read", id="RC-state-damaged", hint=RESTORE)


def bindings(bound: Iterable[Sequence[Any]], fields: Sequence[Sequence[Any]]) -> dict[Address, Binding]:
    """Every binding, in the order of addresses.

    `bound`: address, kind, id, origin, protected, parent and index of its place. `fields`: address, name, sent, seen.
    """
    differing = {row[0] for row in fields if row[2] != row[3]}
    sent = _fields(fields, 2, "sent")
    seen = {address: values for address, values in sent.items() if address not in differing}  # most are seen as they were sent
    seen |= _fields([row for row in fields if row[0] in differing], 3, "seen")
    unsorted = [_binding(row, sent.get(row[0], {}), seen.get(row[0], {})) for row in bound]
    return {binding.address: binding for binding in sorted(unsorted, key=lambda binding: binding.address.parts)}


def _fields(rows: Sequence[Any], column: int, word: str) -> dict[str, dict[str, Any]]:
    """The fields' values of one column by address and name."""
    present = [row for row in rows if row[column] is not None]
    values = _decoded([row[column] for row in present], lambda number: f"what was {word} as {present[number][1]!r} of {present[number][0]}")
    found: dict[str, dict[str, Any]] = {}
    for row, value in zip(present, values, strict=True):
        found.setdefault(row[0], {})[intern(row[1])] = value
    return found


def _decoded(texts: Sequence[Any], what: Callable[[int], str]) -> list[Any]:
    """The values of JSON texts; one call of the parser for all, because that is ten times faster.

    Short texts that several of them have, or the service's answers, are in memory once. `what`: names the broken one by its index, for
    StateError.
    """
    try:
        values: list[Any] = shared("[" + ",".join(texts) + "]", cache_strings="all")
    except (TypeError, ValueError, RecursionError):
        values = []
    if len(values) != len(texts):  # one of them is broken: find it
        return [from_json(text, what(number)) for number, text in enumerate(texts)]
    return values


def _binding(row: Sequence[Any], sent: Mapping[str, Any], seen: Mapping[str, Any]) -> Binding:
    address, kind, id, origin, protected, parent, index = row
    try:
        place = None if parent is None else SiblingPlace(parent, index)
        return Binding(Address.parse(address), kind, id, Origin(origin), sent, seen, bool(protected), place)
    except (TypeError, ValueError) as error:
        raise damaged(f"the binding {address!r}") from error


def remembered_since(now: datetime) -> str:
    """The time since which deletes are known."""
    return (now - REMEMBERED).isoformat()


def deleted(rows: Iterable[Sequence[Any]], tracked: Collection[Address]) -> dict[Address, tuple[str, str]]:
    """Kind and id of what was deleted, by its former address; without addresses that another object has now, or had since.

    `rows`: address, verb, kind and id of what was created and deleted, the oldest first.
    """
    found: dict[Address, tuple[str, str]] = {}
    for text, verb, kind, target in rows:
        try:
            address = Address.parse(text)
        except ValueError as error:
            raise damaged(f"an intent of {text}") from error
        found.pop(address, None)
        if verb == "delete" and target is not None and address not in tracked:
            found[address] = (kind, target)
    return found


def written_since(now: datetime, lag: timedelta) -> str:
    """The time since which writes may be missing from a list."""
    return (now - lag - SLACK).isoformat()


def recent(rows: Iterable[Sequence[Any]], lag: timedelta) -> dict[Address, datetime]:
    """By address, until when a list may not show what was written recently: the deadline of the latest write (service's clock) plus the
    lag.

    Objects deleted after their last write are left out: no list has to show them. `rows`: address, verb, deadline and tracked ids (JSON) of
    writes, the oldest first.
    """
    written = list(rows)
    tracked = _decoded([bound for *_, bound in written], lambda number: f"the latest outcome of {written[number][0]}")
    latest: dict[str, tuple[str, str]] = {}
    for (text, verb, deadline, _), addresses in zip(written, tracked, strict=True):
        if verb == "delete":
            latest.pop(text, None)
        elif isinstance(addresses, dict):
            for address in (text, *addresses):
                latest[address] = text, deadline
        else:
            raise damaged(f"the latest outcome of {text}")
    moments: dict[Address, datetime] = {}
    for address, (text, deadline) in latest.items():
        try:
            moments[Address.parse(address)] = datetime.fromisoformat(deadline) + lag
        except (TypeError, ValueError) as error:
            raise damaged(f"the latest outcome of {text}") from error
    return moments


def renames(rows: Iterable[Sequence[Any]]) -> dict[Address, Address]:
    """Today's address by the former one. `rows`: both as texts."""
    try:
        return {Address.parse(old): Address.parse(new) for old, new in rows}
    except (TypeError, ValueError) as error:
        raise damaged("the renames of the project") from error


def unfinished(codes: Iterable[int | None]) -> bool:
    """Whether the newest run that sent anything failed or did not end. `codes`: exit codes, the newest first, None for a run without an
    end."""
    return next((code for code in codes if code not in SENT_NOTHING), ENDED_WELL) != ENDED_WELL


def rules(text: str | None) -> Rules | None:
    """The rules of a row, None where there is none."""
    return None if text is None else rules_of(from_json(text, RULES))


def rules_of(value: Any) -> Rules:
    """The rules of a decoded row; raises StateError where it is broken."""
    try:
        guards, protect, access = Guards(**value["guards"]), frozenset(value["protect"]), frozenset(value.get("access", ()))
        policies, exceptions = dict(value.get("policies", {})), frozenset(value.get("exceptions", ()))
        return Rules(guards, value["prune"], protect, access, policies, exceptions, frozenset(value.get("ignored", ())))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise damaged(RULES) from error
