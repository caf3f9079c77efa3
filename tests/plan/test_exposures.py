"""What a change opens, and which published URLs it breaks, stands in the plan in lines of its own.

What somebody exposed outside Reconciler stays an exposure until somebody agrees to it, whatever the files say in the meantime.
Every way in which more people come to read something is a line of the plan: by where it is shown, contained or copied to."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Glob, Selection
from reconciler.model import Exposure, Plan
from reconciler.report.layout import plain
from tests.certificates import IDP, OTHER, pem
from tests.harness import Org
from tests.proofs import costly, spread
from tests.report.made import plan_text
from tests.small import applied, node, small

Tree = dict[str, Any]
Edit = Callable[[Tree], Any]
DOCS = "acme/site/docs"
NEW = {
    "label": "New",
    "entityID": "http://new.example/1",
    "ssoURL": "https://new.example/sso",
    "certificate": pem(IDP),
    "defaultRole": "admin",
}


def closed() -> Tree:
    """The small organization with every door shut."""
    tree = small()
    tree |= {"emailDomains": ["acme.example"], "sso": True, "inviteLinks": False, "hostname": "acme"}
    tree["openapi"]["pets"]["visibility"] = "private"
    tree["sites"]["docs"] |= {"visibility": "visitor-auth", "published": True, "agentsContext": "excluded"}
    tree["sites"]["docs"]["adaptiveContent"] = {"enabled": True}
    tree["sites"]["docs"]["shareLinks"]["partners"]["active"] = False
    tree["sites"]["flat"] |= {"visibility": "unlisted"}
    node(tree, "product")["defaultLevel"] = "read"
    node(tree, "one").update(editMode="locked", defaultLevel="guest", mergeRules={"reviewers": ["ada@acme.example"]})
    return tree


def of(tree: Tree, *path: str) -> Any:
    for key in path:
        tree = tree[key]
    return tree


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("shut"))
    applied(org, closed())
    return org


def docs(tree: Tree) -> Tree:
    return dict.__getitem__(tree["sites"], "docs")  # type: ignore[no-any-return]


EXPOSED: list[tuple[str, Edit, str]] = [
    ("a wider site", lambda t: docs(t).update(visibility="unlisted"), f"{DOCS} visibility visitor-auth -> unlisted"),
    ("a public site", lambda t: docs(t).update(visibility="public"), f"{DOCS} visibility visitor-auth -> public"),
    ("a published site", lambda t: t["sites"]["flat"].update(published=True), "acme/site/flat published False -> True"),
    ("agents", lambda t: docs(t).update(agentsContext="included"), f"{DOCS} agentsContext excluded -> included"),
    (
        "no adaptive content",
        lambda t: docs(t).update(adaptiveContent={"enabled": False}),
        f"{DOCS} adaptiveContent {{'enabled': True}} -> {{'enabled': False}}",
    ),
    (
        "a share link that works",
        lambda t: docs(t)["shareLinks"]["partners"].update(active=True),
        f"{DOCS}/share-link/partners active False -> True",
    ),
    (
        "a share link more",
        lambda t: docs(t)["shareLinks"].update(press={"name": "Press", "active": True}),
        f"{DOCS}/share-link/press active _Unset.UNSET -> True",
    ),
    ("no condition", lambda t: node(t, "more").update(condition=None), f"{DOCS}/section/more condition visitor.claims.x -> None"),
    ("invite links", lambda t: t.update(inviteLinks=True), "acme inviteLinks False -> True"),
    ("no sso", lambda t: t.update(sso=False), "acme sso True -> False"),
    (
        "a domain more",
        lambda t: t.update(emailDomains=["acme.example", "mail.example"]),
        "acme emailDomains ['acme.example'] -> ['acme.example', 'mail.example']",
    ),
    ("a higher role for newcomers", lambda t: t.update(defaultRole="create"), "acme defaultRole read -> create"),
    ("one admin more", lambda t: t["members"].update({"linus@acme.example": "admin"}), "acme/member/linus@acme.example role edit -> admin"),
    ("a higher level", lambda t: node(t, "product").update(defaultLevel="edit"), "acme/collection/product defaultLevel read -> edit"),
    ("an unlocked space", lambda t: node(t, "one").update(editMode="live"), "acme/space/one editMode locked -> live"),
    (
        "a space of its own level",
        lambda t: node(t, "one").update(defaultLevel="read"),
        "acme/space/one defaultLevel guest -> read",
    ),
    ("a public description", lambda t: t["openapi"]["pets"].update(visibility="public"), "acme/openapi/pets visibility private -> public"),
    ("a provider more", lambda t: t["saml"].update(new=NEW), "acme/saml/new  _Unset.UNSET -> _Unset.UNSET"),
    ("another identifier", lambda t: t["saml"]["okta"].update(entityID="http://evil.example"), "acme/saml/okta entityID"),
    ("another certificate", lambda t: t["saml"]["okta"].update(certificate="OTHER"), "acme/saml/okta certificate"),
    ("admins by a provider", lambda t: t["saml"]["okta"].update(defaultRole="admin"), "acme/saml/okta defaultRole guest -> admin"),
    ("another provider", lambda t: t["saml"]["okta"].update(ssoURL="https://evil.example"), "acme/saml/okta ssoURL"),
    ("looser rules", lambda t: t.update(mergeRules="inherit"), "acme mergeRules"),
    ("no reviewer", lambda t: node(t, "one").update(mergeRules={"reviewers": []}), "acme/space/one mergeRules"),
]


@costly
@pytest.mark.parametrize(("edit", "line"), spread([row[1:] for row in EXPOSED], 8), ids=[row[0] for row in EXPOSED])
def test_each_change_that_opens_something_is_a_line_of_its_own(shut: Org, edit: Edit, line: str) -> None:
    tree = closed()
    edit(tree)
    shut.write(tree)
    plan = shut.plan()
    told = [f"{exposure.address} {exposure.field} {exposure.before} -> {exposure.after}" for exposure in plan.exposures]
    assert len(told) == 1
    assert told[0].startswith(line)
    assert plan.exposures[0].source is not None
    assert "! exposure" in plain(plan_text(plan))
    assert "1 exposure" in plain(plan_text(plan)).splitlines()[-1]


CLOSING: list[tuple[str, Edit]] = [
    ("a domain less", lambda t: t.update(emailDomains=[])),
    ("a lower role for newcomers", lambda t: t.update(defaultRole="guest")),
    ("no admin less", lambda t: t["members"].update({"linus@acme.example": "create"})),
    ("rules where none were", lambda t: node(t, "two").update(mergeRules={"reviewers": ["ada@acme.example"]})),
    ("another title", lambda t: docs(t).update(title="Handbook")),
    ("a template that is none", lambda t: node(t, "six").update(template=False, title="Sei")),
    ("a template no more", lambda t: (node(t, "blank").pop("template"), node(t, "blank").update(title="Empty"))),
    ("another label of a provider", lambda t: t["saml"]["okta"].update(label="Okta 2")),
    ("a new site", lambda t: t["sites"].update(new={"title": "New", "visibility": "public", "published": True})),
]


@pytest.mark.parametrize("edit", [row[1] for row in CLOSING], ids=[row[0] for row in CLOSING])
def test_what_closes_or_does_neither_is_none(shut: Org, edit: Edit) -> None:
    tree = closed()
    edit(tree)
    shut.write(tree)
    plan = shut.plan()
    assert plan.exposures == ()
    assert plan.steps


def test_what_somebody_closed_outside_is_opened_again_only_with_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, small())
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "visitor-auth"})
    assert [f"{exposure.field} {exposure.before} -> {exposure.after}" for exposure in org.plan().exposures] == [
        "visibility visitor-auth -> public"
    ]


def test_a_protection_that_is_no_longer_managed_has_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, small(), protect=["site"])
    tree = small()
    tree["sites"]["docs"]["protect"] = False
    org.write(tree, protect=["site"])
    assert [f"{entry.address} {entry.field}" for entry in org.plan().exposures] == [f"{DOCS} protect"]
    org.write(small(), protect=[])
    assert [f"{exposure.address} {exposure.field}" for exposure in org.plan().exposures] == ["protect site"]


def test_what_a_first_apply_makes_exposes_nothing_that_was_there_but_who_can_join(tmp_path: Any) -> None:
    org = Org(tmp_path)
    org.write(small())
    plan = org.plan()
    assert [f"{exposure.address} {exposure.field}" for exposure in plan.exposures] == ["acme/saml/okta "]
    assert plan.broken == ()


def test_a_provider_says_who_can_join_and_as_what_and_a_consent_is_for_that_alone(tmp_path: Any) -> None:
    org = Org(tmp_path)
    org.write({"saml": {"new": NEW}})
    (exposure,) = org.plan().exposures
    assert exposure.says == "whoever it signs in may join the organization (ssoURL: https://new.example/sso, defaultRole: admin)"
    assert (exposure.id, exposure.asked) == ("RC-access-granted", True)
    for other in [NEW | change for change in ({"ssoURL": "https://evil.example"}, {"certificate": pem(OTHER)}, {"defaultRole": "read"})]:
        org.write({"saml": {"new": other}})
        assert not set(exposure.consents).issuperset(org.plan().exposures[0].consents)
    org.write({"saml": {"new": {**NEW, "label": "Newer"}}})
    assert set(org.plan().exposures[0].consents) == set(exposure.consents)


def test_a_provider_that_somebody_deleted_is_created_again_only_with_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, {"saml": {"new": NEW}, "emailDomains": ["acme.example"], "inviteLinks": True, "defaultRole": "edit"})
    org.call("DELETE", f"/orgs/org_acme/saml/{org.id('acme/saml/new')}")
    org.call("PATCH", "/orgs/org_acme", {"emailDomains": [], "inviteLinks": False, "defaultRole": "read"})
    told = [f"{exposure.address} {exposure.field}" for exposure in org.plan().exposures]
    assert told == ["acme emailDomains", "acme defaultRole", "acme inviteLinks", "acme/saml/new "]


def test_a_provider_that_exists_is_adopted_without_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    org.call("POST", "/orgs/org_acme/saml", NEW)
    org.write({"saml": {"new": NEW}})
    assert org.plan().exposures == ()


BROKEN: list[tuple[str, Edit, str]] = [
    ("basename", lambda t: docs(t).update(basename="handbook"), f"{DOCS} …/published/docs -> …/published/handbook"),
    ("the path of a section", lambda t: node(t, "guides").update(path="start"), f"{DOCS}/section/guides …/guides -> …/start"),
    (
        "the path of a variant",
        lambda t: node(t, "guides")["spaces"][0].update(path="v3"),
        f"{DOCS}/site-space/one …/v2 -> …/v3",
    ),
    ("hostname", lambda t: t.update(hostname="acme-docs"), "acme acme -> acme-docs"),
    ("proxy", lambda t: docs(t).update(proxy="acme.example/help"), f"{DOCS} acme.example/docs -> acme.example/help"),
    ("no proxy", lambda t: docs(t).update(proxy=None), f"{DOCS} acme.example/docs -> nowhere"),
    ("a narrower site", lambda t: docs(t).update(visibility="share-link"), f"{DOCS} …/docs -> nowhere"),
    ("a section less", lambda t: docs(t)["structure"].pop(), f"{DOCS}/section/more …/more -> nowhere"),
    ("a share link less", lambda t: docs(t)["shareLinks"].clear(), f"{DOCS}/share-link/partners a secret -> nowhere"),
    (
        "a share link that stops",
        lambda t: docs(t)["shareLinks"]["partners"].update(active=False),
        f"{DOCS}/share-link/partners a secret -> nowhere",
    ),
    ("a site less", lambda t: (t.update(defaultContent=None), t["sites"].pop("docs")), f"{DOCS} …/docs -> nowhere"),
    ("a site for visitors who sign in", lambda t: docs(t).update(visibility="visitor-auth"), f"{DOCS} …/docs -> nowhere"),
    ("a variant less", lambda t: node(t, "guides")["spaces"].pop(0), f"{DOCS}/site-space/one …/v2 -> nowhere"),
    ("a private description", lambda t: t["openapi"]["pets"].update(visibility="private"), "acme/openapi/pets …/pets -> nowhere"),
]


def shortened(url: str | None, part: str) -> str:
    return "nowhere" if url is None else url if "://" not in url else "…" + url[-len(part) :]


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("living"))
    applied(org, {**small(), "hostname": "acme"})
    return org


@pytest.mark.parametrize(("edit", "line"), spread([row[1:] for row in BROKEN], 5), ids=[row[0] for row in BROKEN])
def test_each_published_url_that_breaks_has_its_own_line(living: Org, edit: Edit, line: str) -> None:
    tree = {**small(), "hostname": "acme"}
    edit(tree)
    living.write(tree)
    plan = living.plan()
    address, before, _, after = line.split(" ", 3) if "a secret" not in line else (line.split()[0], "a secret", "->", "nowhere")
    told = [url for url in plan.broken if str(url.address) == address]
    assert len(told) == len(plan.broken) == 1
    assert (told[0].before or "a secret").endswith(before.removeprefix("…"))
    assert (told[0].after or "nowhere").endswith(after.removeprefix("…"))
    assert "! breaks" in plain(plan_text(plan))
    assert "?key=" not in plain(plan_text(plan))


def regrouped(tree: Tree) -> None:
    node(tree, "reference")["structure"].append(docs(tree)["structure"].pop())


def ungrouped(tree: Tree) -> None:
    docs(tree)["structure"].append(node(tree, "reference")["structure"].pop())


def another_default_section(tree: Tree) -> None:
    del node(tree, "guides")["default"]
    node(tree, "more")["default"] = True


def another_default_variant(tree: Tree) -> None:
    del node(tree, "guides")["spaces"][1]["default"]
    node(tree, "guides")["spaces"][0]["default"] = True


KEPT: list[tuple[str, Edit]] = [
    ("a section put into a group", regrouped),
    ("a section taken out of its group", ungrouped),
    ("another title of a group", lambda t: node(t, "reference").update(title="Handbook")),
    ("another default section", another_default_section),
    ("another default variant", another_default_variant),
    ("another order", lambda t: docs(t)["structure"].reverse()),
    ("another title of a site", lambda t: docs(t).update(title="Handbook")),
    ("a wider site", lambda t: docs(t).update(visibility="public")),
]


@pytest.mark.parametrize("edit", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_a_value_outside_of_published_urls_breaks_none(living: Org, edit: Edit) -> None:
    tree = {**small(), "hostname": "acme"}
    edit(tree)
    living.write(tree)
    assert living.plan().broken == ()


def test_the_addresses_without_a_line_are_the_same_afterwards(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, small())
    before = published(org)
    for edit in (regrouped, another_default_section, another_default_variant):
        tree = small()
        edit(tree)
        org.write(tree)
        assert org.plan().steps
        org.apply()
        assert published(org) == before, edit.__name__


def published(org: Org) -> dict[str, str]:
    """By id, where the service says that the sections and site spaces of a site are read."""
    of = f"/orgs/org_acme/sites/{org.id(DOCS)}"
    return {entry["id"]: entry["urls"]["published"] for part in ("sections", "site-spaces") for entry in org.items(f"{of}/{part}")}


def test_a_site_cannot_be_unpublished_so_that_no_address_breaks(living: Org) -> None:
    tree = {**small(), "hostname": "acme"}
    docs(tree)["published"] = False
    living.write(tree)
    plan = living.plan()
    assert (plan.broken, plan.steps) == ((), ())
    assert "published" in plan.blocked[0].reason


def test_a_variant_recreated_elsewhere_has_the_url_that_its_path_gives(living: Org) -> None:
    tree = {**small(), "hostname": "acme"}
    node(tree, "more")["spaces"].append(node(tree, "guides")["spaces"].pop(0))
    living.write(tree)
    assert [(str(url.address), url.after, url.reason) for url in living.plan(allow_replace=("**",)).broken] == [
        (f"{DOCS}/site-space/one", "http://127.0.0.1/published/docs/more/v2", "it is recreated")
    ]


def test_nobody_misses_the_addresses_of_a_site_that_was_never_published(living: Org) -> None:
    tree = {**small(), "hostname": "acme"}
    tree["sites"].pop("flat")
    living.write(tree)
    plan = living.plan()
    assert plan.steps
    assert plan.broken == ()


TOGETHER: list[tuple[str, list[tuple[str, str]]]] = [
    ("a section and its variants", [("guides", "manual"), ("one", "v3")]),
    ("a section that takes the former path of its variant", [("guides", "v2"), ("one", "guides")]),
    ("two sections that exchange their paths, and a variant", [("guides", "more"), ("more", "guides"), ("one", "v3")]),
    ("only the variant", [("one", "v3")]),
]


@pytest.mark.parametrize("paths", [row[1] for row in TOGETHER], ids=[row[0] for row in TOGETHER])
def test_a_new_url_is_the_one_that_the_service_shows_afterwards(tmp_path: Any, paths: list[tuple[str, str]]) -> None:
    org = Org(tmp_path)
    applied(org, small())
    tree = small()
    for name, path in paths:
        node_of_it = node(tree, "guides")["spaces"][0] if name == "one" else node(tree, name)
        node_of_it["path"] = path
    org.write(tree)
    told = {str(entry.address): (entry.before, entry.after) for entry in org.plan().broken}
    ids = {address: org.id(address) for address in told}
    before = published(org)
    assert {before[id] for id in ids.values()} == {url for url, _ in told.values()}
    org.apply()
    after = published(org)
    assert {address: after[id] for address, id in ids.items()} == {address: url for address, (_, url) in told.items()}
    assert len(told) == len(paths)


OUTSIDE = "RC-exposed-outside"


def closed_docs() -> Tree:
    """The small organization with a site for holders of a share link, and spaces that members only read."""
    tree = small() | {"emailDomains": ["acme.example"], "inviteLinks": False}
    tree["sites"]["docs"] |= {"visibility": "share-link", "adaptiveContent": {"enabled": True}}
    tree["openapi"]["pets"]["visibility"] = "private"
    node(tree, "six")["defaultLevel"] = "read"
    node(tree, "other")["defaultLevel"] = "edit"
    node(tree, "product")["defaultLevel"] = "read"
    node(tree, "two")["defaultLevel"] = "inherit"
    return tree


@pytest.fixture
def org(tmp_path: Path) -> Org:
    created = Org(tmp_path)
    applied(created, closed_docs())
    return created


def accepted(org: Org, edit: Callable[[Tree], Any]) -> Plan:
    """The plan once the files say the same."""
    tree = closed_docs()
    edit(tree)
    org.write(tree)
    return org.plan()


def outside(plan: Plan) -> list[Exposure]:
    return [exposure for exposure in plan.exposures if exposure.id == OUTSIDE]


CHANGES: dict[str, tuple[str, str, dict[str, Any], Callable[[Tree], Any], str, str]] = {
    "a site is public": (
        "PATCH", f"/orgs/org_acme/sites/{{{DOCS}}}", {"visibility": "public"},
        lambda t: t["sites"]["docs"].update(visibility="public"), DOCS, "visibility",
    ),
    "a member is an admin": (
        "PATCH", "/orgs/org_acme/members/{acme/member/linus@acme.example}", {"role": "admin"},
        lambda t: t["members"]["linus@acme.example"].update(role="admin"), "acme/member/linus@acme.example", "role",
    ),
    "a domain may join": (
        "PATCH", "/orgs/org_acme", {"emailDomains": ["acme.example", "evil.example"]},
        lambda t: t.update(emailDomains=["acme.example", "evil.example"]), "acme", "emailDomains",
    ),
    "members may edit": (
        "PATCH", "/spaces/{acme/space/six}", {"defaultLevel": "edit"},
        lambda t: node(t, "six").update(defaultLevel="edit"), "acme/space/six", "defaultLevel",
    ),
    "a line is gone": (
        "PATCH", f"/orgs/org_acme/sites/{{{DOCS}}}", {"visibility": "public"},
        lambda t: t["sites"]["docs"].pop("visibility"), DOCS, "visibility",
    ),
    "a promoted member is no longer declared": (
        "PATCH", "/orgs/org_acme/members/{acme/member/linus@acme.example}", {"role": "admin"},
        lambda t: (t["members"].pop("linus@acme.example"), t["teams"].pop("writers"), t["saml"]["okta"].pop("defaultTeam")),
        "acme/member/linus@acme.example", "role",
    ),
}  # fmt: skip


def changed(org: Org, name: str) -> None:
    """Somebody makes the change."""
    method, path, body, *_ = CHANGES[name]
    for address in [part.partition("}")[0] for part in path.split("{")[1:]]:
        path = path.replace(f"{{{address}}}", org.id(address).rpartition("/")[2])
    org.call(method, path, body)


@costly
@pytest.mark.parametrize("name", CHANGES)
def test_what_the_files_accept_is_an_exposure_until_a_run_records_it(org: Org, name: str) -> None:
    *_, edit, address, field = CHANGES[name]
    changed(org, name)
    plan = accepted(org, edit)
    assert [(str(line.address), line.field) for line in outside(plan)] == [(address, field)]
    line = outside(plan)[0]
    assert line.asked
    assert line.consents
    assert set(line.consents) <= set(plan.consents)
    assert line.before != line.after
    org.apply()
    assert org.plan().exposures == ()


@pytest.mark.parametrize("name", list(CHANGES)[:4])
def test_what_the_plan_restores_is_not_an_exposure(org: Org, name: str) -> None:
    changed(org, name)
    assert outside(org.plan()) == []


def test_a_condition_that_somebody_removed_is_an_exposure(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed_docs()
    applied(org, tree)
    site, section = (org.id(address).rpartition("/")[2] for address in (DOCS, f"{DOCS}/section/more"))
    org.call("PATCH", f"/orgs/org_acme/sites/{site}/sections/{section}", {"condition": None})
    assert outside(org.plan()) == []
    node(tree, "more")["condition"] = None
    org.write(tree)
    assert [(str(line.address), line.field, line.before) for line in outside(org.plan())] == [
        (f"{DOCS}/section/more", "condition", "visitor.claims.x")
    ]


def test_a_site_that_is_closed_outside_is_not_an_exposure(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "visitor-auth"})
    org.apply()
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"published": False})
    assert accepted(org, lambda t: None).exposures == ()


def test_a_change_of_the_files_from_what_somebody_opened_is_compared_with_what_was_agreed_to(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "public"})
    (line,) = outside(accepted(org, lambda t: t["sites"]["docs"].update(visibility="unlisted")))
    assert (line.before, line.after) == ("share-link", "unlisted")
    assert "anyone with the URL" in line.readers


def test_what_the_plan_opens_anyway_is_said_once(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "unlisted"})
    plan = accepted(org, lambda t: t["sites"]["docs"].update(visibility="public"))
    readers = [reader for line in plan.exposures for reader in line.readers]
    assert sorted(readers) == sorted(set(readers))
    assert "anyone" in readers


def test_a_share_link_that_somebody_created_and_the_files_declare_is_an_exposure(org: Org) -> None:
    org.call("POST", f"/orgs/org_acme/sites/{org.id(DOCS)}/share-links", {"name": "Press"})
    plan = accepted(org, lambda t: t["sites"]["docs"]["shareLinks"].update(press={"name": "Press", "active": True}))
    assert [str(line.address) for line in outside(plan)] == [f"{DOCS}/share-link/press"]
    org.apply()
    assert org.plan().exposures == ()


def test_a_share_link_of_a_site_that_is_not_published_asks_for_no_consent_until_the_site_is(tmp_path: Any) -> None:
    org = Org(tmp_path)
    tree = small()
    tree["sites"]["docs"].update(visibility="share-link", published=False)
    tree["sites"]["docs"].pop("shareLinks", None)
    applied(org, tree)
    tree["sites"]["docs"]["shareLinks"] = {"press": {"name": "Press"}}
    org.write(tree)
    assert [line for line in org.plan().exposures if line.asked] == []
    org.apply()
    tree["sites"]["docs"]["published"] = True
    org.write(tree)
    assert [str(line.address) for line in org.plan().exposures if line.asked] != []


def test_a_share_link_that_the_plan_recreates_is_said_once_where_somebody_opened_the_site_too(org: Org) -> None:
    site, link = f"/orgs/org_acme/sites/{org.id(DOCS)}", f"{DOCS}/share-link/partners"
    org.call("DELETE", f"{site}/share-links/{org.id(link).rpartition('/')[2]}")
    org.call("PATCH", site, {"visibility": "public"})
    plan = accepted(org, lambda t: t["sites"]["docs"]["shareLinks"]["partners"].update(active=True))
    assert [(str(line.address), line.field) for line in plan.exposures] == [(link, "active")]
    assert outside(plan) == []
    assert {str(address) for address in plan.exposures[0].reaches} >= {DOCS, "acme/space/one"}
    org.apply()
    assert org.plan().exposures == ()


def test_a_space_that_somebody_moved_to_where_members_may_do_more_is_an_exposure(org: Org) -> None:
    org.call("POST", f"/spaces/{org.id('acme/space/two')}/move", {"parent": org.id("acme/collection/other")})

    def moved(tree: Tree) -> None:
        content = node(tree, "product")["content"]
        two = next(entry for entry in content if entry.get("space") == "two")
        content.remove(two)
        node(tree, "other")["content"].append(two)

    assert [(str(line.address), line.field) for line in outside(accepted(org, moved))] == [("acme/space/two", "parent")]


def test_a_lost_state_raises_no_alarm(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "public"})
    accepted(org, lambda t: t["sites"]["docs"].update(visibility="public"))
    files = [*org.root.rglob("state.db*")]
    assert files
    for file in files:
        file.unlink()
    assert outside(org.plan()) == []


def test_a_run_about_something_else_neither_shows_nor_records_it(org: Org) -> None:
    changed(org, "a site is public")
    accepted(org, lambda t: t["sites"]["docs"].update(visibility="public"))
    org.apply(selection=Selection((Glob.parse("acme/team/*"),)))
    assert len(outside(org.plan())) == 1


def test_later_changes_of_an_ignored_field_are_not_an_exposure(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed_docs()
    tree["sites"]["docs"]["ignoreChanges"] = ["visibility"]
    applied(org, tree)
    changed(org, "a site is public")
    assert outside(org.plan()) == []


def test_another_change_of_the_same_object_does_not_allow_it(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed_docs()
    tree["sites"]["docs"]["published"] = False
    applied(org, tree)
    org.call("POST", f"/orgs/org_acme/sites/{org.id(DOCS)}/publish")
    tree["sites"]["docs"]["title"] = "Handbook"
    org.write(tree)
    org.apply()
    tree["sites"]["docs"]["published"] = True
    org.write(tree)
    assert [(str(line.address), line.field) for line in outside(org.plan())] == [(DOCS, "published")]


def test_what_was_ignored_is_an_exposure_once_the_files_manage_it_again(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed_docs()
    tree["sites"]["docs"]["ignoreChanges"] = ["visibility"]
    applied(org, tree)
    changed(org, "a site is public")
    org.apply()
    tree["sites"]["docs"] |= {"visibility": "public", "ignoreChanges": []}
    org.write(tree)
    assert [(str(line.address), line.field) for line in outside(org.plan())] == [(DOCS, "visibility")]


def test_an_exposure_that_somebody_reverts_is_forgotten(org: Org) -> None:
    changed(org, "a site is public")
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "share-link"})
    assert org.plan().exposures == ()


def test_a_renamed_resource_is_compared_with_what_was_agreed_to_under_its_former_address(org: Org) -> None:
    changed(org, "members may edit")

    def renamed(tree: Tree) -> None:
        node(tree, "six").update(space="sixth", previously=["six"], defaultLevel="edit")

    assert [(str(line.address), line.field) for line in outside(accepted(org, renamed))] == [("acme/space/sixth", "defaultLevel")]


def test_two_that_exchange_their_values_are_an_exposure_of_the_one_that_opens(org: Org) -> None:
    tree = closed_docs()
    node(tree, "five")["defaultLevel"] = "edit"
    org.write(tree)
    org.apply()
    org.call("PATCH", f"/spaces/{org.id('acme/space/six')}", {"defaultLevel": "edit"})
    org.call("PATCH", f"/spaces/{org.id('acme/space/five')}", {"defaultLevel": "read"})
    node(tree, "five")["defaultLevel"], node(tree, "six")["defaultLevel"] = "read", "edit"
    org.write(tree)
    assert [str(line.address) for line in outside(org.plan())] == ["acme/space/six"]


WORLD: Tree = {
    "members": {"ada@acme.example": "admin"},
    "teams": {"writers": {"title": "Writers"}, "editors": {"title": "Editors"}},
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
        {"space": "salaries", "title": "Salaries"},
        {"space": "plans", "title": "Plans"},
        {"collection": "shut", "title": "Shut", "content": [{"space": "secret", "title": "Secret"}]},
        {
            "collection": "readers",
            "title": "Readers",
            "defaultLevel": "read",
            "content": [{"space": "guide", "title": "Guide", "defaultLevel": "inherit"}],
        },
        {
            "collection": "editors",
            "title": "Editors",
            "defaultLevel": "edit",
            "content": [{"space": "draft", "title": "Draft", "defaultLevel": "inherit"}],
        },
    ],
    "saml": {
        "okta": {
            "label": "Okta",
            "entityID": "http://okta.example/1",
            "ssoURL": "https://okta.example/sso",
            "certificate": IDP,
            "defaultTeam": "writers",
            "defaultRole": "guest",
        }
    },
    "sites": {
        "docs": {
            "title": "Docs",
            "visibility": "public",
            "published": True,
            "adaptiveContent": {"enabled": True},
            "structure": [
                {"section": "guides", "title": "Guides", "spaces": ["guide"]},
                {
                    "section": "partners",
                    "title": "Partners",
                    "condition": "visitor.claims.partner",
                    "spaces": [{"space": "plans", "condition": "visitor.claims.early"}],
                },
            ],
        },
        "private": {
            "title": "Private",
            "visibility": "visitor-auth",
            "published": True,
            "structure": [{"section": "inside", "title": "Inside", "spaces": [{"key": "inner", "space": "secret"}]}],
        },
    },
}


def world() -> Tree:
    return copy.deepcopy(WORLD)


def site(tree: Tree, name: str = "docs") -> Any:
    return tree["sites"][name]


def moved(tree: Tree, name: str, to: str) -> None:
    for holder in (tree, *(item for item in tree["content"] if "content" in item)):
        for entry in list(holder["content"]):
            if entry.get("space") == name or entry.get("collection") == name:
                holder["content"].remove(entry)
                node(tree, to).setdefault("content", []).append(entry)


@pytest.fixture(scope="module")
def living_site(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("audience"))
    applied(org, world())
    return org


def new_site(tree: Tree) -> None:
    tree["sites"]["pay"] = {"title": "Pay", "visibility": "public", "published": True, "structure": ["salaries"]}


def published_copy(tree: Tree) -> None:
    tree["content"].append({"space": "pay", "title": "Pay", "duplicateOf": "salaries"})
    site(tree)["structure"][0]["spaces"].append("pay")


def copy_in_open_collection(tree: Tree) -> None:
    node(tree, "editors")["content"].append({"space": "pay", "title": "Pay", "duplicateOf": "salaries", "defaultLevel": "inherit"})


WAYS: list[tuple[str, Callable[[Tree], Any], str]] = [
    ("a variant", lambda t: site(t)["structure"][0]["spaces"].append("salaries"), "acme/space/salaries anyone"),
    (
        "a variant with a condition",
        lambda t: site(t)["structure"][0]["spaces"].append({"space": "salaries", "condition": "visitor.claims.hr"}),
        "acme/space/salaries anyone for whom visitor.claims.hr holds",
    ),
    (
        "a section",
        lambda t: site(t)["structure"].append({"section": "pay", "title": "Pay", "spaces": ["salaries"]}),
        "acme/space/salaries anyone",
    ),
    (
        "another space in a variant",
        lambda t: site(t)["structure"][0].update(spaces=[{"key": "guide", "space": "salaries"}]),
        "acme/space/salaries anyone",
    ),
    ("a new public site", new_site, "acme/space/salaries anyone"),
    (
        "a space moved to a collection with more rights",
        lambda t: moved(t, "guide", "editors"),
        "acme/space/guide members (edit)",
    ),
    (
        "a space moved out of a closed collection",
        lambda t: moved(t, "secret", "readers"),
        "acme/space/secret members",
    ),
    (
        "a collection moved into one with more rights",
        lambda t: moved(t, "shut", "editors"),
        "acme/collection/shut members (edit)",
    ),
    (
        "a space moved to the root, where everybody has their own role",
        lambda t: (t["content"].append(node(t, "draft")), node(t, "editors")["content"].clear()),
        "acme/space/draft members with the role create, members with the role review",
    ),
    ("a copy in an open collection", copy_in_open_collection, "acme/space/salaries members"),
    ("a published copy", published_copy, "acme/space/salaries anyone"),
    ("a site for everybody", lambda t: site(t, "private").update(visibility="public"), "acme/site/private anyone"),
    (
        "a condition less",
        lambda t: node(t, "partners")["spaces"][0].update(condition=None),
        "acme/site/docs/site-space/plans anyone for whom visitor.claims.partner holds",
    ),
    (
        "another condition",
        lambda t: node(t, "partners").update(condition="visitor.claims.customer"),
        "acme/site/docs/section/partners anyone for whom visitor.claims.customer holds",
    ),
    (
        "a condition that anybody can meet",
        lambda t: node(t, "partners").update(condition="visitor.claims.unsigned.x"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that cannot be understood",
        lambda t: node(t, "partners").update(condition="vistor.claims.partner"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that ends too early",
        lambda t: node(t, "partners").update(condition="visitor.claims.partner =="),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that compares by order",
        lambda t: node(t, "partners").update(condition="visitor.claims.level > 3"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that is always true",
        lambda t: node(t, "partners").update(condition="!visitor.claims.partner || true"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "the claims of visitors in another spelling",
        lambda t: node(t, "partners").update(condition='visitor.claims["unsigned"].x'),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a variant with a condition that cannot be understood",
        lambda t: site(t)["structure"][0]["spaces"].append({"space": "salaries", "condition": "visitor.claim.hr"}),
        "acme/space/salaries anyone",
    ),
    (
        "a condition that excludes some",
        lambda t: node(t, "partners").update(condition="!visitor.claims.partner"),
        "acme/site/docs/section/partners anyone for whom !visitor.claims.partner holds",
    ),
    ("another team for newcomers", lambda t: t["saml"]["okta"].update(defaultTeam="editors"), "acme/saml/okta "),
    ("a higher role for newcomers", lambda t: t["saml"]["okta"].update(defaultRole="read"), "acme/saml/okta "),
    ("a template", lambda t: node(t, "salaries").update(template=True), "acme/space/salaries "),
    (
        "a share link that says nothing",
        lambda t: site(t).update(shareLinks={"p": {"name": "P"}}),
        "acme/site/docs/share-link/p whoever has the share link",
    ),
]


@pytest.mark.parametrize(("edit", "line"), spread([row[1:] for row in WAYS], 6), ids=[row[0] for row in WAYS])
def test_each_way_to_more_readers_is_a_line_with_its_readers(living_site: Org, edit: Callable[[Tree], Any], line: str) -> None:
    tree = world()
    edit(tree)
    living_site.write(tree)
    plan = living_site.plan()
    assert [f"{exposure.address} {', '.join(exposure.readers)}" for exposure in plan.exposures] == [line]
    assert "! exposure" in plain(plan_text(plan))


CALM: list[tuple[str, Callable[[Tree], Any]]] = [
    ("a share link that is off", lambda t: site(t).update(shareLinks={"z": {"name": "Z", "active": False}})),
    (
        "a copy of a template",
        lambda t: (t["content"].append({"space": "more", "title": "More"}), site(t)["structure"][0]["spaces"].append("more")),
    ),
    ("a space that is public already", lambda t: site(t)["structure"][1]["spaces"].append({"key": "again", "space": "guide"})),
    ("a variant for the same readers", lambda t: site(t, "private")["structure"][0]["spaces"].append("guide")),
    ("a space moved to a collection with fewer rights", lambda t: moved(t, "draft", "readers")),
    ("a condition more", lambda t: node(t, "guides").update(condition="visitor.claims.guest")),
    ("a new site that is not published", lambda t: t["sites"].update(pay={"title": "Pay", "structure": ["salaries"]})),
    ("a section less", lambda t: site(t)["structure"].pop()),
]


@pytest.mark.parametrize("edit", [row[1] for row in CALM], ids=[row[0] for row in CALM])
def test_what_gives_nobody_more_to_read_is_none(living_site: Org, edit: Callable[[Tree], Any]) -> None:
    tree = world()
    edit(tree)
    living_site.write(tree)
    plan = living_site.plan()
    assert plan.steps
    assert plan.exposures == ()


def test_a_space_that_is_restored_where_everybody_reads_it_is_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, world())
    org.call("DELETE", f"/spaces/{org.id('acme/space/guide')}")
    assert [(str(exposure.address), exposure.readers) for exposure in org.plan().exposures] == [("acme/space/guide", ("anyone",))]


def test_a_section_that_somebody_deleted_is_a_line_when_it_comes_back(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, world())
    org.call("DELETE", f"/orgs/org_acme/sites/{org.id('acme/site/docs')}/sections/{org.id('acme/site/docs/section/guides')}")
    assert [(str(exposure.address), exposure.readers) for exposure in org.plan().exposures] == [("acme/space/guide", ("anyone",))]


def test_conditions_that_hide_nothing_any_more_open_to_holders_of_a_share_link_too(tmp_path: Any) -> None:
    """A site that only share links open: without adaptive content its conditions hide nothing from their holders."""
    org, tree = Org(tmp_path), world()
    site(tree).update(visibility="share-link", shareLinks={"p": {"name": "P", "active": True}})
    applied(org, tree)
    site(tree).update(adaptiveContent={"enabled": False})
    org.write(tree)
    lines = [(str(exposure.address), exposure.field, exposure.readers) for exposure in org.plan().exposures]
    assert lines == [("acme/site/docs", "adaptiveContent", ("whoever has the share link",))]
