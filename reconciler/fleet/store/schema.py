"""The tables of a fleet. All times are the database's: the clocks of the workers are never used."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    event,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

SCHEMA: Final = "reconciler_fleet"
METADATA: Final = MetaData(schema=SCHEMA)
NOW: Final = text("now()")


def _moment(name: str, **options: object) -> Column[object]:
    return Column(name, DateTime(timezone=True), **options)  # type: ignore[arg-type]


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
    Column("settings", JSONB),  # settings about people, notifications and webhooks; references, never secrets
)

projects = Table(  # the schedule: projects with next_due in the past are due
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
    _moment("wanted_at"),  # when a person requested a run
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
    Column("budget", Text),  # its runs' budget: a digest of service and token
    Column("scope", Text, unique=True),  # a digest of the state's location, project and environment
    Column("applied", Text),  # the commit that was applied last
    Column("cost", Integer),  # number of requests of its last reading
    Column("health", JSONB),  # what is broken or expires, beside the status
    _moment("health_at"),
    _moment("well_since"),  # since when it is Synced and its health lets the next wave follow
    Column("announced", JSONB),  # the last announcements
)
Index("projects_due", projects.c.next_due, postgresql_where=text("orphaned_at IS NULL"))

runs = Table(
    "runs",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # of the runs of its project, from 1; PostgreSQL writes it
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
Index("runs_numbers", runs.c.project, runs.c.number, unique=True)
RUN_NUMBERS: Final = f"""
    CREATE OR REPLACE FUNCTION {SCHEMA}.number_run() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.number := 1 + coalesce((SELECT max(number) FROM {SCHEMA}.runs WHERE project = NEW.project), 0); RETURN NEW; END $$;
    DROP TRIGGER IF EXISTS numbered ON {SCHEMA}.runs;
    CREATE TRIGGER numbered BEFORE INSERT ON {SCHEMA}.runs FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.number_run();
