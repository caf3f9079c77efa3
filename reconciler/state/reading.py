"""Reading a state: which row is whose, and the whole of it as a value.

In: a connection inside a transaction. Out: `StateScope`'s row, `State`, ids of others. Forbidden: writing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import State
from reconciler.model.codec import PREFIX, is_mark
from reconciler.model.state import StateScope
from reconciler.state.connection import Connection
from reconciler.state.history import is_unfinished, read_consents, read_readdressed
from reconciler.state.tables.rows import read_bindings, read_intents, read_renames, read_rules
from reconciler.state.tables.values import DONE, damaged, decoded, mapping

URLS_MAX: Final = 20_000  # that are shown at all; a state may have many more
NOT_MADE: Final = ["not-sent", "failed", "recovered"]  # statuses of a create whose object may still appear
REMEMBERED: Final = timedelta(days=30)  # longer than any service restores what was deleted
SLACK: Final = timedelta(minutes=10)  # machines that share a state may differ in their clocks

_ENDED: Final = (
    "FROM journal JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id WHERE outcomes.state = :state"
)
"""Requests that ended, with how: what several of the queries below begin with."""


def find(connection: Connection, scope: StateScope) -> Any:
    """The scope's row; None where nothing was ever recorded."""
    query = "SELECT * FROM states WHERE project = :project AND environment = :environment AND service = :service"
    return connection.row(query, **scope.columns)


def has_seen(connection: Connection, state: int) -> bool:
    """Whether a run ever tracked, sent or recorded anything in that state; a refused or declined run leaves no such trace."""
    tables = ("bindings", "journal", "turns", "rules")
    return any(connection.row(f"SELECT state FROM {table} WHERE state = :state LIMIT 1", state=state) is not None for table in tables)


def read_tracking(connection: Connection, service: str) -> tuple[tuple[StateScope, int], ...]:
    """The states in this database that track resources, and how many: those on the given service first."""
    query = (
        "SELECT project, environment, service, count(*) AS number FROM states JOIN bindings ON bindings.state = states.id"
        " GROUP BY states.id, project, environment, service"
    )
    scopes = [(StateScope(row.project, row.environment or None, row.service), int(row.number)) for row in connection.rows(query)]
    return tuple(sorted(scopes, key=lambda row: (row[0].service != service, row[0].project, row[0].environment or "", row[0].service)))


# A mistyped or moved file is no reason to complete nothing: where the project has no state here, all of them are offered.
_OF_PROJECT: Final = (
    "JOIN states ON states.id = state WHERE states.environment = :environment"
    " AND (states.project = :project OR :project NOT IN (SELECT project FROM states))"
)


def read_addresses(connection: Connection, project: str, environment: str) -> list[str]:
    """The addresses that the states of a project track, on whichever service; of every project where this one has no state here."""
    query = f"SELECT DISTINCT address FROM bindings {_OF_PROJECT} ORDER BY address"
    return [row.address for row in connection.rows(query, project=project, environment=environment)]


def read_last_known(
    connection: Connection, project: str, environment: str, lag: timedelta, now: datetime
) -> tuple[State, datetime | None, dict[str, list[str]]] | None:
    """The state of a project that was written last, on whichever service: the state, the end of its last run, and the URLs that answer by
    the address of their site. None where it has no state here."""
    rows = connection.rows(
        "SELECT states.id, max(runs.ended) AS ended FROM states LEFT JOIN runs ON runs.state = states.id"
        " WHERE states.project = :project AND states.environment = :environment GROUP BY states.id",
        project=project,
        environment=environment,
    )
    if not rows:
        return None
    last = max(rows, key=lambda row: (row.ended or "", row.id))
    query = f"SELECT site, url FROM urls WHERE state = :state AND ended IS NULL ORDER BY length(url), url LIMIT {URLS_MAX}"
    urls: dict[str, list[str]] = defaultdict(list)
    for row in connection.rows(query, state=last.id):
        urls[row.site].append(row.url)
    return read_state(connection, last.id, lag, now), datetime.fromisoformat(last.ended) if last.ended else None, dict(urls)


def read_commands(connection: Connection, project: str, environment: str) -> list[tuple[str, str, str]]:
    """The id, the command and the begin of each run of the states of a project, newest first."""
    query = f"SELECT runs.id, command, started FROM runs {_OF_PROJECT} ORDER BY started DESC"
    return [tuple(row) for row in connection.rows(query, project=project, environment=environment)]


def read_state(connection: Connection, state: int, lag: timedelta, now: datetime, *, by: str = "") -> State:
    """The state of that row, read by the run with that id, or None for no run; raises StateError where a value in it is broken.

    `lag`: how long a list may not show what was written.
    """
    row = connection.row("SELECT * FROM states WHERE id = :state", state=state)
    if row is None:
        raise StateError("the state was removed while it was in use", id="RC-state-removed", hint="Run again to recreate it.")
    scope = StateScope(row.project, row.environment or None, row.service)
    bound, intents = read_bindings(connection, state), read_intents(connection, state)
    others = read_others(connection, scope)
    unfinished = is_unfinished(connection, state, by=by)
    return State(
        row.lineage,
        row.serial,
        bound,
        intents,
        frozenset((row.kind, row.id) for row in others),
        unfinished,
        read_rules(connection, state),
        marks=_marks(connection, state),
        recent=_recent(connection, state, lag, now),
        former=former(others, scope, {binding.key for binding in bound.values()}),
        consents=read_consents(connection, state, by=by) if unfinished else frozenset(),
        fulfilled=read_renames(connection, state),
        readdressed=read_readdressed(connection, state, by=by) if unfinished else frozenset(),
        deleted=_deleted(connection, state, bound, now),
        projects=projects_of(others, scope),
    )


