"""A saved plan names its commit and who created it; `--require-commit` refuses another commit, and nobody is refused."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.saved.origin import origin, sentence
from reconciler.config import load
from reconciler.kinds import load as load_kinds
from tests.cli.conftest import Cli, applied_project, initialised, prepared

HEAD, OTHER = "a" * 40, "b" * 40
NO_CI = dict.fromkeys(("GITHUB_ACTIONS", "GITLAB_CI", "BITBUCKET_BUILD_NUMBER"))


def git(folder: Path, *words: str) -> str:
    identity = {f"GIT_{role}_{part}": "ada@acme.example" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture
def cloned(cli: Cli) -> Cli:
    """An applied project in a git repository, on the branch `main`, as somebody's computer has it."""
    cli.env |= NO_CI
    return in_a_repository(cli)


@prepared
def in_a_repository(cli: Cli) -> Cli:
    applied_project(cli)
    cli.write(".gitignore", ".reconciler/\n*.json\nhome/\n")
    git(cli.root, "init", "-q", "-b", "main")
    commit(cli, "The project")
    return cli


def commit(cli: Cli, message: str) -> str:
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "-m", message)
    return git(cli.root, "rev-parse", "HEAD")


def saved(cli: Cli, name: str = "plan.json") -> Any:
    return json.loads((cli.root / name).read_text())


