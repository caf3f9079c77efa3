"""Locations in YAML files that people wrote: of a resource, and where entries can be added next to it. Pure.

In: texts, and locations from the configuration. Out: edits, each an offset and a text to insert; every other byte is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from reconciler.model import Source
from reconciler.yamltext.emit import STEP, EmittedEntry, closed, entry, item, scalar

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BLOCKS: Final = ("|", ">")


@dataclass(frozen=True)
class YamlSpot:
    """One entry of a map or item of a list: the containing node, its index there, and its value."""

    holder: yaml.CollectionNode
    index: int
    node: yaml.Node


class EditedFile:
    """One file: its nodes by location, and the edits to it so far."""

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.top: yaml.Node | None = yaml.compose(self.text, _LOADER)
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._spots: dict[tuple[int, int], YamlSpot] = {}
        self._edits: list[tuple[int, int, str]] = []
        if self.top is not None:
            self._walk(self.top)

    def _walk(self, node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            for index, (key, value) in enumerate(node.value):
                self._spots.setdefault(_start(key), YamlSpot(node, index, value))
                self._walk(value)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                for start in {_start(value), *(_start(key) for key, _ in (value.value if isinstance(value, yaml.MappingNode) else ()))}:
                    self._spots[start] = YamlSpot(node, index, value)
                if isinstance(value, yaml.MappingNode):
                    for _, inner in value.value:
                        self._walk(inner)

    def spot(self, source: Source) -> YamlSpot | None:
        """The entry or item at a location; None where nothing begins there. For a node in a list, the whole node."""
        return self._spots.get((source.line - 1, source.column - 1))

    # -- edits -------------------------------------------------------------------------------------------------------------------------

    def add(self, holder: yaml.Node, lines: list[EmittedEntry], *, after: int | None = None) -> None:
        """Add entries or items to a map or list: after that index, at the end where None, at the beginning where -1."""
        assert isinstance(holder, yaml.CollectionNode)
        keyed = isinstance(holder, yaml.MappingNode)
        if holder.flow_style:
            self._add_closed(holder, lines, after, keyed)
            return
        column = holder.start_mark.column
        emitted = [part for line in lines for part in (entry(line, column) if keyed else item(line, column))]
        text = "".join(f"{line}\n" for line in emitted)
        index = len(holder.value) - 1 if after is None else after
        if index < 0:
            self._edit(self._above(holder.start_mark.line), 0, text)
            return
        at = self._line(self._last(_value(holder, index)) + 1)
        self._edit(at, 0, text if at == 0 or self.text[at - 1] == "\n" else f"\n{text}")

    def _add_closed(self, holder: yaml.CollectionNode, lines: list[EmittedEntry], after: int | None, keyed: bool) -> None:
        texts = [f"{scalar(line.key or '')}: {closed(line.value)}" if keyed else closed(line.value) for line in lines]
        index = len(holder.value) - 1 if after is None else after
        if not holder.value:
            self._edit(self._offset(holder.start_mark) + 1, 0, ", ".join(texts))
        elif index < 0:
            self._edit(self._offset(holder.start_mark) + 1, 0, "".join(f"{text}, " for text in texts))
        else:
            self._edit(self._offset(_value(holder, index).end_mark), 0, "".join(f", {text}" for text in texts))

    def expand_empty(self, spot: YamlSpot, lines: list[EmittedEntry], *, keyed: bool) -> None:
        """Fill an empty map or list (`{}`, `[]`) with entries or items on lines of their own."""
        if spot.holder.flow_style:
            self._add_closed(spot.node, lines, None, keyed)  # type: ignore[arg-type]
            return
        column = spot.holder.start_mark.column + STEP
        begin, end = self._offset(spot.node.start_mark), self._offset(spot.node.end_mark)
        emitted = [part for line in lines for part in (entry(line, column) if keyed else item(line, column))]
        behind = self.text[end:].split("\n", 1)[0]
        while begin and self.text[begin - 1] == " ":
            begin -= 1
        self._edit(begin, end + len(behind) - begin, f"{behind.rstrip()}\n" + "\n".join(emitted))

    def edited(self) -> str:
        """The text with its edits."""
        parts, at = [], 0
        # Two edits at one offset: the deeper one first, because the contents of a node end before the node does.
        for begin, length, text in sorted(self._edits, key=lambda edit: (edit[0], -_indent(edit[2]))):
            parts += [self.text[at:begin], text]
            at = begin + length
        return "".join([*parts, self.text[at:]])

    def _edit(self, at: int, length: int, text: str) -> None:
        self._edits.append((at, length, text))

    # -- offsets -----------------------------------------------------------------------------------------------------------------------

    def _line(self, number: int) -> int:
        return self._starts[min(number, len(self._starts) - 1)]

    def _offset(self, mark: yaml.Mark) -> int:
        return self._line(mark.line) + mark.column

    def _above(self, line: int) -> int:
        """The index at which to insert before a line: above the comments that belong to it."""
        while line and self.text[self._line(line - 1) : self._line(line)].lstrip().startswith("#"):
            line -= 1
        return self._line(line)

    def _last(self, node: yaml.Node) -> int:
        """The last line, from 0, of a node, without comments after it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            return self._last(_value(node, len(node.value) - 1))
        line = node.end_mark.line
        if isinstance(node, yaml.ScalarNode) and node.style in _BLOCKS:
            line -= 1 if node.end_mark.column == 0 else 0
            while line > node.start_mark.line and not self.text[self._line(line) : self._line(line + 1)].strip():
                line -= 1
            while line > node.start_mark.line and self.text[self._line(line) : self._line(line + 1)].startswith("#"):
                line -= 1
        return line


def _value(holder: yaml.CollectionNode, index: int) -> yaml.Node:
    entry_node = holder.value[index]
    value: yaml.Node = entry_node[1] if isinstance(holder, yaml.MappingNode) else entry_node
    return value


def _indent(text: str) -> int:
    plain = text.lstrip("\n")
    return len(plain) - len(plain.lstrip(" "))


def _start(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line, node.start_mark.column


def key_of(node: yaml.Node | None, name: str) -> YamlSpot | None:
    """The entry of a key of a map; None where there is none."""
    if isinstance(node, yaml.MappingNode):
        for index, (key, value) in enumerate(node.value):
            if key.value == name:
                return YamlSpot(node, index, value)
    return None


def pages(texts: Mapping[str, str]) -> dict[str, EditedFile]:
    """The files by name."""
    return {name: EditedFile(text) for name, text in texts.items()}
