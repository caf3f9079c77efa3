"""What single readers read: somebody with what they bring, or a member with a role; and what they find at a URL. For tests.

`sites.audience` knows which classes of readers an object has; here one example of a reader is asked about every object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from reconciler.sandbox.integrations.integrations import KIND as INTEGRATION
from reconciler.sandbox.organization.levels import NONE, member_level
from reconciler.sandbox.served.page import ROOT, ServedSite, site_named
from reconciler.sandbox.sites.audience import Audience
from reconciler.sandbox.sites.readers import Reader, opened
from reconciler.sandbox.store import Object, Store

Objects = frozenset[tuple[str, str]]
"""Objects by kind and id."""

NAME: Final = "named"
ADMIN, GUEST = "admin", "guest"
KINDS: Final = ("site", "section", "site-space", "space", "openapi", "collection", "share-link", INTEGRATION)


def read_by(store: Store, reader: Reader, role: str | None = None) -> Objects:
    """What a reader reads in every organization. `role`: as a member of it, who reads what others read too."""
    organizations = store.select("organization")
    return frozenset(seen for organization in organizations for seen in _read(store, organization, reader, role))


def _read(store: Store, organization: Object, reader: Reader, role: str | None) -> Iterator[tuple[str, str]]:
    audience = Audience(store, organization, named={NAME: reader})
    for entry in audience.entries():
        if any(known["reader"] == NAME for known in entry["readers"]):
            yield entry["kind"], entry["id"]
    id = organization["id"]
    for link in store.select("share-link", organization=id):
        # whoever has the key of a link sees the link
        if link["active"] and reader.shareKey == link["_secret"]:
            yield "share-link", link["id"]
    for integration in store.select(INTEGRATION, organization=id):
        if opened(str(integration.get("visibility", "private")), reader, has_key=False) and not reader.agent:
            yield INTEGRATION, integration["name"]
    if role is not None:
        yield from _as_member(store, audience, id, role)


def _as_member(store: Store, audience: Audience, organization: str, role: str) -> Iterator[tuple[str, str]]:
    """What a member without grants of their own reads; a guest reads only what others read too."""
    if role == ADMIN:
        yield from ((kind, data["id"]) for kind in KINDS for data in store.select(kind, organization=organization))
        return
    if role == GUEST:
        return
    yield from (("collection", collection) for collection, rank in audience.ranks.items() if rank > NONE)
    yield from (("space", space["id"]) for space in audience.spaces.values() if member_level(audience.ranks, role, space) is not None)
    yield from (("openapi", spec["id"]) for spec in store.select("openapi", organization=organization))


def key_of(store: Store, link: str) -> str | None:
    """The key of a share link; None if it does not exist."""
    data = store.find("share-link", link)
    return str(data["_secret"]) if data is not None else None


class FoundPage(NamedTuple):
    """What a site shows at a path. `site` and `space`: the kind and the id. `title`: of the page; None if nothing is there."""

    site: tuple[str, str]
    name: str
    space: tuple[str, str]
    title: str | None


def pages_at(store: Store, base: str, path: str, reader: Reader, site: str | None = None) -> list[FoundPage]:
    """What a published site, or each of them, shows a reader at a path. A path that begins with `/published/SITE` is of that site.

    `base`: what published URLs begin with.
    """
    if path.startswith(f"{ROOT}/"):
        name, _, path = path.removeprefix(f"{ROOT}/").partition("/")
        sites = [site_named(store, name)]
    else:
        sites = [store.find("site", site)] if site is not None else list(store.select("site"))
    pages = []
    for data in sites:
        if data is not None and data["published"]:
            answer = ServedSite(store, base, data, reader, name=data["id"]).at(path)
            space = str(answer.variant["_space"]) if answer is not None else ""
            title = str(answer.page.data.get("title")) if answer is not None else None
            pages.append(FoundPage(("site", data["id"]), str(data["title"]), ("space", space), title))
    return pages
