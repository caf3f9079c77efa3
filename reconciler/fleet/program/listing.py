"""The present lists of a fleet's generators: directories of repositories, organizations of tokens. Reads only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reconciler.client import ClientSettings, SharedBudget
from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.fleet.generated import Listing
from reconciler.fleet.model import Fleet, Generator
from reconciler.fleet.secrets import token_for
from reconciler.fleet.sources import git
from reconciler.kinds import load
from reconciler.text.patterns import text_pattern

Budget = Callable[[str, str], SharedBudget | None]
"""The budget of a service and a token."""


def listing(fleet: Fleet, cache: Path, *, budget: Budget = lambda base_url, token: None, strict: bool = False) -> Listing:
    """The elements of each generator that reads something. Raises `ReconcilerError` if one cannot be read: that is not an empty list.

    `strict`: send a token only to a service that this machine ties it to."""
    elements: dict[int, Sequence[dict[str, str]]] = {}
    for generator in fleet.generators:
        if generator.repository is not None:
            elements[generator.number] = git.directories(git.fetched(cache, generator.repository), generator.repository.path)
        elif generator.sort == "organizations":
            elements[generator.number] = _listed(generator, cache, budget, strict=strict)
    return elements


def _listed(generator: Generator, cache: Path, budget: Budget, *, strict: bool) -> list[dict[str, str]]:

    assert generator.token is not None
    assert generator.base_url is not None
    token = token_for(generator.token, generator.base_url, f"the token of {generator.name}", required=strict, known=cache)
    return asyncio.run(_organizations(generator, ClientSettings(generator.base_url, token, budget=budget(generator.base_url, token))))


async def _organizations(generator: Generator, settings: ClientSettings) -> list[dict[str, str]]:

    path = next(reading.path for kind in load().values() if kind.within is None for reading in kind.whole_listings)
    async with Reader(settings) as reader:
        listed = await reader.list(path)
    if not listed.complete:
        raise ServiceError(
            f"{generator.name}: the service lists fewer organizations than it counts",
            id="RC-reading-incomplete",
            hint="Run it again later.",
        )
    elements = [{"id": str(item["id"]), "title": _title(item)} for item in listed.items]
    match = text_pattern(generator.match)
    return [element for element in elements if match.matches(element["title"]) or match.matches(element["id"])]


def _title(item: dict[str, Any]) -> str:
    return str(item.get("title") or "")
