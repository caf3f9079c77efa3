"""Objects as the service keeps them: each with its organization, its container and its place there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from reconciler.sandbox.file import File

STEP = 1024.0  # between the positions of neighbours, halved by every insertion between two

DELETED = "kind = 'space' and json_extract(data, '$.deletedAt') is not null"

Object = dict[str, Any]


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
        value: Object = json.loads(self.texts[index])
        return value


class Store(File):
    """The objects behind one running service; use one a thread or one an event loop."""

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
            # few spaces are deleted: their partial index is read once, where a look into every row would read all their pages
            where.append(f"id not in (select id from objects indexed by deleted where {DELETED})")  # noqa: S608
        for column, value in (("organization", organization), ("container", container)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        direction = " desc" if newest else ""
        order = f"json_extract(data, '$.{by}'){direction}, id{direction}" if by else f"position{direction}, id"
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
        """How many objects a container has."""
        return int(self.connection.execute("select count(*) from objects where container = ?", (container,)).fetchone()[0])

    def count(self, kind: str, organization: str) -> int:
        """How many objects of a kind an organization has, without the deleted ones."""
        where = "kind = ? and organization = ? and json_extract(data, '$.deletedAt') is null"
        return int(self.connection.execute(f"select count(*) from objects where {where}", (kind, organization)).fetchone()[0])  # noqa: S608

    def find_all(self, kind: str, ids: Iterable[str]) -> dict[str, Object]:
        """Those of the objects that exist, by id."""
        objects: dict[str, Object] = {}
        wanted = list(dict.fromkeys(ids))
        # SQLite limits the number of parameters of a statement
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows = self.connection.execute(f"select id, data from objects where kind = ? and id in ({marks})", (kind, *part))  # noqa: S608
            objects |= {id: json.loads(data) for id, data in rows}
        return objects

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

    def parts(self, kind: str, organization: str, *names: str) -> list[Object]:
        """Some fields of the objects of a kind that are not deleted, without those that are null."""
        paths = ", ".join(f"'$.{name}'" for name in (*names, "deletedAt"))
        query = f"select json_extract(data, {paths}) from objects where kind = ? and organization = ?"  # noqa: S608
        rows = (json.loads(row[0]) for row in self.connection.execute(query, (kind, organization)))
        return [
            {name: value for name, value in zip(names, values, strict=False) if value is not None}
            for *values, deleted in rows
            if not deleted
        ]

    def count_in_site(self, kind: str, site: str) -> int:
        """How many objects of a kind one site holds."""
        where = "json_extract(data, '$.site') = ? and kind = ?"
        return int(self.connection.execute(f"select count(*) from objects where {where}", (site, kind)).fetchone()[0])  # noqa: S608

    def section_at(self, site: str, path: str, *, but: str = "") -> str | None:
        """The section of a site that has a path; `but`: a section that does not matter."""
        where = "kind = 'section' and json_extract(data, '$.site') = ? and json_extract(data, '$.path') = ? and id != ?"
        row = self.connection.execute(f"select id from objects where {where}", (site, path, but)).fetchone()  # noqa: S608
        return row[0] if row else None

    def has_section(self, site: str) -> bool:
        """Whether a site is made of sections."""
        query = "select 1 from objects indexed by paths where kind = 'section' and json_extract(data, '$.site') = ? limit 1"
        return self.connection.execute(query, (site,)).fetchone() is not None

    def section_paths(self, site: str) -> set[str]:
        """The paths of all sections of a site."""
        where = "kind = 'section' and json_extract(data, '$.site') = ?"
        rows = self.connection.execute(f"select json_extract(data, '$.path') from objects indexed by paths where {where}", (site,))  # noqa: S608
        return {row[0] for row in rows}

    def site_at(self, organization: str, basename: str, *, but: str = "") -> str | None:
        """The site of an organization that has a basename; `but`: a site that does not matter."""
        where = "kind = 'site' and organization = ? and json_extract(data, '$.basename') = ? and id != ?"
        row = self.connection.execute(f"select id from objects where {where}", (organization, basename, but)).fetchone()  # noqa: S608
        return row[0] if row else None

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
            # positions are numbers with room between them, so that an insertion writes one row and not the whole list
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
        """Put an object into a container beside an anchor (kind, id), or at its end. False where the anchor is in another row."""
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
        query = "select max(position) from objects where container = ? and not (kind = ? and id = ?)"
        position: float | None = self.connection.execute(query, (container, *but)).fetchone()[0]
        return position or 0.0

    def _spread(self, container: str, *, but: tuple[str, str]) -> None:
        """Give the siblings room between them again."""
        rows = self.connection.execute("select kind, id from objects where container = ? order by position, id", (container,)).fetchall()
        for rank, entry in enumerate((sibling for sibling in rows if sibling != but), start=1):
            self.connection.execute("update objects set position = ? where kind = ? and id = ?", (rank * STEP, *entry))

    def placed(self, kind: str, id: str) -> str | None:
        """The container of an object."""
        row = self.connection.execute("select container from objects where kind = ? and id = ?", (kind, id)).fetchone()
        return row[0] if row else None
