"""Files of projects as people write them, and what a command changed in them that is not its concern. Nothing here uses the tested writers.

styled(data, chance)            the YAML of data: blocks, braces over one line and over several, comments, quotes, anchors, CRLF, a BOM
mistakes(before, after, about)  the lines and comments that are lost, although the command was not about them
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from reconciler.address import Address
from reconciler.features.edits.texts import ProjectTexts
from reconciler.model import Declared, Source
from reconciler.yamltext.line_ends import plain

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/-]*( [A-Za-z0-9]+)*")
TYPED = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")
BREAK = re.compile(r"\r\n|\r|\n")
NOTE = re.compile(r"# (?:above|beside) \d+")


# -- writing -----------------------------------------------------------------------------------------------------------------------------


@dataclass
class Style:
    """`rate`: how often there is a comment, a quote or a blank line. `anchors`: whether values have anchors, some of them repeated."""

    chance: random.Random
    rate: float = 0.1
    anchors: bool = False
    number: int = 0
    repeated: list[str] = field(default_factory=list)

    def maybe(self, rate: float | None = None) -> bool:
        return self.chance.random() < (self.rate if rate is None else rate)

    def note(self, word: str) -> str:
        self.number += 1
        return f"# {word} {self.number}"

    def above(self, pad: str) -> list[str]:
        blank = [""] if self.maybe() else []
        return [*blank, pad + self.note("above")] if self.maybe() else blank

    def beside(self) -> str:
        return f"  {self.note('beside')}" if self.maybe() else ""

    def key(self, key: str) -> str:
        return json.dumps(key) if (not PLAIN.fullmatch(key) and not re.fullmatch(r"[\w@.-]+", key)) or self.maybe() else key

    def scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        if PLAIN.fullmatch(value) and value.lower() not in TYPED and not self.maybe():
            return value
        if self.maybe(0.5) and not re.search(r"[^ -~]", value):
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=not value.isprintable())

    def anchor(self) -> str:
        if not self.anchors or not self.maybe(0.05):
            return ""
        self.number += 1
        if self.maybe(0.3):
            self.repeated.append(f"a{self.number}")
        return f"&a{self.number} "

    # -- on one line, or in braces over several --------------------------------------------------------------------------------------

    def line(self, value: Any) -> str:
        match value:
            case dict():
                return "{" + ", ".join(f"{self.key(key)}: {self.line(part)}" for key, part in value.items()) + "}"
            case list():
                return f"[{', '.join(map(self.line, value))}]"
        return self.scalar(value)

    def braces(self, value: Any, indent: int) -> list[str]:
        """A map or list over several lines: some entries share a line, a comma may be behind the last one."""
        pad, parts = " " * (indent + 2), value.items() if isinstance(value, dict) else [(None, part) for part in value]
        lines = ["{" if isinstance(value, dict) else "["]
        alone = True
        for at, (key, part) in enumerate(parts):
            head = f"{self.key(key)}: " if key is not None else ""
            last = at == len(value) - 1
            inner = self.braces(part, indent + 2) if isinstance(part, dict | list) and part and self.maybe(0.3) else [self.line(part)]
            comma = "" if last and self.maybe(0.7) else ","
            if alone:
                lines += [*([pad + self.note("above")] if self.maybe() and at else []), f"{pad}{head}{inner[0]}", *inner[1:]]
            else:
                lines[-1] += f" {head}{inner[0]}"
                lines += inner[1:]
            lines[-1] += comma
            alone = last or self.maybe(0.6)
            if alone:
                lines[-1] += self.beside()
        closing = "}" if isinstance(value, dict) else "]"
        if self.maybe(0.5) or "#" in lines[-1]:
            return [*lines, pad[2:] + closing]
        lines[-1] += closing
        return lines

    # -- in blocks -------------------------------------------------------------------------------------------------------------------

    def block(self, value: Any, indent: int, *, top: bool = False) -> list[str]:
        pad, lines = " " * indent, list[str]()
        for key, part in value.items() if isinstance(value, dict) else [(None, part) for part in value]:
            lines += self.above(pad) if lines or not top else []
            begin = f"{self.key(key)}:" if key is not None else "-"
            lines += [pad + line for line in self.entry(begin, part, indent, open=top)] if key is not None else self.item(part, indent)
        return lines

    def entry(self, begin: str, value: Any, indent: int, *, open: bool) -> list[str]:
        if not isinstance(value, dict | list) or not value:
            return [f"{begin} {self.anchor()}{self.line(value)}{self.beside()}"]
        style, length = self.chance.random(), len(self.line(value))
        if not open and style < 0.25 and length < 250:
            return [f"{begin} {self.anchor()}{self.line(value)}{self.beside()}"]
        if not open and style < 0.5 and length < 800:
            lines = self.braces(value, 0)
            return [f"{begin} {self.anchor()}{lines[0]}", *(lines[1:-1]), *([lines[-1] + self.beside()] if lines[1:] else [])]
        return [f"{begin}{self.beside()}", *self.block(value, 2 if isinstance(value, dict) or self.maybe(0.8) else 0)]

    def item(self, value: Any, indent: int) -> list[str]:
        pad = " " * indent
        if not isinstance(value, dict) or not value:
            return [f"{pad}- {self.line(value)}{self.beside()}"]
        style = self.chance.random()
        if style < 0.4:
            return [f"{pad}- {self.line(value)}{self.beside()}"]
        if style < 0.6:
            lines = self.braces(value, 0)
            return [f"{pad}- {lines[0]}", *(f"{pad}  {line}" for line in lines[1:])]
        lines = self.block(value, 2)
        while not lines[0].strip() or lines[0].strip().startswith("#"):
            lines = lines[1:]
        return [f"{pad}- {lines[0][2:]}", *(pad + line if line else "" for line in lines[1:])]


def styled(data: Any, chance: random.Random, *, anchors: bool = False) -> str:
    """The YAML of data as one of many people would write it. `anchors`: for a file whose keys at the top may begin with `x-`."""
    style = Style(chance, rate=chance.choice((0.05, 0.15, 0.3)), anchors=anchors)
    lines = [*(["# above 0", ""] if chance.random() < 0.3 else []), *style.block(data, 0, top=True)]
    lines += [f"x-repeated: [{', '.join(f'*{name}' for name in style.repeated)}]"] if style.repeated else []
    text = "\n".join(lines) + chance.choice(("\n", "\n", ""))
    assert yaml.safe_load(text) is not None
    breaks = chance.choice(((), (), ("\r\n",), ("\r\n", "\n")))
    text = re.sub("\n", lambda _: chance.choice(breaks), text) if breaks else text
    return ("\ufeff" if chance.random() < 0.2 else "") + text


# -- what a command is about -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """An entry or item of a text: its lines, and those of the outermost braces around it. `value`: of its value alone."""

    lines: range
    braces: range
    node: yaml.Node
    before: range = range(0)


class Text:
    """Where everything is written in one text; lines count from 0."""

    def __init__(self, text: str) -> None:
        self.text = plain(text)
        self.starts: dict[tuple[int, int], Written] = {}
        self.values: dict[tuple[int, int], Written] = {}
        root = yaml.compose(self.text)
        assert root is not None
        self.root = root
        self._walk(root, range(0))

    def _walk(self, node: yaml.Node, braces: range) -> None:
        if not isinstance(node, yaml.CollectionNode):
            return
        braces = braces or (_lines(node) if node.flow_style else range(0))
        previous = range(0)
        for pair in node.value:
            key, value = pair if isinstance(node, yaml.MappingNode) else (pair, pair)
            mark = key.start_mark
            lines = range(mark.line, _lines(value).stop)
            written = Written(lines, braces, value, previous)
            self.starts.setdefault((mark.line, mark.column), written)
            self.values[value.start_mark.line, value.start_mark.column] = written
            if isinstance(node, yaml.SequenceNode) and isinstance(value, yaml.MappingNode):
                for inner, _ in value.value:
                    self.starts.setdefault((inner.start_mark.line, inner.start_mark.column), Written(lines, braces, value, previous))
            self._walk(value, braces)
            previous = lines

    def at(self, source: Source) -> Written:
        at = source.line - 1, source.column - 1
        return self.starts[at] if at in self.starts else self.values[at]


def _lines(node: yaml.Node) -> range:
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return range(node.start_mark.line, _lines(last[1] if isinstance(last, tuple) else last).stop)
    stop = node.end_mark
    return range(node.start_mark.line, stop.line + (1 if stop.column or stop.line == node.start_mark.line else 0))


@dataclass
class About:
    """The lines of files, by name, that a command may change."""

    files: Mapping[str, str]
    lines: dict[str, set[int]] = field(default_factory=dict)
    texts: dict[str, Text] = field(default_factory=dict)

    def _written(self, source: Source) -> tuple[set[int], Written, Text]:
        if source.file not in self.texts:
            self.texts[source.file] = Text(self.files[source.file])
        text = self.texts[source.file]
        return self.lines.setdefault(source.file, set()), text.at(source), text

    def value(self, declared: Declared, name: str) -> None:
        """A field: its lines; those of the resource's key or braces where it is not written."""
        at = declared.positions.get(name)
        own = at is not None and at.file == declared.source.file and name not in declared.from_defaults
        lines, written, _ = self._written(at if own and at is not None else declared.source)
        whole = own or isinstance(written.node, yaml.ScalarNode)
        lines |= {*written.lines} if whole else self._last_of(written.node)
        lines |= {*written.before[-1:]} if written.braces else set()  # a comma

    def _last_of(self, node: yaml.Node) -> set[int]:
        if not isinstance(node, yaml.CollectionNode) or not node.flow_style:
            return set()
        last = node.value[-1] if node.value else None
        at = node.end_mark.line if last is None else (last[1] if isinstance(last, tuple) else last).end_mark.line
        return {at}

    def resource(self, declared: Declared) -> None:
        """A resource, whose lines move or disappear, with the comments above it."""
        lines, written, text = self._written(declared.source)
        lines |= {*written.lines, *written.braces}
        above, all_lines = written.lines.start - 1, text.text.split("\n")
        while above >= 0 and (not all_lines[above].strip() or all_lines[above].lstrip().startswith("#")):
            lines.add(above)
            above -= 1

    def contents(self, declared: Declared) -> None:
        """A resource that gets or loses contents: the braces that it is in, and those of its maps and lists; or these are empty."""
        lines, written, _ = self._written(declared.source)
        lines |= {*written.braces, *_around(written.node)}
        for name in self.files if declared.parent is None else ():  # a map or list at the top of a file
            text = self.texts.setdefault(name, Text(self.files[name]))
            self.lines.setdefault(name, set()).update(_around(text.root))


