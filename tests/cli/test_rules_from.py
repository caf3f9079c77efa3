"""`--rules-from REF`: the rules that judge a pull request are not the pull request's own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.config.keys import ENVIRONMENT, EVERYWHERE, JUDGING, POLICIES, PROJECT
from reconciler.run.rules import rule_names
from tests.cli.test_dangerous_edits import Document, acme, base, node, site
from tests.cli.test_diff import git
from tests.command_line import Cli
from tests.proofs import costly

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SALARIES = "acme/space/six"
RULES = ("--rules-from", "main")


def ruled() -> Document:
    """A project whose rules forbid what the pull requests below try."""
    document = base()
    site(document)["visibility"] = "visitor-auth"
    return document | {
        "access": [{"as": "anyone", "mustNotSee": [SALARIES]}],
        "guards": {"maxDelete": {"percent": 0, "atLeast": 1}},
        "prune": {"team": "owned"},
        "policies": [
            {"id": "short-titles", "on": ["team"], "assert": "${{ after.title != 'Forbidden' }}", "message": "titles of teams are short"},
        ],
    }


def write(cli: Cli, document: Document) -> None:
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, allow_unicode=True, sort_keys=False))


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, applied from the branch main; a branch for the pull request is checked out."""
    cli = Cli(tmp_path_factory.mktemp("ruled"))
    write(cli, ruled())
    cli.write(".gitignore", ".reconciler/\n")
    git(cli.root, "init", "-q", "-b", "main")
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "-m", "one")
    git(cli.root, "checkout", "-q", "-b", "change")
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    return cli.root


@pytest.fixture
def change(applied: Path, tmp_path: Path) -> Cli:
    shutil.copytree(applied, tmp_path, dirs_exist_ok=True)
    return Cli(tmp_path)


def shown(document: Document) -> None:
    """A public site shows the salaries."""
    site(document, "flat").update(visibility="public", published=True)
    site(document, "flat")["structure"].append("six")


def long_title(document: Document) -> None:
    acme(document)["teams"]["t1"]["title"] = "Forbidden"


def many_deletes(document: Document) -> None:
    for number in range(5):
        acme(document)["teams"].pop(f"t{number}")


def renamed(document: Document) -> None:
    shown(document)
    node(acme(document), "six").update(space="pay", previously=["six"])
    site(document, "flat")["structure"][-1] = "pay"


ATTACKS: dict[str, tuple[Callable[[Document], Any], Callable[[Document], Any], str]] = {
    "an access test is removed": (shown, lambda d: d.pop("access"), "anyone can read it after this plan"),
    "an access test is about something else": (
        shown, lambda d: d.update(access=[{"as": "anyone", "mustNotSee": ["acme/space/five"]}]), "anyone can read it after this plan",
    ),
    "a policy is removed": (long_title, lambda d: d.pop("policies"), "titles of teams are short"),
    "a policy only warns": (long_title, lambda d: d["policies"][0].update(level="warning"), "titles of teams are short"),
    "the limit of deletes is higher": (many_deletes, lambda d: d.pop("guards"), "the plan deletes 5 objects"),
}  # fmt: skip


@costly
@pytest.mark.parametrize("name", ATTACKS)
def test_a_pull_request_is_judged_by_the_rules_of_the_branch_that_is_named(change: Cli, name: str) -> None:
    edit, loosen, says = ATTACKS[name]
    document = ruled()
    edit(document)
    loosen(document)
    write(change, document)
    change("plan", "p", code=0)
    by_main = change("plan", "p", *RULES, code=4)
    assert says in by_main.stdout + by_main.stderr
    assert change("apply", "p", "--yes", "--allow-exposure", "**", *RULES).exit_code == 4


def test_a_resource_that_is_renamed_stays_in_the_tests_of_its_former_address(change: Cli) -> None:
    document = ruled()
    renamed(document)
    document.pop("access")
    write(change, document)
    assert change("plan", "p").exit_code == 0
    assert change("plan", "p", *RULES).exit_code == 4


def other_organization(document: Document) -> str:
    document["organizations"] = {"globex": acme(document)}
    return "previously: [acme] on globex"


def other_key(document: Document) -> str:
    acme(document)["content"] = [
        entry | {"space": "hidden", "id": "ID"} if entry.get("space") == "six" else entry for entry in acme(document)["content"]
    ]
    site(document, "flat")["structure"] = ["hidden" if entry == "six" else entry for entry in site(document, "flat")["structure"]]
    return "previously: [six] on acme/space/hidden"


@pytest.mark.parametrize("evade", [other_organization, other_key])
def test_what_is_declared_again_by_its_id_leaves_no_rule_of_the_branch(change: Cli, evade: Callable[[Document], str]) -> None:
    document = ruled()
    shown(document)
    document.pop("access")
    way = evade(document)
    id = next(line.split()[2] for line in change("state", "list", "p", code=0).stdout.splitlines() if line.startswith(f"{SALARIES} "))
    write(change, json.loads(json.dumps(document).replace('"ID"', json.dumps(id))))
    refused = change("plan", "p", *RULES, code=5)
    assert f"write {way}" in refused.stdout
    assert "to forget" not in refused.stdout


