"""What a start costs: modules and the time to import them, beside click and the libraries alone."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.prepare import prepared
from benchmarks.rows import Row
from benchmarks.serving import Serving, serving
from benchmarks.startup import CLICK, Imports, imports, libraries

TIMES = 3
MORE, RATIO = 15, 1.15  # modules; times the libraries alone


def rows() -> Iterator[Row]:
    click, help = imports(["-c", CLICK]), imports(["-m", "reconciler", "--help"])
    yield Row(
        "`--help`",
        f"{help.number} modules, {help.seconds:.3f} s",
        f"bare click: {click.number} modules, {click.seconds:.3f} s",
        f"at most {MORE} modules more",
        help.number <= click.number + MORE,
    )
    with serving("flat", 100, 0) as service:
        plan = min((_plan(service) for _ in range(TIMES)), key=lambda found: found.seconds)
    names = libraries(plan.modules)
    alone = imports(["-c", f"import {', '.join(names)}"])
    yield Row(
        "imports of `plan`",
        f"{plan.number} modules, {plan.seconds:.2f} s",
        f"{', '.join(names)} alone: {alone.number} modules, {alone.seconds:.2f} s",
        f"{RATIO}x",
        plan.seconds <= RATIO * alone.seconds,
    )


def _plan(service: Serving) -> Imports:
    """The imports of a plan that finds nothing of an earlier one."""
    with prepared("flat", 100, service) as case:
        return imports(["-m", "reconciler", *case.words("plan")], times=1)
