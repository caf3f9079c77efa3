"""The interface to the network: a `Request` becomes a `Response`, or an error that says whether anything was sent.

The rest of the client decides by these three outcomes what may be sent again, so each has exactly one meaning:

    Response   an answer arrived, as far as its body is needed
    NeverSent    proven: no connection was opened for this request, so the service cannot have seen it
    Broken     anything else: the request may have been carried out

`wire` implements it on aiohttp; tests implement it on a sandbox in their own process. Forbidden: retries, redirects, cookies, logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from reconciler.errors import ReconcilerError

InTime = Callable[[], bool]
"""Whether a request may still be sent; called just before its first byte, because a process can be paused at any moment before."""


def always() -> bool:
    """For a request that may be sent at any time."""
    return True


@dataclass(frozen=True)
class Request:
    """One HTTP request. The repr contains neither the token nor the query nor the body."""

    method: str
    # Sent as it is: a library that normalizes it would turn `%2E%2E` into a step up to another object.
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    # Seconds for connecting, less than for the whole exchange: a host that never answers a connection is known not to have the request.
    connect_seconds: float
    # Bytes of a body that are of use. A longer one is read only until its size is evident.
    body_max: int
    in_time: InTime = always


@dataclass(frozen=True)
class Response:
    """One HTTP response. `headers`: looked up in lower case. `body`: as it was sent, so possibly compressed; see `Request.body_max`."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NeverSent(Exception):
    """No connection was opened for the request. The message says why, and is safe to print."""


class Broken(Exception):
    """The connection failed after the request may have been sent. The message says how, and is safe to print."""


class Transport(Protocol):
    """Sends each request exactly once."""

    async def send(self, request: Request) -> Response:
        """The response. Raises `NeverSent`, `Broken`, or `TooLate` if `in_time` did not allow it to be sent."""

    async def close(self) -> None:
        """Close all connections."""


class OnlyGet:
    """A transport that refuses anything but GET."""

    # `plan` and `drift` promise to change nothing. That is checked here, where every request passes, and not by those who send them.

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.close = inner.close

    async def send(self, request: Request) -> Response:
        """Pass a GET on; raise ReconcilerError for every other method: a defect of this program, stopped before anything is sent."""
        if request.method != "GET":
            raise ReconcilerError(f"a read-only client refused to send {request.method}", id="RC-read-only-client")
        return await self._inner.send(request)
