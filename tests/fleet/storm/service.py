"""A sandbox as a process that writes down every request: when it came, what was asked, and what was answered.

    python -m tests.fleet.storm.service FOLDER [PORT]

serves `FOLDER/sandbox.db`, appends a line to `FOLDER/requests.jsonl` for each request, and prints its URL. The log is ours: nothing of the
fleet writes or reads it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import uvicorn

from reconciler.sandbox.app import create_app

Message = dict[str, Any]
CONTROL = "tok_control_0123456789"  # of the faults


@dataclass(frozen=True)
class Request:
    """`status`: None where the answer was cut off. `left`: of the limit, as the answer said."""

    at: float
    method: str
    path: str
    token: str
    body: Any
    status: int | None
    left: int | None


class Logged:
    """An application that writes each request of the API and its answer into a file."""

    def __init__(self, app: Any, log: IO[str]) -> None:
        self.app, self.log = app, log

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"].startswith("/_sandbox"):
            await self.app(scope, receive, send)
            return
        at, headers, body, answer = time.time(), dict(scope["headers"]), b"", dict[str, Any](status=None, left=None)

        async def receiving() -> Message:
            nonlocal body
            message: Message = await receive()
            body += message.get("body", b"")
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                left = dict(message["headers"]).get(b"x-ratelimit-remaining")
                answer.update(status=message["status"], left=int(left) if left is not None else None)
            await send(message)

        try:
            await self.app(scope, receiving, sending)
        finally:
            token = headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
            line = {"at": at, "method": scope["method"], "path": scope["path"], "token": token, "body": body.decode("utf-8", "replace")}
            self.log.write(json.dumps(line | answer) + "\n")
            self.log.flush()


def requests(folder: Path) -> Iterator[Request]:
    """What a service was asked so far."""
    for line in (folder / "requests.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["method"] == "GET":
            entry["body"] = None
        else:
            with suppress(ValueError):
                entry["body"] = json.loads(entry["body"] or "null")
        yield Request(**entry)


def main(folder: Path, port: int) -> None:
    app = create_app(folder / "sandbox.db")
    app.state.service.control = CONTROL
    config = uvicorn.Config(
        Logged(app, (folder / "requests.jsonl").open("a")),
        host="127.0.0.1",
        port=port,
        lifespan="off",
        log_level="warning",
        access_log=False,
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        running = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", flush=True)
        await running

    asyncio.run(serve())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
