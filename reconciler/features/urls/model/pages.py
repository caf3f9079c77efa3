"""Pages of spaces, the published URLs at which they answer, and what a plan does to these.

Page content is not managed. What happens to its URLs is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from reconciler.address import Address


class Page(NamedTuple):
    """A page that has a URL. `path`: below the URL of what shows it; it begins and ends with no slash. `condition`: what a visitor must
    meet to read it, where conditions count: its own and those of the pages that it is below, as one; "" for none."""

    id: str
    title: str
    path: str
    condition: str = ""


@dataclass(frozen=True)
class PageTree:
    """The pages of one object, in the order of readers, as of one revision of its content.

    Pages without a URL of their own are left out. The first page also answers at the URL of what shows it. `revision`: "" where the service
    shows none; such a tree is not kept.
    """

    revision: str
    pages: tuple[Page, ...] = ()


class UrlReason(StrEnum):
    """What happens to a URL at which a page answered, or will answer.

    MOVED: the page answers at `after` instead. GONE: nothing answers there after the plan. SHADOWED: another page answers there.
    NEW: the page answers there and did not before, or for fewer readers, and no other URL of it ended for that. UNKNOWN: only the service
    knows where the page will answer, or its pages could not be read.
    """

    MOVED = "moved"
    GONE = "gone"
    NEW = "new"
    SHADOWED = "shadowed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class PageUrl:
    """A URL at which a page answers for everybody who knows it. A page has one for each place that shows it, and shorter ones where
    segments may be left out. `space`, `site`: what contains the page and what publishes it. `conditions`: as of a `Variant`, with the
    page's own.
    `is_first`: the page answers at the URL of what shows it, as its first one."""

    url: str
    page: str
    title: str
    space: Address
    site: Address
    conditions: frozenset[str] = frozenset()
    is_first: bool = False


@dataclass(frozen=True)
class PageChange:
    """One published URL that ends, begins, or leads to another page by a change of the plan.

    `page`: the id, None for all pages of an object that could not be read, and for a secret URL. `title`: the page's, else that of what
    contains it. `space`: what contains the page, None for a secret URL. `site`: what publishes it. `before`: the URL that answered with the
    page, None for a new one; a pattern that ends in `/**` where the pages are not known; a digest of a secret URL. `after`: where the page
    answers after the plan, None where it answers nowhere or only the service knows. A page whose URL ends (GONE or SHADOWED) with
    `after` stays reachable there, at a URL that existed before. `is_open`: everybody who knows the URL could read the page there, not only
    those whom the site admits; of a new URL, can.
    """

    page: str | None
    title: str
    space: Address | None
    site: Address
    before: str | None
    after: str | None
    reason: UrlReason
    is_open: bool = True


@dataclass(frozen=True)
class UrlGroup:
    """Changes of URLs of one site that people read as one: with the same reason, below one URL before and one URL after.

    `before`, `after`: a URL, or a pattern that ends in `/**`; `after` None as in a change. `root`: the URL of the site before the plan,
    which people know; "" where it is not known. `urls`, `pages`: how many. `spaces`: which contain the pages.
    """

    reason: UrlReason
    site: Address
    root: str
    before: str | None
    after: str | None
    urls: int
    pages: int
    spaces: tuple[Address, ...]


@dataclass(frozen=True)
class LinkingPage:
    """A page that links to pages that answer nowhere after the plan. `to`: their titles."""

    page: str
    title: str
    space: Address
    to: tuple[str, ...]


@dataclass(frozen=True)
class AnsweringUrls:
    """Every URL at which a page answers to anybody, at one moment, as the ledger spells URLs.

    `public`: by URL, the page that visitors get there who know the URL and did not sign in. `restricted`: where only other
    readers get one, and which.
    `unread`: URLs below which there are pages that could not be read. `created`: below which there will be pages that do not exist yet.
    `closed`: below which there is something that only some readers can read. `roots`: the URL of each site that anybody can read.
    """

    public: Mapping[str, PageUrl] = field(default_factory=dict)
    restricted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    created: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    roots: Mapping[Address, str] = field(default_factory=dict)

    def answers(self, url: str) -> bool:
        """Whether a page answers at a URL to anybody, as far as that is known."""
        return url in self.public or url in self.restricted
