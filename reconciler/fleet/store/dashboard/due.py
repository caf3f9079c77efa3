"""Projects that are due because their repository changed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy import Connection, case, func, or_, select, update

from reconciler.fleet.store.schema import projects, runs


def by_source(connection: Connection, repositories: Collection[str], concerns: Callable[[str, str], bool]) -> dict[str, list[str]]:
    """Make the projects due whose URL and ref `concerns` matches; returns their names, by tenant. `repositories`: `HOST/PATH`, of which the
    URL has the last part. Projects that are due already do not change, and failures still count, so a repeated push changes nothing. A
    run in progress may have read the repository before: the project is due again when it ends."""
    url = projects.c.spec["source"]["git"].astext
    ends = {path.rpartition("/")[2] for path in repositories}
    query = select(
        projects.c.id, projects.c.name, projects.c.tenant, url.label("url"), projects.c.spec["source"]["ref"].astext.label("ref")
    )
    query = query.where(projects.c.orphaned_at.is_(None), or_(*(url.icontains(end, autoescape=True) for end in ends)))
    rows = [row for row in connection.execute(query) if concerns(row.url, row.ref)]
    if rows:
        ids = [row.id for row in rows]
        under_way = select(runs.c.id).where(runs.c.project == projects.c.id, runs.c.ended_at.is_(None)).exists()
        soon = case((under_way, func.now()), else_=func.least(projects.c.next_due, func.now()))
        connection.execute(update(projects).where(projects.c.id.in_(ids)).values(next_due=soon))
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.tenant, []).append(row.name)
    return names
