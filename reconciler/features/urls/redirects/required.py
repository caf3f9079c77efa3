"""The redirects that a site needs, from what was public and what answers afterwards. Pure.

    ledger, service     /use/a and /guides/a      at which URLs pages answered, and which pages
    table               /old -> /use/a            what the file says, lines of people included
    answers afterwards  /product/a                to anybody: everybody, or readers with a claim or a login
    result              /old      -> /product/a   a redirect leads to a page that answers, and never to another redirect
                        /use/a    -> /product/a
                        /guides/a -> /product/a

Whatever was public ends in one of: a page answers, a redirect leads to a page that answers, the project declares it gone, or it is named:
*dead* if the plan ends it, which a guard refuses, *ended* if somebody else did. A URL at which a page answers to anybody has no line, so a
swap of two pages needs none. What a plan does is of no importance here: the same function is evaluated before a run and after it, by a run
without changes, and by `urls export`.

Two spellings of one URL are one URL (`canonical`): web servers compare paths after decoding them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from reconciler.address import Address
from reconciler.features.urls.model.pages import AnsweringUrls, PageUrl
from reconciler.features.urls.model.redirects import RECONCILER, DeadUrl, FormerUrl, GoneUrls, Redirect
from reconciler.text.patterns import STAR, PathPattern
from reconciler.text.urls import containing

SAFE: Final = "-._~!'()*+,;=:@&$"  # what a segment of a path may contain unescaped, RFC 3986
PORTS: Final = {"http": 80, "https": 443}

ANY: Final = "/**"  # the end of a pattern of URLs, where the pages are not known
UNKNOWN: Final = "only the service knows its new URL, or its pages could not be read"
ENDED: Final = "its page is no longer published"
LED: Final = "it was redirected to {url}, and the page there is no longer published"
NARROWED: Final = "at most some of its readers can read a page there now"


@dataclass(frozen=True)
class Redirection:
    """Every redirect there must be, sorted by the URL; and what was public until now, and nothing answers."""

    redirects: tuple[Redirect, ...]
    dead: tuple[DeadUrl, ...] = ()


def canonical(url: str) -> str | None:
    """The one spelling of a published URL: lower-case host, no default port, no query, escapes only where needed, no slash at the end.

    None for what is not a URL that a web server can be asked for, such as the digest of a secret one.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme.lower() not in PORTS or not parts.hostname or parts.username is not None:
            return None
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
        # ASCII letters, digits, dots and hyphens alone: the host is written into files of web servers.
        host = host if re.fullmatch(r"\[[0-9a-f:.]+\]|[a-z0-9._-]+", host, re.ASCII) else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        return None
    if re.fullmatch(r"[a-z0-9._-]+", host, re.ASCII) is None:
        return None
    path = quoted_path(parts.path)
    at = host if port in (None, PORTS[scheme]) else f"{host}:{port}"
    return f"{scheme}://{at}{_normal(path)}"


PLAIN: Final = re.compile(
    r"(?P<scheme>https?://)(?P<host>[a-z0-9._-]+)(?P<port>:[0-9]{1,5})?"
    r"(?P<path>(?:/(?!\.{1,2}(?:/|$))(?:[A-Za-z0-9._~!'()*+,;=:@&$-]|%20|%[89A-F][0-9A-F])+)*)",
    re.ASCII,
)
"""What nearly all URLs are: their path is spelled so already. Every URL of a ledger is compared a few times by every plan."""


def quoted_path(path: str, safe: str = SAFE) -> str:
    """The path with escapes only where needed. `%2F` stays: it is part of a segment, and not what divides two. `safe`: what needs none."""
    return "/".join(quote(unquote_to_bytes(segment), safe=safe) for segment in path.split("/"))


SANDBOX: Final = "127.0.0.1"
LOOPBACK: Final = frozenset({SANDBOX, "localhost"})
LOOPBACK_6: Final = re.compile(r"^(https?://)\[::1\](?=[:/?#]|$)", re.IGNORECASE)


