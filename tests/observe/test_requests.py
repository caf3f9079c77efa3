"""What reading and writing cost: the formula, held against the requests seen.

How many objects a reading says that it has read.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.model import Actual
from reconciler.model.listener import Listener
from reconciler.observe import observe
from reconciler.observe.everything import read_all
from tests.harness import BASE, ORGANIZATION, TOKEN, Org, kinds
from tests.proofs import costly
from tests.small import node, small
from tests.transports import Through

SITE_LISTS = {"section": "sections", "group": "section-groups", "site-space": "site-spaces", "share-link": "share-links"}
ORGANIZATION_LISTS = ("member", "team", "collection", "site", "saml", "openapi")


def formula(org: Org) -> int:
    """One call per list that the declared kinds need, one per collection with declared spaces, one per root space that no list shows."""
    desired = org.load().desired
    kinds = {declared.kind for declared in desired.resources.values()}
    lists = 1 + sum(1 for kind in ORGANIZATION_LISTS if kind in kinds)
    spaces = [declared for declared in desired.resources.values() if declared.kind == "space"]
    collections = {declared.values["parent"] for declared in spaces} - {None}
    shown = {declared.values["space"] for declared in desired.resources.values() if declared.kind == "site-space"}
    root = [one for one in spaces if one.values["parent"] is None and one.address not in shown]
    alone = min(len(root), 1) if desired.lister is not None else len(root)
    sites = {(declared.address.container, declared.kind) for declared in desired.resources.values() if declared.kind in SITE_LISTS}
    sites -= {(site, "site-space") for site, kind in sites if kind == "section"}  # each section shows the whole of its site spaces
    return lists + len(collections) + alone + len(sites)


@costly
@pytest.mark.parametrize("member", [None, "ada@acme.example"])
def test_reading_costs_what_the_formula_says(org: Org, member: str | None) -> None:
    org.write(small())
    org.apply()
    org.write(small(), service={"member": member} if member else {})
    org.requests.clear()
    org.plan()
    assert (len(org.requests), len(set(org.requests))) == (formula(org), len(org.requests))


class Waves(httpx2.AsyncBaseTransport):
    """Answers a request only once no other one comes: how many were under way together, time after time, is in `waves`."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner, self._waiting, self.waves = inner, 0, list[int]()
        self._go = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._waiting += 1
        go = self._go
        if self._waiting == 1:
            asyncio.get_running_loop().call_later(0.05, self._answer)
        await go.wait()
        return await self._inner.handle_async_request(request)

    def _answer(self) -> None:
        self.waves.append(self._waiting)
        self._waiting = 0
        self._go.set()
        self._go = asyncio.Event()


def test_a_site_costs_at_most_three_readings(org: Org) -> None:
    org.write(small())
    org.apply()
    org.requests.clear()
    org.plan()
    for site in ("docs", "flat"):
        id = org.id(f"acme/site/{site}")
        assert len([path for _, path in org.requests if f"/sites/{id}" in path]) <= 3


def large(spaces: int, collections: int, sites: int) -> dict[str, Any]:
    each = spaces // collections
    tree: dict[str, Any] = {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}], "sites": {}}
    for number in range(collections):
        inside = [
            {"space": f"s{number}-{index}", "id": f"spc_{number}_{index}", "title": f"Space {number} {index}"} for index in range(each)
        ]
        tree["content"].append({"collection": f"c{number}", "id": f"col_{number}", "title": f"Collection {number}", "content": inside})
    for number in range(sites):
        sections = [{"section": f"x{index}", "title": f"Section {index}", "spaces": [f"s{number}-{index}"]} for index in range(3)]
        tree["sites"][f"site{number}"] = {
            "title": f"Site {number}",
            "structure": [*sections, {"group": "g", "title": "Group", "structure": []}],
            "shareLinks": {"link": {"name": "Link"}},
        }
    return tree


def seeded(folder: Path, tree: dict[str, Any]) -> Org:
    """An organization in which what `large` made exists already, applied."""
    collections = [{"organization": "org_acme", "id": one["id"], "title": one["title"], "parent": None} for one in tree["content"][1:]]
    spaces = [
        {"organization": "org_acme", "id": space["id"], "title": space["title"], "parent": one["id"]}
        for one in tree["content"][1:]
        for space in one["content"]
    ]
    base = Org(folder).seed
    org = Org(folder, seed={**base, "collections": collections, "spaces": [*base["spaces"], *spaces]}, name="large")
    org.write(tree)
    org.apply()
    org.requests.clear()
    return org


@costly
def test_a_thousand_spaces_in_fifty_collections_and_twenty_sites_take_at_most_150_readings(tmp_path: Path) -> None:
    org = seeded(tmp_path, large(1000, 50, 20))
    assert org.plan().empty
    assert len(org.requests) <= 150
    assert len(org.requests) == formula(org)


def test_what_the_state_remembers_is_read_in_two_waves_the_organization_and_everything_else(tmp_path: Path) -> None:
    org = seeded(tmp_path, large(6, 2, 1))
    desired, waves = org.load().desired, Waves(org.transport())
    state = org.remembered()

    async def look() -> None:
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(waves)) as reader:
            await observe(reader, kinds(), desired, state)

    asyncio.run(look())
    assert (len(waves.waves), waves.waves[0]) == (2, 1)


@costly
@pytest.mark.parametrize("order", [[4, 0, 1, 2, 3], [1, 2, 3, 4, 0], [4, 3, 2, 1, 0], [0, 2, 1, 4, 3], [2, 4, 1, 3, 0]])
def test_reordering_takes_as_many_moves_as_are_outside_the_longest_increasing_run(org: Org, order: list[int]) -> None:
    tree = small()
    node(tree, "other")["content"] = [{"space": f"n{index}", "title": f"N {index}"} for index in range(5)]
    tree["sites"] = {"wide": {"title": "Wide", "structure": [{"section": f"n{i}", "title": f"N {i}", "spaces": ["one"]} for i in range(1)]}}
    tree["sites"]["wide"]["structure"] = [
        {"section": f"n{i}", "title": f"N {i}", "spaces": [{"key": f"k{i}", "space": "one"}]} for i in range(5)
    ]
    tree.pop("defaultContent")
    org.write(tree)
    org.apply()
    for row in (node(tree, "other")["content"], tree["sites"]["wide"]["structure"]):
        row[:] = [row[index] for index in order]
    org.write(tree)
    outcome = org.apply()
    assert {result.step.verb for result in outcome.results} == {"move"}
    assert len(outcome.results) == 2 * (5 - longest(order))
    assert org.plan().empty


def longest(numbers: list[int]) -> int:
    """The length of the longest increasing subsequence, the slow and certain way."""
    best = 0
    for chosen in range(1 << len(numbers)):
        run = [number for index, number in enumerate(numbers) if chosen >> index & 1]
        if run == sorted(run):
            best = max(best, len(run))
    return best


class Counting(Listener):
    """Adds up the objects that it is told of."""

    def __init__(self) -> None:
        self.objects = 0

    def read(self, objects: int) -> None:
        self.objects += objects


def test_each_object_is_counted_once_whichever_lists_show_it(tmp_path: Path) -> None:
    org, counting = Org(tmp_path), Counting()
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}
    org.write({"content": [blank, {"collection": "c", "title": "C", "content": [{"space": f"s{n}", "title": f"S{n}"} for n in range(3)]}]})
    org.apply()

    async def read() -> Actual:
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(org.transport()), listener=counting) as reader:
            return await read_all(reader, kinds(), [ORGANIZATION])

    actual = asyncio.run(read())
    assert counting.objects == sum(map(len, actual.objects.values())) > 3
