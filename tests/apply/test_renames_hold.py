"""Renames amid everything else: undone, killed, in doubt, planned beforehand, and beside what `state mv` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.state.tables.rows import after
from tests.apply.test_kill import die_and_try_again
from tests.harness import Org
from tests.plan.test_renames import exchanged, ids, pairs, rekeyed
from tests.proofs import spread
from tests.small import applied, settled, small, verbs

TEAMS = {"writers": "devs", "devs": "writers"}
SITES = {"docs": "help", "help": "docs"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", spread([1, 2, 3], 1))
def test_killed_amid_an_exchange_it_is_made_once(tmp_path: Path, nth: int, when: str) -> None:
    org = Org(tmp_path)
    applied(org, pairs())
    before = ids(org)
    tree = rekeyed(rekeyed(pairs(), "team", TEAMS), "site", SITES)
    teams = tree["teams"]
    teams["writers"]["title"], teams["devs"]["title"] = teams["devs"]["title"], teams["writers"]["title"]
    del tree["sites"]["help"]["shareLinks"]
    org.write(tree)
    die_and_try_again(org, nth, when)
    org.apply()
    settled(org)
    names = {exchanged(exchanged(address, "acme/team", TEAMS), "acme/site", SITES): id for address, id in before.items()}
    gone = {address for address in names if address.startswith("acme/site/help/share-link/")}
    assert ids(org) == {address: id for address, id in names.items() if address not in gone}
    assert {item["title"] for item in org.items("/orgs/org_acme/teams")} == {"Writers", "Devs"}


def test_a_request_in_doubt_keeps_its_address_until_its_outcome_is_known(org: Org) -> None:
    applied(org, small())
    from reconciler.model import Intent

    doubtful = Intent(
        0, "", 1, Address.parse("acme/site/docs/share-link/partners"), "share-link", "update", "PATCH",
        f"/orgs/org_acme/sites/{org.id('acme/site/docs')}/share-links/x", org.id("acme/site/docs/share-link/partners"),
        {"active": True}, frozenset(), None, None,
    )  # fmt: skip
    with org.store() as store, store.lease(who="test", command="apply") as journal:
        journal.intend([doubtful])
    tree = small()
    tree["sites"] = {"handbook": {**tree["sites"]["docs"], "previously": ["docs"]}, "flat": tree["sites"]["flat"]}
    tree["defaultContent"] = {"site": "handbook"}
    org.write(tree)
    plan = org.plan()
    assert plan.state_update.rename == {}
    assert [str(step.address) for step in plan.steps if "/site/docs" in str(step.address) or "handbook" in str(step.address)] == []
    blocked = {str(refusal.address): refusal for refusal in plan.blocked}
    assert "a request of an earlier run for acme/site/docs is in doubt" in blocked["acme/site/handbook"].reason
    assert blocked["acme/site/handbook"].remedy == "reconciler apply finds out what happened to it"


def test_what_is_renamed_by_hand_is_not_renamed_again_by_its_line() -> None:
    a, b, between = (Address.parse(f"acme/team/{key}") for key in ("a", "b", "between"))
    known: dict[Address, Address] = {}
    for old, new in ((a, between), (b, a), (between, b)):
        known = {**after(known, {old: new}), old: new}
    assert known[a] == b
    assert known[b] == a
    assert after({a: b, b: a}, {a: b, b: a}) == {}


def test_a_saved_narrow_run_renames_only_what_it_is_about(org: Org) -> None:
    applied(org, pairs())
    org.write(rekeyed(rekeyed(pairs(), "team", TEAMS), "site", SITES))
    update = org.plan(targets=("acme/site/help/section/*",)).state_update
    assert {str(old).split("/")[1] for old in update.rename} == {"site"}
    assert {str(old) for old in update.fulfilled or {}} == {"acme/site/docs", "acme/site/help"}


def typo(word: str) -> dict[str, Any]:
    tree = small()
    tree["saml"]["okta"].pop("defaultTeam")
    tree["teams"] = {"authors": {"title": "Authors", "previously": [word]}}
    return tree


def test_a_former_key_that_nothing_had_is_no_reason_to_delete_what_it_may_have_meant(org: Org) -> None:
    tree = small()
    tree["saml"]["okta"].pop("defaultTeam")
    applied(org, tree)
    org.write(typo("writer"))
    plan = org.plan()
    assert {str(refusal.address) for refusal in plan.blocked} == {"acme/team/authors", "acme/team/writers"}
    assert all("previously: [writers] on acme/team/authors" in one.remedy for one in plan.blocked)
    assert [step for step in plan.steps if step.kind == "team"] == []
    assert verbs(applied(org, typo("writers"))) == ["update acme/team/authors"]


def test_an_exchange_whose_lines_had_their_effect_gives_no_object_the_title_of_another(org: Org) -> None:
    applied(org, pairs())
    tree = rekeyed(pairs(), "team", TEAMS)
    applied(org, tree)
    before = ids(org)
    teams = tree["teams"]
    teams["writers"]["title"], teams["devs"]["title"] = teams["devs"]["title"], teams["writers"]["title"]
    org.write(tree)
    blocked = {str(refusal.address): refusal for refusal in org.plan().blocked}
    assert set(blocked) == {"acme/team/writers", "acme/team/devs"}
    assert all("by an earlier run" in one.reason and "remove the former keys" in one.remedy for one in blocked.values())
    org.apply()
    settled_titles = {item["id"]: item["title"] for item in org.items("/orgs/org_acme/teams")}
    assert settled_titles == {before["acme/team/writers"]: "Devs", before["acme/team/devs"]: "Writers"}
    for team in teams.values():
        del team["previously"]
    assert set(verbs(applied(org, tree))) == {"update acme/team/writers", "update acme/team/devs"}
    assert ids(org) == before
