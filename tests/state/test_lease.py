"""One run at a time, and a run that lost its lease writes no more."""

from __future__ import annotations

import re
import signal
import threading
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reconciler import signals
from reconciler.errors import Locked, StateError
from reconciler.state import LEASE_SECONDS, StateScope, Store
from reconciler.state.database import Database, connect
from reconciler.state.lease import Holder, Lease
from reconciler.state.reading import find
from reconciler.text.names import HERE, clock_time_of
from tests.state import crash
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, NOW, SERVICE, WHO, binding, intent
from tests.state.watched import watched


def expire(url: str) -> None:
    """Let every lease on that server, or in that bucket, be over."""
    with closing(connect(url, create=True)) as database, database.write() as connection:
        connection.run("UPDATE leases SET expires = 0 WHERE expires IS NOT NULL")


def test_a_second_process_is_locked_out_and_told_who_holds_it(store: Store, url: str, scope: StateScope) -> None:
    with crash.holding(url, scope) as holder, pytest.raises(Locked) as caught, store.lease(**WHO):
        pytest.fail("two leases at once")
    process = f" (process {holder.pid})" if url.startswith("sqlite") else ""
    since = clock_time_of("2026-11-18T10:30:00+00:00", HERE)
    other = "another run holds the state: grace@server"
    assert str(caught.value) == (f"{other} has been running `reconciler apply --env live`{process} since {since}")
    assert caught.value.exit_code == 6
    died = f"If that run died, its lease expires after {LEASE_SECONDS:g} s. `reconciler state unlock` takes it from one that hangs."
    freed = "The lock ends with its process, so there is nothing to unlock." if process else died
    assert caught.value.hint == f"Wait for it to end, then run again. {freed}"


def test_a_second_lease_in_the_same_process_is_locked_out(store: Store, open_store: OpenStore) -> None:
    with store.lease(**WHO) as journal:
        with pytest.raises(Locked), open_store().lease(**WHO):
            pytest.fail("two leases at once")
        journal.remember(bind=[binding()])
    with open_store().lease(**WHO) as journal:
        assert set(journal.state().bindings) == {GUIDES}


def test_a_signal_while_a_lease_is_taken_or_given_back_leaves_none_behind(url: str, scope: StateScope, open_store: OpenStore) -> None:
    taken, given_back = 2, 3  # transactions; the first makes the state, and SQLite's lease is given back by the kernel
    for signalled in (taken,) if url.startswith("sqlite") else (taken, given_back):
        done = 0

        def told(*_: Any, at: int = signalled) -> None:
            nonlocal done
            done += threading.current_thread() is threading.main_thread()
            if done == at:
                signal.raise_signal(signal.SIGTERM)

        with (
            pytest.raises(signals.Terminated),
            signals.ending() as ending,
            Store.open(url, scope, clock=CLOCK, create=True, uninterrupted=ending.uninterrupted) as store,
            watched(ended=told),
            store.lease(**WHO),
        ):
            assert signalled == given_back
        with open_store().lease(**WHO):
            pass


def test_reading_needs_no_lease(store: Store, open_store: OpenStore) -> None:
    with store.lease(**WHO):
        assert open_store().read().serial == open_store(create=False).read().serial == 0


def test_many_may_open_a_new_state_at_once(url: str, scope: StateScope) -> None:
    lineages: list[str] = []

    def open_it() -> None:
        with Store.open(url, scope, clock=CLOCK, create=True) as store:
            lineages.append(store.read().lineage)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(lineages), len(set(lineages))) == (8, 1)


def test_sigkill_frees_the_lease(store: Store, url: str, scope: StateScope) -> None:
    with crash.holding(url, scope) as holder:
        holder.kill()
        holder.wait()
        if not url.startswith("sqlite"):
            expire(url)
        with store.lease(**WHO) as journal:
            journal.remember(bind=[binding()])


