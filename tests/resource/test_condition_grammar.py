"""Conditions are read as the sandbox reads them, which shares no code with the program; whom one keeps out is never guessed too low."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reconciler.resource.conditions import (
    Claim,
    ConditionError,
    claim_mistakes,
    claims_in,
    evaluated,
    excludes_everybody,
    excludes_nobody,
    mistake,
    parsed,
    truth,
)
from reconciler.sandbox.sites.conditions import NotEvaluable, holds as served, parsed as parsed_by_the_service
from tests.proofs import costly

CLAIMS = (
    "visitor.claims.plan",
    "visitor.claims.staff",
    'visitor.claims["team"].name',
    "visitor.claims.unsigned.beta",
    "visitor.claims.tags",
)
VALUES = ('"pro"', "'free'", "1", "2.5", "-3", "true", "false", "null", "undefined", '""', '["pro", 1]', "[]", '"a\\"b"')
PIECES = (
    *CLAIMS,
    *VALUES,
    "==",
    "===",
    "!=",
    "!==",
    "in",
    "!",
    "(",
    ")",
    "&&",
    "||",
    "vistor",
    "visitor",
    ".",
    "[",
    "]",
    ",",
    "=",
    ">",
    "'",
    "x",
)
GIVEN: tuple[dict[str, Any], ...] = (
    {},
    {"plan": "pro", "tags": ["pro"]},
    {"plan": "free", "staff": True, "unsigned": {"beta": "pro"}},
    {"plan": "", "staff": False, "tags": []},
    {"plan": 1, "team": {"name": "pro"}},
    {"plan": ["pro", 1], "team": "pro", "unsigned": {"beta": True}},
)


def condition(chance: random.Random, depth: int = 0) -> str:
    """A condition that has a meaning."""
    match chance.randrange(8 if depth < 4 else 4):
        case 0 | 1:
            return chance.choice(CLAIMS)
        case 2 | 3:
            return f"{part(chance)} {chance.choice(('==', '===', '!=', '!==', 'in'))} {part(chance)}"
        case 4:
            return f"!{part(chance)}"
        case 5:
            return f"!({condition(chance, depth + 1)})"
        case _:
            return f"({condition(chance, depth + 1)}) {chance.choice(('&&', '||'))} {condition(chance, depth + 1)}"


def part(chance: random.Random) -> str:
    return chance.choice((*CLAIMS, *VALUES))


def by_path(text: str, claims: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """The values of the claims in a condition, by path."""
    found = {}
    for claim, _ in claims_in(text):
        value: Any = claims
        for name in claim.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        found[claim.path] = value
    return found


def visitors(text: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Visitors by their signed claims, each with what the visitor can set."""
    values: list[Any] = ["pro", "free", 1, 2.5, -3, True, False, None, "", "other", 'a"b', "1"]
    own = [{}, *({"beta": value} for value in (*values, *([value] for value in values), [], [[]], ["pro", 1], [["pro", 1]]))]
    for given in GIVEN:
        signed = {name: value for name, value in given.items() if name != "unsigned"}
        yield signed, own


def test_a_condition_is_evaluated_as_the_service_evaluates_it() -> None:
    chance = random.Random(7)
    for _ in range(3_000):
        text = condition(chance)
        for claims in GIVEN:
            assert truth(evaluated(parsed(text), by_path(text, claims))) == served(text, claims), (text, claims)


def test_what_the_service_cannot_read_has_no_meaning_and_the_reverse() -> None:
    chance, without = random.Random(8), 0
    for number in range(6_000):
        text = (" " if number % 2 else "").join(chance.choice(PIECES) for _ in range(chance.randrange(1, 8)))
        if number % 3 == 0:
            whole = condition(chance)
            at = chance.randrange(len(whole))
            text = whole[:at] + chance.choice(("", *PIECES)) + whole[at + chance.randrange(3) :]
        try:
            parsed_by_the_service(text)
            known = True
        except NotEvaluable:
            known = False
        assert (mistake(text) is None) == known, text
        without += not known
    assert 1_000 < without < 5_900


@costly
def test_who_excludes_nobody_admits_every_visitor_of_the_service() -> None:
    chance, open, closed = random.Random(9), 0, 0
    for _ in range(2_000):
        text = condition(chance)
        if excludes_nobody(text):
            open += 1
            for signed, own in visitors(text):
                assert any(served(text, {**signed, "unsigned": chosen}) for chosen in own), (text, signed)
        if excludes_everybody(text):
            closed += 1
            assert not any(served(text, {**signed, "unsigned": chosen}) for signed, own in visitors(text) for chosen in own), text
    assert open > 100
    assert closed > 50


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "1 == 1",
        '"a" == "a"',
        "!false",
        "!visitor.claims.x || true",
        "visitor.claims.x || !visitor.claims.x",
        "visitor.claims.x == visitor.claims.x",
        '(visitor.claims.plan == "a") || (visitor.claims.plan != "a")',
        "!(visitor.claims.x && !visitor.claims.x)",
        "visitor.claims.unsigned.beta",
        'visitor.claims["unsigned"].beta',
        "visitor . claims . unsigned . beta",
        '!visitor.claims.unsigned.beta && visitor.claims.unsigned.plan == "pro"',
        "visitor.claims.staff || visitor.claims.unsigned.beta",
        "1 in [1]",
    ],
)
def test_a_condition_that_everybody_meets_excludes_nobody(text: str) -> None:
    assert excludes_nobody(text)


