"""The first screen of a rehearsal: its worst moment, readers, URLs, deletions and sites, in the words of whoever answers for the docs.

    document (reconciler.rehearsal/1) -> FirstScreen -> HTML

It needs the document and nothing else, so that a page which keeps documents can show the same. Its styles are in `first_screen.css`, and no
element has a style of its own: a page whose policy allows only files can include it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.features.rehearsal.documents import ReaderChangeData
from reconciler.features.rehearsal.report import (
    consequence,
    dead_groups,
    done,
    enumerated,
    moved_groups,
    reader_groups,
    remarks,
    short_url,
    widest,
)
from reconciler.report.sheet import Weight
from reconciler.report.words import count
from reconciler.text.escape import terminal

if TYPE_CHECKING:
    from jinja2 import Environment

NUMBER: Final = re.compile(r"(?<![\d,])(?:\d[\d,]*\d|\d) (?!of\b)[a-z]+")  # a number and its noun stay on one line
FOLDER: Final = Path(__file__).parent
CSS: Final = FOLDER / "static" / "first_screen.css"
MOST_LINES: Final = 4  # lines of a column
TITLES: Final = 3  # objects in a line
SITES: Final = 12  # cards
BARS: Final = 120  # of the chart; of more moments, the worst of each group
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """`note`: who it is about, or where; smaller."""

    text: str
    note: str = ""


@dataclass(frozen=True)
class Column:
    """One subject. `tone`: bad, warn, or quiet where nothing of it happens."""

    title: str
    number: str
    tone: str
    lines: Sequence[Line] = ()
    more: int = 0


@dataclass(frozen=True)
class ChartBar:
    """One moment, or the worst of several: shares of the worst moment's numbers, 0 to 100."""

    after: int
    height: int
    opened: bool
    worst: bool


@dataclass(frozen=True)
class SiteCard:
    """`differences`: how many, in words."""

    id: str
    title: str
    url: str
    number: int
    differences: str
    sentences: Sequence[str]


@dataclass(frozen=True)
class Note:
    """Sentences under a heading; they need a decision where `urgent`."""

    title: str
    sentences: Sequence[str]
    urgent: bool = False


@dataclass(frozen=True)
class FirstScreen:
    done: str
    lead: str
    end: str
    # The number of the worst request; 0 without one.
    worst: int
    bars: Sequence[ChartBar]
    bars_say: str
    columns: Sequence[Column]
    sites: Sequence[SiteCard]
    # How many sites have no card.
    other_sites: int
    notes: Sequence[Note]
    calm: bool


def first_screen(document: Data) -> FirstScreen:
    """What the first screen shows of a document."""
    worst, moments, writes = document["worst"], document["moments"], document["requests"]["apply"]
    end = moments[-1] if moments else {"deadUrls": 0, "opened": 0, "after": 0}
    at_end = worst is None or worst["after"] == writes
    return FirstScreen(
        done=done(document),
        lead=_lead(document),
        end="" if at_end else f"At the end, {consequence(end, document)}.",
        worst=worst["after"] if worst else 0,
        bars=_bars(moments, worst),
        bars_say=_bars_say(worst, writes),
        columns=[_gained(document), _lost(document), _urls(document), _deleted(document)],
        sites=[_card(site, document["unread"]) for site in sorted(document["sites"], key=lambda site: -site["differences"])[:SITES]],
        other_sites=max(0, len(document["sites"]) - SITES),
        notes=_notes(document),
        calm=worst is None and not document["unread"],
    )


def rendered(document: Data, *, to_site: str | None = None, to_request: str | None = None) -> str:
    """The first screen as a part of a page, in an element of the class `rehearsal`.

    `to_site`: what the links of the sites begin with, such as `#/site/`, `to_request`: those of the moments; None without links.
    """
    values = {"screen": first_screen(document), "to_site": to_site, "to_request": to_request}
    return environment().get_template("first_screen.html").render(values)


@cache
def environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # few processes show a preview
    from markupsafe import Markup, escape

    environment = Environment(loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined)
    environment.finalize = lambda value: terminal(value) if type(value) is str else value  # markup and numbers are not escaped
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.globals["count"] = count
    environment.filters["tied"] = lambda text: Markup(NUMBER.sub(r'<span class="rh-tied">\g<0></span>', str(escape(terminal(text)))))  # noqa: S704
    environment.filters["breakable"] = lambda text: Markup(str(escape(terminal(text))).replace("/", "<wbr>/"))  # noqa: S704  escaped before
    return environment


# -- sentences ---------------------------------------------------------------------------------------------------------------------


def _lead(document: Data) -> str:
    worst, writes = document["worst"], document["requests"]["apply"]
    if not writes:
        return "The plan sends no requests. No site changes."
    if worst is None and document["unread"]:
        return "It is not known whether somebody can read more, or a published URL does not answer: not everything could be read."
    if worst is None:
        return "Nobody can read more, and every published URL answers, at every moment."
    when = "At the end" if worst["after"] == writes else f"If it stops after request {worst['after']:,} of {writes:,}"
    return f"{when}, {consequence(worst, document)}."


