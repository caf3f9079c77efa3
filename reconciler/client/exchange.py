"""One request and its answer, within one deadline; every result becomes an `AttemptOutcome`.

In: a method, a URL and a body. Out: an `AttemptOutcome`; no network error leaves this module, because those contain the token.
Forbidden: sending twice, following a redirect, waiting for anything but the network.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic_core import from_json

from reconciler import __version__
from reconciler.client.quota import Hints, read_hints
from reconciler.client.retry import AttemptFault, Result
from reconciler.client.settings import ClientSettings
from reconciler.client.transport import Broken, InTime, NeverSent, Request, Response, Transport
from reconciler.text.redact import Mask
from reconciler.text.unreadable import readable

SAYS_MAX: Final = 200  # characters of the service's message in ours
ERROR_SIZE_MAX: Final = 64 * 1024  # bytes of an error's body, decompressed
DONE: Final = "done"
BODILESS: Final = frozenset({204, 205})
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")  # a surrogate, escaped or as bytes
PLAIN: Final = frozenset({"", "identity"})
PACKED: Final = frozenset({"gzip", "deflate"})  # one of them only: gzip in gzip is a bomb
ANY_HEADER: Final = zlib.MAX_WBITS | 32  # of gzip or zlib
NO_HEADER: Final = -zlib.MAX_WBITS


@dataclass(frozen=True)
class AttemptOutcome:
    """The result of one attempt. `says`: a description that is safe to print, without the token and other secrets.

    `held_by`: the id of what keeps this attempt and all others from being sent; "" if it was sent, or may be sent again.
    """

    result: Result
    says: str
    body: Any = None
    hints: Hints = Hints()  # noqa: RUF009  has no state
    held_by: str = ""

    @property
    def status(self) -> int | None:
        """The HTTP status; None if there was no answer."""
        return self.result if isinstance(self.result, int) else None


class Exchange:
    """Sends each request through a transport exactly once."""

    def __init__(self, settings: ClientSettings, transport: Transport) -> None:
        self._mask = Mask({settings.token, *settings.secrets})
        self._max_body = settings.max_body
        self._transport = transport
        self._headers = {
            "Authorization": f"Bearer {settings.token}",
            "User-Agent": f"reconciler/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
        }
        self._headers_of_json = {**self._headers, "Content-Type": "application/json"}

    async def run(self, method: str, url: str, content: bytes | None, *, seconds: float, wall: float, in_time: InTime) -> AttemptOutcome:
        """Send, and read the answer to its end, in at most `seconds`; `wall`: local UTC epoch seconds. Raises `TooLate`."""
        # One limit for everything, because a server that sends a byte now and then passes every limit of its parts.
        try:
            async with asyncio.timeout(seconds):
                outcome = await self._send(method, url, content, seconds, wall, in_time)
        except TimeoutError:
            outcome = AttemptOutcome(AttemptFault.BROKEN, f"no complete response arrived within {seconds:g} s")
        return outcome if outcome.says is DONE else replace(outcome, says=printable(self._mask.text(outcome.says)))

    async def _send(self, method: str, url: str, content: bytes | None, seconds: float, wall: float, in_time: InTime) -> AttemptOutcome:
        headers = self._headers if content is None else self._headers_of_json
        try:
            response = await self._transport.send(Request(method, url, headers, content, seconds / 2, self._max_body, in_time))
        except NeverSent as error:
            return AttemptOutcome(AttemptFault.NOT_SENT, f"the service cannot be reached: {error}")
        except Broken as error:
            return AttemptOutcome(AttemptFault.BROKEN, str(error))
        hints = read_hints(response.headers, wall)
        if not 200 <= response.status <= 299:
            return AttemptOutcome(response.status, _complaint(response), hints=hints)
        return self._read(response, method, hints)

    def _read(self, response: Response, method: str, hints: Hints) -> AttemptOutcome:
        """The outcome of a 2xx. From here on the request was carried out; what cannot be read is not a failure of it."""
        status = response.status
        if status in BODILESS or method == "DELETE":  # a reading shows what a delete did, whatever its answer says
            return AttemptOutcome(status, DONE, hints=hints)
        if _encoding(response) not in PLAIN | PACKED:
            return AttemptOutcome(AttemptFault.UNREADABLE, f"it answered {status} with an unexpected encoding", hints=hints)
        try:
            data = _unpacked(response, self._max_body)
        except zlib.error:
            return AttemptOutcome(AttemptFault.UNREADABLE, f"it answered {status} with a body that cannot be decompressed", hints=hints)
        if len(data) > self._max_body:
            return AttemptOutcome(AttemptFault.TOO_LARGE, f"it answered {status} with more than {self._max_body} bytes", hints=hints)
        # An empty body is an answer only if the service says that it is empty: without a length, it may be one that was cut off.
        if not data and method != "GET" and ("content-length" in response.headers or "transfer-encoding" in response.headers):
            return AttemptOutcome(status, DONE, hints=hints)
        try:
            return AttemptOutcome(status, DONE, decode(data), hints)
        except (ValueError, RecursionError):
            return AttemptOutcome(AttemptFault.UNREADABLE, f"it answered {status} with a body that is not JSON", hints=hints)


def _encoding(response: Response) -> str:
    return response.headers.get("content-encoding", "").strip().lower()


def _unpacked(response: Response, size_max: int) -> bytes:
    """The body, decompressed up to one byte more than `size_max`, so that a bomb never unfolds. Raises `zlib.error`."""
    if _encoding(response) in PLAIN or not response.body:
        return response.body
    try:
        return zlib.decompressobj(ANY_HEADER).decompress(response.body, size_max + 1)
    except zlib.error:
        if _encoding(response) != "deflate":
            raise
    # Some servers send "deflate" without the header of zlib that RFC 9110 requires, and browsers accept it.
    return zlib.decompressobj(NO_HEADER).decompress(response.body, size_max + 1)


def printable(text: str) -> str:
    """`text` on one line, cut to 200 characters, with everything escaped that a terminal could interpret."""
    # Cut first: escaping a message of megabytes takes longer than the request.
    cut = text[: SAYS_MAX + 1]
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return escaped if len(escaped) <= SAYS_MAX else escaped[: SAYS_MAX - 1] + "…"


def _complaint(response: Response) -> str:
    """The message in the body of an answer outside 2xx, if it has one; everything else in it may be a secret."""
    status = response.status
    if 300 <= status <= 399:
        return f"it answered {status}, a redirect; redirects are never followed"
    prefix = f"it answered {status}"
    try:
        message = decode(_unpacked(response, ERROR_SIZE_MAX))["error"]["message"]
    except (zlib.error, ValueError, RecursionError, TypeError, KeyError, IndexError):
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
    # Titles with half an emoji exist, cut off by somebody else's program. One of them must not make a whole organization unreadable.
    if _HALF.search(data) is None:
        raise ValueError("it is not JSON")
    return readable(json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=_refused))


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")
