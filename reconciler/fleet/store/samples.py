"""The numbers of readings over time: one row for each reading, thinned after a week and deleted after 90 days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, insert, text

from reconciler.fleet.status import Reading, Sample, StatusWord
from reconciler.fleet.store.schema import SCHEMA, samples

KEPT: Final = timedelta(days=90)
WHOLE: Final = timedelta(days=7)  # in which every reading is kept; before it, the last one of each hour
THINNED: Final = timedelta(days=2)  # before that, in which rows are still checked: older ones were thinned by an earlier hour
POINTS: Final = 200

# The worst status of an interval, the largest numbers, the lowest coverage. An interval without a reading has no row.
_COLUMNS: Final = """
  CASE min(CASE status WHEN 'Unknown' THEN 0 WHEN 'OutOfSync' THEN 1 ELSE 2 END) WHEN 0 THEN 'Unknown' WHEN 1 THEN 'OutOfSync'
    ELSE 'Synced' END AS status,
  max(ahead) AS ahead, max(drift) AS drift, max(unmanaged) AS unmanaged, min(coverage) AS coverage"""
_CHART: Final = text(f"""
SELECT date_bin(CAST(:step AS interval), at - interval '1 microsecond', now() - CAST(:since AS interval)) AS at, {_COLUMNS}
FROM {SCHEMA}.samples WHERE project = :project AND at > now() - CAST(:since AS interval) GROUP BY 1 ORDER BY 1
""")  # noqa: S608  the schema's name is a constant
_HEAT: Final = text(f"""
SELECT s.project, date_bin(CAST(:step AS interval), s.at - interval '1 microsecond', now() - CAST(:since AS interval)) AS at, {_COLUMNS}
FROM {SCHEMA}.samples s WHERE s.project = ANY(CAST(:projects AS int[])) AND s.at > now() - CAST(:since AS interval)
GROUP BY 1, 2 ORDER BY 1, 2
""")  # noqa: S608
_THIN: Final = text(f"""
DELETE FROM {SCHEMA}.samples s USING (
  SELECT project, date_trunc('hour', at) AS hour, max(at) AS last FROM {SCHEMA}.samples
  WHERE at < date_trunc('hour', now() - CAST(:whole AS interval))
    AND at >= date_trunc('hour', now() - CAST(:whole AS interval) - CAST(:thinned AS interval))
  GROUP BY 1, 2 HAVING count(*) > 1
) h WHERE s.project = h.project AND s.at >= h.hour AND s.at < h.last
""")  # noqa: S608
_DELETE: Final = text(f"DELETE FROM {SCHEMA}.samples WHERE at < now() - CAST(:kept AS interval)")  # noqa: S608


def write(connection: Connection, project: int, word: StatusWord, reading: Reading) -> None:
    """Store the numbers of a reading. Changes by both the commit and others count for both."""
    counts = {"ahead": reading.ahead + reading.both, "drift": reading.drift + reading.both, "unmanaged": reading.unmanaged}
    connection.execute(insert(samples).values(project=project, status=word.value, coverage=reading.coverage, **counts))


def chart(connection: Connection, project: int, since: timedelta, *, points: int = POINTS) -> list[Sample]:
    """A project's readings since some time ago, in at most so many intervals; intervals without a reading are left out."""
    rows = connection.execute(_CHART, {"project": project, "since": since, "step": since / points})
    return [Sample(**{**row, "status": StatusWord(row["status"])}) for row in rows.mappings()]


def heat(connection: Connection, projects: Sequence[int], since: timedelta, *, columns: int = 48) -> dict[int, list[Sample]]:
    """The same for several projects, by their ids, for a picture with so many columns."""
    rows = connection.execute(_HEAT, {"projects": list(projects), "since": since, "step": since / columns})
    points: dict[int, list[Sample]] = {project: [] for project in projects}
    for row in rows.mappings():
        points[row["project"]].append(
            Sample(row["at"], StatusWord(row["status"]), row["ahead"], row["drift"], row["unmanaged"], row["coverage"])
        )
    return points


def tidy(connection: Connection) -> None:
    """Delete old rows, and all but the last reading of each hour after a week. To be called every hour."""
    connection.execute(_DELETE, {"kept": KEPT})
    connection.execute(_THIN, {"whole": WHOLE, "thinned": THINNED})
