"""The files of Netlify, Cloudflare and plain CSV, each read by an interpreter of its documented rules that shares no code with the writer;
and the table that a project keeps, read back."""

from __future__ import annotations

import csv
import io
from random import Random
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given, strategies as st

from reconciler.features.urls.model.redirects import GoneUrls, Redirect, RedirectFormat
from reconciler.features.urls.redirects.formats import MARK, csv_text, existing_names, is_cloudflare, is_ours, texts
from reconciler.features.urls.redirects.required import Wildcard, canonical, gone_test
from reconciler.features.urls.redirects.table import TableProblem, redirects_of
from reconciler.model import Source
from tests.features.urls.moves import HOSTILE, ROOT, SITE, changes, pages, redirected, reorganized

GONE = gone_test([GoneUrls("/v1/**", "old", Source("reconciler.yaml", 1))], {SITE: ROOT})


def random_redirects(seed: int) -> tuple[Redirect, ...]:
    random = Random(seed)
    site, redirects = pages(random, 20), ()
    for step in range(5):
        after = reorganized(random, site, step=step)
        redirects, site = redirected(redirects, changes(site, after), GONE).redirects, after
    return redirects


HOSTILE_REDIRECTS = tuple(
    Redirect(SITE, canonical(f"{ROOT}/{quote(segment, safe='')}") or "", canonical(f"{ROOT}/new/{quote(segment, safe='')}"))
    for segment in HOSTILE
)
GROUP = Wildcard(f"{ROOT}/use", f"{ROOT}/product", 5)


def text_of(format: RedirectFormat, redirects: tuple[Redirect, ...], wildcards: tuple[Wildcard, ...] = ()) -> str:
    (file,) = texts("docs", format, redirects, wildcards)
    return file.text


def netlify(text: str, path: str) -> str | None:
    """The target of the first line that matches a path, with its splat; None if none does."""
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        source, target, status = line.split(" ")
        assert (status, ":" in urlsplit(source).path) == ("301", False)
        begin, splat, _ = source.partition("/*")
        if splat:
            if path.startswith(f"{begin}/"):
                return target.replace(":splat", path.removeprefix(f"{begin}/"))
        elif unquote(source) == unquote(path):
            return target
    return None


def cloudflare(text: str, url: str) -> str | None:
    """The target of the row that wins: an exact one, else the most specific one with subpaths."""
    best: tuple[int, str] | None = None
    for source, target, status, query, subdomains, subpaths, suffix in csv.reader(io.StringIO(text)):
        assert (status, query, subdomains, subpaths) == ("301", "TRUE", "FALSE", suffix)
        asked = url.partition("://")[2]
        if unquote(source) == unquote(asked):
            return target
        if subpaths == "TRUE" and asked.startswith(source) and (best is None or len(source) > best[0]):
            best = (len(source), target + asked.removeprefix(source))
    return best[1] if best is not None else None


@pytest.mark.parametrize("redirects", [HOSTILE_REDIRECTS, *map(random_redirects, range(5))])
def test_each_format_says_the_same(redirects: tuple[Redirect, ...]) -> None:
    netlify_text, cloudflare_text = text_of(RedirectFormat.NETLIFY, redirects), text_of(RedirectFormat.CLOUDFLARE, redirects)
    table = {row["from"]: (row["to"], row["status"]) for row in csv.DictReader(io.StringIO(text_of(RedirectFormat.CSV, redirects)))}
    for redirect in redirects:
        targets = (netlify(netlify_text, urlsplit(redirect.source).path), cloudflare(cloudflare_text, redirect.source))
        assert [canonical(target) if target else None for target in targets] == [redirect.target, redirect.target]
        assert table[redirect.source] == ((redirect.target, "301") if redirect.target else ("", "410"))
    assert len(table) == len(redirects)


