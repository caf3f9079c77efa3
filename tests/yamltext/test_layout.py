"""The canonical layout: whatever it is given, what it says and its comments stay, and laying out twice is laying out once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.config.keys import TOP
from reconciler.config.source.nodes import List, Map, Node, Scalar
from reconciler.config.source.reader import read
from reconciler.errors import ReconcilerError
from reconciler.kinds import load
from reconciler.yamltext.format import document, layout

SHAPE = document(load(), TOP)
KEYS = [
    "id",
    "key",
    "title",
    "space",
    "default",
    "content",
    "sites",
    "structure",
    "spaces",
    "members",
    "prune",
    "x-a",
    "visibility",
    "other",
]
SCALARS = [
    "007", "no", '"no"', "1.10", "null", "~", '"Guides"', "'it''s'", "Guides", "${{ vars.x }}", "é 🚀", '"a b"', '"#x"', "[]", "{}",
    '"2020-01-01"', "2020-01-01", "a#b", '"a\\tb"', '"- x"', "'*x'", "true", "-1", '"x: y"', "{a: 1, title: b}", "[a, 'b', {c: d}]",
]  # fmt: skip


def meaning(text: str) -> Any:
    """What our own reader makes of a text: quotes only where they change a type."""

    def of(node: Node) -> Any:
        match node:
            case Map():
                return {key: of(entry.node) for key, entry in node.entries.items()}
            case List():
                return [of(item) for item in node.items]
            case Scalar():
                return node.empty, node.core() if node.plain else node.text, type(node.core()).__name__
        raise AssertionError(node)

    found = read(text.encode(), "f.yaml")
    assert found.problems == ()
    assert found.data is not None
    return of(found.data)


def order(text: str, pattern: str) -> list[str]:
    return re.findall(pattern, text, flags=re.MULTILINE)


# -- any text -----------------------------------------------------------------------------------------------------------------------


@st.composite
def lines(draw: st.DrawFn, depth: int = 0, indent: int = 0, *, items: bool = False) -> list[str]:
    """A map or a list in lines, indented and commented at random."""
    made: list[str] = []
    pad = " " * indent
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True)):
        for _ in range(draw(st.integers(0, 2))):
            deeper = draw(st.sampled_from([0, 0, 0, 1, 3]))
            made.append(draw(st.sampled_from(["", f"{pad}{' ' * deeper}# over {key} {depth}"])))
        remark = draw(st.sampled_from(["", "", "  # behind", " # near"]))
        begin = f"{pad}-" if items else f"{pad}{key}:"
        step = draw(st.integers(1, 4))
        match draw(st.sampled_from(["scalar", "scalar", "map", "list", "bar", "flow"])) if depth < 3 else "scalar":
            case "scalar":
                made.append(f"{begin} {draw(st.sampled_from(SCALARS))}{remark}")
            case "map":
                made += [f"{begin}{remark}", *draw(lines(depth + 1, indent + step))]
            case "list":
                made += [f"{begin}{remark}", *draw(lines(depth + 1, indent + step, items=True))]
            case "bar":
                mark = draw(st.sampled_from(["|", ">", "|-", "|+", ">-"]))
                inner = " " * (indent + step)
                made += [f"{begin} {mark}{remark}", f"{inner}one", "", f"{inner}  two", *([""] if draw(st.booleans()) else [])]
            case _:
                inner = " " * (indent + step)
                made += [
                    f"{begin} {{a: 1,{remark}",
                    f"{inner}# inside",
                    f'{inner}title: "x", b: [1,',
                    f"{inner}  two]{remark}",
                    f"{inner}}}{remark}",
                ]
    if draw(st.booleans()):
        made.append(f"{pad}# after {depth}")
    return made


@given(lines())
def test_layout_is_idempotent_and_keeps_what_is_said_and_every_comment(made: list[str]) -> None:
    text = "\n".join(made) + "\n"
    before = meaning(text)
    once = layout(text, SHAPE)
    assert meaning(once) == before
    assert sorted(order(once, r"(?<!\S)#.*")) == sorted(order(text, r"(?<!\S)#.*"))
    assert layout(once, SHAPE) == once


@given(lines())
def test_a_comment_above_a_key_stays_above_it(made: list[str]) -> None:
    text = "\n".join(made) + "\n"
    named = "# head\n\n" + re.sub(r"^( *)(id|key|title|space|default): (\S.*)$", r"\1# of \2 \3\n\1\2: \3", text, flags=re.MULTILINE)
    once = layout(named, SHAPE)
    for line, below in zip(once.splitlines(), once.splitlines()[1:], strict=False):
        if found := re.match(r" *# of (\w+) ", line):
            assert re.match(rf" *(- )*(# |{found[1]}:)", below), once


# -- what it looks like -------------------------------------------------------------------------------------------------------------

BEFORE = """\
# head
version: 1
organizations:
    acme:
        # about ai
        ai: true   # behind ai
        title: "Acme"
        id: 'org_acme'
        teams:
            writers: {members: [ada@acme.example],   title: 'Writers'}
        content:
        - title: Guides
          # the key
          space: guides

          # comes late


          protect: false
        # after the last
        - {title: "007", space: other}
