"""Bringing two contents of a space together that come from one: page by page, and where both changed the same, saying so."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.sites.structure import keep_path
from reconciler.sandbox.store import Object

Rows = dict[str | None, list[str]]  # the ids below each page; None is the top


def flat(pages: Any) -> tuple[dict[str, Object], Rows]:
    """The pages by id, each without those below it and before them, and the rows that contain them."""
    found: dict[str, Object] = {}
    rows: Rows = {}
    waiting: list[tuple[str | None, Object]] = [(None, page) for page in reversed(pages or [])]
    while waiting:
        above, page = waiting.pop()
        id = str(page["id"])
        found[id] = {name: value for name, value in page.items() if name != "pages"}
        rows.setdefault(above, []).append(id)
        waiting += [(id, one) for one in reversed(page.get("pages") or [])]
    return found, rows


def together(base: list[Any], ours: list[Any], theirs: list[Any]) -> tuple[list[Any], list[str]]:
    """Our pages on top of theirs, and the ids of those both changed: ours stay, a page that only one of us deleted stays too."""
    (was, was_rows), (mine, my_rows), (other, other_rows) = flat(base), flat(ours), flat(theirs)
    kept, conflicts = _fields(was, mine, other)
    conflicts += _paths(kept, [id for id in mine if id not in was], [id for id in other if id not in was])
    above = dict.fromkeys([*other_rows, *my_rows])
    rows = {one: _row(was_rows.get(one, []), my_rows.get(one, []), other_rows.get(one, [])) for one in above}
    seen: set[str] = set()
    tree = _tree(None, rows, kept, seen)
    for id in kept:
        if id not in seen:  # the pages below a deleted page
            seen.add(id)
            tree.append({**kept[id], "pages": _tree(id, rows, kept, seen)})
    return tree, conflicts


def files_together(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any]:
    """The same for files; where both changed one, ours stays."""
    was, mine, other = ({str(one["id"]): one for one in row} for row in (base, ours, theirs))
    return list(_fields(was, mine, other)[0].values())


def _fields(was: dict[str, Object], mine: dict[str, Object], other: dict[str, Object]) -> tuple[dict[str, Object], list[str]]:
    kept, conflicts = {}, []
    for id in dict.fromkeys([*other, *mine]):
        before, ours, theirs = was.get(id), mine.get(id), other.get(id)
        one = theirs if before == ours else ours
        if ours not in (before, theirs) and before != theirs:
            conflicts.append(id)
            one = ours or theirs
        if one is not None:
            kept[id] = dict(one)
    return kept, conflicts


def _paths(kept: dict[str, Object], mine: list[str], other: list[str]) -> list[str]:
    """Give those of our new pages another path whose path a new page of theirs has."""
    conflicts = []
    theirs = {kept[id].get("path") for id in other if id in kept and id not in mine}
    for id in mine:
        path = kept[id].get("path")
        if isinstance(path, str) and path in theirs:
            conflicts.append(id)
            kept[id]["path"] = keep_path(path, {str(one.get("path")) for one in kept.values()})
            kept[id]["slug"] = kept[id]["path"]
    return conflicts


def _row(was: list[str], mine: list[str], other: list[str]) -> list[str]:
    if other == was:
        return mine
    if mine == was:
        return other
    row = [id for id in other if id in mine or id not in was]
    for at, id in enumerate(mine):
        if id not in was and id not in row:
            before = next((one for one in reversed(mine[:at]) if one in row), None)
            row.insert(row.index(before) + 1 if before is not None else 0, id)
    return row


def _tree(above: str | None, rows: Rows, kept: dict[str, Object], seen: set[str]) -> list[Any]:
    tree = []
    for id in rows.get(above, []):
        if id in kept and id not in seen:
            seen.add(id)
            tree.append({**kept[id], "pages": _tree(id, rows, kept, seen)})
    return tree
