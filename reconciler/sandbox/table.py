"""A table of the endpoints: finds the one that a path means at once, and answers plain readings without FastAPI's machinery.

In: the routes, as FastAPI knows them. Whatever is unusual about a request (no endpoint, another method, a body, a parameter beside a
page and its limit) is left to FastAPI, so each refusal is written in one place.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import parse_qsl

from fastapi import APIRouter
from fastapi.params import Depends, Param
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from reconciler.sandbox.service import PAGE, PAGE_MAX, Calling, Paged, Paging

ENDPOINT: Final = "sandbox.endpoint"


class _Endpoint:
    """One endpoint under its whole path. What FastAPI or this module has to know of it is computed at its first request."""

    def __init__(self, prefix: str, declared: APIRoute, dependencies: Sequence[Depends]) -> None:
        self.path, self.call = f"{prefix}{declared.path}", declared.endpoint
        self._declared, self._dependencies = declared, dependencies
        self._names = [segment[1:-1] if segment.startswith("{") else None for segment in self.path.split("/")]

    def parameters(self, segments: Sequence[str]) -> dict[str, str]:
        return {name: segment for name, segment in zip(self._names, segments, strict=True) if name}

    @cached_property
    def reading(self) -> Reading | None:
        return Reading.of(self._declared, {name for name in self._names if name})

    @cached_property
    def route(self) -> APIRoute:
        declared = self._declared
        return APIRoute(
            self.path, self.call, methods=declared.methods, status_code=declared.status_code, response_model=None,
            dependencies=[*declared.dependencies, *self._dependencies],
        )  # fmt: skip


@dataclass
class _Level:
    """One segment of the paths: what follows a word, what follows any other segment, and the endpoints that end here, by method."""

    words: dict[str, _Level] = field(default_factory=dict)
    any: _Level | None = None
    ends: dict[str, _Endpoint] = field(default_factory=dict)

    def below(self, segment: str) -> _Level:
        if not segment.startswith("{"):
            return self.words.setdefault(segment, _Level())
        self.any = self.any or _Level()
        return self.any


class Table(BaseRoute):
    """All endpoints of some routers as one route. The routers are behind it in the application's list, for what it does not find."""

    def __init__(self, prefix: str, routers: Iterable[APIRouter], dependencies: Sequence[Depends]) -> None:
        self._top = _Level()
        for route in (route for router in routers for route in router.routes if isinstance(route, APIRoute)):
            endpoint, level = _Endpoint(prefix, route, dependencies), self._top
            for segment in endpoint.path.split("/"):
                level = level.below(segment)
            for method in route.methods or ():
                level.ends.setdefault(method, endpoint)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        segments = scope["path"].split("/")
        level = _end(self._top, segments, 0)
        endpoint = level.ends.get(scope["method"]) if level else None
        if endpoint is None:
            return Match.NONE, {}
        return Match.FULL, {"endpoint": endpoint.call, "path_params": endpoint.parameters(segments), ENDPOINT: endpoint}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint: _Endpoint = scope[ENDPOINT]
        reading = endpoint.reading
        arguments = reading.arguments(scope) if reading else None
        if reading is None or arguments is None:
            scope["route"] = endpoint.route
            await endpoint.route.handle(scope, receive, send)
            return
        answer = await endpoint.call(**arguments)
        response = answer if isinstance(answer, Response) else JSONResponse(answer, reading.status)
        await response(scope, receive, send)


def _end(level: _Level, segments: Sequence[str], depth: int) -> _Level | None:
    """Where a path ends; words win over parameters, and an empty segment is neither."""
    if depth == len(segments):
        return level if level.ends else None
    segment = segments[depth]
    word = level.words.get(segment)
    end = _end(word, segments, depth + 1) if word else None
    if end is None and level.any is not None and segment:
        end = _end(level.any, segments, depth + 1)
    return end


@dataclass(frozen=True)
class Reading:
    """An endpoint that answers GET with what its path, its caller and a page say."""

    status: int
    caller: str | None
    paging: str | None
    defaults: Mapping[str, Any]

    @classmethod
    def of(cls, route: APIRoute, segments: Collection[str]) -> Reading | None:
        """None where FastAPI has to look at the request."""
        if route.methods != {"GET"}:
            return None
        named: dict[Any, str] = {}
        defaults = {}
        for parameter in inspect.signature(route.endpoint, eval_str=True).parameters.values():
            if parameter.default in (Calling, Paged):
                named[parameter.default] = parameter.name
            elif parameter.name in segments:
                if parameter.annotation is not str:
                    return None
            elif isinstance(parameter.default, Param) and not parameter.default.is_required():
                defaults[parameter.name] = parameter.default.default
            elif parameter.default is parameter.empty or isinstance(parameter.default, Depends | Param):
                return None
        return cls(route.status_code or 200, named.get(Calling), named.get(Paged), defaults)

    def arguments(self, scope: Scope) -> dict[str, Any] | None:
        """What the endpoint is called with; None where the query says more than a page, or says that in an unusual way."""
        arguments = {**self.defaults, **scope["path_params"]}
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
