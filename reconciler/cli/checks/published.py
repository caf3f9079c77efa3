"""Whether published URLs answer: asked through the reader's own network, without a token.

In: URLs, and the hosts of the project's sites. Out: an answer for each URL. Only these hosts are asked, whatever a sitemap or a redirect
says, and never an address of the link-local network, where clouds keep credentials of machines. No cookie and no credential is sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx2

from reconciler import __version__
from reconciler.certificates import tls_context
from reconciler.model import Finding, Severity
from reconciler.urls.redirects import LOOPBACK

SECONDS: Final = 20.0  # for one answer
HOPS: Final = 5  # redirects that are followed
AT_ONCE: Final = 8  # requests
PER_SECOND: Final = 10.0  # requests, unless the command line says otherwise
SITEMAP_MAX: Final = 64 * 2**20  # bytes; the protocol allows 50 MB
DEAD: Final = frozenset({404, 410})
CLOSED: Final = frozenset({401, 403, 407})


@dataclass(frozen=True)
class CheckedUrl:
    """What was answered at a URL. `status`: the last one, None if there was none. `target`: where it led, None if nowhere. `wrong`: the end
    of a sentence about why it is not right; "" if it is. `known`: whether it was found out at all."""

    url: str
    status: int | None
    target: str | None = None
    wrong: str = ""
    known: bool = True


class UrlChecker:
    """Asks URLs of some hosts. `per_second`: at most so many; None: 10, or as many as a sandbox of this machine answers.
    `served`: the host and port at which a sandbox serves the pages now; None: there is no sandbox.
    """

    def __init__(self, hosts: Collection[str], *, per_second: float | None = None, served: str | None = None) -> None:
        self.hosts, self.served = frozenset(hosts), served
        self._pause, self._limited = 1.0 / (per_second or PER_SECOND), per_second is not None
        self._next = 0.0
        self._refused: dict[str, str] = {}

    async def answers(self, urls: Sequence[str]) -> list[CheckedUrl]:
        """The answer of each URL, in their order."""
        limit = asyncio.Semaphore(AT_ONCE)
        async with self._client() as client:

            async def one(url: str) -> CheckedUrl:
                async with limit:
                    return await self._answer(client, url)

            return list(await asyncio.gather(*map(one, urls)))

    def _client(self) -> httpx2.AsyncClient:
        headers = {"User-Agent": f"reconciler/{__version__}", "Accept": "text/html, */*"}
        # A reader who comes for the first time has no cookie, and what a server sets must not come back to it.
        none = CookieJar(DefaultCookiePolicy(allowed_domains=()))
        return httpx2.AsyncClient(headers=headers, cookies=none, timeout=SECONDS, follow_redirects=False, verify=tls_context())

    async def text(self, url: str) -> str:
        """The text at a URL, such as a sitemap. Raises ValueError with the end of a sentence."""
        async with self._client() as client:
            if (wrong := await self._forbidden(url)) is not None:
                raise ValueError(wrong)
            try:
                async with client.stream("GET", self._asked(url)) as reply:
                    data = bytearray()
                    async for part in reply.aiter_bytes():
                        data += part
                        if len(data) > SITEMAP_MAX:
                            raise ValueError(f"it is larger than {SITEMAP_MAX // 2**20} MiB")
                    if reply.status_code != 200:
                        raise ValueError(f"it answers {reply.status_code}")
            except (httpx2.HTTPError, OSError) as error:
                raise ValueError(_why(error)) from None
        return data.decode("utf-8", "replace")

    async def _answer(self, client: httpx2.AsyncClient, url: str) -> CheckedUrl:
        at, seen, target = url, {url}, None
        for _ in range(HOPS + 1):
            if (wrong := await self._forbidden(at)) is not None:
                return CheckedUrl(url, None, target, f"leads to {at}: {wrong}" if at != url else wrong, known=at != url)
            if self._limited or not self._is_served(at):  # pages of a sandbox have no readers who would have to wait
                await self._paced()
            try:
                # The headers say it all, so the page itself is not read.
                async with client.stream("GET", self._asked(at)) as reply:
                    status, location = reply.status_code, reply.headers.get("Location")
            except (httpx2.HTTPError, OSError) as error:
                return CheckedUrl(url, None, target, f"cannot be asked: {_why(error)}", known=False)
            if status not in (301, 302, 303, 307, 308) or not location:
                return CheckedUrl(url, status, target, _wrong(status), known=status < 500)
            at = target = urljoin(at, location)
            if at in seen:
                return CheckedUrl(url, status, target, "redirects in a loop")
            seen.add(at)
        return CheckedUrl(url, status, target, f"redirects more than {HOPS} times")

    def _asked(self, url: str) -> str:
        """The URL as it is requested: that of a sandbox at its port."""
        return urlsplit(url)._replace(netloc=self.served).geturl() if self.served is not None and self._is_served(url) else url

    def _is_served(self, url: str) -> bool:
        """Whether it is a page of the sandbox."""
        return self.served is not None and urlsplit(url).hostname in LOOPBACK

    async def _forbidden(self, url: str) -> str | None:
        """Why a URL is not asked; None if it may be."""
        try:
            parts = urlsplit(url)
            host, scheme = parts.hostname, parts.scheme
        except ValueError:
            return "it is not a URL"
        if scheme not in ("http", "https") or host is None or parts.username is not None:
            return "it is not a URL of the web"
        if host not in self.hosts:
            return f"{host} is not a host of this project's sites, and is not asked"
        if host not in self._refused:
            self._refused[host] = await _link_local(host)
        return self._refused[host] or None

    async def _paced(self) -> None:
        now = asyncio.get_running_loop().time()
        self._next = max(self._next + self._pause, now)
        await asyncio.sleep(self._next - now)


async def _link_local(host: str) -> str:
    """What is wrong with the addresses of a host; "" if nothing is, or it has none."""
    try:
        known = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ""
    addresses = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in known}
    if not any(_is_of_machine(address) for address in addresses):
        return ""
    return f"{host} has an address of the link-local network, or one at which clouds keep credentials of machines, which is not asked"


METADATA: Final = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "192.0.0.192", "fd00:ec2::254")))
"""Addresses of the metadata services of clouds that are not link-local: Alibaba, Oracle, and Amazon by IPv6."""

NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def _is_of_machine(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is link-local or of a metadata service, or leads to one: IPv6 has several spellings of an address of IPv4."""
    inner: ipaddress.IPv4Address | None = None
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.is_link_local or address in METADATA or (inner is not None and _is_of_machine(inner))


def _why(error: Exception) -> str:
    """Why there was no answer, as the end of a sentence."""
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {SECONDS:g} seconds"
    return str(error) or type(error).__name__


def _wrong(status: int) -> str:
    if status in DEAD:
        return f"answers {status}: nothing is published there"
    if status in CLOSED:
        return f"answers {status}: it is not public"
    return "" if status < 400 else f"answers {status}"


def findings_of(answers: Iterable[CheckedUrl]) -> Iterator[Finding]:
    """A finding for each URL that is not right, errors for those that answer nothing."""
    for answer in answers:
        if answer.wrong:
            level = Severity.ERROR if answer.known else Severity.WARNING
            name = "RC-url-dead" if answer.known else "RC-url-not-asked"
            yield Finding(name, level, answer.wrong, answer.url)


def counts(answers: Sequence[CheckedUrl]) -> Mapping[str, int]:
    """How many answered in which way."""
    dead = sum(bool(answer.wrong) and answer.known for answer in answers)
    unknown = sum(not answer.known for answer in answers)
    redirected = sum(answer.target is not None and not answer.wrong for answer in answers)
    return {"answer": len(answers) - dead - unknown, "redirected": redirected, "dead": dead, "unknown": unknown}
