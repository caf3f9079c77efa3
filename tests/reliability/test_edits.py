"""The experiment on edits can fail: a run that reads nothing again, one that ignores what it read, and one that tells nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.apply.preconditions import Preconditions
from reconciler.model import Outcome
from tests.proofs import proof
from tests.reliability import edits
from tests.reliability.__main__ import database
from tests.reliability.world import World


def whats(name: str, **given: Any) -> str:
    with database("sqlite", None, "unused") as found:
        return "\n".join(violation.what for violation in edits.run(name, found, **given).violations)


@proof
def test_a_run_that_reads_nothing_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Preconditions, "_needs", lambda self, step: False)
    assert "move of" in whats("random-1", runs=100, like="move before", first=True)


@proof
def test_a_run_that_does_not_look_at_what_it_read_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Preconditions, "_verdict", lambda self, step: None)
    assert "although a reading had shown it" in whats("tiny-changed", runs=25, like="rename", first=True)


def test_a_run_that_tells_nobody_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = World.apply

    def silent(self: World, **given: Any) -> Outcome:
        return replace(real(self, **given), results=(), edited=(), notes=())

    class Nothing:
        changes = blocked = ()
        empty = False

    monkeypatch.setattr(World, "apply", silent)
    with database("sqlite", None, "unused") as found:
        base = edits.prepared("tiny-changed", found)
        monkeypatch.setattr(edits, "prepared", lambda *given: base)
        monkeypatch.setattr(World, "plan", lambda self, **given: Nothing())
        assert "is in no report" in "\n".join(
            violation.what for violation in edits.run("tiny-changed", found, runs=10, first=True).violations
        )
