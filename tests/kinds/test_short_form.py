"""An entry with one value is written as that value: a share link as its name, a member as their role."""

from __future__ import annotations

from typing import Any

from reconciler.address import Address
from reconciler.config import load
from reconciler.importer.accept import Acceptance, chosen
from reconciler.importer.gather import MatchedProject
from reconciler.kinds import load as kinds
from reconciler.plan import plan
from reconciler.plan.matching.match import identify
from tests.documents import configuration
from tests.harness import Org
from tests.outside import drifted, observed
from tests.small import applied, described, small

LINK = "acme/site/docs/share-link/partners"


def short() -> dict[str, Any]:
    tree = small()
    tree["sites"]["docs"]["shareLinks"] = {"partners": "Partners"}
    return tree


def test_a_share_link_is_its_name_and_differs_in_nothing_from_the_long_form(org: Org) -> None:
    long = small()
    long["sites"]["docs"]["shareLinks"] = {"partners": {"name": "Partners"}}
    applied(org, long)
    org.write(short())
    assert org.load().desired.resources[Address.parse(LINK)].values["name"] == "Partners"
    assert described(org.plan()) == []


def test_the_schema_takes_the_short_form() -> None:
    tree = {"version": 1, "project": "test", "organizations": {"acme": {"id": "org_acme", **short()}}}
    configuration().validate(tree)


def test_a_short_form_becomes_a_map_where_drift_of_another_field_is_accepted(org: Org) -> None:
    tree = small()
    applied(org, tree)  # with active: true
    org.write(short())
    applied(org, short())
    site, link = org.id("acme/site/docs"), org.id(LINK)
    org.call("PATCH", f"/orgs/org_acme/sites/{site}/share-links/{link}", {"name": "Resellers"})
    desired = org.load().desired
    state, actual = observed(org)
    path = org.project / "reconciler.yaml"
    texts = Acceptance(
        MatchedProject(kinds(), desired, state, actual, identify(kinds(), desired, state, actual).ids),
        {"reconciler.yaml": path.read_text("utf-8")},
    )
    made = plan(kinds(), desired, state, actual)
    for file, text in texts.edited(chosen(drifted(org), [LINK], {}), made.moved_outside).items():
        (org.project / file).write_text(text, encoding="utf-8")
    assert "partners: Resellers" in path.read_text("utf-8")
    assert described(org.plan()) == []


def test_a_patch_adds_a_field_to_a_short_form(org: Org) -> None:
    org.write(short())
    (org.project / "environments").mkdir()
    (org.project / "environments" / "staging.yaml").write_text(f"patch:\n  - {{match: {LINK}, set: {{active: false}}}}\n", encoding="utf-8")
    loaded = load(org.project, kinds(), environment="staging")
    values = loaded.desired.resources[Address.parse(LINK)].values
    assert (values["name"], values["active"]) == ("Partners", False)
