"""`--hold`: what a guard, a policy or a missing consent refuses is left alone with all that belongs to it, and the rest is applied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler import exits
from reconciler.report.layout import plain
from reconciler.report.reading import sheet_of
from reconciler.report.sheet import sheet_text
from tests.command_line import Cli, initialised
from tests.proofs import costly

TEAMS = [f"t{number}" for number in range(6)]


def edit(cli: Cli, change: Any, **top: Any) -> None:
    """Change the project: its organization, or keys at the top."""
    path = cli.root / "p/reconciler.yaml"
    document = yaml.safe_load(path.read_text())
    change(document["organizations"]["acme"])
    path.write_text(yaml.safe_dump({**document, **top}, sort_keys=False))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A project with six teams more, and a site that is published and not public."""

    def more(acme: dict[str, Any]) -> None:
        acme["teams"] |= {key: {"title": key.upper()} for key in TEAMS}
        acme["sites"]["docs"] |= {"visibility": "share-link", "published": True}

    cli = initialised(Cli(tmp_path))
    edit(cli, more)
    cli("apply", "p", "--yes", code=0)
    return cli


def without_teams(acme: dict[str, Any]) -> None:
    acme["teams"] = {"writers": {**acme["teams"]["writers"], "title": "Authors"}}


def held(document: Any) -> set[str]:
    return {change["address"].removeprefix("acme/") for change in document["held"]["changes"]}


def changed(document: Any) -> set[str]:
    return {change["address"].removeprefix("acme/") for change in document["changes"]}


def test_without_hold_nothing_is_applied(cli: Cli) -> None:
    edit(cli, without_teams)
    assert "RC-delete-limit" in cli("apply", "p", "--yes", code=exits.REFUSED).stderr
    assert "held" not in cli.json("plan", "p", "--allow-delete", "6")


def test_of_a_guard_that_counts_all_is_held_and_the_rest_is_applied(cli: Cli) -> None:
    edit(cli, without_teams)
    shown = cli("plan", "p", "--hold", code=exits.PARTLY)
    assert "6 changes held" in shown.stdout
    assert "--allow-delete 6" in shown.stdout
    assert shown.stdout.endswith("6 changes are held. Apply the rest with: reconciler apply p --hold\n")
    document = cli.json("plan", "p", "--hold")
    assert (held(document), changed(document)) == ({f"team/{key}" for key in TEAMS}, {"team/writers"})
    assert document["summary"]["held"] == 6
    assert all(change["refused"] and change["id"] == "RC-delete-limit" for change in document["held"]["changes"])
    assert cli("apply", "p", "--hold", "--yes", code=exits.PARTLY).stdout.endswith("Applied 1 request. Left: 6 changes held.\n")
    assert "Plan: nothing is left, because everything is held; 6 held" in cli("plan", "p", "--hold", code=exits.REFUSED).stdout
    assert cli("apply", "p", "--hold", "--yes", code=exits.REFUSED).stdout.endswith("Nothing to apply. Left: 6 changes held.\n")
    assert cli("apply", "p", "--hold", "--yes", "--allow-delete", "6", code=0).stdout.endswith(
        "Applied 6 requests. The plan is now empty.\n"
    )


def test_to_hold_is_to_exclude(cli: Cli) -> None:
    edit(cli, without_teams)
    document = cli.json("plan", "p", "--hold")
    words = [word for change in document["held"]["changes"] for word in ("--exclude", change["address"])]
    excluded = cli.json("plan", "p", *words)
    assert [document[key] for key in ("changes", "steps", "exposures", "blocked")] == [
        excluded[key] for key in ("changes", "steps", "exposures", "blocked")
    ]


def test_an_exposure_without_consent_is_held_at_a_terminal_too_and_what_else_is_shown_there_is_not(cli: Cli) -> None:
    def public(acme: dict[str, Any]) -> None:
        acme["sites"]["docs"]["visibility"] = "public"
        acme["sites"]["docs"]["structure"][1]["title"] = "The API"

    edit(cli, public)
    document = cli.json("plan", "p", "--hold")
    assert (held(document), changed(document)) == ({"site/docs"}, {"site/docs/section/api"})
    assert document["held"]["refusals"][0]["remedy"] == "if this is intended: --allow-exposure acme/site/docs"
    assert cli.json("plan", "p", "--hold", "--allow-exposure", "acme/site/docs")["summary"].get("held") is None


