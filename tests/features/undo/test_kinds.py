"""What an undo does to objects of kinds that are created, cleared or deleted in a way of their own."""

from __future__ import annotations

from pathlib import Path

from reconciler.model import StepStatus
from tests.apply.test_random import everything as shown
from tests.apply.test_singles import AGENTS, BOTH, INSTRUCTIONS, OTHER, SCHEMA, VISITORS, both, document, path_of
from tests.features.drift.outside import drifted, said
from tests.features.undo.undoing import undo
from tests.harness import ORGANIZATION, Org, runs
from tests.kinds.test_integration import CHARTS, MINE, SEARCH, VENDOR, published
from tests.kinds.test_member import LINUS, MEMBER, PROVIDED, cleared, people
from tests.kinds.test_translation import ONE_FR, TRANSLATIONS, run, translated, without
from tests.outside import everything
from tests.proofs import costly
from tests.small import applied, described, settled


def test_drift_of_an_integration_is_corrected_and_an_undone_run_comes_back(tmp_path: Path) -> None:
    org = Org(tmp_path, seed=VENDOR)
    applied(org, published())
    org.write(published(title="Other", script="export default 2"))
    org.apply()
    undo(org, runs(org)[0].id)
    assert org.call("GET", "/integrations/acme-charts")["title"] == "Charts"
    org.write(published())
    applied(org, published())
    body = {"title": "Mine now", "organization": ORGANIZATION, "visibility": "public", "script": "0", "scopes": ["space:content:read"]}
    org.call("POST", "/integrations/acme-charts", {**body, "blocks": [{"id": "chart", "title": "Chart"}]})
    assert said(drifted(org)) == [f"{MINE}: changed title visibility"]
    applied(org, published())
    assert said(drifted(org)) == []


def test_an_undone_installation_stays_and_that_is_said(tmp_path: Path) -> None:
    org = Org(tmp_path, seed=VENDOR)
    applied(org, published(installations=False))
    applied(org, published())
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert outcome.results == ()
    assert {str(cannot.address) for cannot in found.cannot} == {CHARTS, SEARCH}


def test_drift_of_a_translation_is_corrected_and_an_undone_run_comes_back(org: Org) -> None:
    applied(org, translated())
    id = org.id(ONE_FR)
    document = org.call("GET", f"{TRANSLATIONS}/{id}")["instructions"]
    org.write(translated(instructions="Be brief."))
    org.apply()
    undo(org, runs(org)[0].id)
    assert org.call("GET", f"{TRANSLATIONS}/{id}")["instructions"] == document
    org.write(translated())
    org.call("PUT", f"{TRANSLATIONS}/{id}", {"instructions": {"object": "document", "nodes": []}})
    org.call("PATCH", f"/spaces/{run(org)}", {"title": "Un (fr)"})
    assert said(drifted(org)) == [f"{ONE_FR}: changed instructions"]
    applied(org, translated())
    assert said(drifted(org)) == []


def test_a_deleted_link_is_created_again_and_a_created_one_is_deleted_by_undo(org: Org) -> None:
    applied(org, without(translated()))
    org.write(translated())
    org.apply()
    undo(org, runs(org)[0].id)
    assert org.call("GET", TRANSLATIONS)["items"] == []
    org.apply()
    org.call("DELETE", f"{TRANSLATIONS}/{org.id(ONE_FR)}")
    org.write(translated())
    assert described(org.plan())[0].startswith(f"{ONE_FR}: create")
    org.apply()
    settled(org)


def test_who_was_added_outside_is_drift_and_an_undo_says_that_it_cannot_take_them_out(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, people(sso=False))
    org.call("POST", f"{MEMBER}/sso")
    assert said(drifted(org)) == [f"{LINUS}: changed sso"]
    again = Org(tmp_path / "again", PROVIDED)
    applied(again, people())
    applied(again, people(sso=True))
    outcome, found, _ = undo(again, runs(again)[0].id)
    assert outcome.results == ()
    assert [(str(cannot.address), cannot.reason) for cannot in found.cannot] == [
        (LINUS, "sso cannot be undone: the service has no request for it")
    ]


@costly
def test_what_is_cleared_comes_back_by_undo_and_goes_again(org: Org) -> None:
    applied(org, everything())
    before = shown(org)
    applied(org, cleared(everything()))
    after = shown(org)
    assert before != after
    for expected in (before, after):
        undo(org, runs(org)[0].id)
        assert shown(org) == expected


def test_undo_puts_the_value_back(org: Org) -> None:
    applied(org, BOTH)
    applied(org, both(agentInstructions="Be brief.", schema=OTHER))
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert (found.cannot, {result.status for result in outcome.results}) == ((), {StepStatus.DONE})
    assert org.call("GET", path_of(org))["jsonSchema"] == SCHEMA
    assert org.call("GET", INSTRUCTIONS)["instructions"] == document("Answer in plain English.")


def test_undo_of_its_creation_deletes_it_with_the_site_that_the_run_made_and_names_what_must_stay(org: Org) -> None:
    applied(org, BOTH)
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert [result.step.verb for result in outcome.results] == ["delete"]
    said = {str(cannot.address): cannot.reason for cannot in found.cannot}
    assert said[AGENTS] == "was created; the service cannot delete it"
    assert "acme/site/docs" not in said
    assert VISITORS not in said
    assert org.items(f"/orgs/{ORGANIZATION}/sites") == []
