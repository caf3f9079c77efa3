"""What a run was allowed to open holds for that run, continued or not, and for no other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from reconciler.errors import StateError
from reconciler.model import Consent
from reconciler.state import StateScope, Store
from tests.state.examples import NOW, SERVICE

PUBLISHED = Consent("acme/site/docs", "published", "", "", "", "true")
ACTIVE = Consent("acme/site/docs/share-link/p", "active", "anyone", "read", "é \0", '"hmac-sha256:0"')
APPLY, KILLED = "apply", -1


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """On a clock that goes on, because runs are told apart by when they began."""
    ticks = count()
    scope = StateScope(f"project-{uuid4()}", None, SERVICE)
    with Store.open(url, scope, clock=lambda: NOW + timedelta(seconds=next(ticks)), create=True) as made:
        yield made


def run(store: Store, code: int, *consents: Consent, command: str = APPLY, agreed: bool = True) -> None:
    """One run. `agreed`: it came as far as to be allowed anything."""
    with store.lease(who="ada", command=command) as journal:
        if agreed:
            journal.consented(consents)
        if code != KILLED:
            journal.finish(exit_code=code, summary={})


@pytest.mark.parametrize("code", [KILLED, 5, 130, 143])
def test_what_an_unfinished_run_was_allowed_is_read_by_the_next(store: Store, code: int) -> None:
    run(store, code, PUBLISHED, ACTIVE)
    assert store.read().consents == {PUBLISHED, ACTIVE}
    with store.lease(who="ada", command=APPLY) as journal:
        assert journal.state().consents == {PUBLISHED, ACTIVE}
        journal.consented([ACTIVE])
        assert journal.state().consents == {PUBLISHED, ACTIVE}, "its own are for the one after it"
    assert store.read().consents == {ACTIVE}


def test_a_run_that_came_to_its_end_leaves_none(store: Store) -> None:
    run(store, KILLED, PUBLISHED)
    run(store, 0, PUBLISHED)
    assert store.read().consents == frozenset()
    run(store, KILLED)
    assert store.read().consents == frozenset()


@pytest.mark.parametrize("code", [1, 3, 4, 6, KILLED])
def test_a_run_that_was_refused_or_killed_before_anybody_agreed_changes_nothing(store: Store, code: int) -> None:
    run(store, KILLED, PUBLISHED)
    run(store, code, agreed=False)
    assert store.read().consents == {PUBLISHED}


def test_a_command_about_the_state_changes_nothing(store: Store) -> None:
    run(store, KILLED, PUBLISHED)
    run(store, 0, command="state mv", agreed=False)
    assert store.read().consents == {PUBLISHED}


@pytest.mark.parametrize("code", [KILLED, 1, 5])
def test_what_the_next_run_does_not_want_any_more_is_over(store: Store, code: int) -> None:
    run(store, KILLED, PUBLISHED)
    run(store, code)
    run(store, KILLED)
    assert store.read().consents == frozenset()


def test_a_run_that_opens_nothing_and_continues_nothing_writes_nothing(store: Store) -> None:
    before = store.read().serial
    run(store, 0)
    assert store.read().serial == before


def test_another_project_is_allowed_nothing(store: Store, url: str) -> None:
    run(store, KILLED, PUBLISHED)
    with Store.open(url, StateScope(f"project-{uuid4()}", None, SERVICE), clock=lambda: NOW, create=True) as other:
        assert other.read().consents == frozenset()


@pytest.mark.parametrize("text", ["[", "1", '[["acme"]]', '[["acme","a","","","",1]]'])
def test_a_broken_row_is_said_to_be_broken(tmp_path: Path, text: str) -> None:
    with Store.open(f"sqlite:///{tmp_path}/state.db", StateScope("p", None, SERVICE), clock=lambda: NOW, create=True) as made:
        run(made, KILLED, PUBLISHED)
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
            connection.execute("UPDATE consents SET value = ?", (text,))
            connection.commit()
        with pytest.raises(StateError, match="what a run was allowed to open"):
            made.read()
