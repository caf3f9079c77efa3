"""What an undo asks the service, and that what it was answered early is never taken for what there is later."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from reconciler.run.operation import Operation
from reconciler.run.planning import make
from reconciler.run.stages import Planned, PlanSource
from tests.command_line import Cli, retitled
from tests.harness import Org, kinds


def before_the_first_write(cli: Cli) -> Counter[str]:
    """The GETs of an undo until it writes, by path."""
    undone = cli("undo", "last", "p", "--yes", "-v", "--log-format", "json", code=0)
    paths = Counter[str]()
    for line in undone.stderr.splitlines():
        event = json.loads(line)
        if event["event"] == "sending":
            if event["method"] != "GET":
                return paths
            paths[event["path"]] += 1
    raise AssertionError("nothing was written")


def test_an_undo_asks_for_everything_once_before_it_writes(cli: Cli) -> None:
    assert set(before_the_first_write(retitled(cli)).values()) == {1}


def test_what_was_read_too_long_ago_is_read_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    retitled(cli)
    monkeypatch.setattr("reconciler.run.applying.FRESH", -1.0)
    assert max(before_the_first_write(cli).values()) == 2


def test_a_plan_of_an_earlier_reading_is_as_old_as_that_and_leaves_no_answer_for_what_is_read_before_a_write(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write({"teams": {"poets": {"title": "Poets"}}})
    desired = org.load().desired

    async def plan_twice() -> tuple[Planned, float, float]:
        state = org.remembered()
        async with org.client() as writer:
            with writer.keeping() as answers:
                first = await make(PlanSource(writer), kinds(), desired, state, Operation())
            sent = len(org.requests)
            began = first.read_at - 5.0
            earlier = (answers, began)
            second = await make(PlanSource(writer, earlier=earlier), kinds(), desired, state, Operation())
            assert second.plan == first.plan
            assert len(org.requests) == sent, "everything was answered before"
            await writer.get("/orgs/org_acme")
            assert len(org.requests) == sent + 1
            return second, began, second.actual.read_at or 0.0

    planned, began, read_at = asyncio.run(plan_twice())
    assert planned.read_at == read_at == began