def test_what_a_format_cannot_answer_is_left_out_and_said() -> None:
    redirects = (Redirect(SITE, f"{ROOT}/v1/a", None), Redirect(SITE, "http://h.example:8080/a", "http://h.example:8080/b"))
    said = {format: [dict(file.left_out) for file in texts("docs", format, redirects)] for format in RedirectFormat}
    assert (said[RedirectFormat.CSV], said[RedirectFormat.NGINX]) == ([{}], [{}, {}])
    assert said[RedirectFormat.NETLIFY] == [{f"{ROOT}/v1/a": "the format has no status for a page that ended"}]
    assert set(said[RedirectFormat.CLOUDFLARE][0]) == {f"{ROOT}/v1/a", "http://h.example:8080/a"}


def test_an_escaped_slash_is_part_of_a_name() -> None:
    redirects = [Redirect(SITE, f"{ROOT}/use/{name}", f"{ROOT}/new/{name}") for name in ("a%2Fb", "c", "d", "e", "f")]
    assert [canonical(redirect.source) for redirect in redirects] == [redirect.source for redirect in redirects]
    group = (Wildcard(f"{ROOT}/use", f"{ROOT}/new", len(redirects)),)
    (nginx,) = texts("docs", RedirectFormat.NGINX, redirects, group)
    assert [*nginx.left_out] == [f"{ROOT}/use/a%2Fb"]
    assert "^~" not in nginx.text
    assert "/use/a%2Fb" in text_of(RedirectFormat.NETLIFY, tuple(redirects))
    assert "/use/a%2Fb" in text_of(RedirectFormat.CLOUDFLARE, tuple(redirects))
    dead = GoneUrls("/use/a/**", "", Source("reconciler.yaml", 1))
    assert not gone_test([dead], {SITE: ROOT})(f"{ROOT}/use/a%2Fb", SITE)


def test_more_redirects_than_netlify_advises_are_said() -> None:
    (file,) = texts("docs", RedirectFormat.NETLIFY, [Redirect(SITE, f"{ROOT}/{number}", f"{ROOT}/n/{number}") for number in range(10_001)])
    assert "10,001 redirects" in file.left_out[""]


@pytest.mark.parametrize("format", [RedirectFormat.NETLIFY, RedirectFormat.CLOUDFLARE])
def test_a_wildcard_replaces_its_group_and_comes_after_exact_ones(format: RedirectFormat) -> None:
    redirects = tuple(Redirect(SITE, f"{ROOT}/use/{name}", f"{ROOT}/product/{name}") for name in "abcde")
    text = text_of(format, (*redirects, Redirect(SITE, f"{ROOT}/use", f"{ROOT}/start")), (GROUP,))
    assert len(text.removeprefix(MARK).splitlines()) == 2
    for url, target in ((f"{ROOT}/use/a", f"{ROOT}/product/a"), (f"{ROOT}/use", f"{ROOT}/start")):
        answer = netlify(text, urlsplit(url).path) if format is RedirectFormat.NETLIFY else cloudflare(text, url)
        assert answer == target


def test_the_names_of_the_files() -> None:
    names = [file.name for format in RedirectFormat for file in texts("docs", format, HOSTILE_REDIRECTS)]
    assert names == ["docs/_redirects", "docs.cloudflare.csv", "docs.nginx.conf", "docs.csv", "docs.hosted.csv"]


@given(seed=st.integers(0, 2**32))
def test_the_table_is_read_back(seed: int) -> None:
    redirects = random_redirects(seed)
    text = csv_text(redirects)
    assert (is_ours(RedirectFormat.CSV, text), redirects_of(text, SITE)) == (True, redirects)
    assert csv_text(redirects_of(text, SITE)) == text


