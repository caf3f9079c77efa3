"""What a plan does to URLs of pages, as lines of a report. Pure.

acme/site/docs
  ! ends        41 URLs: /v1/**                     (41 pages of acme/space/guides-v1)
  ! moves       196 URLs: /use/** -> /product/**    (196 pages of 3 spaces)
                23 pages in 4 spaces link to pages that end: "Install" (acme/space/faq) and 22 more
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from reconciler.address import Address
from reconciler.features.urls.model.pages import UrlGroup, UrlReason
from reconciler.features.urls.model.planned import URLS, PlannedUrls
from reconciler.model import Plan
from reconciler.report.layout import Span, Style
from reconciler.report.sheet import Harm, SheetLine
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