def _deleted(connection: Connection, state: int, tracked: Collection[Address], now: datetime) -> dict[Address, tuple[str, str]]:
    """Kind and id of what was deleted recently, by its former address; without addresses that another object has now, or had since."""
    query = (
        f"SELECT journal.address, journal.verb, journal.kind, journal.target {_ENDED} AND outcomes.status IN :done"
        " AND outcomes.at >= :since AND journal.verb IN :verbs ORDER BY outcomes.id"
    )
    since = (now - REMEMBERED).isoformat()
    deleted: dict[Address, tuple[str, str]] = {}
    for row in connection.rows(query, state=state, done=DONE, since=since, verbs=["create", "delete"]):
        try:
            address = Address.parse(row.address)
        except ValueError as error:
            raise damaged(f"an intent of {row.address}") from error
        deleted.pop(address, None)
        if row.verb == "delete" and row.target is not None and address not in tracked:
            deleted[address] = (row.kind, row.target)
    return deleted


def _recent(connection: Connection, state: int, lag: timedelta, now: datetime) -> dict[Address, datetime]:
    """By address, until when a list may not show what was written recently: the deadline of the latest write (service's clock) plus the
    lag.

    Objects deleted after their last write are left out: no list has to show them.
    """
    if not lag:
        return {}
    query = (
        f"SELECT journal.address, journal.verb, journal.deadline, outcomes.bound {_ENDED} AND outcomes.status IN :done"
        " AND outcomes.at >= :since AND journal.deadline IS NOT NULL ORDER BY outcomes.id"
    )
    written = connection.rows(query, state=state, done=DONE, since=(now - lag - SLACK).isoformat())
    bound = decoded([row.bound for row in written], lambda number: f"the latest outcome of {written[number].address}")
    latest: dict[str, tuple[str, str]] = {}
    for row, addresses in zip(written, bound, strict=True):
        if row.verb == "delete":
            latest.pop(row.address, None)
        elif isinstance(addresses, dict):
            for address in (row.address, *addresses):
                latest[address] = row.address, row.deadline
        else:
            raise damaged(f"the latest outcome of {row.address}")
    moments: dict[Address, datetime] = {}
    for address, (text, deadline) in latest.items():
        try:
            moments[Address.parse(address)] = datetime.fromisoformat(deadline) + lag
        except (TypeError, ValueError) as error:
            raise damaged(f"the latest outcome of {text}") from error
    return moments


def _marks(connection: Connection, state: int) -> dict[tuple[str, str], Address]:
    """The marks of creates that ended, as far as was known, without creating an object with the mark."""
    query = (
        f"SELECT journal.address, journal.kind, journal.writes {_ENDED} AND outcomes.status IN :statuses"
        " AND journal.verb = 'create' AND journal.writes LIKE :marked"
    )
    marks: dict[tuple[str, str], Address] = {}
    for row in connection.rows(query, state=state, statuses=NOT_MADE, marked=f'%"{PREFIX}%'):
        what = f"an intent of {row.address}"
        try:
            marks |= {(row.kind, value): Address.parse(row.address) for value in mapping(row.writes, what).values() if is_mark(value)}
        except (TypeError, ValueError) as error:
            raise damaged(what) from error
    return marks


def read_others(connection: Connection, scope: StateScope) -> Sequence[Any]:
    """What other projects and environments track on the same service: rows of project, environment, kind, id and address."""
    query = (
        "SELECT project, environment, kind, bindings.id, address FROM bindings JOIN states ON states.id = bindings.state"
        " WHERE service = :service AND (project <> :project OR environment <> :environment) ORDER BY project"
    )
    return connection.rows(query, **scope.columns)


def projects_of(others: Sequence[Any], scope: StateScope) -> dict[str, dict[Address, str]]:
    """What each other project in the same environment tracks on the same service: address and id, by the name of the project."""
    projects: dict[str, dict[Address, str]] = defaultdict(dict)
    for row in others:
        if row.environment == scope.columns["environment"]:
            try:
                projects[row.project][Address.parse(row.address)] = row.id
            except ValueError as error:
                raise damaged(f"the binding of {row.address} in {row.project}") from error
    return dict(projects)


def former(others: Sequence[Any], scope: StateScope, tracked: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The objects of former names of the project: of each other project in its environment that tracks everything it tracks."""
    owners: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in others:
        if row.environment == scope.columns["environment"]:
            owners[row.project].add((row.kind, row.id))
    owner_of: dict[tuple[str, str], str] = {}
    for project, objects in owners.items():
        if objects.issuperset(tracked):
            for key in objects:
                owner_of.setdefault(key, project)
    return owner_of
