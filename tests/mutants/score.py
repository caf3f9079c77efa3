"""The mutation score: of a sample of small changes to a module, how many its tests notice."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Final

from tests.mutants import nursery
from tests.mutants.mutator import Mutant, mutants

_PLANS: Final = tuple(
    f"tests/engine/test_{name}.py"
    for name in (
        "gone", "lagging_lists", "storms", "what_stays", "hard_cases", "probable_renames", "exposures", "dangerous_edits", "accept",
        "accept_moves", "rules", "forbidden", "targets", "drift", "convergence",
    )
)  # fmt: skip
_PARTS: Final = (
    "absence arrange broken changes drafts edges exposure fate forecast former keep late leave likeness match memory removal reshape"
    " rules scarce select sketch standing steps"
)  # of the planner

TESTS: Final[dict[str, tuple[str, ...]]] = {
    "order": ("tests/test_order.py",),
    "graph": ("tests/test_graph.py",),
    "recover": ("tests/engine/test_recover.py", "tests/engine/test_marker.py", "tests/engine/test_lagging_lists.py"),
    "evidence": ("tests/engine/test_recover.py", "tests/engine/test_marker.py"),
    "state.journal": ("tests/state", "tests/engine/test_recover.py"),
    **{f"plan.{name}": _PLANS for name in _PARTS.split()},
}
"""The tests that belong to a module, the likeliest to fail first."""


def told(modules: Sequence[str], *, sample: int, seed: int, least: float, processes: int) -> int:
    """Print a line for each module and each survivor; 1 where the score is below `least` percent. `plan` stands for its parts."""
    chosen = [name for name in TESTS if not modules or name in modules or name.split(".")[0] in modules]
    if unknown := {name for name in modules if name not in TESTS and not any(one.startswith(f"{name}.") for one in TESTS)}:
        sys.exit(f"there are no tests for {', '.join(sorted(unknown))}: {', '.join(TESTS)}")
    killed = tried = 0
    for name in chosen:
        good, count = _one(name, sample, seed, processes)
        killed, tried = killed + good, tried + count
    if tried:
        print(f"all: {killed} of {tried} noticed, {100 * killed / tried:.1f} %")
    return 1 if tried and 100 * killed / tried < least else 0


def drawn(text: str, name: str, sample: int, seed: int) -> list[Mutant]:
    """A sample of the changes to a module, the same each time."""
    every = mutants(text)
    some = random.Random(f"{name}:{seed}").sample(range(len(every)), min(sample, len(every)))
    return [every[index] for index in sorted(some)]


def _one(name: str, sample: int, seed: int, processes: int) -> tuple[int, int]:
    """How many of a module's mutants were noticed, and of how many; ends the program where the tests fail without one."""
    module, words = f"reconciler.{name}", TESTS[name]
    text = nursery.source(module).read_text(encoding="utf-8")
    ((_, sound),) = nursery.tried([nursery.Trial(module, text, words)], timeout=1200.0, processes=1)
    if sound.code != nursery.PASSED:
        sys.exit(f"{name}: its tests do not pass without a change (exit code {sound.code})\n{sound.output}")
    some = drawn(text, name, sample, seed)
    trials = [nursery.Trial(module, one.tree(text), words) for one in some]
    survived, late = [], 0
    for index, ended in nursery.tried(trials, timeout=60.0 + 5.0 * sound.seconds, processes=processes):
        late += ended.code == nursery.TIMEOUT
        if ended.code == nursery.PASSED:
            survived.append(some[index])
        elif ended.code in (nursery.NEVER_IMPORTED, nursery.BROKEN):
            sys.exit(f"{name}:{some[index].line} {some[index].what}: exit code {ended.code}\n{ended.output}")
    noticed = len(some) - len(survived)
    total = len(mutants(text))
    share = f"{100 * noticed / len(some):.0f} %" if some else "nothing to change"
    print(f"{name}: {noticed} of {len(some)} noticed ({late} by time), {share}; a sample of {total}", flush=True)
    for one in sorted(survived, key=lambda each: each.line):
        print(f"  survived {nursery.source(module).relative_to(nursery.ROOT)}:{one.line}  {one.what}", flush=True)
    return noticed, len(some)
