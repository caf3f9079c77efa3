"""The file for GitLab of docs/pipelines.md and our component, executed: from a merge request to the applied plan and to drift."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from junitparser import JUnitXml

from tests.features.forges.pipelines.conftest import PROJECT, READS, WRITES, Home
from tests.features.forges.pipelines.gitlab import Ended, Runner
from tests.features.forges.pipelines.kept import Pipelines
from tests.features.forges.pipelines.pages import files
from tests.features.forges.pipelines.python import installs, variables_of_git


class World:
    """The project on GitLab, with its variables."""

    def __init__(self, home: Home, gitlab: Pipelines) -> None:
        self.home, self.gitlab, self.repository, self.service = home, gitlab, home.repository, home.service
        self.runner = Runner(home.root, home.repository, gitlab)
        self.runner.scoped = {
            "*": {
                "RECONCILER_BASE_URL": home.service.url, "RECONCILER_STATE": home.state, "RECONCILER_TOKEN": READS,
                "GITLAB_TOKEN": gitlab.token(),
            },
            "documentation": {"RECONCILER_TOKEN": WRITES},
        }  # fmt: skip
        self.heads: dict[int, str] = {}

    def run(self, commit: str, *, manual: bool = False, configuration: Mapping[str, Any] | None = None, **variables: str) -> list[Ended]:
        return self.runner.run(configuration or files(".gitlab-ci.yml")[0], commit, manual=manual, **variables)

    def push(self, iid: int, text: str, *, fork: bool = False, configuration: Mapping[str, Any] | None = None) -> list[Ended]:
        """Push a project to a merge request."""
        self.gitlab.pull(number=iid)
        head = self.heads[iid] = self.repository.commit(f"change-{iid}", {"reconciler.yaml": text})
        about = {
            "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": str(iid), "CI_MERGE_REQUEST_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "99" if fork else "12", "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.repository.id("main"),
            "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": f"change-{iid}", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        }  # fmt: skip
        return self.run(head, configuration=configuration, **about)

    def merge(self, iid: int, *, fork: bool = False, configuration: Mapping[str, Any] | None = None) -> list[Ended]:
        """Merge a merge request, squashed."""
        commit = self.repository.merge(f"change-{iid}")
        self.gitlab.merge_as(iid, commit, self.heads[iid], fork=fork)
        return self.run(commit, configuration=configuration, CI_PIPELINE_SOURCE="push", CI_COMMIT_BRANCH="main")


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    with Pipelines() as gitlab:
        yield World(home, gitlab)


def test_a_merge_request_is_planned_and_its_merge_applies_what_was_approved(world: World) -> None:
    (planned,) = world.push(7, PROJECT.replace("Writers", "Authors"))
    assert (planned.name, planned.code) == ("reconciler-plan", 0), planned.log
    assert planned.environment == {"name": "documentation-plan", "action": "verify"}
    (note,) = world.gitlab.bodies(world.gitlab.pull(number=7))
    assert "Authors" in note
    for name in ("junit.xml", "validate-junit.xml"):
        assert [suite.failures for suite in JUnitXml.fromstring(planned.artifacts[f"reconciler-reports/{name}"])] == [0]
    assert json.loads(planned.artifacts["reconciler-reports/code-quality.json"]) == []

    (applied,) = world.merge(7)
    assert (applied.name, applied.code) == ("reconciler-apply", 0), applied.log
    assert applied.environment == {"name": "documentation", "action": "start"}
    assert world.service.titles("teams") == ["Authors", "Readers"]

    world.service.ask("PATCH", "/spaces/spc_blank", {"title": "Empty"})
    (drift,) = world.run(world.repository.id("main"), CI_PIPELINE_SOURCE="schedule", CI_COMMIT_BRANCH="main")
    assert (drift.name, drift.code, drift.allowed) == ("reconciler-drift", 2, True)
    assert b"Empty" in drift.artifacts["reconciler-reports/report.md"]


def test_a_fork_sees_the_difference_and_a_plan_by_hand_applies_its_merge(world: World) -> None:
    (compared,) = world.push(8, PROJECT.replace("Writers", "Authors"), fork=True)
    assert compared.code == 0, compared.log
    assert "because this comes from a fork, which gets no secrets" in compared.log
    assert b"Writers -> Authors" in compared.artifacts["reconciler-reports/report.md"]
    assert world.gitlab.bodies(world.gitlab.pull(number=8)) == []

    (refused,) = world.merge(8, fork=True)
    assert refused.code == 4
    assert "nobody approved a plan of merge request !8: it comes from a fork" in refused.log
    assert "Run the pipeline by hand on this branch" in refused.log

    by_hand = world.run(world.repository.id("main"), manual=True, CI_PIPELINE_SOURCE="web", CI_COMMIT_BRANCH="main")
    assert [(job.name, job.code) for job in by_hand] == [("reconciler-plan", 0), ("reconciler-apply", 0)]
    assert world.service.titles("teams") == ["Authors", "Readers"]


def test_what_is_fetched_is_pinned_and_gets_no_secret(world: World) -> None:
    (planned, *_) = world.push(1, PROJECT.replace("Writers", "Authors"))
    assert planned.code == 0, planned.log
    given = variables_of_git(world.runner.python)
    assert "RECONCILER" not in given
    assert "TOKEN" not in given


@pytest.mark.parametrize(
    "package",
    [
        "docs-reconciler", "docs-reconciler==0.1.0", "git+https://gitlab.example.com/acme/reconciler.git", "./x.whl",
        "git+https://gitlab.example.com/acme/reconciler.git@v1", "git+ssh://git@example.com/x@main",
        "git+https://gitlab.example.com/acme/reconciler.git@0123456",
    ],
)  # fmt: skip
def test_what_can_change_under_its_name_is_not_installed(world: World, package: str) -> None:
    configuration = copy.deepcopy(files(".gitlab-ci.yml")[0])
    configuration["include"][0]["inputs"]["package"] = package
    (planned, *_) = world.push(1, PROJECT.replace("Writers", "Authors"), configuration=configuration)
    assert planned.code == 3
    assert "package: " in planned.log
    assert installs(world.runner.python) == []
