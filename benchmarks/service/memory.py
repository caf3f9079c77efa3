"""One organization in memory: its objects by kind, and its rows of siblings. No HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

Object = dict[str, Any]
Key = tuple[str, str]

ROOT: Final = "root"


class NoSuchObject(KeyError):
    """What a request names does not exist."""


class Memory:
    """The objects by kind and id, in the order in which they were created; the rows of siblings by the name of the row."""

    def __init__(self, organization: str) -> None:
        self.id = organization
        self.kinds: dict[str, dict[str, Object]] = {}
        self.rows: dict[str, dict[Key, None]] = {}
        self.names: dict[str, set[str]] = {}  # paths that are taken, by what they are unique in
        self.version = 0
        self._number = 0
        self._stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def all(self, kind: str) -> dict[str, Object]:
        return self.kinds.setdefault(kind, {})

    def get(self, kind: str, id: str) -> Object:
        """Raises `NoSuchObject`."""
        try:
            return self.all(kind)[id]
        except KeyError:
            raise NoSuchObject(f"{kind} {id} not found") from None

    def new_id(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}_{self._number:08x}"

    def stamp(self) -> str:
        """The time at which everything was created."""
        return self._stamp

    def changed(self) -> None:
        """Answers of before are no longer valid."""
        self.version += 1

    def add(self, kind: str, row: str, data: Object) -> Object:
        self.changed()
        self.all(kind)[data["id"]] = data
        self.rows.setdefault(row, {})[kind, data["id"]] = None
        data["_row"] = row
        return data

    def remove(self, kind: str, id: str) -> None:
        data = self.all(kind).pop(id, None)
        if data is not None:
            self.changed()
            del self.rows[data["_row"]][kind, id]

    def place(self, kind: str, data: Object, row: str, *, before: Key | None = None, after: Key | None = None) -> None:
        """Put an object into a row: beside a sibling, or at the end. Raises `NoSuchObject` where that is not in the row."""
        anchor = before or after
        if anchor is not None and anchor not in self.rows.get(row, {}):
            raise NoSuchObject("position names an object that is not a sibling")
        self.changed()
        del self.rows[data["_row"]][kind, data["id"]]
        data["_row"] = row
        siblings = self.rows.setdefault(row, {})
        if anchor is None:
            siblings[kind, data["id"]] = None
            return
        keys = list(siblings)
        keys.insert(keys.index(anchor) + (after is not None), (kind, data["id"]))
        self.rows[row] = dict.fromkeys(keys)

    def row(self, name: str, *kinds: str) -> Iterator[tuple[str, Object]]:
        """What is in a row, in its order, with its kind."""
        for kind, id in self.rows.get(name, ()):
            if not kinds or kind in kinds:
                yield kind, self.all(kind)[id]

    def of(self, name: str, kind: str) -> list[Object]:
        """What is of one kind in a row, in its order."""
        return [data for _, data in self.row(name, kind)]


def inside(parent: str | None) -> str:
    """The row of what is in a collection, or at the root."""
    return f"collection:{parent}" if parent else ROOT


def level(site: str, group: str | None = None) -> str:
    """The row of sections and groups at the root of a site, or in a group."""
    return f"group:{group}" if group else f"structure:{site}"


def variants(site: str, section: str | None = None) -> str:
    """The row of site spaces in a section, or at the root of a site."""
    return f"section:{section}" if section else f"spaces:{site}"


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:90] or "page"


def free_path(title: str, taken: set[str]) -> str:
    """The path of a title, with -2, -3 where it is taken."""
    base, number, path = slug(title), 1, slug(title)
    while path in taken:
        number += 1
        path = f"{base}-{number}"
    return path
