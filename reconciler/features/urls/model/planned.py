"""What a plan says of URLs, under the keys by which it carries that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.features.urls.model.pages import AnsweringUrls, LinkingPage, PageChange, UrlGroup
from reconciler.features.urls.model.redirects import RedirectPlan
from reconciler.model.features import FeatureKey
from reconciler.text.redact import UNSHOWN


@dataclass(frozen=True)
class PlannedUrls:
    """What a plan does to URLs of pages.

    `changes`: every published URL of a page that ends, begins, or leads to another page, in the order of sites and URLs. `groups`: the same
    as people read it, what ends first; new URLs are in no group. `linking`: the pages that link to pages that answer nowhere after the
    plan. `answering_before`, `answering_after`: all URLs that answer to anybody; None as long as no page was read for them. `replaced`: by
    the URL below which a plan stops to show something, the URL below which the next copy of it is shown.
    """

    changes: tuple[PageChange, ...] = ()
    groups: tuple[UrlGroup, ...] = ()
    linking: tuple[LinkingPage, ...] = ()
    answering_before: AnsweringUrls | None = field(default=None, metadata=UNSHOWN)
    answering_after: AnsweringUrls | None = field(default=None, metadata=UNSHOWN)
    replaced: Mapping[str, str] = field(default_factory=dict, metadata=UNSHOWN)


URLS: Final = FeatureKey("URLs of a plan", PlannedUrls())
"""The key of what a plan does to URLs of pages."""
REDIRECTS: Final = FeatureKey[RedirectPlan | None](
    "redirects", None, pending=lambda redirects: redirects is not None and bool(redirects.written)
)
"""The key of the redirects that follow, and of what nothing will answer; None where the project says nothing of its URLs."""
