"""The endpoints that exist, to know the template and the operation of a request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from starlette.types import Scope

from reconciler.sandbox.endpoints import Endpoint
from reconciler.sandbox.faults.rules import Call


def call_of(endpoints: Iterable[Endpoint], scope: Scope, body: bytes) -> Call:
    """A request as rules see it. `endpoints`: all under the version's prefix, in the order in which they are tried."""
    method, path, query = scope["method"], scope["path"], scope["query_string"].decode("latin-1")
    for endpoint in endpoints:
        match = _pattern(endpoint.path).fullmatch(path) if method == endpoint.method else None
        if match is not None:
            return Call(method, path, endpoint.path, endpoint.call.__name__, match.groupdict(), query, body)
    return Call(method, path, query=query, body=body)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)(?::\w+)?\\}", r"(?P<\1>[^/]+)", re.escape(path)))