def recorded_url(url: str) -> str:
    """The spelling of a URL in the ledger: canonical, and without the port of a sandbox, which changes from run to run. A sandbox has one
    host, whatever it was called."""
    plain = PLAIN.fullmatch(url)
    if plain is not None and plain["host"] in LOOPBACK:
        return f"{plain['scheme']}{SANDBOX}{plain['path']}"
    if plain is not None and plain["port"] is None:
        return url
    text = canonical(LOOPBACK_6.sub(rf"\g<1>{SANDBOX}", url, count=1)) or url
    parts = urlsplit(text)
    return parts._replace(netloc=SANDBOX).geturl() if parts.hostname in LOOPBACK else text


def _normal(path: str) -> str:
    """The path as servers compare it: no empty segments, no `.` and `..`, no slash at the end. Empty, or it begins with one."""
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            segments[-1:] = []
        elif segment not in ("", "."):
            segments.append(segment)
    return "".join(f"/{segment}" for segment in segments)


def line_url(url: str) -> str:
    """A URL of a line as tables have it: as in the ledger, with the query and the anchor that a person wrote."""
    return recorded_url(url) + ending(url)


def ending(url: str) -> str:
    """The query and the anchor of a URL, with escapes where needed."""
    parts = urlsplit(url)
    query, anchor = (quote(text, safe=f"{SAFE}/?%") for text in (parts.query, parts.fragment))
    return (f"?{query}" if query else "") + (f"#{anchor}" if anchor else "")


@dataclass(frozen=True)
class _Search:
    """Where the content of a URL is afterwards. All URLs as in the ledger; `moves`: where a plan says that the page of a URL will be;
    `replaced`: below which URL a copy is shown of what was shown below a URL."""

    lines: Mapping[str, Redirect]
    former: Mapping[str, FormerUrl]
    after: AnsweringUrls
    moves: Mapping[str, str]
    places: Mapping[str, list[PageUrl]]
    replaced: Mapping[str, str]

    def target(self, source: str) -> str | None:
        """Where a URL must lead; None where nothing answers what was there."""
        line, former = self.lines.get(source), self.former.get(source)
        page = self._place(source, former) if former is not None else None
        if line is None:
            return page if former is not None else self._move(source, is_public=False)
        if line.target is None:
            return page if line.is_own else None
        if not line.is_own:
            return self._followed(line.target, frozenset({source}), is_public=False) or page
        answer = self.after.public.get(recorded_url(line.target))
        if former is not None and answer is not None and answer.page == former.page and source not in self.moves:
            return line.target
        return page or self._followed(line.target, frozenset({source}), is_public=former is not None)

    def _place(self, url: str, former: FormerUrl) -> str | None:
        """Where everybody can read the page that a URL had last: where the plan moves it, else at the most similar URL, first of
        its site."""
        move = self.moves.get(url)
        if move is not None and (answer := self.after.public.get(move)) is not None and answer.page == former.page:
            return move
        candidates = self.places.get(former.page, ())
        return min((place.url for place in candidates), key=lambda place: self._distance(url, former, place), default=None)

    def _distance(self, url: str, former: FormerUrl, place: str) -> tuple[bool, int, int, bool, int, str]:
        old, new = url.split("/")[::-1], place.split("/")[::-1]
        alike = next((number for number, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new)))
        answer, same = self.after.public[place], len(common_root((url, place)))
        return answer.site != former.site, -alike, abs(len(old) - len(new)), answer.is_first, -same, place

    def _followed(self, target: str, seen: frozenset[str], *, is_public: bool) -> str | None:
        """Where the target of a line leads: to itself if something answers there, else where its page is or its own line leads.
        `is_public`: whether everybody must be able to read there."""
        url = recorded_url(target)
        former, answer = self.former.get(url), self.after.public.get(url)
        pages = self.after.restricted.get(url, ()) if not is_public else ()
        # What was public there before an earlier run is of no importance: the line is about what only some readers find there.
        is_there = former is not None and (former.page in pages or (bool(pages) and not former.is_live))
        if (
            former is not None
            and not is_there
            and (answer is None or answer.page != former.page)
            and (place := self._place(url, former)) is not None
        ):
            return place + ending(target)
        if answer is not None or (url in self.after.restricted and not is_public):
            return target
        if url in seen:
            return None
        if (line := self.lines.get(url)) is not None:
            return self._followed(line.target, seen | {url}, is_public=is_public) if line.target is not None else None
        if (move := self._move(url, is_public=is_public)) is not None:
            return move + ending(target)
        if (copy := self.copy_of(url)) is not None:
            return copy + ending(target)
        # Nobody knows what answers at a URL of no site of ours.
        is_ours = former is not None or url in self.moves or any(is_below(url, root) for root in self.after.roots.values())
        return target if self.may_answer(url) or not is_ours else None

    def _move(self, url: str, *, is_public: bool) -> str | None:
        """Where the plan, or a run that wrote no files, moves the page of a URL that only some readers knew, if it answers there."""
        seen, move = {url}, self.moves.get(url)
        while move is not None and move not in seen:
            if move in self.after.public or (move in self.after.restricted and not is_public):
                return move
            seen.add(move)
            move = self.moves.get(move)
        return None

    def copy_of(self, url: str) -> str | None:
        """Where everybody can read a copy of what was shown at a URL: the page with the same path, else the first page."""
        used = set[str]()  # a copy may be shown below the URL of what it replaces: /use leads to /use/v2
        while True:
            above = next((above for above in reversed(containing(url)) if above in self.replaced and above not in used), None)
            if above is None:
                return None
            used.add(above)
            top = self.replaced[above]
            url = top + url[len(above) :]
            # Of a copy that the plan makes, nobody knows the pages yet.
            is_new = not self.after.created.isdisjoint(containing(url)) and self.after.closed.isdisjoint(containing(url))
            if is_new or url in self.after.public:
                return url
            if top in self.after.public:
                return top

    def may_answer(self, url: str) -> bool:
        """Whether a page that could not be read may answer at a URL."""
        return bool(self.after.unread) and not self.after.unread.isdisjoint(containing(url))


