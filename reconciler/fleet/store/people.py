"""Who logged in, as the provider described them last, and the directory of a fleet."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from reconciler.fleet.people import Directory, Identity
from reconciler.fleet.people.directory import SeenPerson, of_settings
from reconciler.fleet.store import projects
from reconciler.fleet.store.schema import people


def see(connection: Connection, identity: Identity, name: str, values: Collection[str]) -> None:
    """Store what a provider says about somebody now. Addresses that it no longer says are not theirs any more."""
    described = {"name": name, "addresses": sorted(identity.addresses), "values": sorted(values), "seen_at": func.now()}
    statement = upsert(people).values(issuer=identity.issuer, subject=identity.subject, **described)
    connection.execute(statement.on_conflict_do_update(index_elements=[people.c.issuer, people.c.subject], set_=described))


def directory(connection: Connection) -> Directory:
    """What the fleet file and the provider say about people now."""
    rows = connection.execute(select(people.c.issuer, people.c.subject, people.c.addresses, people.c["values"]))
    seen = [SeenPerson(Identity(row[0], row[1], frozenset(row[2])), frozenset(row[3])) for row in rows]
    return of_settings(projects.settings(connection), seen)
