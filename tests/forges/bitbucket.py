"""Bitbucket Cloud: comments of pull requests.

Source: developer.atlassian.com/cloud/bitbucket/rest/api-group-pullrequests and its introduction (paging, errors). A deleted comment stays
in the list. A repository access token belongs to an app user and cannot ask for `/user`, which needs the scope `account`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tests.forges.server import Answer, Forge, Sent, User, now, page

LONGEST: Final = 32_768  # characters of a comment


@dataclass
class Comment:
    id: int
    author: User
    body: str
    created_on: str = field(default_factory=now)
    updated_on: str = field(default_factory=now)
    deleted: bool = False


@dataclass
class Pull:
    repository: str
    number: int
    comments: list[Comment] = field(default_factory=list)


class Bitbucket(Forge):
    """Bitbucket Cloud."""

    def __init__(self) -> None:
        super().__init__()
        self.pulls: dict[tuple[str, int], Pull] = {}
        at = "/2.0/repositories/{workspace}/{slug}/pullrequests/{number}/comments"
        self.route("GET", "/2.0/user", self._user)
        self.route("GET", at, self._list)
        self.route("POST", at, self._create)
        self.route("GET", f"{at}/{{comment}}", self._get)
        self.route("PUT", f"{at}/{{comment}}", self._update)
        self.route("DELETE", f"{at}/{{comment}}", self._delete)
        self.route("GET", "/2.0/repositories/{workspace}/{slug}/pipelines/{build}", self._pipeline)
        self.pipelines: dict[int, dict[str, Any]] = {}
        self.shows_runs = True

    # -- to be used by tests -----------------------------------------------------------------------------------------------------------

    @property
    def api(self) -> str:
        """The address of the API."""
        return f"{self.url}/2.0"

    def token(self, *, writes: bool = True) -> str:
        """A repository access token."""
        bot = User(91 if writes else 92, "handbook-pipeline", bot=True, writes=writes)
        return self.add(f"ATCTT3canary{'Writes' if writes else 'Reads'}00000000", bot)

    def person(self, login: str, *, writes: bool = True) -> str:
        """The token of somebody, with the scope `account`."""
        return self.add(f"ATATT3{login}00000000", User(self.new_id(), login, writes=writes))

    def pull(self, repository: str = "acme/handbook", number: int = 7) -> Pull:
        """A pull request."""
        return self.pulls.setdefault((repository, number), Pull(repository, number))

    def says(self, pull: Pull, login: str, body: str) -> Comment:
        """A comment that somebody wrote."""
        author = next((user for user in self.users.values() if user.login == login), None) or User(self.new_id(), login)
        with self.lock:
            pull.comments.append(Comment(self.new_id(), author, body))
            return pull.comments[-1]

    def ran(self, run: tuple[int, int], *, job: str = "plan", branch: str = "7") -> None:
        """A pipeline of a pull request."""
        self.pipelines[run[0]] = {"build_number": run[0], "target": {"pullrequest": {"id": int(branch) if branch.isdecimal() else 8}}}

    def _pipeline(self, user: User, sent: Sent, workspace: str, slug: str, build: str) -> Answer:
        if not self.shows_runs:
            return _refused(403, "Your credentials lack one or more required privilege scopes.")
        known = self.pipelines.get(int(build))
        return self.missing() if known is None else Answer(200, known)

    def bodies(self, pull: Pull) -> list[str]:
        return [comment.body for comment in pull.comments if not comment.deleted]

    # -- the service -------------------------------------------------------------------------------------------------------------------

    def user(self, sent: Sent) -> User | Answer:
        token = sent.headers.get("authorization", "").removeprefix("Bearer ")
        return self.users.get(token) or _refused(401, "Token is invalid, expired, or not supported for this endpoint.")

    def missing(self) -> Answer:
        return _refused(404, "Resource not found")

    def headers(self, sent: Sent) -> dict[str, str]:
        return {"Server": "AtlassianEdge", "X-Usage-User-Time": "0.1", "X-B3-Traceid": "1f"}

    def _user(self, user: User, sent: Sent) -> Answer:
        if user.bot:
            about = {"required": ["account"], "granted": ["pullrequest:write"]}
            return _refused(403, "Your credentials lack one or more required privilege scopes.", detail=about)
        return Answer(200, _account(user))

    def _pull(self, user: User, workspace: str, slug: str, number: str) -> Pull | None:
        pull = self.pulls.get((f"{workspace}/{slug}", int(number))) if number.isdecimal() else None
        return pull if user.reads else None

    def _list(self, user: User, sent: Sent, workspace: str, slug: str, number: str) -> Answer:
        pull = self._pull(user, workspace, slug, number)
        if pull is None:
            return self.missing()
        size, at = int(sent.query.get("pagelen", 10)), int(sent.query.get("page", 1))
        if size > 100:
            return _refused(400, "Invalid pagelen")
        shown, pages = page(pull.comments, at, size)
        body = {"values": [_comment(pull, comment) for comment in shown], "pagelen": size, "size": len(pull.comments), "page": at}
        base = f"{self.url}{sent.path}?pagelen={size}&page="
        more = ({"next": f"{base}{at + 1}"} if at < pages else {}) | ({"previous": f"{base}{at - 1}"} if at > 1 else {})
        return Answer(200, body | more)

    def _create(self, user: User, sent: Sent, workspace: str, slug: str, number: str) -> Answer:
        pull = self._pull(user, workspace, slug, number)
        if pull is None:
            return self.missing()
        refusal = _writes(user) or _wrong(sent.data)
        if refusal is not None:
            return refusal
        pull.comments.append(Comment(self.new_id(), user, sent.data["content"]["raw"]))
        return Answer(201, _comment(pull, pull.comments[-1]))

    def _known(self, user: User, workspace: str, slug: str, number: str, comment: str) -> tuple[Pull, Comment] | None:
        pull = self._pull(user, workspace, slug, number)
        known = [one for one in pull.comments if str(one.id) == comment] if pull is not None else []
        return (pull, known[0]) if pull is not None and known else None

    def _get(self, user: User, sent: Sent, workspace: str, slug: str, number: str, comment: str) -> Answer:
        known = self._known(user, workspace, slug, number, comment)
        return self.missing() if known is None else Answer(200, _comment(*known))

    def _update(self, user: User, sent: Sent, workspace: str, slug: str, number: str, comment: str) -> Answer:
        known = self._known(user, workspace, slug, number, comment)
        if known is None or known[1].deleted:
            return self.missing()
        refusal = _writes(user) or (None if known[1].author.id == user.id else _forbidden()) or _wrong(sent.data)
        if refusal is not None:
            return refusal
        known[1].body, known[1].updated_on = sent.data["content"]["raw"], now()
        return Answer(200, _comment(*known))

    def _delete(self, user: User, sent: Sent, workspace: str, slug: str, number: str, comment: str) -> Answer:
        known = self._known(user, workspace, slug, number, comment)
        if known is None:
            return self.missing()
        refusal = _writes(user) or (None if known[1].author.id == user.id else _forbidden())
        if refusal is None:
            known[1].deleted, known[1].body = True, ""
        return refusal or Answer(204)


def _comment(pull: Pull, comment: Comment) -> dict[str, Any]:
    return {
        "type": "pullrequest_comment", "id": comment.id, "created_on": comment.created_on, "updated_on": comment.updated_on,
        "content": {"type": "rendered", "raw": comment.body, "markup": "markdown", "html": ""}, "user": _account(comment.author),
        "deleted": comment.deleted, "pending": False, "pullrequest": {"type": "pullrequest", "id": pull.number}, "links": {},
    }  # fmt: skip


def _account(user: User) -> dict[str, Any]:
    kind = {"type": "app_user", "kind": "repository_access_token"} if user.bot else {"type": "user", "nickname": user.login}
    return {**kind, "display_name": user.login, "uuid": f"{{{user.id:032x}}}", "account_id": f"557058:{user.id}"}


def _refused(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, {"type": "error", "error": {"message": message, **more}})


def _forbidden() -> Answer:
    return _refused(403, "You don't have permission to do that.")


def _writes(user: User) -> Answer | None:
    return None if user.writes else _forbidden()


def _wrong(data: Any) -> Answer | None:
    raw = data.get("content", {}).get("raw") if isinstance(data, dict) else None
    if not isinstance(raw, str) or not raw.strip():
        return _refused(400, "content: Content may not be empty")
    if len(raw) > LONGEST:
        return Answer(400, "<h1>Bad Request (400)</h1>", {"Content-Type": "text/html"})
    return None
