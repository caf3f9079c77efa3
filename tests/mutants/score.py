"""The mutation score: of a sample of small changes to a part of the package, how many its tests notice."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Final

from tests.mutants import nursery
from tests.mutants.mutator import Mutant, mutants

TESTS: Final[dict[str, tuple[str, ...]]] = {
    "plan.siblings.moves": ("tests/plan/test_order.py",),
    "plan.steps.graph": ("tests/plan/test_graph.py",),
    "apply.recover": ("tests/apply/test_recover_by_answers.py",),
    "apply.evidence": ("tests/apply/test_evidence.py", "tests/apply/test_recover_by_answers.py"),
    "state.journal": (
        *(f"tests/state/test_{name}.py" for name in ("journal", "journal_keeps", "history", "round_trip")),
        "tests/state/test_carry.py::test_what_is_pushed_is_what_was_pulled",
        "tests/state/test_carry.py::test_another_state_is_replaced_only_by_force",
    ),
    "plan": ("tests/plan/test_absence.py", "tests/plan/test_gone_along.py", "tests/plan/test_book.py", "tests/plan/test_forecast.py"),
}
"""The tests that belong to a module or to all in a folder, the likeliest to fail first."""

Drawn = tuple[str, Mutant]
"""A module and one change to it."""


def told(parts: Sequence[str], *, sample: int, seed: int, least: float, processes: int) -> int:
    """Print a line for each part and each survivor; 1 where a score is below `least` percent."""
    names = list(parts) or list(TESTS)
    for name in names:
        if tests_of(name) is None:
            sys.exit(f"no tests belong to {name}: {', '.join(TESTS)}, or one module of plan, as plan.matching.match")
    return max([int(_score(name, sample, seed, processes) < least) for name in names])


def tests_of(name: str) -> tuple[str, ...] | None:
    """The tests of a part or of one module of a folder."""
    return TESTS.get(name) or (TESTS.get(name.partition(".")[0]) if nursery.source(f"reconciler.{name}").exists() else None)


def modules(name: str) -> list[str]:
    """The modules of a part."""
    path = nursery.source(f"reconciler.{name}")
    if path.name != "__init__.py":
        return [f"reconciler.{name}"]
    files = sorted(file.relative_to(path.parent) for file in path.parent.rglob("*.py") if file.name != "__init__.py")
    return [f"reconciler.{name}", *(f"reconciler.{name}.{'.'.join(file.with_suffix('').parts)}" for file in files)]


def drawn(name: str, sample: int, seed: int) -> tuple[list[Drawn], int]:
    """A sample of the changes to a part, the same each time as long as its text is; and how many there are."""
    every = [(module, one) for module in modules(name) for one in mutants(_text(module))]
    some = random.Random(f"{name}:{seed}").sample(range(len(every)), min(sample, len(every)))
    return [every[index] for index in sorted(some)], len(every)


def _text(module: str) -> str:
    return nursery.source(module).read_text(encoding="utf-8")


def _score(name: str, sample: int, seed: int, processes: int) -> float:
    """Percent of the sample that was noticed; ends the program where the tests fail without a change."""
    words = tests_of(name) or ()
    some, total = drawn(name, sample, seed)
    ((_, sound),) = nursery.tried([nursery.Trial("", None, words)], timeout=1800.0, processes=1)
    if sound.code != nursery.PASSED:
        sys.exit(f"{name}: its tests do not pass without a change (exit code {sound.code})\n{sound.output}")
    trials = [nursery.Trial(module, one.tree(_text(module)), words) for module, one in some]
    survived, late = [], 0
    for index, ended in nursery.tried(trials, timeout=60.0 + 4.0 * sound.seconds, processes=processes):
        module, one = some[index]
        where = f"{nursery.source(module).relative_to(nursery.ROOT)}:{one.line}  {one.what}"
        late += ended.code == nursery.TIMEOUT
        if ended.code == nursery.PASSED:
            survived.append(where)
            print(f"  survived {where}", flush=True)
        else:
            print(f"  noticed {where}", file=sys.stderr, flush=True)
        if ended.code in (nursery.NEVER_IMPORTED, nursery.BROKEN):
            sys.exit(f"{where}: exit code {ended.code}\n{ended.output}")
    noticed = len(some) - len(survived)
    percent = 100.0 * noticed / len(some) if some else 100.0
    print(f"{name}: {noticed} of {len(some)} noticed, {late} of them by time: {percent:.0f} %; there are {total}", flush=True)
    return percent
