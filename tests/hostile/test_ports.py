"""Nothing that listens on a port while a command runs answers whoever has no secret of its process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reconciler import exits
from tests.command_line import Cli
from tests.features.rehearsal.previewed import SANDBOX, applied
from tests.hostile import strangers

NO_TOKEN = b'{"error":{"code":401,"message":"an access token is required: Authorization: Bearer <ACCESS_TOKEN>"}}'
UNKNOWN = b'{"error":{"code":401,"message":"the access token is unknown"}}'
BROWSER = b"""This page opens with a link that works once.
Open the newest link that `reconciler sandbox serve` printed in its terminal: when one is used, it prints the next.
"""
NOTHING = {NO_TOKEN, UNKNOWN, b""}
"""The only bodies; HEAD has none."""

TESTS = """tests:
  - name: anyone reads the guides
    expect: [{as: anyone, sees: [acme/space/guides]}]
  - name: the first plan creates the sites
    expect: [{as: anyone, mustNotSee: [acme/space/salaries]}]
"""


@pytest.fixture
def living(cli: Cli) -> Cli:
    applied(cli)
    cli.write("tests/readers.yaml", TESTS)
    return cli


def environ(living: Cli) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    return plain | {"HOME": str(living.root), "PYTHONPATH": str(Path.cwd()), "PYTHONUNBUFFERED": "1"}


@pytest.mark.parametrize(
    ("words", "least"),
    [
        (("rehearse", ".", *SANDBOX), 2),  # the living sandbox, and its copy
        (("test", "."), 1),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_stranger_hears_nothing_while_a_command_runs(living: Cli, words: tuple[str, ...], least: int) -> None:
    command = [sys.executable, "-m", "reconciler", *words]
    with subprocess.Popen(
        command, cwd=living.root, env=environ(living), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        heard = strangers.heard(run.pid, lambda: run.poll() is None)
        assert run.stdout is not None
        said = run.stdout.read()
    assert run.returncode == exits.DONE, said
    assert len(heard) >= least, "each port was open long enough"
    assert strangers.told(heard) <= NOTHING
    assert NO_TOKEN in strangers.told(heard)
    assert "Traceback" not in said
    assert "Invalid HTTP" not in said


def test_a_stranger_hears_nothing_while_a_server_for_agents_rehearses(living: Cli) -> None:
    command = [sys.executable, "-m", "reconciler", "mcp", ".", *SANDBOX]
    with subprocess.Popen(command, cwd=living.root, env=environ(living), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        given, taken = run.stdin, run.stdout
        assert given is not None
        assert taken is not None

        def send(**message: object) -> None:
            given.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            given.flush()

        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        send(id=1, method="initialize", params=client)
        assert json.loads(taken.readline())["id"] == 1
        send(method="notifications/initialized")
        send(id=2, method="tools/call", params={"name": "rehearse", "arguments": {}})
        answered = list[str]()

        def read() -> None:
            """At the end of its input the server ends the calls that it has not answered."""
            for text in taken:
                answered.append(text)
                if json.loads(text).get("id") == 2:
                    given.close()

        reader = threading.Thread(target=read)
        reader.start()
        heard = strangers.heard(run.pid, lambda: run.poll() is None)
        reader.join()
    assert heard, answered
    assert '"isError":true' not in "".join(answered)
    assert strangers.told(heard) <= NOTHING


def test_a_stranger_hears_nothing_of_a_sandbox_that_is_served(living: Cli) -> None:
    command = [sys.executable, "-m", "reconciler", "sandbox", "serve", "--db", "living.db"]
    with subprocess.Popen(command, cwd=living.root, env=environ(living), stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        url = run.stdout.readline().split()[2]
        port = int(url.rpartition(":")[2])
        answers = {port: {text for request in strangers.requests() if (text := strangers.answer(port, request))}}
        run.terminate()
    assert strangers.told(answers) == NOTHING | {BROWSER}
