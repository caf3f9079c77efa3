"""The tables of a fleet. Times are the database's: the clocks of the workers decide nothing."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

SCHEMA: Final = "reconciler_fleet"
METADATA: Final = MetaData(schema=SCHEMA)
NOW: Final = text("now()")


def _moment(name: str, **words: object) -> Column[object]:
    return Column(name, DateTime(timezone=True), **words)  # type: ignore[arg-type]


version = Table("version", METADATA, Column("version", Integer, nullable=False))

revisions = Table(  # every fleet file that took effect; the last one is the fleet
    "revisions",
    METADATA,
    Column("id", Integer, Identity(), primary_key=True),
    Column("file", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("soak", Integer, nullable=False),
    Column("applied_by", Text, nullable=False),
    _moment("applied_at", nullable=False, server_default=NOW),
)

projects = Table(  # the schedule: what is due is what has next_due in the past
    "projects",
    METADATA,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("spec", JSONB, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("token", Text, nullable=False),  # the reference, not the token
    Column("wave", Integer, nullable=False),
    _moment("orphaned_at"),
    _moment("next_due", nullable=False, server_default=NOW),
    _moment("wanted_at"),  # when somebody asked for a run
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("paused", Boolean, nullable=False, server_default="false"),
    _moment("paused_until"),
    Column("paused_by", Text),
    Column("paused_reason", Text),
    Column("reading", JSONB),  # the last complete or partial reading
    _moment("read_at"),
    _moment("synced_since"),
    Column("error", Text),  # why the last run ended without a reading
    _moment("error_at"),
    Column("waits", Text),  # why changes are not applied
    Column("budget", Text),  # whose requests its runs take: a digest of service and token
    Column("scope", Text, unique=True),  # a digest of the state's place, project and environment
    Column("applied", Text),  # the commit that was applied last
)
Index("projects_due", projects.c.next_due, postgresql_where=text("orphaned_at IS NULL"))

runs = Table(
    "runs",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), nullable=False),
    _moment("admitted_at", nullable=False, server_default=NOW),
    _moment("started_at"),
    _moment("ended_at"),
    Column("worker", BigInteger),
    Column("ended", Text),  # done, failed, late, lost
    Column("says", Text),
    Column("commit", Text),
    Column("exit_code", Integer),
    Column("requests", Integer),
)
Index("runs_open", runs.c.project, unique=True, postgresql_where=text("ended_at IS NULL"))  # a project is run by one worker at a time
Index("runs_of_project", runs.c.project, runs.c.id)
Index("runs_ended", runs.c.ended_at)

engine = Table(  # which migrations of the queue's own tables were applied
    "engine",
    METADATA,
    Column("migration", Text, primary_key=True),
)

workers = Table(
    "workers",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("host", Text, nullable=False),
    Column("process", Integer, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("patience", Integer, nullable=False),  # seconds of silence after which it is taken for dead
    Column("version", Text, nullable=False),
    _moment("started_at", nullable=False, server_default=NOW),
    _moment("seen_at", nullable=False, server_default=NOW),
)

budgets = Table(  # one row for each token of a service
    "budgets",
    METADATA,
    Column("token", Text, primary_key=True),  # a digest
    Column("left", JSONB, nullable=False),
    _moment("held_until"),  # nothing can be sent before
    _moment("updated_at", nullable=False, server_default=NOW),
)

plans = Table(  # the last plan of a project with mode plan or apply
    "plans",
    METADATA,
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), primary_key=True),
    Column("commit", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    _moment("made_at", nullable=False, server_default=NOW),
)
