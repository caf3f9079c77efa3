"""What SQLite's files are, who may read them, and that a plan makes none."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from reconciler.model import State
from reconciler.state import StateScope, Store
from tests.state import crash
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, SERVICE, WHO, binding

SCOPE = StateScope("p", None, SERVICE)


@pytest.fixture
def open_here(open_at: OpenStore, tmp_path: Path) -> Any:
    return lambda *, create, path="state.db": open_at(f"sqlite:///{tmp_path / path}", SCOPE, create=create)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_its_owners_alone_from_the_first_moment(open_here: Any, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = open_here(create=True, path="a/b/state.db")
        with store.lease(**WHO) as journal:
            journal.remember(bind=[binding()])
            names = {"state.db", "state.db-wal", "state.db-shm", "state.db.lock"}
            assert {path.name: mode(path) for path in (tmp_path / "a/b").iterdir()} == dict.fromkeys(names, 0o600)
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "a/b") == 0o700


def test_existing_directories_keep_their_permissions(open_here: Any, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    open_here(create=True, path="shared/state.db")
    assert mode(tmp_path / "shared") == 0o755


def test_reading_an_absent_state_creates_nothing(open_here: Any, tmp_path: Path) -> None:
    store = open_here(create=False, path="a/state.db")
    assert store.read() == State("", 0)
    assert store.digest_key() == store.digest_key()
    assert list(tmp_path.iterdir()) == []


def test_reading_writes_no_byte_and_no_file(open_here: Any, tmp_path: Path) -> None:
    with open_here(create=True) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    before = contents(tmp_path)
    reader = open_here(create=False)
    assert set(reader.read().bindings) == {GUIDES}
    reader.digest_key()
    reader.close()
    assert contents(tmp_path) == before
    assert set(before) == {"state.db", "state.db.lock"}


def test_reading_after_a_crash_leaves_the_log_to_the_next_run(open_here: Any, tmp_path: Path) -> None:
    crash.run(
        "with store.lease(**WHO) as journal:\n    journal.remember(bind=[binding()])\n    os._exit(9)",
        f"sqlite:///{tmp_path}/state.db",
        SCOPE,
    )
    kept = ("state.db", "state.db-wal")  # the third file holds SQLite's locks and no data
    before = contents(tmp_path)
    assert set(open_here(create=False).read().bindings) == {GUIDES}
    after = contents(tmp_path)
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert set(after) == set(before)


def test_an_empty_file_is_an_empty_state(open_here: Any, tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert open_here(create=False).read() == State("", 0)
    assert (tmp_path / "state.db").stat().st_size == 0
    with open_here(create=True).lease(**WHO) as journal:
        journal.remember(bind=[binding()])


def test_names_with_signs_of_urls_are_files(open_here: Any, tmp_path: Path) -> None:
    open_here(create=True, path="a b#c%41.db")
    assert "a b#c%41.db" in {path.name for path in tmp_path.iterdir()}
    assert open_here(create=False, path="a b#c%41.db").read().serial == 0


def test_a_relative_path_is_relative_to_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open("sqlite:///deep/state.db", SCOPE, clock=CLOCK, create=True).close()
    assert (tmp_path / "deep/state.db").exists()


def test_readings_during_writes_see_whole_transactions(tmp_path: Path) -> None:
    """The writer opens and closes the database for each transaction, so that readings meet every moment of its life."""
    url, wrong, last = f"sqlite:///{tmp_path}/state.db", [], 20

    def write() -> None:
        for number in range(last + 1):
            with Store.open(url, SCOPE, clock=CLOCK, create=True) as store, store.lease(**WHO) as journal:
                journal.remember(bind=[binding(sent={str(name): number for name in range(50)}, seen={"at": number})])

    writer = threading.Thread(target=write)
    writer.start()
    newest = 0
    while writer.is_alive() or newest < last:
        with Store.open(url, SCOPE, clock=CLOCK, create=False) as store:
            found = store.read()
        values = {value for one in found.bindings.values() for value in (*one.sent.values(), *one.seen.values())}
        if len(values) > 1 or min(values, default=0) < newest:
            wrong.append(values)
        newest = max(values, default=newest)
    writer.join()
    assert wrong == []
