"""A service that refuses what the published schemas refuse, in front of the sandbox: real HTTP on a port of this machine.

`dressed`: it also answers as the real service may: deletes with 205 and no body, fields nobody has documented in every object, states
that came later than this program.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from reconciler.sandbox.app import create_app
from tests.strict.rules import refusals

START = 20.0  # seconds

STATES: dict[str, dict[str, Any]] = {
    "saml-provider": {"status": "rotating"},
    "openapi-spec": {"processingState": "indexing"},
    "site": {"status": "warming-up"},
    "space": {"visibility": "in-workspace"},
    "member": {"status": "sleeping"},
    "organization": {"type": "cooperative", "plan": "galaxy_2031"},
}
"""States that say nothing of what is managed."""

FREE = frozenset({"jsonSchema", "document", "pages", "error", "mergeRules"})
"""Whose keys are the user's own: `mergeRules` are taken as they are, since the service may have rules of any form."""


class Strict:
    """The application. `refused`: a line for each request that was refused; `sent`: the methods of those that were passed on."""

    def __init__(self, app: Any, *, dressed: bool = False) -> None:
        self.app, self.dressed = app, dressed
        self.refused: list[str] = []
        self.sent: list[tuple[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        content = await _content(receive)
        wrong = self._wrong(method, path, content)
        if wrong:
            self.refused.append(f"{method} {path} {content.decode()}: {'; '.join(wrong)}")
            await _answer(send, 400, {"error": {"code": 400, "message": "; ".join(wrong)}})
            return
        self.sent.append((method, path))
        if not self.dressed:
            await self.app(scope, _replay(content), send)
            return
        start: dict[str, Any] = {}
        parts: list[bytes] = []

        async def kept(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await self.app(scope, _replay(content), kept)
        await _pass_on(send, method, start, b"".join(parts))

    @staticmethod
    def _wrong(method: str, path: str, content: bytes) -> list[str]:
        if method == "GET":
            return []
        try:
            body = json.loads(content) if content else None
        except ValueError:
            return ["the body is not JSON"]
        return refusals(method, path.removeprefix("/v1"), body)


async def _content(receive: Any) -> bytes:
    content, more = b"", True
    while more:
        message = await receive()
        content, more = content + message.get("body", b""), message.get("more_body", False)
    return content


def _replay(content: bytes) -> Any:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    return receive


async def _answer(send: Any, status: int, body: Any) -> None:
    content = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _pass_on(send: Any, method: str, start: Mapping[str, Any], content: bytes) -> None:
    """The answer, dressed up."""
    status, headers = start["status"], [(name, value) for name, value in start["headers"] if name != b"content-length"]
    if method == "DELETE" and status == 204:
        status = 205
    is_json = any(name == b"content-type" and value.startswith(b"application/json") for name, value in headers)
    if content and is_json and status < 300:
        content = json.dumps(dressed(json.loads(content))).encode()
    headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def dressed(part: Any) -> Any:
    """An answer with more in it than any document says."""
    if isinstance(part, list):
        return [dressed(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    found = {name: value if name in FREE else dressed(value) for name, value in part.items()}
    if "items" in found and "object" not in found:
        found.pop("count", None)
    return {**found, **STATES.get(str(part.get("object")), {}), "xLater": {"since": 2031, "names": ["a", "b"]}, "xNothing": None}


@contextmanager
def strict(db: Path, *, dressed: bool = False) -> Iterator[tuple[str, Strict]]:
    """The proxy before a sandbox's file that was seeded: its address, and what it has seen."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    inner = create_app(db, base=base)
    proxy = Strict(inner, dressed=dressed)
    server = uvicorn.Server(uvicorn.Config(proxy, lifespan="off", log_level="warning", access_log=False, timeout_graceful_shutdown=1))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until = time.monotonic() + START
    while not server.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.002)
    try:
        assert server.started
        yield base, proxy
    finally:
        server.should_exit = server.force_exit = True
        thread.join(timeout=5)
        inner.state.service.store.close()
        listener.close()
