"""What a method returned for survives; what it raised for never was."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.errors import StateError
from reconciler.state import StateScope
from reconciler.state.sqlite import SqliteFile
from tests.state import crash
from tests.state.conftest import OpenStore
from tests.state.examples import GUIDES, WHO, binding, intent


def test_an_intent_is_open_after_the_process_died_before_its_outcome(url: str, scope: StateScope, open_store: OpenStore) -> None:
    died = crash.run(
        """
with store.lease(**WHO) as journal:
    one, two = journal.intend([intent(), intent(START)])
    journal.settle([IntentEnding(two.id, "done", bind=(binding(START),))])
    os._exit(9)
""",
        url,
        scope,
    )
    assert (died.returncode, died.stderr) == (9, "")
    for create in (False, True):
        found = open_store(create=create).read()
        assert [(one.id, one.address) for one in found.intents] == [(1, GUIDES)]
        assert [str(address) for address in found.bindings] == ["acme/space/start"]
        assert found.serial == 1


def test_a_transaction_cut_by_death_never_was(url: str, scope: StateScope, open_store: OpenStore) -> None:
    died = crash.run(
        """
from tests.state.watched import watched
with store.lease(**WHO) as journal:
    journal.intend([intent()])
    with watched(commit=lambda connection: os._exit(9)):
        journal.settle([IntentEnding(1, "done", bind=(binding(),))])
""",
        url,
        scope,
    )
    assert (died.returncode, died.stderr) == (9, "")
    found = open_store(create=False).read()
    assert (len(found.intents), found.bindings) == (1, {})


def test_a_failing_commit_is_an_error_before_anything_is_sent_and_leaves_nothing(
    url: str, scope: StateScope, open_store: OpenStore
) -> None:
    died = crash.run(
        """
from tests.state.watched import watched
def fail(connection):
    raise OSError(5, "Input/output error")
with store.lease(**WHO) as journal:
    with watched(commit=fail):
        try:
            journal.intend([intent()])
        except Exception as error:
            print(type(error).__name__, error.hint)
    try:
        journal.intend([intent()])
    except Exception as error:
        print("again", type(error).__name__)
with store.lease(**WHO) as journal:
    print(journal.intend([intent()])[0].id, store.read().serial)
""",
        url,
        scope,
    )
    assert died.stdout.splitlines() == [
        "StateError Check the path and its permissions, or name another state with --state.",
        "again StateError",
        "1 1",
    ]
    assert len(open_store(create=False).read().intents) == 1


def test_a_full_disk_is_said_and_what_was_there_stays(tmp_path: Path, open_at: OpenStore) -> None:
    store = open_at(f"sqlite:///{tmp_path}/own.db")
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
        database = store._database
        assert isinstance(database, SqliteFile)
        with database._pool.connection() as connection:  # the one that the journal gets next
            connection.raw.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StateError) as caught:
            journal.intend([intent(writes={"text": "x" * 1_000_000})])
        assert str(caught.value) == f"the state {tmp_path}/own.db cannot grow: the disk is full"
        assert caught.value.hint == "Free some space and run again: nothing is sent that is not in the journal first."
        found = journal.state()
        assert (set(found.bindings), found.intents) == ({GUIDES}, ())


def test_a_write_the_system_refuses_is_said(tmp_path: Path, scope: StateScope, open_at: OpenStore) -> None:
    url = f"sqlite:///{tmp_path}/own.db"
    refused = crash.run(
        """
import resource
with store.lease(**WHO) as journal:
    journal.intend([intent()])
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    try:
        journal.intend([intent(writes={"text": "x" * 1_000_000})])
    except Exception as error:
        print(type(error).__name__, error)
    print(len(journal.state().intents))
""",
        url,
        scope,
    )
    assert refused.stdout.splitlines() == [
        f"StateError the state {tmp_path}/own.db could not be read or written: the disk reports an error",
        "1",
    ]
    assert len(open_at(url, create=False).read().intents) == 1