def test_what_two_guards_refuse_is_held_alone(cli: Cli) -> None:
    def public(acme: dict[str, Any]) -> None:
        acme["sites"]["docs"]["visibility"] = "public"
        acme["teams"]["t0"]["title"] = "Authors"

    edit(cli, public, access=[{"as": "anyone", "mustNotSee": ["acme/space/guides"]}])
    document = cli.json("plan", "p", "--hold")
    assert {refusal["id"] for refusal in document["held"]["refusals"]} == {"RC-rule-violated", "RC-consent-required"}
    assert (held(document), changed(document)) == ({"site/docs"}, {"team/t0"})


def test_two_refusals_about_the_same_hold_nothing_else(cli: Cli) -> None:
    def public(acme: dict[str, Any]) -> None:
        acme["sites"]["docs"]["visibility"] = "public"
        acme["teams"]["writers"]["title"] = "Authors"

    edit(cli, public, guards={"maxExposed": 2})
    document = cli.json("plan", "p", "--hold")
    assert [refusal["id"] for refusal in document["held"]["refusals"]] == ["RC-exposure-limit", "RC-consent-required"]
    assert (held(document), changed(document)) == ({"site/docs"}, {"team/writers"})


def test_what_is_refused_is_held_with_what_requires_it_and_with_what_it_requires_alone(cli: Cli) -> None:
    """A new space that only a refused variant shows waits with it; one that something else shows does not."""

    def spaces(acme: dict[str, Any]) -> None:
        content = acme["content"]
        content += [{"space": key, "title": f"Zoo {key}" if key == "x" else key.upper(), "duplicateOf": "blank"} for key in ("x", "y", "z")]
        acme["sites"]["docs"]["structure"] += [
            {"section": "x", "title": "Xx", "spaces": ["x"]},
            {"section": "y", "title": "No", "spaces": ["y"]},
            {"section": "z", "title": "Zz", "spaces": ["z"]},
        ]

    policies = [{"id": "no", "on": ["section"], "assert": "${{ after.title != 'No' }}", "message": "not that title"}]
    policies += [{"id": "zoo", "on": ["space"], "assert": "${{ after.title[:3] != 'Zoo' }}", "message": "no animals"}]
    edit(cli, spaces, policies=policies)
    document = cli.json("plan", "p", "--hold")
    of_x = {"space/x", "site/docs/section/x", "site/docs/site-space/x"}
    of_y = {"space/y", "site/docs/section/y", "site/docs/site-space/y"}
    assert held(document) == of_x | of_y
    assert {change["address"] for change in document["held"]["changes"] if change["refused"]} == {
        "acme/space/x",
        "acme/site/docs/section/y",
    }
    assert {"space/z", "site/docs/section/z"} <= changed(document)
    cli("apply", "p", "--hold", "--yes", code=exits.PARTLY)
    assert changed(cli.json("plan", "p", "--hold")) == set()


def test_a_limit_on_what_a_resource_contains_is_not_exceeded_beside_the_held_resource(cli: Cli) -> None:
    """The policy is about the site, which has another change: to exclude the site from the plan must not end the policy."""

    def sections(acme: dict[str, Any]) -> None:
        acme["sites"]["docs"]["title"] = "Docs"
        acme["sites"]["docs"]["structure"].append({"section": "more", "title": "More", "spaces": [{"key": "more", "space": "api"}]})
        acme["teams"]["writers"]["title"] = "Authors"

    policy = {"id": "few", "on": ["site"], "assert": "${{ inside('section') <= 2 }}", "message": "too many sections"}
    edit(cli, sections, policies=[policy])
    document = cli.json("plan", "p", "--hold")
    assert {"site/docs", "site/docs/section/more"} <= held(document)
    assert changed(document) == {"team/writers"}


