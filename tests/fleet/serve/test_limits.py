"""Whoever sends nothing, sends slowly, sends much or reads nothing keeps nobody else out.

A dashboard that is served: it ends at once although pages follow it, and follows a fleet file that changes how people log in.

`fleet up`: a worker and the dashboard in one process, until it is interrupted.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import pytest

from reconciler.fleet.serve import connections, feed, guard, run
from reconciler.fleet.store import FleetDatabase
from tests import processes
from tests.fleet.serve.provider import CLIENT, provided
from tests.fleet.serve.served import SECONDS, declare, project, served
from tests.proofs import costly

SECRET: Final = "hub-secret-0123456789"
PLAUSIBLE: Final = "sha256=" + "0" * 64
MEMORY_MAX: Final = 300 * 10**6
IDLE, LARGE = 2_000, 200


def head(path: str, *, length: int, host: str, signature: str = "", more: str = "") -> bytes:
    signed = f"X-GitHub-Event: push\r\nX-Hub-Signature-256: {signature}\r\n" if signature else ""
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n{signed}{more}\r\n".encode()


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or 80), timeout=30)


def answer(sent: socket.socket) -> bytes:
    """What the dashboard sends until its first headers end, or until it closes the connection."""
    data = b""
    with suppress(ConnectionError):
        while b"\r\n\r\n" not in data and (block := sent.recv(65_536)):
            data += block
    return data


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@contextmanager
def process(database_url: str, folder: Path, secret: str) -> Iterator[tuple[str, int]]:
    """`fleet serve` as a process of its own, with as many open files as a system allows: its URL and its id."""
    command = [sys.executable, "-m", "reconciler", "fleet", "serve", "--port", "0", "--database", database_url]
    environ = {**os.environ, "HOOK": secret, "HOME": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            resource.prlimit(started.pid, resource.RLIMIT_NOFILE, (1_024, 4_096))
            assert started.stdout is not None
            link = re.search(r"http://[^/]+", started.stdout.readline())
            assert link is not None
            yield link[0], started.pid
        finally:
            started.kill()


def memory(process_id: int) -> int:
    """The most memory that a process used, in bytes."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1_024  # type: ignore[index]


