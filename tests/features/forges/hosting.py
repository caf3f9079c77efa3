"""The repository and the requests of a fake forge: a real bare repository, so that what was proposed can be fetched and merged by git.

Sources: docs.github.com/rest/git and /rest/pulls/pulls, docs.gitlab.com/api/commits and /api/merge_requests, and
developer.atlassian.com/cloud/bitbucket/rest, api-group-source and api-group-pullrequests.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.features.forges.server import Answer, Refused, Sent, User

IDENTITY = ("-c", "user.name=forge", "-c", "user.email=forge@forge.example")


@dataclass
class Request:
    """A pull request of a branch. `state`: open or closed."""

    number: int
    branch: str
    into: str
    title: str
    body: str
    state: str = "open"


@dataclass
class Hosting:
    """A bare repository in a folder, and its requests."""

    folder: Path
    requests: list[Request] = field(default_factory=list)

    def git(self, *words: str, given: str = "", check: bool = True, index: Path | None = None) -> str:
        environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **({"GIT_INDEX_FILE": str(index)} if index else {})}
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=self.folder, input=given, capture_output=True, text=True, check=False, env=environ
        )
        if check and done.returncode:
            raise Refused(Answer(422, {"message": done.stderr.strip()}))
        return done.stdout.rstrip("\n") if not done.returncode else ""

    def last(self, branch: str) -> str:
        """The id of the last commit of a branch; "" without it."""
        return self.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False)

    def message(self, id: str) -> str:
        return self.git("log", "-1", "--format=%B", id)

    def tree(self, base: str, files: Mapping[str, tuple[str, str]]) -> str:
        """A tree with these files, path to mode and text, in an index of its own."""
        index = self.folder / "index.fake"
        index.unlink(missing_ok=True)
        self.git("read-tree", base, index=index)
        for path, (mode, text) in files.items():
            id = self.git("hash-object", "-w", "--stdin", given=text)
            self.git("update-index", "--add", "--cacheinfo", f"{mode},{id},{path}", index=index)
        return self.git("write-tree", index=index)

    def modes(self, commit: str) -> dict[str, str]:
        lines = self.git("ls-tree", "-r", commit).splitlines()
        return {path: about.split()[0] for about, _, path in (line.partition("\t") for line in lines)}

    def commit(self, tree: str, parent: str, message: str) -> str:
        return self.git("commit-tree", tree, "-p", parent, given=message)

    def move(self, branch: str, id: str) -> None:
        self.git("update-ref", f"refs/heads/{branch}", id)

    def open(self, branch: str, into: str) -> list[Request]:
        return [request for request in self.requests if (request.branch, request.into, request.state) == (branch, into, "open")]

    def add(self, branch: str, into: str, title: str, body: str) -> Request:
        if not self.last(branch) or not self.last(into) or self.open(branch, into):
            raise Refused(Answer(422, {"message": "Validation Failed"}))
        self.requests.append(Request(len(self.requests) + 1, branch, into, title, body))
        return self.requests[-1]

    def number(self, number: str) -> Request:
        return self.requests[int(number) - 1]


def github(forge: Any, hosting: Hosting) -> None:
    """The routes of GitHub."""
    at = "/repos/{owner}/{name}"

    def last(user: User, sent: Sent, owner: str, name: str, branch: str) -> Answer:
        id = hosting.last(branch)
        return Answer(200, {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": id}}) if id else forge.missing()

    def commit(user: User, sent: Sent, owner: str, name: str, id: str) -> Answer:
        return Answer(200, {"sha": id, "message": hosting.message(id), "tree": {"sha": hosting.git("rev-parse", f"{id}^{{tree}}")}})

    def listed(user: User, sent: Sent, owner: str, name: str, id: str) -> Answer:
        return Answer(200, {"tree": [{"path": path, "mode": mode, "type": "blob"} for path, mode in hosting.modes(id).items()]})

    def tree(user: User, sent: Sent, owner: str, name: str) -> Answer:
        files = {entry["path"]: (entry["mode"], entry["content"]) for entry in sent.data["tree"]}
        return Answer(201, {"sha": hosting.tree(sent.data["base_tree"], files)})

    def create(user: User, sent: Sent, owner: str, name: str) -> Answer:
        return Answer(201, {"sha": hosting.commit(sent.data["tree"], sent.data["parents"][0], sent.data["message"])})

    def ref(user: User, sent: Sent, owner: str, name: str) -> Answer:
        branch = sent.data["ref"].removeprefix("refs/heads/")
        if hosting.last(branch):
            return Answer(422, {"message": "Reference already exists"})
        hosting.move(branch, sent.data["sha"])
        return Answer(201, {})

    def moved(user: User, sent: Sent, owner: str, name: str, branch: str) -> Answer:
        if not hosting.last(branch) or not sent.data["force"]:
            return Answer(422, {"message": "Reference does not exist"})
        hosting.move(branch, sent.data["sha"])
        return Answer(200, {})

    def shown(request: Request, owner: str, name: str) -> dict[str, Any]:
        url = f"https://github.example/{owner}/{name}/pull/{request.number}"
        about = {"number": request.number, "title": request.title, "body": request.body or None, "state": request.state, "html_url": url}
        return {**about, "head": {"ref": request.branch}, "base": {"ref": request.into}}

    def pulls(user: User, sent: Sent, owner: str, name: str) -> Answer:
        if sent.method == "POST":
            added = hosting.add(sent.data["head"], sent.data["base"], sent.data["title"], sent.data["body"])
            return Answer(201, shown(added, owner, name))
        mine = hosting.open(sent.query["head"].removeprefix(f"{owner}:"), sent.query["base"])
        return Answer(200, [shown(request, owner, name) for request in mine])

    def pull(user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        request = hosting.number(number)
        for key, value in sent.data.items():
            setattr(request, key, value)
        return Answer(200, shown(request, owner, name))

    forge.route("GET", f"{at}/git/commits/{{id}}", commit)
    forge.route("GET", f"{at}/git/trees/{{id}}", listed)
    forge.route("POST", f"{at}/git/trees", tree)
    forge.route("POST", f"{at}/git/commits", create)
    forge.route("POST", f"{at}/git/refs", ref)
    forge.deep("GET", f"{at}/git/ref/heads/", last)
    forge.deep("PATCH", f"{at}/git/refs/heads/", moved)
    forge.route("GET", f"{at}/pulls", pulls)
    forge.route("POST", f"{at}/pulls", pulls)
    forge.route("PATCH", f"{at}/pulls/{{number}}", pull)


def gitlab(forge: Any, hosting: Hosting) -> None:
    """The routes of GitLab."""
    at = "/api/v4/projects/{project}"

    def last(user: User, sent: Sent, project: str, branch: str) -> Answer:
        id = hosting.last(branch)
        return Answer(200, {"name": branch, "commit": {"id": id, "message": hosting.message(id)}}) if id else forge.missing()

    def commit(user: User, sent: Sent, project: str) -> Answer:
        data, modes = sent.data, hosting.modes(sent.data["start_sha"])
        assert all(action["action"] == "update" and action["file_path"] in modes for action in data["actions"])
        files = {action["file_path"]: (modes[action["file_path"]], action["content"]) for action in data["actions"]}
        if hosting.last(data["branch"]) and not data["force"]:
            return Answer(400, {"message": "A branch called that already exists. Switch to that branch in order to make changes"})
        made = hosting.commit(hosting.tree(data["start_sha"], files), data["start_sha"], data["commit_message"])
        hosting.move(data["branch"], made)
        return Answer(201, {"id": made})

    def shown(request: Request) -> dict[str, Any]:
        url = f"https://gitlab.example/acme/handbook/-/merge_requests/{request.number}"
        about = {"iid": request.number, "title": request.title, "description": request.body or None, "state": request.state, "web_url": url}
        return {**about, "source_project_id": 12, "target_project_id": 12}

    def requests(user: User, sent: Sent, project: str) -> Answer:
        if sent.method == "POST":
            data = sent.data
            return Answer(201, shown(hosting.add(data["source_branch"], data["target_branch"], data["title"], data["description"])))
        return Answer(200, [shown(request) for request in hosting.open(sent.query["source_branch"], sent.query["target_branch"])])

    def request(user: User, sent: Sent, project: str, iid: str) -> Answer:
        known = hosting.number(iid)
        known.title, known.body = sent.data.get("title", known.title), sent.data.get("description", known.body)
        known.state = "closed" if sent.data.get("state_event") == "close" else known.state
        return Answer(200, shown(known))

    forge.route("GET", f"{at}/repository/branches/{{branch}}", last)
    forge.route("POST", f"{at}/repository/commits", commit)
    forge.route("GET", f"{at}/merge_requests", requests)
    forge.route("POST", f"{at}/merge_requests", requests)
    forge.route("PUT", f"{at}/merge_requests/{{iid}}", request)


def bitbucket(forge: Any, hosting: Hosting) -> None:
    """The routes of Bitbucket."""
    at = "/2.0/repositories/{workspace}/{slug}"

    def last(user: User, sent: Sent, workspace: str, slug: str, branch: str) -> Answer:
        id = hosting.last(branch)
        return Answer(200, {"name": branch, "target": {"hash": id, "message": hosting.message(id)}}) if id else forge.missing()

    def commit(user: User, sent: Sent, workspace: str, slug: str) -> Answer:
        form = dict(sent.data)
        branch, message, parent = form.pop("branch"), form.pop("message"), form.pop("parents")
        if hosting.last(branch) not in ("", parent):
            return Answer(409, {"type": "error", "error": {"message": "The branch has another commit."}})
        files = {path.removeprefix("/"): ("100644", text) for path, text in form.items()}
        hosting.move(branch, hosting.commit(hosting.tree(parent, files), parent, message))
        return Answer(201)

    def stat(user: User, sent: Sent, workspace: str, slug: str, spec: str) -> Answer:
        first, _, second = spec.partition("..")
        names = hosting.git("diff", "--name-only", "--diff-filter=M", second, first).splitlines()
        return Answer(200, {"values": [{"status": "modified", "old": {"path": name}, "new": {"path": name}} for name in names]})

    def text(user: User, sent: Sent, workspace: str, slug: str, place: str) -> Answer:
        id, _, path = place.partition("/")
        return Answer(200, hosting.git("cat-file", "blob", f"{id}:{path}") + "\n")

    def shown(request: Request) -> dict[str, Any]:
        url = f"https://bitbucket.example/acme/handbook/pull-requests/{request.number}"
        about = {"id": request.number, "title": request.title, "description": request.body, "state": request.state.upper()}
        return {**about, "links": {"html": {"href": url}}, "source": {"branch": {"name": request.branch}}}

    def requests(user: User, sent: Sent, workspace: str, slug: str) -> Answer:
        if sent.method == "POST":
            data = sent.data
            branch, into = data["source"]["branch"]["name"], data["destination"]["branch"]["name"]
            return Answer(201, shown(hosting.add(branch, into, data["title"], data["description"])))
        quoted = sent.query["q"].split('"')
        return Answer(200, {"values": [shown(request) for request in hosting.open(quoted[1], quoted[3])]})

    def request(user: User, sent: Sent, workspace: str, slug: str, number: str) -> Answer:
        known = hosting.number(number)
        known.title, known.body = sent.data["title"], sent.data["description"]
        return Answer(200, shown(known))

    def decline(user: User, sent: Sent, workspace: str, slug: str, number: str) -> Answer:
        hosting.number(number).state = "declined"
        return Answer(200, {})

    forge.deep("GET", f"{at}/refs/branches/", last)
    forge.deep("GET", f"{at}/src/", text)
    forge.route("POST", f"{at}/src", commit)
    forge.route("GET", f"{at}/diffstat/{{spec}}", stat)
    forge.route("GET", f"{at}/pullrequests", requests)
    forge.route("POST", f"{at}/pullrequests", requests)
    forge.route("PUT", f"{at}/pullrequests/{{number}}", request)
    forge.route("POST", f"{at}/pullrequests/{{number}}/decline", decline)
