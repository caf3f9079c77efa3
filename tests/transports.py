"""Transports of httpx2: behind the client, such as a sandbox in this process, and with a function between."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import httpx2

from reconciler.client import Broken, NeverSent, Request, Response
from reconciler.client.pacing import TooLate

Onward = Callable[[httpx2.Request], Coroutine[Any, Any, httpx2.Response]]
Way = Callable[[httpx2.Request, Onward], Coroutine[Any, Any, httpx2.Response]]
"""From a request to its answer; the second argument passes a request on to the service."""


def between(inner: httpx2.AsyncBaseTransport, way: Way) -> httpx2.AsyncBaseTransport:
    return httpx2.MockTransport(lambda request: way(request, inner.handle_async_request))


def losing(*methods: str) -> Way:
    """Carries requests of these methods out and loses their answers."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        if request.method in methods:
            raise httpx2.ReadError("the answer was lost", request=request)
        return answer

    return way


class Through:
    """Sends the client's requests through a transport of httpx2."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self.inner = inner
        self.close = inner.aclose

    async def send(self, request: Request) -> Response:
        if not request.in_time():
            raise TooLate
        asked = httpx2.Request(request.method, request.url, headers=dict(request.headers), content=request.content)
        try:
            answer = await self.inner.handle_async_request(asked)
            body = await answer.aread()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise NeverSent(str(error)) from None
        except (httpx2.HTTPError, OSError) as error:
            raise Broken(str(error) or "the connection was lost") from None
        headers = {name: value for name, value in answer.headers.items() if name != "content-encoding"}  # it is decompressed
        return Response(answer.status_code, headers, body)
