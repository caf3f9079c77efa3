"""Applies: of one changed title, and of everything."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.measure import run
from benchmarks.prepare import Prepared, prepared, retitled, unapplied
from benchmarks.rows import LATENCY, Extent, Row, measure, shown
from benchmarks.serving import serving

MORE = 5  # requests beside those of the plan
CONNECTIONS = 64
BOUND, CPU, MEMORY = 1.5, 1.0, 300.0  # times the bound of latency, milliseconds a write, megabytes


def rows(extent: Extent) -> Iterator[Row]:
    with serving("mix", extent.size, LATENCY) as service, prepared("mix", extent.size, service) as case:
        plan = measure(case, "plan")
        retitled(case)
        edit = measure(case, "apply", "--yes")
    total = edit.gets + edit.writes
    yield Row(
        f"one title changed, `apply --yes`, {extent.size:,} objects",
        f"{total:,} requests; {shown(edit.cost)}",
        f"the plan sends {plan.gets:,} GETs",
        f"at most {MORE} more",
        total <= plan.gets + MORE,
        {"reconciler": edit.cost.wall},
    )
    with serving("mix", extent.creates, LATENCY, empty=True) as service, unapplied("mix", extent.creates, service) as case:
        longest = critical_path(case)
        made = measure(case, "apply", "--yes", "--create-state", "--max-concurrency", str(CONNECTIONS))
        state = sum(path.stat().st_size for path in case.folder.glob("state.db*")) / 1e6
    bound = max(made.writes / CONNECTIONS, longest) * LATENCY / 1000
    ratio, each = made.cost.wall / bound, made.cost.cpu * 1000 / made.writes
    yield Row(
        f"apply of {extent.creates:,} creates ({made.writes:,} writes), {CONNECTIONS} connections",
        f"{shown(made.cost)}; {made.gets:,} GETs, a state of {state:.0f} MB",
        f"{ratio:.1f}x of the bound {bound:.1f} s (writes / {CONNECTIONS}, or the {longest} that need each other, x latency); "
        f"{each:.1f} ms CPU a write",
        f"{BOUND}x, {CPU:g} ms, {MEMORY:.0f} MB",
        ratio <= BOUND and each <= CPU and made.cost.memory <= MEMORY,
        {"reconciler": made.cost.wall, "bound": bound} if extent.creates == extent.size else {},
    )


def critical_path(case: Prepared) -> int:
    """The most requests of a first apply of which each requires the one before it, by a plan that is made for this only."""
    report = case.folder / "plan.json"
    measure(case, "plan", "--report", f"json={report}")
    return int(run([sys.executable, "-m", "benchmarks.longest", str(report)], log=case.folder / "longest.txt").said)
