"""What happens to the pages of published sites, and the redirects that follow from it, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reconciler.address import Address
from reconciler.model.policy import Source


class RedirectFormat(StrEnum):
    """What a file of redirects is for."""

    NETLIFY = "netlify"
    CLOUDFLARE = "cloudflare"
    NGINX = "nginx"
    CSV = "csv"


@dataclass(frozen=True)
class GoneUrls:
    """`urls: {gone: [{url, reason}]}`: URLs that nothing answers at any more, on purpose. `pattern`: as written; `/v1/**` is a path below
    the site's URL, `https://…` a whole URL; `*` stands for one segment, `**` for any number of them."""

    pattern: str
    reason: str
    source: Source


@dataclass(frozen=True)
class SiteRedirects:
    """The files of redirects of a site: `folder` is relative to the project."""

    formats: tuple[RedirectFormat, ...]
    folder: str


@dataclass(frozen=True)
class UrlSettings:
    """`urls:` of a project. `redirects`: of each site; `sites`: of sites with formats of their own, by address. None: none are written."""

    redirects: SiteRedirects | None = None
    sites: Mapping[Address, SiteRedirects] = field(default_factory=dict)
    gone: tuple[GoneUrls, ...] = ()

    def of(self, site: Address) -> SiteRedirects | None:
        """The files of a site; None if it has none."""
        return self.sites.get(site, self.redirects)


Rules = Mapping[str, str | None]
"""Redirects by the URL that is requested: the URL that it leads to, None for a page that is gone (410)."""


@dataclass(frozen=True)
class DeadUrl:
    """A URL that was public, and that nothing will answer: no page, no redirect, and `urls.gone` does not name it."""

    url: str
    site: Address | None
    reason: str