"""  # noqa: S608  the schema's name is a constant
"""A trigger, so that a worker of an older version numbers its runs too. Of two inserts at once with one number, the index refuses one."""
event.listen(runs, "after_create", DDL(RUN_NUMBERS))  # type: ignore[no-untyped-call]

generation = Table(  # one row: when the generators of the fleet file are reread, and the result of the last time
    "generation",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _moment("next_due", nullable=False),
    _moment("read_at"),
    Column("error", Text),  # why they could not be read
    Column("held", Text),  # why their list does not take effect
)

engine = Table(  # applied migrations of the queue's own tables
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
    Column("patience", Integer, nullable=False),  # seconds of silence after which it counts as dead
    Column("version", Text, nullable=False),
    _moment("started_at", nullable=False, server_default=NOW),
    _moment("seen_at", nullable=False, server_default=NOW),
)

budgets = Table(  # one row for each token of a service
    "budgets",
    METADATA,
    Column("token", Text, primary_key=True),  # a digest
    Column("left", JSONB, nullable=False),
    _moment("held_until"),  # no request can be sent before
    _moment("updated_at", nullable=False, server_default=NOW),
)

plans = Table(  # the last plan of a project with mode plan or apply
    "plans",
    METADATA,
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), primary_key=True),
    Column("commit", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    _moment("made_at", nullable=False, server_default=NOW),
    Column("digest", Text),  # of what would be sent; approvals refer to a digest
    Column("classes", JSONB),  # of change, as a list
    Column("authors", JSONB),  # of the commit, as a list of e-mail addresses
    Column("text", Text),  # the plan as `plan` shows it
    Column("since", Text),  # the last commit that was applied completely
    Column("reading", Text),  # a digest of what the service contained; rehearsals refer to it
    Column("continues", JSONB),  # the apply of which it is what is left
    Column("begun", JSONB),  # the last apply that began, until it is done or another commit is read
)

rehearsals = Table(  # requests to rehearse the plan with a digest, and the last result of each
    "rehearsals",
    METADATA,
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), primary_key=True),
    Column("plan", Text, primary_key=True),  # the digest of the plan
    Column("asked_by", Text, nullable=False),
    _moment("asked_at", nullable=False, server_default=text("clock_timestamp()")),  # after ended_at: nobody has rehearsed it since
    Column("tries", Integer, nullable=False, server_default="0"),  # runs that began it since it was asked for
    Column("run", BigInteger),  # the last of them
    _moment("ended_at"),
    Column("error", Text),  # why there is no result
    Column("reading", Text),  # a digest of what the service contained
    Column("digest", Text),  # of the result: approvals refer to it
    Column("as_planned", Boolean),
    Column("text", Text),  # the result as `rehearse` shows it
    Column("document", LargeBinary),  # as JSON, compressed
)

proposals = Table(  # what was changed outside Reconciler, as files, by the last run of a project that read it
    "proposals",
    METADATA,
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), primary_key=True),
    Column("document", LargeBinary, nullable=False),  # as JSON, compressed
)

approvals = Table(  # who approved a plan, or rejected it; a line is never changed
    "approvals",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), nullable=False),
    Column("digest", Text, nullable=False),
    Column("classes", JSONB, nullable=False),  # approved ones, as a list
    Column("person", Text, nullable=False),
    Column("approves", Boolean, nullable=False),  # false: rejects
    Column("reason", Text, nullable=False, server_default=""),
    _moment("at", nullable=False, server_default=NOW),
    Column("issuer", Text),  # who the person is, whatever the name; null for a user of the commands
    Column("subject", Text),
    Column("addresses", JSONB),  # that the provider had verified then, as a list
    _moment("until"),  # of a decision to ignore drift: until when
    Column("rehearsal", Text),  # the digest of the rehearsal that the person saw
)
Index("approvals_of_plan", approvals.c.project, approvals.c.digest)

quarantines = Table(  # undone changes, which are not applied until somebody allows it
    "quarantines",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), nullable=False),
    Column("commit", Text, nullable=False),
    Column("addresses", JSONB, nullable=False),  # undone ones, as a list
    Column("undone_by", Text, nullable=False),  # the run of `undo`
    _moment("at", nullable=False, server_default=NOW),
    _moment("lifted_at"),
    Column("lifted_by", Text),
)
Index("quarantines_open", quarantines.c.project, postgresql_where=text("lifted_at IS NULL"))

samples = Table(  # the numbers of each reading, for charts
    "samples",
    METADATA,
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), primary_key=True),
    _moment("at", primary_key=True, server_default=NOW),
    Column("status", Text, nullable=False),
    Column("ahead", Integer, nullable=False),
    Column("drift", Integer, nullable=False),
    Column("unmanaged", Integer, nullable=False),
    Column("coverage", Float),
)

Index("samples_at", samples.c.at)

notices = Table(  # messages to send; a worker that sends one locks its row
    "notices",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("project", Integer, ForeignKey(projects.c.id, ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    Column("target", Text, nullable=False),  # the reference of the URL that it is sent to
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("severity", Text),  # failure, warning, success or info
    _moment("at", nullable=False, server_default=NOW),
    _moment("next_try", nullable=False, server_default=NOW),
    Column("tries", Integer, nullable=False, server_default="0"),
    _moment("sent_at"),
    _moment("given_up_at"),
    Column("error", Text),
)
Index("notices_open", notices.c.next_try, postgresql_where=text("sent_at IS NULL AND given_up_at IS NULL"))

sessions = Table(  # sessions of the dashboard
    "sessions",
    METADATA,
    Column("id", Text, primary_key=True),  # a digest of the cookie
    Column("person", JSONB, nullable=False),
    Column("csrf", Text, nullable=False),
    _moment("created_at", nullable=False, server_default=NOW),
    _moment("expires_at", nullable=False),
    Column("sealed", Text),  # what reads the person's groups again, encrypted with the cookie
)

people = Table(  # everybody who logged in, as the provider described them last
    "people",
    METADATA,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("addresses", JSONB, nullable=False),  # verified ones, as a list
    Column("values", JSONB, nullable=False),  # of the claim that gives roles, as a list
    _moment("seen_at", nullable=False, server_default=NOW),
)

audit = Table(  # who saw, approved and ran what; lines are never changed or deleted
    "audit",
    METADATA,
    Column("id", BigInteger, Identity(), primary_key=True),
    _moment("at", nullable=False, server_default=NOW),
    Column("person", Text, nullable=False),
    Column("tenant", Text),
    Column("action", Text, nullable=False),
    Column("project", Text),  # its name: a line outlives its project
    Column("details", JSONB, nullable=False, server_default=text("'{}'")),
)
Index("audit_at", audit.c.at)

chain = Table(  # a link for each line of audit and approvals, in the order of their commits; PostgreSQL writes it
    "chain",
    METADATA,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),  # the table of the line
    Column("line", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),  # of the line and of the link before
)
Index("chain_of_line", chain.c.source, chain.c.line)
event.listen(
    audit,
    "after_create",
    DDL(  # type: ignore[no-untyped-call]
        f"""
        CREATE FUNCTION {SCHEMA}.refuse_change() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$;
        CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {SCHEMA}.audit EXECUTE FUNCTION {SCHEMA}.refuse_change();
    """
    ),
)
