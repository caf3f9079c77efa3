"""A transport of httpx2, such as a sandbox in this process, behind the client."""

from __future__ import annotations

import httpx2

from reconciler.client import Broken, NotSent, Request, Response
from reconciler.client.pacing import TooLate


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
            raise NotSent(str(error)) from None
        except (httpx2.HTTPError, OSError) as error:
            raise Broken(str(error) or "the connection was lost") from None
        headers = {name: value for name, value in answer.headers.items() if name != "content-encoding"}  # it is decompressed
        return Response(answer.status_code, headers, body)
