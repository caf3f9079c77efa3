"""A document of a whole state, checked, and written in place of another state.

In: what was read from a file; a connection inside a transaction that holds the lease. Out: rows in place of the former ones. Forbidden:
losing a request in doubt, or without consent a run; deciding which consent there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from reconciler.address import Address
from reconciler.errors import Refused, StateError, UsageError
from reconciler.model.state import StateScope
from reconciler.report.schemas import state as state_types
from reconciler.report.schemas.check import problem
from reconciler.state.tables import rows
from reconciler.state.tables.renames import write_renames
from reconciler.state.tables.rules import write_rules
from reconciler.state.tables.schema import (
    afters,
    approvals,
    befores,
    bindings,
    consents,
    fields,
    journal,
    known,
    open_intents,
    outcomes,
    renames,
    rules,
    runs,
    states,
    turns,
)
from reconciler.state.tables.values import rules_of, to_json
from reconciler.state.transfer.pull import JSON, columns

FORMAT: Final = "reconciler.state/1"
PUSH: Final = "state push"  # the command, as history has it

Document = Mapping[str, Any]


def checked(found: Any, scope: StateScope) -> Document:
    """The document, which is well formed and of this scope. Raises `UsageError`."""
    hint = "Create it with `reconciler state pull --out FILE`, and do not change it."
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise UsageError(f"it is not a state: its format is not {FORMAT}", id="RC-not-a-state", hint=hint)

    trouble = problem(state_types.StateDocument, found) or _loose(found)
    if trouble is not None:
        raise UsageError(f"the document of the state is damaged: {trouble}", id="RC-state-document-damaged", hint=hint)
    try:
        if found["rules"] is not None:
            rules_of(found["rules"])
    except StateError as error:
        raise UsageError(
            "the document of the state is damaged: the rules of the project cannot be read", id="RC-state-document-damaged", hint=hint
        ) from error
    of = StateScope(found["project"], found["environment"] or None, found["service"])
    if of != scope:
        wrong = f"it is the state of {_named(of)}, and this is {_named(scope)}"
        way = "Ids are only valid for one service and project. Push it with the project, environment and service that it names."
        raise UsageError(wrong, id="RC-state-of-another", hint=way)
    return found


def _named(scope: StateScope) -> str:
    return f"{scope.project}{f' in {scope.environment}' if scope.environment else ''} on {scope.service}"


def _loose(found: Document) -> str | None:
    """A sentence about an entry that is duplicated or refers to nothing; None where there is none."""
    run_ids = [one["id"] for one in found["runs"]]
    at = [one["address"] for one in found["bindings"]]
    objects = [(one["kind"], one["id"]) for one in found["bindings"]]
    requests, changed = [one["id"] for one in found["requests"]], [one["id"] for one in found["turns"]]
    former = [one["old"] for one in found.get("renames", ())]
    for name, listed in (
        ("renames", former),
        ("runs", run_ids),
        ("bindings", at),
        ("bindings", objects),
        ("requests", requests),
        ("turns", changed),
    ):
        if len(set(listed)) < len(listed):
            return f"{name}: an entry is duplicated"
    of_runs = [
        *found["requests"],
        *found["turns"],
        *found["approvals"],
        *(ended for request in found["requests"] for ended in request["outcomes"]),
    ]
    if missing := {entry["run"] for entry in of_runs} - set(run_ids):
        return f"runs: no run has the id {min(missing)!r}"
    if missing := {request["known"] for request in found["requests"]} - set(found["known"]):
        return f"known: no list is called {min(missing)}"
    if any(rows.known_row(frozenset(ids), "a list")[0] != digest for digest, ids in found["known"].items()):
        return "known: a list has another digest"
    return None


def refuse(connection: Connection, state: int, found: Document, *, by: str, force: bool) -> None:
    """Raise `Refused` where the existing state contains something that the document would lose. `by`: the run that asks."""
    there = connection.execute(select(states.c.lineage, states.c.serial).where(states.c.id == state)).one()
    intents = {(request["run"], request["id"]) for request in found["requests"]}
    waiting = (
        select(journal.c.run, journal.c.id, journal.c.address)
        .join(open_intents, (open_intents.c.state == journal.c.state) & (open_intents.c.intent == journal.c.id))
        .where(journal.c.state == state)
    )
    lost = next((row.address for row in connection.execute(waiting) if (row.run, row.id) not in intents), None)
    if lost is not None:
        forget = f"reconciler state forget {quote(lost)} --in-doubt"
        hint = f"Run `reconciler apply` there first, which finds out what happened to it; or `{forget}`."
        raise Refused(f"a request of {lost} is in doubt in the existing state, and would be lost", id="RC-in-doubt", hint=hint)
    if force or not _used(connection, state, by):
        return
    way = "To overwrite the existing state, first back it up with state pull, then push with --force."
    if there.lineage != found["lineage"]:
        wrong = f"another state already exists: its lineage is {there.lineage}, the document's {found['lineage']}"
        raise Refused(wrong, id="RC-another-lineage", hint=way)
    if there.serial > found["serial"]:
        wrong = f"the existing state is newer: its serial is {there.serial}, the document's {found['serial']}"
        raise Refused(wrong, id="RC-state-changed-since", hint=way)
    alone = _active(connection, state) - {one["id"] for one in found["runs"]}
    if alone:
        raise Refused(
            f"run {min(alone)} changed the existing state, and the document does not contain it", id="RC-state-changed-since", hint=way
        )


def _used(connection: Connection, state: int, by: str) -> bool:
    """Whether there is anything but the run that asks."""
    ran = select(func.count()).select_from(runs).where(runs.c.state == state, runs.c.id != by, runs.c.command != PUSH)
    bound = select(func.count()).select_from(bindings).where(bindings.c.state == state)
    return bool(connection.execute(ran).scalar_one() or connection.execute(bound).scalar_one())


def _active(connection: Connection, state: int) -> set[str]:
    """The runs that sent something or changed a binding."""
    found: Iterable[Any] = (select(table.c.run).where(table.c.state == state).distinct() for table in (journal, turns))
    return {run for one in found for run in connection.execute(one).scalars()}


def replace(connection: Connection, state: int, found: Document, *, by: str, force: bool) -> None:
    """Replace the state's rows by the document. The run that does it is kept, and so are the lease and the key of digests.

    A document does not contain what runs were allowed to open: a run that is continued from another state asks again.
    """
    refuse(connection, state, found, by=by, force=force)
    there = connection.execute(select(states.c.lineage, states.c.serial).where(states.c.id == state)).one()
    ours = [one["id"] for one in found["runs"]]
    for some in rows.chunks(ours):
        if connection.execute(select(runs.c.id).where(runs.c.id.in_(some), runs.c.state != state)).first() is not None:
            wrong = "a run of the document belongs to another state of that database"
            raise Refused(wrong, id="RC-run-of-another-state", hint="It was pushed there under another name.")
    for table in (consents, approvals, afters, befores, open_intents, outcomes, turns, journal, known, rules, renames, fields, bindings):
        connection.execute(delete(table).where(table.c.state == state))
    connection.execute(delete(runs).where(runs.c.state == state, runs.c.id != by))
    serial = max(found["serial"], there.serial + 1) if force and there.lineage == found["lineage"] else found["serial"]
    connection.execute(update(states).where(states.c.id == state).values(lineage=found["lineage"], serial=serial, writer=None))
    _write(connection, state, found, by)


def _write(connection: Connection, state: int, found: Document, by: str) -> None:
    requests = found["requests"]
    _insert(connection, bindings, (_binding(state, one) for one in found["bindings"]))
    _insert(connection, fields, (row for one in found["bindings"] for row in _fields(state, one)))
    if found["rules"] is not None:
        write_rules(connection, state, rules_of(found["rules"]))
    write_renames(connection, state, {Address.parse(one["old"]): Address.parse(one["new"]) for one in found.get("renames", ())})
    _insert(connection, runs, (_row(state, one, columns(state_types.StoredRunData, runs)) for one in found["runs"] if one["id"] != by))
    _insert(connection, known, ({"state": state, "digest": digest, "ids": _json(ids)} for digest, ids in found["known"].items()))
    _insert(connection, journal, (_row(state, request, columns(state_types.StoredRequestData, journal)) for request in requests))
    ended = ((request["id"], outcome) for request in requests for outcome in request["outcomes"])
    _insert(
        connection,
        outcomes,
        ({"intent": intent, **_row(state, each, columns(state_types.StoredOutcomeData, outcomes))} for intent, each in ended),
    )
    _insert(connection, open_intents, ({"state": state, "intent": request["id"]} for request in requests if request["open"]))
    for table, word in ((befores, "before"), (afters, "after")):
        values = ((request["id"], request[word]) for request in requests if request[word] is not None)
        _insert(connection, table, ({"state": state, "intent": intent, "value": _json(value)} for intent, value in values))
    _insert(connection, turns, (_row(state, one, columns(state_types.StoredTurnData, turns)) for one in found["turns"]))
    _insert(connection, approvals, (_row(state, one, columns(state_types.ApprovalData, approvals)) for one in found["approvals"]))


def _insert(connection: Connection, table: Table, listed: Iterable[dict[str, Any]]) -> None:
    for some in rows.chunks(listed):
        connection.execute(insert(table), some)


def _json(value: Any) -> str:
    return to_json(value, "the document")


def _row(state: int, part: Document, names: Mapping[str, str]) -> dict[str, Any]:
    values = {column: _json(part[name]) if name in JSON and part[name] is not None else part[name] for name, column in names.items()}
    return {"state": state, **values}


def _binding(state: int, one: Document) -> dict[str, Any]:
    place = one["place"] or {"parent": None, "index": None}
    plain = {name: one[name] for name in ("address", "kind", "id", "origin", "protected")}
    return {"state": state, **plain, "place_parent": place["parent"], "place_index": place["index"]}


def _fields(state: int, one: Document) -> Iterable[dict[str, Any]]:
    for name, pair in one["fields"].items():
        texts = {word: _json(pair[word]) if word in pair else None for word in ("sent", "seen")}
        yield {"state": state, "address": one["address"], "name": name, **texts}
