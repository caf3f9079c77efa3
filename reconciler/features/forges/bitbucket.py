"""Bitbucket Cloud: comments of pull requests, in a markdown without HTML.

Only comments of the token's own user are read. A repository access token may not read its own user: then comments of app users count, which
only administrators of the repository create. Turns are not supported, and general comments cannot be resolved.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from reconciler.features.forges.comment.part import Dialect, Run
from reconciler.features.forges.comment.upkeep import OurComment
from reconciler.features.forges.port import BlockingClock, ForgeError, NotAllowed, understood
from reconciler.features.forges.talk import OK, Talk

DIALECT: Final = Dialect(32_700, html=False)  # Bitbucket refuses 32,768 characters and more
APP: Final = "app_user"


def talk(api: str, token: str, clock: BlockingClock) -> Talk:
    """Requests with this token: a repository access token, or USER:PASSWORD."""
    basic = f"Basic {b64encode(token.encode()).decode()}" if ":" in token else f"Bearer {token}"
    return Talk("Bitbucket", api, {"Authorization": basic}, token=token, clock=clock)


class Bitbucket:
    """The comments of a pull request."""

    name, dialect, hide, turns = "Bitbucket", DIALECT, None, None

    def __init__(self, api: str, repository: str, number: int, *, token: str, clock: BlockingClock, run: Run = (0, 0)) -> None:
        self._talk = talk(api, token, clock)
        self._at = f"/repositories/{repository}/pullrequests/{number}/comments"
        self._pipelines, self._number, self._run = f"/repositories/{repository}/pipelines", number, run

    @understood
    def comments(self) -> Sequence[OurComment]:
        """All of our comments, among at most 10,000 comments of everybody."""
        own: list[OurComment] = []
        path = f"{self._at}?pagelen=100"
        for _ in range(100):
            page = self._talk.read("GET", path).data
            own += [
                OurComment(item["id"], item["content"]["raw"])
                for item in page["values"]
                if not item.get("deleted") and _is_own(item.get("user") or {}, self._user)
            ]
            if not page.get("next"):
                return own
            path = page["next"]
        raise ForgeError("the pull request has more comments than can be read", id="RC-too-many-comments")

    @cached_property
    def _user(self) -> str:
        """The id of the token's user; "" if the token may not read it."""
        try:
            return str(self._talk.read("GET", "/user").data["uuid"])
        except NotAllowed:
            return ""

    @understood
    def has_run(self, run: Run) -> bool | None:
        """Whether a pipeline of this pull request has that number. Which attempts there were is not known, so none of the job's own."""
        # A step of the same pipeline may have run again, and only this job's own attempt is known.
        if run[0] == self._run[0]:
            return None
        try:
            reply = self._talk.read("GET", f"{self._pipelines}/{run[0]}", accepted=OK | {404})
        except NotAllowed:
            return None
        target = reply.data.get("target") or {} if reply.status != 404 else {}
        return (target.get("pullrequest") or {}).get("id") == self._number

    @understood
    def create(self, body: str) -> int:
        """A new comment; its id."""
        return int(self._talk.write("POST", self._at, data={"content": {"raw": body}}).data["id"])

    def update(self, id: int, body: str) -> None:
        """Replace the text of a comment."""
        self._talk.write("PUT", f"{self._at}/{id}", data={"content": {"raw": body}}, accepted=OK | {404})

    def delete(self, id: int) -> None:
        """Delete a comment; succeeds if it does not exist."""
        self._talk.write("DELETE", f"{self._at}/{id}", accepted=OK | {404})


def _is_own(author: dict[str, Any], user: str) -> bool:
    return author.get("uuid") == user if user else author.get("type") == APP
