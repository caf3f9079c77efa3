"""The ledger of published URLs: which answer, since when, and which ended, by which run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from reconciler.address import Address
from reconciler.features.urls.model.pages import PageUrl


@dataclass(frozen=True)
class UrlRecord:
    """A time in which a page answered at a URL. `number`: of the times of this URL, from 1. `run`: that saw it first. `ended`,
    `ender`: None as long as it answers."""

    url: str
    number: int
    site: Address
    page: str
    since: datetime
    run: str
    ended: datetime | None = None
    ender: str | None = None


@dataclass(frozen=True)
class UrlHistory:
    """What is known of a URL. `records`: newest first; none: it was never public. `now`: where the page of the newest one answers, sorted.
    `last`: where that page answered last, sorted, if it answers nowhere now and that was later than at this URL. `commit`: of the files
    that the run which ended it was started from; None where nobody knows it."""

    url: str
    records: tuple[UrlRecord, ...] = ()
    now: tuple[UrlRecord, ...] = ()
    last: tuple[UrlRecord, ...] = ()
    commit: str | None = None


CLOSED: Final = "closed"
"""The digest of a site of which no URL answers to everybody any more: the ledger still has what did."""


@dataclass(frozen=True)
class SiteLedger:
    """The URLs of one site as a run sees them. `digest`: of what they were computed from. `urls`: None where that is what the ledger has
    recorded already."""

    digest: str
    urls: tuple[PageUrl, ...] | None = None


@dataclass(frozen=True)
class LedgerReading:
    """The sites of a run by address, and a sentence for each that could not be read, which the ledger leaves as it is."""

    sites: Mapping[Address, SiteLedger] = field(default_factory=dict)
    unread: Mapping[Address, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EndedUrls:
    """URLs that ended together. `before`: one, or a pattern that ends in `/**`. `after`: where their pages answer now, likewise; None where
    they answer nowhere."""

    before: str
    after: str | None
    urls: int
    at: datetime
    run: str
