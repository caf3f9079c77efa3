"""An apply ends: what it reads again beside its writes, what it computes and what it remembers grow with the writes and no faster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from reconciler.client import ClientSettings
from reconciler.client.service import Reader, Writer
from tests.effort import calls
from tests.growth.edits import Tree, collections, organization, section, site, space
from tests.growth.test_planner import EXPONENT_MAX, exponent
from tests.harness import BASE, TOKEN, Org
from tests.proofs import proof
from tests.transports import Onward, Through, between

READ_AGAIN_MAX = 0.15  # requests beside each write
STATE_MAX = 1_600  # bytes a write
PER_SITE = 20


def mixed(many: int, word: str = "Space") -> Tree:
    """Six in ten resources are spaces, in collections of fifty; the others are teams, and sites of sections that show the spaces."""
    number = many * 6 // 10
    per = 50
    content = [
        {
            "collection": f"c{first}",
            "title": f"Collection {first}",
            "content": [space(i, word) for i in range(first, min(first + per, number))],
        }
        for first in range(0, number, per)
    ]
    shown = [{**section(i), "spaces": [{"key": f"x{i}", "space": f"s{i}"}]} for i in range(many * 14 // 100)]
    sites = dict(site(first, shown[first : first + PER_SITE]) for first in range(0, len(shown), PER_SITE))
    return organization(content=content, sites=sites, teams={f"t{i}": {"title": f"Team {i}"} for i in range(many // 10)})


class Passing:
    """A clock that every request moves: a service that answers so many requests a second, however fast this machine is."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.past = seconds, 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.past

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        self.past += seconds
        await asyncio.sleep(0)


class SlowOrg(Org):
    """An organization at a service that answers a hundred requests a second, asked by as many connections as are given."""

    connections = 16
    rate = 100

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Reader:
        clock = Passing(1 / self.rate)
        settings = ClientSettings(BASE, token, max_concurrency=self.connections)

        async def slow(request: httpx2.Request, onward: Onward) -> httpx2.Response:
            clock.past += clock.seconds
            await asyncio.sleep(0)
            return await onward(request)

        return cls(settings, transport=Through(between(self.transport(), slow)), clock=clock)


def applied(root: Path, tree: Tree, connections: int = 16) -> tuple[int, int, int]:
    """An apply of that: the writes, the readings beside them, and the bytes of the state."""
    org = SlowOrg(root)
    org.connections = connections
    org.write(tree)
    outcome = org.apply()
    assert outcome.went_through, [result for result in outcome.results if result.error][:3]
    assert not outcome.leftover
    sent = [method for method, _ in org.requests[org.planned :]]
    return len(sent) - sent.count("GET"), sent.count("GET"), (root / "state.db").stat().st_size


@pytest.mark.parametrize("connections", [pytest.param(1, marks=proof), 16, pytest.param(64, marks=proof)])
def test_hardly_anything_is_read_again_where_everything_is_made(connections: int, tmp_path: Path) -> None:
    writes, reads, size = applied(tmp_path, mixed(400), connections)
    assert reads <= READ_AGAIN_MAX * writes, (reads, writes)
    assert size <= STATE_MAX * writes, (size, writes)


@pytest.mark.proof
@pytest.mark.parametrize("connections", [16, 64])
def test_ten_thousand_creates_end(connections: int, tmp_path: Path) -> None:
    writes, reads, size = applied(tmp_path, mixed(10_000), connections)
    assert reads <= READ_AGAIN_MAX * writes, (reads, writes)
    assert size <= STATE_MAX * writes, (size, writes)


def again(root: Path, first: Tree, second: Tree) -> Callable[[], object]:
    """An apply of the second on top of the first."""
    org = SlowOrg(root)
    org.write(first)
    org.apply()
    org.write(second)
    return org.apply


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda many: (organization(), mixed(many)), id="create"),
        pytest.param(lambda many: (mixed(many), mixed(many, "Other")), id="update", marks=proof),
        pytest.param(lambda many: (collections(many), collections(many, order=-1)), id="move", marks=proof),
        pytest.param(lambda many: (collections(many), organization()), id="delete", marks=proof),
    ],
)
def test_an_apply_of_four_times_as_much_takes_four_times_the_calls(edit: Callable[[int], tuple[Tree, Tree]], tmp_path: Path) -> None:
    small, large = (calls(again(tmp_path / str(many), *edit(many))) for many in (50, 200))
    assert exponent(small, large, 4) <= EXPONENT_MAX


@pytest.mark.parametrize("tree", [mixed, pytest.param(collections, marks=proof)], ids=["mixed", "collections"])
def test_a_plan_with_its_readings_of_four_times_as_much_takes_four_times_the_calls(tree: Callable[[int], Tree], tmp_path: Path) -> None:
    def planned(many: int) -> tuple[int, int]:
        org = SlowOrg(tmp_path / str(many))
        org.write(tree(many))
        org.apply()
        before = len(org.requests)
        return calls(org.plan), len(org.requests) - before

    (small, few), (large, more) = planned(50), planned(200)
    assert exponent(small, large, 4) <= EXPONENT_MAX
    assert exponent(few, more, 4) <= 1
