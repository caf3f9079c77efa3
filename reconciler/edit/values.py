"""One resource of a YAML text gets other values; every character of all the rest stays as it is.

In: a text that the project's reader accepts, and where the resource stands in it (its key, or the tag of its node). Out: the new text.
How a value is spelled is an argument. Pure. Raises `Untouchable` where a value is not only the resource's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from reconciler.edit.untouchable import Untouchable

DROP: Final = object()
"""Instead of a value: the key goes."""


@dataclass(frozen=True)
class Spelling:
    """`flow`: a value on one line. `entry`: a key with its value on lines of its own, indented by so many columns."""

    flow: Callable[[Any], str]
    entry: Callable[[str, Any, int], str]


@dataclass(frozen=True)
class Place:
    """Where a resource stands: line and column (from 1) of its key or tag. `tag`: of a list's node. `bare`: the field of a bare value."""

    line: int
    column: int
    tag: str | None = None
    bare: str | None = None


def put(text: str, place: Place, values: Mapping[str, Any], spelling: Spelling) -> str:
    """The text with these values by key; `DROP` takes a key out. A key that is not there yet stands behind the first one."""
    edit = _Edit(text, place, spelling)
    if isinstance(edit.node, ScalarNode):
        return edit.bare(edit.node, values)
    for name, value in values.items():  # one by one: a map begins where it began whatever stands in it
        text = _Edit(text, place, spelling).set(name, value)
    return text


def raw(text: str, place: Place, name: str) -> str | None:
    """What is written behind a key of the resource, None where the key is not there."""
    return _Edit(text, place, None).raw(name)


class _Edit:
    """One change of one key."""

    def __init__(self, text: str, place: Place, spelling: Spelling | None) -> None:
        self.text, self.place, self.spelling = text, place, spelling
        yaml = YAML(typ="rt", pure=True)
        self.key, self.node = _found(yaml.compose(text), place)

    def raw(self, name: str) -> str | None:
        if isinstance(self.node, ScalarNode):
            return self._span(self.node) if name in (self.place.bare, self.place.tag) else None
        entry = self._entry(name)
        if entry is None:
            return None
        key, value = entry
        return self._alias(key) if _is_alias(key, value) else self._span(value)

    def set(self, name: str, value: Any) -> str:
        node = self.node
        if self.key is not None and _is_alias(self.key, node):
            raise _untouchable("it is written elsewhere, and repeated here by an alias", self.key)
        entry = self._entry(name)
        if entry is None:
            return self.text if value is DROP else self._add(name, value)
        return self._drop(*entry) if value is DROP else self._replace(*entry, value)

    def _entry(self, name: str) -> tuple[ScalarNode, Node] | None:
        return next(((key, value) for key, value in self.node.value if key.value == name), None)

    def _span(self, node: Node) -> str:
        return self.text[node.start_mark.index : _end(node, self.text)]

    def _flow(self, value: Any) -> str:
        assert self.spelling is not None
        return self.spelling.flow(value)

    # -- a bare value --------------------------------------------------------------------------------------------------------------

    def bare(self, node: ScalarNode, values: Mapping[str, Any]) -> str:
        """A bare value becomes a map where another key comes to it."""
        first = self.place.bare or self.place.tag or ""
        head = self._flow(values[first]) if first in values else self._span(node)
        rest = [f"{self._flow(name)}: {self._flow(value)}" for name, value in values.items() if name != first and value is not DROP]
        made = f"{{{', '.join([f'{first}: {head}', *rest])}}}" if rest or (first == self.place.tag and first in values) else head
        return self._cut(node.start_mark.index, _end(node, self.text), made)

    # -- a map ---------------------------------------------------------------------------------------------------------------------

    def _replace(self, key: ScalarNode, node: Node, value: Any) -> str:
        if _is_alias(key, node):
            start = self.text.index("*", key.end_mark.index)
            return self._cut(start, start + len(self._alias(key)), self._flow(value))
        if node.anchor is not None:
            raise _untouchable(f"&{node.anchor} is repeated elsewhere", node)
        if isinstance(node, MappingNode) and isinstance(value, Mapping) and {one.value for one, _ in node.value} == set(value):
            return self._each(node, value)
        inner = next((one for one in _below(node) if one.anchor is not None), None)
        if inner is not None:
            raise _untouchable(f"&{inner.anchor} in it may be repeated elsewhere", inner)
        if _in_lines(value) and not self._in_flow():
            return self._cut(key.start_mark.index, _end(node, self.text), self._lines(key, value))
        spelled = self._flow(value)
        if isinstance(node, CollectionNode) and not node.flow_style:  # a block begins on the next line; one line goes behind the key
            return self._cut(self._colon(key), _end(node, self.text), f" {spelled}")
        return self._cut(node.start_mark.index, _end(node, self.text), spelled)

    def _each(self, node: MappingNode, value: Mapping[str, Any]) -> str:
        """A map with the same keys: only what differs inside it is written."""
        text = self.text
        for key, part in reversed(node.value):
            if isinstance(part, ScalarNode) and not _is_alias(key, part) and part.anchor is None:
                self.text = self._cut(part.start_mark.index, _end(part, self.text), self._flow(value[key.value]))
            else:
                self.text = self._replace(key, part, value[key.value])
        text, self.text = self.text, text
        return text

    def _add(self, name: str, value: Any) -> str:
        entries = self.node.value
        if self._in_flow():
            at = _end(entries[-1][1], self.text) if entries and not _is_alias(*entries[-1]) else self.node.end_mark.index - 1
            comma = ", " if entries else ""
            return self._cut(at, at, f"{comma}{self._flow(name)}: {self._flow(value)}")
        key, first = entries[0]
        end = key.end_mark.index if _is_alias(key, first) else _end(first, self.text)
        line = self.text.find("\n", end)
        at = line if line >= 0 else len(self.text)
        return self._cut(at, at, f"\n{' ' * key.start_mark.column}{self._lines(None, value, name, key.start_mark.column)}")

    def _lines(self, key: ScalarNode | None, value: Any, name: str = "", column: int = 0) -> str:
        assert self.spelling is not None
        name, column = (key.value, key.start_mark.column) if key is not None else (name, column)
        return self.spelling.entry(name, value, column).lstrip(" ")

    def _drop(self, key: ScalarNode, node: Node) -> str:
        entries = self.node.value
        at = next(index for index, (one, _) in enumerate(entries) if one is key)
        if at == 0 and len(entries) > 1:
            return self._cut(key.start_mark.index, entries[1][0].start_mark.index, "")
        end = key.end_mark.index if _is_alias(key, node) else _end(node, self.text)
        if self._in_flow():
            return self._cut(_end(entries[at - 1][1], self.text), end, "")
        line = self.text.rfind("\n", 0, key.start_mark.index)
        rest = self.text.find("\n", end)
        return self._cut(line, rest if rest >= 0 else len(self.text), "")

    def _in_flow(self) -> bool:
        return isinstance(self.node, CollectionNode) and bool(self.node.flow_style)

    def _colon(self, key: ScalarNode) -> int:
        return self.text.index(":", key.end_mark.index) + 1

    def _alias(self, key: ScalarNode) -> str:
        rest = self.text[self.text.index("*", key.end_mark.index) :]
        return rest[: next((at for at, one in enumerate(rest) if one in " ,]}\r\n"), len(rest))]

    def _cut(self, start: int, end: int, between: str) -> str:
        return self.text[:start] + between + self.text[end:]


