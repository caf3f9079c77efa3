"""One YAML text as a tree that keeps how everything is written: raw scalars, flow or block, and which comment belongs to what.

In: a text that the project's reader accepts (one document; no tags, merge keys or complex keys). Out: `Node`s. A comment on a line of its
own belongs to what comes next, unless it is indented deeper than that; a trailing one to its line. Pure.

Own code on PyYAML's events, because no parser of YAML keeps both the raw scalars and the owner of each comment.

Positions in a text: marks that keep theirs when the text is cut, pasted and indented, and the error at one. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import yaml


@dataclass
class MarkedText:
    """`marks`: indexes into the text by name; a mark moves with its character."""

    text: str
    marks: dict[Hashable, int] = field(default_factory=dict)

    def insert(self, at: int, text: str, *, over: int = 0) -> None:
        """Insert a text at an index, in place of that many characters, none of which is marked."""
        self.paste(at, MarkedText(text), over=over)

    def paste(self, at: int, piece: MarkedText, *, over: int = 0) -> None:
        """Insert a piece with its marks at an index."""
        grown = len(piece.text) - over
        self.marks = {name: index + grown if index >= at + over else index for name, index in self.marks.items()}
        self.marks |= {name: at + index for name, index in piece.marks.items()}
        self.text = self.text[:at] + piece.text + self.text[at + over :]

    def cut(self, start: int, end: int) -> MarkedText:
        """Remove a piece with its marks, and return it."""
        inside = {name: index - start for name, index in self.marks.items() if start <= index < end}
        piece = MarkedText(self.text[start:end], inside)
        self.marks = {name: index for name, index in self.marks.items() if name not in inside}
        self.insert(start, "", over=end - start)
        return piece

    def indent(self, by: int) -> None:
        """Indent every non-empty line by that many columns; a negative number dedents as far as possible."""
        at = 0
        for line in self.text.split("\n"):
            free = len(line) - len(line.lstrip(" "))
            step = max(by, -free) if line else 0
            self.insert(at, " " * max(step, 0), over=max(-step, 0))
            at += len(line) + step + 1


def index(text: str, line: int, column: int) -> int:
    """The index of a line and column, which count from 1."""
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    return at + column - 1


def line_starts(text: str) -> list[int]:
    """The index at which each line begins."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


class Untouchable(Exception):
    """A value is defined elsewhere, or used by others too; `str(error)` says which. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line, self.column = line, column

    @classmethod
    def at(cls, message: str, text: str, index: int) -> Untouchable:
        """The error for an index of a text."""
        return cls(message, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The parser tells where a value begins, and not where its dash is; "- - a" has two, and a comment or a blank line may separate them.
_DASH: Final = re.compile(r"([ -]*-)\s*(#.*)?$")  # the dash of an item that begins here, or on a later line
_ANCHOR: Final = re.compile(r"&\S+\s*")


@dataclass(slots=True, eq=False)
class Node:
    """A value. `raw`: a scalar or alias as written, "" for an empty one; `text`: the data of a scalar; `plain`: without quotes or bars.

    `start`, `end`: indexes into the text. `tail`: comments behind the last child, "" being a blank line.
    """

    shape: Literal["scalar", "alias", "map", "list"]
    start: int
    end: int
    raw: str = ""
    text: str = ""
    plain: bool = True
    block: bool = False  # a scalar with a bar or an angle
    flow: bool = False
    anchor: str | None = None
    children: list[Child] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    commented: bool = False  # it contains a comment


@dataclass(slots=True, eq=False)
class Child:
    """An entry of a map, or an item of a list (`key` None). `lead`: comments and blank lines above it; `remark`: its trailing comment."""

    key: Node | None
    value: Node
    start: int
    column: int
    lead: list[str] = field(default_factory=list)
    remark: str | None = None
    remark_column: int = 0


@dataclass(frozen=True)
class Comment:
    """`alone`: on a line of its own; `blank`: an empty line precedes it."""

    start: int
    column: int
    text: str
    alone: bool
    blank: bool


@dataclass(frozen=True)
class Tree:
    """`head`: the comments above everything, with a last "" where a blank line follows."""

    root: Node
    head: list[str]
    comments: tuple[str, ...]


def parse(text: str) -> Tree:
    """The tree of a text with `\\n` as its line break. Raises yaml's `YAMLError`."""
    return _Parser(text).tree()


