"""A day of a fleet in simulated time: nothing is run twice at once, no token sends more than it may, readings are fresh, tenants are quiet
neighbours, and workers die."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")

from reconciler.fleet.store import projects
from tests.fleet.simulated import Fleet, Service, percentile, project
from tests.proofs import costly

HOUR = 3_600.0
EVERY = 1_800  # seconds; the limit of the noisy tenant allows a reading of each project an hour


@dataclass(frozen=True)
class Size:
    """How many projects: `noisy`: of a tenant that wants more than its limit allows; `others`: of ten tenants; `quiet`: of the tenant that
    is watched. `requests`: of a run."""

    noisy: int
    others: int
    quiet: int
    hours: int
    requests: int


SMALL = Size(noisy=12, others=0, quiet=2, hours=3, requests=4)
THOUSAND = Size(noisy=600, others=390, quiet=10, hours=24, requests=3)


def day(url: str, size: Size, *, seed: int) -> Fleet:
    tokens = {"NOISY": size.noisy * size.requests + 2, "QUIET": 100_000, **{f"TOKEN_{number}": 20_000 for number in range(10)}}
    fleet = Fleet(url, Service(tokens), seed=seed)
    shape = {"every": EVERY, "requests": size.requests}
    noisy = [project(f"noisy-{number}", "noisy", "NOISY", **shape) for number in range(size.noisy)]
    others = [project(f"other-{number}", f"tenant-{number % 10}", f"TOKEN_{number % 10}", **shape) for number in range(size.others)]
    quiet = [project(f"quiet-{number}", "quiet", "QUIET", **shape) for number in range(size.quiet)]
    fleet.declare([*noisy, *others, *quiet])
    for _ in range(4):
        fleet.start(concurrency=4)

    def wish() -> None:
        with fleet.database.transaction() as connection:
            projects.make_due_now(connection, [project.name for project in noisy])
        fleet.next_due = None

    def death() -> None:
        fleet.kill(fleet.random.choice(sorted(fleet.workers)))
        fleet.at(60, lambda: fleet.start(concurrency=4))  # type: ignore[func-returns-value]

    fleet.every(0.5, fleet.admit)
    fleet.every(20, fleet.live)
    fleet.every(20, fleet.recover)
    fleet.every(300, fleet.look)
    fleet.every(0.7 * HOUR, wish)
    fleet.every(0.9 * HOUR, death)
    fleet.work(2 * HOUR)  # every project was read by now
    fleet.ages.clear()
    fleet.work((size.hours - 2) * HOUR)
    fleet.database.close()
    return fleet


def judged(fleet: Fleet) -> None:
    assert (fleet.twice, fleet.service.beyond) == ([], 0)
    for token, ages in fleet.ages.items():
        allowed = HOUR if token == "env:NOISY" else EVERY
        assert percentile(ages, 0.99) <= 2 * allowed, token
    assert max(fleet.delays["quiet"]) < 5
    assert fleet.lost <= 16 * fleet.deaths


@costly
def test_three_hours_of_a_small_fleet(fleet_url: str) -> None:
    fleet = day(fleet_url, SMALL, seed=1)
    judged(fleet)
    assert fleet.deaths == 3


@pytest.mark.proof
@pytest.mark.timeout(7_200)
def test_a_day_of_a_thousand_organizations(fleet_url: str) -> None:
    fleet = day(fleet_url, THOUSAND, seed=2)
    ages = {token: round(percentile(ages, 0.99)) for token, ages in sorted(fleet.ages.items())}
    print(f"{fleet.ended} runs, {fleet.lost} lost with {fleet.deaths} workers, {fleet.service.requests} requests")
    print(f"99 % of readings are younger than {ages} s; a quiet tenant waited {max(fleet.delays['quiet']):.1f} s at most")
    judged(fleet)
    assert fleet.ended > 24 * 1_000
    assert fleet.lost > 0
