"""A condition on a claim that no visitor can have is an error with its place; one that may be right is a finding of lint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.config.test_what_the_service_takes import project
from tests.lint.test_rules import lint

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "partner": {"type": "boolean"},
        "plan": {"type": "string", "enum": ["free", "pro"]},
        "unsigned": {"type": "object", "properties": {"beta": {"type": "boolean"}}, "additionalProperties": False},
    },
    "additionalProperties": False,
}
OPEN = {key: value for key, value in CLOSED.items() if key != "additionalProperties"}


def organization(condition: str, schema: Any = CLOSED, *, variant: bool = False) -> dict[str, object]:
    """An organization with a condition on a section, or on a variant in one. `schema`: of its site, None if it is not managed."""
    hidden: dict[str, Any] = {"section": "hidden", "title": "Hidden", "spaces": [{"space": {"id": "spc_2"}, "key": "b"}]}
    (hidden["spaces"][0] if variant else hidden)["condition"] = condition
    start = {"section": "start", "title": "Start", "default": True, "spaces": [{"space": {"id": "spc_1"}, "key": "a"}]}
    site: dict[str, Any] = {"title": "Docs", "structure": [start, hidden]}
    return {"sites": {"docs": site if schema is None else {**site, "adaptiveSchema": schema}}}


UNKNOWN = [
    "!visitor.claims.partnr",
    "visitor.claims.partnr || true",
    "!(visitor.claims.partner && !visitor.claims.partnr)",
    'visitor.claims["partnr"] == true',
    '"pro" in visitor.claims.plans',
    "visitor.claims.unsigned.betta",
    "visitor.claims.partner.name",
    "visitor.claims.Partner",
]


@pytest.mark.parametrize("variant", [False, True], ids=["section", "variant"])
@pytest.mark.parametrize("condition", UNKNOWN)
def test_a_claim_that_a_closed_schema_lacks_is_an_error(tmp_path: Path, condition: str, variant: bool) -> None:
    with pytest.raises(ConfigError) as refused:
        load(project(tmp_path, organization(condition, variant=variant)), kinds())
    (message,) = str(refused.value).splitlines()
    assert message.startswith("reconciler.yaml:")
    assert "condition depends on a claim that no visitor has: the schema of claims has no visitor.claims" in message
    assert [problem.id for problem in refused.value.problems] == ["RC-unknown-claim"]


def test_a_misspelled_claim_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='did you mean "partner"'):
        load(project(tmp_path, organization("!visitor.claims.partnr")), kinds())


@pytest.mark.parametrize(
    ("condition", "schema", "rules"),
    [
        ("visitor.claims.partner", CLOSED, []),
        ("visitor.claims.unsigned.beta", CLOSED, []),
        ("!visitor.claims.partnr", None, []),
        ("!visitor.claims.partnr", OPEN, ["undeclared-claim"]),
        ("visitor.claims.unsigned.betta", None, []),
        ('visitor.claims.plan != "prro"', CLOSED, ["undeclared-claim"]),
        ('visitor.claims.partner == "true"', CLOSED, ["undeclared-claim"]),
        ("visitor.claims.partner ==", CLOSED, ["unclear-condition"]),
        ("visitor.claims.partner = true", CLOSED, ["unclear-condition"]),
        ("vistor.claims.partner", CLOSED, ["unclear-condition"]),
        ("(visitor.claims.partner", None, ["unclear-condition"]),
        ("visitor.claims.plan == pro", None, ["unclear-condition"]),
        ("1 == 1", None, ["constant-condition"]),
        ("!visitor.claims.partner || true", CLOSED, ["constant-condition"]),
        ("visitor.claims.partner && !visitor.claims.partner", CLOSED, ["constant-condition"]),
    ],
)
def test_what_may_hide_nothing_is_a_finding(tmp_path: Path, condition: str, schema: Any, rules: list[str]) -> None:
    loaded = load(project(tmp_path, organization(condition, schema)), kinds())
    problems = [finding for finding in lint(loaded) if "condition" in finding.message]
    assert [finding.id for finding in problems] == [f"RC-{rule}" for rule in rules]
    assert all(finding.source is not None and finding.source.line > 5 and finding.remedy for finding in problems)
