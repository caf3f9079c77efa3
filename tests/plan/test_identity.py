"""Whose object it is: a natural key that cannot change makes the whole resource wait, and what is in a renamed container is still known."""

from __future__ import annotations

import copy
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.kinds import load
from reconciler.model import Binding, Cause, Observed, Origin
from reconciler.plan.matching.differences import differences, explain
from reconciler.resource import UNSET
from tests.harness import SEED, Org
from tests.plan.test_renames import exchanged, ids
from tests.small import applied, settled, small, verbs

WITH_GRACE: dict[str, Any] = {
    **SEED,
    "members": [
        *SEED["members"],
        {"organization": "org_acme", "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "read"},
    ],
}


def roles(org: Org) -> dict[str, str]:
    return {entry["user"]["email"]: entry["role"] for entry in org.items("/orgs/org_acme/members")}


def people(tree: dict[str, Any], **members: Any) -> dict[str, Any]:
    tree["members"] = {"ada@acme.example": "admin", **{f"{name}@acme.example": member for name, member in members.items()}}
    tree["teams"] = {"writers": {"title": "Writers"}}
    return tree


# -- what can never be another ---------------------------------------------------------------------------------------------------------


def test_a_role_never_goes_to_another_person(tmp_path: Any) -> None:
    org = Org(tmp_path, seed=WITH_GRACE)
    applied(org, people(small(), linus="edit"))
    before = roles(org)
    org.write(people(small(), grace={"role": "admin", "previously": ["linus@acme.example"]}))
    plan = org.plan()
    blocked = {str(entry.address): entry for entry in plan.blocked}
    grace = blocked["acme/member/grace@acme.example"]
    assert grace.reason == (
        "acme/member/linus@acme.example cannot become acme/member/grace@acme.example: the email of usr_linus is linus@acme.example, "
        "and the email of a member cannot be changed"
    )
    assert grace.remedy == "remove linus@acme.example from previously (or its line from moved): they are two members"
    assert [str(step.address) for step in plan.steps if step.kind == "member"] == []
    org.apply()
    assert roles(org) == before
    assert "acme/member/linus@acme.example" in ids(org)
    applied(org, people(small(), grace="admin", linus="edit"))
    assert roles(org) == {**before, "grace@acme.example": "admin"}


def test_two_people_are_not_exchanged(tmp_path: Any) -> None:
    org = Org(tmp_path, seed=WITH_GRACE)
    applied(org, people(small(), linus="edit", grace="read"))
    before = roles(org)
    names = {"linus": "grace", "grace": "linus"}
    org.write(people(small(), **{name: {"role": "create", "previously": [f"{names[name]}@acme.example"]} for name in names}))
    plan = org.plan()
    assert {str(blocked.address) for blocked in plan.blocked} == {f"acme/member/{name}@acme.example" for name in names}
    org.apply()
    assert roles(org) == before


def test_a_person_whose_address_changed_on_the_service_is_the_same_person(tmp_path: Any) -> None:
    org = Org(tmp_path, seed=WITH_GRACE)
    applied(org, people(small(), linus="edit"))
    id = org.id("acme/member/linus@acme.example")
    renamed_user(org, "linus@acme.example", "linus.t@acme.example")
    org.write(people(small(), linus="create"))
    blocked = {str(entry.address): entry for entry in org.plan().blocked}["acme/member/linus@acme.example"]
    assert blocked.reason == (
        "is another member: the email of usr_linus is linus.t@acme.example, and the email of a member cannot be changed"
    )
    assert "write linus.t@acme.example as its key, with previously: [linus@acme.example]" in blocked.remedy
    tree = people(small())
    tree["members"]["linus.t@acme.example"] = {"role": "create", "previously": ["linus@acme.example"]}
    assert verbs(applied(org, tree)) == ["update acme/member/linus.t@acme.example"]
    assert org.id("acme/member/linus.t@acme.example") == id


def renamed_user(org: Org, old: str, new: str) -> None:
    """Somebody changes an e-mail address on the service itself, which has no request for it."""
    with closing(sqlite3.connect(org.db)) as connection, connection:
        connection.execute("update objects set data = replace(data, ?, ?)", (old, new))


def test_a_slug_that_cannot_change_keeps_its_document(org: Org) -> None:
    tree = small()
    applied(org, tree)
    before = ids(org)
    tree["openapi"] = {"dogs": {**tree["openapi"]["pets"], "visibility": "private", "previously": ["pets"]}}
    org.write(tree)
    plan = org.plan()
    assert {str(blocked.address) for blocked in plan.blocked} == {"acme/openapi/dogs", "acme/openapi/pets"}
    assert [step for step in plan.steps if step.kind == "openapi"] == []
    org.apply()
    assert ids(org) == before
    del tree["openapi"]["dogs"]["previously"]
    assert {"create acme/openapi/dogs", "delete acme/openapi/pets"} <= set(verbs(applied(org, tree)))


# -- what is in a renamed container ----------------------------------------------------------------------------------------------------


def handbook(tree: dict[str, Any], *, with_previously: bool = True) -> dict[str, Any]:
    """The tree with the site `docs` called `handbook`."""
    tree["sites"] = {
        "handbook": {**tree["sites"]["docs"], **({"previously": ["docs"]} if with_previously else {})},
        "flat": tree["sites"]["flat"],
    }
    tree["defaultContent"] = {"site": "handbook"}
    return tree


def without_links(tree: dict[str, Any]) -> None:
    del tree["sites"]["docs"]["shareLinks"]


def without_group(tree: dict[str, Any]) -> None:
    tree["sites"]["docs"]["structure"].pop(1)


def without_sections(tree: dict[str, Any]) -> None:
    tree["sites"]["docs"]["structure"] = [{"space": "one", "default": True}]


@pytest.mark.parametrize("edit", [without_links, without_group])
@pytest.mark.parametrize("spelling", ["previously", "moved"])
def test_what_is_taken_out_of_a_site_is_deleted_though_the_site_is_renamed(acme: Org, edit: Any, spelling: str) -> None:
    before = ids(acme)
    tree = small()
    edit(tree)
    kept = copy.deepcopy(tree)
    site = acme.id("acme/site/docs")
    moved = [{"from": "acme/site/docs", "to": "acme/site/handbook"}] if spelling == "moved" else []
    acme.write(handbook(tree, with_previously=spelling == "previously"), moved=moved)
    planned = acme.plan()
    assert planned.blocked == ()
    outcome = applied(acme, tree, moved=moved)
    deletes = [verb for verb in verbs(outcome) if verb.startswith("delete")]
    assert deletes
    assert all(delete.startswith("delete acme/site/handbook/") for delete in deletes)
    if edit is without_links:
        assert acme.items(f"/orgs/org_acme/sites/{site}/share-links") == []
        reasons = [change.reason for change in planned.changes if change.kind == "share-link"]
        assert reasons == ["no longer declared (was acme/site/docs/share-link/partners)"]
    else:
        assert acme.items(f"/orgs/org_acme/sites/{site}/section-groups") == []
    gone = set(before) - {exchanged(address, "acme/site", {"handbook": "docs"}) for address in ids(acme)}
    assert gone
    assert all(address.startswith("acme/site/docs/") for address in gone)
    applied(acme, {**kept, "sites": tree["sites"], "defaultContent": tree["defaultContent"]}, moved=moved)


def test_the_last_section_of_a_renamed_site_goes_too(acme: Org) -> None:
    tree = small()
    without_sections(tree)
    acme.write(handbook(tree))
    for _ in range(3):
        acme.apply()
    settled(acme)
    site = acme.id("acme/site/handbook")
    assert acme.items(f"/orgs/org_acme/sites/{site}/sections") == []


def test_removed_may_name_what_it_means_as_it_was_called_before(acme: Org) -> None:
    tree = small()
    without_links(tree)
    handbook(tree)
    applied(acme, tree, removed=[{"address": "acme/site/docs/share-link/partners", "action": "forget"}])
    site = acme.id("acme/site/handbook")
    assert [entry["name"] for entry in acme.items(f"/orgs/org_acme/sites/{site}/share-links")] == ["Partners"]
    assert "share-link" not in str(ids(acme))


# -- differences -------------------------------------------------------------------------------------------------------------------


LINK = load()["share-link"]


def compared(want: Any, now: Any, sent: Any = UNSET, seen: Any = UNSET) -> Cause | None:
    at = Address.parse("acme/site/docs/share-link/x")
    remembered = [{"name": value} if value is not UNSET else {} for value in (sent, seen)]
    binding = Binding(at, "share-link", "1", Origin.CREATED, *remembered) if sent is not UNSET or seen is not UNSET else None
    deviations = differences(LINK, {"name": want}, Observed("share-link", "1", {"name": now}, {}, {}), binding, {})
    return deviations[0].cause if deviations else None


@pytest.mark.parametrize(
    ("want", "now", "sent", "seen", "cause", "why"),
    [
        ("a", "a", UNSET, UNSET, None, "it is as declared, whoever made it so"),
        ("a", "a", "b", "b", None, "both came to the same"),
        ("a", "A", "a", "A", None, "the service stores it its own way, and did so before"),
        ("a", UNSET, "a", UNSET, None, "the service never shows it, and it was sent"),
        ("a", "b", UNSET, UNSET, Cause.YOURS, "it was never sent"),
        ("b", "a", "a", "a", Cause.YOURS, "the YAML changed"),
        ("a", "b", "a", "a", Cause.DRIFT, "the service changed"),
        ("a", "B", "a", "A", Cause.DRIFT, "it is not what was seen after the write"),
        ("c", "b", "a", "a", Cause.BOTH, "both changed, to different things"),
        ("b", "A", "a", "A", Cause.YOURS, "the YAML changed what the service stores its own way"),
    ],
)
def test_a_field_is_compared_with_what_was_sent_and_seen(want: Any, now: Any, sent: Any, seen: Any, cause: Cause | None, why: str) -> None:
    assert compared(want, now, sent, seen) is cause, why


def test_structured_values_are_explained_where_they_differ() -> None:
    before = {"type": "rules", "rules": [{"rule": "r", "users": ["a"]}], "gone": 1}
    after = {"type": "rules", "rules": [{"rule": "r", "users": ["b"]}], "new": 2}
    assert explain(before, after) == (("gone", 1, UNSET), ("new", UNSET, 2), ("rules.0.users.0", "a", "b"))
    assert explain(1, 1) == ()
    assert explain("a", {"a": 1}) == (("", "a", {"a": 1}),)
