"""A state on a server that is lost during an apply: nothing more is sent, and the next run makes nothing twice."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from reconciler.errors import StateError
from reconciler.state import Scope, Store
from tests.engine.small import settled, small
from tests.harness import Org
from tests.state.test_lease import expire


@dataclass
class Wire:
    """Passes bytes between the program and the server, until it is cut."""

    target: tuple[str, int]
    sockets: list[socket.socket] = field(default_factory=list)
    cut: bool = False

    def __post_init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                if self.cut:
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                self.sockets += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)

    def lose(self) -> None:
        self.cut = True
        for one in self.sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire(url: str) -> Iterator[tuple[Wire, str]]:
    parts = urlsplit(url)
    found = Wire((str(parts.hostname), int(parts.port or 0)))
    with closing(found.server):
        yield found, url.replace(f":{parts.port}/", f":{found.port}/")
        found.lose()


class OnServer(Org):
    """The same with its state on a server."""

    url = ""
    service = ""

    def store(self) -> Store:
        return Store.open(self.url, Scope("test", None, self.service), clock=lambda: datetime.now(UTC), create=True)


@pytest.mark.parametrize("after", [1, 4, 9, 15])
def test_a_lost_connection_stops_writing_before_the_next_request(tmp_path: Path, postgres_url: str, after: int) -> None:
    org = OnServer(tmp_path)
    org.service = f"sandbox:{uuid4()}"
    org.write(small())
    with wire(postgres_url) as (line, url):
        org.url = url
        sent: list[str] = []
        passed = org.client

        def client(*words: object, **named: object) -> object:
            made = passed(*words, **named)  # type: ignore[arg-type]
            inner = made.send

            async def send(method: str, path: str, *rest: object, **options: object) -> object:
                sent.append(path)  # its intent is written
                if len(sent) == after:
                    line.lose()
                return await inner(method, path, *rest, **options)

            made.send = send
            return made

        org.client = client  # type: ignore[method-assign,assignment]
        with pytest.raises(StateError, match="cannot be reached"):
            org.apply()
        org.client = passed  # type: ignore[method-assign]
    assert len(sent) == after
    assert len([method for method, _ in org.requests if method != "GET"]) <= after
    org.url = postgres_url
    expire(postgres_url)  # 90 seconds later
    org.apply()
    settled(org)
    titles = [one["space"]["title"] for one in org.items("/orgs/org_acme/members/usr_ada/spaces")]
    assert len(titles) == len(set(titles))
