"""A node moves in the text with its comments: out of lines or braces, into lines or braces, into lists that are not there yet."""

from __future__ import annotations

import pytest

from reconciler.yamltext.move import Host, Moving
from reconciler.yamltext.tree import MarkedText, Untouchable

A = "content:\n  # of x\n  - x: 1  # behind\n    # in x\n    t: |\n      text\n\n  - y: 2\n  - {h: 1, t: T}  # h\n# end\n"


def moving(text: str, *names: str) -> Moving:
    return Moving({"a": MarkedText(text, {name: text.index(f"{name}: ") for name in names})})


def test_lines_go_into_braces_that_open_for_them() -> None:
    run = moving(A, "x", "y", "h")
    run.move("x", Host("h", True, "content"), behind=None)
    assert run.files["a"].text == (
        "content:\n  - y: 2\n  # h\n  - h: 1\n    t: T\n    content:\n      # of x\n      - x: 1  # behind\n        # in x\n"
        "        t: |\n          text\n# end\n"
    )
    run.move("x", Host("-", True, "content", ("y", "h")), behind="h")
    assert run.files["a"].text == (
        "content:\n  - y: 2\n  # h\n  - h: 1\n    t: T\n    content: []\n"
        "  # of x\n  - x: 1  # behind\n    # in x\n    t: |\n      text\n# end\n"
    )


def test_one_line_stays_in_braces_and_the_last_one_leaves_an_empty_list() -> None:
    run = moving("content:\n  - {y: 2}\n  - {h: 1, content: [{z: 1}]}\n", "y", "h", "z")
    run.move("y", Host("h", True, "content", ("z",)), behind=None)
    assert run.files["a"].text == "content:\n  - {h: 1, content: [{y: 2}, {z: 1}]}\n"
    run.move("z", Host("-", True, "content", ("h",)), behind="h")
    run.move("y", Host("-", True, "content", ("h", "z")), behind=None)
    assert run.files["a"].text == "content:\n  - {y: 2}\n  - {h: 1, content: []}\n  - {z: 1}\n"


def test_what_an_alias_repeats_is_not_moved() -> None:
    text = "x-a: &n {x: 1}\ncontent:\n  - *n\n  - {y: &t 2}\n  - {h: *t}\n"
    for name in ("x", "y"):
        with pytest.raises(Untouchable):
            moving(text, "x", "y", "h").move(name, Host("h", True, "content"), behind=None)
