"""Objects as the service shows them, to its admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.service.memory import Memory, Object, level, variants

ORGANIZATION = ("view", "createContent", "ingestConversations", "listMembers", "listTeams", "admin", "viewBilling", "listIntegrations")
ORGANIZATION_MORE = ("listInstallations", "installIntegration", "ownTeam", "createOpenAPISpec")
COLLECTION = ("view", "admin", "viewInviteLinks", "create")
SPACE = ("view", "access", "comment", "edit", "review", "merge", "admin", "viewInviteLinks", "triggerGitSync", "installIntegration")


def _may(permissions: tuple[str, ...]) -> dict[str, bool]:
    return dict.fromkeys(permissions, True)


def public(data: Object) -> Object:
    return {key: value for key, value in data.items() if not key.startswith("_")}


class View:
    """Shows the objects of one organization. `base`: where the service is."""

    def __init__(self, memory: Memory, base: str) -> None:
        self.memory, self.base = memory, base

    def show(self, kind: str, data: Object) -> Object:
        shown: Object = getattr(self, kind.replace("-", "_"))(data)
        return shown

    def _urls(self, path: str, app: str) -> dict[str, str]:
        return {"location": f"{self.base}/v1/{path}", "app": f"{self.base}/app/{app}"}

    def organization(self, data: Object) -> Object:
        urls = self._urls(f"orgs/{data['id']}", f"o/{data['id']}")
        permissions = _may(ORGANIZATION + ORGANIZATION_MORE)
        return {"object": "organization", **public(data), "urls": urls, "permissions": permissions}

    def member(self, data: Object) -> Object:
        id = data["id"]
        user = {
            "object": "user",
            "id": id,
            "displayName": data["displayName"],
            "email": data["email"],
            "photoURL": f"{self.base}/photos/{id}",
            "urls": {"location": f"{self.base}/v1/users/{id}"},
        }
        return {
            "object": "member",
            "id": id,
            "role": data["role"],
            "user": user,
            "disabled": False,
            "joinedAt": data["joinedAt"],
            "lastSeenAt": data["joinedAt"],
            "sso": False,
            "spaces": sum(map(self._reaches(data["role"]), self.memory.all("space").values())),
            "teams": 0,
        }

    def _reaches(self, role: str | None) -> Callable[[Object], bool]:
        """Whether a member with a role can read a space: the nearest level counts, and at the top their role."""

        def reaches(space: Object) -> bool:
            at = space
            while role != "admin" and at["defaultLevel"] == "inherit" and at.get("parent"):
                at = self.memory.get("collection", at["parent"])
            return role == "admin" or (role if at["defaultLevel"] == "inherit" else at["defaultLevel"]) is not None

        return reaches

    def team(self, data: Object) -> Object:
        permissions = _may(("view", "admin"))
        return {"object": "team", **public(data), "members": len(data["_members"]), "spaces": 0, "permissions": permissions}

    def collection(self, data: Object) -> Object:
        urls = self._urls(f"collections/{data['id']}", f"c/{data['id']}")
        return {"object": "collection", **public(data), "urls": urls, "permissions": _may(COLLECTION)}

    def space(self, data: Object) -> Object:
        urls = {**self._urls(f"spaces/{data['id']}", f"s/{data['id']}"), "icon": f"{self.base}/icons/{data['id']}"}
        return {"object": "space", **public(data), "urls": urls, "permissions": _may(SPACE)}

    def site(self, data: Object) -> Object:
        id = data["id"]
        location = self._urls(f"orgs/{self.memory.id}/sites/{id}", f"sites/{id}")
        urls = {**location, "published": f"{self.base}/published/{data['basename']}"}
        number = sum(1 for other in self.memory.all("site-space").values() if other["_site"] == id)
        return {"object": "site", **public(data), "siteSpaces": number, "urls": urls}

    def _site_name(self, data: Object) -> str:
        """The name of a site in the published URLs of its parts."""
        return str(self.memory.get("site", data["_site"])["basename"])

    def site_space(self, data: Object) -> Object:
        space = self.memory.get("space", data["_space"])
        section = f"{self.memory.get('section', data['section'])['path']}/" if "section" in data else ""
        urls = {"published": f"{self.base}/published/{self._site_name(data)}/{section}{data['path']}"}
        shown = {"object": "site-space", **public(data), "hasAdvancedCustomizationFeature": False, "urls": urls}
        return {**shown, "space": self.space(space), "title": space["title"]}

    def section(self, data: Object) -> Object:
        inner = [self.site_space(one) for one in self.memory.of(variants(data["_site"], data["id"]), "site-space")]
        urls = {"published": f"{self.base}/published/{self._site_name(data)}/{data['path']}"}
        return {"object": "site-section", **public(data), "siteSpaces": inner, "urls": urls}

    def group(self, data: Object) -> Object:
        inner = [self.section(one) for _, one in self.memory.row(level(data["_site"], data["id"]), "section")]
        return {"object": "site-section-group", **public(data), "children": inner}

    def share_link(self, data: Object) -> Object:
        urls = {"published": f"{self.base}/published/{self._site_name(data)}?key={data['_secret']}"}
        return {"object": "share-link", **public(data), "urls": urls}

    def reached(self, data: Object) -> Any:
        """A space as the list of what a member reaches shows it."""
        return {"permission": "admin", "space": self.space(data)}
