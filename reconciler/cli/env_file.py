"""Files of `--env-file`: values for the variables of a project, one per line, with the same effect as environment variables.

In: the bytes of a file. Out: values by name. Anybody who proposes a change of the project can edit such a file, so it can set only
`RECONCILER_VAR_…`: not the token, not its destination, not the state. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from reconciler.errors import PROBLEMS_MAX, Problem
from reconciler.run.operation import VARIABLES

_LINE: Final = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[^\s=#'\"]+)[ \t]*=[ \t]*", re.ASCII)
_NAME: Final = re.compile(VARIABLES + r"[A-Za-z0-9_]+", re.ASCII)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "$": "$", "`": "`"}
_QUOTED: Final = {"'": re.compile(r"'([^']*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)}
_PLAIN: Final = re.compile(r"(?:[^ \t\r\n]++|[ \t]++(?!#|\r?(?:\n|\Z))|\r(?!\n|\Z))*+")
_REST: Final = re.compile(r"[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)")
FORM: Final = f"write {VARIABLES}NAME=VALUE"


def read(name: str, text: bytes) -> tuple[dict[str, str], list[Problem]]:
    """The values of a file, and its errors, at most `PROBLEMS_MAX`. A later line wins. Nothing in a value is expanded."""
    try:
        rest = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return {}, [Problem(name, text[: error.start].count(b"\n") + 1, 1, "the file is not UTF-8", id="RC-not-utf-8")]
    values: dict[str, str] = {}
    problems: list[Problem] = []
    at, line, counted = 0, 1, 0  # the lines before `counted` are in `line`: counting all again for each would never end
    while at < len(rest) and len(problems) < PROBLEMS_MAX:
        line, counted = line + rest.count("\n", counted, at), at
        if (blank := _REST.match(rest, at)) is not None and blank.end() > at:
            at = blank.end()
            continue
        begin = _LINE.match(rest, at)
        if begin is None:
            problems.append(Problem(name, line, 1, f"it is not NAME=VALUE; {FORM}", id="RC-env-file"))
            at = _next_line(rest, at)
            continue
        # Reported and still parsed to its end, so that one file shows all of its problems at once.
        if _NAME.fullmatch(begin["name"]) is None:
            problems.append(Problem(name, line, begin.start("name") - at + 1, _refused(begin["name"]), id="RC-env-file"))
        value = _value(rest, begin.end())
        end = _REST.match(rest, value[1]) if value is not None else None
        if value is None or end is None:
            wrong = "the quote is not closed" if value is None else "there is text after the closing quote"
            problems.append(Problem(name, line, begin.end() - at + 1, wrong, id="RC-env-file"))
            at = _next_line(rest, at)
            continue
        values[begin["name"]] = value[0]
        at = end.end()
    return values, problems


def _refused(name: str) -> str:
    return f"{name} cannot be set in a file of variables, only names that begin with {VARIABLES}; set it in the environment"


def _value(text: str, at: int) -> tuple[str, int] | None:
    """The value at a position, and its end; None if its quote is not closed."""
    quote = text[at : at + 1]
    if quote not in _QUOTED:
        plain = _PLAIN.match(text, at)
        assert plain is not None
        return plain[0], plain.end()
    quoted = _QUOTED[quote].match(text, at)
    if quoted is None:
        return None
    value = quoted[1]
    return (re.sub(r"\\(.)", _unescaped, value, flags=re.DOTALL) if quote == '"' else value), quoted.end()


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[0])


def _next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
