"""The table of keys: what it says is what files may contain, what editors know and what a run is limited by."""

from __future__ import annotations

from dataclasses import fields

import pytest

from reconciler.config.keys import ENVIRONMENT, GUARDS, PROJECT, TOP, Key
from reconciler.config.schemas.document import schema
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map
from reconciler.config.source.problems import Problems
from reconciler.config.source.reader import read
from reconciler.kinds import load
from reconciler.model import Guards


def values(text: str) -> tuple[dict[str, object], list[str]]:
    """The values of the keys of guards in a text, and what is wrong with it."""
    problems, document = Problems([]), read(text.encode(), "reconciler.yaml").data
    assert isinstance(document, Map)
    return KeyReader("", document.entries, problems).map(GUARDS), [problem.message for problem in problems.found]


def test_each_guard_is_a_field_of_the_limits_of_a_run() -> None:
    names, problems = values("prune: {}")
    assert Guards(**names) == Guards()  # type: ignore[arg-type]
    assert (set(names), problems) == ({field.name for field in fields(Guards)}, [])


def test_a_key_of_a_map_is_read_by_its_row() -> None:
    names, problems = values("guards: {maxDelete: {percent: 5, atLeast: 1.5}, minAdmin: 2}")
    assert (names["max_delete_percent"], names["max_delete_at_least"]) == (5.0, 3)
    assert problems == [
        "guards.maxDelete.atLeast must be a whole number, not 1.5",
        'unknown key "minAdmin" in guards; did you mean "minAdmins"?',
    ]


@pytest.mark.parametrize(("file", "keys"), [("project", PROJECT), ("environment", ENVIRONMENT)])
def test_editors_know_every_key_with_its_sentence(file: str, keys: tuple[Key, ...]) -> None:
    known = schema(load())["$defs"][file]["properties"]
    assert {key.name: key.doc for key in keys} == {key.name: known[key.name].get("description", "") for key in keys}


def test_the_order_of_the_rows_is_that_in_which_files_are_formatted() -> None:
    assert [*schema(load())["$defs"]["project"]["properties"]][: len(TOP)] == list(TOP)
