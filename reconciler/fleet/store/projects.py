"""Projects as rows: stored data, the effect of a fleet file, pauses and requests of people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Integer, RowMapping, case, func, insert, or_, select, text, update

from reconciler.fleet.changes import Changes, Stored
from reconciler.fleet.health import SOON_DEFAULT
from reconciler.fleet.model import FleetProject, as_data, of_data
from reconciler.fleet.people import FOREIGN
from reconciler.fleet.store.admission import ALIVE
from reconciler.fleet.store.schema import projects, revisions, runs, workers

APPLY_LOCK: Final = 0x666C6171


@dataclass(frozen=True)
class ProjectRow:
    """A project and all its facts. `running`: when its present run began; `recovering`: the worker of its last run is dead, whether or not
    that was noticed; `soon`: how many seconds before an expiry people are warned; `now`: the database's time of the reading."""

    id: int
    project: FleetProject
    now: datetime
    next_due: datetime
    orphaned: bool
    failures: int
    paused: bool
    paused_until: datetime | None
    paused_by: str | None
    paused_reason: str | None
    reading: Mapping[str, Any] | None
    read_at: datetime | None
    synced_since: datetime | None
    well_since: datetime | None
    health: Mapping[str, Any] | None
    health_at: datetime | None
    error: str | None
    error_at: datetime | None
    waits: str | None
    applied: str | None
    running: datetime | None = None
    soon: int = SOON_DEFAULT
    recovering: bool = False

    @property
    def is_paused(self) -> bool:
        """Whether a pause is in effect."""
        return self.paused and (self.paused_until is None or self.paused_until > self.now)


def of_row(row: RowMapping) -> ProjectRow:
    names = ProjectRow.__dataclass_fields__.keys() - {"project", "orphaned", "recovering"}
    known = {name: row[name] for name in names}
    return ProjectRow(
        project=of_data(row["spec"]),
        orphaned=row["orphaned_at"] is not None,
        recovering=row["last_ended"] == "lost" or row["silent"],
        **known,
    )


