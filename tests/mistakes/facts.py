"""What the service holds, read from its own file: every object by id with its name, and who can read what.

Shares nothing with the planner.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Object = dict[str, Any]
LEVELS = (None, "guest", "read", "comment", "edit", "review", "create", "admin")
NATURAL = ("team", "collection", "space", "site", "section", "group", "site-space", "share-link", "saml")


@dataclass(frozen=True)
class Facts:
    """`rows`: everything as it stands in the file. `names`: what is alive, by kind and id. `readers`: who can read or do what."""

    rows: dict[tuple[str, str], Object]
    names: dict[tuple[str, str], str]
    readers: frozenset[str]
    twins: frozenset[str]


def facts(service: Path) -> Facts:
    with closing(sqlite3.connect(f"file:{service}?mode=ro", uri=True)) as connection:
        rows = {(kind, id): json.loads(data) for kind, id, data in connection.execute("select kind, id, data from objects")}
    alive = {
        at: row for at, row in rows.items() if row.get("deletedAt") is None and at[0] in (*NATURAL, "member", "organization", "openapi")
    }
    names = {at: f"{at[0]} {_title(rows, *at)}" for at in alive}
    keys = Counter(f"{names[at]} in {_container(row)}" for at, row in alive.items() if at[0] in NATURAL)
    twins = frozenset(key for key, number in keys.items() if number > 1)
    return Facts(rows, names, frozenset(_readers(rows, alive)), twins)


def _title(rows: dict[tuple[str, str], Object], kind: str, id: str) -> str:
    row = rows[kind, id]
    if kind == "site-space":
        return str(rows["space", row["_space"]]["title"])
    return str(row.get("title") or row.get("name") or row.get("email") or row.get("slug") or row.get("entityID"))


def _container(row: Object) -> str:
    return str(row.get("section") or row.get("sectionGroup") or row.get("parent") or row.get("site") or row.get("organization"))


def _readers(rows: dict[tuple[str, str], Object], alive: dict[tuple[str, str], Object]) -> Iterator[str]:
    for (kind, id), row in alive.items():
        match kind:
            case "space" | "collection":
                yield from (f"members may {level} in ({id})" for level in _upto(_level(rows, row)))
            case "member":
                yield from (f"{row['email']} may {level} in {row['_organization']}" for level in _upto(row["role"]))
            case "organization":
                yield from (f"whoever has an address at {domain} may join {id}" for domain in row["emailDomains"])
                yield from (f"newcomers may {level} in {id}" for level in _upto(row.get("defaultRole")))
                if row.get("inviteLinks"):
                    yield f"whoever has an invite link may join {id}"
            case "openapi" if row.get("visibility") == "public":
                yield f"anyone reads {row['slug']}"
            case "site-space":
                yield from _shown(rows, row)
            case _:
                pass


def _shown(rows: dict[tuple[str, str], Object], variant: Object) -> Iterator[str]:
    """Who reads a space through a site."""
    site, space = rows["site", variant["site"]], rows["space", variant["_space"]]
    if not site.get("published") or space.get("deletedAt"):
        return
    section = rows.get(("section", variant.get("section") or ""), {})
    conditions = [item["condition"] for item in (section, variant) if item.get("condition")] if site["adaptiveContent"]["enabled"] else []
    what = f"({space['id']})" + "".join(f" if {condition}" for condition in sorted(conditions))
    visitors, knowing = ("whoever signs in",), ("whoever knows the URL",)
    who = {"public": ("anyone", *knowing, *visitors), "unlisted": knowing, "visitor-auth": visitors, "share-link": ()}
    yield from (f"{reader} reads {what}" for reader in who[site["visibility"]])
    links = [row for (kind, _), row in rows.items() if kind == "share-link" and row["site"] == site["id"] and row.get("active")]
    yield from (f"everybody with the link {link['id']} reads {what}" for link in links if site["visibility"] != "visitor-auth")


def _level(rows: dict[tuple[str, str], Object], row: Object | None) -> str | None:
    """The level of an object, or the nearest around it that is not inherited; at the top members have their own roles, told apart."""
    while row is not None and row.get("defaultLevel") == "inherit":
        row = rows.get(("collection", row.get("parent") or ""))
    return row.get("defaultLevel") if row is not None else None


def _upto(level: str | None) -> tuple[str | None, ...]:
    return LEVELS[1 : LEVELS.index(level) + 1]


@dataclass(frozen=True)
class Difference:
    """Between two moments: ids that are gone or new, by name; those that have another name; what somebody reads since; and new twins."""

    gone: tuple[str, ...]
    created: tuple[str, ...]
    becomes: dict[str, str]
    opens: tuple[str, ...]
    twins: tuple[str, ...]


def difference(before: Facts, after: Facts) -> Difference:
    old, new = before.names, after.names
    known = {id for _, id in before.rows}
    return Difference(
        gone=tuple(sorted(old[at] for at in old.keys() - new.keys())),
        created=tuple(sorted(new[at] for at in new.keys() - old.keys())),
        becomes={old[at]: new[at] for at in sorted(old.keys() & new.keys()) if old[at] != new[at] and at[0] != "site-space"},
        opens=tuple(sorted(_named(line, old) for line in after.readers - before.readers if _known(line, known))),
        twins=tuple(sorted(after.twins - before.twins)),
    )


def _known(line: str, known: set[str]) -> bool:
    """Whether it is about something that was there before: a new space of one's own exposes nothing."""
    return "(" not in line or line.rsplit("(", 1)[1].split(")")[0] in known


def _named(line: str, names: dict[tuple[str, str], str]) -> str:
    """The line with the name that the object had before."""
    for (_, id), name in names.items():
        line = line.replace(f"({id})", name)
    return line
