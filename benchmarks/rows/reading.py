"""Plans without changes, of three shapes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Cost
from benchmarks.prepare import asking, prepared
from benchmarks.rows import LATENCY, Extent, Floor, Row, bare, best, measure, shown
from benchmarks.serving import serving

GOALS = {"flat": 8.0, "mix": 2.5}  # times a program that only sends the same GETs
DECK = 1.3  # times faster
PEOPLE = 2_750  # objects, most of them members


def rows(extent: Extent, deck: Cost | None) -> Iterator[Row]:
    """Each run is followed by its floor, so that both see the same machine."""
    yield _people(extent)
    for shape in GOALS:
        with serving(shape, extent.size, LATENCY) as service, prepared(shape, extent.size, service) as case:
            run = best(measure(case, "plan") for _ in range(extent.times))
            floor, slow = min(bare(case, run.targets) for _ in range(extent.times)), bare(case, run.targets, 16).gets
        yield _row(shape, extent, run.cost, run.gets, floor, slow, deck)


def _people(extent: Extent) -> Row:
    """What it costs to ask each member, beside the same plan that asks none."""
    with serving("people", PEOPLE, LATENCY) as service, prepared("people", PEOPLE, service) as case:
        off = best(measure(case, "plan") for _ in range(extent.times))
        asking(case)
        on = best(measure(case, "plan") for _ in range(extent.times))
    members = PEOPLE * 10 // 11
    more = on.gets - off.gets
    work, target = f"plan that asks {members:,} members", f"at most {2 * members:,} GETs more"
    return Row(
        work, f"{shown(on.cost)}; {on.gets:,} GETs", f"without asking: {shown(off.cost)}; {off.gets:,} GETs", target, more <= 2 * members
    )


def _row(shape: str, extent: Extent, cost: Cost, gets: int, floor: Floor, slow: float, deck: Cost | None) -> Row:
    ratio, goal = cost.wall / floor.program, GOALS[shape]
    beside = f"{_beside(cost, floor)}: {floor.gets:.2f} s at 64 connections, {slow:.2f} s at 16"
    bars, target, met = {"reconciler": cost.wall, "bare GETs": floor.gets}, f"{goal:g}x", ratio <= goal
    if shape == "flat" and deck is not None:
        beside += f"; {deck.wall / cost.wall:.1f} times the speed of `deck diff` ({shown(deck)})"
        target += f", {DECK:g}x faster than decK"
        bars["decK"] = deck.wall
        met = met and deck.wall / cost.wall >= DECK
    return Row(f"plan without changes, {shape}, {extent.size:,} objects", f"{shown(cost)}; {gets:,} GETs", beside, target, met, bars)


def _beside(cost: Cost, floor: Floor) -> str:
    """How a command compares with its requests, and with a program that sends nothing else."""
    return f"{cost.wall / floor.gets:.1f}x of the same GETs bare, {cost.wall / floor.program:.1f}x of a program that only sends them"
