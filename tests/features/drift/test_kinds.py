"""What drift says of kinds, fields and values that the service shows in a way of its own."""

from __future__ import annotations

from pathlib import Path

from reconciler.features.drift.model import DriftWord
from reconciler.features.drift.report.sheet import summary
from reconciler.model import Action
from reconciler.resource import HOSTED
from tests.apply.test_singles import AGENTS, BOTH, INSTRUCTIONS, OTHER, SCHEMA, VISITORS, document, path_of
from tests.features.drift.outside import drifted
from tests.harness import ORGANIZATION, SEED, Org
from tests.kinds.test_translation import OddOrg, full, signed
from tests.plan.test_derived import SITE, expected_tree, section
from tests.plan.test_renames import deleted
from tests.report.made import plan_text
from tests.small import applied, small


def test_drift_is_shown_and_apply_sets_it_back(org: Org) -> None:
    applied(org, BOTH)
    org.call("PUT", INSTRUCTIONS, {"instructions": document("Be rude.")})
    org.call("PUT", path_of(org), {"jsonSchema": OTHER})
    assert [(str(one.address), [delta.name for delta in one.fields]) for one in drifted(org).resources] == [
        (AGENTS, ["instructions"]),
        (VISITORS, ["jsonSchema"]),
    ]
    applied(org, BOTH)
    assert org.call("GET", path_of(org))["jsonSchema"] == SCHEMA
    assert org.call("GET", INSTRUCTIONS)["instructions"] == document("Answer in plain English.")


def test_what_is_ordered_and_what_users_name_still_differ(tmp_path: Path) -> None:
    odd_org = OddOrg(tmp_path, seed=SEED)
    applied(odd_org, full())
    odd_org.call("PATCH", "/orgs/org_acme", {"emailDomains": ["acme.example", "beta.example", "evil.example"]})
    site = odd_org.id("acme/site/docs")
    schema = odd_org.call("GET", f"/orgs/org_acme/sites/{site}/adaptive-schema")["jsonSchema"]
    schema["properties"]["isStaff"] = {"type": "boolean"}
    odd_org.call("PUT", f"/orgs/org_acme/sites/{site}/adaptive-schema", {"jsonSchema": schema})
    assert {(str(drift.address), delta.name) for drift in drifted(odd_org).resources for delta in drift.fields} == {
        ("acme", "emailDomains"),
        ("acme/site/docs/adaptive-schema", "jsonSchema"),
    }


def test_a_hosted_copy_that_somebody_removes_is_drift_and_is_sent_again(tmp_path: Path) -> None:
    odd_org = OddOrg(tmp_path, seed=SEED)
    odd_org.change = signed
    applied(odd_org, full())
    odd_org.call("PATCH", "/orgs/org_acme", {"logo": None})
    (drift,) = drifted(odd_org).resources
    assert [(delta.name, delta.last, delta.before, delta.after) for delta in drift.fields] == [
        ("logo", HOSTED, None, "https://acme.example/logo.png")
    ]
    odd_org.apply()
    assert drifted(odd_org).resources == ()


def test_what_our_own_run_deleted_is_not_called_drift(acme: Org) -> None:
    deleted(acme)
    acme.write(small())
    plan = acme.plan()
    (change,) = [change for change in plan.changes if str(change.address) == "acme/space/six"]
    assert (Action.RESTORE in change.actions, change.deleted_by_us) == (True, True)
    assert "deleted outside" not in "".join(text for _, text in plan_text(plan))
    drift = drifted(acme)
    assert (drift.resources, drift.unjudged) == ((), ())


def test_what_somebody_else_deleted_is_still_drift(acme: Org) -> None:
    id = acme.id("acme/space/six")
    acme.call("DELETE", f"/spaces/{id}")
    plan = acme.plan()
    assert [change.deleted_by_us for change in plan.changes if str(change.address) == "acme/space/six"] == [False]
    assert "deleted outside Reconciler" in "".join(text for _, text in plan_text(plan))
    assert [(str(resource.address), resource.status) for resource in drifted(acme).resources] == [("acme/space/six", DriftWord.DELETED)]


def test_drift_finds_a_value_that_is_not_as_expected_whoever_changed_it(org: Org) -> None:
    public = {"visibility": "public", "published": True, "basename": "docs"}
    applied(org, expected_tree(section("a", "Guides"), **public))
    sections = f"/orgs/{ORGANIZATION}/sites/{org.id(SITE)}/sections"
    (created,) = org.items(sections)
    asserted = {"path": "guides", "url": created["urls"]["published"]}
    org.write(expected_tree(section("a", "Guides", expect=asserted), **public))
    assert drifted(org).violations == ()
    org.call("PATCH", f"{sections}/{created['id']}", {"path": "manuals"})
    drift = drifted(org)
    assert drift.resources == (), "nobody manages the path"
    assert [
        (violation.name, violation.message, violation.source.line > 1 if violation.source else None) for violation in drift.violations
    ] == [
        ("expect path", "it is manuals, not guides", True),
        ("expect url", f"it is {asserted['url'].replace('/guides', '/manuals')}, not {asserted['url']}", True),
    ]
    assert summary(drift).startswith("No drift; 2 assertions not met")
