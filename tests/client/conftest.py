"""These tests speak to a fake service: what they send is theirs, not the tool's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.request_bodies import foreign


@pytest.fixture(autouse=True)
def _bodies_of_a_fake() -> Iterator[None]:
    with foreign():
        yield
