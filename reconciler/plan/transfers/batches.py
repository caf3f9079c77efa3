"""Which addresses the state changes together. Pure.

In: tracked addresses with those they get, and which of these need a transfer first. Out: batches: the state changes all addresses of one
with the outcome of its last transfer. A batch is mostly what one request brings. Where one address is freed by a transfer and taken by
another (two spaces change places between organizations), both belong to it: at no moment have two objects one address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from reconciler.address import Address
from reconciler.plan.transferred import Batch


def batches(
    moves: Mapping[Address, Address],
    roots: Collection[Address],
    root_of: Mapping[Address, Address],
    inner: Mapping[Address, Collection[Address]],
) -> tuple[Batch, ...]:
    """One for each group of transfers whose addresses depend on each other.

    `moves`: tracked address to today's. `roots`: in the order of the YAML. `root_of`: see `TransferredTogether`. `inner`:
    roots by a root that they must leave before it is transferred itself.
    """
    if not roots:
        return ()
    group = {old: old for old in moves}

    def leader(old: Address) -> Address:
        while group[old] != old:
            group[old] = group[group[old]]
            old = group[old]
        return old

    def join(old: Address, other: Address | None) -> None:
        if other is not None and other in group:
            group[leader(old)] = leader(other)

    former = {new: old for old, new in moves.items()}
    for old, new in moves.items():
        join(old, new)
        if old.container is not None and moves.get(old.container) == new.container:
            join(old, old.container)
        root = root_of.get(new)
        join(old, former.get(root) if root is not None else None)
    result: dict[Address, list[Address]] = {}
    for root in roots:
        if root in former:
            result.setdefault(leader(former[root]), []).append(root)
    members: dict[Address, dict[Address, Address]] = {at: {} for at in result}
    for old, new in moves.items():
        if (at := leader(old)) in members:
            members[at][old] = new
    return tuple(Batch(tuple(_inner_first(some, inner)), members[at]) for at, some in result.items())


def each_once(by_address: Mapping[Address, Batch]) -> Iterable[Batch]:
    """The batches of a table that has each of them at all its addresses."""
    return {id(batch): batch for batch in by_address.values()}.values()


def _inner_first(roots: Sequence[Address], inner: Mapping[Address, Collection[Address]]) -> list[Address]:
    """The roots, each after those that must leave it."""
    place = {root: index for index, root in enumerate(roots)}
    ordered: dict[Address, None] = {}

    def add(root: Address) -> None:
        if root not in ordered:
            for other in sorted((other for other in inner.get(root, ()) if other in place and other != root), key=place.__getitem__):
                add(other)
            ordered[root] = None

    for root in roots:
        add(root)
    return list(ordered)
