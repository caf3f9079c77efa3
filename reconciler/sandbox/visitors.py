"""Callers who belong to no organization and still may read a part of one: with the key of a share link, or for their e-mail domain."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import compare_digest

from reconciler.sandbox.service import Caller, Fault
from reconciler.sandbox.store import Object

GUEST, OUTSIDER = -1, -2


@dataclass(frozen=True)
class Visitor(Caller):
    """A caller let into one organization for one answer. A guest may view; an outsider may nothing, and only sees that it exists."""

    organization: str = ""
    standing: int = GUEST

    def member(self, organization: str) -> Object:
        if organization != self.organization:
            raise Fault(404, f"organization {organization} not found")
        return {"id": "visitor", "role": None}

    def rank(self, organization: str) -> int:
        return self.standing if organization == self.organization else OUTSIDER

    def _belongs(self, organization: str) -> bool:
        return organization == self.organization


def visiting(caller: Caller, organization: str, standing: int = GUEST) -> Visitor:
    return Visitor(caller.service, caller.user, caller.access, organization, standing)


def reader(caller: Caller, organization: str, site: str, share_key: str | None) -> Caller:
    """Who reads a site: the caller, or a guest where they are no member and bring the key of one of its active share links."""
    if share_key and not is_member(caller, organization) and _opens(caller, organization, site, share_key):
        return visiting(caller, organization)
    return caller


def space_reader(caller: Caller, space: str, share_key: str | None) -> Caller:
    """The same for a space that stands in such a site."""
    found = caller.store.find("space", space)
    if not share_key or found is None or found.get("deletedAt") or is_member(caller, found["organization"]):
        return caller
    stands = caller.store.select("site-space", organization=found["organization"])
    for site in dict.fromkeys(one["site"] for one in stands if one["_space"] == space):
        if _opens(caller, found["organization"], site, share_key):
            return visiting(caller, found["organization"])
    return caller


def is_member(caller: Caller, organization: str) -> bool:
    return caller.user is None or caller.store.find("member", f"{organization}:{caller.user}") is not None


def _opens(caller: Caller, organization: str, site: str, share_key: str) -> bool:
    """Whether a key opens a site: it is published, wants no sign-in, and an active link has this key."""
    found = caller.store.find("site", site)
    if found is None or found["organization"] != organization or not found["published"] or found["visibility"] == "visitor-auth":
        return False
    links = caller.store.select("share-link", container=f"links:{site}")
    return any(one["active"] and compare_digest(one["_secret"].encode(), share_key.encode(errors="replace")) for one in links)
