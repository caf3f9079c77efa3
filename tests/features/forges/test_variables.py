"""What a CI says of its job is read in one place, so that all commands know the same job."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from reconciler.features.forges.pipeline.trigger import triggered
from reconciler.run.job import event, forge_of_job, job
from reconciler.run.saved.origin import ci_job

ROOT = Path(__file__).parents[3] / "reconciler"
HEAD, MERGED = "a" * 40, "c" * 40
GITLAB = {
    "GITLAB_CI": "true", "CI_PIPELINE_SOURCE": "merge_request_event", "CI_COMMIT_SHA": MERGED, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": HEAD,
    "CI_MERGE_REQUEST_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "5", "CI_JOB_URL": "https://gitlab.com/acme/docs/-/jobs/1",
}  # fmt: skip
GITHUB = {
    "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": MERGED, "GITHUB_REPOSITORY": "acme/docs",
    "GITHUB_RUN_ID": "3", "GITHUB_EVENT_PATH": "event.json",
}  # fmt: skip


@pytest.mark.parametrize("fork", [False, True])
@pytest.mark.parametrize("environ", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_the_pipeline_the_comment_and_the_saved_plan_know_the_same_pull_request(
    environ: dict[str, str], fork: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = {"sha": HEAD, "repo": {"full_name": "mallory/docs" if fork else "acme/docs"}}
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 5, "head": source, "base": {"sha": "b" * 40}}}))
    environ = {**environ, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "8" if fork else "7"}
    trigger, comment, plan = triggered(environ), job(forge_of_job(environ) or "", environ, event(environ)), ci_job(environ)
    assert plan is not None
    assert trigger.head == comment.commit == plan.head == HEAD
    assert trigger.commit == plan.commit == MERGED
    assert trigger.fork is comment.read_only is fork
    assert comment.run_url == plan.run_url != ""
    assert comment.pull == 5


def test_no_variable_of_a_ci_is_named_in_two_modules() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for module in ROOT.rglob("*.py"):
        for name in re.findall(r'"((?:GITHUB|GITLAB|CI|BITBUCKET)_[A-Z0-9_]+)"', module.read_text(encoding="utf-8")):
            places[name].add(module.name)
    assert len(places) > 30
    assert {name: files for name, files in places.items() if len(files) > 1 and not name.endswith("_TOKEN")} == {}
