"""Pull requests that this program opens, one for each branch of accepted drift, and the commit on that branch.

    the branch's last commit --ours, with the same digest--> nothing to commit
                             --ours--> replaced by one commit on top of the base
                             --somebody else's--> refused
    the open request of the branch --none--> opened     --other words--> updated     --nothing is proposed--> closed

The branch, the commit and the request are made through the API alone, so the token goes nowhere else, and no git of this machine needs
one. A write whose end is unknown is read again before the next try.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote

from reconciler.features.forges import bitbucket, github, gitlab
from reconciler.features.forges.comment.part import Dialect
from reconciler.features.forges.port import BlockingClock, TryAgain, understood
from reconciler.features.forges.talk import OK
from reconciler.git.branches import BranchCommit
from reconciler.run.job import Job, check_repository, check_token

T = TypeVar("T")
ROUNDS: Final = 5
TITLE_MAX: Final = 250  # characters; forges refuse 256 and more


@dataclass(frozen=True)
class RequestText:
    """What a request says. `into`: the branch that it is to be merged into."""

    into: str
    title: str
    body: str


@dataclass(frozen=True)
class OpenRequest:
    """A request as the forge has it. `url`: for people."""

    number: int
    title: str
    body: str
    url: str


@dataclass(frozen=True)
class LastCommit:
    """The last commit of a branch."""

    id: str
    message: str


class PullRequests(Protocol):
    """The branches and requests of one repository."""

    name: str
    dialect: Dialect

    def last(self, branch: str) -> LastCommit | None:
        """The last commit of a branch; None without the branch."""

    def commit(self, branch: str, base: str, files: Mapping[str, str], message: str, before: LastCommit | None) -> None:
        """Make the branch `base` and one commit with these files. `before`: what the branch has now."""

    def find(self, branch: str, into: str) -> OpenRequest | None:
        """The open request from a branch into another."""

    def open(self, branch: str, text: RequestText) -> OpenRequest:
        """Open one."""

    def update(self, number: int, text: RequestText) -> None:
        """Replace its title and body."""

    def close(self, number: int) -> None:
        """Close it without merging."""


def keep_request(forge: PullRequests, commit: BranchCommit, base: str, text: RequestText) -> str:
    """Make the branch and its request what they are to be; a sentence about it, with the URL.

    Raises `Refused` where the branch has commits of others.
    """

    def keep() -> str:
        last = forge.last(commit.branch)
        if last is None or not commit.is_there(last.message):
            forge.commit(commit.branch, base, commit.files, commit.message, last)
        request = forge.find(commit.branch, text.into)
        wanted = RequestText(text.into, text.title[:TITLE_MAX], text.body)
        if request is None:
            return f"Opened {forge.open(commit.branch, wanted).url}"
        if (request.title, _plain(request.body)) == (wanted.title, _plain(wanted.body)):
            return f"{request.url} is up to date."
        forge.update(request.number, wanted)
        return f"Updated {request.url}"

    return _repeated(keep)


def close_request(forge: PullRequests, commit: BranchCommit, into: str) -> str | None:
    """Close the open request of its branch, if all of its commits are ours; its URL, None without one."""

    def close() -> str | None:
        request, last = forge.find(commit.branch, into), forge.last(commit.branch)
        if request is None:
            return None
        commit.is_there(last.message if last is not None else "")  # raises where it is not ours
        forge.close(request.number)
        return request.url

    return _repeated(close)


def _repeated(work: Callable[[], T]) -> T:
    for number in range(ROUNDS):
        try:
            return work()
        except TryAgain:
            if number == ROUNDS - 1:
                raise
    raise AssertionError


def _plain(text: str) -> str:
    """A text as forges keep it: some use other line ends, or remove those at the end."""
    return text.replace("\r\n", "\n").strip()


def pulls_of(job: Job, token: str, clock: BlockingClock) -> PullRequests:
    """The requests of a job's repository. Raises `UsageError` for unknown facts."""
    check_repository(job, "Run it in a job of the forge.")
    check_token(job, token, "It is the token that opens the request; see docs/drift.md.")
    match job.forge:
        case "github":
            return GitHubPulls(job, token, clock)
        case "gitlab":
            return GitLabPulls(job, token, clock)
        case _:
            return BitbucketPulls(job, token, clock)


