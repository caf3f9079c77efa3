"""The pages that a site publishes, and the page behind a path: one rule, read in both directions.

    /published/docs / guides / v2 / install/linux
                      |        |    |
                      section  |    path of the page in its space
                               variant

A page answers at the path of each variant that shows its space, then its own. The default variant also answers without its segment, and
the default section without its. The first page of a variant also answers at the variant's own path. Where two pages would answer at one
path, a section goes before a variant, and a variant before a page: what is named goes before what is left out. Pages of the type `group`
have no path of their own; hidden pages answer (contract notes, "Published pages"). What is a draft is not published. A page with a
condition is hidden from readers for whom it is not true, with the pages below it.

In: what a reader sees of a site. Out: sections, variants, pages. Pure, but for the store that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.readers import Shown, is_deleted
from reconciler.sandbox.sites.structure import PATHLESS, slug
from reconciler.sandbox.store import Object, Store


class SitePage(NamedTuple):
    """A page in the order of readers. `depth`: 0 at the top of its space; `path`: in its space, empty for a `group`, which has no page.

    `conditions`: its own, and those of the pages that it is below.
    """

    data: Object
    depth: int
    path: str
    conditions: frozenset[str]


class PublishedPage(NamedTuple):
    """What answers at a path: a page of a variant; `section` is None in a site without sections."""

    section: Object | None
    variant: Object
    page: SitePage


@dataclass
class SitePages:
    """What one reader sees of one site, who is let in already. Sections, variants and pages are read once."""

    store: Store
    shown: Shown
    _pages: dict[str, list[SitePage]] = field(default_factory=dict)
    _passes: Callable[[frozenset[str]], bool] = field(init=False)

    def __post_init__(self) -> None:
        site = self.shown.gate.site["id"]
        self.in_sections = structure.sections(self.store, site)
        self.sections = [section for section in self.in_sections if self.shown.section(section) and not self.shown.is_draft(section)]
        self._passes = self.shown.passes
        rows = structure.variants(self.store, site)
        spaces = self.store.find_all("space", (item["_space"] for row in rows.values() for item in row))
        self.spaces = {id: space for id, space in spaces.items() if not is_deleted(space)}
        self._variants = {
            at: [item for item in row if item["_space"] in self.spaces and self.shown.site_space(item) and not self.shown.is_draft(item)]
            for at, row in rows.items()
        }

    def tabs(self) -> list[Object | None]:
        """The sections that this reader sees; None alone for a site without sections."""
        return list(self.sections) if self.in_sections else [None]

    def variants(self, section: Object | None) -> list[Object]:
        """The variants of a section, or of a site without sections."""
        return self._variants.get(section["id"] if section is not None else None, [])

    def seen(self, passes: Callable[[frozenset[str]], bool]) -> SitePages:
        """What a reader who passes these conditions sees of what is seen here."""
        seen, gate = copy(self), self.shown.gate
        seen._passes = passes
        sections: dict[str | None, Object] = {section["id"]: section for section in self.sections}
        seen.sections = [section for section in self.sections if passes(gate.conditions(section))]
        seen._variants = {
            at: [item for item in row if passes(gate.conditions(sections.get(at), item))] for at, row in self._variants.items()
        }
        return seen

    @cached_property
    def conditions(self) -> frozenset[frozenset[str]]:
        """All conditions that readers have to pass, on the way to a section or a variant."""
        gate, rows = self.shown.gate, [(section, self.variants(section)) for section in self.tabs()]
        every = {gate.conditions(section, item) for section, row in rows for item in (None, *row)}
        if gate.is_adaptive:
            every |= {self.shown.conditions(item) | page.conditions for _, row in rows for item in row for page in self._all_pages(item)}
        return frozenset(every)

    def title(self, variant: Object) -> str:
        return str(self.spaces[variant["_space"]]["title"])

    def pages(self, variant: Object) -> list[SitePage]:
        """The pages that this reader sees of the space that a variant shows, in the order of readers."""
        pages = self._all_pages(variant)
        if not self.shown.gate.is_adaptive:
            return pages
        before = self.shown.conditions(variant)
        return [page for page in pages if not page.conditions or self._passes(before | page.conditions)]

    def _all_pages(self, variant: Object) -> list[SitePage]:
        space = variant["_space"]
        if space not in self._pages:
            self._pages[space] = list(_walk(self.spaces[space].get("_pages", []), 0, frozenset()))
        return self._pages[space]

    def path(self, answer: PublishedPage) -> str:
        """The path of a page in the site, with every segment."""
        return "/".join(filter(None, [self.begin(answer.section, answer.variant), answer.page.path]))

    def begin(self, section: Object | None, variant: Object) -> str:
        """The path of a variant in the site."""
        return "/".join([*([section["path"]] if section is not None else []), variant["path"]])

    def answers(self) -> dict[str, PublishedPage]:
        """Every path that answers, with its page."""
        answers: dict[str, PublishedPage] = {}
        # From what names most to what names least: a later path never takes an earlier one.
        for begin_of in (self.begin, self._without_variant, self._without_section, self._without_both):
            for section in self.tabs():
                for variant in self.variants(section):
                    begin = begin_of(section, variant)
                    if begin is not None:
                        for path, page in self._paths(variant):
                            answers.setdefault("/".join(filter(None, [begin, path])), PublishedPage(section, variant, page))
        return answers

    def _without_variant(self, section: Object | None, variant: Object) -> str | None:
        return str(section["path"]) if section is not None and variant.get("default") else None

    def _without_section(self, section: Object | None, variant: Object) -> str | None:
        return str(variant["path"]) if section is not None and section.get("default") else None

    def _without_both(self, section: Object | None, variant: Object) -> str | None:
        return "" if variant.get("default") and (section is None or section.get("default")) else None

    def _paths(self, variant: Object) -> Iterator[tuple[str, SitePage]]:
        """The paths of the pages of a variant, and the first page at the variant's own path."""
        pages = [page for page in self.pages(variant) if page.path]
        yield from ((page.path, page) for page in pages)
        yield from (("", page) for page in pages[:1])

    def at(self, path: str) -> PublishedPage | None:
        """What answers at a path of the site; None where nothing does for this reader."""
        return self.answers().get(plain(path))


def plain(path: str) -> str:
    """A path as pages have it: no slash at its beginning or end, and no two in a row, which web servers read as one."""
    return "/".join(filter(None, path.split("/")))


def page_conditions(pages: list[Object]) -> frozenset[frozenset[str]]:
    """The conditions of the pages of a space, for each page that has some."""
    return frozenset(page.conditions for page in _walk(pages, 0, frozenset()) if page.conditions)


def _walk(pages: list[Object], depth: int, above: frozenset[str]) -> Iterator[SitePage]:
    for data in pages:
        own_condition = data.get("condition")
        conditions = above | {own_condition} if isinstance(own_condition, str) and own_condition else above
        title = data["title"] if isinstance(data.get("title"), str) else "Untitled"
        own = data["slug"] if isinstance(data.get("slug"), str) else slug(title)
        path = data["path"] if isinstance(data.get("path"), str) else own
        yield SitePage(data, depth, "" if data.get("type") in {"group", *PATHLESS} else plain(path), conditions)
        yield from _walk(data.get("pages") or [], depth + 1, conditions)
