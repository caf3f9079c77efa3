"""One resource of a YAML text gets other values; every character of all the rest stays as it is.

In: a text that the project's reader accepts, and where the resource stands in it (its key, or the tag of its node). Out: the new text.
How a value is spelled is an argument. Pure. Raises `Untouchable` where a value is not only the resource's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.yamltext.cursor import index
from reconciler.yamltext.entries import Edits, Spelling, ends
from reconciler.yamltext.errors import Untouchable
from reconciler.yamltext.trail import entry, node, resource
from reconciler.yamltext.tree import Child, parse

DROP: Final = object()
"""Instead of a value: the key goes."""


@dataclass(frozen=True)
class ResourcePlace:
    """Where a resource stands: line and column (from 1) of its key or tag. `tag`: of a list's node. `bare`: the field of a bare value.

    `whole`: the field that everything behind the key is.
    """

    line: int
    column: int
    tag: str | None = None
    bare: str | None = None
    whole: str | None = None


def put(text: str, place: ResourcePlace, values: Mapping[str, Any], spelling: Spelling) -> str:
    """The text with these values by key; `DROP` takes a key out. A key that is not there yet stands behind the first one."""
    edit = _Edit(text, place, spelling)
    if place.whole is not None:
        return edit.whole(values[place.whole])
    if edit.node.shape == "scalar":
        return edit.bare(values)
    for name, value in values.items():  # one by one: a map begins where it began whatever stands in it
        text = _Edit(text, place, spelling).set(name, value)
    return text


def raw(text: str, place: ResourcePlace, name: str) -> str | None:
    """What is written behind a key of the resource, None where the key is not there."""
    return _Edit(text, place, None).raw(name)


class _Edit:
    """One change of one key."""

    def __init__(self, text: str, place: ResourcePlace, spelling: Spelling | None) -> None:
        self.text, self.place, self.spelling = text, place, spelling
        root = parse(text).root
        try:
            at = index(text, place.line, place.column)
            self.steps, self.node = (node if place.tag is not None else resource)(root, at)
        except ValueError:
            raise ValueError(f"there is nothing at {place.line}:{place.column}") from None

    def raw(self, name: str) -> str | None:
        if self.place.whole is not None:
            return self._span(None) if name == self.place.whole else None
        if self.node.shape == "scalar":
            return self._span(None) if name in (self.place.bare, self.place.tag) else None
        found = entry(self.node, name)
        return self._span(found) if found is not None else None

    def _span(self, child: Child | None) -> str:
        value = child.value if child is not None else self.node
        return self.text[value.start : ends(self.text, value)]

    def set(self, name: str, value: Any) -> str:
        assert self.spelling is not None
        if self.node.shape == "alias":
            raise Untouchable.at("it is written elsewhere, and repeated here by an alias", self.text, self.node.start)
        edits = Edits(self.text, self.spelling)
        found = entry(self.node, name)
        if found is None and value is not DROP:
            edits.add(self.node, name, value)
        elif found is not None and value is DROP:
            edits.drop(self.node, found, comment=True)
        elif found is not None:
            edits.replace(self.node, found, value)
        return edits.done()

    def whole(self, value: Any) -> str:
        """Another value behind the key of the resource."""
        assert self.spelling is not None
        edits = Edits(self.text, self.spelling)
        edits.replace(self.steps[-1].holder, self.steps[-1].child, value)
        return edits.done()

    def bare(self, values: Mapping[str, Any]) -> str:
        """A bare value becomes a map where another key comes to it."""
        assert self.spelling is not None
        flow = self.spelling.flow
        first = self.place.bare or self.place.tag or ""
        head = flow(values[first]) if first in values else self._span(None)
        rest = [f"{flow(name)}: {flow(value)}" for name, value in values.items() if name != first and value is not DROP]
        made = f"{{{', '.join([f'{first}: {head}', *rest])}}}" if rest or (first == self.place.tag and first in values) else head
        return self.text[: self.node.start] + made + self.text[ends(self.text, self.node) :]