class GitHubPulls:
    """Sources: docs.github.com/rest/git/{refs,commits,trees} and /rest/pulls/pulls."""

    name, dialect = github.GitHub.name, github.DIALECT

    def __init__(self, job: Job, token: str, clock: BlockingClock) -> None:
        self._talk = github.talk(job.api, token, clock)
        self._at, self._owner = f"/repos/{job.repository}", job.repository.partition("/")[0]

    @understood
    def last(self, branch: str) -> LastCommit | None:
        reply = self._talk.read("GET", f"{self._at}/git/ref/heads/{quote(branch)}", accepted=OK | {404})
        if reply.status == 404:
            return None
        id = str(reply.data["object"]["sha"])
        return LastCommit(id, str(self._commit(id)["message"]))

    def _commit(self, id: str) -> Any:
        return self._talk.read("GET", f"{self._at}/git/commits/{id}").data

    @understood
    def commit(self, branch: str, base: str, files: Mapping[str, str], message: str, before: LastCommit | None) -> None:
        tree = self._commit(base)["tree"]["sha"]
        listed = self._talk.read("GET", f"{self._at}/git/trees/{tree}", query={"recursive": "1"}).data["tree"]
        modes = {entry["path"]: entry["mode"] for entry in listed if entry["path"] in files}
        entries = [{"path": path, "mode": modes.get(path, "100644"), "type": "blob", "content": text} for path, text in files.items()]
        new = self._talk.write("POST", f"{self._at}/git/trees", data={"base_tree": tree, "tree": entries}).data["sha"]
        made = self._talk.write("POST", f"{self._at}/git/commits", data={"message": message, "tree": new, "parents": [base]}).data["sha"]
        if before is None:
            reply = self._talk.write("POST", f"{self._at}/git/refs", data={"ref": f"refs/heads/{branch}", "sha": made}, accepted=OK | {422})
        else:
            reply = self._talk.write(
                "PATCH", f"{self._at}/git/refs/heads/{quote(branch)}", data={"sha": made, "force": True}, accepted=OK | {422}
            )
        if reply.status == 422:  # another job made or deleted the branch
            raise TryAgain(f"GitHub does not move {branch}", id="RC-forge-refused")

    @understood
    def find(self, branch: str, into: str) -> OpenRequest | None:
        query = {"state": "open", "head": f"{self._owner}:{branch}", "base": into}
        listed = self._talk.read("GET", f"{self._at}/pulls", query=query).data
        own = [pull for pull in listed if pull["head"]["ref"] == branch and pull["base"]["ref"] == into]
        return _of_github(own[0]) if own else None

    @understood
    def open(self, branch: str, text: RequestText) -> OpenRequest:
        data = {"title": text.title, "body": text.body, "head": branch, "base": text.into}
        return _of_github(self._talk.write("POST", f"{self._at}/pulls", data=data).data)

    def update(self, number: int, text: RequestText) -> None:
        self._talk.write("PATCH", f"{self._at}/pulls/{number}", data={"title": text.title, "body": text.body})

    def close(self, number: int) -> None:
        self._talk.write("PATCH", f"{self._at}/pulls/{number}", data={"state": "closed"})


def _of_github(pull: Mapping[str, Any]) -> OpenRequest:
    return OpenRequest(int(pull["number"]), str(pull["title"]), str(pull["body"] or ""), str(pull["html_url"]))


class GitLabPulls:
    """Sources: docs.gitlab.com/api/{commits,branches,merge_requests}."""

    name, dialect = gitlab.GitLab.name, gitlab.DIALECT

    def __init__(self, job: Job, token: str, clock: BlockingClock) -> None:
        self._talk = gitlab.talk(job.api, token, clock)
        self._at = f"/projects/{quote(job.repository, safe='')}"

    @understood
    def last(self, branch: str) -> LastCommit | None:
        reply = self._talk.read("GET", f"{self._at}/repository/branches/{quote(branch, safe='')}", accepted=OK | {404})
        return None if reply.status == 404 else LastCommit(str(reply.data["commit"]["id"]), str(reply.data["commit"]["message"]))

    def commit(self, branch: str, base: str, files: Mapping[str, str], message: str, before: LastCommit | None) -> None:
        actions = [{"action": "update", "file_path": path, "content": text} for path, text in files.items()]
        data = {"branch": branch, "start_sha": base, "force": True, "commit_message": message, "actions": actions}
        self._talk.write("POST", f"{self._at}/repository/commits", data=data)

    @understood
    def find(self, branch: str, into: str) -> OpenRequest | None:
        query = {"state": "opened", "source_branch": branch, "target_branch": into}
        listed = self._talk.read("GET", f"{self._at}/merge_requests", query=query).data
        own = [request for request in listed if request["source_project_id"] == request["target_project_id"]]
        return _of_gitlab(own[0]) if own else None

    @understood
    def open(self, branch: str, text: RequestText) -> OpenRequest:
        data = {"source_branch": branch, "target_branch": text.into, "title": text.title, "description": text.body}
        return _of_gitlab(self._talk.write("POST", f"{self._at}/merge_requests", data={**data, "remove_source_branch": True}).data)

    def update(self, number: int, text: RequestText) -> None:
        self._talk.write("PUT", f"{self._at}/merge_requests/{number}", data={"title": text.title, "description": text.body})

    def close(self, number: int) -> None:
        self._talk.write("PUT", f"{self._at}/merge_requests/{number}", data={"state_event": "close"})


