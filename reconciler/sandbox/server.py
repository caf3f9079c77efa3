"""Running the service: for good on a port (`serve`), or inside another process for as long as it is needed (`embedded`)."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from reconciler.sandbox.app import create_app
from reconciler.sandbox.door import Door, refuse, refuse_browser
from reconciler.sandbox.entrance import Entrance
from reconciler.sandbox.seed import plant

START = 20.0  # seconds an embedded service may take to answer
GRACE = 0.1  # seconds that an embedded service that ends gives to requests it is answering


@dataclass(frozen=True)
class Embedded:
    """A service inside this process. `token`: the secret of the process, without which it answers nothing. `created`: its file was made
    just now."""

    base_url: str
    token: str
    identity: str
    created: bool


def _listen(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named: without it every write waits 40 ms for an acknowledgement
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _config(door: Door, *, log_level: str = "error") -> uvicorn.Config:
    """Whatever listens is behind a door. Nothing that a stranger sends is a warning in somebody's terminal."""
    return uvicorn.Config(
        door,
        lifespan="off",
        ws="none",
        log_level=log_level,
        access_log=False,
        date_header=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )


def serve(db: Path, *, port: int, token: str | None, say: Callable[[str], None]) -> None:
    """Serve a file on 127.0.0.1 until interrupted. Port 0 is any free one. `say` gets the URL when requests are taken, then the link for a
    browser, and the next link whenever one was used.

    Raises `NotASandbox` for a file that is something else, `OSError` for a port that is taken.
    """
    listener = _listen(port)
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    app = create_app(db, base=base)
    service = app.state.service
    seeded = service.store.connection.execute("select count(*) from tokens").fetchone()[0]
    line = f"listening on {base}"
    if token is None and not seeded:
        token = secrets.token_urlsafe(24)
        line += f" with token {token}"
    service.control = token
    entrance = Entrance(app, base, refuse=refuse_browser, opened=lambda: say(f"opened in a browser; to open it elsewhere: {entrance.link}"))
    server = uvicorn.Server(_config(Door(app, service.knows, otherwise=entrance)))

    def announce() -> None:
        say(line)
        say(f"in a browser: {entrance.link}")

    watcher = threading.Thread(target=_announce, args=(server, announce), daemon=True)
    watcher.start()
    try:
        server.run(sockets=[listener])
    finally:
        service.store.close()
        listener.close()


class _Embedded(uvicorn.Server):
    """A server that ends at once when it is asked to, not at the next tenth of a second, and waits only for requests that it is
    answering."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """From any thread."""
        self.should_exit = self.force_exit = True
        if self._loop is not None:
            # the loop may have ended by itself, and then there is nothing to wake
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ending.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        if not await self.on_tick(0):
            await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=GRACE)


def _announce(server: uvicorn.Server, say: Callable[[], None]) -> None:
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.005)
    say()


@contextmanager
def embedded(db: Path, *, seed: Mapping[str, Any] | None = None, new_id: Callable[[str], str] | None = None) -> Iterator[Embedded]:
    """The service over a file, on a free loopback port, over real HTTP; `seed` is planted into a new file only. `new_id`: ids of new
    objects, from their prefix.

    Raises `NotASandbox` and `SeedError`; a file that could not be seeded is taken away again.
    """
    token = secrets.token_urlsafe(24)
    listener = _listen(0)
    try:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = create_app(db, control_token=token, base=base, new_id=new_id)
    except BaseException:
        listener.close()
        raise
    store = app.state.service.store
    try:
        # of several processes that open a new file at once, exactly one plants the seed
        with store.write():
            created = store.meta("seeded") is None and store.count_all() == 0
            if created and seed is not None:
                plant(store, seed)
                store.set_meta("seeded", store.stamp())
    except BaseException:
        store.discard()
        listener.close()
        raise
    # what cannot be answered, as with a file that somebody else wrote, is an answer 500, and no page of code in somebody's terminal
    server = _Embedded(_config(Door(app, app.state.service.is_control, otherwise=refuse), log_level="critical"))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]  # the process's signals belong to whoever embeds us
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True, name="sandbox")
    thread.start()
    until = time.monotonic() + START
    while not server.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.002)
    try:
        if not server.started:
            raise RuntimeError("the embedded sandbox did not start")
        yield Embedded(base, token, store.identity, created)
    finally:
        server.end()
        thread.join(timeout=5)
        store.close()
        listener.close()
