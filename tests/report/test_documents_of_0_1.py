"""Documents that version 0.1 wrote, before they were defined as types, are still read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.wiring import plan_file
from reconciler.report.schemas.documents import DOCUMENTS, problem
from reconciler.state import StateScope, Store
from tests.documents import valid

FOLDER = Path(__file__).parent / "documents_of_0_1"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def written(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


LATER = {"access", "findings", "fleet-approval", "fleet-audit", "fleet-plan", "fleet-status"}
"""Documents that were types from the beginning."""


def test_there_is_one_of_every_format() -> None:
    assert sorted(set(DOCUMENTS) - LATER) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_document_of_0_1_is_valid(name: str) -> None:
    assert problem(DOCUMENTS[name][1], written(name)) is None
    valid(written(name), name)


def test_a_saved_plan_of_0_1_is_read() -> None:
    assert plan_file.read(FOLDER / "saved-plan.json").document == written("saved-plan")


def test_a_state_of_0_1_can_be_pushed_and_comes_back_byte_for_byte(tmp_path: Path) -> None:
    found = written("state")
    scope = StateScope(found["project"], found["environment"], found["service"])
    with Store.open(f"sqlite:///{tmp_path}/state.db", scope, clock=lambda: datetime.now(UTC), create=True) as store:
        checked = store.check(found)
        with store.lease(who="ada@desk", command="state push") as journal:
            journal.replace(checked, force=False)
            journal.finish(exit_code=0, summary={})
        pulled: Any = store.pull()
    pulled["runs"] = pulled["runs"][: len(found["runs"])]  # the last one is the push
    assert json.dumps(pulled) == json.dumps(found)
