"""The tour: one call of every operation, whose answers are the examples of the document."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import Box
from tests.sandbox.described import check

ROOT = Path(__file__).parents[2]
REFERENCE = (Path(__file__).parent / "operations.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def tour() -> Any:
    spec = importlib.util.spec_from_file_location("tour", ROOT / "schemas" / "tour.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules["tour"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def stops(tour: Any) -> Any:
    return tour.tour()


def test_the_tour_calls_every_operation_of_the_reference(stops: Any) -> None:
    assert {f"{one.method} /v1{one.path}" for one in stops} == set(REFERENCE)


def test_every_answer_of_the_tour_is_as_the_document_says(stops: Any, box: Box) -> None:
    for one in stops:
        check(box.app, one.method, f"/v1{one.path}", one.status, one.answer)


def test_the_examples_of_the_document_are_what_the_service_answers_today(tour: Any, box: Box) -> None:
    kept = json.loads((ROOT / "reconciler" / "sandbox" / "document" / "examples.json").read_text(encoding="utf-8"))
    assert kept == tour.examples(), "run: python schemas/generate.py"
    described = box.app.openapi()["paths"]
    for operation, example in kept.items():
        method, path = operation.split()
        found = described[f"/v1{path}"][method.lower()]
        if "request" in example:
            assert found["requestBody"]["content"]["application/json"]["example"] == example["request"]
        answers = [one for status, one in found["responses"].items() if status.startswith("2")]
        assert all(("example" in answer.get("content", {}).get("application/json", {})) == ("answer" in example) for answer in answers)


def test_no_example_holds_what_a_secret_looks_like(tour: Any) -> None:
    text = json.dumps(tour.examples())
    assert "?key=(hidden)" in text
    assert "eyJ" not in text
