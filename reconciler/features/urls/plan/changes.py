"""What a plan does to every URL of a page: page by page, matched by the page's id. Pure.

    before the plan                          after the plan                       it is
    /use/install      page 7                 /product/install   page 7            moved
    /use/v1/install   page 3                 -                                    gone: page 3 answers nowhere, or at another URL as before
    /product          page 9 of the default  /product           page 7            shadowed: what names more segments takes the URL
    -                                        /beta/install      page 4            new

In: what shows pages before and after (`SiteUrls`), and the pages of what is shown. Which pages must be known is a question with several
rounds (`needed`): a variant that is unchanged may take a URL, or lose one to a page that moves. Out: a change for each URL. Where pages
could not be read, one change for all below a URL, whose number nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from reconciler.features.urls.model.pages import AnsweringUrls, Page, PageChange, PageTree, PageUrl, UrlReason
from reconciler.features.urls.model.planned import URLS
from reconciler.features.urls.plan.groups import grouped
from reconciler.features.urls.redirects.required import recorded_url
from reconciler.model import Plan
from reconciler.model.variants import SecretUrl, SiteUrls, Variant
from reconciler.plan.containment import Key
from reconciler.plan.variants import quoted
from reconciler.resource.conditions import holds_without_claims
from reconciler.text.urls import containing

Trees = Mapping[Key, PageTree | str]
"""The pages of each object; why they are not known, where they could not be read."""

ANY = "/**"
"""The end of a pattern for every URL below one."""

ENDING = (UrlReason.GONE, UrlReason.SHADOWED)


class UrlAnswer(NamedTuple):
    """What answers at a URL. `rank`: how much is left out of it. `first`: the page answers at the URL of the variant itself."""

    rank: int
    variant: Variant
    page: Page
    first: bool = False

    @property
    def identity(self) -> tuple[Key, str]:
        """The page, wherever it is shown."""
        return self.variant.space, self.page.id


def with_urls(plan: Plan, trees: Trees) -> Plan:
    """The plan with what happens to the URLs of pages. A tree that is missing counts as one that could not be read."""
    urls = tuple(changes(plan.site_urls, trees))
    if not urls:
        return plan
    unread = ((plan.site_urls.names[key], why) for key, why in sorted(trees.items()) if isinstance(why, str))
    notes = (f"{address}: its pages could not be read, so their URLs are unknown: {why}" for address, why in unread)
    said = replace(plan.feature(URLS), changes=urls, groups=grouped(plan.site_urls, urls))
    return replace(plan, notes=(*plan.notes, *notes)).with_feature(URLS, said)


def dead_pages(plan: Plan) -> dict[Key, dict[str, str]]:
    """The titles of the pages that answer nowhere after the plan, by id, by the object that contains them; under "" its own title where
    nothing of it answers."""
    keys = {address: key for key, address in plan.site_urls.names.items()}
    alive = {(change.space, change.page) for change in plan.feature(URLS).changes if change.after is not None}
    dead: dict[Key, dict[str, str]] = {}
    for change in plan.feature(URLS).changes:
        if change.page is not None and change.space is not None and change.reason in ENDING and (change.space, change.page) not in alive:
            dead.setdefault(keys[change.space], {})[change.page] = change.title
    shown = {variant.space for variant in plan.site_urls.after}
    for key in dead.keys() - shown:
        dead[key][""] = plan.site_urls.titles[key]
    return dead


def page_urls(variants: tuple[Variant, ...], site_urls: SiteUrls, trees: Trees) -> list[PageUrl]:
    """The URLs at which pages answer now, in the order of URLs. `site_urls`: with the names of spaces and sites."""
    names = site_urls.names
    return [
        PageUrl(
            url,
            answer.page.id,
            answer.page.title,
            names[answer.variant.space],
            names[answer.variant.site],
            answer.variant.conditions,
            answer.first,
        )
        for url, answer in sorted(_answers(variants, trees).items())
    ]


def answering(variants: tuple[Variant, ...], site_urls: SiteUrls, trees: Trees) -> AnsweringUrls:
    """Every URL at which a page answers to anybody. `variants`: all that anybody can read, those that are open to everybody who did not
    sign in. `site_urls`: with the names of spaces and sites, and what is created. A tree that is missing counts as one that could not be
    read."""
    names = site_urls.names
    pages = page_urls(tuple(variant for variant in variants if variant.is_open), site_urls, trees)
    public = {url: page if page.url == url else replace(page, url=url) for page in pages for url in (recorded_url(page.url),)}
    urls: dict[str, set[str]] = {}  # of what is not open
    unread, created = set[str](), set[str]()
    for variant in variants:
        tree, bases = trees.get(variant.space), {*variant.bases.values()} or {variant.root}
        if not isinstance(tree, PageTree) or not variant.bases:
            (created if variant.space in site_urls.created or not variant.bases else unread).update(bases)
            continue
        # Whoever meets the condition of the first page gets it at the URL of the variant.
        hidden = tree.pages if not variant.is_open else [page for page in tree.pages if _read_by(variant, page) is None]
        for base in bases:
            for url, page in (*((base, page) for page in hidden if page == tree.pages[0]), *((_url(base, page), page) for page in hidden)):
                urls.setdefault(recorded_url(url), set()).add(page.id)
    closed = {url for variant in variants if not variant.is_open for url in variant.bases.values() or (variant.root,)}
    return AnsweringUrls(
        public,
        {url: frozenset(some) for url, some in urls.items() if url not in public},
        unread=_recorded(unread),
        created=_recorded(created),
        closed=_recorded(closed),
        roots={names[variant.site]: recorded_url(variant.root) for variant in variants if variant.root},
    )


def _recorded(urls: set[str]) -> frozenset[str]:
    return frozenset(recorded_url(url) for url in urls if url)


def readable_spaces(site_urls: SiteUrls) -> frozenset[Key]:
    """The objects whose pages anybody can read before or after the plan, without those that it creates."""
    return frozenset(variant.space for variant in (*site_urls.readable_before, *site_urls.readable_after)) - site_urls.created


def with_answering(plan: Plan, trees: Trees) -> Plan:
    """The plan with every URL that answers before it and after it. `trees`: of all spaces that anybody can read."""
    urls = plan.site_urls
    before = answering(urls.readable_before, urls, trees)
    after = before if urls.readable_after == urls.readable_before else answering(urls.readable_after, urls, trees)
    return plan.with_feature(URLS, replace(plan.feature(URLS), answering_before=before, answering_after=after))


# -- which pages must be known ---------------------------------------------------------------------------------------------------------


def needed(site_urls: SiteUrls, trees: Trees) -> frozenset[Key]:
    """The objects whose pages must be read next; empty where `trees` has all that matter."""
    was, then = (_urls_of(variants) for variants in (site_urls.before, site_urls.after))
    changed = was ^ then
    asked = {space for space, *_ in changed}
    stays = {(space, base) for space, _, base, *_ in was & then}
    # A URL that changes may be below one that stays: then a page below the second may have, get or lose it.
    above = {part for _, _, base, *_ in changed for part in containing(base)}
    asked |= {space for space, base in stays if base in above}
    # And the other way round, once the pages show it.
    bases = {base for _, _, base, *_ in changed}
    inner = {(space, base) for space, base in stays if not bases.isdisjoint(containing(base))}
    if inner:
        pages = {space: tree.pages for space in asked if isinstance(tree := trees.get(space), PageTree)}
        below = {part for space, _, base, *_ in changed for page in pages.get(space, ()) for part in containing(_url(base, page))}
        asked |= {space for space, base in inner if base in below}
    return frozenset(asked - trees.keys() - site_urls.created)


def _urls_of(variants: tuple[Variant, ...]) -> set[tuple[Key, int, str, bool, bool, Key | None, frozenset[str]]]:
    return {
        (variant.space, rank, base, variant.is_open, variant.is_adaptive, variant.site if variant.by_link else None, variant.conditions)
        for variant in variants
        for rank, base in variant.bases.items()
    }


def _url(base: str, page: Page) -> str:
    return f"{base}/{quoted(page.path)}"


# -- page by page ------------------------------------------------------------------------------------------------------------------------


def _answers(variants: tuple[Variant, ...], trees: Trees) -> dict[str, UrlAnswer]:
    """What answers at each URL: of several pages, that of the URL from which least is left out."""
    ranked = sorted(
        ((rank, base, variant) for variant in variants for rank, base in variant.bases.items()), key=lambda entry: (entry[0], entry[1])
    )
    # A page has a URL for each base; its path is the same below all of them.
    shown = {variant.space: tree.pages for _, _, variant in ranked if isinstance(tree := trees.get(variant.space), PageTree)}
    paths = {space: [quoted(page.path) for page in pages] for space, pages in shown.items()}
    answers: dict[str, UrlAnswer] = {}
    for rank, base, variant in ranked:
        first = True
        for page, path in zip(shown.get(variant.space, ()), paths.get(variant.space, ()), strict=True):
            if (read := _read_by(variant, page)) is None:
                continue
            if (url := f"{base}/{path}") not in answers:
                answers[url] = UrlAnswer(rank, read, page)
            if first:
                answers.setdefault(base, UrlAnswer(rank, read, page, first=True))
                first = False
    return answers


def _read_by(variant: Variant, page: Page) -> Variant | None:
    """The variant for the readers of one of its pages; None where only visitors with a claim read it."""
    if not page.condition or not variant.is_adaptive:
        return variant
    return replace(variant, conditions=variant.conditions | {page.condition}) if holds_without_claims(page.condition) else None


@dataclass(frozen=True)
class _Match:
    """Where the pages of `before` answer in `after`."""

    site_urls: SiteUrls
    before: Mapping[str, UrlAnswer]
    after: Mapping[str, UrlAnswer]
    # The URLs of each page after the plan.
    urls: Mapping[tuple[Key, str], list[str]]
    # Objects whose pages will be shown at URLs that only the service knows.
    unknown: frozenset[Key]

    def target(self, url: str, answer: UrlAnswer) -> str | None:
        """Where the page of a URL that ends answers: in the place nearest to that, at a new URL rather than at one it had already."""

        def distance(candidate: str) -> tuple[bool, bool, bool, bool, bool, int, str]:
            then = self.after[candidate]
            return (
                then.variant.site != answer.variant.site,
                then.variant.at != answer.variant.at,
                self.has(candidate, answer),
                then.rank != answer.rank,
                then.first != answer.first,
                then.rank,
                candidate,
            )

        # Who knew an open URL may not be admitted where only some readers are.
        read = (url for url in self.urls.get(answer.identity, ()) if _admits_all(self.after[url].variant, answer.variant))
        # Of what does not change, not every page is known: one of them may have a URL from which something is left out.
        sure = (url for url in read if self.after[url].rank == 0 or not self.has(url, answer))
        return min(sure, key=distance, default=None)

    def has(self, url: str, answer: UrlAnswer) -> bool:
        """Whether the same page answers at a URL before the plan."""
        was = self.before.get(url)
        return was is not None and was.identity == answer.identity

    def opens(self, url: str, answer: UrlAnswer) -> bool:
        """Whether people can read at a URL after the plan what only others could whom its site admitted."""
        was = self.before.get(url)
        return was is not None and not _admits_all(was.variant, answer.variant)


def _admits_all(variant: Variant, readers_of: Variant) -> bool:
    """Whether a variant is open to all readers of another one. Whom one and the same site admits no longer is said of its readers."""
    alike = variant.site == readers_of.site or not (variant.by_link or readers_of.by_link)
    return (variant.is_open or (not readers_of.is_open and alike)) and variant.conditions <= readers_of.conditions


def changes(site_urls: SiteUrls, trees: Trees) -> Iterator[PageChange]:
    """A change for each URL that ends, begins, or leads to another page, in the order of URLs."""
    match = _matched(site_urls, trees)
    taken: set[tuple[str, tuple[Key, str]]] = set()
    lines: list[PageChange] = []
    for url, answer in match.before.items():
        then = match.after.get(url)
        if then is not None and then.identity == answer.identity and _admits_all(then.variant, answer.variant):
            continue
        after = match.target(url, answer)
        reason = _reason(match, answer, then, after)
        if after is not None and reason is UrlReason.MOVED:
            taken.add((after, answer.identity))
        lines.append(_line(site_urls, answer, url, None if reason is UrlReason.UNKNOWN else after, reason))
    for url, answer in match.after.items():
        if (not match.has(url, answer) or match.opens(url, answer)) and (url, answer.identity) not in taken:
            lines.append(_line(site_urls, answer, None, url, UrlReason.NEW))
    lines += [*_unread(site_urls, trees), *map(_ended, site_urls.secret)]
    yield from sorted(lines, key=lambda line: (line.site, line.before or line.after or "", line.reason, line.page or ""))


def _ended(secret: SecretUrl) -> PageChange:
    return PageChange(None, secret.title, None, secret.site, secret.digest, None, UrlReason.GONE)


def _matched(site_urls: SiteUrls, trees: Trees) -> _Match:
    before, after = _answers(site_urls.before, trees), _answers(site_urls.after, trees)
    urls: dict[tuple[Key, str], list[str]] = {}
    for url, answer in after.items():
        urls.setdefault(answer.identity, []).append(url)
    unknown = frozenset(variant.space for variant in site_urls.after if not variant.bases)
    return _Match(site_urls, before, after, urls, unknown)


def _reason(match: _Match, answer: UrlAnswer, then: UrlAnswer | None, after: str | None) -> UrlReason:
    if then is not None and then.identity != answer.identity:
        return UrlReason.SHADOWED
    if after is not None and not match.has(after, answer):
        return UrlReason.MOVED
    return UrlReason.UNKNOWN if after is None and answer.variant.space in match.unknown else UrlReason.GONE


def _line(site_urls: SiteUrls, answer: UrlAnswer, before: str | None, after: str | None, reason: UrlReason) -> PageChange:
    names = site_urls.names
    page, variant = answer.page, answer.variant
    return PageChange(page.id, page.title, names[variant.space], names[variant.site], before, after, reason, variant.is_open)


# -- pages that nobody knows -----------------------------------------------------------------------------------------------------------


def _unread(site_urls: SiteUrls, trees: Trees) -> Iterator[PageChange]:
    """A change for all pages below each URL that ends or begins, where the pages are not known."""
    was, then = ({variant.at: variant for variant in variants} for variants in (site_urls.before, site_urls.after))
    old, new = _at_bases(site_urls.before), _at_bases(site_urls.after)
    for variant in was.values():
        for rank, base in variant.bases.items() if not isinstance(trees.get(variant.space), PageTree) else ():
            if not any(_admits_all(other, variant) for other in new.get((variant.space, base), ())):
                bases = then[variant.at].bases if variant.at in then else {}
                yield _below(site_urls, variant, base, bases.get(rank, bases.get(0)))
    for variant in then.values():
        if not variant.bases and variant.at not in was:
            yield _below(site_urls, variant, None, None)
        if isinstance(trees.get(variant.space), PageTree):
            continue
        bases = was[variant.at].bases if variant.at in was else {}
        for rank, base in variant.bases.items():
            # What takes the place of a URL that ends is said there.
            known = any(_admits_all(other, variant) for other in old.get((variant.space, base), ()))
            if not known and bases.get(rank, base) == base:
                yield _below(site_urls, variant, None, base)


def _at_bases(variants: tuple[Variant, ...]) -> dict[tuple[Key, str], list[Variant]]:
    shown: dict[tuple[Key, str], list[Variant]] = {}
    for variant in variants:
        for base in variant.bases.values():
            shown.setdefault((variant.space, base), []).append(variant)
    return shown


def _below(site_urls: SiteUrls, variant: Variant, before: str | None, after: str | None) -> PageChange:
    names, title = site_urls.names, site_urls.titles.get(variant.space, "")
    was, then = (None if base is None else base + ANY for base in (before, after))
    return PageChange(None, title, names[variant.space], names[variant.site], was, then, UrlReason.UNKNOWN, variant.is_open)
