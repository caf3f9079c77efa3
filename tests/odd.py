"""A service that does with texts what services do: it trims, normalizes, cuts, numbers or refuses them, or loses answers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.harness import Org
from tests.transports import Onward, between

Alter = Callable[[Any], Any]
"""From a body that is sent to the one that the service takes."""


def trimmed(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def texts(change: Callable[[str], str]) -> Alter:
    """Changes each text at the top of a body."""
    return lambda body: {key: change(value) if isinstance(value, str) else value for key, value in body.items()}


def titles(change: Callable[[str], str], *names: str) -> Alter:
    """Changes the title or the name in a body."""
    return lambda body: {key: change(value) if key in ("title", "name") and value else value for key, value in body.items()}


@dataclass
class OddOrg(Org):
    """A project against a service that treats texts in its own way.

    `alter`: what it makes of a body; `refuse`: the status with which it refuses one; `lose`: whether it loses an answer; `answer`: the
    bytes that it sends. `bodies`: what was sent.
    """

    alter: Alter = lambda body: body
    refuse: Callable[[str, str, Any], int | None] = lambda method, path, body: None
    lose: Callable[[str, str], bool] = lambda method, path: False
    answer: Callable[[str, bytes], bytes] = lambda path, data: data
    bodies: list[tuple[str, str, Any]] = field(default_factory=list)

    def transport(self) -> httpx2.AsyncBaseTransport:
        return between(super().transport(), self._odd)

    async def _odd(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        """Passes a request on, changed, and answers as the service that a test plays."""
        body = json.loads(request.content) if request.content else None
        path = request.url.path.removeprefix("/v1")
        if request.method != "GET" and isinstance(body, dict):
            self.bodies.append((request.method, path, body))
            body = self.alter(body)
            refusal = self.refuse(request.method, path, body)
            if refusal is not None:
                self.requests.append((request.method, path))
                return httpx2.Response(refusal, json={"error": {"code": refusal, "message": "it exists"}}, request=request)
            headers = [(name, value) for name, value in request.headers.items() if name.lower() != "content-length"]
            request = httpx2.Request(request.method, request.url, headers=headers, content=json.dumps(body).encode())
        response = await onward(request)
        data = await response.aread()
        if request.method != "GET" and self.lose(request.method, path):
            raise httpx2.ReadError("the connection was lost")
        headers = {name: value for name, value in response.headers.items() if name.lower() != "content-length"}
        return httpx2.Response(response.status_code, headers=headers, content=self.answer(path, data), request=request)
