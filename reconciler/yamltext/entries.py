"""Edits that add, remove and change single entries and items of a YAML text; all others keep their comments. Pure.

In: a text, nodes of its tree, and values. Out: the new text. Raises `Untouchable` where an alias repeats what would change, or where a
comment would be lost.

Replaces values of one resource of a YAML text; every other character is unchanged.

In: a text that the project's reader accepts, and the location of the resource in it (its key, or the tag of its node). Out: the new text.
Pure. Raises `Untouchable` where others use a value too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from reconciler.yamltext.emit import block, closed
from reconciler.yamltext.format import STEP, data
from reconciler.yamltext.trail import begin, colon, end, entry, node, refuse_aliases, resource
from reconciler.yamltext.tree import Child, MarkedText, Node, Untouchable, parse

LISTS: Final = (list, tuple)
_REMARK: Final = re.compile(r"[ \t]*+(?:,[ \t]*+)?(?=#)")


class Loose(list[Any]):
    """A list whose order has no meaning."""


class Edits:
    """Edits of one text that do not overlap."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edits: list[tuple[int, int, str]] = []

    def done(self) -> str:
        """The new text."""
        text = self.text
        # From the end: an edit moves only what is behind it.
        for start, stop, new in sorted(self._edits, reverse=True):
            text = text[:start] + new + text[stop:]
        return text

    def apply(self, marked: MarkedText) -> None:
        """Change the same text where it has marks; each stays at its character."""
        for start, stop, new in sorted(self._edits, reverse=True):
            marked.insert(start, new, over=stop - start)

    def add(self, holder: Node, name: str, value: Any, *, behind: Child | None = None) -> None:
        """Add an entry to a map, after its first, or another one."""
        if holder.flow:
            self._add_in_braces(holder, f"{closed(name)}: {closed(value)}")
            return
        first = behind or holder.children[0]
        line = self.text.find("\n", ends(self.text, first.value))
        at = line if line >= 0 else len(self.text)
        self._edit(at, at, "\n" + _entry(name, value, first.column))

    def _add_in_braces(self, holder: Node, new: str) -> None:
        last = holder.children[-1] if holder.children else None
        at = ends(self.text, last.value) if last is not None else holder.end - 1
        line = self.text.find("\n", at, holder.end)
        if last is None or line < 0 or "#" not in self.text[at:line]:
            self._edit(at, at, f", {new}" if last is not None else new)
            return
        # Behind the comment, which would be beside the new entry.
        if self._comma(at, line) is None:
            self._edit(at, at, ",")
        self._edit(line, line, f"\n{self._margin(holder, last)}{new}")

    def _margin(self, holder: Node, child: Child) -> str:
        """The indentation of a line of its own beside an entry of a flow map."""
        line = self.text.rfind("\n", 0, child.start) + 1
        start = line + len(self.text[line:]) - len(self.text[line:].lstrip(" "))
        begins = any(other.start == start for other in holder.children)
        return " " * (start - line if begins else start - line + STEP)

    def drop(self, holder: Node, child: Child, *, comment: bool = False) -> None:
        """Remove an entry of a map, or an item of a list with the comments above it. `comment`: keep the trailing comment of an entry, on a
        line of its own where it shared the line with the entry."""
        self._free(child.value)
        at = next(at for at, other in enumerate(holder.children) if other is child)
        stop = ends(self.text, child.value)
        line = self.text.rfind("\n", 0, child.start)
        if holder.flow and self._beside_comments(holder, at):
            self._drop_alone(holder, at, stop)
        elif child.key is None and not holder.flow:
            self._edit(begin(self.text, child), end(self.text, child), "")
        elif holder.flow and at:
            self._edit(ends(self.text, holder.children[at - 1].value), stop, "")
        # The first entry of an item shares its line with the dash: "- space: guides". The dash has to stay.
        elif at == 0 and len(holder.children) > 1 and (holder.flow or self.text[line + 1 : child.start].strip() or line < 0):
            following = holder.children[1]
            if any(following.lead) or (comment and "#" in self.text[stop : following.start]):
                raise Untouchable.at("a comment separates it from the next entry", self.text, child.start)
            self._edit(child.start, following.start, "")
        elif holder.flow:
            self._drop_alone(holder, at, stop)
        else:
            rest = self.text.find("\n", stop)
            rest = rest if rest >= 0 else len(self.text)
            behind = self.text[stop:rest].strip()
            kept = comment and behind.startswith("#")
            self._edit(line, rest, f"\n{' ' * child.column}{behind}" if kept else "")

    def empty(self, child: Child) -> None:
        """Write `{}` in place of the only entry of a map."""
        self._edit(child.start, ends(self.text, child.value), "{}")

    def _beside_comments(self, holder: Node, at: int) -> bool:
        """Whether a comment is between an entry of a flow map and the entries beside it."""
        children = holder.children
        start = ends(self.text, children[at - 1].value) if at else holder.start
        stop = children[at + 1].start if at + 1 < len(children) else ends(self.text, holder)
        between = self.text[start : children[at].start], self.text[ends(self.text, children[at].value) : stop]
        return any("#" in part for part in between)

    def _drop_alone(self, holder: Node, at: int, stop: int) -> None:
        """Remove an entry of a flow map with one comma and nothing around it. A comment behind it gets a line of its own."""
        children, start = holder.children, holder.children[at].start
        after = self._comma(stop, children[at + 1].start if at + 1 < len(children) else ends(self.text, holder))
        before = self._comma(ends(self.text, children[at - 1].value), start) if at and after is None else None
        remark = _REMARK.match(self.text, stop)
        if remark is not None and self.text[self.text.rfind("\n", 0, start) + 1 : start].strip():
            self._edit(len(self.text[:start].rstrip(" ")), remark.end(), f"\n{self._margin(holder, children[at])}")
            stop = remark.end()
        else:
            self._edit(start, stop, "")
        comma = before if after is None else after
        if comma is not None and not start <= comma < stop:
            self._edit(comma, comma + 1, "")

    def _comma(self, start: int, stop: int) -> int | None:
        """The index of the first comma that is not in a comment."""
        parts = re.finditer(r"#[^\n]*|,", self.text[start:stop])
        return next((start + part.start() for part in parts if part[0] == ","), None)

    def replace(self, holder: Node, child: Child, value: Any) -> None:
        """Replace the value of a key; where parts of it stay the same, only what differs is written."""
        node = child.value
        if node.shape == "alias":
            self._edit(node.start, node.end, closed(value))
            return
        # A change of the anchored value would change every alias of it, in places that nobody asked about.
        if node.anchor is not None:
            raise Untouchable.at(f"&{node.anchor} is repeated elsewhere", self.text, node.start)
        if self._inside(node, value):
            return
        self._free(node)
        end = ends(self.text, node)
        commented = self.text[end:].partition("\n")[0].strip().startswith("#")  # a block would make the comment part of the text
        if isinstance(value, str) and "\n" in value and not holder.flow and child.key is not None and not commented:
            self._edit(child.start, ends(self.text, node), _entry(child.key.text, value, child.column).lstrip(" "))
        elif node.children and not node.flow and child.key is not None:  # a block begins on the next line; a single line follows the key
            self._edit(colon(self.text, child), ends(self.text, node), f" {closed(value)}")
        else:
            self._edit(node.start, ends(self.text, node), closed(value))

    def _inside(self, node: Node, value: Any) -> bool:
        """Change a map or list entry by entry; False where nothing of it would remain."""
        if node.shape == "map" and isinstance(value, Mapping) and any(child.key and child.key.text in value for child in node.children):
            self._map(node, value)
            return True
        if node.shape == "list" and isinstance(value, LISTS) and node.children:
            return self._list(node, value)
        return False

    def _map(self, node: Node, value: Mapping[str, Any]) -> None:
        known = {child.key.text: child for child in node.children if child.key is not None}
        # On one line there is nothing to keep but the parts themselves, and the commas are easier to write than to repair.
        if node.flow and set(known) != set(value):
            parts = [
                f"{closed(name)}: {self._as_it_is(known[name].value, part) if name in known else closed(part)}"
                for name, part in value.items()
            ]
            self._anew(node, "{" + ", ".join(parts) + "}")
            return
        for name, child in known.items():
            if name not in value:
                self.drop(node, child)
            elif _data_of(child.value) != self._data_when_written(value[name]):
                self.replace(node, child, value[name])
        last = next(child for child in reversed(node.children) if child.key is not None and child.key.text in value)
        at = end(self.text, last)
        added = [f"{_entry(name, part, last.column)}\n" for name, part in value.items() if name not in known]
        if added:
            self._lines(at, at, added)

    def _list(self, node: Node, value: list[Any] | tuple[Any, ...]) -> bool:
        old = [_data_of(child.value) for child in node.children]
        # In the order that they have: a set that the service returns in another order must not turn the list around.
        if isinstance(value, Loose):
            at = {text: place for place, text in reversed(list(enumerate(old)))}
            value = sorted(value, key=lambda part: at.get(self._data_when_written(part), len(old)))
        # Which items stayed is not known, only what they say now; the longest common sequence keeps most comments.
        steps = SequenceMatcher(a=old, b=[self._data_when_written(part) for part in value], autojunk=False).get_opcodes()
        kept = any(step[0] == "equal" or self._paired(step, node, value) for step in steps)
        if not kept:
            return False
        if node.flow:
            known = dict(zip(old, node.children, strict=True))
            texts = [(self._data_when_written(part), part) for part in value]
            parts = [self._as_it_is(known[key].value, part) if key in known else closed(part) for key, part in texts]
            self._anew(node, f"[{', '.join(parts)}]")
            return True
        for step in steps:
            word, i, i_end, j, j_end = step
            if word == "equal":
                continue
            if self._paired(step, node, value):
                for child, part in zip(node.children[i:i_end], value[j:j_end], strict=True):
                    self.replace(node, child, part)
                continue
            for child in node.children[i:i_end]:
                self._free(child.value)
            start = begin(self.text, node.children[i]) if i < i_end or i == 0 else end(self.text, node.children[i - 1])
            stop = end(self.text, node.children[i_end - 1]) if i < i_end else start
            column = node.children[0].column
            self._lines(start, stop, [f"{' ' * column}- {closed(part)}\n" for part in value[j:j_end]])
        return True

    def _paired(self, step: tuple[str, int, int, int, int], node: Node, value: Any) -> bool:
        """Whether maps are replaced one by one by maps that share a key with them. `step`: of a `SequenceMatcher`."""
        word, i, i_end, j, j_end = step
        pairs = list(zip(node.children[i:i_end], value[j:j_end], strict=False))
        return (
            word == "replace"
            and i_end - i == j_end - j
            and all(
                child.value.shape == "map"
                and isinstance(part, Mapping)
                and any(inner.key is not None and inner.key.text in part for inner in child.value.children)
                for child, part in pairs
            )
        )

    def _as_it_is(self, node: Node, value: Any) -> str:
        same = _data_of(node) == self._data_when_written(value)
        return self.text[node.start : ends(self.text, node)] if same else closed(value)

    def _anew(self, node: Node, text: str) -> None:
        """Rewrite a flow map or list."""
        if node.commented:
            raise Untouchable.at("its braces contain comments", self.text, node.start)
        self._free(node)
        self._edit(node.start, ends(self.text, node), text)

    def _data_when_written(self, value: Any) -> str:
        return _data_of(parse(f"x: {closed(value)}\n").root.children[0].value)

    def rewrite(self, node: Node, text: str) -> None:
        """Write a text in place of a value."""
        self._edit(node.start, ends(self.text, node), text)

    def _free(self, node: Node) -> None:
        """Raise `Untouchable` where an alias may repeat something in it."""
        inner = next((inner_node for inner_node in _below(node) if inner_node.anchor is not None), None)
        if inner is not None:
            raise Untouchable.at(f"&{inner.anchor} in it may be repeated elsewhere", self.text, inner.start)

    def _lines(self, start: int, stop: int, lines: list[str]) -> None:
        begun = start == 0 or self.text[start - 1] == "\n"
        self._edit(start, stop, ("" if begun else "\n") + "".join(lines))

    def _edit(self, start: int, stop: int, new: str) -> None:
        self._edits.append((start, stop, new))


