"""The facts about a project in its database rows, as its status needs them. Pure."""

from __future__ import annotations

from reconciler.fleet import health as healths
from reconciler.fleet.health import ProjectHealth
from reconciler.fleet.model import Mode
from reconciler.fleet.status import Follower, ProjectFacts, of_data, status
from reconciler.fleet.store.projects import ProjectRow


def follower(row: ProjectRow) -> Follower:
    """A project as the waves compare it."""
    facts = facts_of(row)
    commit = facts.reading.commit if facts.reading is not None else None
    return Follower(row.project.name, row.project.wave, status(facts, row.now).word, health_of(row), commit, row.well_since)


def health_of(row: ProjectRow) -> ProjectHealth:
    """The health of a project at the database's time."""
    checked = healths.of_data(row.health) if row.health is not None else None
    return healths.health(checked, row.health_at, row.now, every=row.project.every, soon=row.soon)


def facts_of(row: ProjectRow) -> ProjectFacts:
    reading = of_data(row.reading) if row.reading is not None else None
    return ProjectFacts(row.project.every, reading, row.read_at, row.error)


def is_unverified(row: ProjectRow) -> bool:
    """Whether the last run applied everything it had read, so that the status is known only after the next one, which is due at once."""
    reading = facts_of(row).reading
    applies = row.project.mode is Mode.APPLY and not row.orphaned and not row.is_paused
    done = applies and row.waits is None and row.error is None
    return done and reading is not None and bool(reading.ahead) and row.applied == reading.commit
