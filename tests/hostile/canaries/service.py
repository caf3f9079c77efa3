"""A service that is full of secrets, and fails in the ways that could spill them."""

from __future__ import annotations

import json
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn

from reconciler.sandbox.app import create_app
from reconciler.sandbox.seed import seed
from tests.harness import SEED
from tests.hostile.canaries.birds import CANARIES

SECRET_FIELDS = {
    "shareKey": CANARIES["answer"],
    "serviceVisitorClaims": {"token": CANARIES["answer"]},
    "secrets": {"client_secret": CANARIES["answer"]},
    "integration": {"externalId": "x", "secrets": {"key": CANARIES["answer"]}},
}
FAILURES = ("401", "403", "500", "echo", "text", "redirect", "cut", "garbage")


@dataclass
class Spilling:
    """The sandbox; every object in its answers has secrets beside what was asked for. `mode`: how it fails, "" where it does not.

    `writes_only`: readings go well. `on_write`: called before a request that writes is passed on.
    """

    db: Path
    mode: str = ""
    writes_only: bool = False
    on_write: Callable[[int], None] | None = None
    writes: int = 0
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        seed(self.db, {**SEED, "tokens": [{"token": CANARIES["token"], "member": "usr_ada", "access": "write"}]})
        self.app = create_app(self.db)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.asked.append(f"{scope['method']} {scope['path']}")
        if scope["method"] != "GET":
            self.writes += 1
            if self.on_write is not None:
                self.on_write(self.writes)
        if self.mode and (scope["method"] != "GET" or not self.writes_only):
            await self._fail(scope, body, send)
            return
        status, headers, answer = await self._answer(scope, body)
        await _reply(send, status, answer, headers)

    async def _answer(self, scope: Any, body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        got: dict[str, Any] = {"body": b""}

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                got.update(message)
            else:
                got["body"] += message.get("body", b"")

        await self.app(scope, receive, send)
        try:
            answer = json.dumps(_laden(json.loads(got["body"]))).encode()
        except ValueError:
            answer = got["body"]
        headers = [(name, value) for name, value in got["headers"] if name.lower() != b"content-length"]
        return got["status"], headers, answer

    async def _fail(self, scope: Any, body: bytes, send: Any) -> None:
        authorization = dict(scope["headers"]).get(b"authorization", b"").decode()
        token = CANARIES["token"]
        encoded = f"{b64encode(token.encode()).decode()} {quote(token, safe='')} {token.swapcase()}"
        message = f"no: {authorization} {encoded} {body.decode('utf-8', 'replace')}"
        document = {"error": {"code": 400, "message": message}, "shareKey": CANARIES["answer"], "request": CANARIES["answer"]}
        match self.mode:
            case "401" | "403" | "500":
                await _reply(send, int(self.mode), json.dumps(document).encode())
            case "echo":
                sent = json.loads(body) if body else {}
                document["error"] = {"code": 400, "message": f"{sent.get('certificate', token)!s} is wrong; {token!r}"}
                await _reply(send, 400, json.dumps(document).encode())
            case "text":
                await _reply(send, 502, f"upstream {authorization} {CANARIES['answer']}".encode(), [(b"content-type", b"text/plain")])
            case "redirect":
                await _reply(send, 302, b"", [(b"location", f"https://evil.example/?key={CANARIES['redirect']}".encode())])
            case "garbage":
                await _reply(send, 200, f'{{"secret": "{CANARIES["answer"]}", {token}'.encode())
            case _:
                cut = json.dumps(document).encode()
                await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(cut) + 9).encode())]})
                await send({"type": "http.response.body", "body": cut, "more_body": False})


def _laden(value: Any) -> Any:
    if isinstance(value, dict):
        beside = SECRET_FIELDS if "object" in value or "items" in value else {}  # a value of free form is taken as it is
        return {**beside, **{key: _laden(part) for key, part in value.items()}}
    return [_laden(part) for part in value] if isinstance(value, list) else value


async def _reply(send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": [*(headers or []), (b"content-length", str(len(body)).encode())]}
    )
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(app: Spilling) -> Iterator[str]:
    """The address of the service, over real HTTP."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        config = uvicorn.Config(app, lifespan="off", log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join(5)
            app.app.state.service.store.close()
