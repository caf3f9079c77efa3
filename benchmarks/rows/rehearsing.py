"""Rehearsals: of a hundred requests, with a look at every reader and URL after each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.prepare import prepared
from benchmarks.rows import LATENCY, Extent, Row, measure, shown
from benchmarks.serving import serving

REQUESTS = 100
CPU = 60.0  # seconds


def rows(extent: Extent) -> Iterator[Row]:
    requests = min(REQUESTS, extent.size // 20)
    with serving("mix", extent.size, LATENCY) as service, prepared("mix", extent.size, service) as case:
        renumbered(case.folder, requests)
        done = measure(case, "rehearse")
    yield Row(
        f"`rehearse` of {requests} requests, {extent.size:,} objects",
        f"{shown(done.cost)}; {done.gets:,} GETs, {done.writes} writes",
        f"{done.cost.cpu / requests:.2f} s CPU a request, with a look at all readers and URLs",
        f"{CPU:.0f} s CPU, no writes",
        done.cost.cpu <= CPU and done.writes == 0,
    )


def renumbered(folder: Path, number: int) -> None:
    """Other titles for so many spaces."""
    file = folder / "project" / "reconciler.yaml"
    text = file.read_text(encoding="utf-8")
    for space in range(number):
        text = text.replace(f"title: Space {space}\n", f"title: Space no. {space}\n", 1)
    file.write_text(text, encoding="utf-8")
