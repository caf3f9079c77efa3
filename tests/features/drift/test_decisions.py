"""`drift --fail-on` and `drift --revert-plan`: which drift fails a job, and one group put back, with nothing else."""

from __future__ import annotations

import json

import pytest

from tests.command_line import Cli, applied_project
from tests.contains import assert_contains
from tests.documents import valid
from tests.features.drift.test_command import PROJECT, edit, ids, rename
from tests.proofs import costly


@pytest.fixture
def drifted(cli: Cli) -> Cli:
    """A project with two changes: a cosmetic one, and a deleted space."""
    applied = applied_project(cli)
    rename(applied)
    space = next(id for address, id in ids(applied).items() if address.endswith("/space/api"))
    edit(applied, "DELETE", f"/spaces/{space}")
    return applied


def groups(cli: Cli) -> dict[str, str]:
    """The id of the group of each class."""
    document = cli.json("drift", PROJECT)
    valid(document, "drift")
    return {group["class"]: group["id"] for group in document["groups"]}


def test_only_the_named_classes_fail_and_other_codes_stay(drifted: Cli) -> None:
    codes = {
        names: drifted("drift", PROJECT, "--fail-on", names).exit_code for names in ("exposing,access", "exposing,deleting", "cosmetic")
    }
    assert codes == {"exposing,access": 0, "exposing,deleting": 2, "cosmetic": 2}
    assert drifted("drift", PROJECT).exit_code == 2
    assert 'did you mean "deleting"' in drifted("drift", PROJECT, "--fail-on", "deletin", code=3).stderr


def test_the_worst_class_comes_first_with_bounds_and_both_ways(drifted: Cli) -> None:
    text = drifted("drift", PROJECT).stdout
    assert_contains(text, "2 changes: 1 deleting and 1 cosmetic", "Revert all: reconciler drift p --revert-plan revert.plan.json && ")
    assert text.index("- deleted") < text.index("~ title")
    between = [group["between"] for group in drifted.json("drift", PROJECT)["groups"]]
    assert all(bounds["after"] <= bounds["before"] for bounds in between)
    page = drifted("drift", PROJECT, "--format", "html").stdout
    assert page.index("<h2>Deleted outside Reconciler") < page.index("<h2>Other changes outside Reconciler")


def test_many_cosmetic_changes_are_one_entry(cli: Cli) -> None:
    applied = applied_project(cli)
    teams = "".join(f"\n      team-{number}: {{title: Team {number}}}" for number in range(12))
    applied.edit(f"{PROJECT}/reconciler.yaml", "    teams:\n", f"    teams:{teams}\n")
    assert applied("apply", PROJECT, "--yes").exit_code == 0
    for address, id in ids(applied).items():
        if "/team/" in address:
            edit(applied, "PATCH", f"/orgs/org_acme/teams/{id}", f"title=Other {id}")
    text = applied("drift", PROJECT).stdout
    assert_contains(text, "13 cosmetic changes, ", "13 cosmetic differences", "team title")
    assert text.count("~ ") < 3
    assert applied("drift", PROJECT, "--full").stdout.count("~ title") == 13


def test_a_group_is_put_back_and_nothing_else(drifted: Cli) -> None:
    known = groups(drifted)
    result = drifted("drift", PROJECT, "--revert-plan", "revert.plan.json", "--group", known["cosmetic"][:6], code=0)
    assert_contains(result.stdout, "~ title", "Apply it with: reconciler apply p --plan revert.plan.json")
    assert len(json.loads((drifted.root / "revert.plan.json").read_text())["steps"]) == 1
    assert drifted("apply", PROJECT, "--plan", "revert.plan.json", "--yes").exit_code == 0
    assert groups(drifted) == {"deleting": known["deleting"]}, "the other one keeps its id"
    drifted("drift", PROJECT, "--revert-plan", "all.plan.json", code=0)
    assert drifted("apply", PROJECT, "--plan", "all.plan.json", "--yes").exit_code == 0
    assert drifted("drift", PROJECT).exit_code == 0


