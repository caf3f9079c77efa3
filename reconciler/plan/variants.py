"""What shows the pages of an object to readers, and the URLs below which they answer there. Pure.

The premise: a page has no URL of its own. It answers below the URL of each object that shows what contains it, and that URL is composed of
the segments of everything around:

    https://docs.acme.example / guides / v2 / install/linux
    the site                    section  variant  path of the page in its space

What is the default among its siblings also answers without its segment, so that one variant answers below up to four URLs (*bases*).
Where two of them would lead to different pages, the one with more segments counts, and of two with as many the one that names what is
further out.

In: objects, and who can read them; for what a plan creates, the segments that the service derives. Out: the variants that those read
whom the site admits and who bring no claim: who knows the URL, holders of a share link, or visitors who sign in. What only a claim opens is
left out: its URLs are no promise to anybody. So is, after a plan, a site that stops admitting everybody who knows the URL: for them
its URLs end. `readable` has them all: a redirect must not hide a page from anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from itertools import combinations
from typing import Any, Final
from urllib.parse import quote

from reconciler.address import Address
from reconciler.model import Actual, Observed, Step
from reconciler.model.codec import title
from reconciler.model.variants import SecretUrl, SiteUrls, Variant
from reconciler.plan.audience.readers import Access, Audiences, Objects, whole_of
from reconciler.plan.containment import Key, page_fields, showing_kinds
from reconciler.resource import LIFECYCLE, UNSET, FieldRole, Kind, Kinds
from reconciler.resource.conditions import holds_without_claims
from reconciler.resource.risks import AGENTS, ANYONE, ANYONE_WITH_THE_URL, LINK_HOLDERS, VISITORS

OPEN: Final = frozenset({ANYONE, ANYONE_WITH_THE_URL})
ADMITTED: Final = OPEN | {LINK_HOLDERS, VISITORS}
READERS: Final = ADMITTED | {AGENTS}  # of published URLs


@dataclass(frozen=True)
class Published:
    """The objects of one moment, and who can read them.

    `derived`: values that the service derives for what is created. `earlier`: the moment before, None for the present: a URL that the
    service shows belongs to it. `past`: this is the moment before `earlier`, from which it is only composed.
    """

    kinds: Kinds
    readers: Audiences
    derived: Mapping[Key, Mapping[str, Any]] = field(default_factory=dict)
    earlier: Published | None = None
    past: bool = False

    @property
    def objects(self) -> Objects:
        return self.readers.objects

    def find(self, key: Key) -> Observed | None:
        return self.objects.get(key[0], {}).get(key[1])


def variants(moment: Published, earlier: Mapping[Key, Variant] = {}) -> dict[Key, Variant]:
    """What shows pages to all whom a site admits, by its key. `earlier`: the same of the moment before."""
    return _apart([variant for kind in moment.kinds.values() for variant in _of_kind(moment, kind)], earlier)


def readable(moment: Published, earlier: Mapping[Key, Variant] = {}) -> dict[Key, Variant]:
    """What shows pages to anybody, by its key. `is_open`: to visitors who know the URL and did not sign in."""
    shown = []
    for kind in moment.kinds.values():
        for key, space in _shown(moment, kind):
            if any(access.who in READERS for access in moment.readers.of(key)):
                met = _met(moment.readers, key, OPEN)
                shown.append(_read_under(met, _variant(moment, key, space), is_open=met is not None))
    return _apart(shown, earlier)


def _apart(shown: list[Variant], earlier: Mapping[Key, Variant]) -> dict[Key, Variant]:
    # The service gives one of two siblings with the same path another one. Which, and what it is, only the service knows.
    bases = Counter(variant.bases[0] for variant in shown if variant.bases)
    result = {}
    for variant in shown:
        twice = bool(variant.bases) and bases[variant.bases[0]] > 1
        was = earlier.get(variant.at)
        stays = was is not None and was.bases.get(0) == variant.bases.get(0)
        result[variant.at] = variant if not twice or stays else replace(variant, bases={})
    return result


def _of_kind(moment: Published, kind: Kind) -> Iterator[Variant]:
    for key, space in _shown(moment, kind):
        if (met := _met(moment.readers, key, OPEN)) is not None:
            yield _read_under(met, _variant(moment, key, space))
        elif (met := _met(moment.readers, key, ADMITTED)) is not None and not _was_open(moment, key):
            by_link = _met(moment.readers, key, frozenset({VISITORS})) is None
            yield _read_under(met, _variant(moment, key, space), is_open=False, by_link=by_link)


def _shown(moment: Published, kind: Kind) -> Iterator[tuple[Key, Key]]:
    """What shows pages, and the object that contains them."""
    shows = page_fields(moment.kinds, kind)
    if not shows or kind.published is None:
        return
    for observed in moment.objects.get(kind.name, {}).values():
        key = (kind.name, observed.id)
        for known in shows:
            space = (str(known.refers), str(observed.values.get(known.name)))
            content = moment.readers.find(space)
            # What is given to another container is no longer shown in this one.
            if content is None or not content.within.items() <= observed.within.items():
                continue
            yield key, space


def _met(readers: Audiences, key: Key, whom: frozenset[str]) -> Access | None:
    """By which of their accesses these readers read the object without bringing any claim, the one with fewest conditions; None where they
    do not."""
    passed = [access for access in readers.of(key) if access.who in whom and all(map(holds_without_claims, access.conditions))]
    return min(passed, key=lambda access: (access.conditional, len(access.conditions), sorted(access.conditions)), default=None)


def _read_under(met: Access | None, variant: Variant, *, is_open: bool = True, by_link: bool = False) -> Variant:
    """A variant with the conditions that its readers meet; of pages, none is known to be met where nobody reads it without a claim."""
    conditions = met.conditions if met is not None else frozenset[str]()
    is_adaptive = met is None or met.conditional
    return replace(variant, is_open=is_open, by_link=by_link, conditions=conditions, is_adaptive=is_adaptive)


def _was_open(moment: Published, key: Key) -> bool:
    """Whether everybody who knows the URL was admitted to the site of an object before."""
    if moment.past:
        return False
    site, earlier = _chain(moment, key)[-1], moment.earlier
    return earlier is not None and earlier.find(site) is not None and _met(earlier.readers, site, OPEN) is not None


def _variant(moment: Published, key: Key, space: Key) -> Variant:
    chain, first = _chain(moment, key), moment.earlier or moment
    site, (root, *_) = chain[-1], _parts(moment, chain)
    bases, observed = _bases(moment, chain), first.find(key)
    shown = moment.kinds[key[0]].url(observed.raw) if observed is not None else None
    was = _chain(first, key) if observed is not None else []
    # The service may show a shorter one of these URLs.
    if shown is not None and shown.rstrip("/") not in _bases(first, was).values():
        # It composes this one in another way. As long as nothing in it changes it stays; else only the service knows.
        stays = was == chain and _parts(first, was) == _parts(moment, chain)
        bases = {0: shown.rstrip("/")} if stays else {}
    return Variant(key, space, site, root or "", bases)


def _chain(moment: Published, key: Key) -> list[Key]:
    """The object, what it is part of, and so on to the site."""
    return [key, *whole_of(moment.kinds, moment.objects, key)]


def _parts(moment: Published, chain: list[Key]) -> list[str | None]:
    """The URL of the site and the segments below it, from the outermost one; None for what only the service knows."""
    return [_root(moment, chain[-1]), *(_segment(moment, at) for at in reversed(chain[:-1]))]


def _root(moment: Published, site: Key) -> str | None:
    """The URL of a site; None where only the service knows it."""
    observed, kind = moment.find(site), moment.kinds[site[0]]
    before = moment.earlier.find(site) if moment.earlier is not None else observed
    if observed is None or before is None:
        return None
    url = kind.url(before.raw)
    for name in _segment_fields(kind):
        old, new = before.values.get(name), observed.values.get(name)
        if old != new:
            url = with_segment(url, old, new)
    return url.rstrip("/") if url is not None else None


def quoted(text: str) -> str:
    """A path as it is in a URL; half of a pair of code points, which no URL can have, as an escape."""
    return quote(text, errors="backslashreplace")


def with_segment(url: str | None, old: Any, new: Any) -> str | None:
    """The URL with its last segment of that name replaced; None where it has none."""
    parts = url.split("/") if url is not None else []
    if not isinstance(old, str) or not isinstance(new, str) or quoted(old) not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index(quoted(old))
    return "/".join([*parts[:at], quoted(new), *parts[at + 1 :]])


def _segment_fields(kind: Kind) -> list[str]:
    return [name for name, known in kind.fields.items() if known.address == "segment"]


def _segment(moment: Published, at: Key) -> str | None:
    """The segment of an object in the URLs below it; None where only the service knows it."""
    observed = moment.find(at)
    for name in _segment_fields(moment.kinds[at[0]]):
        value = observed.values.get(name, UNSET) if observed is not None else UNSET
        if value is UNSET:
            value = moment.derived.get(at, {}).get(name)
        return value if isinstance(value, str) and value else None
    return None


def _is_default(moment: Published, at: Key) -> bool:
    """Whether the object is the default among its siblings, whose segment may be left out."""
    observed = moment.find(at)
    return observed is not None and any(observed.flags.get(flag) for flag in moment.kinds.flags(at[0]))


def _bases(moment: Published, chain: list[Key]) -> dict[int, str]:
    """The URLs of an object by what is left out of them, the most complete one first; empty where only the service knows them."""
    parts, defaults = _parts(moment, chain), [_is_default(moment, at) for at in reversed(chain[:-1])]
    root, *segments = [part for part in parts if part is not None] if None not in parts else [""]
    places = range(len(segments))
    left_out = [out for number in range(len(segments) + 1) for out in sorted(combinations(places, number), reverse=True)]
    return {
        rank: "/".join([root, *(quoted(segment) for place, segment in enumerate(segments) if place not in out)])
        for rank, out in enumerate(left_out)
        if root and all(defaults[place] for place in out)
    }


# -- what a plan changes -------------------------------------------------------------------------------------------------------------


def touches_urls(kinds: Kinds, steps: Iterable[Step]) -> bool:
    """Whether a request may change a URL of a page."""
    names = _concerned(kinds)
    return any(
        step.kind in names and (step.verb in LIFECYCLE or not _composing(kinds[step.kind]).isdisjoint(step.writes)) for step in steps
    )


@cache
def _concerned(kinds: Kinds) -> frozenset[str]:
    """The kinds of what shows pages, of what it is part of, of what has them, and of secret URLs."""
    names = {name for name, kind in kinds.items() if kind.pages is not None or (kind.published is not None and kind.published.secret)}
    return frozenset(names | showing_kinds(kinds))


@cache
def _composing(kind: Kind) -> frozenset[str]:
    """The fields that decide at which URL something answers, and for whom."""
    return frozenset(
        name for name, known in kind.fields.items() if name in kind.modelled or known.address == "segment" or known.role is FieldRole.CHOICE
    )


def site_urls(before: Published, after: Published, called: Callable[[Key], Address]) -> SiteUrls:
    """The variants of every site in which a plan changes a URL. `called`: the address of an object, managed or not."""
    old = variants(before)
    new = variants(after, old)
    changed = {site for site in _sites(old, new) if _answers(old, site) != _answers(new, site)}
    was, then = (tuple(variant for variant in some.values() if variant.site in changed) for some in (old, new))
    spaces = {variant.space for variant in (*was, *then)}
    # The same space on a site that is unchanged: its pages are reachable there, at URLs that no other page can take.
    was += tuple(_complete(variant) for variant in old.values() if variant.site not in changed and variant.space in spaces)
    then += tuple(_complete(variant) for variant in new.values() if variant.site not in changed and variant.space in spaces)
    keys = {key for variant in (*was, *then) for key in (variant.space, variant.site)}
    titles = {key: title(observed) for key in spaces if (observed := after.find(key) or before.find(key)) is not None}
    created = frozenset(key for key in spaces if before.find(key) is None)
    return SiteUrls(was, then, {key: called(key) for key in sorted(keys)}, titles, created, tuple(_secret(before, after, called)))


def answers_alike(site_urls: SiteUrls, url: str | None) -> bool:
    """Whether the pages of the same object answer at a URL before and after: another one of its URLs may be this one, with a segment left
    out."""
    was, then = (_at(variants, url) for variants in (site_urls.before, site_urls.after))
    return was is not None and was == then


def _at(some: Iterable[Variant], url: str | None) -> Key | None:
    """The object whose pages answer at a URL: that of the variant of whose URL least is left out. A slash at its end means nothing."""
    plain = (url or "").rstrip("/")
    there = [(rank, variant.space) for variant in some for rank, base in variant.bases.items() if base == plain]
    return min(there)[1] if there else None


def unread_openers(kinds: Kinds, actual: Actual, site_urls: SiteUrls) -> frozenset[Key]:
    """The lists of what opens the sites whose URLs change and that only some readers can enter, if nobody has read them: a site that nobody
    can enter has no URL that anybody knows."""
    sites = {variant.site for variant in (*site_urls.before, *site_urls.after) if not variant.is_open}
    lists = set()
    for kind in kinds.values():
        for name, id in sites:
            observed, audience = actual.find(name, id), kinds[name].audience
            admits = audience is not None and audience.admits is not None and observed is not None and audience.admits(observed.values)
            if kind.audience is not None and kind.audience.opens == name and admits and (kind.name, id) not in actual.complete:
                lists.add((kind.name, id))
    return frozenset(lists)


def _complete(variant: Variant) -> Variant:
    """The variant with the URLs alone from which nothing is left out."""
    return replace(variant, bases={rank: base for rank, base in variant.bases.items() if rank == 0})


def _sites(*some: Mapping[Key, Variant]) -> set[Key]:
    return {variant.site for variants in some for variant in variants.values()}


def _answers(some: Mapping[Key, Variant], site: Key) -> set[tuple[Any, ...]]:
    """What can be told apart of the URLs of a site without knowing a page."""
    return {
        (variant.space, variant.is_open, variant.conditions, variant.is_adaptive, *sorted(variant.bases.items()))
        for variant in some.values()
        if variant.site == site
    }


def _secret(before: Published, after: Published, called: Callable[[Key], Address]) -> Iterator[SecretUrl]:
    """The secret URLs that end, as digests."""
    for kind in before.kinds.values():
        if kind.published is None or not kind.published.secret or kind.within is None:
            continue
        for id, observed in before.objects.get(kind.name, {}).items():
            url = kind.url(observed.raw)
            if url is not None and _opens(before, kind, id) and not _opens(after, kind, id):
                site = (kind.within, observed.within.get(kind.within, ""))
                yield SecretUrl(called(site), title(observed), digest(url))


def _opens(moment: Published, kind: Kind, id: str) -> bool:
    """Whether a secret URL admits somebody."""
    observed = moment.find((kind.name, id))
    outer = moment.readers.find((str(kind.within), observed.within.get(kind.within or "", ""))) if observed is not None else None
    audience = moment.kinds[kind.within].audience if kind.within is not None else None
    admits = outer is not None and audience is not None and audience.admits is not None and audience.admits(outer.values)
    return admits and bool(moment.readers.of((kind.name, id)))


def digest(url: str) -> str:
    """The text that reports show in the place of a secret URL. Its key is long and random, so nobody can guess it from the digest."""
    return f"sha256:{sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()}"
