"""`urls check` asks real servers: paced, with a limit of time, over redirects, and never an address of the link-local network."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reconciler.features.urls.published import checking as published
from reconciler.features.urls.published.addresses import is_of_machine
from reconciler.features.urls.published.checking import CheckedUrl, UrlChecker, counts, findings_of
from tests.certificates import untrusted
from tests.harness import Still

HOST = "127.0.0.2"  # answers on Linux, and is no address of a sandbox
LINK_LOCAL = (
    "169.254.169.254",
    "[fe80::1]",
    "[::ffff:169.254.169.254]",
    "[2002:a9fe:a9fe::1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[fd20:ce::254]",
    "168.63.129.16",
    "100.100.100.200",
    "[fd00:ec2::254]",
)
STATUSES = {
    "/ok": 200, "/missing": 404, "/ended": 410, "/closed": 403, "/broken": 503, "/choice": 300, "/unmodified": 304, "/empty": 204,
    "/timeout": 408, "/early": 425,
}  # fmt: skip
LIMITED = {"/limited": ("429", "1"), "/limited-always": ("429", "7"), "/limited-long": ("429", "3600"), "/limited-somehow": ("429", ""),
           "/restarting": ("503", "2")}  # fmt: skip
TARGETS = {
    "/moved": "/ok", "/far": "/moved", "/lost": "/missing", "/round": "/trip", "/trip": "/round", "/slash": "//127.0.0.2:1/",
    "/use": "/login?next=/use", "/start": "/welcome?to=%2Fstart", "/session": "/accounts/sign-in", "/guest": "/login-guest",
    "/login-guest": "/ok", "/about-login": "/guides/login", "/nowhere": "http://nowhere.test/",
    "/slashed": "/slashed/", "/slashed/": "/members?return_to=%2Fslashed%2F", "/caf%C3%A9": "/gate?u=//[&next=/caf%C3%A9?a=1",
    "/other": "https://elsewhere.example/", "/metadata": "http://169.254.169.254/latest/meta-data/", "/local": "http://[fe80::1]/",
    **{f"/hop{number}": f"/hop{number + 1}" for number in range(9)},
}  # fmt: skip


class Site(BaseHTTPRequestHandler):
    """A server that is not the sandbox."""

    asked: list[tuple[str, dict[str, str], float]]
    targets: dict[str, str] = TARGETS

    def do_GET(self) -> None:
        self.asked.append((self.path, dict(self.headers), time.monotonic()))
        if self.path == "/slow":
            time.sleep(1.5)
        if self.path in LIMITED and (self.path.endswith(("-always", "-long")) or sum(path == self.path for path, _, _ in self.asked) < 3):
            status, later = LIMITED[self.path]
            self.send_response(int(status))
            if later:
                self.send_header("Retry-After", later)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        target = self.targets.get(self.path)
        self.send_response(301 if target is not None else STATUSES.get(self.path, 200))
        if target is not None:
            self.send_header("Location", target)
        self.send_header("Set-Cookie", "a=b")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(context: ssl.SSLContext | None = None, *, host: str = HOST, port: int = 0) -> Iterator[tuple[str, type[Site]]]:
    """The URL of a server on another address than the sandbox's, and what it was asked."""
    handler = type("Asked", (Site,), {"asked": []})
    server = ThreadingHTTPServer((host, port), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if context is not None else ''}://{host}:{server.server_port}", handler
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
    for address in ("127.0.0.1", "::1", "10.0.0.1", "64:ff9b::808:808", "::ffff:8.8.8.8", "fd00::1"):
        assert not is_of_machine(ip_address(address)), address


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


# -- names -------------------------------------------------------------------------------------------------------------------------------


class Changing:
    """A resolver whose answer for a name changes each time: the last one stays."""

    def __init__(self, **names: Sequence[Sequence[str]]) -> None:
        self.names, self.asked = {name.replace("_", "."): [*answers] for name, answers in names.items()}, list[str]()

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.names:
            raise OSError(-2, "Name or service not known")
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    resolver = Changing(docs_test=[[HOST], ["127.0.0.3"], ["169.254.169.254"]])
    with serving() as (url, right), serving(host="127.0.0.3", port=urlsplit(url).port or 0) as (_, wrong):
        base = f"http://docs.test:{urlsplit(url).port}"
        results = answers(UrlChecker({"docs.test"}, per_second=1000, resolve=resolver), f"{base}/ok", f"{base}/far", f"{base}/missing")
    assert [result.status for result in results] == [200, 200, 404]
    assert wrong.asked == []
    assert {headers["Host"] for _, headers, _ in right.asked} == {urlsplit(base).netloc}
    assert resolver.asked == ["docs.test"], "a name is looked up once, also for the redirects"


