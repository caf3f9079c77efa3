"""A runner of GitHub Actions: it reads a workflow and our `action.yml`, and executes what they say as actions/runner does.

The four actions of others that are used are functions here. Where this runner and GitHub's might differ, the source is actions/runner:
CompositeActionHandler.cs for the environment, the conditions and the outputs of a composite action.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.features.forges.pipelines.expressions import condition, interpolated
from tests.features.forges.pipelines.kept import Actions
from tests.features.forges.pipelines.python import ROOT, python, search_path
from tests.features.forges.pipelines.repository import Repository

OURS: Final = "acme/reconciler"
REPOSITORY: Final = "acme/handbook"


@dataclass(frozen=True)
class Event:
    """Why a workflow runs: its name, what GitHub says of it, and the commit."""

    name: str
    commit: str
    ref: str = "refs/heads/main"
    payload: Mapping[str, Any] = field(default_factory=dict)
    fork: bool = False
    inputs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def pull(cls, number: int, *, commit: str, head: str, base: str, fork: bool = False) -> Event:
        """A pull request: `commit` is the one that merges `head` into `base`."""
        repository = {"full_name": "mallory/handbook" if fork else REPOSITORY}
        about = {
            "number": number,
            "head": {"sha": head, "ref": f"change-{number}", "repo": repository},
            "base": {"sha": base, "ref": "main"},
        }
        return cls("pull_request", commit, f"refs/pull/{number}/merge", {"number": number, "pull_request": about}, fork)


@dataclass
class Ended:
    """How a job ended. `outputs`: of its last step with an id of ours; `summary`: of the job; `log`: what its steps printed."""

    success: bool
    outputs: dict[str, str]
    summary: str
    log: str
    environment: str
    group: str
    workspace: Path


class Runner:
    """Machines that start empty for every job. `vault`: secrets by environment, "" those of the repository.

    `apart`: commands are processes below the script that starts them, so that `kill` ends them too.
    """

    def __init__(self, root: Path, repository: Repository, actions: Actions, *, apart: bool = False) -> None:
        self.root, self.repository, self.actions = root, repository, actions
        self.vault: dict[str, dict[str, str]] = {"": {}}
        self.vars: dict[str, str] = {}
        self.cache: dict[str, Path] = {}
        self.python = python(root, apart=apart)
        self.jobs = self.running = 0

    def kill(self) -> None:
        """The machine of the job that started last is lost."""
        os.killpg(self.running, signal.SIGKILL)

    def run(self, workflow: Mapping[Any, Any], event: Event, name: str | None = None) -> Ended:
        """Run a job of a workflow, the only one if no name is given."""
        (name,) = [name] if name else workflow["jobs"]
        self.jobs += 1
        return _Job(self, workflow, workflow["jobs"][name], event, self.root / f"job-{self.jobs}").run()


class Lost(Exception):
    """A machine is lost in the middle of a job: nothing after that is done."""


class _Job:
    def __init__(self, runner: Runner, workflow: Mapping[Any, Any], job: Mapping[str, Any], event: Event, root: Path) -> None:
        self.runner, self.workflow, self.job, self.event, self.root = runner, workflow, job, event, root
        self.workspace, self.temp = root / "workspace", root / "temp"
        self.temp.mkdir(parents=True)
        self.failed = False
        self.log = root / "log.txt"
        self.log.touch()
        self.scripts = 0
        self.env: dict[str, str] = {}
        self.path: list[str] = []
        self.summary = ""
        self.after: list[Any] = []
        self.functions = {
            "always": lambda: True, "success": lambda: not self.failed, "failure": lambda: self.failed, "cancelled": lambda: False,
        }  # fmt: skip
        permissions = job.get("permissions", workflow.get("permissions", {}))
        token = runner.actions.token(writes=permissions.get("pull-requests") == "write" and not event.fork)
        payload = {"repository": {"full_name": REPOSITORY, "default_branch": "main"}, "inputs": dict(event.inputs), **event.payload}
        (self.temp / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        self.github = {
            "actor": "ada", "event": payload, "event_name": event.name, "event_path": str(self.temp / "event.json"), "sha": event.commit,
            "ref": event.ref, "ref_name": event.ref.removeprefix("refs/heads/").removeprefix("refs/"), "ref_type": "branch",
            "repository": REPOSITORY, "run_id": str(runner.jobs), "run_attempt": "1", "server_url": "https://github.com",
            "api_url": runner.actions.api, "graphql_url": runner.actions.graphql, "workspace": str(self.workspace), "token": token,
            "head_ref": f"change-{event.payload['number']}" if "number" in event.payload else "", "workflow": workflow.get("name", "x"),
        }  # fmt: skip
        self.contexts: dict[str, Any] = {
            "github": self.github, "vars": runner.vars, "inputs": dict(event.inputs), "job": {"status": "success"},
            "runner": {"os": "Linux", "arch": "X64", "temp": str(self.temp)}, "env": self.env, "steps": {},
        }  # fmt: skip

    def run(self) -> Ended:
        environment = self.job.get("environment", "")
        environment = self._text(environment if isinstance(environment, str) else environment["name"])
        secrets = {} if self.event.fork else {**self.runner.vault[""], **(self.runner.vault[environment] if environment else {})}
        self.contexts["secrets"] = {**secrets, "GITHUB_TOKEN": self.github["token"]}
        group = self._text((self.job.get("concurrency") or self.workflow.get("concurrency") or {}).get("group", ""))
        for part in (self.workflow, self.job):
            self.env |= {name: self._text(value) for name, value in part.get("env", {}).items()}
        outputs: dict[str, str] = {}
        if condition(self.job.get("if", "true"), self.contexts, self.functions):
            try:
                for step in self.job["steps"]:
                    made = self._step(step, self.contexts, self.env)
                    outputs = made if made is not None and OURS in step.get("uses", "") else outputs
                for last in reversed(self.after):
                    last()
            except Lost:
                self.failed = True
        hidden = [value for value in secrets.values() if value]
        log = self.log.read_text(encoding="utf-8")
        assert not [value for value in hidden if value in log], log
        return Ended(not self.failed, outputs, self.summary, log, environment, group, self.workspace)

    def _text(self, template: Any, contexts: Mapping[str, Any] | None = None) -> str:
        return interpolated(template, contexts or self.contexts, self.functions)

    def _step(self, step: Mapping[str, Any], contexts: dict[str, Any], env: Mapping[str, str]) -> dict[str, str] | None:
        """Run one step; its outputs, None where it was skipped."""
        if not condition(step.get("if", "success()"), contexts, self.functions):
            return None
        env = {**env, **self.env, **{name: self._text(value, contexts) for name, value in step.get("env", {}).items()}}
        given = {name: self._text(value, contexts) for name, value in step.get("with", {}).items()}
        if "run" in step:
            success, outputs = self._script(step, self._text(step["run"], contexts), env)
        else:
            name, _, _ = step["uses"].partition("@")
            success, outputs = self._composite(given, env) if name == OURS else (True, USES[name](self, given))
        self.failed = self.failed or not success
        if "id" in step:
            contexts["steps"][step["id"]] = {"outputs": outputs, "outcome": "success" if success else "failure"}
        return outputs

    def _composite(self, given: dict[str, str], env: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
        """Our action. Its steps see the environment of the step that uses it, and no secrets."""
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        assert set(given) <= set(action["inputs"]), given
        defaults = {name: self._text(about.get("default", "")) for name, about in action["inputs"].items()}
        contexts = {**self.contexts, "inputs": {**defaults, **given}, "steps": {}, "env": env}
        for name in ("secrets", "vars"):
            del contexts[name]
        before, self.failed = self.failed, False
        for step in action["runs"]["steps"]:
            self._step(step, contexts, env)
        success, self.failed = not self.failed, before
        return success, {name: self._text(about["value"], contexts) for name, about in action["outputs"].items()}

    def _script(self, step: Mapping[str, Any], text: str, env: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
        self.scripts += 1
        files = {name: self.temp / f"{name}-{self.scripts}" for name in ("OUTPUT", "ENV", "PATH", "STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        script = self.temp / f"script-{self.scripts}.sh"
        script.write_text(text, encoding="utf-8")
        standard = {f"GITHUB_{name.upper()}": value for name, value in self.github.items() if isinstance(value, str) and name != "token"}
        environ = {
            "PATH": os.pathsep.join([*reversed(self.path), search_path()]), "HOME": str(self.root), "CI": "true", "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(self.temp), "RUNNER_OS": "Linux", **standard, "GITHUB_ACTION_PATH": str(ROOT), **env,
            **{f"GITHUB_{name}": str(file) for name, file in files.items()},
        }  # fmt: skip
        assert step["shell"] == "bash"
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        before = self.log.stat().st_size
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"== {step.get('name', '')}\n")
            log.flush()
            process = subprocess.Popen(
                command, cwd=self.workspace, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            self.runner.running = process.pid
            code = process.wait(120)
        if code == -signal.SIGKILL:
            raise Lost
        said = self.log.read_text(encoding="utf-8")[before:]
        assert "Traceback" not in said, said
        self.summary += files["STEP_SUMMARY"].read_text(encoding="utf-8")
        self.env |= _pairs(files["ENV"])
        self.path += files["PATH"].read_text(encoding="utf-8").splitlines()
        return code == 0, _pairs(files["OUTPUT"])

    # -- actions of others ---------------------------------------------------------------------------------------------------------------

    def checkout(self, given: dict[str, str]) -> dict[str, str]:
        depth = int(given.get("fetch-depth", 1))
        self.runner.repository.checkout(self.workspace, self.event.ref, self.event.commit, depth=depth)
        return {"commit": self.event.commit}

    def setup_python(self, given: dict[str, str]) -> dict[str, str]:
        return {"python-path": str(self.runner.python), "python-version": f"{given['python-version']}.5"}

    def restore(self, given: dict[str, str]) -> dict[str, str]:
        key, path = given["key"], Path(given["path"])
        stored = self.runner.cache.get(key)
        if stored is not None:
            shutil.copytree(stored, path)

        def save() -> None:
            if not self.failed and key not in self.runner.cache:
                target = self.runner.root / "caches" / key
                shutil.copytree(path, target)
                self.runner.cache[key] = target

        self.after.append(save)
        return {"cache-hit": str(stored is not None).lower()}

    def upload(self, given: dict[str, str]) -> dict[str, str]:
        assert not set(given["name"]) & set('":<>|*?\r\n\\/'), given["name"]
        number = self.runner.actions.keep(
            given["name"], Path(given["path"]), fork=self.event.fork, overwrite=given.get("overwrite") == "true"
        )
        url = f"https://github.com/{REPOSITORY}/actions/runs/{self.github['run_id']}/artifacts/{number}"
        return {"artifact-id": str(number), "artifact-url": url}


USES: Final = {
    "actions/checkout": _Job.checkout,
    "actions/setup-python": _Job.setup_python,
    "actions/cache": _Job.restore,
    "actions/upload-artifact": _Job.upload,
}


def _pairs(file: Path) -> dict[str, str]:
    """The lines `name=value` of a file for the runner."""
    return dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines())
