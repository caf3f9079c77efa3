"""Waves in the database: a commit reaches the projects of a wave when it did well in all before it, and a bad one only the first."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import func, update

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")

from reconciler.features.health.model import Concern, Sort
from reconciler.fleet.changes import changes
from reconciler.fleet.health import HealthReading, as_data
from reconciler.fleet.model import FleetProject, Repository, SecretReference
from reconciler.fleet.runs.holds import wave_held
from reconciler.fleet.status import Reading, as_data as reading_data
from reconciler.fleet.store import FleetDatabase, projects, schema as tables
from tests.effort import calls

WAVES = 5
SOAK = timedelta(hours=1)
Bad = Callable[[Reading, HealthReading], tuple[Reading, HealthReading]]


def declared(number: int, *, repository: str = "https://git.example.com/x.git", prefix: str = "p") -> dict[str, FleetProject]:
    """Projects in waves of the same size."""
    where = Repository(repository)
    every = [
        FleetProject(f"{prefix}{index}", where, "https://api.example.com", SecretReference("env", "TOKEN"), wave=index * WAVES // number)
        for index in range(number)
    ]
    return {project.name: project for project in every}


def fleet(database: FleetDatabase, named: dict[str, FleetProject]) -> None:
    with database.transaction() as connection:
        projects.write(connection, named, changes(named, projects.stored(connection)))
        projects.revise(connection, "fleet.yaml", "", int(SOAK.total_seconds()), "ada")
        reads(connection, named, Reading("old", managed=1, coverage=1.0), HealthReading(), well=True)


def reads(connection: object, named: object, reading: Reading, checked: HealthReading, *, well: bool) -> None:
    """What runs of these projects read now, and since long ago."""
    values = {
        "reading": reading_data(reading), "read_at": func.now(), "health": as_data(checked), "health_at": func.now(),
        "well_since": func.now() - 2 * SOAK if well else None,
    }  # fmt: skip
    connection.execute(update(tables.projects).where(tables.projects.c.name.in_(list(named))).values(values))  # type: ignore[attr-defined,call-overload]


def rolled_out(database: FleetDatabase, named: dict[str, FleetProject], after: Bad, *, rounds: int, seed: int) -> list[set[str]]:
    """The projects that a new commit reaches, by round; in each, every project runs once."""
    shuffled, reached, applied = random.Random(seed), list[set[str]](), set[str]()
    for _ in range(rounds):
        now = set[str]()
        for name in shuffled.sample(sorted(named), len(named)):
            with database.transaction() as connection:
                if name in applied or wave_held(connection, named[name], "new") is not None:
                    continue
                reading, checked = after(Reading("new", managed=1, coverage=1.0), HealthReading())
                reads(
                    connection,
                    [name],
                    reading,
                    checked,
                    well=(reading, checked) == (Reading("new", managed=1, coverage=1.0), HealthReading()),
                )
                now.add(name)
        applied |= now
        reached.append(now)
    return reached


def drifts(reading: Reading, checked: HealthReading) -> tuple[Reading, HealthReading]:
    return Reading("new", ahead=1, managed=1, coverage=1.0), checked


def breaks(reading: Reading, checked: HealthReading) -> tuple[Reading, HealthReading]:
    return reading, HealthReading((Concern(next(iter(Sort)), "acme/site/docs", "a link is broken"),))


def test_a_good_commit_reaches_one_wave_after_the_other(database: FleetDatabase) -> None:
    named = declared(20)
    fleet(database, named)
    reached = rolled_out(database, named, lambda reading, checked: (reading, checked), rounds=WAVES, seed=3)
    assert set().union(*reached) == set(named)
    done: set[str] = set()
    for now in reached:
        done |= now
        behind = min((named[name].wave for name in named.keys() - done), default=WAVES)
        assert all(named[name].wave <= behind for name in done)


@pytest.mark.parametrize("bad", [drifts, breaks])
@pytest.mark.parametrize("number", [20, pytest.param(1_000, marks=pytest.mark.proof)])
def test_a_bad_commit_reaches_the_first_wave_only(database: FleetDatabase, number: int, bad: Bad) -> None:
    named = declared(number)
    fleet(database, named | declared(1, repository="https://git.example.com/y.git", prefix="other"))
    reached = rolled_out(database, named, bad, rounds=2, seed=5)
    assert set().union(*reached) == {name for name, project in named.items() if project.wave == 0}


def test_looking_at_the_waves_before_takes_as_long_with_many_projects(database: FleetDatabase) -> None:
    def effort(number: int) -> int:
        named = declared(number, prefix=f"n{number}-", repository=f"https://git.example.com/{number}.git")
        fleet(database, named)
        last = max(named.values(), key=lambda project: project.wave)
        with database.transaction() as connection:
            wave_held(connection, last, "new")
            return calls(lambda: wave_held(connection, last, "new"))

    assert effort(400) <= effort(20) + 50
