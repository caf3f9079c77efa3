"""Nothing is transferred that a site shows, of which nobody knows what is in it, or that has changed since the plan."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from reconciler.model import StepResult, StepStatus
from tests.harness import ORGANIZATION
from tests.meddling import Act, Meddled
from tests.proofs import costly
from tests.transfers.test_transfers import GUIDES, PRODUCT
from tests.transfers.two import BETA, TWO_SEED, Two, collection, reasons, sent, space, two


@pytest.fixture
def org(tmp_path: Path) -> Two:
    return two(tmp_path)


def site(*spaces: str) -> dict[str, Any]:
    """An organization's sites: one with a section of these spaces."""
    return {"sites": {"docs": {"title": "Docs", "structure": [{"section": "all", "title": "All", "spaces": list(spaces)}]}}}


# -- what shows it --------------------------------------------------------------------------------------------------------------------


def test_what_a_site_stops_showing_is_transferred_after_that(org: Two) -> None:
    org.applied([space("guides"), space("faq")], [], acme_more=site("faq", "guides"))
    outcome = org.applied([space("faq")], [space("guides", of="base")], GUIDES, acme_more=site("faq"))
    assert sent(outcome) == ["delete acme/site/docs/site-space/guides", "transfer beta/space/guides"]


def test_a_variant_that_shows_another_space_does_so_before_the_transfer(org: Two) -> None:
    org.applied([space("guides"), space("faq")], [], acme_more=site("guides"))
    shown = {
        "sites": {
            "docs": {"title": "Docs", "structure": [{"section": "all", "title": "All", "spaces": [{"key": "guides", "space": "faq"}]}]}
        }
    }
    outcome = org.applied([space("faq")], [space("guides", of="base")], GUIDES, acme_more=shown)
    assert sent(outcome) == ["update acme/site/docs/site-space/guides", "transfer beta/space/guides"]


def test_a_site_may_show_what_leaves_the_collection_before_that_is_transferred(org: Two) -> None:
    org.applied([collection("product", space("guides"), space("stays"))], [], acme_more=site("stays"))
    outcome = org.applied([space("stays")], [collection("product", space("guides", of="base"))], PRODUCT, acme_more=site("stays"))
    assert sent(outcome) == ["move acme/space/stays", "transfer beta/collection/product"]


def test_a_variant_of_a_space_that_changes_places_with_another_is_blocked(org: Two) -> None:
    org.applied([space("guides")], [space("guides", "Other", of="base")], acme_more=site("guides"))
    org.declare([space("guides", "Other")], [space("guides", of="base")], GUIDES, GUIDES[::-1], acme_more=site("guides"))
    plan = org.plan()
    assert plan.steps == ()
    assert "acme/site/docs/site-space/guides shows it" in reasons(plan)["beta/space/guides"]


def test_what_an_unmanaged_site_shows_is_blocked(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [])
    made = org.call("POST", f"/orgs/{ORGANIZATION}/sites", {"title": "Theirs", "spaces": [org.id("acme/space/guides")]})
    org.declare([], [collection("product", space("guides", of="base"))], PRODUCT)
    plan = org.plan()
    assert plan.steps == ()
    why = reasons(plan)
    assert f"acme/site/{made['id']}/site-space/" in why["beta/collection/product"]
    assert "shows it, and nothing is shown outside its organization" in why["beta/collection/product"]
    assert why["beta/space/guides"] == "waits for beta/collection/product, which is blocked"
    assert org.apply().results == ()
    assert org.where("acme/space/guides")[0] == ORGANIZATION
    org.call("DELETE", f"/orgs/{ORGANIZATION}/sites/{made['id']}")
    org.applied([], [collection("product", space("guides", of="base"))], PRODUCT)


def test_where_sites_cannot_be_read_nothing_is_transferred(org: Two) -> None:
    org.applied([space("guides")], [])
    org.declare([], [space("guides", of="base")], GUIDES)
    plan = org.plan(failing=("sites",))
    assert plan.steps == ()
    assert "it is unknown what shows it" in reasons(plan)["beta/space/guides"]


