"""Moves nodes of lists from one location in a project's YAML to another, with their comments and contents; adds and removes them, and
entries of maps.

In: texts whose resources are marked at their key, tag or bare value. They are changed in place; only the moved nodes change. Raises
`Untouchable` where an alias repeats something.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.yamltext.format import STEP, WIDTH
from reconciler.yamltext.trail import TrailStep, begin, end, entry, expand, head, next_line, node, refuse_aliases, repeated, resource
from reconciler.yamltext.tree import Child, MarkedText, Node, Tree, Untouchable, parse

EMPTY: Final[Mapping[str, str]] = {"list": "[]", "map": "{}"}
Find = Callable[[Node], tuple[tuple[TrailStep, ...], Node]]


@dataclass(frozen=True)
class Host:
    """What contains a list: its name among the marks, whether it is a node of a list itself, and the name of its list.

    `members`: the names in the list, in order. `top`: the file that contains the list at its top level, where its host does not; else None.
    """

    name: Hashable
    tagged: bool
    section: str
    members: tuple[Hashable, ...] = ()
    top: str | None = None


@dataclass
class Piece:
    """A node that was removed from its list, or an entry of a map. `closed`: it is a value on one line; else it has lines, and `column` is
    that of its dash, or of its key."""

    text: MarkedText
    closed: bool
    column: int = 0


class Moving:
    """The files of a project in which nodes are moved. `latest`: the file that was looked at last, "" before."""

    def __init__(self, files: Mapping[str, MarkedText]) -> None:
        self.files = files
        self.latest = ""

    def file(self, name: Hashable) -> str:
        """The file of a resource. Raises `StopIteration` where it is in none of the files."""
        self.latest = next(file for file, tracked in self.files.items() if name in tracked.marks)
        return self.latest

    def is_within(self, name: Hashable, other: Hashable) -> bool:
        """Whether a resource's lines are within those of a node."""
        file = self.file(other)
        marks = self.files[file].marks
        _, inner = node(parse(self.files[file].text).root, marks[other])
        return name in marks and inner.start <= marks[name] < inner.end

    def move(self, name: Hashable, host: Host, *, behind: Hashable | None) -> None:
        """Move a node from its list into another, after a member, or first."""
        self.put(self.take(name), host, behind)

    # -- out of a list -----------------------------------------------------------------------------------------------------------

    def take(self, name: Hashable, *, keyed: bool = False) -> Piece:
        """Remove a node, or an entry of a map (`keyed`), and return it; a list or map that is empty then is written as `[]` or `{}`."""
        file = self.file(name)
        tracked = self.files[file]
        tree, steps = self._node(tracked, name, keyed=keyed)
        self._check(tree, tracked.text, steps)
        step = steps[-1]
        if step.holder.flow and not _one_line(tracked.text, step):
            self._expand(tracked, steps, name, keyed=keyed)
            tree, steps = self._node(tracked, name, keyed=keyed)
            step = steps[-1]
        return _out_of_braces(tracked, step) if step.holder.flow else _out_of_lines(tracked, steps)

    def _node(self, tracked: MarkedText, name: Hashable, *, keyed: bool = False) -> tuple[Tree, tuple[TrailStep, ...]]:
        tree = parse(tracked.text)
        steps, _ = (resource if keyed else node)(tree.root, tracked.marks[name])
        whole = len(steps) == 1  # the list is the whole file
        shape = "map" if keyed else "list"
        if not steps or steps[-1].holder.shape != shape or (not whole and not keyed and steps[-2].child.key is None):
            raise Untouchable.at("it is written elsewhere, and repeated by an alias", tracked.text, tracked.marks[name])
        return tree, steps

    def _expand(self, tracked: MarkedText, steps: tuple[TrailStep, ...], name: Hashable, *, keyed: bool = False) -> None:
        """Expand the list that contains a node into lines."""
        if len(steps) == 1:
            raise Untouchable.at("the list of the whole file is in brackets", tracked.text, tracked.marks[name])
        find = resource if keyed else node
        expand(tracked, lambda root: (trail_steps := find(root, tracked.marks[name])[0][:-1], trail_steps[-1].child.value))

    def _check(self, tree: Tree, text: str, steps: tuple[TrailStep, ...]) -> None:
        refuse_aliases(tree, text, steps)
        value = steps[-1].child.value
        for anchor in _anchors(value):
            if repeated(tree.root, anchor) != repeated(value, anchor):
                raise Untouchable.at(f"&{anchor} in it is repeated elsewhere", text, value.start)

    # -- into a list -------------------------------------------------------------------------------------------------------------

    def put(self, piece: Piece, host: Host, behind: Hashable | None) -> None:
        """Insert a node into a list, which may not exist yet."""
        beside = next((member for member in host.members if member == behind), next(iter(host.members), None))
        if beside is not None:
            self._beside(piece, beside, before=behind is None)
            return
        self._first(piece, host, "list")

    def put_entry(self, piece: Piece, host: Host) -> None:
        """Add an entry to a map, after its last member; the map may not exist yet."""
        if host.members:
            beside = host.members[-1]
            tracked = self.files[self.file(beside)]

            def among(root: Node) -> tuple[tuple[TrailStep, ...], Node]:
                steps, _ = resource(root, tracked.marks[beside])
                return steps[:-1], steps[-1].holder

            self._into_map(piece, tracked, among, beside)
            return
        self._first(piece, host, "map")

    def _first(self, piece: Piece, host: Host, shape: str) -> None:
        """Insert into a list or map that is empty, or not written yet."""
        tracked = self.files[host.top or self.file(host.name)]

        def around(root: Node) -> tuple[tuple[TrailStep, ...], Node]:
            return ((), root) if host.top is not None else self._host(root, tracked, host)

        tree = parse(tracked.text)
        steps, body = around(tree.root)
        child = entry(body, host.section)
        if child is None:
            self._into_map(_under(host.section, piece, shape, closed=body.flow), tracked, around, None)
        elif child.value.shape != shape or child.value.children or child.value.commented:
            raise Untouchable.at(f"{host.section} contains entries that are defined elsewhere", tracked.text, child.start)
        elif shape == "list":
            refuse_aliases(tree, tracked.text, (*steps, TrailStep(body, child)))
            self._fill(piece, tracked, host, body, child)
        else:

            def inside(root: Node) -> tuple[tuple[TrailStep, ...], Node]:
                steps, value = around(root)
                section = entry(value, host.section)
                assert section is not None
                return (*steps, TrailStep(value, section)), section.value

            self._into_map(piece, tracked, inside, None)

    def put_value(self, piece: Piece, host: Host) -> None:
        """Add an entry to the map of a host itself, after its last one."""
        tracked = self.files[self.file(host.name)]
        self._into_map(piece, tracked, lambda root: self._host(root, tracked, host), None)

    def _into_map(self, piece: Piece, tracked: MarkedText, find: Find, beside: Hashable | None) -> None:
        tree = parse(tracked.text)
        steps, holder = find(tree.root)
        refuse_aliases(tree, tracked.text, steps)
        text = tracked.text
        if holder.shape != "map":
            raise Untouchable.at("nothing can be added to a value that is not a map", text, holder.start)
        last = steps[-1] if steps else None
        if not holder.children and (last is None or not last.holder.flow):  # `{}` becomes lines
            if last is None or last.child.key is None:
                raise Untouchable.at("nothing can be added to empty braces here", text, holder.start)
            after = head(text, last.child)
            tracked.insert(after, "", over=holder.end - after)
            _paste(tracked, piece, next_line(tracked.text, after), last.child.column + STEP, dash="")
        elif holder.flow and piece.closed and "\n" not in text[holder.start : holder.end] and self._fits(piece, tracked, holder.start):
            at = holder.children[-1].value.end if holder.children else holder.end - 1
            piece.text.insert(0, ", " if holder.children else "")
            tracked.paste(at, piece.text)
        elif holder.flow:
            expand(tracked, find if holder.children else lambda root: _outside(find(root)[0]))
            self._into_map(piece, tracked, find, beside)
        else:
            child = resource(tree.root, tracked.marks[beside])[0][-1].child if beside is not None else holder.children[-1]
            airy = len(holder.children) > 1 and beside is not None and all("" in other.lead for other in holder.children[1:])
            at = end(text, child)
            _paste(tracked, piece, at, child.column, dash="")
            if airy:
                tracked.insert(at if tracked.text[at - 1] == "\n" else at + 1, "\n")

    def _host(self, root: Node, tracked: MarkedText, host: Host) -> tuple[tuple[TrailStep, ...], Node]:
        find = node if host.tagged else resource
        steps, body = find(root, tracked.marks[host.name])
        if body.shape != "map":
            raise Untouchable.at("nothing can be added to a value that is not a block map", tracked.text, tracked.marks[host.name])
        return steps, body

    def _beside(self, piece: Piece, name: Hashable, *, before: bool) -> None:
        tracked = self.files[self.file(name)]
        tree, steps = self._node(tracked, name)
        refuse_aliases(tree, tracked.text, steps[:-1])
        step = steps[-1]
        if step.holder.flow:
            room = len(_line(tracked.text, step.child.start)) + len(piece.text.text) + 2 <= WIDTH
            if piece.closed and _one_line(tracked.text, step) and room:
                at = step.child.value.start if before else step.child.value.end
                piece.text.insert(len(piece.text.text) if before else 0, ", ")
                tracked.paste(at, piece.text)
                return
            self._expand(tracked, steps, name)
            step = self._node(tracked, name)[1][-1]
        airy = any("" in child.lead for child in step.holder.children)
        _paste(tracked, piece, begin(tracked.text, step.child) if before else end(tracked.text, step.child), step.child.column)
        if airy:
            moved = parse(tracked.text)
            self._air(tracked, moved.root, name, before=before)

    def _air(self, tracked: MarkedText, root: Node, name: Hashable, *, before: bool) -> None:
        """Add a blank line between the inserted node and its sibling, as between the others."""
        step = node(root, tracked.marks[name])[0][-1]
        other = step.child if before else step.beside(1)
        if other is not None and "" not in other.lead:
            tracked.insert(begin(tracked.text, other), "\n")

    def _fill(self, piece: Piece, tracked: MarkedText, host: Host, body: Node, child: Child) -> None:
        """Insert into an empty list."""
        value, text = child.value, tracked.text
        if body.flow and not self._fits(piece, tracked, child.start):
            expand(tracked, lambda root: self._host(root, tracked, host))
            self.put(piece, host, None)
        elif body.flow:
            tracked.paste(text.index("[", value.start) + 1, piece.text)
        else:
            after = head(text, child)
            tracked.insert(after, "", over=value.end - after)
            _paste(tracked, piece, next_line(tracked.text, after), child.column + STEP)

    def _fits(self, piece: Piece, tracked: MarkedText, at: int) -> bool:
        return piece.closed and len(_line(tracked.text, at)) + len(piece.text.text) + len(", structure: []") <= WIDTH


