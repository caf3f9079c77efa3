"""What a start costs: modules and the time to import them, beside click and the libraries alone; and the first plan of a newcomer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import reconciler, run
from benchmarks.prepare import prepared
from benchmarks.rows import Row, shown
from benchmarks.serving import Serving, serving
from benchmarks.startup import CLICK, Imports, imports, libraries

ACME = Path(__file__).parents[2] / "examples" / "acme"
TIMES = 3
MORE, RATIO = 15, 1.3  # modules; times the libraries alone
FIRST = 1.55  # seconds of CPU, of which the sandbox takes most


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
    yield _first_plan()


def _first_plan() -> Row:
    """The flagship example on an embedded sandbox, as the README has it: the program and the whole service in one process."""
    with TemporaryDirectory(prefix="reconciler-benchmark-") as name:
        words = reconciler("plan", str(ACME), "--sandbox", f"{name}/acme.db", "--state", f"sqlite:///{name}/state.db")
        costs = [run(words, log=Path(name) / "log.txt") for _ in range(TIMES)]
    cost = min(costs, key=lambda cost: cost.cpu)
    return Row(
        "`plan examples/acme` on an embedded sandbox", shown(cost), "", f"{FIRST:g} s CPU", cost.cpu <= FIRST, {"reconciler": cost.wall}
    )


def _plan(service: Serving) -> Imports:
    """The imports of a plan that finds nothing of an earlier one."""
    with prepared("flat", 100, service) as case:
        return imports(["-m", "reconciler", *case.words("plan")], times=1)
