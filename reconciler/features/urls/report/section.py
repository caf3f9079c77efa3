"""What URLs and redirects are in the report of a plan: lines, sentences, keys of its document. Pure.

acme/site/docs
  ! ends        41 URLs: /v1/**                     (41 pages of acme/space/guides-v1)
  ! moves       196 URLs: /use/** -> /product/**    (196 pages of 3 spaces)
                23 pages in 4 spaces link to pages that end: "Install" (acme/space/faq) and 22 more
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.urls.model.pages import LinkingPage, UrlGroup, UrlReason
from reconciler.features.urls.model.planned import REDIRECTS, URLS, PlannedUrls
from reconciler.features.urls.report.redirects import INSTALLED, redirect_parts, redirects_data, redirects_of
from reconciler.model import Plan
from reconciler.model.features import FeatureValues
from reconciler.report.documents import record
from reconciler.report.gathering import EntryPart
from reconciler.report.layout import Span, Style
from reconciler.report.schemas import plan as plan_types
from reconciler.report.sections import PlanSection, Rank
from reconciler.report.sheet import Harm, SheetLine, Weight
from reconciler.report.words import count, listed

GROUPS: Final = 10  # groups of URLs in a report; the rest is counted
LINKING: Final = 5  # pages with links, by title; the rest is counted
ID: Final = "RC-broken-url"
SENTENCES: Final = {
    "moved": ("moves", "move"),
    "ends": ("ends", "end"),
    "answers": ("ends although its page answers at another URL", "end although their pages answer at another URL"),
    "unknown": ("gets a new one that only the service knows", "get new ones that only the service knows"),
}
"""What happens to one URL, and to several."""
WORDS: Final = {UrlReason.GONE: "ends", UrlReason.SHADOWED: "ends", UrlReason.UNKNOWN: "unknown", UrlReason.MOVED: "moves"}


def url_lines(plan: Plan) -> dict[str, list[SheetLine]]:
    """The lines about URLs of pages by the address of the site; those about links are below the last site."""
    lines: dict[str, list[SheetLine]] = {}
    planned = plan.feature(URLS)
    for group in planned.groups[:GROUPS]:
        lines.setdefault(str(group.site), []).append(_group_line(group))
    if planned.groups:
        last = lines[str(planned.groups[min(len(planned.groups), GROUPS) - 1].site)]
        rest = planned.groups[GROUPS:]
        if rest:
            urls = sum(group.urls for group in rest)
            more = f"{count(len(rest), 'more group')} with {count(urls, 'URL')}: the JSON report has all of them"
            last.append(SheetLine(Style.DELETE, "!", "and", more, id=ID, harm=Harm.DEAD_URL))
        if planned.linking:
            names = [f'"{page.title}" ({page.space})' for page in planned.linking]
            last.append(SheetLine(Style.DIM, " ", "", f"{linking(planned)}: {listed(names, LINKING)}"))
    return lines


def _group_line(group: UrlGroup) -> SheetLine:
    before, after = (_shown(url, group.root) for url in (group.before, group.after))
    pages = _pages(group)
    number = count(group.urls, "URL") if group.urls else "all URLs"
    notes = [pages] if pages else []
    if group.reason is UrlReason.MOVED:
        value = f"{number}: {before} -> {after}"
    elif group.reason is UrlReason.UNKNOWN:
        value = f"{number}: {before} -> {after or 'a URL that only the service knows'}"
        notes += [] if group.urls else ["its pages could not be read"]
    else:
        value = f"{number}: {before}"
        shadowed, several = group.reason is UrlReason.SHADOWED, group.pages != 1
        notes += [f"{'other pages answer' if several else 'another page answers'} there"] if shadowed else []
        stays = ("are then" if several else "is then") if shadowed else ("stay" if several else "stays")
        notes += [f"{'they' if several else 'it'} {stays} at {after}"] if after else []
    return SheetLine(Style.DELETE, "!", WORDS[group.reason], value, "; ".join(notes), ID, harm=Harm.DEAD_URL)


def _shown(url: str | None, root: str) -> str | None:
    """The path of a URL in its site; the whole URL where it is on another one."""
    if url is None or not root or not (url == root or url.startswith(f"{root}/")):
        return url
    return url.removeprefix(root) or "/"


def _pages(group: UrlGroup) -> str:
    spaces = str(group.spaces[0]) if len(group.spaces) == 1 else _objects(group.spaces)
    return f"{count(group.pages, 'page')} of {spaces}" if group.pages else spaces


def _objects(addresses: Collection[Address]) -> str:
    """`3 spaces`."""
    kinds = Counter(address.kind or "object" for address in addresses)
    return listed([count(number, kind) for kind, number in kinds.items()], len(kinds))


def linking(planned: PlannedUrls) -> str:
    """`23 pages in 4 spaces link to pages that end`."""
    pages, spaces = count(len(planned.linking), "page"), _objects({page.space for page in planned.linking})
    return f"{pages} in {spaces} {'links' if len(planned.linking) == 1 else 'link'} to pages that end"


def numbers(plan: Plan) -> str:
    """`237 URLs of pages`; "" if no URL ends."""
    urls = sum(group.urls for group in plan.feature(URLS).groups)
    return f"{count(urls, 'URL')} of pages" if urls else ""


def page_sentences(plan: Plan) -> Iterator[Span]:
    """What that means for readers."""
    urls = Counter[str]()
    planned = plan.feature(URLS)
    for group in planned.groups:
        ends = group.reason in (UrlReason.GONE, UrlReason.SHADOWED)
        urls[("answers" if group.after is not None else "ends") if ends else group.reason] += group.urls
    parts: list[str] = []
    for word, (one, many) in SENTENCES.items():
        if urls[word]:
            # What is counted is said once.
            number = f"{urls[word]:,}" if parts else f"{count(urls[word], 'URL')} of pages"
            parts.append(f"{number} {one if urls[word] == 1 else many}")
    if parts:
        yield Span(Style.DELETE, f"{listed(parts, len(parts))}.")
    if planned.linking:
        yield Span(Style.DELETE, f"{linking(planned)}.")


URLS_MAX: Final = 10_000  # URLs of pages in a document


def _entries(plan: Plan) -> Iterator[EntryPart]:
    for title, lines in url_lines(plan).items():
        yield EntryPart(title=title, lines=lines, weight=Weight.URGENT, rank=Rank.URL)
    yield from redirect_parts(plan.feature(REDIRECTS), files=Rank.CHANGE, dead=Rank.URL)


def _notes(plan: Plan) -> Iterator[str]:
    redirects = plan.feature(REDIRECTS)
    if redirects is not None and redirects.files:
        yield INSTALLED


def _to_write(plan: Plan) -> str:
    redirects = plan.feature(REDIRECTS)
    return f"{count(len(redirects.written), 'file')} of redirects" if redirects is not None and redirects.written else ""


def _to_do(plan: Plan) -> str:
    files = _to_write(plan)
    return f"{files} to write" if files else ""


def _troubles(plan: Plan) -> str:
    redirects = plan.feature(REDIRECTS)
    return count(len(redirects.dead), "dead URL") if redirects is not None and redirects.dead else ""


def _document(plan: Plan, max_urls: int | None) -> Mapping[str, Any]:
    document: dict[str, Any] = {}
    planned, redirects = plan.feature(URLS), plan.feature(REDIRECTS)
    if redirects is not None:
        document["redirects"] = redirects_data(redirects)
    if planned.changes:
        most = URLS_MAX if max_urls is None else max_urls
        changes = planned.changes
        ending = sorted(changes, key=lambda change: change.before is None) if len(changes) > most else changes
        document["urls"] = [record(plan_types.PageChangeData, change) for change in ending[:most]]
        document["urlCount"] = len(changes)
        document["urlGroups"] = [record(plan_types.UrlGroupData, group) for group in planned.groups]
    if planned.linking:
        document["linking"] = [record(plan_types.LinkingPageData, page) for page in planned.linking]
    return document


def _since(document: Mapping[str, Any], plan: Plan) -> str:
    shown = sum(int(group["urls"]) for group in document.get("urlGroups", ()))
    more = sum(group.urls for group in plan.feature(URLS).groups) - shown
    if more <= 0:
        return ""
    return f"Pages were added since the plan was saved: it ends or moves {count(more, 'more URL')} of pages than it shows."


def _read(document: Mapping[str, Any]) -> FeatureValues:
    groups = tuple(map(_group, document.get("urlGroups", ())))
    linking = tuple(
        LinkingPage(item["page"], item["title"], Address.parse(item["space"]), tuple(item["to"])) for item in document.get("linking", ())
    )
    return {URLS: PlannedUrls(groups=groups, linking=linking), REDIRECTS: redirects_of(document.get("redirects"))}


def _group(item: Mapping[str, Any]) -> UrlGroup:
    return UrlGroup(
        UrlReason(item["reason"]),
        Address.parse(item["site"]),
        item["root"],
        item["before"],
        item["after"],
        item["urls"],
        item["pages"],
        tuple(map(Address.parse, item["spaces"])),
    )


SECTION: Final = PlanSection(
    entries=_entries, document=_document, read=_read, sentences=page_sentences, to_do=_to_do, written=_to_write, broken=numbers,
    troubles=_troubles, notes=_notes, since=_since,
)  # fmt: skip
