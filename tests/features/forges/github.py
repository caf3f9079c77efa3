"""GitHub: comments of pull requests, reactions, minimised comments, rate limits.

Sources: docs.github.com/rest/issues/comments, /rest/reactions, /rest/users, /rest/using-the-rest-api/rate-limits-for-the-rest-api, and the
published GraphQL schema. `GITHUB_TOKEN` is the token of an app: it cannot ask for `/user`, and in GraphQL its author has no `[bot]`.
"""

from __future__ import annotations

import time
from typing import Any, Final

from graphql import build_schema, graphql_sync

from tests.features.forges.server import Answer, Comment, Forge, Pull, Refused, Sent, User, now, page

LONGEST: Final = 65_536  # characters of a comment
REACTIONS: Final = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
DOCS: Final = "https://docs.github.com/rest"

SCHEMA: Final = """
scalar BigInt
scalar DateTime
scalar GitObjectID
scalar URI
interface Node { id: ID! }
interface Actor { login: String! }
type Bot implements Node & Actor { id: ID! databaseId: Int login: String! }
type User implements Node & Actor { id: ID! databaseId: Int login: String! }
enum ReportedContentClassifiers { ABUSE DUPLICATE OFF_TOPIC OUTDATED RESOLVED SPAM }
interface Minimizable { isMinimized: Boolean! minimizedReason: String }
type IssueComment implements Node & Minimizable {
  id: ID! databaseId: Int fullDatabaseId: BigInt author: Actor body: String! createdAt: DateTime! updatedAt: DateTime! url: URI!
  isMinimized: Boolean! minimizedReason: String viewerDidAuthor: Boolean! viewerCanUpdate: Boolean! viewerCanDelete: Boolean!
}
type PageInfo { endCursor: String hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String }
type IssueCommentConnection { nodes: [IssueComment] pageInfo: PageInfo! totalCount: Int! }
type PullRequest implements Node {
  id: ID! number: Int! headRefOid: GitObjectID!
  comments(after: String, before: String, first: Int, last: Int): IssueCommentConnection!
}
type Repository implements Node { id: ID! nameWithOwner: String! pullRequest(number: Int!): PullRequest }
input MinimizeCommentInput { classifier: ReportedContentClassifiers! clientMutationId: String subjectId: ID! }
type MinimizeCommentPayload { clientMutationId: String minimizedComment: Minimizable }
input UnminimizeCommentInput { clientMutationId: String subjectId: ID! }
type UnminimizeCommentPayload { clientMutationId: String unminimizedComment: Minimizable }
type Query { node(id: ID!): Node repository(name: String!, owner: String!, followRenames: Boolean = true): Repository viewer: User! }
type Mutation {
  minimizeComment(input: MinimizeCommentInput!): MinimizeCommentPayload
  unminimizeComment(input: UnminimizeCommentInput!): UnminimizeCommentPayload
}
"""
"""What comments need of the published schema."""


