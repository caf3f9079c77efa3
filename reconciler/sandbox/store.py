"""One SQLite file: objects as the service keeps them, the tokens, the file's own identity and clock. Safe between processes."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, overload

APPLICATION = 0x52434E53  # "RCNS" in the file's header: this file is a sandbox
BUSY = 10_000  # milliseconds a writer waits for another process
STEP = 1024.0  # between the positions of neighbours, halved by every insertion between two

SCHEMA = """
create table if not exists meta (key text primary key, value text not null);
create table if not exists tokens (token text primary key, member text not null, organization text not null, access text not null);
create table if not exists objects (
  id text not null, kind text not null, organization text not null, container text not null, position real not null,
  data text not null, primary key (kind, id)
) without rowid;
create table if not exists requests (
  id integer primary key, at text not null, method text not null, path text not null, status integer not null
);
create index if not exists siblings on objects (kind, container, position);
create index if not exists level on objects (container, position);
create index if not exists owned on objects (organization, kind, position);
create index if not exists in_site on objects (json_extract(data, '$.site'), kind, position);
create index if not exists deleted on objects (id) where kind = 'space' and json_extract(data, '$.deletedAt') is not null;
"""

DELETED = "kind = 'space' and json_extract(data, '$.deletedAt') is not null"

Object = dict[str, Any]


class NotASandbox(Exception):
    """The file exists and is something else."""


class Rows(Sequence[Object]):
    """Objects that are read from their text only when they are looked at: of a long list, one page."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> Object: ...
    @overload
    def __getitem__(self, index: slice) -> list[Object]: ...
    def __getitem__(self, index: int | slice) -> Object | list[Object]:
        if isinstance(index, slice):
            return [json.loads(text) for text in self.texts[index]]
        found: Object = json.loads(self.texts[index])
        return found


