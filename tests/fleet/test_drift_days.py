"""Days of edits in a fleet in simulated time: one message for each, within two intervals, while workers die and the notifier is away."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")

from sqlalchemy import func, select

from reconciler.features.drift.model import DriftClass
from reconciler.fleet import drift_groups
from reconciler.fleet.drift_groups import FleetDriftGroup
from reconciler.fleet.status import Reading, of_data
from reconciler.fleet.store import notices, projects, runs, schema as tables
from reconciler.text.names import utc_text
from tests.fleet.simulated import Fleet, Service, project
from tests.proofs import costly, proof

DAY, ZONE = 86_400.0, ZoneInfo("Europe/Berlin")
EVERY = 3_600
PATIENCE = 1_200  # seconds: a day is short, so that a worker need not say every 20 s that it lives
DELIVERING = 600  # seconds between looks for messages that are due; each look costs as much as a step of a run
CLASSES = (DriftClass.EXPOSING, DriftClass.DELETING, DriftClass.BREAKING_URLS, DriftClass.COSMETIC, DriftClass.COSMETIC)


class Edited(Fleet):
    """A fleet whose organizations people edit. `edits`: when each was made, and its class; `there`: what differs now, by project."""

    def __init__(self, url: str, *, seed: int) -> None:
        super().__init__(url, Service({"TOKEN": 1_000_000}), seed=seed)
        self.edits: dict[str, tuple[float, DriftClass]] = {}
        self.there: dict[str, list[str]] = {}
        self.told: dict[str, float] = {}
        self.messages: Counter[str] = Counter()
        self.away = False

    def edit(self) -> None:
        name = self.random.choice(sorted(self.there))
        id = f"{len(self.edits):012x}"
        self.edits[id] = (self.time, self.random.choice(CLASSES))
        self.there[name].append(id)

    def reading(self, begun: runs.BegunRun) -> Reading:
        """As `work` does it: the groups of now, bounded by the reading of before."""
        now = datetime.fromtimestamp(self.time, UTC)
        groups = [
            FleetDriftGroup(id, self.edits[id][1].value, f"edit {id}", (f"a/space/{id}",), before=utc_text(now))
            for id in self.there[begun.project.name]
        ]
        with self.database.transaction() as connection:
            row = projects.read(connection, [begun.project.name])[0]
        before = of_data(row.reading) if row.reading is not None else None
        bounded = drift_groups.bounded(
            groups, before.groups if before is not None else (), read_at=row.read_at if before is not None else None
        )
        return replace(super().reading(begun), drift=len(groups), groups=bounded)

    def deliver(self) -> None:
        """A worker that sends every message that is due; while the notifier is away it fails."""
        while True:
            with self.database.transaction() as connection:
                notice = notices.take(connection)
                if notice is None:
                    return
                if self.away:
                    notices.failed(connection, notice, "the notifier is away")
                    return
                notices.sent(connection, notice)
            id = notice.text.partition("edit ")[2][:12]
            if id in self.edits:
                self.messages[id] += 1
                self.told.setdefault(id, self.time)


def days(url: str, number: int, edits: int, projects_number: int, *, seed: int) -> Edited:
    fleet = Edited(url, seed=seed)
    declared = [project(f"acme-{index}", "acme", "TOKEN", every=EVERY, requests=1) for index in range(projects_number)]
    fleet.there = {one.name: [] for one in declared}
    fleet.declare(declared)
    with fleet.database.transaction() as connection:
        target = {"url": "env:NOTIFY", "on": ["outOfSync"], "tenants": None}
        settings = {"notifications": [target], "notify": {"cosmetic": "08:00", "zone": "Europe/Berlin"}}
        projects.revise(connection, "fleet.yaml", "", 0, "ada", settings)
    for _ in range(2):
        fleet.start(concurrency=4, patience=PATIENCE)

    def death() -> None:
        fleet.kill(fleet.random.choice(sorted(fleet.workers)))
        fleet.at(60, lambda: fleet.start(concurrency=4, patience=PATIENCE))  # type: ignore[func-returns-value]

    def outage() -> None:
        fleet.away = True
        fleet.at(2 * 3_600, lambda: setattr(fleet, "away", False))

    fleet.every(10, fleet.admit)
    fleet.every(PATIENCE / 2, fleet.live)
    fleet.every(PATIENCE / 2, fleet.recover)
    fleet.every(DELIVERING, fleet.deliver)
    fleet.every(0.4 * DAY, death)
    fleet.every(0.7 * DAY, outage)
    for _ in range(edits):
        fleet.at(fleet.random.uniform(2 * EVERY, (number - 1.5) * DAY), fleet.edit)
    fleet.work(number * DAY)
    return fleet


def judged(fleet: Edited) -> None:
    """Each edit has exactly one message: within two intervals of being found, plus an outage; of a cosmetic one in the morning."""
    assert set(fleet.messages.values()) == {1}
    assert fleet.messages.keys() == fleet.edits.keys(), "none is lost"
    with fleet.database.transaction() as connection:
        found = {group.id: group for row in connection.execute(select(tables.projects.c.reading)) for group in of_data(row.reading).groups}
        waiting = connection.execute(select(func.count()).where(tables.notices.c.sent_at.is_(None))).scalar()
    assert waiting == 0
    for id, (made_at, drift_class) in fleet.edits.items():
        after, before = (datetime.fromisoformat(str(text)).timestamp() for text in (found[id].after, found[id].before))
        assert after - 1 <= made_at <= before + 1, "it happened between its bounds"
        assert before - made_at <= 2 * EVERY, "it is found within two intervals"
        if drift_class is DriftClass.COSMETIC:
            local = datetime.fromtimestamp(fleet.told[id], tz=ZONE)
            assert time(8) <= local.time() <= time(12), "silent until the morning"
        else:
            assert fleet.told[id] - before <= 4 * 3_600, "at once, or after the notifier is back"


@costly
def test_two_days_of_edits(fleet_url: str) -> None:
    fleet = days(fleet_url, 2, 8, 1, seed=1)
    judged(fleet)
    fleet.database.close()


@proof
@pytest.mark.timeout(3_600)
def test_thirty_days_with_two_hundred_edits(fleet_url: str) -> None:
    fleet = days(fleet_url, 30, 200, 3, seed=2)
    judged(fleet)
    fleet.database.close()
