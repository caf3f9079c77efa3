"""A real browser for the tests of pages; a test skips where there is none, unless it is required."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REQUIRE = "RECONCILER_TEST_REQUIRE"
QUIET = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip


def program() -> str:
    """The browser's program."""
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if found is None:
        reason = "no Chromium on this machine: install Debian's `chromium`"
        if "browser" in os.environ.get(REQUIRE, ""):
            pytest.fail(f"{REQUIRE} asks for a browser, but there is {reason}")
        pytest.skip(reason)
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of Playwright's on this machine's Chromium."""
    from playwright.sync_api import sync_playwright

    path = program()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield started
        started.close()


def free_port() -> int:
    """A port of 127.0.0.1 that no program uses now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def run(address: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a browser of its own, and close it."""
    with tempfile.TemporaryDirectory() as profile:
        words = [program(), *QUIET, f"--user-data-dir={profile}", *options, address]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)


def document(address: str, *, milliseconds: int = 1_000) -> str:
    """The document as it stands after a while of the page's own (virtual) time."""
    return run(address, "--dump-dom", f"--virtual-time-budget={milliseconds}").stdout


def picture(address: str, file: Path, *, width: int = 1300, height: int = 1600) -> Path:
    """A picture of the page."""
    run(address, f"--screenshot={file}", f"--window-size={width},{height}")
    return file


async def visit(address: str, script: str) -> tuple[Any, set[str]]:
    """Open a page, wait for what a script (a promise) returns, and say which addresses were asked meanwhile."""
    with tempfile.TemporaryDirectory() as profile:
        words = [program(), *QUIET, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as started:
            try:
                assert started.stderr is not None
                port = next(found[1] for line in started.stderr if (found := re.search(r"ws://127\.0\.0\.1:(\d+)/", line)))
                async with aiohttp.ClientSession() as session, asyncio.timeout(60):
                    return await _visited(session, f"http://127.0.0.1:{port}/json", address, script)
            finally:
                started.terminate()


async def _visited(session: aiohttp.ClientSession, tabs: str, address: str, script: str) -> tuple[Any, set[str]]:
    async with session.get(tabs) as answer:
        tab = next(tab for tab in await answer.json() if tab["type"] == "page")
    asked: set[str] = set()
    async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:

        async def call(number: int, method: str, **words: Any) -> Any:
            await socket.send_json({"id": number, "method": method, "params": words})
            return await until(lambda message: message.get("id") == number)

        async def until(wanted: Callable[[Any], bool]) -> Any:
            while True:
                message = await socket.receive_json()
                if message.get("method") == "Network.requestWillBeSent":
                    asked.add(message["params"]["request"]["url"])
                if wanted(message):
                    return message

        await call(1, "Network.enable")
        await call(2, "Page.enable")
        await call(3, "Page.navigate", url=address)
        await until(lambda message: message.get("method") == "Page.loadEventFired")
        answered = await call(4, "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return answered["result"]["result"]["value"], asked
