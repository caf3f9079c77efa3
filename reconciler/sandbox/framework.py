"""FastAPI's part of the service: validation of what a request says, refusals of what is unusual, and the routes of the OpenAPI document.

Imported at the first request that `table` does not answer by itself, because its import and its routes take longer than the rest of a
start. One route is built for the endpoint that such a request means; all of them for a path that no endpoint has, and for the document.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import cache, cached_property, wraps
from typing import Annotated, Any, get_args, get_origin

from fastapi import Depends, params
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute, APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from reconciler.sandbox.document import document
from reconciler.sandbox.endpoints import Endpoint, Needs, Query
from reconciler.sandbox.service import Fault


class Framework:
    """All endpoints of an application as FastAPI answers them."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints

    @cached_property
    def whole(self) -> APIRouter:
        """Every endpoint, in the order in which they are tried."""
        router = APIRouter(routes=[route(endpoint) for endpoint in self._endpoints])
        router.add_route("/openapi.json", self._document, include_in_schema=False)
        return router

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of all endpoints."""
        return document(self.whole.routes)

    async def _document(self, request: Request) -> Response:
        return JSONResponse(self.openapi())

    async def answer(self, endpoint: Endpoint | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an endpoint, or, with None, of no endpoint. Raises `Fault` where what it says is invalid."""
        async with AsyncExitStack() as stack:
            # FastAPI's application sets this stack, and its routes close uploaded files with it; without the key they fail
            scope["fastapi_middleware_astack"] = stack
            try:
                if endpoint is None:
                    await self.whole(scope, receive, send)
                else:
                    scope["route"] = route(endpoint)
                    await route(endpoint).handle(scope, receive, send)
            except RequestValidationError as error:
                raise Fault(400, "; ".join(_problems(error))) from error


def _problems(error: RequestValidationError) -> Iterator[str]:
    """The first problems of an invalid request, each after the name of its field."""
    for problem in error.errors()[:5]:
        if problem["type"] == "json_invalid":
            yield "body: not JSON"
            continue
        place = ".".join(str(part) for part in problem["loc"][1:])
        yield f"{place or 'body'}: {problem['msg'].removeprefix('Value error, ')}"


@cache
def route(endpoint: Endpoint) -> APIRoute:
    """FastAPI's route of an endpoint, examined once in a process, however many applications it has."""
    checks = [Depends(_said_once)] if endpoint.include_in_schema else []
    return APIRoute(
        endpoint.path,
        _translated(endpoint.call, endpoint.status_code),
        methods=[endpoint.method],
        status_code=endpoint.status_code,
        tags=list(endpoint.tags),
        include_in_schema=endpoint.include_in_schema,
        response_model=None,
        dependencies=checks,
    )


@cache
def _translated(call: Callable[..., Any], status_code: int = 200) -> Callable[..., Any]:
    """A function whose parameters are marked as FastAPI's own; the same one each time, so that FastAPI asks a dependency once a request.

    An endpoint that returns nothing answers without a body, not with `null`.
    """

    @wraps(call)
    async def translated(**arguments: Any) -> Any:
        answer = await call(**arguments)
        return Response(status_code=status_code) if answer is None else answer

    signature = inspect.signature(call, eval_str=True)
    translated.__signature__ = signature.replace(parameters=[_parameter(given) for given in signature.parameters.values()])  # type: ignore[attr-defined]
    return translated


def _parameter(given: inspect.Parameter) -> inspect.Parameter:
    if isinstance(given.default, Needs):
        given = given.replace(default=Depends(_translated(given.default.call)))
    if get_origin(given.annotation) is Annotated:
        parts = [params.Query(**part.limits) if isinstance(part, Query) else part for part in get_args(given.annotation)]
        given = given.replace(annotation=Annotated[tuple(parts)])
    if isinstance(given.annotation, type) and issubclass(given.annotation, BaseModel):
        # pydantic also defers what FastAPI builds from a deferred model, to where FastAPI no longer silences its warning of an alias
        given.annotation.model_config["defer_build"] = False
        given.annotation.model_rebuild()
    return given


async def _said_once(request: Request) -> None:
    """A query parameter that is given more than once, where only one value can be meant, is refused instead of guessed at. Raises 400."""
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
