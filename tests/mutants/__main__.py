"""`python -m tests.mutants seeded` and `python -m tests.mutants score`: are bugs caught?"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tests.mutants import nursery, score
from tests.mutants.seeded import BUGS, Bug


def main(words: Sequence[str] | None = None) -> int:
    """Exit 0 where every bug was caught, or the score is reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    seeded = commands.add_parser("seeded", help="the bugs of tests/mutants/seeded.py")
    seeded.add_argument("--part", default="1/1", help="2/3: the second third of them (default: all)")
    scored = commands.add_parser("score", help="changes made by a program, a sample of each module")
    scored.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(score.TESTS)}, or plan.match (default: all)")
    scored.add_argument("--sample", type=int, default=30, help="mutants of each (default: 30)")
    scored.add_argument("--seed", type=int, default=0, help="another sample (default: 0)")
    scored.add_argument("--least", type=float, default=0.0, help="percent; exit 1 below it")
    for one in (seeded, scored):
        one.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at the same time")
    given = parser.parse_args(words)
    nursery.preload()
    if given.command == "seeded":
        part, _, of = given.part.partition("/")
        return _seeded(BUGS[int(part) - 1 :: int(of)], given.processes)
    return score.told(given.modules, sample=given.sample, seed=given.seed, least=given.least, processes=given.processes)


def _seeded(bugs: Sequence[Bug], processes: int) -> int:
    """Try the tests without a bug, then each bug; one line for each that was not caught."""
    sound = tuple(sorted({test for bug in bugs for test in bug.tests}))
    trials = [nursery.Trial("", None, sound), *(nursery.Trial(bug.module, broken(bug), bug.tests) for bug in bugs)]
    wrong = 0
    for index, ended in nursery.tried(trials, timeout=240.0, processes=processes):
        if index == 0:
            good, what = ended.code == nursery.PASSED, "the tests without any bug"
        else:
            bug = bugs[index - 1]
            good, what = ended.code == nursery.FAILED, f"{bug.module}: {bug.claim}"
        print(f"{'well' if good else 'NOT CAUGHT' if index else 'FAILED'} ({ended.seconds:.1f} s) {what}", flush=True)
        if not good:
            wrong += 1
            print(f"exit code {ended.code}\n{ended.output}", flush=True)
    print(f"{len(bugs) - wrong} of {len(bugs)} bugs were caught" if wrong else f"all {len(bugs)} bugs were caught")
    return 1 if wrong else 0


def broken(bug: Bug) -> str:
    """The module with the bug in it; ValueError where its text does not stand there exactly once."""
    text = nursery.source(bug.module).read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.module}: stands there {text.count(bug.old)} times: {bug.old!r}")
    return text.replace(bug.old, bug.new)


if __name__ == "__main__":
    sys.exit(main())