def _found(root: Node, place: Place) -> tuple[ScalarNode | None, Node]:
    """The key of a resource of a map (None in a list) and its node."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, MappingNode):
            for key, value in node.value:
                if _stands(key, place):
                    return (None, node) if place.tag is not None and key.value == place.tag else (key, value)
                waiting += [] if _is_alias(key, value) else [value]
        elif isinstance(node, SequenceNode):
            bare = next((one for one in node.value if isinstance(one, ScalarNode) and _stands(one, place)), None)
            if bare is not None:
                return None, bare
            waiting += node.value
    raise ValueError(f"nothing stands at {place.line}:{place.column}")


def _stands(node: Node, place: Place) -> bool:
    return (node.start_mark.line + 1, node.start_mark.column + 1) == (place.line, place.column)


def _is_alias(key: ScalarNode, value: Node) -> bool:
    """Whether a value is repeated by an alias: it stands before its key."""
    return bool(value.start_mark.index < key.start_mark.index)


def _end(node: Node, text: str) -> int:
    """Where a value ends, comments and line breaks behind it not included."""
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        start = node.start_mark.index
        return int(start + len(text[start : node.end_mark.index].rstrip()))
    last = node.value[-1]
    return _end(
        last[1] if isinstance(node, MappingNode) and not _is_alias(*last) else last[0] if isinstance(node, MappingNode) else last, text
    )


def _below(node: Node) -> list[Node]:
    parts = [part for pair in node.value for part in pair] if isinstance(node, MappingNode) else node.value
    return [] if isinstance(node, ScalarNode) else [each for part in parts for each in (part, *_below(part))]


def _in_lines(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value


def _untouchable(message: str, node: Node) -> Untouchable:
    return Untouchable(message, node.start_mark.line + 1, node.start_mark.column + 1)
