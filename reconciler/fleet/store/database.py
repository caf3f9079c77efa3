"""The PostgreSQL database of a fleet: connections and migrations. Forbidden: the meaning of rows; waiting without a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, create_engine, event, insert, inspect, make_url, select, text, update
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError, TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateSchema

from reconciler.errors import StateError, UsageError
from reconciler.fleet.store import chain, schema
from reconciler.fleet.store.schema import METADATA, SCHEMA, version
from reconciler.state.errors import BUSY, explained
from reconciler.state.postgres import require_verified

CONNECT_SECONDS: Final = 5
PREPARE_LOCK: Final = 0x666C656574  # two processes must not create the tables at once
SESSION: Final = (
    "SET lock_timeout = '10s'",
    "SET statement_timeout = '60s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET timezone = 'UTC'",
)
KEEPALIVE: Final = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000}
FORM: Final = "Write postgresql://USER@HOST/NAME."
NEWER: Final = "Upgrade Reconciler on this machine."

Migration = Callable[[Connection], None]
_COLUMNS: Final = {
    "revisions": ("settings jsonb",),
    "projects": ("health jsonb", "health_at timestamptz", "cost integer", "well_since timestamptz", "announced jsonb"),
    "plans": ("digest text", "classes jsonb", "authors jsonb", "text text", "since text"),
}
_DECISIONS_ON_DRIFT: Final = {"notices": ("severity text",), "approvals": ("until timestamptz",)}
_REHEARSALS: Final = {"plans": ("reading text",), "approvals": ("rehearsal text",)}
_CONTINUATIONS: Final = {"plans": ("continues jsonb", "begun jsonb")}
_IDENTITIES: Final = {"approvals": ("issuer text", "subject text", "addresses jsonb"), "sessions": ("sealed text",)}


def _add_people(connection: Connection) -> None:
    """Version 2: decisions, sessions and notifications."""
    _add_columns(connection, _COLUMNS)
    tables = [schema.approvals, schema.quarantines, schema.samples, schema.notices, schema.sessions, schema.audit]
    schema.METADATA.create_all(connection, tables=tables)


def _add_generators(connection: Connection) -> None:
    """Version 3: generators that workers read."""
    schema.METADATA.create_all(connection, tables=[schema.generation])


def _add_identities(connection: Connection) -> None:
    """Version 4: people are an issuer and a subject. Sessions of names only end."""
    _add_columns(connection, _IDENTITIES)
    schema.METADATA.create_all(connection, tables=[schema.people])


def _add_chain(connection: Connection) -> None:
    """Version 5: the audit log and the decisions as a chain."""
    schema.METADATA.create_all(connection, tables=[schema.chain])
    chain.install(connection)


def _add_decisions_on_drift(connection: Connection) -> None:
    """Version 6: people decide on drift, and messages say how bad it is."""
    _add_columns(connection, _DECISIONS_ON_DRIFT)


def _add_rehearsals(connection: Connection) -> None:
    """Version 7: plans are rehearsed, and approvals name the rehearsal."""
    _add_columns(connection, _REHEARSALS)
    schema.METADATA.create_all(connection, tables=[schema.rehearsals])


def _add_proposals(connection: Connection) -> None:
    """Version 8: what was changed outside Reconciler is kept as files."""
    schema.METADATA.create_all(connection, tables=[schema.proposals])


def _add_run_numbers(connection: Connection) -> None:
    """Version 9: the runs of a project have numbers of their own."""
    table = f"{SCHEMA}.runs"
    ordered = f"SELECT id, row_number() OVER (PARTITION BY project ORDER BY id) AS number FROM {table}"  # noqa: S608
    connection.execute(text(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))  # no run is admitted meanwhile
    _add_columns(connection, {"runs": ("number integer",)})
    connection.execute(text(f"UPDATE {table} r SET number = o.number FROM ({ordered}) o WHERE o.id = r.id"))  # noqa: S608
    connection.execute(text(f"ALTER TABLE {table} ALTER COLUMN number SET NOT NULL"))
    connection.execute(text(f"CREATE UNIQUE INDEX IF NOT EXISTS runs_numbers ON {table} (project, number)"))
    connection.execute(text(schema.RUN_NUMBERS))


def _add_continuations(connection: Connection) -> None:
    """Version 10: an apply uses up its approvals when it begins, and what is left of it is continued."""
    _add_columns(connection, _CONTINUATIONS)


def _add_columns(connection: Connection, columns: Mapping[str, Sequence[str]]) -> None:
    for table, added in columns.items():
        for column in added:
            connection.execute(text(f"ALTER TABLE {SCHEMA}.{table} ADD COLUMN IF NOT EXISTS {column}"))


MIGRATIONS: Final[tuple[Migration, ...]] = (
    _add_people, _add_generators, _add_identities, _add_chain, _add_decisions_on_drift, _add_rehearsals, _add_proposals,
    _add_run_numbers, _add_continuations,
)  # fmt: skip
"""The nth migrates version n to n + 1; migrations are only added, and each keeps what the version before it needs."""


def address(url: str) -> tuple[str, str]:
    """The URL of a database for clients of PostgreSQL, with its password, and its name in messages, without. Raises `UsageError`."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise UsageError("--database is not a valid URL", id="RC-state-url", hint=FORM) from None
    if parsed.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise UsageError(f"a fleet cannot be stored in {parsed.drivername!r}", id="RC-state-url", hint=FORM)
    require_verified(url, given="--database", written=True)
    plain = parsed.set(drivername="postgresql")
    host = parsed.host or parsed.query.get("host") or "this machine"
    where = f"the fleet's database {parsed.database or ''} on {host}".replace("  ", " ")
    return plain.render_as_string(hide_password=False), where


