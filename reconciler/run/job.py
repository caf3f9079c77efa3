"""The CI job that a comment is about: the forge, its API, the pull request, the commit and the run.

In: the environment, and the event file that it names. Out: `Job`. Only this module knows the names of the forges' variables and of the
fields of GitHub's event. Reads nothing else. Forbidden: requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.errors import UsageError
from reconciler.text.service_url import is_loopback

MARKS: Final = {"github": "GITHUB_ACTIONS", "gitlab": "GITLAB_CI", "bitbucket": "BITBUCKET_BUILD_NUMBER"}
"""The variable that only this CI sets."""
EVENT_MAX: Final = 32 * 2**20  # bytes of GitHub's event, which has at most 25 MB
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_TOKEN: Final = re.compile(r"[!-~]+")
_REF: Final = re.compile(r"refs/pull/(\d+)/")


@dataclass(frozen=True)
class PipelineFacts:
    """Texts and numbers; "" and 0 if the CI does not set them.

    `event`: why the job runs. `commit`: what is checked out. `head`: the last commit of the pull request; `base`: the commit that it is
    compared with, `into`: the name of the target branch. `ref`: the name of the branch or, without `is_branch`, of the tag. `default`: the
    default branch. `source` and `target`: the repositories of the pull request's branch and of its base; `fork`: whether they differ, None
    if unknown. `run`: its number and attempt. `name`: of the job.
    """

    event: str = ""
    commit: str = ""
    head: str = ""
    base: str = ""
    into: str = ""
    ref: str = ""
    is_branch: bool = True
    default: str = ""
    repository: str = ""
    source: str = ""
    target: str = ""
    fork: bool | None = None
    pull: int = 0
    run: tuple[int, int] = (0, 0)
    run_url: str = ""
    actor: str = ""
    name: str = ""


def forge_of_job(environ: Mapping[str, str]) -> str | None:
    """The forge whose CI runs this job."""
    return next((forge for forge, variable in MARKS.items() if environ.get(variable)), None)


def event(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """The event that started a job of GitHub; empty without a file. Raises `OSError` or `ValueError`."""
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    with Path(path).open("rb") as file:
        text = file.read(EVENT_MAX)
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content if isinstance(content, dict) else {}


def facts(forge: str, environ: Mapping[str, str], started: Mapping[str, Any]) -> PipelineFacts:
    """The facts about the job. `started`: the event of GitHub."""
    return {"github": _github, "gitlab": _gitlab, "bitbucket": _bitbucket}[forge](environ, started)


def _github(environ: Mapping[str, str], started: Mapping[str, Any]) -> PipelineFacts:
    server, repository = environ.get("GITHUB_SERVER_URL", "https://github.com"), environ.get("GITHUB_REPOSITORY", "")
    run, attempt = _number(environ.get("GITHUB_RUN_ID")), _number(environ.get("GITHUB_RUN_ATTEMPT"))
    pull, began = _part(started, "pull_request"), _part(started, "workflow_run")
    started_by = began.get("pull_requests")
    listed = started_by[0] if isinstance(started_by, list) and len(started_by) == 1 else None
    numbers = [_number(part.get("number")) for part in (pull, _part(started, "issue"), listed, started) if isinstance(part, Mapping)]
    ref = _REF.match(environ.get("GITHUB_REF", ""))
    head, base = _part(pull, "head"), _part(pull, "base")
    source, target = _text(_part(head, "repo"), "full_name"), _text(_part(base, "repo"), "full_name") or repository
    return PipelineFacts(
        event=environ.get("GITHUB_EVENT_NAME", ""),
        commit=environ.get("GITHUB_SHA", ""),
        head=_text(head, "sha") or _text(began, "head_sha"),
        base=_text(base, "sha"),
        into=_text(base, "ref"),
        ref=environ.get("GITHUB_REF_NAME", ""),
        is_branch=environ.get("GITHUB_REF_TYPE", "branch") == "branch",
        default=_text(_part(started, "repository"), "default_branch"),
        repository=repository,
        source=source,
        target=target,
        fork=source != target or not source if pull else None,
        pull=next(filter(None, numbers), int(ref[1]) if ref else 0),
        run=(run, attempt),
        run_url=f"{server}/{repository}/actions/runs/{run}" if run and repository else "",
        actor=environ.get("GITHUB_ACTOR", ""),
    )


def _gitlab(environ: Mapping[str, str], _: Mapping[str, Any]) -> PipelineFacts:
    source, target = environ.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", ""), environ.get("CI_MERGE_REQUEST_PROJECT_ID", "")
    return PipelineFacts(
        event=environ.get("CI_PIPELINE_SOURCE", ""),
        commit=environ.get("CI_COMMIT_SHA", ""),
        head=environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
        base=environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        into=environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", ""),
        ref=environ.get("CI_COMMIT_BRANCH", ""),
        default=environ.get("CI_DEFAULT_BRANCH", ""),
        repository=environ.get("CI_PROJECT_ID", ""),
        source=source,
        target=target,
        fork=source != target if source and target else None,
        pull=_number(environ.get("CI_MERGE_REQUEST_IID")),
        run=(_number(environ.get("CI_PIPELINE_ID")), _number(environ.get("CI_JOB_ID"))),
        run_url=environ.get("CI_JOB_URL") or environ.get("CI_PIPELINE_URL", ""),
        actor=environ.get("GITLAB_USER_LOGIN", ""),
        name=environ.get("CI_JOB_NAME", ""),
    )


def _bitbucket(environ: Mapping[str, str], _: Mapping[str, Any]) -> PipelineFacts:
    repository, build = environ.get("BITBUCKET_REPO_FULL_NAME", ""), _number(environ.get("BITBUCKET_BUILD_NUMBER"))
    return PipelineFacts(
        commit=environ.get("BITBUCKET_COMMIT", ""),
        ref=environ.get("BITBUCKET_BRANCH", ""),
        repository=repository,
        pull=_number(environ.get("BITBUCKET_PR_ID")),
        run=(build, _number(environ.get("BITBUCKET_STEP_RUN_NUMBER"))),
        run_url=f"https://bitbucket.org/{repository}/pipelines/results/{build}" if repository and build else "",
        actor=environ.get("BITBUCKET_STEP_TRIGGERER_UUID", ""),
    )


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = data.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 0


FORGES: Final = ("github", "gitlab", "bitbucket")
TOKENS: Final = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "bitbucket": "BITBUCKET_TOKEN"}
APIS: Final = {
    "github": ("GITHUB_API_URL", "https://api.github.com"),
    "gitlab": ("CI_API_V4_URL", "https://gitlab.com/api/v4"),
    "bitbucket": ("BITBUCKET_API_URL", "https://api.bitbucket.org/2.0"),
}
DEPENDABOT: Final = "dependabot[bot]"


@dataclass(frozen=True)
class Job:
    """`pull`: the number of the pull request, 0 for a job without one. `run`: its number and attempt, (0, 0) outside of a CI. `read_only`:
    whether the job belongs to a fork, whose token must not write; None if unknown."""

    forge: str
    api: str
    repository: str = ""
    pull: int = 0
    commit: str = ""
    run: tuple[int, int] = (0, 0)
    run_url: str = ""
    read_only: bool | None = None
    graphql: str = ""


def job(forge: str, environ: Mapping[str, str], event: Mapping[str, Any]) -> Job:
    """The job of a forge; facts without a variable are empty. `event`: the contents of GITHUB_EVENT_PATH."""
    variable, default = APIS[forge]
    api = checked_api(variable, environ.get(variable) or default)
    known = facts(forge, environ, event)
    return Job(
        forge,
        api,
        (known.target if forge == "gitlab" else "") or known.repository,
        known.pull,
        known.head or known.commit,
        known.run,
        known.run_url,
        True if forge == "github" and known.actor == DEPENDABOT else known.fork,
        _graphql(api, environ) if forge == "github" else "",
    )


def check_repository(job: Job, way: str) -> None:
    """Raise `UsageError` if the repository is unknown, or cannot be one. `way`: what to do where it is unknown."""
    if not job.repository:
        raise UsageError("the repository is unknown", id="RC-no-pull-request", hint=way)
    # GitLab names a project by its number, or by a path of any depth, which is escaped.
    if job.forge != "gitlab" and (not _REPOSITORY.fullmatch(job.repository) or {".", ".."} & set(job.repository.split("/"))):
        raise UsageError(f"{job.repository!r} is not a repository", id="RC-option-value", hint="Write it like OWNER/NAME.")


def check_token(job: Job, token: str, purpose: str) -> None:
    """Raise `UsageError` without a token, or for a text that cannot be one. `purpose`: what it is for, and where that is described."""
    if not token:
        raise UsageError(f"{TOKENS[job.forge]} is not set", id="RC-forge-token", hint=purpose)
    if not _TOKEN.fullmatch(token):
        raise UsageError(f"{TOKENS[job.forge]} contains characters that no token has", id="RC-token-characters")


def _graphql(api: str, environ: Mapping[str, str]) -> str:
    """The URL of GraphQL, which must have the host of the API, because it receives the token."""
    beside = api.removesuffix("/v3") + "/graphql"
    given = checked_api("GITHUB_GRAPHQL_URL", environ.get("GITHUB_GRAPHQL_URL") or beside)
    # Variables of a pull request's job can be set by its author; the token must not follow them to another host.
    if urlsplit(given)[:2] != urlsplit(api)[:2]:
        raise UsageError("GITHUB_GRAPHQL_URL and GITHUB_API_URL name different hosts, and the token is sent to one only", id="RC-forge-url")
    return given


def checked_api(variable: str, url: str) -> str:
    """The URL of an API, without its last slash. Raises `UsageError` for one that would send the token unencrypted."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        usable = url.isascii() and url.isprintable() and " " not in url and parts.port != 0
    except ValueError:
        usable, parts, host = False, urlsplit(""), ""
    if not usable or not host or parts.scheme not in ("http", "https") or "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"{variable} is not the URL of an API", id="RC-forge-url", hint=f"The CI sets it, for example to {APIS['github'][1]}."
        )
    if parts.scheme == "http" and not is_loopback(host):
        wrong = f"{variable} would send the token unencrypted"
        raise UsageError(wrong, id="RC-unencrypted-url", hint="Use https; plain http is only for the loopback interface.")
    return url.rstrip("/")
