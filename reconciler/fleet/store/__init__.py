"""The database of a fleet: its only I/O with PostgreSQL beside the queue's own."""

from __future__ import annotations

from reconciler.fleet.store.database import FleetDatabase, connected

__all__ = ["FleetDatabase", "connected"]
