"""What a site is made of: sections and groups in one order a level, site spaces in one order a section, and the defaults among them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from reconciler.sandbox.service import Caller, Fault
from reconciler.sandbox.store import Object, Store


def level(site: str, group: str | None = None) -> str:
    """The row of sections and groups at the root of a site or in a group."""
    return f"group:{group}" if group else f"structure:{site}"


def row(site: str, section: str | None = None) -> str:
    """The row of site spaces in a section or at the root of a site."""
    return f"section:{section}" if section else f"spaces:{site}"


def published_url(base: str, site: Object) -> str:
    """Where a site is published: below `base`, by its basename where it has one; a copy of a site, where its original is."""
    name = quote(str(site.get("basename") or site["id"]))
    if "_published" not in site:
        return f"{base}/published/{name}"
    return f"{site['_published']}/{name}" if site.get("_named") else str(site["_published"])


def site_of(caller: Caller, organization: str, site: str) -> Object:
    caller.member(organization)
    return caller.get("site", site, organization)


def part(caller: Caller, organization: str, site: str, kind: str, id: str) -> Object:
    """A section, group, site space or share link of a site. Raises 404 for all others."""
    site_of(caller, organization, site)
    return caller.get(kind, id, organization, site)


def levels(store: Store, site: str) -> dict[str | None, list[tuple[str, Object]]]:
    """The sections and groups of a site by the group they are in, None at its root; each row in the order of its visitors."""
    rows: dict[str | None, list[tuple[str, Object]]] = {}
    for kind, part in store.in_site(site, "section", "group"):
        rows.setdefault(part.get("sectionGroup"), []).append((kind, part))
    return rows


def _tree(store: Store, site: str) -> list[tuple[str, Object]]:
    """The sections and groups of a site in the order of its visitors, what is in a group right after it."""
    rows = levels(store, site)
    walked: list[tuple[str, Object]] = []
    waiting = rows.get(None, [])[::-1]
    while waiting:
        walked.append(waiting.pop())
        if walked[-1][0] == "group":
            waiting += rows.get(walked[-1][1]["id"], [])[::-1]
    return walked


def sections(store: Store, site: str) -> list[Object]:
    """The sections of a site in the order of its visitors, those in groups where their group stands."""
    return [section for kind, section in _tree(store, site) if kind == "section"]


def groups(store: Store, site: str) -> list[Object]:
    """The groups of a site, each before those in it."""
    return [group for kind, group in _tree(store, site) if kind == "group"]


def variants(store: Store, site: str) -> dict[str | None, list[Object]]:
    """The site spaces of a site by their section, None for those at its root."""
    rows: dict[str | None, list[Object]] = {}
    for _, site_space in store.in_site(site, "site-space"):
        rows.setdefault(site_space.get("section"), []).append(site_space)
    return rows


def site_spaces(store: Store, site: str) -> list[Object]:
    """The site spaces of a site: those at its root, then those of its sections."""
    rows = variants(store, site)
    return [site_space for at in (None, *(section["id"] for section in sections(store, site))) for site_space in rows.get(at, [])]


PATHLESS = frozenset({"link", "computed"})
"""The types of pages that lead elsewhere or are made from something: they have no path, and nothing is below them."""


def slug(title: str) -> str:
    """A path from a title: lower case, hyphens."""
    # an accent is removed and its letter stays; a letter without such a form is lost: "Größe" gives "groe"
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:90] or "page"


def free_path(title: str, taken: set[str]) -> str:
    """The path of a title, with -2, -3 where it is taken."""
    base, number, path = slug(title), 1, slug(title)
    while path in taken:
        number += 1
        path = f"{base}-{number}"
    return path


def new_path(title: str, holder: Callable[[str], str | None], taken: Callable[[], set[str]]) -> str:
    """The path of a title; which paths are taken is read only where its first choice has a holder."""
    return slug(title) if holder(slug(title)) is None else free_path(title, taken())


def keep_path(path: str, taken: set[str]) -> str:
    """A path as it is, unless it is taken where it comes to."""
    return free_path(path, taken) if path in taken else path


def take_path(path: str, *, taken: bool) -> None:
    """Raise 400 where a sibling holds the path."""
    if taken:
        raise Fault(400, f"path: {path} is taken on its level")


def new_site_space(store: Store, site: Object, space: Object, section: str | None) -> Object:
    """Put a space into a section or at the root; the first in its row becomes the default."""
    siblings = store.select("site-space", container=row(site["id"], section))
    site_space: Object = {
        "id": store.new_id("sitesp"),
        "path": free_path(space["title"], {sibling["path"] for sibling in siblings}),
        # visitors of a row without a default would get nothing, so the first in it is always the default
        "default": not siblings,
        "site": site["id"],
        "organization": site["organization"],
        "_space": space["id"],
    }
    if section is not None:
        site_space["section"] = section
    return store.add("site-space", site["organization"], row(site["id"], section), site_space)


def default_section(store: Store, site: Object, *, wraps: bool) -> str | None:
    """The section that takes in what is put into a site without naming one; None for the root of a site without sections.

    `wraps`: such a site gets a section of its own title.
    """
    section = next((item["id"] for item in sections(store, site["id"]) if item["default"]), None)
    if section is not None or not wraps:
        return section
    return str(new_section(store, site, site["title"])["id"])


def new_section(store: Store, site: Object, title: str, **more: Any) -> Object:
    """Put a section without spaces at the end of a site."""
    path = new_path(title, partial(store.section_at, site["id"]), partial(store.section_paths, site["id"]))
    first = {"default": not store.has_section(site["id"]), "organization": site["organization"], "site": site["id"]}
    section = {"id": store.new_id("sitesc"), "title": title, "path": path, **first, **more}
    return store.add("section", site["organization"], level(site["id"]), section)


def choose(store: Store, kind: str, siblings: list[Object], id: str) -> None:
    """Make one sibling the default, and no other."""
    for sibling in siblings:
        if sibling["default"] != (sibling["id"] == id):
            sibling["default"] = sibling["id"] == id
            store.save(kind, sibling)


def ensure_default(store: Store, kind: str, siblings: list[Object]) -> None:
    """The first remaining sibling is the default where none is."""
    if siblings and not any(sibling["default"] for sibling in siblings):
        choose(store, kind, siblings, siblings[0]["id"])


def remove_site_space(store: Store, data: Object) -> None:
    """Remove a site space; the first that remains beside it becomes the default where it was that."""
    store.remove("site-space", data["id"])
    ensure_default(store, "site-space", store.select("site-space", container=row(data["site"], data.get("section"))))


def rehome(store: Store, site: Object, section: Object) -> None:
    """The root site spaces of a site become variants of its first section, in their order."""
    for site_space in store.select("site-space", container=row(site["id"])):
        taken = {neighbor["path"] for neighbor in store.select("site-space", container=row(site["id"], section["id"]))}
        site_space |= {"section": section["id"], "default": False, "path": keep_path(site_space["path"], taken)}
        store.save("site-space", site_space)
        store.place("site-space", site_space["id"], row(site["id"], section["id"]))


def delete_section(store: Store, section: Object) -> None:
    """Delete a section with its site spaces; those of the last one go back to the root."""
    site = section["site"]
    store.remove("section", section["id"])
    # a site consists of sections or of site spaces: without its last section the spaces are shown at the root
    last = not store.has_section(site)
    for site_space in store.select("site-space", container=row(site, section["id"])):
        if not last:
            store.remove("site-space", site_space["id"])
            continue
        taken = {neighbor["path"] for neighbor in store.select("site-space", container=row(site))}
        site_space.pop("section", None)
        site_space["path"] = keep_path(site_space["path"], taken)
        store.save("site-space", site_space)
        store.place("site-space", site_space["id"], row(site))
    if section["default"] and not last:
        first = _first_section(store, site)
        store.save("section", first | {"default": True})


def _first_section(store: Store, site: str) -> Object:
    """The section that visitors see first, of a site that has one."""
    kind, part = store.mixed(level(site), 1)[0]
    return part if kind == "section" else sections(store, site)[0]


def delete_group(store: Store, group: Object) -> None:
    """Delete a group; its sections and groups stay, at the root of the structure."""
    for kind, child in store.mixed(level(group["site"], group["id"])):
        child.pop("sectionGroup", None)
        store.save(kind, child)
        store.place(kind, child["id"], level(group["site"]))
    store.remove("group", group["id"])


def delete_site(store: Store, site: Object) -> None:
    for kind, part in store.in_site(site["id"], "site-space", "section", "group", "share-link"):
        store.remove(kind, part["id"])
    store.remove("site", site["id"])


KINDS = {"site-section": "section", "site-section-group": "group", "site-space": "site-space"}


def anchors(position: Any, key: str, mine: tuple[str, str]) -> dict[str, tuple[str, str] | None]:
    """The anchor of a move's position as `Store.place` takes it. Raises 400 for two anchors or the moved object itself."""
    named = {side: getattr(position, side) for side in ("before", "after")}
    sides = {side: (KINDS[anchor.type], getattr(anchor, key)) if anchor else None for side, anchor in named.items()}
    if sides["before"] and sides["after"]:
        raise Fault(400, "position has both before and after")
    if mine in sides.values():
        raise Fault(400, "position names the moved object itself")
    return sides
