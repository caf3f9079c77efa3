"""One request on a real connection, with aiohttp: sent exactly once, and with the truth about whether it was sent.

    Exchange --Request--> Wire.send -> ClientSession -> _truthfully -> _Connector -> socket
             <-Response-- body, bounded                 |              checks the deadline before the first byte
                                                        every error of aiohttp becomes NeverSent or Broken

aiohttp by itself does three things that a program must not do whose `PUT` may create an object:

- it sends GET, PUT and DELETE again if a reused connection turns out to be closed: `PUT` of a team would create two.
  The middleware raises errors that aiohttp does not know, which ends the request before that.
- it normalizes a URL given as text, so `%2E%2E` goes up a folder. A `yarl.URL` that is declared encoded is sent as it is.
- it connects and writes some time after it was called. A process can be paused in between for longer than the lease on the state lasts,
  so the deadline is checked again where the bytes are written.

A proxy is the one that HTTPS_PROXY and NO_PROXY name, as curl reads them: aiohttp's own reading of the environment (`trust_env`) would also
read ~/.netrc and send those credentials in place of our token. Forbidden: as in `transport`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

import aiohttp
from yarl import URL

from reconciler.certificates import tls_context
from reconciler.client.pacing import TooLate
from reconciler.client.transport import Broken, InTime, NeverSent, Request, Response, always
from reconciler.errors import UsageError

# -- The proxy -----------------------------------------------------------------------------------------------------------------------


def proxy_for(host: str, environ: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """The URL of the proxy and its headers. Raises `UsageError` for an invalid URL, without repeating a password."""
    name = "https_proxy" if environ.get("https_proxy") else "HTTPS_PROXY"
    url = environ.get(name)
    excluded = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not url or proxy_bypass_environment(host, {"no": excluded}):
        return None, {}
    parts = _parts(url)
    if parts is None:
        raise UsageError(
            f"{name} is not the URL of an HTTP proxy", id="RC-proxy-url", hint=f"Write it like http://proxy.example:3128, or unset {name}."
        )
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if parts.username is None:
        return address, {}
    # The credentials leave the URL, because aiohttp's errors contain it.
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return address, {"Proxy-Authorization": "Basic " + b64encode(pair.encode()).decode()}


def _parts(url: str) -> SplitResult | None:
    """The parts of a proxy's URL; None if it is invalid."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        url.encode()  # an unpaired surrogate cannot be sent
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in parts.netloc
    except ValueError:
        return None
    return parts if usable else None


# -- The connection ------------------------------------------------------------------------------------------------------------------

KEEP_ALIVE: Final = 4.0  # seconds; below the 5 s after which uvicorn and Node close, so that we rarely write to a closing connection
CONNECT_MAX: Final = 10.0  # seconds; well inside the total deadline, so that a dead host is known not to have received the request
ERROR_BODY_MAX: Final = 64 * 1024  # bytes read of an error's body
BODILESS: Final = frozenset({204, 205})  # a 205 without a length would otherwise be read until the connection is closed
USUAL: Final = aiohttp.ClientTimeout(total=None, connect=CONNECT_MAX)

# A context variable, because aiohttp carries nothing of ours from a request to the connection that it is written to.
IN_TIME: ContextVar[InTime] = ContextVar("in_time", default=always)
"""Whether the current request may still be sent."""


class _Transport:
    """A transport of asyncio that writes nothing of a request that is too late."""

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


