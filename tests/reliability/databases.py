"""The state's database, as it stands at a moment: taken and put back, on SQLite, PostgreSQL and in a bucket alike."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg
from psycopg.rows import dict_row

from reconciler.state.bucket.database import Bucket
from reconciler.state.bucket.objects import Folder, Objects
from reconciler.state.connection import SCHEMA
from reconciler.state.lease import file_holder
from reconciler.state.tables.schema import TABLES
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
        self._server, self._name = server, name
        self._drop()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        self.url = urlsplit(server)._replace(path=f"/{name}").geturl()
        self._connection = psycopg.connect(self.url, autocommit=True, row_factory=dict_row)

    def take(self) -> dict[str, list[dict[str, Any]]] | None:
        if not self._exists():
            return None
        tables = {}
        with self._connection.transaction():
            for table in TABLES:
                if table != "reconciler_schema":
                    tables[table] = self._connection.execute(f"SELECT * FROM {SCHEMA}.{table}").fetchall()
        return tables

    def put(self, image: dict[str, list[dict[str, Any]]] | None) -> None:
        if not self._exists():
            return
        tables = [table for table in TABLES if table != "reconciler_schema"]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(f'{SCHEMA}.{table}' for table in tables)}")
            for table in tables:
                rows = (image or {}).get(table)
                if rows:
                    values = ", ".join(f"%({column})s" for column in rows[0])
                    cursor.executemany(f"INSERT INTO {SCHEMA}.{table} ({', '.join(rows[0])}) VALUES ({values})", rows)
        self.expire()

    def _exists(self) -> bool:
        found = self._connection.execute("SELECT to_regclass(%s) AS found", (f"{SCHEMA}.states",)).fetchone()
        return found is not None and found["found"] is not None

    def held(self) -> bool:
        now = "extract(epoch FROM clock_timestamp())"
        return bool(self._connection.execute(f"SELECT 1 FROM {SCHEMA}.leases WHERE run IS NOT NULL AND expires > {now}").fetchone())

    def expire(self) -> None:
        self._connection.execute(f"UPDATE {SCHEMA}.leases SET expires = 0 WHERE expires IS NOT NULL")

    def close(self) -> None:
        self._connection.close()
        self._drop()

    def _drop(self) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {self._name} WITH (FORCE)")


class Objected:
    """What both sorts of buckets share: another holder of the lease is seen, and made to run out, through the chain."""

    objects: Objects

    def held(self) -> bool:
        database = self._opened(create=False)
        try:
            asked = "SELECT count(*) FROM leases WHERE run IS NOT NULL AND expires > clock_seconds()"
            return bool(database.read(lambda connection: connection.value(asked)))
        finally:
            database.close()

    def expire(self) -> None:
        if self.objects.get("snapshot.db.gz") is None:
            return
        database = self._opened(create=True)
        with database.write() as connection:
            connection.run("UPDATE leases SET expires = 0 WHERE expires IS NOT NULL")
        database.close()

    def intended(self, query: str, given: tuple[str, str]) -> bool:
        """What a query of SQLite finds, as another program sees it."""
        database = self._opened(create=False)
        try:
            return bool(database.read(lambda connection: connection.raw.execute(query, given).fetchone()[0]))
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
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()} or None

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