def test_a_prevented_transfer_prevents_one_that_needs_a_move_into_it(org: Two) -> None:
    """The move is only blocked once the first transfer is left out, and the second is only prevented once the move is blocked."""
    org.applied([collection("product", space("stays"))], [collection("archive", space("old", of="base"))])
    org.call("POST", f"/orgs/{BETA}/sites", {"title": "Theirs", "spaces": [org.id("beta/space/old")]})
    archive = ("beta/collection/archive", "acme/collection/archive")
    org.declare([collection("archive", space("old"), space("stays"))], [collection("product")], PRODUCT, archive)
    plan = org.plan()
    assert plan.steps == ()
    why = reasons(plan)
    assert "shows it, and nothing is shown outside its organization" in why["acme/collection/archive"]
    assert why["acme/space/stays"] == "waits for acme/collection/archive, which is blocked"
    assert why["beta/collection/product"] == "waits for acme/space/stays, which is blocked"


# -- what is in it --------------------------------------------------------------------------------------------------------------------


def test_what_is_unmanaged_in_it_is_transferred_too_and_named(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [])
    theirs = org.call("POST", f"/spaces/{org.id('acme/space/guides')}/duplicate")
    org.declare([], [collection("product", space("guides", of="base"))], PRODUCT)
    assert [note for note in org.plan().notes if theirs["id"] in note] == [
        f"beta/collection/product: what is unmanaged in it is transferred too: space 'Copy of Guides' ({theirs['id']})"
    ]


def test_what_is_tracked_in_it_and_not_declared_is_in_the_way(org: Two) -> None:
    org.applied([collection("product", space("guides"), space("old"))], [])
    org.declare([], [collection("product", space("guides", of="base"))], PRODUCT)
    assert "acme/space/old, which is tracked and not declared, is in it" in reasons(org.plan())["beta/collection/product"]
    removed = [{"address": "acme/space/old", "action": "delete"}]
    outcome = org.applied([], [collection("product", space("guides", of="base"))], PRODUCT, removed=removed)
    assert sent(outcome) == ["delete acme/space/old", "transfer beta/collection/product"]


def test_what_is_deleted_is_not_transferred(org: Two) -> None:
    org.applied([space("guides")], [])
    org.call("DELETE", f"/spaces/{org.id('acme/space/guides')}")
    org.declare([], [space("guides", of="base")], GUIDES)
    plan = org.plan()
    assert (plan.steps, reasons(plan)["beta/space/guides"]) == ((), "cannot be transferred: space 'Guides' is deleted")


# -- consent --------------------------------------------------------------------------------------------------------------------------


def test_a_transfer_says_who_gains_and_who_loses_access(org: Two) -> None:
    org.applied([collection("product", space("guides"), space("old"), defaultLevel="edit")], [], protect=[])
    there = [collection("product", space("guides", of="base"), defaultLevel="edit")]
    org.declare([], there, PRODUCT, protect=[])
    (line,) = [line for line in org.plan().exposures if str(line.address) == "beta/collection/product"]
    assert (line.field, line.before, line.after, line.asked) == ("organization", "acme", "beta", True)
    gain, loss = line.says.split("; ")
    assert gain == "admins of beta and members of beta (edit) get access to it and to the 1 in it"
    assert loss == "admins of acme and members of acme (edit) lose it"
    assert line.readers == ("admins of beta", "members of beta (edit)")
    assert [str(address) for address in line.reaches] == ["beta/space/guides"]


# -- by hand --------------------------------------------------------------------------------------------------------------------------


