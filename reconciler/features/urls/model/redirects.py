"""The redirects that follow from what a plan does to the URLs of pages, and the files that contain them, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from reconciler.address import Address
from reconciler.model.desired import DeadUrls, Desired, SectionKey
from reconciler.model.findings import Source


class RedirectFormat(StrEnum):
    """What a file of redirects is for."""

    NETLIFY = "netlify"
    CLOUDFLARE = "cloudflare"
    NGINX = "nginx"
    CSV = "csv"
    HOSTED = "hosted"


@dataclass(frozen=True)
class GoneUrls:
    """`urls: {gone: [{url, reason}]}`: URLs that nothing answers at any more, on purpose. `pattern`: as written; `/v1/**` is a path below
    the site's URL, `https://…` a whole URL; `*` stands for one segment, `**` for any number of them."""

    pattern: str
    reason: str
    source: Source


RECONCILER: Final = "reconciler"  # who wrote a line of a table, where it is ours


@dataclass(frozen=True)
class Redirect:
    """What is answered at a URL that no page has. `source`: may have a query, if a person wrote it. `target`: where it leads, with the
    query and the anchor that a person wrote; None: 410, gone. `site`: whose file has it. `by`: who wrote the line; "": nobody
    said so."""

    site: Address
    source: str
    target: str | None
    by: str = RECONCILER

    @property
    def is_own(self) -> bool:
        """Whether Reconciler wrote the line, so that it follows its page rather than what a person chose."""
        return self.by == RECONCILER


@dataclass(frozen=True)
class FormerUrl:
    """A URL at which a page answered for everybody who knew it. `page`: the last one. `is_live`: until now, as far as the ledger and the
    service know; else a run recorded its end."""

    site: Address
    page: str
    is_live: bool = True


Moves = Mapping[str, tuple[Address, str | None]]
"""By URL, the site of a page that leaves it, and where it will answer; None: nowhere, or nobody knows. Spelled as in the ledger."""


@dataclass(frozen=True)
class RecordedUrls:
    """What the state knows of URLs. `public`: every URL of the ledger. `moves`: the URLs that only some readers knew, which a run that was
    killed before it wrote its files was about to move. `replaced`: by the URL below which such a run stopped to show something, the URL
    below which the next copy of it is shown."""

    public: Mapping[str, FormerUrl] = field(default_factory=dict)
    moves: Moves = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.public or self.moves or self.replaced)


@dataclass(frozen=True)
class SiteRedirects:
    """The files of redirects of a site. `folder`: relative to the project, without a slash at its end. `name`: of the site, in the names of
    its files."""

    formats: tuple[RedirectFormat, ...]
    folder: str
    name: str


@dataclass(frozen=True)
class ServiceUrls:
    """`urls: {service: …}`: `redirects`: whether the service redirects what is published in a site and moves. `caseless`: whether published
    URLs that differ only in case are one."""

    redirects: bool = False
    caseless: bool = False


@dataclass(frozen=True)
class UrlSettings:
    """`urls:` of a project.

    `sites`: the files of each declared site; none where `redirects` is not written. `former`: those of what was a site once: nothing but
    its table says so. `formats`, `folder`: of the files of any other site. `silent`: the declared sites without files. `gone`: in their
    order. `earlier`: the redirects that the files have. `texts`: these files as they are, by their path below the project. `service`: what
    the service does by itself.
    """

    sites: Mapping[Address, SiteRedirects] = field(default_factory=dict)
    former: Mapping[Address, SiteRedirects] = field(default_factory=dict)
    formats: tuple[RedirectFormat, ...] = ()
    folder: str = ""
    silent: frozenset[Address] = frozenset()
    gone: tuple[GoneUrls, ...] = ()
    earlier: tuple[Redirect, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    service: ServiceUrls = ServiceUrls()


def _digested(settings: UrlSettings | None) -> Mapping[str, Any]:
    if settings is None:
        return {}
    sites = {str(site): [*files.formats, files.folder, files.name] for site, files in settings.sites.items()}
    return {"urls": {"sites": sites, "gone": [gone.pattern for gone in settings.gone], **_service(settings.service)}}


def _service(service: ServiceUrls) -> Mapping[str, Any]:
    return {"service": [service.redirects, service.caseless]} if service != ServiceUrls() else {}


def _usual(settings: UrlSettings | None) -> DeadUrls | None:
    return DeadUrls.BLOCK if settings is not None and settings.sites else None


URLS: Final[SectionKey[UrlSettings | None]] = SectionKey("urls", None, digested=_digested, dead_urls=_usual, dated=True, judges_urls=True)
"""Redirects, and the URLs that end on purpose; None where the project does not mention them."""


def url_settings(desired: Desired) -> UrlSettings | None:
    """`urls:` of a project; None where it does not mention them."""
    return URLS.of(desired.features)


def with_settings(desired: Desired, settings: UrlSettings) -> Desired:
    """The project with other settings of its URLs."""
    return replace(desired, features={**desired.features, URLS: settings})


@dataclass(frozen=True)
class DeadUrl:
    """A URL that was public, and that nothing will answer: no page, no redirect, and `urls.gone` does not name it. `path`: below the URL of
    its site, "" where that is not known. `reason`: as the end of a sentence."""

    url: str
    site: Address
    reason: str
    path: str = ""


@dataclass(frozen=True)
class RedirectFile:
    """A file of redirects that a plan changes. `path`: below the project. `table`: the path of the table
    of its site, by which reports name all files of a site.

    `text`: what an apply writes; None: nothing. `added`, `changed`, `removed`: how many redirects differ from those that the site has.
    `left_out`: how many its format cannot have, by the reason.
    """

    path: str
    format: RedirectFormat
    table: str
    text: str | None = field(default=None, repr=False)
    added: int = 0
    changed: int = 0
    removed: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RedirectPlan:
    """The redirects of a project after a plan: the files that differ, and what nothing will answer.

    `dead`: what this plan ends. `ended`: what was public and answers no longer already, since somebody changed it outside Reconciler.
    `redirects`: all of them, also where no file differs; () in a plan that was read from a document.
    """

    files: tuple[RedirectFile, ...] = ()
    dead: tuple[DeadUrl, ...] = ()
    ended: tuple[DeadUrl, ...] = field(default=(), compare=False)
    redirects: tuple[Redirect, ...] = field(default=(), repr=False, compare=False)

    @property
    def written(self) -> tuple[RedirectFile, ...]:
        """The files that an apply writes."""
        return tuple(file for file in self.files if file.text is not None)
