"""The pipelines of docs/pipelines.md: their commands, taken from the page, lead from a pull request to an applied plan and to drift."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import processes
from tests.state.server import binaries, missing, running

PAGE = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")
BLOCKS = {name: yaml.safe_load(text) for name, text in re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)}
GITHUB = {name.rpartition("/")[2].removesuffix(".yml"): block for name, block in BLOCKS.items() if name.startswith(".github/")}
GITLAB = BLOCKS[".gitlab-ci.yml"]
FIRST = re.findall(r"^    (reconciler (?:plan --out plan\.json|apply --plan plan\.json --create-state))$", PAGE, re.MULTILINE)
TOKEN = "token-of-ada"
SEED = """\
organizations: [{id: org_acme, title: Acme}]
members: [{organization: org_acme, id: usr_ada, email: ada@acme.example, displayName: Ada, role: admin}]
tokens: [{token: token-of-ada, member: usr_ada, access: write}]
spaces: [{organization: org_acme, id: spc_blank, title: Blank, parent: null}]
"""
PROJECT = """\
version: 1
project: handbook
service: {member: ada@acme.example}
organizations:
  acme:
    id: org_acme
    members: {ada@acme.example: admin}
    teams:
      writers: {title: Writers}
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - {space: guides, title: Guides, duplicateOf: blank}
"""


def github(job: str) -> list[str]:
    """The scripts of a job that run reconciler."""
    (steps,) = [one["steps"] for one in GITHUB[job]["jobs"].values()]
    return [step["run"] for step in steps if runs(step.get("run", ""))]


def gitlab(job: str) -> list[str]:
    return [line for line in GITLAB[job]["script"] if runs(line)]


def runs(script: str) -> bool:
    return re.search(r"^reconciler ", script, re.MULTILINE) is not None


def every_script() -> list[str]:
    found = [step["run"] for block in GITHUB.values() for job in block["jobs"].values() for step in job["steps"] if "run" in step]
    for job in (GITLAB["default"], *(GITLAB[name] for name in GITLAB["stages"])):
        found += [line for part in ("before_script", "script", "after_script") for line in job.get(part, [])]
    return found


@contextmanager
def service(folder: Path) -> Iterator[str]:
    """A sandbox over HTTP; its address."""
    command = [sys.executable, "-m", "reconciler", "sandbox"]
    (folder / "seed.yaml").write_text(SEED)
    processes.run([*command, "seed", "--db", "service.db", "seed.yaml"], cwd=folder, check=True, capture_output=True)
    with processes.Popen(
        [*command, "serve", "--db", "service.db", "--port", "0", "--token", TOKEN], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            server.terminate()


class Runner:
    """Runs scripts in a checkout of its own, with nothing but the environment a job has."""

    def __init__(self, root: Path, url: str, state: str) -> None:
        self.root = root
        path = os.pathsep.join([str(processes.program()), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.env = {
            "PATH": path,
            "HOME": str(root),
            "CI": "true",
            "RECONCILER_BASE_URL": url,
            "RECONCILER_TOKEN": TOKEN,
            "RECONCILER_STATE": state,
        }

    def checkout(self, name: str, project: str, *artifacts: Path) -> Path:
        folder = self.root / name
        folder.mkdir()
        (folder / "reconciler.yaml").write_text(project)
        for one in artifacts:
            shutil.copy(one, folder)
        return folder

    def __call__(self, folder: Path, scripts: list[str]) -> int:
        assert scripts
        for script in scripts:
            done = subprocess.run(
                ["sh", "-e", "-c", script], cwd=folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            self.said = done.stdout + done.stderr
            assert "Traceback" not in self.said
            if done.returncode:
                return done.returncode
        return 0


@pytest.fixture
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runner]:
    """A runner whose state is in a file, or in PostgreSQL where the test says so."""
    with service(tmp_path) as url:
        if request.param == "sqlite":
            yield Runner(tmp_path, url, f"sqlite:///{tmp_path}/state.db")
            return
        programs = binaries()
        if programs is None:
            missing()
            return
        with running(programs) as state:
            yield Runner(tmp_path, url, state)


@pytest.mark.parametrize(
    ("runner", "scripts"), [("sqlite", github), ("postgres", gitlab)], indirect=["runner"], ids=["GitHub, a file", "GitLab, PostgreSQL"]
)
def test_the_commands_lead_from_a_pull_request_to_an_applied_plan_and_to_drift(runner: Runner, scripts: Any) -> None:
    first = runner.checkout("first", PROJECT)
    assert runner(first, scripts("plan")) == 0, runner.said
    assert (first / "plan.md").read_text().startswith("<!-- reconciler:plan:handbook -->\n")
    assert "never seen project handbook" in (first / "plan.md").read_text()
    assert runner(first, scripts("drift")) == 5, runner.said
    merged = runner.checkout("merged", PROJECT, first / "plan.json")
    assert runner(merged, scripts("apply")) == 4, runner.said
    assert "--create-state" in runner.said
    assert runner(merged, FIRST) == 0, runner.said
    assert runner(merged, scripts("plan")) == 0, runner.said
    assert runner(merged, scripts("apply")) == 0, runner.said
    assert (merged / "outcome.md").exists()
    assert runner(merged, scripts("drift")) == 0, runner.said

    other = PROJECT.replace("Writers", "Authors")
    second = runner.checkout("second", other)
    assert runner(second, scripts("plan")) == 0, runner.said
    edit = "reconciler api PATCH /spaces/spc_blank -f title=Empty"
    assert runner(second, [edit]) == 0, runner.said
    drifted = runner.checkout("drifted", PROJECT)
    assert runner(drifted, scripts("drift")) == 2, runner.said
    assert "Empty" in (drifted / "drift.md").read_text()

    later = runner.checkout("later", other, second / "plan.json")
    assert runner(later, scripts("apply")) == 0, runner.said
    assert "These changes are not in the saved plan and were not applied:\n  acme/space/blank\n" in runner.said
    assert runner(later, scripts("apply")) == 6
    assert "was already used" in runner.said


def test_no_script_takes_a_value_from_outside_into_its_text() -> None:
    scripts = every_script()
    assert len(scripts) > 15
    assert [script for script in scripts if "${{" in script] == []


@pytest.mark.parametrize("script", every_script())
def test_every_script_is_one_of_a_posix_shell(script: str) -> None:
    done = subprocess.run(["sh", "-n", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_action_is_pinned_by_its_tag() -> None:
    used = [step["uses"] for block in GITHUB.values() for job in block["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[\w-]+@v\d+", one)] == []


def test_no_secret_is_in_the_environment_of_a_whole_job() -> None:
    whole = [value for block in GITHUB.values() for job in block["jobs"].values() for value in job.get("env", {}).values()]
    assert [value for value in whole if "secrets." in value] == []


def test_only_one_run_at_a_time_writes() -> None:
    assert GITHUB["apply"]["concurrency"] == {"group": "reconciler", "cancel-in-progress": False}
    assert GITHUB["promote"]["concurrency"] == {"group": "promote", "cancel-in-progress": False}
    assert GITLAB["apply"]["resource_group"] == "reconciler"
