"""Changes that a person undid, which are not applied until somebody allows it, or no plan contains them any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, insert, select, update

from reconciler.fleet.model import Quarantine as Quarantine
from reconciler.fleet.store.schema import quarantines


def quarantine(connection: Connection, project: int, new: Quarantine) -> None:
    """Store a quarantine; does nothing if one of the same run of `undo` was stored before, lifted or not."""
    same = select(quarantines.c.id).where(quarantines.c.project == project, quarantines.c.undone_by == new.undone_by)
    if connection.execute(same).first() is None:
        connection.execute(
            insert(quarantines).values(project=project, commit=new.commit, addresses=sorted(new.addresses), undone_by=new.undone_by)
        )


def known(connection: Connection, project: int) -> set[str]:
    """The runs of `undo` with a quarantine, lifted ones too."""
    return set(connection.execute(select(quarantines.c.undone_by).where(quarantines.c.project == project)).scalars())


def opened(connection: Connection, projects: Sequence[int]) -> dict[int, list[Quarantine]]:
    """The quarantines in effect, by project, oldest first."""
    query = (
        select(quarantines).where(quarantines.c.project.in_(list(projects)), quarantines.c.lifted_at.is_(None)).order_by(quarantines.c.id)
    )
    held: dict[int, list[Quarantine]] = {}
    for row in connection.execute(query):
        held.setdefault(row.project, []).append(Quarantine(row.commit, tuple(row.addresses), row.undone_by, row.at, row.id))
    return held


def lift(connection: Connection, ids: Collection[int], *, by: str) -> None:
    """End quarantines. `by`: a person, or why they ended by themselves."""
    if ids:
        ended = update(quarantines).where(quarantines.c.id.in_(list(ids)), quarantines.c.lifted_at.is_(None))
        connection.execute(ended.values(lifted_at=func.now(), lifted_by=by))
