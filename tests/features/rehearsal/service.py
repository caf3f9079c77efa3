"""A living service over HTTP that counts writes, looks at itself after each, and refuses them after so many."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from reconciler.sandbox.app import create_app
from reconciler.sandbox.seed import seed
from reconciler.sandbox.sites.moment import AudienceMoment, moment
from reconciler.sandbox.store import Store
from tests.organizations import ORGANIZATION, SERVICE


@dataclass
class LivingService:
    """`writes`: those that were answered. `moments`: what readers saw before them, and after each. `limit`: how many are let through."""

    db: Path
    base: str = ""
    writes: list[str] = field(default_factory=list)
    moments: list[AudienceMoment] = field(default_factory=list)
    limit: int | None = None

    def begin(self, *, limit: int | None = None) -> None:
        """Serve the file as it is now."""
        self.app = create_app(self.db, base=self.base)
        self.limit, self.writes, self.moments = limit, [], []
        self.moments.append(self.look())

    def look(self) -> AudienceMoment:
        store = Store(self.db)
        try:
            return moment(store, self.base, [ORGANIZATION])
        finally:
            store.close()

    def keep(self, folder: Path) -> None:
        """Copy the file."""
        store = Store(self.db)
        store.connection.execute("pragma wal_checkpoint(truncate)")
        store.close()
        shutil.copy(self.db, folder)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] == "GET":
            await self.app(scope, receive, send)
        elif self.limit is not None and len(self.writes) >= self.limit:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"application/json")]})
            await send({"type": "http.response.body", "body": b'{"error": {"code": 403, "message": "no more"}}'})
        else:
            await self.app(scope, receive, send)
            self.writes.append(f"{scope['method']} {scope['path'].removeprefix('/v1')}")
            self.moments.append(self.look())


@contextmanager
def serving(db: Path, sort: type[LivingService] = LivingService) -> Iterator[LivingService]:
    """A service with what the tests' organizations need."""
    seed(db, SERVICE)
    service = sort(db)
    config = uvicorn.Config(service, port=0, lifespan="off", log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    service.base = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    service.begin()
    try:
        yield service
    finally:
        server.should_exit = True
        thread.join()
