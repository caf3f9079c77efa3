"""The tables as they are today, in SQL; `migrations` brings older ones here. Forbidden: values of the model.

JSON is text, because `null` in it is a value and SQL's NULL means that nothing is recorded. The statements are those of SQLite;
`reconciler.state.connection` says what is different on PostgreSQL. A table refers only to tables above it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

# SQLite keeps the text of a table. A file that was migrated must have the text of a new one, or a later migration could not rely on it: so
# no word of a statement changes without a migration.
_SQL: Final = """
-- The version of these tables, for the migrations.
CREATE TABLE reconciler_schema (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
);

-- One project, environment and service: it owns rows in every other table, so that scopes never mix.
CREATE TABLE states (
    id INTEGER NOT NULL,
    project TEXT NOT NULL,
    environment TEXT NOT NULL, -- '' for none: NULLs would not be unique
    service TEXT NOT NULL,
    lineage TEXT NOT NULL,
    serial INTEGER NOT NULL,
    writer TEXT, -- the run that raised the serial last; nothing reads it, but chains in buckets contain it
    digest_key BLOB NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (project, environment, service)
);

-- What is tracked: the object at each address.
CREATE TABLE bindings (
    state INTEGER NOT NULL,
    address TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    protected BOOLEAN NOT NULL,
    place_parent TEXT,
    place_index INTEGER,
    PRIMARY KEY (state, address),
    UNIQUE (state, kind, id),
    FOREIGN KEY(state) REFERENCES states (id)
) WITHOUT ROWID;

-- Who may write a state. An epoch grows with every holder, so that a run that was taken for dead notices.
CREATE TABLE leases (
    state INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    run TEXT, -- NULL: nobody's
    who TEXT,
    command TEXT,
    since TEXT,
    expires FLOAT, -- seconds since 1970 by the database's clock; NULL where the kernel keeps the lock
    PRIMARY KEY (state),
    FOREIGN KEY(state) REFERENCES states (id)
);

-- Every run that could write, whether or not it sent anything.
CREATE TABLE runs (
    id TEXT NOT NULL,
    state INTEGER NOT NULL,
    who TEXT NOT NULL,
    command TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT,
    exit_code INTEGER,
    summary TEXT, -- JSON: of its outcome; and the URLs that it moves, until the files of redirects have them
    PRIMARY KEY (id),
    FOREIGN KEY(state) REFERENCES states (id)
);
CREATE INDEX runs_by_state ON runs (state, started);

-- Append-only. A list that ten thousand intents saw is stored once.
CREATE TABLE known (
    state INTEGER NOT NULL,
    digest TEXT NOT NULL,
    ids TEXT NOT NULL, -- JSON
    PRIMARY KEY (state, digest),
    FOREIGN KEY(state) REFERENCES states (id)
);

-- The rules under which the project was last applied.
CREATE TABLE rules (
    state INTEGER NOT NULL,
    value TEXT NOT NULL, -- JSON: guards, prune and protect of the last run that succeeded
    PRIMARY KEY (state),
    FOREIGN KEY(state) REFERENCES states (id)
);

-- The renames of the YAML that are done.
CREATE TABLE renames (
    state INTEGER NOT NULL,
    old TEXT NOT NULL, -- an address as the YAML had it
    new TEXT NOT NULL, -- the one that took its place, under its name of today
    PRIMARY KEY (state, old),
    FOREIGN KEY(state) REFERENCES states (id)
);

-- The pages of what is published, as of one revision of each object's content: the same revision is the same tree.
CREATE TABLE page_trees (
    state INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    revision TEXT NOT NULL,
    pages TEXT NOT NULL, -- JSON: id, title and path of each, in the order of readers
    PRIMARY KEY (state, kind, id),
    FOREIGN KEY(state) REFERENCES states (id)
);

-- At which URLs pages answer or answered: a row for each time that a page had a URL.
CREATE TABLE urls (
    state INTEGER NOT NULL,
    url TEXT NOT NULL,
    number INTEGER NOT NULL, -- of the time, from 1: runs may begin at the same moment
    site TEXT NOT NULL, -- an address
    page TEXT NOT NULL,
    since TEXT NOT NULL,
    run TEXT NOT NULL, -- that saw it first
    ended TEXT, -- NULL: it answers
    ender TEXT, -- the run that saw it last no more
    PRIMARY KEY (state, url, number),
    FOREIGN KEY(state) REFERENCES states (id)
) WITHOUT ROWID;
CREATE INDEX urls_by_page ON urls (page);
CREATE INDEX urls_by_site ON urls (site);

-- Of what the URLs of each site were computed last: as long as it is the same, they are.
CREATE TABLE url_sites (
    state INTEGER NOT NULL,
    site TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (state, site),
    FOREIGN KEY(state) REFERENCES states (id)
);

