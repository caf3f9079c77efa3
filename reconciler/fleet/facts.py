"""What the rows of the database say of a project, as its status wants it. Pure."""

from __future__ import annotations

from reconciler.fleet.status import Facts, Follower, of_data, status
from reconciler.fleet.store.projects import Row


def follower(row: Row) -> Follower:
    """A project as waves see it."""
    facts = facts_of(row)
    commit = facts.reading.commit if facts.reading is not None else None
    return Follower(row.project.name, row.project.wave, status(facts, row.now).word, commit, row.synced_since)


def facts_of(row: Row) -> Facts:
    reading = of_data(row.reading) if row.reading is not None else None
    return Facts(row.project.every, reading, row.read_at, row.error)
