"""One request and its answer, within one deadline; every result becomes an `AttemptOutcome`.

In: a method, a URL and a body. Out: an `AttemptOutcome`; no network error leaves this module, because those contain the token.
Forbidden: sending twice, following a redirect, waiting for anything but the network.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from pydantic_core import from_json

from reconciler import __version__
from reconciler.client.hints import Hints, read_hints
from reconciler.client.library import httpx
from reconciler.client.retry import AttemptFault, Result
from reconciler.client.settings import ClientSettings
from reconciler.client.transport import InTime, Received, sending
from reconciler.text.redact import Mask
from reconciler.text.unreadable import readable

SAYS_MAX: Final = 200  # characters of the service's message in ours
ERROR_BODY_MAX: Final = 64 * 1024  # bytes read of an error's body
DONE: Final = "done"
EMPTY: Final = frozenset({204, 205})  # methods and statuses without a body
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")  # a surrogate, escaped or as bytes
ENCODINGS: Final = frozenset({"", "identity", "gzip", "deflate"})  # one encoding only: gzip in gzip is a bomb


@dataclass(frozen=True)
class AttemptOutcome:
    """The result of one attempt. `says`: a description that is safe to print, without the token and other secrets."""

    result: Result
    says: str
    body: Any = None
    hints: Hints = Hints()  # noqa: RUF009  has no state
    digest: str = ""

    @property
    def status(self) -> int | None:
        """The HTTP status; None if there was no answer."""
        return self.result if isinstance(self.result, int) else None


class Exchange:
    """Sends each request through a transport exactly once."""

    def __init__(self, settings: ClientSettings, transport: httpx.AsyncBaseTransport) -> None:
        self._mask = Mask({settings.token, *settings.secrets})
        self._max_body = settings.max_body
        self.known: Collection[str] = ()  # digests of valid JSON bodies, which need no decoding
        self._transport = sending(transport)
        self._headers = {
            "Authorization": f"Bearer {settings.token}",
            "User-Agent": f"reconciler/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
        }
        self._headers_of_json = {**self._headers, "Content-Type": "application/json"}

    async def run(self, method: str, url: str, content: bytes | None, *, seconds: float, wall: float, in_time: InTime) -> AttemptOutcome:
        """Send, and read the answer to its end, in at most `seconds`; `wall`: local UTC epoch seconds. Raises `TooLate`."""
        try:
            async with asyncio.timeout(seconds):
                outcome = await self._send(method, url, content, seconds, wall, in_time)
        except TimeoutError:
            outcome = AttemptOutcome(AttemptFault.BROKEN, f"no complete response arrived within {seconds:g} s")
        return outcome if outcome.says is DONE else replace(outcome, says=printable(self._mask.text(outcome.says)))

    async def _send(self, method: str, url: str, content: bytes | None, seconds: float, wall: float, in_time: InTime) -> AttemptOutcome:
        headers = self._headers if content is None else self._headers_of_json
        try:
            response = await self._transport(method, url, headers, content, seconds / 2, in_time)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            return AttemptOutcome(AttemptFault.NOT_SENT, f"the service cannot be reached: {error}")
        except (httpx.HTTPError, OSError) as error:
            return AttemptOutcome(AttemptFault.BROKEN, str(error) or "the connection was lost")
        try:
            return await self._read(response, method, read_hints(response.headers, wall))
        finally:
            await response.aclose()

    async def _read(self, response: Received, method: str, hints: Hints) -> AttemptOutcome:
        status = response.status_code
        if not 200 <= status <= 299:
            return AttemptOutcome(status, await _complaint(response), hints=hints)
        if status in EMPTY:
            return AttemptOutcome(status, DONE, hints=hints)
        if response.headers.get("content-encoding", "").strip().lower() not in ENCODINGS:
            return AttemptOutcome(AttemptFault.UNREADABLE, f"it answered {status} with an unexpected encoding", hints=hints)
        try:
            data = await response.read(self._max_body)
        except httpx.DecodingError:
            return AttemptOutcome(AttemptFault.UNREADABLE, f"it answered {status} with a body that cannot be decompressed", hints=hints)
        except (httpx.HTTPError, OSError):
            return AttemptOutcome(AttemptFault.BROKEN, f"it answered {status}, but the response was incomplete", hints=hints)
        if len(data) > self._max_body:
            return AttemptOutcome(AttemptFault.TOO_LARGE, f"it answered {status} with more than {self._max_body} bytes", hints=hints)
        if not data and method != "GET" and _ends_by_itself(response):
            return AttemptOutcome(status, DONE, hints=hints)
        digest = sha256(data).hexdigest() if method == "GET" else ""
        try:
            return AttemptOutcome(status, DONE, data if digest in self.known else decode(data), hints, digest)
        except (ValueError, RecursionError):
            return AttemptOutcome(AttemptFault.UNREADABLE, f"it answered {status} with a body that is not JSON", hints=hints)


def printable(text: str) -> str:
    """`text` on one line, cut to 200 characters, with everything escaped that a terminal could interpret."""
    cut = text[: SAYS_MAX + 1]
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return escaped if len(escaped) <= SAYS_MAX else escaped[: SAYS_MAX - 1] + "…"


def _ends_by_itself(response: Received) -> bool:
    return "content-length" in response.headers or "transfer-encoding" in response.headers  # else an empty body may be a truncated one


async def _complaint(response: Received) -> str:
    """The message in the body of an answer outside 2xx, if it has one; everything else in it may be a secret."""
    status = response.status_code
    if 300 <= status <= 399:
        return f"it answered {status}, a redirect; redirects are never followed"
    prefix = f"it answered {status}"
    if response.headers.get("content-encoding", "").strip().lower() not in ENCODINGS:
        return prefix
    try:
        data = await response.read(ERROR_BODY_MAX)
    except (httpx.HTTPError, OSError):
        return prefix  # the status line is enough
    try:
        message = decode(data)["error"]["message"]
    except (ValueError, RecursionError, TypeError, KeyError, IndexError):
        return prefix
    return f"{prefix}: {message.strip()}" if isinstance(message, str) and message.strip() else prefix


def decode(data: bytes) -> Any:
    """The decoded answer. A run keeps thousands of answers: the names and short texts that they share are in memory once."""
    try:
        return from_json(data, allow_inf_nan=False, cache_strings="all")
    except ValueError:
        return _decode_leniently(data)


def _decode_leniently(data: bytes) -> Any:
    """The decoded answer where half a surrogate pair is all that is wrong with it: the texts that contain one are marked. Raises
    `ValueError`."""
    if _HALF.search(data) is None:
        raise ValueError("it is not JSON")
    return readable(json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=_refused))


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")
