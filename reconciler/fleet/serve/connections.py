"""Limits of the connections of the dashboard, before anything of a request is read.

A connection *waits* while its client has not sent the head of a request: after it opened, and after each response. Whoever opens
connections and sends nothing would keep everybody else out, so the connections that wait longest are closed first.

    opened ── waits, at most WAIT_SECONDS ── request ── response ── waits …
                                                           └ not read for STALL_SECONDS: closed

A client is an address. Behind a proxy all people have the same one, so only connections that wait are counted by client: never a request
that is answered, nor a page that follows changes. The time and the size of a body are limited in `guard`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

CONNECTIONS_MAX: Final = 800  # of a process; systems allow 1,024 open files
WAITING_MAX: Final = 100  # of a client
WAIT_SECONDS: Final = 20.0
STALL_SECONDS: Final = 30.0
BACKLOG: Final = 128  # connections that are accepted at once, each of which is an open file before it is counted


class ClientConnection(H11Protocol):
    """A connection within the limits."""

    _timer: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    since = 0.0
    """When it began to wait."""

    @property
    def waits(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None until the first request, whatever its declaration says
        return not self.transport.is_closing() and (cycle is None or cycle.response_complete)

    @property
    def address(self) -> str:
        return self.client[0] if self.client is not None else ""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        others = [other for other in self.connections if isinstance(other, ClientConnection) and other is not self]
        waiting = [other for other in others if other.waits]
        mine = [other for other in waiting if other.address == self.address]
        if len(mine) >= WAITING_MAX:
            _oldest(mine).drop()
        elif len(others) >= CONNECTIONS_MAX:
            # with every place taken by answers in progress there is nobody to send away but the newcomer
            _crowding(waiting).drop() if waiting else self.drop()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is not None and not self.waits:
            self._timer.cancel()
            self._timer = None

    def on_response_complete(self) -> None:
        # a request that is refused by its head leaves its body unread here, where it would stay until the connection ends
        self.cycle.body = bytearray()
        # the base class begins the next request, which may have arrived already, so the waiting must be noted before
        self._wait()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        # a client that reads nothing keeps its whole response in our memory
        self._stall = self.loop.call_later(STALL_SECONDS, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._stall):
            if timer is not None:
                timer.cancel()
        self._timer = self._stall = None
        super().connection_lost(exc)

    def drop(self) -> None:
        """End the connection now, whatever its client has not read."""
        # the transport tells us only in the next turn of the loop, and until then this connection would count against others
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.since = self.loop.time()
        self._timer = self.loop.call_later(WAIT_SECONDS, self._waited)

    def _waited(self) -> None:
        if self.waits:
            self.drop()


def _oldest(waiting: list[ClientConnection]) -> ClientConnection:
    return min(waiting, key=lambda connection: connection.since)


def _crowding(waiting: list[ClientConnection]) -> ClientConnection:
    """The connection that waits longest, of the client with the most of them."""
    counts = Counter(connection.address for connection in waiting)
    most = max(counts.values())
    return _oldest([connection for connection in waiting if counts[connection.address] == most])
