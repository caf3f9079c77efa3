"""The event that started a CI job, from the variables of GitHub Actions and GitLab CI. Forbidden: requests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reconciler.errors import UsageError
from reconciler.run.job import MARKS, PipelineFacts, event, facts


class Ci(Enum):
    """The CI system of the job."""

    GITHUB = "GitHub Actions"
    GITLAB = "GitLab CI"
    NONE = "no CI"


class PipelineEvent(Enum):
    """Why the job runs."""

    PULL_REQUEST = "a pull request"
    PUSH = "a push"
    SCHEDULE = "a schedule"
    MANUAL = "a run by hand"


EVENTS: Final[Mapping[str, PipelineEvent]] = {
    "pull_request": PipelineEvent.PULL_REQUEST,
    "push": PipelineEvent.PUSH,
    "schedule": PipelineEvent.SCHEDULE,
    "merge_request_event": PipelineEvent.PULL_REQUEST,
}
"""Events by the names of GitHub and GitLab; every other one is a manual run."""
FORGES: Final = {"github": Ci.GITHUB, "gitlab": Ci.GITLAB}


@dataclass(frozen=True)
class Trigger:
    """The event that started a CI job.

    `commit`: what is checked out. `head`: the last commit of the pull request, else `commit`. `base`: the commit of the target branch, ""
    outside a pull request, and `into` its name. `branch`: the branch that was pushed. `default`: whether that is the default branch.
    `fork`: whether the pull request comes from a fork.
    """

    ci: Ci
    event: PipelineEvent
    commit: str = ""
    head: str = ""
    base: str = ""
    into: str = ""
    branch: str = ""
    default: bool = False
    fork: bool = False

    @property
    def command(self) -> str:
        """The command that `auto` runs. Raises `UsageError` if that is unclear."""
        if self.event is PipelineEvent.PUSH and not self.default:
            wrong = f"auto applies only the default branch, and this is a push to {self.branch or 'another ref'}"
            raise UsageError(wrong, id="RC-no-command-for-push", hint="Name the command: plan, apply, drift or validate.")
        return {PipelineEvent.PUSH: "apply", PipelineEvent.SCHEDULE: "drift"}.get(self.event, "plan")


def triggered(environ: Mapping[str, str] = os.environ) -> Trigger:
    """The event that started the job of this process. Raises `UsageError`."""
    for forge, ci in FORGES.items():
        if environ.get(MARKS[forge]) == "true":
            return _triggered(ci, _known(forge, environ))
    return Trigger(Ci.NONE, PipelineEvent.MANUAL)


def _triggered(ci: Ci, known: PipelineFacts) -> Trigger:
    why = EVENTS.get(known.event, PipelineEvent.MANUAL)
    if why is PipelineEvent.PULL_REQUEST:
        return Trigger(ci, why, known.commit, known.head or known.commit, known.base, known.into, fork=known.source != known.target)
    default = known.is_branch and known.ref != "" and known.ref == known.default
    return Trigger(ci, why, known.commit, known.commit, branch=known.ref, default=default)


def _known(forge: str, environ: Mapping[str, str]) -> PipelineFacts:
    known = facts(forge, environ, {})
    if forge != "github":
        return known
    if known.event == "pull_request_target":
        raise UsageError(
            "pull_request_target gives the secrets of the repository to the pull requests of forks",
            id="RC-trusted-fork",
            hint="Use the event pull_request.",
        )
    try:
        return facts(forge, environ, event(environ))
    except (OSError, ValueError) as error:
        raise UsageError(f"the event in GITHUB_EVENT_PATH cannot be read: {error}", id="RC-file-not-read") from None
