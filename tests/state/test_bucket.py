"""A state in a bucket: a chain of numbered objects, whoever loses a number has lost the lease, and nothing of a bucket is executed."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import Locked, StateError
from reconciler.state import LEASE_SECONDS, IntentEnding, StateScope, Store
from reconciler.state.bucket.database import COMPACTED, Bucket
from reconciler.state.bucket.objects import Folder, Objects, Unreachable
from reconciler.state.journal import Journal
from reconciler.state.tables.schema import TABLES
from tests.state.examples import CLOCK, GUIDES, SERVICE, START, WHO, binding, intent

FIRST, OTHER = StateScope("handbook", None, SERVICE), StateScope("manual", None, SERVICE)


class Odd:
    """Objects whose next writes go wrong, and whose clock is another's. `calls`: what was asked for."""

    def __init__(self, folder: Path, *, ahead: float = 0.0) -> None:
        self.inner = Folder(folder)
        self.ahead = ahead
        self.calls: list[tuple[str, str]] = []
        self.ways: list[str] = []
        self.late: Callable[[], Any] | None = None

    def get(self, name: str) -> bytes | None:
        self.calls.append(("get", name))
        if self.ways and self.ways[0] == "gone":
            raise Unreachable("no route to host")
        return self.inner.get(name)

    def create(self, name: str, content: bytes) -> bool:
        self.calls.append(("create", name))
        way = self.ways.pop(0) if self.ways and self.ways[0] != "gone" else "gone" if self.ways else ""
        if way == "late":
            self.late = lambda: self.inner.create(name, content)
        if way in ("refused", "late", "gone"):
            raise Unreachable("503")
        created = self.inner.create(name, content)
        if way == "lost":
            raise Unreachable("the connection was reset")
        return created

    def put(self, name: str, content: bytes) -> None:
        self.calls.append(("put", name))
        if self.ways and self.ways[0] == "gone":
            raise Unreachable("no route to host")
        self.inner.put(name, content)

    def modified(self, name: str) -> float:
        self.calls.append(("modified", name))
        return self.inner.modified(name) + self.ahead

    def check(self) -> None:
        self.calls.append(("check", ""))


def store(objects: Objects, scope: StateScope = FIRST, *, create: bool = True) -> Store:
    made = Store(Bucket(objects, "the state s3://b/p", create=create, pause=lambda _: None), scope, clock=CLOCK, create=create)
    if create:
        made._make_state()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bucket"


def numbers(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in (folder / "journal").iterdir())


def document(folder: Path, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((folder / "journal" / str(number)).read_bytes()))
    return found


def rows(database: Bucket) -> dict[str, list[Any]]:
    """All that a database contains."""

    def work(connection: Any) -> dict[str, list[Any]]:
        return {table: sorted(map(tuple, connection.rows(f"SELECT * FROM {table}")), key=repr) for table in TABLES}

    return database.read(work) or {}


def busy(journal: Journal) -> None:
    """Something of everything that a journal writes: rows are added, changed, and removed with what refers to them."""
    first, second = journal.intend([intent(), intent()])
    journal.settle([IntentEnding(first.id, "done", bind=(binding(), binding(START)), after={GUIDES: {"title": "é\U0001f600"}})])
    journal.settle([IntentEnding(second.id, "in-doubt", "no answer")])
    journal.note(GUIDES, sent={"a": 1.5, "b": None}, seen={"a": [1, {"c": "\0"}]})
    journal.remember(rename={GUIDES: START, START: GUIDES})
    journal.remember(forget=[START])
    journal.settle([IntentEnding(second.id, "failed", "refused")])


def test_what_is_read_from_the_chain_is_what_its_writer_had(folder: Path) -> None:
    objects = Folder(folder)
    with store(objects) as mine, mine.lease(**WHO) as journal:
        first = (folder / "snapshot.db.gz").read_bytes()
        busy(journal)
        written = rows(mine._database)  # type: ignore[arg-type]
        with store(objects, create=False) as reader:
            assert rows(reader._database) == written  # type: ignore[arg-type]
    with store(objects, create=False) as reader:
        compacted = rows(reader._database)  # type: ignore[arg-type]
    objects.put("snapshot.db.gz", first)  # and now from the beginning
    with store(objects, create=False) as reader:
        assert rows(reader._database) == compacted  # type: ignore[arg-type]


def test_what_is_ready_together_is_one_object_and_a_snapshot_is_a_state_of_its_own(folder: Path, tmp_path: Path) -> None:
    with store(Folder(folder)) as mine, mine.lease(**WHO) as journal:
        before = numbers(folder)
        intents = journal.intend([intent() for _ in range(500)])
        journal.commit([intent()], [IntentEnding(one.id, "not-sent") for one in intents])
        assert len(numbers(folder)) == len(before) + 2
        journal.remember(bind=[binding()])
    copy = tmp_path / "copy.db"
    copy.write_bytes(gzip.decompress((folder / "snapshot.db.gz").read_bytes()))
    with Store.open(f"sqlite:///{copy}", FIRST, clock=CLOCK, create=False) as restored:
        assert set(restored.read().bindings) == {GUIDES}


