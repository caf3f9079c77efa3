"""Commands that need little of the service, or nothing: validate, import, and the commands that show the state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.measure import Cost
from benchmarks.prepare import Prepared, prepared
from benchmarks.rows import Extent, Row, best, measure, shown
from benchmarks.serving import serving

VALIDATE, DECK, IMPORT, SHOWING = 0.9, 1.7, 6.0, 0.6  # seconds of CPU; times faster; seconds of CPU; seconds


def rows(extent: Extent, deck: Cost | None) -> Iterator[Row]:
    with serving("flat", extent.size, 0) as service, prepared("flat", extent.size, service) as case:
        yield from _validate(case, extent, deck)
        for command in ("state list", "history"):
            cost = best(measure(case, command) for _ in range(extent.times)).cost
            yield Row(f"`{command}`, {extent.size:,} objects", shown(cost), "", f"{SHOWING} s", cost.wall <= SHOWING)
        explain = best(measure(replace(case, project=None), "explain space.title") for _ in range(extent.times)).cost
        yield Row("`explain space.title`", shown(explain), "", f"{SHOWING} s", explain.wall <= SHOWING)
        yield _import(case, extent)


def _validate(case: Prepared, extent: Extent, deck: Cost | None) -> Iterator[Row]:
    cost = best(measure(case, "validate") for _ in range(extent.times)).cost
    ratio = None if deck is None else deck.wall / cost.wall
    yield Row(
        f"validate, {extent.size:,} objects",
        shown(cost),
        "" if deck is None else f"{ratio:.1f} times the speed of `deck validate` ({shown(deck)})",
        f"{VALIDATE:g} s CPU, {DECK:g}x faster than decK",
        None if ratio is None else ratio >= DECK and cost.cpu <= VALIDATE,
        {"reconciler": cost.wall, **({} if deck is None else {"decK": deck.wall})},
    )


def _import(case: Prepared, extent: Extent) -> Row:
    cost = measure(case.importing(), "import", "--org", "org_acme").cost
    work = f"import, {extent.size:,} objects"
    return Row(work, shown(cost), "", f"{IMPORT:g} s CPU", cost.cpu <= IMPORT, {"reconciler": cost.wall})
