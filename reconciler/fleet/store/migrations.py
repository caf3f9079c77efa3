"""Migrations of a fleet's tables: forwards only, and each step keeps what the version before it needs."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

from reconciler.fleet.store import schema
from reconciler.fleet.store.schema import SCHEMA

_COLUMNS: Final = {
    "revisions": ("settings jsonb",),
    "projects": ("health jsonb", "health_at timestamptz", "cost integer", "well_since timestamptz", "announced jsonb"),
    "plans": ("digest text", "classes jsonb", "authors jsonb", "text text", "since text"),
}


def people(connection: Connection) -> None:
    """Version 2: decisions, sessions and notifications."""
    for table, columns in _COLUMNS.items():
        for column in columns:
            connection.execute(text(f"ALTER TABLE {SCHEMA}.{table} ADD COLUMN IF NOT EXISTS {column}"))
    tables = [schema.approvals, schema.quarantines, schema.samples, schema.notices, schema.sessions, schema.audit]
    schema.METADATA.create_all(connection, tables=tables)


def generators(connection: Connection) -> None:
    """Version 3: generators that workers read."""
    schema.METADATA.create_all(connection, tables=[schema.generation])