def _bars(moments: Sequence[Data], worst: Data | None) -> list[ChartBar]:
    most = max((moment["deadUrls"] for moment in moments), default=0) or 1
    size = -(-len(moments) // BARS) or 1
    bars = []
    for first in range(0, len(moments), size):
        group = moments[first : first + size]
        dead = max(moment["deadUrls"] for moment in group)
        is_worst = worst is not None and any(moment["after"] == worst["after"] for moment in group)
        bars.append(ChartBar(group[-1]["after"], -(-100 * dead // most), any(moment["opened"] for moment in group), is_worst))
    return bars


def _bars_say(worst: Data | None, writes: int) -> str:
    return f"URLs that answer 404 after each of {count(writes, 'request')}" + (f"; request {worst['after']} is the worst" if worst else "")


def _title(change: ReaderChangeData) -> str:
    return change["title"] or change["address"] or change["kind"]


def _reader_lines(changes: Sequence[ReaderChangeData]) -> list[Line]:
    alike: dict[str, set[tuple[str, str]]] = {}
    for change in changes:
        alike.setdefault(_title(change), set()).add((change["kind"], str(change["address"])))
    several = {title: f"{title} ({len(objects)} objects)" for title, objects in alike.items() if len(objects) > 1}
    lines = []
    for readers, titles in reader_groups(changes, _title):
        titles = tuple(several.get(title, title) for title in titles)
        more = f" and {len(titles) - TITLES} more" if len(titles) > TITLES else ""
        lines.append(Line(", ".join(titles[:TITLES]) + more, enumerated(readers)))
    return lines


def _readers(title: str, rows: Sequence[ReaderChangeData], tone: str, unread: Sequence[str]) -> Column:
    lines = _reader_lines(widest(rows))
    objects = len({(row["kind"], row["title"], row["address"]) for row in rows})
    none = "Not all known" if unread else "None"
    return Column(
        title, count(objects, "object") if rows else none, tone if rows else "quiet", lines[:MOST_LINES], max(0, len(lines) - MOST_LINES)
    )


def _gained(document: Data) -> Column:
    return _readers("Newly readable", document["readers"]["gained"], "bad", document["unread"])


def _lost(document: Data) -> Column:
    return _readers("No longer readable", document["readers"]["lost"], "warn", document["unread"])


def _whom(url: str, urls: Data) -> str:
    """To whom a URL no longer answers, where others still get it."""
    closed = next((row for row in urls.get("closed", ()) if row["answering"] and url in row["urls"]), None)
    return f" to {enumerated(closed['who'])}" if closed is not None else ""


def _urls(document: Data) -> Column:
    urls, sites = document["urls"], document["sites"]
    dead, moved = sum(site["deadPages"] for site in sites), sum(site["movedPages"] for site in sites)
    if not urls["dead"] and not urls["moved"]:
        return Column("Published URLs", "Not all known" if document["unread"] else "All answer", "quiet")
    lines = []
    for url, below in dead_groups(urls["dead"]):
        site, path = _place(url, sites)
        lines.append(
            Line(
                path,
                f"{site + ': ' if site else ''}no longer answers{_whom(url, urls)}"
                + (f", with {count(below, 'URL')} below it" if below else ""),
            )
        )
    for before, after, inside in moved_groups(urls["moved"]):
        alone = len(inside) == 1
        (site, path), (to, place) = (
            _place(url, sites) for url in ((inside[0]["before"], inside[0]["after"]) if alone else (before, after))
        )
        if not site:  # the site had another URL
            path, place = short_url(before), short_url(after)
        where = to if site in ("", to) else f"from {site} to {to}"
        lines.append(Line(f"{path} → {place}", f"{where}: {count(len(inside), 'URL')}"))
    parts = [*([f"{count(dead, 'page')} lost"] if dead else []), *([f"{count(moved, 'page')} moved"] if moved else [])]
    number = ", ".join(parts) or count(len(urls["dead"]) + len(urls["moved"]), "URL")
    return Column("Published URLs", number, "bad" if urls["dead"] else "warn", lines[:MOST_LINES], max(0, len(lines) - MOST_LINES))


def _place(url: str, sites: Sequence[Data]) -> tuple[str, str]:
    """The title of the site of a URL, and the path in it; of no site that has this URL now, "" and the URL."""
    owners = [site for site in sites if url == site["url"] or url.startswith(f"{site['url']}/")]
    if not owners:
        return "", short_url(url)
    owner = max(owners, key=lambda site: len(site["url"]))
    return owner["title"], url.removeprefix(owner["url"]) or "/"


def _deleted(document: Data) -> Column:
    deleted = document["deleted"]
    if not deleted:
        return Column("Deleted", "Nothing", "quiet")
    titles = Counter[str]()
    kinds: dict[str, list[str]] = {}
    for row in deleted:
        name = row["title"] or str(row["address"] or "untitled")
        titles[name] += row["pages"]
        kinds.setdefault(name, []).append(row["kind"].replace("-", " "))
    lines = [
        Line(name, ", ".join([*dict.fromkeys(kinds[name]), *([count(pages, "page")] if pages else [])])) for name, pages in titles.items()
    ]
    return Column("Deleted", count(len(deleted), "object"), "bad", lines[:MOST_LINES], max(0, len(lines) - MOST_LINES))


def _card(site: Data, unread: Sequence[str]) -> SiteCard:
    pages = (("movedPages", "moves", "move"), ("deadPages", "no longer answers", "no longer answer"), ("newPages", "is new", "are new"))
    spaces = (("opened", "has new readers", "have new readers"), ("closed", "loses readers", "lose readers"))
    sentences = [
        f"{count(site[key], noun)} {singular if site[key] == 1 else plural}"
        for noun, rows in (("page", pages), ("space", spaces), ("title", (("renamed", "changes", "change"),)))
        for key, singular, plural in rows
        if site[key]
    ]
    number, none = site["differences"], "Not all known" if unread else "No differences"
    return SiteCard(site["id"], site["title"], site["url"], number, count(number, "difference") if number else none, sentences)


def _notes(document: Data) -> list[Note]:
    return [
        Note(title[0].upper() + title[1:], said, urgent=weight <= Weight.HINDERED)
        for title, _, _, weight, said in remarks(document)
        if said
    ]
