"""Which runs make a short and a long proof: jobs, small enough to be spread over the processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.reliability.result import Result

EXPERIMENTS = ("kill", "environments", "sigkill", "signals", "faults", "races", "projects", "statements", "pace", "edits", "marker")
SERVERS = ("s3", "azure")  # of buckets: each request of the state takes milliseconds
DATABASES = ("sqlite", "postgres", "bucket", *SERVERS)
TRANSFERS = ("transfers-mixed", "transfers-parts", "transfers-swapped")
"""Scenarios of several organizations, see `tests.transfers.steps`: their long runs together take about half an hour of a processor."""


PROCESSES = 1000
"""Seeds of races from here on race processes."""


@dataclass(frozen=True)
class Job:
    """One call of an experiment's `run`."""

    experiment: str
    database: str
    words: dict[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> str:
        """What repeats it: experiment, name, number, database."""
        return f"{self.experiment}:{self.words['name']}:{self.words.get('seed', 0)}@{self.database}"


def function(experiment: str) -> Callable[..., Result]:
    """The `run` of an experiment; imported only where it is wanted."""
    from importlib import import_module

    found: Callable[..., Result] = import_module(f"tests.reliability.{experiment}").run
    return found


def jobs(length: str, only: tuple[str, ...]) -> Iterator[Job]:
    """All jobs of a length."""
    for experiment in only or EXPERIMENTS:
        yield from globals()[f"_{experiment}"](length == "long")


def _kill(long: bool) -> Iterator[Job]:
    named = ("tiny", "tiny-changed", "tiny-cleared", "small", "small-changed", "small-cleared")
    if not long:
        for name in named[:3]:
            yield Job("kill", "sqlite", {"name": name, "most": 30, "deep": 3, "deepest": 4})
        for name in (named[1], "random-1"):
            yield Job("kill", "postgres", {"name": name, "most": 15, "deep": 1, "deepest": 4})
        yield Job("kill", "sqlite", {"name": "random-2", "most": 15, "deep": 1, "deepest": 4})
        for name in named[:3]:
            yield Job("kill", "bucket", {"name": name, "most": 30, "deep": 3, "deepest": 4})
        for server in SERVERS:
            yield Job("kill", server, {"name": named[1], "most": 15, "deep": 1, "deepest": 4})
        for database in ("sqlite", "postgres", "bucket"):
            yield Job("kill", database, {"name": "transfers-mixed", "most": 12, "deep": 1, "deepest": 4})
        yield Job("kill", "sqlite", {"name": "transfers-35"})  # the moves after its transfers must be the same in each run
        return
    for database in DATABASES:
        for name in named:
            yield Job("kill", database, {"name": name, "deep": 12, "deepest": 20})
        for number in range({"sqlite": 18, "s3": 4, "azure": 4}.get(database, 14)):
            yield Job("kill", database, {"name": f"random-{number}", "most": 80, "deep": 2, "deepest": 10})
        for name in TRANSFERS:
            yield Job("kill", database, {"name": name, "most": 10 if database in SERVERS else None, "deep": 4, "deepest": 10})
        for number in range({"sqlite": 40, "s3": 0, "azure": 0}.get(database, 12)):
            yield Job("kill", database, {"name": f"transfers-{number}", "deep": 2, "deepest": 10})
        for name, parts in (("acme", 8), ("acme-changed", 2), ("acme-smaller", 1)):
            for part in range(1, parts + 1):
                if database not in SERVERS:
                    yield Job("kill", database, {"name": f"{name}.{part}of{parts}", "deep": 1, "deepest": 10})


def _environments(long: bool) -> Iterator[Job]:
    for database in DATABASES if long else DATABASES[:3]:
        yield Job("environments", database, {"name": "tiny-changed", "most": None if long else 10})
        if long:
            for name in ("tiny", "tiny-cleared"):
                yield Job("environments", database, {"name": name})
            for name in TRANSFERS:
                yield Job("environments", database, {"name": name, "most": 5 if database in SERVERS else 20})


def _sigkill(long: bool) -> Iterator[Job]:
    yield from _living("sigkill", 20 if long else 1, 13 if long else 5)


def _signals(long: bool) -> Iterator[Job]:
    yield from _living("signals", 48 if long else 1, 13 if long else 5)


def _living(experiment: str, seeds: int, runs: int) -> Iterator[Job]:
    for seed, name in enumerate(TRANSFERS if seeds > 1 else ()):
        for database in DATABASES if seed == 0 else DATABASES[:3]:
            yield Job(experiment, database, {"name": name, "seed": seed, "runs": 5 if seed == 0 else 3})
    for seed in range(seeds):
        yield Job(experiment, "sqlite", {"name": ("tiny", "small", "tiny-changed")[seed % 3], "seed": seed, "runs": runs})
        for database in DATABASES[1:] if experiment == "sigkill" else DATABASES[1:3]:
            yield Job(
                experiment, database, {"name": ("tiny-changed", "tiny-cleared", "small-changed")[seed % 3], "seed": seed, "runs": runs}
            )


def _faults(long: bool) -> Iterator[Job]:
    if not long:
        for number, name in enumerate(("tiny", "tiny-changed", "tiny-cleared")):
            yield Job("faults", "sqlite", {"name": name, "seed": number, "runs": 30})
        for server in SERVERS:
            yield Job("faults", server, {"name": "tiny-changed", "runs": 20})
        return
    for seed in range(24):
        for name in ("tiny", "tiny-changed", "tiny-cleared", "small-changed"):
            database = {3: "bucket", 4: "s3", 5: "postgres"}.get(seed % 6, "sqlite")
            yield Job("faults", database, {"name": name, "seed": seed})
            if database == "s3":
                yield Job("faults", "azure", {"name": name, "seed": seed})
        if seed < len(DATABASES):
            for name in TRANSFERS:
                yield Job("faults", DATABASES[seed], {"name": name, "seed": seed, "runs": 12})


def _races(long: bool) -> Iterator[Job]:
    for seed in range(10 if long else 1):
        for name in ("tiny", "tiny-changed", "tiny-cleared") if long else ("tiny-changed",):
            for database in DATABASES[1:]:
                yield Job("races", database, {"name": name, "seed": seed, "runs": 20 if long else 12})
            yield Job("races", "sqlite", {"name": name, "seed": seed, "runs": 10 if long else 6})
        for database in DATABASES if long and seed < 3 else ():
            yield Job("races", database, {"name": TRANSFERS[seed], "seed": seed, "runs": 6})
    for seed in range(PROCESSES, PROCESSES + (10 if long else 1)):
        for database in ("postgres", "sqlite", "bucket", *SERVERS):
            yield Job("races", database, {"name": "tiny", "seed": seed, "runs": 10 if long else 2})
            if long and seed < PROCESSES + 3:
                yield Job("races", database, {"name": TRANSFERS[seed % 3], "seed": seed, "runs": 3})


def _projects(long: bool) -> Iterator[Job]:
    for database in DATABASES if long else ():
        for name in ("transfers-mixed", "transfers-swapped"):
            yield Job("projects", database, {"name": name, "runs": 5})
    if not long:
        yield Job("projects", "bucket", {"name": "transfers-swapped", "runs": 8})


def _statements(long: bool) -> Iterator[Job]:
    for name in ("tiny", "tiny-changed", "tiny-cleared", "small-changed") if long else ("tiny",):
        yield Job("statements", "sqlite", {"name": name, "runs": None if long else 30})
        yield Job("statements", "bucket", {"name": name, "runs": 300 if long else 16})
        if long:
            yield Job("statements", "postgres", {"name": name, "runs": 150})
            for server in SERVERS:
                yield Job("statements", server, {"name": name, "runs": 60})
    for database in DATABASES if long else ():
        yield Job("statements", database, {"name": "transfers-mixed", "runs": {"sqlite": 40, "s3": 5, "azure": 5}.get(database, 25)})


def _pace(long: bool) -> Iterator[Job]:
    for name, seeds in (("told", 20), ("blind", 12)):
        for seed in range(seeds if long else 1):
            yield Job("pace", "sqlite", {"name": name, "seed": seed, "runs": 25 if long else 6})


def _edits(long: bool) -> Iterator[Job]:
    if not long:
        yield Job("edits", "sqlite", {"name": "tiny-changed", "runs": 20})
        return
    for name in ("tiny-changed", "small-changed", "tiny-cleared", *(f"random-{number}" for number in range(5))):
        for seed in range(2):
            yield Job("edits", "sqlite", {"name": name, "seed": seed, "runs": 70})
    for name in TRANSFERS:
        yield Job("edits", "sqlite", {"name": name, "runs": 25})


def _marker(long: bool) -> Iterator[Job]:
    if not long:
        yield Job("marker", "sqlite", {"name": "small", "runs": 10})
        return
    for name in ("tiny", "small", "tiny-changed", "small-changed"):
        for seed in range(3):
            yield Job("marker", "sqlite", {"name": name, "seed": seed, "runs": 25})
