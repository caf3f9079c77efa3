"""Cutting a connection: closing it over HTTP, an exception of its own inside a process."""

from __future__ import annotations

from asyncio import BaseTransport

from starlette.types import Receive


class ConnectionCut(ConnectionError):
    """The sandbox cut the connection; raised to whoever calls the service inside the same process."""


def transport(receive: Receive) -> BaseTransport | None:
    """The connection behind a request that came through the server, which binds `receive` to what it knows of the request."""
    closing: BaseTransport | None = getattr(getattr(receive, "__self__", None), "transport", None)
    return closing


async def cut(receive: Receive) -> None:
    """Send what was written, then close. Raises `ConnectionCut` where there is no connection."""
    closing = transport(receive)
    if closing is None:
        raise ConnectionCut("the sandbox cut the connection")
    closing.close()
    while (await receive())["type"] != "http.disconnect":
        pass