class Store:
    """The file behind one running service; use one a thread or one an event loop."""

    def __init__(self, db: Path, *, new_id: Callable[[str], str] | None = None) -> None:
        self.db = db
        self.new_id = new_id or (lambda prefix: f"{prefix}_{secrets.token_hex(6)}")
        db.parent.mkdir(parents=True, exist_ok=True)
        self.created = not db.exists() or db.stat().st_size == 0
        if self.created:
            os.close(os.open(db, os.O_CREAT | os.O_RDWR, 0o600))
        self.connection = sqlite3.connect(db, timeout=BUSY / 1000, isolation_level=None, check_same_thread=False)
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self.connection.close()
            raise NotASandbox(f"{db} is not a sandbox ({error}); choose another file") from error
        except NotASandbox:
            self.connection.close()
            raise

    def _open(self) -> None:
        run = self.connection.execute
        run(f"pragma busy_timeout={BUSY}")
        run("pragma synchronous=normal")
        self._refuse_others()
        with self.write():
            if self.db.stat().st_size:  # whoever else was making the file has made it by now
                self._refuse_others()
            run(f"pragma application_id={APPLICATION}")
            for statement in SCHEMA.split(";"):
                if statement.strip():
                    run(statement)
            run("insert or ignore into meta values ('identity', ?)", (secrets.token_hex(16),))
        self._log_ahead()

    def _refuse_others(self) -> None:
        made = self.connection.execute("pragma application_id").fetchone()[0]
        if made != APPLICATION and self.db.stat().st_size:
            raise NotASandbox(f"{self.db} is not a sandbox; choose another file")

    def _log_ahead(self) -> None:
        """Switch to the write-ahead log; SQLite itself does not wait for others here."""
        until = time.monotonic() + BUSY / 1000
        while True:
            try:
                self.connection.execute("pragma journal_mode=wal")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def close(self) -> None:
        self.connection.close()

    # -- transactions ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[None]:
        """One transaction that holds the file's only write lock; nests."""
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")

    # -- identity and clock ----------------------------------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: str) -> None:
        with self.write():
            self.connection.execute("insert or replace into meta values (?, ?)", (key, value))

    @property
    def identity(self) -> str:
        """Never changes for a file; ids of one file mean nothing in another."""
        return str(self.meta("identity"))

    def now(self) -> datetime:
        """The service's clock: the machine's, moved by what was set, or standing still."""
        still = self.meta("clock")
        if still is not None:
            return datetime.fromisoformat(still)
        return datetime.now(UTC) + timedelta(seconds=float(self.meta("offset") or 0))

    def stamp(self) -> str:
        return iso(self.now())

    # -- objects ---------------------------------------------------------------------------------------------------------------

    def find(self, kind: str, id: str) -> Object | None:
        row = self.connection.execute("select data from objects where kind = ? and id = ?", (kind, id)).fetchone()
        return json.loads(row[0]) if row else None

    def select(self, kind: str, *, organization: str | None = None, container: str | None = None, newest: bool = False) -> list[Object]:
        """Objects in the order of their positions, or the newest first."""
        return list(self.rows(kind, organization=organization, container=container, newest=newest))

    def rows(
        self,
        kind: str,
        *,
        organization: str | None = None,
        container: str | None = None,
        newest: bool = False,
        alive: bool = False,
        by: str | None = None,
    ) -> Rows:
        """The same, read one by one where they are looked at. `alive`: without deleted spaces. `by`: the field that gives the order."""
        where, values = ["kind = ?"], [kind]
        if alive:
            where.append(f"id not in (select id from objects indexed by deleted where {DELETED})")  # noqa: S608
        for column, value in (("organization", organization), ("container", container)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        way = " desc" if newest else ""
        order = f"json_extract(data, '$.{by}'){way}, id{way}" if by else f"position{way}, id"
        rows = self.connection.execute(f"select data from objects where {' and '.join(where)} order by {order}", values)  # noqa: S608
        return Rows([row[0] for row in rows])

    def mixed(self, container: str, most: int = -1) -> list[tuple[str, Object]]:
        """Everything in a container in its order, with its kind; the first `most` of it where that is not negative."""
        query = "select kind, data from objects where container = ? order by position, id limit ?"
        rows = self.connection.execute(query, (container, most))
        return [(kind, json.loads(data)) for kind, data in rows]

    def count_all(self) -> int:
        """How many objects the file holds."""
        return int(self.connection.execute("select count(*) from objects").fetchone()[0])

    def count_in(self, container: str) -> int:
        """How many objects stand in a container."""
        return int(self.connection.execute("select count(*) from objects where container = ?", (container,)).fetchone()[0])

    def count(self, kind: str, organization: str) -> int:
        """How many objects of a kind an organization has, without the deleted ones."""
        where = "kind = ? and organization = ? and json_extract(data, '$.deletedAt') is null"
        return int(self.connection.execute(f"select count(*) from objects where {where}", (kind, organization)).fetchone()[0])  # noqa: S608

    def find_all(self, kind: str, ids: Iterable[str]) -> dict[str, Object]:
        """Those of the objects that exist, by id."""
        found: dict[str, Object] = {}
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows = self.connection.execute(f"select id, data from objects where kind = ? and id in ({marks})", (kind, *part))  # noqa: S608
            found |= {id: json.loads(data) for id, data in rows}
        return found

    def in_site(self, site: str, *kinds: str) -> list[tuple[str, Object]]:
        """Objects of some kinds anywhere in a site, with their kinds; those of one row in their order."""
        marks = ", ".join("?" * len(kinds))
        where = f"json_extract(data, '$.site') = ? and kind in ({marks})"
        rows = self.connection.execute(f"select kind, data from objects where {where} order by position, id", (site, *kinds))  # noqa: S608
        return [(kind, json.loads(data)) for kind, data in rows]

    def count_by_site(self, kind: str, organization: str) -> dict[str, int]:
        """How many objects of a kind each site of an organization holds, in sections or at its root."""
        query = "select json_extract(data, '$.site'), count(*) from objects where organization = ? and kind = ? group by 1"
        return dict(self.connection.execute(query, (organization, kind)).fetchall())

    def values(self, kind: str, organization: str, name: str) -> set[str]:
        """What the objects of a kind hold in one field."""
        query = f"select json_extract(data, '$.{name}') from objects where kind = ? and organization = ?"  # noqa: S608
        return {row[0] for row in self.connection.execute(query, (kind, organization))}

    def count_in_site(self, kind: str, site: str) -> int:
        """How many objects of a kind one site holds."""
        where = "json_extract(data, '$.site') = ? and kind = ?"
        return int(self.connection.execute(f"select count(*) from objects where {where}", (site, kind)).fetchone()[0])  # noqa: S608

    def own(self, kind: str, id: str, organization: str) -> None:
        """Note whose an object is now."""
        with self.write():
            self.connection.execute("update objects set organization = ? where kind = ? and id = ?", (organization, kind, id))

    def deleted(self) -> list[Object]:
        """The spaces that are deleted and not purged yet."""
        rows = self.connection.execute(f"select data from objects indexed by deleted where {DELETED}")  # noqa: S608
        return [json.loads(row[0]) for row in rows]

    def add(self, kind: str, organization: str, container: str, data: Mapping[str, Any]) -> Object:
        """Put an object at the end of its container."""
        with self.write():
            last = self.connection.execute("select max(position) from objects where container = ?", (container,)).fetchone()[0]
            self._insert(kind, organization, container, (last or 0.0) + STEP, data)
        return dict(data)

    def _insert(self, kind: str, organization: str, container: str, position: float, data: Mapping[str, Any]) -> None:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        self.connection.execute(
            "insert or replace into objects (id, kind, organization, container, position, data) values (?, ?, ?, ?, ?, ?)",
            (data.get("_pk") or data["id"], kind, organization, container, position, text),
        )

    def save(self, kind: str, data: Mapping[str, Any]) -> None:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        with self.write():
            self.connection.execute("update objects set data = ? where kind = ? and id = ?", (text, kind, data.get("_pk") or data["id"]))

    def remove(self, kind: str, id: str) -> None:
        with self.write():
            self.connection.execute("delete from objects where kind = ? and id = ?", (kind, id))

    def place(
        self, kind: str, id: str, container: str, *, before: tuple[str, str] | None = None, after: tuple[str, str] | None = None
    ) -> bool:
        """Put an object into a container beside an anchor (kind, id), or at its end. False where the anchor does not stand there."""
        with self.write():
            run = self.connection.execute
            anchor = before or after
            if anchor is None:
                low, high = self._last(container, but=(kind, id)), None
            else:
                at = run("select position from objects where kind = ? and id = ? and container = ?", (*anchor, container)).fetchone()
                if at is None:
                    return False
                side, best = ("<", "max") if before else (">", "min")
                beside = f"select {best}(position) from objects where container = ? and position {side} ? and not (kind = ? and id = ?)"  # noqa: S608
                next_to = run(beside, (container, at[0], kind, id)).fetchone()[0]
                low, high = (next_to or 0.0, at[0]) if before else (at[0], next_to)
            middle = low + STEP if high is None else (low + high) / 2
            if high is not None and not low < middle < high:
                self._spread(container, but=(kind, id))
                return self.place(kind, id, container, before=before, after=after)
            run("update objects set container = ?, position = ? where kind = ? and id = ?", (container, middle, kind, id))
        return True

    def _last(self, container: str, *, but: tuple[str, str]) -> float:
        where = "container = ? and not (kind = ? and id = ?)"
        found: float | None = self.connection.execute(f"select max(position) from objects where {where}", (container, *but)).fetchone()[0]  # noqa: S608
        return found or 0.0

    def _spread(self, container: str, *, but: tuple[str, str]) -> None:
        """Give the siblings room between them again."""
        rows = self.connection.execute("select kind, id from objects where container = ? order by position, id", (container,)).fetchall()
        for rank, entry in enumerate((one for one in rows if one != but), start=1):
            self.connection.execute("update objects set position = ? where kind = ? and id = ?", (rank * STEP, *entry))

    def placed(self, kind: str, id: str) -> str | None:
        """The container an object stands in."""
        row = self.connection.execute("select container from objects where kind = ? and id = ?", (kind, id)).fetchone()
        return row[0] if row else None

    # -- tokens ----------------------------------------------------------------------------------------------------------------

    def token(self, token: str) -> tuple[str, str, str] | None:
        """(member, organization, access) of a seeded token."""
        row = self.connection.execute("select member, organization, access from tokens where token = ?", (token,)).fetchone()
        return (row[0], row[1], row[2]) if row else None

    def add_token(self, token: str, member: str, organization: str, access: str) -> None:
        with self.write():
            self.connection.execute("insert or replace into tokens values (?, ?, ?, ?)", (token, member, organization, access))


def iso(moment: datetime) -> str:
    """A time as the service writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