# -- parts ----------------------------------------------------------------------------------------------------------------------------


def _out_of_braces(tracked: MarkedText, step: TrailStep) -> Piece:
    start, stop, previous, following = step.child.start, step.child.value.end, step.beside(-1), step.beside(1)
    piece = tracked.cut(start, stop)
    if previous is not None:
        tracked.insert(previous.value.end, "", over=start - previous.value.end)
    elif following is not None:
        tracked.insert(start, "", over=following.start - stop)
    else:
        opening, closing = tuple(EMPTY[step.holder.shape])
        start = tracked.text.rindex(opening, 0, start) + 1
        tracked.insert(start, "", over=tracked.text.index(closing, start) - start)
    return Piece(piece, closed=True)


def _out_of_lines(tracked: MarkedText, steps: Sequence[TrailStep]) -> Piece:
    text, step, child = tracked.text, steps[-1], steps[-1].child
    start, stop = begin(text, child), end(text, child)
    last = child.value.end
    closed = (
        (child.value.flow or child.value.shape in ("scalar", "alias"))
        and text[start:stop].strip("- \n") == text[child.value.start : last].strip()
        and "\n" not in text[start:stop].rstrip("\n")
    )
    only, braces = len(step.holder.children) == 1, EMPTY[step.holder.shape]
    empty = head(text, steps[-2].child) if only and len(steps) > 1 else None
    column = child.column
    piece = tracked.cut(start, stop)
    if not piece.text.endswith("\n"):
        piece.insert(len(piece.text), "\n")
    if step.index:
        kept = step.beside(-1)
        free = start if kept is not None and start == end(text, kept) else len(text[:start].rstrip("\n")) + 1
        tracked.insert(min(free, start), "", over=max(start - free, 0))
    elif step.beside(1) is not None:
        rest = tracked.text[start:]
        tracked.insert(start, "", over=len(rest) - len(rest.lstrip("\n")))
    if empty is not None:
        tracked.insert(empty, f" {braces}")
    elif only:
        tracked.insert(start, f"{braces}\n")
    if closed:
        value = piece.cut(child.value.start - start, last - start)
        return Piece(value, closed=True)
    return Piece(piece, closed=False, column=column)


