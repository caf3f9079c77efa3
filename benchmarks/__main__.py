"""`python -m benchmarks plan --shape mix --size 10k --latency 50`: what one command costs, and its floors."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.measure import run
from benchmarks.prepare import Prepared, prepared, retitled, unapplied
from benchmarks.projects import SHAPES, write
from benchmarks.serving import serving


def size(text: str) -> int:
    """`10k` is 10,000."""
    return int(text[:-1]) * 1000 if text.endswith("k") else int(text)


def floors(case: Prepared) -> None:
    """Print what the GETs of the last run cost bare, at 16 and 64 connections."""
    targets = case.folder / "targets.json"
    targets.write_text(json.dumps(case.service.seen()), encoding="utf-8")
    for connections in (16, 64):
        log = case.folder / "bare.json"
        cost = run([sys.executable, "-m", "benchmarks.bare", case.service.url, str(targets), str(connections)], log=log)
        loop = json.loads(cost.said)
        print(
            f"bare, {connections:2} connections  {loop['wall']:6.2f} s  {loop['cpu']:6.2f} s CPU  {cost.memory:5.0f} MB  "
            f"{loop['requests']:,} GETs, {loop['bytes'] / 1e6:.1f} MB (without its start, {cost.wall - loop['wall']:.2f} s)"
        )


def measured(case: Prepared, command: str, more: list[str], times: int) -> None:
    for _ in range(times):
        case.service.restart()
        cost = case.reconciler(command, *more)
        requests = ", ".join(f"{number:,} {method}" for method, number in case.service.count().items()) or "no requests"
        print(f"{command:20} {cost}\n{'':20} {requests}; exit code {cost.code}")


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure one command, and the same GETs bare.")
    parser.add_argument("command", help="plan, apply, create (a first apply), write, or another command that takes a project")
    parser.add_argument("--shape", choices=list(SHAPES), default="flat")
    parser.add_argument("--size", type=size, default=10_000, help="objects: 1k, 10k, 100k")
    parser.add_argument("--latency", type=float, default=50.0, help="milliseconds that each answer waits")
    parser.add_argument("--times", type=int, default=1, help="repeat the command on the same project and state")
    parser.add_argument("--edit", action="store_true", help="change one title first")
    parser.add_argument("--to", type=Path, help="write: the folder to write the project to")
    arguments, more = parser.parse_known_args()
    shape, objects = arguments.shape, arguments.size
    if arguments.command == "write":
        write(arguments.to or Path(f"{shape}-{objects}"), SHAPES[shape](objects))
        return
    creating = arguments.command == "create"
    with serving(shape, objects, arguments.latency, empty=creating) as service:
        if creating:
            with unapplied(shape, objects, service) as case:
                measured(case, "apply", ["--yes", "--create-state", *more], 1)
                return
        with prepared(shape, objects, service) as case:
            if arguments.edit:
                retitled(case)
            measured(case, arguments.command, ["--yes", *more] if arguments.command == "apply" else more, arguments.times)
            if service.seen():
                floors(case)


if __name__ == "__main__":
    main()
