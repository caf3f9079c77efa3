"""GitHub: comments by GraphQL, which returns their authors and can hide them; writes by REST.

Only comments of the token's own author are read: a stranger can copy a hidden marker. The token of a workflow cannot read `/user`, but
GraphQL returns for each comment whether the viewer wrote it. A turn is the reaction 👀 of the author to the pull request: GitHub creates it
once and answers 200 instead of 201 to later requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reconciler.features.forges.comment.part import Dialect, Run
from reconciler.features.forges.comment.upkeep import OurComment
from reconciler.features.forges.port import BlockingClock, Busy, ForgeError, NotAllowed, understood
from reconciler.features.forges.talk import OK, Talk, message

DIALECT: Final = Dialect(65_500)  # GitHub refuses more than 65,536 characters
REACTION: Final = "eyes"
COMMENTS: Final = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { comments(first: 100, after: $after) {
    nodes { id databaseId body isMinimized viewerDidAuthor author { login __typename } }
    pageInfo { hasNextPage endCursor }
  } } }
}
"""
HIDE: Final = """
mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }
"""
REVEAL: Final = "mutation($id: ID!) { unminimizeComment(input: {subjectId: $id}) { unminimizedComment { isMinimized } } }"


def talk(api: str, token: str, clock: BlockingClock) -> Talk:
    """Requests with this token."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return Talk("GitHub", api, headers, token=token, clock=clock)


class GitHub:
    """The comments of a pull request."""

    name, dialect = "GitHub", DIALECT

    def __init__(
        self, api: str, graphql: str, repository: str, number: int, *, token: str, clock: BlockingClock, run: Run = (0, 0)
    ) -> None:
        self._talk = talk(api, token, clock)
        self._graphql = graphql
        self._owner, _, self._name = repository.partition("/")
        self._number, self._nodes = number, dict[int, str]()
        self._at, self._runs, self._run = f"/repos/{repository}/issues", f"/repos/{repository}/actions/runs", run
        self.turns = self

    @understood
    def comments(self) -> Sequence[OurComment]:
        """All of our comments, among at most 10,000 comments of everybody."""
        own: list[OurComment] = []
        after = None
        for _ in range(100):
            variables = {"owner": self._owner, "name": self._name, "number": self._number, "after": after}
            data = self._asked(COMMENTS, variables, reading=True)
            viewer = str((data.get("viewer") or {}).get("login"))
            listed = ((data.get("repository") or {}).get("pullRequest") or {}).get("comments")
            if listed is None:
                raise ForgeError(f"GitHub does not show pull request {self._number} of {self._owner}/{self._name}", id="RC-forge-not-found")
            for node in filter(None, listed["nodes"]):
                if _is_own(node, viewer):
                    self._nodes[node["databaseId"]] = node["id"]
                    own.append(OurComment(node["databaseId"], node["body"], bool(node["isMinimized"])))
            if not listed["pageInfo"]["hasNextPage"]:
                return own
            after = listed["pageInfo"]["endCursor"]
        raise ForgeError(f"pull request {self._number} has more comments than can be read", id="RC-too-many-comments")

    def _asked(self, query: str, variables: dict[str, Any], *, reading: bool) -> dict[str, Any]:
        ask = self._talk.read if reading else self._talk.write
        data = ask("POST", self._graphql, data={"query": query, "variables": variables}).data
        if isinstance(data, dict) and data.get("errors"):
            says = self._talk.says(message(data))
            # GraphQL has no 403: what the token may not do is an error in a 200.
            if "not accessible" in says:
                raise NotAllowed(f"GitHub answered: {says}", id="RC-forge-not-permitted")
            raise ForgeError(f"GitHub answered: {says}", id="RC-forge-refused")
        result = data.get("data") if isinstance(data, dict) else None
        if not isinstance(result, dict):
            raise ForgeError("GitHub answered with something that is not a result of GraphQL", id="RC-forge-response")
        return result

    @understood
    def has_run(self, run: Run) -> bool | None:
        """Whether it is a run of the same workflow for the same branch as the job's own, and has so many attempts."""
        try:
            own, other = self._workflow_run(self._run[0]), self._workflow_run(run[0])
        except NotAllowed:
            return None
        return own is not None and other is not None and other[:-1] == own[:-1] and run[1] <= other[-1]

    def _workflow_run(self, number: int) -> tuple[Any, ...] | None:
        """The workflow, the repository and the branch of a run, and its attempts; None if it does not exist."""
        reply = self._talk.read("GET", f"{self._runs}/{number}", accepted=OK | {404})
        if reply.status == 404:
            return None
        data = reply.data
        return data["workflow_id"], (data.get("head_repository") or {}).get("id"), data["head_branch"], int(data["run_attempt"])

    @understood
    def create(self, body: str) -> int:
        """A new comment; its id."""
        comment = self._talk.write("POST", f"{self._at}/{self._number}/comments", data={"body": body}).data
        self._nodes[comment["id"]] = comment["node_id"]
        return int(comment["id"])

    def update(self, id: int, body: str) -> None:
        """Replace the text of a comment."""
        self._talk.write("PATCH", f"{self._at}/comments/{id}", data={"body": body}, accepted=OK | {404})

    def delete(self, id: int) -> None:
        """Delete a comment; succeeds if it does not exist."""
        self._talk.write("DELETE", f"{self._at}/comments/{id}", accepted=OK | {404})

    def hide(self, id: int, hidden: bool) -> None:
        """Minimise a comment as outdated, or show it again."""
        self._asked(HIDE if hidden else REVEAL, {"id": self._nodes[id]}, reading=False)

    @understood
    def take(self) -> int | Busy | None:
        """React to the pull request."""
        reply = self._talk.write(
            "POST", f"{self._at}/{self._number}/reactions", data={"content": REACTION}, accepted=OK | {403, 404, 410, 422}
        )
        if reply.status not in OK or not isinstance(reply.data, dict):
            return None
        if reply.status == 201:
            return int(reply.data["id"])
        return Busy(reply.data["id"], reply.age(reply.data.get("created_at")))

    def free(self, id: int) -> None:
        """Remove the reaction."""
        self._talk.write("DELETE", f"{self._at}/{self._number}/reactions/{id}", accepted=OK | {404})


def _is_own(node: dict[str, Any], viewer: str) -> bool:
    if node.get("viewerDidAuthor"):
        return True
    # In GraphQL the login of an app has no `[bot]`. A person can have the same name, so the type must agree.
    author = node.get("author") or {}
    bot = viewer.endswith("[bot]")
    return author.get("login") == viewer.removesuffix("[bot]") and (author.get("__typename") == "Bot") is bot
