"""The state's database, as it stands at a moment: taken and put back, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import create_engine, delete, insert, make_url, select, text

from reconciler.state.health import file_holder
from reconciler.state.postgres import SCHEMA
from reconciler.state.tables.schema import METADATA


class Database(Protocol):
    """`name`, `sort`: which it is, for people and on the command line; `url`: as the program takes it."""

    name: str
    sort: str
    url: str

    def take(self) -> Any:
        """All that is committed."""

    def put(self, image: Any) -> None:
        """Make it what was taken; None is nothing at all. Leases of whoever died have run out."""

    def held(self) -> bool:
        """Whether somebody has the lease."""

    def expire(self) -> None:
        """Leases of whoever died run out."""

    def close(self) -> None:
        """Let go of it."""


class Sqlite:
    """A file in a folder."""

    name, sort = "SQLite", "sqlite"

    def __init__(self, folder: Path) -> None:
        self.file = folder / "state.db"
        self.url = f"sqlite:///{self.file}"

    def take(self) -> bytes | None:
        if not self.file.exists():
            return None
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.serialize()

    def put(self, image: bytes | None) -> None:
        for end in ("", "-wal", "-shm"):
            Path(f"{self.file}{end}").unlink(missing_ok=True)
        if image is not None:
            self.file.write_bytes(image)

    def held(self) -> bool:
        return file_holder(self.file)[0]

    def expire(self) -> None:
        return  # the kernel freed the lock

    def close(self) -> None:
        self.put(None)


class Postgres:
    """A database of its own on a server."""

    name, sort = "PostgreSQL", "postgres"

    def __init__(self, server: str, name: str) -> None:
        parsed = make_url(server).set(drivername="postgresql+psycopg")
        self._server = create_engine(parsed, isolation_level="AUTOCOMMIT")
        self._name = name
        with self._server.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            connection.execute(text(f"CREATE DATABASE {name}"))
        self.url = parsed.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
        self._engine = create_engine(parsed.set(database=name), execution_options={"schema_translate_map": {None: SCHEMA}})

    def take(self) -> dict[str, list[dict[str, Any]]] | None:
        with self._engine.connect() as connection:
            if not connection.dialect.has_table(connection, "states", schema=SCHEMA):
                return None
            return {
                table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
                for table in METADATA.sorted_tables
                if table.name != "reconciler_schema"
            }

    def put(self, image: dict[str, list[dict[str, Any]]] | None) -> None:
        with self._engine.begin() as connection:
            if not connection.dialect.has_table(connection, "states", schema=SCHEMA):
                return
            tables = [table for table in METADATA.sorted_tables if table.name != "reconciler_schema"]
            for table in reversed(tables):
                connection.execute(delete(table))
            for table in tables:
                rows = (image or {}).get(table.name)
                if rows:
                    connection.execute(insert(table), rows)
        self.expire()

    def held(self) -> bool:
        with self._engine.connect() as connection:
            now = "extract(epoch FROM clock_timestamp())"
            return bool(
                connection.execute(text(f"SELECT count(*) FROM {SCHEMA}.leases WHERE run IS NOT NULL AND expires > {now}")).scalar()
            )

    def expire(self) -> None:
        with self._engine.begin() as connection:
            connection.execute(text(f"UPDATE {SCHEMA}.leases SET expires = 0 WHERE expires IS NOT NULL"))

    def close(self) -> None:
        self._engine.dispose()
        with self._server.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {self._name} WITH (FORCE)"))
        self._server.dispose()
