"""Whoever embeds the program is asked before each step that opens something or cannot be undone, and before no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.client.quota import Hints
from reconciler.model import StepStatus
from tests.harness import Org


class Gatekeeper:
    """Allows what is asked until `refuses`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuses: str | None = None

    async def refusal(self, what: str) -> str | None:
        self.asked.append(what)
        return self.refuses


def spaces(org: Org, *more: dict[str, Any]) -> None:
    org.write({"content": [*more, {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}]})


def test_creates_titles_and_order_are_not_asked_about_and_what_opens_or_deletes_is(tmp_path: Path) -> None:
    keeper = Gatekeeper()
    org = Org(tmp_path, permission=keeper.refusal)
    first, second = {"space": "a", "title": "A"}, {"collection": "b", "title": "B", "defaultLevel": "read"}
    spaces(org, first, second)
    assert org.apply().went_through
    spaces(org, second, first | {"title": "Z"})
    assert org.apply().went_through
    keeper.asked.clear()  # a new collection opens something too
    spaces(org, second | {"title": "C"}, first | {"title": "Y"})
    assert org.apply().went_through
    assert keeper.asked == []
    spaces(org, second | {"title": "C", "defaultLevel": "admin"}, first | {"title": "Y"})
    assert org.apply().went_through
    assert keeper.asked == ["expose"]
    spaces(org, second | {"title": "C", "defaultLevel": "admin"})
    keeper.refuses = "it is night"
    outcome = org.apply()
    assert (keeper.asked, outcome.stopped, outcome.requests) == (["expose", "delete"], "stopped: it is night", 0)
    assert [(result.status, result.error, result.id) for result in outcome.results] == [
        (StepStatus.SKIPPED, "not sent: it is night", "RC-apply-held")
    ]
    keeper.refuses = None
    assert org.apply().went_through


class Waiting:
    """A budget that lets a deletion wait for so many seconds the first time; `meanwhile` happens in them."""

    def __init__(self, org: Org, seconds: float, meanwhile: Callable[[], None]) -> None:
        self.org, self.seconds, self.meanwhile, self.number = org, seconds, meanwhile, 0

    async def take(self, method: str, seconds: float) -> int:
        if method == "DELETE" and self.seconds:
            self.meanwhile()
            waited, self.seconds = self.seconds, 0.0
            await self.org.clock.sleep(waited)
        self.number += 1
        return self.number

    def report(self, ticket: int, status: int | None, hints: Hints | None) -> None: ...


@pytest.mark.parametrize("closes", [True, False])
def test_a_request_that_waits_for_its_turn_is_asked_about_again(tmp_path: Path, closes: bool) -> None:
    keeper = Gatekeeper()
    org = Org(tmp_path, permission=keeper.refusal)
    spaces(org, {"collection": "b", "title": "B"})
    assert org.apply().went_through
    spaces(org)

    def meanwhile() -> None:
        keeper.refuses = "a window closed" if closes else None

    org.budget = Waiting(org, 20.0, meanwhile)
    outcome = org.apply()
    org.budget = None
    assert keeper.asked == ["delete", "delete"]
    assert [(result.status, result.id) for result in outcome.results] == [
        (StepStatus.SKIPPED, "RC-apply-held") if closes else (StepStatus.DONE, outcome.results[0].id)
    ]
    keeper.refuses = None
    assert org.apply().went_through
    assert not org.plan().steps
