"""What the sandbox says of its readers is what they get: over HTTP, as each of them, in random organizations."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.audience.moments import Watched
from tests.audience.proof import Proof
from tests.audience.worlds import conditions
from tests.harness import BASE, ORGANIZATION, TOKEN
from tests.organizations import CONDITIONS, with_readers
from tests.proofs import costly, spread

CLAIMS = {CONDITIONS[0]: {"staff": True}, CONDITIONS[1]: {"partner": True}, CONDITIONS[2]: {}}


def people(org: Watched, tree: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What each reader brings along, by name; all of them choose the claims that need no signature."""
    known: dict[str, dict[str, Any]] = {
        "anyone": {},
        "anyone-with-the-address": {"address": True},
        "visitor": {"claims": {}},
        "agent": {"agent": True},
    }
    for asked in conditions(tree):
        claims = {name: value for condition in asked for name, value in CLAIMS[condition].items()}
        name = next(iter(asked)) if len(asked) == 1 else " && ".join(f"({condition})" for condition in sorted(asked))
        known[f"visitor:{name}"] = {"claims": claims}
    for link in org.app.state.service.store.select("share-link"):
        known[f"link:{link['id']}"] = {"shareKey": link["_secret"], "address": True}
    return {name: {"unsigned": {"beta": True}, **brings} for name, brings in known.items()}


async def _read(org: Watched, paths: dict[tuple[str, str], str], brings: dict[str, Any]) -> set[tuple[str, str]]:
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Sandbox-Reader": json.dumps(brings)}
    result = set()
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(org.app), base_url=f"{BASE}/v1", headers=headers) as client:
        for thing, path in paths.items():
            answer = await client.get(path, params={"limit": 1000})
            if answer.status_code == 200:
                items = answer.json().get("items")
                result |= {thing} if items is None else {(thing[0], item["id"]) for item in items}
    return result


@costly
@pytest.mark.parametrize("seed", spread(range(4), 2))
def test_every_reader_gets_over_http_what_the_audience_says(tmp_path: Path, seed: int) -> None:
    org, tree = Watched(tmp_path), with_readers(random.Random(seed))
    org.asked = conditions(tree)
    org.write(tree)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    moment, store = org.now(""), org.app.state.service.store
    sites = {site["id"]: f"/orgs/{ORGANIZATION}/sites/{site['id']}" for site in store.select("site")}
    paths = {("space", space["id"]): f"/spaces/{space['id']}" for space in store.select("space")}
    paths |= {("openapi", spec["id"]): f"/orgs/{ORGANIZATION}/openapi/{spec['slug']}" for spec in store.select("openapi")}
    paths |= {("site", id): path for id, path in sites.items()}
    paths |= {("section", id): f"{path}/sections" for id, path in sites.items()}
    lists = {("site-space", id): f"{path}/site-spaces" for id, path in sites.items()}
    for name, brings in people(org, tree).items():
        told = {thing for thing, readers in moment.readers.items() if name in readers and thing[0] != "organization"}
        got = asyncio.run(_read(org, paths | lists, brings))
        if name.startswith("link:"):  # its holder is told of where the link leads, and reads elsewhere what others read too
            told |= {thing for thing in got if "anyone-with-the-address" in moment.readers[thing]}
        assert got == told, name
