"""Readings, matching and applying of each kind by itself, and of each action: requests and calls grow with what there is to do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.client.service import Reader
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Outcome, State, StepStatus
from reconciler.observe import observe
from reconciler.plan.matching.match import identify
from tests.effort import calls
from tests.growth.edits import EDITS, Edit, Tree, nothing
from tests.growth.test_apply import READ_AGAIN_MAX, STATE_MAX, SlowOrg
from tests.growth.test_planner import EXPONENT_MAX, exponent
from tests.harness import ORGANIZATION, SEED
from tests.proofs import spread
from tests.transports import Onward, between

ALLOWED: Tree = {
    "prune": {"space": "owned", "collection": "owned", "site": "owned", "openapi": "owned"},
    "guards": {"maxDelete": {"percent": 100, "atLeast": 100000}},
}
APPLIED = [edit for edit in EDITS if not edit.lost and edit.name != "teams: probable renames"]  # which wait for a person
CREATED = [edit for edit in APPLIED if edit.name.endswith(": create")]
EACH_ACTION = (
    "teams: update", "teams: delete", "spaces: move to another collection", "sections: another path, many sites",
    "sections: another default, many sites",
)  # fmt: skip
AGAIN_MAX = 5  # readings for each write: a delete reads once more what it takes along, four lists for a site
A_FEW = 20  # readings that a run has whatever there is to do

by_name = {"ids": lambda edit: edit.name}


class Unseen:
    """Awaits something of which no function call is counted: the service's own work."""

    def __init__(self, work: Awaitable[Any]) -> None:
        self.work = work.__await__()

    def __await__(self) -> Generator[Any, Any, Any]:
        step, value = self.work.send, None
        while True:
            counter = sys.getprofile()
            sys.setprofile(None)
            try:
                pending = step(value)
            except StopIteration as ended:
                return ended.value
            finally:
                sys.setprofile(counter)
            try:
                value = yield pending
                step = self.work.send
            except BaseException as error:
                step, value = self.work.throw, error


class Apartment(SlowOrg):
    """An organization whose service's calls are not counted."""

    def transport(self) -> httpx2.AsyncBaseTransport:
        return between(super().transport(), self._apart)

    async def _apart(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        async def passed_on() -> httpx2.Response:
            answer = await onward(request)
            content = await answer.aread()
            return httpx2.Response(answer.status_code, headers=answer.headers, content=content, request=request)

        answer: httpx2.Response = await Unseen(passed_on())
        return answer


@dataclass(frozen=True)
class Work:
    """What an edit of so many objects takes.

    `looks` and `looking`: requests and calls of a reading; `matching`: calls; `applying`: calls of a whole apply; `writes`: its requests
    that change something; `again`: its readings beside the first and the last; `size`: bytes of the state.
    """

    looks: int
    looking: int
    matching: int
    applying: int
    writes: int
    again: int
    size: int


def uncounted(work: Callable[[], object]) -> int:
    """Run it; a counter of calls would make a run of ten thousand take hours."""
    work()
    return 0


def work(root: Path, edit: Edit, many: int, *, effort: Callable[[Callable[[], object]], int] = calls) -> Work:
    """Apply what comes before, then measure what comes after it. `effort`: counts the calls of a reading and of an apply."""
    first, second = (edit.before or nothing)(many), edit.after(many)
    org = Apartment(root, seed=with_people(first["members"]))
    org.write(first, **ALLOWED)
    if edit.before is not None:
        done(org.apply())
    org.write(second, **ALLOWED)
    desired = org.load().desired
    state = org.remembered()
    seen: list[Actual] = []
    asked = len(org.requests)
    looking = effort(lambda: seen.append(asyncio.run(_observed(org, desired, state))))
    looks = len(org.requests) - asked
    matching = calls(lambda: identify(kinds(), desired, state, seen[0]))
    org.requests.clear()
    outcomes: list[Outcome] = []
    applying = effort(lambda: outcomes.append(org.apply()))
    done(outcomes[0])
    sent = [method for method, _ in org.requests[org.planned :]]
    reads, writes = sent.count("GET"), len(sent) - sent.count("GET")
    org.requests.clear()
    org.plan()
    size = (root / "state.db").stat().st_size
    return Work(looks, looking, matching, applying, writes, reads - len(org.requests) if writes else 0, size)


async def _observed(org: Apartment, desired: Desired, state: State) -> Actual:
    async with org.client(Reader) as reader:
        return await observe(reader, kinds(), desired, state)


def with_people(members: Tree) -> Tree:
    """The tests' service, with the people who are declared with their ids."""
    more = [
        {"organization": ORGANIZATION, "id": person["id"], "email": email, "role": person["role"]}
        for email, person in members.items()
        if isinstance(person, dict)
    ]
    return {**SEED, "members": [*SEED["members"], *more]}


def done(outcome: Outcome) -> None:
    assert [(str(result.step.address), result.error) for result in outcome.results if result.status is not StepStatus.DONE][:3] == []


def grows(small: Work, large: Work, times: int) -> None:
    for name in ("looks", "looking", "matching", "applying", "writes"):
        few, more = max(getattr(small, name), 1), max(getattr(large, name), 1)
        assert exponent(few, more, times) <= EXPONENT_MAX, f"{name}: {few} -> {more}"


@pytest.mark.parametrize("edit", spread(CREATED, 1), **by_name)
def test_creating_four_times_as_many_takes_four_times_the_requests_and_calls(edit: Edit, tmp_path: Path) -> None:
    small, large = (work(tmp_path / str(many), edit, many) for many in (20, 80))
    grows(small, large, 4)
    assert large.again <= READ_AGAIN_MAX * large.writes


@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("edit", APPLIED, **by_name)
def test_four_times_as_much_to_do_takes_four_times_the_requests_and_calls(edit: Edit, tmp_path: Path) -> None:
    small, large = (work(tmp_path / str(many), edit, many) for many in (100, 400))
    grows(small, large, 4)
    assert large.again <= AGAIN_MAX * large.writes + A_FEW


@pytest.mark.proof
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("edit", CREATED, **by_name)
def test_creating_ten_thousand_takes_ten_times_the_requests_and_bytes_of_a_thousand(edit: Edit, tmp_path: Path) -> None:
    small, large = (work(tmp_path / str(many), edit, many, effort=uncounted) for many in (1_000, 10_000))
    grows(small, large, 10)
    assert large.again <= READ_AGAIN_MAX * large.writes
    assert large.size <= STATE_MAX * large.writes


@pytest.mark.proof
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("edit", [edit for edit in APPLIED if edit.name in EACH_ACTION], **by_name)
def test_ten_thousand_to_update_delete_or_move_take_ten_times_the_requests_of_a_thousand(edit: Edit, tmp_path: Path) -> None:
    small, large = (work(tmp_path / str(many), edit, many, effort=uncounted) for many in (1_000, 10_000))
    grows(small, large, 10)
    assert large.again <= AGAIN_MAX * large.writes + A_FEW
