"""The table of endpoints answers every reading as FastAPI does, whatever is asked and however unusual the query is."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import httpx2
import pytest

from reconciler.sandbox.app import Sandbox, create_app
from reconciler.sandbox.table import reading_of
from tests.proofs import sampled, stride
from tests.sandbox.box import ADA, BASE, CONTROL
from tests.sandbox.test_fuzz import ROUTES
from tests.sandbox.world import World

READINGS = [path for method, path in ROUTES if method == "GET" and path.startswith("/v1/")]
QUERIES = [
    "",
    "limit=2",
    "page=ZnJvbTox",
    "page=ZnJvbTox&limit=1",
    *("limit=0", "limit=1001", "limit=many", "limit=%2B5", "limit=", "page=", "page=nonsense", "limit=1&limit=2", "unknown=1", "nested=no"),
]


def without_table(db: Path) -> Sandbox:
    other = create_app(db, control_token=CONTROL, base=BASE)
    other.router.routes.clear()
    other.router.default = partial(other.table.framework.answer, None)
    return other


async def answers(app: Sandbox, path: str) -> list[tuple[int, bytes, str | None]]:
    """What a path answers to each of the queries, and to methods and endings that it may not have."""
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=BASE, headers={"Authorization": f"Bearer {ADA}"}) as client:
        sent = [await client.get(f"{path}?{query}") for query in QUERIES]
        sent += [await client.get(f"{path}/"), await client.request("TRACE", path), await client.get(f"{path}/%20/nothing")]
    return [(one.status_code, one.content, one.headers.get("content-type")) for one in sent]


@sampled
def test_it_answers_every_reading_as_fastapi_does(template: World, tmp_path: Path) -> None:
    world = template.copied(tmp_path)
    world.box.clock("2031-01-01T00:00:00Z")
    plain = without_table(world.box.db)
    try:
        assert len(READINGS) > 60
        for path in READINGS[:: stride(3)]:
            filled = re.sub(r"\{(\w+)\}", lambda match: world.known[match[1]], path)
            assert asyncio.run(answers(world.box.app, filled)) == asyncio.run(answers(plain, filled)), path
    finally:
        plain.state.service.store.close()
        world.box.close()


@pytest.mark.parametrize("path", ["/v1/orgs/org_a/members/usr_rita", "/v1/orgs/org_a/teams", "/v1/orgs", "/v1/spaces/spc_one"])
def test_plain_readings_are_answered_by_the_table_itself(template: World, path: str) -> None:
    table = create_app(template.box.db).table
    _, scope = table.matches({"type": "http", "method": "GET", "path": path})
    reading = reading_of(scope["sandbox.endpoint"])
    assert reading is not None
    assert reading.arguments({**scope, "query_string": b"", "caller": None}) is not None


def test_a_service_that_answers_plain_readings_does_not_load_fastapi(tmp_path: Path) -> None:
    script = f"""
import sys
import httpx2
from pathlib import Path
from reconciler.sandbox.server import embedded
with embedded(Path({str(tmp_path / "sandbox.db")!r})) as service:
    headers = {{"Authorization": f"Bearer {{service.token}}"}}
    assert httpx2.get(f"{{service.base_url}}/v1/orgs?limit=5", headers=headers).status_code == 200
    assert httpx2.get(f"{{service.base_url}}/_sandbox/identity", headers=headers).status_code == 200
    assert "fastapi" not in sys.modules
    assert httpx2.get(f"{{service.base_url}}/v1/orgs?limit=none", headers=headers).status_code == 400
"""
    subprocess.run([sys.executable, "-c", script], check=True)
