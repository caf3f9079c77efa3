"""A fresh project, sandbox and state for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Org


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path)
