"""Putting in what exists beforehand: objects as the service has them, ids included, lists in their order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reconciler.sandbox.bodies import SiteCreate
from reconciler.sandbox.content.tree import collection_container, new_space
from reconciler.sandbox.file import iso
from reconciler.sandbox.integrations.integrations import KIND, publish
from reconciler.sandbox.integrations.publishing import Publish
from reconciler.sandbox.routes.sites import structure_site
from reconciler.sandbox.service import Caller, Fault, Service
from reconciler.sandbox.sites.structure import free_path
from reconciler.sandbox.store import Object, Store

ROLES = ("admin", "create", "review", "edit", "comment", "read", None)


class SeedError(Exception):
    """The seed document is wrong; the message names the place in it."""


class _Entry:
    """One object of the document, read with its place in it."""

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise SeedError(f"{where}: expected an object in the form of the service")
        self.where, self.data = where, data

    def text(self, name: str, default: str | None = None) -> str:
        value = self.data.get(name, default)
        if value is None:
            raise SeedError(f"{self.where}.{name} is missing")
        if not isinstance(value, str) or (not value and default is None):
            raise SeedError(f"{self.where}.{name}: expected a text")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.data.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SeedError(f"{self.where}.{name}: expected a list of texts")
        return list(value)

    def rest(self, *known: str) -> Object:
        """All other fields, as JSON has them; YAML's times become texts."""
        fields: Object = {str(key): value for key, value in self.data.items() if key not in known}
        for key, value in fields.items():
            if isinstance(value, datetime):
                fields[key] = iso(value if value.tzinfo else value.replace(tzinfo=UTC))
            elif key.startswith("_"):
                raise SeedError(f"{self.where}.{key}: names that begin with _ are reserved")
            else:
                try:
                    json.dumps(value, allow_nan=False).encode()
                except (TypeError, ValueError, RecursionError) as error:
                    raise SeedError(f"{self.where}.{key}: expected a JSON value") from error
        return fields


def seed(db: Path, document: Mapping[str, Any]) -> None:
    """Add the objects of a seed document to a file, which is made where it does not exist. Raises `SeedError`, then nothing was added."""
    store = Store(db)
    try:
        plant(store, document)
    finally:
        store.close()


def plant(store: Store, document: Mapping[str, Any]) -> None:
    """The same for a store that is open."""
    # the YAML of a seed may be a list or a text: whoever wrote it gets a message, not a traceback
    if not isinstance(document, Mapping):
        raise SeedError("a seed must be a map of lists: organizations, members, spaces, …")
    unknown = next((name for name in document if name not in PLANTERS), None)
    if unknown is not None:
        raise SeedError(f"{unknown}: unknown list; a seed has {', '.join(PLANTERS)}")
    with store.write():
        for name, planter in PLANTERS.items():
            entries = document.get(name) or []
            if not isinstance(entries, list):
                raise SeedError(f"{name}: expected a list")
            for index, data in enumerate(entries):
                planter(store, _Entry(f"{name}[{index}]", data))


def _fresh(store: Store, entry: _Entry, kind: str) -> str:
    id = entry.text("id")
    if store.find(kind, id) is not None:
        raise SeedError(f"{entry.where}.id: {id} already exists")
    return id


def _owner(store: Store, entry: _Entry) -> str:
    organization = entry.text("organization")
    if store.find("organization", organization) is None:
        raise SeedError(f"{entry.where}.organization: unknown organization {organization}")
    return organization


def _organization(store: Store, entry: _Entry) -> None:
    id = _fresh(store, entry, "organization")
    organization = {
        "id": id,
        "title": entry.text("title", "Untitled"),
        "createdAt": store.stamp(),
        "emailDomains": [],
        "hostname": id.lower().replace("_", "-")[:32],
        "type": "business",
        "useCase": "internalDocs",
        "defaultRole": "read",
        "sso": False,
        "ai": False,
        "inviteLinks": True,
        "plan": "free_2024",
        "mergeRules": {"type": "none"},
        **entry.rest("id", "title"),
    }
    store.add("organization", id, "organizations", organization)