class GitHub(Forge):
    """`limit`: requests an hour; `used`: of them. `mentions`: names that a comment would notify."""

    def __init__(self, *, limit: int = 1_000) -> None:
        super().__init__()
        self.limit, self.used = limit, 0
        comments = "/repos/{owner}/{name}/issues/{number}/comments"
        comment = "/repos/{owner}/{name}/issues/comments/{comment}"
        reactions = "/repos/{owner}/{name}/issues/{number}/reactions"
        self.route("GET", "/user", self._user)
        self.route("GET", comments, self._list)
        self.route("POST", comments, self._create)
        self.route("PATCH", comment, self._update)
        self.route("DELETE", comment, self._delete)
        self.route("POST", reactions, self._react)
        self.route("DELETE", reactions + "/{reaction}", self._unreact)
        self.route("POST", "/graphql", self._graphql)
        self.route("GET", "/repos/{owner}/{name}/actions/runs/{run}", self._workflow_run)
        self.runs: dict[int, dict[str, Any]] = {}
        self.shows_runs = True

    # -- to be used by tests -----------------------------------------------------------------------------------------------------------

    @property
    def api(self) -> str:
        """`GITHUB_API_URL`."""
        return self.url

    @property
    def graphql(self) -> str:
        """`GITHUB_GRAPHQL_URL`."""
        return f"{self.url}/graphql"

    def token(self, *, writes: bool = True) -> str:
        """A `GITHUB_TOKEN`; that of a pull request from a fork does not write."""
        bot = User(41_898_282, "github-actions[bot]", bot=True, writes=writes)
        return self.add(f"ghs_canary{'Writes' if writes else 'Reads'}000000000000000000000000", bot)

    def person(self, login: str, *, writes: bool = True) -> str:
        """The personal token of somebody."""
        return self.add(f"ghp_{login}0000000000000000000000000000000000", User(self.new_id(), login, writes=writes))

    def ran(self, run: tuple[int, int], *, job: str = "plan", branch: str = "titles") -> None:
        """A run of a workflow, and how often it was attempted."""
        about = {"workflow_id": len(job), "run_attempt": run[1], "head_branch": branch, "head_repository": {"id": 3}}
        self.runs[run[0]] = {"id": run[0], "event": "pull_request", **about}

    def _workflow_run(self, user: User, sent: Sent, owner: str, name: str, run: str) -> Answer:
        if not self.shows_runs:
            return _forbidden()
        known = self.runs.get(int(run))
        return self.missing() if known is None else Answer(200, known)

    def bodies(self, pull: Pull, *, minimized: bool = False) -> list[str]:
        """What a reader sees, in order."""
        return [comment.body for comment in pull.comments if minimized or comment.minimized is None]

    # -- the service -------------------------------------------------------------------------------------------------------------------

    def user(self, sent: Sent) -> User:
        if not sent.headers.get("user-agent"):
            raise Refused(Answer(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"))
        scheme, _, token = sent.headers.get("authorization", "").partition(" ")
        if scheme.lower() not in ("bearer", "token") or token not in self.users:
            raise Refused(_refusal(401, "Bad credentials"))
        self.used += 1
        if self.used > self.limit:
            raise Refused(_refusal(403, "API rate limit exceeded for installation ID 1."))
        return self.users[token]

    def missing(self) -> Answer:
        return _refusal(404, "Not Found")

    def headers(self, sent: Sent) -> dict[str, str]:
        reset = str(int(time.time()) + 1800)
        left = str(max(0, self.limit - self.used))
        return {
            "Server": "github.com", "X-GitHub-Media-Type": "github.v3; format=json", "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": left, "X-RateLimit-Reset": reset, "X-RateLimit-Used": str(self.used), "X-RateLimit-Resource": "core",
        }  # fmt: skip

    def _user(self, user: User, sent: Sent) -> Answer:
        return _forbidden() if user.bot else Answer(200, _user(user))

    def _pull(self, owner: str, name: str, number: str) -> Pull:
        pull = self.pulls.get((f"{owner}/{name}".lower(), int(number))) if number.isdecimal() else None
        if pull is None:
            raise Refused(self.missing())
        return pull

    def _comment(self, owner: str, name: str, comment: str) -> tuple[Pull, Comment]:
        repository = f"{owner}/{name}".lower()
        for (where, _), pull in self.pulls.items():
            for known in pull.comments:
                if where == repository and str(known.id) == comment:
                    return pull, known
        raise Refused(self.missing())

    def _list(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        if not user.reads:
            return self.missing()
        size, at = min(100, int(sent.query.get("per_page", 30))), int(sent.query.get("page", 1))
        shown, pages = page(pull.comments, at, size)
        base = f"{self.url}{sent.path}?per_page={size}&page="
        links = [(at + 1, "next"), (pages, "last")] * (at < pages) + [(1, "first"), (at - 1, "prev")] * (at > 1)
        link = ", ".join(f'<{base}{to}>; rel="{word}"' for to, word in links)
        return Answer(200, [self._shown(pull, comment) for comment in shown], {"Link": link} if link else {})

    def _create(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        pull.comments.append(Comment(self.new_id(), user, _written(user, sent.data)))
        return Answer(201, self._shown(pull, pull.comments[-1]))

    def _update(self, user: User, sent: Sent, owner: str, name: str, comment: str) -> Answer:
        pull, known = self._comment(owner, name, comment)
        known.body, known.updated = _written(user, sent.data), now()
        return Answer(200, self._shown(pull, known))

    def _delete(self, user: User, sent: Sent, owner: str, name: str, comment: str) -> Answer:
        pull, known = self._comment(owner, name, comment)
        _check_writes(user)
        pull.comments.remove(known)
        return Answer(204)

    def _react(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        _check_writes(user)
        content = sent.data.get("content")
        if content not in REACTIONS:
            return _refusal(422, "Validation Failed")
        for known in pull.reactions:
            if known["content"] == content and known["user"]["id"] == user.id:
                return Answer(200, known)
        pull.reactions.append({"id": self.new_id(), "user": _user(user), "content": content, "created_at": now()})
        return Answer(201, pull.reactions[-1])

    def _unreact(self, user: User, sent: Sent, owner: str, name: str, number: str, reaction: str) -> Answer:
        pull = self._pull(owner, name, number)
        _check_writes(user)
        for known in list(pull.reactions):
            if str(known["id"]) == reaction:
                pull.reactions.remove(known)
                return Answer(204)
        return self.missing()

    def _shown(self, pull: Pull, comment: Comment) -> dict[str, Any]:
        at = f"{self.url}/repos/{pull.repository}/issues"
        return {
            "id": comment.id, "node_id": _node_id(comment), "url": f"{at}/comments/{comment.id}", "body": comment.body,
            "html_url": f"https://github.com/{pull.repository}/pull/{pull.number}#issuecomment-{comment.id}",
            "issue_url": f"{at}/{pull.number}", "user": _user(comment.author), "created_at": comment.created,
            "updated_at": comment.updated, "author_association": "NONE", "performed_via_github_app": None,
        }  # fmt: skip

    # -- GraphQL -----------------------------------------------------------------------------------------------------------------------

    def _graphql(self, user: User, sent: Sent) -> Answer:
        done = graphql_sync(_SCHEMA, str(sent.data.get("query")), _Root(self, user), variable_values=sent.data.get("variables"))
        return Answer(200, done.formatted)


_SCHEMA: Final = build_schema(SCHEMA)


class _Root:
    """What a query of somebody starts from."""

    def __init__(self, forge: GitHub, user: User) -> None:
        self.forge, self.user = forge, user

    def viewer(self, _: Any) -> dict[str, Any]:
        return {"id": f"U_{self.user.id}", "databaseId": self.user.id, "login": self.user.login}

    def repository(self, _: Any, name: str, owner: str, **more: Any) -> dict[str, Any] | None:
        full = f"{owner}/{name}"
        if not self.user.reads or not any(where == full.lower() for where, _ in self.forge.pulls):
            raise ValueError(f"Could not resolve to a Repository with the name '{full}'.")
        return {"id": f"R_{full}", "nameWithOwner": full, "pullRequest": lambda info, number: self._pull(full, number)}

    def _pull(self, repository: str, number: int) -> dict[str, Any]:
        pull = self.forge.pulls.get((repository.lower(), number))
        if pull is None:
            raise ValueError(f"Could not resolve to a PullRequest with the number of {number}.")
        return {"id": f"PR_{number}", "number": number, "comments": lambda info, **asked: self._comments(pull, **asked)}

    def _comments(self, pull: Pull, first: int | None = None, last: int | None = None, after: str | None = None, **more: Any) -> Any:
        size = first or last
        if size is None:
            raise ValueError("You must provide a `first` or `last` value to properly paginate the `comments` connection.")
        if not 1 <= size <= 100:
            raise ValueError(f"Requesting {size} records on the `comments` connection exceeds the `first` limit of 100 records.")
        begin = int(after or 0)
        shown = pull.comments[begin : begin + size]
        end = begin + len(shown)
        return {
            "nodes": [self._node(comment) for comment in shown],
            "totalCount": len(pull.comments),
            "pageInfo": {"endCursor": str(end), "hasNextPage": end < len(pull.comments), "hasPreviousPage": begin > 0},
        }

    def _node(self, comment: Comment) -> dict[str, Any]:
        author = {"__typename": "Bot" if comment.author.bot else "User", "login": comment.author.login.removesuffix("[bot]")}
        mine = comment.author.id == self.user.id
        return {
            "id": _node_id(comment), "databaseId": comment.id, "author": author, "body": comment.body, "createdAt": comment.created,
            "updatedAt": comment.updated, "isMinimized": comment.minimized is not None, "minimizedReason": comment.minimized,
            "viewerDidAuthor": mine, "viewerCanUpdate": self.user.writes, "viewerCanDelete": self.user.writes, "__typename": "IssueComment",
            "url": "https://github.com/",
        }  # fmt: skip

    def minimizeComment(self, _: Any, input: dict[str, Any]) -> dict[str, Any]:
        return {"minimizedComment": self._minimise(input["subjectId"], input["classifier"].lower())}

    def unminimizeComment(self, _: Any, input: dict[str, Any]) -> dict[str, Any]:
        return {"unminimizedComment": self._minimise(input["subjectId"], None)}

    def _minimise(self, node: str, reason: str | None) -> dict[str, Any]:
        if not self.user.writes:
            raise ValueError("Resource not accessible by integration")
        for pull in self.forge.pulls.values():
            for comment in pull.comments:
                if _node_id(comment) == node:
                    comment.minimized = reason
                    return self._node(comment)
        raise ValueError(f"Could not resolve to a node with the global id of '{node}'")


def _user(user: User) -> dict[str, Any]:
    return {"login": user.login, "id": user.id, "node_id": f"U_{user.id}", "type": "Bot" if user.bot else "User", "site_admin": False}


def _node_id(comment: Comment) -> str:
    return f"IC_{comment.id}"


def _refusal(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, {"message": message, **more, "documentation_url": DOCS, "status": str(status)})


def _forbidden() -> Answer:
    return _refusal(403, "Resource not accessible by integration")


def _check_writes(user: User) -> None:
    if not user.writes:
        raise Refused(_forbidden())


def _written(user: User, data: Any) -> str:
    """The text of a comment that somebody may write."""
    _check_writes(user)
    body = data.get("body") if isinstance(data, dict) else None
    if not isinstance(body, str) or not body.strip():
        errors = [{"resource": "IssueComment", "code": "missing_field", "field": "body"}]
        raise Refused(_refusal(422, "Validation Failed", errors=errors))
    if len(body) > LONGEST:
        says = f"Body is too long (maximum is {LONGEST} characters)"
        errors = [{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": says}]
        raise Refused(_refusal(422, "Validation Failed", errors=errors))
    return body
