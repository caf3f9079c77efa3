"""The seam to the network: httpx's transport interface, by default over aiohttp.

In: an httpx request. Out: an httpx response whose body is still to be read, or an httpx error that tells the truth about whether
anything was sent: ConnectError only where there never was a connection for the request. Forbidden: retries, redirects, cookies, logs.
"""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

import httpx

from reconciler.errors import ReconcilerError


class WriteRefused(ReconcilerError):
    """A client that only reads was asked to write: a defect of this program, stopped before anything was sent."""


class OnlyGet(httpx.AsyncBaseTransport):
    """A transport that refuses anything but GET."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a GET on; raise WriteRefused for all else."""
        if request.method != "GET":
            raise WriteRefused(f"a client that only reads was asked for {request.method}; nothing was sent")
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the transport behind it."""
        await self._inner.aclose()


def default_transport(base_url: str, max_concurrency: int, environ: Mapping[str, str] = os.environ) -> httpx.AsyncBaseTransport:
    """aiohttp behind httpx's interface: as many connections as requests may be in flight, so that none waits for one.

    For https the proxy of `environ` (HTTPS_PROXY, NO_PROXY) is used; http is for the loopback interface and never proxied.
    """
    from reconciler.client.wire import Wire

    parts = urlsplit(base_url)
    proxy, headers = _proxy(parts.hostname or "", environ) if parts.scheme == "https" else (None, {})
    return Wire(_ssl_context() if parts.scheme == "https" else _no_tls(), max_concurrency, proxy, headers)


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # verifies always; 30 ms, so made once; honours SSL_CERT_FILE and SSL_CERT_DIR


@lru_cache(maxsize=1)
def _no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; spares the 30 ms where nothing is encrypted


def _proxy(host: str, environ: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    url = environ.get("https_proxy") or environ.get("HTTPS_PROXY")
    excluded = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not url or proxy_bypass_environment(host, {"no": excluded}):
        return None, {}
    parts = urlsplit(url if "://" in url else f"http://{url}")
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if parts.username is None:
        return address, {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return address, {"Proxy-Authorization": "Basic " + b64encode(pair.encode()).decode()}
