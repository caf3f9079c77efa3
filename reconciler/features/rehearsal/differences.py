"""What an undo did not bring back: the differences between two exports of a copy, one sentence for each object. Pure.

When something was written is not a difference, and neither is the number that the service gives to a position.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address

Rows = Mapping[tuple[str, str], Mapping[str, Any]]
"""The objects of an export by kind and id: `container`, `position` and `data`."""

# Changed by every write, and by nothing that a person decides.
TIMES: Final = frozenset({"updatedAt", "createdAt", "joinedAt", "revision", "_started", "_shown"})
SECRET: Final = "_secret"  # noqa: S105  the name of a field


def rows_of(export: Mapping[str, Any]) -> Rows:
    """The objects of an export by kind and id, without those that were deleted and can be restored for a while."""
    return {(entry["kind"], entry["id"]): entry for entry in export["objects"] if not entry["data"].get("deletedAt")}


def leftovers(before: Rows, after: Rows, addresses: Mapping[tuple[str, str], Address], reasons: Mapping[Address, str]) -> tuple[str, ...]:
    """A sentence for each object that is not as it was, in the order of kinds.

    `addresses`: of managed objects. `reasons`: why an undo does not bring something back; one that no difference bears out comes first.
    """
    explained = {addresses.get(key) for key, same in ((key, after.get(key)) for key in before) if same is None}
    alone = [f"{address}: {reason}" for address, reason in reasons.items() if address not in explained]
    return tuple(dict.fromkeys([*alone, *_sentences(before, after, addresses, reasons)]))


def _sentences(before: Rows, after: Rows, addresses: Mapping[tuple[str, str], Address], reasons: Mapping[Address, str]) -> Iterator[str]:
    new: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for key, entry in after.items():
        if key not in before:
            new[key[0], _title(entry)].append(entry)
    for (kind, id), entry in sorted(before.items()):
        address = addresses.get((kind, id))
        name = f'{kind} "{_title(entry)}"' if address is None else str(address)
        same = after.get((kind, id))
        if same is None:
            again = new.get((kind, _title(entry)))
            if again:
                recreated = again.pop()
                yield f"{name} has a new id" + (" and a new key" if SECRET in recreated["data"] else "")
            elif address is not None and address in reasons:
                yield f"{name} {reasons[address]}"
            else:
                yield f"{name} no longer exists"
        else:
            fields = [field for field in _different(entry["data"], same["data"]) if field not in TIMES]
            if fields:
                yield f"{name} has another {' and '.join(filter(None, [', '.join(sorted(fields)[:-1]), sorted(fields)[-1]]))}"
            if entry["container"] != same["container"]:
                yield f"{name} is in another place"
    for (kind, title), entries in sorted(new.items()):
        for _ in entries:
            yield f'{kind} "{title}" is new'
    yield from _orders(before, after, addresses)


def _orders(before: Rows, after: Rows, addresses: Mapping[tuple[str, str], Address]) -> Iterator[str]:
    """Rows of siblings that are in another order."""
    for container, ids in _siblings(before, after).items():
        now = _siblings(after, before).get(container, [])
        if ids != now and sorted(ids) == sorted(now):
            yield f"the order of {ids[0][0]}s in {_container(container, before, addresses)} is another one"


def _siblings(rows: Rows, others: Rows) -> dict[str, list[tuple[str, str]]]:
    """The objects of each container that both have, in their order."""
    siblings: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, entry in sorted(rows.items(), key=lambda item: (item[1]["position"], item[0])):
        if key in others and others[key]["container"] == entry["container"]:
            siblings[entry["container"]].append(key)
    return siblings


def _container(container: str, rows: Rows, addresses: Mapping[tuple[str, str], Address]) -> str:
    """The name of a container that an export writes as `KIND:ID`."""
    kind, _, id = container.partition(":")
    row = rows.get((kind, id))
    return str(addresses.get((kind, id)) or (f'{kind} "{_title(row)}"' if row is not None else container))


def _different(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def _title(entry: Mapping[str, Any]) -> str:
    data = entry["data"]
    return str(
        data.get("title") or data.get("name") or data.get("label") or data.get("slug") or data.get("email") or data.get("path") or ""
    )
