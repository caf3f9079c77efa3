"""Endpoints as the modules in `routes/` declare them: plain data, from which `framework` builds FastAPI's routes where one is needed.

FastAPI examines every parameter of an endpoint when the endpoint is declared, which takes milliseconds for each of 152 of them, and its
import takes a fifth of a second. Most commands ask a dozen plain readings, which `table` answers from the declaration alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any

from starlette.requests import Request as Request
from starlette.responses import Response as Response

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Needs:
    """The default of a parameter whose value is what `call` returns for the request. FastAPI's `Depends`."""

    call: Callable[..., Any]


class Query:
    """In `Annotated[...]`, beside the type: the parameter is one of the query, with these limits. FastAPI's `Query`."""

    def __init__(self, **limits: Any) -> None:
        self.limits = limits


@dataclass(frozen=True, eq=False)
class Endpoint:
    """One operation under its whole path, answered by `call`. `tags`: the groups of the document that it belongs to."""

    method: str
    path: str
    call: Callable[..., Any]
    status_code: int = 200
    tags: tuple[str, ...] = ()
    # the OpenAPI document has the service's own endpoints, not those that control the sandbox
    include_in_schema: bool = True


@dataclass
class Router:
    """Where a module declares its endpoints, with FastAPI's decorators. `prefix`: what all its paths begin with."""

    prefix: str = ""
    tags: Sequence[str] = ()
    include_in_schema: bool = True
    endpoints: list[Endpoint] = field(default_factory=list)

    def _declare(self, method: str, path: str, tags: Sequence[str] = (), status_code: int = 200) -> Decorator:
        def declared(call: Callable[..., Any]) -> Callable[..., Any]:
            all_tags = (*self.tags, *tags)
            self.endpoints.append(Endpoint(method, self.prefix + path, call, status_code, all_tags, self.include_in_schema))
            return call

        return declared

    get = partialmethod(_declare, "GET")
    post = partialmethod(_declare, "POST")
    put = partialmethod(_declare, "PUT")
    patch = partialmethod(_declare, "PATCH")
    delete = partialmethod(_declare, "DELETE")