def _outside(steps: tuple[TrailStep, ...]) -> tuple[tuple[TrailStep, ...], Node]:
    """The map or list that contains the last one of a path."""
    return steps[:-1], steps[-1].holder


def _under(section: str, piece: Piece, shape: str, *, closed: bool) -> Piece:
    """An entry or item as the only one of a new section. `closed`: on one line, if it is."""
    if piece.closed and closed:
        piece.text.insert(0, f"{section}: {EMPTY[shape][0]}")
        piece.text.insert(len(piece.text.text), EMPTY[shape][1])
        return piece
    lines = MarkedText(f"{section}:\n")
    _paste(lines, piece, len(lines.text), STEP, dash="- " if shape == "list" else "")
    return Piece(lines, closed=False)


def _paste(tracked: MarkedText, piece: Piece, at: int, column: int, *, dash: str = "- ") -> None:
    """Insert a node on lines of its own, with its dash in a column; or an entry, which has no dash."""
    if piece.closed:
        piece.text.insert(0, f"{' ' * column}{dash}")
        piece.text.insert(len(piece.text.text), "\n")
    else:
        piece.text.indent(column - piece.column)
    if at and tracked.text[at - 1] != "\n":
        tracked.insert(at, "\n")
        at += 1
    tracked.paste(at, piece.text)


def _one_line(text: str, step: TrailStep) -> bool:
    """Whether a flow list takes one line, and so contains no comment."""
    return "\n" not in text[step.holder.start : step.holder.end]


def _line(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : next_line(text, at)].rstrip("\n")


def _anchors(value: Node) -> list[str]:
    below = [anchor for child in value.children for anchor in _anchors(child.value)]
    return below + ([value.anchor] if value.anchor is not None else [])
