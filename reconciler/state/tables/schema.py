"""The tables as they are today; `migrations` brings older ones here. Forbidden: values of the model.

A state (one project, environment and service) owns rows in every other table, so that scopes never mix. JSON is text, because `null` in it
is a value and SQL's NULL means that nothing is recorded.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

METADATA: Final = MetaData()


def _state(*, primary: bool = False) -> Column[int]:
    return Column("state", ForeignKey("states.id"), primary_key=primary, nullable=False, autoincrement=False)


version = Table("reconciler_schema", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))

states = Table(
    "states",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("project", Text, nullable=False),
    Column("environment", Text, nullable=False),  # "" for none: NULLs would not be unique
    Column("service", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("serial", Integer, nullable=False),
    Column("writer", Text),  # the run that raised the serial last
    Column("digest_key", LargeBinary, nullable=False),
    UniqueConstraint("project", "environment", "service"),
)

bindings = Table(
    "bindings",
    METADATA,
    _state(primary=True),
    Column("address", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("protected", Boolean, nullable=False),
    Column("place_parent", Text),
    Column("place_index", Integer),
    UniqueConstraint("state", "kind", "id"),
    sqlite_with_rowid=False,
)

fields = Table(
    "fields",
    METADATA,
    Column("state", Integer, primary_key=True, autoincrement=False),
    Column("address", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("sent", Text),  # JSON
    Column("seen", Text),  # JSON
    ForeignKeyConstraint(["state", "address"], ["bindings.state", "bindings.address"], ondelete="CASCADE", onupdate="CASCADE"),
    sqlite_with_rowid=False,
)

leases = Table(
    "leases",
    METADATA,
    _state(primary=True),
    Column("epoch", Integer, nullable=False),  # grows with every holder
    Column("run", Text),  # None: nobody's
    Column("who", Text),
    Column("command", Text),
    Column("since", Text),
    Column("expires", Float),  # seconds since 1970 by the database's clock; None where the kernel keeps the lock
)

runs = Table(
    "runs",
    METADATA,
    Column("id", Text, primary_key=True),
    _state(),
    Column("who", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("ended", Text),
    Column("exit_code", Integer),
    Column("summary", Text),  # JSON
    Index("runs_by_state", "state", "started"),
)

known = Table(  # append-only; a list that ten thousand intents saw is stored once
    "known",
    METADATA,
    _state(primary=True),
    Column("digest", Text, primary_key=True),
    Column("ids", Text, nullable=False),  # JSON
)

journal = Table(  # append-only: what was about to be sent
    "journal",
    METADATA,
    _state(primary=True),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("run", ForeignKey("runs.id"), nullable=False),
    Column("step", Integer, nullable=False),
    Column("address", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("target", Text),
    Column("writes", Text, nullable=False),  # JSON
    Column("known", Text, nullable=False),  # known.digest
    Column("date", Text),
    Column("deadline", Text),
    Column("brings", Text, nullable=False),  # JSON
    Column("lookup", Text, nullable=False),  # JSON
    Index("journal_by_run", "run"),
)

outcomes = Table(  # append-only: how it ended; after "in-doubt" another may follow
    "outcomes",
    METADATA,
    Column("id", Integer, primary_key=True),
    _state(),
    Column("intent", Integer, nullable=False),
    Column("at", Text, nullable=False),
    Column("run", ForeignKey("runs.id"), nullable=False),
    Column("status", Text, nullable=False),
    Column("error", Text),
    Column("bound", Text, nullable=False),  # JSON: ids by address
    Column("forgotten", Text, nullable=False),  # JSON: addresses
    ForeignKeyConstraint(["state", "intent"], ["journal.state", "journal.id"]),
    Index("outcomes_by_intent", "state", "intent"),
)

open_intents = Table(  # an index of the journal: without it every reading would search the whole history
    "open_intents",
    METADATA,
    Column("state", Integer, primary_key=True, autoincrement=False),
    Column("intent", Integer, primary_key=True, autoincrement=False),
    ForeignKeyConstraint(["state", "intent"], ["journal.state", "journal.id"]),
)

befores = Table(  # append-only: what an intent met; no row where undoing it needs nothing
    "befores",
    METADATA,
    Column("state", Integer, primary_key=True, autoincrement=False),
    Column("intent", Integer, primary_key=True, autoincrement=False),
    Column("value", Text, nullable=False),  # JSON
    ForeignKeyConstraint(["state", "intent"], ["journal.state", "journal.id"]),
)

afters = Table(  # append-only: what was seen when an intent was done
    "afters",
    METADATA,
    Column("state", Integer, primary_key=True, autoincrement=False),
    Column("intent", Integer, primary_key=True, autoincrement=False),
    Column("value", Text, nullable=False),  # JSON: values by field, by address
    ForeignKeyConstraint(["state", "intent"], ["journal.state", "journal.id"]),
)

rules = Table(
    "rules",
    METADATA,
    _state(primary=True),
    Column("value", Text, nullable=False),  # JSON: guards, prune, protect of the last run that went through
)

turns = Table(  # append-only: what changed of the bindings without a request
    "turns",
    METADATA,
    _state(primary=True),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("run", ForeignKey("runs.id"), nullable=False),
    Column("what", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Text, nullable=False),  # the object's id
    Column("old", Text),  # the address it had before
    Index("turns_by_run", "run"),
)

renames = Table(
    "renames",
    METADATA,
    _state(primary=True),
    Column("old", Text, primary_key=True),  # an address as the YAML had it
    Column("new", Text, nullable=False),  # the one that took its place, under its name of today
)

approvals = Table(  # append-only: runs that carried out a saved plan
    "approvals",
    METADATA,
    _state(primary=True),
    Column("run", ForeignKey("runs.id"), primary_key=True),
    Column("digest", Text, nullable=False),  # the plan's
)

consents = Table(  # append-only: what a run was allowed to open
    "consents",
    METADATA,
    _state(primary=True),
    Column("run", ForeignKey("runs.id"), primary_key=True),
    Column("value", Text, nullable=False),  # JSON
)