def ends(text: str, node: Node) -> int:
    """The index at which a value ends, without comments and line breaks after it."""
    return node.start + len(text[node.start : node.end].rstrip())


def _entry(name: str, value: Any, indent: int) -> str:
    """A key with its value on lines of its own, indented by that many columns."""
    return "\n".join(block({name: value}, indent))


def _data_of(node: Node) -> str:
    return repr(data(node, (), {}))


def _below(node: Node) -> list[Node]:
    return [node, *(inner for child in node.children for inner in _below(child.value))]


DROP: Final = object()
"""In place of a value: remove the key."""


@dataclass(frozen=True)
class ResourcePlace:
    """The location of a resource: the index of its key or tag. `tag`: of a list's node. `bare`: the field of a bare value.

    `whole`: the field whose value is everything under the key.
    """

    at: int
    tag: str | None = None
    bare: str | None = None
    whole: str | None = None


class EditedYaml:
    """A text in which resources get new values; its marks stay at their characters.

    Fastest from the last resource to the first: the text is parsed again only where an edit contains an earlier one.
    """

    def __init__(self, marked: MarkedText) -> None:
        self.marked = marked
        self._tree = parse(marked.text)
        self._right = len(marked.text) + 1  # the tree is correct up to this index

    def put(self, place: ResourcePlace, values: Mapping[str, Any]) -> None:
        """Give a resource these values by key; `DROP` removes a key. A new key is added after the first one.

        Raises `Untouchable` where an alias repeats the resource or what contains it, and `ValueError` where nothing begins.
        """
        edit = self._edit(place)
        if place.whole is not None:
            self._take(edit.whole(values[place.whole]), edit)
        elif edit.node.shape == "scalar":
            edits, shift = edit.bare(values)
            self._take(edits, edit)
            marks = self.marked.marks
            marks |= {name: at + shift for name, at in marks.items() if at == place.at}
        else:
            for name, value in values.items():  # a map still begins at the same place after each of these edits
                edit = self._edit(place)
                self._take(edit.set(name, value), edit)

    def _edit(self, place: ResourcePlace) -> _Edit:
        edit = _Edit(self.marked.text, self._tree.root, place)
        if edit.end > self._right:
            self._tree, self._right = parse(self.marked.text), len(self.marked.text) + 1
            edit = _Edit(self.marked.text, self._tree.root, place)
        refuse_aliases(self._tree, self.marked.text, edit.steps)
        return edit

    def _take(self, edits: Edits, edit: _Edit) -> None:
        edits.apply(self.marked)
        self._right = edit.start