@pytest.mark.parametrize("way", ["refused", "lost", "late"])
def test_a_write_whose_answer_is_lost_has_its_effect_once(folder: Path, way: str) -> None:
    objects = Odd(folder)
    with store(objects) as mine, mine.lease(**WHO) as journal:
        before = numbers(folder)
        objects.ways = [way]
        (sent,) = journal.intend([intent()])
        if objects.late is not None:
            assert objects.late() is False  # what is sent again has the number; what comes late finds it taken
        journal.settle([IntentEnding(sent.id, "done")])
        assert numbers(folder) == [*before, before[-1] + 1, before[-1] + 2]
        assert journal.state().intents == ()


def test_an_unreachable_bucket_is_an_error_and_a_write_that_may_still_arrive_is_in_doubt(folder: Path) -> None:
    objects = Odd(folder)
    with store(objects) as mine, mine.lease(**WHO) as journal:
        objects.ways = ["gone"]
        clock = iter(range(0, 10_000, 5))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("reconciler.state.bucket.chain.time.monotonic", lambda: float(next(clock)))
            with pytest.raises(StateError, match=r"the state s3://b/p could not be written: 503") as caught:
                journal.intend([intent()])
        assert "nothing is sent that is not in the journal first" in str(caught.value.hint)
        objects.ways = ["late"]
        assert journal.state().intents == ()
    with store(objects) as mine, mine.lease(**WHO) as journal:
        objects.ways = ["late", "gone"]
        clock = iter(range(0, 10_000, 5))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("reconciler.state.bucket.chain.time.monotonic", lambda: float(next(clock)))
            with pytest.raises(StateError):
                journal.intend([intent()])
        objects.ways = []
        assert objects.late is not None
        assert objects.late()
        journal.finish(exit_code=1, summary={})  # follows the object that arrived
        assert len(journal.state().intents) == 1


def test_projects_that_run_at_the_same_time_share_the_chain(folder: Path) -> None:
    one, two = store(Folder(folder)), store(Folder(folder), OTHER)
    with one, two, one.lease(**WHO) as first, two.lease(**WHO) as second:
        for _ in range(3):
            (mine,), (theirs,) = first.intend([intent()]), second.intend([intent()])
            first.settle([IntentEnding(mine.id, "done")])
            second.settle([IntentEnding(theirs.id, "done")])
        second.remember(bind=[binding()])
        assert first.state().foreign == {(binding().kind, binding().id)}
    with store(Folder(folder), create=False) as reader:
        assert [run.did for run in reader.runs()] == [{"create": 3}]


def test_a_holder_that_stood_still_loses_the_number_and_writes_nothing_more(folder: Path) -> None:
    with store(Folder(folder)) as mine, mine.lease(**WHO) as late:
        late.intend([intent()])
        with store(Odd(folder, ahead=LEASE_SECONDS + 2)) as other, other.lease(**WHO) as new:
            length = len(numbers(folder))
            for write in (lambda: late.intend([intent()]), lambda: late.finish(exit_code=0, summary={})):
                with pytest.raises(StateError, match="another run has taken over the lease"):
                    write()
            assert len(numbers(folder)) == length
            assert len(new.state().intents) == 1


def test_a_lease_expires_by_the_clock_of_the_bucket(folder: Path) -> None:
    early = lambda: datetime(1999, 1, 1, tzinfo=UTC)  # noqa: E731 of this machine
    with store(Folder(folder)) as mine, mine.lease(**WHO):
        for ahead in (0.0, LEASE_SECONDS - 5):
            database = Bucket(Odd(folder, ahead=ahead), "the state", create=True)
            with Store(database, FIRST, clock=early, create=True) as other, pytest.raises(Locked), other.lease(**WHO):
                pytest.fail("two leases at once")
        with store(Odd(folder, ahead=LEASE_SECONDS + 2)) as other, other.lease(**WHO):
            pass


def test_a_reader_writes_nothing_and_needs_no_list(folder: Path) -> None:
    with store(Folder(folder)) as mine, mine.lease(**WHO) as journal:
        busy(journal)
        objects = Odd(folder)
        with store(objects, create=False) as reader:
            reader.read(), reader.runs(), reader.condition(), reader.pull()
        assert {call for call, _ in objects.calls} == {"get"}


def test_a_bucket_that_has_no_state_reads_as_empty_and_stays_so(folder: Path) -> None:
    objects = Odd(folder)
    with store(objects, create=False) as reader:
        assert (reader.read().lineage, reader.seen(), reader.pull(), reader.condition().current) == ("", False, None, None)
    assert not folder.exists()
    assert ("check", "") in objects.calls