class Wire:
    """Sends each request exactly once."""

    def __init__(self, context: ssl.SSLContext, connections: int, proxy: str | None, proxy_headers: dict[str, str]) -> None:
        self.ssl_context = context
        self.proxy = proxy
        self._connections = connections
        self._proxy_headers = proxy_headers
        self._session: aiohttp.ClientSession | None = None  # opened in the event loop of the first request

    def _open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=_Connector(limit=self._connections, ssl=self.ssl_context, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_truthfully,),
            # We unpack bodies ourselves: aiohttp would unpack gzip in gzip and whatever else is installed, without our limit.
            auto_decompress=False,
            trust_env=False,  # it would read ~/.netrc, and send those credentials instead of our token
            timeout=USUAL,
        )

    async def send(self, request: Request) -> Response:
        """The response to `request`, which is sent once."""
        if self._session is None:
            self._session = self._open()
        IN_TIME.set(request.in_time)
        seconds = request.connect_seconds
        response = await self._session.request(
            request.method,
            URL(request.url, encoded=True),
            headers=request.headers,
            data=request.content,
            # The token is for the host that the user named. Wherever a redirect leads, it would be sent along.
            allow_redirects=False,
            timeout=USUAL if seconds >= CONNECT_MAX else aiohttp.ClientTimeout(total=None, connect=seconds),
            proxy=self.proxy,
            proxy_headers=self._proxy_headers or None,
        )
        try:
            return Response(response.status, response.headers, await _body(response, request.body_max))
        finally:
            if not response.closed:
                response.close()  # the rest of a body is not waited for: its connection is dropped

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


async def _body(response: aiohttp.ClientResponse, body_max: int) -> bytes:
    """The body, up to the chunk that passes the limit. Raises `Broken` if it ends too early."""
    status, content = response.status, response.content
    succeeded = 200 <= status <= 299
    if status in BODILESS or 300 <= status <= 399:
        return b""
    limit = body_max if succeeded else ERROR_BODY_MAX
    parts, size = list[bytes](), 0
    try:
        while size <= limit and not content.at_eof():
            parts.append(await content.readany())
            size += len(parts[-1])
        return b"".join(parts)
    except Exception:
        if not succeeded:
            return b""  # the status of an error says enough; its body only explains
    raise Broken(f"it answered {status}, but the response was incomplete")


async def _truthfully(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send a request; every error becomes `NeverSent`, `Broken` or `TooLate`."""
    try:
        return await send(request)
    # Only these come from the connector, before there is a connection. A connection that is reset later is another ClientOSError.
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError) as error:
        failure: Exception = NeverSent(_connect_trouble(error))
    except Exception as error:  # whatever the error, the request may have been sent, unless it was late
        late = TooLate in (type(error), type(error.__cause__))
        garbled = isinstance(error, aiohttp.ClientResponseError)
        failure = TooLate() if late else Broken("the response is not HTTP" if garbled else "the connection was lost")
    raise failure  # outside the clauses: aiohttp's errors contain the request's headers, and so the token


UNTRUSTED: Final = "its certificate is not trusted; SSL_CERT_FILE names the file of the certificate authorities to trust"
CERTIFICATES: Final = {  # by the codes of OpenSSL's x509_vfy.h
    9: "its certificate is not valid yet; compare the clock of this machine",
    10: "its certificate has expired",
    62: "its certificate is for another host",
    64: "its certificate is for another host",
}


def _connect_trouble(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLCertVerificationError(verify_code=code)):
            return CERTIFICATES.get(code, UNTRUSTED)
        case aiohttp.ClientConnectorCertificateError():
            return UNTRUSTED
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


def default_transport(base_url: str, max_concurrency: int, environ: Mapping[str, str] = os.environ) -> Wire:
    """Connections to a service: as many as requests in flight, so that none waits for one.

    For https the proxy of `environ` (HTTPS_PROXY, NO_PROXY) is used; http is for the loopback interface and never proxied.
    """
    parts = urlsplit(base_url)
    if parts.scheme != "https":
        return Wire(_no_tls(), max_concurrency, None, {})
    return Wire(tls_context(), max_concurrency, *proxy_for(parts.hostname or "", environ))


@lru_cache(maxsize=1)
def _no_tls() -> ssl.SSLContext:
    # For a connector that encrypts nothing. It trusts no authority, should it ever be used, and saves reading them (30 ms).
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
