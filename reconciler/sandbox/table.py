"""A table of the endpoints: finds the one that a path means at once, and answers plain readings without FastAPI's machinery.

In: the endpoints as they are declared. Whatever is unusual about a request (no endpoint, another method, a body, a parameter beside a
page and its limit) is left to FastAPI, so each refusal is written in one place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from reconciler.sandbox.endpoints import Endpoint, Needs
from reconciler.sandbox.service import PAGE, PAGE_MAX, Calling, Paged, Paging

if TYPE_CHECKING:
    from reconciler.sandbox.framework import Framework

ENDPOINT: Final = "sandbox.endpoint"


@dataclass
class _Level:
    """One segment of the paths: what follows a word, what follows any other segment, and the endpoints that end here, by method."""

    literal: dict[str, _Level] = field(default_factory=dict)
    any: _Level | None = None
    ends: dict[str, Endpoint] = field(default_factory=dict)

    def below(self, segment: str) -> _Level:
        if not segment.startswith("{"):
            return self.literal.setdefault(segment, _Level())
        self.any = self.any or _Level()
        return self.any


class Table(BaseRoute):
    """All endpoints of an application as one route."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._top, self.endpoints = _Level(), endpoints
        for endpoint in endpoints:
            level = self._top
            for segment in endpoint.path.split("/"):
                level = level.below(segment)
            level.ends.setdefault(endpoint.method, endpoint)

    @cached_property
    def framework(self) -> Framework:
        """What answers every other request."""
        from reconciler.sandbox.framework import Framework  # FastAPI is an extra, and its import is the longest part of a start

        return Framework(self.endpoints)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        segments = scope["path"].split("/")
        level = _end(self._top, segments, 0)
        endpoint = level.ends.get(scope["method"]) if level else None
        if endpoint is None:
            return Match.FULL, {ENDPOINT: None}
        names = endpoint.path.split("/")
        parameters = {name[1:-1]: segment for name, segment in zip(names, segments, strict=True) if name.startswith("{")}
        return Match.FULL, {"endpoint": endpoint.call, "path_params": parameters, ENDPOINT: endpoint}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint: Endpoint | None = scope[ENDPOINT]
        reading = reading_of(endpoint) if endpoint else None
        arguments = reading.arguments(scope) if reading else None
        if endpoint is None or reading is None or arguments is None:
            await self.framework.answer(endpoint, scope, receive, send)
            return
        for name, call in reading.needs.items():
            arguments[name] = await call(Request(scope))
        answer = await endpoint.call(**arguments)
        response = answer if isinstance(answer, Response) else JSONResponse(answer, endpoint.status_code)
        await response(scope, receive, send)


def _end(level: _Level, segments: Sequence[str], depth: int) -> _Level | None:
    """Where a path ends; words win over parameters, and an empty segment is neither."""
    if depth == len(segments):
        return level if level.ends else None
    segment = segments[depth]
    word = level.literal.get(segment)
    end = _end(word, segments, depth + 1) if word else None
    if end is None and level.any is not None and segment:
        end = _end(level.any, segments, depth + 1)
    return end


@dataclass(frozen=True)
class Reading:
    """An endpoint that answers GET with what its path, its caller and a page say. `needs`: what else is computed from the request alone."""

    caller: str | None
    paging: str | None
    needs: Mapping[str, Callable[[Request], Any]]

    def arguments(self, scope: Scope) -> dict[str, Any] | None:
        """What the endpoint is called with; None where the query says more than a page, or says that in an unusual way."""
        arguments = dict(scope["path_params"])
        if self.caller:
            arguments[self.caller] = scope["caller"]
        query = scope["query_string"]
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True) if query else []
        asked = dict(pairs)
        if len(asked) < len(pairs) or asked.keys() - {"page", "limit"} or (asked and not self.paging):
            return None
        limit = asked.get("limit", str(PAGE))
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= PAGE_MAX and asked.get("page", "-")):
            return None
        if self.paging:
            arguments[self.paging] = Paging(asked.get("page"), int(limit))
        return arguments


@cache
def reading_of(endpoint: Endpoint) -> Reading | None:
    """How an endpoint is read without FastAPI, computed at its first request; None where FastAPI has to look at the request."""
    if endpoint.method != "GET":
        return None
    segments = {segment[1:-1] for segment in endpoint.path.split("/") if segment.startswith("{")}
    named: dict[Any, str] = {}
    needs = {}
    for parameter in inspect.signature(endpoint.call, eval_str=True).parameters.values():
        if parameter.default in (Calling, Paged):
            named[parameter.default] = parameter.name
        elif isinstance(parameter.default, Needs) and _asks_the_request(parameter.default.call):
            needs[parameter.name] = parameter.default.call
        elif parameter.name in segments:
            if parameter.annotation is not str:
                return None
        elif parameter.default is parameter.empty or isinstance(parameter.default, Needs):
            return None
    return Reading(named.get(Calling), named.get(Paged), needs)


def _asks_the_request(call: Callable[..., Any]) -> bool:
    """Whether the request is all that a function is called with."""
    return [parameter.annotation for parameter in inspect.signature(call, eval_str=True).parameters.values()] == [Request]