def _member(store: Store, entry: _Entry) -> None:
    organization, user = _owner(store, entry), entry.text("id")
    if entry.data.get("role", "read") not in ROLES:
        raise SeedError(f"{entry.where}.role: expected one of {', '.join(str(role) for role in ROLES if role)} or null")
    if store.find("member", f"{organization}:{user}") is not None:
        raise SeedError(f"{entry.where}.id: {user} is a member already")
    email = entry.text("email")
    member = {
        "_pk": f"{organization}:{user}",
        "_organization": organization,
        "id": user,
        "email": email,
        "displayName": entry.text("displayName", email.split("@")[0]),
        "role": entry.data.get("role", "read"),
        "joinedAt": store.stamp(),
    }
    store.add("member", organization, f"members:{organization}", member)


def _token(store: Store, entry: _Entry) -> None:
    user = entry.text("member")
    mine = [member["_organization"] for member in store.select("member") if member["id"] == user]
    if not mine:
        raise SeedError(f"{entry.where}.member: there is no member {user}")
    access = entry.text("access", "write")
    if access not in ("read", "write"):
        raise SeedError(f"{entry.where}.access: expected read or write")
    token = entry.text("token")
    if store.token(token) is not None:
        raise SeedError(f"{entry.where}.token: it already exists")
    store.add_token(token, user, mine[0], access)


def _parent(store: Store, entry: _Entry, organization: str) -> str | None:
    parent = entry.data.get("parent")
    if parent is None:
        return None
    collection = store.find("collection", str(parent))
    if collection is None or collection["organization"] != organization:
        raise SeedError(f"{entry.where}.parent: there is no collection {parent} before it")
    return str(parent)


def _collection(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "collection"), _owner(store, entry)
    parent = _parent(store, entry, organization)
    collection = {"id": id, "title": entry.text("title", "Untitled"), "organization": organization, "defaultLevel": None}
    collection |= entry.rest("id", "title", "parent") | ({"parent": parent} if parent else {})
    store.add("collection", organization, collection_container(organization, parent), collection)


def _space(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "space"), _owner(store, entry)
    parent = _parent(store, entry, organization)
    space = new_space(store, organization, entry.text("title", "Untitled"), id=id, parent=parent)
    space |= entry.rest("id", "title", "parent", "organization", "pages", "files", "variables")
    if "deletedAt" in space:
        space["deletedAt"] = _moment(entry, space["deletedAt"])
    if "pages" in entry.data:
        space["_pages"] = _pages(store, f"{entry.where}.pages", entry.rest()["pages"])
    if "files" in entry.data:
        space["_files"] = _files(store, f"{entry.where}.files", entry.rest()["files"])
    if "variables" in entry.data:
        space["_variables"] = _variables(f"{entry.where}.variables", entry.rest()["variables"])
    store.add("space", organization, collection_container(organization, parent), space)


