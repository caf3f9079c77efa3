"""The audit log as programs read it: whoever continues after the last line misses none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from reconciler.fleet.store import FleetDatabase, audit
from tests import processes


def lines(database: FleetDatabase, after: int = 0) -> list[audit.AuditRecord]:
    with database.transaction() as connection:
        return list(audit.read(connection, after=after, settled=True))


def test_a_line_whose_transaction_ends_late_is_not_skipped(database: FleetDatabase) -> None:
    with database.transaction() as connection:
        audit.write(connection, audit.AuditRecord("ada", "login"))
    (first,) = lines(database)
    with database.transaction() as slow:
        audit.write(slow, audit.AuditRecord("grace", "approve", "acme"))
        with database.transaction() as quick:
            audit.write(quick, audit.AuditRecord("linus", "logout"))
        assert lines(database, after=first.id) == [], "the later line waits for the earlier one"
    assert [line.person for line in lines(database, after=first.id)] == ["grace", "linus"]


def test_follow_prints_what_is_added_until_it_is_interrupted_and_survives_the_loss_of_its_connection(
    database: FleetDatabase, fleet_url: str, tmp_path: Path
) -> None:
    def write(person: str) -> None:
        with database.transaction() as connection:
            audit.write(connection, audit.AuditRecord(person, "sync", "acme", "docs", {"reason": "x"}))

    write("ada")
    words = ["fleet", "audit", "--follow", "--format", "json", "--database", fleet_url]
    environ = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "reconciler", *words]
    with processes.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        try:
            assert json.loads(follower.stdout.readline())["person"] == "ada"
            with database.transaction() as connection:
                connection.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            write("grace")
            assert json.loads(follower.stdout.readline()) | {"at": "", "id": 0} == {
                "format": "reconciler.fleet-audit/1", "id": 0, "at": "", "person": "grace", "action": "sync", "project": "acme",
                "tenant": "docs", "details": {"reason": "x"},
            }  # fmt: skip
        finally:
            follower.send_signal(signal.SIGINT)
        rest, said = follower.communicate(timeout=30)
    assert (rest, follower.returncode) == ("", 130)
    assert "Traceback" not in said
