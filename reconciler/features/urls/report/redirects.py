"""The redirects of a plan as lines of its report and as data. Pure.

redirects/docs.csv                       urls
  + redirects   196 new, 3 lead elsewhere, 1 no longer needed
  ~ files       docs.csv and docs.nginx.conf
  ! left out    41 URLs of docs.cloudflare.csv: the format has no status for a page that ended
acme/site/docs
  ! dead        /v1/a and 40 more: its page is no longer published
  ! ended       /v1/b, before this plan: its page is no longer published
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.urls.model.redirects import DeadUrl, RedirectFile, RedirectFormat, RedirectPlan
from reconciler.features.urls.redirects.required import pattern_of
from reconciler.report.gathering import EntryPart
from reconciler.report.layout import Style
from reconciler.report.schemas import plan as plan_types
from reconciler.report.sheet import Harm, SheetLine, Weight
from reconciler.report.words import count, listed

MOST_URLS: Final = 5  # dead URLs with one reason; the rest is counted
INSTALLED: Final = (
    "Redirects work only where their files are installed. Whether the service has redirects of its own for these URLs is not known."
)


def redirect_parts(redirects: RedirectPlan | None, *, files: int, dead: int) -> Iterator[EntryPart]:
    """An entry for the files of each site, and one for the URLs of each site that nothing will answer. `files`, `dead`: their ranks."""
    if redirects is None:
        return
    by_site: dict[str, list[RedirectFile]] = defaultdict(list)
    for file in redirects.files:
        by_site[file.table].append(file)
    for table, some in by_site.items():
        yield EntryPart(title=table, lines=list(_lines(some)), rank=files, where="urls.redirects")
    for site, named, reason in _by_reason(redirects.dead):
        line = SheetLine(Style.DELETE, "!", "dead", f"{named}: {reason}", id="RC-dead-urls", harm=Harm.DEAD_URL)
        yield EntryPart(title=site, lines=[line], weight=Weight.URGENT, rank=dead)
    for site, named, reason in _by_reason(redirects.ended):
        yield EntryPart(title=site, lines=[SheetLine(Style.UPDATE, "!", "ended", f"{named}, before this plan: {reason}")], rank=dead)


def _by_reason(urls: Iterable[DeadUrl]) -> Iterator[tuple[str, str, str]]:
    """(site, its URLs with one reason, the reason)."""
    of_site: dict[tuple[Address, str], list[DeadUrl]] = defaultdict(list)
    for url in urls:
        of_site[url.site, url.reason].append(url)
    for (site, reason), some in of_site.items():
        yield str(site), listed([pattern_of(url) for url in some], MOST_URLS), reason


def _lines(files: list[RedirectFile]) -> Iterator[SheetLine]:
    first = files[0]
    numbers = [(first.added, "new"), (first.changed, "lead elsewhere"), (first.removed, "no longer needed")]
    if any(number for number, _ in numbers):
        yield SheetLine(Style.UPDATE, "~", "redirects", ", ".join(f"{number:,} {word}" for number, word in numbers if number))
    if written := [PurePosixPath(file.path).name for file in files if file.text is not None]:
        yield SheetLine(Style.UPDATE, "~", "files", listed(written, len(written)))
    for file in files:
        for reason, number in file.left_out.items():
            yield SheetLine(Style.UPDATE, "!", "left out", f"{count(number, 'URL')} of {PurePosixPath(file.path).name}: {reason}")


def redirects_data(redirects: RedirectPlan) -> plan_types.RedirectsData:
    """The data of a document."""
    data: plan_types.RedirectsData = {
        "files": [
            {
                "path": file.path,
                "format": file.format.value,
                "table": file.table,
                "written": file.text is not None,
                "added": file.added,
                "changed": file.changed,
                "removed": file.removed,
                "leftOut": [{"reason": reason, "urls": number} for reason, number in file.left_out.items()],
            }
            for file in redirects.files
        ],
        "dead": [_dead_data(url) for url in redirects.dead],
    }
    if redirects.ended:
        data["ended"] = [_dead_data(url) for url in redirects.ended]
    return data


def _dead_data(url: DeadUrl) -> plan_types.DeadUrlData:
    return {"url": url.url, "site": str(url.site), "path": url.path, "reason": url.reason}


def redirects_of(data: Mapping[str, Any] | None) -> RedirectPlan | None:
    """What a document says, without the texts of the files."""
    if data is None:
        return None
    files = (
        RedirectFile(
            item["path"],
            RedirectFormat(item["format"]),
            item["table"],
            "" if item["written"] else None,
            item["added"],
            item["changed"],
            item["removed"],
            {left["reason"]: left["urls"] for left in item["leftOut"]},
        )
        for item in data["files"]
    )
    dead, ended = (
        tuple(DeadUrl(item["url"], Address.parse(item["site"]), item["reason"], item["path"]) for item in data.get(name, ()))
        for name in ("dead", "ended")
    )
    return RedirectPlan(tuple(files), dead, ended)
