"""The two ways on that `drift` prints: each command is accepted when it is pasted, and what has no command is said in words."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.command_line import Cli, prepared
from tests.contains import assert_contains
from tests.features.drift.test_command import PROJECT, edit, ids
from tests.features.drift.test_proposals import BRANCH, git, repository
from tests.proofs import costly

SITE = "acme/site/docs"
TEXT = """\
version: 1
project: p
service: {sandbox: .reconciler/sandbox.db, member: ada@example.com}
vars: {brand: {default: Acme}}
guards: {maxExposed: 2}
defaults: {space: {duplicateOf: blank}}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
    inviteLinks: false
    mergeRules: {reviewers: [ada@example.com]}
    members: {ada@example.com: admin, bob@example.com: edit}
    content:
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - collection: outer
        title: Outer
        content:
          - {space: one, title: One}
          - {space: two, title: Two}
          - {space: four, title: Four}
          - {collection: inner, title: Inner, content: []}
          - {space: three, title: Three}
    sites:
      docs:
        title: Docs
        visibility: public
        published: true
        structure: [{section: start, title: Start, spaces: [one]}, {section: more, title: More, spaces: [two]}]
        shareLinks: {partners: Partners}
"""


@prepared
def applied(cli: Cli) -> Cli:
    cli.write("p/reconciler.yaml", TEXT)
    cli("apply", PROJECT, "--yes", "--allow-exposure", "**", "--max-exposed", "99", code=0)
    return cli


@pytest.fixture
def desk(cli: Cli) -> Cli:
    return applied(cli)


def id_of(cli: Cli, address: str) -> str:
    return ids(cli)[address].rpartition("/")[2]


def site_path(cli: Cli) -> str:
    return f"/orgs/org_acme/sites/{id_of(cli, SITE)}"


def move(cli: Cli, path: str, body: object) -> None:
    cli("api", "POST", f"{path}/move", "--input", "-", "--project", PROJECT, input=json.dumps(body), code=0)


def ways(cli: Cli) -> dict[str, str]:
    """The printed commands by what they do: `Revert it`."""
    lines = cli("drift", PROJECT).stdout.splitlines()
    parts = [line.partition(": reconciler ") for line in lines]
    return {word: line for word, _, line in parts if line and word.startswith(("Revert ", "Accept "))}


def paste(cli: Cli, line: str) -> None:
    for part in line.split(" && reconciler "):
        words = shlex.split(part)
        cli(*words, *(["--yes"] if words[0] == "apply" else []), code=0)


# -- accept ------------------------------------------------------------------------------------------------------------------------------


def test_the_accept_line_leaves_out_what_comes_from_an_expression_and_says_where_it_is(desk: Cli) -> None:
    edit(desk, "PATCH", "/orgs/org_acme", "title=Other", "inviteLinks=true")
    text = desk("drift", PROJECT, code=2).stdout
    assert "Accept by hand, in the YAML: change the expression or its sources: reconciler.yaml:10:12 (acme.title)\n" in text
    paste(desk, ways(desk)["Accept it"])
    assert "inviteLinks: true" in (desk.root / "p/reconciler.yaml").read_text()


def test_a_looser_rule_is_accepted_by_the_line_that_is_printed(desk: Cli) -> None:
    desk("api", "PATCH", "/orgs/org_acme", "--input", "-", "--project", PROJECT, input='{"mergeRules": {"type": "none"}}', code=0)
    paste(desk, ways(desk)["Accept it"])
    assert desk.json("plan", PROJECT)["summary"]["requests"] == 0


# -- revert ------------------------------------------------------------------------------------------------------------------------------


def test_a_person_who_left_is_said_to_come_back_by_no_request(desk: Cli) -> None:
    edit(desk, "DELETE", f"/orgs/org_acme/members/{id_of(desk, 'acme/member/bob@example.com')}")
    text = desk("drift", PROJECT, code=2).stdout
    assert_contains(text, "acme/member/bob@example.com: no longer may sign in to the organization.\n", "No request puts acme/member/bob@")
    assert "Revert it" not in ways(desk)
    refused = desk("drift", PROJECT, "--accept", "acme/member/bob@example.com", code=4).stderr
    assert "Remove its lines from the YAML to accept this, because no request puts it back." in refused


def test_what_is_unmanaged_is_reverted_by_the_line_that_is_printed(desk: Cli) -> None:
    edit(desk, "POST", f"{site_path(desk)}/share-links", "name=Wild")
    ((what, line),) = ways(desk).items()
    assert what.startswith("Revert acme/site/docs/share-link/")
    paste(desk, line)
    assert "groups" not in desk.json("drift", PROJECT)


def test_the_line_that_deletes_what_is_unmanaged_names_the_environment(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", TEXT)
    cli.write("p/environments/staging.yaml", "vars: {brand: Staging}\n")
    cli("apply", PROJECT, "--env", "staging", "--yes", "--allow-exposure", "**", "--max-exposed", "99", code=0)
    listed = cli("state", "list", PROJECT, "--env", "staging", "-q", code=0).stdout.splitlines()
    site = next(line.split()[2] for line in listed if line.startswith(f"{SITE} "))
    edit(cli, "POST", f"/orgs/org_acme/sites/{site}/share-links", "name=Wild")
    text = cli("drift", PROJECT, "--env", "staging", code=0).stdout
    line = next(line.partition(": reconciler ")[2] for line in text.splitlines() if line.startswith("Revert "))
    paste(cli, line)
    assert "groups" not in cli.json("drift", PROJECT, "--env", "staging")


@costly
def test_a_group_under_a_group_that_was_deleted_is_put_back_with_the_option_that_is_named(desk: Cli) -> None:
    more = "{section: more, title: More, spaces: [two]}"
    new = f"{{group: over, title: Over, structure: [{more}, {{group: under, title: Under, structure: []}}]}}"
    desk.edit("p/reconciler.yaml", more, new)
    desk("apply", PROJECT, "--yes", "--allow-exposure", "**", "--max-exposed", "99", code=0)
    edit(desk, "DELETE", f"{site_path(desk)}/section-groups/{id_of(desk, f'{SITE}/group/over')}")
    plan = ("drift", PROJECT, "--revert-plan", "r.json")
    saved = desk(*plan, code=0)
    assert f"--allow-replace {SITE}/group/under" in saved.stdout
    assert f"this plan does not put back {SITE}/group/under. Plan it and decide: reconciler plan p\n" in saved.stderr
    desk(*plan, "--allow-replace", f"{SITE}/group/under", code=0)
    desk("apply", PROJECT, "--plan", "r.json", "--yes", "--allow-exposure", "**", "--max-exposed", "99", code=0)
    desk("drift", PROJECT, code=0)


def test_what_was_closed_is_opened_again_within_the_limits_of_the_apply(desk: Cli) -> None:
    edit(desk, "PATCH", site_path(desk), "visibility=unlisted")
    save, use = ways(desk)["Revert it"].split(" && reconciler ")
    desk(*shlex.split(save), code=0)
    words = (*shlex.split(use), "--yes")
    assert "if this is intended: --max-exposed " in desk(*words, code=4).stderr
    desk(*words, "--max-exposed", "99", code=0)
    desk("drift", PROJECT, code=0)


def test_a_space_that_was_moved_past_a_collection_is_put_back_by_one_request(desk: Cli) -> None:
    anchor = {"type": "space", "space": id_of(desk, "acme/space/two")}
    move(desk, f"/spaces/{id_of(desk, 'acme/space/three')}", {"position": {"before": anchor}})
    assert desk.json("plan", PROJECT)["summary"]["requests"] == 1, "the collection was not moved"
    paste(desk, ways(desk)["Revert it"])
    desk("drift", PROJECT, code=0)


@costly
@pytest.mark.parametrize("what", ["share-links", "sections"])
def test_what_was_deleted_and_created_again_is_adopted_by_the_line_that_is_printed(desk: Cli, what: str) -> None:
    address = f"{SITE}/share-link/partners" if what == "share-links" else f"{SITE}/section/more"
    body = ("name=Partners",) if what == "share-links" else ("title=More", f"spaceId={id_of(desk, 'acme/space/two')}")
    edit(desk, "DELETE", f"{site_path(desk)}/{what}/{id_of(desk, address)}")
    edit(desk, "POST", f"{site_path(desk)}/{what}", *body)
    assert f"{address} was created again outside Reconciler (" in desk("drift", PROJECT, code=2).stdout
    line = next(line for word, line in ways(desk).items() if word.startswith("Revert "))
    paste(desk, line)
    desk("drift", PROJECT, code=0)


def test_the_lines_of_a_selection_or_a_baseline_are_about_no_more_than_was_shown(desk: Cli) -> None:
    edit(desk, "PATCH", f"/spaces/{id_of(desk, 'acme/space/one')}", "title=Uno")
    edit(desk, "PATCH", f"/spaces/{id_of(desk, 'acme/space/two')}", "title=Due")
    edit(desk, "POST", f"{site_path(desk)}/share-links", "name=Wild")
    known = "known:\n  - {address: acme/space/two, reason: known, until: 2099-12-31}\n"
    desk.write("known drift.yaml", known)
    options = ("--baseline", "known drift.yaml", "--target", "acme/space/*")
    text = desk("drift", PROJECT, *options, code=2).stdout
    assert "1 cosmetic change, " in text
    paste(desk, next(line.partition(": reconciler ")[2] for line in text.splitlines() if line.startswith("Revert it")))
    desk("drift", PROJECT, *options, code=0)
    left = [group["addresses"] for group in desk.json("drift", PROJECT)["groups"] if group["class"] == "cosmetic"]
    assert left == [["acme/space/two"]]


# -- propose -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
class TestProposals:
    @pytest.fixture
    def desk(self, cli: Cli, tmp_path: Path) -> Cli:
        return repository(applied(cli))

    def message(self, cli: Cli, *options: str, code: int) -> str:
        cli("drift", PROJECT, "--propose", *options, code=code)
        return git(cli.root, "log", "-1", "--format=%B", BRANCH)

    def test_a_commit_does_not_say_that_it_accepts_what_is_left_to_people(self, desk: Cli) -> None:
        edit(desk, "PATCH", "/orgs/org_acme", "title=Other", "inviteLinks=true")
        message = self.message(desk, "--allow-exposure", "acme", code=5)
        assert_contains(
            message, "Accept 1 change made", "- acme: inviteLinks false -> true\n", "\nLeft to people:\n- acme.title comes from"
        )
        assert "acme: title" not in message

    def test_a_commit_says_what_it_accepts_of_siblings_that_were_changed_alike(self, desk: Cli) -> None:
        for name in ("one", "two"):
            edit(desk, "PATCH", f"/spaces/{id_of(desk, f'acme/space/{name}')}", "title=Same")
        message = self.message(desk, code=0)
        assert_contains(message, "- acme/space/one: title One -> Same\n", "- acme/space/two: title Two -> Same\n")

    def test_a_commit_says_nothing_of_what_is_unmanaged(self, desk: Cli) -> None:
        edit(desk, "POST", f"{site_path(desk)}/share-links", "name=Wild")
        edit(desk, "PATCH", f"/spaces/{id_of(desk, 'acme/space/one')}", "title=Uno")
        message = self.message(desk, code=0)
        assert "Wild" not in message
        assert "- acme/space/one: title One -> Uno\n" in message

    def test_moves_that_need_each_other_are_accepted_together_beside_what_is_left_to_people(self, desk: Cli) -> None:
        inner, outer = (id_of(desk, f"acme/collection/{name}") for name in ("inner", "outer"))
        move(desk, f"/collections/{inner}", {"parent": None})
        move(desk, f"/collections/{outer}", {"parent": inner})
        edit(desk, "PATCH", "/orgs/org_acme", "title=Other")
        message = self.message(desk, code=5)
        assert_contains(message, "Accept 2 changes", "acme/collection/outer: parent null -> acme/collection/inner")
        assert message.count("Left to people:\n- acme.title comes from") == 1
        assert "acme/collection" not in message.partition("Left to people:")[2]
