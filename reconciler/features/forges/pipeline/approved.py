"""The approved plan of a commit, from the artifacts of GitHub Actions and GitLab CI.

In: the event that started the job of the commit. Out: the bytes of the saved plan, and the commit that was reviewed. A plan from a fork's
own job is not used, because nobody with rights in this repository created it. `apply --plan` checks the file.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

import httpx2

from reconciler.certificates import tls_context
from reconciler.errors import Refused, UsageError
from reconciler.features.forges.pipeline.results import PLAN
from reconciler.features.forges.pipeline.trigger import Ci, Trigger
from reconciler.features.forges.port import BlockingClock, ForgeError, NotAllowed, understood
from reconciler.features.forges.talk import OK, Talk
from reconciler.run.job import APIS, TOKENS, checked_api, facts

SECONDS: Final = 30.0  # for one step of a download
TRIES: Final = 3
HOPS: Final = 4  # requests of one download
LARGEST: Final = 64 * 2**20  # bytes of an artifact; a saved plan has at most 20 million
AGAIN: Final = "Run the pipeline by hand on this branch with the command plan, review that plan, then run it with the command apply."
KEPT: Final = f"{AGAIN} If the action has keep-plan: false, no plan is kept: plan and apply on your own machine."
PERMISSIONS: Final = {
    "github": "Give the job the permissions actions: read and pull-requests: read.",
    "gitlab": "The token needs the scope api or read_api, and the role Developer.",
}
EXPIRED: Final = frozenset({404, 410})
_ACCEPTED: Final = OK | EXPIRED


Approved = tuple[bytes, str, str]
"""A saved plan, the commit that was reviewed, and the source of the plan, for people."""


def approved(trigger: Trigger, *, artifact: str, file: str, environ: Mapping[str, str] = os.environ) -> Approved:
    """The plan of a commit, else the plan of the pull request that brought it to the branch.

    `artifact`: the name of the artifact without the commit (GitHub). `file`: the path of the plan in the artifacts of a job (GitLab).

    Raises `Refused` if there is no approved plan.
    """
    if trigger.ci is Ci.NONE:
        raise UsageError(
            "an approved plan is only found in GitHub Actions and GitLab CI",
            id="RC-no-pull-request",
            hint="Use reconciler apply --plan FILE.",
        )
    forge = "github" if trigger.ci is Ci.GITHUB else "gitlab"
    variable, default = APIS[forge]
    token, base = environ.get(TOKENS[forge], ""), checked_api(variable, environ.get(variable) or default)
    if not token:
        raise UsageError(
            f"{TOKENS[forge]} is not set, so the approved plan cannot be found",
            id="RC-forge-token",
            hint="docs/pipelines.md lists what to set.",
        )
    if trigger.ci is Ci.GITHUB:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    else:
        headers = {"PRIVATE-TOKEN": token}
    api = ApprovalsApi(trigger.ci.value, base, headers, Talk(trigger.ci.value, base, headers, token=token, clock=BlockingClock()))
    known = facts(forge, environ, {})
    try:
        if trigger.ci is Ci.GITHUB:
            return OnGitHub(api, f"/repos/{known.repository}", artifact).approved(trigger)
        return OnGitLab(api, f"/projects/{known.repository}", f"{known.name.removesuffix('apply')}plan", file).approved(trigger)
    except NotAllowed as error:
        raise ForgeError(f"the approved plan cannot be found: {error.message}", id=error.id, hint=PERMISSIONS[forge]) from None


@dataclass(frozen=True)
class ApprovalsApi:
    """Requests that read a forge's API."""

    name: str
    base: str
    headers: Mapping[str, str]
    talk: Talk

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer; None if the path does not exist."""
        reply = self.talk.read("GET", path, query={"per_page": "100", **query}, accepted=_ACCEPTED)
        return None if reply.status in EXPIRED else reply.data

    def download(self, path: str) -> bytes | None:
        """The bytes of a file; None if it does not exist. The token is not sent to the storage that an answer redirects to."""
        trouble = ""
        for _ in range(TRIES):
            try:
                return self._downloaded(self.base + path)
            except httpx2.HTTPError as error:
                trouble = type(error).__name__
        raise ForgeError(f"{self.name} did not send the approved plan: {trouble}", id="RC-forge-failing", hint="Run the job again.")

    def _downloaded(self, url: str) -> bytes | None:
        for _ in range(HOPS):
            # Artifacts are in the storage of another company, with a signed URL. It needs no token and must not get this one.
            own = urlsplit(url)[:2] == urlsplit(self.base)[:2]
            with httpx2.stream("GET", url, headers=self.headers if own else None, timeout=SECONDS, verify=tls_context()) as response:
                if response.is_redirect:
                    url = urljoin(url, response.headers["location"])
                    continue
                if response.status_code in EXPIRED:
                    return None
                response.raise_for_status()
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > LARGEST:
                        raise ForgeError(
                            f"{self.name} sent more than {LARGEST // 2**20} MiB, too many for a saved plan", id="RC-file-too-large"
                        )
                return bytes(content)
        raise ForgeError(f"{self.name} answered with too many redirects", id="RC-forge-redirect")


@dataclass(frozen=True)
class OnGitHub:
    """Plans are artifacts whose names end with the commit."""

    api: ApprovalsApi
    repository: str
    artifact: str

    @understood
    def approved(self, trigger: Trigger) -> Approved:
        """The plan of a commit or of its pull request."""
        commit = trigger.commit
        own = self._plan(commit)
        if own is not None:
            return own, commit, f"commit {commit[:9]}"
        pulls = self.api.get(f"{self.repository}/commits/{commit}/pulls") or []
        pull = _merged((pull for pull in pulls if pull["base"]["ref"] == trigger.branch), commit=commit)
        if pull is None:
            raise _unapproved(f"commit {commit[:9]} belongs to no merged pull request, and has no plan of its own", KEPT)
        head, number = pull["head"]["sha"], pull["number"]
        content = self._plan(head)
        if content is None:
            fork = f"/repos/{(pull['head'].get('repo') or {}).get('full_name')}" != self.repository
            reason = "it comes from a fork" if fork else f"there is no plan of its last commit {head[:9]}, or it has expired"
            raise _unapproved(f"nobody approved a plan of pull request #{number}: {reason}", KEPT)
        return content, head, f"pull request #{number}"

    def _plan(self, commit: str) -> bytes | None:
        """The newest plan of a commit from a job of this repository."""
        listed = self.api.get(f"{self.repository}/actions/artifacts", name=f"{self.artifact}-{commit}")
        ours = [artifact for artifact in (listed or {}).get("artifacts", ()) if not artifact["expired"] and _own(artifact)]
        if not ours:
            return None
        newest = max(ours, key=lambda artifact: (artifact["created_at"], artifact["id"]))
        archive = self.api.download(f"{self.repository}/actions/artifacts/{newest['id']}/zip")
        if archive is None:
            return None
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as opened, opened.open(PLAN) as file:
                return file.read(LARGEST)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ForgeError(f"the artifact {newest['name']} contains no {PLAN}", id="RC-no-approved-plan") from error


def _own(artifact: Mapping[str, Any]) -> bool:
    """Whether a run of the repository itself created an artifact, and not one for a fork's pull request."""
    # Everybody can open a pull request from a fork, and its job can store an artifact of any name.
    run = artifact.get("workflow_run") or {}
    return run.get("repository_id") is not None and run.get("repository_id") == run.get("head_repository_id")


