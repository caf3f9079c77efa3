"""A state on a PostgreSQL server, shared by many machines: the same tables, in a schema of their own.

In: a URL. Out: a `Database`. Forbidden: what the tables mean; waiting without a deadline; sending a password to a server that nobody
verifies, unless the user decided so: libpq's own default (`prefer`) connects to any server that answers for the name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, quote, unquote, urlencode

from reconciler.errors import StateError
from reconciler.state.connection import SCHEMA, Connection, Pool, PostgresConnection
from reconciler.state.errors import explaining
from reconciler.state.tables import migrations
from reconciler.text.backends import backend_of, forms
from reconciler.text.install import installing
from reconciler.text.service_url import is_loopback

CONNECT_SECONDS: Final = 5
DENIED: Final = ("42501", "25006")  # SQLSTATE: a right is missing, or the server or the role only reads
PREPARE_LOCK: Final = 0x7265636F6E63  # any number of our own: two runs must not make the tables at once
SESSION: Final = (
    # Every wait has a deadline. A run that waits longer than this for a lock ends with an error, and does not hang.
    "SET lock_timeout = '5s'; SET statement_timeout = '60s';"
    # A program that was stopped inside a transaction would keep its locks, and keep every other run from renewing its lease.
    " SET idle_in_transaction_session_timeout = '60s';"
    # The server may have been configured to answer before a commit is on its disk. A request must not be sent on such an answer.
    " SET synchronous_commit = 'on'"
)
# A server that vanished without closing the connection is noticed in 20 s.
KEEPALIVE: Final = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000}
# A reading has several statements that must be of one moment. READ COMMITTED would show each of them another one: bindings without the
# intents that made them. The server refuses every write in it, so a mistake here cannot change a state.
READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The same for tables of an older version, which are migrated for the reading and rolled back.
READ_OLDER: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ"
# READ COMMITTED is enough to write: the first statement of every writing transaction locks the row of the lease, and whoever waited for it
# sees what the holder before it committed. REPEATABLE READ would fail there with a serialization error that had to be retried.
WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"

MODE: Final = "sslmode"
VERIFIED: Final = "verify-full"
VARIABLE: Final = "PGSSLMODE"
_ROOT: Final = "sslrootcert=FILE, or sslrootcert=system for those of the machine"
_URL: Final = re.compile(
    r"[\w+]+://((?P<user>[^:/]*)(:(?P<password>[^@]*))?@)?"
    r"((\[(?P<ipv6>[^/?]+)\]|(?P<host>[^/:?]+))?(:(?P<port>\d*))?)?"
    r"(/(?P<database>[^?]*))?(\?(?P<query>.*))?",
    re.DOTALL,
)

T = TypeVar("T")


@dataclass(frozen=True)
class ServerUrl:
    """The URL of a database on a server, decoded."""

    user: str
    password: str
    # As the URL has it, perhaps several with commas; "" where libpq is to decide.
    host: str
    port: str
    database: str
    # The settings of libpq after the question mark; a key may be repeated, as `host` is for several servers.
    query: Mapping[str, Sequence[str]]

    @classmethod
    def parse(cls, url: str) -> ServerUrl:
        """The parts of a URL. Raises `StateError`, without showing it: it may contain a password."""
        match = _URL.fullmatch(url)
        if match is None:
            raise StateError("the state is not a valid URL", id="RC-state-url", hint=f"Write {forms()}.")
        part = {name: value or "" for name, value in match.groupdict().items()}
        user, password, database = (unquote(part[name]) for name in ("user", "password", "database"))
        return cls(user, password, part["host"] or part["ipv6"], part["port"], database, parse_qs(part["query"]))

    @property
    def shown(self) -> str:
        """The URL without who logs in, and how: of its settings, only where the server is, so that it can be pasted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port, database = f":{self.port}" if self.port else "", f"/{quote(self.database, safe=' +/')}" if self.database else ""
        where = {key: values for key, values in self.query.items() if key in ("host", "port", "dbname")}
        query = f"?{urlencode(where, doseq=True, safe='/')}" if where else ""
        return f"postgresql://{host}{port}{database}{query}"

    @property
    def options(self) -> dict[str, str]:
        """The settings of libpq; what the query says wins over the rest of the URL."""
        parts = {"host": self.host, "port": self.port, "dbname": self.database, "user": self.user, "password": self.password}
        query = {key: ",".join(values) for key, values in self.query.items()}
        hosts = self.query.get("host", ())
        # `host=a:1&host=b:2` is how SQLAlchemy writes several servers, and libpq wants two lists: host=a,b and port=1,2.
        if len(hosts) > 1 or ("port" not in query and re.fullmatch(r"[A-Za-z0-9.-]*:\d*", "".join(hosts))):
            names, ports = zip(*(host.partition(":")[::2] for host in hosts), strict=True)
            query |= {"host": ",".join(names), "port": ",".join(ports)}
        return {key: value for key, value in {**parts, **query}.items() if value}


