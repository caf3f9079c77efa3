"""aiohttp behind httpx's transport interface; imported only for real connections.

In: an httpx request. Out: an httpx response, or an httpx error that says correctly whether anything was sent.
Forbidden: as in `transport`.

Own code, because httpx-aiohttp, which does the same, reports and does wrong things:
- it reports a connection that breaks after the request was sent as ConnectTimeout, "never sent"; here only errors of the connector are;
- aiohttp silently resends GET, PUT and DELETE if a reused connection is closed: `PUT` of a team would create two;
  a middleware that raises httpx's errors ends the exchange before that;
- a URL given as text is normalised, `%2E%2E` goes up a folder; here it is sent as encoded.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Any, Final, cast

from yarl import URL

from reconciler.client.library import httpx, without_certificates
from reconciler.client.pacing import TooLate
from reconciler.client.transport import Decoded, InTime, Received, always

with without_certificates():
    import aiohttp

KEEP_ALIVE: Final = 4.0  # seconds; below the 5 s after which uvicorn and Node close, so that we rarely write to a closing connection
CONNECT_MAX: Final = 10.0  # seconds; well inside the total deadline, so that a dead host is known not to have received the request


PLAIN: Final = frozenset({"", "identity"})  # encodings that leave a body unchanged
USUAL: Final = aiohttp.ClientTimeout(total=None, connect=CONNECT_MAX)


IN_TIME: ContextVar[InTime] = ContextVar("in_time", default=always)
"""Whether the current request may still be sent: aiohttp connects and writes between our call and the first byte."""


class _Transport:
    """A transport that writes nothing of a request that is too late."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.is_closing, self.resume_reading = inner.is_closing, inner.resume_reading  # called several times for each request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, data: Any) -> None:
        if not IN_TIME.get()():
            raise TooLate
        self._inner.write(data)

    def writelines(self, parts: Any) -> None:
        if not IN_TIME.get()():
            raise TooLate
        self._inner.writelines(parts)


class _Connector(aiohttp.TCPConnector):
    """Connects as usual; checks the deadline just before the first byte, because a process can be paused until then."""

    async def connect(self, *given: Any, **named: Any) -> Any:
        connection = await super().connect(*given, **named)
        protocol = connection.protocol
        assert protocol is not None  # a new one, or one from the pool
        if not isinstance(protocol.transport, _Transport):
            protocol.transport = cast("asyncio.Transport", _Transport(protocol.transport))
        return connection


class _Body(httpx.AsyncByteStream):
    """The body of an answer; closing it never waits, and drops the connection if the answer was not read completely."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _chunks(self._response)

    async def aclose(self) -> None:
        self._response.close()


class _Plain:
    """An answer whose body is not compressed."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status_code, self.headers, self._response = response.status, response.headers, response

    async def read(self, enough: int) -> bytes:
        """The body, up to the chunk that passes `enough` bytes."""
        content, parts, size = self._response.content, list[bytes](), 0
        try:
            while size <= enough and not content.at_eof():
                parts.append(await content.readany())
                size += len(parts[-1])
            return b"".join(parts)
        except Exception as error:
            failure = httpx.ReadError(_broken(error))
        raise failure

    async def aclose(self) -> None:
        """Close the response; drops the connection if the answer was not read completely."""
        if not self._response.closed:
            self._response.close()


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        while chunk := await response.content.readany():
            yield chunk
        return
    except Exception as error:
        failure = httpx.ReadError(_broken(error))
    raise failure


class Wire(httpx.AsyncBaseTransport):
    """Sends each request exactly once."""

    def __init__(self, context: ssl.SSLContext, connections: int, proxy: str | None, proxy_headers: dict[str, str]) -> None:
        self.ssl_context = context
        self._connections = connections
        self._proxy = proxy
        self._proxy_headers = proxy_headers
        self._session: aiohttp.ClientSession | None = None  # opened in the event loop of the first request

    def _open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=_Connector(limit=self._connections, ssl=self.ssl_context, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_truthfully,),
            auto_decompress=False,
            trust_env=False,  # it would read ~/.netrc, and send those credentials instead of our token
            timeout=USUAL,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` once; raises httpx.ConnectError if it was provably not sent, else httpx.ReadError."""
        seconds = request.extensions.get("timeout", {}).get("connect", CONNECT_MAX)
        headers = request.headers.multi_items()
        response = await self._send(request.method, str(request.url), headers, request.content or None, seconds, always)
        return httpx.Response(response.status, headers=response.raw_headers, stream=_Body(response), request=request)

    async def direct(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, seconds: float, in_time: InTime
    ) -> Received:
        """The same without httpx's objects, which take as long as the request itself; only a compressed body needs them."""
        response = await self._send(method, url, headers, content, seconds, in_time)
        if ",".join(response.headers.getall("content-encoding", ())).strip().lower() in PLAIN:
            return _Plain(response)
        return Decoded(httpx.Response(response.status, headers=response.raw_headers, stream=_Body(response)))

    async def _send(
        self, method: str, url: str, headers: Any, content: bytes | None, seconds: float, in_time: InTime
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = self._open()
        IN_TIME.set(in_time)
        return await self._session.request(
            method,
            URL(url, encoded=True),
            headers=headers,
            data=content,
            allow_redirects=False,
            timeout=USUAL if seconds >= CONNECT_MAX else aiohttp.ClientTimeout(total=None, connect=seconds),
            proxy=self._proxy,
            proxy_headers=self._proxy_headers or None,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


async def _truthfully(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    try:
        return await send(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError) as error:
        failure: Exception = httpx.ConnectError(_connect_trouble(error))
    except Exception as error:  # whatever the error, the request may have been sent, unless it was late
        failure = TooLate() if TooLate in (type(error), type(error.__cause__)) else httpx.ReadError(_broken(error))
    raise failure  # outside the clauses: aiohttp's errors contain the request's headers, and so the token


def _connect_trouble(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return "its certificate is not trusted"
        case aiohttp.ClientConnectorSSLError():
            return "the TLS handshake failed"
        case aiohttp.ClientConnectorDNSError():
            return "its host name cannot be resolved"
        case aiohttp.ConnectionTimeoutError():
            return "connecting took too long"
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return "the proxy refused"
        case _:
            return "the connection was refused"


def _broken(error: Exception) -> str:
    match error:
        case aiohttp.ClientResponseError():
            return "the response is not HTTP"
        case _:
            return "the connection was lost"
