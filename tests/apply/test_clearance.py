"""Whoever embeds the program is asked before each step that opens something or cannot be undone, and before no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply import clearance
from reconciler.model import Status
from tests.harness import Org


class Gatekeeper:
    """Allows what is asked until `refuses`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuses: str | None = None

    async def refusal(self, what: str) -> str | None:
        self.asked.append(what)
        return self.refuses


@pytest.fixture
def keeper() -> Iterator[Gatekeeper]:
    made = Gatekeeper()
    clearance.install(made)
    yield made
    clearance.install(None)


def spaces(org: Org, *more: dict[str, Any]) -> None:
    org.write({"content": [*more, {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}]})


def test_creates_titles_and_order_are_not_asked_about_and_what_opens_or_deletes_is(tmp_path: Path, keeper: Gatekeeper) -> None:
    org = Org(tmp_path)
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
        (Status.SKIPPED, "not sent: it is night", "RC-apply-held")
    ]
    keeper.refuses = None
    assert org.apply().went_through