def test_a_transfer_by_hand_is_reported_with_the_line_that_follows_it(org: Two) -> None:
    org.applied([space("guides")], [])
    org.call("POST", f"/spaces/{org.id('acme/space/guides')}/transfer", {"organization": BETA})
    plan = org.plan()
    assert plan.steps == ()
    (blocked,) = plan.blocked
    assert "moved: [{from: acme/space/guides, to: beta/space/guides}]" in blocked.remedy
    outcome = org.applied([], [space("guides", of="base")], GUIDES)
    assert sent(outcome) == ["move beta/space/guides"]  # nothing shows where it is at the top
    assert org.where("beta/space/guides")[0] == BETA


def test_a_transfer_back_by_hand_is_not_repeated(org: Two) -> None:
    org.applied([space("guides")], [])
    org.applied([], [space("guides", of="base")], GUIDES)
    org.call("POST", f"/spaces/{org.id('beta/space/guides')}/transfer", {"organization": ORGANIZATION})
    plan = org.plan()
    assert plan.steps == ()
    assert f"belongs to another organization now ({ORGANIZATION})" in reasons(plan)["beta/space/guides"]


def test_a_transfer_is_taken_back_by_the_opposite_line(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [])
    first = org.addresses()
    org.applied([], [collection("product", space("guides", of="base"))], PRODUCT)
    assert sent(org.applied([collection("product", space("guides"))], [], (PRODUCT[1], PRODUCT[0]))) == ["transfer acme/collection/product"]
    assert org.addresses() == first


# -- parts of a project ---------------------------------------------------------------------------------------------------------------


def test_a_target_in_a_collection_takes_its_transfer_along(org: Two) -> None:
    org.applied([collection("product", space("guides")), space("faq")], [])
    lines = PRODUCT, ("acme/space/faq", "beta/space/faq")
    org.declare([], [collection("product", space("guides", "Handbook", of="base")), space("faq", of="base")], *lines)
    plan = org.plan(targets=("beta/space/guides",))
    assert [(step.verb, str(step.address)) for step in plan.steps] == [
        ("transfer", "beta/collection/product"),
        ("update", "beta/space/guides"),
    ]
    assert {str(address) for address in plan.state_update.rename} == set()


# -- between the plan and the request -------------------------------------------------------------------------------------------------


class Between(Two, Meddled):
    """Somebody acts between the plan and the first request that follows it."""


def interrupted(root: Path, act: Act) -> tuple[Between, StepResult]:
    """The result of a transfer before whose request somebody acts."""
    orgs = [Between(root / name, seed=copy.deepcopy(TWO_SEED)) for name in ("calm", "acted")]
    for org in orgs:
        org.applied([collection("product", space("guides"))], [])
        org.ids = {"guides": org.id("acme/space/guides"), "product": org.id("acme/collection/product")}
        org.declare([], [collection("product", space("guides", of="base"))], PRODUCT)
    assert [result.status for result in orgs[0].meddled(0, None).results] == [StepStatus.DONE]
    outcome = orgs[1].meddled(orgs[0].planned + 1, act)
    assert orgs[1].acted is not None
    (result,) = outcome.results
    return orgs[1], result


ACTS: dict[str, tuple[Act, str]] = {
    "somebody else transfers it": (
        lambda org: org.other("POST", "/collections/{product}/transfer", {"organization": BETA}),
        f"it belongs to another organization now ({BETA})",
    ),
    "something is added to it": (lambda org: org.other("POST", "/spaces/{guides}/duplicate"), "its contents changed in the meantime"),
    "it is deleted": (lambda org: org.other("DELETE", "/collections/{product}"), "it no longer exists"),
    "it is called otherwise": (lambda org: org.other("PATCH", "/collections/{product}", {"title": "Theirs"}), "title was 'Product'"),
}


@costly
@pytest.mark.parametrize("name", ACTS)
def test_a_world_that_changed_since_the_plan_makes_the_transfer_stale(tmp_path: Path, name: str) -> None:
    act, said = ACTS[name]
    org, result = interrupted(tmp_path, act)
    assert result.status is StepStatus.STALE
    assert said in str(result.error)
    assert ("POST", f"/collections/{org.ids['product']}/transfer") not in org.requests
    assert "acme/collection/product" in org.addresses()


