"""GitHub: comments of pull requests, reactions, minimised comments, rate limits.

Sources: docs.github.com/rest/issues/comments, /rest/reactions, /rest/users, /rest/using-the-rest-api/rate-limits-for-the-rest-api, and the
published GraphQL schema. `GITHUB_TOKEN` is the token of an app: it cannot ask for `/user`, and in GraphQL its author has no `[bot]`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import build_schema, graphql_sync

from tests.forges.server import Answer, Forge, Sent, User, now, page

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


@dataclass
class Comment:
    id: int
    author: User
    body: str
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    minimized: str | None = None

    @property
    def node(self) -> str:
        return f"IC_{self.id}"


@dataclass
class Pull:
    repository: str
    number: int
    comments: list[Comment] = field(default_factory=list)
    reactions: list[dict[str, Any]] = field(default_factory=list)


class GitHub(Forge):
    """`limit`: requests an hour; `used`: of them. `mentions`: names that a comment would notify."""

    def __init__(self, *, limit: int = 1_000) -> None:
        super().__init__()
        self.limit, self.used = limit, 0
        self.pulls: dict[tuple[str, int], Pull] = {}
        comments = "/repos/{owner}/{name}/issues/{number}/comments"
        one = "/repos/{owner}/{name}/issues/comments/{comment}"
        reactions = "/repos/{owner}/{name}/issues/{number}/reactions"
        self.route("GET", "/user", self._user)
        self.route("GET", comments, self._list)
        self.route("POST", comments, self._create)
        self.route("GET", one, self._get)
        self.route("PATCH", one, self._update)
        self.route("DELETE", one, self._delete)
        self.route("GET", reactions, self._reactions)
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

    def pull(self, repository: str = "acme/handbook", number: int = 7) -> Pull:
        """A pull request."""
        return self.pulls.setdefault((repository.lower(), number), Pull(repository, number))

    def says(self, pull: Pull, login: str, body: str) -> Comment:
        """A comment that somebody wrote."""
        author = next((user for user in self.users.values() if user.login == login), None) or User(self.new_id(), login)
        with self.lock:
            pull.comments.append(Comment(self.new_id(), author, body))
            return pull.comments[-1]

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

    def user(self, sent: Sent) -> User | Answer:
        if not sent.headers.get("user-agent"):
            return Answer(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header")
        scheme, _, token = sent.headers.get("authorization", "").partition(" ")
        if scheme.lower() not in ("bearer", "token") or token not in self.users:
            return _refused(401, "Bad credentials")
        self.used += 1
        if self.used > self.limit:
            return _refused(403, "API rate limit exceeded for installation ID 1.")
        return self.users[token]

    def missing(self) -> Answer:
        return _refused(404, "Not Found")

    def headers(self, sent: Sent) -> dict[str, str]:
        reset = str(int(time.time()) + 1800)
        left = str(max(0, self.limit - self.used))
        return {
            "Server": "github.com", "X-GitHub-Media-Type": "github.v3; format=json", "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": left, "X-RateLimit-Reset": reset, "X-RateLimit-Used": str(self.used), "X-RateLimit-Resource": "core",
        }  # fmt: skip

    def _user(self, user: User, sent: Sent) -> Answer:
        return _forbidden() if user.bot else Answer(200, _user(user))

    def _pull(self, owner: str, name: str, number: str) -> Pull | None:
        return self.pulls.get((f"{owner}/{name}".lower(), int(number))) if number.isdecimal() else None

    def _comment(self, owner: str, name: str, comment: str) -> tuple[Pull, Comment] | None:
        repository = f"{owner}/{name}".lower()
        for (where, _), pull in self.pulls.items():
            for known in pull.comments:
                if where == repository and str(known.id) == comment:
                    return pull, known
        return None

    def _list(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        if pull is None or not user.reads:
            return self.missing()
        size, at = min(100, int(sent.query.get("per_page", 30))), int(sent.query.get("page", 1))
        shown, pages = page(pull.comments, at, size)
        base = f"{self.url}{sent.path}?per_page={size}&page="
        links = [(at + 1, "next"), (pages, "last")] * (at < pages) + [(1, "first"), (at - 1, "prev")] * (at > 1)
        link = ", ".join(f'<{base}{to}>; rel="{word}"' for to, word in links)
        return Answer(200, [self._shown(pull, comment) for comment in shown], {"Link": link} if link else {})

    def _create(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        if pull is None:
            return self.missing()
        refusal = _writes(user) or _wrong(sent.data)
        if refusal is not None:
            return refusal
        pull.comments.append(Comment(self.new_id(), user, sent.data["body"]))
        return Answer(201, self._shown(pull, pull.comments[-1]))

    def _get(self, user: User, sent: Sent, owner: str, name: str, comment: str) -> Answer:
        known = self._comment(owner, name, comment)
        return self.missing() if known is None else Answer(200, self._shown(*known))

    def _update(self, user: User, sent: Sent, owner: str, name: str, comment: str) -> Answer:
        known = self._comment(owner, name, comment)
        if known is None:
            return self.missing()
        refusal = _writes(user) or _wrong(sent.data)
        if refusal is not None:
            return refusal
        known[1].body, known[1].updated_at = sent.data["body"], now()
        return Answer(200, self._shown(*known))

    def _delete(self, user: User, sent: Sent, owner: str, name: str, comment: str) -> Answer:
        known = self._comment(owner, name, comment)
        if known is None:
            return self.missing()
        refusal = _writes(user)
        if refusal is None:
            known[0].comments.remove(known[1])
        return refusal or Answer(204)

    def _reactions(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        if pull is None:
            return self.missing()
        wanted = sent.query.get("content")
        shown, _ = page([one for one in pull.reactions if wanted in (None, one["content"])], int(sent.query.get("page", 1)), 100)
        return Answer(200, shown)

    def _react(self, user: User, sent: Sent, owner: str, name: str, number: str) -> Answer:
        pull = self._pull(owner, name, number)
        if pull is None:
            return self.missing()
        if refusal := _writes(user):
            return refusal
        content = sent.data.get("content")
        if content not in REACTIONS:
            return _refused(422, "Validation Failed")
        for known in pull.reactions:
            if known["content"] == content and known["user"]["id"] == user.id:
                return Answer(200, known)
        pull.reactions.append({"id": self.new_id(), "user": _user(user), "content": content, "created_at": now()})
        return Answer(201, pull.reactions[-1])

    def _unreact(self, user: User, sent: Sent, owner: str, name: str, number: str, reaction: str) -> Answer:
        pull = self._pull(owner, name, number)
        if refusal := _writes(user):
            return refusal
        for known in list(pull.reactions) if pull is not None else []:
            if str(known["id"]) == reaction and pull is not None:
                pull.reactions.remove(known)
                return Answer(204)
        return self.missing()

    def _shown(self, pull: Pull, comment: Comment) -> dict[str, Any]:
        at = f"{self.url}/repos/{pull.repository}/issues"
        return {
            "id": comment.id, "node_id": comment.node, "url": f"{at}/comments/{comment.id}", "body": comment.body,
            "html_url": f"https://github.com/{pull.repository}/pull/{pull.number}#issuecomment-{comment.id}",
            "issue_url": f"{at}/{pull.number}", "user": _user(comment.author), "created_at": comment.created_at,
            "updated_at": comment.updated_at, "author_association": "NONE", "performed_via_github_app": None,
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
            "id": comment.node, "databaseId": comment.id, "author": author, "body": comment.body, "createdAt": comment.created_at,
            "updatedAt": comment.updated_at, "isMinimized": comment.minimized is not None, "minimizedReason": comment.minimized,
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
                if comment.node == node:
                    comment.minimized = reason
                    return self._node(comment)
        raise ValueError(f"Could not resolve to a node with the global id of '{node}'")


def _user(user: User) -> dict[str, Any]:
    return {"login": user.login, "id": user.id, "node_id": f"U_{user.id}", "type": "Bot" if user.bot else "User", "site_admin": False}


def _refused(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, {"message": message, **more, "documentation_url": DOCS, "status": str(status)})


def _forbidden() -> Answer:
    return _refused(403, "Resource not accessible by integration")


def _writes(user: User) -> Answer | None:
    return None if user.writes else _forbidden()


def _wrong(data: Any) -> Answer | None:
    body = data.get("body") if isinstance(data, dict) else None
    if not isinstance(body, str) or not body.strip():
        return _refused(422, "Validation Failed", errors=[{"resource": "IssueComment", "code": "missing_field", "field": "body"}])
    if len(body) > LONGEST:
        about = {"resource": "IssueComment", "code": "unprocessable", "field": "data"}
        return _refused(422, "Validation Failed", errors=[{**about, "message": f"Body is too long (maximum is {LONGEST} characters)"}])
    return None
