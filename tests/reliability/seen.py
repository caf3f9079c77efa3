"""Everything a service holds, told without ids and times: two services that look alike to everybody give the same lines."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from typing import Any

TIMES = frozenset({"createdAt", "updatedAt", "joinedAt", "lastSeenAt", "_started"})
VOLATILE = TIMES | {"id", "revision", "urls", "_pages", "secret", "token", "_secret", "path", "_grants"}
# what was given to whoever created something is not given again; a path the files name is seen by the plan; others the service makes
ID = re.compile(r"[a-z]+_[0-9a-z]+")


def seen(connection: sqlite3.Connection, foreign: frozenset[str] = frozenset()) -> Counter[str]:
    """A line for each object: its kind, its place and rank among its siblings, and what it says; ids are told by titles.

    Deleted spaces are not seen. `foreign`: ids of objects of others, which are told whole.
    """
    query = "select id, kind, container, position, data from objects order by container, position, id"
    rows = [row for row in connection.execute(query) if '"deletedAt":"' not in row[4]]
    objects = {id: (kind, container, json.loads(data)) for id, kind, container, _, data in rows}
    names: dict[str, str] = {}

    def name(id: str, depth: int = 0) -> str:
        if id not in names and depth < 20:
            kind, container, data = objects[id]
            names[id] = f"<{kind}>"
            title = data.get("title") or data.get("name") or data.get("label") or data.get("slug") or data.get("email")
            if title is None and data.get("space") in objects:
                title = f"of {name(data['space'], depth + 1)}"
            names[id] = f"{kind} {title!r} in {replaced(container, depth + 1)}"
        return names[id]

    def replaced(text: str, depth: int = 0) -> str:
        return ID.sub(lambda found: name(found[0], depth) if found[0] in objects and found[0] not in foreign else found[0], text)

    ranks: dict[str, int] = defaultdict(int)
    lines: Counter[str] = Counter()
    for id, kind, container, _, data in rows:
        if id in foreign:
            lines[f"foreign {kind} {id} in {container}: {data}"] += 1
            continue
        row_of = f"{container} {kind}" if kind in APART else container
        ranks[row_of] += 1
        # A value of the sandbox's own that was cleared is like one that never was: no answer shows which.
        kept = {key: value for key, value in json.loads(data).items() if key not in VOLATILE and not (key[0] == "_" and value is None)}
        rank = ranks[row_of] if kind in RANKED else "-"
        lines[f"{name(id)} #{rank} {replaced(json.dumps(kept, sort_keys=True, ensure_ascii=False))}"] += 1
    return lines


RANKED = frozenset({"collection", "space", "section", "group", "site-space"})
PLACED = re.compile(
    r"(?P<name>(?P<kind>space|collection) (?P<quote>['\"]).*?(?P=quote) in (?P<row>.*?)) #(?P<rank>\d+) (?P<rest>\{.*)", re.DOTALL
)
APART = frozenset({"section", "group"})  # how they stand among each other no reading shows


def as_lists_show(lines: Counter[str]) -> Counter[str]:
    """The same, with spaces and collections placed only as far as a list shows it: the spaces of a collection among each other."""
    told: Counter[str] = Counter()
    rows: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for line in lines.elements():
        found = PLACED.fullmatch(line)
        if found is None:
            told[line] += 1
        elif found["kind"] == "space" and found["row"].startswith("collection:"):
            rows[found["row"]].append((int(found["rank"]), found["name"], found["rest"]))
        else:
            told[f"{found['name']} #- {found['rest']}"] += 1
    for row in rows.values():
        for rank, (_, name, rest) in enumerate(sorted(row), start=1):
            told[f"{name} #{rank} {rest}"] += 1
    return told


def difference(expected: Counter[str], found: Counter[str]) -> list[str]:
    """What is there too often, and what is missing; empty where they are alike."""
    more, less = found - expected, expected - found
    return [f"too much: {line}" for line in sorted(more.elements())] + [f"missing: {line}" for line in sorted(less.elements())]


def shortened(lines: list[str], most: int = 6) -> str:
    return "; ".join(line[:300] for line in lines[:most]) + (f"; and {len(lines) - most} more" if len(lines) > most else "")


def plain(one: Any) -> str:
    return f"{type(one).__name__}: {one}"[:400]
