"""The prepared organization."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.world import build


@pytest.fixture(scope="session")
def living(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, applied once; every row works on a copy."""
    return build(tmp_path_factory.mktemp("mistakes"))
