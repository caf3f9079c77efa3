"""Who can read what, worked out from the objects alone: every object with its readers and their levels.

Readers are examples of people: `anyone` comes from the web and brings nothing, `anyone-with-the-address` knows where a site is, `link:ID`
holds the key of that share link, `visitor` is signed in and has no claims, `visitor:CONDITION` is signed in with claims for which the
condition is true, `agent` is an agent. All of them choose the claims that need no signature as they like. Of the organization's members,
`role:ROLE` has that role and was given nothing, `role:guest` has none, `person:ID` is a member whose level is not that of their role, and
`admin` is an admin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from reconciler.sandbox.organization.levels import ADMIN, Levels
from reconciler.sandbox.service import RANKS
from reconciler.sandbox.sites.conditions import UNSIGNED, example
from reconciler.sandbox.sites.pages import page_conditions
from reconciler.sandbox.sites.readers import Gate, Reader, is_deleted, is_marked, opened
from reconciler.sandbox.store import Object, Store

ANYONE, ADDRESS, VISITOR, AGENT = "anyone", "anyone-with-the-address", "visitor", "agent"
GENERAL: Final = {
    ANYONE: Reader(),
    ADDRESS: Reader(address=True),
    VISITOR: Reader(claims={}),
    AGENT: Reader(agent=True),
}
GUEST: Final = "guest"
ROLES: Final = RANKS[:-1]
"""The roles of members who are no admins, without guests."""
Conditions = frozenset[str]


Path = tuple[Gate, Conditions]
"""How an object is reached: the gate of its site, and the conditions on the way."""


@dataclass
class Audience:
    """The readers of one organization's objects. `asked`: conditions whose visitors are asked about for every object; `named`: further
    readers who are asked about, by name."""

    store: Store
    organization: Object
    asked: frozenset[Conditions] = frozenset()
    named: Mapping[str, Reader] = field(default_factory=dict)
    _passed: dict[tuple[str, Conditions], bool] = field(default_factory=dict)
    _read: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        id = self.organization["id"]
        self.sites = self.store.select("site", organization=id, newest=True)
        self.gates = {site["id"]: Gate.of(self.store, site) for site in self.sites}
        self.holders: dict[str, dict[str, Reader]] = {}
        for link in self.store.select("share-link", organization=id):
            self.holders.setdefault(link["site"], {})[f"link:{link['id']}"] = Reader(address=True, shareKey=link["_secret"])
        self.sections = {section["id"]: section for section in self.store.select("section", organization=id)}
        self.site_spaces = self.store.select("site-space", organization=id)
        self.around = {**self.sections, **{group["id"]: group for group in self.store.select("group", organization=id)}}
        self.spaces = {space["id"]: space for space in self.store.select("space", organization=id)}
        self.collections = self.store.select("collection", organization=id)
        self.levels = Levels(self.collections, self.store.select("team", organization=id))
        members = self.store.select("member", organization=id)
        self.members = {member["id"]: member for member in members if not member.get("disabled")}

    def entries(self) -> Iterator[Object]:
        """One entry for each object: its kind, id, title and readers."""
        yield self._entry("organization", self.organization, list(self._people()))
        for kind, data, paths in self.reached:
            if kind == "space" and is_deleted(data):
                readers = []
            elif kind == "space":
                readers = [*self._readers(paths, str(data.get("visibility", "private"))), *self._by_level(data)]
            elif kind == "collection":
                readers = list(self._by_level(data))
            elif kind == "openapi":
                by_role = [*(_read(f"role:{role}") for role in ROLES), {"reader": ADMIN, "level": ADMIN}]
                readers = [*self._readers([], data["visibility"]), *by_role]
            else:
                readers = self._readers(paths)
            yield self._entry(kind, data, readers)

    @cached_property
    def reached(self) -> list[tuple[str, Object, list[Path]]]:
        """Every object that somebody may read, by kind, with the paths on which readers of a site reach it."""
        objects: list[tuple[str, Object, list[Path]]] = [("site", site, [(self.gates[site["id"]], frozenset())]) for site in self.sites]
        for section in self.sections.values():
            gate = self.gates[section["site"]]
            draft = is_marked("draft", section, self.around)
            objects.append(("section", section, [] if draft else [(gate, gate.conditions(section))]))
        paths: dict[str, list[Path]] = {}
        for site_space in self.site_spaces:
            gate, space = self.gates[site_space["site"]], self.spaces.get(site_space["_space"])
            path = (gate, gate.conditions(self.sections.get(site_space.get("section", "")), site_space))
            visible = [] if space is None or is_deleted(space) or is_marked("draft", site_space, self.around) else [path]
            paths.setdefault(site_space["_space"], []).extend(visible)
            objects.append(("site-space", {"title": space["title"] if space else "", **site_space}, visible))
        objects += [("collection", collection, []) for collection in self.collections]
        objects += [("space", space, paths.get(space["id"], [])) for space in self.spaces.values()]
        specs = self.store.select("openapi", organization=self.organization["id"])
        return objects + [("openapi", {"title": spec["slug"], **spec}, []) for spec in specs]

    @cached_property
    def conditions(self) -> dict[str, Conditions]:
        """The conditions of visitors who are asked about, by the names of these."""
        every = dict.fromkeys(conditions for _, _, paths in self.reached for _, conditions in paths if conditions)
        for kind, data, paths in self.reached:
            of_pages = page_conditions(data.get("_pages") or []) if kind == "space" else ()
            every |= dict.fromkeys(conditions | own for gate, conditions in paths if gate.is_adaptive for own in of_pages)
        return {f"{VISITOR}:{joined(conditions)}": conditions for conditions in every}

    def visited(self, conditions: Conditions, kind: str, id: str) -> bool:
        """Whether a visitor for whom these conditions are true can read an object, whatever its own conditions are."""
        name, reader = _visitor(conditions)
        if reader is None or (kind, id) not in self._by_key:
            return False
        data, paths = self._by_key[kind, id]
        by_itself = kind == "space" and not is_deleted(data) and opened(str(data.get("visibility", "private")), reader, has_key=False)
        return by_itself or any(gate.opens(reader) and self.passes(name, reader, conditions) for gate, conditions in paths)

    def rank(self, user: str, kind: str, id: str) -> int:
        """What a member may do with a space or a collection, as an index of RANKS; -1 for nothing."""
        data, member = self._by_key.get((kind, id), ({}, []))[0], self.members.get(user)
        level = self.levels.access(data).of(member) if data and member is not None and not data.get("deletedAt") else None
        return RANKS.index(level) if level is not None else -1

    @cached_property
    def _by_key(self) -> dict[tuple[str, str], tuple[Object, list[Path]]]:
        return {(kind, data["id"]): (data, paths) for kind, data, paths in self.reached}

    def _entry(self, kind: str, data: Object, readers: list[Object]) -> Object:
        return {"kind": kind, "id": data["id"], "organization": self.organization["id"], "title": data["title"], "readers": readers}

    def _people(self) -> Iterator[Object]:
        """Members and ways to become one, with the role each has or gets."""
        organization = self.organization
        joins = [f"joins:{domain}" for domain in organization.get("emailDomains") or []]
        joins += ["joins:invite-link"] if organization.get("inviteLinks") else []
        for name in joins:
            yield {"reader": name, "level": organization.get("defaultRole") or GUEST}
        for provider in self.store.select("saml", organization=organization["id"]):
            yield {"reader": f"joins:saml:{provider['id']}", "level": provider.get("defaultRole") or GUEST}
        for member in self.members.values():
            yield {"reader": f"member:{member['id']}", "level": member["role"] or GUEST}

    def _by_level(self, data: Object) -> Iterator[Object]:
        """The members who reach a space or a collection: by role, and those whose level is another than that of their role."""
        access = self.levels.access(data)
        for role in (None, *ROLES, ADMIN):
            level = access.of_role(role)
            if level is not None:
                yield {"reader": role if role == ADMIN else f"role:{role or GUEST}", "level": level}
        for user in access.granted:
            member = self.members.get(user)
            if member is not None and access.of(member) != access.of_role(member["role"]):
                yield {"reader": f"person:{user}", "level": access.of(member)}

    def names(self, path: Path, asked: Iterable[Conditions]) -> list[str]:
        """Who reads what is reached on this path. `asked`: conditions whose visitors are asked about."""
        return [entry["reader"] for entry in self._readers([path], asked=asked)]

    def _readers(self, paths: list[Path], visibility: str = "private", asked: Iterable[Conditions] = ()) -> list[Object]:
        """Those who read an object on one of these paths, or by its own visibility."""
        population = {**GENERAL, **self.named}
        for gate, _ in paths:
            population |= self.holders.get(gate.site["id"], {})
        classes = dict.fromkeys([*(conditions for _, conditions in paths), *sorted({*self.asked, *asked}, key=sorted)])
        population |= {name: reader for name, reader in map(_visitor, classes) if reader is not None}
        audience = []
        for name, reader in population.items():
            by_itself = opened(visibility, reader, has_key=False) and not reader.agent
            if by_itself or any(gate.opens(reader) and self.passes(name, reader, conditions) for gate, conditions in paths):
                audience.append(_read(name))
        return audience

    @cached_property
    def url_readers(self) -> dict[str, Reader]:
        """Who asks for published URLs, by name: all know where the site is, and holders of links have the keys of this moment."""
        readers = {name: GENERAL[name] for name in (ADDRESS, VISITOR, AGENT)}
        for holders in self.holders.values():
            readers |= holders
        passing = {name: reader for name, reader in map(_visitor, self.conditions.values()) if reader is not None}
        return {**readers, **passing, **self.refused}

    @cached_property
    def refused(self) -> dict[str, Reader]:
        """Visitors for whom a condition does not hold, by name: without them nobody would see what a negated condition hides."""
        single = sorted({condition for conditions in self.conditions.values() for condition in conditions})
        visitors = [_visitor(frozenset({f"!({condition})"})) for condition in single]
        return {name: reader for name, reader in visitors if reader is not None and reader.claims}

    def reads(self, name: str, reader: Reader) -> frozenset[tuple[str, str]]:
        """The kind and id of every object that a reader can read who is not a member. `name`: the reader's, by which answers are kept."""
        if name not in self._read:
            self._read[name] = frozenset(
                (kind, data["id"])
                for kind, data, paths in self.reached
                if any(gate.opens(reader) and self.passes(name, reader, conditions) for gate, conditions in paths)
                or (kind == "space" and not is_deleted(data) and opened(str(data.get("visibility", "private")), reader, has_key=False))
            )
        return self._read[name]

    def passes(self, name: str, reader: Reader, conditions: Conditions) -> bool:
        """Whether a reader passes conditions, who chooses claims that need no signature as they like."""
        if not conditions or reader.agent:
            return True
        if (name, conditions) not in self._passed:
            signed = {claim: value for claim, value in (reader.claims or {}).items() if claim != UNSIGNED}
            # the search for claims tries thousands of combinations, and the same conditions are on many site spaces
            self._passed[name, conditions] = example(conditions, signed) is not None
        return self._passed[name, conditions]


def audience(store: Store, organization: str | None = None, asked: Iterable[Conditions] = ()) -> list[Object]:
    """Every object of one organization or of all, with who can read it."""
    organizations = [data for data in store.select("organization") if organization in (None, data["id"])]
    return [entry for data in organizations for entry in Audience(store, data, frozenset(asked)).entries()]


def _visitor(conditions: Conditions) -> tuple[str, Reader | None]:
    """A visitor for whom all of the conditions are true; None where there are no conditions, or where nobody can be one."""
    name = f"{VISITOR}:{joined(conditions)}"
    claims: Mapping[str, Any] | None = example(conditions) if conditions else None
    return name, None if claims is None else Reader(claims={key: value for key, value in claims.items() if key != UNSIGNED})


def joined(conditions: Conditions) -> str:
    """Several conditions as one."""
    return next(iter(conditions)) if len(conditions) == 1 else " && ".join(f"({condition})" for condition in sorted(conditions))


def _read(reader: str) -> Object:
    return {"reader": reader, "level": "read"}
