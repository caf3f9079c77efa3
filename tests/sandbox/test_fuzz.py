"""Random bodies and queries against every route: an answer of the right shape, never a 500, and the file stays whole."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from reconciler.sandbox import control
from reconciler.sandbox.app import GROUPS
from tests.documents import service
from tests.proofs import costly
from tests.sandbox.box import ADA, BASE, CONTROL, Box
from tests.sandbox.world import World

ROUTES = sorted(
    {
        (endpoint.method, f"{prefix}{endpoint.path}")
        for prefix, router in [*(("/v1", group.router) for group in GROUPS), ("", control.router)]
        for endpoint in router.endpoints
    }
)
DOCUMENT = service()
EXAMPLES = int(os.environ.get("RECONCILER_SERVICE_EXAMPLES", "20"))


def _words(part: Any) -> tuple[set[str], set[str]]:
    """The names of fields and the words of enumerations below a schema."""
    fields: set[str] = set()
    words: set[str] = set()
    waiting, seen = [part], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            fields |= one["properties"].keys() if isinstance(one.get("properties"), dict) else set()
            words |= {word for word in one.get("enum", []) if isinstance(word, str)}
            name = one.get("$ref", "").removeprefix("#/components/schemas/")
            if name not in seen:
                seen.add(name)
                waiting.append(DOCUMENT["components"]["schemas"].get(name))
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return fields, words


@dataclass(frozen=True)
class Vocabulary:
    """What the document says of one operation: the names of its fields, its words, its parameters."""

    fields: list[str]
    words: list[str]
    parameters: list[str]


def _vocabulary(method: str, path: str) -> Vocabulary:
    operation = DOCUMENT["paths"].get(path, {}).get(method.lower(), {})  # those of control are not in it
    fields, words = _words(operation.get("requestBody"))
    asked = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    words |= _words(asked)[1]
    return Vocabulary(sorted(fields) or ["title"], sorted(words) or ["space"], sorted(one["name"] for one in asked) or ["page"])


TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", "x" * 51, "x" * 3000, "null", "\x00", "2031-01-01T00:00:00Z", "a/b", "🙂"]))
IDS = st.integers(0, 16).map(lambda number: f"@{number}")  # stands for an id that exists
NUMBERS = st.one_of(st.integers(), st.sampled_from([10**30, -1, 1e308, 1.5]), st.floats())
KINDS = ["space", "site", "site-section", "site-space", "file", "openapi", "document", "rules", "message", "2031-01-01T00:00:00Z"]


@cache
def _bodies(method: str, path: str) -> st.SearchStrategy[Any]:
    known = _vocabulary(method, path)
    scalars = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, IDS, st.sampled_from([*known.words, *KINDS]))
    named = st.sampled_from(known.fields)
    values = st.recursive(
        scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(named, inner, max_size=4)), max_leaves=8
    )
    return st.one_of(st.dictionaries(named, values, max_size=6), st.dictionaries(named, scalars, max_size=6), values)


@cache
def _queries(method: str, path: str) -> st.SearchStrategy[dict[str, str]]:
    known = _vocabulary(method, path)
    values = st.one_of(TEXTS, IDS, st.sampled_from(["0", "1", "true", "ZnJvbTo5OTk=", *known.words]))
    return st.dictionaries(st.sampled_from(known.parameters), values, max_size=3)


def _named(value: Any, ids: list[str]) -> Any:
    """The value with `@n` replaced by the nth id that exists."""
    if isinstance(value, str) and re.fullmatch(r"@\d+", value):
        return ids[int(value[1:]) % len(ids)]
    if isinstance(value, dict):
        return {key: _named(part, ids) for key, part in value.items()}
    return [_named(part, ids) for part in value] if isinstance(value, list) else value


def _check(answer: httpx2.Response) -> None:
    assert answer.status_code < 500
    assert len(answer.headers.get_list("Date")) == 1
    if answer.is_success:
        assert not answer.content or isinstance(answer.json(), dict)  # whether it may have none is checked by Box.send
    else:
        error = answer.json()["error"]
        assert error["code"] == answer.status_code
        assert isinstance(error["message"], str)


async def _try_all(world: World, cases: list[tuple[str, str, Any, dict[str, str]]]) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(world.box.app), base_url=BASE) as client:
        for method, path, body, query in cases:
            token = ADA if path.startswith("/v1") else CONTROL
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            content = None if method == "GET" else json.dumps(body).encode()  # NaN, Infinity and lone surrogates included
            _check(await client.request(method, path, params=query, content=content, headers=headers))
        for path in ("collections", "members", "teams", "sites", "openapi", "saml", f"sites/{world.known['siteId']}/sections"):
            _check(await client.get(f"/v1/orgs/org_a/{path}", headers={"Authorization": f"Bearer {ADA}"}))


@costly
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
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
            cases.append(
                (method, filled, _named(data.draw(_bodies(method, path)), world.ids), _named(data.draw(_queries(method, path)), world.ids))
            )
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
        before = box.get(path)["mergeRules"]
        box.refused("PATCH", path, content=content, headers={"Content-Type": "application/json"})
        assert box.get(path)["mergeRules"] == before


def test_numbers_of_any_size_that_are_json_survive(box: Box) -> None:
    rules = {"type": "x", "y": [10**40, -(2**70), 0.1, 1e300]}
    assert (box.patch("/spaces/spc_one", {"mergeRules": rules})["mergeRules"], box.get("/spaces/spc_one")["mergeRules"]) == (rules, rules)
    assert box.ids("/collections/col_guides/spaces") == ["spc_one", "spc_two"]


@pytest.mark.parametrize(
    "path", ["/spaces/%00", "/spaces/%ff%fe", "/orgs/%F0%9F%99%82/members/%2e%2e", "/collections/'; drop table objects; --"]
)
def test_strange_ids_are_not_found(box: Box, path: str) -> None:
    box.refused("GET", path, status=404)
    assert box.get("/spaces/spc_one")["title"] == "One"