def open_server(url: str, create: bool) -> Postgres:
    """The database on the server that a URL names."""
    return Postgres(ServerUrl.parse(url), create=create)


class Postgres:
    """A database on a server; its address is never shown with a password."""

    def __init__(self, url: ServerUrl, *, create: bool) -> None:
        if find_spec("psycopg") is None:
            raise StateError(
                "a state on PostgreSQL requires psycopg", id="RC-package-missing", hint=f"Install it: {installing('psycopg[binary]')}"
            )
        self.path: Path | None = None
        self.where = f"the state {url.shown}"
        self._options = url.options
        self._pool = Pool(self._connect, keep=2)
        if create:
            try:
                with self.write() as connection:
                    self._prepare(connection)
            except BaseException:
                self.close()
                raise

    def read(self, work: Callable[[Connection], T]) -> T | None:
        with explaining(self.where), self._transaction(READ, keep=False) as connection:
            current = migrations.is_current(connection, self.where)
            if current is not False:
                return work(connection) if current else None
        with explaining(self.where), self._transaction(READ_OLDER, keep=False) as connection:
            found, ours = migrations.version(connection), 1 + len(migrations.MIGRATIONS)
            try:
                self._prepare(connection)  # and rolled back at the end: a reading migrates nothing
            except Exception as error:
                if getattr(error, "sqlstate", None) not in DENIED:
                    raise
                raise StateError(
                    f"{self.where} was written by an older version: its schema is {found}, and a role that can only read needs {ours}",
                    id="RC-state-older",
                    hint="Run `reconciler apply` once with the role that can write: it upgrades the tables.",
                ) from error
            return work(connection)

    def is_current(self) -> bool | None:
        with explaining(self.where), self._transaction(READ, keep=False) as connection:
            return migrations.is_current(connection, self.where)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with explaining(self.where), self._transaction(WRITE) as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str, *, keep: bool = True) -> Iterator[Connection]:
        with self._pool.connection() as connection, connection.transaction(begin, keep=keep):
            yield connection

    def close(self) -> None:
        self._pool.close()

    def _connect(self) -> PostgresConnection:
        import psycopg  # an extra, which a state in a file does without

        # Autocommit, because transactions are begun here, with an isolation for each; psycopg would begin one of its own before the first.
        options: dict[str, Any] = {**self._options, "connect_timeout": CONNECT_SECONDS, **KEEPALIVE, "autocommit": True}
        connection = psycopg.connect(**options)
        try:
            connection.execute(SESSION)
        except BaseException:
            connection.close()
            raise
        return PostgresConnection(connection)

    def _prepare(self, connection: Connection) -> None:
        # Until the end of the transaction: of two runs that find no tables, the second waits, and then finds those of the first.
        connection.value("SELECT pg_advisory_xact_lock(:key)", key=PREPARE_LOCK)
        if connection.value("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = :name", name=SCHEMA) is None:
            # Asked first: where an administrator created the schema, nobody else needs the right to create one.
            connection.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        migrations.prepare(connection, self.where)


# -- whose server it is -------------------------------------------------------------------------------------------------------------


def require_verified(url: str, *, given: str, written: bool) -> None:
    """Raise `StateError` for a server elsewhere that nobody verifies. `given`: where the URL is written; `written`: by the user, not in the
    YAML, so that its `sslmode` is a decision."""
    backend = backend_of(url)
    if backend is None or not backend.must_be_verified:
        return
    try:
        parsed = ServerUrl.parse(url)
    except StateError:
        return  # reported where it is opened
    if is_local(parsed):
        return
    mode = parsed.options.get(MODE)
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


def is_local(url: ServerUrl) -> bool:
    """Whether every server that libpq could connect to is on this machine."""
    if "service" in url.query:
        return False  # another file names the server
    return all(map(_is_local, _hosts(url)))


def _hosts(url: ServerUrl) -> Iterator[str]:
    """The names and the addresses of hosts, as the URL gives them, else as PGHOST, PGHOSTADDR and PGSERVICE do."""
    defaults: dict[str, str] = {}
    if find_spec("psycopg") is not None:  # else nothing can be connected to
        import psycopg

        known = psycopg.pq.Conninfo.get_defaults()
        defaults = {option.keyword.decode(): (option.val or b"").decode("utf-8", "replace") for option in known}
    for hosts in (url.options.get("host") or defaults.get("host"), url.options.get("hostaddr") or defaults.get("hostaddr")):
        yield from filter(None, (hosts or "").split(","))


def _is_local(host: str) -> bool:
    return host[:1] in ("/", "@") or is_loopback(host.lower().strip("[]"))  # / and @: a socket of this machine
