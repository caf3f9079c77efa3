"""The path to a node in the tree of a YAML text, the lines it takes, and expanding it into lines of its own. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from reconciler.yamltext.format import ANY, TreeWriter, keeps, same
from reconciler.yamltext.tree import Child, MarkedText, Node, Tree, Untouchable, leaves, parse


@dataclass(frozen=True)
class TrailStep:
    """One map or list on the path, and its child on the path."""

    holder: Node
    child: Child

    @property
    def index(self) -> int:
        """The child's index in its holder, from 0."""
        return next(at for at, child in enumerate(self.holder.children) if child is self.child)

    def beside(self, by: int) -> Child | None:
        """A sibling, None where there is none."""
        at = self.index + by
        return self.holder.children[at] if 0 <= at < len(self.holder.children) else None


def trail(root: Node, index: int) -> tuple[TrailStep, ...]:
    """The path to the entry whose key begins at an index, or to the item that begins there. Raises `ValueError` where neither does."""
    steps: list[TrailStep] = []
    node = root
    while node.children:
        at = bisect_right(node.children, index, key=_start) - 1
        if at < 0:
            break
        child = node.children[at]
        steps.append(TrailStep(node, child))
        if index == (child.key.start if child.key is not None else child.value.start) and (child.key or not child.value.children):
            return tuple(steps)
        node = child.value
    raise ValueError(f"nothing begins at {index}")


def _start(child: Child) -> int:
    return child.start


def resource(root: Node, index: int) -> tuple[tuple[TrailStep, ...], Node]:
    """The path to a resource, and its value: of its key, or the map that its tag begins, or a bare value."""
    steps = trail(root, index)
    return steps, steps[-1].child.value


def node(root: Node, index: int) -> tuple[tuple[TrailStep, ...], Node]:
    """The path to a list's node by its tag or its bare value, and the node."""
    steps = trail(root, index)
    if steps[-1].child.key is not None:
        steps = steps[:-1]
    return steps, steps[-1].child.value if steps else root


def entry(node: Node, name: str) -> Child | None:
    """The entry of a key of a map; None where there is none."""
    return next((child for child in node.children if child.key is not None and child.key.text == name), None)


def refuse_aliases(tree: Tree, text: str, steps: tuple[TrailStep, ...]) -> None:
    """Raise `Untouchable` where an alias repeats something on the path."""
    for step in steps:
        for value in (step.holder, step.child.value):
            if value.anchor is not None and repeated(tree.root, value.anchor):
                raise Untouchable.at(f"&{value.anchor} is repeated elsewhere", text, value.start)


def repeated(root: Node, anchor: str) -> int:
    """The number of aliases of an anchor."""
    return sum(leaf.shape == "alias" and leaf.text == anchor for leaf in leaves(root))


def colon(text: str, child: Child) -> int:
    """The index after the colon of an entry."""
    assert child.key is not None
    return text.index(":", child.key.end) + 1


def head(text: str, child: Child) -> int:
    """The index after the colon of an entry, and after its anchor."""
    value = child.value
    return text.index("&", child.key.end if child.key is not None else 0) + 1 + len(value.anchor) if value.anchor else colon(text, child)


def begin(text: str, child: Child) -> int:
    """The index at which the lines of an item or entry of a block begin, including the comments directly above it."""
    start = text.rfind("\n", 0, child.start) + 1
    while start:
        line = text.rfind("\n", 0, start - 1) + 1
        above = text[line:start].lstrip(" ")
        # A comment that is indented deeper belongs to the end of what is above it.
        if not above.startswith("#") or start - line - len(above) > child.column:
            break
        start = line
    return start


def end(text: str, child: Child) -> int:
    """The index at which the lines of an item or entry of a block end, including comments below it that are indented deeper."""
    if keeps(child.value):
        return child.value.end
    stop = child.start + len(text[child.start : max(child.value.end, child.key.end if child.key is not None else 0)].rstrip())
    stop = next_line(text, stop)
    at = stop
    while at < len(text):
        line = text[at : next_line(text, at)]
        plain = line.lstrip(" ")
        # The same from the other side: a deeper comment below is the last line of this item.
        if plain.startswith("#") and len(line) - len(plain) > child.column:
            stop = at + len(line)
        elif plain.strip():
            break
        at += len(line)
    return stop


def next_line(text: str, at: int) -> int:
    """The index at which the line below that of an index begins."""
    end_of_line = text.find("\n", at)
    return end_of_line + 1 if end_of_line >= 0 else len(text)


def expand(tracked: MarkedText, find: Callable[[Node], tuple[tuple[TrailStep, ...], Node]]) -> None:
    """Expand what `find` returns for the root of a tree, and everything around it, into lines. Comments and marks are kept.

    Raises `Untouchable` where that is not possible.
    """
    text = tracked.text
    tree = parse(text)
    steps, node = find(tree.root)
    outer = next((step for step in steps if step.child.value.flow), None)
    if outer is None or outer.holder.flow:
        raise Untouchable.at("it is inside braces that cannot be expanded", text, node.start)
    for value in (*(step.child.value for step in steps), node):
        value.flow = False
    child = outer.child
    first = text.rfind("\n", 0, child.start) + 1
    last = text.find("\n", child.value.end)
    last = len(text) if last < 0 else last
    child.lead, child.remark_column = [], 0
    lines = TreeWriter(tree).child(child, child.column, ANY)
    above = [" " * child.column + line for line in child.lead if line]
    prefix = text[first : child.start].strip(" ")
    expanded = "\n".join([*above, *lines])
    new = text[:first] + expanded + text[last:]
    # Proved, not believed: whatever the writer did, the data must be the same.
    if prefix or not same(parse(text), new):
        raise Untouchable.at("it is inside braces that cannot be expanded", text, node.start)
    places = dict(zip((leaf.start for leaf in leaves(parse(text).root)), (leaf.start for leaf in leaves(parse(new).root)), strict=True))
    tracked.text = new
    tracked.marks = {name: places[index] for name, index in tracked.marks.items()}
