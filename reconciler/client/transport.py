"""The interface to the network: httpx's transport interface, by default over aiohttp.

In: an httpx request. Out: an httpx response whose body is still unread, or an httpx error that says correctly whether anything was sent:
ConnectError only if there was no connection for the request. Forbidden: retries, redirects, cookies, logs.
"""

from __future__ import annotations

import os
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol, cast
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

from reconciler.client.library import httpx
from reconciler.client.pacing import TooLate
from reconciler.errors import ReconcilerError, UsageError

AUTHORITIES: Final = "Correct it, or unset it to trust the usual certificate authorities."
REINSTALL: Final = "Install reconciler again: a file of the package certifi is missing."
HASHED: Final = re.compile(r"[0-9a-f]{8}\.[0-9]+")  # how OpenSSL finds a certificate in a directory


class Received(Protocol):
    """An answer whose body is still unread; header names are case-insensitive."""

    status_code: int

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self, enough: int) -> bytes:
        """The body, decompressed. Reading stops once it is over `enough` bytes, which the last chunk may pass by 16 MiB (16 KiB,
        decompressed). Raises httpx's errors."""

    async def aclose(self) -> None:
        """Close the response; its connection is reused or dropped."""


class Decoded:
    """An answer of httpx, which decompresses its body."""

    def __init__(self, response: httpx.Response) -> None:
        self.status_code, self.headers, self._response = response.status_code, response.headers, response

    async def read(self, enough: int) -> bytes:
        """The body, decompressed, up to the chunk that passes `enough` bytes."""
        data = bytearray()
        async with aclosing(cast("AsyncGenerator[bytes, None]", self._response.aiter_bytes())) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) > enough:
                    break
        return bytes(data)

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()


InTime = Callable[[], bool]
"""Whether a request may still be sent; called just before its first byte, because a process can be paused at any moment before."""
Send = Callable[[str, str, Mapping[str, str], bytes | None, float, InTime], Awaitable[Received]]
"""Sends a method, a URL, headers and a body; seconds: the limit for connecting. Raises httpx's errors, and `TooLate`."""


def always() -> bool:
    """For a request that may be sent at any time."""
    return True


def sending(transport: httpx.AsyncBaseTransport) -> Send:
    """The function that sends requests through a transport: directly if it can, else as httpx's objects."""
    direct: Send | None = getattr(transport, "direct", None)

    async def send(method: str, url: str, headers: Mapping[str, str], content: bytes | None, seconds: float, in_time: InTime) -> Received:
        if not in_time():
            raise TooLate
        request = httpx.Request(method, url, headers=headers, content=content, extensions={"timeout": {"connect": seconds}})
        return Decoded(await transport.handle_async_request(request))

    return direct or send


class WriteRefused(ReconcilerError):
    """A read-only client was asked to write: a defect of this program, stopped before anything was sent."""


class OnlyGet(httpx.AsyncBaseTransport):
    """A transport that refuses anything but GET."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._send = sending(inner)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a GET on; raise WriteRefused for every other method."""
        self._check(request.method)
        return await self._inner.handle_async_request(request)

    async def direct(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, seconds: float, in_time: InTime
    ) -> Received:
        """The same without httpx's objects, if the transport behind it supports that."""
        self._check(method)
        return await self._send(method, url, headers, content, seconds, in_time)

    def _check(self, method: str) -> None:
        if method != "GET":
            raise WriteRefused(f"a read-only client refused to send {method}", id="RC-read-only-client")

    async def aclose(self) -> None:
        """Close the transport behind it."""
        await self._inner.aclose()


def default_transport(base_url: str, max_concurrency: int, environ: Mapping[str, str] = os.environ) -> httpx.AsyncBaseTransport:
    """aiohttp behind httpx's interface: as many connections as requests in flight, so that none waits for one.

    For https the proxy of `environ` (HTTPS_PROXY, NO_PROXY) is used; http is for the loopback interface and never proxied.
    """
    from reconciler.client.wire import Wire

    parts = urlsplit(base_url)
    proxy, headers = _proxy(parts.hostname or "", environ) if parts.scheme == "https" else (None, {})
    return Wire(_ssl_context() if parts.scheme == "https" else _no_tls(), max_concurrency, proxy, headers)


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    """The context that verifies certificates, created once because that takes 30 ms. Uses SSL_CERT_FILE, else SSL_CERT_DIR."""
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if folders and not file:
        _check_folders(folders)
    try:
        return httpx.create_ssl_context()
    except ssl.SSLError:
        name = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
        raise UsageError(
            f"{name} names {file or folders}, which contains no certificate in PEM format", id="RC-certificates", hint=AUTHORITIES
        ) from None
    except (OSError, ValueError) as error:  # ValueError: an unpaired surrogate in the path
        if not (file or folders):
            raise ReconcilerError(
                f"the list of certificate authorities cannot be read: {_reason(error)}", id="RC-certificates-missing", hint=REINSTALL
            ) from error
        name = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
        raise UsageError(
            f"{name} names {file or folders}, which cannot be read: {_reason(error)}", id="RC-certificates", hint=AUTHORITIES
        ) from error


def _check_folders(folders: str) -> None:
    """Raise `UsageError` if SSL_CERT_DIR lists no directory with a certificate: OpenSSL would silently trust no authority."""
    if not any(HASHED.fullmatch(name) for folder in folders.split(os.pathsep) for name in _names(folder)):
        hint = f"`openssl rehash {folders}` makes the names OpenSSL looks for. {AUTHORITIES}"
        raise UsageError(f"SSL_CERT_DIR names {folders}, which contains no certificates", id="RC-certificates", hint=hint)


def _names(folder: str) -> Iterator[str]:
    try:
        yield from (path.name for path in Path(folder).iterdir())
    except (OSError, ValueError):
        return


def _reason(error: Exception) -> str:
    return ((error.strerror if isinstance(error, OSError) else None) or "unknown reason").lower()


@lru_cache(maxsize=1)
def _no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no authority; saves the 30 ms if nothing is encrypted


def _proxy(host: str, environ: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
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
