"""One site on one page, for people and as data.

SiteHealth -> site_sheet -> text, Markdown, HTML with pictures, annotations, JUnit, SARIF
           -> site_document
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import groupby
from typing import Final

from reconciler.features.health import documents as types
from reconciler.features.health.report import (
    SECTIONS,
    SIGNS,
    STATUS_STYLES,
    check_data,
    checks_entry,
    concern_parts,
    health_headline,
    unknown_parts,
)
from reconciler.features.health.site.model import SiteHealth, SitePart
from reconciler.features.urls.model.ledger import EndedUrls
from reconciler.features.urls.redirects.required import path_below, recorded_url
from reconciler.features.work.model import WorkSort
from reconciler.features.work.report import sort_text
from reconciler.model.state import SiteRun
from reconciler.report.documents import record
from reconciler.report.gathering import gathered
from reconciler.report.layout import Span, Style
from reconciler.report.sheet import Figure, FigureRow, NumberTree, PicturePart, Sheet, SheetEntry, SheetLine, Trend, Weight
from reconciler.report.words import count
from reconciler.text.names import clock_time, quoted, utc_text

RUN_SHOWN: Final = 8  # characters of the id of a run
COMMIT_SHOWN: Final = 9
RUNS: Final = 20  # in a sheet; the document has all
ENDED: Final = 20  # groups of URLs, likewise
DRAWN: Final = 60  # rows of the picture
NOT_KNOWN: Final = "unknown"


def site_sheet(page: SiteHealth, *, made_at: datetime, full: bool = False, zone: tzinfo | None = UTC) -> Sheet:
    """The whole page. `full`: nothing is folded or left out. `zone`: of its times."""
    report = page.report
    entries = gathered([*concern_parts(report), *unknown_parts(report)], SECTIONS, full=full)
    about = [_about(page), *_structure(page), *_urls(page, zone, full=full), *_work(page, made_at), *_runs(page, zone, full=full)]
    words = [check.word(report.today) for check in report.checks]
    parts = [PicturePart(word.value, words.count(word), style) for word, style in STATUS_STYLES.items() if word in words]
    return Sheet(
        f"site {page.site.key}",
        report.project,
        report.environment,
        f"Health of {page.site}: {health_headline(report)}",
        [*entries, *about, checks_entry(report, zone)],
        report.notes,
        parts,
        headline=health_headline(report),
        consequences=(Span(STATUS_STYLES[report.word], f"{report.word.capitalize()}."),),
        signs=SIGNS,
        figures=tuple(_figures(page, made_at)),
    )


def _line(name: str, value: str, note: str = "") -> SheetLine:
    return SheetLine(Style.DIM, " ", name, value, note)


# -- what it publishes -----------------------------------------------------------------------------------------------------------------


def _about(page: SiteHealth) -> SheetEntry:
    known = [part.pages for part in page.parts if part.pages is not None]
    pages = count(sum(known), "page") if len(known) == len(page.parts) else f"at least {count(sum(known), 'page')}"
    spaces = count(len({part.space for part in page.parts}), "space")
    urls = NOT_KNOWN if page.urls is None else f"{page.urls:,}"
    lines = [
        _line("title", quoted(page.title)),
        _line("url", page.url or "none: it is not published"),
        _line("readers", page.readers or "nobody"),
        _line("content", f"{pages} of {spaces}"),
        _line("urls", f"{urls} answer for all whom it admits"),
    ]
    return SheetEntry(str(page.site), "", lines, Weight.BACKGROUND, section="The site")


def _structure(page: SiteHealth) -> Iterator[SheetEntry]:
    """An entry for each node, with a line for each part."""
    for node, some in groupby(page.parts, key=lambda part: part.node):
        parts = list(some)
        where = "" if node is None else f"{quoted(parts[0].node_title)}{', default' if parts[0].first else ''}"
        lines = []
        for part in parts:
            pages = f"pages unknown: {part.unread}" if part.pages is None else count(part.pages, "page")
            words = [*(["default"] if part.default else []), *([part.readers] if part.readers != page.readers else [])]
            lines.append(_line(_below(page, part.url), f"{part.space}: {pages}", ", ".join(words)))
        yield SheetEntry(str(node or page.site), where, lines, Weight.BACKGROUND, section="Structure")


def _below(page: SiteHealth, url: str | None) -> str:
    """`/guides/v1`: the path below the site; the whole URL of another host."""
    if url is None:
        return "no URL"
    path = path_below(recorded_url(url), recorded_url(page.url)) if page.url is not None else None
    return url if path is None else path


# -- its history ------------------------------------------------------------------------------------------------------------------------


def _urls(page: SiteHealth, zone: tzinfo | None, *, full: bool) -> Iterator[SheetEntry]:
    history = page.history
    if history is None:
        yield SheetEntry("Published URLs", "", [_line(NOT_KNOWN, page.unknown)], Weight.BACKGROUND, section="URLs")
        return
    ended = sum(group.urls for group in history.ended)
    lines = [_line("answer", f"{history.live:,} recorded"), _line("ended", f"{ended:,}")]
    if history.doubt:
        lines.append(_line(NOT_KNOWN, "a run may have changed URLs and did not record them; the next apply with a request does"))
    shown = history.ended if full else history.ended[:ENDED]
    lines += [_ended_line(page, group, zone) for group in shown]
    if len(history.ended) > len(shown):
        lines.append(_line("", f"and {len(history.ended) - len(shown):,} more groups; --full shows each"))
    yield SheetEntry("Published URLs", "", lines, Weight.BACKGROUND, section="URLs")


def _ended_line(page: SiteHealth, group: EndedUrls, zone: tzinfo | None) -> SheetLine:
    to = "" if group.after is None else f" -> {_below(page, group.after)}"
    value = f"{count(group.urls, 'URL')}: {_below(page, group.before)}{to}"
    note = f"{group.at.astimezone(zone):%Y-%m-%d}, {_by(page, group.run)}"
    return _line("moved" if group.after is not None else "nowhere", value, note)


def _by(page: SiteHealth, run: str) -> str:
    """`run 1f0c5d2a, commit 9be4c10f2`."""
    commit = next((known.commit for known in page.history.runs if known.run == run), None) if page.history is not None else None
    return f"run {run[:RUN_SHOWN]}" + (f", commit {commit[:COMMIT_SHOWN]}" if commit else "")


def _work(page: SiteHealth, now: datetime) -> Iterator[SheetEntry]:
    for space, sorts in page.work.items():
        lines = [_line("", sort_text(sort, now)) for sort in sorts]
        yield SheetEntry(str(space), "", lines, Weight.BACKGROUND, section="Work in progress")


def _runs(page: SiteHealth, zone: tzinfo | None, *, full: bool) -> Iterator[SheetEntry]:
    runs: Sequence[SiteRun] = page.history.runs if page.history is not None else ()
    shown = runs if full else runs[:RUNS]
    for run in shown:
        did = [f"{number:,} {verb}" for verb, number in run.changed.items()]
        urls = [f"{count(number, 'URL')} {word}" for number, word in ((run.begun, "began"), (run.ended, "ended")) if number]
        lines = [_line("", "; ".join(filter(None, [", ".join(did), ", ".join(urls)])), f"{run.command} by {run.who}; {_by(page, run.run)}")]
        yield SheetEntry(clock_time(run.at, zone), "", lines, Weight.BACKGROUND, section="History")
    if len(runs) > len(shown):
        more = [_line("", f"{len(runs) - len(shown):,} older runs; --full shows each")]
        yield SheetEntry("Before", "", more, Weight.BACKGROUND, section="History")


# -- the pictures ----------------------------------------------------------------------------------------------------------------------


def _figures(page: SiteHealth, now: datetime) -> Iterator[Figure]:
    if page.parts:
        yield NumberTree("What readers see", "page", tuple(_rows(page)))
    if page.history is not None and page.history.runs:
        points = [(run.at, run.live) for run in reversed(page.history.runs)]
        yield Trend("Published URLs", "URL", points, now)


def _rows(page: SiteHealth) -> Iterator[FigureRow]:
    yield FigureRow(0, page.title, _sum(page.parts), _below(page, page.url) if page.url is not None else "")
    drawn = page.parts[:DRAWN]
    for node, some in groupby(drawn, key=lambda part: part.node):
        parts = list(some)
        if node is not None:
            yield FigureRow(1, parts[0].node_title, _sum(parts), "default" if parts[0].first else "")
        for part in parts:
            yield FigureRow(1 if node is None else 2, part.title, part.pages, _below(page, part.url))
    if len(page.parts) > len(drawn):
        rest = page.parts[len(drawn) :]
        yield FigureRow(1, f"and {len(rest):,} more", _sum(rest))


def _sum(parts: Sequence[SitePart]) -> int | None:
    numbers = [part.pages for part in parts if part.pages is not None]
    return sum(numbers) if len(numbers) == len(parts) else None


# -- as data ---------------------------------------------------------------------------------------------------------------------------


def site_document(page: SiteHealth, *, created_at: datetime) -> types.SiteDocument:
    """The document."""
    report, history = page.report, page.history
    return {
        "format": "reconciler.site-health/1",
        "project": report.project,
        "environment": report.environment,
        "createdAt": utc_text(created_at),
        "site": str(page.site),
        "title": page.title,
        "url": page.url,
        "readers": page.readers,
        "status": report.word.value,
        "urls": page.urls,
        "parts": [_part(part) for part in page.parts],
        "work": [{"address": str(space), "sorts": [_begun(sort) for sort in sorts]} for space, sorts in page.work.items()],
        "checks": [check_data(check, report.today) for check in report.checks],
        "history": None
        if history is None
        else {
            "answer": history.live,
            "complete": not history.doubt,
            "ended": [record(types.EndedUrlsData, group, at=utc_text(group.at)) for group in history.ended],
            "runs": [record(types.SiteRunData, run, at=utc_text(run.at), changed=dict(run.changed)) for run in history.runs],
        },
        "unknown": page.unknown or None,
        "notes": list(report.notes),
    }


def _part(part: SitePart) -> types.SitePartData:
    title = None if part.node is None else part.node_title
    return record(types.SitePartData, part, nodeTitle=title, nodeDefault=part.first, unknown=part.unread or None)


def _begun(sort: WorkSort) -> types.BegunSortData:
    times = [(item, utc_text(item.since) if item.since is not None else None) for item in sort.items]
    items = [record(types.BegunItemData, item, since=since) for item, since in times]
    return record(types.BegunSortData, sort, items=items, unknown=sort.unread or None)
