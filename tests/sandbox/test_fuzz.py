"""Random bodies and queries against every route: an answer of the right shape, never a 500, and the file stays whole."""

from __future__ import annotations

import asyncio
import json
import random
import re
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.sandbox import bodies, control
from reconciler.sandbox.app import GROUPS
from tests.sandbox.box import ADA, BASE, CONTROL, Box
from tests.sandbox.world import World

ROUTES = sorted(
    {
        (method, f"{prefix}{route.path}")
        for prefix, router in [*(("/v1", group.router) for group in GROUPS), ("", control.router)]
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
)
FIELDS = sorted(
    {name for model in vars(bodies).values() if isinstance(model, type) and issubclass(model, bodies.Body) for name in model.model_fields}
)
QUERIES = [
    "page",
    "limit",
    "nested",
    "order",
    "role",
    "search",
    "sort",
    "title",
    "owner",
    "space",
    "published",
    "type",
    "default",
    "shareKey",
]


TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", "x" * 51, "x" * 3000, "null", "\x00", "2031-01-01T00:00:00Z", "a/b", "🙂"]))
IDS = st.integers(0, 16).map(lambda number: f"@{number}")  # stands for an id that exists
WORDS = st.sampled_from(
    ["space", "site", "site-section", "site-space", "rules", "inherit", "admin", "read", "public", "private", "live", "basic"]
)
NUMBERS = st.one_of(st.integers(), st.sampled_from([10**30, -1, 1e308, 1.5]), st.floats())
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, IDS, WORDS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)), max_leaves=8
)
BODIES = st.one_of(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6), VALUES)
QUERY = st.dictionaries(
    st.sampled_from(QUERIES), st.one_of(TEXTS, IDS, st.sampled_from(["0", "1", "true", "asc", "desc", "ZnJvbTo5OTk="])), max_size=3
)


def _named(value: Any, ids: list[str]) -> Any:
    """The value with `@n` replaced by the nth id that exists."""
    if isinstance(value, str) and re.fullmatch(r"@\d+", value):
        return ids[int(value[1:]) % len(ids)]
    if isinstance(value, dict):
        return {key: _named(part, ids) for key, part in value.items()}
    return [_named(part, ids) for part in value] if isinstance(value, list) else value


def _check(answer: httpx.Response) -> None:
    assert answer.status_code < 500
    assert len(answer.headers.get_list("Date")) == 1
    if answer.is_success:
        assert answer.status_code == 204 or isinstance(answer.json(), dict)
    else:
        error = answer.json()["error"]
        assert error["code"] == answer.status_code
        assert isinstance(error["message"], str)


async def _try_all(world: World, cases: list[tuple[str, str, Any, dict[str, str]]]) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(world.box.app), base_url=BASE) as client:
        for method, path, body, query in cases:
            token = ADA if path.startswith("/v1") else CONTROL
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            content = None if method == "GET" else json.dumps(body).encode()  # NaN, Infinity and lone surrogates included
            _check(await client.request(method, path, params=query, content=content, headers=headers))
        for path in ("collections", "members", "teams", "sites", "openapi", "saml", f"sites/{world.known['siteId']}/sections"):
            _check(await client.get(f"/v1/orgs/org_a/{path}", headers={"Authorization": f"Bearer {ADA}"}))


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data(), order=st.integers(0, 2**32))
def test_random_requests_to_every_route_never_answer_500(
    template: World, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, order: int
) -> None:
    world = template.copied(tmp_path_factory.mktemp("world"))
    try:
        dice = random.Random(order)
        cases = []
        for method, path in dice.sample(ROUTES, 12):
            filled = re.sub(r"\{(\w+)\}", lambda match: world.known[match[1]] if dice.random() < 0.9 else dice.choice(world.ids), path)
            cases.append((method, filled, _named(data.draw(BODIES), world.ids), _named(data.draw(QUERY), world.ids)))
        asyncio.run(_try_all(world, cases))
        assert world.box.store.connection.execute("pragma integrity_check").fetchone()[0] == "ok"
    finally:
        world.box.close()


NASTY: list[bytes] = [
    b'{"title": "\\ud800"}',
    b'{"mergeRules": {"type": "x", "\\ud800": 1}}',
    b'{"mergeRules": {"type": "x", "y": "\\udfff"}}',
    b'{"mergeRules": {"type": "x", "y": NaN}}',
    b'{"mergeRules": {"type": "x", "y": 1e400}}',
    b'{"mergeRules": {"type": "x", "y": -Infinity}}',
    b'{"mergeRules": {"type": "x", "y": ' + b"[" * 300 + b"]" * 300 + b"}}",
    b'{"mergeRules": {"type": "x", "y": ' + b"9" * 5000 + b"}}",
    b'{"mergeRules": {"type": "rules", "rules": [{"rule": "x", "y": ' + b'{"z":' * 100 + b"1" + b"}" * 100 + b"}]}}",
    b'{"x": ' + b"[" * 100_000,
]


@pytest.mark.parametrize("content", NASTY, ids=[one[:40].decode() for one in NASTY])
def test_json_that_cannot_be_kept_answers_400_and_the_next_request_is_answered(box: Box, content: bytes) -> None:
    for path in ("/spaces/spc_one", "/orgs/org_a"):
        box.refused("PATCH", path, content=content, headers={"Content-Type": "application/json"})
        assert box.get(path)["mergeRules"] == {"type": "inherit"}


def test_numbers_of_any_size_that_are_json_survive(box: Box) -> None:
    rules = {"type": "x", "y": [10**40, -(2**70), 0.1, 1e300]}
    assert box.patch("/spaces/spc_one", {"mergeRules": rules})["mergeRules"] == rules
    assert box.get("/spaces/spc_one")["mergeRules"] == rules
    assert box.ids("/collections/col_guides/spaces") == ["spc_one", "spc_two"]


@pytest.mark.parametrize(
    "path", ["/spaces/%00", "/spaces/%ff%fe", "/orgs/%F0%9F%99%82/members/%2e%2e", "/collections/'; drop table objects; --"]
)
def test_strange_ids_are_not_found(box: Box, path: str) -> None:
    box.refused("GET", path, status=404)
    assert box.get("/spaces/spc_one")["title"] == "One"