def test_a_block_that_raises_frees_the_lease(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.lease(**WHO):
        raise ZeroDivisionError
    with store.lease(**WHO):
        pass


def test_a_run_that_was_taken_for_dead_writes_nothing_more(url: str, scope: StateScope, open_store: OpenStore, tmp_path: Path) -> None:
    with open_store().lease(**WHO) as late:
        late.intend([intent()])
        if not url.startswith("sqlite"):
            expire(url)
        else:
            (tmp_path / "state.db.lock").unlink()  # what a person does who does not trust the lock
        with open_store().lease(**WHO) as new:
            for write in (
                lambda: late.intend([intent()]),
                lambda: late.remember(bind=[binding()]),
                lambda: late.note(GUIDES, sent={"a": 1}, seen={}),
                lambda: late.finish(exit_code=0, summary={}),
            ):
                with pytest.raises(StateError, match="another run has taken over the lease"):
                    write()
            assert (len(new.state().intents), new.state().bindings) == (1, {})
        with pytest.raises(StateError, match="another run has taken over the lease"):
            late.intend([intent()])


def test_threads_share_one_lease_without_a_number_twice(store: Store) -> None:
    with store.lease(**WHO) as journal:
        threads = [threading.Thread(target=lambda: [journal.intend([intent()]) for _ in range(10)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [one.id for one in journal.state().intents] == list(range(1, 41))


def test_two_projects_on_a_server_do_not_wait_for_each_other(postgres_url: str, open_at: OpenStore) -> None:
    one, two = (open_at(postgres_url, StateScope(f"p-{uuid4()}", None, SERVICE)) for _ in range(2))
    with one.lease(**WHO) as first, two.lease(**WHO) as second:
        first.intend([intent()])
        second.intend([intent()])


@pytest.fixture
def server(postgres_url: str) -> Any:
    database = connect(postgres_url, create=True)
    yield database
    database.close()


def short_lease(server: Database, url: str, seconds: float) -> Lease:
    scope = StateScope(f"p-{uuid4()}", None, SERVICE)
    Store.open(url, scope, clock=CLOCK, create=True).close()
    state = server.read(lambda connection: find(connection, scope))
    return Lease(server, state.id, Holder(str(uuid4()), "ada", "apply", NOW.isoformat()), seconds=seconds)


def remaining(server: Database, lease: Lease) -> float:
    ask = "SELECT expires - clock_seconds() FROM leases WHERE state = :state"
    return float(server.read(lambda connection: connection.value(ask, state=lease.state)) or 0)


def test_a_lease_on_a_server_is_renewed_while_its_run_is_silent(server: Database, postgres_url: str) -> None:
    lease = short_lease(server, postgres_url, seconds=0.3)
    with lease.keep_alive(nullcontext):
        for _ in range(30):  # longer than the lease lasts, each round a round trip and a wait for the next renewal
            threading.Event().wait(0.02)
            assert remaining(server, lease) > 0
    assert server.read(lambda connection: connection.value("SELECT run FROM leases WHERE state = :state", state=lease.state)) is None


def test_a_transaction_of_the_journal_renews_the_lease(server: Database, postgres_url: str) -> None:
    lease = short_lease(server, postgres_url, seconds=60)
    expire(postgres_url)
    with server.write() as connection:
        lease.check(connection)  # nobody took it meanwhile
    assert remaining(server, lease) > 50


@pytest.mark.parametrize("content", ["", "[" * 100_000, '{"run": 1}', '{"who": null, "pid": "x"}', "[]", "\0"])
def test_a_lock_file_nobody_can_read_still_locks(open_at: OpenStore, tmp_path: Path, content: str) -> None:
    store = open_at(f"sqlite:///{tmp_path}/own.db")
    with store.lease(**WHO):
        (tmp_path / "own.db.lock").write_text(content)
        with pytest.raises(Locked, match=r"^another run holds the state$"), store.lease(**WHO):
            pytest.fail("two leases at once")


def test_the_lock_file_says_who_and_is_empty_afterwards(open_at: OpenStore, tmp_path: Path) -> None:
    lock = tmp_path / "own.db.lock"
    with open_at(f"sqlite:///{tmp_path}/own.db").lease(who="ada", command="apply", run_id="run-1"):
        assert re.fullmatch(r'\{"run": "run-1", "who": "ada", "command": "apply", "since": "[^"]+", "pid": \d+\}', lock.read_text())
        assert lock.stat().st_mode & 0o777 == 0o600
    assert lock.read_bytes() == b""


def test_a_lock_file_that_is_a_link_is_not_followed(open_at: OpenStore, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("keep")
    (tmp_path / "own.db.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(StateError, match=r"the lock file .* cannot be opened"), open_at(f"sqlite:///{tmp_path}/own.db").lease(**WHO):
        pytest.fail("followed a link")
    assert (tmp_path / "precious").read_text() == "keep"


def test_two_ways_to_one_file_are_one_lock(open_at: OpenStore, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").symlink_to(tmp_path / "here")
    one, two = (open_at(f"sqlite:///{tmp_path}/{name}/own.db") for name in ("here", "there"))
    with one.lease(**WHO), pytest.raises(Locked), two.lease(**WHO):
        pytest.fail("two leases at once")


def test_a_lease_requires_a_writable_store(open_store: OpenStore) -> None:
    with pytest.raises(StateError, match="opened for reading only"), open_store(create=False).lease(**WHO):
        pytest.fail("wrote")
