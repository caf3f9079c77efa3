"""A secret never reaches a policy or its message, and no expression takes long, however it is written."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from reconciler.policies.judge import judge
from reconciler.policies.scene import of_configuration
from tests.config.test_kinds_of_others import HEAD, KINDS
from tests.effort import within
from tests.proofs import spread

TODAY = date(2026, 11, 23)
BED = "    beds: [{bed: a, alarm: '${{ vars.code }}'}]\n"


def violations(folder: Path, test: str, message: str = "m") -> list[str]:
    """The messages of a policy on the beds of a garden whose alarm has a secret code."""
    policy = f"policies: [{{id: x, on: [bed], assert: '${{{{ {test} }}}}', message: '{message}'}}]\n"
    (folder / "reconciler.yaml").write_text(HEAD + BED + policy, encoding="utf-8")
    desired = load(folder, KINDS, environ={"RECONCILER_VAR_CODE": "hunter2"}).desired
    problems = judge(desired.policies, of_configuration(KINDS, desired), environment=None, today=TODAY)
    return [violation.message for violation in problems.violations]


@pytest.mark.parametrize("use", ["after.alarm == 1", 'after["alarm"] == 1', 'others("alarm") == 0'])
def test_a_sensitive_field_cannot_be_named(use: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sensitive|no field"):
        violations(tmp_path, use)


@pytest.mark.parametrize("way", ['after["al" ~ "arm"]', "after | tojson", "after.values() | tojson", "after.items() | first | last"])
def test_no_way_around_leads_to_it(way: str, tmp_path: Path) -> None:
    for test, message in ((f"{way} == 1", "m"), ("address == 1", f"${{{{ {way} }}}}")):
        assert "hunter2" not in "".join(violations(tmp_path, test, message))


ENDLESS = (
    "range(0, 99999) | length == 1",
    '("x" * 900000) | length == 1',
    "range(0, 99999) | sort | reverse | first == 1",
    "9 ** 9 ** 9 == 1",
    '(("x" * 900000) | replace("x", "y")) == "a"',
    "range(0, 90000) | join(vars.long) | length == 1",
)


@pytest.mark.parametrize("test", spread(ENDLESS, 3))
def test_many_resources_and_an_expression_that_does_much_end_in_two_seconds(test: str, tmp_path: Path) -> None:
    teams = "".join(f"      t{number}: {{title: T}}\n" for number in range(3_000))
    head = "version: 1\nproject: p\nvars: {long: {default: abc}}\norganizations:\n  acme:\n    id: org_acme\n    teams:\n"
    policy = f"policies: [{{id: x, on: [team], assert: '${{{{ {test} }}}}', message: m}}]\n"
    (tmp_path / "reconciler.yaml").write_text(head + teams + policy, encoding="utf-8")
    desired = load(tmp_path, kinds()).desired
    scene = of_configuration(kinds(), desired)
    problems = within(2.0, lambda: judge(desired.policies, scene, environment=None, today=TODAY))
    assert len(problems.violations) == 3_000
