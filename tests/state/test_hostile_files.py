"""A file that somebody else wrote, such as one in a checkout: nothing in it runs, and reading it ends."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.command_line import Cli, applied_project
from tests.proofs import costly

ENDLESS: Final = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
TABLES: Final = ("reconciler_schema", "states", "bindings", "fields", "runs", "leases", "journal", "page_trees")
STATE: Final = "p/.reconciler/state.db"
SANDBOX: Final = "p/.reconciler/sandbox.db"
COMMANDS: Final = (("plan", "p"), ("history", "p"), ("state", "list", "p"), ("apply", "p", "--yes"))


def as_view(name: str) -> str:
    """A table that is a view whose first row takes forever."""
    return f"DROP TABLE {name}; CREATE VIEW {name} AS {ENDLESS} SELECT 1 AS version, 1 AS id, i AS state FROM n WHERE i < 0"


ATTACKS: Final[dict[str, str]] = {
    **{f"{name} is a view": as_view(name) for name in TABLES},
    "a view beside the tables": f"CREATE VIEW more AS {ENDLESS} SELECT i FROM n",
    "a trigger": f"CREATE TRIGGER t AFTER UPDATE ON states BEGIN INSERT INTO renames {ENDLESS} SELECT i, i, i FROM n; END",
    "a trigger of a lease": f"CREATE TRIGGER t AFTER UPDATE ON leases BEGIN DELETE FROM runs WHERE id IN ({ENDLESS} SELECT i FROM n); END",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(x)",
    "a virtual table in the place of one": "DROP TABLE rules; CREATE VIRTUAL TABLE rules USING fts5(state, value)",
    "a table of another program": "CREATE TABLE more (x)",
    "a check that never ends": "DROP TABLE rules; CREATE TABLE rules (state INTEGER, value TEXT, CHECK (value NOT LIKE '%a%a%a%a%'))",
    "a generated column": "DROP TABLE rules; CREATE TABLE rules (state INTEGER, value TEXT AS (hex(zeroblob(1000000))))",
    "an index with an expression": "CREATE INDEX i ON bindings (hex(zeroblob(length(id))))",
    "an index of part of a table": "CREATE INDEX i ON bindings (id) WHERE id LIKE '%a%b%c%'",
    "a column more": "ALTER TABLE rules ADD COLUMN more TEXT",
}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return applied_project(Cli(tmp_path))


def poison(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)


@costly
@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_not_a_table_of_ours_is_refused_before_anything_is_read(cli: Cli, name: str) -> None:
    poison(cli.root / STATE, ATTACKS[name])
    for words in COMMANDS:
        ended = cli(*words, code=1)
        assert "[RC-not-a-state]" in ended.stderr, words
        assert "--state" in ended.stderr


@costly
@pytest.mark.parametrize(
    "change",
    [
        "states SET environment = x'ff', project = x'ff'", "states SET digest_key = 9223372036854775807", "states SET serial = 'x'",
        "bindings SET address = x'00'", "bindings SET place_index = 'x'", "fields SET seen = x'ff'", "runs SET started = x'ff'",
        "runs SET exit_code = 'x'", "leases SET epoch = 'x'", "journal SET step = x'00'", "outcomes SET status = x'ff'",
        "rules SET value = x'ff'",
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_damage_and_no_defect(cli: Cli, change: str) -> None:
    poison(cli.root / STATE, f"PRAGMA foreign_keys=OFF; UPDATE OR IGNORE {change}")
    said = [cli(*words).stderr for words in (*COMMANDS, ("show", "last", "p"))]
    assert any("[RC-state-damaged]" in text for text in said), said
    assert not any("RC-defect" in text for text in said), said


@costly
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM leases", "UPDATE states SET id = -1", "DELETE FROM runs", "UPDATE bindings SET state = -1", "DELETE FROM journal",
        "UPDATE runs SET started = 'x'", "UPDATE runs SET started = '2026-01-01'", "UPDATE journal SET at = 'x'; UPDATE turns SET at = 'x'",
    ],
)  # fmt: skip
def test_a_row_that_is_missing_or_out_of_time_is_damage_at_most(cli: Cli, change: str) -> None:
    poison(cli.root / STATE, f"PRAGMA foreign_keys=OFF; {change}")
    for words in (("state", "forget", "acme/space/api", "p"), ("history", "p"), ("undo", "last", "p", "--yes"), ("state", "pull", "p")):
        assert "RC-defect" not in cli(*words).stderr, words


SANDBOX_ATTACKS: Final[dict[str, str]] = {
    "meta is a view": f"DROP TABLE meta; CREATE VIEW meta AS {ENDLESS} SELECT 'identity' AS key, i AS value FROM n WHERE i < 0",
    "objects is a view": f"DROP TABLE objects; CREATE VIEW objects AS {ENDLESS} SELECT i AS id FROM n",
    "a trigger": f"CREATE TRIGGER t AFTER INSERT ON requests BEGIN INSERT INTO meta {ENDLESS} SELECT i, i FROM n; END",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(x)",
    "an index with an expression": "CREATE INDEX i ON objects (hex(zeroblob(length(data))))",
}


@pytest.mark.parametrize("name", SANDBOX_ATTACKS)
def test_a_sandbox_is_nothing_but_its_tables(cli: Cli, name: str) -> None:
    poison(cli.root / SANDBOX, SANDBOX_ATTACKS[name])
    for words in (("plan", "p"), ("history", "p"), ("sandbox", "export", "--db", SANDBOX), ("api", "GET", "/orgs", "--sandbox", SANDBOX)):
        assert "[RC-not-a-sandbox-file]" in cli(*words, code=3).stderr, words


@pytest.mark.parametrize(
    "change",
    [
        "objects SET data = x'ff'", "objects SET data = 7", "objects SET data = '[1]'", "objects SET data = '{'",
        "objects SET data = replace(hex(zeroblob(3000)), '00', '[')", "objects SET position = x'00'", "objects SET position = 9e999",
        "objects SET container = x'ff'", "meta SET value = x'ff'", "requests SET status = 'x'",
        "meta SET value = 'never', key = 'clock' WHERE key = 'seeded'", "meta SET value = '9e999', key = 'offset' WHERE key = 'seeded'",
    ],
)  # fmt: skip
def test_a_value_that_no_sandbox_contains_is_refused_before_anything_is_asked(cli: Cli, change: str) -> None:
    indexes = "DROP INDEX in_site; DROP INDEX paths; DROP INDEX basenames; DROP INDEX deleted"  # which are of what the text says
    poison(cli.root / SANDBOX, f"{indexes}; UPDATE OR IGNORE {change}")
    for words in (("plan", "p"), ("rehearse", "p"), ("sandbox", "export", "--db", SANDBOX)):
        assert "[RC-not-a-sandbox-file]" in cli(*words, code=3).stderr, words


def in_circles(file: Path, index: str) -> None:
    """Make the pages of an index lead to one another so that its rows never end: each of 19 pages names the next one many times."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        (size,), (count,) = connection.execute("PRAGMA page_size").fetchone(), connection.execute("PRAGMA page_count").fetchone()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    data = bytearray(file.read_bytes())
    leaf = bytes(data[(root - 1) * size : root * size])
    assert leaf[0] == 10, "the index has one page"
    first = int.from_bytes(leaf[8:10], "big")
    assert leaf[first] < 128
    row = leaf[first : first + 1 + leaf[first]]
    pages = [leaf, *(_interior(size, count + 1 + number, row) for number in range(17))]
    data[(root - 1) * size : root * size] = _interior(size, count + len(pages), row)
    data += b"".join(pages)
    data[28:32] = (count + len(pages)).to_bytes(4, "big")
    file.write_bytes(data)


