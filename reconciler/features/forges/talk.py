"""HTTP with a forge: a read is repeated until there is an answer, a write is sent once.

In: a method, a path and data. Out: a reply, or an error whose message is safe to print. The token is sent to the host of the API only:
redirects are not followed, and URLs in answers only on that host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from reconciler import __version__
from reconciler.certificates import tls_context
from reconciler.errors import UsageError
from reconciler.features.forges.port import BlockingClock, ForgeError, NotAllowed, TryAgain
from reconciler.text.escape import terminal
from reconciler.text.redact import Mask

ATTEMPTS: Final = 6
SECONDS: Final = 15.0  # for each step of a request: connecting, sending, the next bytes
WHOLE_SECONDS: Final = 60.0  # for a whole answer
PATIENCE: Final = 300.0  # seconds of waiting for limits and errors, all requests together
WITHOUT_HEADERS: Final = 60.0  # seconds until the next request after a limit of unknown duration, as GitHub's documentation requires
BODY_MAX: Final = 128 * 2**20  # bytes of an answer
SAYS_MAX: Final = 200  # characters of the forge's message in ours
OK: Final = frozenset({200, 201, 204})


@dataclass(frozen=True)
class Reply:
    """An answer. `data`: from its JSON, None if it has none. `headers`: names in lower case. `content`: as it was sent."""

    status: int
    data: Any
    headers: Mapping[str, str]
    content: bytes = b""

    @property
    def at(self) -> float | None:
        """The time of the answer by the forge's clock; None if unknown."""
        return _epoch(self.headers.get("date"))

    def age(self, created: str | None) -> float:
        """Seconds since something was created, by the forge's clock on both sides; 0 if unknown."""
        return 0.0 if not created or self.at is None else self.at - datetime.fromisoformat(created).timestamp()