def test_a_violation_that_only_the_held_change_would_end_holds_nothing_else(cli: Cli) -> None:
    edit(cli, lambda acme: acme["sites"]["docs"].update(title="Bad"))
    cli("apply", "p", "--yes", code=0)

    def change(acme: dict[str, Any]) -> None:
        acme["sites"]["docs"] |= {"title": "Good", "visibility": "public"}
        acme["teams"]["writers"]["title"] = "Authors"

    edit(cli, change, policies=[{"id": "good", "on": ["site"], "assert": "${{ after.title != 'Bad' }}", "message": "bad"}])
    document = cli.json("plan", "p", "--hold")
    assert (held(document), changed(document)) == ({"site/docs"}, {"team/writers"})
    assert [refusal["id"] for refusal in document["held"]["refusals"]] == ["RC-consent-required"]


@pytest.mark.parametrize("rule", ["guards", "protect", "access"])
def test_a_looser_rule_without_consent_holds_everything_and_is_not_recorded(cli: Cli, rule: str) -> None:
    strict = {"guards": {"maxDelete": {"percent": 0, "atLeast": 3}}, "protect": ["team"], "access": {}}
    strict["access"] = [{"as": "anyone", "mustNotSee": ["acme/space/guides"]}]
    loose = {"guards": {"maxDelete": {"percent": 100, "atLeast": 9}}, "protect": [], "access": []}
    edit(cli, lambda acme: None, **{rule: strict[rule]})
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    edit(cli, lambda acme: acme["teams"]["writers"].update(title="Authors"), **{rule: loose[rule]})
    document = cli.json("plan", "p", "--hold")
    assert "team/writers" in held(document)
    assert (changed(document), document["exposures"]) == (set(), [])
    cli("apply", "p", "--hold", "--yes", code=exits.REFUSED)
    assert "RC-consent-required" in cli("apply", "p", "--yes", code=exits.REFUSED).stderr


def test_where_what_is_refused_takes_everything_with_it_no_rule_is_recorded(cli: Cli) -> None:
    def space(acme: dict[str, Any]) -> None:
        acme["content"].append({"space": "x", "title": "Zoo", "duplicateOf": "blank"})
        acme["sites"]["docs"]["structure"].append({"section": "x", "title": "Xx", "spaces": ["x"]})

    zoo = {"id": "zoo", "on": ["space"], "assert": "${{ after.title != 'Zoo' }}", "message": "no animals"}
    edit(cli, space, policies=[zoo])
    assert held(cli.json("plan", "p", "--hold")) == {"space/x", "site/docs/section/x", "site/docs/site-space/x"}
    cli("apply", "p", "--hold", "--yes", code=exits.REFUSED)
    edit(cli, lambda acme: None, policies=[])
    assert cli.json("plan", "p")["exposures"] == [], "a rule that was recorded would be looser now"


def test_a_looser_rule_beside_no_change_is_a_refusal_and_no_change_is_counted(cli: Cli) -> None:
    edit(cli, lambda acme: None, guards={"maxDelete": {"percent": 0, "atLeast": 3}})
    cli("apply", "p", "--yes", code=0)
    edit(cli, lambda acme: None, guards={"maxDelete": {"percent": 0, "atLeast": 4}})
    shown = cli("plan", "p", "--hold", code=exits.REFUSED).stdout
    assert shown.endswith("Plan: nothing to do; 1 refusal. 0 requests.\n")
    assert "--allow-exposure guards" in shown
    assert cli("apply", "p", "--hold", "--yes", code=exits.REFUSED).stdout.endswith("Nothing to apply. Left: 1 refusal.\n")


def test_a_policy_about_the_plan_holds_everything(cli: Cli) -> None:
    policy = {"id": "small", "on": ["plan"], "assert": "${{ count('delete') <= 2 }}", "message": "too much"}
    edit(cli, without_teams, policies=[policy])
    document = cli.json("plan", "p", "--hold", "--allow-delete", "9")
    assert (len(document["held"]["changes"]), document["changes"]) == (7, [])


