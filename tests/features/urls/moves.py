"""Random reorganizations of a published site, as changes of its pages; an independent statement of what answers where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from urllib.parse import quote

from reconciler.address import Address
from reconciler.features.urls.model.pages import PageChange, UrlReason
from reconciler.features.urls.model.redirects import FormerUrl, Redirect
from reconciler.features.urls.redirects.required import Redirection, recorded_url, redirection
from tests.features.urls.projects import answering

SITE = Address.parse("acme/site/docs")
SPACE = Address.parse("acme/space/guides")
ROOT = "http://docs.example"
HOSTILE = (
    "a b", 'q"uote', "semi;colon", "{brace", "}close", "$uri", "100%", "new\nline", "tab\there", "back\\slash", "ünïcödé", "日本",
    "#hash", "quest?ion", "*", ":splat", "plus+", "it's", "(p)", "[x]", "~tilde", "a,b", "<x>", "|", "^", "`", "\\x41", "${host}",
    "\\n", '\\"', "\r", ";}", '"; return 200 "owned', "return 301 http://evil.example", "location /", "%0a", "\x01", "\x7f",
    "emoji-🙂", "=cmd()", "@x", "&amp;",
)  # fmt: skip
SEGMENTS = ("use", "product", "v1", "v2", "api", "guides", "start", *HOSTILE)
Pages = Mapping[str, str]
"""The page at each path of segments, `use/install`; a page may answer at several."""


def pages(random: Random, number: int, segments: tuple[str, ...] = SEGMENTS) -> dict[str, str]:
    """A site with so many pages."""
    known: dict[str, str] = {}
    while len(known) < number:
        known.setdefault("/".join(random.choice(segments) for _ in range(random.randint(1, 3))), f"page{len(known)}")
    return known


def reorganized(random: Random, before: Pages, *, step: int, segments: tuple[str, ...] = SEGMENTS) -> dict[str, str]:
    """The site after a few moves: sections and pages renamed, exchanged, deleted and created."""
    after = dict(before)
    for number in range(random.randint(1, 4)):
        what = random.choice(("section", "section", "page", "swap", "delete", "delete section", "create", "alias"))
        paths = sorted(after)
        if not paths:
            what = "create"
        head = random.choice(paths).split("/")[0] if paths else ""
        new = "/".join(random.choice(segments) for _ in range(random.randint(1, 2)))
        match what:
            case "section":
                inside = {path: page for path, page in after.items() if path.split("/")[0] == head}
                rest = {path: page for path, page in after.items() if path not in inside}
                moved = {"/".join([new, *path.split("/")[1:]]): page for path, page in inside.items()}
                # As the service decides where two pages claim a path: the one that was there keeps it.
                after = moved | rest
            case "page":
                page = after.pop(random.choice(paths))
                after.setdefault(new, page)
            case "swap" if len(paths) > 1:
                one, other = random.sample(paths, 2)
                after[one], after[other] = after[other], after[one]
            case "delete":
                after.pop(random.choice(paths))
            case "delete section":
                after = {path: page for path, page in after.items() if path.split("/")[0] != head}
            case "alias":
                after.setdefault(new, after[random.choice(paths)])
            case _:
                after.setdefault(new, f"page{step}.{number}")
    return after


def url_of(path: str) -> str:
    """The URL of a path of the model, with the escapes that it needs."""
    return f"{ROOT}/{quote(path)}"


def redirected(
    lines: Iterable[Redirect], moves: Iterable[PageChange], gone: Callable[[str, Address], bool] = lambda url, site: False
) -> Redirection:
    """The redirects after these changes of pages."""
    lines, moves = tuple(lines), tuple(moves)
    urls = answering(moves, lines, ROOT)
    assert urls.answering_before is not None
    assert urls.answering_after is not None
    former = {url: FormerUrl(page.site, page.page) for url, page in urls.answering_before.public.items()}
    named = [change for change in moves if change.before is not None and "://" in change.before]
    to = {recorded_url(change.before or ""): (change.site, change.after and recorded_url(change.after)) for change in named}
    unknown = {recorded_url(change.before or "") for change in named if change.reason is UrlReason.UNKNOWN}
    return redirection(
        lines, former, urls.answering_after, gone, to, lambda url: any(url == u or url.startswith(u.removesuffix("**")) for u in unknown)
    )


def changes(before: Pages, after: Pages) -> Iterator[PageChange]:
    """What a plan says of the two."""
    places: dict[str, list[str]] = {}
    for path, page in after.items():
        places.setdefault(page, []).append(path)
    for path, page in sorted(before.items()):
        if after.get(path) == page:
            continue
        there = min(places.get(page, []), default=None)
        new = url_of(there) if there is not None else None
        reason = UrlReason.SHADOWED if path in after else UrlReason.MOVED if new is not None else UrlReason.GONE
        yield PageChange(page, page, SPACE, SITE, url_of(path), new, reason)
    for path, page in sorted(after.items()):
        if path not in before:
            yield PageChange(page, page, SPACE, SITE, None, url_of(path), UrlReason.NEW)
