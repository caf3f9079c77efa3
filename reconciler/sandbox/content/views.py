"""Revisions, pages, files, change requests and comments as the service shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from reconciler.sandbox.content import revisions
from reconciler.sandbox.organization.accounts import account
from reconciler.sandbox.service import RANKS, Caller
from reconciler.sandbox.sites.structure import PATHLESS, slug
from reconciler.sandbox.store import Object

LAYOUT = {
    "width": "default",
    "cover": True,
    "coverSize": "hero",
    "title": True,
    "description": True,
    "tableOfContents": True,
    "outline": True,
    "pagination": True,
    "metadata": True,
}
EXPRESSION = re.compile(r'<code class="expression">\s*(page|space|visitor)\.([\w.-]+)\s*</code>')


@dataclass(frozen=True)
class Flags:
    """`git`: with the metadata of Git; `computed`: with what is computed."""

    git: bool = True
    computed: bool = True


def person(caller: Caller, organization: str, user: str) -> Object:
    """A user, also one who left."""
    store, base = caller.store, caller.service.base
    member = store.find("member", f"{organization}:{user}") or account(store, user) or {"displayName": user, "email": ""}
    shown = {"id": user, "displayName": member["displayName"], "email": member["email"]}
    return {"object": "user", **shown, "photoURL": f"{base}/photos/{user}", "urls": {"location": f"{base}/v1/users/{user}"}}


class ContentView:
    """Builds answers about one content of a space."""

    def __init__(self, caller: Caller, space: Object, revision: Object, flags: Flags) -> None:
        self.caller, self.space, self.kept, self.flags = caller, space, revision, flags
        self.app = f"{caller.service.base}/app/s/{space['id']}"

    def revision(self) -> Object:
        shown = {name: value for name, value in self.kept.items() if not name.startswith("_")}
        answer = {
            "object": "revision",
            **self._seen(shown),
            "pages": self.pages(),
            "files": [self.file(item) for item in self.kept["_files"]],
        }
        request = self.caller.store.find(revisions.REQUEST, self.kept["_request"]) if self.kept.get("_request") else None
        if request is not None:
            answer["mergedFrom"] = RequestView(self.caller, self.space).request(request)
        return {**answer, "reusableContents": [], "variables": self._variables(), "urls": {"app": f"{self.app}/~/revisions/{answer['id']}"}}

    def pages(self) -> list[Object]:
        return [self.page(item) for item in self.kept["_pages"]]

    def page(self, page: Object) -> Object:
        """A page with those below it."""
        title = page["title"] if isinstance(page.get("title"), str) else "Untitled"
        own = page["slug"] if isinstance(page.get("slug"), str) else slug(title)
        path = page["path"] if isinstance(page.get("path"), str) else own
        answer = {**self._seen(page), "title": title}
        if page.get("type") in PATHLESS:
            return {**answer, "urls": {"app": self.app}}
        answer |= {"slug": own, "path": path, "urls": {"app": f"{self.app}/{quote(path)}"}}
        answer["layout"] = LAYOUT | (page["layout"] if isinstance(page.get("layout"), dict) else {})
        if isinstance(page.get("computed"), dict):
            answer.pop("computedSeed", None)
            if self.flags.computed:
                answer |= {"computedSeed": self.kept["id"], "markdown": self._computed(page)}
        answer["pages"] = [self.page(item) for item in page.get("pages") or []]
        return answer

    def file(self, file: Object) -> Object:
        name = file["name"] if isinstance(file.get("name"), str) else str(file["id"])
        url = f"{self.caller.service.base}/files/{self.space['id']}/{quote(str(file['id']))}"
        return {"contentType": "application/octet-stream", "downloadURL": url, "size": 0, **self._seen(file), "name": name}

    def evaluated(self, page: Object, evaluate: str) -> Object:
        """A page that was asked for alone: its text, with the values of expressions where that is wanted."""
        answer = self.page(page)
        text = answer.get("markdown")
        answer["markdown"] = text if isinstance(text, str) else ""
        if evaluate == "false":
            return answer
        known = {"page": page.get("variables"), "space": self._variables()}

        def value(match: re.Match[str]) -> str:
            scope, name = match.groups()
            if scope == "visitor":
                return "" if evaluate == "true" else match[0]
            variables = known[scope]
            return str(variables.get(name.removeprefix("vars."), "")) if isinstance(variables, dict) else ""

        answer["markdown"] = EXPRESSION.sub(value, answer["markdown"])
        return answer

    def _seen(self, data: Object) -> Object:
        return data if self.flags.git else {name: value for name, value in data.items() if name != "git"}

    def _variables(self) -> Object:
        variables = self.space.get("_variables")
        return variables if isinstance(variables, dict) else {}

    def _computed(self, page: Object) -> str:
        """The text of a computed page: the text it has, then the specification it is made from."""
        parts = [page["markdown"]] if isinstance(page.get("markdown"), str) and page["markdown"] else []
        dependencies = page["computed"].get("dependencies")
        if not isinstance(dependencies, dict):
            return "".join(parts)
        for item in dependencies.values():
            ref = item.get("ref") if isinstance(item, dict) else None
            id = ref.get("spec") if isinstance(ref, dict) else None
            spec = self.caller.store.find("openapi", id) if isinstance(id, str) else None
            if spec is not None and spec["organization"] == self.space["organization"]:
                parts.append(f"# {spec['slug']}\n\n{spec.get('sourceURL', '')}")
        return "\n\n".join(parts)


class RequestView:
    """Builds answers about change requests; looks a space up once."""

    def __init__(self, caller: Caller, *spaces: Object) -> None:
        self.caller, self.spaces = caller, {item["id"]: item for item in spaces}

    def request(self, data: Object) -> Object:
        id, space, base = data["id"], self.spaces[data["space"]], self.caller.service.base
        shown = {name: value for name, value in data.items() if not name.startswith("_")}
        by = person(self.caller, space["organization"], data["_by"])
        urls = {
            "app": f"{base}/app/s/{space['id']}/~/changes/{data['number']}",
            "location": f"{base}/v1/spaces/{space['id']}/change-requests/{id}",
        }
        return {"object": "change-request", **shown, "createdBy": by, "outdated": revisions.outdated(data, space), "urls": urls}


class CommentView:
    """Builds answers about comments of one space; `base`: the address of the family."""

    def __init__(self, caller: Caller, organization: str, base: str) -> None:
        self.caller, self.organization, self.base = caller, organization, base
        self.user, self.rank = caller.member(organization)["id"], caller.rank(organization)
        self._people: dict[str, Object] = {}

    def owns(self, data: Object) -> bool:
        """Whether the caller may edit and delete it: those who may comment their own, and admins all."""
        return self.rank >= RANKS.index("comment" if data["_by"] == self.user else "admin")

    def comment(self, data: Object) -> Object:
        replies = self.caller.store.select(revisions.REPLY, container=revisions.replies_to(data["id"]))
        repliers: dict[str, Any] = {}
        for item in replies:
            by = repliers.setdefault(item["_by"], {"updatedAt": "", "count": 0, "user": self._person(item["_by"])})
            by |= {"updatedAt": max(by["updatedAt"], item.get("editedAt", item["postedAt"])), "count": by["count"] + 1}
        answer = {**self._shown("comment", data), "replies": len(replies), "repliers": list(repliers.values())}
        if data.get("_resolvedBy"):
            answer["resolvedBy"] = self._person(data["_resolvedBy"])
        return {**answer, "urls": {"location": f"{self.base}/comments/{data['id']}"}}

    def reply(self, data: Object) -> Object:
        location = f"{self.base}/comments/{data['_comment']}/replies/{data['id']}"
        return {**self._shown("comment-reply", data), "urls": {"location": location}}

    def _shown(self, object: str, data: Object) -> Object:
        own, may = self.owns(data), self.rank >= RANKS.index("comment")
        kept = {name: value for name, value in data.items() if not name.startswith("_")}
        return {
            "object": object,
            **kept,
            "postedBy": self._person(data["_by"]),
            "reactions": self._reactions(data),
            "permissions": {"view": True, "edit": own, "reply": may, "delete": own},
        }

    def _reactions(self, data: Object) -> list[Object]:
        by_emoji: dict[str, list[Object]] = {}
        for item in data["_reactions"]:
            by_emoji.setdefault(item["emoji"], []).append({"user": self._person(item["user"]), "reactedAt": item["at"]})
        return [{"emoji": emoji, "count": len(users), "users": users} for emoji, users in by_emoji.items()]

    def _person(self, user: str) -> Object:
        if user not in self._people:
            self._people[user] = person(self.caller, self.organization, user)
        return self._people[user]