def test_a_pull_request_that_was_planned_is_applied_after_a_squash_and_after_another_pull_request(cloned: Cli) -> None:
    git(cloned.root, "checkout", "-q", "-b", "first")
    cloned.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    head = commit(cloned, "Authors")
    assert cloned("plan", "p", "--out", "first.json").exit_code == 0
    git(cloned.root, "checkout", "-q", "-b", "second", "main")
    cloned.edit("p/reconciler.yaml", "title: Guides, duplicateOf", "title: Manuals, duplicateOf")
    second = commit(cloned, "Manuals")
    assert cloned("plan", "p", "--out", "second.json").exit_code == 0

    git(cloned.root, "checkout", "-q", "main")
    git(cloned.root, "merge", "-q", "--squash", "first")
    assert commit(cloned, "Authors (#1)") != head
    result = cloned("apply", "p", "--plan", "first.json", "--require-commit", head)
    assert result.exit_code == 0, result.stderr
    assert "The evaluated configuration is the one that the plan was created from." in result.stderr
    assert result.stdout.endswith("Applied 1 request. The plan file was applied.\n")

    git(cloned.root, "merge", "-q", "--no-ff", "-m", "Merge the second", "second")
    result = cloned("apply", "p", "--plan", "second.json", "--require-commit", second, "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert "The evaluated configuration changed since the plan was created; only addresses whose plan is the same" in result.stderr
    told = json.loads(result.stdout)["savedPlan"]
    assert (told["sameConfiguration"], told["origin"]["commit"], told["refused"], told["new"]) == (False, second, [], [])
    assert cloned("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_plan_of_another_commit_or_of_no_commit_is_refused_where_a_commit_is_required(cloned: Cli) -> None:
    head = git(cloned.root, "rev-parse", "HEAD")
    cloned("plan", "p", "--out", "plan.json")
    for required, says in ((OTHER[:7], f"was created from commit {head}, and --require-commit asks for {OTHER[:7]}"), (head[:12], "")):
        result = cloned("apply", "p", "--plan", "plan.json", "--require-commit", required.upper())
        assert (result.exit_code, says in result.stderr) == (6 if says else 0, True), result.stderr

    old = saved(cloned)
    del old["origin"]
    cloned.write("old.json", json.dumps(old))
    result = cloned("apply", "p", "--plan", "old.json", "--require-commit", head)
    assert (result.exit_code, "does not say from which commit it was created" in result.stderr) == (6, True)
    assert cloned("apply", "p", "--plan", "old.json").exit_code == 0


def test_files_that_are_not_in_the_commit_are_shown_and_are_no_reason_to_refuse(cloned: Cli) -> None:
    """A pipeline may generate files before it plans; whatever the plan says is compared with the files of the apply."""

    def modified() -> bool:
        result = cloned("plan", "p", "--out", "plan.json")
        assert result.exit_code == 0, result.stderr
        return bool(saved(cloned)["origin"]["modified"])

    cloned.write("p/notes.txt", "nobody reads this\n")
    assert not modified()
    cloned.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert modified()
    cloned.edit("p/reconciler.yaml", "project: p\n", "project: p\ninclude: [more.yaml]\n")
    git(cloned.root, "commit", "-q", "-a", "-m", "Include a file that is generated")
    cloned.write("p/more.yaml", "organizations: {}\n")
    assert modified()
    head = git(cloned.root, "rev-parse", "HEAD")
    result = cloned("apply", "p", "--plan", "plan.json", "--require-commit", head)
    assert (result.exit_code, f"from commit {head[:9]} with uncommitted changes." in result.stderr) == (0, True), result.stderr


@pytest.mark.parametrize("words", [("--plan", "plan.json", "--require-commit", ""), ("--plan", "plan.json", "--require-commit", "abc12"),
                                   ("--yes", "--require-commit", HEAD)])  # fmt: skip
def test_a_required_commit_that_does_not_exist_is_a_usage_error(cli: Cli, words: tuple[str, ...]) -> None:
    assert initialised(cli)("apply", "p", *words).exit_code == 3


def test_outside_a_repository_the_commit_comes_from_the_command_line(cli: Cli) -> None:
    initialised(cli).env |= {**NO_CI, "GIT_CEILING_DIRECTORIES": str(cli.root)}
    assert cli("plan", "p", "--commit", HEAD).exit_code == 3  # only a saved plan records it
    assert cli("plan", "p", "--out", "plan.json", "--commit", HEAD[:39]).exit_code == 3
    assert cli("plan", "p", "--out", "plan.json").exit_code == 0
    assert {**saved(cli)["origin"], "actor": ""} == {"commit": None, "modified": None, "actor": "", "run": None}
    assert cli("plan", "p", "--out", "plan.json", "--commit", HEAD.upper()).exit_code == 0
    assert saved(cli)["origin"]["commit"] == HEAD
    assert cli("apply", "p", "--plan", "plan.json", "--require-commit", HEAD).exit_code == 0


HOSTILE = "ada\x1b[2J\n::error::\u202ehello"


def test_a_name_from_outside_is_shown_escaped_and_is_no_reason_to_refuse(cloned: Cli) -> None:
    env = {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": HOSTILE, "GITHUB_SHA": HEAD}
    cloned("plan", "p", "--out", "plan.json", env=env)
    text = (cloned.root / "plan.json").read_text()
    assert saved(cloned)["origin"]["actor"] == HOSTILE
    assert not {"\x1b", "\u202e"} & set(text)
    result = cloned("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 0, result.stderr
    assert "The plan was created by ada" in result.stderr
    assert not {"\x1b", "\u202e"} & set(result.stderr)
    assert not any(line.startswith("::") for line in result.stderr.splitlines())


# -- what a CI system says ------------------------------------------------------------------------------------------------------------

GITHUB = {
    "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_ACTOR": "ada", "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "acme/docs", "GITHUB_RUN_ID": "7", "GITHUB_EVENT_PATH": "event.json",
}  # fmt: skip
GITHUB_RUN = "https://github.com/acme/docs/actions/runs/7"
GITLAB = {"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "ada", "CI_JOB_URL": "https://gitlab.com/acme/docs/-/jobs/7"}
BITBUCKET = {
    "BITBUCKET_BUILD_NUMBER": "7", "BITBUCKET_REPO_FULL_NAME": "acme/docs", "BITBUCKET_STEP_TRIGGERER_UUID": "{ada}",
}  # fmt: skip
BITBUCKET_RUN = "https://bitbucket.org/acme/docs/pipelines/results/7"


@pytest.mark.parametrize(
    ("variables", "commit", "actor", "run"),
    [
        ({**GITHUB, "GITHUB_SHA": "HERE"}, HEAD, "ada", GITHUB_RUN),  # git has the merge, and the pull request is what was planned
        ({**GITHUB, "GITHUB_SHA": OTHER}, "HERE", "ada", GITHUB_RUN),  # the job checked out something else
        ({**GITHUB, "GITHUB_SHA": "HERE", "GITHUB_EVENT_NAME": "pull_request_target"}, "HERE", "ada", GITHUB_RUN),
        ({**GITHUB, "GITHUB_SHA": "HERE", "GITHUB_EVENT_PATH": "nowhere"}, "HERE", "ada", GITHUB_RUN),
        ({**GITHUB, "GITHUB_SHA": "HERE", "GITHUB_SERVER_URL": "javascript:x"}, HEAD, "ada", None),
        ({**GITLAB, "CI_COMMIT_SHA": "HERE", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": HEAD}, HEAD, "ada", GITLAB["CI_JOB_URL"]),
        ({**GITLAB, "CI_COMMIT_SHA": "HERE", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": ""}, "HERE", "ada", GITLAB["CI_JOB_URL"]),
        ({**BITBUCKET, "BITBUCKET_COMMIT": "HERE"}, "HERE", "{ada}", BITBUCKET_RUN),
        ({"BITBUCKET_BUILD_NUMBER": "7"}, "HERE", None, None),
        ({}, "HERE", "ada@desk", None),
    ],
)
def test_the_variables_of_a_ci_system_name_commit_actor_and_run(
    cloned: Cli, variables: dict[str, str], commit: str, actor: str | None, run: str | None
) -> None:
    here = git(cloned.root, "rev-parse", "HEAD")
    (cloned.root / "event.json").write_text(json.dumps({"pull_request": {"head": {"sha": HEAD}}}))
    environ = {name: here if value == "HERE" else value for name, value in variables.items()}
    if environ.get("GITHUB_EVENT_PATH"):
        environ["GITHUB_EVENT_PATH"] = str(cloned.root / environ["GITHUB_EVENT_PATH"])
    found = origin(load(cloned.root / "p", load_kinds()), "ada@desk", environ=environ)
    assert found == {"commit": here if commit == "HERE" else commit, "modified": False, "actor": actor, "run": run}
    assert (run or "") in sentence(found)
