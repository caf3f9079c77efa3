"""The real nginx executes the generated file: after ten reorganizations with hostile paths, every URL that was ever public answers, leads
in one step to a page that answers, answers 410 as declared, or was named as dead; and no path breaks out of the file's syntax."""

from __future__ import annotations

from random import Random
from urllib.parse import quote, urlsplit

import pytest

from reconciler.features.urls.model.redirects import GoneUrls, Redirect, RedirectFormat
from reconciler.features.urls.redirects.formats import texts
from reconciler.features.urls.redirects.required import Wildcard, canonical, gone_test, groups
from reconciler.model import Source
from tests.features.urls.moves import HOSTILE, ROOT, SITE, changes, pages, redirected, reorganized, url_of
from tests.features.urls.nginx import Server, serving
from tests.proofs import costly, tries

NGINX = RedirectFormat.NGINX


def text_of(redirects: tuple[Redirect, ...], wildcards: tuple[Wildcard, ...] = ()) -> str:
    (file,) = texts("docs", NGINX, redirects, wildcards)
    assert not file.left_out
    return file.text


def path_of(url: str) -> str:
    return urlsplit(url).path or "/"


@costly
@pytest.mark.sampled
def test_chains_of_ten_reorganizations() -> None:
    gone = gone_test([GoneUrls("/v1/**", "old", Source("reconciler.yaml", 1))], {SITE: ROOT})
    live: set[str] = set()
    count = {"answers": 0, "redirected": 0, "gone": 0, "named": 0}
    grouped = 0
    with serving(lambda path: canonical(ROOT + path) in live) as server:
        for seed in range(tries(200, 6)):
            random = Random(seed)
            # Every second chain has plain names alone, so that whole sections move together and wildcards are written.
            segments = ("use", "product", "v1", "api", *"abcdefgh") if seed % 2 else None
            more = {"segments": segments} if segments is not None else {}
            site, redirects, public, named = pages(random, 60, **more), (), set[str](), set[str]()
            for step in range(10):
                public |= {canonical(url_of(path)) or "" for path in site}
                after = reorganized(random, site, step=step, **more)
                result = redirected(redirects, changes(site, after), gone)
                site, redirects = after, result.redirects
                named |= {item.url for item in result.dead}
                if step not in (0, 4, 9):
                    continue
                live.clear()
                live.update(canonical(url_of(path)) or "" for path in site)
                written = {item.source: item.target for item in redirects}
                wildcards = groups(written, (public | {canonical(url_of(path)) or "" for path in site}) - written.keys())
                grouped += len(wildcards)
                server.load(text_of(redirects, wildcards))
                for url in sorted(public):
                    count[_answer(server, url, named)] += 1
    print(f"\n{tries(200, 6)} chains of ten reorganizations: {count}, {grouped} wildcards")
    assert all([*count.values(), grouped]), "each of the four ends was met, and so were wildcards"


def _answer(server: Server, url: str, named: set[str]) -> str:
    status, location = server.get(f"{path_of(url)}?q=1")
    if status == 301:
        assert urlsplit(location or "").query == "q=1"
        assert server.get(path_of(location or ""))[0] == 200, f"{url} leads to {location}, in one step"
        return "redirected"
    if status == 200:
        return "answers"
    if status == 410:
        return "gone"
    assert (status, url in named) == (404, True), f"{url} answers {status} and nobody said so"
    return "named"


def test_hostile_paths_never_break_out_of_a_line() -> None:
    redirects = tuple(
        Redirect(SITE, canonical(f"{ROOT}/{quote(segment)}") or "", canonical(f"{ROOT}/new/{quote(segment)}")) for segment in HOSTILE
    )
    live = {redirect.target for redirect in redirects}
    with serving(lambda path: canonical(ROOT + path) in live) as server:
        server.load(text_of(redirects))
        for redirect in redirects:
            status, location = server.get(path_of(redirect.source))
            assert (status, canonical(location or "")) == (301, redirect.target)
            assert server.get(path_of(location or "")) == (200, None)
            assert server.get(f"{path_of(redirect.source)}/")[0] == 301, "with a slash at its end too"


