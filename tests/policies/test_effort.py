"""10,000 resources and 20 policies take little more than a second of CPU: every expression is compiled once, and no process is started."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from reconciler.address import Address
from reconciler.config import load
from reconciler.config.language.compiler import compiled
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Observed, Plan
from reconciler.policies.judge import judge
from reconciler.policies.planned import of_plan
from reconciler.policies.scene import of_configuration
from tests.effort import calls, within
from tests.proofs import sampled, tries

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