def _around(node: yaml.Node) -> Iterator[int]:
    """The lines of a map in braces, or of its maps and lists in braces, and of the keys of all of these."""
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        yield from _lines(node)
    for part in node.value if isinstance(node, yaml.CollectionNode) else ():
        key, value = part if isinstance(part, tuple) else (None, part)
        if key is not None and isinstance(value, yaml.CollectionNode):
            yield key.start_mark.line
            yield from _lines(value) if value.flow_style else ()


def entries_of(text: str, *path: str) -> Iterator[range]:
    """The lines of the entry at a path of keys, or of each of its items with `*` at the end."""
    node: Any = yaml.compose(plain(text))
    lines = range(0)
    for word in path:
        if word == "*":
            yield from map(_lines, node.value)
            return
        key, node = next(pair for pair in node.value if pair[0].value == word)
        lines = range(key.start_mark.line, _lines(node).stop)
    yield lines


# -- the property ------------------------------------------------------------------------------------------------------------------------


def kept_lines(
    before: Mapping[str, str], after: Mapping[str, str], about: Mapping[str, Collection[int]], *, comments: bool = True
) -> list[str]:
    """What is lost of the files of a project, as sentences. `comments`: whether all of them stay, also those of what it was about."""
    wrong = [f"{name} is gone" for name in before if name not in after]
    return wrong + [
        f"{name}: {line}" for name, text in before.items() for line in _lost(text, after[name], about.get(name, ()), comments=comments)
    ]


