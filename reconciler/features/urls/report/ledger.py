"""The ledger of published URLs: lines for people, the sheet of one URL, data, and a sitemap. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from typing import Final
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from reconciler.features.urls.history import nearest
from reconciler.features.urls.model.ledger import UrlHistory, UrlRecord
from reconciler.report.schemas.documents import PrintedDocument
from reconciler.report.schemas.state import UrlHistoryDocument, UrlListDocument, UrlRecordData
from reconciler.report.sheet import Sheet
from reconciler.report.words import listed
from reconciler.text.escape import terminal, xml
from reconciler.text.names import utc_text

RUN_SHOWN: Final = 8  # characters of the id of a run
COMMIT_SHOWN: Final = 9
SITEMAP_MOST: Final = 50_000  # URLs of one file, https://www.sitemaps.org/protocol.html


def record_line(record: UrlRecord, zone: tzinfo | None) -> str:
    """`https://docs.acme.example/a  since 2026-03-01 (run 1f0c5d2a)`."""
    end = "" if record.ended is None else f", ended {_day(record.ended, zone)} (run {(record.ender or '')[:RUN_SHOWN]})"
    return terminal(f"{record.url}  since {_day(record.since, zone)} (run {record.run[:RUN_SHOWN]}){end}")


def url_sheet(history: UrlHistory, zone: tzinfo | None, *, environment: str | None = None) -> Sheet:
    """What happened to one URL: where it leads now, when that began, and by which run; what answered there before, as notes."""
    _, *older = history.records
    spans = [(record, _day(record.since, zone), "now" if record.ended is None else _day(record.ended, zone)) for record in older]
    notes = [f"Page {record.page} answered there from {since} to {ended}." for record, since, ended in spans]
    return Sheet("history", urlsplit(history.url).netloc, environment, " ".join(_present(history, zone)), notes=notes)


def _present(history: UrlHistory, zone: tzinfo | None) -> Iterator[str]:
    first = history.records[0]
    by = f"run {(first.ender or first.run)[:RUN_SHOWN]}" + (f", commit {history.commit[:COMMIT_SHOWN]}" if history.commit else "")
    if first.ended is None:
        yield f"{history.url} answers, since {_day(first.since, zone)} by {by}."
    elif history.now:
        target = nearest(first, history.now)
        yield f"{history.url} moved to {target.url} on {_day(first.ended, zone)} by {by}."
        others = [record.url for record in history.now if record != target]
        if others:
            yield f"The page also answers at {listed(others, len(others))}."
    elif history.last:
        target = nearest(first, history.last)
        end = f"{_day(target.ended, zone) if target.ended is not None else 'now'} by run {(target.ender or '')[:RUN_SHOWN]}"
        yield f"{history.url} moved on {_day(first.ended, zone)} by {by}."
        yield f"Its page answered last at {target.url}, which ended on {end}; it is no longer published."
    else:
        yield f"{history.url} ended on {_day(first.ended, zone)} by {by}; its page is no longer published."


def _day(moment: datetime, zone: tzinfo | None) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d}"


def record_data(record: UrlRecord) -> UrlRecordData:
    """The data of a document."""
    return {
        "url": record.url,
        "number": record.number,
        "site": str(record.site),
        "page": record.page,
        "since": utc_text(record.since),
        "run": record.run,
        "ended": None if record.ended is None else utc_text(record.ended),
        "ender": record.ender,
    }


def urls_document(records: Iterable[UrlRecord]) -> UrlListDocument:
    """The document of published URLs."""
    return {"format": "reconciler.urls/1", "urls": [record_data(record) for record in records]}


def history_document(history: UrlHistory) -> UrlHistoryDocument:
    """The document of `urls where`."""
    return {
        "format": "reconciler.url-history/1",
        "url": history.url,
        "records": [record_data(record) for record in history.records],
        "now": [record.url for record in history.now],
        "last": [record_data(record) for record in history.last],
        "commit": history.commit,
    }


def sitemap(urls: Iterable[str]) -> Iterator[str]:
    """The lines of a sitemap."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    yield from (f"  <url><loc>{escape(xml(url))}</loc></url>\n" for url in urls)
    yield "</urlset>\n"


DOCUMENTS: Final = (
    PrintedDocument("urls", "The ledger of published URLs", UrlListDocument),
    PrintedDocument("url-history", "What is known of one URL", UrlHistoryDocument),
)
