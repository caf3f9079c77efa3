"""What goes wrong around a merge: two at once, a runner that is lost in the middle of an apply, plans that somebody else made."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.features.forges.pipelines.conftest import PROJECT, Home
from tests.features.forges.pipelines.github import Ended
from tests.features.forges.pipelines.kept import Actions
from tests.features.forges.pipelines.test_action import World
from tests.reliability.databases import Files

MANY = PROJECT.replace(
    "{title: Readers}", "{title: Readers}\n" + "".join(f"      team{n}: {{title: Team {n}}}\n" for n in range(6)).rstrip()
)


class Between:
    """Stands between the commands and the service. `before`: called before a request that writes, with how many there were; `after`: once
    it was carried out and before it is answered. `created`: the bodies of what was created."""

    def __init__(self, url: str) -> None:
        self.before: Callable[[int], None] = lambda _: None
        self.after: Callable[[int], None] = lambda _: None
        self.writes = 0
        self.lock = threading.Lock()
        self.created: Counter[str] = Counter()
        between, host = self, urlsplit(url).netloc

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                number = 0
                if self.command != "GET":
                    with between.lock:
                        between.writes += 1
                        number = between.writes
                    between.before(number)
                connection = HTTPConnection(host)
                connection.request(self.command, self.path, body, {**self.headers, "Host": host})
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                if number:
                    if self.command == "POST" and answer.status < 300:
                        between.created[body.decode()] += 1
                    between.after(number)
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that was killed."""

        self.server = Server(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def between(service: object) -> Iterator[Between]:
    made = Between(service.url)  # type: ignore[attr-defined]
    service.url = made.url  # type: ignore[attr-defined]
    yield made
    made.close()


@pytest.fixture
def world(between: Between, home: Home) -> Iterator[World]:
    with Actions() as actions:
        yield World(home, actions, apart=True)


@pytest.mark.proof
@pytest.mark.parametrize("fatal", [1, 3, 6])
def test_an_apply_whose_runner_is_lost_is_finished_elsewhere_and_nothing_is_done_twice(world: World, between: Between, fatal: int) -> None:
    assert world.push(7, MANY).success
    merged = world.merge(7)
    start = between.writes
    between.after = lambda number: world.runner.kill() if number == start + fatal else None
    lost = world.run(merged)
    assert not lost.success
    assert lost.outputs == {}
    between.after = lambda _: None
    Files(world.home.root).expire()  # instead of 90 seconds without a renewal

    again = world.run(merged)
    assert again.outputs["exit-code"] == "6", again.log
    assert "was already used by run" in again.log
    planned = world.dispatch("plan")
    assert planned.success, planned.log
    applied = world.dispatch("apply")
    assert applied.success, applied.log
    assert world.service.titles("teams") == sorted({"Writers", "Readers", *(f"Team {number}" for number in range(6))})
    assert set(between.created.values()) == {1}
    assert world.dispatch("plan").outputs["changes"] == "0"


@pytest.mark.proof
def test_two_merges_at_once_are_both_applied_and_the_second_waits_for_the_first(world: World, between: Between) -> None:
    assert world.push(7, PROJECT.replace("Writers", "Authors")).success
    assert world.push(8, PROJECT.replace("title: Readers", "title: Guests")).success
    first, second = world.merge(7), world.merge(8)
    ended: dict[str, Ended] = {}
    other = threading.Thread(target=lambda: ended.update(second=world.run(second)))
    start = between.writes

    def waits(number: int) -> None:
        if number == start + 1:
            log = Path(world.home.root / f"job-{world.runner.jobs + 1}" / "log.txt")
            other.start()
            until = time.monotonic() + 60
            while time.monotonic() < until and not (log.exists() and "Trying again" in log.read_text(encoding="utf-8")):
                time.sleep(0.05)

    between.before = waits
    ended["first"] = world.run(first)
    other.join(60)
    assert {name: (end.success, end.outputs["changes"]) for name, end in ended.items()} == {"first": (True, "1"), "second": (True, "1")}
    assert world.service.titles("teams") == ["Authors", "Guests"]


@pytest.mark.proof
@pytest.mark.parametrize("how", ["merge", "rebase"])
def test_the_plan_is_found_however_the_pull_request_was_merged(world: World, how: str) -> None:
    assert world.push(7, PROJECT.replace("Writers", "Authors")).success
    assert world.push(8, PROJECT.replace("title: Readers", "title: Guests")).success
    for number in (7, 8):
        applied = world.run(world.merge(number, how))
        assert applied.success, applied.log
    assert world.service.titles("teams") == ["Authors", "Guests"]


@pytest.mark.proof
def test_a_plan_that_a_fork_stored_is_not_used(world: World) -> None:
    planned = world.push(7, PROJECT.replace("Writers", "Authors"))
    name = world.actions.artifacts[0]["name"]
    world.actions.artifacts.clear()
    world.actions.keep(name, Path(planned.outputs["plan-file"]).parent, fork=True)
    refused = world.run(world.merge(7))
    assert refused.outputs["exit-code"] == "4"
    assert "there is no plan of its last commit" in refused.log
