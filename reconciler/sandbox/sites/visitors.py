"""Callers who belong to no organization and still may read a part of one: as a visitor of a site, or for their e-mail domain."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from reconciler.sandbox.service import Caller, Fault
from reconciler.sandbox.sites.readers import HEADER, Gate, Reader, Shown, is_deleted, opened
from reconciler.sandbox.store import Object

GUEST, OUTSIDER = -1, -2


@dataclass(frozen=True)
class Visitor(Caller):
    """A caller let into one organization for one answer. A guest may view; an outsider may nothing, and only sees that it exists."""

    organization: str = ""
    standing: int = GUEST
    reader: Reader | None = None

    def member(self, organization: str) -> Object:
        if not self.organization or organization != self.organization:
            raise Fault(404, f"organization {organization} not found")
        return {"id": "visitor", "role": None}

    def rank(self, organization: str) -> int:
        return self.standing if organization == self.organization else OUTSIDER

    def belongs(self, organization: str) -> bool:
        return bool(self.organization) and organization == self.organization


def visiting(caller: Caller, organization: str, standing: int = GUEST, reader: Reader | None = None) -> Visitor:
    return Visitor(caller.service, caller.user, caller.access, organization, standing, reader)


def as_reader(caller: Caller, header: str, method: str) -> Visitor:
    """The caller as the reader that a header describes, who belongs to no organization. Raises 400 and 403."""
    # the header says how a visitor sees the service; a visitor has no account that could write
    if method not in ("GET", "HEAD"):
        raise Fault(403, f"{HEADER}: a reader only reads")
    return Visitor(caller.service, "", "read", "", OUTSIDER, described(header))


def described(header: str) -> Reader:
    """The reader that a header describes. Raises 400."""
    try:
        return Reader.model_validate_json(header)
    except (ValidationError, RecursionError) as error:
        raise Fault(400, f'{HEADER}: expected JSON like {{"claims": {{"staff": true}}}}') from error


def _reader(caller: Caller, organization: str, share_key: str | None) -> Reader | None:
    """As whom a caller reads what an organization publishes: by header, or with a key where they are no member; else None."""
    if isinstance(caller, Visitor) and caller.reader is not None:
        return caller.reader.model_copy(update={"shareKey": share_key}) if share_key else caller.reader
    return Reader(shareKey=share_key) if share_key and not is_member(caller, organization) else None


def reader(caller: Caller, organization: str, site: str, share_key: str | None) -> Caller:
    """Who reads a site: the caller, or a guest where they get into the site as a reader."""
    who, data = _reader(caller, organization, share_key), caller.store.find("site", site)
    if who is None or data is None or data["organization"] != organization or not _gets_in(caller, who, Gate.of(caller.store, data)):
        return caller
    return visiting(caller, organization, reader=who)


def _gets_in(caller: Caller, who: Reader, gate: Gate) -> bool:
    """Whether a reader gets into a site; whoever brings nothing but a key needs one that is good, also where the site is public."""
    return gate.opens(who) and (isinstance(caller, Visitor) or gate.has_key(who.shareKey))


def sites_reader(caller: Caller, organization: str) -> Caller:
    """Who lists the sites of an organization: a reader sees those they get into."""
    who = _reader(caller, organization, None)
    known = who is not None and caller.store.find("organization", organization) is not None
    return visiting(caller, organization, reader=who) if known else caller


def space_reader(caller: Caller, space: str, share_key: str | None) -> Caller:
    """Who reads a space: the caller, or a guest where they get to it through a site, or by its own visibility."""
    data = caller.store.find("space", space)
    who = _reader(caller, data["organization"], share_key) if data is not None and not is_deleted(data) else None
    if data is None or who is None:
        return caller
    by_itself = isinstance(caller, Visitor) and not who.agent and opened(str(data.get("visibility", "private")), who, has_key=False)
    return visiting(caller, data["organization"], reader=who) if by_itself or _shows(caller, who, data) else caller


def _shows(caller: Caller, who: Reader, space: Object) -> bool:
    """Whether a site that the reader gets into shows them the space."""
    placed = [data for data in caller.store.select("site-space", organization=space["organization"]) if data["_space"] == space["id"]]
    guest = visiting(caller, space["organization"], reader=who)
    views = {site: shown(guest, site) for site in dict.fromkeys(data["site"] for data in placed)}
    return any(_gets_in(caller, who, views[data["site"]].gate) and views[data["site"]].site_space(data) for data in placed)


def spec_reader(caller: Caller, organization: str, slug: str) -> Caller:
    """Who reads an OpenAPI specification: the caller, or a guest where it is public."""
    who = _reader(caller, organization, None)
    specs = caller.store.select("openapi", organization=organization) if who is not None and not who.agent else []
    public = any(spec["slug"] == slug and spec["visibility"] == "public" for spec in specs)
    return visiting(caller, organization, reader=who) if public else caller


def shown(caller: Caller, site: str) -> Shown:
    """What a caller sees of a site they get into: a reader a part of it, a member all."""
    data = caller.store.find("site", site)
    assert data is not None
    return Shown(caller.store, data, caller.reader if isinstance(caller, Visitor) else None)


def is_member(caller: Caller, organization: str) -> bool:
    """Whether the caller is a member of an organization who is not disabled there."""
    member = {} if caller.user is None else caller.store.find("member", f"{organization}:{caller.user}")
    return member is not None and not member.get("disabled")
