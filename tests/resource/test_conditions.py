"""Conditions on visitors: what is decided is what the sandbox evaluates; what is not understood is not decided."""

from __future__ import annotations

import random
from typing import Any

import pytest

from reconciler.resource.conditions import holds, names
from reconciler.sandbox.sites.conditions import holds as served

VALUES = ('"pro"', '"free"', "'pro'", "1", "2.5", "true", "false", "null", '""')
SIGNS = ("==", "===", "!=")
CLAIMS: tuple[dict[str, Any], ...] = (
    {},
    {"plan": "pro"},
    {"plan": "free", "staff": True},
    {"plan": "", "staff": False},
    {"plan": 1, "seats": 2.5},
    {"team": {"name": "pro"}},
)


def condition(chance: random.Random, depth: int = 0) -> str:
    claim = "visitor.claims." + chance.choice(("plan", "staff", "seats", "team.name"))
    match chance.randrange(7 if depth < 3 else 4):
        case 0:
            return claim
        case 1 | 2:
            return f"{claim} {chance.choice(SIGNS[:2])} {chance.choice(VALUES)}"
        case 3:
            return f"{claim} {chance.choice(SIGNS)} {chance.choice(VALUES)}"
        case 4 if depth % 2:
            return f"{claim} in [{chance.choice(VALUES)}, {chance.choice(VALUES)}]"
        case 4:
            return f"!({condition(chance, depth + 1)})"
        case _:
            return f"({condition(chance, depth + 1)}) {chance.choice(('&&', '||'))} {condition(chance, depth + 1)}"


def test_what_is_decided_of_a_condition_is_what_the_service_evaluates() -> None:
    chance, decided = random.Random(4), 0
    for _ in range(2_000):
        text = condition(chance)
        for claims in CLAIMS:
            result = holds(text, claims)
            decided += result is not None
            assert result is None or result == served(text, claims), (text, claims)
    assert decided > 3_000


@pytest.mark.parametrize(
    ("text", "claims", "result"),
    [
        ('visitor.claims.plan == "pro"', {"plan": "pro"}, True),
        ('visitor.claims.plan == "pro"', {"plan": "free"}, False),
        ('visitor.claims.plan == "pro"', {}, False),
        ('visitor.claims.plan == "1"', {"plan": 1}, None),
        ('visitor.claims.plan != "free"', {}, None),
        ("visitor.claims.staff", {}, False),
        ("visitor.claims.staff", {"staff": True}, True),
        ("visitor.claims.staff && visitor.claims.level > 3", {}, False),
        ("visitor.claims.staff && visitor.claims.level > 3", {"staff": True}, None),
        ("visitor.claims.staff || visitor.claims.level > 3", {"staff": True}, True),
        ('visitor.claims.plan in ["pro", "max"]', {"plan": "max"}, True),
        ('visitor.claims["plan"] in ["pro", "max"]', {"plan": "free"}, False),
        ('"pro" === visitor.claims.plan', {"plan": "pro"}, True),
        ("visitor.claims.plan == null", {}, None),
        ("!visitor.claims.staff", {}, None),
        ('visitor.claims.unsigned.beta == "yes"', {}, None),
        ("true", {}, None),
        ("visitor.claims.staff visitor.claims.plan", {"staff": True}, None),
        ("(" * 60 + "visitor.claims.staff" + ")" * 60, {}, None),
        ("", {}, None),
        ("visitor.claims.", {}, None),
    ],
)
def test_a_condition_is_decided_by_equality_only(text: str, claims: dict[str, Any], result: bool | None) -> None:
    assert holds(text, claims) is result


def test_the_claims_that_a_condition_names_are_known_without_those_that_visitors_set() -> None:
    text = """visitor.claims.plan == "pro" && visitor.claims["team"] in ["a"] || visitor.claims.unsigned.beta"""
    assert list(names(text)) == ["plan", "team"]
