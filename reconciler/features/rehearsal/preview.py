"""What a preview shows of a rehearsal: the sites before and after, who reads what, and what every write changed. Pure.

    pictures before and after, moments -> RehearsedSite    a number for each site, for reports
                                       -> data             everything else, for the page: JSON, in which tables keep it small

Readers, objects and pages are numbers in the data, and a moment is compared with the one before, so that its size follows what changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from reconciler.address import Address
from reconciler.features.rehearsal.model import RehearsedSite
from reconciler.features.rehearsal.moments import WHO, Moments, SeenMoment, SeenReading, reader_in_words

Data = dict[str, Any]
Addresses = Mapping[tuple[str, str], Address]


class SeenPicture(Protocol):
    """Sites at one moment; `data` has the readers of their parts, `contents` the titles and pages behind them."""

    @property
    def contents(self) -> Mapping[str, Data]: ...
    @property
    def conditions(self) -> Mapping[str, set[frozenset[str]]]: ...
    def data(self, asked: Mapping[str, Iterable[frozenset[str]]]) -> list[Data]: ...


def rehearsed_sites(moments: Moments, before: SeenPicture, after: SeenPicture, addresses: Addresses) -> tuple[RehearsedSite, ...]:
    """Every site with its differences, one that is deleted too."""
    was, now = ({site["id"]: site for site in picture.data({})} for picture in (before, after))
    ends = {moved.before for moved in moments.moved()}
    owner = _Owners([*was.values(), *now.values()])
    dead: dict[str, set[tuple[str, str]]] = {}
    moved: dict[str, set[tuple[str, str]]] = {}
    for url in moments.closed:
        (moved if url in ends else dead).setdefault(owner.of(url), set()).add(moments.start.urls[url])
    gained, lost = (_readers_by_object(readings) for readings in (moments.gained(), moments.lost()))
    pages = _pages_by_site(moments.start, owner), _pages_by_site(moments.end, owner)
    return tuple(
        RehearsedSite(
            id=id,
            title=site["title"],
            url=site["url"],
            address=addresses.get((site["kind"], id)),
            published=site["published"] and id in now,
            dead_pages=len(dead.get(id, set()) - moved.get(id, set())),
            moved_pages=len(moved.get(id, ())),
            new_pages=len(pages[1].get(id, set()) - pages[0].get(id, set())),
            opened=_changed(now.get(id, {}), gained),
            closed=_changed(was.get(id, {}), lost),
            renamed=_renamed(_titles(was.get(id, {}), before.contents), _titles(now.get(id, {}), after.contents)),
        )
        for id, site in {**was, **now}.items()
    )


def preview_of(moments: Moments, before: SeenPicture, after: SeenPicture, addresses: Addresses) -> Data:
    """The data of a preview; `docs/rehearsal.md` describes its keys."""
    asked = {id: before.conditions.get(id, set()) | after.conditions.get(id, set()) for id in {**before.conditions, **after.conditions}}
    tables = _Tables({**moments.start.names, **moments.end.names}, moments.start.titles, moments.end.titles, addresses)
    # whoever comes without anything can be chosen for every site
    for name in WHO:
        tables.reader(name)
    sites = [[tables.part(site) for site in picture.data(asked)] for picture in (before, after)]
    urls, new = tables.urls(moments.start, sites), tables.urls(moments.end, sites, without=moments.start)
    numbers = {url: number for number, url in enumerate(_listed(urls))}
    start: dict[int, list[int]] = {}
    for reading in moments.start.readings:
        reader, item = tables.reading(reading)
        start.setdefault(reader, []).append(item)
    steps = [
        {
            "gained": sorted(map(tables.reading, delta.gained)),
            "lost": sorted(map(tables.reading, delta.lost)),
            "dead": [numbers[url] for url in delta.dead],
            "back": [numbers[url] for url in delta.back],
            "opened": [sorted(map(tables.reading, readings)) for readings in delta.opened],
            "closed": [sorted(map(tables.reading, readings)) for readings in delta.closed],
        }
        for delta in moments.deltas
    ]
    return {
        "readers": tables.reader_rows(),
        "objects": tables.object_rows(),
        "audiences": [list(audience) for audience in tables.audiences],
        "pages": [list(page) for page in tables.pages],
        "start": [sorted(start.get(number, ())) for number in range(len(tables.readers))],
        "moments": steps,
        "urls": urls,
        "newUrls": new,
        "before": {"sites": sites[0], "contents": dict(before.contents)},
        # what did not change is not repeated
        "after": {"sites": sites[1], "contents": {id: pages for id, pages in after.contents.items() if before.contents.get(id) != pages}},
    }


@dataclass
class _Tables:
    """What has a number in the data, in the order in which it came. `names`: of readers; `old` and `new`: titles of objects."""

    names: Mapping[str, str]
    old: Mapping[tuple[str, str], str]
    new: Mapping[tuple[str, str], str]
    addresses: Addresses
    readers: dict[str, int] = field(default_factory=dict)
    objects: dict[tuple[str, str], int] = field(default_factory=dict)
    audiences: dict[tuple[int, ...], int] = field(default_factory=dict)
    pages: dict[tuple[str, str], int] = field(default_factory=dict)

    def reader(self, name: str) -> int:
        return self.readers.setdefault(name, len(self.readers))

    def reading(self, reading: SeenReading) -> tuple[int, int]:
        return self.reader(reading.reader), self.objects.setdefault((reading.kind, reading.id), len(self.objects))

    def part(self, part: Data) -> Data:
        """A part of a site with the number of its audience, and so all below it."""
        below = {"parts": [self.part(inner) for inner in part["parts"]]} if "parts" in part else {}
        guarded = {"guarded": {page: self.audience(names) for page, names in part["guarded"].items()}} if "guarded" in part else {}
        return {**part, "readers": self.audience(part["readers"]), **guarded, **below}

    def audience(self, names: Iterable[str]) -> int:
        return self.audiences.setdefault(tuple(sorted(map(self.reader, names))), len(self.audiences))

    def urls(self, moment: SeenMoment, sites: Iterable[list[Data]], without: SeenMoment | None = None) -> list[Data]:
        """The URLs of a moment by their sites: what they begin with, their paths, and the pages behind them; those with the same page
        at the moment `without` are left out."""
        owner = _Owners([site for row in sites for site in row])
        rows: dict[str, Data] = {}
        for url, page in moment.urls.items():
            if without is None or without.urls.get(url) != page:
                begin = owner.begin(url)
                row = rows.setdefault(begin, {"begin": begin, "paths": [], "pages": []})
                row["paths"].append(url.removeprefix(begin))
                row["pages"].append(self.pages.setdefault(page, len(self.pages)))
        return list(rows.values())

    def reader_rows(self) -> list[Data]:
        return [{"reader": name, "who": reader_in_words(name, self.names)} for name in self.readers]

    def object_rows(self) -> list[Data]:
        titles = {**self.old, **self.new}
        return [
            {
                "kind": kind,
                "id": id,
                "title": titles.get((kind, id), ""),
                "address": str(self.addresses[kind, id]) if (kind, id) in self.addresses else None,
                "created": (kind, id) not in self.old,
            }
            for kind, id in self.objects
        ]


def _listed(rows: Iterable[Data]) -> Iterator[str]:
    for row in rows:
        yield from (row["begin"] + path for path in row["paths"])


class _Owners:
    """Which site a URL belongs to."""

    def __init__(self, sites: Iterable[Data]) -> None:
        self._ids = {str(site["url"]): str(site["id"]) for site in sites}

    def begin(self, url: str) -> str:
        """What the URLs of its site begin with."""
        begin = url
        while begin not in self._ids and "/" in begin:
            begin = begin.rpartition("/")[0]
        return begin if begin in self._ids else url

    def of(self, url: str) -> str:
        return self._ids.get(self.begin(url), "")


def _readers_by_object(readings: Iterable[SeenReading]) -> dict[str, set[str]]:
    readers: dict[str, set[str]] = {}
    for reading in readings:
        readers.setdefault(reading.id, set()).add(reading.reader)
    return readers


def _changed(site: Data, changes: Mapping[str, set[str]]) -> int:
    """How many spaces have a change of somebody who reads them on this site."""
    changed = set()
    for variant in _variants(site):
        readers = changes.get(variant["content"], set()) | changes.get(variant["id"], set())
        changed |= {variant["content"]} if readers & set(variant["readers"]) else set()
    return len(changed)


def _titles(part: Data, contents: Mapping[str, Data]) -> dict[tuple[str, str], str]:
    """The titles of a part of a site, of all parts in it, and of the pages behind them."""
    titles = {("", part["id"]): part["title"]} if part else {}
    for inner in part.get("parts", ()):
        titles |= _titles(inner, contents)
    if "content" in part:
        titles |= {(part["content"], id): title for _, id, title, _, _ in contents[part["content"]]["pages"]}
    return titles


def _renamed(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> int:
    return sum(1 for key, title in before.items() if after.get(key, title) != title)


def _variants(part: Data) -> Iterator[Data]:
    for inner in part.get("parts", ()):
        yield from _variants(inner)
    if "content" in part:
        yield part


def _pages_by_site(moment: SeenMoment, owner: _Owners) -> dict[str, set[tuple[str, str]]]:
    pages: dict[str, set[tuple[str, str]]] = {}
    for url, page in moment.urls.items():
        pages.setdefault(owner.of(url), set()).add(page)
    return pages
