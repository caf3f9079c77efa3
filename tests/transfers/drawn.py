"""Two random organizations, and a random way in which people move things between them and within them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.transfers.two import Tree

ROOTS = ("acme", "beta")
SOURCES = {"acme": "blank", "beta": "base"}


@dataclass(frozen=True)
class Node:
    """A collection or a space. `parent`: the number of the collection that it is in, None at the top."""

    number: int
    kind: str
    root: str
    key: str
    title: str
    parent: int | None = None

    @property
    def address(self) -> str:
        return f"{self.root}/{self.kind}/{self.key}"


@dataclass(frozen=True)
class Drawn:
    """What is declared before and after, and the lines of `moved` that say what became of what."""

    before: dict[str, Tree]
    after: dict[str, Tree]
    moved: tuple[tuple[str, str], ...]

    @property
    def first(self) -> tuple[Tree, Tree]:
        return self.before["acme"], self.before["beta"]

    @property
    def last(self) -> tuple[Tree, Tree]:
        return self.after["acme"], self.after["beta"]


def drawn(seed: int | str, *, whole: bool = False) -> Drawn:
    """One of endlessly many; at least one thing is given to the other organization. `whole`: no line is left out."""
    chance = random.Random(f"transfers {seed}")
    nodes: dict[int, Node] = {}
    for number in range(chance.randint(3, 9)):
        root = chance.choice(ROOTS)
        hosts = [node.number for node in nodes.values() if (node.kind, node.root) == ("collection", root)]
        kind = chance.choice(("collection", "space", "space"))
        parent = chance.choice([None, *hosts])
        key = f"k{sum((node.kind, node.root) == (kind, root) for node in nodes.values())}"  # the same keys in both
        nodes[number] = Node(number, kind, root, key, f"Title {number}", parent)
    changed = _Change(chance, nodes).whole()
    return Drawn(_trees(nodes), _trees(changed), tuple(_lines(chance, nodes, changed, whole)))


class _Change:
    """The same nodes after a few edits, in their new order."""

    def __init__(self, chance: random.Random, nodes: dict[int, Node]) -> None:
        self.chance, self.first, self.nodes, self.fresh = chance, nodes, dict(nodes), len(nodes)

    def whole(self) -> dict[int, Node]:
        edits = [self.give, self.give, self.swap, self.move, self.rename, self.retitle, self.shuffle, self.remove, self.add]
        self.give()
        for _ in range(self.chance.randint(0, 5)):
            self.chance.choice(edits)()
        self._unique()
        return self.nodes

    def give(self) -> None:
        """To the other organization, with all it contains."""
        node = self.chance.choice([*self.nodes.values()])
        self._give(node.number, ROOTS[node.root == ROOTS[0]])

    def swap(self) -> None:
        """Two that are not in each other change places and keys between the organizations."""
        one = self.chance.choice([*self.nodes.values()])
        others = [node for node in self.nodes.values() if node.kind == one.kind and node.root != one.root]
        if others:
            other = self.chance.choice(others)
            self._give(one.number, other.root)
            self._give(other.number, one.root)
            self.nodes[one.number] = replace(self.nodes[one.number], key=other.key)
            self.nodes[other.number] = replace(self.nodes[other.number], key=one.key)

    def move(self) -> None:
        node = self.chance.choice([*self.nodes.values()])
        self.nodes[node.number] = replace(node, parent=self._host(node.number, node.root))

    def rename(self) -> None:
        node = self.chance.choice([*self.nodes.values()])
        self.nodes[node.number] = replace(node, key=self._key())

    def retitle(self) -> None:
        node = self.chance.choice([*self.nodes.values()])
        self.nodes[node.number] = replace(node, title=f"{node.title} again")

    def shuffle(self) -> None:
        order = [*self.nodes]
        self.chance.shuffle(order)
        self.nodes = {number: self.nodes[number] for number in order}

    def remove(self) -> None:
        holding = {node.parent for node in self.nodes.values()}
        empty = [number for number in self.nodes if number not in holding]
        if len(self.nodes) > 2:
            del self.nodes[self.chance.choice(empty)]

    def add(self) -> None:
        number = 100 + self.fresh
        root = self.chance.choice(ROOTS)
        self.nodes[number] = Node(number, "space", root, self._key(), f"Title {number}", self._host(number, root))

    def _key(self) -> str:
        self.fresh += 1
        return f"k{self.fresh + 100}"

    def _give(self, number: int, root: str) -> None:
        for inner in self._inside(number):
            self.nodes[inner] = replace(self.nodes[inner], root=root)
        self.nodes[number] = replace(self.nodes[number], parent=self._host(number, root))

    def _inside(self, number: int) -> list[int]:
        found = [number]
        for at in found:
            found += [node.number for node in self.nodes.values() if node.parent == at]
        return found

    def _host(self, number: int, root: str) -> int | None:
        inside = self._inside(number) if number in self.nodes else []
        hosts = [node.number for node in self.nodes.values() if (node.kind, node.root) == ("collection", root)]
        return self.chance.choice([None, *(host for host in hosts if host not in inside)])

    def _unique(self) -> None:
        """What got a key that something else has, or had and is removed, gets a new one."""
        taken = {node.address for number, node in self.first.items() if number not in self.nodes}
        for number, node in self.nodes.items():
            if node.address in taken:
                self.nodes[number] = node = replace(node, key=self._key())
            taken.add(node.address)


def _trees(nodes: dict[int, Node]) -> dict[str, Tree]:
    def below(root: str, parent: int | None) -> Tree:
        return [
            {"collection": node.key, "title": node.title, "content": below(root, node.number)}
            if node.kind == "collection"
            else {"space": node.key, "title": node.title, "duplicateOf": SOURCES[root]}
            for node in nodes.values()
            if (node.root, node.parent) == (root, parent)
        ]

    return {root: below(root, None) for root in ROOTS}


def _lines(chance: random.Random, before: dict[int, Node], after: dict[int, Node], whole: bool) -> Iterator[tuple[str, str]]:
    """The lines that say what has another address now; some of those that follow from that of a collection are left out."""
    there = {node.address for node in after.values()}
    held = {node.address for node in before.values()}  # what gets an address that something else had needs its line
    lines = []
    for number, old in before.items():
        new = after.get(number)
        if new is None or new.address == old.address:
            continue
        outer = next((at for at in _above(before, old) if at in after and after[at].root != before[at].root), None)
        follows = outer is not None and new.root != old.root and new.key == old.key and old.address not in there and new.address not in held
        if whole or not (follows and chance.random() < 0.6):
            lines.append((old.address, new.address))
    chance.shuffle(lines)
    yield from lines


def _above(nodes: dict[int, Node], node: Node) -> Iterator[int]:
    while node.parent is not None:
        yield node.parent
        node = nodes[node.parent]
