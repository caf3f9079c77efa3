"""A real browser for the tests of pages; a test skips where there is none, unless it is required."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

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