def test_rows_that_people_add_are_kept_as_other_programs_write_them() -> None:
    text = "\ufefffrom,to,status,by\r\nhttps://docs.example/old/,https://docs.example/new,301,ada\r\n\r\nhttps://docs.example/x,,410\r\n"
    assert is_ours(RedirectFormat.CSV, text)
    assert redirects_of(text, SITE) == (
        Redirect(SITE, "https://docs.example/old", "https://docs.example/new", "ada"),
        Redirect(SITE, "https://docs.example/x", None, ""),
    )


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("/old,/new,301,ada", "is not a whole URL"),
        ("https://a.example/x,/new,301,ada", "write a whole URL and 301"),
        ("https://a.example/x,https://a.example/y,302,ada", "write a whole URL and 301"),
        ("https://a.example/x", "it has 1 columns"),
        ("https://a.example/x,,410,a\nhttps://A.example/x/,,410,b", "is in it twice"),
        ('https://a.example/"x,,410,a\n"', "is not CSV"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(row: str, wrong: str) -> None:
    with pytest.raises(TableProblem, match=wrong) as raised:
        redirects_of(f"from,to,status,by\n{row}\n", SITE)
    assert raised.value.line >= 2


@pytest.mark.parametrize("text", ["", "from,to\n", "url,target,status,by\n", "# a table\n", "a,b,c,d\nfrom,to,status,by\n"])
def test_other_tables_are_not_ours(text: str) -> None:
    assert not is_ours(RedirectFormat.CSV, text)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (text_of(RedirectFormat.CLOUDFLARE, HOSTILE_REDIRECTS, (GROUP,)), True),
        ("", True),
        ("a.example/x,https://b.example/,302,TRUE,FALSE,FALSE,FALSE\n", False),
        ("a.example/x,https://b.example/\n", False),
        ("# mine\n", False),
    ],
)
def test_a_file_for_cloudflare_is_recognized_by_its_rows(text: str, ours: bool) -> None:
    assert is_cloudflare(text) is ours


def test_after_a_change_of_domain_the_file_of_the_site_is_for_the_new_host() -> None:
    """At the new host, the lines of the old one would lead each page to itself."""
    old, new = "https://old.acme.example", "https://docs.acme.example:8443"
    redirects = [Redirect(SITE, f"{old}/{name}", f"{new}/{name}") for name in "abc"]
    main, other = texts("docs", RedirectFormat.NGINX, redirects, host="docs.acme.example:8443")
    assert (main.name, "location" in main.text) == ("docs.nginx.conf", False)
    assert (other.name, other.text.count(f'return 301 "{new}/')) == ("docs/old.acme.example.nginx.conf", 6)
    (netlify,) = texts("docs", RedirectFormat.NETLIFY, redirects, host="docs.acme.example:8443")
    assert f"{old}/a {new}/a 301" in netlify.text, "a path alone would be about the new host too"


@pytest.mark.parametrize("url", ["https:///a", "https://ada@docs.example/a", "ftp://docs.example/a", "sha256:12ab"])
def test_what_no_web_server_answers_has_no_spelling(url: str) -> None:
    assert canonical(url) is None


def test_the_list_of_the_service_has_500_lines_a_file_and_no_line_it_cannot_have() -> None:
    many = [Redirect(SITE, f"{ROOT}/old/{number:04}*", f"{ROOT}/new/{number:04}") for number in range(1_001)]
    others = [
        Redirect(SITE, f"{ROOT}/gone", None),
        Redirect(SITE, f"{ROOT}/a?b=1", f"{ROOT}/c"),
        Redirect(SITE, "https://other.example/a", ROOT),
    ]
    files = list(texts("docs", RedirectFormat.HOSTED, [*many, *others], host=urlsplit(ROOT).netloc))
    assert [file.name for file in files] == ["docs.hosted.csv", "docs.hosted-2.csv", "docs.hosted-3.csv"]
    rows = [list(csv.reader(file.text.splitlines())) for file in files]
    assert [len(some) - 1 for some in rows] == [500, 500, 1]
    assert {tuple(some[0]) for some in rows} == {("source", "destination", "intent")}
    base = urlsplit(ROOT).path.rstrip("/")
    assert rows[0][1] == [f"{base}/old/0000%2A", f"{ROOT}/new/0000", ""]
    assert files[0].left_out.keys() == {redirect.source for redirect in others}
    assert all(is_ours(RedirectFormat.HOSTED, file.text) for file in files)
    assert not is_ours(RedirectFormat.HOSTED, csv_text(many))
    assert [format for format, _ in existing_names("docs", [file.name for file in files])] == [RedirectFormat.HOSTED] * 3