@costly
@pytest.mark.parametrize("end", ["org_acme", BETA])
def test_an_organization_that_no_longer_answers_makes_it_wait(tmp_path: Path, end: str) -> None:
    async def refuse(org: Meddled) -> None:
        org.refused = f"/orgs/{end}"

    org, result = interrupted(tmp_path, refuse)
    assert result.status is StepStatus.SKIPPED
    assert "could not be read again" in str(result.error)
    org.refused = ""
    assert [again.status for again in org.apply().results] == [StepStatus.DONE]


def test_an_answer_that_names_the_old_organization_is_a_failure(tmp_path: Path) -> None:
    org = Between(tmp_path, seed=copy.deepcopy(TWO_SEED))
    org.applied([space("guides")], [])
    org.declare([], [space("guides", of="base")], GUIDES)
    org.answered = {"space": {"organization": ORGANIZATION}}
    (result,) = org.apply().results
    assert result.status is StepStatus.FAILED
    assert result.error == f"was not transferred: its organization is {ORGANIZATION}, not {BETA}"
    org.answered = {}
    org.applied([], [space("guides", of="base")], GUIDES)


def test_a_refusal_of_the_service_is_a_failure_and_the_state_keeps_the_address(org: Two) -> None:
    org.applied([space("guides")], [])
    org.declare([], [space("guides", of="base")], GUIDES)
    members = {member["user"]["email"]: member["id"] for member in org.items(f"/orgs/{BETA}/members")}
    org.call("PATCH", f"/orgs/{BETA}/members/{members['ada@acme.example']}", {"role": "create"})
    (result,) = org.apply().results
    assert result.status is StepStatus.FAILED
    assert "acme/space/guides" in org.addresses()


@pytest.mark.parametrize("titled", [True, False])
def test_what_is_removed_from_what_is_transferred_is_deleted_unless_another_object_gets_its_name(tmp_path: Path, titled: bool) -> None:
    """The line of a space went along with those of its collection, although the new organization has a space with that key."""
    org = two(tmp_path)
    org.applied([collection("sdk", space("js", "JavaScript"))], [space("js", "Ours", of="base")], protect=[])
    ids, line = org.addresses(), ("acme/collection/sdk", "beta/collection/sdk")
    org.declare([], [collection("sdk", space("js", "JavaScript" if titled else "Ours", of="base"))], line, protect=[])
    plan = org.plan()
    if not titled:
        assert [f"{step.verb} {step.address}" for step in plan.steps][:2] == ["delete acme/space/js", "transfer beta/collection/sdk"]
        return
    assert plan.steps == ()
    assert {str(refusal.address): refusal.id for refusal in plan.blocked} == {
        "acme/space/js": "RC-probable-transfer", "beta/space/js": "RC-probable-transfer", "beta/collection/sdk": "RC-waits",
    }  # fmt: skip
    assert "moved: [{from: acme/space/js, to: beta/space/NEW-KEY}]" in plan.blocked[0].remedy
    org.applied([], [collection("sdk", space("es", "JavaScript", of="base"))], line, ("acme/space/js", "beta/space/es"), protect=[])
    assert org.addresses()["beta/space/es"] == ids["acme/space/js"]


def test_what_looks_like_something_of_another_organization_waits_for_what_it_is_in(org: Two) -> None:
    """One line for the collection is enough for both: the space names it as the cause, and the collection has its own."""
    org.applied([collection("sdk", space("js"))], [], protect=[])
    org.declare([], [collection("sdk", space("js", of="base"))], protect=[])
    plan = org.plan()
    assert {refusal.id for refusal in plan.blocked} == {"RC-probable-transfer"}
    causes = {str(refusal.address): refusal.cause and str(refusal.cause) for refusal in plan.blocked}
    assert causes == {
        "acme/collection/sdk": None, "acme/space/js": "beta/collection/sdk",
        "beta/collection/sdk": None, "beta/space/js": "beta/collection/sdk",
    }  # fmt: skip
