"""An older database becomes today's: its rows stay, and its tables are those of a new one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from reconciler.fleet import acts
from reconciler.fleet.approvals import ApprovalVerdict
from reconciler.fleet.model import Mode, RehearsalRule
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.store import FleetDatabase, approvals, audit, chain, notices, schema
from reconciler.fleet.worker import ready
from tests.fleet.test_store import declare, project

ADDED = ("approvals", "quarantines", "samples", "notices", "sessions", "audit", "generation", "people", "chain", "rehearsals")
COLUMNS = {
    "revisions": ["settings"],
    "projects": ["health", "health_at", "cost", "well_since", "announced"],
    "plans": ["digest", "classes", "authors", "text", "since", "reading"],
}


def shape(database: FleetDatabase) -> dict[str, list[tuple[str, str, bool]]]:
    with database.transaction() as connection:
        tables = inspect(connection)
        return {
            name: sorted((column["name"], str(column["type"]), column["nullable"]) for column in tables.get_columns(name, schema.SCHEMA))
            for name in tables.get_table_names(schema.SCHEMA)
        }


def test_a_database_of_the_first_version_keeps_its_rows_and_gets_the_tables_of_today(database: FleetDatabase) -> None:
    today = shape(database)
    with database.transaction() as connection:
        for table in ADDED:
            connection.execute(text(f"DROP TABLE {schema.SCHEMA}.{table}"))
        for function in ("refuse_change", "add_link"):
            connection.execute(text(f"DROP FUNCTION {schema.SCHEMA}.{function}"))
        for table, columns in COLUMNS.items():
            for column in columns:
                connection.execute(text(f"ALTER TABLE {schema.SCHEMA}.{table} DROP COLUMN {column}"))
        connection.execute(text(f"UPDATE {schema.SCHEMA}.version SET version = 1"))
        connection.execute(text(f"INSERT INTO {schema.SCHEMA}.revisions (file, text, soak, applied_by) VALUES ('f', 't', 7, 'ada')"))
    ready(database)
    assert shape(database) == today
    with database.transaction() as connection:
        assert connection.execute(text(f"SELECT soak FROM {schema.SCHEMA}.revisions")).scalar() == 7


def test_a_database_of_the_fifth_version_keeps_its_decisions_and_messages(database: FleetDatabase) -> None:
    today = shape(database)
    with database.transaction() as connection:
        _before_rehearsals(connection)
        connection.execute(text(f"ALTER TABLE {schema.SCHEMA}.approvals DROP COLUMN until"))
        connection.execute(text(f"ALTER TABLE {schema.SCHEMA}.notices DROP COLUMN severity"))
        connection.execute(text(f"UPDATE {schema.SCHEMA}.version SET version = 5"))
    declare(database, project("acme"))
    with database.transaction() as connection:
        rows = "(project, event, target, title, text) VALUES (1, 'failed', 'env:ALL', 'acme: a run failed', 'why')"
        connection.execute(text(f"INSERT INTO {schema.SCHEMA}.notices {rows}"))
        decided = "(project, digest, classes, person, approves) VALUES (1, 'd', '[]', 'ada', true)"
        connection.execute(text(f"INSERT INTO {schema.SCHEMA}.approvals {decided}"))
    ready(database)
    assert shape(database) == today
    with database.transaction() as connection:
        notice = notices.take(connection)
        assert notice is not None
        assert (notice.title, notice.severity) == ("acme: a run failed", "info")
        assert [decision.until for decision in approvals.decisions(connection, [(1, "d")])[1]] == [None]
        assert chain.verified(connection)[0] == 1


def _before_rehearsals(connection: Connection) -> None:
    """Make the tables those of the sixth version."""
    connection.execute(text(f"DROP TABLE {schema.SCHEMA}.rehearsals"))
    connection.execute(text(f"ALTER TABLE {schema.SCHEMA}.plans DROP COLUMN reading"))
    connection.execute(text(f"ALTER TABLE {schema.SCHEMA}.approvals DROP COLUMN rehearsal"))


def test_a_plan_and_an_approval_of_the_sixth_version_count_until_a_rehearsal_is_required(database: FleetDatabase) -> None:
    today = shape(database)
    with database.transaction() as connection:
        _before_rehearsals(connection)
        connection.execute(text(f"UPDATE {schema.SCHEMA}.version SET version = 6"))
    declared = project("acme", mode=Mode.APPLY)
    declare(database, declared)
    with database.transaction() as connection:
        plan = "(project, commit, document, digest, classes, authors) VALUES (1, 'c', '{\"changes\": []}', 'd', '[\"create\"]', '[]')"
        connection.execute(text(f"INSERT INTO {schema.SCHEMA}.plans {plan}"))
        decided = "(project, digest, classes, person, approves) VALUES (1, 'd', '[\"create\"]', 'ada', true)"
        connection.execute(text(f"INSERT INTO {schema.SCHEMA}.approvals {decided}"))
    ready(database)
    assert shape(database) == today

    def judged() -> ApprovalVerdict:
        with database.transaction() as connection:
            return acts.plan(connection, Person("root", {ALL: Role.ADMIN}), "acme").verdict

    assert judged().allows
    declare(database, replace(declared, rehearse=RehearsalRule.REQUIRED))
    assert (judged().allows, judged().unrehearsed) == (False, True)
    with database.transaction() as connection:
        assert chain.verified(connection)[0] == 1


@pytest.mark.parametrize("change", ["UPDATE {} SET person = 'eve'", "DELETE FROM {}", "TRUNCATE {}"])
def test_a_line_of_the_audit_log_is_never_changed(database: FleetDatabase, change: str) -> None:
    line = audit.AuditRecord("ada", "approve", "acme", "docs", {"digest": "ab"})
    with database.transaction() as connection:
        audit.write(connection, line)
    with pytest.raises(DBAPIError, match="append-only"), database._engine.begin() as connection:
        connection.execute(text(change.format(f"{schema.SCHEMA}.audit")))
    with database.transaction() as connection:
        assert [(read.person, read.details) for read in audit.read(connection)] == [("ada", {"digest": "ab"})]


def test_a_database_of_the_eighth_version_numbers_the_runs_that_it_has_and_those_of_older_workers(database: FleetDatabase) -> None:
    today = shape(database)
    declare(database, project("acme"), project("blue"))
    with database.transaction() as connection:
        connection.execute(text(f"DROP TRIGGER numbered ON {schema.SCHEMA}.runs"))
        connection.execute(text(f"DROP FUNCTION {schema.SCHEMA}.number_run"))
        connection.execute(text(f"ALTER TABLE {schema.SCHEMA}.runs DROP COLUMN number"))
        connection.execute(text(f"UPDATE {schema.SCHEMA}.version SET version = 8"))
        for id in (1, 2, 1, 1):
            connection.execute(text(f"INSERT INTO {schema.SCHEMA}.runs (project, ended_at) VALUES ({id}, now())"))
    ready(database)
    assert shape(database) == today
    with database.transaction() as connection:
        connection.execute(text(f"INSERT INTO {schema.SCHEMA}.runs (project) VALUES (2)"))
        rows = connection.execute(text(f"SELECT project, number FROM {schema.SCHEMA}.runs ORDER BY id")).all()
    assert [tuple(row) for row in rows] == [(1, 1), (2, 1), (1, 2), (1, 3), (2, 2)]
