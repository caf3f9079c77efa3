"""Who reads what a site shows: people on the web, holders of a share link, visitors who sign in with claims, agents.

A published site is read by: everybody where it is `public`; whoever knows the address where it is `unlisted`; holders of the key of an
active link where it is not `visitor-auth`; visitors who sign in where it is `visitor-auth`. Visitors and holders of a link know the
address. Agents of the organization read every site whose `agentsContext` is `included`, published or not, and nothing else; no condition
hides anything from them. Conditions hide sections, site spaces and pages from all others while `adaptiveContent` is enabled. A draft
section, group or site space is shown to nobody, with everything in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from secrets import compare_digest
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr

from reconciler.sandbox.sites.conditions import UNSIGNED, holds
from reconciler.sandbox.store import Object, Store

HEADER: Final = "X-Sandbox-Reader"


class Reader(BaseModel):
    """A reader who is not a member, by what they bring.

    `address`: they know the site's address. `shareKey`: the key of a share link. `claims`: signed in, with these claims. `unsigned`: claims
    that anybody can set. `agent`: an agent of the organization.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: StrictBool = False
    shareKey: StrictStr | None = None
    claims: dict[str, Any] | None = None
    unsigned: dict[str, Any] = {}
    agent: StrictBool = False

    @property
    def knows_address(self) -> bool:
        return self.address or self.claims is not None

    def passes(self, conditions: Iterable[str]) -> bool:
        """Whether all of these conditions are true for the reader."""
        if self.agent:
            return True
        given = {**(self.claims or {}), UNSIGNED: self.unsigned}
        return all(holds(condition, given) for condition in conditions)


@dataclass(frozen=True)
class Gate:
    """What decides who gets into one site. `keys`: the secrets of its active links."""

    site: Object
    keys: tuple[str, ...]

    @classmethod
    def of(cls, store: Store, site: Object) -> Gate:
        links = store.select("share-link", container=f"links:{site['id']}")
        return cls(site, tuple(link["_secret"] for link in links if link["active"]))

    def opens(self, reader: Reader) -> bool:
        """Whether the reader gets into the site."""
        if reader.agent:
            return bool(self.site.get("agentsContext") == "included")
        if not self.site["published"]:
            return False
        return opened(self.site["visibility"], reader, self.has_key(reader.shareKey))

    def has_key(self, key: str | None) -> bool:
        """Whether it is the key of one of the active links."""
        # a comparison that ends at the first different character tells a stranger how much of a key is right
        return key is not None and any(compare_digest(secret.encode(), key.encode(errors="replace")) for secret in self.keys)

    @property
    def is_adaptive(self) -> bool:
        """Whether conditions are in force."""
        return bool(self.site.get("adaptiveContent", {}).get("enabled"))

    def conditions(self, *parts: Mapping[str, Any] | None) -> frozenset[str]:
        """The conditions of a section and of a site space in it that are in force."""
        if not self.is_adaptive:
            return frozenset()
        return frozenset(part["condition"] for part in parts if part is not None and part.get("condition"))


def opened(visibility: str, reader: Reader, has_key: bool) -> bool:
    """Whether a visibility lets the reader in."""
    if visibility == "visitor-auth":
        return reader.claims is not None
    return visibility == "public" or has_key or (visibility == "unlisted" and reader.knows_address)


class Shown:
    """What one reader sees of one site; None as a reader sees all."""

    def __init__(self, store: Store, site: Object, reader: Reader | None) -> None:
        self.store, self.reader, self.gate = store, reader, Gate.of(store, site)

    @cached_property
    def around(self) -> dict[str, Object]:
        """The sections and groups of the site, by id."""
        return {data["id"]: data for _, data in self.store.in_site(self.gate.site["id"], "section", "group")}

    def passes(self, conditions: frozenset[str]) -> bool:
        return self.reader is None or self.reader.passes(conditions)

    def conditions(self, site_space: Object) -> frozenset[str]:
        """The conditions on the way to a site space."""
        return self.gate.conditions(self.around.get(site_space.get("section", "")), site_space)

    def is_draft(self, part: Object) -> bool:
        return is_marked("draft", part, self.around)

    def is_hidden(self, part: Object) -> bool:
        """Whether navigation leaves out a part of the site, which answers at its URL all the same."""
        return is_marked("hidden", part, self.around)

    def section(self, section: Object) -> bool:
        return self.reader is None or (self.passes(self.gate.conditions(section)) and not self.is_draft(section))

    def site_space(self, site_space: Object) -> bool:
        if self.reader is None:
            return True
        shown = self.passes(self.conditions(site_space)) and not self.is_draft(site_space)
        return shown and not is_deleted(self.store.find("space", site_space["_space"]))


def is_marked(mark: str, part: Object, around: Mapping[str, Object]) -> bool:
    """Whether a section, a group or a site space, or what it is in, is marked so. `around`: the sections and groups of its site by id."""
    at: Object | None = part
    while at is not None and not at.get(mark):
        at = around.get(str(at.get("section") or at.get("sectionGroup")))
    return at is not None


def is_deleted(space: Object | None) -> bool:
    return space is None or bool(space.get("deletedAt"))
