"""What single readers read: somebody with what they bring, or a member with a role; and what they find at a URL. For tests.

`sites.audience` knows which classes of readers an object has; here one example of a reader is asked about every object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from reconciler.sandbox.integrations.integrations import KIND as INTEGRATION
from reconciler.sandbox.served.page import ROOT, ServedSite, site_named
from reconciler.sandbox.sites.asked import AskedReader, reads_as_member
from reconciler.sandbox.sites.audience import Audience
from reconciler.sandbox.sites.readers import Reader, opened
from reconciler.sandbox.store import Object, Store

Objects = frozenset[tuple[str, str]]
"""Objects by kind and id."""

NAME: Final = "named"
KINDS: Final = ("site", "section", "site-space", "space", "openapi", "collection", "share-link", INTEGRATION)


def read_by(store: Store, reader: Reader, role: str | None = None, member: str | None = None) -> Objects:
    """What a reader reads in every organization. `role`, `member`: as a member, who reads what others read too."""
    asked = AskedReader(reader, role, member)
    return frozenset(seen for organization in store.select("organization") for seen in _read(store, organization, asked))


def _read(store: Store, organization: Object, asked: AskedReader) -> Iterator[tuple[str, str]]:
    reader = asked.reader
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
    for kind in KINDS:
        for data in store.select(kind, organization=id):
            if not data.get("deletedAt") and reads_as_member(audience, asked, kind, data):
                yield kind, data["id"]


def people_in(store: Store, organization: str, team: str | None = None) -> dict[str, str]:
    """The e-mails of the members of an organization, or of those in a team, by id."""
    members = {member["id"]: str(member["email"]) for member in store.select("member", organization=organization)}
    inside = members if team is None else (store.find("team", team) or {"_members": ()})["_members"]
    return {id: members[id] for id in inside if id in members}


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
