"""Where in a document a cursor is: the keys and lists around it, from the lines above. It never fails, however little of the text is YAML.

No parser: what somebody is typing is not YAML yet. Indentation and brackets of the lines above are enough to know which keys surround it.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from reconciler.features.lsp.text import Text

LINES_MAX: Final = 100_000  # above the cursor that are looked at
LINE_MAX: Final = 10_000  # characters before the cursor on its line, or inside the brackets around it; more are not looked at
FLOW_MAX: Final = 20  # lines that a list or map in brackets may have above the cursor

_LINE: Final = re.compile(
    r"""(?P<indent> *)(?P<dashes>(?:-(?: +|$))*)"""
    r"""(?:(?P<key>"[^"]*"|'[^']*'|[^\s#"'\[\]{},&*!|>][^\s#:]*+(?:\s++[^\s#:]++)*+)\s*+:(?:\s+|$))?(?P<rest>.*)"""
)
_WORD: Final = re.compile(r"[\w./@*$-]*")
_WORD_END: Final = re.compile(r"[\w./@*-]*")
_FLOW_KEY: Final = re.compile(r"""([\w.$-]+|"[^"]*"|'[^']*')\s*:(?:\s+|$)([^,\]}]*)""")
_EMPTY: Final = re.compile(r"\s*+(?:[&!]\S*+\s*+)*+(?:#.*)?\Z")
HOLE: Final = re.compile(r"\$\{\{(?:(?!\}\}).)*\Z", re.DOTALL)


