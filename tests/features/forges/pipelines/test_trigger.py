"""What started a job, from the variables of the two services; and `reconciler pipeline` outside of both."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.features.forges.pipeline.results import Results
from reconciler.features.forges.pipeline.trigger import Ci, PipelineEvent, Trigger, triggered
from reconciler.features.forges.pipeline.works import Works, artifact
from tests.command_line import Cli

HEAD, BASE, MERGED = "a" * 40, "b" * 40, "c" * 40


def on_github(folder: Path, event: str, payload: object, **more: str) -> Trigger:
    file = folder / "event.json"
    file.write_text(json.dumps(payload))
    known = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(file), "GITHUB_SHA": MERGED}
    return triggered({**known, "GITHUB_REPOSITORY": "acme/handbook", "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch", **more})


def pull(repository: str) -> object:
    return {"pull_request": {"head": {"sha": HEAD, "repo": {"full_name": repository}}, "base": {"sha": BASE}}}


@pytest.mark.parametrize(("repository", "fork"), [("acme/handbook", False), ("mallory/handbook", True)])
def test_a_pull_request_is_known_by_its_last_commit_and_a_fork_by_its_repository(tmp_path: Path, repository: str, fork: bool) -> None:
    found = on_github(tmp_path, "pull_request", pull(repository))
    assert (found.event, found.commit, found.head, found.base, found.fork, found.command) == (
        PipelineEvent.PULL_REQUEST,
        MERGED,
        HEAD,
        BASE,
        fork,
        "plan",
    )


def test_auto_follows_the_event(tmp_path: Path) -> None:
    about = {"repository": {"default_branch": "main"}}
    assert [on_github(tmp_path, name, about).command for name in ("push", "schedule", "workflow_dispatch")] == ["apply", "drift", "plan"]
    gitlab = {"GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_SHA": MERGED}
    sources = ("push", "schedule", "web", "merge_request_event")
    assert [triggered({**gitlab, "CI_PIPELINE_SOURCE": source}).command for source in sources] == ["apply", "drift", "plan", "plan"]


def test_a_push_to_another_branch_or_tag_applies_nothing(tmp_path: Path) -> None:
    about = {"repository": {"default_branch": "main"}}
    for more in ({"GITHUB_REF_NAME": "other"}, {"GITHUB_REF_TYPE": "tag"}):
        with pytest.raises(UsageError, match="auto applies only the default branch"):
            _ = on_github(tmp_path, "push", about, **more).command


def test_an_event_that_gives_secrets_to_forks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gives the secrets of the repository to the pull requests of forks"):
        on_github(tmp_path, "pull_request_target", pull("mallory/handbook"))


def test_each_project_and_environment_has_an_artifact_of_its_own() -> None:
    cases = [(path, environment) for path in (".", "docs", "docs/a", "docs-a", "a b:c/é") for environment in ("", "staging", "production")]
    names = [artifact(Path(path), environment) for path, environment in cases]
    assert len(set(names)) == len(cases)
    assert [name for name in names if not name.isascii() or set(name) & set('":<>|*?\r\n\\/ ')] == []


def test_outside_of_a_ci_there_are_reports_and_no_approved_plan(tmp_path: Path) -> None:
    cli = Cli(tmp_path, dict.fromkeys(("GITHUB_ACTIONS", "GITLAB_CI")))
    assert triggered({}).ci is Ci.NONE
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("pipeline", "validate", "p", "--reports", "out").exit_code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".gitignore", "report.json", "annotations.txt", "junit.xml", "reconciler.sarif", "code-quality.json",
    }  # fmt: skip
    assert "an approved plan is only found in GitHub Actions and GitLab CI" in cli("pipeline", "apply", "p", code=3).stderr
    assert cli("pipeline", "plan", "p", "--", "--no-such-option").exit_code == 3


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--", "--allow-delete", "5"),
        ("plan", ".", "--", "--allow-delete", "5"),
        ("--reports", "out", "--", "plan", ".", "--allow-delete", "5"),  # as the action calls it
        ("--reports", "out", "--", "plan", "--allow-delete", "5"),
        ("plan", "--reports", "out", "--", "--allow-delete=5", "--refresh-only"),
    ],
)
def test_options_after_two_dashes_are_for_the_command_with_and_without_a_project(tmp_path: Path, words: tuple[str, ...]) -> None:
    cli = Cli(tmp_path, dict.fromkeys(("GITHUB_ACTIONS", "GITLAB_CI")))
    assert cli("init", ".", "--sandbox").exit_code == 0
    done = cli("pipeline", *words)
    if "--refresh-only" in words:
        assert (done.exit_code, "No such option '--refresh-only'" in done.stderr) == (3, True)
    else:
        assert done.exit_code == 0, done.stderr
        assert "to create" in done.stdout


def test_target_is_the_branch_as_it_is_now_and_not_where_the_pull_request_began(tmp_path: Path) -> None:
    begun = {"pull_request": {"head": {"sha": HEAD}, "base": {"sha": BASE, "ref": "main"}}}
    gitlab = {"GITLAB_CI": "true", "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    for trigger in (on_github(tmp_path, "pull_request", begun), triggered(gitlab)):
        assert (rules(trigger, "target"), rules(trigger, "v1"), rules(trigger, "")) == ("origin/main", "v1", "")
    assert rules(on_github(tmp_path, "push", {}), "target") == ""
    with pytest.raises(UsageError, match="does not say what the target branch is"):
        rules(triggered({"GITLAB_CI": "true", "CI_PIPELINE_SOURCE": "merge_request_event"}), "target")


def rules(trigger: Trigger, given: str) -> str:
    """The ref whose rules judge the job's project."""
    screen = Screen()
    return Works(screen, click.Group(), trigger, Results(screen, Path(), trigger.ci), Path(), "", given, (), 0).judging
