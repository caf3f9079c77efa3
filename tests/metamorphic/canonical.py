"""Everything a service holds, by names: paths of titles and keys instead of ids, and no times.

Two services whose `canonical` is equal are alike to everybody, in what was written and in what the service derived by itself: paths,
default flags, order.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

IGNORED = frozenset(
    {
        "id",
        "_pk",
        "createdAt",
        "updatedAt",
        "joinedAt",
        "lastSeenAt",
        "_started",
        "_secret",
        "_runs",
        "_last",
        "revision",
        "parent",
        "site",
        "section",
    }
    | {"sectionGroup", "organization", "_organization"}  # the name says it
)
RANKED = frozenset({"collection", "space", "section", "group", "site-space"})
APART = frozenset({"section", "group"})  # no list shows how these two stand among each other
TITLES = ("title", "name", "entityID", "slug", "email")
ID = re.compile(r"[a-z]+_[0-9a-z]+")
MADE = re.compile(r"[a-z]+_[0-9a-f]{6}")  # an id that the service gave
DELETED = "(deleted)"

Canonical = Mapping[str, Mapping[str, Any]]


def canonical(connection: sqlite3.Connection, without: Collection[str] = (), *, listed: bool = False) -> dict[str, dict[str, Any]]:
    """Every object by its name; a deleted space does not exist. Twins are numbered in their order.

    `without`: ids of what is left out. `listed`: spaces and collections are ranked only as far as a list of the service shows their order,
    which is that of the spaces of a collection.
    """
    query = "select id, kind, container, data from objects order by container, position, id"
    rows = [(id, kind, container, json.loads(data)) for id, kind, container, data in connection.execute(query)]
    rows = [row for row in rows if not row[3].get("deletedAt") and row[0] not in without]
    names = _Names({id.rsplit(":", 1)[-1]: (kind, container, data) for id, kind, container, data in rows})
    ranks: dict[str, int] = defaultdict(int)
    content: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for id, kind, container, data in rows:
        values = {key: names.replaced(value) for key, value in data.items() if key not in IGNORED}
        shown = {key: value for key, value in values.items() if value not in (DELETED, None)}  # no reading shows these
        if kind in RANKED and not (listed and (kind == "collection" or container.startswith("root:"))):
            row = f"{container} {kind}" if kind in APART or listed else container
            ranks[row] += 1
            shown["rank"] = ranks[row]
        content[names.of(id.rsplit(":", 1)[-1])].append(shown)
    named: dict[str, dict[str, Any]] = {}
    for name, objects in content.items():
        if not any("rank" in shown for shown in objects):
            objects.sort(key=lambda shown: json.dumps(shown, sort_keys=True))
        named |= {name if number == 1 else f"{name} #{number}": shown for number, shown in enumerate(objects, start=1)}
    return dict(sorted(named.items()))


class _Names:
    """The names of objects; each is told once."""

    def __init__(self, objects: Mapping[str, tuple[str, str, Mapping[str, Any]]]) -> None:
        self._objects = objects
        self._names: dict[str, str] = {}

    def of(self, id: str) -> str:
        """`kind title/title/title`, from the organization down."""
        if id not in self._names:
            kind, _, _ = self._objects[id]
            self._names[id] = f"{kind} {'/'.join(self._path(id))}"
        return self._names[id]

    def _path(self, id: str) -> list[str]:
        kind, container, data = self._objects[id]
        if kind == "site-space":
            title = f"({self.of(data['_space'])})" if data["_space"] in self._objects else "(a deleted space)"
        else:
            title = next((str(data[field]) for field in TITLES if data.get(field) is not None), "")
        above = next((part for part in container.split(":")[1:] if part in self._objects), None)
        return [*(self._path(above) if above is not None else ()), title]

    def replaced(self, value: Any) -> Any:
        """A value with names for ids, and without the ids and revisions of pages."""
        if isinstance(value, str):
            return ID.sub(self._replaced, value)
        if isinstance(value, list):
            return [self.replaced(part) for part in value]
        if isinstance(value, dict):
            return {key: self.replaced(part) for key, part in value.items() if key != "id"}
        return value

    def _replaced(self, match: re.Match[str]) -> str:
        if match[0] in self._objects:
            return self.of(match[0])
        return DELETED if MADE.fullmatch(match[0]) else match[0]


def differences(expected: Canonical, actual: Canonical, *, ignored: Collection[str] = ()) -> list[str]:
    """What differs, a line for each field; empty where both are alike. `ignored`: fields that may differ."""
    lines = [f"missing: {name}" for name in expected.keys() - actual.keys()]
    lines += [f"left over: {name}" for name in actual.keys() - expected.keys()]
    for name in expected.keys() & actual.keys():
        for field in expected[name].keys() | actual[name].keys():
            before, after = expected[name].get(field), actual[name].get(field)
            if before != after and field not in ignored:
                lines.append(f"{name}: {field} is {after!r} and not {before!r}")
    return sorted(lines)