def _lost(before: str, after: str, about: Collection[int], *, comments: bool) -> Iterator[str]:
    if before.startswith("\ufeff") != after.startswith("\ufeff"):
        yield "the byte order mark changed"
    old, new = (_split(text.removeprefix("\ufeff")) for text in (before, after))
    at = 0
    for number, line in enumerate(old):
        if number in about or not line.strip():
            continue
        # A last line without a line break gets one, if another follows.
        fits = [
            there for there in range(at, len(new)) if new[there] == line or (number == len(old) - 1 and BREAK.sub("", new[there]) == line)
        ]
        if fits:
            at = fits[0] + 1
        else:
            yield f"line {number + 1} is lost, or is elsewhere: {line!r}"
    notes = [sorted(NOTE.findall(text)) for text in (before, after)]
    if comments and notes[0] != notes[1]:
        yield f"comments differ: {sorted({*notes[0]} ^ {*notes[1]})}"
    former = dict(_beside(before))
    for note, owner in _beside(after):
        if owner and former.get(note) and owner[-1] not in former[note]:
            yield f"{note} was beside {'.'.join(former[note])}, and is beside {'.'.join(owner)}"


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if part]


def _beside(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each comment at the end of a line, and the path to what it is beside: the last that ends on the line, or else the last that begins
    there; () for none."""
    text, begins, ends = plain(text), dict[int, tuple[str, ...]](), dict[int, tuple[int, tuple[str, ...]]]()
    root = yaml.compose(text)
    assert root is not None
    _find_last(root, (), begins, ends)
    for number, line in enumerate(text.split("\n")):
        if (note := NOTE.search(line)) is not None and line[: note.start()].strip():
            yield note[0], ends[number][1] if number in ends else begins.get(number, ())


def _find_last(
    node: yaml.Node, path: tuple[str, ...], begins: dict[int, tuple[str, ...]], ends: dict[int, tuple[int, tuple[str, ...]]]
) -> None:
    for part in node.value if isinstance(node, yaml.CollectionNode) else ():
        key, value = part if isinstance(part, tuple) else (part, part)
        named = value.value[0][1] if value is part and isinstance(value, yaml.MappingNode) and value.value else key
        inner = (*path, str(named.value) if isinstance(named, yaml.ScalarNode) else "-")
        begins[key.start_mark.line] = inner
        end = value.end_mark
        if (isinstance(value, yaml.ScalarNode) or value.flow_style) and end.column > ends.get(end.line, (0, ()))[0]:
            ends[end.line] = end.column, inner
        _find_last(value, inner, begins, ends)


def by_address(texts: ProjectTexts, environment: str | None = None) -> Mapping[Address, Declared]:
    desired = texts.projects[environment].desired
    return {**desired.resources, **{address: excluded.declared for address, excluded in desired.excluded.items()}}


def hosts(declared: Mapping[Address, Declared], addresses: Sequence[Address]) -> list[Declared]:
    """What contains these resources."""
    return [declared[parent] for address in addresses if address in declared and (parent := declared[address].parent) in declared]  # type: ignore[index]
