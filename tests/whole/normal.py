"""A document as text: without what differs from run to run, and with as much on a line as fits.

In: the document of a command. Out: JSON, with several values on a line. Ids of a sort are numbered as they occur; a time is TIME.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

WIDTH: Final = 140
ID: Final = re.compile(r"\b[a-z]{2,8}_[0-9a-f]{12}\b")
PLAIN: Final = (
    (re.compile(r"\b20[2-9]\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00| UTC)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "DIGEST"),
    (re.compile(r"\b(?:at|between) \d+ [A-Z][a-z]{2} 20[2-9]\d, \d\d:\d\d(?: and [^U]*)? UTC"), "at TIME"),
    (re.compile(r"\b[\d,]+ days old"), "N days old"),
    (re.compile(r'(created by |"actor": ")[^ "]+'), r"\1SOMEBODY"),
    (re.compile(r"about \d+ s\b"), "about N s"),
    (re.compile(r"(127\.0\.0\.1):\d+"), r"\1:PORT"),
)
UNSTABLE: Final = ("seconds", "held", "age")


def text_of(document: Any, root: str) -> str:
    text = _written(_stable(document), "") + "\n"
    text = text.replace(root, "ROOT")
    for pattern, name in PLAIN:
        text = pattern.sub(name, text)
    numbers: dict[str, list[str]] = {}

    def numbered(found: re.Match[str]) -> str:
        alike = numbers.setdefault(found[0].partition("_")[0], [])
        if found[0] not in alike:
            alike.append(found[0])
        return f"{found[0].partition('_')[0]}-{alike.index(found[0]) + 1}"

    return ID.sub(numbered, text)


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "N" if name in UNSTABLE and isinstance(part, float) else _stable(part) for name, part in value.items()}
    return [_stable(part) for part in value] if isinstance(value, list) else value


def _written(value: Any, indent: str) -> str:
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent} "
    if isinstance(value, dict):
        parts, ends = [f"{json.dumps(name)}: {_written(part, inner)}" for name, part in value.items()], "{}"
    else:
        parts, ends = [_written(part, inner) for part in value], "[]"
    lines = [ends[0] + parts[0]]
    for part in parts[1:]:
        joined = f"{lines[-1]}, {part}"
        if "\n" in joined or len(indent) + len(joined) > WIDTH:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] = joined
    return f"\n{inner}".join(lines) + ends[1]
