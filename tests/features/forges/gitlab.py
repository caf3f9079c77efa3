"""GitLab: notes of merge requests, emoji reactions, rate limits.

Sources: docs.gitlab.com/api/notes, /api/emoji_reactions, /api/users, /api/rest (pagination), and the documentation of its rate limits.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tests.features.forges.server import Answer, Comment, Forge, Pull, Refused, Sent, User, now, page

LONGEST: Final = 1_000_000  # characters of a note
_FENCE: Final = re.compile(r"^(`{3,}|~{3,})[^`]*$")
_ACTION: Final = re.compile(r"/([a-z_]+)\b.*")


class GitLab(Forge):
    """One instance of GitLab."""

    def __init__(self) -> None:
        super().__init__()
        at = "/api/v4/projects/{project}/merge_requests/{iid}"
        self.route("GET", "/api/v4/user", lambda user, sent: Answer(200, _user(user)))
        self.route("GET", f"{at}/notes", self._list)
        self.route("POST", f"{at}/notes", self._create)
        self.route("PUT", f"{at}/notes/{{note}}", self._update)
        self.route("DELETE", f"{at}/notes/{{note}}", self._delete)
        self.route("GET", f"{at}/award_emoji", self._awards)
        self.route("POST", f"{at}/award_emoji", self._award)
        self.route("DELETE", f"{at}/award_emoji/{{award}}", self._take)
        self.route("GET", "/api/v4/projects/{project}/jobs/{job}", self._job)
        self.jobs: dict[int, dict[str, Any]] = {}
        self.shows_runs = True

    # -- to be used by tests -----------------------------------------------------------------------------------------------------------

    @property
    def api(self) -> str:
        """`CI_API_V4_URL`."""
        return f"{self.url}/api/v4"

    def token(self, *, writes: bool = True) -> str:
        """A project access token: that of a bot."""
        bot = User(77 if writes else 78, "project_12_bot_1f", bot=True, writes=writes)
        return self.add(f"glpat-canary{'Writes' if writes else 'Reads'}00000000", bot)

    def person(self, login: str, *, writes: bool = True) -> str:
        """The personal token of somebody."""
        return self.add(f"glpat-{login}0000000000000000", User(self.new_id(), login, writes=writes))

    def ran(self, run: tuple[int, int], *, job: str = "plan", branch: str = "7") -> None:
        """A job in a pipeline of a merge request; the second number is that of the job."""
        ref = f"refs/merge-requests/{branch}/{'head' if run[0] % 2 else 'merge'}"
        self.jobs[run[1]] = {"id": run[1], "name": f"reconciler-{job}", "ref": ref, "pipeline": {"id": run[0], "ref": ref}}

    def _job(self, user: User, sent: Sent, project: str, job: str) -> Answer:
        if not self.shows_runs:
            return _forbidden()
        known = self.jobs.get(int(job))
        return _unknown("Job") if known is None else Answer(200, known)

    def bodies(self, pull: Pull) -> list[str]:
        return [note.body for note in pull.comments]

    # -- the service -------------------------------------------------------------------------------------------------------------------

    def user(self, sent: Sent) -> User:
        token = sent.headers.get("private-token") or sent.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.users:
            raise Refused(Answer(401, {"message": "401 Unauthorized"}))
        return self.users[token]

    def missing(self) -> Answer:
        return Answer(404, {"error": "404 Not Found"})

    def headers(self, sent: Sent) -> dict[str, str]:
        return {"Server": "nginx", "X-Request-Id": "01JC", "X-Gitlab-Meta": '{"correlation_id":"01JC","version":"1"}', "Vary": "Origin"}

    def _pull(self, user: User, project: str, iid: str, what: str = "Project") -> Pull:
        for pull in self.pulls.values():
            if project in (str(pull.project), pull.repository) and str(pull.number) == iid and user.reads:
                return pull
        raise Refused(_unknown(what))

    def _list(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        pull = self._pull(user, project, iid)
        notes = sorted(pull.comments, key=lambda note: note.id, reverse=sent.query.get("sort", "desc") == "desc")
        size, at = min(100, int(sent.query.get("per_page", 20))), int(sent.query.get("page", 1))
        shown, pages = page(notes, at, size)
        base = f"{self.url}{sent.path}?per_page={size}&page="
        links = [(at + 1, "next")] * (at < pages) + [(1, "first"), (pages, "last")]
        headers = {
            "X-Page": str(at), "X-Per-Page": str(size), "X-Total": str(len(notes)), "X-Total-Pages": str(pages),
            "X-Next-Page": str(at + 1) if at < pages else "", "X-Prev-Page": str(at - 1) if at > 1 else "",
            "Link": ", ".join(f'<{base}{to}>; rel="{word}"' for to, word in links),
        }  # fmt: skip
        return Answer(200, [_note(pull, note) for note in shown], headers)

    def _create(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        pull = self._pull(user, project, iid)
        pull.comments.append(Comment(self.new_id(), user, _written(user, sent.data)))
        pull.actions += quick_actions(sent.data["body"])
        return Answer(201, _note(pull, pull.comments[-1]))

    def _own(self, user: User, project: str, iid: str, note: str) -> tuple[Pull, Comment]:
        """A note that its author wants to change."""
        pull = self._pull(user, project, iid, "Note")
        known = next((comment for comment in pull.comments if str(comment.id) == note), None)
        if known is None:
            raise Refused(_unknown("Note"))
        if not user.writes or known.author.id != user.id:
            raise Refused(_forbidden())
        return pull, known

    def _update(self, user: User, sent: Sent, project: str, iid: str, note: str) -> Answer:
        pull, known = self._own(user, project, iid, note)
        known.body, known.updated = _written(user, sent.data), now()
        pull.actions += quick_actions(known.body)
        return Answer(200, _note(pull, known))

    def _delete(self, user: User, sent: Sent, project: str, iid: str, note: str) -> Answer:
        pull, known = self._own(user, project, iid, note)
        pull.comments.remove(known)
        return Answer(204)

    def _awards(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        return Answer(200, self._pull(user, project, iid, "Merge Request").reactions, {"X-Next-Page": ""})

    def _award(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        pull = self._pull(user, project, iid, "Merge Request")
        _check_writes(user)
        name = sent.data.get("name") or sent.query.get("name")
        if any(known["name"] == name and known["user"]["id"] == user.id for known in pull.reactions):
            return Answer(404, {"message": "404 Award Emoji Name has already been taken Not Found"})
        about = {"awardable_id": pull.number, "awardable_type": "MergeRequest"}
        pull.reactions.append({"id": self.new_id(), "name": name, "user": _user(user), "created_at": now(), "updated_at": now(), **about})
        return Answer(201, pull.reactions[-1])

    def _take(self, user: User, sent: Sent, project: str, iid: str, award: str) -> Answer:
        pull = self._pull(user, project, iid, "Award Emoji")
        for known in list(pull.reactions):
            if str(known["id"]) == award:
                if known["user"]["id"] != user.id:
                    return _forbidden()
                pull.reactions.remove(known)
                return Answer(204)
        return _unknown("Award Emoji")


def quick_actions(body: str) -> list[str]:
    """Lines outside of code that GitLab carries out instead of showing them."""
    actions, fence = [], ""
    for line in body.splitlines():
        mark = _FENCE.fullmatch(line)
        if fence:
            fence = "" if mark and line.startswith(fence) and not line.strip("`~") else fence
        elif mark:
            fence = mark[1]
        elif match := _ACTION.fullmatch(line):
            actions.append(match[1])
    return actions


def _note(pull: Pull, note: Comment) -> dict[str, Any]:
    return {
        "id": note.id, "type": None, "body": note.body, "author": _user(note.author), "created_at": note.created,
        "updated_at": note.updated, "system": False, "noteable_id": 1, "noteable_type": "MergeRequest",
        "project_id": pull.project, "noteable_iid": pull.number, "resolvable": False, "confidential": False, "internal": False,
        "imported": False, "imported_from": "none", "commands_changes": {},
    }  # fmt: skip


def _user(user: User) -> dict[str, Any]:
    return {"id": user.id, "username": user.login, "name": user.login, "state": "active", "bot": user.bot}


def _unknown(what: str) -> Answer:
    return Answer(404, {"message": f"404 {what} Not Found"})


def _forbidden() -> Answer:
    return Answer(403, {"message": "403 Forbidden"})


def _check_writes(user: User) -> None:
    if not user.writes:
        raise Refused(_forbidden())


def _written(user: User, data: Any) -> str:
    """The text of a note that somebody may write."""
    _check_writes(user)
    body = data.get("body") if isinstance(data, dict) else None
    if not isinstance(body, str) or not body:
        raise Refused(Answer(400, {"error": "body is missing"}))
    if len(body) > LONGEST:
        says = f'400 Bad request - Note {{:note=>["is too long (maximum is {LONGEST} characters)"]}}'
        raise Refused(Answer(400, {"message": says}))
    return body
