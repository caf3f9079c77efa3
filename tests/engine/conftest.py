"""A fresh project, sandbox and state for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.small import applied, small
from tests.harness import Org


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path)


@pytest.fixture
def acme(org: Org) -> Org:
    """A sandbox to which the small organization was applied."""
    applied(org, small())
    return org
