"""The numbers of a fleet in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from reconciler.fleet.metrics.rows import BUCKETS, Numbers, numbers
from reconciler.fleet.store import FleetDatabase

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "reconciler_fleet_"
TENANTS_MAX: Final = 200  # the projects of all further tenants count as one
OTHERS: Final = "(others)"
ENDS: Final = ("done", "failed", "late", "lost")


def metrics_text(database: FleetDatabase, *, per_project: bool = False) -> bytes:
    """The present metrics. `per_project`: with series for each project. Raises `StateError` if the database cannot be read."""
    with database.transaction() as connection:
        counted = numbers(connection, per_project=per_project)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Counted(counted))
    return generate_latest(registry)


class _Counted(Collector):
    """Cached numbers, a moment old at most."""

    def __init__(self, counted: Numbers) -> None:
        self.counted = counted

    def collect(self) -> Iterable[Metric]:
        yield from _tenants(self.counted)
        yield from _runs(self.counted)
        yield from _rest(self.counted)
        yield from _projects(self.counted)


def _tenants(counted: Numbers) -> Iterator[Metric]:
    largest = Counter[str]()
    for row in counted.tenants:
        largest[row["tenant"]] += row["projects"]
    named = {tenant for tenant, _ in largest.most_common(TENANTS_MAX)}
    sums: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    oldest: dict[str, float] = {}
    for row in counted.tenants:
        tenant = row["tenant"] if row["tenant"] in named else OTHERS
        sums["projects"][tenant, row["status"]] += row["projects"]
        sums["health"][tenant, row["health"]] += row["projects"]
        for name in ("ahead", "drift", "unmanaged", "unread"):
            sums[name][(tenant,)] += row[name]
        sums["ages"][(tenant,)] += float(row["ages"] or 0)  # type: ignore[assignment]
        oldest[tenant] = max(oldest.get(tenant, 0.0), float(row["oldest"] or 0))
    by_tenant = ("tenant",)
    yield _gauge("projects", "Projects by status.", ("tenant", "status"), sums["projects"])
    yield _gauge("projects_health", "Projects by health.", ("tenant", "health"), sums["health"])
    yield _gauge("resources_ahead", "Resources that commits change.", by_tenant, sums["ahead"])
    yield _gauge("resources_drifted", "Resources changed outside Reconciler.", by_tenant, sums["drift"])
    yield _gauge("objects_unmanaged", "Unmanaged objects.", by_tenant, sums["unmanaged"])
    yield _gauge("projects_never_read", "Projects without a reading.", by_tenant, sums["unread"])
    yield _gauge("reading_age_seconds_sum", "The ages of the last readings, added up.", by_tenant, sums["ages"])
    ages = {(tenant,): age for tenant, age in oldest.items()}
    yield _gauge("reading_age_seconds_max", "The age of the oldest last reading.", by_tenant, ages)


def _runs(counted: Numbers) -> Iterator[Metric]:
    ended = {row["ended"]: row for row in counted.ended}
    admitted = CounterMetricFamily(f"{PREFIX}runs_admitted", "Runs that were ever admitted.", value=counted.admitted)
    yield admitted
    runs = {(name,): ended[name]["runs"] if name in ended else 0 for name in (*ENDS, *(name for name in ended if name not in ENDS))}
    yield _gauge("runs_last_hour", "Runs of the last hour by their end.", ("ended",), runs)
    requests = sum(row["requests"] for row in counted.ended)
    yield _gauge("requests_last_hour", "Requests of the runs of the last hour.", (), {(): requests})
    counts = [0] * (len(BUCKETS) + 1)
    for seconds in counted.durations:
        counts[bisect_left(BUCKETS, seconds)] += 1
    sizes = [*map(str, BUCKETS), "+Inf"]
    cumulated = [(size, sum(counts[: index + 1])) for index, size in enumerate(sizes)]
    histogram = HistogramMetricFamily(f"{PREFIX}run_duration_last_hour_seconds", "How long the runs of the last hour took.")
    histogram.add_metric([], cumulated, sum_value=sum(counted.durations))
    yield histogram


def _rest(counted: Numbers) -> Iterator[Metric]:
    queue, budgets = counted.queue, counted.budgets
    single = {
        "projects_due": ("Projects that are due and not admitted.", queue["due"]),
        "oldest_due_seconds": ("For how long the oldest of them has been due.", queue["late"]),
        "runs_waiting": ("Admitted runs that no worker has started.", queue["waiting"]),
        "runs_under_way": ("Runs under way.", queue["running"]),
        "workers": ("Workers that are alive.", counted.workers["alive"]),
        "places": ("Runs that they can do at the same time.", counted.workers["places"]),
        "budgets": ("Tokens with a budget.", budgets["budgets"]),
        "budgets_held": ("Tokens with which nothing can be sent now.", budgets["held"]),
        "requests_under_way": ("Requests that wait for an answer.", budgets["under_way"]),
        "messages_waiting": ("Messages that are not sent yet.", counted.notices["waiting"]),
        "messages_given_up": ("Messages of the last 30 days that could not be sent.", counted.notices["given_up"]),
    }
    if (generators := counted.generators) is not None:
        wrong = generators.error is not None or generators.held is not None
        single["generators_wrong"] = ("1 if the generators cannot be read, or what they list is too little to take effect.", int(wrong))
    for name, (text, value) in single.items():
        yield _gauge(name, text, (), {(): value})
    if budgets["left"] is not None:
        yield _gauge("budget_left_min", "Requests that are left of the token that has least.", (), {(): budgets["left"]})


def _projects(counted: Numbers) -> Iterator[Metric]:
    if not counted.projects:
        return
    present = {(row["name"], row["tenant"], row["status"], row["health"]): 1 for row in counted.projects}
    yield _gauge("project", "1 for each project.", ("project", "tenant", "status", "health"), present)
    ages = {(row["name"], row["tenant"]): float(row["age"]) for row in counted.projects if row["age"] is not None}
    yield _gauge("project_reading_age_seconds", "The age of the last reading.", ("project", "tenant"), ages)


def _gauge(name: str, text: str, labels: tuple[str, ...], values: object) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for key, value in sorted(dict(values).items()):  # type: ignore[call-overload]
        family.add_metric(key, float(value))
    return family