def _of_gitlab(request: Mapping[str, Any]) -> OpenRequest:
    return OpenRequest(int(request["iid"]), str(request["title"]), str(request["description"] or ""), str(request["web_url"]))


class BitbucketPulls:
    """Sources: developer.atlassian.com/cloud/bitbucket/rest, api-group-{source,refs,pullrequests}.

    A commit of its API is always on top of the branch, never instead of it: later drift is one more commit there.
    """

    name, dialect = bitbucket.Bitbucket.name, bitbucket.DIALECT

    def __init__(self, job: Job, token: str, clock: BlockingClock) -> None:
        self._talk = bitbucket.talk(job.api, token, clock)
        self._at = f"/repositories/{job.repository}"

    @understood
    def last(self, branch: str) -> LastCommit | None:
        reply = self._talk.read("GET", f"{self._at}/refs/branches/{quote(branch)}", accepted=OK | {404})
        return None if reply.status == 404 else LastCommit(str(reply.data["target"]["hash"]), str(reply.data["target"]["message"]))

    @understood
    def commit(self, branch: str, base: str, files: Mapping[str, str], message: str, before: LastCommit | None) -> None:
        restored = (
            {} if before is None else {path: self._text(base, path) for path in self._differing(before.id, base) if path not in files}
        )
        form = {f"/{path}": text for path, text in {**restored, **files}.items()}
        parents = before.id if before is not None else base
        self._talk.write("POST", f"{self._at}/src", form={**form, "branch": branch, "message": message, "parents": parents})

    def _differing(self, id: str, base: str) -> list[str]:
        """The paths of files that both commits have, with other texts."""
        stat = self._talk.read("GET", f"{self._at}/diffstat/{id}..{base}?pagelen=500").data
        return [entry["new"]["path"] for entry in stat["values"] if entry["status"] == "modified"]

    def _text(self, id: str, path: str) -> str:
        return self._talk.read("GET", f"{self._at}/src/{id}/{quote(path)}").content.decode()

    @understood
    def find(self, branch: str, into: str) -> OpenRequest | None:
        of = " AND ".join(f"{side}.branch.name = {json.dumps(name)}" for side, name in (("source", branch), ("destination", into)))
        query = {"q": f'{of} AND state = "OPEN"'}
        listed = self._talk.read("GET", f"{self._at}/pullrequests", query=query).data["values"]
        own = [request for request in listed if request["source"]["branch"]["name"] == branch]
        return _of_bitbucket(own[0]) if own else None

    @understood
    def open(self, branch: str, text: RequestText) -> OpenRequest:
        data = {
            "title": text.title,
            "description": text.body,
            "close_source_branch": True,
            "source": {"branch": {"name": branch}},
            "destination": {"branch": {"name": text.into}},
        }
        return _of_bitbucket(self._talk.write("POST", f"{self._at}/pullrequests", data=data).data)

    def update(self, number: int, text: RequestText) -> None:
        self._talk.write("PUT", f"{self._at}/pullrequests/{number}", data={"title": text.title, "description": text.body})

    def close(self, number: int) -> None:
        self._talk.write("POST", f"{self._at}/pullrequests/{number}/decline")


def _of_bitbucket(request: Mapping[str, Any]) -> OpenRequest:
    return OpenRequest(
        int(request["id"]), str(request["title"]), str(request.get("description") or ""), str(request["links"]["html"]["href"])
    )
