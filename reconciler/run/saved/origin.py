"""The origin of a plan: its commit, its author and the run of a pipeline.

In: the variables of the environment, the event of GitHub Actions, the git repository. Out: `OriginData`. Forbidden: raising because one of
them is missing or broken, and requests. The origin is never a reason to refuse a plan, unless a commit is required.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from reconciler.config import Project
from reconciler.errors import ReconcilerError
from reconciler.git.working import WorkingRepository
from reconciler.report.schemas.plan import OriginData
from reconciler.run.job import PipelineFacts, event, facts, forge_of_job

WHOLE: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SHORT: Final = 9  # characters of a commit in messages
TEXT_MAX: Final = 300  # characters of a name or a URL
_URL: Final = re.compile(r"https?://[!-~]+")


def ci_job(environ: Mapping[str, str]) -> PipelineFacts | None:
    """The facts about the CI job that this process is part of; None outside of one."""
    forge = forge_of_job(environ)
    if forge is None:
        return None
    known = facts(forge, environ, {})
    if known.event == "pull_request":  # other events name pull requests too, and have other files
        with suppress(OSError, ValueError):
            known = facts(forge, environ, event(environ))
    return known


def origin(project: Project, who: str, *, commit: str | None = None, environ: Mapping[str, str] = os.environ) -> OriginData:
    """The origin of a plan that is created now. `who`: the user outside a pipeline; `commit`: as given on the command line."""
    job, (checked_out, modified) = ci_job(environ), _checked_out(project)
    actor, run = (job.actor, job.run_url) if job is not None else (who, "")
    return {
        "commit": commit or _commit(job, checked_out),
        "modified": modified if checked_out is not None else None,
        "actor": actor[:TEXT_MAX] or None,
        "run": run if len(run) <= TEXT_MAX and _URL.fullmatch(run) else None,
    }


def run_commit(project: Project, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The commit of the files, as the end of a run records it in a project of which the history names them; nothing in others."""
    if not any(key.dated for key in project.desired.features):
        return {}
    commit = _commit(ci_job(environ), _checked_out(project)[0])
    return {"commit": commit} if commit is not None else {}


def _commit(job: PipelineFacts | None, checked_out: str | None) -> str | None:
    """The commit of the files: the pull request's if git has checked out a merge of it, which nobody else ever sees."""
    if job is None or checked_out not in (None, job.commit):
        return checked_out
    return next((id for id in (job.head, job.commit) if WHOLE.fullmatch(id)), checked_out)


def _checked_out(project: Project) -> tuple[str | None, bool]:
    """The commit that git has checked out, and whether the project differs from it; None outside a repository."""
    root = project.settings.root
    try:
        repository = WorkingRepository.around(root)
        commit = repository.commit("HEAD")
        return commit.id, repository.differs(commit, project.texts)
    except (ReconcilerError, OSError):
        return None, False


def sentence(origin: OriginData) -> str:
    """`The plan was created by ada from commit 1f0c5d2ab (with uncommitted changes): https://…`."""
    phrases = ["The plan was created"]
    phrases += [f"by {origin['actor'][:TEXT_MAX]}"] if origin["actor"] else []
    phrases += [f"from commit {origin['commit'][:SHORT]}"] if origin["commit"] else ["from an unknown commit"]
    phrases += ["with uncommitted changes"] if origin["modified"] else []
    run = origin["run"] or ""
    return " ".join(phrases) + (f": {run}" if len(run) <= TEXT_MAX and _URL.fullmatch(run) else ".")
