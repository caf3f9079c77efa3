"""What the two services keep of jobs, added to the fakes of `tests/features/forges`: artifacts, and which request a commit came with.

Sources: docs.github.com/rest/actions/artifacts and /rest/commits/commits#list-pull-requests-associated-with-a-commit;
docs.gitlab.com/api/job_artifacts, /api/jobs, /api/pipelines, /api/merge_requests and /api/commits.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.features.forges import GitHub, GitLab
from tests.features.forges.server import Answer, Sent, User, now

OWN, FORK = 501, 502
"""Ids of the repository and of its fork."""


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Actions(GitHub):
    """GitHub with artifacts and merged pull requests. `stolen`: tokens that reached another host than the API's."""

    def __init__(self) -> None:
        super().__init__()
        self.artifacts: list[dict[str, Any]] = []
        self.stored: dict[int, bytes] = {}
        self.merged: list[dict[str, Any]] = []
        self.stolen: list[str] = []
        self.route("GET", "/repos/{owner}/{name}/commits/{commit}/pulls", self._pulls)
        self.route("GET", "/repos/{owner}/{name}/actions/artifacts", self._artifacts)
        self.route("GET", "/repos/{owner}/{name}/actions/artifacts/{artifact}/zip", self._zip)
        self.route("GET", "/blob/{artifact}", self._blob)

    def keep(self, name: str, folder: Path, *, fork: bool = False, overwrite: bool = False) -> int:
        """Keep a folder as an artifact of a run; its id."""
        same = [artifact for artifact in self.artifacts if artifact["name"] == name]
        assert overwrite or not same, f"an artifact named {name} exists already"
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path, content in files_of(folder).items():
                archive.writestr(path, content)
        number = self.new_id()
        self.stored[number] = made.getvalue()
        run = {"id": 1, "repository_id": OWN, "head_repository_id": FORK if fork else OWN, "head_branch": "x", "head_sha": name[-40:]}
        self.artifacts.append(
            {
                "id": number,
                "name": name,
                "size_in_bytes": len(self.stored[number]),
                "expired": False,
                "created_at": now(),
                "workflow_run": run,
            }
        )
        return number

    def merge(self, number: int, commit: str, head: str, *, fork: bool = False, base: str = "main") -> None:
        """A pull request was merged as a commit."""
        repository = {"full_name": "mallory/handbook" if fork else "acme/handbook"}
        self.merged.append(
            {
                "number": number, "state": "closed", "merged_at": now(), "merge_commit_sha": commit,
                "head": {"sha": head, "ref": f"change-{number}", "repo": repository}, "base": {"ref": base, "sha": "0" * 40},
            }
        )  # fmt: skip

    def user(self, sent: Sent) -> User:
        if sent.path.startswith("/blob/"):
            self.stolen += [sent.headers["authorization"]] if "authorization" in sent.headers else []
            return User(0, "nobody")
        return super().user(sent)

    def _pulls(self, user: User, sent: Sent, owner: str, name: str, commit: str) -> Answer:
        return Answer(200, [pull for pull in self.merged if commit in (pull["merge_commit_sha"], pull["head"]["sha"])])

    def _artifacts(self, user: User, sent: Sent, owner: str, name: str) -> Answer:
        wanted = sent.query.get("name")
        found = [artifact for artifact in reversed(self.artifacts) if wanted in (None, artifact["name"])]
        return Answer(200, {"total_count": len(found), "artifacts": found[: int(sent.query.get("per_page", 30))]})

    def _zip(self, user: User, sent: Sent, owner: str, name: str, artifact: str) -> Answer:
        if int(artifact) not in self.stored:
            return self.missing()
        return Answer(302, "", {"Location": f"http://localhost:{urlsplit(self.url).port}/blob/{artifact}"})

    def _blob(self, user: User, sent: Sent, artifact: str) -> Answer:
        return Answer(200, self.stored[int(artifact)], {"Content-Type": "application/zip"})


class Pipelines(GitLab):
    """GitLab with pipelines, jobs, their artifacts, and merged merge requests."""

    def __init__(self) -> None:
        super().__init__()
        self.pipelines: list[dict[str, Any]] = []
        self.jobs: dict[int, dict[str, Any]] = {}
        self.files: dict[int, dict[str, bytes]] = {}
        self.merged: list[dict[str, Any]] = []
        at = "/api/v4/projects/{project}"
        self.route("GET", f"{at}/pipelines", self._pipelines)
        self.route("GET", f"{at}/pipelines/{{pipeline}}/jobs", self._jobs)
        self.route("GET", f"{at}/repository/commits/{{commit}}/merge_requests", self._requests)
        self.route("GET", f"{at}/merge_requests/{{iid}}/pipelines", self._of_request)
        for depth in range(1, 4):
            path = "/".join(f"{{part{number}}}" for number in range(depth))
            self.route("GET", f"{at}/jobs/{{job}}/artifacts/{path}", self._file)

    def pipeline(self, commit: str, *, source: str, request: int | None = None, project: int = 12) -> int:
        """Start a pipeline; its id."""
        number = self.new_id()
        ref = f"refs/merge-requests/{request}/head" if request else "main"
        about = {"id": number, "iid": number, "project_id": project, "sha": commit, "ref": ref, "source": source, "status": "success"}
        self.pipelines.append({**about, "created_at": now(), "updated_at": now(), "web_url": f"{self.url}/pipelines/{number}"})
        return number

    def job(self, pipeline: int, name: str) -> int:
        """Start a job; its id."""
        number = self.new_id()
        self.jobs[number] = {"id": number, "name": name, "status": "success", "stage": "test", "pipeline": {"id": pipeline}}
        return number

    def merge_as(self, iid: int, commit: str, head: str, *, fork: bool = False) -> None:
        """A merge request was merged as a commit."""
        about = {"iid": iid, "project_id": 12, "target_project_id": 12, "source_project_id": 99 if fork else 12, "state": "merged"}
        self.merged.append(
            {**about, "sha": head, "merge_commit_sha": None, "squash_commit_sha": commit, "merged_at": now(), "target_branch": "main"}
        )

    def _pipelines(self, user: User, sent: Sent, project: str) -> Answer:
        found = [one for one in self.pipelines if str(one["project_id"]) == project and sent.query.get("sha") in (None, one["sha"])]
        return Answer(200, found[::-1])

    def _jobs(self, user: User, sent: Sent, project: str, pipeline: str) -> Answer:
        return Answer(200, [job for job in self.jobs.values() if str(job["pipeline"]["id"]) == pipeline][::-1])

    def _requests(self, user: User, sent: Sent, project: str, commit: str) -> Answer:
        return Answer(200, [one for one in self.merged if commit in (one["squash_commit_sha"], one["merge_commit_sha"], one["sha"])])

    def _of_request(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        return Answer(200, [one for one in reversed(self.pipelines) if one["ref"] == f"refs/merge-requests/{iid}/head"])

    def _file(self, user: User, sent: Sent, project: str, job: str, **parts: str) -> Answer:
        content = self.files.get(int(job), {}).get("/".join(parts.values()))
        return (
            Answer(404, {"message": "404 Not Found"})
            if content is None
            else Answer(200, content, {"Content-Type": "application/octet-stream"})
        )
