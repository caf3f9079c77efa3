"""`python -m tests.hostile --runs 1000000`: every fuzz target by its share; prints what failed and how many runs there were."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.hostile.fuzz import SHARES, TARGETS, fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="in all")
    parser.add_argument("--first", type=int, default=0, help="number of the first run of each target")
    parser.add_argument("--only", choices=[*TARGETS])
    given = parser.parse_args()
    failures = 0
    for target in [given.only] if given.only else TARGETS:
        runs, began = int(given.runs * (1 if given.only else SHARES[target])), time.monotonic()
        for one in fuzz(target, range(given.first, given.first + runs)):
            failures += 1
            last = "".join(traceback.format_exception(one.error)[-2:])
            print(f"{target} {one.number}\n{last}", flush=True)
        print(f"{target}: {runs} runs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
