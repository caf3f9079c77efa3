"""Expands a flow map or list into lines of its own, so that lines can be added. Changes the given text."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.yamltext.cursor import MarkedText
from reconciler.yamltext.errors import Untouchable
from reconciler.yamltext.format import TreeWriter, same
from reconciler.yamltext.key_order import ANY
from reconciler.yamltext.trail import TrailStep
from reconciler.yamltext.tree import Node, leaves, parse


def open_up(tracked: MarkedText, find: Callable[[Node], tuple[tuple[TrailStep, ...], Node]]) -> None:
    """Expand what `find` returns for the root of a tree, and everything around it, into lines. Comments and marks are kept.

    Raises `Untouchable` where that is not possible.
    """
    text = tracked.text
    tree = parse(text)
    steps, node = find(tree.root)
    outer = next((step for step in steps if step.child.value.flow), None)
    if outer is None or outer.holder.flow:
        raise Untouchable.at("it is inside braces that cannot be expanded", text, node.start)
    for one in (*(step.child.value for step in steps), node):
        one.flow = False
    child = outer.child
    first = text.rfind("\n", 0, child.start) + 1
    last = text.find("\n", child.value.end)
    last = len(text) if last < 0 else last
    child.lead = []
    lines = TreeWriter(tree).child(child, child.column, ANY)
    above = [" " * child.column + line for line in child.lead if line]
    prefix = text[first : child.start].strip(" ")
    made = "\n".join([*above, *lines])
    new = text[:first] + made + text[last:]
    if prefix or not same(parse(text), new):
        raise Untouchable.at("it is inside braces that cannot be expanded", text, node.start)
    places = dict(zip((leaf.start for leaf in leaves(parse(text).root)), (leaf.start for leaf in leaves(parse(new).root)), strict=True))
    tracked.text = new
    tracked.marks = {name: places[index] for name, index in tracked.marks.items()}
