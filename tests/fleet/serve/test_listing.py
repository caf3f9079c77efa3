"""Lists by PostgreSQL: the words agree with the pure functions, and every tenant sees its own."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import timedelta
from typing import Any

from sqlalchemy import Text, cast, func, insert, select, update

from reconciler.fleet.facts import health_of
from reconciler.fleet.model import as_data
from reconciler.fleet.reports import status_of
from reconciler.fleet.status import Reading, as_data as reading_data
from reconciler.fleet.store import FleetDatabase, projects, schema as tables
from reconciler.fleet.store.dashboard import listing
from reconciler.fleet.store.dashboard.listing import ProjectSelection
from tests.fleet.serve.served import declare, project
from tests.proofs import tries

AGES = (0, 1, 299, 300, 301, 899, 900, 901, 1_799, 1_800, 1_801, -60, -900)
NUMBERS = (0, 0, 0, 0, 1, 7)


def reading(dice: random.Random) -> dict[str, Any] | None:
    if dice.random() < 0.1:
        return None
    numbers = {name: dice.choice(NUMBERS) for name in ("ahead", "drift", "both", "unmanaged", "in_doubt")}
    unreadable = dice.choice(((), (), (), ("site: 403 100 % _",)))
    made = reading_data(Reading("c0ffee", **numbers, unreadable=unreadable, new_state=dice.choice(("", "", "", "never seen"))))
    return made | {"coverage": dice.choice((None, 0.0, 0.25, 1.0))}


def health(dice: random.Random, today: Any) -> dict[str, Any] | None:
    if dice.random() < 0.2:
        return None
    days = dice.sample((-1, 0, 1, 9, 10, 11, None), dice.choice((0, 0, 1, 2)))
    untils = [(today + timedelta(days=day)).isoformat() if day is not None else None for day in days]
    concerns = [{"sort": "expiry", "address": "a/b", "sentence": "ends", "until": until} for until in untils]
    return {"concerns": concerns, "unread": dice.choice(([], [], ["site"])), "more": 0}


def fill(database: FleetDatabase, number: int, dice: random.Random) -> None:
    """Projects in every condition."""
    declare(database, settings={"expiresSoon": 10 * 86_400 + 80_000})
    with database.transaction() as connection:
        today = connection.execute(select(func.now())).scalar_one().date()
        rows = []
        for index in range(number):
            made = project(f"p{index:05}", every=dice.choice((10, 100, 300, 600)), tenant=dice.choice("abc"), wave=dice.choice((0, 1)))
            at = func.now() - timedelta(seconds=dice.choice(AGES))
            rows.append({
                "name": made.name, "spec": as_data(made), "tenant": made.tenant, "token": "env:T", "wave": made.wave,
                "orphaned_at": func.now() if dice.random() < 0.1 else None, "error": dice.choice((None, None, "the token was refused")),
                "reading": reading(dice), "read_at": at if dice.random() < 0.9 else None,
                "health": health(dice, today), "health_at": at,
            })  # fmt: skip
        for row in rows:
            connection.execute(insert(tables.projects).values(row))


def test_the_status_and_the_health_in_sql_are_those_of_the_pure_functions(database: FleetDatabase) -> None:
    dice = random.Random(20)
    fill(database, tries(3_000, 250), dice)
    with database.transaction() as connection:
        rows = projects.read(connection)
        words = (tables.projects.c.name, listing.STATUS, listing.SHOWN, listing.HEALTH)
        said = {row[0]: tuple(row[1:]) for row in connection.execute(select(*words))}
        expected = {
            row.project.name: (
                status_of(row).word.value,
                "orphaned" if row.orphaned else status_of(row).word.value,
                health_of(row).word.value,
            )
            for row in rows
        }
        assert said == expected
        assert len(Counter(said.values())) > 10
        everything = listing.listed(connection, ProjectSelection(limit=10_000), None)
        assert everything.counts == Counter(shown for _, shown, _ in expected.values())
        assert [cell.status for cell in listing.cells(connection, None)] == [said[row.project.name][0] for row in rows]
        for _ in range(tries(60, 15)):
            tenants = dice.choice((None, (), ("a",), ("b", "c")))
            chosen = ProjectSelection(
                text=dice.choice(("", "", "", "P00", "100 % _", "refused")), tenant=dice.choice(("", "", "a")),
                status=dice.choice(("", "Synced", "OutOfSync", "Unknown", "orphaned")), mode=dice.choice(("", "watch", "apply")),
                health=dice.choice(("", "", "Broken", "Warning", "Unknown", "Healthy")), sort=dice.choice(list(listing.SORTS)),
                descending=dice.random() < 0.5, limit=10_000,
            )  # fmt: skip
            made = listing.listed(connection, chosen, tenants)
            matching = [row for row in rows if _matches(row, expected[row.project.name], chosen, tenants)]
            names = [row.project.name for row in made.rows]
            assert (sorted(names), made.matching) == ([row.project.name for row in matching], len(matching))
            half = dice.randrange(1, 40)
            parts = [listing.listed(connection, _paged(chosen, offset, half), tenants).rows for offset in (0, half)]
            assert [row.project.name for part in parts for row in part] == names[: 2 * half]
            if chosen.sort == "name":
                assert names == sorted(names, reverse=chosen.descending)


def _words(row: projects.ProjectRow) -> tuple[str, str, str]:
    word = status_of(row).word.value
    return word, "orphaned" if row.orphaned else word, health_of(row).word.value


def _paged(chosen: ProjectSelection, offset: int, limit: int) -> ProjectSelection:
    return ProjectSelection(**{**vars(chosen), "offset": offset, "limit": limit})


def _matches(row: projects.ProjectRow, words: tuple[str, str, str], chosen: ProjectSelection, tenants: tuple[str, ...] | None) -> bool:
    texts = [row.project.name, row.project.tenant, row.project.source.git, row.error or "", *(row.reading or {}).get("unreadable", ())]
    return (
        (tenants is None or row.project.tenant in tenants)
        and chosen.status in ("", words[1])
        and chosen.health in ("", words[2])
        and chosen.tenant in ("", row.project.tenant)
        and chosen.mode in ("", row.project.mode)
        and any(chosen.text.lower() in text.lower() for text in texts)
    )


def test_a_page_of_ten_thousand_projects_takes_less_than_a_second(database: FleetDatabase) -> None:
    fill(database, 100, random.Random(7))
    with database.transaction() as connection:
        table = tables.projects
        columns = [column for column in table.c if column.name not in ("id", "name", "scope", "spec")]
        numbers = select(func.generate_series(1, 99).label("number")).subquery()
        name = table.c.name + "-" + cast(numbers.c.number, Text)
        spec = func.jsonb_set(table.c.spec, ["name"], func.to_jsonb(name))
        many = select(name, spec, *columns).select_from(table.join(numbers, numbers.c.number > 0))
        connection.execute(insert(table).from_select(["name", "spec", *(column.name for column in columns)], many))
        assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 10_000
        connection.execute(update(table).values(waits="the plan needs approvals: delete (2)"))
    took = []
    for chosen in (
        ProjectSelection(),
        ProjectSelection(status="Unknown", health="Broken", text="p0", sort="coverage", descending=True, offset=500),
    ):
        with database.transaction() as connection:
            begun = time.perf_counter()
            assert len(listing.listed(connection, chosen, ("a", "b")).rows) == 50
            took.append(time.perf_counter() - begun)
    assert min(took) < 1, took