def test_an_unknown_group_is_refused_with_those_that_exist(drifted: Cli) -> None:
    known = groups(drifted)["cosmetic"]
    wrong = known[:-1] + ("0" if known[-1] != "0" else "1")
    result = drifted("drift", PROJECT, "--revert-plan", "x.json", "--group", wrong, code=3)
    assert_contains(result.stderr, f'did you mean "{known}"', "RC-no-such-group", "was deleted")
    assert not (drifted.root / "x.json").exists()
    assert "RC-options-conflict" in drifted("drift", PROJECT, "--group", known, code=3).stderr


@pytest.mark.parametrize(
    ("edited", "field"), [("title: Documentation\n        agentsContext: included", "agentsContext"), ("title: Mine", "title")]
)
def test_a_revert_that_would_also_apply_the_files_is_refused_and_not_advised(drifted: Cli, edited: str, field: str) -> None:
    known = groups(drifted)["cosmetic"]
    drifted.edit(f"{PROJECT}/reconciler.yaml", "title: Documentation", edited)
    result = drifted("drift", PROJECT, "--revert-plan", "x.json", "--group", known, code=4)
    wrong = f"also apply changes of your files: acme/site/docs.{field}"
    assert_contains(result.stderr, wrong, "RC-not-reverted", "--target acme/site/docs")
    (group,) = (group for group in drifted.json("drift", PROJECT)["groups"] if group["id"] == known)
    assert not group.get("revert")


@costly
def test_the_order_that_people_changed_is_drift_until_its_own_group_is_reverted(cli: Cli) -> None:
    applied = applied_project(cli)
    api = "          - {section: api, title: API, spaces: [api]}\n"
    applied.edit("p/reconciler.yaml", api, f"{api}          - {{section: more, title: More, spaces: [{{key: more, space: guides}}]}}\n")
    applied("apply", PROJECT, "--yes", code=0)
    sections = {address: id for address, id in ids(applied).items() if "/section/" in address}
    first = next(iter(sections))
    site = ids(applied)[first.partition("/section/")[0]]
    path = f"/orgs/org_acme/sites/{site}/sections"
    order = [item["id"] for item in json.loads(applied("api", "GET", path, "--project", PROJECT, code=0).stdout)["items"]]
    (applied.root / "end.json").write_text('{"position": {}}')
    applied("api", "POST", f"{path}/{order[0]}/move", "--input", "end.json", "--project", PROJECT, code=0)
    named = next(address for address, id in sections.items() if id == order[1])
    edit(applied, "PATCH", f"{path}/{order[1]}", "title=Other")
    applied("drift", PROJECT, "--revert-plan", "r.json", "--group", groups_of(applied)[named], code=0)
    applied("apply", PROJECT, "--plan", "r.json", "--yes", code=0)
    assert "> position" in applied("drift", PROJECT, code=2).stdout
    applied("apply", PROJECT, "--yes", code=0)
    applied("drift", PROJECT, code=0)


def groups_of(cli: Cli) -> dict[str, str]:
    """The id of the group of each address."""
    return {address: group["id"] for group in cli.json("drift", PROJECT)["groups"] for address in group["addresses"]}


def test_access_that_is_unmanaged_is_deleted_by_the_command_that_is_printed(cli: Cli) -> None:
    applied = applied_project(cli)
    site = next(id for address, id in ids(applied).items() if "/site/" in address and address.count("/") == 2)
    edit(applied, "POST", f"/orgs/org_acme/sites/{site}/share-links", "name=Wild")
    assert applied("drift", PROJECT).exit_code == 0, "as before, unmanaged objects are no drift"
    assert applied("drift", PROJECT, "--fail-on", "access").exit_code == 2
    result = applied("drift", PROJECT, "--revert-plan", "x.json", "--quiet", code=4)
    line = next(line for line in result.stderr.splitlines() if "Delete it with: reconciler" in line).rpartition("reconciler ")[2]
    assert applied(*line.split()).exit_code == 0
    assert "groups" not in applied.json("drift", PROJECT)