project: acme
state: "sqlite:///x.db"
"""

AFTER = """\
# head
version: 1
project: acme
state: "sqlite:///x.db"

organizations:
  acme:
    id: org_acme
    title: Acme
    # about ai
    ai: true   # behind ai
    teams:
      writers: {title: Writers, members: [ada@acme.example]}
    content:
      # the key
      - space: guides
        title: Guides

        # comes late

        protect: false
      # after the last
      - {space: other, title: "007"}
"""


def test_keys_have_the_order_of_the_declarations_with_their_comments() -> None:
    assert layout(BEFORE, SHAPE) == AFTER


@pytest.mark.parametrize(
    "scalar", ["007", "no", "1.10", "0x1F", "null", "~", '"007"', '"no"', "'1.10'", '"null"', '"y"', "1e3", "2020-01-01"]
)
def test_scalars_that_could_be_taken_for_something_else_are_not_touched(scalar: str) -> None:
    assert layout(f"title:   {scalar}\n", SHAPE) == f"title: {scalar}\n"


@pytest.mark.parametrize(
    ("written", "wanted"), [('"Guides"', "Guides"), ("'a b'", "a b"), ('"a: b"', '"a: b"'), ('"#a"', '"#a"'), ('""', '""')]
)
def test_quotes_that_change_nothing_go(written: str, wanted: str) -> None:
    assert layout(f"title: {written}\n", SHAPE) == f"title: {wanted}\n"


def test_a_flow_map_that_does_not_fit_is_written_in_lines() -> None:
    long = "x" * 130
    assert layout(f"x-a: {{id: a, title: {long}}}\n", SHAPE) == f"x-a:\n  id: a\n  title: {long}\n"


def test_line_ends_and_a_byte_order_mark_are_settled() -> None:
    assert layout("\ufeffversion: 1\r\nproject: x", SHAPE) == "version: 1\nproject: x\n"


def test_an_alias_never_comes_before_its_anchor() -> None:
    text = "organizations:\n  acme:\n    ai: &on true\n    id: *on\n"
    assert layout(text, SHAPE) == text


def test_what_cannot_be_laid_out_safely_is_refused() -> None:
    with pytest.raises(ReconcilerError, match="without changing its meaning"):
        layout("? [a, b]\n: c\n", SHAPE)


def test_comments_inside_braces_stay_with_the_value_before_them() -> None:
    before = "x-a: [  # all\n  one, # first\n  # above two\n  {b: c}, # second\n]  # end\n"
    after = "# end\nx-a:  # all\n  - one  # first\n  # above two\n  - {b: c}  # second\n"
    assert layout(before, SHAPE) == after