def is_below(url: str, root: str) -> bool:
    """Whether a URL is that of a site, or below it."""
    return url == root or url.startswith(f"{root}/")


def redirection(
    lines: Iterable[Redirect],
    former: Mapping[str, FormerUrl],
    after: AnsweringUrls,
    is_gone: Callable[[str, Address], bool] = lambda url, site: False,
    moves: Mapping[str, tuple[Address, str | None]] = {},
    unknown: Callable[[str], bool] = lambda url: False,
    replaced: Mapping[str, str] = {},
) -> Redirection:
    """The redirects there must be, from those there are and every URL that was public. All URLs are spelled as in the ledger.

    `lines`: of the tables. `former`: what the ledger and the service know, by URL. `after`: what answers to anybody afterwards. `is_gone`:
    whether the project declares a URL of a site as gone. `moves`: by URL, the site of a page that leaves it and where it will answer, also
    for URLs that only some readers know. `unknown`: whether only the service knows the new URL of what was at one. `replaced`: by the URL
    below which something was shown, the URL below which the next copy of it is; a URL that is declared gone does not lead there.
    """
    known = {line_url(line.source): line for line in lines}
    places: dict[str, list[PageUrl]] = {}
    for answer in after.public.values():
        places.setdefault(answer.page, []).append(answer)
    search = _Search(known, former, after, {url: to for url, (_, to) in moves.items() if to is not None}, places, {})
    copies = replace(search, replaced=replaced)
    rules, dead = dict[str, Redirect](), dict[str, DeadUrl]()
    sites = {url: site for url, (site, _) in moves.items()} | {url: past.site for url, past in former.items()}
    sites |= {source: line.site for source, line in known.items()}
    for source, site in sites.items():
        line, past = known.get(source), former.get(source)
        url = source if line is None else recorded_url(source)  # only a line of a table has a query or an anchor
        if after.answers(url):
            if past is not None and past.is_live and url not in after.public and not is_gone(url, site):
                dead[source] = DeadUrl(source, site, NARROWED)
            continue
        to = recorded_url(line.target) if line is not None and line.target is not None else ""
        declared, by = is_gone(url, site) or (to != "" and is_gone(to, site)), line.by if line is not None else RECONCILER
        if line is None and search.may_answer(url) and not url.endswith(ANY):
            continue
        target = (search if declared else copies).target(source)
        if target is None and past is not None and not declared and (line is None or line.target is not None):
            target = copies.copy_of(url)
        if target is not None and recorded_url(target) != url:
            rules[source] = Redirect(site, source, target, by)
        elif line is not None and line.target is None:
            rules[source] = line
        elif declared:
            rules |= {source: Redirect(site, source, None, by)} if not url.endswith(ANY) else {}
        elif line is not None or past is None or past.is_live:
            reason = (
                UNKNOWN if unknown(source) or (to and unknown(to)) else LED.format(url=line.target) if to and line is not None else ENDED
            )
            dead[source] = DeadUrl(source, site, reason)
    return Redirection(tuple(rules[source] for source in sorted(rules)), tuple(dead[url] for url in sorted(dead)))