@dataclass(frozen=True)
class OnGitLab:
    """Plans are artifacts of a job `…plan`."""

    api: ApprovalsApi
    project: str
    job: str
    file: str

    @understood
    def approved(self, trigger: Trigger) -> Approved:
        """The plan of a commit or of its merge request."""
        commit = trigger.commit
        own = self._newest(self.api.get(f"{self.project}/pipelines", sha=commit, order_by="id", sort="desc") or [])
        if own is not None:
            return own, commit, f"commit {commit[:9]}"
        requests = self.api.get(f"{self.project}/repository/commits/{commit}/merge_requests") or []
        request = _merged((request for request in requests if request["target_branch"] == trigger.branch), commit=commit)
        if request is None:
            raise _unapproved(f"commit {commit[:9]} belongs to no merged merge request, and has no plan of its own")
        number = request["iid"]
        content = self._newest((self.api.get(f"{self.project}/merge_requests/{number}/pipelines") or [])[:1])
        if content is None:
            fork = request["source_project_id"] != request["target_project_id"]
            reason = "it comes from a fork" if fork else "its last pipeline has no plan, or the plan has expired"
            raise _unapproved(f"nobody approved a plan of merge request !{number}: {reason}")
        return content, str(request["sha"]), f"merge request !{number}"

    def _newest(self, pipelines: Iterable[Mapping[str, Any]]) -> bytes | None:
        """The newest plan of pipelines of this project, newest first."""
        for pipeline in pipelines:
            if f"/projects/{pipeline['project_id']}" != self.project:
                continue
            for job in self.api.get(f"{self.project}/pipelines/{pipeline['id']}/jobs") or []:
                if job["name"] == self.job:
                    content = self.api.download(f"{self.project}/jobs/{job['id']}/artifacts/{quote(self.file)}")
                    if content is not None:
                        return content
        return None


def _merged(requests: Iterable[dict[str, Any]], *, commit: str) -> dict[str, Any] | None:
    """The request that was merged as this commit, else the last merged one."""
    merged = [request for request in requests if request.get("merged_at")]
    exact = [request for request in merged if commit in (request.get("merge_commit_sha"), request.get("squash_commit_sha"))]
    return max(exact or merged, key=lambda request: str(request["merged_at"]), default=None)


def _unapproved(reason: str, hint: str = AGAIN) -> Refused:
    return Refused(reason, id="RC-no-approved-plan", hint=hint)
