"""A sandbox of its own for each test, called over ASGI; what the control endpoints do included."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from reconciler.sandbox.app import Sandbox, create_app
from reconciler.sandbox.seed import seed
from reconciler.sandbox.store import Store
from tests.sandbox.described import check

BASE = "http://127.0.0.1:1"
CONTROL = "token-of-control"
ADA, ADA_READS, CARA, RITA, BOB, ZOE = "token-ada", "token-ada-reads", "token-cara", "token-rita", "token-bob", "token-zoe"

SEED: dict[str, Any] = {
    "organizations": [{"id": "org_a", "title": "Acme"}, {"id": "org_b", "title": "Bolt"}],
    "members": [
        {"organization": "org_a", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_a", "id": "usr_cara", "email": "cara@acme.example", "displayName": "Cara", "role": "create"},
        {"organization": "org_a", "id": "usr_rita", "email": "rita@acme.example", "displayName": "Rita", "role": "read"},
        {"organization": "org_a", "id": "usr_zoe", "email": "zoe@acme.example", "displayName": "Zoe", "role": "admin"},
        {"organization": "org_b", "id": "usr_zoe", "email": "zoe@acme.example", "displayName": "Zoe", "role": "admin"},
        {"organization": "org_b", "id": "usr_bob", "email": "bob@bolt.example", "displayName": "Bob", "role": "admin"},
    ],
    "tokens": [
        {"token": ADA, "member": "usr_ada"},
        {"token": ADA_READS, "member": "usr_ada", "access": "read"},
        {"token": CARA, "member": "usr_cara"},
        {"token": RITA, "member": "usr_rita"},
        {"token": BOB, "member": "usr_bob"},
        {"token": ZOE, "member": "usr_zoe"},
    ],
    "collections": [
        {"organization": "org_a", "id": "col_guides", "title": "Guides"},
        {"organization": "org_a", "id": "col_inner", "title": "Inner", "parent": "col_guides"},
    ],
    "spaces": [
        {"organization": "org_a", "id": "spc_root", "title": "Root"},
        {"organization": "org_a", "id": "spc_one", "title": "One", "parent": "col_guides"},
        {"organization": "org_a", "id": "spc_two", "title": "Two", "parent": "col_guides"},
        {"organization": "org_a", "id": "spc_deep", "title": "Deep", "parent": "col_inner"},
        {"organization": "org_b", "id": "spc_bolt", "title": "Bolt"},
    ],
}

Json = Any


APPS: list[Sandbox] = []  # building one takes longer than a test does: all boxes share it, one box at a time


class Box:
    """One file and the service over it. Answers of the wrong status fail the test."""

    def __init__(self, root: Path, document: Mapping[str, Any] = SEED) -> None:
        self.db = root / "sandbox.db"
        seed(self.db, document)
        self.open()

    def open(self) -> None:
        if APPS:
            APPS[0].state.service.store = Store(self.db)
        else:
            APPS.append(create_app(self.db, control_token=CONTROL, base=BASE))
        self.app = APPS[0]
        self.store: Store = self.app.state.service.store

    def close(self) -> None:
        self.store.close()

    # -- requests ----------------------------------------------------------------------------------------------------------------

    def send(self, method: str, path: str, body: Json = None, *, token: str | None = ADA, **more: Any) -> httpx2.Response:
        """One request as it is; `path` without the version."""
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            more["json"] = body
        address = path if path.startswith("/_") else f"/v1{path}"
        answer = asyncio.run(self._send(method, address, headers, more))
        if address.startswith("/v1/") and answer.is_success:
            check(self.app, method, address, answer.status_code, answer.json() if answer.content else None)
        return answer

    async def _send(self, method: str, path: str, headers: dict[str, str], more: dict[str, Any]) -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE) as client:
            return await client.request(method, path, headers=headers, **more)

    def get(self, path: str, **query: Any) -> Json:
        return self._json(self.send("GET", path, params=query), 200)

    def items(self, path: str, **query: Any) -> list[Json]:
        found: list[Json] = self.get(path, **query)["items"]
        return found

    def ids(self, path: str, **query: Any) -> list[str]:
        return [item["id"] for item in self.items(path, **query)]

    def post(self, path: str, body: Json = None, *, status: int = 201, token: str = ADA) -> Json:
        return self._json(self.send("POST", path, body, token=token), status)

    def patch(self, path: str, body: Json) -> Json:
        return self._json(self.send("PATCH", path, body), 200)

    def put(self, path: str, body: Json, *, status: int = 200) -> Json:
        return self._json(self.send("PUT", path, body), status)

    def delete(self, path: str) -> None:
        answer = self.send("DELETE", path)
        assert (answer.status_code, answer.content) == (204, b"")

    def move(self, path: str, **body: Json) -> Json:
        """Move an object; to the end where nothing is said."""
        return self.post(f"{path}/move", body or {"position": {}}, status=200)

    def refused(self, method: str, path: str, body: Json = None, *, status: int = 400, **more: Any) -> str:
        """The message of a refusal, whose shape and status are checked."""
        answer = self.send(method, path, body, **more)
        error = self._json(answer, status)
        assert set(error) == {"error"}, error
        assert set(error["error"]) == {"code", "message"}, error
        assert error["error"]["code"] == status
        message: str = error["error"]["message"]
        assert message
        return message

    @staticmethod
    def _json(answer: httpx2.Response, status: int) -> Json:
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    # -- the clock ---------------------------------------------------------------------------------------------------------------

    def clock(self, now: str | None = None, *, advance: float | None = None) -> str:
        """Stop the clock at a moment, or move it by seconds."""
        return str(self._json(self.send("PUT", "/_sandbox/clock", {"now": now, "advance": advance}, token=CONTROL), 200)["now"])

    # -- what many tests begin with ------------------------------------------------------------------------------------------------

    def site(self, *spaces: str, title: str = "Docs") -> str:
        """The path of a new site with these spaces at its root."""
        made = self.post("/orgs/org_a/sites", {"title": title, "spaces": list(spaces)})
        return f"/orgs/org_a/sites/{made['id']}"

    def section(self, site: str, title: str, space: str = "spc_one") -> str:
        made: Json = self.post(f"{site}/sections", {"spaceId": space, "title": title})
        return str(made["id"])


DAY = 24 * 3600.0
