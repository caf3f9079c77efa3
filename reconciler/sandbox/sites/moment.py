"""One moment of an organization, as its readers see it: who can read which object, and which page answers at which published URL.

It asks the sandbox's own rules, which share nothing with the planner, so that one can be held against the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.sandbox.sites.asked import AskedReader, readable
from reconciler.sandbox.sites.audience import Audience
from reconciler.sandbox.sites.pages import SitePages
from reconciler.sandbox.sites.readers import Shown
from reconciler.sandbox.sites.structure import published_url
from reconciler.sandbox.store import Object, Store


class ReadBy(NamedTuple):
    """One reader of one object. `reader`: as `sandbox readers` names it, without the level."""

    reader: str
    kind: str
    id: str


@dataclass(frozen=True)
class AudienceMoment:
    """`titles`: of the objects, by kind and id. `urls`: what answers to somebody, with the id of the space and of the page.

    `names`: of readers whom their name does not describe, such as the holders of a share link. `asked`: what single readers can read.
    """

    readings: frozenset[ReadBy]
    urls: dict[str, tuple[str, str]]
    titles: dict[tuple[str, str], str]
    names: dict[str, str]
    asked: frozenset[ReadBy] = frozenset()
    audiences: tuple[Audience, ...] = field(default=(), compare=False, repr=False)

    def conditions(self, reader: str) -> frozenset[str]:
        """The conditions of visitors whom this moment names; none of other readers."""
        return next((audience.conditions[reader] for audience in self.audiences if reader in audience.conditions), frozenset())

    def visited(self, conditions: frozenset[str], kind: str, id: str) -> bool:
        """Whether visitors whom another moment names can read an object: a moment names only those of the conditions that it has."""
        return any(audience.visited(conditions, kind, id) for audience in self.audiences)


def moment(store: Store, base: str, organizations: Collection[str], asked: Mapping[str, AskedReader] = {}) -> AudienceMoment:
    """What readers see of these organizations now. `base`: the URL with which published URLs begin. `asked`: single readers, by name."""
    readings: set[ReadBy] = set()
    single: set[ReadBy] = set()
    audiences: list[Audience] = []
    urls: dict[str, tuple[str, str]] = {}
    titles: dict[tuple[str, str], str] = {}
    names: dict[str, str] = {}
    for id in organizations:
        organization = store.find("organization", id)
        if organization is None:
            continue
        audience = Audience(store, organization)
        audiences.append(audience)
        names |= {f"link:{link['id']}": link.get("name") or "" for link in store.select("share-link", organization=id)}
        names |= {f"joins:saml:{saml['id']}": saml.get("label") or "" for saml in store.select("saml", organization=id)}
        names |= {f"member:{member['id']}": member.get("displayName") or "" for member in store.select("member", organization=id)}
        for entry in audience.entries():
            titles[entry["kind"], entry["id"]] = entry["title"]
            # admins read everything, always
            others = [reader for reader in entry["readers"] if reader["reader"] != "admin"]
            readings.update(ReadBy(_name(reader), entry["kind"], entry["id"]) for reader in others)
        single.update(ReadBy(name, *key) for name, reader in asked.items() for key in readable(audience, reader))
        for site in audience.sites:
            urls |= _urls(store, base, site)
    return AudienceMoment(frozenset(readings), urls, titles, names, frozenset(single), tuple(audiences))


def _name(reader: Object) -> str:
    """A reader of content reads whatever the level; a way into an organization gives a role, and more of it is more."""
    who, level = str(reader["reader"]), str(reader["level"])
    return who if level == "read" else f"{who} ({level})"


def _urls(store: Store, base: str, site: Object) -> dict[str, tuple[str, str]]:
    if not site["published"]:
        return {}
    begin = published_url(base, site)
    pages = SitePages(store, Shown(store, site, None))
    return {
        f"{begin}/{path}" if path else begin: (answer.variant["_space"], str(answer.page.data.get("id")))
        for path, answer in pages.answers().items()
    }
