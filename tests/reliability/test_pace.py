"""The experiment on the pace can fail: a client that does not listen, one that is timid, and one that learns nothing are seen."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.client.pacing import Pace
from reconciler.client.quota import Quota
from tests.contains import assert_contains
from tests.proofs import proof
from tests.reliability import pace
from tests.reliability.__main__ import database
from tests.reliability.pacing import drive
from tests.reliability.result import Result


def ran(name: str, **given: Any) -> Result:
    with database("sqlite", None, "unused") as found:
        return pace.run(name, found, **given)


def whats(result: Result) -> str:
    return "\n".join(found.what for found in result.violations)


@proof
def test_a_client_that_is_deaf_to_what_is_left_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Quota, "ready_at", lambda self, now: now)
    assert "were answered with 429" in whats(ran("told", runs=2))


@proof
def test_a_client_that_leaves_a_part_unused_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Quota.learn
    monkeypatch.setattr(Quota, "learn", lambda self, left, *resets_at, **at: real(self, left - self.limit // 5, *resets_at, **at))
    assert "of the pace that is allowed" in whats(ran("told", runs=10))


@proof
def test_a_client_that_learns_nothing_from_refusals_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pace, "_slow_down", lambda self, *given: None)
    assert_contains(
        whats(ran("blind", runs=1)),
        "were answered with 429",
        "came to no end",
        "of all were answered with 429",
    )


def test_the_same_seed_gives_the_same_run() -> None:
    import random

    one = pace.case(random.Random(5), told=True)
    assert drive(one, "5") == drive(one, "5")
    assert pace.case(random.Random(5), told=True) == one
