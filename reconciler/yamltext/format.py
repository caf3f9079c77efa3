"""The canonical layout of a project's file: order of keys, indentation, blank lines, quotes; comments and short flow maps stay.

In: a text that the project's reader accepts, and the shape of a file. Out: the formatted text, with the same data and the same comments;
where that is not possible, the text is refused. Formatting is idempotent. Pure.

Own code, because YAML formatters know no shapes: the order of keys follows from what the kinds declare.

The order of keys in a project's maps, from what the kinds declare: what identifies a resource first, its contents last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.errors import ReconcilerError
from reconciler.resource import RESERVED, FieldRole, Kind, Kinds
from reconciler.yamltext.tree import Child, Node, Tree, parse

IGNORED: Final = "x-"  # top-level keys with this prefix define anchors
FOR_EACH: Final = "forEach"
LATE: Final = 1_000  # unknown keys come before the contents of a resource, which keep their own order


@dataclass(eq=False)
class ValueShape:
    """The shape of a value, which decides the order of its keys. `ranks`: the position of each known key; equal ones keep the author's
    order.

    `inside`: the shapes of the values of known keys; `each`: of all other values of a map, or of the items of a list; `tags`: the shapes of
    items by the first key that it contains.
    """

    ranks: Mapping[str, int] = field(default_factory=dict)
    inside: Mapping[str, ValueShape] = field(default_factory=dict)
    each: ValueShape | None = None
    tags: Mapping[str, ValueShape] = field(default_factory=dict)

    def below(self, key: str | None, keys: Sequence[str]) -> ValueShape:
        """The shape of the value of a key, or of an item (key None) with these keys."""
        if key is not None and key in self.inside:
            return self.inside[key]
        if key is None:
            return next((self.tags[tag] for tag in keys if tag in self.tags), ANY)
        return self.each or ANY

    def rank(self, key: str) -> int:
        """The sort key of a key."""
        return self.ranks.get(IGNORED if key.startswith(IGNORED) else key, LATE)


ANY = ValueShape()
TEST: Final = ValueShape(tags={"as": ValueShape({word: at for at, word in enumerate(("as", "sees", "mustNotSee", "reason"))})})
"""The list of access tests."""


def _items(*keys: str) -> ValueShape:
    """A list of maps with these keys, in their order."""
    item = ValueShape({key: at for at, key in enumerate(keys)})
    return ValueShape(tags=dict.fromkeys(keys, item))


RULES: Final[Mapping[str, ValueShape]] = {
    "policies": _items("id", "on", "when", "assert", "message", "level", "reason"),
    "use": _items("policy", "level"),
    "exceptions": _items("policy", "address", "until", "reason"),
}
"""The section of policies."""

URLS: Final = ValueShape({word: at for at, word in enumerate(("redirects", "to", "gone", "sites"))}, {"gone": _items("url", "reason")})


def document(kinds: Kinds, top: Sequence[str]) -> ValueShape:
    """The shape of a project file, and of every file it includes. `top`: the keys that only the project file has, in their order."""
    shapes = {name: ValueShape() for name in kinds}
    for name, kind in kinds.items():
        _fill(shapes[name], kinds, kind, shapes)
    ranks = {word: at for at, word in enumerate((*(root.name for root in kinds.roots), *top))}
    ranks[IGNORED] = ranks.get("vars", LATE)
    inside: dict[str, ValueShape] = {"defaults": ValueShape(inside=shapes), "access": TEST, "urls": URLS, **RULES}
    for root in kinds.roots:
        inside |= shapes[root.name].inside
        inside[root.place.section_in(None)] = ValueShape(each=shapes[root.name])
    ranks |= {word: LATE + 1 for word in inside if word not in ranks} | {"removed": LATE + 2, "moved": LATE + 2, "patch": LATE + 2}
    tags = {str(kind.place.tag): shapes[name] for name, kind in kinds.items() if kind.place.in_list}  # of a file that is a list of nodes
    nested = {
        section: ValueShape(tags=tags) if shape.tags else shape
        for kind_shape in shapes.values()
        for section, shape in kind_shape.inside.items()
        if shape is not ANY
    }
    return ValueShape(ranks, {**nested, **inside}, tags=tags)


def _fill(shape: ValueShape, kinds: Kinds, kind: Kind, shapes: Mapping[str, ValueShape]) -> None:
    fields = [declared_field for declared_field in kind.fields.values() if declared_field.written]
    identity = [declared_field.name for declared_field in fields if declared_field.key]
    values = [declared_field.name for declared_field in fields if not declared_field.key and declared_field.role is not FieldRole.SEED]
    seeds = [declared_field.name for declared_field in fields if declared_field.role is FieldRole.SEED]
    tag = [kind.place.tag] if kind.place.tag is not None else []
    names = dict.fromkeys([FOR_EACH, "key", *tag, "id", *identity, *values, *seeds, *kinds.flags(kind.name), *RESERVED])
    shape.ranks = {word: at for at, word in enumerate(names)}
    sections = {section: ValueShape(each=shapes[inner.name]) for section, inner in kinds.sections(kind.name).items()}
    lists = {
        section: ValueShape(tags={str(member.place.tag): shapes[member.name] for member in members})
        for section, members in kinds.lists(kind.name).items()
    }
    shape.inside = {**sections, **lists, **dict.fromkeys(kinds.singles(kind.name), ANY)}
    shape.ranks |= dict.fromkeys(shape.inside, LATE + 1)


WIDTH: Final = 140  # columns; a flow map or list that exceeds them is expanded into lines
STEP: Final = 2  # columns of indentation
GAP: Final = 2  # the fewest columns before a trailing comment

_PLAIN: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_./@+ -]*[A-Za-z0-9_./@+-])?")
_TYPED: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})  # of some version of YAML


def layout(text: str, shape: ValueShape) -> str:
    """The text in canonical layout. Raises yaml's `YAMLError` for invalid YAML, `ReconcilerError` for a text that cannot be formatted
    safely."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    before = parse(plain)
    for attempt in (shape, ANY):  # an alias must not come before its anchor: then the keys keep their order
        formatted = TreeWriter(before).text(attempt)
        if same(before, formatted):
            return formatted
    raise ReconcilerError("this file cannot be formatted without changing its meaning", id="RC-not-formattable")


