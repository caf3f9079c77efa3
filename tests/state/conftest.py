"""Databases of both sorts, and stores in them; every test has scopes of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from reconciler.state import StateScope, Store
from tests.state.examples import CLOCK, SERVICE

OpenStore = Callable[..., Store]

ON_A_PUSH = {
    # files whose tests run there on a push too; the others do as a proof
    "bucket": ("test_journal.py", "test_ledger.py", "test_lease.py"),
    "postgres": ("test_journal.py", "test_ledger.py", "test_lease.py", "test_carry.py", "test_races.py", "test_round_trip.py"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if item.path.name not in ON_A_PUSH.get(str(given.get("url")), (item.path.name,)):
            item.add_marker("proof")


@pytest.fixture(params=["sqlite", "postgres", "bucket"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    if request.param == "bucket":
        return f"file://{tmp_path}/bucket"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def scope() -> StateScope:
    return StateScope(f"project-{uuid4()}", None, SERVICE)


@pytest.fixture
def open_at(scope: StateScope) -> Iterator[OpenStore]:
    """Open stores at a URL that close with the test; by default this test's scope, to write."""
    with ExitStack() as opened:

        def make(url: str, at: StateScope = scope, *, create: bool = True) -> Store:
            return opened.enter_context(Store.open(url, at, clock=CLOCK, create=create))

        yield make


@pytest.fixture
def open_store(open_at: OpenStore, url: str) -> OpenStore:
    """The same at the URL of each sort of database in turn."""
    return partial(open_at, url)


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()
