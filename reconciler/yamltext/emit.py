"""YAML as a person writes it: what fits on one line is on one, long texts are blocks, comments are above what they describe. Pure.

In: plain data with `EmittedMap` and `EmittedList` where it may take lines of its own. Out: text whose scalars are read back unchanged,
whatever characters they contain: what could be an expression is escaped, invisible characters are written as `\\u…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.text.escape import is_plain, named

WIDTH: Final = 100  # characters that an entry on one line may have; indentation does not count, so equal entries look alike at any depth
LIST_WIDTH: Final = 140  # columns that a list of values may reach, as `fmt` has it: its items are short, and look alike anywhere
STEP: Final = 2  # columns

_PLAIN: Final = re.compile(r"[^\W\d_][\w /.()+&;@-]*")  # texts that need no quotes and cannot be read as another type
_OTHER: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_JOINER: Final = "\u200d"  # inside one emoji
_SHORT: Final = {"\\": "\\\\", '"': '\\"'}


@dataclass
class EmittedEntry:
    """One entry of a map or a list: the comments above it, its key (None in a list), its value."""

    key: str | None
    value: Any
    comments: tuple[str, ...] = ()


@dataclass
class EmittedMap:
    """A map. `open`: its entries have lines of their own even where it is short."""

    lines: list[EmittedEntry] = field(default_factory=list)
    open: bool = False


@dataclass
class EmittedList:
    """A list. `open`: its items have lines of their own even where it is short."""

    lines: list[EmittedEntry] = field(default_factory=list)
    open: bool = False


class EmittedExpression(str):
    """An expression, with its `${{` and `}}`: nothing in it is escaped."""


def document(content: EmittedMap, *, head: Sequence[str] = ()) -> str:
    """The text of a file; `head` are comments at its beginning. Blank lines separate top-level keys that take several lines, and several
    comments from what follows."""
    parts = [f"# {comment(text)}" for text in head]
    before = len(head) > 1
    for line in content.lines:
        lines = list(entry(line, 0))
        if (len(parts) > len(head) and len(lines) > 1) or before:
            parts.append("")
        before = len(lines) > 1
        parts += lines
    return "\n".join(parts) + "\n"


def comment(text: str) -> str:
    """A text for a comment: one line, without invisible characters."""
    return "".join(character if _shows(character) else named(character) for character in text)


# -- lines -------------------------------------------------------------------------------------------------------------------------


def entry(line: EmittedEntry, indent: int) -> Iterator[str]:
    """The lines of a key with its value."""
    margin = " " * indent
    yield from (f"{margin}# {comment(text)}" for text in line.comments)
    head = f"{margin}{scalar(line.key or '')}:"
    short = flow(line.value)
    length = len(head) + 1 + len(short or "")
    listed = isinstance(line.value, EmittedList | list | tuple) and length <= LIST_WIDTH
    if short is not None and (listed or length - indent <= WIDTH):
        yield f"{head} {short}"
    elif isinstance(line.value, EmittedExpression):
        yield f"{head} {line.value}"
    elif isinstance(line.value, str):
        yield from _text(head, line.value, indent)
    else:
        yield head
        yield from block(line.value, indent + STEP)


def block(value: Any, indent: int) -> Iterator[str]:
    """The lines of a map or a list, one entry each."""
    if isinstance(value, Mapping):
        value = EmittedMap([EmittedEntry(str(key), part) for key, part in value.items()])
    if isinstance(value, EmittedMap):
        for line in value.lines:
            yield from entry(line, indent)
        return
    lines = value.lines if isinstance(value, EmittedList) else [EmittedEntry(None, part) for part in value]
    for line in lines:
        yield from item(line, indent)


def item(line: EmittedEntry, indent: int) -> Iterator[str]:
    margin = " " * indent
    yield from (f"{margin}# {comment(text)}" for text in line.comments)
    short = flow(line.value)
    if short is not None and STEP + len(short) <= WIDTH:
        yield f"{margin}- {short}"
    elif isinstance(line.value, str):
        yield from _text(f"{margin}-", line.value, indent)
    else:
        lines = list(block(line.value, indent + STEP))
        yield f"{margin}- {lines[0][indent + STEP :]}"
        yield from lines[1:]


def _text(head: str, value: str, indent: int) -> Iterator[str]:
    """The lines of a text: a text of several lines as a block where possible."""
    lines = value.removesuffix("\n").split("\n")
    free = all(not line.startswith(" ") and all(map(_shows, line)) for line in lines)
    if len(lines) > 1 and free and lines[0] and lines[-1]:
        yield f"{head} |" if value.endswith("\n") else f"{head} |-"
        yield from (f"{' ' * (indent + STEP)}{escaped(line)}" if line else "" for line in lines)
    else:
        yield f"{head} {scalar(value)}"


# -- on one line -------------------------------------------------------------------------------------------------------------------


def flow(value: Any) -> str | None:
    """The value on one line; None where it needs several."""
    match value:
        case EmittedMap() if value.open or any(line.comments for line in value.lines):
            return None
        case EmittedMap():
            return flow({line.key: line.value for line in value.lines})
        case EmittedList() if value.lines and (value.open or any(line.comments for line in value.lines)):
            return None
        case EmittedList():
            return flow([line.value for line in value.lines])
        case Mapping():
            parts = [(scalar(str(key)), flow(part)) for key, part in value.items()]
            return None if any(part is None for _, part in parts) else "{" + ", ".join(f"{key}: {part}" for key, part in parts) + "}"
        case list() | tuple():
            items = [flow(part) for part in value]
            return None if None in items else "[" + ", ".join(item for item in items if item is not None) + "]"
        case EmittedExpression():  # a plain scalar with braces, which a map on one line cannot contain
            return None
        case str() if "\n" in value:
            return None
        case _:
            return scalar(value)


def closed(value: Any) -> str:
    """The value on one line, whatever it contains; comments in it are lost."""
    match value:
        case EmittedMap():
            return "{" + ", ".join(f"{scalar(line.key or '')}: {closed(line.value)}" for line in value.lines) + "}"
        case EmittedList():
            return "[" + ", ".join(closed(line.value) for line in value.lines) + "]"
        case Mapping():
            return "{" + ", ".join(f"{scalar(str(key))}: {closed(part)}" for key, part in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(closed(part) for part in value) + "]"
        case _:
            return scalar(value)


def scalar(value: Any) -> str:
    """One value in YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    if isinstance(value, EmittedExpression):
        return "'" + value.replace("'", "''") + "'"
    text = escaped(value)
    if _is_plain(text):
        return text
    return '"' + "".join(_SHORT.get(character) or (character if _shows(character) else named(character)) for character in text) + '"'


def escaped(text: str) -> str:
    """A text in which nothing is an expression."""
    return text.replace("${{", "$${{")


def _is_plain(text: str) -> bool:
    if text.lower() in _OTHER or text != text.strip() or not all(map(_shows, text)):
        return False
    return _PLAIN.fullmatch(text) is not None


def _shows(character: str) -> bool:
    return is_plain(character) or character == _JOINER
