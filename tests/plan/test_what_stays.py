"""What must not go although its line is gone."""

from __future__ import annotations

from tests.harness import Org
from tests.small import applied, small, verbs

FLAT = "acme/site/flat"


def test_the_contents_of_a_resource_that_is_no_longer_managed_are_no_longer_managed_either(acme: Org) -> None:
    tree = small()
    tree["sites"].pop("flat")
    id = acme.id(FLAT)
    assert verbs(applied(acme, tree, removed=[{"address": FLAT, "action": "forget"}])) == []
    assert len(acme.items(f"/orgs/org_acme/sites/{id}/site-spaces")) == 2


def test_the_last_provider_of_single_sign_on_stays_until_it_is_named(acme: Org) -> None:
    tree = small()
    del tree["saml"]
    acme.write(tree)
    plan = acme.plan()
    assert [blocked.reason for blocked in plan.blocked] == ["is the last saml of acme"]
    assert plan.steps == ()
    assert verbs(applied(acme, tree, removed=[{"address": "acme/saml/okta", "action": "delete"}])) == ["delete acme/saml/okta"]


def test_unmanaged_objects_of_a_pruned_kind_are_deleted_too(acme: Org) -> None:
    acme.call("POST", f"/orgs/org_acme/sites/{acme.id(FLAT)}/share-links", {"name": "Press"})
    tree = small()
    tree["sites"].pop("flat")
    acme.write(tree)
    assert next(str(blocked.address) for blocked in acme.plan().blocked) == FLAT
    assert verbs(applied(acme, tree, prune={"share-link": "all"})) == [f"delete {FLAT}"]


def test_what_could_not_be_read_is_not_deleted_with_what_holds_it(acme: Org) -> None:
    tree = small()
    tree["sites"].pop("flat")
    acme.write(tree)
    plan = acme.plan(failing=("share-links",))
    assert "could not be read" in next(blocked.reason for blocked in plan.blocked if str(blocked.address) == FLAT)
    assert plan.steps == ()
