"""The endpoints that exist, to know the template and the operation of a request."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.types import Scope

from reconciler.sandbox.faults.rules import VERSION, Call


class Endpoints:
    """All endpoints under the version's prefix, in the order in which they are tried."""

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._known: list[tuple[frozenset[str], re.Pattern[str], str, str]] = []
        for router in routers:
            for route in router.routes:
                if isinstance(route, APIRoute):
                    pattern = re.compile(re.sub(r"\\{(\w+)(?::\w+)?\\}", r"(?P<\1>[^/]+)", re.escape(VERSION + route.path)))
                    self._known.append((frozenset(route.methods or ()), pattern, VERSION + route.path, route.operation_id or route.name))

    def call(self, scope: Scope, body: bytes) -> Call:
        """A request as rules see it."""
        method, path, query = scope["method"], scope["path"], scope["query_string"].decode("latin-1")
        for methods, pattern, template, operation in self._known:
            match = pattern.fullmatch(path) if method in methods else None
            if match is not None:
                return Call(method, path, template, operation, match.groupdict(), query, body)
        return Call(method, path, query=query, body=body)
