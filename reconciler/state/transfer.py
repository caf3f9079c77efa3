"""A whole state as one document that is pulled and pushed, or moved to another project name or environment.

In: a connection inside a transaction, which holds the leases of what is written; what was read from a file. Out: the document that
`reconciler.report.schemas.state` defines; rows in place of the former ones. The key of digests is secret, and is in no document. Forbidden:
losing a tracked resource, a request in doubt, or without consent a run; deciding which consent there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any, Final, TypeVar, cast

from reconciler.address import Address
from reconciler.errors import Refused, StateError, UsageError
from reconciler.model.state import StateScope
from reconciler.report.schemas import state as state_types
from reconciler.report.schemas.documents import problem
from reconciler.state.connection import Connection
from reconciler.state.history import PUSH
from reconciler.state.tables.rows import known_row, rules_of, write_renames, write_rules
from reconciler.state.tables.schema import TABLES, insert
from reconciler.state.tables.values import from_json, to_json

Part = TypeVar("Part")
JSON = frozenset({"writes", "brings", "lookup", "bound", "forgotten", "summary", "pages"})
"""Columns that hold JSON."""

COLUMNS = {"exit": "exit_code", "object": "target"}
"""Columns that have another name than the key of the document."""


def columns(part: Any, table: str) -> dict[str, str]:
    """The columns of a table that hold a part of the document, by the keys of its definition."""
    return {name: column for name in part.__annotations__ if (column := COLUMNS.get(name, name)) in TABLES[table]}


def pulled(connection: Connection, state: int) -> state_types.StateDocument:
    """The whole of that state. Raises StateError where a value in it is broken."""
    row = connection.row("SELECT * FROM states WHERE id = :state", state=state)
    remembered = connection.value("SELECT value FROM rules WHERE state = :state", state=state)
    document: state_types.StateDocument = {
        "format": "reconciler.state/1",
        "project": row.project,
        "environment": row.environment or None,
        "service": row.service,
        "lineage": row.lineage,
        "serial": row.serial,
        "bindings": _bindings(connection, state),
        "rules": None if remembered is None else from_json(remembered, "the rules of the project"),
        "runs": _parts(state_types.StoredRunData, connection, "runs", state, "started", "id"),
        "known": {row.digest: from_json(row.ids, "a list of ids") for row in _rows(connection, "known", state, "digest")},
        "requests": _requests(connection, state),
        "turns": _parts(state_types.StoredTurnData, connection, "turns", state, "id"),
        "renames": [{"old": row.old, "new": row.new} for row in _rows(connection, "renames", state, "old")],
        "approvals": _parts(state_types.ApprovalData, connection, "approvals", state, "run"),
    }
    if trees := _parts(state_types.StoredTreeData, connection, "page_trees", state, "kind", "id"):
        document["trees"] = trees
    if urls := _parts(state_types.StoredUrlData, connection, "urls", state, "url", "number"):
        document["urls"] = urls
    if sites := _parts(state_types.UrlSiteData, connection, "url_sites", state, "site"):
        document["urlSites"] = sites
    return document


def _rows(connection: Connection, table: str, state: int, *order: str) -> list[Any]:
    return connection.rows(f"SELECT * FROM {table} WHERE state = :state ORDER BY {', '.join(order)}", state=state)


def _parts(part: type[Part], connection: Connection, table: str, state: int, *order: str) -> list[Part]:
    names = columns(part, table)
    return [cast(Part, _part(row, names)) for row in _rows(connection, table, state, *order)]


def _part(row: Any, names: Mapping[str, str]) -> Any:
    values = {name: getattr(row, column) for name, column in names.items()}
    return {name: from_json(value, name) if name in JSON and value is not None else value for name, value in values.items()}


def _bindings(connection: Connection, state: int) -> list[state_types.BindingData]:
    remembered: dict[str, dict[str, state_types.MemoryData]] = defaultdict(dict)
    for row in _rows(connection, "fields", state, "address", "name"):
        texts = {"sent": row.sent, "seen": row.seen}
        values = {
            word: from_json(text, f"what was {word} as {row.name!r} of {row.address}") for word, text in texts.items() if text is not None
        }
        remembered[row.address][row.name] = cast(state_types.MemoryData, values)
    return [
        {
            "address": row.address,
            "kind": row.kind,
            "id": row.id,
            "origin": row.origin,
            "protected": bool(row.protected),
            "place": None if row.place_parent is None else {"parent": row.place_parent, "index": row.place_index},
            "fields": remembered[row.address],
        }
        for row in _rows(connection, "bindings", state, "address")
    ]


def _requests(connection: Connection, state: int) -> list[state_types.StoredRequestData]:
    met = {row.intent: from_json(row.value, "what a request met") for row in _rows(connection, "befores", state, "intent")}
    seen = {row.intent: from_json(row.value, "what was seen after a request") for row in _rows(connection, "afters", state, "intent")}
    waiting = {row.intent for row in _rows(connection, "open_intents", state, "intent")}
    ended: dict[int, list[state_types.StoredOutcomeData]] = defaultdict(list)
    names = columns(state_types.StoredOutcomeData, "outcomes")
    for row in _rows(connection, "outcomes", state, "id"):
        ended[row.intent].append(_part(row, names))
    return [
        {
            **request,
            "before": met.get(request["id"]),
            "after": seen.get(request["id"]),
            "open": request["id"] in waiting,
            "outcomes": ended[request["id"]],
        }
        for request in _parts(state_types.StoredRequestData, connection, "journal", state, "id")
    ]


# -- push --------------------------------------------------------------------------------------------------------------------

# The requests of a state whose outcome is unknown, oldest first.
IN_DOUBT: Final = (
    "SELECT journal.run, journal.id, journal.address FROM journal"
    " JOIN open_intents ON open_intents.state = journal.state AND open_intents.intent = journal.id"
    " WHERE journal.state = :state ORDER BY journal.id"
)
FORMAT: Final = "reconciler.state/1"

Document = Mapping[str, Any]


def checked(document: Any, scope: StateScope) -> Document:
    """The document, which is well formed and of this scope. Raises `UsageError`."""
    hint = "Create it with `reconciler state pull --out FILE`, and do not change it."
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"it is not a state: its format is not {FORMAT}", id="RC-not-a-state", hint=hint)

    trouble = problem(state_types.StateDocument, document) or _loose(document)
    if trouble is not None:
        raise UsageError(f"the document of the state is damaged: {trouble}", id="RC-state-document-damaged", hint=hint)
    try:
        if document["rules"] is not None:
            rules_of(document["rules"])
    except StateError as error:
        raise UsageError(
            "the document of the state is damaged: the rules of the project cannot be read", id="RC-state-document-damaged", hint=hint
        ) from error
    of = StateScope(document["project"], document["environment"] or None, document["service"])
    if of != scope:
        wrong = f"it is the state of {_described(of)}, and this is {_described(scope)}"
        way = "Ids are only valid for one service and project. Push it with the project, environment and service that it names."
        raise UsageError(wrong, id="RC-state-of-another", hint=way)
    return document


def _described(scope: StateScope) -> str:
    return f"{scope.project}{f' in {scope.environment}' if scope.environment else ''} on {scope.service}"


def _loose(document: Document) -> str | None:
    """A sentence about an entry that is duplicated or refers to nothing; None where there is none."""
    run_ids = [run["id"] for run in document["runs"]]
    addresses = [binding["address"] for binding in document["bindings"]]
    objects = [(binding["kind"], binding["id"]) for binding in document["bindings"]]
    requests, turns = [request["id"] for request in document["requests"]], [turn["id"] for turn in document["turns"]]
    former = [rename["old"] for rename in document.get("renames", ())]
    trees = [(tree["kind"], tree["id"]) for tree in document.get("trees", ())]
    for name, keys in (
        ("renames", former),
        ("runs", run_ids),
        ("bindings", addresses),
        ("bindings", objects),
        ("requests", requests),
        ("turns", turns),
        ("trees", trees),
        ("urls", [(url["url"], url["number"]) for url in document.get("urls", ())]),
        ("urlSites", [site["site"] for site in document.get("urlSites", ())]),
    ):
        if len(set(keys)) < len(keys):
            return f"{name}: an entry is duplicated"
    of_runs = [
        *document["requests"],
        *document["turns"],
        *document["approvals"],
        *(ended for request in document["requests"] for ended in request["outcomes"]),
    ]
    if missing := {entry["run"] for entry in of_runs} - set(run_ids):
        return f"runs: no run has the id {min(missing)!r}"
    if missing := {request["known"] for request in document["requests"]} - set(document["known"]):
        return f"known: no list is called {min(missing)}"
    if any(known_row(frozenset(ids), "a list")[0] != digest for digest, ids in document["known"].items()):
        return "known: a list has another digest"
    return None


def _refuse_push(connection: Connection, state: int, document: Document, *, by: str, force: bool) -> None:
    """Raise `Refused` where the existing state contains something that the document would lose. `by`: the run that asks."""
    existing = connection.row("SELECT lineage, serial FROM states WHERE id = :state", state=state)
    intents = {(request["run"], request["id"]) for request in document["requests"]}
    lost = next((row.address for row in connection.rows(IN_DOUBT, state=state) if (row.run, row.id) not in intents), None)
    if lost is not None:
        forget = f"reconciler state forget {quote(lost)} --in-doubt"
        hint = f"Run `reconciler apply` there first, which finds out what happened to it; or `{forget}`."
        raise Refused(f"a request of {lost} is in doubt in the existing state, and would be lost", id="RC-in-doubt", hint=hint)
    if force or not _used(connection, state, by):
        return
    way = "To overwrite the existing state, first back it up with state pull, then push with --force."
    if existing.lineage != document["lineage"]:
        wrong = f"another state already exists: its lineage is {existing.lineage}, the document's {document['lineage']}"
        raise Refused(wrong, id="RC-another-lineage", hint=way)
    if existing.serial > document["serial"]:
        wrong = f"the existing state is newer: its serial is {existing.serial}, the document's {document['serial']}"
        raise Refused(wrong, id="RC-state-changed-since", hint=way)
    alone = _runs(connection, state, by) - {run["id"] for run in document["runs"]}
    if alone:
        raise Refused(
            f"run {min(alone)} is recorded in the existing state, and the document does not contain it",
            id="RC-state-changed-since",
            hint=way,
        )


def _used(connection: Connection, state: int, by: str) -> bool:
    """Whether there is anything but the run that asks."""
    ran = "SELECT 1 FROM runs WHERE state = :state AND id <> :by AND command <> :push LIMIT 1"
    tracks = "SELECT 1 FROM bindings WHERE state = :state LIMIT 1"
    return connection.row(ran, state=state, by=by, push=PUSH) is not None or connection.row(tracks, state=state) is not None


def _runs(connection: Connection, state: int, by: str) -> set[str]:
    """The runs but those that pushed a document, and the one that asks."""
    query = "SELECT id FROM runs WHERE state = :state AND id <> :by AND command <> :push"
    return {row.id for row in connection.rows(query, state=state, by=by, push=PUSH)}


def _clear(connection: Connection, state: int) -> None:
    """Delete everything of a state but its name, its lease and its runs."""
    # Backwards, because a table refers only to tables above it, and the foreign keys are checked at once.
    for table in reversed(TABLES):
        if "state" in TABLES[table] and table not in ("leases", "runs"):
            connection.run(f"DELETE FROM {table} WHERE state = :state", state=state)


def replace_state(connection: Connection, state: int, document: Document, *, by: str, force: bool) -> None:
    """Replace the state's rows by the document. The run that does it is kept, and so are the lease and the key of digests.

    A document does not contain what runs were allowed to open: a run that is continued from another state asks again.
    """
    _refuse_push(connection, state, document, by=by, force=force)
    existing = connection.row("SELECT lineage, serial FROM states WHERE id = :state", state=state)
    other = "SELECT id FROM runs WHERE id IN :ids AND state <> :state"
    if connection.row(other, ids=[run["id"] for run in document["runs"]], state=state) is not None:
        wrong = "a run of the document belongs to another state of that database"
        raise Refused(wrong, id="RC-run-of-another-state", hint="It was pushed there under another name.")
    _clear(connection, state)
    connection.run("DELETE FROM runs WHERE state = :state AND id <> :by", state=state, by=by)
    serial = max(document["serial"], existing.serial + 1) if force and existing.lineage == document["lineage"] else document["serial"]
    named = "UPDATE states SET lineage = :lineage, serial = :serial, writer = NULL WHERE id = :state"
    connection.run(named, lineage=document["lineage"], serial=serial, state=state)
    _write(connection, state, document, by)


def _write(connection: Connection, state: int, document: Document, by: str) -> None:
    def add(table: str, rows: Iterable[dict[str, Any]], *without: str) -> None:
        connection.run_all(insert(table, *without), [*rows])

    requests = document["requests"]
    add("bindings", (_binding(state, binding) for binding in document["bindings"]))
    add("fields", (row for binding in document["bindings"] for row in _fields(state, binding)))
    if document["rules"] is not None:
        write_rules(connection, state, rules_of(document["rules"]))
    renames = {Address.parse(rename["old"]): Address.parse(rename["new"]) for rename in document.get("renames", ())}
    write_renames(connection, state, renames)
    add("runs", (_row(state, run, columns(state_types.StoredRunData, "runs")) for run in document["runs"] if run["id"] != by))
    add("known", ({"state": state, "digest": digest, "ids": _json(ids)} for digest, ids in document["known"].items()))
    add("journal", (_row(state, request, columns(state_types.StoredRequestData, "journal")) for request in requests))
    names = columns(state_types.StoredOutcomeData, "outcomes")
    ended = ((request["id"], outcome) for request in requests for outcome in request["outcomes"])
    add("outcomes", ({"intent": intent, **_row(state, outcome, names)} for intent, outcome in ended), "id")
    add("open_intents", ({"state": state, "intent": request["id"]} for request in requests if request["open"]))
    for table, key in (("befores", "before"), ("afters", "after")):
        values = ((request["id"], request[key]) for request in requests if request[key] is not None)
        add(table, ({"state": state, "intent": intent, "value": _json(value)} for intent, value in values))
    add("turns", (_row(state, turn, columns(state_types.StoredTurnData, "turns")) for turn in document["turns"]))
    add("urls", (_row(state, url, columns(state_types.StoredUrlData, "urls")) for url in document.get("urls", ())))
    add("url_sites", (_row(state, site, columns(state_types.UrlSiteData, "url_sites")) for site in document.get("urlSites", ())))
    add("page_trees", (_row(state, tree, columns(state_types.StoredTreeData, "page_trees")) for tree in document.get("trees", ())))
    add("approvals", (_row(state, approval, columns(state_types.ApprovalData, "approvals")) for approval in document["approvals"]))


def _json(value: Any) -> str:
    return to_json(value, "the document")


def _row(state: int, part: Document, names: Mapping[str, str]) -> dict[str, Any]:
    values = {column: _json(part[name]) if name in JSON and part[name] is not None else part[name] for name, column in names.items()}
    return {"state": state, **values}


def _binding(state: int, binding: Document) -> dict[str, Any]:
    place = binding["place"] or {"parent": None, "index": None}
    plain = {name: binding[name] for name in ("address", "kind", "id", "origin", "protected")}
    return {"state": state, **plain, "place_parent": place["parent"], "place_index": place["index"]}


def _fields(state: int, binding: Document) -> Iterable[dict[str, Any]]:
    for name, pair in binding["fields"].items():
        texts = {word: _json(pair[word]) if word in pair else None for word in ("sent", "seen")}
        yield {"state": state, "address": binding["address"], "name": name, **texts}


# -- another name ------------------------------------------------------------------------------------------------------------

# Tables that number requests, and the column that does.
NUMBERED: Final[Mapping[str, str]] = {"journal": "id", "outcomes": "intent", "befores": "intent", "afters": "intent"}
# What is moved of the history under the new name, with its order: what others refer to first.
MOVED: Final[Mapping[str, str]] = {
    "known": "digest",
    "journal": "id",
    "outcomes": "id",
    "befores": "intent",
    "afters": "intent",
    "turns": "id",
    "approvals": "run",
}


def _refuse_rename(connection: Connection, old: int, new: int) -> None:
    """Raise `Refused` where the new name tracks anything that the old one does not, or has a request in doubt."""
    name = _named(connection, new)
    if (doubtful := connection.row(IN_DOUBT, state=new)) is not None:
        address = doubtful.address
        forget = f"reconciler state forget {quote(address)} --in-doubt"
        hint = f"Run `reconciler apply` to find out what happened to it, or `{forget}`. Then repeat this."
        raise Refused(f"a request of {address} is in doubt under the name {name}", id="RC-in-doubt", hint=hint)
    tracked = "SELECT address, kind, id FROM bindings WHERE state = :state"
    theirs, own = ({*map(tuple, connection.rows(tracked, state=state))} for state in (old, new))
    if extra := sorted(own - theirs):
        more = f", and {len(extra) - 1:,} more" if len(extra) > 1 else ""
        hint = (
            f"Stop managing it under that name: `reconciler state forget {quote(extra[0][0])}`. Then repeat this, and "
            "run `reconciler plan`: what exists is adopted again."
        )
        raise Refused(f"{name} tracks {extra[0][0]} already{more}", id="RC-already-tracked", hint=hint)


def rename_state(connection: Connection, old: int, new: int, *, by: str) -> None:
    """Give the state `old` the name of the state `new`, which is deleted; its history follows that of `old`. `by`: the run of `new` that
    asks."""
    _refuse_rename(connection, old, new)
    first = connection.value("SELECT max(id) FROM journal WHERE state = :state", state=old) or 0
    turn = connection.value("SELECT max(id) FROM turns WHERE state = :state", state=old) or 0
    history = {
        table: [row._asdict() for row in connection.rows(f"SELECT * FROM {table} WHERE state = :state ORDER BY {order}", state=new)]
        for table, order in MOVED.items()
    }
    _clear(connection, new)
    connection.run("DELETE FROM consents WHERE state = :state", state=old)  # a run that is continued under another name asks again
    connection.run("DELETE FROM runs WHERE id = :by", by=by)
    connection.run("UPDATE runs SET state = :old WHERE state = :new", old=old, new=new)
    for table, rows in history.items():
        without = ("id",) if table == "outcomes" else ()  # the database numbers them
        add = insert(table, *without) + (" ON CONFLICT DO NOTHING" if table == "known" else "")
        connection.run_all(add, [_moved(table, row, old, first, turn) for row in rows])
    name = connection.row("SELECT project, environment FROM states WHERE id = :state", state=new)
    connection.run("DELETE FROM leases WHERE state = :state", state=new)
    connection.run("DELETE FROM states WHERE id = :state", state=new)
    renamed = "UPDATE states SET project = :project, environment = :environment WHERE id = :state"
    connection.run(renamed, project=name.project, environment=name.environment, state=old)


def _named(connection: Connection, state: int) -> str:
    """The project of a state, with its environment if it has one."""
    row = connection.row("SELECT project, environment FROM states WHERE id = :state", state=state)
    return StateScope(row.project, row.environment or None, "").named


def _moved(table: str, row: dict[str, Any], state: int, first: int, turn: int) -> dict[str, Any]:
    """A row of the history, behind the requests and turns that the state has already."""
    moved = {**row, "state": state}
    if table in NUMBERED:
        moved[NUMBERED[table]] += first
    if table == "turns":
        moved["id"] += turn
    return moved
