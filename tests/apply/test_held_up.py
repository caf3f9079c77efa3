"""A run that was held up after it wrote an intent sends nothing after the deadline that stands in it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.model import Intent, StepStatus
from reconciler.state import IntentEnding, Journal
from tests.harness import Org
from tests.small import settled, small


def test_a_run_that_is_held_up_past_its_deadline_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    org = Org(tmp_path)
    org.write(small())
    org.deadline = 0.05
    commit = Journal.commit

    def slowly(journal: Journal, intents: Sequence[Intent], endings: Sequence[IntentEnding]) -> tuple[Intent, ...]:
        written = commit(journal, intents, endings)
        time.sleep(0.06)
        return written

    with monkeypatch.context() as stopped:
        stopped.setattr(Journal, "commit", slowly)
        outcome = org.apply()
    assert {result.status for result in outcome.results} == {StepStatus.FAILED, StepStatus.SKIPPED}
    assert {method for method, _ in org.requests} == {"GET"}
    org.deadline = 30.0
    org.apply()
    settled(org)
