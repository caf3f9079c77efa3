"""Whether published URLs answer: asked through the reader's own network, without a token.

In: URLs, and the hosts of the project's sites. Out: an answer for each URL. Only these hosts are asked, whatever a sitemap or a redirect
says, and never an address of the link-local network, where clouds keep credentials of machines (`addresses`). No cookie and no credential
is sent; a sandbox gets the secret without which it answers nobody.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

import httpx2

from reconciler import __version__
from reconciler.certificates import tls_context
from reconciler.client.pacing import Clock
from reconciler.client.quota import read_hints
from reconciler.features.urls.published.addresses import Addresses, CheckedTransport, NotAsked, Resolve, proxy_of, resolved
from reconciler.features.urls.redirects.required import LOOPBACK
from reconciler.model import Finding, Severity
from reconciler.sandbox.header import SECRET
from reconciler.text.service_url import is_address

SECONDS: Final = 20.0  # for one answer
HOPS: Final = 5  # redirects that are followed
AT_ONCE: Final = 8  # requests
PER_SECOND: Final = 10.0  # requests, unless the command line says otherwise
TRIES: Final = 4  # requests of one URL whose server asks to come later
WAIT_MAX: Final = 60.0  # seconds that a server may ask to wait
SITEMAP_MAX: Final = 64 * 2**20  # bytes; the protocol allows 50 MB
LATER: Final = frozenset({429, 503})
DEAD: Final = frozenset({404, 410})
CLOSED: Final = frozenset({401, 403, 407})
UNDECIDED: Final = frozenset({408, 421, 425, 429})  # about the request, and not about the page
EMPTY: Final = frozenset({204, 205})
SIGN_IN: Final = re.compile(
    r"(?:wp-|user[_-]?)?(?:log|sign)[_-]?(?:in|on)(?:\.\w+)?|auth|oauth2?|authori[sz]e|authenticate|sso|saml2?|oidc", re.IGNORECASE
)
"""Segments of the URLs of sign-in pages."""


@dataclass(frozen=True)
class CheckedUrl:
    """What was answered at a URL. `status`: the last one, None if there was none. `target`: where it led, None if nowhere. `wrong`: the end
    of a sentence about why it is not right; "" if it is. `known`: whether it was found out at all."""

    url: str
    status: int | None
    target: str | None = None
    wrong: str = ""
    known: bool = True


@dataclass(frozen=True)
class _Reply:
    """`later`: seconds after which the server asks to come again; None if it does not say."""

    status: int
    location: str | None
    later: float | None


class UrlChecker:
    """Asks URLs of some hosts. `per_second`: at most so many; None: 10, or as many as a sandbox of this machine answers.
    `served`: the host and port at which a sandbox serves the pages now; None: there is no sandbox. `secret`: what opens that sandbox.
    `clock`: what waiting is measured with. `resolve`: looks names up.
    """

    def __init__(
        self,
        hosts: Collection[str],
        *,
        per_second: float | None = None,
        served: str | None = None,
        secret: str = "",
        clock: Clock = Clock(),  # noqa: B008  has no state
        resolve: Resolve = resolved,
    ) -> None:
        self.hosts, self.served, self.secret, self._clock, self._resolve = frozenset(hosts), served, secret, clock, resolve
        self._pages = frozenset[str]()
        self._spent = set[str]()  # hosts that wanted fewer requests whenever they were asked again
        self._pause, self._limited = 1.0 / (per_second or PER_SECOND), per_second is not None
        self._next = 0.0

    async def answers(self, urls: Sequence[str], *, pages: Collection[str] = ()) -> list[CheckedUrl]:
        """The answer of each URL, in their order. `pages`: URLs that are pages, also where they look like something else."""
        self._pages = frozenset(map(_plain, pages))
        limit = asyncio.Semaphore(AT_ONCE)
        async with self._web() as web:

            async def answer(url: str) -> CheckedUrl:
                async with limit:
                    return await self._answer(web, url)

            return list(await asyncio.gather(*map(answer, urls)))

    async def text(self, url: str) -> str:
        """The text at a URL, such as a sitemap. Raises ValueError with the end of a sentence."""
        async with self._web() as web:
            try:
                if (wrong := self._forbidden(url)) is not None:
                    raise ValueError(wrong)
                async with web.stream(self._asked(url), self._headers(url)) as reply:
                    data = bytearray()
                    async for part in reply.aiter_bytes():
                        data += part
                        if len(data) > SITEMAP_MAX:
                            raise ValueError(f"it is larger than {SITEMAP_MAX // 2**20} MiB")
                    if reply.status_code != 200:
                        raise ValueError(f"it answers {reply.status_code}")
            except (httpx2.HTTPError, OSError, NotAsked) as error:
                raise ValueError(_why(error)) from None
        return data.decode("utf-8", "replace")

    @asynccontextmanager
    async def _web(self) -> AsyncIterator[_Web]:
        web = _Web(Addresses(self._resolve))
        try:
            yield web
        finally:
            await web.close()

    async def _answer(self, web: _Web, url: str) -> CheckedUrl:
        at, seen, target = url, {url}, None
        for _ in range(HOPS + 1):
            led = f"leads to {at}: " if at != url else ""
            if (wrong := self._forbidden(at)) is not None:
                return CheckedUrl(url, None, target, led + wrong, known=bool(led))
            try:
                reply = await self._reply(web, at)
            except NotAsked as error:
                return CheckedUrl(url, None, target, led + str(error), known=bool(led) and error.refused)
            except (httpx2.HTTPError, OSError) as error:
                return CheckedUrl(url, None, target, f"cannot be asked: {_why(error)}", known=False)
            if reply.status not in (301, 302, 303, 307, 308) or not reply.location:
                wrong = _wrong(reply) or ("" if target is None else self._sign_in(seen - {target}, target))
                return CheckedUrl(url, reply.status, target, wrong, known=reply.status < 500 and reply.status not in UNDECIDED)
            at = target = urljoin(at, reply.location)
            if at in seen:
                return CheckedUrl(url, reply.status, target, "redirects in a loop")
            seen.add(at)
        return CheckedUrl(url, reply.status, target, f"redirects more than {HOPS} times")

    async def _reply(self, web: _Web, url: str) -> _Reply:
        """The answer at a URL, after the pauses that its server asks for."""
        host = urlsplit(url).hostname or ""
        for number in range(1, TRIES + 1):
            if self._limited or not self._is_served(url):  # pages of a sandbox have no readers who would have to wait
                await self._paced()
            # The headers say it all, so the page itself is not read.
            async with web.stream(self._asked(url), self._headers(url)) as answer:
                later = read_hints(answer.headers, self._clock.wall()).retry_after
                reply = _Reply(answer.status_code, answer.headers.get("Location"), later)
            seconds = later if later is not None else float(number) if reply.status == 429 else WAIT_MAX + 1
            if reply.status not in LATER or seconds > WAIT_MAX or host in self._spent:
                break
            if number == TRIES:
                self._spent.add(host)
                break
            # its limit is one of all its URLs
            self._next = max(self._next, self._clock.monotonic() + seconds)
            await self._clock.sleep(seconds)
        return reply

    def _asked(self, url: str) -> str:
        """The URL as it is requested: that of a sandbox at its port."""
        return urlsplit(url)._replace(netloc=self.served).geturl() if self.served is not None and self._is_served(url) else url

    def _headers(self, url: str) -> Mapping[str, str]:
        return {SECRET: self.secret} if self.secret and self._is_served(url) else {}

    def _is_served(self, url: str) -> bool:
        """Whether it is a page of the sandbox."""
        return self.served is not None and urlsplit(url).hostname in LOOPBACK

    def _forbidden(self, url: str) -> str | None:
        """Why a URL is not asked, whatever the addresses of its host; None if it may be."""
        try:
            parts, asked = urlsplit(url), httpx2.URL(url)
            host, scheme = parts.hostname, parts.scheme
        except (ValueError, httpx2.InvalidURL):
            return "it is not a URL"
        # what is asked must be what was read here: two readers may disagree about odd URLs
        if scheme not in ("http", "https") or host is None or "@" in parts.netloc or host not in (asked.host, asked.raw_host.decode()):
            return "it is not a URL of the web"
        return None if host in self.hosts else f"{host} is not a host of this project's sites, and is not asked"

    def _sign_in(self, asked: Collection[str], target: str) -> str:
        """What is wrong with the page that URLs lead to; "" if nothing is. `asked`: the URL, and those on the way."""
        if _plain(target) in self._pages:
            return ""
        parts, wanted = urlsplit(target), {_plain(url) for url in asked}
        # a page that others are sent back from keeps where they wanted to go
        values = (unquote(value.partition("=")[2]) for value in parts.query.split("&"))
        back = any(_plain(value, target) in wanted for value in values if value.startswith(("/", "http://", "https://")))
        if back or any(SIGN_IN.fullmatch(part) for part in parts.path.split("/")):
            return f"leads to {target}, a page to sign in: it is not public"
        return ""

    async def _paced(self) -> None:
        now = self._clock.monotonic()
        self._next = max(self._next + self._pause, now)
        await self._clock.sleep(self._next - now)


class _Web:
    """Requests without cookies, credentials and redirects: to checked addresses, or through the proxy that the environment names. A proxy
    looks names up itself, so that only what this machine knows of their addresses is checked."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._clients: dict[str | None, httpx2.AsyncClient] = {}

    @asynccontextmanager
    async def stream(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[httpx2.Response]:
        """The answer at a URL. Raises `NotAsked` and what httpx2 raises."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        proxy = None if host in LOOPBACK else proxy_of(parts.scheme, host)
        try:
            await self._addresses.of(host)
        except NotAsked as error:
            if proxy is None or error.refused or is_address(host):
                raise
        async with self._client(proxy).stream("GET", url, headers=headers) as reply:
            yield reply

    def _client(self, proxy: str | None) -> httpx2.AsyncClient:
        if proxy not in self._clients:
            # One request a connection: two hosts with one address must not share a connection, whose certificate is of one of them.
            alone = httpx2.Limits(max_keepalive_connections=0)
            inner = httpx2.AsyncHTTPTransport(verify=tls_context(), trust_env=False, proxy=proxy, limits=alone)
            # A reader who comes for the first time has no cookie, and what a server sets must not come back to it.
            none = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            self._clients[proxy] = httpx2.AsyncClient(
                headers={"User-Agent": f"reconciler/{__version__}", "Accept": "text/html, */*"},
                cookies=none,
                timeout=SECONDS,
                follow_redirects=False,
                trust_env=False,
                transport=CheckedTransport(self._addresses, inner) if proxy is None else inner,
            )
        return self._clients[proxy]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()


def _plain(url: str, page: str = "") -> str:
    """A URL as it is compared with pages: without its query, its fragment and its port; "" for what is no URL. `page`: that it is on."""
    try:
        parts = urlsplit(urljoin(page, url))
    except ValueError:
        return ""
    return f"{parts.hostname}{unquote(parts.path).rstrip('/')}"


def _why(error: Exception) -> str:
    """Why there was no answer, as the end of a sentence."""
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {SECONDS:g} seconds"
    return str(error) or type(error).__name__


def _wrong(reply: _Reply) -> str:
    """What is wrong with an answer that leads nowhere; "" if nothing is."""
    status = reply.status
    if status in DEAD:
        return f"answers {status}: nothing is published there"
    if status in CLOSED:
        return f"answers {status}: it is not public"
    if status == 429:
        return "answers 429: its server wants fewer requests; try a smaller --max-rps"
    if status in EMPTY or 300 <= status < 400:
        return f"answers {status}: that is not a page"
    return "" if status < 300 else f"answers {status}"


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
