"""The state's database, as it stands at a moment: taken and put back, on SQLite, PostgreSQL and in a bucket alike."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import create_engine, delete, insert, make_url, select, text, update

from reconciler.state.bucket.database import Bucket
from reconciler.state.bucket.folder import Folder
from reconciler.state.bucket.objects import Objects
from reconciler.state.health import file_holder
from reconciler.state.postgres import SCHEMA
from reconciler.state.tables.schema import METADATA, leases
from tests.state import azure, s3


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


class Objected:
    """What both sorts of buckets share: another holder of the lease is seen, and made to run out, through the chain."""

    objects: Objects

    def held(self) -> bool:
        database = self._opened(create=False)
        try:
            now = "CAST(strftime('%s', clock_timestamp()) AS INTEGER)"
            asked = text(f"SELECT count(*) FROM leases WHERE run IS NOT NULL AND expires > {now}")
            return bool(database.read(lambda connection: connection.execute(asked).scalar()))
        finally:
            database.close()

    def expire(self) -> None:
        if self.objects.get("snapshot.db.gz") is None:
            return
        database = self._opened(create=True)
        with database.write() as connection:
            connection.execute(update(leases).where(leases.c.expires.is_not(None)).values(expires=0))
        database.close()

    def intended(self, query: str, given: tuple[str, str]) -> bool:
        """What a query of SQLite finds, as another program sees it."""
        database = self._opened(create=False)
        try:
            return bool(database.read(lambda connection: connection.exec_driver_sql(query, given).scalar()))
        finally:
            database.close()

    def _opened(self, *, create: bool) -> Bucket:
        return Bucket(self.objects, "the state", create=create)


class Files(Objected):
    """A bucket that is a folder."""

    name, sort = "bucket (files)", "bucket"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bucket"
        self.url = f"file://{self.folder}"
        self.objects = Folder(self.folder)

    def take(self) -> dict[str, bytes] | None:
        files = {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        return files or None

    def put(self, image: dict[str, bytes] | None) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, content in (image or {}).items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)
        self.expire()

    def close(self) -> None:
        self.put(None)


class S3(Objected):
    """A prefix in a bucket on an S3 server, whose proxy loses some of the program's requests and answers."""

    name, sort = "bucket (S3)", "s3"
    rate = 0.04
    start, plain = f"s3://{s3.BUCKET}", s3.Plain

    def __init__(self, proxy: s3.Proxy, prefix: str) -> None:
        self.proxy = proxy
        self.proxy.calm()
        self.url = f"{self.start}/{prefix}"
        self.objects = self.plain(proxy.server, prefix)
        self._read: dict[int, bytes] = {}
        proxy.rate = self.rate

    def take(self) -> dict[str, bytes] | None:
        snapshot = self.objects.get("snapshot.db.gz")
        if snapshot is None:
            return None
        number = 1
        while True:
            content = self._read.get(number) or self.objects.get(f"journal/{number}")
            if content is None:
                break
            self._read[number] = content
            number += 1
        return {"snapshot.db.gz": snapshot, **{f"journal/{place}": self._read[place] for place in range(1, number)}}

    def put(self, image: dict[str, bytes] | None) -> None:
        self.objects.delete("snapshot.db.gz")
        for number in self._numbers():
            self.objects.delete(f"journal/{number}")
        self._read = {}
        for name, content in (image or {}).items():
            self.objects.put(name, content)
        self.expire()

    def _numbers(self) -> range:
        number = 1
        while self.objects.get(f"journal/{number}") is not None:
            number += 1
        return range(1, number)

    def close(self) -> None:
        self.proxy.calm()
        self.put(None)


class Azure(S3):
    """The same in a container on an emulator of Azure Blob Storage."""

    name, sort = "bucket (Azure)", "azure"
    start, plain = f"az://{azure.CONTAINER}", azure.Plain
