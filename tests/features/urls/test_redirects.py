"""The redirects after a reorganization: whatever was public answers, leads to a page that answers, is declared gone, or is named."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, strategies as st

from reconciler.features.urls.model.pages import PageChange, UrlReason
from reconciler.features.urls.model.redirects import DeadUrl, GoneUrls, Redirect
from reconciler.features.urls.redirects.required import (
    Wildcard,
    canonical,
    gone_test,
    groups,
    is_named,
    patterns_of,
    recorded_url,
    url_matches,
)
from reconciler.model import Source
from reconciler.text.urls import pattern_problem
from tests.effort import calls
from tests.features.urls.moves import ROOT, SITE, SPACE, changes, pages, redirected, reorganized, url_of


def change(before: str | None, after: str | None, reason: str = "moved") -> PageChange:
    return PageChange(f"p{before or after}", "P", SPACE, SITE, before and ROOT + before, after and ROOT + after, UrlReason(reason))


def rule(source: str, target: str | None) -> Redirect:
    return Redirect(SITE, ROOT + source, target and ROOT + target)


def rules(*redirects: Redirect) -> dict[str, str | None]:
    return {item.source.removeprefix(ROOT): item.target and item.target.removeprefix(ROOT) for item in redirects}


CASES = [
    # the redirects there were, what happens to pages, the redirects after it, what dies
    ("a page that moves is redirected", [], [change("/a", "/b")], {"/a": "/b"}, []),
    ("an earlier redirect leads to the new URL", [rule("/a", "/b")], [change("/b", "/c")], {"/a": "/c", "/b": "/c"}, []),
    ("a page that moves back needs one redirect", [rule("/a", "/b")], [change("/b", "/a")], {"/b": "/a"}, []),
    ("a swap needs none", [], [change("/a", "/b"), change("/b", "/a")], {}, []),
    ("redirects follow a swap", [rule("/x", "/a")], [change("/a", "/b"), change("/b", "/a")], {"/x": "/b"}, []),
    ("a new page takes the URL of a redirect", [rule("/a", "/b")], [change(None, "/a", "new")], {}, []),
    ("a page that ends is dead", [], [change("/a", None, "gone")], {}, ["/a"]),
    ("what led to it is dead too", [rule("/x", "/a")], [change("/a", None, "gone")], {}, ["/a", "/x"]),
    ("what is declared gone is answered with 410", [], [change("/v1/a", None, "gone")], {"/v1/a": None}, []),
    ("what led to it is gone too", [rule("/x", "/v1/a")], [change("/v1/a", None, "gone")], {"/v1/a": None, "/x": None}, []),
    ("a page that moves is redirected although it is declared gone", [], [change("/v1/a", "/b")], {"/v1/a": "/b"}, []),
    ("a shadowed page needs none", [], [change("/a", "/b", "shadowed")], {}, []),
    ("what led to a shadowed page follows it", [rule("/x", "/a")], [change("/a", "/b", "shadowed")], {"/x": "/b"}, []),
    ("what led to a shadowed page that ends still answers", [rule("/x", "/a")], [change("/a", None, "shadowed")], {"/x": "/a"}, []),
    ("a URL that only the service knows is not taken for one that answers", [], [change("/a", None, "unknown")], {}, ["/a"]),
    ("what led to pages that could not be read is dead", [rule("/x", "/a/b")], [change("/a/**", None, "unknown")], {}, ["/a/**", "/x"]),
    ("a page that ends and is shown elsewhere is redirected there", [], [change("/a", "/b", "gone")], {"/a": "/b"}, []),
    ("what is not concerned stays", [rule("/x", "/y"), rule("/z", None)], [], {"/x": "/y", "/z": None}, []),
    ("a chain that somebody wrote is shortened", [rule("/x", "/y"), rule("/y", "/z")], [], {"/x": "/z", "/y": "/z"}, []),
    ("a loop that somebody wrote is dead", [rule("/x", "/y"), rule("/y", "/x")], [], {}, ["/x", "/y"]),
]


@pytest.mark.parametrize(("earlier", "moves", "after", "dead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_redirects_after(earlier: list[Redirect], moves: list[PageChange], after: dict[str, str | None], dead: list[str]) -> None:
    gone = gone_test([GoneUrls("/v1/**", "no longer supported", Source("reconciler.yaml", 1))], {SITE: ROOT})
    result = redirected(earlier, moves, gone)
    assert rules(*result.redirects) == after
    assert [item.url.removeprefix(ROOT) for item in result.dead] == dead
    again = redirected(result.redirects, [], gone)
    assert (again.redirects, again.dead) == (result.redirects, ()), "what is written is read back unchanged"


def test_a_page_that_moves_to_another_site_is_redirected_from_its_own() -> None:
    moved = PageChange("p", "P", SPACE, SITE, "https://a.example/x", "https://b.example/x", UrlReason.MOVED)
    assert redirected([], [moved]).redirects == (Redirect(SITE, "https://a.example/x", "https://b.example/x"),)


def test_secret_urls_are_in_no_redirect() -> None:
    secret = PageChange(None, "Partners", None, SITE, "sha256:0f", None, UrlReason.GONE)
    assert redirected([], [secret]) == redirected([], [])


@pytest.mark.parametrize(
    ("url", "one"),
    [
        ("HTTPS://Docs.Example:443/A%20b/", "https://docs.example/A%20b"),
        ("https://docs.example/a b", "https://docs.example/a%20b"),
        ("https://docs.example", "https://docs.example"),
        ("https://docs.example/%c3%a9?q=1#x", "https://docs.example/%C3%A9"),
        ("https://docs.example//a/./b/../c", "https://docs.example/a/c"),
        ("https://münchen.example/a", "https://xn--mnchen-3ya.example/a"),
        ("http://127.0.0.1:8080/published/docs", "http://127.0.0.1:8080/published/docs"),
        ("https://ada:secret@docs.example/a", None),
        ("https://do;cs.example/a", None),
        ('https://docs".example/a', None),
        ("javascript:alert(1)", None),
        ("sha256:abc", None),
        ("https://docs.example:99999/a", None),
    ],
)
def test_one_url_has_one_spelling(url: str, one: str | None) -> None:
    assert canonical(url) == one
    assert one is None or canonical(one) == one


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("/v1/**", "/docs/v1/a/b", True),
        ("/v1/**", "/docs/v1", True),
        ("/v1/**", "/docs/v10/a", False),
        ("/v1/**", "/other/v1/a", False),
        ("/v1/*", "/docs/v1/a", True),
        ("/v1/*", "/docs/v1/a/b", False),
        ("/a b", "/docs/a%20b", True),
        ("/**", "/docs", True),
        ("/", "/docs", True),
        (f"{ROOT}/docs/v1/**", "/docs/v1/a", True),
        ("https://other.example/**", "/docs/v1/a", False),
    ],
)
def test_patterns_of_urls(pattern: str, url: str, matches: bool) -> None:
    assert pattern_problem(pattern) is None
    assert url_matches(pattern, ROOT + url, f"{ROOT}/docs/") is matches


@pytest.mark.parametrize("pattern", ["v1/**", "/v1/**x", "/a?b=1", "/a#b", "ftp://x/**", ""])
def test_patterns_that_match_nothing_are_refused(pattern: str) -> None:
    assert pattern_problem(pattern) is not None


@given(seed=st.integers(0, 2**32), size=st.integers(1, 25))
def test_after_any_ten_reorganizations_nothing_that_was_public_is_lost_unnamed(seed: int, size: int) -> None:
    random = Random(seed)
    gone = gone_test([GoneUrls("/v1/**", "old", Source("reconciler.yaml", 1))], {SITE: ROOT})
    site, redirects, public, named = pages(random, size), (), set[str](), set[str]()
    for step in range(10):
        public |= {canonical(url_of(path)) or "" for path in site}
        after = reorganized(random, site, step=step)
        result = redirected(redirects, changes(site, after), gone)
        site, redirects = after, result.redirects
        named |= {item.url for item in result.dead}
        answers = {canonical(url_of(path)) for path in site}
        written = {item.source: item.target for item in redirects}
        assert not written.keys() & answers, "a page that answers is not redirected"
        assert {target for target in written.values() if target is not None} <= answers, "a redirect leads to a page, in one step"
        assert public <= answers | written.keys() | named, "whatever was public answers, is redirected, is gone, or was named"
        assert all(gone(url, SITE) or target is not None or any(gone(old, SITE) for old in public) for url, target in written.items())


@given(seed=st.integers(0, 2**32))
def test_a_page_that_exists_is_reached_from_every_url_it_had(seed: int) -> None:
    random = Random(seed)
    site, redirects = pages(random, 12), ()
    last: dict[str, str] = {}  # the page that a URL led to last
    for step in range(10):
        after = reorganized(random, site, step=step)
        result = redirected(redirects, changes(site, after))
        last |= {canonical(url_of(path)) or "": page for path, page in site.items()}
        site, redirects = after, result.redirects
        of = {canonical(url_of(path)): page for path, page in site.items()}
        for redirect in redirects:
            assert of[redirect.target] == last[redirect.source] or last[redirect.source] not in site.values()


# -- groups ------------------------------------------------------------------------------------------------------------------------


def moved(*tails: str, source: str = "/use", target: str = "/product") -> dict[str, str | None]:
    return {f"{ROOT}{source}/{tail}": f"{ROOT}{target}/{tail}" for tail in tails}


SIX = ("a", "b", "c/d", "e", "f/g/h", "i")


def test_a_group_that_moves_together_is_one_wildcard() -> None:
    assert groups(moved(*SIX), [f"{ROOT}/product/a"]) == (Wildcard(f"{ROOT}/use", f"{ROOT}/product", 6),)


@pytest.mark.parametrize(
    ("redirects", "others"),
    [
        (moved(*SIX), [f"{ROOT}/use/other"]),  # a page remains below it
        (moved(*SIX), [f"{ROOT}/use"]),  # or at its top, where a server ignores the slash
        ({**moved(*SIX), f"{ROOT}/use/x": f"{ROOT}/else"}, []),  # one is redirected elsewhere
        ({**moved(*SIX), f"{ROOT}/use/x": None}, []),  # one ended
        (moved(*SIX[:3]), []),  # it is small
        (moved(*SIX, source="", target="/new"), []),  # it would take the whole host
        (moved(*SIX, target="/use/new"), []),  # it would match its own targets
    ],
)
def test_no_wildcard_where_it_would_match_something_else(redirects: dict[str, str | None], others: list[str]) -> None:
    assert groups(redirects, others) == ()


def test_a_wildcard_contains_those_below_it() -> None:
    deep = moved(*[f"x/{tail}" for tail in SIX], *SIX)
    assert groups(deep, []) == (Wildcard(f"{ROOT}/use", f"{ROOT}/product", 12),)


@given(seed=st.integers(0, 2**32))
def test_a_wildcard_never_changes_what_is_answered(seed: int) -> None:
    random = Random(seed)
    segments = ("use", "product", "v1", "v2")
    site, redirects = pages(random, 30, segments), ()
    public: set[str] = set()
    for step in range(6):
        public |= {url_of(path) for path in site}
        after = reorganized(random, site, step=step, segments=segments)
        redirects, site = redirected(redirects, changes(site, after)).redirects, after
        written = {item.source: item.target for item in redirects}
        others = (public | {url_of(path) for path in site}) - written.keys()
        for group in groups(written, others):
            inside = {url for url in public | written.keys() if url.startswith(f"{group.source}/")}
            assert all(written.get(url) == group.target + url[len(group.source) :] for url in inside)
            assert len(inside) == group.number


@pytest.mark.parametrize("pattern", ["https://Bücher.example/v1/**", "https://XN--bcher-kva.example:443/v1/**"])
def test_a_whole_url_names_its_host_in_any_spelling(pattern: str) -> None:
    assert url_matches(pattern, "https://xn--bcher-kva.example/v1/a", None)
    assert is_named(DeadUrl("https://xn--bcher-kva.example/v1/a", SITE, "ended"), pattern)
    assert not url_matches(pattern, "https://bucher.example/v1/a", None)


NAMES = st.sampled_from(["v1", "use", "a", "b", "a*b"])
URLS = st.lists(NAMES, max_size=4).map(lambda names: "".join(f"/{name}" for name in names))
OTHER = f"{ROOT}/other"


@given(dead=st.sets(URLS, min_size=1, max_size=12), kept=st.sets(URLS, max_size=6), below=st.sets(URLS, max_size=1), two=st.booleans())
def test_patterns_offered_for_consent_name_what_dies_and_nothing_that_lives(
    dead: set[str], kept: set[str], below: set[str], two: bool
) -> None:
    """Of one site at the host, or of one below it beside another."""
    root, roots = (f"{ROOT}/docs", [f"{ROOT}/docs", OTHER]) if two else (ROOT, [ROOT])
    living = {f"{top}{path}" for top in roots for path in kept} - {f"{root}{path}" for path in dead}
    unlisted = {f"{root}{path}" for path in below}
    urls = [DeadUrl(f"{root}{path}", SITE, "", path or "/") for path in sorted(dead)]
    patterns = patterns_of(urls, living, unlisted, roots)
    assert all(any(is_named(url, pattern) for pattern in patterns) for url in urls)
    inside = {f"{url}/any/page" for url in unlisted}
    ended = {url.url for url in urls}
    for url in (living | inside) - ended:
        for top in roots:
            assert not any(url_matches(pattern, url, top) for pattern in patterns), (url, patterns)
    assert all(pattern_problem(pattern) is None for pattern in patterns)


def test_a_folder_in_which_everything_dies_is_one_pattern() -> None:
    urls = [DeadUrl(f"{ROOT}/v1/{name}", SITE, "", f"/v1/{name}") for name in "abcde"]
    assert patterns_of(urls, [f"{ROOT}/v2/a"], [], [ROOT]) == ["/v1/**"]
    assert patterns_of(urls, [f"{ROOT}/v1"], [], [ROOT]) == [f"/v1/{name}" for name in "abcde"]
    assert patterns_of(urls, [], [ROOT], [ROOT]) == [f"/v1/{name}" for name in "abcde"], "a page of the site may be there"


PARTS = st.lists(
    st.sampled_from(
        ["a", "B", "é", "%C3%A9", "%c3", "%20", " ", "%2E", ".", "..", "/", "//", "%2F", "%41", "~", "+", "?q=1", "#x", "*", "\n"]
    )
)


@given(host=st.sampled_from(["docs.acme.example", "Docs.acme.example", "docs.acme.example:443", "docs.acme.example:8443"]), parts=PARTS)
def test_a_url_is_recorded_in_its_one_spelling(host: str, parts: list[str]) -> None:
    url = f"https://{host}/{''.join(parts)}"
    assert recorded_url(url) == canonical(url)
    assert recorded_url(recorded_url(url)) == recorded_url(url)


@given(host=st.sampled_from(["127.0.0.1:4711", "localhost", "LOCALHOST:80", "[::1]:8080", "127.0.0.1"]), parts=PARTS)
def test_a_sandbox_has_one_host_without_a_port(host: str, parts: list[str]) -> None:
    path = "".join(parts)
    assert recorded_url(f"http://{host}/{path}") == canonical(f"http://127.0.0.1/{path}")


def test_marks_without_a_meaning_are_literal_in_patterns_of_urls() -> None:
    assert url_matches("/caf%C3%A9/*", "https://docs.acme.example/caf%C3%A9/x", "https://docs.acme.example")
    assert url_matches("/a%2A", "https://docs.acme.example/a*", "https://docs.acme.example"), "an escaped star is a star"
    assert not url_matches("/a%2A", "https://docs.acme.example/ab", "https://docs.acme.example")


def test_a_hostile_pattern_of_urls_takes_few_steps() -> None:
    hostile, url = "/**/" + "*a" * 200 + "/**/b", "https://docs.acme.example/" + "/".join(["a" * 200] * 40)
    assert calls(lambda: url_matches(hostile, url, "https://docs.acme.example")) < 100_000