def test_a_line_with_a_query_is_about_that_query_alone() -> None:
    lines = (
        Redirect(SITE, f"{ROOT}/page?id=7", f"{ROOT}/seven#limits", "ada"),
        Redirect(SITE, f"{ROOT}/page?name=a%20%22b%22&x=1", f"{ROOT}/quoted?from=page", "ada"),
        Redirect(SITE, f"{ROOT}/ended?id=1", None, "ada"),
        Redirect(SITE, f"{ROOT}/ended", f"{ROOT}/new", "ada"),
    )
    with serving(lambda path: True) as server:
        server.load(text_of(lines))
        for path in ("/page?id=7", "/page/?id=7"):
            status, location = server.get(path)
            assert (status, location) == (301, f"{ROOT}/seven#limits"), "the query chose the line, and is not passed on"
        status, location = server.get("/page?name=a%20%22b%22&x=1")
        assert (status, (location or "").endswith("/quoted?from=page")) == (301, True)
        assert server.get("/ended?id=1") == (410, None)
        assert server.get("/ended?id=2")[0] == 301
        for path in ("/page", "/page?id=77", "/page?id=7&x=1", "/page?ID=7", "/page/x?id=7", "/other?id=7"):
            assert server.get(path) == (200, None), path


def test_a_wildcard_copies_no_line_feed_into_a_header() -> None:
    wildcard = Wildcard(f"{ROOT}/use", f"{ROOT}/product", 5)
    with serving(lambda path: False) as server:
        server.load(text_of((Redirect(SITE, f"{ROOT}/x", None),), (wildcard,)))
        status, location = server.get("/use/a%0d%0aSet-Cookie:%20x=1")
        assert status == 301
        assert canonical(location or "") == canonical(f"{ROOT}/product/a%0d%0aSet-Cookie:%20x=1")


@costly
@pytest.mark.parametrize("segment", HOSTILE)
def test_a_wildcard_leads_to_the_page_whatever_its_name_is(segment: str) -> None:
    name = quote(segment)
    moves = [(f"/use/{name}", f"/{name}/{name}"), *((f"/use/{name}/{page}", f"/{name}/{name}/{page}") for page in "abcd")]
    redirects = tuple(Redirect(SITE, canonical(ROOT + old) or "", canonical(ROOT + new)) for old, new in moves)
    wildcards = groups({redirect.source: redirect.target for redirect in redirects}, ())
    assert [wildcard.source for wildcard in wildcards] == [f"{ROOT}/use"]
    with serving(lambda path: False) as server:
        server.load(text_of(redirects, wildcards))
        for redirect in redirects:
            status, location = server.get(path_of(redirect.source))
            assert (status, canonical(location or ""), urlsplit(location or "").query) == (301, redirect.target, "")


def test_a_host_has_a_file_of_its_own() -> None:
    redirects = (
        Redirect(SITE, "https://a.example/x", "https://b.example/x"),
        Redirect(SITE, "https://b.example/1", "https://b.example/x"),
        Redirect(SITE, "https://b.example/2", None),
    )
    assert [file.name for file in texts("docs", NGINX, redirects)] == ["docs.nginx.conf", "docs/a.example.nginx.conf"]


@pytest.mark.parametrize(
    ("path", "reason"), [("%00", "zero byte"), ("%ff", "not UTF-8"), ("a" * 5000, "that long")], ids=["zero", "bytes", "long"]
)
def test_what_nginx_cannot_read_is_left_out_and_said(path: str, reason: str) -> None:
    redirect = Redirect(SITE, f"{ROOT}/{path}", f"{ROOT}/b")
    (file,) = texts("docs", NGINX, (redirect,))
    assert "location" not in file.text
    assert reason in file.left_out[redirect.source]
