"""On random plans policies give what a second implementation gives, which is written plainly here: Python on the objects of the sandbox.

The plans are made from random edits of a small project. The second implementation reads the service before the run, applies the plan and
reads it again: `before` and `after` of a policy are what the service then showed.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.features.policies.judge import judge
from reconciler.features.policies.planned import of_plan
from reconciler.features.policies.section.keys import KEEP
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Plan, Severity, Source, State
from reconciler.model.policies import Policies, Policy
from reconciler.observe import observe
from reconciler.plan.planner import plan
from tests.harness import ORGANIZATION, SEED, Org
from tests.proofs import costly, tries

TODAY = date(2026, 11, 23)
ROLES = ("admin", "edit", "read")
MEMBERS = ("ada", "linus", "grace", "alan")
SEEDED = {
    **SEED,
    "members": [
        {"organization": ORGANIZATION, "id": f"usr_{name}", "email": f"{name}@acme.example", "displayName": name, "role": "admin"}
        for name in MEMBERS
    ],
}
Objects = dict[str, dict[str, Any]]
"""By address, as the service shows them."""


class Row:
    """What the second implementation knows of one address."""

    def __init__(self, address: str, before: dict[str, Any] | None, after: dict[str, Any] | None, declared: bool) -> None:
        self.address, self.before, self.after, self.declared = address, before, after, declared
        self.kind = address.split("/")[-2]

    @property
    def stays(self) -> bool:
        return self.declared and self.after is not None


Plain = Callable[[Row, list[Row]], bool]
KINDS = ("team", "site", "member", "collection")
RULES: dict[str, tuple[tuple[str, ...], tuple[str, ...], str, Plain]] = {
    "short": (KINDS[:2], (), "after.title | length <= 8", lambda row, rows: len(row.after["title"]) <= 8),  # type: ignore[index]
    "kept title": (
        ("team",), ("update", "move", KEEP), "before.title == after.title",
        lambda row, rows: row.before is None or row.before["title"] == row.after["title"],  # type: ignore[index]
    ),
    "no public": (("site",), (), 'after.visibility != "public"', lambda row, rows: row.after["visibility"] != "public"),  # type: ignore[index]
    "no less": (
        ("member",), ("update",), 'not (before.role == "admin" and after.role != "admin")',
        lambda row, rows: not (row.before["role"] == "admin" and row.after["role"] != "admin"),  # type: ignore[index]
    ),
    "keep teams": (("team",), ("delete",), "false", lambda row, rows: False),
    "named in place": (("team",), ("create",), 'address.endswith("1") or after.title in ["A", "B"]',
        lambda row, rows: row.address.endswith("1") or row.after["title"] in ("A", "B")),  # type: ignore[index]
    "titles": (
        ("team", "collection"), (), 'others("title") == 0',
        lambda row, rows: sum(
            other.kind == row.kind and other.stays and other.after["title"] == row.after["title"] for other in rows  # type: ignore[index]
        ) == 1,
    ),
}  # fmt: skip
ORGANIZATIONS: dict[str, tuple[str, Callable[[list[Row]], bool]]] = {
    "admins": (
        'inside("member", "role", "admin") >= 2',
        lambda rows: sum(row.kind == "member" and row.after is not None and row.after["role"] == "admin" for row in rows) >= 2,
    ),
    "teams": ('inside("team") <= 2', lambda rows: sum(row.kind == "team" and row.after is not None for row in rows) <= 2),
}
WHOLE: dict[str, tuple[str, Callable[[Counter[str]], bool]]] = {
    "few": ('count("delete") == 0', lambda counts: counts["team delete"] + counts["site delete"] + counts["collection delete"] == 0),
    "teams": ('count("create", "team") < 2', lambda counts: counts["team create"] < 2),
}


def project(seed: int) -> dict[str, Any]:
    """A random organization; what is left out of one and not of the next is created or deleted in between."""
    rng = random.Random(seed)
    title = lambda: rng.choice(["A", "B", "Guides", "Documentation", "Reference"])  # noqa: E731
    return {
        "members": {f"{name}@acme.example": rng.choice(ROLES) if name != "ada" else "admin" for name in MEMBERS if rng.random() < 0.8},
        "teams": {f"t{number}": {"title": title()} for number in range(4) if rng.random() < 0.6},
        "sites": {
            f"s{number}": {"title": title() + str(number), "visibility": rng.choice(["public", "unlisted"])}
            for number in range(2) if rng.random() < 0.7
        },
        "content": [
            {"space": "blank", "id": "spc_blank", "title": "Blank"},
            *({"collection": f"c{number}", "title": title()} for number in range(3) if rng.random() < 0.6),
        ],
    }  # fmt: skip


def declared(organization: dict[str, Any]) -> set[str]:
    problems = {f"acme/member/{key}" for key in organization["members"]} | {f"acme/team/{key}" for key in organization["teams"]}
    problems |= {f"acme/site/{key}" for key in organization["sites"]}
    return problems | {f"acme/collection/{node['collection']}" for node in organization["content"] if "collection" in node}


def shown(org: Org, names: dict[str, str]) -> Objects:
    """Every object by its address; `names`: the addresses by id, of what was ever tracked."""
    objects: dict[str, dict[str, Any]] = {}
    names |= {binding.id.rpartition("/")[2]: str(address) for address, binding in org.remembered().bindings.items()}
    for path in ("teams", "sites", "members", "collections"):
        for problems in org.items(f"/orgs/{ORGANIZATION}/{path}"):
            email = problems.get("user", {}).get("email")
            objects[names.get(problems["id"], f"acme/member/{email}" if email else f"acme/unknown/{problems['id']}")] = problems
    return objects


def policies() -> Policies:
    def policy(id: str, on: tuple[str, ...], when: tuple[str, ...], test: str) -> Policy:
        kinds = frozenset(on) - {"plan"}
        return Policy(id, on, when, test, "wrong", Severity.ERROR, Source("p.yaml", 1), kinds)

    rules = [policy(id, on, when, test) for id, (on, when, test, _) in RULES.items()]
    rules += [policy(f"organization {id}", ("organization",), (), test) for id, (test, _) in ORGANIZATIONS.items()]
    rules += [policy(f"plan {id}", ("plan",), (), test) for id, (test, _) in WHOLE.items()]
    acme = Address(("acme",))
    return Policies(tuple(rules), (), {}, frozenset({(acme, "member"), (acme, "team")}))


def planned(org: Org, asked: Policies) -> tuple[Plan, Desired, Actual]:
    """A plan of the project with these policies, and what it was made from."""

    async def run(state: State) -> tuple[Plan, Desired, Actual]:
        desired = replace(org.load().desired, policies=asked)
        async with org.client(Reader) as reader:
            actual = await observe(reader, kinds(), desired, state)
        return plan(kinds(), desired, state, actual), desired, actual

    return asyncio.run(run(org.remembered()))


def plainly(before: Objects, after: Objects, written: set[str], unmanaged: set[str]) -> set[tuple[str, str | None]]:
    """The violations by the second implementation. `unmanaged`: the addresses that nobody declares, now or before."""
    rows = [Row(address, before.get(address), after.get(address), address in written) for address in sorted({*before, *after})]
    counts: Counter[str] = Counter()
    violations: set[tuple[str, str | None]] = set()
    for row in rows:
        gone = row.after is None
        action = "delete" if gone else "create" if row.before is None else KEEP if _same(row) else "update"
        if not gone and (row.address in unmanaged or not row.declared):
            continue
        counts[f"{row.kind} {action}"] += 1
        for id, (on, when, _, test) in RULES.items():
            about = action in when if when else not gone
            if row.kind in on and about and not test(row, rows):
                violations.add((id, row.address))
    violations |= {(f"organization {id}", "acme") for id, (_, test) in ORGANIZATIONS.items() if not test(rows)}
    return violations | {(f"plan {id}", None) for id, (_, test) in WHOLE.items() if not test(counts)}


def _same(row: Row) -> bool:
    assert row.before is not None
    assert row.after is not None
    return all(row.before.get(name) == row.after.get(name) for name in ("title", "role", "visibility"))


@costly
@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(tries(200, 6)))
def test_the_policies_give_what_plain_python_gives(seed: int, tmp_path: Path) -> None:
    org = Org(tmp_path, seed=SEEDED)
    first, second = project(seed), project(seed + 100_000)
    everything = {"prune": {"team": "owned", "site": "owned", "collection": "owned"}}
    org.write(first, **everything)
    org.apply()
    names: dict[str, str] = {}
    before = shown(org, names)
    org.write(second, **everything)
    asked = policies()
    result, desired, actual = planned(org, asked)
    problems = judge(asked, of_plan(kinds(), desired, actual, result), environment=None, today=TODAY)
    org.apply()
    after = shown(org, names)
    unmanaged = {address for address in {*before, *after} if address not in declared(second) and address not in declared(first)}
    unmanaged |= {address for address in before if "/member/" in address and address not in declared(second)}
    expected = plainly(before, after, declared(second), unmanaged)
    assert {(violation.rule, str(violation.address) if violation.address else None) for violation in problems.violations} == expected
    assert problems.undecided == ()
