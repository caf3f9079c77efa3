"""Putting in what exists beforehand: objects as the service has them, ids included, lists in their order.

The fields of each list are declared in `seed_fields`; here is what they refer to, and how the service stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from reconciler.sandbox.bodies import SiteCreate
from reconciler.sandbox.content import revisions
from reconciler.sandbox.content.tree import collection_container, new_space
from reconciler.sandbox.integrations.integrations import KIND, publish
from reconciler.sandbox.integrations.publishing import Publish
from reconciler.sandbox.organization.levels import GRANTS, granted_to
from reconciler.sandbox.routes.sites import structure_site
from reconciler.sandbox.seed_entries import SeedError as SeedError, SeedProblem, entries
from reconciler.sandbox.seed_fields import (
    Collection,
    Integration,
    Member,
    Organization,
    Page,
    Provider,
    Site,
    SiteSpace,
    Space,
    Specification,
    Team,
    Token,
)
from reconciler.sandbox.service import Caller, Fault, Service
from reconciler.sandbox.sites.structure import free_path, level, new_site_space, row
from reconciler.sandbox.store import Object, Store


class Unfit(Exception):
    """An entry does not fit what exists. `field`: of the entry; `missing`: the id of what does not exist."""

    def __init__(self, field: str, message: str, *, missing: str = "") -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.missing = field, missing


def seed(db: Path, document: Mapping[str, Any]) -> None:
    """Add the objects of a seed document to a file, which is made where it does not exist. Raises `SeedError`, then nothing was added."""
    entries(document)  # nothing is created for a seed whose form is wrong
    store = Store(db)
    try:
        plant(store, document)
    except BaseException:
        store.discard()
        raise
    store.close()


def plant(store: Store, document: Mapping[str, Any]) -> None:
    """The same for a store that is open."""
    problems: list[SeedProblem] = []
    refused: set[str] = set()
    with store.write():
        for path, entry in entries(document):
            try:
                PLANTERS[type(entry)](store, entry)
            except Unfit as error:
                refused.add(str(getattr(entry, "id", "")))
                # What lacks only an entry that was refused itself has no mistake of its own.
                if not error.missing or error.missing not in refused:
                    problems.append(SeedProblem((*path, error.field), str(error)))
        if problems:
            raise SeedError(*problems)


def _fresh(store: Store, kind: str, id: str) -> None:
    if store.find(kind, id) is not None:
        raise Unfit("id", f"{id} already exists")


def _owned(store: Store, organization: str) -> None:
    if store.find("organization", organization) is None:
        raise Unfit("organization", f"there is no organization {organization}", missing=organization)


def _organization(store: Store, entry: Organization) -> None:
    _fresh(store, "organization", entry.id)
    organization = {
        "id": entry.id,
        "title": entry.title,
        "createdAt": store.stamp(),
        "hostname": entry.id.lower().replace("_", "-")[:32],
        "mergeRules": {"type": "none"},
        **entry.model_dump(exclude={"createdAt", "hostname", "mergeRules", "billing", "blocked"}),
        **entry.given(),
    }
    store.add("organization", entry.id, "organizations", organization)


def _member(store: Store, entry: Member) -> None:
    _owned(store, entry.organization)
    key = f"{entry.organization}:{entry.id}"
    if store.find("member", key) is not None:
        raise Unfit("id", f"{entry.id} is a member already")
    member = {
        "_pk": key,
        "_organization": entry.organization,
        "id": entry.id,
        "email": entry.email,
        "displayName": entry.displayName or entry.email.split("@")[0] or entry.id,
        "role": entry.role,
        "disabled": entry.disabled,
        "joinedAt": store.stamp(),
    }
    store.add("member", entry.organization, f"members:{entry.organization}", member)


def _token(store: Store, entry: Token) -> None:
    mine = [member["_organization"] for member in store.select("member") if member["id"] == entry.member]
    if not mine:
        raise Unfit("member", f"there is no member {entry.member}", missing=entry.member)
    if store.token(entry.token) is not None:
        raise Unfit("token", "it already exists")
    store.add_token(entry.token, entry.member, mine[0], entry.access)


def _within(store: Store, entry: Collection | Space) -> str:
    """The container of a collection or a space."""
    _owned(store, entry.organization)
    if entry.parent is not None:
        collection = store.find("collection", entry.parent)
        if collection is None or collection["organization"] != entry.organization:
            raise Unfit("parent", f"there is no collection {entry.parent} before it", missing=entry.parent)
    return collection_container(entry.organization, entry.parent)


def _collection(store: Store, entry: Collection) -> None:
    _fresh(store, "collection", entry.id)
    container = _within(store, entry)
    collection = {"title": entry.title, "defaultLevel": None, **entry.given("parent", "grants", "createdBy")}
    collection |= {"parent": entry.parent} if entry.parent else {}
    collection[GRANTS] = _grants(store, entry)
    store.add("collection", entry.organization, container, collection)


def _space(store: Store, entry: Space) -> None:
    _fresh(store, "space", entry.id)
    container = _within(store, entry)
    space = new_space(store, entry.organization, entry.title, id=entry.id, parent=entry.parent)
    space |= entry.given("parent", "pages", "files", "variables", "changeRequests", "comments", "grants", "createdBy")
    space[GRANTS] = _grants(store, entry)
    given = entry.model_fields_set
    if "pages" in given:
        space["_pages"] = _pages(store, entry.pages)
    if "files" in given:
        space["_files"] = [{"id": store.new_id("fil"), **file.given()} for file in entry.files]
    if "variables" in given:
        space["_variables"] = entry.variables
    store.add("space", entry.organization, container, space)
    for request in entry.changeRequests:
        _of_member(store, entry, "changeRequests", request.createdBy)
        revisions.propose(store, space, request.createdBy, {"subject": request.subject, **request.given("createdBy")})
    for comment in entry.comments:
        _of_member(store, entry, "comments", comment.postedBy)
        row, target = revisions.comments_of(entry.id), {"space": entry.id, "revision": space["revision"]}
        about = {"id": store.new_id("cmt"), "target": target, "body": {"markdown": comment.markdown}, "postedAt": store.stamp()}
        hidden = {"_by": comment.postedBy, "_row": row, "_reactions": []}
        store.add(
            revisions.COMMENT, entry.organization, row, {**about, "status": "open", **comment.given("markdown", "postedBy"), **hidden}
        )
    if entry.comments:
        revisions.recount(store, space)


def _grants(store: Store, entry: Collection | Space) -> list[Object]:
    """What people and teams were given; of somebody who is named, that counts and not that they created it."""
    for grant in entry.grants:
        if grant.member is not None:
            _of_member(store, entry, "grants", grant.member)
        elif (team := store.find("team", str(grant.team))) is None or team["organization"] != entry.organization:
            raise Unfit("grants", f"there is no team {grant.team}", missing=str(grant.team))
    if entry.createdBy is not None:
        _of_member(store, entry, "createdBy", entry.createdBy)
    given = [grant.model_dump(exclude_none=True) for grant in entry.grants]
    return given + ([] if any(grant.member == entry.createdBy for grant in entry.grants) else granted_to(entry.createdBy))


def _of_member(store: Store, entry: Collection | Space | Team, field: str, member: str) -> None:
    if store.find("member", f"{entry.organization}:{member}") is None:
        raise Unfit(field, f"there is no member {member}", missing=member)


def _pages(store: Store, pages: list[Page]) -> list[Object]:
    """The pages of a space, each with an id and with those below it."""
    return [{"id": store.new_id("pag"), "type": page.type, **page.given("pages"), "pages": _pages(store, page.pages)} for page in pages]


def _team(store: Store, entry: Team) -> None:
    _fresh(store, "team", entry.id)
    _owned(store, entry.organization)
    roles = {member.id: member.role for member in entry.members}
    for user in roles:
        _of_member(store, entry, "members", user)
    people = {"_members": list(roles), "_roles": roles, "_owner": "nobody"}
    team = {"title": entry.title, "createdAt": store.stamp(), **entry.given("members"), **people}
    store.add("team", entry.organization, f"teams:{entry.organization}", team)


def _site(store: Store, entry: Site) -> None:
    _fresh(store, "site", entry.id)
    _owned(store, entry.organization)
    caller = Caller(Service(store, None), None, "write")
    site = structure_site(caller, entry.organization, SiteCreate(title=entry.title))
    store.remove("site", site["id"])
    site |= entry.given("siteSpaces", "sectionGroups", "sections")
    store.add("site", entry.organization, f"sites:{entry.organization}", site)
    if entry.siteSpaces and entry.sections:
        raise Unfit("siteSpaces", "a site with sections has its spaces in them")
    for group in entry.sectionGroups:
        _fresh(store, "group", group.id)
        _part_of_site(store, site, "group", group.given())
    for number, section in enumerate(entry.sections):
        taken = store.section_paths(site["id"])
        data = {"title": section.title, "path": free_path(section.title, taken), "default": number == 0, **section.given("siteSpaces")}
        if data["path"] in taken:
            raise Unfit("sections", f"path {data['path']} is taken")
        data["id"] = section.id or store.new_id("sitesc")
        _fresh(store, "section", data["id"])
        _part_of_site(store, site, "section", data)
        _site_spaces(store, site, section.siteSpaces, data["id"])
    _site_spaces(store, site, entry.siteSpaces, None)


def _part_of_site(store: Store, site: Object, kind: str, data: Object) -> None:
    """Add a section or a group."""
    group = data.get("sectionGroup")
    around = store.find("group", group) if group is not None else None
    if group is not None and (around is None or around["site"] != site["id"]):
        raise Unfit("sections" if kind == "section" else "sectionGroups", f"there is no group {group} before it", missing=group)
    kept = {name: value for name, value in data.items() if value is not None}
    store.add(kind, site["organization"], level(site["id"], group), kept | {"organization": site["organization"], "site": site["id"]})


def _site_spaces(store: Store, site: Object, entries: list[SiteSpace], section: str | None) -> None:
    for entry in entries:
        space = store.find("space", entry.space)
        if space is None or space["organization"] != site["organization"]:
            raise Unfit("siteSpaces", f"there is no space {entry.space}", missing=entry.space)
        if entry.id:
            _fresh(store, "site-space", entry.id)
        added = new_site_space(store, site, space, section)
        store.remove("site-space", added["id"])
        store.add("site-space", site["organization"], row(site["id"], section), added | entry.given("space"))


def _openapi(store: Store, entry: Specification) -> None:
    organization, id = entry.organization, entry.id or store.new_id("spec")
    _owned(store, organization)
    _fresh(store, "openapi", id)
    taken = {known["slug"] for known in store.select("openapi", organization=organization)}
    slug = entry.slug or free_path(id, taken)
    if slug in taken:
        raise Unfit("slug", f"{slug} is taken")
    spec = {
        "createdAt": store.stamp(),
        "updatedAt": store.stamp(),
        "visibility": entry.visibility,
        **entry.given("file"),
        "id": id,
        "slug": slug,
        "_started": store.now().timestamp(),
        "_file": entry.file,  # a document that was given: processing ends well
    }
    store.add("openapi", organization, f"openapi:{organization}", spec)


def _saml(store: Store, entry: Provider) -> None:
    _fresh(store, "saml", entry.id)
    _owned(store, entry.organization)
    provider = {"entityID": entry.id, **entry.model_dump(exclude={"entityID", "defaultTeam"}), **entry.given("defaultTeam")}
    provider |= {"createdAt": store.stamp(), "status": "active"}
    if entry.defaultTeam is not None:
        team = store.find("team", entry.defaultTeam)
        if team is None or team["organization"] != entry.organization:
            raise Unfit("defaultTeam", f"there is no team {entry.defaultTeam}", missing=entry.defaultTeam)
        provider["_team"] = team["id"]
    store.add("saml", entry.organization, f"saml:{entry.organization}", provider)


def _integration(store: Store, entry: Integration) -> None:
    _owned(store, entry.organization)
    if store.find(KIND, entry.name) is not None:
        raise Unfit("name", f"{entry.name} already exists")
    body = entry.model_dump(exclude_unset=True, exclude={"name", "id"})
    try:
        publish(Caller(Service(store, None), None, "write"), entry.name, Publish.model_validate({"title": entry.name, **body}))
    except ValidationError as error:
        wrong = error.errors()[0]
        raise Unfit(str(wrong["loc"][0]), wrong["msg"]) from error
    except Fault as error:
        raise Unfit("name", error.message) from error


PLANTERS: Final[Mapping[type[Any], Callable[[Store, Any], None]]] = {
    Organization: _organization,
    Member: _member,
    Token: _token,
    Collection: _collection,
    Space: _space,
    Team: _team,
    Site: _site,
    Specification: _openapi,
    Provider: _saml,
    Integration: _integration,
}
