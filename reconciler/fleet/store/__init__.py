"""The database of a fleet: all its I/O with PostgreSQL, except the queue's own."""

from __future__ import annotations

from reconciler.fleet.store.database import FleetDatabase, connected

__all__ = ["FleetDatabase", "connected"]
