"""The CI job that a comment is about: the forge, its API, the pull request, the commit and the run.

In: the environment, and for GitHub the event. Out: `Job`. Reads nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.errors import UsageError
from reconciler.forges.variables import facts

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
    if parts.scheme == "http" and not _is_loopback(host):
        wrong = f"{variable} would send the token unencrypted"
        raise UsageError(wrong, id="RC-unencrypted-url", hint="Use https; plain http is only for the loopback interface.")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