-- What was sent and what was seen after it, by field.
CREATE TABLE fields (
    state INTEGER NOT NULL,
    address TEXT NOT NULL,
    name TEXT NOT NULL,
    sent TEXT, -- JSON
    seen TEXT, -- JSON
    PRIMARY KEY (state, address, name),
    FOREIGN KEY(state, address) REFERENCES bindings (state, address) ON DELETE CASCADE ON UPDATE CASCADE
) WITHOUT ROWID;

-- Append-only: what was about to be sent.
CREATE TABLE journal (
    state INTEGER NOT NULL,
    id INTEGER NOT NULL,
    at TEXT NOT NULL,
    run TEXT NOT NULL,
    step INTEGER NOT NULL,
    address TEXT NOT NULL,
    kind TEXT NOT NULL,
    verb TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    target TEXT,
    writes TEXT NOT NULL, -- JSON
    known TEXT NOT NULL, -- known.digest
    date TEXT,
    deadline TEXT,
    brings TEXT NOT NULL, -- JSON
    lookup TEXT NOT NULL, -- JSON
    PRIMARY KEY (state, id),
    FOREIGN KEY(state) REFERENCES states (id),
    FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE INDEX journal_by_run ON journal (run);

-- Append-only: what changed in the bindings without a request.
CREATE TABLE turns (
    state INTEGER NOT NULL,
    id INTEGER NOT NULL,
    at TEXT NOT NULL,
    run TEXT NOT NULL,
    what TEXT NOT NULL,
    address TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL, -- the id of the object
    old TEXT, -- the address it had before
    PRIMARY KEY (state, id),
    FOREIGN KEY(state) REFERENCES states (id),
    FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE INDEX turns_by_run ON turns (run);

-- Append-only: the runs that carried out a saved plan.
CREATE TABLE approvals (
    state INTEGER NOT NULL,
    run TEXT NOT NULL,
    digest TEXT NOT NULL, -- of the plan
    PRIMARY KEY (state, run),
    FOREIGN KEY(state) REFERENCES states (id),
    FOREIGN KEY(run) REFERENCES runs (id)
);

-- Append-only: what a run was allowed to open.
CREATE TABLE consents (
    state INTEGER NOT NULL,
    run TEXT NOT NULL,
    value TEXT NOT NULL, -- JSON
    PRIMARY KEY (state, run),
    FOREIGN KEY(state) REFERENCES states (id),
    FOREIGN KEY(run) REFERENCES runs (id)
);

-- Append-only: how a request ended. After "in-doubt" another outcome may follow.
CREATE TABLE outcomes (
    id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    intent INTEGER NOT NULL,
    at TEXT NOT NULL,
    run TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    bound TEXT NOT NULL, -- JSON: ids by address
    forgotten TEXT NOT NULL, -- JSON: addresses
    PRIMARY KEY (id),
    FOREIGN KEY(state, intent) REFERENCES journal (state, id),
    FOREIGN KEY(state) REFERENCES states (id),
    FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE INDEX outcomes_by_intent ON outcomes (state, intent);

-- An index of the journal: without it every reading would search the whole history.
CREATE TABLE open_intents (
    state INTEGER NOT NULL,
    intent INTEGER NOT NULL,
    PRIMARY KEY (state, intent),
    FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);

-- Append-only: what an intent met. No row where undoing it needs nothing.
CREATE TABLE befores (
    state INTEGER NOT NULL,
    intent INTEGER NOT NULL,
    value TEXT NOT NULL, -- JSON
    PRIMARY KEY (state, intent),
    FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);

-- Append-only: what was seen when an intent was done.
CREATE TABLE afters (
    state INTEGER NOT NULL,
    intent INTEGER NOT NULL,
    value TEXT NOT NULL, -- JSON: values by field, by address
    PRIMARY KEY (state, intent),
    FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
"""

_STATEMENTS: Final = [statement.strip() for statement in re.sub(r" *--.*", "", _SQL).split(";") if statement.strip()]

TABLES: Final[dict[str, Sequence[str]]] = {
    name: re.findall(r"^    ([a-z_]+) ", statement, re.MULTILINE)
    for statement in _STATEMENTS
    for name in re.findall(r"^CREATE TABLE (\w+)", statement)
}
"""The columns of each table; a table refers only to tables above it."""

TYPES: Final[dict[str, set[str]]] = {}
"""The types of the columns of a name, in whichever tables."""
for _name, _type in re.findall(r"^    ([a-z_]+) ([A-Z]+)", "\n".join(_STATEMENTS), re.MULTILINE):
    TYPES.setdefault(_name, set()).add(_type)


def creating(*tables: str) -> list[str]:
    """The statements that create these tables and their indexes, in the order of the tables above."""
    return [statement for statement in _STATEMENTS if re.match(rf"CREATE (TABLE|INDEX \w+ ON) ({'|'.join(tables)})\b", statement)]


@cache
def insert(table: str, *without: str) -> str:
    """The statement that adds a row with every column of a table but these; it takes the columns by name."""
    names = [column for column in TABLES[table] if column not in without]
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"
