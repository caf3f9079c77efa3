"""Putting in what exists beforehand: objects as the service has them, ids included, lists in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reconciler.sandbox.content import collection_container, new_space
from reconciler.sandbox.service import Caller, Service
from reconciler.sandbox.store import Object, Store
from reconciler.sandbox.structure import free_path

ROLES = ("admin", "create", "review", "edit", "comment", "read", None)


class SeedError(Exception):
    """The seed document is wrong; the message names the place in it."""


class _Entry:
    """One object of the document, read with its place in it."""

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise SeedError(f"{where}: expected an object, as the service has it")
        self.where, self.data = where, data

    def text(self, name: str, default: str | None = None) -> str:
        value = self.data.get(name, default)
        if value is None:
            raise SeedError(f"{self.where}.{name} is missing")
        if not isinstance(value, str) or (not value and default is None):
            raise SeedError(f"{self.where}.{name}: expected a text")
        return value

    def rest(self, *known: str) -> Object:
        return {key: value for key, value in self.data.items() if key not in known}


def seed(db: Path, document: Mapping[str, Any]) -> None:
    """Add the objects of a seed document to a file, which is made where it does not exist. Raises `SeedError`, then nothing was added."""
    store = Store(db)
    try:
        plant(store, document)
    finally:
        store.close()


def plant(store: Store, document: Mapping[str, Any]) -> None:
    """The same for a store that is open."""
    if not isinstance(document, Mapping):
        raise SeedError("a seed is a map of lists: organizations, members, spaces, …")
    unknown = sorted(set(document) - set(PLANTERS))
    if unknown:
        raise SeedError(f"{unknown[0]}: there is no such list; a seed has {', '.join(PLANTERS)}")
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
        raise SeedError(f"{entry.where}.id: {id} exists already")
    return id


def _owner(store: Store, entry: _Entry) -> str:
    organization = entry.text("organization")
    if store.find("organization", organization) is None:
        raise SeedError(f"{entry.where}.organization: there is no organization {organization}")
    return organization


def _organization(store: Store, entry: _Entry) -> None:
    id = _fresh(store, entry, "organization")
    made = {
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
        "mergeRules": {"type": "inherit"},
        **entry.rest("id", "title"),
    }
    store.add("organization", id, "organizations", made)


def _member(store: Store, entry: _Entry) -> None:
    organization, user = _owner(store, entry), entry.text("id")
    if entry.data.get("role", "read") not in ROLES:
        raise SeedError(f"{entry.where}.role: expected one of {', '.join(str(role) for role in ROLES if role)} or null")
    if store.find("member", f"{organization}:{user}") is not None:
        raise SeedError(f"{entry.where}.id: {user} is a member already")
    email = entry.text("email")
    made = {
        "_pk": f"{organization}:{user}",
        "_organization": organization,
        "id": user,
        "email": email,
        "displayName": entry.text("displayName", email.split("@")[0]),
        "role": entry.data.get("role", "read"),
        "joinedAt": store.stamp(),
    }
    store.add("member", organization, f"members:{organization}", made)


def _token(store: Store, entry: _Entry) -> None:
    user = entry.text("member")
    mine = [one["_organization"] for one in store.select("member") if one["id"] == user]
    if not mine:
        raise SeedError(f"{entry.where}.member: there is no member {user}")
    access = entry.text("access", "write")
    if access not in ("read", "write"):
        raise SeedError(f"{entry.where}.access: expected read or write")
    store.add_token(entry.text("token"), user, mine[0], access)


def _parent(store: Store, entry: _Entry, organization: str) -> str | None:
    parent = entry.data.get("parent")
    if parent is None:
        return None
    found = store.find("collection", str(parent))
    if found is None or found["organization"] != organization:
        raise SeedError(f"{entry.where}.parent: there is no collection {parent} before it")
    return str(parent)


def _collection(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "collection"), _owner(store, entry)
    parent = _parent(store, entry, organization)
    made = {"id": id, "title": entry.text("title", "Untitled"), "organization": organization, "defaultLevel": None}
    made |= entry.rest("id", "title", "parent") | ({"parent": parent} if parent else {})
    store.add("collection", organization, collection_container(organization, parent), made)


def _space(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "space"), _owner(store, entry)
    parent = _parent(store, entry, organization)
    made = new_space(store, organization, entry.text("title", "Untitled"), id=id, parent=parent)
    made |= entry.rest("id", "title", "parent", "organization", "pages")
    if isinstance(entry.data.get("pages"), list):
        made["_pages"] = entry.data["pages"]
    store.add("space", organization, collection_container(organization, parent), made)


def _team(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "team"), _owner(store, entry)
    made: Object = {"id": id, "title": entry.text("title", "Untitled"), "createdAt": store.stamp(), "organization": organization}
    made |= {"_members": list(entry.data.get("members") or []), "_owner": "nobody"}
    store.add("team", organization, f"teams:{organization}", made)


def _site(store: Store, entry: _Entry) -> None:
    from reconciler.sandbox.bodies import SiteCreate
    from reconciler.sandbox.routes.sites import structure_site

    id, organization = _fresh(store, entry, "site"), _owner(store, entry)
    caller = Caller(Service(store, None), None, "write")
    made = structure_site(caller, organization, SiteCreate(title=entry.text("title", "Untitled")))
    store.remove("site", made["id"])
    store.add("site", organization, f"sites:{organization}", {**made, **entry.rest("id", "organization"), "id": id})


def _openapi(store: Store, entry: _Entry) -> None:
    organization = _owner(store, entry)
    id = str(entry.data.get("id") or store.new_id("spec"))
    taken = {one["slug"] for one in store.select("openapi", organization=organization)}
    made = {
        "id": id,
        "slug": str(entry.data.get("slug") or free_path(id, taken)),
        "createdAt": store.stamp(),
        "updatedAt": store.stamp(),
        "sourceURL": str(entry.data.get("sourceURL", "https://example.com/openapi.json")),
        "visibility": "private",
        "organization": organization,
        "_started": store.now().timestamp(),
    }
    store.add("openapi", organization, f"openapi:{organization}", made | entry.rest("id", "slug", "sourceURL", "organization"))


def _saml(store: Store, entry: _Entry) -> None:
    id, organization = _fresh(store, entry, "saml"), _owner(store, entry)
    made = {"id": id, "label": "SAML", "entityID": id, "ssoURL": "", "certificate": "", "defaultRole": None}
    made |= {**entry.rest("id", "organization"), "createdAt": store.stamp(), "status": "active", "organization": organization}
    store.add("saml", organization, f"saml:{organization}", made)


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
}
