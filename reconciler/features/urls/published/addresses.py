"""The addresses of the hosts that `urls check` asks: looked up once, checked, and the only ones that are connected to.

In: a host. Out: its addresses, or the end of a sentence about why it is not asked. A name is not looked up again for the connection, so a
resolver that changes its answer in between leads nowhere else.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from reconciler.errors import UsageError

METADATA: Final = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")))
"""Addresses of the metadata services of clouds that are not link-local: Alibaba, Oracle, Azure, and Amazon and Google by IPv6."""

NAT64: Final = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Of the internet, and of a local network, which may use any part of the second one with the address of IPv4 at the end."""
OF_MACHINE: Final = "an address of the link-local network, or one at which clouds keep credentials of machines, which is not asked"


class NotAsked(Exception):
    """A host is not asked. `refused`: because of its address; otherwise nobody knows its address."""

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a host, at least one. Raises `OSError` where there is none."""


async def resolved(host: str) -> Sequence[str]:
    """The addresses of a host by this machine."""
    known = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in known]


class Addresses:
    """What each host was looked up as, in one event loop."""

    def __init__(self, resolve: Resolve = resolved) -> None:
        self._resolve = resolve
        self._hosts: dict[str, asyncio.Task[tuple[str, ...]]] = {}

    async def of(self, host: str) -> Sequence[str]:
        """The addresses of a host, at least one. Raises `NotAsked`."""
        if host not in self._hosts:
            self._hosts[host] = asyncio.create_task(self._looked_up(host))
        # whoever stops waiting ends nobody else's look-up
        return await asyncio.shield(self._hosts[host])

    async def _looked_up(self, host: str) -> tuple[str, ...]:
        try:
            addresses = tuple(dict.fromkeys(await self._resolve(host)))
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a name of the internet"
            raise NotAsked(f"{host} cannot be looked up: {reason}", refused=False) from None
        if any(is_of_machine(ipaddress.ip_address(address.partition("%")[0])) for address in addresses):
            raise NotAsked(f"{host} has {OF_MACHINE}", refused=True)
        return addresses


def is_of_machine(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is link-local or of a metadata service, or leads to one: IPv6 has several spellings of an address of IPv4."""
    inner: ipaddress.IPv4Address | None = None
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if any(address in network for network in NAT64):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.is_link_local or address in METADATA or (inner is not None and is_of_machine(inner))


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Sends each request to a checked address of its host; `Host` and the name in TLS stay those of the URL. Raises `NotAsked`."""

    def __init__(self, addresses: Addresses, inner: httpx2.AsyncBaseTransport) -> None:
        self._addresses, self._inner = addresses, inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.raw_host.decode("ascii")
        failure: httpx2.TransportError | None = None
        for address in await self._addresses.of(host):
            named = {**request.extensions, "sni_hostname": host}
            sent = httpx2.Request(
                request.method, request.url.copy_with(host=address), headers=request.headers, stream=request.stream, extensions=named
            )
            try:
                return await self._inner.handle_async_request(sent)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = failure or error  # the next address of the same look-up may answer
        assert failure is not None
        raise failure

    async def aclose(self) -> None:
        await self._inner.aclose()


def proxy_of(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for a host; None for a direct connection. Raises `UsageError` for one that cannot be used."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or proxy_bypass(host):
        return None
    url = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        name = f"{scheme if proxies.get(scheme) else 'all'}_proxy".upper()
        hint = f"Write it like http://proxy.example:3128, or unset {name}."
        raise UsageError(f"{name} is not the URL of an HTTP proxy", id="RC-proxy-url", hint=hint)
    return url
