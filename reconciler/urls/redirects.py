"""The redirects that a site needs after its pages moved, from those that it had. Pure.

    earlier     /use/a -> /guides/a          what the file says
    changes     /guides/a -> /product/a      what the plan does to pages
    result      /use/a    -> /product/a      a redirect leads to a page that answers, and never to another redirect
                /guides/a -> /product/a

Whatever was public ends in one of: a page answers, a redirect leads to a page that answers, the project declares it gone, or it is *dead*,
which a guard refuses. A URL that a page takes again loses its redirect, so a swap of two pages needs none.

Two spellings of one URL are one URL (`canonical`): web servers compare paths after decoding them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from reconciler.address import Address
from reconciler.model import DeadUrl, GoneUrls, PageChange, Redirect, UrlReason
from reconciler.text.patterns import STAR, PathPattern

SAFE: Final = "-._~!'()*+,;=:@&$"  # what a segment of a path may contain unescaped, RFC 3986
PORTS: Final = {"http": 80, "https": 443}

ANY: Final = "/**"  # the end of a pattern of URLs, where the pages are not known
UNKNOWN: Final = "only the service knows its new URL, or its pages could not be read"
ENDED: Final = "its page is no longer published"
LED: Final = "it was redirected to {url}, and the page there is no longer published"


@dataclass(frozen=True)
class Redirection:
    """Every redirect there must be, sorted by the URL; and what nothing answers."""

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


def quoted_path(path: str, safe: str = SAFE) -> str:
    """The path with escapes only where needed. `%2F` stays: it is part of a segment, and not what divides two. `safe`: what needs none."""
    return "/".join(quote(unquote_to_bytes(segment), safe=safe) for segment in path.split("/"))


LOOPBACK: Final = frozenset({"127.0.0.1", "localhost"})


def recorded_url(url: str) -> str:
    """The spelling of a URL in the ledger: canonical, and without the port of a sandbox, which changes from run to run."""
    text = canonical(url) or url
    parts = urlsplit(text)
    return parts._replace(netloc=parts.hostname or "").geturl() if parts.hostname in LOOPBACK else text


def _normal(path: str) -> str:
    """The path as servers compare it: no empty segments, no `.` and `..`, no slash at the end. Empty, or it begins with one."""
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            segments[-1:] = []
        elif segment not in ("", "."):
            segments.append(segment)
    return "".join(f"/{segment}" for segment in segments)


Leaving = Callable[[str], PageChange | None]
"""The change by which a page leaves a URL; None if none does."""


def redirection(
    earlier: Iterable[Redirect],
    changes: Iterable[PageChange],
    is_gone: Callable[[str, Address], bool] = lambda url, site: False,
    is_live: Callable[[str], bool] = lambda url: False,
) -> Redirection:
    """The redirects after the changes. `is_gone`: whether the project declares a URL of a site as gone. `is_live`: whether a page answered
    at a URL when URLs were recorded last: a plan that was given up leaves redirects for pages that never moved."""
    now = {redirect.source: redirect for redirect in earlier}
    ended: dict[str, PageChange] = {}  # by the URL that its page leaves, or a pattern of URLs
    moved: dict[str, str] = {}
    answering: set[str] = set()
    for change in changes:
        before, after = (canonical(url) if url is not None else None for url in (change.before, change.after))
        if after is not None:
            answering.add(after)
        if before is None or before == after:
            continue
        if not change.is_open and is_live((now[before].target if before in now else None) or ""):
            # The redirect is for all who knew the URL when everybody could read there; only some readers still find a page.
            continue
        if change.reason is UrlReason.SHADOWED:
            # The page leaves, and another one answers at its URL.
            answering.add(before)
        ended.setdefault(before, change)
        if after is not None:
            moved.setdefault(before, after)

    def leaving(url: str) -> PageChange | None:
        return ended.get(url) or next((ended[f"{above}{ANY}"] for above in _above(url) if f"{above}{ANY}" in ended), None)

    rules: dict[str, str | None] = {}
    dead: dict[str, DeadUrl] = {}
    sites = {source: redirect.site for source, redirect in now.items()} | {before: change.site for before, change in ended.items()}
    for source, site in sites.items():
        if source in answering or (source not in ended and is_live(source)):
            continue
        target = _target(source, now, leaving, moved)
        declared = is_gone(source, site) or (target is not None and is_gone(target, site))
        if source in now and source not in ended and now[source].target is None:
            rules[source] = None
        elif target is not None and target != source and (target in answering or leaving(target) is None):
            rules[source] = target
        elif not declared:
            dead[source] = DeadUrl(source, site, _reason(source, target, leaving))
        elif not source.endswith(ANY):
            rules[source] = None
    return Redirection(
        tuple(Redirect(sites[source], source, rules[source]) for source in sorted(rules)), tuple(dead[url] for url in sorted(dead))
    )


def _target(source: str, now: Mapping[str, Redirect], leaving: Leaving, moved: Mapping[str, str]) -> str | None:
    """Where the content of a URL is afterwards, over the earlier redirects and then over one move; itself if it moves nowhere, None if it
    was declared gone. A file that somebody edited may have chains and loops."""
    url, seen = source, {source}
    while url in now and leaving(url) is None:
        target = now[url].target
        if target is None or target in seen:
            return target
        url = target
        seen.add(url)
    return moved.get(url, url)


def _reason(source: str, target: str | None, leaving: Leaving) -> str:
    last = leaving(target if target is not None else source)
    if last is not None and last.reason is UrlReason.UNKNOWN:
        return UNKNOWN
    return ENDED if target is None or target == source else LED.format(url=target)


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
    return url.path or url.url


FEW: Final = 3  # URLs that are named one by one


def patterns_of(urls: Iterable[DeadUrl]) -> list[str]:
    """Patterns that name all of these URLs: themselves where they are few, else everything below the first folder of each."""
    names = list(dict.fromkeys(map(pattern_of, urls)))
    if len(names) <= FEW:
        return names

    def folder(name: str) -> str:
        *begin, first = name.split("/")[: 2 if name.startswith("/") else 4]
        return "/".join([*begin, first, "**"]) if first and first != "**" else name

    return list(dict.fromkeys(map(folder, names)))


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
        blocked.update((*_above(url), url))
    shared: dict[str, dict[str, int]] = {}
    for source, target in rules.items():
        above = _above(source)
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
        if inside or prefix in blocked or len(targets) != 1 or not closed.isdisjoint(_above(prefix)):
            continue
        to, number = next(iter(targets.items()))
        if number >= GROUP_MIN and not to.startswith(f"{prefix}/") and to != prefix:
            chosen.append(Wildcard(prefix, to, number))
    return tuple(sorted(chosen, key=lambda group: group.source))


def _above(url: str) -> list[str]:
    """The URLs of the folders that contain a URL: `https://host/a` of `https://host/a/b`; the host is one of them."""
    parts = url.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts))]
