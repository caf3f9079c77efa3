"""Plans without changes, of two shapes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Cost
from benchmarks.prepare import prepared
from benchmarks.rows import LATENCY, Extent, Floor, Row, bare, best, measure, shown
from benchmarks.serving import serving

GOALS = {"flat": 8.0, "mix": 2.5}  # times a program that only sends the same GETs
DECK = 1.3  # times faster


def rows(extent: Extent, deck: Cost | None) -> Iterator[Row]:
    """Each run is followed by its floor, so that both see the same machine."""
    for shape in GOALS:
        with serving(shape, extent.size, LATENCY) as service, prepared(shape, extent.size, service) as case:
            run = best(measure(case, "plan") for _ in range(extent.times))
            floor, slow = min(bare(case, run.targets) for _ in range(extent.times)), bare(case, run.targets, 16).gets
        yield _row(shape, extent, run.cost, run.gets, floor, slow, deck)


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
