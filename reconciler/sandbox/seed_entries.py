"""The entries of a seed, as far as their form says whether they are valid.

In: the data of a seed. Out: its entries, or every problem of their form. Not here: whether what an entry refers to exists (`seed`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from pydantic import ValidationError

from reconciler.sandbox.seed_fields import LISTS, PARTS

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class SeedProblem:
    """One problem of a seed. `path`: the keys and indexes that lead to the value, or to the entry that lacks it.
    `of_key`: the key itself is wrong."""

    path: Path
    message: str
    of_key: bool = False

    def __str__(self) -> str:
        """`members[0]: role is "owner"; one of …`."""
        whole = self.path if not self.path or isinstance(self.path[-1], int) else self.path[:-1]
        about = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in whole).removeprefix(".")
        return f"{about}: {self.message}" if about else self.message


PROBLEMS_MAX: Final = 1_000
"""Problems after which the rest of a seed is not checked: nobody reads more, and suggestions take time."""


class SeedError(Exception):
    """A seed is wrong; nothing of it was loaded. `problems`: at most `PROBLEMS_MAX`."""

    def __init__(self, *problems: SeedProblem) -> None:
        super().__init__("; ".join(map(str, problems[:PROBLEMS_MAX])))
        self.problems = problems[:PROBLEMS_MAX]


def entries(document: Any) -> list[tuple[Path, Any]]:
    """The entries of a seed with their paths, in the order in which they are loaded. Raises `SeedError` with every problem of its form."""
    if not isinstance(document, Mapping):
        raise SeedError(SeedProblem((), f"a seed must be a map of lists: {', '.join(LISTS)}"))
    unknown = islice((name for name in document if name not in LISTS), PROBLEMS_MAX)
    problems = [SeedProblem((str(name),), _unknown("list", name, LISTS), True) for name in unknown]
    read: list[tuple[Path, Any]] = []
    for name, model in LISTS.items():
        values = document.get(name)
        if values is not None and not isinstance(values, list):
            problems.append(SeedProblem((name,), f"{name} must be a list, not {_kind(values)}"))
            continue
        for index, data in enumerate(values or ()):
            if len(problems) >= PROBLEMS_MAX:
                break
            try:
                read.append(((name, index), model.model_validate(data)))
            except ValidationError as error:
                problems += islice(_problems((name, index), data, error), PROBLEMS_MAX)
    if problems:
        raise SeedError(*problems)
    return read


def _problems(entry: Path, data: Any, error: ValidationError) -> Iterator[SeedProblem]:
    """What is wrong with an entry, each problem once."""
    for wrong in error.errors(include_url=False):
        path: list[str | int] = list(entry)
        value: Any = data
        for part in wrong["loc"]:
            # The rest of a location names the alternatives of a type, not a part of the data.
            inside = part in value if isinstance(value, Mapping) else isinstance(value, list) and isinstance(part, int)
            if not inside:
                break
            path.append(part)
            value = value[part]
        names = [part for part in path if isinstance(part, str)]
        name = names[-1] if len(names) > 1 else names[0]
        last = str(wrong["loc"][-1]) if wrong["loc"] else ""
        match wrong["type"]:
            case "extra_forbidden":
                yield SeedProblem(tuple(path), _unknown("field", last, _fields(entry, wrong["loc"][:-1])), True)
            case "missing":
                yield SeedProblem(tuple(path), f"{last} is missing")
            case "literal_error":
                options = re.findall(r"'([^']*)'", str(wrong["ctx"]["expected"]))
                yield SeedProblem(tuple(path), f"{name} is {_shown(value)}; one of {', '.join(options)}{_suggestion(str(value), options)}")
            case "model_type" | "model_attributes_type":
                yield SeedProblem(tuple(path), f"an entry must be a map of fields, not {_kind(value)}")
            case _ if value is None or value == "":
                yield SeedProblem(tuple(path), f"{name} has no value; write one, or remove the line")
            case kind if kind in WANTED:
                quote = "; quote it" if kind == "string_type" and isinstance(value, int | float) else ""
                yield SeedProblem(tuple(path), f"{name} must be {WANTED[kind]}, not {_kind(value)}{quote}")
            case _ if name.endswith("At"):
                yield SeedProblem(tuple(path), f"{name} must be a time, such as 2026-11-18T14:02:11Z")
            case kind:
                reason = wrong["ctx"]["error"] if kind == "value_error" else wrong["msg"]
                yield SeedProblem(tuple(path), f"{name} is not valid: {reason}")


WANTED = {"string_type": "text", "bool_type": "true or false", "int_type": "a whole number", "list_type": "a list", "dict_type": "a map"}


def _fields(entry: Path, location: tuple[Any, ...]) -> list[str]:
    """The fields of the part of an entry at a location."""
    names = [part for part in location if isinstance(part, str)]
    return list((PARTS[names[-1]] if names else LISTS[str(entry[0])]).model_fields)


def _unknown(what: str, name: Any, known: Any) -> str:
    """`unknown field "titel"; did you mean "title"?`"""
    rest = _suggestion(str(name), known) or f"; {'a seed has' if what == 'list' else 'its fields are'} {', '.join(known)}"
    return f"unknown {what} {_shown(str(name))}{rest}"


def _suggestion(word: str, known: Any) -> str:
    options = {str(option).lower(): option for option in known}
    near = get_close_matches(word[:100].lower(), options, n=1)
    return f'; did you mean "{options[near[0]]}"?' if near else ""


def _shown(value: Any) -> str:
    if not isinstance(value, str):
        return _kind(value)
    return f'"{value}"' if len(value) <= 60 else f'"{value[:59]}…"'


def _kind(value: Any) -> str:
    """What a value is. Values themselves are not shown: a seed contains tokens."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "a map"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
