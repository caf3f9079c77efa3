"""A database of a fleet on the tests' own server: each test has one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from reconciler.fleet.store import FleetDatabase


@pytest.fixture
def fleet_url(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database."""
    import psycopg

    name = f"fleet_{uuid4().hex[:12]}"
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        yield f"{postgres_url.rpartition('/')[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


@pytest.fixture
def database(fleet_url: str) -> Iterator[FleetDatabase]:
    """A database with the tables of a fleet."""
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    from reconciler.fleet.store import connected
    from reconciler.fleet.worker import ready

    with connected(fleet_url) as opened:
        ready(opened)
        yield opened
