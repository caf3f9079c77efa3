"""Projects as a list: filtered, sorted, counted and paged by PostgreSQL, for one viewer.

The status of a project depends on the time, so no column contains it: STATUS is `reconciler.fleet.status.status` in SQL; a test compares
both. Every query here takes the tenants that the viewer sees; None is every tenant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Date, Float, Integer, and_, case, cast, column, func, literal, not_, or_, select
from sqlalchemy.dialects.postgresql import JSONB

from reconciler.fleet.health import PASSING, SOON_DEFAULT, HealthWord
from reconciler.fleet.model import FleetProject, Mode
from reconciler.fleet.schedule import AHEAD_MAX, STALE_MIN, STALE_TIMES
from reconciler.fleet.status import Cell, StatusWord
from reconciler.fleet.store import projects as rows
from reconciler.fleet.store.projects import ProjectRow
from reconciler.fleet.store.schema import projects, revisions

ORPHANED: Final = "orphaned"
Tenants = Sequence[str] | None

_READING: Final = projects.c.reading
_EVERY: Final = cast(projects.c.spec["every"].astext, Integer)
_AGE: Final = case((projects.c.read_at.is_not(None), func.greatest(func.now() - projects.c.read_at, func.make_interval())))


_STALE: Final = func.make_interval(0, 0, 0, 0, 0, 0, func.greatest(STALE_MIN, STALE_TIMES * _EVERY))


def _number(key: str) -> ColumnElement[int]:
    return func.coalesce(cast(_READING[key].astext, Integer), 0)


STATUS: Final[ColumnElement[str]] = case(
    (or_(func.jsonb_typeof(_READING).is_distinct_from("object"), projects.c.read_at.is_(None)), StatusWord.UNKNOWN.value),
    (projects.c.read_at - func.now() > AHEAD_MAX, StatusWord.UNKNOWN.value),
    (func.make_interval(0, 0, 0, 0, 0, 0, func.greatest(STALE_MIN, STALE_TIMES * _EVERY)) < _AGE, StatusWord.UNKNOWN.value),
    (
        or_(
            _READING["unreadable"] != func.jsonb_build_array(),
            _number("in_doubt") != 0,
            func.coalesce(_READING["new_state"].astext, "") != "",
        ),
        StatusWord.UNKNOWN.value,
    ),
    (or_(*(_number(key) != 0 for key in ("ahead", "drift", "both", "unmanaged"))), StatusWord.OUT_OF_SYNC.value),
    else_=StatusWord.SYNCED.value,
)
"""The status of a project now."""

SHOWN: Final[ColumnElement[str]] = case((projects.c.orphaned_at.is_not(None), ORPHANED), else_=STATUS)
"""The status in a list."""

_CONCERNS: Final = projects.c.health["concerns"]
_CONCERN: Final = func.jsonb_array_elements(
    case((func.jsonb_typeof(_CONCERNS) == "array", _CONCERNS), else_=func.jsonb_build_array())
).table_valued(column("value", JSONB))
_UNTIL: Final = cast(_CONCERN.c.value["until"].astext, Date)
_SOON: Final = select(cast(revisions.c.settings["expiresSoon"].astext, Integer)).order_by(revisions.c.id.desc()).limit(1).scalar_subquery()
_DAYS: Final = cast(func.floor(func.coalesce(_SOON, SOON_DEFAULT) / 86_400.0), Integer)
_TODAY: Final = func.current_date()


def _concerned(matches: ColumnElement[bool]) -> ColumnElement[bool]:
    concerned = select(literal(1)).select_from(_CONCERN).where(matches).correlate(projects).exists()
    # Most projects have none, and a subquery for each takes longer than the rest of the page.
    return and_(_CONCERNS.is_distinct_from(func.jsonb_build_array()), concerned)


HEALTH: Final[ColumnElement[str]] = case(
    (or_(func.jsonb_typeof(projects.c.health).is_distinct_from("object"), projects.c.health_at.is_(None)), HealthWord.UNKNOWN.value),
    (_concerned(or_(_UNTIL.is_(None), _UNTIL < _TODAY)), HealthWord.BROKEN.value),
    (projects.c.health["unread"] != func.jsonb_build_array(), HealthWord.UNKNOWN.value),
    (func.now() - projects.c.health_at > _STALE, HealthWord.UNKNOWN.value),
    (_concerned(_UNTIL <= _TODAY + _DAYS), HealthWord.WARNING.value),
    else_=HealthWord.HEALTHY.value,
)
"""The health of a project now: `reconciler.fleet.health.health` in SQL."""


def _ranked(column: ColumnElement[str], order: Sequence[str]) -> ColumnElement[int]:
    return case(*((column == word, rank) for rank, word in enumerate(order)), else_=len(order))


SORTS: Final[Mapping[str, ColumnElement[Any]]] = {
    "name": projects.c.name,
    "tenant": projects.c.tenant,
    "status": _ranked(SHOWN, (*StatusWord, ORPHANED)),
    "health": _ranked(HEALTH, tuple(HealthWord)),
    "age": projects.c.read_at,
    "coverage": cast(_READING["coverage"].astext, Float),
    "mode": _ranked(projects.c.spec["mode"].astext, tuple(Mode)),
}
"""The sort orders of a list; names break ties."""


@dataclass(frozen=True)
class ProjectSelection:
    """The filters and the order. "": unfiltered. `status`: a status, or `orphaned`. `text`: a part of the name, of the tenant, of the
    repository's URL or of an error, case-insensitive."""

    text: str = ""
    status: str = ""
    health: str = ""
    tenant: str = ""
    mode: str = ""
    sort: str = "status"
    descending: bool = False
    offset: int = 0
    limit: int = 50


