"""Drift over time, as paths of SVG: a strip for the status, and a row for each number with a scale of its own. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reconciler.fleet.status import Sample, StatusWord
from reconciler.report.formats.figures import HEIGHT as HEIGHT, WIDTH as WIDTH, across, stepped

TABLE: Final = 50  # rows of the table with the same data

_ROWS: Final[tuple[tuple[str, str, Callable[[Sample], int]], ...]] = (
    ("Changed outside Reconciler", "drift", lambda sample: sample.drift),
    ("Changed by the commit", "ahead", lambda sample: sample.ahead),
    ("Unmanaged", "unmanaged", lambda sample: sample.unmanaged),
)


@dataclass(frozen=True)
class Series:
    """A number over time. `line` and `area`: the paths. `most`: the end of the scale. `last`: the newest value."""

    name: str
    style: str
    line: str
    area: str
    most: int
    last: int


@dataclass(frozen=True)
class Strip:
    """A time in one status, in the coordinates."""

    x: int
    width: int
    status: StatusWord


@dataclass(frozen=True)
class DriftChart:
    """`turns`: the samples at which a number or the status changed, the newest first; not more than a table should have."""

    start: datetime
    end: datetime
    series: tuple[Series, ...]
    strips: tuple[Strip, ...]
    turns: tuple[Sample, ...]


def drift(samples: Sequence[Sample], now: datetime) -> DriftChart | None:
    """The chart of these samples, the oldest first; None if there are too few."""
    if len(samples) < 2:
        return None
    start, end = samples[0].at, max(now, samples[-1].at)
    places = across([sample.at for sample in samples], start, end)
    series = tuple(_series(name, style, [value(sample) for sample in samples], places) for name, style, value in _ROWS)
    return DriftChart(start, end, series, tuple(_strips(samples, places)), tuple(_turns(samples)[: -TABLE - 1 : -1]))


def _series(name: str, style: str, values: Sequence[int], places: Sequence[int]) -> Series:
    return Series(name, style, *stepped(values, places), max(*values, 1), values[-1])


def _strips(samples: Sequence[Sample], places: Sequence[int]) -> list[Strip]:
    starts = [index for index in range(len(samples)) if index == 0 or samples[index].status is not samples[index - 1].status]
    ends = [*(places[index] for index in starts[1:]), WIDTH]
    return [Strip(places[index], max(1, end - places[index]), samples[index].status) for index, end in zip(starts, ends, strict=True)]


def _turns(samples: Sequence[Sample]) -> list[Sample]:
    def numbers(sample: Sample) -> tuple[object, ...]:
        return sample.status, sample.ahead, sample.drift, sample.unmanaged

    return [sample for index, sample in enumerate(samples) if index == 0 or numbers(sample) != numbers(samples[index - 1])]
