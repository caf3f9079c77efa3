"""The link that logs in, as people see it: whole on the terminal of the real process, hidden in a pipe or file, which keep it."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from reconciler.fleet.store import FleetDatabase
from tests import processes
from tests.proofs import costly

READY = re.compile(r"The dashboard is ready: (http://\S+?)[\r\n]")
SECONDS = 60.0


@contextmanager
def serving(folder: Path, url: str | None, *, terminal: bool, command: str = "serve") -> Iterator[str]:
    """What `fleet serve`, or `fleet up`, shows until its dashboard is ready. `url`: of its database; None for one of its own."""
    (folder / "fleet.yaml").write_text("version: 1\nprojects: []\n", encoding="utf-8")
    more = (*(("--data", str(folder / "data")) if command == "up" else ()), *(("--database", url) if url is not None else ()))
    ours, theirs = pty.openpty() if terminal else os.pipe()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    process = processes.Popen(
        [sys.executable, "-m", "reconciler", "fleet", command, "--port", "0", *more],
        cwd=folder, env={**environ, "HOME": str(folder), "TERM": "xterm", "COLUMNS": "300"},
        stdin=theirs if terminal else subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown, until = "", time.monotonic() + SECONDS
    try:
        while READY.search(shown) is None and time.monotonic() < until:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65536).decode()
        if not terminal and select.select([ours], [], [], 5)[0]:
            shown += os.read(ours, 65536).decode()
        yield shown
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=SECONDS)
        os.close(ours)


@costly
@pytest.mark.parametrize("command", ["serve", "up"])
def test_the_link_on_a_terminal_opens_the_dashboard(tmp_path: Path, database: FleetDatabase, fleet_url: str, command: str) -> None:
    with serving(tmp_path, fleet_url, terminal=True, command=command) as shown:
        found = READY.search(shown)
        assert found is not None, shown
        assert "(hidden)" not in shown
        with httpx2.Client(follow_redirects=True, timeout=SECONDS, trust_env=False) as browser:
            page = browser.get(found[1])
            # below a path of its own, so that the cookie goes to no other port
            assert (page.status_code, re.fullmatch(r"/[\w-]{20,}/", page.url.path) is not None) == (200, True)
        with httpx2.Client(follow_redirects=True, timeout=SECONDS, trust_env=False) as other:
            assert other.get(found[1]).status_code != 200, "a link logs in once"


@costly
@pytest.mark.parametrize("command", ["serve", "up"])
def test_the_link_is_hidden_in_what_keeps_it_and_it_is_said_where_it_is_shown(
    tmp_path: Path, database: FleetDatabase, fleet_url: str, command: str
) -> None:
    with serving(tmp_path, fleet_url, terminal=False, command=command) as shown:
        assert "/login?token=(hidden)" in shown
        assert "shown on a terminal only: start the command in one" in shown


@costly
def test_what_fleet_up_says_of_its_database_is_pasted_elsewhere_and_has_no_password(tmp_path: Path) -> None:
    with serving(tmp_path, None, terminal=True, command="up") as shown:
        export = re.search(r"from any directory: (export .+?)[\r\n]", shown)
        assert export is not None, shown
        assert "(hidden)" not in shown
        assert "postgresql://" not in shown
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        command = f"{export[1]} && {shlex.quote(sys.executable)} -m reconciler fleet status"
        status = subprocess.run(["/bin/sh", "-c", command], cwd=elsewhere, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (status.returncode, status.stdout) == (0, "The fleet has no projects.\n"), status
