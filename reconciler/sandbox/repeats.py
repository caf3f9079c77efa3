"""A query parameter that is given more than once, where only one value can be meant, is refused instead of guessed at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant

from reconciler.sandbox.service import Fault


async def said_once(request: Request) -> None:
    """Raises 400 for a parameter of one value that has several."""
    given = request.query_params
    for name in given:
        if len(given.getlist(name)) > 1 and name in _single(request.scope["route"].dependant):
            raise Fault(400, f"{name}: given more than once")


def _single(dependant: Dependant) -> Iterator[str]:
    """The parameters of an operation that are no lists."""
    yield from (parameter.alias for parameter in dependant.query_params if not _listed(parameter.field_info.annotation))
    for below in dependant.dependencies:
        yield from _single(below)


def _listed(annotation: object) -> bool:
    return list in (get_origin(annotation), *map(get_origin, get_args(annotation)))
