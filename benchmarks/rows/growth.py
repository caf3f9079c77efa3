"""How the CPU time of each command grows with the number of objects."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Cost
from benchmarks.prepare import prepared, unapplied
from benchmarks.rows import Extent, Row, exponent, measure, shown
from benchmarks.serving import serving

GOAL = 1.05
START = 10  # objects
SMALL = 2_500  # objects up to which the best of some runs counts
TIMES = 3
MEMORY = {10_000: 120.0, 100_000: 900.0}  # megabytes


def rows(extent: Extent) -> Iterator[Row]:
    """Objects of the shape flat, without latency. Of each time that of ten objects is taken off, which is the start of the program."""
    seconds: dict[str, dict[int, float]] = {}
    for size in (START, *extent.sizes):
        for command, cost in _reading(size, _times(extent, size)):
            seconds.setdefault(command, {})[size] = cost.cpu
            if command == "plan" and size in MEMORY:
                work = f"memory of a plan, {size:,} objects"
                yield Row(work, f"{cost.memory:.0f} MB", shown(cost), f"{MEMORY[size]:.0f} MB", cost.memory <= MEMORY[size])
    for size in (START, extent.creates // 10, extent.creates):
        seconds.setdefault("apply", {})[size] = _creating(size)
    for command, found in seconds.items():
        start, *points = found.items()
        more = [(size, max(cpu - start[1], 0.01)) for size, cpu in points]
        grown = exponent(more[0], more[-1])
        yield Row(
            f"growth of {command}, {points[0][0]:,} to {points[-1][0]:,} objects",
            f"{grown:.2f}",
            f"the start takes {start[1]:.2f} s CPU; then " + ", ".join(f"{cpu:.2f} s for {size:,}" for size, cpu in more),
            f"{GOAL}",
            grown <= GOAL,
        )


def _times(extent: Extent, size: int) -> int:
    """How many runs of a size there are, of which the best counts."""
    return TIMES if size <= SMALL else extent.times if size <= extent.size else 1


def _reading(size: int, times: int) -> Iterator[tuple[str, Cost]]:
    """Each run has a copy of its own, in which nothing is kept of an earlier run."""
    costs: dict[str, list[Cost]] = {"plan": [], "validate": [], "import": []}
    with serving("flat", size, 0) as service:
        for _ in range(times):
            with prepared("flat", size, service) as case:
                for command in ("plan", "validate"):
                    costs[command].append(measure(case, command).cost)
                costs["import"].append(measure(case.importing(), "import", "--org", "org_acme").cost)
    yield from ((command, min(found, key=lambda cost: cost.cpu)) for command, found in costs.items())


def _creating(size: int) -> float:
    """The CPU seconds of a first apply."""
    with serving("flat", size, 0, empty=True) as service, unapplied("flat", size, service) as case:
        return measure(case, "apply", "--yes", "--create-state", "--max-concurrency", "64").cost.cpu
