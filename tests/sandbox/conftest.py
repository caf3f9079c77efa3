"""A fresh sandbox for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.box import Box
from tests.sandbox.world import World


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = Box(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose file is closed, to be copied."""
    return World(tmp_path_factory.mktemp("template"))