@costly
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_idle_connections_and_large_bodies_leave_the_dashboard_usable_in_little_memory(
    database: FleetDatabase, fleet_url: str, tmp_path: Path
) -> None:  # fmt: skip
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < IDLE + LARGE + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    declare(database, project("acme"), settings={"webhooks": {"github": "env:HOOK"}})
    with process(fleet_url, tmp_path, SECRET) as (url, process_id), ExitStack() as stack:
        host = urlsplit(url).netloc
        for _ in range(IDLE):
            stack.enter_context(connect(url))
        block = b"x" * 65_536
        for _ in range(LARGE):  # each lacks its last byte, and comes with what looks like a signature
            slow = stack.enter_context(connect(url))
            with suppress(ConnectionError):
                slow.sendall(head("/webhooks/github", length=guard.PUSH_MAX, host=host, signature=PLAUSIBLE))
                for _ in range(guard.PUSH_MAX // len(block) - 1):
                    slow.sendall(block)
        for path, status in (("/healthz", 200), ("/readyz", 200), ("/login", 200), ("/api/v1/projects", 401)):
            assert httpx2.get(f"{url}{path}", timeout=10).status_code == status
        body = json.dumps({"ref": "refs/heads/main", "repository": {"clone_url": "https://git.example.com/x.git"}}).encode()
        signed = {"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}
        assert httpx2.post(f"{url}/webhooks/github", content=body, headers=signed, timeout=10).json() == {"due": 1}
        assert memory(process_id) < MEMORY_MAX


@pytest.mark.parametrize(
    ("settings", "signature"),
    [({}, PLAUSIBLE), ({"webhooks": {"github": "env:HUB"}}, ""), ({"webhooks": {"github": "env:HUB"}}, "sha256=0")],
)
def test_the_body_of_a_push_is_not_read_without_a_hook_and_a_signature(
    database: FleetDatabase, monkeypatch: pytest.MonkeyPatch, settings: dict[str, dict[str, str]], signature: str
) -> None:  # fmt: skip
    monkeypatch.setenv("HUB", SECRET)
    declare(database, project("acme"), settings=settings)
    more = "Expect: 100-continue\r\n"  # the dashboard says so when it begins to read
    with served(database) as site, connect(site.url) as forge:
        forge.sendall(head("/webhooks/github", length=1_000, host=urlsplit(site.url).netloc, signature=signature, more=more))
        assert answer(forge).startswith(b"HTTP/1.1 401 ")
        if settings:
            with connect(site.url) as signed:
                signed.sendall(head("/webhooks/github", length=1_000, host=urlsplit(site.url).netloc, signature=PLAUSIBLE, more=more))
                assert answer(signed).startswith(b"HTTP/1.1 100 ")


@pytest.mark.parametrize("path", ["/webhooks/github", "/login"])
def test_a_body_that_takes_too_long_is_answered(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("HUB", SECRET)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    declare(database, project("acme"), settings={"webhooks": {"github": "env:HUB"}})
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    with served(database) as site, connect(site.url) as slow:
        slow.sendall(head(path, length=1_000, host=urlsplit(site.url).netloc, signature=PLAUSIBLE, more=form) + b"x")
        assert answer(slow).startswith(b"HTTP/1.1 408 ")
        assert site.said == []


def test_a_client_that_leaves_before_its_body_ends_leaves_nothing_in_the_log(database: FleetDatabase) -> None:
    declare(database, project("acme"))
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    with served(database) as site:
        with connect(site.url) as gone:
            gone.sendall(head("/login", length=1_000, host=urlsplit(site.url).netloc, more=form) + b"x")
        with site.browser() as browser:
            assert browser.get("/healthz").status_code == 200
        assert site.said == []


@costly
@pytest.mark.parametrize("beginning", [b"", b"GET / HTTP/1.1\r\nHost: ", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_connection_that_sends_no_request_is_closed(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch, beginning: bytes) -> None:
    monkeypatch.setattr(connections, "WAIT_SECONDS", 0.2)
    declare(database, project("acme"))
    with served(database) as site, connect(site.url) as idle:
        idle.sendall(beginning)
        if beginning.endswith(b"\r\n\r\n"):
            assert answer(idle).startswith(b"HTTP/1.1 200 ")
        with suppress(ConnectionError):
            while idle.recv(65_536):
                pass


@costly
def test_a_response_that_nobody_reads_ends(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(connections, "WAIT_SECONDS", 600.0)
    declare(database, *(project(f"acme-{number}") for number in range(200)))
    with served(database) as site, closing(site.logged_in()) as browser, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        parts = urlsplit(site.url)
        deaf.connect((parts.hostname, parts.port))
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        request = f"GET {site.root}/api/v1/projects?size=500 HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: {cookie}\r\n\r\n".encode()
        with suppress(ConnectionError):
            for _ in range(200):  # more than the buffers of the system take
                deaf.sendall(request)
        ended = time.monotonic() + 30
        while time.monotonic() < ended:
            try:
                deaf.send(b"x")
            except ConnectionError:
                return
        pytest.fail("the connection is still open")


def test_the_oldest_waiting_connection_of_a_client_makes_room(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WAITING_MAX", 5)
    declare(database, project("acme"))
    with served(database) as site, closing(site.logged_in()) as browser, ExitStack() as stack, browser.stream("GET", "/events") as page:
        lines = page.iter_lines()  # an iterator that nobody keeps closes the page
        assert next(lines) == "event: ready"
        opened = []
        for _ in range(8):
            opened.append(stack.enter_context(connect(site.url)))
            assert httpx2.get(f"{site.url}/healthz").status_code == 200
        assert not page.is_closed
        assert [is_closed(connection) for connection in opened[:3]] == [True] * 3
        assert not is_closed(opened[-1])


def test_what_crowds_a_full_dashboard_is_closed_first(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 6)
    declare(database, project("acme"))

    def opened(site_url: str, source: str) -> socket.socket:
        parts = urlsplit(site_url)
        return socket.create_connection((parts.hostname or "", parts.port or 80), timeout=30, source_address=(source, 0))

    with served(database) as site, ExitStack() as stack:
        quiet = stack.enter_context(opened(site.url, "127.0.0.2"))
        crowd = [stack.enter_context(opened(site.url, "127.0.0.3")) for _ in range(9)]
        assert httpx2.get(f"{site.url}/healthz").status_code == 200
        assert [is_closed(connection) for connection in crowd[:3]] == [True] * 3
        assert not is_closed(quiet), "the oldest of all, and the only one of its client"


def statuses(browser: httpx2.Client, stack: ExitStack, count: int) -> list[int]:
    """What a browser is answered that follows so often; what it follows stays open."""
    codes = []
    for _ in range(count):
        page = stack.enter_context(browser.stream("GET", "/events"))
        codes.append(page.status_code)
        if page.status_code == 200:
            lines = page.iter_lines()
            stack.callback(lines.close)  # type: ignore[attr-defined]
            assert next(lines) == "event: ready"
    return codes


@costly
def test_one_session_and_one_person_follow_so_often_and_others_still_can(
    database: FleetDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    for name, most in (("SESSION_MAX", 3), ("PERSON_MAX", 5), ("CLIENTS_MAX", 6)):
        monkeypatch.setattr(feed, name, most)
    declare(database, project("acme"))
    with served(database) as site, closing(site.logged_in()) as first, closing(site.logged_in()) as second, ExitStack() as stack:
        assert statuses(first, stack, 5) == [200, 200, 200, 429, 429]
        assert statuses(second, stack, 3) == [200, 200, 429], "two sessions of one person"
        assert first.get("/").status_code == 200

    def count(follower: feed.Follower, *, taken: int) -> bool | None:
        """Whether it is refused for itself; None if it is not refused."""
        full = feed.Feed(database)
        full._queues = {asyncio.Queue(): (f"person-{number}", f"session-{number}") for number in range(taken)}
        try:
            full.check(follower)
        except feed.Full as error:
            return error.own
        return None

    ada = ("ada", "another")
    assert [count(ada, taken=taken) for taken in (0, 5, 6)] == [None, None, False]


def test_the_requests_of_one_session_leave_room_for_those_of_others(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "REQUESTS_MAX", 3)
    declare(database, project("acme"))
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    with served(database) as site, closing(site.logged_in()) as first, closing(site.logged_in()) as second, ExitStack() as stack:
        name, value = next(iter(first.cookies.items()))
        cookies = [f"{name}={value}", f"other=1; {name}={value}", f"{name}={value}; more=2"]
        slow = []
        for cookie in cookies:  # however the header is written, it is one session
            slow.append(stack.enter_context(connect(site.url)))
            more = f"{form}Cookie: {cookie}\r\nExpect: 100-continue\r\n"
            slow[-1].sendall(head(f"{site.root}/projects/acme/sync", length=100, host=urlsplit(site.url).netloc, more=more))
            assert answer(slow[-1]).startswith(b"HTTP/1.1 100 ")
        assert first.get("/").status_code == 429
        assert second.get("/").status_code == 200
        assert httpx2.get(f"{site.url}/login").status_code == 200
        for connection in slow:
            connection.sendall(b"x" * 100)
            assert answer(connection).startswith(b"HTTP/1.1 403 ")
        assert first.get("/").status_code == 200


def test_the_limits_are_those_of_the_documentation() -> None:
    assert (connections.WAITING_MAX, connections.WAIT_SECONDS, connections.CONNECTIONS_MAX, connections.STALL_SECONDS) == (100, 20, 800, 30)
    assert (guard.BODY_MAX, guard.PUSH_MAX, guard.BODIES_MAX) == (64 * 2**10, 4 * 2**20, 32 * 2**20)
    assert (guard.BODY_SECONDS, guard.REQUESTS_MAX) == (30, 40)
    assert (feed.SESSION_MAX, feed.PERSON_MAX, feed.CLIENTS_MAX) == (10, 30, 500)


@costly
def test_a_dashboard_that_pages_follow_ends_at_once(database: FleetDatabase) -> None:
    declare(database, project("acme"))
    ends: list[list[str]] = []
    ready = threading.Barrier(3)

    with served(database) as site:
        browser = site.logged_in()

        def follow() -> None:
            lines: list[str] = []
            with browser.stream("GET", "/events", timeout=SECONDS) as answer:
                for line in answer.iter_lines():
                    if line == "event: ready":
                        ready.wait(SECONDS)
                    lines.append(line)
            ends.append(lines)

        pages = [threading.Thread(target=follow) for _ in range(2)]
        for page in pages:
            page.start()
        ready.wait(SECONDS)
        begun = time.monotonic()
    assert time.monotonic() - begun < run.END_SECONDS  # 0.1 s; it was all of them, for it waited until pages let go
    for page in pages:
        page.join(SECONDS)
    browser.close()
    assert [lines[0] for lines in ends] == ["event: ready"] * 2


@costly
def test_a_fleet_file_that_names_a_provider_is_followed_unless_it_cannot_be(
    database: FleetDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(run, "LOOK_SECONDS", 0.02)
    monkeypatch.delenv("OIDC_SECRET", raising=False)
    with provided() as provider, served(database, token=None) as site:
        assert "/login?token=" in site.link()
        own = site.origin

        def say(**oidc: Any) -> None:
            settings = {"dashboard": {"url": own, "oidc": oidc, "roles": [], "metrics": None}} if oidc else {}
            declare(database, project("acme"), settings=settings)

        known = {"issuer": provider.issuer, "clientId": CLIENT, "claim": "groups", "scopes": ["openid"]}
        say(**known, clientSecret="env:OIDC_SECRET")
        while not site.said:
            time.sleep(0.01)
        (said,) = site.said
        assert said.startswith("The fleet file changed how people log in, and the dashboard cannot follow: dashboard.oidc.clientSecret: ")
        with site.browser() as browser:
            assert "provider" not in browser.get("/login").text, "nobody is locked out by a fleet file that cannot be followed"
        say(**known, clientSecret=None)
        assert site.shown.get(timeout=SECONDS) == f"The dashboard is ready: {own}"
        with httpx2.Client(base_url=own, follow_redirects=True) as browser:
            assert "127.0.0.1" in browser.get("/login").text
            assert browser.get("/").url.path == "/login"
        say()
        assert "/login?token=" in site.link()
        assert len(site.said) == 3, "it says so each time, and once"


PROJECT = {"name": "acme", "source": {"git": "file:///nowhere"}, "baseUrl": "http://127.0.0.1:9", "token": {"env": "ACME_TOKEN"}}
FLEET = {"version": 1, "projects": [PROJECT]}


@pytest.mark.proof
def test_fleet_up_prints_a_link_to_the_dashboard_and_never_logs_it(tmp_path: Path, fleet_url: str) -> None:
    (tmp_path / "fleet.yaml").write_text(json.dumps(FLEET))
    words = ["fleet", "up", "fleet.yaml", "--database", fleet_url, "--port", "0", "--log-file", "log.jsonl"]
    environ = {**os.environ, "ACME_TOKEN": "x", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "reconciler", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": (tmp_path / "said").open("w"), "text": True}
    with streams["stderr"], processes.Popen(command, cwd=tmp_path, env=environ, **streams) as up:
        try:
            assert up.stdout is not None
            line = next(line for line in up.stdout if "dashboard is ready" in line)
            link = re.search(r"http\S+", line)
            assert link is not None
            with httpx2.Client(follow_redirects=True, timeout=30) as browser:
                page = browser.get(link[0])
            assert (page.status_code, "acme" in page.text) == (200, True)
        finally:
            up.send_signal(signal.SIGINT)
        assert up.wait(30) == 0
    assert link[0].rpartition("=")[2] not in (tmp_path / "log.jsonl").read_text() + (tmp_path / "said").read_text()
