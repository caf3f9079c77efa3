"""What started a CI job, from the variables that GitHub Actions and GitLab CI set. Forbidden: requests."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from reconciler.errors import UsageError


class Ci(Enum):
    """Where the job runs."""

    GITHUB = "GitHub Actions"
    GITLAB = "GitLab CI"
    NONE = "no CI"


class Event(Enum):
    """Why the job runs."""

    PULL_REQUEST = "a pull request"
    PUSH = "a push"
    SCHEDULE = "a schedule"
    MANUAL = "a run by hand"


EVENTS: Final[Mapping[str, Event]] = {
    "pull_request": Event.PULL_REQUEST,
    "push": Event.PUSH,
    "schedule": Event.SCHEDULE,
    "merge_request_event": Event.PULL_REQUEST,
}
"""Events by the names of GitHub and GitLab; every other one is a run by hand."""


@dataclass(frozen=True)
class Trigger:
    """What started a CI job.

    `commit`: what is checked out. `head`: the last commit of the pull request, else `commit`. `base`: the commit of the target branch, ""
    outside a pull request. `branch`: the branch that was pushed. `default`: whether that is the default branch. `fork`: whether the pull
    request comes from a fork.
    """

    ci: Ci
    event: Event
    commit: str = ""
    head: str = ""
    base: str = ""
    branch: str = ""
    default: bool = False
    fork: bool = False

    @property
    def command(self) -> str:
        """The command that `auto` means. Raises `UsageError` where that is unclear."""
        if self.event is Event.PUSH and not self.default:
            wrong = f"auto applies only the default branch, and this is a push to {self.branch or 'another ref'}"
            raise UsageError(wrong, id="RC-no-command-for-push", hint="Name the command: plan, apply, drift or validate.")
        return {Event.PUSH: "apply", Event.SCHEDULE: "drift"}.get(self.event, "plan")


def triggered(environ: Mapping[str, str] = os.environ) -> Trigger:
    """What started the job that this process is part of. Raises `UsageError`."""
    if environ.get("GITHUB_ACTIONS") == "true":
        return _github(environ)
    if environ.get("GITLAB_CI") == "true":
        return _gitlab(environ)
    return Trigger(Ci.NONE, Event.MANUAL)


def _github(environ: Mapping[str, str]) -> Trigger:
    name, commit = environ.get("GITHUB_EVENT_NAME", ""), environ.get("GITHUB_SHA", "")
    if name == "pull_request_target":
        raise UsageError(
            "pull_request_target gives the secrets of the repository to the pull requests of forks",
            id="RC-trusted-fork",
            hint="Use the event pull_request.",
        )
    payload = _payload(environ.get("GITHUB_EVENT_PATH", ""))
    branch = environ.get("GITHUB_REF_NAME", "")
    event = EVENTS.get(name, Event.MANUAL)
    if event is not Event.PULL_REQUEST:
        default = environ.get("GITHUB_REF_TYPE", "branch") == "branch" and branch == _at(payload, "repository", "default_branch")
        return Trigger(Ci.GITHUB, event, commit, commit, "", branch, default)
    head, base = _at(payload, "pull_request", "head", "sha"), _at(payload, "pull_request", "base", "sha")
    fork = _at(payload, "pull_request", "head", "repo", "full_name") != environ.get("GITHUB_REPOSITORY", "")
    return Trigger(Ci.GITHUB, event, commit, head or commit, base, fork=fork)


def _payload(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"the event in GITHUB_EVENT_PATH cannot be read: {error}", id="RC-file-not-read") from None


def _at(value: Any, *names: str) -> str:
    """The text at a path of keys; "" where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _gitlab(environ: Mapping[str, str]) -> Trigger:
    event = EVENTS.get(environ.get("CI_PIPELINE_SOURCE", ""), Event.MANUAL)
    commit, branch = environ.get("CI_COMMIT_SHA", ""), environ.get("CI_COMMIT_BRANCH", "")
    if event is Event.PULL_REQUEST:
        head = environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or commit
        fork = environ.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "") != environ.get("CI_MERGE_REQUEST_PROJECT_ID", "")
        return Trigger(Ci.GITLAB, event, commit, head, environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""), fork=fork)
    return Trigger(Ci.GITLAB, event, commit, commit, "", branch, branch != "" and branch == environ.get("CI_DEFAULT_BRANCH"))