class Talk:
    """Requests to one forge. `name`: in messages."""

    def __init__(self, name: str, base: str, headers: Mapping[str, str], *, token: str, clock: BlockingClock) -> None:
        self.name, self._base, self._clock, self._waited = name, base.rstrip("/"), clock, 0.0
        self._mask = Mask({token, *token.split(":")})
        common = {"User-Agent": f"reconciler/{__version__}", "Accept": "application/json"}
        try:
            # Unencrypted only on the loopback interface, see `job.checked_api`; reading certificates takes 30 ms.
            verify = False if self._base.startswith("http://") else tls_context()
            self._http = httpx2.Client(headers={**common, **headers}, timeout=SECONDS, follow_redirects=False, verify=verify)
        except (UsageError, ValueError, httpx2.InvalidURL) as error:  # a variable of certificates, or of proxies
            hint = "Correct or unset SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY and ALL_PROXY."
            raise ForgeError(f"{name} cannot be reached: {self.says(str(error))}", id="RC-certificates", hint=hint) from None

    def read(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, data: Any = None, accepted: frozenset[int] = OK
    ) -> Reply:
        """The answer to a request that changes nothing. `path`: also a whole URL of the same API."""
        trouble = ""
        for attempt in range(ATTEMPTS):
            reply, limit, trouble = self._attempt(method, path, query, data, "cannot be reached")
            if reply is not None:
                return self._judged(reply, accepted)
            if attempt < ATTEMPTS - 1:
                # Spread, because the jobs of one push meet the same trouble at the same time.
                self._wait(min(8.0, 2.0**attempt) * (0.5 + self._clock.chance()) if limit is None else limit, trouble)
        raise ForgeError(trouble, id="RC-forge-failing")

    def write(
        self, method: str, path: str, *, data: Any = None, form: Mapping[str, str] | None = None, accepted: frozenset[int] = OK
    ) -> Reply:
        """The answer to a request that is sent once. `form`: its body as a form instead of JSON.

        Raises `TryAgain` if it was not carried out, or if that is unknown.
        """
        reply, limit, trouble = self._attempt(method, path, None, data, "did not answer", form)
        if reply is not None:
            return self._judged(reply, accepted)
        # Not sent again here: it may have been carried out, and a second comment would stay. The caller reads first, then decides.
        self._wait(0.5 + self._clock.chance() if limit is None else limit, trouble)
        raise TryAgain(trouble, id="RC-forge-failing")

    def _attempt(
        self, method: str, path: str, query: Mapping[str, str] | None, data: Any, failure: str, form: Mapping[str, str] | None = None
    ) -> tuple[Reply | None, float | None, str]:
        """The reply; or seconds until a limit ends, if one is reported, and what is wrong."""
        try:
            reply = self._send(method, path, query, data, form)
        except (httpx2.HTTPError, OSError) as error:
            return None, None, f"{self.name} {failure}: {self.says(str(error) or type(error).__name__)}"
        limit = self._limit(reply)
        if limit is None and reply.status < 500 and reply.status != 408:
            return reply, None, ""
        return None, limit, self._refusal(reply)

    def _send(self, method: str, path: str, query: Mapping[str, str] | None, data: Any, form: Mapping[str, str] | None) -> Reply:
        url = path if "://" in path else self._base + path
        # Bitbucket's next page is a URL in the body of an answer. On another host it would receive the token.
        if urlsplit(url)[:2] != urlsplit(self._base)[:2]:
            raise ForgeError(f"{self.name} answered with the URL of another host, which is not followed", id="RC-forge-redirect")
        ends = self._clock.monotonic() + WHOLE_SECONDS
        content = bytearray()
        with self._http.stream(method, url, params=query, json=data, data=form) as response:
            # The library's limits are for each step; a body that trickles in passes all of them.
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > BODY_MAX or self._clock.monotonic() > ends:
                    raise httpx2.ReadError("the answer is too long")
            headers = {name.lower(): value for name, value in response.headers.items()}
            try:
                decoded = json.loads(content) if content else None
            except (ValueError, RecursionError):
                decoded = None
            return Reply(response.status_code, decoded, headers, bytes(content))

    def _judged(self, reply: Reply, accepted: frozenset[int]) -> Reply:
        if reply.status in accepted:
            return reply
        if 300 <= reply.status <= 399:
            raise ForgeError(f"{self.name} answered {reply.status}, a redirect; redirects are never followed", id="RC-forge-redirect")
        if reply.status == 401:
            raise ForgeError(self._refusal(reply), id="RC-forge-token", hint="The token is wrong or has expired.")
        if reply.status == 403:
            raise NotAllowed(self._refusal(reply), id="RC-forge-not-permitted")
        missing = "The repository or the pull request does not exist, or the token is not allowed to read it."
        raise ForgeError(
            self._refusal(reply),
            id="RC-forge-not-found" if reply.status == 404 else "RC-forge-refused",
            hint=missing if reply.status == 404 else None,
        )

    def _refusal(self, reply: Reply) -> str:
        says = self.says(message(reply.data))
        return f"{self.name} answered {reply.status}" + (f": {says}" if says else "")

    def says(self, text: str) -> str:
        """A message of the forge, made safe to print."""
        shown = terminal(self._mask.text(text))
        return shown if len(shown) <= SAYS_MAX else f"{shown[: SAYS_MAX - 1]}…"

    # -- waiting -----------------------------------------------------------------------------------------------------------------------

    def _limit(self, reply: Reply) -> float | None:
        """Seconds until the limit of an answer ends; None if it reports no limit."""
        spent = reply.headers.get("x-ratelimit-remaining") == "0"
        says = message(reply.data).lower()
        after = reply.headers.get("retry-after")
        limited = reply.status == 429 or (reply.status == 403 and (spent or after is not None or "rate limit" in says))
        # GraphQL answers 200 where it refuses: the limit is an error inside the body.
        errors = reply.data.get("errors") if isinstance(reply.data, dict) else None
        graphql = isinstance(errors, list) and any(isinstance(error, dict) and error.get("type") == "RATE_LIMITED" for error in errors)
        if not limited and not graphql:
            return None
        # Times in headers are by the forge's clock; the machine of a CI job may be minutes off.
        now = reply.at or self._clock.wall()
        if after is not None:
            moment = float(after) + now if after.isascii() and after.isdecimal() else _epoch(after)
        else:
            reset = reply.headers.get("x-ratelimit-reset") if spent else reply.headers.get("ratelimit-reset")
            moment = float(reset) if reset and reset.isascii() and reset.isdecimal() else None
        return WITHOUT_HEADERS if moment is None else max(0.0, moment - now) + self._clock.chance()

    def _wait(self, seconds: float, trouble: str) -> None:
        """Wait, within the time that a run may wait."""
        # All waits of a job together: a limit of an hour must fail the job now, and not use up its minutes.
        if self._waited + seconds > PATIENCE:
            until = datetime.fromtimestamp(self._clock.wall() + min(seconds, 10.0**9), UTC)
            raise ForgeError(trouble, id="RC-forge-failing", hint=f"Try again after {until:%H:%M} UTC.")
        self._waited += seconds
        self._clock.sleep(seconds)


def message(data: Any) -> str:
    """The message of an answer."""
    if not isinstance(data, dict):
        return ""
    inner = data.get("error")
    own = data.get("message") or (inner.get("message") if isinstance(inner, dict) else inner)
    details = data.get("errors")
    more = [str(item["message"]) for item in details if isinstance(item, dict) and "message" in item] if isinstance(details, list) else []
    text = own if isinstance(own, str) else json.dumps(own) if own else ""
    return ": ".join(filter(None, [text, *more[:2]]))


def _epoch(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
