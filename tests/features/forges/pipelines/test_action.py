"""The workflow of docs/pipelines.md and `action.yml`, executed: from a pull request to the applied plan and to drift."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.forges.pipelines.conftest import PROJECT, READS, WRITES, Home
from tests.features.forges.pipelines.github import Ended, Event, Runner
from tests.features.forges.pipelines.kept import Actions, files_of
from tests.features.forges.pipelines.pages import public, workflow
from tests.features.forges.pipelines.python import installs


class World:
    """The repository on GitHub, with its secrets."""

    def __init__(self, home: Home, actions: Actions, *, apart: bool = False) -> None:
        self.home, self.actions, self.repository, self.service = home, actions, home.repository, home.service
        self.runner = Runner(home.root, home.repository, actions, apart=apart)
        self.runner.vars = {"RECONCILER_BASE_URL": home.service.url, "RECONCILER_STATE": home.state}
        self.runner.vault = {"": {"RECONCILER_TOKEN": READS}, "documentation": {"RECONCILER_TOKEN": WRITES}}
        self.heads: dict[int, str] = {}
        self.workflow = workflow()

    def push(self, number: int, text: str, *, fork: bool = False) -> Ended:
        """Push a project to a pull request, which is planned."""
        self.actions.pull(number=number)
        head = self.heads[number] = self.repository.commit(f"change-{number}", {"reconciler.yaml": text})
        base = self.repository.id("main")
        commit = self.repository.proposal(f"change-{number}", number)
        return self.runner.run(self.workflow, Event.pull(number, commit=commit, head=head, base=base, fork=fork))

    def merge(self, number: int, how: str = "squash", *, fork: bool = False) -> Event:
        """Merge a pull request; the push to main."""
        commit = self.repository.merge(f"change-{number}", how)
        self.actions.merge(number, commit, self.heads[number], fork=fork)
        return Event("push", commit)

    def run(self, event: Event) -> Ended:
        return self.runner.run(self.workflow, event)

    def dispatch(self, command: str) -> Ended:
        """Run a command by hand on main."""
        return self.run(Event("workflow_dispatch", self.repository.id("main"), inputs={"command": command}))

    def comments(self, number: int) -> list[str]:
        return self.actions.bodies(self.actions.pull(number=number))


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    with Actions() as actions:
        yield World(home, actions)


def test_a_pull_request_is_planned_and_its_merge_applies_what_was_approved(world: World) -> None:
    planned = world.push(7, PROJECT.replace("Writers", "Authors"))
    assert planned.success, planned.log
    assert (planned.outputs["changes"], planned.outputs["exit-code"]) == ("1", "0")
    assert planned.outputs["summary"] == "Plan: 1 to update. 1 request."
    assert Path(planned.outputs["plan-file"]).is_file()
    assert planned.environment == ""
    assert "acme/team/writers" in planned.summary
    assert "::notice title=Plan for handbook::Plan: 1 to update. 1 request." in planned.log
    (comment,) = world.comments(7)
    assert "Authors" in comment

    assert world.push(7, PROJECT.replace("Writers", "Editors")).success
    (comment,) = world.comments(7)
    assert "Editors" in comment
    assert "Authors" not in comment

    applied = world.run(world.merge(7))
    assert applied.success, applied.log
    assert applied.environment == "documentation"
    assert (applied.outputs["changes"], applied.outputs["exit-code"]) == ("1", "0")
    assert world.service.titles("teams") == ["Editors", "Readers"]
    assert world.actions.stolen == []

    assert world.run(Event("schedule", world.repository.id("main"))).success
    world.service.ask("PATCH", "/spaces/spc_blank", {"title": "Empty"})
    drift = world.run(Event("schedule", world.repository.id("main")))
    assert (drift.success, drift.outputs["exit-code"], drift.outputs["changes"]) == (False, "2", "1")
    assert "Empty" in drift.summary
    assert len({planned.group, applied.group, drift.group}) == 3
    assert ["download" in line for line in installs(world.runner.python)].count(True) == 1


def test_a_public_repository_keeps_no_plan_and_says_how_to_apply_without_one(world: World) -> None:
    (job,) = world.workflow["jobs"].values()
    job["steps"][-1]["with"] |= public()
    planned = world.push(7, PROJECT.replace("Writers", "Authors"))
    assert (planned.success, planned.outputs["changes"]) == (True, "1"), planned.log
    assert (world.actions.artifacts, world.comments(7)) == ([], [])
    refused = world.run(world.merge(7))
    assert (refused.success, refused.outputs["exit-code"]) == (False, "4")
    assert "If the action has keep-plan: false, no plan is kept: plan and apply on your own machine." in refused.log
    assert world.service.titles("teams") == ["Readers", "Writers"]


def test_a_fork_sees_the_difference_and_no_secret(world: World) -> None:
    ended = world.push(8, PROJECT.replace("Writers", "Authors"), fork=True)
    assert ended.success, ended.log
    assert "Only the files were compared, because this comes from a fork, which gets no secrets." in ended.log
    assert "Writers -> Authors" in ended.summary
    assert (ended.outputs["changes"], ended.outputs["plan-file"]) == ("1", "")
    assert world.actions.artifacts == []
    assert world.comments(8) == []
    written = b"".join(files_of(ended.workspace.parent).values()).decode("utf-8", "replace")
    assert not [token for token in (READS, WRITES) if token in ended.log + ended.summary + written]
    refused = world.run(world.merge(8, fork=True))
    assert (refused.success, refused.outputs["exit-code"]) == (False, "4")
    assert "nobody approved a plan of pull request #8: it comes from a fork" in refused.log
    assert world.service.titles("teams") == ["Readers", "Writers"]


def test_the_rules_of_the_target_branch_judge_a_pull_request_that_removes_them(world: World) -> None:
    """Also that of a fork, which is only compared; after the merge, the rules of the merged files judge."""
    rule = PROJECT + "policies: [{id: no-authors, on: [team], assert: \"${{ after.title != 'Authors' }}\", message: no authors}]\n"
    world.repository.commit("rule", {"reconciler.yaml": rule})
    world.repository.merge("rule")
    loosened = PROJECT.replace("Writers", "Authors")
    assert world.push(7, loosened).success
    (job,) = world.workflow["jobs"].values()
    job["steps"][-1]["with"] |= {"rules-from": "target"}
    for number, fork in ((8, False), (9, True)):
        refused = world.push(number, loosened, fork=fork)
        assert (refused.success, refused.outputs["exit-code"]) == (False, "4"), refused.log
        assert "no authors" in refused.log
        assert "Judged by the rules of origin/main" in refused.summary
