r"""The redirects of a site as the files of web servers. Pure.

    format       file                     a redirect                                             a page that ended
    ----------   ----------------------   ----------------------------------------------------   --------------------------
    csv          docs.csv                 from,to,301,reconciler                                 from,,410,reconciler
    netlify      docs/_redirects          /docs/a https://host/docs/b 301                        a comment: it has no status for them
    cloudflare   docs.cloudflare.csv      host/docs/a,https://host/docs/b,301,TRUE,FALSE,…       left out, likewise
    hosted       docs.hosted.csv          /docs/a,https://host/docs/b,                           left out, likewise
    nginx        docs.nginx.conf          location = "/docs/a" { return 301 "https://host/…"; }  location = "/docs/a" { return 410; }

Paths are hostile: they come from titles that anybody may write. Everything but letters, digits and a few signs is percent-encoded; in
nginx, which compares decoded paths, it is inside double quotes, with `\` before `"` and `\`. nginx looks for variables (`$`) in the target
alone, where a `$` is always encoded.

Sources, November 2026: docs.netlify.com/manage/routing/redirects (url-encoded paths, the first match wins, fewer than 10,000 redirects),
developers.cloudflare.com/rules/url-forwarding/bulk-redirects/reference (columns, no header, no query and no port in a source, 301, 302, 307
and 308 alone, at most 16 slashes in the source of a subpath), nginx 1.22 `ngx_conf_file.c` (quotes; a parameter fits into 4,096 bytes).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

from reconciler.features.urls.model.redirects import Redirect, RedirectFormat
from reconciler.features.urls.redirects.required import LOOPBACK, Wildcard, ending, quoted_path
from reconciler.report.formats.spreadsheet import csv_text as csv_rows
from reconciler.text.urls import containing

HEADER: Final = "Written by Reconciler, which replaces this file. Change reconciler.yaml instead."
MARK: Final = f"# {HEADER}\n"
NAMES: Final = {
    RedirectFormat.CSV: "{site}.csv",
    RedirectFormat.NETLIFY: "{site}/_redirects",
    RedirectFormat.CLOUDFLARE: "{site}.cloudflare.csv",
    RedirectFormat.NGINX: "{site}.nginx.conf",
    RedirectFormat.HOSTED: "{site}.hosted.csv",
}
NETLIFY_MOST: Final = 10_000
SLASHES_MOST: Final = 16  # of Cloudflare, in the source of a redirect with subpaths
NGINX_PARAMETER: Final = 4_000  # bytes; nginx refuses the whole file where a parameter does not fit into its buffer of 4,096


@dataclass(frozen=True)
class RedirectText:
    """The text of one file. `left_out`: the URLs that its format cannot answer, with the reason."""

    name: str
    text: str
    left_out: Mapping[str, str]


def texts(
    site: str, format: RedirectFormat, redirects: Sequence[Redirect], wildcards: Sequence[Wildcard] = (), *, host: str = ""
) -> Iterator[RedirectText]:
    """The files of a site in one format. `site`: its name in file names. `wildcards`: groups that one line can stand for. `host`: of the
    URL of the site, "" where that is not known: then the one that most of the redirects have."""
    name = NAMES[format].format(site=site)
    match format:
        case RedirectFormat.CSV:
            yield RedirectText(name, csv_text(redirects), {})
        case RedirectFormat.CLOUDFLARE:
            yield _cloudflare(name, redirects, wildcards)
        case RedirectFormat.HOSTED:
            yield from _hosted(name, host, redirects)
        case RedirectFormat.NETLIFY:
            yield _netlify(name, host, redirects, wildcards)
        case RedirectFormat.NGINX:
            # A `server` block is of one host: what another host answered needs a file of its own.
            # The file of the site is for the host that serves it now: at the old one of a site that moved, its lines lead to the new one.
            hosts = _by_host(redirects)
            main = host or min(hosts, key=lambda name: (-len(hosts[name]), name), default="")
            for of, some in sorted({main: [], **hosts}.items(), key=lambda pair: (pair[0] != main, pair[0])):
                own = name if of == main else NAMES[format].format(site=f"{site}/{of.replace(':', '-')}")
                yield _nginx(own, of, some, wildcards)


def existing_names(site: str, names: Iterable[str]) -> Iterator[tuple[RedirectFormat, str]]:
    """The names among these that a file of a site may have, whatever formats it has now."""
    whole = {NAMES[format].format(site=site): format for format in RedirectFormat}
    of_host = re.compile(re.escape(site) + r"/[a-z0-9._-]*\.nginx\.conf", re.ASCII)
    further = re.compile(re.escape(site) + r"\.hosted-[0-9]+\.csv", re.ASCII)
    for name in names:
        format = whole.get(name) or (RedirectFormat.NGINX if of_host.fullmatch(name) else None)
        format = format or (RedirectFormat.HOSTED if further.fullmatch(name) else None)
        if format is not None:
            yield format, name


def is_ours(format: RedirectFormat, text: str) -> bool:
    """Whether we wrote a file, so that we may replace it."""
    match format:
        case RedirectFormat.CSV:
            return text.removeprefix("\ufeff").partition("\n")[0].rstrip("\r") == ",".join(COLUMNS)
        case RedirectFormat.CLOUDFLARE:
            return is_cloudflare(text)
        case RedirectFormat.HOSTED:
            return text.partition("\n")[0].rstrip("\r") == ",".join(HOSTED_COLUMNS)
        case _:
            return text.startswith(MARK)


def emptied(format: RedirectFormat) -> str:
    """The text of a file that has no redirect any more."""
    return csv_rows([HOSTED_COLUMNS]) if format is RedirectFormat.HOSTED else MARK


def _by_host(redirects: Iterable[Redirect]) -> dict[str, list[Redirect]]:
    hosts: dict[str, list[Redirect]] = {}
    for redirect in redirects:
        hosts.setdefault(urlsplit(redirect.source).netloc, []).append(redirect)
    return hosts


def _rest(redirects: Iterable[Redirect], wildcards: Sequence[Wildcard], except_with: str | None = None) -> list[Redirect]:
    """What no wildcard stands for. `except_with`: what makes a URL one that a wildcard cannot answer, although it is below one."""
    heads = {group.source for group in wildcards}
    return [
        redirect
        for redirect in redirects
        if redirect.target is None
        or "?" in redirect.source
        or (except_with is not None and except_with in redirect.source)
        or heads.isdisjoint(containing(redirect.source)[:-1])
    ]


# -- CSV -----------------------------------------------------------------------------------------------------------------------------

COLUMNS: Final = ("from", "to", "status", "by")


def csv_text(redirects: Iterable[Redirect]) -> str:
    """The table of a site's redirects, which `table.redirects_of` reads back. Its columns are what shows that we wrote it."""
    rows = (
        [redirect.source, redirect.target or "", "301" if redirect.target is not None else "410", redirect.by] for redirect in redirects
    )
    return csv_rows([COLUMNS, *rows])