def put(text: str, place: ResourcePlace, values: Mapping[str, Any]) -> str:
    """The text with these values by key."""
    page = EditedYaml(MarkedText(text))
    page.put(place, values)
    return page.marked.text


class _Edit:
    """One change of one key."""

    def __init__(self, text: str, root: Node, place: ResourcePlace) -> None:
        self.text, self.place = text, place
        self.steps, self.node = (node if place.tag is not None else resource)(root, place.at)

    @property
    def start(self) -> int:
        """The index at which the resource begins, its key included."""
        return self.steps[-1].child.start if self.steps else self.node.start

    @property
    def end(self) -> int:
        """The index at which the resource ends, including what separates it from the next one."""
        return max(self.node.end, self.steps[-1].child.value.end if self.steps else 0)

    def set(self, name: str, value: Any) -> Edits:
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
        return edits

    def whole(self, value: Any) -> Edits:
        """Replace the value of the resource's key."""
        edits = Edits(self.text)
        edits.replace(self.steps[-1].holder, self.steps[-1].child, value)
        return edits

    def bare(self, values: Mapping[str, Any]) -> tuple[Edits, int]:
        """Turn a bare value into a map where another key is added; and how much further the first key of that map begins."""
        first = self.place.bare or self.place.tag or ""
        head = closed(values[first]) if first in values else self.text[self.node.start : ends(self.text, self.node)]
        rest = [f"{closed(name)}: {closed(value)}" for name, value in values.items() if name != first and value is not DROP]
        text = f"{{{', '.join([f'{first}: {head}', *rest])}}}" if rest or (first == self.place.tag and first in values) else head
        edits = Edits(self.text)
        edits.rewrite(self.node, text)
        return edits, 1 if text.startswith("{") and self.place.tag is not None else 0
