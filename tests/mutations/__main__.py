"""`python -m tests.mutations`: change the program in a small way, run the tests that call the changed function, and count.

The first run records which tests call which function, in the folder `--work`; a later run with the same folder goes on from there.
`known.txt` has the changes that nobody could see, each with the reason; they are counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.mutations.changes import Change, changes, room_of
from tests.mutations.trials import UNTRIED, Trials

ROOT: Final = Path(__file__).parents[2]
KNOWN: Final = Path(__file__).with_name("known.txt")
EARLY: Final = 0.2  # whole documents notice most: they are tried after the tests that are quicker than this
CONFIGURED: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutation"]


def sample(counts: Mapping[str, int], seed: int) -> Iterator[Change]:
    """So many changes of each room, each of another function."""
    functions: dict[str, dict[tuple[str, str], list[Change]]] = {}
    for path in sorted((ROOT / "reconciler").rglob("*.py")):
        module = path.relative_to(ROOT / "reconciler").as_posix()
        if counts.get(room_of(module)):
            for change in changes(module, path.read_bytes()):
                functions.setdefault(room_of(module), {}).setdefault((module, change.function), []).append(change)
    for room, count in counts.items():
        chance = random.Random(f"{seed} {room}")
        for function in chance.sample(sorted(functions[room]), min(count, len(functions[room]))):
            yield chance.choice(functions[room][function])


def record(folder: Path, paths: list[str]) -> None:
    """Record the calls of these tests, beside what is recorded already."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-n", "2", "-p", "tests.mutations.calls", "--timeout", "600"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RECONCILER_RECORD_CALLS": str(folder)}
    subprocess.run([*command, *paths], cwd=ROOT, env=environment, check=False)


def calling(folder: Path) -> dict[str, list[str]]:
    """For each function the tests that call it, the quickest first."""
    found: dict[str, list[tuple[float, str]]] = {}
    for file in sorted(folder.glob("*.json")):
        names, recorded = json.loads(file.read_text(encoding="utf-8"))
        for test, (seconds, functions) in recorded.items():
            for function in functions:
                order = EARLY if test.startswith("tests/whole/") else seconds
                found.setdefault(names[function], []).append((order, test))
    return {function: [test for _, test in sorted(tests)] for function, tests in found.items()}


def known() -> set[str]:
    """The changes that nobody could see."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith(("#", "  "))}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--work", type=Path, help="keep the record of calls and the results in this folder, and go on from them")
    parser.add_argument("--record", action="append", default=[], metavar="TESTS", help="record the calls of these tests again")
    parser.add_argument("--again", action="store_true", help="try again what was not noticed before")
    parser.add_argument("--room", action="append", default=[], help="only this room, such as plan or features/urls")
    parser.add_argument("--count", type=int, help="so many changes of each room")
    parser.add_argument("--seed", type=int, default=CONFIGURED["seed"])
    asked = parser.parse_args()
    counts = {room: asked.count or count for room, count in CONFIGURED["rooms"].items() if not asked.room or room in asked.room}
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.work or Path(temporary)
        if asked.record or not (work / "calls").exists():
            record(work / "calls", asked.record or CONFIGURED["tests"])
        return _try_all(work, [*sample(counts, asked.seed)], again=asked.again)


def _try_all(work: Path, chosen: list[Change], *, again: bool) -> int:
    tests, unseen, results = calling(work / "calls"), known(), work / "results.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    earlier: dict[str, bool] = {}
    for change, noticed in map(json.loads, lines):
        earlier[change] = noticed or earlier.get(change, False)
    earlier = {change: noticed for change, noticed in earlier.items() if noticed or not again}
    score: dict[str, Counter[str]] = {}

    def ended(change: Change, outcome: str, why: str = "") -> None:
        score.setdefault(room_of(change.module), Counter())[outcome] += 1
        print(f"{outcome:12} {change}  {why}", flush=True)

    def tried(change: Change, failed: str | None) -> None:
        if failed is not None and failed.startswith(UNTRIED):
            print(f"{failed} {change}", flush=True)
            return
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps([str(change), failed is not None]) + "\n")
        ended(change, "not noticed" if failed is None else "noticed", failed or f"{len(of(change))} tests call it")

    def of(change: Change) -> list[str]:
        return tests.get(f"{change.module}:{change.line}", [])

    for change in chosen:
        if str(change) in unseen:
            ended(change, "invisible")
        elif str(change) in earlier:
            ended(change, "noticed" if earlier[str(change)] else "not noticed", "earlier")
    left = [(change, of(change)) for change in chosen if str(change) not in unseen | earlier.keys()]
    files = {test.partition("::")[0] for _, some in left for test in some}
    files |= {folder for change, _ in left if (ROOT / (folder := f"tests/{room_of(change.module)}")).is_dir()}
    if files:
        pytest.main(["-q", "--no-header", "-p", "no:xdist", "-o", "timeout=120", *sorted(files)], plugins=[Trials(left, tried)])
    print("\n| room | tried | nobody can see | noticed | score |\n|---|---:|---:|---:|---:|")
    for room, counted in [*score.items(), ("all", sum(score.values(), Counter[str]()))]:
        seen = counted.total() - counted["invisible"]
        share = f"{counted['noticed'] / seen:.0%}" if seen else ""
        print(f"| {room} | {counted.total()} | {counted['invisible']} | {counted['noticed']} | {share} |")
    return int(any(counted["not noticed"] for counted in score.values()))


if __name__ == "__main__":
    sys.exit(main())
