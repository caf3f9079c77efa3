"""Objects as the service shows them: what is kept, with `urls` and `permissions` for the caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from urllib.parse import quote

from reconciler.sandbox.organization.levels import SpaceCounts
from reconciler.sandbox.service import Caller
from reconciler.sandbox.sites.structure import published_url, row, variants
from reconciler.sandbox.store import Object

ADMIN, CREATE, REVIEW, EDIT, COMMENT, READ = 5, 4, 3, 2, 1, 0


def _public(data: Object) -> Object:
    return {key: value for key, value in data.items() if not key.startswith("_")}


class View:
    """Builds answers for one caller; looks a rank up once an organization."""

    def __init__(self, caller: Caller) -> None:
        self.caller, self.store, self.base = caller, caller.store, caller.service.base
        self._ranks: dict[str, int] = {}
        self._in_team: dict[str, Counter[str]] = {}
        self._spaces: dict[str, SpaceCounts] = {}
        self._by_site: dict[str, dict[str, int]] = {}
        self._paths: dict[str, str] = {}
        self._begins: dict[str, str] = {}
        self._site: tuple[str, dict[str | None, list[Object]], dict[str, Object]] | None = None

    def of_site(self, site: str, visible: Callable[[Object], bool] = lambda site_space: True) -> View:
        """Read what a site holds at once, for a list of its parts; of its site spaces those that are visible."""
        rows = {at: [item for item in row if visible(item)] for at, row in variants(self.store, site).items()}
        spaces = self.store.find_all("space", (item["_space"] for row in rows.values() for item in row))
        self._site = (site, rows, spaces)
        return self

    def of_sites(self, organization: str) -> View:
        """Count what the sites of an organization hold at once, for a list of them."""
        self._by_site[organization] = self.store.count_by_site("site-space", organization)
        return self

    def _may(self, data: Object, organization: str, **needs: int) -> dict[str, bool]:
        if organization not in self._ranks:
            self._ranks[organization] = self.caller.rank(organization)
        # a copy answers with what the token that read the original may not do
        refused = data.get("_permissions", {})
        return {name: self._ranks[organization] >= rank and refused.get(name, True) for name, rank in needs.items()}

    def _published(self, site: str) -> str:
        """The URL with which the parts of a site begin."""
        if site not in self._begins:
            self._begins[site] = published_url(self.base, self.store.find("site", site) or {"id": site})
        return self._begins[site]

    def organization(self, data: Object) -> Object:
        id = data["id"]
        urls = {"location": f"{self.base}/v1/orgs/{id}", "app": f"{self.base}/app/o/{id}"}
        if data.get("_logo"):
            urls["logo"] = f"{self.base}/files/{id}/logo?from={quote(data['_logo'][-40:])}"
        admin = ("admin", "viewBilling", "listIntegrations", "listInstallations", "installIntegration", "ownTeam", "createOpenAPISpec")
        may = self._may(data, id, view=-1, createContent=CREATE, ingestConversations=CREATE, listMembers=READ, listTeams=READ)
        may |= self._may(data, id, **dict.fromkeys(admin, ADMIN))
        return {"object": "organization", **_public(data), "urls": urls, "permissions": may}

    def member(self, data: Object) -> Object:
        organization, user = data["_organization"], data["id"]
        if organization not in self._in_team:
            teams = self.store.select("team", organization=organization)
            self._in_team[organization] = Counter(member for team in teams for member in team["_members"])
            self._spaces[organization] = SpaceCounts.of_organization(self.store, organization)
        shown = {
            "object": "user",
            "id": user,
            "displayName": data["displayName"],
            **({"email": data["email"]} if data["email"] else {}),
            "photoURL": f"{self.base}/photos/{user}",
            "urls": {"location": f"{self.base}/v1/users/{user}"},
        }
        return {
            "object": "member",
            "id": user,
            "role": data["role"],
            "user": shown,
            "disabled": data.get("disabled", False),
            "joinedAt": data["joinedAt"],
            "lastSeenAt": data.get("lastSeenAt", data["joinedAt"]),
            "sso": False,
            "spaces": max(0, self._spaces[organization].of(data) + data.get("_spaces", 0)),
            "teams": self._in_team[organization][user] + data.get("_teams", 0),
        }

    def team(self, data: Object) -> Object:
        may = self._may(data, data["organization"], view=-1, admin=ADMIN)
        kept = {key: value for key, value in _public(data).items() if key != "organization"}
        return {"object": "team", **kept, "members": len(data["_members"]) + data.get("_others", 0), "spaces": 0, "permissions": may}

    def collection(self, data: Object) -> Object:
        urls = {"location": f"{self.base}/v1/collections/{data['id']}", "app": f"{self.base}/app/c/{data['id']}"}
        may = self._may(data, data["organization"], view=-1, admin=ADMIN, viewInviteLinks=ADMIN, create=CREATE)
        return {"object": "collection", **_public(data), "urls": urls, "permissions": may}

    def space(self, data: Object) -> Object:
        id = data["id"]
        urls = {"location": f"{self.base}/v1/spaces/{id}", "app": f"{self.base}/app/s/{id}", "icon": f"{self.base}/icons/{id}"}
        may = self._may(
            data,
            data["organization"],
            view=-1,
            access=-1,
            comment=COMMENT,
            edit=EDIT,
            review=REVIEW,
            merge=REVIEW,
            admin=ADMIN,
            viewInviteLinks=ADMIN,
            triggerGitSync=ADMIN,
            installIntegration=ADMIN,
        )
        return {"object": "space", **_public(data), "urls": urls, "permissions": may}

    def site(self, data: Object) -> Object:
        id, organization = data["id"], data["organization"]
        published = published_url(self.base, data)
        urls = {"location": f"{self.base}/v1/orgs/{organization}/sites/{id}", "app": f"{self.base}/app/sites/{id}", "published": published}
        kept = {key: value for key, value in _public(data).items() if key != "organization"}
        if data.get("_proxy"):
            kept["proxy"] = {"origin": data["_proxy"], "target": published.split("://", 1)[1]}
        counted = self._by_site.get(organization)
        count = self.store.count_in_site("site-space", id) if counted is None else counted.get(id, 0)
        return {"object": "site", **kept, "siteSpaces": count, "urls": urls}

    def site_space(self, data: Object) -> Object:
        if self._site is None:
            space = self.store.find("space", data["_space"])
        else:
            space = self._site[2].get(data["_space"])
        published = f"{self._published(data['site'])}/{self._in_section(data)}{quote(data['path'])}"
        kept = {key: value for key, value in _public(data).items() if key not in ("organization", "site")}
        shown = {"object": "site-space", **kept, "hasAdvancedCustomizationFeature": False, "urls": {"published": published}}
        if space is not None:
            shown |= {"space": self.space(space), "title": space["title"]}
        return shown

    def _in_section(self, data: Object) -> str:
        """The part of a site space's address that its section makes."""
        id = data.get("section")
        if id is None:
            return ""
        if id not in self._paths:
            section = self.store.find("section", id)
            self._paths[id] = f"{quote(section['path'])}/" if section is not None else ""
        return self._paths[id]

    def section(self, data: Object) -> Object:
        self._paths[data["id"]] = f"{quote(data['path'])}/"
        if self._site is None:
            standing = self.store.select("site-space", container=row(data["site"], data["id"]))
        else:
            standing = self._site[1].get(data["id"], [])
        shown = [self.site_space(item) for item in standing]
        kept = {key: value for key, value in _public(data).items() if key not in ("organization", "site")}
        published = f"{self._published(data['site'])}/{quote(data['path'])}"
        return {"object": "site-section", **kept, "siteSpaces": shown, "urls": {"published": published}}

    def group(self, data: Object) -> Object:
        children = [self.section(item) for item in self.store.select("section", container=f"group:{data['id']}")]
        kept = {key: value for key, value in _public(data).items() if key not in ("organization", "site")}
        return {"object": "site-section-group", **kept, "children": children}

    def share_link(self, data: Object) -> Object:
        kept = {key: value for key, value in _public(data).items() if key not in ("organization", "site")}
        return {"object": "share-link", **kept, "urls": {"published": f"{self._published(data['site'])}?key={data['_secret']}"}}

    def saml(self, data: Object) -> Object:
        id, organization = data["id"], data["organization"]
        kept = {key: value for key, value in _public(data).items() if key != "organization"}
        team = self.store.find("team", data["_team"]) if data.get("_team") else None
        if team is not None:
            kept["defaultTeam"] = self.team(team)
        base = f"{self.base}/saml/{id}"
        service = {"acsURL": f"{base}/acs", "startURL": f"{base}/start", "entityID": base}
        urls = {"location": f"{self.base}/v1/orgs/{organization}/saml/{id}"}
        return {"object": "saml-provider", **kept, "service": service, "urls": urls}

    def openapi(self, data: Object) -> Object:
        slug, organization = data["slug"], data["organization"]
        may = self._may(data, organization, view=-1, edit=ADMIN)
        urls = {
            "location": f"{self.base}/v1/orgs/{organization}/openapi/{slug}",
            "app": f"{self.base}/app/openapi/{slug}",
            "published": f"{self.base}/published/openapi/{quote(slug)}",
        }
        kept = {key: value for key, value in _public(data).items() if key != "organization"}
        return {"object": "openapi-spec", **kept, "permissions": may, "urls": urls}
