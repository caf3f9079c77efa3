"""One moment of an organization, as its readers see it: who can read which object, and which page answers at which published URL.

It asks the sandbox's own rules, which share nothing with the planner, so that one can be held against the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from reconciler.sandbox.sites.answers import SiteAnswers, UrlPages
from reconciler.sandbox.sites.asked import AskedReader, readable
from reconciler.sandbox.sites.audience import Audience
from reconciler.sandbox.sites.readers import Reader
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
    `shows`: the objects whose content an object shows, by kind and id.
    """

    readings: frozenset[ReadBy]
    urls: UrlPages
    titles: dict[tuple[str, str], str]
    names: dict[str, str]
    asked: frozenset[ReadBy] = frozenset()
    shows: Mapping[tuple[str, str], frozenset[tuple[str, str]]] = field(default_factory=dict)
    audiences: tuple[Audience, ...] = field(default=(), compare=False, repr=False)
    sites: tuple[SiteAnswers, ...] = field(default=(), compare=False, repr=False)

    @property
    def url_readers(self) -> Mapping[str, Reader]:
        """Who asks for published URLs, by name."""
        return {name: reader for audience in self.audiences for name, reader in audience.url_readers.items()}

    @property
    def refused(self) -> Mapping[str, Reader]:
        """Visitors for whom a condition of this moment does not hold, by name."""
        return {name: reader for audience in self.audiences for name, reader in audience.refused.items()}

    def answers(self, name: str, reader: Reader) -> UrlPages:
        """The published URLs that answer to a reader, whom another moment may have named."""
        return {url: page for site in self.sites for url, page in site.to(name, reader).items()}

    def reads(self, name: str, reader: Reader) -> frozenset[tuple[str, str]]:
        """The kind and id of what a reader can read who is not a member."""
        return frozenset(key for audience in self.audiences for key in audience.reads(name, reader))

    def rank(self, user: str, kind: str, id: str) -> int:
        """What a person may do with a space or a collection: an index of the levels, -1 for nothing."""
        return max((audience.rank(user, kind, id) for audience in self.audiences), default=-1)

    def shown_by(self, url: str) -> frozenset[str]:
        """The ids of the objects on which it depends that a published URL answers."""
        return frozenset(id for site in self.sites for id in site.shown_by(url))

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
    sites: list[SiteAnswers] = []
    shows: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
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
        people = store.select("member", organization=id)
        names |= {f"{who}:{member['id']}": member.get("displayName") or "" for member in people for who in ("member", "person")}
        for entry in audience.entries():
            titles[entry["kind"], entry["id"]] = entry["title"]
            # admins read everything, always
            others = [reader for reader in entry["readers"] if reader["reader"] != "admin"]
            readings.update(ReadBy(_name(reader), entry["kind"], entry["id"]) for reader in others)
        single.update(ReadBy(name, *key) for name, reader in asked.items() for key in readable(audience, reader))
        for variant in audience.site_spaces:
            for key in (("site-space", variant["id"]), ("section", str(variant.get("section")))):
                shows[key].add(("space", variant["_space"]))
        sites += [SiteAnswers.of(store, base, site, audience) for site in audience.sites if site["published"]]
    taken = AudienceMoment(
        frozenset(readings),
        {},
        titles,
        names,
        frozenset(single),
        {key: frozenset(shown) for key, shown in shows.items()},
        tuple(audiences),
        tuple(sites),
    )
    urls = {url: page for name, reader in taken.url_readers.items() for url, page in taken.answers(name, reader).items()}
    return replace(taken, urls=urls)


def _name(reader: Object) -> str:
    """A reader of content reads whatever the level; a way into an organization gives a role, and more of it is more."""
    who, level = str(reader["reader"]), str(reader["level"])
    return who if level == "read" else f"{who} ({level})"