# -- Cloudflare ------------------------------------------------------------------------------------------------------------------------

NO_GONE: Final = "the format has no status for a page that ended"
NO_PORT: Final = "the format has no ports"
NO_QUERY: Final = "the format compares paths without a query"


def _cloudflare(name: str, redirects: Sequence[Redirect], wildcards: Sequence[Wildcard]) -> RedirectText:
    """Rows of a Bulk Redirect List, without a header, which an import would take for a redirect."""
    short = [group for group in wildcards if urlsplit(group.source).path.count("/") < SLASHES_MOST and not urlsplit(group.source).port]
    rows, left_out = [], {}
    for redirect in _rest(redirects, short):
        if redirect.target is None or "?" in redirect.source or urlsplit(redirect.source).port is not None:
            left_out[redirect.source] = NO_GONE if redirect.target is None else NO_QUERY if "?" in redirect.source else NO_PORT
        else:
            rows.append([_without_scheme(redirect.source), redirect.target, "301", "TRUE", "FALSE", "FALSE", "FALSE"])
    rows += [[_without_scheme(f"{group.source}/"), f"{group.target}/", "301", "TRUE", "FALSE", "TRUE", "TRUE"] for group in short]
    return RedirectText(name, csv_rows(sorted(rows)), left_out)


def _without_scheme(url: str) -> str:
    # Without it a redirect is about http and https; a path is needed, and the top of a host has one.
    host_and_path = url.partition("://")[2]
    return host_and_path if "/" in host_and_path else f"{host_and_path}/"