class _Parser:
    """One run of the parser. `starts`: the index at which each line begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def tree(self) -> Tree:
        events = _events(self.text)
        event = next(events)
        while not isinstance(event, yaml.NodeEvent):
            event = next(events)
        root = self._node(event, events)
        head = self._head(root.start)
        comments = self._comments(root)
        texts = [*(comment.text for comment in comments), *(line for line in head if line)]
        Placing(root, comments).run()
        self._blanks(root)
        # A blank line divides: above it a comment is about the file, below it about the first key.
        if root.children and head and head[-1] and "" in head:  # a comment of its own, directly above the first key
            cut = len(head) - head[::-1].index("")
            root.children[0].lead[:0] = head[cut:]
            head = head[:cut]
        return Tree(root, head, tuple(sorted(texts)))

    def _at(self, mark: Any) -> int:
        return self.starts[mark.line] + int(mark.column) if mark.line < len(self.starts) else len(self.text)

    def _column(self, index: int) -> int:
        return index - self.starts[bisect_right(self.starts, index) - 1]

    # -- nodes ---------------------------------------------------------------------------------------------------------------------

    def _node(self, event: Any, events: Iterator[Any]) -> Node:
        start, end = self._at(event.start_mark), self._at(event.end_mark)
        match event:
            case yaml.AliasEvent():
                return Node("alias", start, end, raw=self.text[start:end], text=str(event.anchor))
            # The event has the data of a scalar; only the text has its quotes, its escapes and where its lines break.
            case yaml.ScalarEvent():
                raw = self.text[start:end]
                if event.anchor is not None:
                    raw = _ANCHOR.sub("", raw, count=1)
                block = event.style in ("|", ">")
                return Node("scalar", start, end, raw, event.value, plain=not event.style, block=block, anchor=event.anchor)
            case yaml.MappingStartEvent():
                node = Node("map", start, end, flow=bool(event.flow_style), anchor=event.anchor)
                while not isinstance(event := next(events), yaml.MappingEndEvent):
                    key = self._node(event, events)
                    value = self._node(next(events), events)
                    node.children.append(Child(key, value, key.start, self._column(key.start)))
            case _:
                node = Node("list", start, end, flow=bool(event.flow_style), anchor=event.anchor)
                while not isinstance(event := next(events), yaml.SequenceEndEvent):
                    value = self._node(event, events)
                    at = value.start if node.flow else self._dash(value.start)
                    node.children.append(Child(None, value, at, self._column(at)))
        # A block map has no end of its own: the parser reports it where the next token begins, after blank lines and comments.
        node.end = self._at(event.end_mark) if node.flow else node.children[-1].value.end if node.children else end
        return node

    def _dash(self, index: int) -> int:
        """The index of the dash of an item whose value begins at an index."""
        at = bisect_right(self.starts, index) - 1
        line = self.text[self.starts[at] : index]
        while (at and not line.strip()) or line.lstrip().startswith("#"):
            at -= 1
            line = self.text[self.starts[at] : self.starts[at + 1]]
        match = _DASH.match(line)
        return self.starts[at] + match.end(1) - 1 if match is not None else index

    # -- comments ------------------------------------------------------------------------------------------------------------------

    def _head(self, end: int) -> list[str]:
        """The comments above everything, each once, without blank lines at the beginning."""
        head: list[str] = []
        for line in self.text[:end].split("\n")[:-1]:
            comment = line.strip() if line.lstrip().startswith("#") else line.partition(" #")[2] and "#" + line.partition(" #")[2].rstrip()
            if comment or (head and head[-1] and not line.strip()):
                head.append(comment)
        return head

    def _comments(self, root: Node) -> list[Comment]:
        """All comments but those above everything, in order."""
        spans = [(node.start, node.end) for node in leaves(root)]
        comments: list[Comment] = []
        at, leaf = root.start, 0
        while (index := self.text.find("#", at)) >= 0:
            while leaf < len(spans) and spans[leaf][1] <= index:
                leaf += 1
            # "# 1" in quotes is a text, and so is a line of a text block that begins with "#".
            if leaf < len(spans) and spans[leaf][0] <= index:
                at = spans[leaf][1]  # it belongs to a scalar
                continue
            begin = self._line(index)
            end = self.text.find("\n", index)
            text = self.text[index : end if end >= 0 else None]
            # "- # why" stands above what the item contains.
            alone = not self.text[begin:index].strip(" \t-")
            comments.append(Comment(index, index - begin, text.rstrip(), alone, self._blank_above(begin)))
            at = index + len(text)
        return comments

    def _blanks(self, node: Node) -> None:
        """Record the blank lines directly above children of block maps and lists."""
        for at, child in enumerate(node.children):
            if at and not node.flow and self._blank_above(self._line(child.start)):
                child.lead.append("")
            self._blanks(child.value)

    def _line(self, index: int) -> int:
        """The index at which the line of an index begins."""
        return self.starts[bisect_right(self.starts, index) - 1]

    def _blank_above(self, line: int) -> bool:
        return line > 0 and not self.text[self.text.rfind("\n", 0, line - 1) + 1 : line - 1].strip()


class Placing:
    """Assigns each comment to the node that it belongs to."""

    def __init__(self, root: Node, comments: list[Comment]) -> None:
        self.root, self.comments = root, comments
        self.places = [comment.start for comment in comments]
        self.seen: list[Child] = []  # every child that could own a comment, in the order of the text
        self.holders: dict[int, int] = {}  # the child of a value, by the id of the value
        self.around: list[tuple[Node, ...]] = []  # the maps and lists that contain each of them, outermost first
        self._walk(root, ())
        self.starts = [child.start for child in self.seen]

    def _walk(self, node: Node, around: tuple[Node, ...]) -> None:
        if node.flow:
            at = bisect_right(self.places, node.start)
            node.commented = at < len(self.places) and self.places[at] < node.end
            # Braces without a comment cannot own one, and most of a large file is in braces.
            if not node.commented:
                return
        for child in node.children:
            self.holders[id(child.value)] = len(self.seen)
            self.seen.append(child)
            self.around.append((*around, node))
            self._walk(child.value, (*around, node))

    def run(self) -> None:
        for comment in self.comments:
            at = bisect_right(self.starts, comment.start)
            after = self.seen[at] if at < len(self.seen) else None
            last = self._last(at - 1, comment)
            if last is None:
                self.root.tail.append(comment.text)
                continue
            before = self.seen[last]
            if comment.alone:
                lines = self._owner(comment, before, self.around[last], after)
                lines += [*([""] if comment.blank else []), comment.text]
            # A comment at the end of a line is about that line. Its column is kept, unless the line is written again.
            elif before.remark is None:
                moved = before.value.commented or any(node.commented for node in self.around[last])
                before.remark, before.remark_column = comment.text, 0 if moved else comment.column
            else:
                before.lead.append(comment.text)

    def _last(self, at: int, comment: Comment) -> int | None:
        """The child that began last before a comment, ignoring the contents of flow nodes that end before it; None where there is none."""
        if at < 0:
            return None
        closed = next((node for node in self.around[at] if node.flow and node.end <= comment.start), None)
        return at if closed is None else self.holders.get(id(closed))

    def _owner(self, comment: Comment, before: Child, around: tuple[Node, ...], after: Child | None) -> list[str]:
        """The list of lines to which a comment on a line of its own is added."""
        if before.start < comment.start < before.value.start and (before.value.flow or before.value.shape in ("scalar", "alias")):
            return before.lead  # between a key and its value
        flow = next((node for node in reversed((*around, before.value)) if node.flow and node.start < comment.start < node.end), None)
        if flow is not None:
            return after.lead if after is not None and after.start < flow.end else flow.tail
        # Indented as what follows: it announces that. Indented deeper: it ends what came before, as after the last item of a list.
        if after is not None and comment.column <= after.column:
            return after.lead
        ended = [node for node in around if after is None or after.start > node.end]
        deepest = next((node for node in reversed(ended) if not node.flow and node.children[0].column <= comment.column), None)
        if deepest is not None:
            return deepest.tail
        return after.lead if after is not None else self.root.tail


def leaves(node: Node) -> Iterator[Node]:
    """Every scalar and alias in the order of the text, keys included."""
    if node.shape in ("scalar", "alias"):
        yield node
    for child in node.children:
        if child.key is not None:
            yield child.key
        yield from leaves(child.value)


def _events(text: str) -> Iterator[Any]:
    loader = _LOADER(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()
