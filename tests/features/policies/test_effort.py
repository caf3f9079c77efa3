"""10,000 resources and 20 policies take little more than a second of CPU: every expression is compiled once, and no process is started.

A secret never reaches a policy or its message, and no expression takes long, however it is written.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from reconciler.address import Address
from reconciler.config import load
from reconciler.config.language.compiled import compiled
from reconciler.errors import ConfigError
from reconciler.features.policies.judge import judge
from reconciler.features.policies.planned import of_plan
from reconciler.features.policies.scene import of_configuration
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Observed, Plan
from tests.config.test_kinds_of_others import HEAD, KINDS
from tests.effort import calls, within
from tests.proofs import costly, sampled, spread, tries

TODAY = date(2026, 11, 23)
TESTS = (
    'env.name != "staging" or after.title != "x"', 'others("title") == 0', "after.title | length <= 60", 'address.startswith("acme/")',
    'action in ["keep", "update"]', "before is none or before.title == after.title", 'kind == "team"', 'not after.title.endswith("!")',
    'count("delete") == 0', 'today > "2026-01-01"',
)  # fmt: skip


def project(root: Path, size: int) -> Desired:
    """So many teams, and each of the tests twice. One team is loaded; the others are made of it, which is no part of what is measured."""
    rows = ["      t0: {title: Team 0}", "policies:"]
    for number, test in enumerate(TESTS * 2):
        on = "team" if number < len(TESTS) else "acme/team/*"
        rows += [f"  - {{id: p{number}, on: ['{on}'], assert: '${{{{ {test} }}}}', message: m}}"]
    head = "version: 1\nproject: p\norganizations:\n  acme:\n    id: org_acme\n    teams:\n"
    (root / "reconciler.yaml").write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    desired = load(root, kinds()).desired
    acme = Address(("acme",))
    first = desired.resources[acme.child("team", "t0")]
    resources = {acme: desired.resources[acme]}
    for number in range(size):
        address = acme.child("team", f"t{number}")
        resources[address] = replace(first, address=address, values={**first.values, "title": f"Team {number}"})
    return replace(desired, resources=resources)


def planned(desired: Desired) -> tuple[Actual, Plan]:
    """A plan that changes nothing, and the teams as the service shows them."""
    objects = {}
    ids: dict[Address, str | None] = {}
    for address, declared in desired.resources.items():
        id = f"{declared.kind}_{address.key}"
        ids[address] = id
        values = {"title": declared.values.get("title")}
        objects.setdefault(declared.kind, {})[id] = Observed(declared.kind, id, values, {"organization": "organization_acme"}, {"id": id})
    return Actual(objects), Plan("p", None, objects=ids)


@sampled
def test_ten_thousand_resources_and_twenty_policies_take_few_seconds(tmp_path: Path) -> None:
    number = tries(10_000, 2_000)
    desired = project(tmp_path, number)
    actual, plan = planned(desired)
    compiled.cache_clear()

    def evaluate() -> int:
        problems = judge(desired.policies, of_plan(kinds(), desired, actual, plan), environment=None, today=TODAY)
        assert problems.violations == ()
        return problems.evaluations

    assert within(3.0, evaluate) == 20 * number
    assert compiled.cache_info().misses == len(TESTS)

    def by_configuration() -> int:
        return judge(desired.policies, of_configuration(kinds(), desired), environment=None, today=TODAY).evaluations

    assert within(3.0, by_configuration) == 14 * number  # without those that ask about the plan


def test_the_work_grows_with_the_resources(tmp_path: Path) -> None:
    counted = []
    for size in (200, 400):
        desired = project(tmp_path, size)
        scene = of_plan(kinds(), desired, *planned(desired))
        counted.append(calls(lambda d=desired, s=scene: judge(d.policies, s, environment=None, today=TODAY)))
    assert counted[1] < 2.1 * counted[0]


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


@costly
@pytest.mark.parametrize("test", spread(ENDLESS, 3))
def test_many_resources_and_an_expression_that_does_much_end_in_two_seconds(test: str, tmp_path: Path) -> None:
    teams = "".join(f"      t{number}: {{title: T}}\n" for number in range(3_000))
    head = "version: 1\nproject: p\nvars: {long: {default: abc}}\norganizations:\n  acme:\n    id: org_acme\n    teams:\n"
    policy = f"policies: [{{id: x, on: [team], assert: '${{{{ {test} }}}}', message: m}}]\n"
    (tmp_path / "reconciler.yaml").write_text(head + teams + policy, encoding="utf-8")
    desired = load(tmp_path, kinds()).desired
    scene = of_configuration(kinds(), desired)
    assert len(within(2.0, lambda: judge(desired.policies, scene, environment=None, today=TODAY)).violations) == 3_000
