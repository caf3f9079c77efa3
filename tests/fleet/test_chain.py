"""The audit log and the decisions are a chain: whoever changes a line as the owner of the tables is noticed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from reconciler.cli import main
from reconciler.errors import StateError
from reconciler.fleet import approvals as rules
from reconciler.fleet.store import FleetDatabase, approvals, audit, chain, database as databases, projects, schema
from tests.fleet.test_store import declare, project

S = schema.SCHEMA


def filled(database: FleetDatabase) -> None:
    declare(database, project("a"))
    with database.transaction() as connection:
        audit.write(
            connection, audit.AuditRecord("ada", "login"), audit.AuditRecord("ada", "approve", "a", "docs", {"digest": "d", "x": None})
        )
        id = projects.read(connection)[0].id
        approvals.decide(connection, id, rules.Decision("ada", "d-c", reason="because \u00e9"))
    with database.transaction() as connection:
        audit.write(connection, audit.AuditRecord("grace", "pause", "a"))


def verified(database: FleetDatabase, head: str | None = None) -> tuple[int, str]:
    with database.transaction() as connection:
        return chain.verified(connection, head=head)


def test_what_was_written_is_verified_in_any_time_zone_and_from_an_earlier_head(database: FleetDatabase) -> None:
    filled(database)
    first = verified(database)
    assert first[0] == 4
    with database.transaction() as connection:
        connection.execute(text("SET LOCAL timezone = 'Asia/Tokyo'"))
        audit.write(connection, audit.AuditRecord("linus", "login"))
    second = verified(database, first[1])
    assert (second[0], second[1] != first[1]) == (5, True)
    result = CliRunner().invoke(main, ["fleet", "audit", "--verify", "--head", first[1], "--database", database.url])
    assert (result.exit_code, second[1] in result.output) == (0, True)


@pytest.mark.parametrize(
    ("attack", "says"),
    [
        (f"UPDATE {S}.audit SET person = 'eve' WHERE id = 2", "line 2 of audit was changed"),
        (f"UPDATE {S}.audit SET at = at + interval '1 microsecond' WHERE id = 2", "line 2 of audit was changed"),
        (f"UPDATE {S}.approvals SET subject = '7'", "line 1 of approvals was changed"),
        (f"DELETE FROM {S}.audit WHERE id = 2", "line 2 of audit was deleted"),
        (f"DELETE FROM {S}.approvals", "line 1 of approvals was deleted"),
        (f"DELETE FROM {S}.audit WHERE id = 2; DELETE FROM {S}.chain WHERE source = 'audit' AND line = 2", "link 2 was deleted"),
        (f"INSERT INTO {S}.audit (person, action) VALUES ('ada', 'approve')", "line 4 of audit was added without a link"),
        (f"INSERT INTO {S}.chain SELECT 5, source, line, digest FROM {S}.chain WHERE position = 4", "was changed, or the link before it"),
        (f"UPDATE {S}.chain SET position = -position WHERE position IN (1, 2)", "link 1 was deleted"),
        (f"DELETE FROM {S}.audit WHERE id = 3; DELETE FROM {S}.chain WHERE position = 4", "it does not contain"),
        (f"TRUNCATE {S}.audit, {S}.chain, {S}.approvals", "it does not contain"),
    ],
)
def test_whatever_is_done_to_a_line_is_noticed(database: FleetDatabase, attack: str, says: str) -> None:
    filled(database)
    head = verified(database)[1]
    with database.transaction() as connection:  # as the owner, who can turn the triggers off
        for table in ("audit", "approvals", "chain"):
            connection.execute(text(f"ALTER TABLE {S}.{table} DISABLE TRIGGER ALL"))
        for statement in attack.split(";"):
            connection.execute(text(statement))
        for table in ("audit", "approvals", "chain"):
            connection.execute(text(f"ALTER TABLE {S}.{table} ENABLE TRIGGER ALL"))
    with pytest.raises(StateError, match=says) as raised:
        verified(database, head)
    assert raised.value.id == "RC-fleet-chain"
    result = CliRunner().invoke(main, ["fleet", "audit", "--verify", "--head", head, "--database", database.url])
    assert (result.exit_code != 0, says in result.output.replace("\n", " ")) == (True, True)


@pytest.mark.parametrize("table", ["approvals", "chain"])
@pytest.mark.parametrize("change", ["UPDATE {} SET digest = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_decisions_and_links_are_never_changed(database: FleetDatabase, table: str, change: str) -> None:
    filled(database)
    with pytest.raises(DBAPIError, match="append-only"), database._engine.begin() as connection:
        connection.execute(text(change.format(f"{S}.{table}")))


def test_many_write_at_once_and_nobody_waits_for_a_transaction_that_lasts(database: FleetDatabase) -> None:
    def write(number: int) -> None:
        with database.transaction() as connection:
            audit.write(connection, *(audit.AuditRecord(f"p{number}", "login") for _ in range(3)))

    with database.transaction() as slow:
        audit.write(slow, audit.AuditRecord("slow", "login"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(20)))
    assert verified(database)[0] == 61


def test_lines_from_before_the_chain_are_part_of_it(database: FleetDatabase) -> None:
    filled(database)
    with database.transaction() as connection:
        for table in ("audit", "approvals"):
            connection.execute(text(f"DROP TRIGGER add_link ON {S}.{table}"))
        connection.execute(text(f"DROP TABLE {S}.chain CASCADE"))
        databases._add_chain(connection)
    assert verified(database)[0] == 4
    filled(database)
    assert verified(database)[0] == 8