def _interior(size: int, child: int, row: bytes) -> bytes:
    """A page of an index that leads to the same page many times, with the same row between."""
    cell = child.to_bytes(4, "big") + row
    times = (size - 12) // (len(cell) + 2)
    start = size - times * len(cell)
    places = b"".join((start + number * len(cell)).to_bytes(2, "big") for number in range(times))
    head = bytes([2, 0, 0]) + times.to_bytes(2, "big") + start.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
    return (head + places).ljust(start, b"\0") + cell * times


def test_pages_that_lead_in_circles_end_a_reading(cli: Cli) -> None:
    in_circles(cli.root / STATE, "runs_by_state")
    assert "[RC-state-damaged]" in cli("history", "p", code=1).stderr


@costly
def test_pages_of_a_sandbox_that_lead_in_circles_end_a_reading(cli: Cli) -> None:
    in_circles(cli.root / SANDBOX, "siblings")
    assert "[RC-sandbox-cannot-run]" in cli("sandbox", "export", "--db", SANDBOX, code=1).stderr


# -- what SQLite opens beside a file ------------------------------------------------------------------------------------------------------

END: Final = bytes.fromhex("d9d505f920a163d7")


def journal_of_many(db: Path, other: Path) -> None:
    """A journal as a killed transaction over several files leaves it: SQLite deletes `other` when it has undone the transaction."""
    data, name = db.read_bytes(), bytes(other)
    size = int.from_bytes(data[16:18], "big")
    head = [0, 1, len(data) // size, 512, size]  # records, nonce, pages before, sector, page
    tail = [size.to_bytes(4, "big"), name, len(name).to_bytes(4, "big"), sum(name).to_bytes(4, "big")]
    begin = END + b"".join(number.to_bytes(4, "big") for number in head)
    db.with_name(f"{db.name}-journal").write_bytes(begin.ljust(512, b"\0") + b"".join(tail) + END)


def test_sqlite_deletes_the_file_that_a_journal_names(cli: Cli) -> None:
    other = cli.write("p/notes.txt", "mine")
    journal_of_many(cli.root / SANDBOX, other)
    with closing(sqlite3.connect(cli.root / SANDBOX)) as connection:
        connection.execute("SELECT * FROM meta").fetchall()
    assert not other.exists()


WAYS: Final[dict[str, Callable[[Path], None]]] = {
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a file": lambda path: path.symlink_to("../reconciler.yaml"),
    "a folder": Path.mkdir,
}
SANDBOX_COMMANDS: Final = (("plan", "p"), ("sandbox", "export", "--db", SANDBOX), ("api", "GET", "/orgs", "--sandbox", SANDBOX))


def test_no_journal_has_another_file_deleted(cli: Cli) -> None:
    other = cli.write("p/notes.txt", "mine")
    journal_of_many(cli.root / STATE, other)
    for words in COMMANDS:
        ended = cli(*words, code=1)
        assert "[RC-not-a-state]" in ended.stderr, words
        assert f"rm {cli.root / STATE}-journal" in ended.stderr, words
    (cli.root / f"{STATE}-journal").unlink()
    journal_of_many(cli.root / SANDBOX, other)
    for words in SANDBOX_COMMANDS:
        assert "[RC-not-a-sandbox-file]" in cli(*words, code=3).stderr, words
    (cli.root / "p/real.db").write_bytes((cli.root / SANDBOX).read_bytes())  # SQLite looks beside what a link leads to
    (cli.root / SANDBOX).unlink()
    (cli.root / SANDBOX).symlink_to("../real.db")
    (cli.root / f"{SANDBOX}-journal").rename(cli.root / "p/real.db-journal")
    for words in SANDBOX_COMMANDS:
        assert "[RC-not-a-sandbox-file]" in cli(*words, code=3).stderr, words
    assert other.read_text() == "mine"


@costly
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_pipe_link_or_folder_beside_a_database_is_not_opened(cli: Cli, end: str, way: str) -> None:
    WAYS[way](cli.root / f"{STATE}{end}")
    for words in COMMANDS:
        assert "[RC-state-not-a-file]" in cli(*words, code=1).stderr, words
    os.rename(cli.root / f"{STATE}{end}", cli.root / f"{SANDBOX}{end}")
    for words in SANDBOX_COMMANDS:
        assert "[RC-not-a-sandbox-file]" in cli(*words, code=3).stderr, words


def test_the_journal_of_a_killed_writer_is_still_undone(cli: Cli) -> None:
    db, journal = cli.root / SANDBOX, cli.root / f"{SANDBOX}-journal"
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA cache_size=1", "BEGIN IMMEDIATE", "DELETE FROM objects"):
            connection.execute(statement)
        left = {path: path.read_bytes() for path in (db, journal)}
        connection.execute("ROLLBACK")
    assert db.read_bytes() != left[db], "the killed writer had written to the file"
    for path, content in left.items():
        path.write_bytes(content)
    assert "No changes" in cli("plan", "p").stdout
