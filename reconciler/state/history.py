"""Reading the journal: which runs there were, and what each of them did.

In: a connection inside a transaction. Out: `RecordedRun` and `JournalEntry`. Forbidden: writing; deciding what can be undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from itertools import takewhile
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, or_, select

from reconciler.address import Address
from reconciler.model import JournalEntry, RecordedRun
from reconciler.state.tables.rows import INTENTS, intent_of
from reconciler.state.tables.schema import afters, approvals, journal, outcomes, runs, turns
from reconciler.state.tables.turns import count_turns
from reconciler.state.tables.values import damaged, from_json, mapping, recorded

DONE: Final = ("done", "recovered")

_LATEST: Final = (
    select(outcomes.c.intent, func.max(outcomes.c.id).label("id"))
    .where(outcomes.c.state == bindparam("of"))
    .group_by(outcomes.c.intent)
    .subquery()
)
_COUNTS: Final = (
    select(journal.c.run, journal.c.verb, outcomes.c.status, func.count().label("number"))
    .outerjoin(_LATEST, _LATEST.c.intent == journal.c.id)
    .outerjoin(outcomes, outcomes.c.id == _LATEST.c.id)
    .where(journal.c.state == bindparam("of"))
    .group_by(journal.c.run, journal.c.verb, outcomes.c.status)
    .order_by(func.min(journal.c.id))
)
_RUNS: Final = select(runs).where(runs.c.state == bindparam("of")).order_by(runs.c.started.desc(), runs.c.id)
_ENTRIES: Final = INTENTS.where(journal.c.state == bindparam("of"), journal.c.run == bindparam("run")).order_by(journal.c.id)
_OUTCOMES: Final = (
    select(outcomes, afters.c.value.label("after"))
    .join(journal, (journal.c.state == outcomes.c.state) & (journal.c.id == outcomes.c.intent))
    .outerjoin(afters, (afters.c.state == outcomes.c.state) & (afters.c.intent == outcomes.c.intent))
    .where(outcomes.c.state == bindparam("of"), journal.c.run == bindparam("run"))
    .order_by(outcomes.c.id)
)


def read_runs(connection: Connection, state: int) -> tuple[RecordedRun, ...]:
    """Every run of a state, newest first."""
    did: dict[str, dict[str, int]] = defaultdict(dict)
    undone: dict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.execute(_COUNTS, {"of": state}):
        counts, word = (did, row.verb) if row.status in DONE else (undone, row.status or "in-doubt")
        counts[row.run][word] = counts[row.run].get(word, 0) + row.number
    turned = count_turns(connection, state)
    return tuple(_run(row, did[row.id], undone[row.id], turned.get(row.id, {})) for row in connection.execute(_RUNS, {"of": state}))


def _run(row: Any, did: Mapping[str, int], undone: Mapping[str, int], turned: Mapping[str, int]) -> RecordedRun:
    try:
        ended = None if row.ended is None else datetime.fromisoformat(row.ended)
        changed = turned or ({} if did or undone else recorded(row.summary))
        return RecordedRun(row.id, row.who, row.command, datetime.fromisoformat(row.started), ended, row.exit_code, did, undone, changed)
    except (TypeError, ValueError) as error:
        raise damaged(f"the run {row.id!r}") from error


def read_undos(connection: Connection, state: int) -> tuple[str, ...]:
    """The runs of `undo` that did something after the last effective `apply`, newest first."""
    sent = select(journal.c.id).where(journal.c.state == runs.c.state, journal.c.run == runs.c.id).exists()
    changed = select(turns.c.id).where(turns.c.state == runs.c.state, turns.c.run == runs.c.id).exists()
    decided = or_(runs.c.command.startswith("undo"), runs.c.command.startswith("apply"))
    query = select(runs.c.id, runs.c.command).where(runs.c.state == state, decided, or_(sent, changed))
    with closing(connection.execute(query.order_by(runs.c.started.desc(), runs.c.id))) as cursor_result:
        return tuple(row.id for row in takewhile(lambda row: row.command.startswith("undo"), cursor_result))


def read_entries(connection: Connection, state: int, run: str) -> tuple[JournalEntry, ...]:
    """The journal of a run, in the order in which it was sent; a later run may have found out how a request ended."""
    latest = {row.intent: row for row in connection.execute(_OUTCOMES, {"of": state, "run": run})}
    lists: dict[str, frozenset[str]] = {}
    return tuple(_entry(row, latest.get(row.id), lists) for row in connection.execute(_ENTRIES, {"of": state, "run": run}))


def _entry(row: Any, outcome: Any, lists: dict[str, frozenset[str]]) -> JournalEntry:
    intent, at, what = intent_of(row, lists), datetime.fromisoformat(row.at), f"the outcome of intent {row.id}"
    if outcome is None:
        return JournalEntry(intent, at, "in-doubt")
    try:
        after = {} if outcome.after is None else from_json(outcome.after, what)
        return JournalEntry(
            intent,
            at,
            outcome.status,
            outcome.error,
            {Address.parse(address): id for address, id in from_json(outcome.bound, what).items()},
            tuple(Address.parse(address) for address in from_json(outcome.forgotten, what)),
            {Address.parse(address): seen for address, seen in after.items()},
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise damaged(what) from error


def read_users(connection: Connection, state: int, plan: str) -> tuple[RecordedRun, ...]:
    """The runs that carried out the saved plan with this digest, newest first."""
    wanted = select(approvals.c.run).where(approvals.c.state == bindparam("of"), approvals.c.digest == bindparam("digest"))
    ids = set(connection.execute(wanted, {"of": state, "digest": plan}).scalars())
    return tuple(run for run in read_runs(connection, state) if run.id in ids) if ids else ()


def read_ids(connection: Connection, state: int) -> frozenset[str]:
    """The ids of every object that any run acted on, created, tracked or stopped tracking."""
    targets = select(journal.c.target).where(journal.c.state == bindparam("of"), journal.c.target.is_not(None)).distinct()
    bound = select(outcomes.c.bound).where(outcomes.c.state == bindparam("of"), outcomes.c.bound != "{}")
    kept = select(turns.c.target).where(turns.c.state == bindparam("of")).distinct()
    found = {*connection.execute(targets, {"of": state}).scalars(), *connection.execute(kept, {"of": state}).scalars()}
    for text in connection.execute(bound, {"of": state}).scalars():
        found |= {id for id in mapping(text, "an outcome").values() if isinstance(id, str)}
    return frozenset(found)
