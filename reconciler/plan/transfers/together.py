"""What is transferred together, what the service shows afterwards, and whose addresses the state changes together. Pure.

In: the objects that were read, and which of them are in a container that the YAML has them leave. Out: those that need a request of their
own, those that such a request includes, and the same reading as if all that had been done: the rest of a plan is based on it.

The state changes all addresses of one *batch* with the outcome of its last transfer. A batch is mostly what one request brings. Where one
address is freed by a transfer and taken by another, both belong to it, so that at no moment two objects have one address:

    moved: acme/space/guide -> beta/space/guide      one batch: each address is free only once the other
           beta/space/guide -> acme/space/guide      object has left it, and the state changes both at the end
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Actual, Observed
from reconciler.plan.containment import Contents, Key, groups, parent
from reconciler.plan.decisions import Batch, TransferredTogether
from reconciler.plan.matching.matches import Matches
from reconciler.resource import Kinds


def transferred_together(actual: Actual, contents: Contents, matches: Matches) -> TransferredTogether:
    """What is transferred by what. `contents`: of `actual`."""
    is_any = any(match.transfers is not None for match in matches.values())
    return _Transfers(actual, contents, matches).together() if is_any else TransferredTogether(actual)


def in_container(kinds: Kinds, observed: Observed, container: str, *, top: bool) -> Observed:
    """An object as its new container shows it; `top`: it is at the top of that."""
    kind = kinds[observed.kind]
    values = {**observed.values, kind.inside.name: None} if kind.inside is not None and top else observed.values
    within = {**observed.within, str(kind.within): container}
    return replace(observed, within=within, values=values, rank=None if top else observed.rank)


class _Transfers:
    """`target`: the new container of each object that the YAML has leave its own; `address`: its address. `remaining`: other matches."""

    def __init__(self, actual: Actual, contents: Contents, matches: Matches) -> None:
        self.kinds = kinds = contents.kinds
        self.actual, self.contents, self.matches = actual, contents, matches
        self.transferable = [kind.name for kind in kinds.values() if kind.transferable is not None]
        self.target: dict[Key, str] = {}
        self.address: dict[Key, Address] = {}
        for address in matches.where(lambda match: match.transfers is not None):
            key = (kinds.of(address).name, matches.ids[address])
            self.address[key] = address
            self.target[key] = matches.ids[address.root]
        self.remaining = {(kinds.of(address).name, match.id) for address, match in matches.items() if match.id is not None} - {*self.target}
        self._destinations: dict[Key, str | None] = {}

    def together(self) -> TransferredTogether:
        roots: dict[Address, tuple[Key, ...]] = {}
        root_of: dict[Address, Address] = {}
        objects = {name: dict(some) for name, some in self.actual.objects.items()}
        for key, address in self.address.items():
            if self._is_included(key):
                continue
            inside = tuple(self._inside(key))
            roots[address] = inside
            for inner in (key, *inside):
                observed = self.actual.find(*inner)
                if observed is None or self._destination(inner) != self.target[key]:
                    continue
                objects[inner[0]][inner[1]] = in_container(self.kinds, observed, self.target[key], top=inner == key)
                if inner != key and inner in self.address and self._is_included(inner):
                    root_of[self.address[inner]] = address
        return TransferredTogether(replace(self.actual, objects=objects), roots, root_of)

    def _inside(self, key: Key) -> Iterator[Key]:
        """Everything in an object, at any depth, in the order in which it was read."""
        seen, ahead = {key}, [key]
        while ahead:
            outer = ahead.pop()
            for name in self.transferable:
                for observed in self.contents.inside(name, *outer):
                    inner = (name, observed.id)
                    if inner not in seen:
                        seen.add(inner)
                        ahead.append(inner)
                        yield inner

    def _is_included(self, key: Key) -> bool:
        """Whether the transfer of what contains an object includes it, and leads to where it belongs."""
        observed = self.actual.find(*key)
        outer = parent(self.kinds[key[0]], observed) if observed is not None else None
        return outer is not None and self._destination(outer) == self.target[key]

    def _destination(self, key: Key) -> str | None:
        """The container that an object is in after the transfers; None where it stays in its own."""
        if key not in self._destinations:
            self._destinations[key] = None  # an object inside itself stays
            observed = self.actual.find(*key)
            outer = parent(self.kinds[key[0]], observed) if observed is not None and key not in self.remaining else None
            self._destinations[key] = self.target.get(key) or (self._destination(outer) if outer is not None else None)
        return self._destinations[key]


# -- which addresses the state changes together ------------------------------------------------------------------------------------


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
    former = {new: old for old, new in moves.items()}
    pairs = [(old, new) for old, new in moves.items()]
    pairs += [(old, old.container) for old, new in moves.items() if old.container is not None and moves.get(old.container) == new.container]
    pairs += [(old, former[root_of[new]]) for old, new in moves.items() if root_of.get(new) in former]
    leader = groups(moves, pairs)
    result: dict[Address, list[Address]] = {}
    for root in roots:
        if root in former:
            result.setdefault(leader[former[root]], []).append(root)
    members: dict[Address, dict[Address, Address]] = {at: {} for at in result}
    for old, new in moves.items():
        if leader[old] in members:
            members[leader[old]][old] = new
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
