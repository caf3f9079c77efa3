"""A service that puts a section around what is at the top of a site: an apply says it, with the lines to write, and nothing loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.model import StepStatus
from reconciler.sandbox.faults.book import set_rules
from reconciler.sandbox.faults.rules import parse
from tests.harness import Org
from tests.small import described

SPACES = [{"space": name, "title": name.title(), "duplicateOf": "blank"} for name in ("one", "two")]
BLANK = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}


@pytest.fixture
def org(tmp_path: Path) -> Org:
    org = Org(tmp_path)
    set_rules(org.app.state.service.store, [parse('{"fault": "variants-wrapped"}')])
    return org


def written(org: Org, structure: list[Any]) -> None:
    org.write({"content": [BLANK, *SPACES], "sites": {"docs": {"title": "Docs", "structure": structure}}})


def lines_of(text: str) -> list[Any]:
    """The lines to write, which a message contains after its last colon and space."""
    return list(yaml.safe_load(text[text.index("- {section:") :]))


def test_an_apply_says_where_the_service_put_it(org: Org) -> None:
    written(org, ["one", "two"])
    outcome = org.apply()
    wrong = [result for result in outcome.results if result.status is not StepStatus.DONE]
    assert [(str(result.step.address), result.status, result.id) for result in wrong] == [
        ("acme/site/docs/site-space/one", StepStatus.FAILED, "RC-put-elsewhere"),
        ("acme/site/docs/site-space/two", StepStatus.FAILED, "RC-put-elsewhere"),
    ]
    (section,) = org.items(f"/orgs/org_acme/sites/{org.id('acme/site/docs')}/sections")
    assert section["id"] in str(wrong[0].error)
    assert org.id("acme/site/docs/site-space/one")


@pytest.mark.parametrize("allow", [(), ("**",)], ids=["not allowed", "allowed"])
def test_the_next_plan_has_the_lines_to_write_and_does_not_loop(org: Org, allow: tuple[str, ...]) -> None:
    written(org, ["one", "two"])
    org.apply()
    for _ in range(2):
        plan = org.plan(allow_replace=allow)
        assert plan.steps == ()
        assert {str(blocked.address): blocked.id for blocked in plan.blocked} == {
            f"acme/site/docs/site-space/{name}": "RC-put-elsewhere" for name in ("one", "two")
        }
        assert not any("--allow-replace" in blocked.remedy for blocked in plan.blocked)
        if allow:
            org.apply(allow_replace=allow)
    written(org, lines_of(plan.blocked[0].remedy))
    assert described(org.plan()) == ["acme/site/docs/section/docs: adopt"]
    org.apply()
    assert described(org.plan()) == []
    assert len(org.items(f"/orgs/org_acme/sites/{org.id('acme/site/docs')}/site-spaces")) == 2