def test_requests_of_a_run_are_few_and_those_of_a_reader_do_not_grow_with_its_history(folder: Path) -> None:
    for _ in range(3):
        objects = Odd(folder)
        with store(objects) as mine, mine.lease(**WHO) as journal:
            for number in range(10):
                (sent,) = journal.intend([intent()])
                journal.settle(
                    [IntentEnding(sent.id, "done", bind=(binding(),) if not number else ())]
                    if not number
                    else [IntentEnding(sent.id, "done")]
                )
            journal.remember(forget=[GUIDES])
        made = Counter(call for call, _ in objects.calls)
        assert made["put"] == 2  # the clock and the snapshot
        assert made["create"] <= 25
        assert made["get"] <= 5
    objects = Odd(folder)
    with store(objects, create=False) as reader:
        reader.read()
    assert len(objects.calls) == 3  # the snapshot, and twice that there is nothing after it


def test_a_long_run_writes_a_snapshot_now_and_then(folder: Path) -> None:
    with store(Folder(folder)) as mine, mine.lease(**WHO) as journal:
        for _ in range(COMPACTED):
            journal.settle([IntentEnding(*(one.id for one in journal.intend([intent()])), "done")])
        objects = Odd(folder)
        with store(objects, create=False) as reader:
            reader.read()
        assert len(objects.calls) < COMPACTED + 20


# -- what others wrote ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def used(folder: Path) -> Path:
    with store(Folder(folder)) as mine, mine.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    return folder


def add(folder: Path, **changed: Any) -> None:
    """One more object, as somebody else might write it."""
    number = numbers(folder)[-1] + 1
    content = {**document(folder, number - 1), **changed}
    Folder(folder).create(f"journal/{number}", gzip.compress(json.dumps(content).encode()))


STATE = ["id", "project", "environment", "service", "lineage", "serial", "writer", "digest_key"]


@pytest.mark.parametrize(
    "changed",
    [
        {"changes": [["sqlite_schema", None, ["x"]]], "columns": {"sqlite_schema": ["sql"]}},
        {"changes": [["states", None, [1]]], "columns": {"states": ['id") VALUES (1); DROP TABLE states; --']}},
        {"changes": [["states", [1], None]], "columns": {"states": ["id"]}, "format": "other/1"},
        {"changes": [["states", [7], None]], "columns": {"states": ["id"]}},
        {"changes": [["states", None, [1, 2]]], "columns": {"states": ["id"]}},
        {"changes": [["states"]]},
        {"changes": 3},
        {"columns": []},
    ],
    ids=str,
)
def test_an_object_that_is_not_one_of_the_chain_is_damage(used: Path, changed: Any) -> None:
    add(used, **changed)
    with pytest.raises(StateError, match=r"the state s3://b/p is damaged: journal/\d+ (cannot be read|does not follow)") as caught:
        store(Folder(used), create=False)
    assert "Restore it from a backup" in str(caught.value.hint)


def test_a_snapshot_that_would_run_something_is_damage(used: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as hostile:
        hostile.deserialize(gzip.decompress((used / "snapshot.db.gz").read_bytes()))
        hostile.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM bindings; END")
        (used / "snapshot.db.gz").write_bytes(gzip.compress(hostile.serialize()))
    with pytest.raises(StateError, match="is damaged"):
        store(Folder(used), create=False)


@pytest.mark.parametrize(
    "content", [b"", b"x", gzip.compress(b"no database", mtime=0)[:-1], gzip.compress(b"no database", mtime=0), gzip.compress(b"", mtime=0)]
)
def test_a_snapshot_that_is_none_is_damage_and_never_a_traceback(used: Path, content: bytes) -> None:
    (used / "snapshot.db.gz").write_bytes(content)
    with pytest.raises(StateError, match=r"is damaged|is not an SQLite database"):
        store(Folder(used), create=False)


def test_a_newer_version_wrote_the_last_object(used: Path) -> None:
    add(used, version=99)
    with pytest.raises(StateError, match="was written by a newer version: its schema is 99"):
        store(Folder(used), create=False)


def test_tables_of_an_older_version_are_read_and_brought_to_todays_by_the_next_run(used: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as older:
        older.deserialize(gzip.decompress((used / "snapshot.db.gz").read_bytes()))
        older.executescript(
            "DROP TABLE urls; DROP TABLE url_sites; DROP TABLE page_trees; DROP TABLE renames; DROP TABLE consents;"
            "UPDATE reconciler_schema SET version = 6"
        )
        (used / "snapshot.db.gz").write_bytes(gzip.compress(older.serialize()))
    with store(Folder(used), create=False) as reader:
        assert reader.condition().current is False
        assert set(reader.read().bindings) == {GUIDES}
    with store(Folder(used)) as mine, mine.lease(**WHO) as journal:
        journal.remember(fulfilled={GUIDES: START})
    with store(Folder(used), create=False) as reader:
        assert reader.condition().current is True
        assert reader.read().fulfilled == {GUIDES: START}


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3://b ucket/x", "s3://bucket/p?x=1", "s3://key:secret@bucket/p", "s3://bucket/../x", "file://relative", "file:///a?b"],
)
def test_a_url_that_names_no_bucket_is_refused_without_repeating_what_may_be_secret(url: str) -> None:
    with pytest.raises(StateError, match=r"not a valid URL of a bucket|names no folder") as caught:
        Store.open(url, FIRST, clock=CLOCK, create=False)
    assert "secret" not in str(caught.value)
    assert "Write " in str(caught.value.hint)