def read(connection: Connection, names: Sequence[str] = ()) -> list[ProjectRow]:
    """Projects by name; all of them, orphaned ones too, without names."""
    running = select(runs.c.started_at).where(runs.c.project == projects.c.id, runs.c.ended_at.is_(None)).limit(1).scalar_subquery()
    last = (
        select(runs.c.ended)
        .where(runs.c.project == projects.c.id, runs.c.ended_at.is_not(None))
        .order_by(runs.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    alive = select(workers.c.id).where(workers.c.id == runs.c.worker, text(ALIVE)).exists()
    silent = (
        select(runs.c.id).where(runs.c.project == projects.c.id, runs.c.ended_at.is_(None), runs.c.started_at.is_not(None), ~alive).exists()
    )
    soon = select(revisions.c.settings["expiresSoon"].astext.cast(Integer)).order_by(revisions.c.id.desc()).limit(1).scalar_subquery()
    more = (func.coalesce(soon, SOON_DEFAULT).label("soon"), running.label("running"), last.label("last_ended"), silent.label("silent"))
    query = select(projects, func.now().label("now"), *more).order_by(projects.c.name)
    if names:
        query = query.where(projects.c.name.in_(names))
    return [of_row(row) for row in connection.execute(query).mappings()]


def stored(connection: Connection) -> dict[str, Stored]:
    """The stored fleet, for the comparison with a fleet file."""
    rows = connection.execute(select(projects.c.name, projects.c.spec, projects.c.orphaned_at))
    return {row.name: Stored(of_data(row.spec), row.orphaned_at is not None) for row in rows}


def claiming(connection: Connection, project: int, name: str) -> str | None:
    """The name of another project that uses the state of `project:` NAME in the same place as this one; None if there is none. Of another
    tenant's it says only that."""
    own = select(projects).where(projects.c.id == project).subquery()
    other = projects.alias()
    same = [other.c.spec[key].is_not_distinct_from(own.c.spec[key]) for key in ("baseUrl", "environment", "state")]
    shown = case((other.c.tenant == own.c.tenant, other.c.name), else_=f"of {FOREIGN}")
    query = select(shown).where(other.c.id != own.c.id, other.c.orphaned_at.is_(None), other.c.spec["project"].astext == name, *same)
    return connection.execute(query.limit(1)).scalar()


def lock(connection: Connection) -> None:
    """Wait until no other fleet file is taking effect."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": APPLY_LOCK})


def hold(connection: Connection, project: int) -> None:
    """Lock a project until the end of this transaction: what people decide on it and what its runs write happens one after the other."""
    connection.execute(select(projects.c.id).where(projects.c.id == project).with_for_update(key_share=True))


def write(connection: Connection, declared: Mapping[str, FleetProject], changes: Changes) -> None:
    """Make the stored fleet the declared one. Removed projects are orphaned."""
    for project in changes.appearing:
        connection.execute(insert(projects).values(name=project.name, **_columns(project)))
    for name in {*changes.changing, *changes.returning}:
        values = {**_columns(declared[name]), "orphaned_at": None, "next_due": func.now(), "failures": 0}
        connection.execute(update(projects).where(projects.c.name == name).values(values))
    for name, project in declared.items():  # a different generator of the same project is not a change
        origin = projects.c.spec["origin"].astext
        connection.execute(update(projects).where(projects.c.name == name, origin != project.origin).values(spec=as_data(project)))
    if changes.vanishing:
        connection.execute(update(projects).where(projects.c.name.in_(changes.vanishing)).values(orphaned_at=func.now()))


def _columns(project: FleetProject) -> dict[str, Any]:
    return {"spec": as_data(project), "tenant": project.tenant, "token": str(project.token), "wave": project.wave}


def revise(connection: Connection, file: str, content: str, soak: int, applied_by: str, settings: Mapping[str, Any] | None = None) -> None:
    """Store a fleet file that takes effect."""
    values = {"file": file, "text": content, "soak": soak, "applied_by": applied_by, "settings": dict(settings or {})}
    connection.execute(insert(revisions).values(values))


def make_due_now(connection: Connection, names: Iterable[str]) -> None:
    """Make projects due now, before others."""
    connection.execute(
        update(projects).where(projects.c.name.in_(list(names))).values(next_due=func.now(), wanted_at=func.now(), failures=0)
    )


def pause(connection: Connection, names: Iterable[str], *, until: datetime | None, by: str, reason: str) -> None:
    values = {"paused": True, "paused_until": until, "paused_by": by, "paused_reason": reason}
    connection.execute(update(projects).where(projects.c.name.in_(list(names))).values(values))


def resume(connection: Connection, names: Iterable[str]) -> None:
    values = {"paused": False, "paused_until": None, "paused_by": None, "paused_reason": None, "next_due": func.now()}
    connection.execute(update(projects).where(projects.c.name.in_(list(names))).values(values))


def clock(connection: Connection) -> datetime:
    """The database's time, at the beginning of the transaction."""
    moment: datetime = connection.execute(select(func.now())).scalar_one()
    return moment


def soak(connection: Connection) -> int:
    """The soak time of the fleet file that took effect last, in seconds."""
    return connection.execute(select(revisions.c.soak).order_by(revisions.c.id.desc()).limit(1)).scalar() or 0


def settings(connection: Connection) -> dict[str, Any]:
    """The settings about people in the last fleet file: references, never secrets."""
    return connection.execute(select(revisions.c.settings).order_by(revisions.c.id.desc()).limit(1)).scalar() or {}


def make_due(
    connection: Connection, repositories: Collection[str], concerns: Callable[[str, str], bool], *, tenants: Collection[str] | None = None
) -> dict[str, list[str]]:
    """Make the projects due whose URL and ref `concerns` matches; returns their names, by tenant. `repositories`: `HOST/PATH`, of which the
    URL has the last part. `tenants`: only projects of these; None for all. Projects that are due already do not change, and failures still
    count. A run in progress may have read the repository before: the project is due again when it ends."""
    url = projects.c.spec["source"]["git"].astext
    ends = {path.rpartition("/")[2] for path in repositories}
    query = select(
        projects.c.id, projects.c.name, projects.c.tenant, url.label("url"), projects.c.spec["source"]["ref"].astext.label("ref")
    )
    query = query.where(projects.c.orphaned_at.is_(None), or_(*(url.icontains(end, autoescape=True) for end in ends)))
    if tenants is not None:
        query = query.where(projects.c.tenant.in_(list(tenants)))
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
