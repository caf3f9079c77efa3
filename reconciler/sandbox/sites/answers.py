"""The URLs of one published site at one moment: which page answers at which of them, to which reader.

Taken at once and asked later, because the readers worth asking about are known when all moments were seen: visitors for whom a condition of
the last moment holds are asked about the first one too. The sandbox's own rules, as over HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.sandbox.sites.audience import Audience, Conditions
from reconciler.sandbox.sites.pages import SitePages
from reconciler.sandbox.sites.readers import Gate, Reader, Shown
from reconciler.sandbox.sites.structure import published_url
from reconciler.sandbox.store import Object, Store

UrlPages = Mapping[str, tuple[str, str]]
"""Pages by URL: the id of the space, and of the page."""


@dataclass
class SiteAnswers:
    """One published site. `begin`: the URL with which all of its URLs begin."""

    begin: str
    gate: Gate
    audience: Audience
    pages: SitePages
    _known: dict[frozenset[Conditions], dict[str, tuple[str, str]]] = field(default_factory=dict)
    _shown_by: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, base: str, site: Object, audience: Audience) -> SiteAnswers:
        """The site as it is now."""
        return cls(published_url(base, site), audience.gates[site["id"]], audience, SitePages(store, Shown(store, site, None)))

    def to(self, name: str, reader: Reader) -> UrlPages:
        """What answers to a reader. `name`: the reader's, by which answers are kept."""
        if not self.gate.opens(reader):
            return {}
        passed = frozenset(conditions for conditions in self.pages.conditions if self.audience.passes(name, reader, conditions))
        if passed not in self._known:
            answers = self.pages.seen(passed.__contains__).answers()
            urls = {f"{self.begin}/{path}" if path else self.begin: answer for path, answer in answers.items()}
            self._known[passed] = {url: (answer.variant["_space"], str(answer.page.data.get("id"))) for url, answer in urls.items()}
            for url, answer in urls.items():
                ids = (self.gate.site["id"], (answer.section or {}).get("id"), answer.variant["id"], answer.variant["_space"])
                self._shown_by[url] = self._shown_by.get(url, frozenset()) | frozenset(filter(None, ids))
        return self._known[passed]

    def shown_by(self, url: str) -> frozenset[str]:
        """The ids of the objects on which it depends that this URL answers, to any reader that was asked about."""
        return self._shown_by.get(url, frozenset())
