"""Small wrong changes: each is one edit of a function that still compiles, and one that a test notices is reported with that test."""

from __future__ import annotations

import ast

import pytest

from reconciler.text.names import is_canonical
from tests.mutations.changes import Change, changes, room_of
from tests.mutations.trials import PACKAGE, Trials

SOURCE = b"""
def f(a, b=1, *, c: int = 2):
    \"\"\"A text.\"\"\"
    if a and not b:
        print(f"{a == b}")
        return [x for x in a if x > 1]
    a += 1
    return any(a) or [1, 2]
"""


def test_these_changes_and_no_others_can_be_made_in_a_function() -> None:
    assert [f"{change.old} -> {change.new}" for change in changes("m.py", SOURCE)] == [
        "a and (not b) -> (not (a and (not b)))",
        "a and (not b) -> (a or not b)",
        "a and (not b) -> (not b)",
        "a and (not b) -> (a)",
        "not b -> (b)",
        "print(f'{a == b}') -> pass",
        "x > 1 -> (True)",
        "x > 1 -> (x >= 1)",
        "1 -> (2)",
        "a += 1 -> pass",
        "1 -> (2)",
        "any(a) or [1, 2] -> (any(a) and [1, 2])",
        "any(a) or [1, 2] -> ([1, 2])",
        "any(a) or [1, 2] -> (any(a))",
        "any(a) -> (all(a))",
        "[1, 2] -> ([2])",
        "[1, 2] -> ([1])",
        "1 -> (2)",
        "2 -> (3)",
    ]
    for change in changes("m.py", SOURCE):
        ast.parse(change.applied(SOURCE))


@pytest.mark.parametrize(
    ("module", "room"), [("plan/steps/graph.py", "plan"), ("features/urls/plan/groups.py", "features/urls"), ("address.py", "words")]
)
def test_the_room_of_a_module_is_a_folder_of_the_kernel_or_a_feature(module: str, room: str) -> None:
    assert room_of(module) == room


def test_a_change_is_reported_with_the_test_that_notices_it_and_leaves_this_process_as_it_was() -> None:
    module = "text/names.py"
    changed = next(change for change in changes(module, (PACKAGE / module).read_bytes()) if change.old == "text == text.strip()")
    reported: dict[Change, str | None] = {}
    test = "tests/mutations/test_mutations.py::test_white_space_at_the_ends_is_not_canonical"
    words = ["-q", "--no-header", "-p", "no:xdist", __file__, "-k", "white_space"]
    pytest.main(words, plugins=[Trials([(changed, [test])], reported.__setitem__)])
    assert reported == {changed: test}
    test_white_space_at_the_ends_is_not_canonical()


def test_white_space_at_the_ends_is_not_canonical() -> None:
    assert [is_canonical(text) for text in ("a b", " a", "a ")] == [True, False, False]
