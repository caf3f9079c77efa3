"""Bringing two contents of a space together that come from one: page by page, and where both changed the same, saying so."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.sites.structure import keep_path
from reconciler.sandbox.store import Object

Rows = dict[str | None, list[str]]  # the ids below each page; None is the top


def flat(pages: Any) -> tuple[dict[str, Object], Rows]:
    """The pages by id, each without those below it and before them, and the rows that contain them."""
    by_id: dict[str, Object] = {}
    rows: Rows = {}
    waiting: list[tuple[str | None, Object]] = [(None, page) for page in reversed(pages or [])]
    while waiting:
        above, page = waiting.pop()
        id = str(page["id"])
        by_id[id] = {name: value for name, value in page.items() if name != "pages"}
        rows.setdefault(above, []).append(id)
        waiting += [(id, child) for child in reversed(page.get("pages") or [])]
    return by_id, rows


def together(base: list[Any], ours: list[Any], theirs: list[Any]) -> tuple[list[Any], list[str]]:
    """Our pages on top of theirs, and the ids of those both changed: ours stay, a page that only one of us deleted stays too."""
    (was, was_rows), (mine, my_rows), (other, other_rows) = flat(base), flat(ours), flat(theirs)
    kept, conflicts = _fields(was, mine, other)
    conflicts += _paths(kept, [id for id in mine if id not in was], [id for id in other if id not in was])
    above = dict.fromkeys([*other_rows, *my_rows])
    rows = {parent: _row(was_rows.get(parent, []), my_rows.get(parent, []), other_rows.get(parent, [])) for parent in above}
    seen: set[str] = set()
    tree = _tree(None, rows, kept, seen)
    for id in kept:
        # a page that is kept below a deleted one has no place any more: it comes to the end of the root
        if id not in seen:
            seen.add(id)
            tree.append({**kept[id], "pages": _tree(id, rows, kept, seen)})
    return tree, conflicts


def files_together(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any]:
    """The same for files; where both changed one, ours stays."""
    was, mine, other = ({str(file["id"]): file for file in row} for row in (base, ours, theirs))
    return list(_fields(was, mine, other)[0].values())


def _fields(was: dict[str, Object], mine: dict[str, Object], other: dict[str, Object]) -> tuple[dict[str, Object], list[str]]:
    kept, conflicts = {}, []
    for id in dict.fromkeys([*other, *mine]):
        before, ours, theirs = was.get(id), mine.get(id), other.get(id)
        winner = theirs if before == ours else ours
        if ours not in (before, theirs) and before != theirs:
            conflicts.append(id)
            winner = ours or theirs
        if winner is not None:
            kept[id] = dict(winner)
    return kept, conflicts


def _paths(kept: dict[str, Object], mine: list[str], other: list[str]) -> list[str]:
    """Give those of our new pages another path whose path a new page of theirs has."""
    conflicts = []
    theirs = {kept[id].get("path") for id in other if id in kept and id not in mine}
    for id in mine:
        path = kept[id].get("path")
        if isinstance(path, str) and path in theirs:
            conflicts.append(id)
            kept[id]["path"] = keep_path(path, {str(page.get("path")) for page in kept.values()})
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
            before = next((item for item in reversed(mine[:at]) if item in row), None)
            row.insert(row.index(before) + 1 if before is not None else 0, id)
    return row


def _tree(above: str | None, rows: Rows, kept: dict[str, Object], seen: set[str]) -> list[Any]:
    tree = []
    for id in rows.get(above, []):
        if id in kept and id not in seen:
            seen.add(id)
            tree.append({**kept[id], "pages": _tree(id, rows, kept, seen)})
    return tree
