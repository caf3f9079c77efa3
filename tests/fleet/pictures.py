"""The dashboard as pictures, with as many projects as you like on a real PostgreSQL server, and how long its pages take.

    python -m tests.fleet.pictures FOLDER [--projects 10000] [--pages list,overview]

writes a picture of each page, light, dark and on a phone, and prints how long each page takes: the server's answer over HTTP, the
median and the longest of 20, and the whole page in Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import insert, select, update

from reconciler.fleet.approvals import Decision
from reconciler.fleet.model import ChangeClass, Mode, Repository, as_data
from reconciler.fleet.status import Reading, as_data as reading_data
from reconciler.fleet.store import FleetDatabase, approvals, connected, schema as tables
from reconciler.fleet.worker import ready
from tests import browser
from tests.fleet.pages import samples
from tests.fleet.serve.served import PERSON, declare, project, served
from tests.fleet.storm.machines import Postgres

BUSY: Final = "globex-docs"  # the project with a plan, approvals, a history and a chart
PAGES: Final = {
    "list": "/", "list-outofsync": "/?status=OutOfSync", "overview": "/overview", "project": f"/projects/{BUSY}", "calendar": "/calendar",
    "audit": "/audit",
}  # fmt: skip
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "narrow": {"color_scheme": "light", "viewport": {"width": 360, "height": 800}},
}
TIMES: Final = 20
TENANTS: Final = 60
COMMIT: Final = "4c1d9e0f2ab3445566778899aabbccddeeff0011"


def fill(database: FleetDatabase, number: int) -> None:
    """A fleet as it might be: most is as declared, some is not, some ends soon, and one project has everything that a page can show."""
    dice = random.Random(20)
    declare(database, settings={"generators": {"every": 600, "repositories": []}})
    now = datetime.now(UTC)
    rows = [_row(dice, index, number, now) for index in range(number)]
    rows[0] |= {"name": BUSY, "tenant": "globex", "reading": _reading(dice, "OutOfSync"), "orphaned_at": None}
    rows[0]["spec"] = as_data(project(BUSY, tenant="globex", mode=Mode.APPLY, origin="generator 1 (directories)"))
    rows[0]["waits"] = "the plan needs approvals: create (1 person), delete (2), exposure (2)"
    with database.transaction() as connection:
        connection.execute(insert(tables.projects), rows)
        busy = connection.execute(select(tables.projects.c.id).where(tables.projects.c.name == BUSY)).scalar_one()
        paused = {
            "paused": True,
            "paused_until": now + timedelta(hours=20),
            "paused_by": PERSON,
            "paused_reason": "the migration of Tuesday",
        }
        connection.execute(update(tables.projects).where(tables.projects.c.id % 211 == 3).values(paused))
        workers = [
            {"host": f"build-{index}", "process": 4_000 + index, "concurrency": 8, "patience": 30, "version": "0.1.0"} for index in range(4)
        ]
        connection.execute(insert(tables.workers), workers)
        connection.execute(insert(tables.runs), _runs(busy, now))
        connection.execute(insert(tables.samples), _samples(busy))
        budget = {"limits": {"1000": [640, time.time() + 22]}, "methods": {"GET": 1_000}, "way": {}, "unlimited": []}
        connection.execute(insert(tables.budgets).values(token="b0", left=budget))
        generation = {"id": 1, "next_due": now, "read_at": now - timedelta(hours=3), "error": samples.GENERATORS.says}
        connection.execute(insert(tables.generation).values(generation))
        changes = frozenset({ChangeClass.CREATE, ChangeClass.DELETE, ChangeClass.EXPOSURE})
        plan = approvals.StoredPlan(
            COMMIT, samples.DOCUMENT | {"summary": {"requests": 5}}, "9f2c1e7ab04d5566" * 4, changes, ("lin@globex.example",), samples.PLAN
        )
        approvals.keep_plan(connection, busy, plan)
        for person, approves, reason in (("grace@globex.example", True, "agreed in the call"), ("ada@globex.example", True, "")):
            decided = Decision(person, plan.digest or "", changes - {ChangeClass.EXPOSURE}, approves, reason)
            approvals.decide(connection, busy, decided)
        lines = [
            {"person": dice.choice(("ada@globex.example", "the fleet")), "tenant": "globex", "action": "view",
             "project": BUSY, "details": {"commit": COMMIT, "run": index}} for index in range(min(number, 500))
        ]  # fmt: skip
        connection.execute(insert(tables.audit), lines)


def _row(dice: random.Random, index: int, number: int, now: datetime) -> dict[str, Any]:
    tenant = f"tenant-{min(int(dice.paretovariate(0.9)) - 1, TENANTS - 1) if dice.random() < 0.6 else dice.randrange(TENANTS):02}"
    chance = dice.random()
    word = "Unknown" if chance < 0.02 else "OutOfSync" if chance < 0.09 else "Synced"
    source = Repository(f"https://git.example.com/{tenant}/docs.git", "main", f"orgs/{index}")
    made = project(
        f"{tenant}-docs-{index:05}", source=source, tenant=tenant, wave=index % 3 if tenant < "tenant-05" else 0,
        mode=dice.choice((Mode.APPLY, Mode.APPLY, Mode.WATCH, Mode.PLAN)), origin="" if index % 2 else "generator 1 (directories)",
    )  # fmt: skip
    age = timedelta(seconds=dice.randint(2_000, 200_000) if word == "Unknown" else min(dice.expovariate(1 / 300), 1_500))
    concerns = []
    if dice.random() < 0.03:
        until = (now + timedelta(days=dice.randint(-2, 90))).date().isoformat()
        link = f"{tenant}/site/docs/share-link/customer-{index}"
        concerns = [{"sort": "expiry", "address": link, "sentence": f"by its name, it ends on {until}", "until": until}]
    return {
        "name": made.name, "spec": as_data(made), "tenant": tenant, "token": "env:TOKEN", "wave": made.wave,
        "next_due": now + timedelta(minutes=5),
        "orphaned_at": now if chance > 0.998 else None, "reading": _reading(dice, word), "read_at": now - age, "budget": "b0", "cost": 12,
        "health": {"concerns": concerns, "unread": [], "more": 0}, "health_at": now - age, "applied": COMMIT, "waits": None,
        "error": "the service answered 503 to GET /v1/orgs/org_acme/sites, six times in 40 s" if word == "Unknown" else None,
    }  # fmt: skip


def _reading(dice: random.Random, word: str) -> dict[str, Any]:
    numbers = {"ahead": dice.randint(1, 9), "drift": dice.choice((0, 3)), "unmanaged": dice.choice((0, 41))} if word == "OutOfSync" else {}
    return reading_data(Reading(COMMIT, managed=120, **numbers)) | {"coverage": dice.choice((1.0, 0.87, 0.5))}


def _runs(busy: int, now: datetime) -> list[dict[str, Any]]:
    ends = ("done", "done", "failed", "done", "lost", "done", "late", "done")
    says = {"done": None, "failed": "the service answered 503 to GET /v1/orgs/org_acme/sites", "lost": "its worker stopped responding"}
    return [
        {
            "project": busy, "admitted_at": now - timedelta(minutes=10 * number), "started_at": now - timedelta(minutes=10 * number),
            "ended_at": now - timedelta(minutes=10 * number - 1), "worker": 1, "ended": end, "says": says.get(end),
            "commit": COMMIT, "requests": 41,
        }
        for number, end in enumerate(ends * 5, 1)
    ]  # fmt: skip


def _samples(busy: int) -> list[dict[str, Any]]:
    moved = datetime.now(UTC) - samples.NOW
    return [
        {
            "project": busy, "at": point.at + moved, "status": point.status.value, "ahead": point.ahead, "drift": point.drift,
            "unmanaged": point.unmanaged, "coverage": point.coverage,
        }
        for point in samples.samples()
    ]  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fleet.pictures", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--projects", type=int, default=10_000)
    parser.add_argument("--pages", default=",".join(PAGES))
    given = parser.parse_args(words)
    given.folder.mkdir(parents=True, exist_ok=True)
    took: dict[str, Any] = {"projects": given.projects, "cores": os.cpu_count(), "load": os.getloadavg()}
    with ExitStack() as stack:
        postgres = Postgres()
        stack.callback(postgres.remove)
        postgres.start()
        database = stack.enter_context(connected(postgres.url))
        ready(database)
        fill(database, given.projects)
        site = stack.enter_context(served(database))
        chromium = stack.enter_context(browser.chromium())
        person = site.logged_in()
        stack.callback(person.close)
        cookies = [{"name": cookie.name, "value": cookie.value or "", "url": f"{site.url}/"} for cookie in person.cookies.jar]
        for name in given.pages.split(","):
            seconds = []
            for _ in range(TIMES):
                begun = time.perf_counter()
                person.get(PAGES[name]).raise_for_status()
                seconds.append(time.perf_counter() - begun)
            took[name] = {"median": round(statistics.median(seconds), 3), "longest": round(max(seconds), 3)}
            for look, options in LOOKS.items():
                context = chromium.new_context(**options)
                context.add_cookies(cookies)  # type: ignore[arg-type]
                page = context.new_page()
                page.goto(site.url + PAGES[name], wait_until="load")
                took[name][look] = round(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1_000, 3)
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                if wide > 0:
                    took[name][f"{look}-wider-by"] = wide
                page.screenshot(
                    path=given.folder / f"{name}-{given.projects}-{look}.png", full_page=look != "narrow" or given.projects < 100
                )  # Chromium draws 16,384 pixels
                context.close()
    print(json.dumps(took, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
