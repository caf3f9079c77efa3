"""Integrations: who sees them, what is kept of a version, how filters choose, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from reconciler.sandbox.integrations.publishing import Publish
from reconciler.sandbox.service import RANKS, Caller, Fault
from reconciler.sandbox.sites.visitors import is_member
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

KIND, INSTALLATION, EVENT = "integration", "installation", "integration-event"
NAME = re.compile(r"[A-Za-z0-9_.-]+")
SHOWN = ("description", "summary", "visibility", "target", "scopes", "categories", "blocks", "contentSources", "externalLinks")


def administrates(caller: Caller, organization: str) -> bool:
    exists = caller.store.find("organization", organization) is not None  # a copy of another organization shows integrations of this one
    return exists and is_member(caller, organization) and caller.rank(organization) >= RANKS.index("admin")


def sees(caller: Caller, integration: Object) -> bool:
    """Whether an integration exists for the caller: a private one only for the organization that published it."""
    return integration["visibility"] != "private" or is_member(caller, integration["_organization"])


def get(caller: Caller, name: str) -> Object:
    """An integration the caller may see. Raises 404 for all others."""
    integration = caller.store.find(KIND, name)
    if integration is None or not sees(caller, integration):
        raise Fault(404, f"integration {name} not found")
    return integration


def own(caller: Caller, name: str) -> Object:
    """An integration the caller administrates. Raises 404 for other organizations', 403 without the role."""
    integration = get(caller, name)
    if not is_member(caller, integration["_organization"]):
        raise Fault(404, f"integration {name} not found among those of your organizations")
    caller.admin(integration["_organization"])
    return integration


def publisher(caller: Caller, named: str) -> Object:
    """The organization an id or a subdomain names. Raises 404 where there is none the caller is in."""
    integration = caller.store.find("organization", named)
    if integration is None:
        named_so = (item for item in caller.store.select("organization") if item.get("hostname") == named)
        integration = next((item for item in named_so if is_member(caller, item["id"])), None)
    if integration is None:
        raise Fault(404, f"organization {named} not found")
    caller.admin(integration["id"])
    return integration


def publish(caller: Caller, name: str, body: Publish) -> Object:
    """Publish an integration, or the next version of it, which replaces all of the last one."""
    if not NAME.fullmatch(name):
        raise Fault(400, "integrationName: letters, digits, hyphens, underscores and dots")
    owner, store = publisher(caller, body.organization)["id"], caller.store
    last = store.find(KIND, name)
    if last is not None and last["_organization"] != owner:
        own(caller, name)
        raise Fault(400, f"organization: {name} is published by another organization")
    given = body.model_dump(exclude_unset=True, include={"blocks", "contentSources", "externalLinks", "configurations"})
    integration: Object = {"_pk": name, "name": name, "version": last["version"] + 1 if last else 1, "title": body.title, "verified": False}
    integration |= {field: getattr(body, field) for field in SHOWN} | {"configurations": {}} | given
    integration |= {"_organization": owner, "_runtime": body.runtime, "_icon": bool(body.icon), "_previews": len(body.previewImages)}
    if body.contentSecurityPolicy:
        integration["contentSecurityPolicy"] = body.contentSecurityPolicy
    if last is None:
        return store.add(KIND, owner, "integrations", integration)
    if "_dev" in last:
        integration["_dev"] = last["_dev"]
    store.save(KIND, integration)
    return integration


def remove(caller: Caller, name: str) -> None:
    """Remove an integration with its installations and events; nothing where there is none for the caller."""
    integration, store = caller.store.find(KIND, name), caller.store
    if integration is None or not sees(caller, integration):
        return
    if not administrates(caller, integration["_organization"]):
        raise Fault(403, f"only admins of the organization that published {name} can delete it")
    for kind in (INSTALLATION, EVENT):
        for item in store.select(kind, container=f"{kind}:{name}"):
            store.remove(kind, item["id"])
    store.remove(KIND, name)


def matches(integration: Object, wanted: Mapping[str, Any]) -> bool:
    """Whether an integration is among those a list was asked for; what was not asked for is None."""
    search, blocks, sources, target = wanted["search"], wanted["blocks"], wanted["contentSources"], wanted["target"]
    return (
        (search is None or any(search.casefold() in integration[field].casefold() for field in ("name", "title")))
        and (wanted["category"] is None or wanted["category"] in integration["categories"])
        and (wanted["scope"] is None or wanted["scope"] in integration["scopes"])
        and (wanted["owner"] is None or integration["_organization"] == wanted["owner"])
        and (target is None or integration["target"] in (target, "all"))
        and (blocks is None or bool(integration["blocks"]) == blocks)
        and (sources is None or bool(integration["contentSources"]) == sources)
        and (not wanted["blockDomain"] or any(_unfurls(integration, domain) for domain in wanted["blockDomain"]))
    )


def _unfurls(integration: Object, domain: str) -> bool:
    """Whether a block takes links to a domain; a block's domain stands for those below it too."""
    hosts = {_host(link) for block in integration["blocks"] for link in block.get("urlUnfurl", [])} - {""}
    return any(domain.lower() == host or domain.lower().endswith(f".{host}") for host in hosts)


def _host(link: str) -> str:
    try:
        return (urlsplit(link if "://" in link else f"//{link}").hostname or "").removeprefix("*.")
    except ValueError:
        return ""


def show(caller: Caller, integration: Object, view: View | None = None) -> Object:
    """The integration as the service shows it; the organization that published it as much as the caller may see of it."""
    name, owner, base = integration["name"], integration["_organization"], caller.service.base
    urls = {
        "location": f"{base}/v1/integrations/{name}",
        "app": f"{base}/app/integrations/{name}",
        "assets": f"{base}/files/integrations/{name}",
        "publicEndpoint": f"{base}/integrations/{name}",
    }
    if integration["_icon"]:
        urls["icon"] = f"{urls['assets']}/icon"
    organization = caller.store.find("organization", owner)
    return {
        "object": KIND,
        **{key: value for key, value in integration.items() if not key.startswith("_")},
        "previewImages": [f"{urls['assets']}/previews/{number}" for number in range(integration["_previews"])],
        **({"owner": _owner(caller, organization, view or View(caller))} if organization else {}),
        **({"owner": integration["_owner"]} if "_owner" in integration else {}),
        "urls": urls,
        "permissions": {"admin": administrates(caller, owner)},
    }


def _owner(caller: Caller, organization: Object, view: View) -> Object:
    if is_member(caller, organization["id"]):
        return view.organization(organization)
    seen = {name: organization[name] for name in ("id", "title", "createdAt", "type", "plan")}
    hidden = {"emailDomains": [], "inviteLinks": False, "mergeRules": {"type": "inherit"}, "permissions": {"view": False, "admin": False}}
    return {"object": "organization", **seen, **hidden, "urls": {"location": f"{caller.service.base}/v1/orgs/{organization['id']}"}}