class FleetDatabase:
    """Transactions in the database of a fleet, for any number of threads."""

    def __init__(self, url: str, *, connections: int = 4) -> None:
        self.url, self.where = address(url)
        self._engine = create_engine(
            make_url(self.url).set(drivername="postgresql+psycopg"),
            pool_size=connections,
            max_overflow=connections,
            pool_timeout=30,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_SECONDS, **KEEPALIVE},
        )
        event.listen(self._engine, "connect", _begin_session)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that commits when the block ends, and rolls back when it raises."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except PoolTimeout as error:
            raise StateError(f"{self.where} was busy for too long", id="RC-state-busy", hint=BUSY) from error
        except (SQLAlchemyError, OSError, UnicodeError) as error:
            cause = error.orig if isinstance(error, DBAPIError) and isinstance(error.orig, Exception) else error
            raise explained(cause, self.where) from error

    def is_prepared(self) -> bool:
        """Whether the tables exist. Raises `StateError` if they are newer than this program."""
        with self.transaction() as connection:
            return self._version(connection) is not None

    def fits(self) -> bool:
        """Whether the tables have this program's version. Raises `StateError` if they are newer, or cannot be read."""
        with self.transaction() as connection:
            return self._version(connection) == 1 + len(MIGRATIONS)

    def prepare(self, engine: Callable[[Connection], None]) -> None:
        """Create the tables, or migrate older ones; one process does it. `engine`: does the same for the queue's."""
        with self.transaction() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": PREPARE_LOCK})
            current, today = self._version(connection), 1 + len(MIGRATIONS)
            if current is None:
                connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
                METADATA.create_all(connection)
                chain.install(connection)
                connection.execute(insert(version).values(version=today))
            elif current < today:
                migrate(connection, MIGRATIONS[current - 1 :])
                connection.execute(update(version).values(version=today))
            engine(connection)

    def _version(self, connection: Connection) -> int | None:
        if not inspect(connection).has_table(version.name, schema=SCHEMA):
            return None
        current: int = connection.execute(select(version.c.version)).scalar_one()
        if current > 1 + len(MIGRATIONS):
            wrong = f"{self.where} was prepared by a newer version: its schema is {current}, this version supports {1 + len(MIGRATIONS)}"
            raise StateError(wrong, id="RC-state-newer", hint=NEWER)
        return current

    def close(self) -> None:
        self._engine.dispose()


def migrate(connection: Connection, migrations: Sequence[Migration]) -> None:
    for step in migrations:
        step(connection)


def _begin_session(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        for setting in SESSION:
            cursor.execute(setting)
    connection.commit()


@contextmanager
def connected(url: str, *, connections: int = 4) -> Iterator[FleetDatabase]:
    """A database that is closed after the block."""
    database = FleetDatabase(url, connections=connections)
    try:
        yield database
    finally:
        database.close()
