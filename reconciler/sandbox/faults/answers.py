"""Answers as values: how one is collected, changed, sent, and cut: by closing the connection, or by an exception inside a process."""

from __future__ import annotations

import json
from asyncio import BaseTransport
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reconciler.sandbox.faults.rules import NotJson

PAGE = b"<!doctype html>\n<html><head><title>Service</title></head><body><h1>Something went wrong</h1></body></html>\n"
BODILESS = (204, 205, 304)


@dataclass(frozen=True)
class Answer:
    """One whole answer; its length is written when it is sent."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes = b""

    def with_headers(self, headers: Mapping[str, str]) -> Answer:
        return replace(self, headers=(*self.headers, *((name.lower().encode(), value.encode()) for name, value in headers.items())))

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def of_json(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, ((b"content-type", b"application/json"),), json.dumps(body).encode()).with_headers(headers or {})


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    return of_json(status, {"error": {"code": status, "message": message}}, headers)


def page(answer: Answer, rule: NotJson) -> Answer:
    """HTML where JSON was expected."""
    status = rule.status or (200 if answer.status in BODILESS else answer.status)
    return Answer(status, ((b"content-type", b"text/html; charset=utf-8"),), PAGE)


async def collect(app: ASGIApp, scope: Scope, body: bytes) -> Answer:
    """Ask the service, and keep its answer."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    start: Message = {"status": 500, "headers": []}
    parts: list[bytes] = []

    async def receive() -> Message:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    headers = tuple((name, value) for name, value in start["headers"] if name.lower() != b"content-length")
    return Answer(start["status"], headers, b"".join(parts))


async def deliver(answer: Answer, send: Send, *, until: int | None = None) -> None:
    """Send an answer; with `until` only so many bytes of its body, and it stays open."""
    length = [] if answer.status in (204, 304) else [(b"content-length", str(len(answer.body)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": [*answer.headers, *length]})
    await send({"type": "http.response.body", "body": answer.body[:until], "more_body": until is not None})


def transport(receive: Receive) -> BaseTransport | None:
    """The connection behind a request that came through the server, which binds `receive` to what it knows of the request."""
    closing: BaseTransport | None = getattr(getattr(receive, "__self__", None), "transport", None)
    return closing


async def cut(receive: Receive) -> None:
    """Send what was written, then close. Raises ConnectionAbortedError where there is no connection: the caller is in the same process."""
    closing = transport(receive)
    if closing is None:
        raise ConnectionAbortedError("the sandbox cut the connection")
    closing.close()
    while (await receive())["type"] != "http.disconnect":
        pass
