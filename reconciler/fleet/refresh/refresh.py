"""One refresh: claim it, read the generators' lists, compare, make them take effect or say why not."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from reconciler.errors import ConfigError, ReconcilerError
from reconciler.fleet.changes import Changes, changes
from reconciler.fleet.declared import parsed
from reconciler.fleet.generated import generated
from reconciler.fleet.program.budgeted import Budgeted
from reconciler.fleet.program.listing import listing
from reconciler.fleet.refresh import generation
from reconciler.fleet.store import FleetDatabase, audit, projects

MOST_PROJECTS: Final = 20  # projects in a line of the audit log


def refresh(database: FleetDatabase, cache: Path, *, strict: bool = False) -> str | None:
    """Read the generators' lists, if that is due and no other worker does it; a sentence if something changed or is wrong. `strict`: send a
    token only to a service that this machine ties it to."""
    with database.transaction() as connection:
        claimed = generation.claim(connection)
    if claimed is None:
        return None
    try:
        fleet = parsed(claimed.text.encode(), claimed.file)
        listed = listing(fleet, cache, budget=partial(Budgeted, database), strict=strict)
        declared = generated(fleet, listed)
    except ReconcilerError as error:
        return _failed(database, claimed, error)
    with database.transaction() as connection:
        projects.lock(connection)
        if not generation.is_current(connection, claimed):
            return None  # another file took effect meanwhile
        difference = changes(declared, projects.stored(connection))
        if difference.shrinking:
            remedy = f"fleet apply --allow-vanish {len(difference.vanishing)}"
            held = f"{'; '.join(difference.shrinking)}; nothing changes until it does, or: {remedy}"
            generation.end(connection, claimed, held=held)
            return held
        generation.end(connection, claimed)
        if not difference.pending:
            return None
        projects.write(connection, declared, difference)
        _write_down(connection, difference)
    return f"The generators changed the fleet: {_summary(difference)}."


def _failed(database: FleetDatabase, claimed: generation.Claimed, error: ReconcilerError) -> str:
    """Store that the generators could not be read; nothing changes, and they are reread soon."""
    first = str(error.problems[0]) if isinstance(error, ConfigError) and error.problems else error.message
    says = f"the generators cannot be read: {first} [{error.id}]"
    with database.transaction() as connection:
        generation.end(connection, claimed, error=says)
    return says


def _write_down(connection: Connection, difference: Changes) -> None:
    appearing = [project.name for project in difference.appearing]
    groups = {
        "appear": appearing,
        "change": sorted(difference.changing),
        "return": list(difference.returning),
        "vanish": list(difference.vanishing),
    }
    details = {key: {"projects": len(names), "first": names[:MOST_PROJECTS]} for key, names in groups.items() if names}
    audit.write(connection, audit.AuditRecord(audit.SELF, "generate", None, None, details))


def _summary(difference: Changes) -> str:
    parts = [
        (len(difference.appearing), "appears", "appear"),
        (len(difference.changing), "changes", "change"),
        (len(difference.returning), "returns", "return"),
        (len(difference.vanishing), "vanishes", "vanish"),
    ]
    return ", ".join(f"{number} {verb if number == 1 else verbs}" for number, verb, verbs in parts if number)
