"""What a CI's variables say of a job: the forge, its API, the pull request, the commit and the run.

In: the environment, and for GitHub the event. Out: `Job`. Nothing is read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.errors import UsageError

FORGES: Final = ("github", "gitlab", "bitbucket")
TOKENS: Final = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "bitbucket": "BITBUCKET_TOKEN"}
APIS: Final = {
    "github": ("GITHUB_API_URL", "https://api.github.com"),
    "gitlab": ("CI_API_V4_URL", "https://gitlab.com/api/v4"),
    "bitbucket": ("BITBUCKET_API_URL", "https://api.bitbucket.org/2.0"),
}
DEPENDABOT: Final = "dependabot[bot]"
_REF: Final = re.compile(r"refs/pull/(\d+)/")


@dataclass(frozen=True)
class Job:
    """`pull`: the number of the pull request, 0 where the job runs for none. `run`: its number and attempt, (0, 0) outside of a CI.
    `read_only`: whether the job belongs to a fork, whose token must not write; None where nobody knows."""

    forge: str
    api: str
    repository: str = ""
    pull: int = 0
    commit: str = ""
    run: tuple[int, int] = (0, 0)
    run_url: str = ""
    read_only: bool | None = None
    graphql: str = ""


def recognised(environ: Mapping[str, str]) -> str | None:
    """The forge whose CI runs this job."""
    if environ.get("GITHUB_ACTIONS"):
        return "github"
    if environ.get("GITLAB_CI"):
        return "gitlab"
    return "bitbucket" if environ.get("BITBUCKET_BUILD_NUMBER") else None


def job(forge: str, environ: Mapping[str, str], event: Mapping[str, Any]) -> Job:
    """The job of a forge; what the variables do not say stays empty. `event`: the file of GITHUB_EVENT_PATH."""
    variable, default = APIS[forge]
    api = checked_api(variable, environ.get(variable) or default)
    return {"github": _github, "gitlab": _gitlab, "bitbucket": _bitbucket}[forge](api, environ, event)


def _github(api: str, environ: Mapping[str, str], event: Mapping[str, Any]) -> Job:
    server, repository = environ.get("GITHUB_SERVER_URL", "https://github.com"), environ.get("GITHUB_REPOSITORY", "")
    run, attempt = _number(environ.get("GITHUB_RUN_ID")), _number(environ.get("GITHUB_RUN_ATTEMPT"))
    pull, began = _part(event, "pull_request"), _part(event, "workflow_run")
    started_by = began.get("pull_requests")
    listed = started_by[0] if isinstance(started_by, list) and len(started_by) == 1 else None
    numbers = [_number(about.get("number")) for about in (pull, _part(event, "issue"), listed, event) if isinstance(about, Mapping)]
    ref = _REF.match(environ.get("GITHUB_REF", ""))
    head, base = _part(pull, "head"), _part(pull, "base")
    fork = _part(head, "repo").get("full_name") != (_part(base, "repo").get("full_name") or repository) if pull else None
    return Job(
        "github",
        api,
        repository,
        next(filter(None, numbers), int(ref[1]) if ref else 0),
        str(head.get("sha") or began.get("head_sha") or environ.get("GITHUB_SHA", "")),
        (run, attempt),
        f"{server}/{repository}/actions/runs/{run}" if run and repository else "",
        True if environ.get("GITHUB_ACTOR") == DEPENDABOT else fork,
        graphql=_graphql(api, environ),
    )


def _graphql(api: str, environ: Mapping[str, str]) -> str:
    """The URL of GraphQL, which must be on the host of the API: the token is sent there."""
    beside = api.removesuffix("/v3") + "/graphql"
    given = checked_api("GITHUB_GRAPHQL_URL", environ.get("GITHUB_GRAPHQL_URL") or beside)
    if urlsplit(given)[:2] != urlsplit(api)[:2]:
        raise UsageError("GITHUB_GRAPHQL_URL and GITHUB_API_URL name different hosts, and the token is sent to one only", id="RC-forge-url")
    return given


def _gitlab(api: str, environ: Mapping[str, str], _: Mapping[str, Any]) -> Job:
    project, source = environ.get("CI_MERGE_REQUEST_PROJECT_ID", ""), environ.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "")
    return Job(
        "gitlab",
        api,
        project or environ.get("CI_PROJECT_ID", ""),
        _number(environ.get("CI_MERGE_REQUEST_IID")),
        environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environ.get("CI_COMMIT_SHA", ""),
        (_number(environ.get("CI_PIPELINE_ID")), _number(environ.get("CI_JOB_ID"))),
        environ.get("CI_JOB_URL") or environ.get("CI_PIPELINE_URL", ""),
        project != source if project and source else None,
    )


def _bitbucket(api: str, environ: Mapping[str, str], _: Mapping[str, Any]) -> Job:
    repository, build = environ.get("BITBUCKET_REPO_FULL_NAME", ""), _number(environ.get("BITBUCKET_BUILD_NUMBER"))
    return Job(
        "bitbucket",
        api,
        repository,
        _number(environ.get("BITBUCKET_PR_ID")),
        environ.get("BITBUCKET_COMMIT", ""),
        (build, _number(environ.get("BITBUCKET_STEP_RUN_NUMBER"))),
        f"https://bitbucket.org/{repository}/pipelines/results/{build}" if repository and build else "",
    )


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
    if parts.scheme == "http" and not _is_loopback(host):
        wrong = f"{variable} would send the token unencrypted"
        raise UsageError(wrong, id="RC-unencrypted-url", hint="Use https; plain http is only for the loopback interface.")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = data.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _number(value: Any) -> int:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 0
