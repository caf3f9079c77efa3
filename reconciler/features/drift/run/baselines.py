"""A baseline: a YAML file of drift that is known, each entry with a reason and the day it expires."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from reconciler.address import Glob
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.reader import FILE_MAX, read as parse
from reconciler.errors import ConfigError, Problem, UsageError, os_reason
from reconciler.features.drift.model import KnownDrift
from reconciler.links import NotRegular, read_file

WORDS: Final = ("address", "field", "reason", "until")
SHAPE: Final = "a baseline is {known: [{address: GLOB, field: NAME, reason: …, until: YYYY-MM-DD}, …]}"


def read(file: Path) -> tuple[KnownDrift, ...]:
    """The entries of a file. Raises `ConfigError` with every problem at its place, `UsageError` where the file cannot be read."""
    try:
        text = read_file(file, FILE_MAX)
    except NotRegular:
        raise UsageError(f"the baseline {file} is not a regular file", id="RC-not-a-baseline", hint=SHAPE) from None
    except OSError as error:
        raise UsageError(f"the baseline {file} cannot be read: {os_reason(error)}", id="RC-file-not-read") from None
    document = parse(text, str(file))
    problems, entries = list(document.problems), []
    top = document.data
    listed = top.entries["known"].node if isinstance(top, Map) and set(top.entries) == {"known"} else None
    if isinstance(listed, List):
        for item in listed.items:
            known = _entry(item, problems)
            entries += [known] if known is not None else []
    elif top is not None:
        problems.append(_problem(top, SHAPE))
    if problems:
        raise ConfigError(problems)
    return tuple(entries)


def _entry(item: Node, problems: list[Problem]) -> KnownDrift | None:

    if not isinstance(item, Map):
        problems.append(_problem(item, f"an entry is a map; {SHAPE}"))
        return None
    entries: Mapping[str, MapEntry] = item.entries
    before = len(problems)
    problems += [_problem(entry, f'unknown key "{key}"; {SHAPE}') for key, entry in entries.items() if key not in WORDS]
    problems += [_problem(item, f"{key} is missing; {SHAPE}") for key in ("address", "reason", "until") if key not in entries]
    texts: dict[str, str] = {}
    for key, entry in entries.items():
        if isinstance(entry.node, Scalar) and not entry.node.null and entry.node.text.strip():
            texts[key] = entry.node.text
        else:
            problems.append(_problem(entry, f"{key} is a text"))
    if len(problems) > before:
        return None
    try:
        until = date.fromisoformat(texts["until"])
    except ValueError:
        problems.append(_problem(entries["until"].node, "until is a date like 2026-12-31"))
        return None
    try:
        return KnownDrift(Glob.parse(texts["address"]), texts.get("field"), texts["reason"], until)
    except ValueError as error:
        problems.append(_problem(entries["address"].node, str(error)))
        return None


def _problem(where: Any, message: str) -> Problem:
    return Problem(where.at.file, where.at.line, where.at.column, message, id="RC-not-a-baseline")