@dataclass(frozen=True)
class PathStep:
    """One level around a cursor: a key of a map, or an item of a list (`key` is None). `beside`: the keys of the map that contains it, as
    far as they are known, with the texts of their values."""

    key: str | None
    beside: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """`path`: from the top of the file to the map or list that contains what is written at the cursor. `role`: what that may be; `first`:
    the beginning of an item, which may be a scalar or the first key of a map. `key`: of a value. `beside`: the other keys of its map.
    `word`: what is written already, between the offsets `start` and `end`. `expression`: what is written of an expression around it."""

    path: tuple[PathStep, ...]
    role: Literal["key", "value", "first"]
    key: str
    beside: dict[str, str]
    word: str
    start: int
    end: int
    expression: str | None = None
    colon: bool = False  # whether a colon follows the word

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys around it, without the items of lists."""
        return tuple(step.key for step in self.path if step.key is not None)


@dataclass(frozen=True)
class _Line:
    """A line in parts. `dashes`: the columns of the dashes of items; `column`: where the key or scalar begins."""

    dashes: tuple[int, ...]
    column: int
    key: str | None
    rest: str
    start: int  # of the rest


def _parts(line: str) -> _Line | None:
    """A line in parts; None for one that is empty or a comment."""
    match = _LINE.match(line)
    assert match is not None
    if not match["dashes"] and match["key"] is None and (not match["rest"] or match["rest"].startswith("#")):
        return None
    start, dashes = match.end("indent"), match["dashes"]
    columns = tuple(start + number for number, character in enumerate(dashes) if character == "-")
    key = match["key"].strip("\"'") if match["key"] is not None else None
    return _Line(columns, match.end("dashes"), key, match["rest"], match.start("rest"))


def place_at(text: Text, offset: int) -> Place:
    """The place of a cursor."""
    number = text.position(offset).line
    before = text.text[text.starts[number] : offset]
    after = text.line(number)[len(before) :]
    before = before if len(before) <= LINE_MAX else ""
    hole = HOLE.search(before)
    backwards = _WORD.match(before[::-1])
    word = backwards[0][::-1] if backwards is not None else ""
    follows = _WORD_END.match(after)
    end = offset + (follows.end() if follows is not None else 0)
    after_word = text.text[end : end + 200].partition("\n")[0]
    parts = _parts(before) or _Line((), len(before) - len(word), None, "", len(before))
    flow = _flow(text, number, before, parts)
    common = (word, offset - len(word), end, hole[0] if hole is not None else None)
    if flow is not None:
        above, inner, key, beside = flow
        rest = dict(_pairs(after_word.partition("}")[0]))
        role: Literal["key", "value", "first"] = "value" if key else "first" if inner and inner[-1].key is None else "key"
        around = tuple(_above(text, number, above, with_key=True))
        beside = {**rest, **beside}
        return Place((*around, *inner), role, key, beside, *common, colon=after_word.lstrip().startswith(":"))
    colon = re.match(r"\s*:(\s|$)", after_word) is not None
    if parts.key is not None:
        around, beside = _around(text, number, parts)
        beside.pop(parts.key, None)
        return Place(around, "value", parts.key, beside, *common)
    around, beside = _around(text, number, parts)
    role = "first" if parts.dashes and not colon else "key"
    return Place(around, role, "", beside, *common, colon=colon)


def _around(text: Text, number: int, parts: _Line) -> tuple[tuple[PathStep, ...], dict[str, str]]:
    """The levels around the content of a line, and the keys beside it."""
    beside: dict[str, str] = {}
    steps = tuple(_above(text, number, parts, beside=beside))
    for below in range(number + 1, min(number + 200, len(text.starts))):
        line = _parts(text.line(below))
        if line is None:
            continue
        if line.column < parts.column or line.dashes:
            if line.column <= parts.column or line.dashes[0] < parts.column:
                break
            continue
        if line.column == parts.column and line.key is not None:
            beside.setdefault(line.key, line.rest)
    return steps, beside


def _above(text: Text, number: int, parts: _Line, *, with_key: bool = False, beside: dict[str, str] | None = None) -> Iterator[PathStep]:
    """The levels around the content of a line, from the top of the file. `with_key`: the key of the line is one of them. `beside`: gets the
    keys next to the content."""
    steps: list[PathStep] = []
    siblings: dict[str, str] = {} if with_key or beside is None else beside
    column, listed = parts.column, False
    if with_key and parts.key is not None:
        steps.append(PathStep(parts.key, siblings))
        siblings[parts.key] = parts.rest

    def into_dashes(dashes: tuple[int, ...]) -> None:
        nonlocal column, listed, siblings
        for dash in reversed([dash for dash in dashes if dash < column]):
            steps.append(PathStep(None, siblings if not listed else {}))
            siblings, column, listed = {}, dash, True

    into_dashes(parts.dashes)
    for above in range(number - 1, max(-1, number - LINES_MAX), -1):
        if column <= 0 and not listed:
            # Only keys of the top are left: they say what the file is.
            line = _parts(text.line(above))
            if line is not None and line.key is not None and line.column == 0:
                siblings.setdefault(line.key, line.rest)
            continue
        line = _parts(text.line(above))
        if line is None or (line.column > column and not any(dash < column for dash in line.dashes)):
            continue
        if listed:
            outer = tuple(dash for dash in line.dashes if dash < column)
            if line.key is not None and not line.dashes and line.column <= column and _EMPTY.match(line.rest):
                siblings = {line.key: line.rest}
                steps.append(PathStep(line.key, siblings))
                column, listed = line.column, False
            elif outer and line.key is not None and line.column <= column:  # - key: and the list on the next lines
                siblings = {line.key: line.rest}
                steps.append(PathStep(line.key, siblings))
                column, listed = line.column, False
                into_dashes(line.dashes)
            elif outer and column in line.dashes:  # - - the first item of a list in a list
                into_dashes(line.dashes)
        elif line.column == column:
            if line.key is not None:
                siblings.setdefault(line.key, line.rest)
            into_dashes(line.dashes)
        elif line.column < column and line.key is not None:
            if _EMPTY.match(line.rest):
                siblings = {line.key: line.rest}
                steps.append(PathStep(line.key, siblings))
            else:  # this line is indented more than what it belongs to
                siblings.setdefault(line.key, line.rest)
            column = line.column
            into_dashes(line.dashes)
        else:
            into_dashes(line.dashes)
    return reversed(steps)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for match in _FLOW_KEY.finditer(text):
        yield match[1].strip("\"'"), match[2].strip()


def _flow(text: Text, number: int, before: str, parts: _Line) -> tuple[_Line, tuple[PathStep, ...], str, dict[str, str]] | None:
    """If a cursor is inside brackets: the line that they begin on, the levels inside them, the key of a value, and the keys of its map."""
    content = before[parts.start :] if parts.key is not None or parts.dashes else before[parts.column :] if parts.rest else before
    for back in range(FLOW_MAX):
        opened = _brackets(content)
        if opened is None:
            return None
        if opened:
            return parts, *_levels(opened)
        above = number - back - 1
        line = _parts(text.line(above)) if above >= 0 else None
        if line is None or not _opens(text.line(above)):
            return None
        parts = line
        content = f"{line.rest} {content}"
        if len(content) > LINE_MAX:
            return None
    return None


def _opens(line: str) -> bool:
    """Whether a line ends inside brackets, as far as it can be known from it."""
    return line.rstrip().endswith(("[", "{", ","))


def _brackets(content: str) -> list[tuple[str, dict[str, str], str]] | None:
    """The brackets that are open at the end of a text, each with its keys and the key without a value; none where it does not begin with
    one, None where all of them are closed."""
    opened: list[tuple[str, dict[str, str], str]] = []
    began, at, quote, item = False, 0, "", ""
    while at < len(content):
        character = content[at]
        if content.startswith("${{", at):
            end = content.find("}}", at)
            item += content[at : end + 2 if end >= 0 else len(content)]
            at = end + 2 if end >= 0 else len(content)
            continue
        if quote:
            quote = "" if character == quote else quote
            item += character
        elif character in "\"'" and not item.strip():
            quote, item = character, item + character
        elif character in "[{" and not item.strip():
            if not opened and began:
                return None
            began = True
            opened.append((character, {}, ""))
            item = ""
        elif opened and character in "]}":
            bracket, keys, key = opened.pop()
            if bracket == "{" and key:
                keys[key] = item.strip()
            item = " "
            if opened and opened[-1][2]:
                item = ""
        elif opened and character == ",":
            bracket, keys, key = opened[-1]
            if bracket == "{" and key:
                keys[key] = item.strip()
            opened[-1], item = (bracket, keys, ""), ""
        elif opened and opened[-1][0] == "{" and character == ":" and content[at + 1 : at + 2] in ("", " "):
            opened[-1], item = ("{", opened[-1][1], item.strip().strip("\"'")), ""
        elif not opened and not character.isspace():
            return None if began or character == "#" else []
        else:
            item += character
        at += 1
    return opened if opened or not began else None


def _levels(opened: list[tuple[str, dict[str, str], str]]) -> tuple[tuple[PathStep, ...], str, dict[str, str]]:
    steps: list[PathStep] = []
    for bracket, keys, key in opened[:-1]:
        steps.append(PathStep(key, keys) if bracket == "{" else PathStep(None))
    bracket, keys, key = opened[-1]
    if bracket == "[":
        steps.append(PathStep(None))
        return tuple(steps), "", {}
    return tuple(steps), key, keys