# -- declared as gone ------------------------------------------------------------------------------------------------------------


def gone_test(declared: Iterable[GoneUrls], roots: Mapping[Address, str]) -> Callable[[str, Address], bool]:
    """Whether an entry of `urls.gone` names a URL. `roots`: the URL of each site, which a pattern that begins with a slash is below."""
    patterns = [pattern.pattern for pattern in declared]

    def is_gone(url: str, site: Address) -> bool:
        return any(url_matches(pattern, url, roots.get(site)) for pattern in patterns)

    return is_gone


def url_matches(pattern: str, url: str, root: str | None) -> bool:
    """Whether a pattern of URLs matches a canonical URL. `root`: the URL of its site, which a path is below; None: unknown."""
    subject = path_below(url, root) if pattern.startswith("/") else url
    return subject is not None and _matches(pattern, subject)


def path_below(url: str, root: str | None) -> str | None:
    """The path of a canonical URL below that of its site: `/v1/a`, `/` for the site's own; None if it is not below it."""
    top = canonical(root) if root is not None else None
    if top is None or not (url == top or url.startswith(f"{top}/")):
        return None
    return url[len(top) :] or "/"


def is_named(url: DeadUrl, pattern: str) -> bool:
    """Whether a pattern, or a URL as a plan shows it, names a URL."""
    subject = url.path if pattern.startswith("/") else url.url
    same = not pattern.startswith("/") and recorded_url(pattern) == recorded_url(url.url)
    return same or (bool(subject) and _matches(pattern, subject))


def pattern_of(url: DeadUrl) -> str:
    """The shortest pattern that names a URL alone: its path below its site where that is known."""
    return _literal(url.path or url.url)


def _literal(url: str) -> str:
    """A URL as a pattern that matches it alone; `/**` at its end stays, as of what could not be listed."""
    stem, end = (url.removesuffix(ANY), ANY) if url.endswith(ANY) else (url, "")
    return stem.replace("*", "%2A") + end


FEW: Final = 3  # URLs that are named one by one


def patterns_of(urls: Iterable[DeadUrl], kept: Iterable[str], unlisted: Iterable[str], roots: Iterable[str]) -> list[str]:
    """Patterns that name all of these URLs and no URL that lives: a folder where everything in it is one of these, else each URL.

    `kept`: URLs at which something answers, or may again. `unlisted`: below which there are pages that nobody listed. `roots`: the URLs of
    all sites, because a path is below any of them.
    """
    sites = {*roots}

    def names(url: str) -> list[str]:
        return [url, *(url[len(root) :] for root in sites if is_below(url, root))]

    closed = {name for url in unlisted for name in names(url)}
    living = closed | {name for url in (*kept, *sites) for name in names(url)}
    blocked = living | {above for name in living for above in _folders(name)}
    dead = list(dict.fromkeys(url.path if url.path and _stem(url.path.rstrip("/")) not in living else url.url for url in urls))
    if len(dead) > FEW:
        inside = Counter(folder for name in dead for folder in {_stem(name), *_folders(name)})

        def shortest(name: str) -> str:
            folders = (folder for folder in (*_folders(name), _stem(name)) if folder.count("/") != (0 if name.startswith("/") else 2))
            whole = (at for at in folders if inside[at] > 1 and at not in blocked and closed.isdisjoint(_folders(at)))
            return next((f"{folder}{ANY}" for folder in whole), name)

        dead = list(dict.fromkeys(map(shortest, dead)))
    return [_literal(name) for name in dead]


