"""One YAML file as nodes with positions: a strict subset of YAML 1.2, every problem with its line and column.

In: the bytes of a file. Out: `Document`, its nodes in the form of this package, expressions not yet evaluated. The nodes are built from the
parser's events, not by the parser, so nesting is limited before anything recurses. Pure.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from reconciler.config.source.nodes import HOLE_OPENING, List, Map, MapEntry, Node, Scalar
from reconciler.errors import PROBLEMS_MAX, Problem
from reconciler.model import Source
from reconciler.text.escape import replaced
from reconciler.text.names import did_you_mean

_HINT: Final = '; if the value contains "${{", quote the whole value'
_SAYINGS: Final[Mapping[str, str]] = {
    "mapping values are not allowed in this context": 'a ":" is not allowed here; quote values that contain ": ", or fix the indentation',
    "block sequence entries are not allowed in this context": 'a list cannot begin here; put its "- " on a line of its own',
    "found unexpected end of stream": "this quote is never closed",
    "did not find expected ',' or ']'": 'a list is not closed here: a "," or "]" is missing before this',
    "did not find expected ',' or '}'": 'a map is not closed here: a "," or "}" is missing before this',
    "did not find expected key": "this does not belong to the previous key; quote the whole value, or correct the indentation",
    "did not find expected '-' indicator": 'an item of a list must begin with "- "; correct the indentation',
    "could not find expected ':'": 'a ":" is missing after this key',
    "did not find expected node content": "a value is missing here",
    "found unknown escape character": "this escape is unknown in double quotes; write \\\\ for a backslash, or use single quotes",
    "found invalid Unicode character escape code": "this escape is not a character; write the character itself",
    "found undefined tag handle": "tags (words that begin with !) are not allowed; quote the value",
    "did not find expected alphabetic or numeric character": 'a name is missing after "*" or "&"; quote the value',
    "did not find expected comment or line break": 'a text block begins on the next line; only a comment is allowed after its "|" or ">"',
    "found incompatible YAML document": "this version of YAML is not supported; remove the line",
}
_CLOSING: Final = {"did not find expected ',' or ']'": "a list", "did not find expected ',' or '}'": "a map"}
_AT_ITS_BEGINNING: Final = ("found unexpected end of stream", "could not find expected ':'")  # PyYAML notices these later
_CONFLICT: Final = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
_TAB: Final = "the indentation contains a tab; YAML requires spaces"


def explained(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> tuple[int, int, str, str]:
    """Line and column, from 1, one sentence, and the id of its cause."""
    # `git merge` left its markers. The parser would complain about a colon or a quote somewhere after them.
    conflict = next((number for number, line in enumerate(lines, start=1) if line.startswith(_CONFLICT)), None)
    if conflict is not None:
        return conflict, 1, "a merge conflict begins here; resolve it, and delete its markers", "RC-merge-conflict"
    problem = (error.problem or error.context or "").strip()
    mark = error.problem_mark or error.context_mark
    # The parser notices an open quote at the end of the file, 400 lines after it.
    if problem in _AT_ITS_BEGINNING and error.context_mark is not None:
        mark = error.context_mark
    if mark is None:
        return 0, 0, f"this is not YAML: {problem}", "RC-yaml-syntax"
    line = lines[mark.line] if mark.line < len(lines) else ""
    if problem in _CLOSING and error.context_mark is not None and not line[mark.column :] and not any(lines[mark.line + 1 :]):
        at = error.context_mark
        return at.line + 1, at.column + 1, f"{_CLOSING[problem]} is never closed", "RC-yaml-syntax"
    indentation = line[: len(line) - len(line.lstrip())]
    # YAML 1.2, section 6.1: tabs must not be used in indentation.
    if "\t" in indentation:
        return mark.line + 1, indentation.index("\t") + 1, _TAB, "RC-yaml-syntax"
    before = _key_without_colon(problem, lines, mark.line, line[: mark.column])
    if before is not None:
        return *before, _SAYINGS["could not find expected ':'"], "RC-yaml-syntax"
    message = _SAYINGS.get(problem)
    if problem == "found character that cannot start any token":
        character = line[mark.column : mark.column + 1]
        message = "a tab is not allowed before a value" if character == "\t" else f'"{character}" cannot begin a value; quote it'
    places = {position.line for position in (mark, error.problem_mark, error.context_mark) if position is not None}
    holes = any(HOLE_OPENING in lines[place] for place in places if place < len(lines))
    if not holes and mark.line > 0:  # a map or a list that an expression interrupts is reported one line later
        holes = problem.startswith("did not find expected") and HOLE_OPENING in lines[mark.line - 1]
    return mark.line + 1, mark.column + 1, (message or f"this is not YAML: {problem}") + (_HINT if holes else ""), "RC-yaml-syntax"


def _key_without_colon(problem: str, lines: Sequence[str], line: int, key: str) -> tuple[int, int] | None:
    """Line and column, from 1, of a line that is only words, where the next line begins with a key: the parser takes both for one key."""
    if problem != "mapping values are not allowed in this context" or ":" in key:
        return None
    number = next((number for number in range(line - 1, -1, -1) if lines[number].strip()), None)
    text = lines[number] if number is not None else ""
    indentation = len(text) - len(text.lstrip())
    if number is None or ":" in text or text.lstrip()[0] in "#-" or indentation != len(key) - len(key.lstrip()):
        return None
    return number + 1, indentation + 1


# The limits stop before memory does: a project of 10,000 resources has a tenth of these values.
FILE_MAX: Final = 16 * 1024 * 1024  # bytes
SCALAR_MAX: Final = 1024 * 1024  # characters
DEPTH_MAX: Final = 100
NODES_MAX: Final = 500_000  # some 200 MB, and a few seconds
# "Billion laughs": nine lines of aliases that name each other stand for 10^9 values, and parsers that keep references do not notice.
EXPANDED_MAX: Final = 100_000  # nodes that aliases repeat
MEANT_MAX: Final = 100  # numbers of problems and anchors up to which a similar anchor is suggested

# If PyYAML was built without libyaml, its own parser reports the same more slowly and in other words.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What YAML does not allow, the line breaks that only YAML 1.1 knows (they would shift every line after them) and byte order marks.
_FORBIDDEN: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
# Merge keys are of YAML 1.1 only; parsers disagree about which side wins, so a reviewer could not know what a file says.
_MERGE: Final = "<<"
EMPTY_FILE: Final = "this file is empty"


@dataclass(frozen=True)
class Document:
    """`data`: None if the file cannot be read at all; a duplicate key, for example, leaves the rest readable. `values`: their number."""

    data: Node | None
    problems: tuple[Problem, ...] = ()
    values: int = 0


def read(text: bytes, file: str) -> Document:
    """The only document of a file; `file` is its name in positions."""
    reader = _Reader(file)
    collects = gc.isenabled()
    gc.disable()  # no node can be freed before the end; garbage collection costs a fifth of the time
    try:
        data = reader.document(reader.decoded(text))
    except _Stop:
        data = None
    finally:
        if collects:
            gc.enable()
    return Document(data, tuple(reader.problems), reader.count)


class _Stop(Exception):
    """Reading cannot continue; the problem is reported."""


class _Reader:
    """One run over one file. `anchors`: finished nodes by name; `open`: names of anchors around the present position.

    `keys`: each text that was a key, once.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: list[str] = []
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node] = {}
        self.keys: dict[str, str] = {}
        self.open: list[str] = []
        self.count = 0
        self.expanded = 0
        self.next: Callable[[], Any]

    # -- text ----------------------------------------------------------------------------------------------------------------------

    def decoded(self, text: bytes) -> str:
        if len(text) > FILE_MAX:
            raise self._stop(0, 0, f"the file is larger than {FILE_MAX // 2**20} MiB", id="RC-file-too-large")
        # What Notepad and PowerShell's > write; as UTF-8 it would be "a character that is not allowed" in line 1.
        if text.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise self._stop(0, 0, "the file is UTF-16; save it as UTF-8", id="RC-not-utf-8")
        try:
            decoded = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line, column = _place(error.object[: error.start].decode("utf-8"))
            raise self._stop(
                line, column, f"the byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8", id="RC-not-utf-8"
            ) from None
        # Bidirectional and zero-width characters are allowed in texts (people write Arabic), and named wherever a report shows them.
        bad = _FORBIDDEN.search(decoded)
        if bad is not None:
            code = ord(bad[0])
            escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
            line, column = _place(decoded[: bad.start()])
            wrong = f'the character U+{code:04X} is not allowed here; write "{escape}" in double quotes'
            raise self._stop(line, column, wrong, id="RC-control-character")
        return decoded

    # -- nodes ---------------------------------------------------------------------------------------------------------------------

    def document(self, text: str) -> Node | None:
        try:
            self.next = _LOADER(text).get_event
            document: Node | None = None
            event = self.next()
            while not isinstance(event, yaml.StreamEndEvent):
                if isinstance(event, yaml.DocumentStartEvent):
                    if document is not None:
                        raise self._stop_at(event, "a second document begins here; move it to a file of its own", id="RC-second-document")
                    document = self._node(self.next(), 1)
                event = self.next()
        except yaml.MarkedYAMLError as error:
            line, column, message, id = explained(error, _BREAK.split(text))
            raise self._stop(line, column, message, id=id) from None
        except yaml.YAMLError as error:
            raise self._stop(0, 0, f"this is not YAML: {error}", id="RC-yaml-syntax") from None
        if document is None or (isinstance(document, Scalar) and document.empty):
            raise self._stop(0, 0, EMPTY_FILE, id="RC-empty-file")
        return document

    def _node(self, event: Any, depth: int) -> Node:
        kind = event.__class__
        # PyYAML's own composer would build the tree recursively and resolve aliases by reference; both are what an attacker wants.
        if kind is yaml.AliasEvent:
            return self._alias(event)
        self._counted(event)
        # `!!python/object/apply:os.system` is the famous one. The loader is safe, and no tag has a meaning here either: the field
        # determines the type, so `!!str` would only hide what a value is.
        if event.tag is not None:
            tag = _cut(replaced(event.tag.replace("tag:yaml.org,2002:", "!!").strip()))
            self._problem(event, f"the tag {tag} is not allowed; the field determines the type", id="RC-yaml-tag")
        if kind is yaml.ScalarEvent:
            node: Node = Scalar(self._at(event), self._text(event), not event.style)
        else:
            # Everything after this is recursive; Python stops at 1,000 frames, and a stack that overflows in C ends the process.
            if depth > DEPTH_MAX:
                raise self._stop_at(event, f"maps and lists have more than {DEPTH_MAX} levels", id="RC-file-too-large")
            if event.anchor is not None:
                self.open.append(event.anchor)
            node = self._map(event, depth) if kind is yaml.MappingStartEvent else self._list(event, depth)
            if event.anchor is not None:
                self.open.pop()
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _list(self, start: Any, depth: int) -> List:
        items = []
        while (event := self.next()).__class__ is not yaml.SequenceEndEvent:
            items.append(self._node(event, depth + 1))
        return List(self._at(start), items)

    def _map(self, start: Any, depth: int) -> Map:
        # Nearly every key and value is a plain scalar, and every command reads all of them: both are created here, without a call.
        entries: dict[str, MapEntry] = {}
        file, known, next_event, scalar, end = self.file, self.keys, self.next, yaml.ScalarEvent, yaml.MappingEndEvent
        mark: Any
        while (event := next_event()).__class__ is not end:
            mark = event.start_mark
            at = Source(file, mark.line + 1, mark.column + 1)
            key = known.get(event.value) if event.__class__ is scalar and event.tag is None and event.anchor is None else None
            if key is None:
                key = self._key(event, at, depth, start)
            else:
                self.count += 1
            value = next_event()
            if value.__class__ is scalar and value.tag is None and value.anchor is None:
                self.count += 1
                mark, text = value.start_mark, value.value
                if self.count > NODES_MAX or len(text) > SCALAR_MAX:
                    self._refuse(value)
                node: Node = Scalar(Source(file, mark.line + 1, mark.column + 1), text, not value.style)
            else:
                node = self._node(value, depth + 1)
            if key is None:
                continue
            before = entries.setdefault(key, entry := MapEntry(key, at, node))
            # YAML says that keys are unique and most parsers let the last one win: half of a file would silently have no effect.
            if before is not entry:
                self._problem(event, f'the key "{_cut(key)}" is written twice; first at {before.at}', id="RC-key-twice")
        return Map(self._at(start), entries)

    def _refuse(self, event: Any) -> None:
        """Stop at a scalar that is too long, or at one too many."""
        self.count -= 1
        self._counted(event)
        self._text(event)

    def _key(self, event: Any, at: Source, depth: int, start: Any) -> str | None:
        """The text of a key; None, with a problem, if it is invalid. `start`: the beginning of its map."""
        kind = event.__class__
        if kind is not yaml.ScalarEvent:
            what = "an alias" if kind is yaml.AliasEvent else "a list" if kind is yaml.SequenceStartEvent else "a map"
            if (event.start_mark.line, event.start_mark.column) == (start.start_mark.line, start.start_mark.column + 1) and what == "a map":
                self._problem(start, "{{ … }} is not an expression; write ${{ … }}, or quote it if it is a text", id="RC-yaml-key")
            else:
                self._problem(event, f"a key must be text, not {what}; quote it if it contains braces or brackets", id="RC-yaml-key")
            self._node(event, depth + 1)
            return None
        if event.tag is not None or event.anchor is not None:
            self._node(event, depth + 1)
        else:
            self._counted(event)
        text = self._text(event)
        if not text and not event.style:
            self._problem(event, "a key is missing before the colon", id="RC-yaml-key")
        elif text == _MERGE and not event.style:
            says = 'merge keys ("<<") are not supported; write the keys out, or repeat a complete value with an alias'
            self._problem(event, says, id="RC-merge-key")
        else:
            return self.keys.setdefault(text, text) if text and text != _MERGE else text
        return None

    def _text(self, event: Any) -> str:
        text: str = event.value
        if len(text) > SCALAR_MAX:
            raise self._stop_at(event, f"the text is longer than {SCALAR_MAX:,} characters", id="RC-file-too-large")
        return text

    # -- aliases -------------------------------------------------------------------------------------------------------------------

    def _alias(self, event: Any) -> Node:
        name = event.anchor
        # An alias inside its own anchor: a value that contains itself.
        if name in self.open:
            raise self._stop_at(event, f"the alias *{_cut(name)} is inside the value that it repeats", id="RC-alias")
        if name not in self.anchors:
            few = len(self.problems) < MEANT_MAX and len(self.anchors) <= MEANT_MAX
            meant = did_you_mean(name, self.anchors) if few else ""
            self._problem(event, f"anchor &{_cut(name)} is not defined before this alias{meant}", id="RC-alias")
            return Scalar(self._at(event), "", False)
        # A copy, at the position of the alias: a problem is reported where somebody can correct it.
        node = self._copy(self.anchors[name], event)
        node.at = self._at(event)
        return node

    def _copy(self, node: Node, event: Any) -> Node:
        """A copy of a node, because evaluation changes nodes."""
        self._counted(event)
        self.expanded += 1
        if self.expanded > EXPANDED_MAX:
            raise self._stop_at(event, f"aliases repeat more than {EXPANDED_MAX:,} values", id="RC-file-too-large")
        if isinstance(node, Scalar):
            return Scalar(node.at, node.text, node.plain)
        if isinstance(node, List):
            return List(node.at, [self._copy(item, event) for item in node.items])
        return Map(node.at, {key: MapEntry(key, entry.at, self._copy(entry.node, event)) for key, entry in node.entries.items()})

    # -- positions and problems ----------------------------------------------------------------------------------------------------

    def _counted(self, event: Any) -> None:
        self.count += 1
        if self.count > NODES_MAX:
            raise self._stop_at(event, f"the file contains more than {NODES_MAX:,} values", id="RC-file-too-large")

    def _at(self, event: Any) -> Source:
        mark = event.start_mark
        return Source(self.file, mark.line + 1, mark.column + 1)

    def _problem(self, event: Any, message: str, *, id: str) -> None:
        self.problems.append(Problem(*self._at(event), message, id=id))
        if len(self.problems) >= PROBLEMS_MAX:
            raise _Stop

    def _stop_at(self, event: Any, message: str, *, id: str) -> _Stop:
        _, line, column = self._at(event)
        return self._stop(line, column, message, id=id)

    def _stop(self, line: int, column: int, message: str, *, id: str) -> _Stop:
        self.problems.append(Problem(self.file, line, column, message, id=id))
        return _Stop()


def _place(before: str) -> tuple[int, int]:
    """Line and column, from 1, of the end of a text."""
    lines = _BREAK.split(before)
    return len(lines), len(lines[-1]) + 1


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
