"""Undone exchanges, hand-overs and openings: the plan of an undo has the order and the lines of every other plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.apply.test_renames_hold import SITES, TEAMS
from tests.apply.test_taken import teams, titles_by_key, unique
from tests.features.undo.undoing import undo
from tests.harness import Org, runs
from tests.odd import OddOrg
from tests.plan.test_exposures import NEW
from tests.plan.test_renames import ids, pairs, rekeyed
from tests.plan.test_ways_in import ADA, LINUS, handed_over, needs
from tests.proofs import costly
from tests.small import applied, verbs


@costly
def test_an_exchange_is_undone_and_the_lines_that_want_it_again_are_named(org: Org) -> None:
    applied(org, pairs())
    before = ids(org)
    tree = rekeyed(rekeyed(pairs(), "team", TEAMS), "site", SITES)
    applied(org, tree)
    swapped = ids(org)
    _, found, lines = undo(org, runs(org)[0].id)
    assert found.cannot == ()
    assert ids(org) == before
    said = {f"{line.address}: {line.what}" for line in lines}
    for prefix, (a, b) in {"acme/team": ("writers", "devs"), "acme/site": ("docs", "help")}.items():
        assert {f"{prefix}/{a}: renames it from {prefix}/{b} again", f"{prefix}/{b}: renames it from {prefix}/{a} again"} <= said
    assert verbs(applied(org, tree)) == []
    assert ids(org) == swapped
    undo(org, runs(org)[0].id)
    assert verbs(applied(org, pairs())) == []
    assert ids(org) == before


def test_an_undo_of_something_else_repeats_no_exchange(org: Org) -> None:
    applied(org, pairs())
    tree = rekeyed(pairs(), "team", TEAMS)
    applied(org, tree)
    swapped = ids(org)
    tree["teams"]["ops"] = {"title": "Ops"}
    applied(org, tree)
    undo(org, runs(org)[0].id)
    del tree["teams"]["ops"]
    assert verbs(applied(org, tree)) == []
    assert ids(org) == swapped


def test_an_exchange_with_a_detour_is_undone(tmp_path: Path) -> None:
    org = unique(OddOrg(tmp_path))
    org.write(teams(a="Alpha", b="Beta"))
    org.apply()
    org.write(teams(a="Beta", b="Alpha"))
    org.apply()
    undo(org, runs(org)[0].id)
    assert titles_by_key(org, *"ab") == {"a": "Alpha", "b": "Beta"}


def test_undoing_a_hand_over_promotes_first(tmp_path: Path) -> None:
    org = handed_over(tmp_path)
    org.apply()
    org.requests.clear()
    outcome, _, _ = undo(org, runs(org)[0].id)
    assert needs(outcome.plan)[f"{LINUS} role"] == {f"{ADA} role"}
    assert org.written == ["PATCH /orgs/org_acme/members/usr_ada", "PATCH /orgs/org_acme/members/usr_linus"]


def test_an_undo_that_lets_more_people_join_has_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, {"saml": {"new": NEW}, "emailDomains": ["acme.example"]})
    applied(org, {"saml": {"new": {**NEW, "defaultRole": "read"}}, "emailDomains": []})
    outcome, _, _ = undo(org, runs(org)[0].id)
    told = [f"{exposure.address} {exposure.field}" for exposure in outcome.plan.exposures]
    assert told == ["acme emailDomains", "acme/saml/new defaultRole"]
