"""GitLab: notes of merge requests.

Only notes of the token's own user are read. A turn is the user's emoji 👀 on the merge request, of which a user has one; if two jobs get it
at once, the one with the lower id counts. Notes cannot be minimised: one without changes is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from reconciler.features.forges.comment.part import Dialect, Run
from reconciler.features.forges.comment.upkeep import OurComment
from reconciler.features.forges.port import BlockingClock, Busy, ForgeError, NotAllowed, understood
from reconciler.features.forges.talk import OK, Talk

DIALECT: Final = Dialect(999_900)  # GitLab refuses more than 1,000,000 characters
EMOJI: Final = "eyes"


def talk(api: str, token: str, clock: BlockingClock) -> Talk:
    """Requests with this token."""
    return Talk("GitLab", api, {"PRIVATE-TOKEN": token}, token=token, clock=clock)


class GitLab:
    """The notes of a merge request."""

    name, dialect, hide = "GitLab", DIALECT, None

    def __init__(self, api: str, project: str, number: int, *, token: str, clock: BlockingClock, run: Run = (0, 0)) -> None:
        self._talk = talk(api, token, clock)
        self._at = f"/projects/{quote(project, safe='')}/merge_requests/{number}"
        self._jobs, self._run = f"/projects/{quote(project, safe='')}/jobs", run
        self.turns = self

    @understood
    def comments(self) -> Sequence[OurComment]:
        """All of our notes, among at most 10,000 notes of everybody."""
        user = self._user
        items = self._listed("notes", {"sort": "asc", "order_by": "created_at"})
        return [OurComment(note["id"], note["body"]) for note in items if note["author"]["id"] == user and not note.get("system")]

    @cached_property
    def _user(self) -> int:
        return int(self._talk.read("GET", "/user").data["id"])

    def _listed(self, what: str, query: dict[str, str]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        page = "1"
        for _ in range(100):
            reply = self._talk.read("GET", f"{self._at}/{what}", query={**query, "per_page": "100", "page": page})
            items += reply.data
            page = reply.headers.get("x-next-page", "")
            if not page.isdecimal():
                return items
        raise ForgeError("the merge request has more notes than can be read", id="RC-too-many-comments")

    @understood
    def has_run(self, run: Run) -> bool | None:
        """Whether it is a job with the name of this one, in that pipeline, for the same ref: the second number of a run is its job."""
        try:
            own, other = self._job(self._run[1]), self._job(run[1])
        except NotAllowed:
            return None
        return own is not None and other is not None and other[:-1] == own[:-1] and run[0] == other[-1]

    def _job(self, number: int) -> tuple[Any, ...] | None:
        """The name and the ref of a job, and its pipeline; None if it does not exist."""
        reply = self._talk.read("GET", f"{self._jobs}/{number}", accepted=OK | {404})
        return (reply.data["name"], _request_of(reply.data["ref"]), int(reply.data["pipeline"]["id"])) if reply.status != 404 else None

    @understood
    def create(self, body: str) -> int:
        """A new note; its id."""
        return int(self._talk.write("POST", f"{self._at}/notes", data={"body": body}).data["id"])

    def update(self, id: int, body: str) -> None:
        """Replace the text of a note."""
        self._talk.write("PUT", f"{self._at}/notes/{id}", data={"body": body}, accepted=OK | {404})

    def delete(self, id: int) -> None:
        """Delete a note; succeeds if it does not exist."""
        self._talk.write("DELETE", f"{self._at}/notes/{id}", accepted=OK | {404})

    @understood
    def take(self) -> int | Busy | None:
        """Add an emoji to the merge request."""
        user = self._user
        reply = self._talk.write("POST", f"{self._at}/award_emoji", data={"name": EMOJI}, accepted=OK | {400, 403, 404, 409, 422})
        if reply.status == 403:
            return None
        # Two requests at once can both succeed, so the list decides: the lowest id has the turn, and the other one removes its own.
        own = [item for item in self._listed("award_emoji", {}) if item["name"] == EMOJI and item["user"]["id"] == user]
        first = min(own, key=lambda item: int(item["id"]), default=None)
        if first is None:
            return Busy(0, 0.0) if reply.status in OK or reply.status == 404 else None
        if reply.status in OK and reply.data["id"] == first["id"]:
            return int(first["id"])
        if reply.status in OK:
            self.free(reply.data["id"])
        return Busy(first["id"], reply.age(first.get("created_at")))

    def free(self, id: int) -> None:
        """Remove the emoji."""
        self._talk.write("DELETE", f"{self._at}/award_emoji/{id}", accepted=OK | {403, 404})


def _request_of(ref: str) -> str:
    """The merge request of a ref, whose pipelines are for its branch (`head`) or for what it would be merged to (`merge`)."""
    return ref.rpartition("/")[0] if ref.startswith("refs/merge-requests/") else ref
