"""GitLab: notes of merge requests, emoji reactions, rate limits.

Sources: docs.gitlab.com/api/notes, /api/emoji_reactions, /api/users, /api/rest (pagination), and the documentation of its rate limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from tests.forges.server import Answer, Forge, Sent, User, now, page

LONGEST: Final = 1_000_000  # characters of a note
_FENCE: Final = re.compile(r"^(`{3,}|~{3,})[^`]*$")
_ACTION: Final = re.compile(r"/([a-z_]+)\b.*")


@dataclass
class Note:
    id: int
    author: User
    body: str
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    system: bool = False


@dataclass
class Merge:
    project: int
    path: str
    iid: int
    notes: list[Note] = field(default_factory=list)
    awards: list[dict[str, Any]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)  # quick actions that a note has carried out, such as /close


class GitLab(Forge):
    """One instance of GitLab."""

    def __init__(self) -> None:
        super().__init__()
        self.merges: dict[tuple[int, int], Merge] = {}
        at = "/api/v4/projects/{project}/merge_requests/{iid}"
        self.route("GET", "/api/v4/user", lambda user, sent: Answer(200, _user(user)))
        self.route("GET", f"{at}/notes", self._list)
        self.route("POST", f"{at}/notes", self._create)
        self.route("GET", f"{at}/notes/{{note}}", self._get)
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

    def merge(self, project: int = 12, path: str = "acme/handbook", iid: int = 7) -> Merge:
        """A merge request."""
        return self.merges.setdefault((project, iid), Merge(project, path, iid))

    def says(self, merge: Merge, login: str, body: str) -> Note:
        """A note that somebody wrote."""
        author = next((user for user in self.users.values() if user.login == login), None) or User(self.new_id(), login)
        with self.lock:
            merge.notes.append(Note(self.new_id(), author, body))
            return merge.notes[-1]

    def ran(self, run: tuple[int, int], *, job: str = "plan", branch: str = "7") -> None:
        """A job in a pipeline of a merge request; the second number is that of the job."""
        ref = f"refs/merge-requests/{branch}/{'head' if run[0] % 2 else 'merge'}"
        self.jobs[run[1]] = {"id": run[1], "name": f"reconciler-{job}", "ref": ref, "pipeline": {"id": run[0], "ref": ref}}

    def _job(self, user: User, sent: Sent, project: str, job: str) -> Answer:
        if not self.shows_runs:
            return _forbidden()
        known = self.jobs.get(int(job))
        return _unknown("Job") if known is None else Answer(200, known)

    def bodies(self, merge: Merge) -> list[str]:
        return [note.body for note in merge.notes if not note.system]

    # -- the service -------------------------------------------------------------------------------------------------------------------

    def user(self, sent: Sent) -> User | Answer:
        bearer = sent.headers.get("authorization", "").removeprefix("Bearer ")
        user = self.users.get(sent.headers.get("private-token") or bearer)
        return user or Answer(401, {"message": "401 Unauthorized"})

    def missing(self) -> Answer:
        return Answer(404, {"error": "404 Not Found"})

    def headers(self, sent: Sent) -> dict[str, str]:
        return {"Server": "nginx", "X-Request-Id": "01JC", "X-Gitlab-Meta": '{"correlation_id":"01JC","version":"1"}', "Vary": "Origin"}

    def _merge(self, user: User, project: str, iid: str) -> Merge | None:
        for (known, number), merge in self.merges.items():
            if project in (str(known), merge.path) and str(number) == iid and user.reads:
                return merge
        return None

    def _list(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        merge = self._merge(user, project, iid)
        if merge is None:
            return _unknown("Project")
        notes = sorted(merge.notes, key=lambda note: note.id, reverse=sent.query.get("sort", "desc") == "desc")
        size, at = min(100, int(sent.query.get("per_page", 20))), int(sent.query.get("page", 1))
        shown, pages = page(notes, at, size)
        base = f"{self.url}{sent.path}?per_page={size}&page="
        links = [(at + 1, "next")] * (at < pages) + [(1, "first"), (pages, "last")]
        headers = {
            "X-Page": str(at), "X-Per-Page": str(size), "X-Total": str(len(notes)), "X-Total-Pages": str(pages),
            "X-Next-Page": str(at + 1) if at < pages else "", "X-Prev-Page": str(at - 1) if at > 1 else "",
            "Link": ", ".join(f'<{base}{to}>; rel="{word}"' for to, word in links),
        }  # fmt: skip
        return Answer(200, [_note(merge, note) for note in shown], headers)

    def _create(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        merge = self._merge(user, project, iid)
        if merge is None:
            return _unknown("Project")
        refusal = _writes(user) or _wrong(sent.data)
        if refusal is not None:
            return refusal
        merge.actions += quick_actions(sent.data["body"])
        merge.notes.append(Note(self.new_id(), user, sent.data["body"]))
        return Answer(201, _note(merge, merge.notes[-1]))

    def _known(self, user: User, project: str, iid: str, note: str) -> tuple[Merge, Note] | Answer:
        merge = self._merge(user, project, iid)
        known = [one for one in merge.notes if str(one.id) == note] if merge is not None else []
        return (merge, known[0]) if merge is not None and known else _unknown("Note")

    def _get(self, user: User, sent: Sent, project: str, iid: str, note: str) -> Answer:
        known = self._known(user, project, iid, note)
        return known if isinstance(known, Answer) else Answer(200, _note(*known))

    def _update(self, user: User, sent: Sent, project: str, iid: str, note: str) -> Answer:
        known = self._known(user, project, iid, note)
        if isinstance(known, Answer):
            return known
        refusal = _writes(user) or (None if known[1].author.id == user.id else _forbidden()) or _wrong(sent.data)
        if refusal is not None:
            return refusal
        known[0].actions += quick_actions(sent.data["body"])
        known[1].body, known[1].updated_at = sent.data["body"], now()
        return Answer(200, _note(*known))

    def _delete(self, user: User, sent: Sent, project: str, iid: str, note: str) -> Answer:
        known = self._known(user, project, iid, note)
        if isinstance(known, Answer):
            return known
        refusal = _writes(user) or (None if known[1].author.id == user.id else _forbidden())
        if refusal is None:
            known[0].notes.remove(known[1])
        return refusal or Answer(204)

    def _awards(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        merge = self._merge(user, project, iid)
        return _unknown("Merge Request") if merge is None else Answer(200, merge.awards, {"X-Next-Page": ""})

    def _award(self, user: User, sent: Sent, project: str, iid: str) -> Answer:
        merge = self._merge(user, project, iid)
        if merge is None:
            return _unknown("Merge Request")
        if refusal := _writes(user):
            return refusal
        name = sent.data.get("name") or sent.query.get("name")
        if any(known["name"] == name and known["user"]["id"] == user.id for known in merge.awards):
            return Answer(404, {"message": "404 Award Emoji Name has already been taken Not Found"})
        about = {"awardable_id": merge.iid, "awardable_type": "MergeRequest"}
        merge.awards.append({"id": self.new_id(), "name": name, "user": _user(user), "created_at": now(), "updated_at": now(), **about})
        return Answer(201, merge.awards[-1])

    def _take(self, user: User, sent: Sent, project: str, iid: str, award: str) -> Answer:
        merge = self._merge(user, project, iid)
        for known in list(merge.awards) if merge is not None else []:
            if str(known["id"]) == award and merge is not None:
                if known["user"]["id"] != user.id:
                    return _forbidden()
                merge.awards.remove(known)
                return Answer(204)
        return _unknown("Award Emoji")


def quick_actions(body: str) -> list[str]:
    """Lines outside of code that GitLab carries out instead of showing them."""
    found, fence = [], ""
    for line in body.splitlines():
        mark = _FENCE.fullmatch(line)
        if fence:
            fence = "" if mark and line.startswith(fence) and not line.strip("`~") else fence
        elif mark:
            fence = mark[1]
        elif match := _ACTION.fullmatch(line):
            found.append(match[1])
    return found


def _note(merge: Merge, note: Note) -> dict[str, Any]:
    return {
        "id": note.id, "type": None, "body": note.body, "author": _user(note.author), "created_at": note.created_at,
        "updated_at": note.updated_at, "system": note.system, "noteable_id": 1, "noteable_type": "MergeRequest",
        "project_id": merge.project, "noteable_iid": merge.iid, "resolvable": False, "confidential": False, "internal": False,
        "imported": False, "imported_from": "none", "commands_changes": {},
    }  # fmt: skip


def _user(user: User) -> dict[str, Any]:
    return {"id": user.id, "username": user.login, "name": user.login, "state": "active", "bot": user.bot}


def _unknown(what: str) -> Answer:
    return Answer(404, {"message": f"404 {what} Not Found"})


def _forbidden() -> Answer:
    return Answer(403, {"message": "403 Forbidden"})


def _writes(user: User) -> Answer | None:
    return None if user.writes else _forbidden()


def _wrong(data: Any) -> Answer | None:
    body = data.get("body") if isinstance(data, dict) else None
    if not isinstance(body, str) or not body:
        return Answer(400, {"error": "body is missing"})
    if len(body) > LONGEST:
        return Answer(400, {"message": f'400 Bad request - Note {{:note=>["is too long (maximum is {LONGEST} characters)"]}}'})
    return None