def test_a_new_resource_is_in_the_tests_whose_patterns_match_it(change: Cli) -> None:
    document = ruled()
    document["access"][0]["mustNotSee"] = ["acme/space/pay*", SALARIES]
    acme(document)["content"].append({"space": "pay", "title": "Pay"})
    write(change, document)
    git(change.root, "commit", "-aqm", "two")
    git(change.root, "branch", "-f", "main")
    site(document, "flat").update(visibility="public", published=True)
    acme(document)["content"].append({"space": "pay-2", "title": "Pay 2"})
    site(document, "flat")["structure"].append("pay-2")
    document.pop("access")
    write(change, document)
    assert "acme/space/pay-2" in change("plan", "p", *RULES, code=4).stderr


def test_loosening_a_rule_stays_an_exposure_of_the_plan(change: Cli) -> None:
    document = ruled()
    document.pop("guards")
    write(change, document)
    for words in ((), RULES):
        assert "guards" in [line["address"] for line in change.json("plan", "p", *words)["exposures"]]


def test_a_kind_that_is_no_longer_pruned_by_nothing_is_pruned_as_the_branch_says(change: Cli) -> None:
    document = ruled()
    document["prune"] = {"team": "none"}
    acme(document)["teams"].pop("t1")
    write(change, document)
    assert "forget" in json.dumps(change.json("plan", "p")["changes"])
    assert "delete" in json.dumps(change.json("plan", "p", *RULES)["changes"])


def test_the_plan_and_the_saved_plan_say_whose_rules_judged_them(change: Cli) -> None:
    document = ruled()
    acme(document)["teams"]["t1"]["title"] = "Other"
    write(change, document)
    said = change("plan", "p", *RULES, "--out", "saved.json", code=0)
    assert "Judged by the rules of main (" in said.stdout
    saved = json.loads((change.root / "saved.json").read_text())
    head = subprocess.run(["git", "-C", str(change.root), "rev-parse", "main"], capture_output=True, text=True, check=True).stdout.strip()
    assert saved["rulesFrom"] == {"ref": "main", "commit": head}
    assert "--rules-from main" in said.stdout
    assert "It was judged by the rules of main" in change("apply", "p", "--plan", "saved.json", *RULES, code=0).stderr
    assert "rulesFrom" not in json.loads((change("plan", "p", "--out", "own.json"), (change.root / "own.json").read_text())[1])


def test_drift_tests_access_by_the_rules_of_the_branch(change: Cli) -> None:
    document = ruled()
    shown(document)
    document.pop("access")
    write(change, document)
    assert change("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    assert change("drift", "p").exit_code == 0
    assert change("drift", "p", *RULES).exit_code == 2


def test_a_comparison_of_files_is_judged_by_the_rules_of_the_branch(change: Cli) -> None:
    document = ruled()
    shown(document)
    document.pop("access")
    write(change, document)
    assert change("diff", "p", "--from", "main").exit_code == 0
    assert change("diff", "p", "--from", "main", *RULES).exit_code == 4


@pytest.mark.parametrize("command", ["plan", "drift", "apply"])
def test_a_ref_without_rules_is_an_error_and_never_no_rules(change: Cli, command: str) -> None:
    words = (command, "p", *(["--yes"] if command == "apply" else []))
    assert "'nowhere' is not a commit of this repository" in change(*words, "--rules-from", "nowhere", code=3).stderr
    git(change.root, "checkout", "-q", "--orphan", "empty")
    git(change.root, "rm", "-rq", "--cached", ".")
    git(change.root, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert "this commit has no reconciler.yaml, and so no rules for this project" in change(*words, "--rules-from", "empty", code=3).stderr
    broken = ruled()
    broken["guards"] = {"maxDelte": 3}
    write(change, broken)
    git(change.root, "add", "-A")
    git(change.root, "commit", "-qm", "broken")
    write(change, ruled())
    assert ":reconciler.yaml:" in change(*words, "--rules-from", "empty", code=3).stderr


def test_a_folder_outside_a_repository_has_no_rules_to_take(change: Cli) -> None:
    shutil.rmtree(change.root / ".git")
    assert "is not in a git repository" in change("plan", "p", *RULES).stderr


def test_every_key_says_whether_it_is_a_rule_or_suspends_one() -> None:
    """A key of a file has a role: a new one cannot be forgotten in what --rules-from takes from the other commit."""
    roles = dict(role for key in (*PROJECT, *EVERYWHERE, *ENVIRONMENT) for role in key.roles())
    assert [name for name, role in roles.items() if not role] == []
    tops = {name.partition(".")[0] for name in JUDGING}
    assert {"policies" if name in POLICIES else name for name in tops} == {*rule_names()}
    assert {"exceptions", "urls.gone", "urls.sites", "urls.redirects"} <= {*JUDGING}
