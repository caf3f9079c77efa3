"""The errors of the YAML parser, reworded and at the position of their cause. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import yaml

from reconciler.config.source.nodes import HOLE_OPENING

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