@pytest.mark.parametrize(
    "text",
    [
        "visitor.claims.partner",
        "!visitor.claims.partner",
        'visitor.claims.plan != "free"',
        "visitor.claims.partner && visitor.claims.unsigned.beta",
        "visitor.claims.unsigned.beta && !visitor.claims.unsigned.beta",
        "visitor.claims.unsignedx",
        '"unsigned" == visitor.claims.plan',
        'visitor.claims.plan == "visitor.claims.unsigned.x"',
        "1 == 2",
        "vistor.claims.x",
        "visitor.claims.x ==",
        "visitor.claims.level > 3",
        "",
    ],
)
def test_a_condition_that_keeps_somebody_out_or_that_is_unknown_does_not_count_as_open(text: str) -> None:
    assert not excludes_nobody(text)


@pytest.mark.parametrize(
    "text", ["false", "1 == 2", "null", "visitor.claims.x && !visitor.claims.x", 'visitor.claims.plan == "a" && visitor.claims.plan == "b"']
)
def test_a_condition_that_nobody_can_meet_excludes_everybody(text: str) -> None:
    assert excludes_everybody(text)
    assert not excludes_nobody(text)


def test_a_condition_with_many_claims_is_judged_by_its_parts() -> None:
    many = [f"visitor.claims.c{index} == {index}" for index in range(20)]
    assert excludes_nobody(" || ".join([*many, "true"]))
    assert excludes_nobody(" || ".join([*many, "visitor.claims.unsigned.x"]))
    assert not excludes_nobody(" || ".join(many))
    assert not excludes_nobody(" && ".join([*many, "true"]))
    assert not excludes_everybody(" && ".join(many))


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("visitor.claims.partner ==", "it ends too early", 25),
        ("visitor.claims.partner = true", "= is not part of any condition", 23),
        ("vistor.claims.partner", "vistor is not known", 0),
        ("(visitor.claims.partner", ") is missing", 23),
        ("visitor.claims.partner)", ") is unexpected", 22),
        ('visitor.claims.plan == "pro', '" without its end', 23),
        ("visitor.claims.plan == pro", "pro is not known", 23),
        ("visitor.partner", "only visitor.claims.NAME", 0),
        ("visitor.claims.", "a name is missing", 15),
        ("visitor.claims[plan]", "a name in quotes is missing", 15),
        ("visitor.claims.a visitor.claims.b", "visitor is unexpected", 17),
        ("visitor.claims.a & visitor.claims.b", "& is not part", 17),
        ("visitor.claims.a and visitor.claims.b", "and is unexpected", 17),
        ("not visitor.claims.a", "not is not known", 0),
        ("&& visitor.claims.a", "a value is missing before &&", 0),
        ("visitor.claims.level > 3", "> is not known", 21),
        ("", "it ends too early", 0),
        ("(" * 60 + "1" + ")" * 60, "more than 50", 50),
    ],
)
def test_a_condition_without_meaning_is_explained_with_its_place(text: str, message: str, at: int) -> None:
    wrong = mistake(text)
    assert wrong is not None
    assert message in str(wrong)
    assert wrong.at == at
    if ">" not in text:
        with pytest.raises(ConditionError):
            parsed(text)


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "partner": {"type": "boolean"},
        "plan": {"type": "string", "enum": ["free", "pro"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "team": {"type": "object", "properties": {"name": {"type": "string"}}},
        "unsigned": {"type": "object", "properties": {"beta": {"type": "boolean"}}, "additionalProperties": False},
    },
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("!visitor.claims.partner && visitor.claims.unsigned.beta", []),
        ("!visitor.claims.partnr", [(True, True)]),
        ("(1 == 1) || !(visitor.claims.partnr)", [(True, True)]),
        ('visitor.claims["partnr"] == true', [(True, True)]),
        ("visitor.claims.unsigned.betta", [(True, True)]),
        ("visitor.claims.team.nam", [(True, False)]),
        ("visitor.claims.partner.x", [(True, True)]),
        ('visitor.claims.plan != "prro"', [(False, True)]),
        ('visitor.claims.plan in ["free", "max"]', [(False, True)]),
        ('"max" in visitor.claims.tags', []),
        ("1 in visitor.claims.tags", [(False, True)]),
        ('visitor.claims.partner == "true"', [(False, True)]),
        ("visitor.claims.plan == null", []),
        ("visitor.claims.a || visitor.claims.a || visitor.claims.b", [(True, True), (True, True)]),
        ("vistor.claims.a", []),
    ],
)
def test_claims_and_values_are_compared_with_the_schema(text: str, found: list[tuple[bool, bool]]) -> None:
    assert [(wrong.unknown, wrong.closed) for wrong in claim_mistakes(text, SCHEMA)] == found


def test_a_claim_is_shown_as_it_is_written() -> None:
    assert str(Claim(("team", "first name"))) == 'visitor.claims.team["first name"]'
