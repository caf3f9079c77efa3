"""One site on one page: what it publishes for whom, how it is, and how it came to be so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.address import Address
from reconciler.features.health.model import HealthReport
from reconciler.features.urls.model.ledger import EndedUrls
from reconciler.features.work.model import WorkSort
from reconciler.model.state import SiteRun


@dataclass(frozen=True)
class SitePart:
    """What shows the pages of one space on a site. `node`: what it is in, such as a section; None at the top of the site.

    `default`, `first`: whether it is the default among its siblings, and its node among the nodes. `readers`: in words. `pages`: None where
    they are not known, for the reason in `unread`.
    """

    address: Address
    title: str
    url: str | None
    space: Address
    readers: str
    pages: int | None
    unread: str = ""
    node: Address | None = None
    node_title: str = ""
    default: bool = False
    first: bool = False


@dataclass(frozen=True)
class SiteHistory:
    """What the state knows of a site. `runs`: newest first. `ended`: the URLs at which nothing answers now, those that ended last first.
    `doubt`: a run may have changed URLs and did not record them."""

    runs: tuple[SiteRun, ...] = ()
    live: int = 0
    ended: tuple[EndedUrls, ...] = ()
    doubt: bool = False


@dataclass(frozen=True)
class SiteHealth:
    """A site. `url`: None where nobody can open it. `urls`: how many answer now, None where that is not known. `work`: what people have
    begun in each space. `history`: None where no ledger has the site; `unknown`: why."""

    report: HealthReport
    site: Address
    title: str
    url: str | None
    readers: str
    parts: tuple[SitePart, ...]
    urls: int | None
    work: Mapping[Address, tuple[WorkSort, ...]] = field(default_factory=dict)
    history: SiteHistory | None = None
    unknown: str = ""