def _moment(entry: _Entry, value: Any) -> str:
    try:
        moment = datetime.fromisoformat(value)
        return iso(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (OverflowError, TypeError, ValueError) as error:
        raise SeedError(f"{entry.where}.deletedAt: expected an ISO 8601 time") from error


def _pages(store: Store, where: str, value: Any) -> list[Object]:
    """The pages of a space, each with an id and with those below it."""
    if not isinstance(value, list) or not all(isinstance(page, dict) for page in value):
        raise SeedError(f"{where}: expected a list of objects")
    return [
        {"id": store.new_id("pag"), "type": "document", **page, "pages": _pages(store, f"{where}[{index}].pages", page.get("pages", []))}
        for index, page in enumerate(value)
    ]


def _files(store: Store, where: str, value: Any) -> list[Object]:
    """The files of a space, each with an id."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise SeedError(f"{where}: expected a list of objects")
    return [{"id": store.new_id("fil"), **item} for item in value]


def _variables(where: str, value: Any) -> Object:
    """The variables of a space by name, which expressions in its pages use."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in (*value, *value.values())):
        raise SeedError(f"{where}: expected a map of texts")
    return dict(value)


def _team(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "team"), _owner(store, entry)
    team: Object = {"id": id, "title": entry.text("title", "Untitled"), "createdAt": store.stamp(), "organization": organization}
    members = list(dict.fromkeys(entry.texts("members")))
    for user in members:
        if store.find("member", f"{organization}:{user}") is None:
            raise SeedError(f"{entry.where}.members: there is no member {user}")
    team |= {"_members": members, "_owner": "nobody"}
    store.add("team", organization, f"teams:{organization}", team)


def _site(store: Store, entry: _Entry) -> None:

    id, organization = _fresh(store, entry, "site"), _owner(store, entry)
    caller = Caller(Service(store, None), None, "write")
    site = structure_site(caller, organization, SiteCreate(title=entry.text("title", "Untitled")))
    store.remove("site", site["id"])
    store.add("site", organization, f"sites:{organization}", {**site, **entry.rest("id", "organization"), "id": id})


def _openapi(store: Store, entry: _Entry) -> None:
    organization = _owner(store, entry)
    id = _fresh(store, entry, "openapi") if "id" in entry.data else store.new_id("spec")
    taken = {known["slug"] for known in store.select("openapi", organization=organization)}
    slug = entry.text("slug", free_path(id, taken))
    if slug in taken:
        raise SeedError(f"{entry.where}.slug: {slug} is taken")
    spec = {
        "id": id,
        "slug": slug,
        "createdAt": store.stamp(),
        "updatedAt": store.stamp(),
        "sourceURL": entry.text("sourceURL", "https://example.com/openapi.json"),
        "visibility": "private",
        "organization": organization,
        "_started": store.now().timestamp(),
        "_file": entry.text("file", ""),  # a document that was given: processing ends well
    }
    spec |= entry.rest("id", "slug", "sourceURL", "organization", "file")
    store.add("openapi", organization, f"openapi:{organization}", spec)


def _saml(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "saml"), _owner(store, entry)
    provider = {"id": id, "label": "SAML", "entityID": id, "ssoURL": "", "certificate": "", "defaultRole": None}
    provider |= {
        **entry.rest("id", "organization", "defaultTeam"),
        "createdAt": store.stamp(),
        "status": "active",
        "organization": organization,
    }
    if "defaultTeam" in entry.data:
        team = store.find("team", entry.text("defaultTeam"))
        if team is None or team["organization"] != organization:
            raise SeedError(f"{entry.where}.defaultTeam: there is no team {entry.text('defaultTeam')}")
        provider["_team"] = team["id"]
    store.add("saml", organization, f"saml:{organization}", provider)


def _integration(store: Store, entry: _Entry) -> None:

    organization, name = _owner(store, entry), entry.text("name")
    if store.find(KIND, name) is not None:
        raise SeedError(f"{entry.where}.name: {name} already exists")
    try:
        body = Publish.model_validate({"title": name, **entry.rest("name", "id"), "organization": organization})
        publish(Caller(Service(store, None), None, "write"), name, body)
    except (ValidationError, Fault) as error:
        wrong = error.errors()[0] if isinstance(error, ValidationError) else {"loc": ("name",), "msg": error.message}
        raise SeedError(f"{'.'.join(map(str, (entry.where, *wrong['loc'])))}: {wrong['msg']}") from error


PLANTERS: dict[str, Callable[[Store, _Entry], None]] = {
    "organizations": _organization,
    "members": _member,
    "tokens": _token,
    "collections": _collection,
    "spaces": _space,
    "teams": _team,
    "sites": _site,
    "openapi": _openapi,
    "saml": _saml,
    "integrations": _integration,
}
