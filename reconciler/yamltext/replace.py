"""Replaces values of one resource of a YAML text; every other character is unchanged.

In: a text that the project's reader accepts, and the location of the resource in it (its key, or the tag of its node). Out: the new text.
Pure. Raises `Untouchable` where others use a value too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.yamltext.emit import closed
from reconciler.yamltext.entries import Edits, ends
from reconciler.yamltext.trail import entry, node, resource
from reconciler.yamltext.tree import Child, Node, Untouchable, line_starts, parse

DROP: Final = object()
"""In place of a value: remove the key."""


@dataclass(frozen=True)
class ResourcePlace:
    """The location of a resource: line and column (from 1) of its key or tag. `tag`: of a list's node. `bare`: the field of a bare value.

    `whole`: the field whose value is everything under the key.
    """

    line: int
    column: int
    tag: str | None = None
    bare: str | None = None
    whole: str | None = None


class EditedYaml:
    """A text in which resources get new values, the last resource first, so that the positions of earlier ones do not change.

    The text is parsed again only where an edit contains an earlier one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = line_starts(text)  # correct wherever the tree is
        self._root = parse(text).root
        self._right = len(text) + 1  # the tree is correct up to this index

    def raw(self, place: ResourcePlace, name: str) -> str | None:
        """The raw value of a key of a resource; None where the key does not exist."""
        return self._edit(place).raw(name)

    def put(self, place: ResourcePlace, values: Mapping[str, Any]) -> None:
        """Give a resource these values by key; `DROP` removes a key. A new key is added after the first one."""
        edit = self._edit(place)
        if place.whole is not None:
            self._take(edit.whole(values[place.whole]), edit)
        elif edit.node.shape == "scalar":
            self._take(edit.bare(values), edit)
        else:
            for name, value in values.items():  # a map still begins at the same place after each of these edits
                edit = self._edit(place)
                self._take(edit.set(name, value), edit)

    def _edit(self, place: ResourcePlace) -> _Edit:
        if place.line > len(self._lines):
            raise ValueError(f"there is nothing at {place.line}:{place.column}")
        at = self._lines[place.line - 1] + place.column - 1
        edit = _Edit(self.text, self._root, place, at)
        if edit.end <= self._right:
            return edit
        self._root, self._right = parse(self.text).root, len(self.text) + 1
        return _Edit(self.text, self._root, place, at)

    def _take(self, text: str, edit: _Edit) -> None:
        self.text, self._right = text, edit.start


def put(text: str, place: ResourcePlace, values: Mapping[str, Any]) -> str:
    """The text with these values by key."""
    page = EditedYaml(text)
    page.put(place, values)
    return page.text


class _Edit:
    """One change of one key."""

    def __init__(self, text: str, root: Node, place: ResourcePlace, at: int) -> None:
        self.text, self.place = text, place
        try:
            self.steps, self.node = (node if place.tag is not None else resource)(root, at)
        except ValueError:
            raise ValueError(f"there is nothing at {place.line}:{place.column}") from None

    @property
    def start(self) -> int:
        """The index at which the resource begins, its key included."""
        return self.steps[-1].child.start if self.steps else self.node.start

    @property
    def end(self) -> int:
        """The index at which the resource ends, including what separates it from the next one."""
        return max(self.node.end, self.steps[-1].child.value.end if self.steps else 0)

    def raw(self, name: str) -> str | None:
        if self.place.whole is not None:
            return self._span(None) if name == self.place.whole else None
        if self.node.shape == "scalar":
            return self._span(None) if name in (self.place.bare, self.place.tag) else None
        child = entry(self.node, name)
        return self._span(child) if child is not None else None

    def _span(self, child: Child | None) -> str:
        value = child.value if child is not None else self.node
        return self.text[value.start : ends(self.text, value)]

    def set(self, name: str, value: Any) -> str:
        if self.node.shape == "alias":
            raise Untouchable.at("it is written elsewhere, and repeated here by an alias", self.text, self.node.start)
        edits = Edits(self.text)
        child = entry(self.node, name)
        if child is None and value is not DROP:
            edits.add(self.node, name, value)
        elif child is not None and value is DROP:
            edits.drop(self.node, child, comment=True)
        elif child is not None:
            edits.replace(self.node, child, value)
        return edits.done()

    def whole(self, value: Any) -> str:
        """Replace the value of the resource's key."""
        edits = Edits(self.text)
        edits.replace(self.steps[-1].holder, self.steps[-1].child, value)
        return edits.done()

    def bare(self, values: Mapping[str, Any]) -> str:
        """Turn a bare value into a map where another key is added."""
        first = self.place.bare or self.place.tag or ""
        head = closed(values[first]) if first in values else self._span(None)
        rest = [f"{closed(name)}: {closed(value)}" for name, value in values.items() if name != first and value is not DROP]
        text = f"{{{', '.join([f'{first}: {head}', *rest])}}}" if rest or (first == self.place.tag and first in values) else head
        return self.text[: self.node.start] + text + self.text[ends(self.text, self.node) :]