@dataclass(frozen=True)
class ListedProjects:
    """One page of a list. `matching`: the number that match; `counts`: the numbers that match without the filter on status, by status;
    `total`: the number that the viewer sees."""

    rows: Sequence[ProjectRow]
    matching: int
    total: int
    counts: Mapping[str, int]


def visible(tenants: Tenants) -> ColumnElement[bool]:
    """Whether a viewer of these tenants sees a project."""
    return projects.c.tenant.in_(list(tenants)) if tenants is not None else literal(True)


def listed(connection: Connection, selection: ProjectSelection, tenants: Tenants) -> ListedProjects:
    """The requested page."""
    matches = and_(visible(tenants), *_filters(selection))
    counted = select(SHOWN.label("word"), func.count().label("number")).where(matches).group_by("word")
    counts = {row.word: row.number for row in connection.execute(counted)}
    total = connection.execute(select(func.count()).select_from(projects).where(visible(tenants))).scalar_one()
    order = SORTS.get(selection.sort, SORTS["status"])
    query = select(projects.c.name).where(matches, SHOWN.in_([selection.status]) if selection.status else literal(True))
    query = query.order_by(order.desc().nulls_last() if selection.descending else order.asc().nulls_last(), projects.c.name)
    names = list(connection.execute(query.offset(selection.offset).limit(selection.limit)).scalars())
    by_name = {row.project.name: row for row in rows.read(connection, names)} if names else {}
    matching = counts.get(selection.status, 0) if selection.status else sum(counts.values())
    return ListedProjects([by_name[name] for name in names if name in by_name], matching, total, counts)


def _filters(selection: ProjectSelection) -> Sequence[ColumnElement[bool]]:
    filters: list[ColumnElement[bool]] = []
    if selection.text:
        spec, part = projects.c.spec["source"]["git"].astext, selection.text
        texts = (projects.c.name, projects.c.tenant, spec, projects.c.error, projects.c.waits, _READING["unreadable"].astext)
        filters.append(or_(*(func.coalesce(column, "").icontains(part, autoescape=True) for column in texts)))
    if selection.tenant:
        filters.append(projects.c.tenant == selection.tenant)
    if selection.mode:
        filters.append(projects.c.spec["mode"].astext == selection.mode)
    if selection.health:
        filters.append(HEALTH.in_([selection.health]))
    return filters


def find(connection: Connection, name: str, tenants: Tenants) -> ProjectRow | None:
    """A project that the viewer sees; None if there is none."""
    if connection.execute(select(projects.c.id).where(projects.c.name == name, visible(tenants))).first() is None:
        return None
    return next(iter(rows.read(connection, [name])), None)


def tenants_of(connection: Connection, tenants: Tenants) -> list[str]:
    """The tenants of all projects that the viewer sees."""
    return list(connection.execute(select(projects.c.tenant).where(visible(tenants)).distinct().order_by(projects.c.tenant)).scalars())


def cells(connection: Connection, tenants: Tenants) -> list[Cell]:
    """Every project that the viewer sees."""
    paused = and_(projects.c.paused, or_(projects.c.paused_until.is_(None), projects.c.paused_until > func.now()))
    query = select(
        projects.c.name,
        projects.c.tenant,
        projects.c.wave,
        STATUS.label("status"),
        cast(func.extract("epoch", _AGE), Integer).label("age"),
        _EVERY.label("every"),
        not_(projects.c.orphaned_at.is_(None)).label("orphaned"),
        paused.label("paused"),
        HEALTH.label("health"),
    )
    rows_of_cells = connection.execute(query.where(visible(tenants)).order_by(projects.c.name))
    return [Cell(*row)._replace(status=StatusWord(row.status), health=HealthWord(row.health)) for row in rows_of_cells]


def behind(connection: Connection, project: FleetProject, commit: str, soak: timedelta) -> ProjectRow | None:
    """The first project of an earlier wave of the same repository that is not Synced at a commit and healthy for the soak time."""
    well = and_(
        STATUS.in_([StatusWord.SYNCED.value]),
        projects.c.reading["commit"].astext == commit,
        HEALTH.in_([word.value for word in PASSING]),
        projects.c.well_since <= func.now() - soak,
    )
    query = (
        select(projects.c.name)
        .where(
            projects.c.wave < project.wave,
            projects.c.orphaned_at.is_(None),
            projects.c.spec["source"]["git"].astext == project.source.git,
            not_(func.coalesce(well, False)),
        )
        .order_by(projects.c.wave, projects.c.name)
        .limit(1)
    )
    name = connection.execute(query).scalar()
    return rows.read(connection, [name])[0] if name is not None else None
