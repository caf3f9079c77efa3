"""Where a plan was created: from which commit, by whom, in which run of a pipeline.

In: the variables of the environment, the event of GitHub Actions, the git repository. Out: `OriginData`. Forbidden: raising because one of
them is missing or broken, and requests. Nothing here is a reason to refuse a plan, except that somebody requires a commit.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.errors import ReconcilerError

if TYPE_CHECKING:
    from reconciler.config import Project
    from reconciler.report.schemas.plan import OriginData

WHOLE: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SHORT: Final = 9  # characters of a commit that people read
EVENT_MAX: Final = 4 * 2**20  # bytes of GitHub's event
TEXT_MAX: Final = 300  # characters of a name or a URL
_URL: Final = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True)
class Job:
    """What a CI system says of its job. `commit`: what it checked out; `head`: the last commit of the pull request, "" outside of one."""

    commit: str
    head: str
    actor: str
    run: str


def _github(environ: Mapping[str, str]) -> Job:
    run = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"
    head = _head(environ.get("GITHUB_EVENT_PATH", "")) if environ.get("GITHUB_EVENT_NAME") == "pull_request" else ""
    return Job(environ.get("GITHUB_SHA", ""), head, environ.get("GITHUB_ACTOR", ""), _filled(run, environ))


def _gitlab(environ: Mapping[str, str]) -> Job:
    head = environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "")  # only where the pipeline runs for the merged result
    return Job(environ.get("CI_COMMIT_SHA", ""), head, environ.get("GITLAB_USER_LOGIN", ""), environ.get("CI_JOB_URL", ""))


def _bitbucket(environ: Mapping[str, str]) -> Job:
    run = "https://bitbucket.org/{BITBUCKET_REPO_FULL_NAME}/pipelines/results/{BITBUCKET_BUILD_NUMBER}"
    return Job(environ.get("BITBUCKET_COMMIT", ""), "", environ.get("BITBUCKET_STEP_TRIGGERER_UUID", ""), _filled(run, environ))


SYSTEMS: Final[Mapping[str, Callable[[Mapping[str, str]], Job]]] = {
    "GITHUB_ACTIONS": _github,
    "GITLAB_CI": _gitlab,
    "BITBUCKET_BUILD_NUMBER": _bitbucket,
}
"""By the variable that says that a job runs there."""


def job(environ: Mapping[str, str]) -> Job | None:
    """The CI job that this process is part of."""
    return next((read(environ) for variable, read in SYSTEMS.items() if environ.get(variable)), None)


def origin(project: Project, who: str, *, commit: str | None = None, environ: Mapping[str, str] = os.environ) -> OriginData:
    """Where a plan of the project is created now. `who`: the user outside a pipeline; `commit`: what the command line says."""
    there, (checked_out, modified) = job(environ), _checked_out(project)
    actor, run = (there.actor, there.run) if there is not None else (who, "")
    return {
        "commit": commit or _commit(there, checked_out),
        "modified": modified if checked_out is not None else None,
        "actor": actor[:TEXT_MAX] or None,
        "run": run if len(run) <= TEXT_MAX and _URL.fullmatch(run) else None,
    }


def _commit(there: Job | None, checked_out: str | None) -> str | None:
    """The commit of the files: the pull request's where git has the merge of it, which nobody else ever sees."""
    if there is None or checked_out not in (None, there.commit):
        return checked_out
    return next((id for id in (there.head, there.commit) if WHOLE.fullmatch(id)), checked_out)


def _checked_out(project: Project) -> tuple[str | None, bool]:
    """The commit that git has checked out, and whether the project differs from it; None outside a repository."""
    from reconciler.cli.git import Repository

    root = project.settings.root
    try:
        repository = Repository.around(root)
        commit = repository.commit("HEAD")
        return commit.id, repository.differs(commit, project.texts)
    except (ReconcilerError, OSError):
        return None, False


def _head(path: str) -> str:
    """The last commit of the pull request that an event of GitHub is about."""
    try:
        with Path(path).open("rb") as file:
            found: Any = json.loads(file.read(EVENT_MAX))
        for name in ("pull_request", "head", "sha"):
            found = found[name]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _filled(template: str, environ: Mapping[str, str]) -> str:
    try:
        return template.format_map(environ)
    except KeyError:
        return ""


def sentence(found: OriginData) -> str:
    """`The plan was created by ada from commit 1f0c5d2ab (with uncommitted changes): https://…`."""
    words = ["The plan was created"]
    words += [f"by {found['actor'][:TEXT_MAX]}"] if found["actor"] else []
    words += [f"from commit {found['commit'][:SHORT]}"] if found["commit"] else ["from an unknown commit"]
    words += ["with uncommitted changes"] if found["modified"] else []
    run = found["run"] or ""
    return " ".join(words) + (f": {run}" if len(run) <= TEXT_MAX and _URL.fullmatch(run) else ".")