def is_cloudflare(text: str) -> bool:
    """Whether a file has rows like ours alone; it cannot have a comment that says so."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error:
        return False
    ours = ({"FALSE"}, {"TRUE"})
    return all(len(row) == 7 and row[2:5] == ["301", "TRUE", "FALSE"] and set(row[5:]) in ours and "://" in row[1] for row in rows)


# -- the list of the service itself ----------------------------------------------------------------------------------------------------

HOSTED_COLUMNS: Final = ("source", "destination", "intent")
HOSTED_MOST: Final = 500  # lines of one file; the service refuses a longer one
OTHER_HOST: Final = "the service redirects on the host of the site alone"


def _hosted(name: str, host: str, redirects: Sequence[Redirect]) -> Iterator[RedirectText]:
    """Files for the import of the service, 500 redirects each. Each redirect has its own line: a `*` may only be the end of a source, and
    nobody says where the rest leads. The intent is left to the service."""
    hosts = _by_host(redirects)
    main = host or min(hosts, key=lambda of: (-len(hosts[of]), of), default="")
    rows, left_out = [], {}
    for redirect in redirects:
        if redirect.target is None or "?" in redirect.source or urlsplit(redirect.source).netloc != main:
            gone, query = redirect.target is None, "?" in redirect.source
            left_out[redirect.source] = NO_GONE if gone else NO_QUERY if query else OTHER_HOST
        else:
            rows.append([quoted_path(urlsplit(redirect.source).path, NETLIFY_SAFE) or "/", redirect.target, ""])
    rows.sort()
    for number in range(max(1, -(-len(rows) // HOSTED_MOST))):
        own = name if number == 0 else name.removesuffix(".csv") + f"-{number + 1}.csv"
        some = rows[number * HOSTED_MOST : (number + 1) * HOSTED_MOST]
        yield RedirectText(own, csv_rows([HOSTED_COLUMNS, *some]), left_out if number == 0 else {})


# -- Netlify -----------------------------------------------------------------------------------------------------------------------------

# In a path, `*` and `:` begin a splat and a placeholder.
NETLIFY_SAFE: Final = "-._~"


def _netlify(name: str, host: str, redirects: Sequence[Redirect], wildcards: Sequence[Wildcard]) -> RedirectText:
    whole = len(_by_host(redirects).keys() | ({host} - {""})) > 1  # a path alone would be about every host
    lines, left_out = [], {}
    for redirect in _rest(redirects, wildcards):
        if "?" in redirect.source:
            left_out[redirect.source] = NO_QUERY
        elif redirect.target is None:
            left_out[redirect.source] = NO_GONE
            lines.append((redirect.source, f"# gone: {_netlify_url(redirect.source, whole=True)}"))
        else:
            to = _netlify_url(redirect.target, whole=whole or not _is_local(redirect.target))
            lines.append((redirect.source, f"{_netlify_url(redirect.source, whole=whole)} {to} 301"))
    ends = [
        f"{_netlify_url(group.source, whole=whole)}/* {_netlify_url(group.target, whole=whole or not _is_local(group.target))}/:splat 301"
        for group in wildcards
    ]
    # The first match wins, so the lines about one URL come before those about many.
    text = "".join(f"{line}\n" for line in (*(line for _, line in sorted(lines)), *sorted(ends, reverse=True)))
    if len(lines) + len(ends) > NETLIFY_MOST:
        left_out[""] = f"it has {len(lines) + len(ends):,} redirects, and Netlify advises fewer than {NETLIFY_MOST:,}"
    return RedirectText(name, MARK + text, left_out)


def _is_local(url: str) -> bool:
    """Whether a sandbox serves it, at a port that no file can know. A path alone leads to the server that reads the file."""
    return urlsplit(url).hostname in LOOPBACK


def _netlify_url(url: str, *, whole: bool) -> str:
    parts = urlsplit(url)
    path = quoted_path(parts.path, NETLIFY_SAFE)
    return (f"{parts.scheme}://{parts.netloc}{path}" if whole else path or "/") + ending(url)


# -- nginx -------------------------------------------------------------------------------------------------------------------------------

QUERY: Final = "%3F"  # of a URL that a rewrite builds, nginx decodes everything up to this, which then begins a query
SLASH: Final = "%2F"  # part of a segment; nginx compares decoded paths, and copies them decoded


def _nginx(name: str, host: str, redirects: Sequence[Redirect], wildcards: Sequence[Wildcard]) -> RedirectText:
    """Locations for use inside a `server` block. An exact location goes before every other, whatever the rest of the block says."""
    slashed = [redirect.source for redirect in redirects if SLASH in redirect.source]
    groups = [
        group
        for group in wildcards
        if not any(source.startswith(f"{group.source}/") for source in slashed)
        and urlsplit(group.source).netloc == host
        and _unreadable(group.source, group.target) is None
        and QUERY not in group.target
    ]
    lines, left_out = [], {}
    for redirect in _rest(redirects, groups, QUERY):
        path, target = _path(redirect.source) or b"/", redirect.target
        if (reason := _unreadable(redirect.source, target)) is not None:
            left_out[redirect.source] = reason
            continue
        query = urlsplit(redirect.source).query
        answer = "return 410;" if target is None else f'return 301 "{_nginx_redirect(target, keeps_query=not query)}";'
        if query:
            # A location has no query. This is what was asked, byte for byte.
            asked = quoted_path(urlsplit(redirect.source).path, "-._~!()*+,=:@&") or "/"
            for begin in (asked,) if asked == "/" else (asked, f"{asked}/"):
                lines.append(f'if ($request_uri = "{begin}?{query}") {{ {answer} }}\n')
            continue
        # The service answers at a path with a slash at its end as at the one without.
        for spelling in (path,) if path == b"/" else (path, path + b"/"):
            lines.append(f"location = {_quoted(spelling)} {{ {answer} }}\n")
    for group in groups:
        # `rewrite`, not `return`: it escapes what it copies, so that a line feed in a path cannot begin another header.
        path = _path(group.source)
        rewrite = f'rewrite "(?s){_expression(path)}/(.+)" "{_nginx_target(group.target)}/$1" permanent;'
        lines.append(f"location ^~ {_quoted(path + b'/')} {{ {rewrite} }}\n")
    about = f"# For use inside the server block of {host}: include {name.rpartition('/')[2]};\n" if host and lines else ""
    return RedirectText(name, f"{MARK}{about}{''.join(sorted(lines))}", left_out)


def _path(url: str) -> bytes:
    return unquote_to_bytes(urlsplit(url).path)


def _unreadable(source: str, target: str | None) -> str | None:
    """Why nginx cannot answer at a URL; None if it can."""
    path = _path(source)
    if "$" in urlsplit(source).query:
        return "nginx takes $ in a query for the beginning of a variable"
    if SLASH in urlsplit(source).path:
        return "nginx compares decoded paths, in which %2F is a slash"
    if b"\0" in path:
        return "nginx refuses a path with a zero byte"
    if max(len(path) * 4, len(target or "") * 3) > NGINX_PARAMETER:
        return "nginx cannot read a parameter that long"
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return "its path is not UTF-8"
    return None


def _nginx_redirect(url: str, *, keeps_query: bool) -> str:
    """The target of one redirect. `keeps_query`: the query that was asked is kept, unless the target has one."""
    parts = urlsplit(url)
    query = f"?{parts.query}".replace("$", "%24") if parts.query else "$is_args$args" if keeps_query else ""
    return _nginx_target(url) + query + (f"#{parts.fragment}" if parts.fragment else "").replace("$", "%24")


def _nginx_target(url: str) -> str:
    """A URL in which nothing is special to nginx: neither quotes nor variables."""
    parts, begin = urlsplit(url), ""
    if not _is_local(url):
        begin = f"{parts.scheme}://{parts.netloc}"
    return f"{begin}{quoted_path(parts.path, '-._~!()*+,=:@&') or ('' if begin else '/')}"


ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def _quoted(path: bytes) -> str:
    """A path between double quotes. nginx removes a backslash before `"` and `\\`, and reads `\\n`, `\\r` and `\\t` as what they name."""
    return '"' + "".join(ESCAPES.get(character, character) for character in path.decode("utf-8")) + '"'


def _expression(path: bytes) -> str:
    """A regular expression of PCRE for a path, as a part of a quoted text: `^/docs/a`."""
    plain = {*b"/-_", *range(ord("0"), ord("9") + 1), *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)}
    return "^" + "".join(chr(code) if code in plain else f"\\\\x{code:02x}" for code in path)
