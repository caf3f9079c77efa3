"""What happened to the URLs that ended, from the records of the ledger. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.features.urls.model.ledger import EndedUrls, UrlRecord
from reconciler.features.urls.redirects.required import ANY, moved_parts, path_below


def nearest(record: UrlRecord, places: Sequence[UrlRecord]) -> UrlRecord:
    """Where the page of a URL that ended answers now: on the same site, at a URL that began when the other ended, and the most similar."""
    old = record.url.split("/")[::-1]

    def distance(place: UrlRecord) -> tuple[bool, bool, int, int, str]:
        new = place.url.split("/")[::-1]
        alike = next((number for number, (before, now) in enumerate(zip(old, new, strict=False)) if before != now), min(len(old), len(new)))
        return place.site != record.site, place.run != record.ender, -alike, abs(len(old) - len(new)), place.url

    return min(places, key=distance)


def _by_page(live: Mapping[str, UrlRecord]) -> Mapping[str, Sequence[UrlRecord]]:
    places: dict[str, list[UrlRecord]] = {}
    for record in live.values():
        places.setdefault(record.page, []).append(record)
    return places


def ended_urls(live: Mapping[str, UrlRecord], ended: Iterable[UrlRecord], root: str) -> tuple[EndedUrls, ...]:
    """The URLs at which nothing answers now, as people read them: those that ended together, and last, first. `root`: the URL of their
    site as the ledger spells it. A URL that ended several times counts as it ended last."""
    places = _by_page(live)
    last = {record.url: record for record in ended if record.url not in live}
    groups: dict[tuple[datetime, str, str, str | None], list[str]] = {}
    for record in last.values():
        now = places.get(record.page, ())
        if now:
            before, after = moved_parts(record.url, nearest(record, now).url)
        else:
            before, after = _top(record.url, root), None
        assert record.ended is not None
        groups.setdefault((record.ended, record.ender or "", before, after), []).append(record.url)
    rows = []
    for (at, run, before, after), urls in groups.items():
        old, new = (url if url is None or urls == [before] else f"{url}{ANY}" for url in (before, after))
        rows.append(EndedUrls(old or "", new, len(urls), at, run))
    return tuple(sorted(rows, key=lambda row: (-row.at.timestamp(), row.after is not None, -row.urls, row.before)))


def _top(url: str, root: str) -> str:
    """The first folder below the site that contains a URL."""
    path = path_below(url, root)
    return f"{root}/{path.split('/')[1]}" if path not in (None, "/") and path is not None else url
