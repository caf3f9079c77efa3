"""A copy of organizations that another service showed: its answers to GETs become the objects of a sandbox, with the same ids.

    GET /orgs/{o}/sites               the sites, newest first          ->  site rows in `sites:{o}`
    GET /orgs/{o}/sites/{s}/sections  the sections with their variants ->  section and site space rows
    GET /spaces/{s}/content/pages     the tree of pages                ->  `_pages` of the space

What the sandbox works out for itself (`urls`, `permissions`, counts, what is nested) is left out; where the other service shows another
value than the sandbox would, that value is kept in a field that begins with `_`, and the sandbox shows it until a write changes it.

What members were given is not shown by itself: where an answer about a member has another permission in a space than the levels give them,
the copy gives it to the member at that space.

Premises. Only lists tell an order. No answer says how collections and spaces are mixed in one row, so in a copy the collections come
first. A level of sections and groups is put together from two lists: a group comes where its first section does.

In: decoded answers by path, without `/v1` and without queries, the pages of a list joined. Out: an export. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit, urlunsplit

from reconciler.sandbox.content.tree import collection_container
from reconciler.sandbox.faults.book import set_rules
from reconciler.sandbox.faults.rules import VERSION, Forbidden
from reconciler.sandbox.file import NotASandbox
from reconciler.sandbox.integrations import integrations
from reconciler.sandbox.integrations.specs import COMPLETE, RESULTS
from reconciler.sandbox.organization.levels import GRANTS, Levels, SpaceCounts
from reconciler.sandbox.service import RANKS
from reconciler.sandbox.sites.structure import level, row
from reconciler.sandbox.snapshot import Everything, restore
from reconciler.sandbox.store import STEP, Object, Store
from reconciler.sandbox.workflow import translations

COMPUTED: Final = ("object", "urls", "permissions")


class CopiedRows:
    """The rows of a copy, as they come. `base`: the URL of the other service, without `/v1`; `paths`: those of all its answers."""

    def __init__(self, base: str, paths: Iterable[str]) -> None:
        self.base, self._paths = base.rstrip("/"), frozenset(paths)
        self.rows: dict[tuple[str, str], Object] = {}
        self.groups: dict[str, list[Object]] = {}
        self._last: dict[str, float] = {}
        self._levels: dict[str, Levels] = {}

    def add(self, kind: str, organization: str, container: str, data: Object) -> Object:
        """Put an object at the end of its container; one that another answer showed already is left as it is."""
        id = str(data.get("_pk") or data["id"])
        if (kind, id) not in self.rows:
            position = self._last[container] = self._last.get(container, 0.0) + STEP
            entry = {"kind": kind, "id": id, "organization": organization, "container": container, "position": position, "data": data}
            self.rows[kind, id] = entry
        kept: Object = self.rows[kind, id]["data"]
        return kept

    def data(self, kind: str, id: str) -> Object | None:
        entry = self.rows.get((kind, id))
        return None if entry is None else entry["data"]

    def of(self, kind: str, organization: str) -> list[Object]:
        """The objects of a kind that an organization has."""
        return [entry["data"] for (of, _), entry in self.rows.items() if of == kind and entry["organization"] == organization]

    def levels(self, organization: str) -> Levels:
        """What members may do, once collections and teams were kept."""
        if organization not in self._levels:
            self._levels[organization] = Levels(self.of("collection", organization), self.of("team", organization))
        return self._levels[organization]

    def count_spaces(self) -> None:
        """Keep how many spaces each member reaches beyond those that the copy knows of; fewer as a negative number."""
        for organization in [id for kind, id in self.rows if kind == "organization"]:
            spaces = [space for space in self.of("space", organization) if not space.get("deletedAt")]
            counts = SpaceCounts(self.levels(organization), spaces)
            for member in self.of("member", organization):
                if "_spaces" in member:
                    member["_spaces"] -= counts.of(member)

    def with_sections(self, organization: str, site: str) -> bool:
        """Whether the sections of a site are among the answers."""
        return f"/orgs/{quote(organization)}/sites/{quote(site)}/sections" in self._paths

    def drop_without_site(self) -> None:
        """Leave out what is in a site that no answer shows."""
        self.rows = {key: row for key, row in self.rows.items() if "site" not in row["data"] or ("site", row["data"]["site"]) in self.rows}

    def export(self) -> Object:
        """The copy in the form of an export, in its order."""
        rows = sorted(self.rows.values(), key=lambda entry: (entry["kind"], entry["container"], entry["position"], entry["id"]))
        return {"tokens": [], "objects": rows}


def copied(base: str, answers: Mapping[str, Any]) -> Object:
    """The export of everything that these answers of the service at `base` show. An answer of which nothing is kept is passed over."""
    copy = _copy(base, answers)
    return {"origin": copy.base, **copy.export()}


def _copy(base: str, answers: Mapping[str, Any]) -> CopiedRows:
    copy = CopiedRows(base, answers)
    for pattern, keep in KEEPERS:
        for path, body in answers.items():
            holes = pattern.fullmatch(path)
            if holes is not None:
                keep(copy, body, **{name: unquote(value) for name, value in holes.groupdict().items()})
    copy.drop_without_site()
    copy.count_spaces()
    return copy


def write_copy(db: Path, export: Object, *, refused: Iterable[str] = ()) -> int:
    """Make a new sandbox of a copy, and say how many objects it holds. Its identity follows from the copy. Raises `NotASandbox`.

    `refused`: paths that the other service did not answer, without /v1. The copy refuses them too: what it lacks may exist.

    Nothing is left where it fails.
    """
    store = Store(db)
    try:
        if not store.created:
            raise NotASandbox(f"{db} exists; a copy needs a new file")
        with store.write():
            restore(store, Everything.model_validate(export))
            # the ids of two copies of one state mean the same
            digest = sha256(json.dumps(export, sort_keys=True).encode()).hexdigest()[:32]
            store.set_meta("identity", digest)
            store.set_meta("seeded", store.stamp())
        set_rules(store, [Forbidden(fault="forbidden", operation=f"GET {VERSION}{escape(unquote(path))}") for path in refused])
        count = store.count_all()
    except BaseException:
        store.close()
        if store.created:
            for file in (db, *db.parent.glob(f"{db.name}-*")):
                file.unlink(missing_ok=True)
        raise
    store.close()
    return count


def _kept(shown: Mapping[str, Any], *without: str) -> Object:
    """The fields of an answer that the sandbox does not work out, with the permissions that an admin would not lack."""
    kept = {name: value for name, value in shown.items() if name not in (*COMPUTED, *without)}
    # A copy is read with the rights of an admin, and answers with the permissions of the token that read the original.
    refused = {name: False for name, allowed in (shown.get("permissions") or {}).items() if allowed is False}
    return kept | ({"_permissions": refused} if refused else {})


# -- Organizations and people ------------------------------------------------------------------------------------------------------


def _organization(copy: CopiedRows, body: Object, organization: str) -> None:
    kept = _kept(body)
    logo = (body.get("urls") or {}).get("logo")
    if logo:
        # the sandbox shows the end of where a logo came from, so the end is what has to be known
        kept["_logo"] = (parse_qs(urlsplit(str(logo)).query).get("from") or [str(logo)])[0]
    copy.add("organization", organization, "organizations", kept)


def _members(copy: CopiedRows, items: list[Object], organization: str) -> None:
    for shown in reversed(items):
        user = shown.get("user") or {}
        member: Object = {name: shown[name] for name in ("id", "role", "joinedAt", "lastSeenAt", "disabled") if name in shown}
        member |= {"_pk": f"{organization}:{shown['id']}", "_organization": organization, "_teams": int(shown.get("teams") or 0)}
        member |= {"_sso": True} if shown.get("sso") else {}
        member |= {"_spaces": shown["spaces"]} if isinstance(shown.get("spaces"), int) else {}
        member |= {name: user.get(name) or "" for name in ("email", "displayName")}
        copy.add("member", organization, f"members:{organization}", member)


def _teams(copy: CopiedRows, items: list[Object], organization: str) -> None:
    for shown in reversed(items):
        team = _kept(shown, "members", "spaces") | {"organization": organization, "_members": [], "_owner": "nobody"}
        copy.add("team", organization, f"teams:{organization}", team | {"_others": int(shown.get("members") or 0)})


def _teams_of(copy: CopiedRows, items: list[Object], organization: str, member: str) -> None:
    known = copy.data("member", f"{organization}:{member}")
    for shown in items:
        team = copy.data("team", str((shown.get("team") or {}).get("id")))
        if known is not None and team is not None:
            team["_members"].append(member)
            team["_others"] = max(0, team["_others"] - 1)
            team.setdefault("_roles", {})[member] = str((shown.get("member") or {}).get("role") or "read")
            known["_teams"] = max(0, known["_teams"] - 1)


def _given_to(copy: CopiedRows, items: list[Object], organization: str, member: str) -> None:
    """What a member was given, as far as the levels do not give it to them."""
    known = copy.data("member", f"{organization}:{member}")
    for shown in items:
        space, permission = copy.data("space", str((shown.get("space") or {}).get("id"))), shown.get("permission")
        if known is not None and space is not None and permission in RANKS and copy.levels(organization).level(known, space) != permission:
            space.setdefault(GRANTS, []).append({"member": member, "role": permission})


def _saml(copy: CopiedRows, items: list[Object], organization: str) -> None:
    for shown in items:
        provider = _kept(shown, "service", "defaultTeam") | {"organization": organization}
        if isinstance(shown.get("defaultTeam"), Mapping):
            provider["_team"] = shown["defaultTeam"]["id"]
        copy.add("saml", organization, f"saml:{organization}", provider)


def _instructions(copy: CopiedRows, body: Object, organization: str) -> None:
    copy.add("agent-instructions", organization, f"agent-instructions:{organization}", {"id": organization, **_kept(body)})


# -- Content -----------------------------------------------------------------------------------------------------------------------


def _collections(copy: CopiedRows, items: list[Object], organization: str) -> None:
    for shown in items:
        copy.add("collection", organization, collection_container(organization, shown.get("parent")), _kept(shown))


def _spaces(copy: CopiedRows, items: list[Object], **_: str) -> None:
    for shown in items:
        # the list of a member has each space with the member's level
        space = shown["space"] if isinstance(shown.get("space"), Mapping) else shown
        organization = str(space["organization"])
        copy.add("space", organization, collection_container(organization, space.get("parent")), _kept(space) | {"_pages": []})


def _space(copy: CopiedRows, body: Object, **_: str) -> None:
    _spaces(copy, [body])


def _pages(copy: CopiedRows, body: Object, space: str) -> None:
    kept = copy.data("space", space)
    if kept is not None:
        kept["_pages"] = [_page(page) for page in body.get("pages") or []]


def _page(shown: Mapping[str, Any]) -> Object:
    return {name: value for name, value in shown.items() if name != "urls"} | {"pages": [_page(page) for page in shown.get("pages") or []]}


def _text(copy: CopiedRows, body: Object, space: str, page: str) -> None:
    waiting = list((copy.data("space", space) or {}).get("_pages", []))
    while waiting:
        kept = waiting.pop()
        waiting += kept["pages"]
        if kept.get("id") == page and body.get("markdown"):
            kept["markdown"] = body["markdown"]


# -- Sites -------------------------------------------------------------------------------------------------------------------------


def _sites(copy: CopiedRows, items: list[Object], organization: str) -> None:
    for shown in reversed(items):
        site = _kept(shown, "siteSpaces", "proxy") | {"organization": organization}
        if isinstance(shown.get("proxy"), Mapping):
            site["_proxy"] = shown["proxy"].get("origin")
        named = quote(str(site.get("basename") or site["id"]))
        published = (shown.get("urls") or {}).get("published")
        if isinstance(published, str) and published != f"{copy.base}/published/{named}":
            # a basename may change in the copy, and the URL changes with it where it ends with the basename
            site["_published"] = published.removesuffix("/").removesuffix(f"/{named}")
            site["_named"] = site["_published"] != published.removesuffix("/")
        copy.add("site", organization, f"sites:{organization}", site)


def _site(copy: CopiedRows, body: Object, organization: str, site: str) -> None:
    _sites(copy, [body], organization)


def _schema(copy: CopiedRows, body: Object, organization: str, site: str) -> None:
    kept = copy.data("site", site)
    if kept is not None:
        kept["_adaptiveSchema"] = {name: value for name, value in body.items() if name != "object"}


def _look(copy: CopiedRows, body: Object, organization: str, site: str) -> None:
    kept = copy.data("site", site)
    look = (body.get("customizations") or {}).get("site")
    if kept is not None and isinstance(look, Mapping):
        kept["_look"] = look


def _groups(copy: CopiedRows, items: list[Object], organization: str, site: str) -> None:
    """Groups alone; where the sections of the site were read too, both come in one order."""
    copy.groups[site] = items
    if not copy.with_sections(organization, site):
        _structure(copy, [], organization, site)


def _sections(copy: CopiedRows, items: list[Object], organization: str, site: str) -> None:
    _structure(copy, items, organization, site)
    for section in items:
        _variants(copy, section.get("siteSpaces") or [], organization, site)


def _structure(copy: CopiedRows, sections: list[Object], organization: str, site: str) -> None:
    """The sections and groups of a site in one order a level."""
    groups = copy.groups.get(site, [])
    first = _first_sections(sections, groups)
    parts = [("section", section, float(rank)) for rank, section in enumerate(sections)]
    parts += [("group", group, first[group["id"]]) for group in groups]
    for kind, shown, _ in sorted(parts, key=lambda part: part[2]):
        data = _kept(shown, "siteSpaces" if kind == "section" else "children") | {"organization": organization, "site": site}
        copy.add(kind, organization, level(site, shown.get("sectionGroup")), data)


def _first_sections(sections: list[Object], groups: list[Object]) -> dict[str, float]:
    """Where each group comes: just before the first section in it; a group without one just after the group before it in the list."""
    outer = {group["id"]: group.get("sectionGroup") for group in groups}
    first: dict[str, float] = {}
    for rank, section in enumerate(sections):
        group = section.get("sectionGroup")
        while group is not None and group not in first:
            first[group], group = rank - 0.5, outer.get(group)
    last = -1.0
    for number, group in enumerate(groups, start=1):
        last = first.setdefault(group["id"], last + number * 1e-6)
    return first


def _variants(copy: CopiedRows, items: Iterable[Object], organization: str, site: str) -> None:
    for shown in items:
        space = shown.get("space")
        if isinstance(space, Mapping):
            _spaces(copy, [dict(space)])
        kept = _kept(shown, "hasAdvancedCustomizationFeature", "space", "title") | {"organization": organization, "site": site}
        kept["_space"] = space["id"] if isinstance(space, Mapping) else ""
        copy.add("site-space", organization, row(site, shown.get("section")), kept)


def _links(copy: CopiedRows, items: list[Object], organization: str, site: str) -> None:
    for shown in reversed(items):
        query = parse_qs(urlsplit(str((shown.get("urls") or {}).get("published", ""))).query)
        secret = next((value for values in query.values() for value in values), sha256(shown["id"].encode()).hexdigest()[:20])
        link = _kept(shown) | {"organization": organization, "site": site, "_secret": secret}
        copy.add("share-link", organization, f"links:{site}", link)


# -- Work of the service -----------------------------------------------------------------------------------------------------------


def _openapi(copy: CopiedRows, items: list[Object], organization: str) -> None:
    for shown in items:
        spec = _kept(shown, "processingState", *RESULTS) | {"organization": organization, "_started": _seconds(shown.get("updatedAt"))}
        if shown.get("processingState") == "complete":
            spec["_shown"] = {name: shown[name] for name in RESULTS if name in shown}
            spec["_started"] = _seconds(shown.get("lastProcessedAt") or shown.get("updatedAt")) - COMPLETE
        copy.add("openapi", organization, f"openapi:{organization}", spec)


def _translations(copy: CopiedRows, items: list[Object], organization: str) -> None:
    shown_only = ("status", "result", "stats")
    for shown in items:
        kept = _kept(shown, *shown_only) | {"organization": organization, "_ended": []}
        kept["_shown"] = {name: shown[name] for name in shown_only if name in shown}
        copy.add(translations.KIND, organization, f"{translations.KIND}:{organization}", kept)


def _integrations(copy: CopiedRows, items: list[Object]) -> None:
    for shown in items:
        owner = shown.get("owner") or {}
        kept = _kept(shown, "owner", "previewImages") | {"_pk": shown["name"], "_organization": owner.get("id", "")}
        kept |= {"_runtime": "", "_icon": "icon" in (shown.get("urls") or {}), "_previews": len(shown.get("previewImages") or [])}
        if copy.data("organization", str(owner.get("id"))) is None:
            kept["_owner"] = owner
        copy.add(integrations.KIND, str(owner.get("id", "")), "integrations", kept)


def _installations(copy: CopiedRows, items: list[Object], integration: str) -> None:
    for shown in items:
        organization = (shown.get("target") or {}).get("organization", "")
        kept = _kept(shown, "spaces", "target") | {"organization": organization, "_integration": integration}
        copy.add(integrations.INSTALLATION, organization, f"{integrations.INSTALLATION}:{integration}", kept)


def _seconds(stamp: Any) -> float:
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return 0.0


# -- What is kept of which answer, in the order in which one needs the other -------------------------------------------------------


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template)))


KEEPERS: Final[tuple[tuple[re.Pattern[str], Callable[..., None]], ...]] = tuple(
    (_pattern(template), keep)
    for template, keep in (
        ("/orgs/{organization}", _organization),
        ("/orgs/{organization}/members", _members),
        ("/orgs/{organization}/teams", _teams),
        ("/orgs/{organization}/members/{member}/teams", _teams_of),
        ("/orgs/{organization}/saml", _saml),
        ("/orgs/{organization}/agent-instructions", _instructions),
        ("/orgs/{organization}/collections", _collections),
        ("/collections/{collection}/spaces", _spaces),
        ("/spaces/{space}", _space),
        ("/orgs/{organization}/members/{member}/spaces", _spaces),
        ("/orgs/{organization}/sites", _sites),
        ("/orgs/{organization}/sites/{site}", _site),
        ("/orgs/{organization}/sites/{site}/adaptive-schema", _schema),
        ("/orgs/{organization}/sites/{site}/published", _look),
        ("/orgs/{organization}/sites/{site}/section-groups", _groups),
        ("/orgs/{organization}/sites/{site}/sections", _sections),
        ("/orgs/{organization}/sites/{site}/site-spaces", _variants),
        ("/orgs/{organization}/sites/{site}/share-links", _links),
        # Spaces are known from sites too, and levels from all collections and teams.
        ("/orgs/{organization}/members/{member}/spaces", _given_to),
        ("/orgs/{organization}/openapi", _openapi),
        ("/orgs/{organization}/translations", _translations),
        ("/integrations", _integrations),
        ("/integrations/{integration}/installations", _installations),
        ("/spaces/{space}/content/pages", _pages),
        ("/spaces/{space}/content/page/{page}", _text),
    )
)


def text_path(space: str, page: str) -> str:
    """Where the text of a page is read."""
    return f"/spaces/{quote(space, safe='')}/content/page/{quote(page, safe='')}"


def wanted(answers: Mapping[str, Any], *, content: bool = False, max_pages: int = 0) -> list[str]:
    """What a copy shows beyond what a plan reads: trees of pages, the look of published sites; with `content` texts of so many pages."""
    copy = _copy("", answers)
    paths, texts = [], []
    for (kind, id), entry in copy.rows.items():
        if kind == "space" and not entry["data"].get("deletedAt"):
            tree = f"/spaces/{quote(id)}/content/pages"
            paths.append(tree)
            texts += [f"{text_path(id, page)}?format=markdown" for page in _documents(entry["data"]["_pages"])]
        if kind == "site" and entry["data"].get("published"):
            paths.append(f"/orgs/{quote(entry['organization'])}/sites/{quote(id)}/published")
    return paths + (texts[:max_pages] if content else [])


def _documents(pages: Iterable[Object]) -> Iterator[str]:
    for page in pages:
        if page.get("type") == "document":
            yield str(page["id"])
        yield from _documents(page["pages"])


# -- Stand-ins ---------------------------------------------------------------------------------------------------------------------


def without_secrets(export: Object) -> Object:
    """The same copy with stand-ins for e-mail addresses, share keys, certificates, and what URLs may contain of credentials.

    Titles stay. The same secret has the same stand-in in every copy, so that two copies can be compared.
    """
    return {**export, "objects": [{**entry, "data": _standing_in(entry["data"])} for entry in export["objects"]]}


def _standing_in(data: Object) -> Object:
    kept = {name: STAND_INS[name](value) if name in STAND_INS and isinstance(value, str) else value for name, value in data.items()}
    if "@" in str(kept.get("displayName", "")):
        kept["displayName"] = kept["email"].partition("@")[0]
    return kept


def _address(value: str) -> str:
    return f"person-{sha256(value.encode()).hexdigest()[:12]}@copy.invalid" if value else value


def _secret(value: str) -> str:
    return f"stand-in-{sha256(value.encode()).hexdigest()[:20]}"


def _bare_url(value: str) -> str:
    parts = urlsplit(value)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


STAND_INS: Final[Mapping[str, Callable[[str], str]]] = {
    "email": _address,
    "certificate": lambda value: "stand-in" if value else value,
    "_secret": _secret,
    "ssoURL": _bare_url,
    "sourceURL": _bare_url,
    "_proxy": _bare_url,
}
