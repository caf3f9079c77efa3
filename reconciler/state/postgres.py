"""A state on a PostgreSQL server, shared by many machines: the same tables, in a schema of their own.

In: a URL. Out: a `Database`. Forbidden: what the tables mean; waiting without a deadline; sending a password to a server that nobody
verifies, unless the user decided so: libpq's own default (`prefer`) connects to any server that answers for the name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.schema import CreateSchema

from reconciler.errors import StateError
from reconciler.state.errors import calm
from reconciler.state.tables import migrations
from reconciler.text.install import installing

SCHEMA: Final = "reconciler"
CONNECT_SECONDS: Final = 5
DENIED: Final = ("42501", "25006")  # SQLSTATE: a right is missing, or the server or the role only reads
PREPARE_LOCK: Final = 0x7265636F6E63  # any number of our own: two runs must not make the tables at once
SESSION: Final = (  # every wait has a deadline, and a commit is on the disk
    "SET lock_timeout = '5s'",
    "SET statement_timeout = '60s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET synchronous_commit = 'on'",
)
# A server that vanished without closing the connection is noticed in 20 s.
KEEPALIVE: Final = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000}

MODE: Final = "sslmode"
VERIFIED: Final = "verify-full"
VARIABLE: Final = "PGSSLMODE"
_ROOT: Final = "sslrootcert=FILE, or sslrootcert=system for those of the machine"

T = TypeVar("T")


class Postgres:
    """A database on a server; its address is never shown with a password."""

    def __init__(self, url: URL, *, create: bool) -> None:
        if find_spec("psycopg") is None:
            raise StateError(
                "a state on PostgreSQL requires psycopg", id="RC-package-missing", hint=f"Install it: {installing('psycopg[binary]')}"
            )
        self.path: Path | None = None
        self.where = f"the state {URL.create('postgresql', host=url.host, port=url.port, database=url.database)}"
        self._writable = create
        self._engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=2,
            max_overflow=2,
            pool_timeout=30,
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_SECONDS, **KEEPALIVE},
            execution_options={"schema_translate_map": {None: SCHEMA}},
        )
        event.listen(self._engine, "connect", _begin_session)
        if create:
            try:
                with self.write() as connection:
                    self._prepare(connection)
            except BaseException:
                self.close()
                raise

    def read(self, work: Callable[[Connection], T]) -> T | None:
        with calm(self.where), self._reading(readonly=True) as connection:
            current = migrations.is_current(connection, self.where)
            if current is not False:
                return work(connection) if current else None
        with calm(self.where), self._reading(readonly=False) as connection:
            found, ours = migrations.found_version(connection), 1 + len(migrations.MIGRATIONS)
            try:
                self._prepare(connection)  # and rolled back at the end: a reading migrates nothing
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in DENIED:
                    raise
                raise StateError(
                    f"{self.where} was written by an older version: its schema is {found}, and a role that can only read needs {ours}",
                    id="RC-state-older",
                    hint="Run `reconciler apply` once with the role that can write: it upgrades the tables.",
                ) from error
            return work(connection)

    @contextmanager
    def _reading(self, *, readonly: bool) -> Iterator[Connection]:
        """A transaction that sees one moment and leaves nothing. `readonly`: the server refuses every write in it."""
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=readonly)
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()

    def is_current(self) -> bool | None:
        with calm(self.where), self._engine.connect() as connection:
            return migrations.is_current(connection, self.where)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with calm(self.where), self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    def _prepare(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": PREPARE_LOCK})
        if not inspect(connection).has_schema(SCHEMA):  # an administrator may have created it: then nobody else needs that right
            connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
        migrations.prepare(connection, self.where)


def _begin_session(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        for setting in SESSION:
            cursor.execute(setting)
    connection.commit()


# -- whose server it is -------------------------------------------------------------------------------------------------------------


def require_verified(url: str, *, given: str, written: bool) -> None:
    """Raise `StateError` for a server elsewhere that nobody verifies. `given`: where the URL is written; `written`: by the user, not in the
    YAML, so that its `sslmode` is a decision."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return  # reported where it is opened
    if not parsed.drivername.startswith("postgres") or is_local(parsed):
        return
    mode = parsed.query.get(MODE)
    if mode == VERIFIED or (mode is not None and written) or (mode is None and os.environ.get(VARIABLE)):
        return
    server = parsed.host or "its server"
    weak = "" if mode is None else f" ({MODE}={mode} is only in the YAML)"
    raise StateError(
        f"{given} sends its password to {server} without verifying whose server that is{weak}",
        id="RC-state-not-verified",
        hint=f"Add ?{MODE}={VERIFIED} to the URL; the certificate of its authority is read from ~/.postgresql/root.crt, or write {_ROOT}. "
        f"If you trust the network, write {MODE}=require or {MODE}=disable on the command line or into the environment, or set {VARIABLE}.",
    )


def is_local(url: URL) -> bool:
    """Whether every server that libpq could connect to is on this machine."""
    if "service" in url.query:
        return False  # another file names the server
    return all(map(_is_local, _hosts(url)))


def _hosts(url: URL) -> Iterator[str]:
    """The names and the addresses of hosts, as the URL gives them, else as PGHOST, PGHOSTADDR and PGSERVICE do."""
    defaults: dict[str, str] = {}
    if find_spec("psycopg") is not None:  # else nothing can be connected to
        import psycopg

        known = psycopg.pq.Conninfo.get_defaults()
        defaults = {option.keyword.decode(): (option.val or b"").decode("utf-8", "replace") for option in known}
    yield from _listed(url.query.get("host")) or _listed(url.host) or _listed(defaults.get("host"))
    yield from _listed(url.query.get("hostaddr")) or _listed(defaults.get("hostaddr"))


def _listed(value: str | tuple[str, ...] | None) -> list[str]:
    return [part for text in ((value,) if isinstance(value, str) else value or ()) for part in text.split(",") if part]


def _is_local(host: str) -> bool:
    if host[:1] in ("/", "@") or host.lower() == "localhost":
        return True  # a socket of this machine
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
