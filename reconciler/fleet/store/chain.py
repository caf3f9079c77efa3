"""The lines of the audit log and of the decisions as one chain of digests: a line that was changed, deleted or slipped in is noticed.

PostgreSQL adds a link for each line when its transaction commits, with the rights of the owner of the tables: nobody else can write links.
The verification computes the digests here, so that it does not rely on functions of the database.
"""

from __future__ import annotations

import hashlib
from typing import Final

from sqlalchemy import Connection, text

from reconciler.errors import StateError
from reconciler.fleet.store.schema import SCHEMA

BATCH: Final = 1_000
LOCK: Final = 0x666C6368  # held from the first link of a transaction to its end, which is at once
COLUMNS: Final = {
    "audit": ("id", "at", "person", "tenant", "action", "project", "details"),
    "approvals": ("id", "at", "project", "digest", "classes", "person", "approves", "reason", "issuer", "subject", "addresses"),
}
"""What a link is of. A column that is added later is not: the digests of old lines must stay what they are."""

_FUNCTION: Final = f"""
CREATE OR REPLACE FUNCTION {SCHEMA}.add_link() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  latest {SCHEMA}.chain;
  body text;
BEGIN
  PERFORM pg_advisory_xact_lock({LOCK});
  SELECT * INTO latest FROM {SCHEMA}.chain ORDER BY position DESC LIMIT 1;
  SELECT jsonb_agg(to_jsonb(NEW)->name ORDER BY number)::text INTO body FROM unnest(TG_ARGV) WITH ORDINALITY AS names(name, number);
  INSERT INTO {SCHEMA}.chain (position, source, line, digest) VALUES (
    coalesce(latest.position, 0) + 1, TG_TABLE_NAME, NEW.id,
    encode(sha256(convert_to(concat_ws(E'\\n', coalesce(latest.digest, ''), TG_TABLE_NAME, body), 'UTF8')), 'hex')
  );
  RETURN NULL;
END $$
"""  # noqa: S608  the names are constants
_TRIGGERS: Final = """
CREATE CONSTRAINT TRIGGER add_link AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION {schema}.add_link({names});
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} EXECUTE FUNCTION {schema}.refuse_change();
"""


def install(connection: Connection) -> None:
    """Chain the tables, with the lines that they have already."""
    _execute(connection, _FUNCTION)
    for name, columns in COLUMNS.items():
        table, names = f"{SCHEMA}.{name}", ", ".join(f"'{column}'" for column in columns)
        _execute(connection, f"DROP TRIGGER IF EXISTS append_only ON {table}")
        _execute(connection, _TRIGGERS.format(table=table, schema=SCHEMA, names=names))
    # installing again, after an upgrade, must not stop at triggers that exist, and they may be of an older form
    _execute(connection, f"DROP TRIGGER IF EXISTS append_only ON {SCHEMA}.chain")
    _execute(
        connection,
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {SCHEMA}.chain EXECUTE FUNCTION {SCHEMA}.refuse_change()",
    )
    last, position = "", 0
    # a fleet of an earlier version has lines without links: they are chained in their order, so that later changes of them are noticed
    # too
    for source in COLUMNS:
        for id, body in connection.execute(text(f"SELECT id, {_body(source)} FROM {SCHEMA}.{source} line ORDER BY id")):  # noqa: S608
            last, position = _digest(last, source, body), position + 1
            link = {"position": position, "source": source, "line": id, "digest": last}
            connection.execute(text(f"INSERT INTO {SCHEMA}.chain VALUES (:position, :source, :line, :digest)"), link)  # noqa: S608


def verified(connection: Connection, *, head: str | None = None) -> tuple[int, str]:
    """The chain, if no line was changed. `head`: a digest from before, which must be part of it: without one, a chain that was
    cut off at its end, or computed again as a whole, cannot be told from a right one. Raises `StateError` with the first wrong line."""
    last, position, seen = "", 0, head in (None, "")
    # the log of years does not fit into memory, so its lines are streamed
    with connection.execute(_LINKS, execution_options={"yield_per": BATCH}) as links:
        for link in links:
            position += 1
            line = f"line {link.line} of {link.source}"
            # the positions have no gaps: a trigger counts them under a lock, so a missing number is a deleted link
            if link.position != position:
                raise _broken(f"link {position} was deleted")
            if link.body is None:
                raise _broken(f"{line} was deleted")
            last = _digest(last, link.source, link.body)
            if last != link.digest:
                raise _broken(f"{line} was changed, or the link before it")
            seen = seen or last == head
    for source in COLUMNS:
        links_of_line = f"SELECT count(*) FROM {SCHEMA}.chain WHERE source = :source AND line = lines.id"  # noqa: S608
        # a line that was slipped in with the triggers off has no link, and the walk along the links above never meets it
        unlinked = text(f"SELECT min(id) FROM {SCHEMA}.{source} lines WHERE ({links_of_line}) <> 1")  # noqa: S608
        first = connection.execute(unlinked, {"source": source}).scalar()
        if first is not None:
            raise _broken(f"line {first} of {source} was added without a link, or has two")
    if not seen:
        raise _broken(f"it does not contain {head}, its last digest once: lines at its end were deleted, or all was written again")
    return position, last


def _broken(how: str) -> StateError:
    return StateError(
        f"the audit log is not what was written: {how}",
        id="RC-fleet-chain",
        hint="Compare it with an export (fleet audit --format json) or a backup, and find out who can write as the owner of the tables.",
    )


def _digest(last: str, source: str, body: str) -> str:
    return hashlib.sha256(f"{last}\n{source}\n{body}".encode()).hexdigest()


def _body(source: str) -> str:
    """The SQL of a line's text, which is that of the trigger."""
    return f"jsonb_build_array({', '.join(f'line.{column}' for column in COLUMNS[source])})::text"


_LINKS: Final = text(
    f"""SELECT chain.position, chain.source, chain.line, chain.digest, coalesce(a.body, d.body) AS body FROM {SCHEMA}.chain
    LEFT JOIN (SELECT id, {_body("audit")} AS body FROM {SCHEMA}.audit line) a ON chain.source = 'audit' AND a.id = chain.line
    LEFT JOIN (SELECT id, {_body("approvals")} AS body FROM {SCHEMA}.approvals line) d ON chain.source = 'approvals' AND d.id = chain.line
    ORDER BY chain.position"""  # noqa: S608  the names are constants
)


def _execute(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement)
