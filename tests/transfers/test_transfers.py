"""A collection or space that is declared in another organization, with its line in `moved`, is transferred with all it contains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import ORGANIZATION
from tests.transfers.two import BETA, Two, collection, sent, space, three, two

GUIDES = ("acme/space/guides", "beta/space/guides")
PRODUCT = ("acme/collection/product", "beta/collection/product")


@pytest.fixture
def org(tmp_path: Path) -> Two:
    return two(tmp_path)


def test_a_space_is_transferred_by_one_request_and_keeps_its_id(org: Two) -> None:
    org.applied([space("guides")], [])
    id = org.id("acme/space/guides")
    assert sent(org.applied([], [space("guides", of="base")], GUIDES)) == ["transfer beta/space/guides"]
    assert org.where("beta/space/guides") == (BETA, None)
    assert org.id("beta/space/guides") == id
    assert "acme/space/guides" not in org.addresses()


def test_a_collection_brings_all_it_contains(org: Two) -> None:
    inside = [space("one"), collection("deep", space("two"))]
    org.applied([collection("product", *inside)], [])
    before = org.addresses()
    org.declare([], [collection("product", space("one", of="base"), collection("deep", space("two", of="base")))], PRODUCT)
    outcome = org.applied([], [collection("product", space("one", of="base"), collection("deep", space("two", of="base")))], PRODUCT)
    assert sent(outcome) == ["transfer beta/collection/product"]
    after = org.addresses()
    for name in ("collection/product", "collection/deep", "space/one", "space/two"):
        assert after[f"beta/{name}"] == before[f"acme/{name}"]
        assert org.where(f"beta/{name}")[0] == BETA
    assert ORGANIZATION not in [org.where(f"beta/{name}")[0] for name in ("space/one", "space/two")]


def test_a_line_alone_is_blocked_and_prints_what_to_write(org: Two) -> None:
    org.applied([collection("product", collection("deep", space("guides"))), space("faq")], [])
    there = [collection("product", collection("deep", space("guides", of="base"))), space("faq", of="base")]
    org.declare([], there, protect=[])
    made = org.plan()
    assert made.steps == ()
    ways = {str(refusal.address): refusal.remedy for refusal in made.blocked}
    names = ("collection/product", "collection/deep", "space/guides", "space/faq")
    assert set(ways) == {f"{root}/{name}" for root in ("acme", "beta") for name in names}
    assert "moved: [{from: acme/collection/product, to: beta/collection/product}]" in ways["beta/space/guides"]
    assert "moved: [{from: acme/space/faq, to: beta/space/faq}]" in ways["acme/space/faq"]
    lines = PRODUCT, ("acme/space/faq", "beta/space/faq")
    org.applied([], there, *lines)


def test_an_id_in_another_organization_is_blocked_and_prints_what_to_write(org: Two) -> None:
    org.applied([space("guides")], [])
    id = org.id("acme/space/guides")
    org.declare([], [{"space": "guides", "id": id, "title": "Guides"}], protect=[])
    made = org.plan()
    assert made.steps == ()
    assert {str(refusal.address) for refusal in made.blocked} == {"acme/space/guides", "beta/space/guides"}
    assert all("moved: [{from: acme/space/guides, to: beta/space/guides}]" in one.remedy for one in made.blocked)
    org.applied([], [{"space": "guides", "id": id, "title": "Guides"}], GUIDES)


def test_two_spaces_change_places_between_organizations(org: Two) -> None:
    org.applied([space("guides", "From acme")], [space("guides", "From beta", of="base")])
    before = org.addresses()
    back = ("beta/space/guides", "acme/space/guides")
    org.applied([space("guides", "From beta")], [space("guides", "From acme", of="base")], GUIDES, back)
    after = org.addresses()
    assert (after["acme/space/guides"], after["beta/space/guides"]) == (before["beta/space/guides"], before["acme/space/guides"])
    assert org.where("acme/space/guides")[0] == ORGANIZATION


def test_a_transfer_with_another_key_parent_and_title(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [collection("help", space("first", of="base"))])
    new = [collection("help", space("handbook", "Handbook", of="base"), space("first", of="base"))]
    outcome = org.applied([collection("product")], new, ("acme/space/guides", "beta/space/handbook"))
    assert sent(outcome)[0] == "transfer beta/space/handbook"
    assert set(sent(outcome)[1:]) == {"update beta/space/handbook", "move beta/space/handbook"}
    assert org.where("beta/space/handbook") == (BETA, org.id("beta/collection/help"))
    assert [shown["title"] for shown in org.items(f"/collections/{org.id('beta/collection/help')}/spaces")] == ["Handbook", "First"]


def test_what_stays_leaves_the_collection_first(org: Two) -> None:
    org.applied([collection("product", space("guides"), space("stays"))], [])
    outcome = org.applied([space("stays")], [collection("product", space("guides", of="base"))], PRODUCT)
    assert sent(outcome) == ["move acme/space/stays", "transfer beta/collection/product"]
    assert org.where("acme/space/stays") == (ORGANIZATION, None)


def test_a_collection_that_is_left_empty_is_deleted_after_the_transfer(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [], protect=[])
    outcome = org.applied([], [space("guides", of="base")], GUIDES, protect=[])
    assert sent(outcome) == ["transfer beta/space/guides", "delete acme/collection/product"]


def test_a_child_that_is_brought_and_leaves_may_come_before_its_bringer(org: Two) -> None:
    org.applied([collection("product", space("one"))], [collection("help")])
    lines = PRODUCT, ("acme/space/one", "beta/space/one")
    outcome = org.applied([], [space("one", of="base"), collection("help"), collection("product")], *lines)
    assert sent(outcome) == ["transfer beta/collection/product", "move beta/space/one"]


def test_transfers_to_several_organizations_never_wait_for_each_other_in_a_circle(tmp_path: Path) -> None:
    """Each collection must be left by a space that another organization lists behind the other collection."""
    org = three(tmp_path)
    org.applied([collection("product", space("one")), collection("help", space("two"))], [], gamma=[])
    names = {"collection/product": "beta", "space/two": "beta", "collection/help": "gamma", "space/one": "gamma"}
    lines = [(f"acme/{name}", f"{root}/{name}") for name, root in names.items()]
    outcome = org.applied(
        [], [collection("product"), space("two", of="base")], *lines, gamma=[collection("help"), space("one", of="plain")]
    )
    assert sorted([step for step in sent(outcome) if step.startswith("transfer ")]) == sorted(f"transfer {new}" for _, new in lines)
    assert len(sent(outcome)) == 5  # the space that is given first is put behind the collection that comes after it


def test_what_is_removed_from_a_collection_is_deleted_although_its_key_is_taken_where_that_goes(org: Two) -> None:
    org.applied([collection("product", space("one"), space("guides"))], [space("guides", of="base")], protect=[])
    there = org.id("beta/space/guides")
    after = [space("guides", of="base"), collection("product", space("one", of="base"))]
    assert sent(org.applied([], after, PRODUCT, protect=[])) == ["delete acme/space/guides", "transfer beta/collection/product"]
    assert org.id("beta/space/guides") == there