def test_the_target_of_a_redirect_is_looked_up_once_and_checked() -> None:
    with serving() as (url, handler):
        handler.targets = {"/there": f"http://other.test:{urlsplit(url).port}/ok", "/bad": "http://machine.test/"}
        resolver = Changing(docs_test=[[HOST]], other_test=[[HOST], ["127.0.0.3"]], machine_test=[["169.254.169.254"], [HOST]])
        checker = UrlChecker({"docs.test", "other.test", "machine.test"}, per_second=1000, resolve=resolver)
        base = f"http://docs.test:{urlsplit(url).port}"
        there, again, bad = answers(checker, f"{base}/there", f"{base}/there", f"{base}/bad")
    assert (there.status, there.wrong, again.wrong) == (200, "", "")
    assert "machine.test has an address of the link-local network" in bad.wrong
    assert sorted(resolver.asked) == ["docs.test", "machine.test", "other.test"]


def test_another_address_of_the_same_look_up_is_tried() -> None:
    with serving() as (url, handler):
        resolver = Changing(docs_test=[["127.0.0.9", HOST]])
        (answer,) = answers(UrlChecker({"docs.test"}, per_second=1000, resolve=resolver), f"http://docs.test:{urlsplit(url).port}/ok")
    assert answer.status == 200
    assert len(handler.asked) == 1


def test_a_name_that_cannot_be_looked_up_is_not_asked_and_not_dead() -> None:
    resolver = Changing(docs_test=[[HOST]])
    with serving() as (url, _):
        checker = UrlChecker({"docs.test", "nowhere.test"}, per_second=1000, resolve=resolver)
        direct, led = answers(checker, "http://nowhere.test/a", f"http://docs.test:{urlsplit(url).port}/nowhere")
    assert (direct.known, direct.wrong) == (False, "nowhere.test cannot be looked up: Name or service not known")
    assert (led.known, led.wrong) == (False, "leads to http://nowhere.test/: nowhere.test cannot be looked up: Name or service not known")
    assert {finding.id for finding in findings_of([direct, led])} == {"RC-url-not-asked"}


def test_the_name_in_tls_is_that_of_the_url(tmp_path: Path) -> None:
    names: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(untrusted(tmp_path))
    context.sni_callback = lambda connection, name, own: names.append(name)
    with serving(context) as (url, handler):
        checker = UrlChecker({"docs.test"}, per_second=1000, resolve=Changing(docs_test=[[HOST]]))
        (answer,) = answers(checker, f"https://docs.test:{urlsplit(url).port}/ok")
    assert names == ["docs.test"]
    assert not answer.known
    assert handler.asked == []


# -- answers that are no pages -----------------------------------------------------------------------------------------------------------


def test_who_asks_to_come_later_is_asked_again_after_that_time() -> None:
    clock = Still()
    with serving() as (url, handler):
        checker = UrlChecker({HOST}, per_second=1000, clock=clock)
        limited, restarting, somehow = answers(checker, f"{url}/limited", f"{url}/restarting", f"{url}/limited-somehow")
    assert [limited.status, restarting.status, somehow.status] == [200, 200, 200]
    assert [path for path, _, _ in handler.asked].count("/limited") == 3
    assert clock.slept >= 2 * 1 + 2 * 2


def test_who_always_wants_fewer_requests_is_not_known_to_be_dead() -> None:
    clock = Still()
    with serving() as (url, handler):
        checker = UrlChecker({HOST}, per_second=1000, clock=clock)
        (always,) = answers(checker, f"{url}/limited-always")
        (more,) = answers(checker, f"{url}/limited-always")
        (long,) = answers(checker, f"{url}/limited-long")
    assert [always.known, more.known, long.known] == [False, False, False]
    assert "--max-rps" in always.wrong
    assert [path for path, _, _ in handler.asked] == ["/limited-always"] * 5 + ["/limited-long"], "a host is waited for with one URL"
    assert clock.slept < 60


@pytest.mark.parametrize("path", ["/choice", "/unmodified", "/empty"])
def test_an_answer_without_a_page_is_not_a_page(path: str) -> None:
    with serving() as (url, _):
        (answer,) = answers(quick(), url + path)
    assert (answer.known, answer.wrong) == (True, f"answers {STATUSES[path]}: that is not a page")


@pytest.mark.parametrize("path", ["/timeout", "/early"])
def test_an_answer_about_the_request_says_nothing_about_the_page(path: str) -> None:
    with serving() as (url, _):
        (answer,) = answers(quick(), url + path)
    assert (answer.known, answer.wrong) == (False, f"answers {STATUSES[path]}")


def test_a_page_to_sign_in_is_not_the_page() -> None:
    with serving() as (url, _):
        paths = ["/use", "/start", "/session", "/slashed", "/caf%C3%A9", "/guest", "/about-login"]
        closed = asyncio.run(quick().answers([url + path for path in paths], pages=[f"{url}/guides/login"]))
    assert [result.wrong.endswith("a page to sign in: it is not public") for result in closed] == [*[True] * 5, False, False]
    assert closed[0].wrong == f"leads to {url}/login?next=/use, a page to sign in: it is not public"
    assert all(result.known for result in closed)