def test_of_a_policy_that_counts_all_that_it_counts_is_held(cli: Cli) -> None:
    """The resource that violates it is new, so nobody would violate it beside the held resource."""

    def change(acme: dict[str, Any]) -> None:
        without_teams(acme)
        acme["sites"]["docs"]["structure"].append({"section": "more", "title": "More", "spaces": [{"key": "more", "space": "api"}]})

    policy = {"id": "few", "on": ["section"], "when": ["create"], "message": "too many teams end"}
    edit(cli, change, policies=[{**policy, "assert": "${{ count('delete', 'team') <= 2 }}"}])
    document = cli.json("plan", "p", "--hold", "--allow-delete", "9")
    assert held(document) == {"site/docs/section/more", "site/docs/site-space/more", *(f"team/{key}" for key in TEAMS)}
    assert changed(document) == {"team/writers"}
    edit(cli, lambda acme: None, policies=[{**policy, "assert": "${{ count('keep', 'team') >= 7 }}"}])
    assert changed(cli.json("plan", "p", "--hold", "--allow-delete", "9")) == set()


def test_unmanaged_objects_that_are_held_can_be_targets_and_a_saved_plan_excludes_them(cli: Cli) -> None:
    edit(cli, without_teams, removed=[{"address": f"acme/team/{key}", "action": "forget"} for key in TEAMS])
    cli("apply", "p", "--yes", code=0)
    edit(cli, lambda acme: acme["teams"]["writers"].update(title="Writers"), prune={"team": "all"}, removed=[])
    words = ("plan", "p", "--hold", "--allow-exposure", "prune")
    document = cli.json(*words, "--target", "acme/team/team_*")
    assert (document["summary"]["held"], document["changes"], document["summary"]["outside"]) == (6, [], 1)
    cli(*words, "--out", "f.json", code=exits.PARTLY)
    document = json.loads((cli.root / "f.json").read_text())
    assert {glob.removeprefix("acme/") for glob in document["options"]["exclude"]} == held(document)
    assert len(held(document)) == 6
    assert cli("apply", "p", "--plan", "f.json", code=0).stdout.endswith("Applied 1 request. The plan file was applied.\n")


def test_a_saved_plan_has_the_rest_alone_and_whoever_applies_it_decides_nothing_about_what_is_held(cli: Cli) -> None:
    edit(cli, without_teams)
    cli("plan", "p", "--hold", "--out", "f.json", code=exits.PARTLY)
    document = json.loads((cli.root / "f.json").read_text())
    assert {glob.removeprefix("acme/") for glob in document["options"]["exclude"]} == held(document)
    words = ("apply", "p", "--plan", "f.json")
    assert "--plan FILE applies nothing but what it shows" in cli(*words, "--hold", code=exits.WRONG).stderr
    assert cli(*words, env={"RECONCILER_HOLD": "1"}, code=0).stdout.endswith("Applied 1 request. The plan file was applied.\n")
    assert held(cli.json("plan", "p", "--hold")) == {f"team/{key}" for key in TEAMS}


def test_where_everything_is_held_no_plan_is_saved(cli: Cli) -> None:
    edit(cli, lambda acme: acme["teams"].clear())
    assert "Everything is held, so the plan was not saved" in cli("plan", "p", "--hold", "--out", "f.json", code=exits.REFUSED).stderr
    assert not (cli.root / "f.json").exists()


def test_the_comment_of_a_pull_request_shows_both_parts(cli: Cli) -> None:
    edit(cli, without_teams)
    document = cli.json("plan", "p", "--hold")
    text = plain(sheet_text(sheet_of(document)))
    assert "6 changes held" in text
    assert "--allow-delete 6" in text
    assert "Writers -> Authors" in text


@costly
def test_a_held_run_is_not_one_that_found_everything_as_declared(cli: Cli) -> None:
    edit(cli, without_teams)
    cli("apply", "p", "--hold", "--yes", code=exits.PARTLY)
    assert cli.json("history", "p")["runs"][0]["exit"] == exits.PARTLY