def _stem(name: str) -> str:
    return name.removesuffix(ANY)


def _folders(name: str) -> list[str]:
    """What contains a path or a URL, from its site, which is "", or its host on."""
    parts = _stem(name).split("/")
    return ["/".join(parts[:end]) for end in range(1 if name.startswith("/") else 3, len(parts))]


def _matches(pattern: str, url: str) -> bool:
    """Whether a URL, or a path, matches. `/v1/**` matches `/v1` too: the page at the top of a section is part of it."""
    return _parsed(pattern).matches(url)


@lru_cache(maxsize=4_096)
def _parsed(pattern: str) -> PathPattern:
    host, slash, path = pattern.partition("://")[2].partition("/")
    # Of a whole URL, the host as it is in a canonical one.
    top = canonical(f"{pattern.partition('://')[0]}://{host}") if host else None
    text = pattern if top is None else f"{top}{slash}{path}"
    return PathPattern.parse(text.rstrip("/") or "/", STAR, quoted_path)


# -- whole groups ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wildcard:
    """Redirects that are one: every URL below `source` leads to the same path below `target`."""

    source: str
    target: str
    number: int


def common_root(urls: Iterable[str]) -> str:
    """The longest URL that all of these are, or are below; "" for none."""
    root: list[str] | None = None
    for url in urls:
        parts = url.split("/")
        same = len(parts) if root is None else next((n for n, (a, b) in enumerate(zip(root, parts, strict=False)) if a != b), len(parts))
        root = parts if root is None else root[:same]
    return "/".join(root or ())


def moved_parts(before: str, after: str) -> tuple[str, str]:
    """What differs of two URLs of a page, from the host on: what is left without the end that they share."""
    left, right = before.split("/"), after.split("/")
    # A URL begins with a scheme and a host, which are no part of a path.
    while len(left) > 3 and len(right) > 3 and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    return "/".join(left), "/".join(right)


GROUP_MIN: Final = 5  # redirects; fewer are read more easily one by one


def groups(rules: Mapping[str, str | None], others: Iterable[str], unknown: Iterable[str] = ()) -> tuple[Wildcard, ...]:
    """The largest groups of redirects that one wildcard can replace. `others`: every other URL that is or was public, of every site.
    `unknown`: URLs below which there are pages that nobody listed.

    A wildcard also matches what is not known yet, so it is written only where everything below its URL is redirected likewise, and no page
    answers there.
    """
    blocked: set[str] = set()
    closed = {*unknown}
    for url in (*others, *closed):
        blocked.update(containing(url))
    shared: dict[str, dict[str, int]] = {}
    for source, target in rules.items():
        above = containing(source)[:-1]
        if target is None:
            blocked.update(above)
            continue
        for prefix in above:
            tail = source[len(prefix) :]
            to = target[: -len(tail)] if target.endswith(tail) else ""
            # Never the host alone: a wildcard on it would take the whole host.
            if to and to.count("/") >= 3 and prefix.count("/") >= 3:
                shared.setdefault(prefix, {}).setdefault(to, 0)
                shared[prefix][to] += 1
            else:
                blocked.add(prefix)
    chosen: list[Wildcard] = []
    for prefix in sorted(shared, key=len):
        targets = shared[prefix]
        inside = any(prefix.startswith(f"{group.source}/") for group in chosen)
        if inside or prefix in blocked or len(targets) != 1 or not closed.isdisjoint(containing(prefix)[:-1]):
            continue
        to, number = next(iter(targets.items()))
        if number >= GROUP_MIN and not to.startswith(f"{prefix}/") and to != prefix:
            chosen.append(Wildcard(prefix, to, number))
    return tuple(sorted(chosen, key=lambda group: group.source))
