"""`urls check` asks real servers: paced, with a limit of time, over redirects, and never an address of the link-local network."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reconciler.cli.checks import published
from reconciler.cli.checks.published import CheckedUrl, UrlChecker, counts, findings_of
from tests.certificates import untrusted

HOST = "127.0.0.2"  # answers on Linux, and is no address of a sandbox
LINK_LOCAL = (
    "169.254.169.254",
    "[fe80::1]",
    "[::ffff:169.254.169.254]",
    "[2002:a9fe:a9fe::1]",
    "[64:ff9b::a9fe:a9fe]",
    "100.100.100.200",
    "[fd00:ec2::254]",
)
STATUSES = {"/ok": 200, "/missing": 404, "/ended": 410, "/closed": 403, "/broken": 503}
TARGETS = {
    "/moved": "/ok", "/far": "/moved", "/lost": "/missing", "/round": "/trip", "/trip": "/round", "/slash": "//127.0.0.2:1/",
    "/other": "https://elsewhere.example/", "/metadata": "http://169.254.169.254/latest/meta-data/", "/local": "http://[fe80::1]/",
    **{f"/hop{number}": f"/hop{number + 1}" for number in range(9)},
}  # fmt: skip


class Site(BaseHTTPRequestHandler):
    """A server that is not the sandbox."""

    asked: list[tuple[str, dict[str, str], float]]

    def do_GET(self) -> None:
        self.asked.append((self.path, dict(self.headers), time.monotonic()))
        if self.path == "/slow":
            time.sleep(1.5)
        target = TARGETS.get(self.path)
        self.send_response(301 if target is not None else STATUSES.get(self.path, 200))
        if target is not None:
            self.send_header("Location", target)
        self.send_header("Set-Cookie", "a=b")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[tuple[str, type[Site]]]:
    """The URL of a server on another address than the sandbox's, and what it was asked."""
    handler = type("Asked", (Site,), {"asked": []})
    server = ThreadingHTTPServer((HOST, 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if context is not None else ''}://{HOST}:{server.server_port}", handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answers(checker: UrlChecker, *urls: str) -> list[CheckedUrl]:
    return asyncio.run(checker.answers(urls))


def quick(*hosts: str) -> UrlChecker:
    return UrlChecker({HOST, *hosts}, per_second=1000)


@pytest.mark.parametrize("host", LINK_LOCAL)
def test_an_address_of_the_link_local_network_is_never_asked(host: str) -> None:
    """Also where the ledger itself has it: the service may have been told to publish there."""
    name = host.strip("[]")
    (answer,) = answers(UrlChecker({name}, per_second=1000), f"http://{host}/latest/meta-data/")
    assert (answer.known, answer.status) == (False, None)
    assert answer.wrong.startswith(f"{name} has an address of the link-local network")


def test_an_ordinary_address_is_not_link_local() -> None:
    for host in ("127.0.0.1", "::1", "10.0.0.1", "64:ff9b::808:808", "::ffff:8.8.8.8", "fd00::1", "does-not-exist.invalid"):
        assert asyncio.run(published._link_local(host)) == "", host


@pytest.mark.parametrize(("path", "host"), [("/metadata", "169.254.169.254"), ("/local", "fe80::1")])
def test_a_redirect_to_the_link_local_network_is_not_followed(path: str, host: str) -> None:
    with serving() as (url, _):
        (listed,) = answers(quick(host), url + path)
        (foreign,) = answers(quick(), url + path)
    assert f"{host} has an address of the link-local network" in listed.wrong
    assert f"{host} is not a host of this project's sites, and is not asked" in foreign.wrong
    assert listed.known
    assert foreign.known, "the URL leads somewhere wrong, which is an answer"


def test_each_answer_of_another_server_has_its_own_sentence() -> None:
    with serving() as (url, handler):
        paths = ["/ok", "/missing", "/ended", "/closed", "/broken", "/moved", "/far", "/lost", "/round", "/hop0", "/other"]
        results = answers(quick(), *(url + path for path in paths))
    wrong = {path: (result.status, result.wrong, result.known) for path, result in zip(paths, results, strict=True)}
    assert wrong["/ok"] == wrong["/moved"] == wrong["/far"] == (200, "", True)
    assert wrong["/missing"] == wrong["/lost"] == (404, "answers 404: nothing is published there", True)
    assert wrong["/ended"] == (410, "answers 410: nothing is published there", True)
    assert wrong["/closed"] == (403, "answers 403: it is not public", True)
    assert wrong["/broken"] == (503, "answers 503", False)
    assert wrong["/round"][1:] == ("redirects in a loop", True)
    assert wrong["/hop0"][1:] == ("redirects more than 5 times", True)
    assert "elsewhere.example is not a host of this project's sites" in wrong["/other"][1]
    assert counts(results) == {"answer": 3, "redirected": 2, "dead": 7, "unknown": 1}
    assert {finding.id for finding in findings_of(results)} == {"RC-url-dead", "RC-url-not-asked"}
    for _, headers, _ in handler.asked:
        names = {name.lower() for name in headers}
        assert names.isdisjoint({"authorization", "cookie", "proxy-authorization"})


def test_requests_are_paced() -> None:
    with serving() as (url, handler):
        answers(UrlChecker({HOST}, per_second=20), *(f"{url}/page{number}" for number in range(8)))
    times = sorted(at for _, _, at in handler.asked)
    assert len(times) == 8
    assert times[-1] - times[0] >= 7 / 20 - 0.06, "eight at once would take no time"


def test_a_sandbox_is_asked_as_fast_as_it_answers() -> None:
    with serving() as (url, handler):
        answers(UrlChecker({"127.0.0.1"}, served=urlsplit(url).netloc), *(f"http://127.0.0.1/page{number}" for number in range(80)))
    times = sorted(at for _, _, at in handler.asked)
    assert len(times) == 80
    assert times[-1] - times[0] < 79 / 10, "ten a second would take longer"


def test_a_server_that_does_not_answer_is_not_known_to_be_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "SECONDS", 0.3)
    with serving() as (url, _):
        slow, fine = answers(quick(), f"{url}/slow", f"{url}/ok")
    assert (slow.known, slow.wrong) == (False, "cannot be asked: no answer within 0.3 seconds")
    assert fine.wrong == ""
    (closed,) = answers(quick(), f"http://{HOST}:9/")
    assert not closed.known
    assert closed.wrong.startswith("cannot be asked: ")
    (nowhere,) = answers(quick("does-not-exist.invalid"), "http://does-not-exist.invalid/")
    assert not nowhere.known


def test_a_server_whose_certificate_nobody_trusts_gets_no_request(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(untrusted(tmp_path))
    with serving(context) as (url, handler):
        (answer,) = answers(quick(), f"{url}/ok")
    assert not answer.known
    assert "certificate verify failed" in answer.wrong.lower()
    assert handler.asked == []


def test_the_host_of_a_sitemap_is_checked_too() -> None:
    with serving() as (url, _):
        assert asyncio.run(quick().text(f"{url}/ok")) == ""
        with pytest.raises(ValueError, match="it answers 404"):
            asyncio.run(quick().text(f"{url}/missing"))
    with pytest.raises(ValueError, match="link-local"):
        asyncio.run(quick("169.254.169.254").text("http://169.254.169.254/sitemap.xml"))
    with pytest.raises(ValueError, match="is not a host of this project's sites"):
        asyncio.run(quick().text("http://elsewhere.example/sitemap.xml"))
