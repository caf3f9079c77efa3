"""The answers of a living service from which a copy is made. Only GET; what could not be read is named.

    read_all          everything that the kinds declare how to read, managed or not
    wanted(answers)   what else a copy shows: trees of pages, the look of sites, texts of pages

In: a reader, and the ids of roots. Out: answers by path. The writer of the copy knows the paths; this module only sends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from reconciler.client import Answer
from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.model import Actual, Desired
from reconciler.observe.everything import read_all
from reconciler.resource import Kinds

Answers = Mapping[str, Any]
"""Decoded bodies by path, without queries; of a list, the items of all its pages."""

PAGING = frozenset({"limit", "page"})


@dataclass(frozen=True)
class LivingAnswers:
    """What a living service answered. `unread`: a sentence for each reading that failed; `refused`: the paths of those that got no answer,
    which a copy has to refuse too. `requests`: GETs sent, retries included."""

    actual: Actual
    answers: Answers
    unread: tuple[str, ...]
    requests: int
    refused: tuple[str, ...] = ()


async def read_living(
    reader: Reader,
    kinds: Kinds,
    ids: Sequence[str],
    wanted: Callable[[Answers], Iterable[str]],
    *,
    earlier: Mapping[str, Answer] = {},
) -> LivingAnswers:
    """Read these organizations completely. `wanted`: the paths that a copy needs in addition to these answers, until there are none.

    `earlier`: answers of a moment ago, which are part of the copy and are not asked for again. Raises `ServiceError` where the service
    refuses the token, or is another service.
    """
    before = reader.requests
    with reader.keeping() as kept, reader.giving(earlier):
        actual = await read_all(reader, kinds, ids)
        unread = [f"{unknown.kind}: {unknown.reason}" for unknown in actual.unknown]
        refused = {unknown.path for unknown in actual.unknown if unknown.path}
        asked: set[str] = set()
        while paths := [path for path in dict.fromkeys(wanted(joined({**earlier, **kept}))) if path not in asked]:
            asked.update(paths)
            failures = await asyncio.gather(*(_read(reader, path) for path in paths))
            reasons = {path: failure for path, failure in zip(paths, failures, strict=True) if failure is not None}
            unread += reasons.values()
            refused |= {path.partition("?")[0] for path in reasons}
        answers = joined({**earlier, **kept})
        return LivingAnswers(actual, answers, tuple(dict.fromkeys(unread)), reader.requests - before, tuple(sorted(refused)))


async def _read(reader: Reader, path: str) -> str | None:
    """Read one path; why it could not be read, or None."""
    try:
        path, _, query = path.partition("?")
        await reader.get(path, dict(parse_qsl(query)))
    except ServiceError as error:
        return error.message
    return None


def root_ids(desired: Desired) -> list[str]:
    """The ids of the roots that a project declares, in the order of its files."""
    resources = desired.resources.items()
    return [str(resource.id) for address, resource in resources if address.container is None and resource.id is not None]


def joined(kept: Mapping[str, Answer]) -> Answers:
    """Answers by path; the pages of a list are one list. A list filtered by a query says less than the whole one, and is left out."""
    lists: dict[str, dict[str, Any]] = {}
    bodies: dict[str, Any] = {}
    for target, answer in kept.items():
        path, _, query = target.partition("?")
        if not {name for name, _ in parse_qsl(query)} <= {*PAGING, "format"}:
            continue
        if isinstance(answer.body, dict) and isinstance(answer.body.get("items"), list):
            items = lists.setdefault(path, {})
            for item in answer.body["items"]:
                items[_identity(item, len(items))] = item
        elif isinstance(answer.body, dict):
            bodies[path] = answer.body
    return {**bodies, **{path: list(items.values()) for path, items in lists.items()}}


def _identity(item: Any, position: int) -> str:
    """What makes an item of two pages the same: its id or name, or that of the object in it."""
    for holder in (item, *(item.values() if isinstance(item, dict) else ())):
        for name in ("id", "name"):
            if isinstance(holder, dict) and isinstance(holder.get(name), str):
                return f"{name}:{holder[name]}"
    return f"at:{position}"
