"""`acceptance`: what is accepted without pydantic is what pydantic accepts, with the same result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NotRequired

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, ValidationError
from typing_extensions import TypedDict

from reconciler.address import Address
from reconciler.config.acceptance import UNSURE, acceptance
from reconciler.config.values import adapter
from reconciler.kinds import load
from reconciler.kinds._values import Email, MergeRules, Proxy, Uri
from reconciler.resource import Foreign, Len, Named, To

FIELDS = {f"{kind.name}.{name}": field.type for kind in load().values() for name, field in kind.fields.items() if field.written}
REFUSED = object()


class Point(TypedDict):
    """A map whose keys are declared."""

    y: int
    x: NotRequired[Annotated[str, Len(1, 3)]]


HINTS: dict[str, Any] = {
    **FIELDS,
    "Point": Point,
    "list of points": list[Point],
    "number": float,
    "whole number": int,
    "map of numbers": dict[str, int],
    "texts": frozenset[Annotated[str, Len(1)]],
    "any": Any,
    "number or nothing": int | None,
    "text or number": str | int,
    "of pydantic": Annotated[str, AfterValidator(str.upper)],
}
TEXTS = st.one_of(
    st.text(max_size=4),
    st.sampled_from(["", "admin", "read", "live", "en", "Title", "x" * 51, "\ud800", "é", "A@b.example", "inherit", "reviewers", "site"]),
    st.sampled_from(["https://acme.example/x", "acme.example/docs", "type", "url", "id", "enabled", "object", "document", "x", "y"]),
)
ATOMS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(), TEXTS)
DATA = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.frozensets(TEXTS, max_size=3),
        st.dictionaries(TEXTS, inner, max_size=3),
        st.fixed_dictionaries({}, optional={"x": inner, "y": inner, "id": TEXTS, "url": TEXTS, "site": inner, "enabled": st.booleans()}),
        st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(TEXTS, inner, max_size=2)}),
    ),
    max_leaves=5,
)


def validated(hint: Any, value: Any) -> Any:
    """What pydantic makes of it."""
    try:
        return adapter(hint).validator.validate_python(value, strict=True)
    except ValidationError:
        return REFUSED


@pytest.mark.parametrize("name", HINTS)
@given(value=DATA)
def test_what_is_accepted_pydantic_accepts_with_the_same_result(name: str, value: Any) -> None:
    accepted = acceptance(HINTS[name])(value)
    if accepted is not UNSURE:
        expected = validated(HINTS[name], value)
        assert accepted == expected or repr(accepted) == repr(expected)  # a number that is none equals nothing, not even itself
        assert type(accepted) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (Annotated[str, Len(0, 50)], "Title", "Title"),
        (Literal["live", "locked"], "live", "live"),
        (bool, True, True),
        (Email, "Ada@Acme.example", "ada@acme.example"),
        (Uri | None, None, None),
        (Proxy, "acme.example/docs", "acme.example/docs"),
        (Annotated[Address, To("space")], "guides", Named("space", "guides")),
        (Annotated[Address, To("space")], {"id": "spc_1"}, Foreign("spc_1", "space")),
        (frozenset[Annotated[Address, To("member")]], frozenset({"ada"}), frozenset({Named("member", "ada")})),
        (MergeRules, "inherit", {"type": "inherit"}),
        (Point, {"x": "a", "y": 1}, {"y": 1, "x": "a"}),
        (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
    ],
    ids=lambda part: str(part)[:40],
)
def test_what_projects_hold_is_accepted_without_pydantic(hint: Any, value: Any, expected: Any) -> None:
    assert acceptance(hint)(value) == expected


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Annotated[str, Len(0, 5)], "too long"),
        (Annotated[str, Len(1)], ""),
        (str, "\ud800"),
        (Literal["live", "locked"], "alive"),
        (bool, 1),
        (int, True),
        (float, 1),
        (Email, "ada"),
        (Annotated[Address, To("space")], 1),
        (Point, {"x": "a"}),
        (Point, {"y": 1, "z": 1}),
        (list[int], [1, "a"]),
        (dict[str, int], {"a": "b"}),
        (MergeRules, {"reviewers": [1]}),
        (str | int, "a"),
        (Annotated[str, AfterValidator(str.upper)], "a"),
        (NoneType, None),
    ],
    ids=lambda part: ascii(part)[:40],
)
def test_pydantic_is_asked_about_everything_else(hint: Any, value: Any) -> None:
    assert acceptance(hint)(value) is UNSURE


PROJECT = """
version: 1
project: acme
organizations:
  acme:
    id: org_acme
    title: Acme
    defaultRole: {role}
    members: {{ada@acme.example: admin}}
    teams: {{writers: {{title: Writers, members: [ada@acme.example]}}}}
    sites: {{docs: {{title: Docs, published: true, adaptiveContent: {{enabled: true}}, proxy: acme.example/docs}}}}
    content:
      - {{space: blank, id: spc_blank, title: Blank, mergeRules: {{reviewers: [ada@acme.example]}}}}
      - {{space: guides, title: Guides, duplicateOf: blank, language: en}}
"""
VALIDATE = """
import sys
from reconciler.cli import main
try:
    main(prog_name="reconciler")
finally:
    print("pydantic" in sys.modules, "pydantic_core" in sys.modules)
"""


@pytest.mark.parametrize(("role", "expected"), [("read", "False False"), ("reed", "True True")])
def test_pydantic_is_imported_where_a_value_is_wrong(tmp_path: Path, role: str, expected: str) -> None:
    (tmp_path / "reconciler.yaml").write_text(PROJECT.format(role=role), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", VALIDATE, "validate", str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == expected, done.stdout + done.stderr