class TreeWriter:
    """Writes one tree, or a child of it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def text(self, shape: ValueShape) -> str:
        root = self.tree.root
        lines = [*self.tree.head]
        if root.shape in ("map", "list") and root.children and (not root.flow or root.commented):
            lines += self._children(root, 0, shape, top=True)
        else:
            lines += [self._flow(root, shape) or root.raw.rstrip("\n"), *root.tail]
        return "\n".join(lines) + "\n"

    # -- blocks --------------------------------------------------------------------------------------------------------------------

    def _children(self, node: Node, indent: int, shape: ValueShape, *, top: bool = False) -> list[str]:
        """The lines of a map or a list, one entry each."""
        children = _sorted(node, shape)
        lines: list[str] = []
        before: list[str] | None = None
        open_end = False
        for child in children:
            formatted = self.child(child, indent, shape)
            lead = [f"{' ' * indent}{line}" if line else "" for line in calm(child.lead)]
            if before is None or open_end:
                lead = _stripped(lead)
            elif top and (len(before) > 1 or len(formatted) > 1) and lead[:1] != [""]:
                lead = ["", *lead]
            lines += [*lead, *formatted]
            before, open_end = formatted, keeps(child.value)
        tail = [f"{' ' * indent}{line}" if line else "" for line in calm(node.tail)]
        return lines + (_stripped(tail) if open_end else tail)

    def child(self, child: Child, indent: int, shape: ValueShape) -> list[str]:
        """The lines of an entry or an item, without those above it, to which this may add."""
        value, pad = child.value, " " * indent
        key = _scalar(child.key, flow=False) if child.key is not None else ""
        inner = shape.below(child.key.text if child.key is not None else None, _keys(value))
        begin = f"{pad}{key}:" if child.key is not None else f"{pad}-"
        if value.anchor is not None:
            begin += f" &{value.anchor}"
        if value.shape == "scalar" and "\n" in value.raw:
            return self._long(child, begin, indent)
        short = self._flow(value, inner)
        if value.shape in ("scalar", "alias") or not value.children:
            return [self._remarked(f"{begin} {short}".rstrip(), child, indent)]
        if value.flow and short is not None and len(begin) + 1 + len(short) <= WIDTH:
            return [self._remarked(f"{begin} {short}", child, indent)]
        if child.key is None and value.anchor is None:
            return self._item(child, indent, inner)
        return [self._remarked(begin, child, indent), *self._children(value, indent + STEP, inner)]

    def _item(self, child: Child, indent: int, shape: ValueShape) -> list[str]:
        """An item whose map or list begins on the line of its dash; comments above that are moved above the item."""
        lines = self._children(child.value, indent + STEP, shape)
        above = _stripped(calm(_sorted(child.value, shape)[0].lead))
        child.lead += [*([child.remark] if child.remark else []), *(line for line in above if line)]
        child.remark, lines = None, lines[len(above) :]
        return [f"{' ' * indent}- {lines[0].lstrip(' ')}", *lines[1:]]

    def _long(self, child: Child, begin: str, indent: int) -> list[str]:
        """The lines of a scalar of several lines, reindented."""
        value = child.value
        first, *rest = value.raw.split("\n")
        if not value.block:
            lines = [f"{begin} {first.rstrip()}", *(f"{' ' * (indent + STEP)}{line.strip()}".rstrip() for line in rest)]
            lines[-1] = self._remarked(lines[-1], child, indent)
            return lines
        if rest and not rest[-1].strip():
            rest.pop()  # the line of the next token
        written = re.search(r"[1-9]", first.partition("#")[0])
        full = [line for line in rest if line.strip()]
        old = child.column + int(written[0]) if written else min((len(line) - len(line.lstrip(" ")) for line in full), default=0)
        new = indent + (int(written[0]) if written else STEP)
        lines = [f"{' ' * new}{line[old:]}" if line[old:] else "" for line in rest]
        while lines and not lines[-1] and not keeps(value):
            lines.pop()
        return [f"{begin} {first.rstrip()}", *lines]

    def _remarked(self, line: str, child: Child, indent: int) -> str:
        """A line with its trailing comment, in its former column where there is room."""
        if child.remark is None:
            return line
        column = max(child.remark_column + indent - child.column, len(line) + GAP)
        return f"{line}{' ' * (column - len(line))}{child.remark}"

    # -- flow ----------------------------------------------------------------------------------------------------------------------

    def _flow(self, node: Node, shape: ValueShape) -> str | None:
        """The value on one line; None where it needs several."""
        if node.shape in ("scalar", "alias"):
            return None if "\n" in node.raw else _scalar(node, flow=False)
        parts: list[str] = []
        if node.commented:
            return None
        for child in _sorted(node, shape):
            inner = shape.below(child.key.text if child.key is not None else None, _keys(child.value))
            formatted = self._flow(child.value, inner)
            if formatted is None:
                return None
            anchor = f"&{child.value.anchor} " if child.value.anchor is not None else ""
            parts.append(f"{_scalar(child.key, flow=True)}: {anchor}{formatted}" if child.key is not None else f"{anchor}{formatted}")
        return "{" + ", ".join(parts) + "}" if node.shape == "map" else "[" + ", ".join(parts) + "]"


# -- parts --------------------------------------------------------------------------------------------------------------------------


def _scalar(node: Node, *, flow: bool) -> str:
    """A scalar as written, without quotes that change nothing."""
    if node.plain or node.block or node.shape == "alias" or "\n" in node.raw:
        return node.raw
    needless = _PLAIN.fullmatch(node.text) is not None and node.text.lower() not in _TYPED
    return node.text if needless else node.raw


def _sorted(node: Node, shape: ValueShape) -> list[Child]:
    if node.shape == "list":
        return node.children
    return sorted(node.children, key=lambda child: shape.rank(child.key.text) if child.key is not None else 0)


def _keys(node: Node) -> list[str]:
    return [child.key.text for child in node.children if child.key is not None]


def keeps(node: Node) -> bool:
    """Whether the empty lines after it belong to it: a text that begins with `|+`."""
    while node.children:
        node = node.children[-1].value
    return node.block and "+" in node.raw.partition("\n")[0].partition("#")[0]


def calm(lines: list[str]) -> list[str]:
    """The lines without consecutive blank lines."""
    return [line for at, line in enumerate(lines) if line or at == 0 or lines[at - 1]]


def _stripped(lines: list[str]) -> list[str]:
    """The lines without blank lines at the beginning."""
    return lines[1:] if lines[:1] == [""] else lines


# -- the same before and after --------------------------------------------------------------------------------------------------------


def same(before: Tree, formatted: str) -> bool:
    """Whether a text has the same data and comments as a tree."""
    try:
        after = parse(formatted)
    except Exception:  # any error of the parser means that it is not the same
        return False
    return before.comments == after.comments and data(before.root, (), {}) == data(after.root, (), {})


def data(node: Node, path: tuple[Any, ...], anchors: dict[str, tuple[Any, ...]]) -> Any:
    """The data of a value, ignoring the order of keys; an alias is represented by the position of the value that it repeats."""
    if node.shape == "alias":
        return "*", anchors.get(node.text)
    if node.anchor is not None:
        anchors[node.anchor] = path
    if node.shape == "scalar":
        typed = node.plain and (not _PLAIN.fullmatch(node.text) or node.text.lower() in _TYPED)
        return node.anchor, node.text, typed
    values = {}
    for at, child in enumerate(node.children):
        name = (child.key.shape, child.key.text) if child.key is not None else at
        values[name] = data(child.value, (*path, name), anchors)
    return node.anchor, node.shape, values
