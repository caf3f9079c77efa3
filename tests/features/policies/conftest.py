"""The command line in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
