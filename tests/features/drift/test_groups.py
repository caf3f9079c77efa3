"""Drift as decisions: the class of each change, what belongs together, and that a group keeps its id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.features.drift.model import Drift, DriftClass, DriftGroup
from reconciler.features.drift.report.groups import group_text
from reconciler.model import Cause
from tests.features.drift.outside import drifted
from tests.harness import Org
from tests.outside import CASES, Case, edit, everything
from tests.proofs import costly, proof
from tests.small import applied, node, small

EXPOSING, ACCESS, DELETING, LOCKING_OUT, BREAKING_URLS, LOOSENING_RULES, COSMETIC = DriftClass
AT, SITE, SECTION = "/orgs/org_acme/sites", "acme/site/docs", "acme/site/docs/section/more"

# The class of every edit of `CASES` that is not cosmetic.
CLASSES = {
    "organization.emailDomains": EXPOSING, "organization.hostname": BREAKING_URLS, "organization.defaultRole": LOCKING_OUT,
    "organization.inviteLinks": EXPOSING, "organization.mergeRules": LOOSENING_RULES, "member.role": LOCKING_OUT,
    "collection.defaultLevel": EXPOSING, "collection.parent": EXPOSING, "space.defaultLevel": EXPOSING,
    "saml.entityID": EXPOSING, "saml.ssoURL": EXPOSING, "saml.certificate": EXPOSING, "saml.defaultTeam": EXPOSING,
    "saml.defaultRole": EXPOSING, "openapi.visibility": LOCKING_OUT, "site.visibility": LOCKING_OUT, "site.basename": BREAKING_URLS,
    "site.published": EXPOSING, "site.agentsContext": LOCKING_OUT, "site.adaptiveContent": EXPOSING, "site.proxy": BREAKING_URLS,
    "section.condition": EXPOSING, "site-space.space": EXPOSING, "site-space.condition": EXPOSING, "integration.visibility": EXPOSING,
    "integration.scopes": EXPOSING, "share-link.active": LOCKING_OUT,
}  # fmt: skip

Act = Callable[[Org], Any]


@pytest.fixture
def full(org: Org) -> Org:
    """A sandbox to which a project with every field was applied."""
    applied(org, everything())
    return org


def classes(drift: Drift) -> list[str]:
    return [f"{group.drift_class} {' '.join(map(str, group.addresses))}" for group in drift.groups]


def only(drift: Drift) -> DriftGroup:
    (group,) = drift.groups
    return group


def check(org: Org, case: Case) -> None:
    edit(org, case)
    group = only(drifted(org))
    assert (group.drift_class, [*map(str, group.addresses)]) == (CLASSES.get(str(case), COSMETIC), [case.address])


@costly
@pytest.mark.parametrize("case", [case for case in CASES if case.shown is None][::6], ids=str)
def test_an_edited_field_has_its_class(full: Org, case: Case) -> None:
    check(full, case)


@proof
@pytest.mark.parametrize("case", [case for case in CASES if case.shown is None], ids=str)
def test_every_edited_field_has_its_class(full: Org, case: Case) -> None:
    check(full, case)


def test_what_nobody_touched_has_no_group(full: Org) -> None:
    assert drifted(full).groups == ()


def test_a_group_keeps_its_id_until_something_else_differs(org: Org) -> None:
    applied(org, small())
    rename = lambda title: org.call("PATCH", f"/spaces/{org.id('acme/space/one')}", {"title": title})  # noqa: E731
    rename("Uno")
    first = only(drifted(org)).id
    assert only(drifted(org)).id == first
    rename("Eins")
    assert only(drifted(org)).id != first
    rename("Uno")
    assert only(drifted(org)).id == first


def test_siblings_that_were_changed_alike_are_one_group(org: Org) -> None:
    tree = small()
    for name in ("one", "two", "four"):
        node(tree, name)["defaultLevel"] = "read"
    applied(org, tree)
    for name in ("one", "two", "four"):
        org.call("PATCH", f"/spaces/{org.id(f'acme/space/{name}')}", {"defaultLevel": "edit" if name != "four" else "comment"})
    groups = drifted(org).groups
    assert [[address.key for address in group.addresses] for group in groups] == [["four"], ["one", "two"]]
    (change,) = groups[1].readers
    assert (change.who, change.gains, [address.key for address in change.addresses]) == ("members (edit)", True, ["one", "two"])


def test_a_deletion_contains_what_was_deleted_with_it(org: Org) -> None:
    applied(org, small())
    org.call("DELETE", f"/orgs/org_acme/sites/{org.id(SITE)}/sections/{org.id('acme/site/docs/section/api')}")
    group = only(drifted(org))
    assert group.drift_class is DELETING
    assert [*map(str, group.addresses)] == ["acme/site/docs/section/api", "acme/site/docs/site-space/three"]
    assert [(change.who, change.gains) for change in group.readers] == [("anyone", False)]
    assert [url.before.rpartition("/published")[2] for url in group.urls] == ["/docs/api/three/**"]
    assert {url.after for url in group.urls} == {None}


def test_every_url_of_a_deleted_default_ends(org: Org) -> None:
    tree = small()
    node(tree, "api")["spaces"] = [{"space": "three", "default": True}, "six"]
    applied(org, tree)
    org.call("DELETE", f"{AT}/{org.id(SITE)}/sections/{org.id('acme/site/docs/section/api')}")
    ended = [url.before.rpartition("/published")[2] for url in only(drifted(org)).urls]
    assert ended == ["/docs/api/three/**", "/docs/api/**", "/docs/api/six/**"]


def test_a_deleted_site_says_that_its_urls_end_although_nobody_knows_them(org: Org) -> None:
    applied(org, small())
    org.call("DELETE", f"{AT}/{org.id(SITE)}")
    group = only(drifted(org))
    assert (group.urls, group.effects) == ((), ("its published URLs stop working",))


def test_a_deleted_team_exposes_nothing_and_nobody_changed_the_files(org: Org) -> None:
    applied(org, small())
    org.call("DELETE", f"/orgs/org_acme/teams/{org.id('acme/team/writers')}")
    group = only(drifted(org))
    assert (group.drift_class, [*map(str, group.addresses)]) == (DELETING, ["acme/team/writers", "acme/saml/okta"])
    (delta,) = next(resource for resource in group.resources if resource.kind == "saml").fields
    assert (delta.name, delta.last, delta.cause) == ("defaultTeam", "acme/team/writers", Cause.DRIFT)


def test_what_was_created_again_has_its_address_among_the_losses(org: Org) -> None:
    applied(org, small())
    copy = org.call("POST", f"/spaces/{org.id('acme/space/four')}/duplicate")["id"]
    org.call("PATCH", f"/spaces/{copy}", {"title": "Four"})
    org.call("DELETE", f"/spaces/{org.id('acme/space/four')}")
    group = next(group for group in drifted(org).groups if group.drift_class is DELETING)
    assert {str(address) for change in group.readers for address in change.addresses} == {"acme/space/four"}


def test_what_was_in_a_deleted_collection_was_deleted_with_it(org: Org) -> None:
    applied(org, small())
    org.call("DELETE", f"/collections/{org.id('acme/collection/product')}")
    group = only(drifted(org))
    assert group.drift_class is DELETING
    assert [*map(str, group.addresses)][:2] == ["acme/collection/product", "acme/collection/deep"]
    assert {address.key for address in group.addresses if address.kind == "space"} == {"one", "two", "three", "four"}
    assert group_text(group) == "acme/collection/product was deleted, and 5 more resources with it"


def test_a_deleted_default_is_one_group_with_the_choice_that_it_was(org: Org) -> None:
    applied(org, small())
    org.call("DELETE", f"/orgs/org_acme/sites/{org.id(SITE)}/sections/{org.id('acme/site/docs/section/guides')}")
    assert [group.drift_class for group in drifted(org).groups] == [DELETING]


def test_a_share_link_that_is_unmanaged_is_access(org: Org) -> None:
    tree = small()
    del tree["sites"]["docs"]["shareLinks"]
    applied(org, tree)
    org.requests.clear()
    assert drifted(org).groups == ()
    lists = [path for _, path in org.requests if "share-links" in path or "saml" in path]
    assert len(lists) == 3, "one list for each site and one for the organization"
    link = org.call("POST", f"/orgs/org_acme/sites/{org.id(SITE)}/share-links", {"name": "Wild"})["id"]
    drift = drifted(org)
    assert classes(drift) == [f"access acme/site/docs/share-link/{link}"]
    assert only(drift).effects == ("everybody with the link can read the site",)
    assert drift.resources == (), "it is no drift of what is managed"
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(SITE)}/share-links/{link}", {"active": False})
    assert drifted(org).groups == (), "nobody can use it"


def test_a_provider_that_is_unmanaged_is_access(org: Org) -> None:
    applied(org, small())
    body = org.call("GET", f"/orgs/org_acme/saml/{org.id('acme/saml/okta')}")
    new = {key: body[key] for key in ("ssoURL", "certificate")} | {"label": "Wild", "entityID": "https://wild.example"}
    org.call("POST", "/orgs/org_acme/saml", new)
    assert only(drifted(org)).drift_class is ACCESS


def test_a_space_that_is_shown_on_a_site_by_what_is_unmanaged_is_exposed(org: Org) -> None:
    applied(org, small())
    org.call(
        "POST", f"/orgs/org_acme/sites/{org.id(SITE)}/site-spaces", {"spaceId": org.id("acme/space/six"), "sectionId": org.id(SECTION)}
    )
    group = only(drifted(org))
    assert group.drift_class is EXPOSING
    assert {address for change in group.readers for address in change.addresses} == {Address.parse("acme/space/six")}


def test_a_member_that_is_unmanaged_is_access_where_people_are_declared(org: Org) -> None:
    tree = small()
    del tree["members"]["linus@acme.example"]
    tree["teams"] = {}
    tree["saml"] = {}
    applied(org, tree)
    assert classes(drifted(org)) == ["access acme/member/usr_linus"]
    del tree["members"]
    applied(org, tree)
    assert drifted(org).groups == ()


@pytest.mark.parametrize(
    ("act", "effect"),
    [
        (lambda org: org.call("PATCH", "/orgs/org_acme/members/usr_linus", {"role": None}), "less is permitted than before"),
        (lambda org: org.call("DELETE", "/orgs/org_acme/members/usr_linus"), "no longer may sign in to the organization"),
        (lambda org: org.call("DELETE", f"/orgs/org_acme/saml/{org.id('acme/saml/okta')}"), "people can no longer sign in through it"),
    ],
    ids=["role", "person", "provider"],
)  # fmt: skip
def test_who_can_do_less_is_said_where_no_reader_shows_it(org: Org, act: Act, effect: str) -> None:
    applied(org, small())
    act(org)
    group = only(drifted(org))
    assert (group.drift_class, group.effects) == (LOCKING_OUT, (effect,))


def test_an_unlisted_site_can_still_be_read_by_whoever_has_the_url(org: Org) -> None:
    applied(org, small())
    org.call("PATCH", f"{AT}/{org.id(SITE)}", {"visibility": "unlisted"})
    assert "anyone, except anyone with the URL" in {change.who for change in only(drifted(org)).readers}


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda org: org.call("DELETE", f"/spaces/{org.id('acme/space/six')}"), DELETING),
        (lambda org: org.call("DELETE", f"{AT}/{org.id(SITE)}/share-links/{org.id(SITE + '/share-link/partners')}"), LOCKING_OUT),
        (lambda org: org.call("DELETE", "/orgs/org_acme/members/usr_linus"), LOCKING_OUT),
        (lambda org: org.call("PATCH", "/orgs/org_acme/members/usr_linus", {"role": "admin"}), EXPOSING),
        (lambda org: org.call("PATCH", "/orgs/org_acme/members/usr_linus", {"role": "create"}), EXPOSING),
        (lambda org: org.call("PATCH", f"{AT}/{org.id(SITE)}/sections/{org.id(SITE + '/section/guides')}", {"path": "g"}), BREAKING_URLS),
    ],
    ids=["space", "link", "person", "admin", "role", "path"],
)  # fmt: skip
def test_what_people_do_has_its_class(org: Org, act: Act, expected: DriftClass) -> None:
    applied(org, small())
    act(org)
    assert drifted(org).groups[0].drift_class is expected
