"""The endpoints that exist, to know the template and the operation of a request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from starlette.types import Scope

from reconciler.sandbox.endpoints import Endpoint
from reconciler.sandbox.faults.rules import Call


class Endpoints:
    """All endpoints under the version's prefix, in the order in which they are tried."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints = endpoints

    @cached_property
    def _known(self) -> list[tuple[Endpoint, re.Pattern[str]]]:
        return [(endpoint, _pattern(endpoint.path)) for endpoint in self._endpoints]

    def call(self, scope: Scope, body: bytes) -> Call:
        """A request as rules see it."""
        method, path, query = scope["method"], scope["path"], scope["query_string"].decode("latin-1")
        for endpoint, pattern in self._known:
            match = pattern.fullmatch(path) if method == endpoint.method else None
            if match is not None:
                return Call(method, path, endpoint.path, endpoint.call.__name__, match.groupdict(), query, body)
        return Call(method, path, query=query, body=body)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)(?::\w+)?\\}", r"(?P<\1>[^/]+)", re.escape(path)))
