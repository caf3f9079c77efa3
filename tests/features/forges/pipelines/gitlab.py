"""A runner of GitLab CI: it reads `.gitlab-ci.yml` and our component, and executes the jobs that the rules select.

Sources: docs.gitlab.com/ci/inputs (`$[[ inputs.x ]]`), /ci/jobs/job_rules (conditions), /ci/yaml (extends, artifacts, allow_failure).
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.features.forges.pipelines.kept import Pipelines, files_of
from tests.features.forges.pipelines.python import COMMIT, ROOT, python, search_path
from tests.features.forges.pipelines.repository import Repository

COMPONENT: Final = ROOT / "templates" / "reconciler.yml"
INPUT: Final = re.compile(r"\$\[\[ inputs\.([\w-]+) \]\]")
VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
PROJECT: Final = 12


@dataclass(frozen=True)
class Ended:
    """How a job ended. `code`: its exit code; `allowed`: whether the pipeline succeeds all the same."""

    name: str
    code: int
    allowed: bool
    log: str
    environment: Mapping[str, str]
    artifacts: Mapping[str, bytes]


class Runner:
    """Machines that start empty for every job. `scoped`: variables by environment, "*" those of all."""

    def __init__(self, root: Path, repository: Repository, gitlab: Pipelines) -> None:
        self.root, self.repository, self.gitlab = root, repository, gitlab
        self.scoped: dict[str, dict[str, str]] = {"*": {}}
        self.cache: dict[str, Path] = {}
        self.python = python(root)
        self.jobs = 0

    def run(self, configuration: Mapping[str, Any], commit: str, *, manual: bool = False, **variables: str) -> list[Ended]:
        """Run a pipeline: all jobs that the rules select, by stage; of those by hand only if `manual`."""
        source = variables["CI_PIPELINE_SOURCE"]
        fork = variables.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", str(PROJECT)) != str(PROJECT)
        request = int(variables["CI_MERGE_REQUEST_IID"]) if "CI_MERGE_REQUEST_IID" in variables else None
        pipeline = self.gitlab.pipeline(commit, source=source, request=request, project=99 if fork else PROJECT)
        known = {
            "CI": "true", "GITLAB_CI": "true", "CI_COMMIT_SHA": commit, "CI_DEFAULT_BRANCH": "main", "CI_API_V4_URL": self.gitlab.api,
            "CI_PROJECT_ID": "99" if fork else str(PROJECT), "CI_PIPELINE_ID": str(pipeline), "CI_SERVER_URL": self.gitlab.url,
            "CI_SERVER_FQDN": "gitlab.example.com", "CI_PROJECT_PATH": "acme/handbook", **variables,
        }  # fmt: skip
        jobs = jobs_of(configuration)
        stages = configuration.get("stages", ["test", "deploy"])
        ended = []
        for name, job in sorted(jobs.items(), key=lambda pair: stages.index(pair[1].get("stage", "test"))):
            rule = selected(job["rules"], {**known, **{key: str(value) for key, value in job["variables"].items()}})
            if rule is None or (rule.get("when") == "manual" and not manual):
                continue
            ended.append(self._job(name, job, pipeline, known, fork=fork))
        return ended

    def _job(self, name: str, job: Mapping[str, Any], pipeline: int, known: Mapping[str, str], *, fork: bool) -> Ended:
        self.jobs += 1
        number = self.gitlab.job(pipeline, name)
        folder = self.root / f"gitlab-{self.jobs}" / "handbook"
        ref = f"refs/heads/{known.get('CI_MERGE_REQUEST_SOURCE_BRANCH_NAME', 'main')}"
        self.repository.checkout(folder, ref, known["CI_COMMIT_SHA"], depth=int(job["variables"]["GIT_DEPTH"]))
        environment = job["environment"]
        secret = {} if fork else {**self.scoped["*"], **self.scoped.get(environment["name"], {})}
        given = {**known, **secret, "CI_PROJECT_DIR": str(folder), "CI_JOB_NAME": name, "CI_JOB_ID": str(number)}
        given["CI_JOB_URL"] = f"{known['CI_SERVER_URL']}/acme/handbook/-/jobs/{number}"
        for key, value in job["variables"].items():
            given[key] = VARIABLE.sub(lambda match: given.get(match[1] or match[2], ""), str(value))
        cache = job["cache"]
        key, stored = cache["key"], self.cache.get(cache["key"])
        if stored is not None:
            shutil.copytree(stored, folder / cache["paths"][0])
        environ = {"PATH": search_path(self.python.parent), "HOME": str(folder.parent), "TMPDIR": str(folder.parent), **given}
        script = "\n".join([*job["before_script"], *job["script"]])
        done = subprocess.run(
            ["sh", "-c", f"set -e\neval {shlex.quote(script)}"],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        log = done.stdout + done.stderr
        assert "Traceback" not in log, log
        assert not [name for name, value in secret.items() if name.endswith("TOKEN") and value in log], log
        if done.returncode == 0 and key not in self.cache and (folder / cache["paths"][0]).exists():
            self.cache[key] = folder / cache["paths"][0]
        kept = {f"{path}/{file}": text for path in job["artifacts"]["paths"] for file, text in files_of(folder / path).items()}
        self.gitlab.files[number] = kept
        allowed = done.returncode in job.get("allow_failure", {}).get("exit_codes", [])
        return Ended(name, done.returncode, allowed, log, environment, kept)


def documents() -> tuple[dict[str, Any], str]:
    """The inputs of the component, and the text of its jobs."""
    head, _, body = COMPONENT.read_text(encoding="utf-8").partition("\n---\n")
    return yaml.safe_load(head)["spec"]["inputs"], body


def jobs_of(configuration: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The jobs of a `.gitlab-ci.yml` that includes the component, with what they extend."""
    known, body = documents()
    jobs: dict[str, dict[str, Any]] = {}
    for include in configuration["include"]:
        assert include["component"] == f"$CI_SERVER_FQDN/acme/reconciler/reconciler@{COMMIT}"
        given = include.get("inputs", {})
        assert set(given) <= set(known), given
        assert {name for name, about in known.items() if "default" not in about} <= set(given), "an input without a default is required"
        values = {name: given.get(name, about.get("default")) for name, about in known.items()}
        for name, about in known.items():
            assert values[name] in about.get("options", [values[name]])
        found = _filled(yaml.safe_load(body), values)
        for name, job in found.items():
            if not name.startswith("."):
                assert name not in jobs
                jobs[name] = {**found[job["extends"]], **job}
    return jobs


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A value with its inputs; in a text `true` is a word."""
    match value:
        case dict():
            return {_filled(key, values): _filled(part, values) for key, part in value.items()}
        case list():
            return [_filled(part, values) for part in value]
        case str():
            return INPUT.sub(
                lambda match: str(values[match[1]]).lower() if isinstance(values[match[1]], bool) else str(values[match[1]]), value
            )
        case _:
            return value


def selected(rules: list[Mapping[str, Any]], variables: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The first rule whose condition holds."""
    return next((rule for rule in rules if all(_holds(part.strip(), variables) for part in rule["if"].split("&&"))), None)


def _holds(comparison: str, variables: Mapping[str, str]) -> bool:
    match = re.fullmatch(r"\$(\w+) (==|=~) (?:\"([^\"]*)\"|\$(\w+)|/(.*)/)", comparison)
    assert match is not None, comparison
    left = variables.get(match[1])
    if match[2] == "=~":
        return re.search(match[5], left or "") is not None
    return left == (variables.get(match[4]) if match[4] else match[3])
