"""The type of a site is what it costs: every create names it, and an import writes it, because services differ in what they choose."""

from __future__ import annotations

from pathlib import Path

from tests.harness import Org
from tests.small import described

SITE = {"title": "Docs", "structure": ["blank"]}


def written(org: Org, site: dict[str, object]) -> None:
    org.write({"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}], "sites": {"docs": site}})


def test_a_create_names_the_lowest_type_and_the_plan_shows_it(tmp_path: Path) -> None:
    org = Org(tmp_path)
    written(org, SITE)
    plan = org.plan()
    (create,) = [step for step in plan.steps if step.kind == "site"]
    assert create.body == {"title": "Docs", "type": "basic"}
    (change,) = [change for change in plan.changes if str(change.address) == "acme/site/docs"]
    assert {delta.name: delta.after for delta in change.fields}["type"] == "basic"
    org.apply()
    assert described(org.plan()) == []


def test_an_existing_site_of_another_type_is_not_compared_with_it(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.call("POST", "/orgs/org_acme/sites", {"title": "Docs", "type": "ultimate", "spaces": ["spc_blank"]})
    written(org, SITE)
    org.apply()
    assert described(org.plan()) == []
    assert [site["type"] for site in org.items("/orgs/org_acme/sites")] == ["ultimate"]
