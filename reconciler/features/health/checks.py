"""What the answers to the checks of `health` mean: concerns about what readers find, and what nobody knows. Pure.

`features/health/read.py` asks. Titles of the service are in quotes, on one line, and cut: a sentence about 40 pages names one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from reconciler.features.health.model import Concern, GoldenSearch, Sort
from reconciler.features.health.plan import HealthInputs
from reconciler.features.work.plan import moment
from reconciler.model import Observed
from reconciler.plan.containment import Key, page_fields, parent
from reconciler.plan.warnings.notes import is_read
from reconciler.resource import Kind, ReviewList, SearchList
from reconciler.resource.open_work import at
from reconciler.text.names import closest, quoted
from reconciler.text.patterns import STAR, PathPattern


def number(value: Any) -> int | None:
    """A count of an answer; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _times(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


# -- links ---------------------------------------------------------------------------------------------------------------------------


def broken_links(inputs: HealthInputs, kind: Kind, observed: Observed, body: Any, limit: int) -> Iterator[Concern | str]:
    """A concern where more links out of an object lead nowhere than may."""
    assert kind.links is not None
    items = at(body, "items")
    total = number(at(body, kind.links.broken_number))
    if not isinstance(items, Sequence) or isinstance(items, str) or (total is None and at(body, "next.page") is not None):
        yield f"nobody knows how many links in {inputs.called((kind.name, observed.id))} are broken: the response does not say"
        return
    total = len(items) if total is None else total
    if total > limit:
        pages = dict.fromkeys(title for item in items if isinstance(title := at(item, kind.links.title), str))
        names = f", on {', '.join(map(quoted, list(pages)[:3]))}" if pages else ""
        yield inputs.concern(
            Sort.LINKS, kind, observed, f"{_times(total, 'link')} in it {'leads' if total == 1 else 'lead'} nowhere{names}"
        )


# -- pages ---------------------------------------------------------------------------------------------------------------------------


def stale_pages(inputs: HealthInputs, kind: Kind, observed: Observed, listed: Sequence[Mapping[str, Any]], days: int) -> Iterator[Concern]:
    """A concern where nobody changed pages of an object for so many days. A page without a time is not judged."""
    before = inputs.now - timedelta(days=days)
    times = [(time, page) for page in listed if (time := moment(at(page, "updatedAt"))) is not None]
    old = [(time, page) for time, page in times if time < before]
    if old:
        since, page = min(old, key=lambda pair: pair[0])
        oldest = f"the oldest, {quoted(str(at(page, 'title') or ''))}, since {since:%Y-%m-%d}"
        sentence = f"nobody changed {_times(len(old), 'page')} of {len(listed):,} for {days:,} days; {oldest}"
        yield inputs.concern(Sort.STALE, kind, observed, sentence)


# -- where pages are shown -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """One place where an object is shown: `outer` shows `inner`, for the readers of `root`. `segments`: the parts of its URL below that of
    the root, in each form that answers; `begins`: it is what these readers see first."""

    kind: Kind
    outer: Observed
    root_kind: Kind
    root: Observed
    inner: Key
    segments: frozenset[tuple[str, ...]]
    begins: bool


def places(inputs: HealthInputs) -> Iterator[Shown]:
    """Where objects are shown, as the reading has it."""
    kinds, actual = inputs.kinds, inputs.actual
    for kind in kinds.values():
        fields = page_fields(kinds, kind)
        root_kind = kinds.get(kind.within or "")
        for observed in actual.objects.get(kind.name, {}).values() if fields and root_kind is not None else ():
            assert root_kind is not None
            root = actual.find(root_kind.name, observed.within.get(root_kind.name, ""))
            url, above = kind.url(observed.raw), root_kind.url(root.raw) if root is not None else None
            looked_at = inputs.only is None or (kind.name, observed.id) in inputs.only
            if root is None or url is None or above is None or not looked_at:
                continue
            outer = parent(kind, observed)
            node = actual.find(*outer) if outer is not None else None
            whole = [part for part in urlsplit(url).path.split("/") if part]
            ahead = [part for part in urlsplit(above).path.split("/") if part]
            segments = whole[len(ahead) :] if whole[: len(ahead)] == ahead else whole
            first, own = node is not None and any(node.flags.values()), any(observed.flags.values())
            forms = {tuple(segments)}
            # What is shown by default answers without its own segment too.
            forms |= {form[:-1] for form in forms if own and form and form[-1] == _segment(kind, observed)}
            if node is not None and first:
                forms |= {form[1:] for form in forms if form and form[0] == _segment(kinds[node.kind], node)}
            begins = own and (node is None or first)
            for field in fields:
                if isinstance(target := observed.values.get(field.name), str):
                    yield Shown(kind, observed, root_kind, root, (str(field.refers), target), frozenset(forms), begins)


def _segment(kind: Kind, observed: Observed) -> Any:
    field = next((field for field in kind.fields.values() if field.address == "segment"), None)
    return observed.values.get(field.name) if field is not None else None


def beginnings(inputs: HealthInputs) -> list[Shown]:
    """For each root that somebody can read: what its readers see first."""
    shown = [place for place in places(inputs) if place.begins]
    return [place for place in shown if is_read(inputs.kinds, inputs.actual, place.root_kind, place.root)]


def no_start(inputs: HealthInputs, place: Shown, listed: Sequence[Mapping[str, Any]]) -> Iterator[Concern]:
    """A concern where what readers see first has no page."""
    if not listed:
        sentence = f"its readers find no page at {place.root_kind.url(place.root.raw)}: {inputs.called(place.inner)} has none"
        yield inputs.concern(Sort.LINKS, place.root_kind, place.root, sentence)


# -- searches ------------------------------------------------------------------------------------------------------------------------


def searched(inputs: HealthInputs, search: GoldenSearch) -> tuple[Shown, ...] | str:
    """Where the site of a search shows objects, or why nobody knows."""
    shown = list(places(inputs))
    by_address = {str(inputs.called((place.root_kind.name, place.root.id))): place.root for place in shown}
    matching = {address: root for address, root in by_address.items() if search.site in (address, address.rpartition("/")[2])}
    if len(matching) > 1:
        return f"{quoted(search.site)} may be {' or '.join(matching)}: write the address"
    if not matching:
        near = closest(search.site, [address.rpartition("/")[2] for address in by_address])
        return f"nothing published is called {quoted(search.site)}" + (f"; did you mean {quoted(near)}?" if near else "")
    ((_, root),) = matching.items()
    return tuple(place for place in shown if place.root is root)


def search_misses(
    inputs: HealthInputs, search: GoldenSearch, word: SearchList, shown: Sequence[Shown], body: Any
) -> Iterator[Concern | str]:
    """A concern where no result of a search is a page that it must find."""
    results = at(body, "items")
    if not isinstance(results, list):
        yield f"the search for {quoted(search.query)} failed: the response is not a list"
        return
    urls = list(dict.fromkeys(_urls(word, shown, results)))
    wanted = PathPattern.parse("/" + search.finds.strip("/"), STAR)
    if not any(map(wanted.matches, urls)):
        instead = f"it finds {', '.join(urls[:3])}" if urls else "it finds nothing there"
        sentence = f"readers who search for {quoted(search.query)} do not find {search.finds}; {instead}"
        yield inputs.concern(Sort.SEARCH, shown[0].root_kind, shown[0].root, sentence)


def _urls(word: SearchList, shown: Sequence[Shown], results: Iterable[Any]) -> Iterator[str]:
    """The paths of the pages that a search found, in each form that answers."""
    for result in results:
        within, listed = at(result, word.within), at(result, word.pages)
        for place in shown:
            if place.inner[1] == within and isinstance(listed, list):
                for page in listed:
                    end = at(page, word.url)
                    if isinstance(end, str):
                        yield from sorted("/" + "/".join([*form, end.strip("/")]).strip("/") for form in place.segments)


# -- change requests and topics ------------------------------------------------------------------------------------------------------


def waiting(
    inputs: HealthInputs, to: Kind, word: ReviewList, items: Iterable[Any], *, days: int | None, outdated: bool
) -> Iterator[Concern]:
    """A concern for each object with edits that are open for too long, or do not know its latest content. None and False: nobody looks."""
    by_object: dict[str, list[tuple[Mapping[str, Any], datetime | None]]] = {}
    for item in items:
        of = at(item, word.of)
        if isinstance(item, Mapping) and isinstance(of, str):
            by_object.setdefault(of, []).append((item, moment(at(item, word.since))))
    for id, some in sorted(by_object.items()):
        observed = inputs.actual.find(to.name, id)
        if observed is None:
            continue
        if days is not None:
            old = sorted(
                ((since, item) for item, since in some if since is not None and inputs.now - since > timedelta(days=days)),
                key=lambda pair: pair[0],
            )
            if old:
                since, item = old[0]
                whose = f"{_named(word, item)}, since {since:%Y-%m-%d}"
                sentence = f"{_times(len(old), word.noun)} open for more than {days:,} days; the oldest is {whose}"
                yield inputs.concern(Sort.REVIEWS, to, observed, sentence)
        behind = [item for item, _ in some if outdated and at(item, word.outdated) is True]
        if behind:
            sentence = f"{_times(len(behind), f'open {word.noun}')} without its latest content, such as {_named(word, behind[0])}"
            yield inputs.concern(Sort.REVIEWS, to, observed, sentence)


def _named(word: ReviewList, item: Mapping[str, Any]) -> str:
    title, author = at(item, word.title), at(item, word.author)
    by = f" by {' '.join(author.split())}" if isinstance(author, str) and author.strip() else ""
    return f"{quoted(title if isinstance(title, str) else '')}{by}"


def largest(inputs: HealthInputs, kind: Kind, observed: Observed, items: Iterable[Any], most: int) -> Iterator[Concern]:
    """What the readers of an object ask about most."""
    assert kind.topics is not None
    sizes = [(number(at(item, kind.topics.size)) or 0, at(item, kind.topics.title)) for item in items if isinstance(item, Mapping)]
    for size, title in sorted(sizes, key=lambda pair: (-pair[0], str(pair[1])))[:most]:
        text = f"readers ask about {quoted(title if isinstance(title, str) else '')}: {_times(size, 'conversation')}"
        yield inputs.concern(Sort.TOPICS, kind, observed, text)
