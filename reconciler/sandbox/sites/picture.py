"""What the sites of organizations look like at one moment: their parts, who can read each, and the pages behind them. Data for a preview.

    site -> groups, sections -> variants -> space -> pages

A picture is taken at once and says later who can read it, because the visitors worth asking about are known when all pictures are taken: a
condition that the last one has is asked of the first one too. It asks the sandbox's own rules, and holds no key of a share link.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.audience import Audience, Conditions
from reconciler.sandbox.sites.pages import SitePage, SitePages
from reconciler.sandbox.sites.readers import Gate, Shown
from reconciler.sandbox.store import Object, Store


@dataclass
class Picture:
    """`sites`: data without readers. `contents`: titles and pages of spaces, by id. `conditions`: of each site, those in force in it.

    A variant has in `guarded` the readers of those of its pages that have conditions of their own, where these count.
    """

    sites: list[Object] = field(default_factory=list)
    contents: dict[str, Object] = field(default_factory=dict)
    conditions: dict[str, set[Conditions]] = field(default_factory=dict)
    _audiences: dict[str, Audience] = field(default_factory=dict)

    def data(self, asked: Mapping[str, Iterable[Conditions]]) -> list[Object]:
        """The sites with the readers of each part. `asked`: the conditions whose visitors are asked about, by site."""
        return [self._read(site, frozenset(asked.get(site["id"], ()))) for site in self.sites]

    def _read(self, site: Object, asked: frozenset[Conditions]) -> Object:
        audience = self._audiences[site["id"]]
        gate = audience.gates[site["id"]]
        known: dict[Conditions, list[str]] = {}

        def readers(conditions: Conditions) -> list[str]:
            if conditions not in known:
                known[conditions] = audience.names((gate, conditions), asked)
            return known[conditions]

        def part(shown: Object) -> Object:
            rest = {name: value for name, value in shown.items() if not name.startswith("_")}
            below = {"parts": [part(inner) for inner in shown["parts"]]} if "parts" in shown else {}
            guarded = {page: readers(conditions) for page, conditions in shown.get("_guarded", {}).items()}
            return {**rest, "readers": readers(shown["_conditions"]), **({"guarded": guarded} if guarded else {}), **below}

        return part(site)


def picture(store: Store, base: str, organizations: Collection[str]) -> Picture:
    """The sites of these organizations now, with or without readers. `base`: the URL with which published URLs begin."""
    taken = Picture()
    for id in organizations:
        organization = store.find("organization", id)
        if organization is None:
            continue
        audience = Audience(store, organization)
        for site in reversed(audience.sites):
            taken.conditions[site["id"]] = set()
            taken._audiences[site["id"]] = audience
            taken.sites.append(_site(store, base, site, audience.gates[site["id"]], taken))
    return taken


def _site(store: Store, base: str, site: Object, gate: Gate, taken: Picture) -> Object:
    pages = SitePages(store, Shown(store, site, None))
    rows = structure.levels(store, site["id"])

    def level(group: str | None) -> Iterator[Object]:
        for kind, shown in rows.get(group, []):
            if pages.shown.is_draft(shown):
                continue
            if kind == "group":
                yield _part(kind, shown, str(shown["title"]), frozenset(), parts=list(level(shown["id"])))
            else:
                yield _part(
                    kind,
                    shown,
                    str(shown["title"]),
                    gate.conditions(shown),
                    path=str(shown["path"]),
                    default=bool(shown.get("default")),
                    parts=[variant(shown, item) for item in pages.variants(shown)],
                )

    def variant(section: Object | None, shown: Object) -> Object:
        space, conditions = shown["_space"], gate.conditions(section, shown)
        taken.conditions[site["id"]].add(conditions)
        if space not in taken.contents:
            taken.contents[space] = {"title": pages.title(shown), "pages": [_page(page) for page in pages.pages(shown)]}
        title, own = pages.title(shown), [page for page in pages.pages(shown) if page.conditions and gate.is_adaptive]
        guarded = {str(page.data.get("id")): conditions | page.conditions for page in own}
        taken.conditions[site["id"]].update(guarded.values())
        place = {"path": str(shown["path"]), "default": bool(shown.get("default")), "content": space, "_guarded": guarded}
        return _part("variant", shown, title, conditions, **place)

    parts = list(level(None)) if pages.in_sections else [variant(None, item) for item in pages.variants(None)]
    return _part(
        "site",
        site,
        str(site["title"]),
        frozenset(),
        parts=parts,
        url=structure.published_url(base, site),
        published=bool(site["published"]),
        visibility=str(site["visibility"]),
    )


def _part(kind: str, data: Object, title: str, conditions: Conditions, **more: Any) -> Object:
    return {"kind": kind, "id": data["id"], "title": title, "_conditions": conditions, **more}


def _page(page: SitePage) -> list[Any]:
    """Depth, id, title, path, and whether lists leave it out."""
    title = page.data.get("title")
    name = title if isinstance(title, str) and title.strip() else "Untitled"
    return [page.depth, str(page.data.get("id")), name, page.path, int(page.data.get("hidden") is True)]
