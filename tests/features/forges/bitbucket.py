"""Bitbucket Cloud: comments of pull requests.

Source: developer.atlassian.com/cloud/bitbucket/rest/api-group-pullrequests and its introduction (paging, errors). A deleted comment stays
in the list. A repository access token belongs to an app user and cannot ask for `/user`, which needs the scope `account`.
"""

from __future__ import annotations

from typing import Any, Final

from tests.features.forges.server import Answer, Comment, Forge, Pull, Refused, Sent, User, now, page

LONGEST: Final = 32_768  # characters of a comment


class Bitbucket(Forge):
    """Bitbucket Cloud."""

    def __init__(self) -> None:
        super().__init__()
        at = "/2.0/repositories/{workspace}/{slug}/pullrequests/{number}/comments"
        self.route("GET", "/2.0/user", self._user)
        self.route("GET", at, self._list)
        self.route("POST", at, self._create)
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

    def ran(self, run: tuple[int, int], *, job: str = "plan", branch: str = "7") -> None:
        """A pipeline of a pull request."""
        self.pipelines[run[0]] = {"build_number": run[0], "target": {"pullrequest": {"id": int(branch) if branch.isdecimal() else 8}}}

    def _pipeline(self, user: User, sent: Sent, workspace: str, slug: str, build: str) -> Answer:
        if not self.shows_runs:
            return _refusal(403, "Your credentials lack one or more required privilege scopes.")
        known = self.pipelines.get(int(build))
        return self.missing() if known is None else Answer(200, known)

    def bodies(self, pull: Pull) -> list[str]:
        return [comment.body for comment in pull.comments if not comment.deleted]

    # -- the service -------------------------------------------------------------------------------------------------------------------

    def user(self, sent: Sent) -> User:
        token = sent.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.users:
            raise Refused(_refusal(401, "Token is invalid, expired, or not supported for this endpoint."))
        return self.users[token]

    def missing(self) -> Answer:
        return _refusal(404, "Resource not found")

    def headers(self, sent: Sent) -> dict[str, str]:
        return {"Server": "AtlassianEdge", "X-Usage-User-Time": "0.1", "X-B3-Traceid": "1f"}

    def _user(self, user: User, sent: Sent) -> Answer:
        if user.bot:
            about = {"required": ["account"], "granted": ["pullrequest:write"]}
            return _refusal(403, "Your credentials lack one or more required privilege scopes.", detail=about)
        return Answer(200, _account(user))

    def _pull(self, user: User, workspace: str, slug: str, number: str) -> Pull:
        pull = self.pulls.get((f"{workspace}/{slug}", int(number))) if number.isdecimal() else None
        if pull is None or not user.reads:
            raise Refused(self.missing())
        return pull

    def _list(self, user: User, sent: Sent, workspace: str, slug: str, number: str) -> Answer:
        pull = self._pull(user, workspace, slug, number)
        size, at = int(sent.query.get("pagelen", 10)), int(sent.query.get("page", 1))
        if size > 100:
            return _refusal(400, "Invalid pagelen")
        shown, pages = page(pull.comments, at, size)
        body = {"values": [_comment(pull, comment) for comment in shown], "pagelen": size, "size": len(pull.comments), "page": at}
        base = f"{self.url}{sent.path}?pagelen={size}&page="
        more = ({"next": f"{base}{at + 1}"} if at < pages else {}) | ({"previous": f"{base}{at - 1}"} if at > 1 else {})
        return Answer(200, body | more)

    def _create(self, user: User, sent: Sent, workspace: str, slug: str, number: str) -> Answer:
        pull = self._pull(user, workspace, slug, number)
        pull.comments.append(Comment(self.new_id(), user, _written(user, sent.data)))
        return Answer(201, _comment(pull, pull.comments[-1]))

    def _own(self, user: User, workspace: str, slug: str, number: str, comment: str) -> tuple[Pull, Comment]:
        """A comment that its author wants to change."""
        pull = self._pull(user, workspace, slug, number)
        known = next((known for known in pull.comments if str(known.id) == comment and not known.deleted), None)
        if known is None:
            raise Refused(self.missing())
        if not user.writes or known.author.id != user.id:
            raise Refused(_forbidden())
        return pull, known

    def _update(self, user: User, sent: Sent, workspace: str, slug: str, number: str, comment: str) -> Answer:
        pull, known = self._own(user, workspace, slug, number, comment)
        known.body, known.updated = _written(user, sent.data), now()
        return Answer(200, _comment(pull, known))

    def _delete(self, user: User, sent: Sent, workspace: str, slug: str, number: str, comment: str) -> Answer:
        _, known = self._own(user, workspace, slug, number, comment)
        known.deleted, known.body = True, ""
        return Answer(204)


def _comment(pull: Pull, comment: Comment) -> dict[str, Any]:
    return {
        "type": "pullrequest_comment", "id": comment.id, "created_on": comment.created, "updated_on": comment.updated,
        "content": {"type": "rendered", "raw": comment.body, "markup": "markdown", "html": ""}, "user": _account(comment.author),
        "deleted": comment.deleted, "pending": False, "pullrequest": {"type": "pullrequest", "id": pull.number}, "links": {},
    }  # fmt: skip


def _account(user: User) -> dict[str, Any]:
    kind = {"type": "app_user", "kind": "repository_access_token"} if user.bot else {"type": "user", "nickname": user.login}
    return {**kind, "display_name": user.login, "uuid": f"{{{user.id:032x}}}", "account_id": f"557058:{user.id}"}


def _refusal(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, {"type": "error", "error": {"message": message, **more}})


def _forbidden() -> Answer:
    return _refusal(403, "You don't have permission to do that.")


def _written(user: User, data: Any) -> str:
    """The text of a comment that somebody may write."""
    if not user.writes:
        raise Refused(_forbidden())
    raw = data.get("content", {}).get("raw") if isinstance(data, dict) else None
    if not isinstance(raw, str) or not raw.strip():
        raise Refused(_refusal(400, "content: Content may not be empty"))
    if len(raw) > LONGEST:
        raise Refused(Answer(400, "<h1>Bad Request (400)</h1>", {"Content-Type": "text/html"}))
    return raw
