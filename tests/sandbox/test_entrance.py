"""Links and cookies of a sandbox in a real browser: a link works once, and no other port of the machine gets the cookie."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from reconciler.sandbox.header import SECRET
from tests import browser, processes
from tests.proofs import costly
from tests.sandbox.served.organizations import looked_at
from tests.sandbox.serving import SERVE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

if "browser" not in os.environ.get(browser.REQUIRE, ""):
    pytest.importorskip("playwright")


@dataclass
class Terminal:
    """`sandbox serve` and what it prints. `token`: of its first line."""

    process: Any
    url: str
    token: str

    def link(self) -> str:
        """The link of the next line."""
        return str(self.process.stdout.readline().split()[-1])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    looked_at(tmp_path).store.close()
    process = processes.Popen([sys.executable, "-c", SERVE, str(tmp_path / "sandbox.db")], stdout=PIPE, text=True)
    try:
        _, _, url, *_, token = process.stdout.readline().split()
        yield Terminal(process, url, token)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as started:
        yield started


@contextmanager
def neighbour(page: str = "") -> Iterator[tuple[int, list[dict[str, str]]]]:
    """A server of somebody else at another port: the port, and the headers of what it was asked."""
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append({"path": self.path, **dict(self.headers)})
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        server.server_close()


def text(context: BrowserContext, url: str) -> str:
    page = context.new_page()
    page.goto(url)
    return page.inner_text("body")


@costly
def test_the_link_opens_every_page_and_no_other_port_gets_the_cookie(chromium: Browser, terminal: Terminal) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(terminal.link())
    assert page.get_by_text("Press of last year").count()
    clicks = [("API reference", "operations"), ("Content", "Press of last year"), ("Docs", "Read as"), ("Troubleshooting", "Read as")]
    for link, shown in [*clicks, ("Sandbox", "Press of last year")]:
        page.get_by_role("link", name=link, exact=True).first.click()
        assert page.get_by_text(shown).count(), (link, page.url)
    with neighbour() as (port, asked):
        for path in ("/", "/published/docs", "/open/x", "/docs"):
            text(context, f"http://127.0.0.1:{port}{path}")
        page.evaluate(f"fetch('http://127.0.0.1:{port}/', {{mode: 'no-cors', credentials: 'include'}}).catch(() => 0)")
    assert [headers.get("Cookie") for headers in asked] == [None] * len(asked)
    assert len(asked) >= 4
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"] == page.url.removeprefix(terminal.url)) == (True, "Strict", True)
    context.close()


@costly
def test_a_link_works_once_and_its_page_says_where_the_next_is(chromium: Browser, terminal: Terminal) -> None:
    first = terminal.link()
    context, other = chromium.new_context(), chromium.new_context()
    assert "Press of last year" in text(context, first)
    second = terminal.link()
    said = text(other, first)
    assert "Open the newest link that `reconciler sandbox serve` printed in its terminal" in said
    assert "Acme" not in said
    assert "Press of last year" in text(context, first), "the browser that has the cookie"
    assert "Press of last year" in text(other, second)
    assert terminal.link() not in (first, second)
    context.close()
    other.close()


@costly
def test_a_link_on_a_page_of_another_site_opens_too(chromium: Browser, terminal: Terminal) -> None:
    """As in a terminal that is a page itself: the browser sends no strict cookie to where it leads."""
    with neighbour(f'<a href="{terminal.link()}">open</a>') as (port, _):
        page = chromium.new_context().new_page()
        page.goto(f"http://localhost:{port}/")
        page.get_by_role("link").click()
        page.get_by_text("Press of last year").first.wait_for()
        page.context.close()


@costly
def test_the_cookie_acts_for_nobody_and_is_worth_nothing_elsewhere(terminal: Terminal) -> None:
    link = terminal.link()
    with httpx2.Client() as client:
        opened = client.get(link)
        name, value = opened.headers["set-cookie"].partition(";")[0].split("=", 1)
        root = link.partition("/open/")[0]
        cookie = {"Cookie": f"{name}={value}"}
        assert client.get(f"{root}/", headers=cookie).status_code == 200
        for other in (f"{name}=guess; {name}={value}", f"{name}={value}; {name}=guess"):
            assert client.get(f"{root}/", headers={"Cookie": other}).status_code == 200, "another port of the machine can add one"
        assert client.get(f"{terminal.url}/", headers=cookie).status_code == 401
        assert client.get(f"{root}/", headers={"Cookie": f"{name}=guess"}).status_code == 401
        assert client.get(f"{root}/v1/orgs", headers=cookie).status_code == 401
        assert client.get(f"{root}/_sandbox/identity", headers=cookie).status_code == 401
        assert client.post(f"{root}/v1/orgs/org_acme/teams", headers=cookie, json={"title": "T"}).status_code == 401
        assert client.get(f"{root}/", headers={**cookie, "Host": "evil.example"}).status_code == 403


@costly
def test_programs_use_a_token_and_stay_the_reader_that_they_name(terminal: Terminal) -> None:
    with httpx2.Client(base_url=terminal.url) as client:
        for headers in (
            {"Authorization": f"Bearer {terminal.token}"},
            {"authorization": f"bearer {terminal.token}"},
            {SECRET: terminal.token},
        ):
            assert client.get("/published/docs", headers=headers).status_code == 200
            assert client.get("/", headers=headers).status_code == 200
        assert client.get("/v1/orgs", headers={"Authorization": f"Bearer {terminal.token}"}).status_code == 200
        assert client.get("/v1/orgs", headers={SECRET: terminal.token}).status_code == 401, (
            "the header opens the door, and says nothing of who it is"
        )
        assert client.get("/published/docs", headers={SECRET: "guess"}).status_code == 401
        assert client.get("/published/docs", headers={"Authorization": f"Basic {terminal.token}"}).status_code == 401
        assert (
            client.get("/published/docs", headers={"Authorization": f"Bearer {terminal.token}", "Host": "evil.example"}).status_code == 403
        )
