"""The fleet as a picture: a cell for each project, in blocks by tenant and wave. Pure.

The colour and a mark show the status, the lightness shows the age of the reading. The marks of a block are one path, so that ten thousand
cells stay small. Of a large fleet, the cells that look alike in a block are one path too, which leads to the list of their tenant: a
browser needs seconds to lay out a link and a title for each. The cells of `alone`, which need attention most, keep a link of their own. The
keyboard does not reach links in the picture: the table of the groups beside it has the same data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Final

from markupsafe import Markup, escape

from reconciler.fleet.health import HealthWord
from reconciler.fleet.pages import links
from reconciler.fleet.pages.query import Query
from reconciler.fleet.schedule import stale_after
from reconciler.fleet.status import Cell, StatusWord, lasting
from reconciler.text.escape import terminal

COLUMNS: Final = 10
BLOCK: Final = 100  # cells
PITCH: Final = 12  # pixels from one cell to the next
CELL: Final = 11
ALONE: Final = 1_000  # cells with a link of their own
LABELS: Final = ("Unknown", "OutOfSync", "Synced", "orphaned")
HEALTHS: Final = tuple(HealthWord)  # the worst first
_LETTERS: Final = {"Unknown": "u", "OutOfSync": "o", "Synced": "s", "orphaned": "x"}
_MARKS: Final = {  # drawn from the upper left corner of a cell
    "Unknown": "m3.5 3.5l4 4m0-4l-4 4",
    "OutOfSync": "m2.5 8.5l6-6",
    "orphaned": "m3 5.5h5",
    "paused": "m4 3.5v4m3-4v4",
    "Broken": "m5.5 2.5v3.5m0 1.7v1.3",
}
_SQUARE: Final = f"h{CELL}v{CELL}h-{CELL}z"
LEGEND: Final = (  # what a cell says, its class, its mark
    ("Synced", "s0", ""),
    ("OutOfSync", "o0", _MARKS["OutOfSync"]),
    ("Unknown", "u2", _MARKS["Unknown"]),
    ("Orphaned", "x2", _MARKS["orphaned"]),
    ("Paused", "s0", _MARKS["paused"]),
    ("Broken, whatever its status", "s0", _MARKS["Broken"]),
    ("Read longer ago than its interval", "s1", ""),
)
AGES: Final = (
    ("under a minute", 60),
    ("under 5 minutes", 300),
    ("under 15 minutes", 900),
    ("under an hour", 3_600),
    ("under 6 hours", 21_600),
    ("under a day", 86_400),
)


@dataclass(frozen=True)
class HeatMapGroup:
    """The projects of one tenant in one wave, by name. `counts`: by label; `healths`: by health, of those that are read."""

    tenant: str
    wave: int
    cells: tuple[Cell, ...]
    counts: Counter[str]
    healths: Counter[str]


def groups(cells: Sequence[Cell]) -> list[list[HeatMapGroup]]:
    """The groups of each tenant, its waves in their order."""
    ordered = sorted(cells, key=lambda cell: (cell.tenant, cell.wave, cell.name))
    heat_map_groups = [
        _group(tenant, wave, tuple(group)) for (tenant, wave), group in groupby(ordered, key=lambda cell: (cell.tenant, cell.wave))
    ]
    return [list(group) for _, group in groupby(heat_map_groups, key=lambda group: group.tenant)]


def totals(cells: Sequence[Cell]) -> Counter[str]:
    """How many projects have each label."""
    return Counter(map(label, cells))


def healths(cells: Sequence[Cell]) -> Counter[str]:
    """How many projects have each health; orphaned projects are no longer read."""
    return Counter(cell.health.value for cell in cells if not cell.orphaned)


def freshness(cells: Sequence[Cell]) -> list[tuple[str, int]]:
    """The number of readings by age; orphaned projects are no longer read."""
    numbers = Counter(_bucket(cell.age) for cell in cells if not cell.orphaned)
    names = [name for name, _ in AGES] + ["a day or older", "never read"]
    return [(name, numbers[index]) for index, name in enumerate(names)]


def label(cell: Cell) -> str:
    return "orphaned" if cell.orphaned else cell.status.value


def level(cell: Cell) -> int:
    """0 for a reading within its interval, 1 for one that still counts, 2 for one that is too old or missing."""
    if cell.age is None or timedelta(seconds=cell.age) > stale_after(cell.every):
        return 2
    return int(cell.age > cell.every)


def alone(cells: Sequence[Cell]) -> frozenset[str]:
    """The names of the projects whose cells have a link and a title of their own: all of a small fleet, of a large one the worst."""
    if len(cells) > ALONE:
        worst = sorted((cell for cell in cells if not _is_quiet(cell)), key=_badness)
        cells = worst[:ALONE]
    return frozenset(cell.name for cell in cells)


def _is_quiet(cell: Cell) -> bool:
    """Whether nobody has to look at a project."""
    return cell.orphaned or (cell.status is StatusWord.SYNCED and cell.health is HealthWord.HEALTHY and not cell.paused)


def _badness(cell: Cell) -> tuple[bool, int, int, str]:
    """The order of cells that need attention, the worst first."""
    return cell.health is not HealthWord.BROKEN, LABELS.index(label(cell)), HEALTHS.index(cell.health), cell.name


def heat(group: HeatMapGroup, names: Container[str]) -> Markup:
    """The blocks of a group as SVG. `names`: the projects with cells of their own."""
    blocks = (group.cells[start : start + BLOCK] for start in range(0, len(group.cells), BLOCK))
    return Markup("").join(_block(cells, names) for cells in blocks)


def _group(tenant: str, wave: int, cells: tuple[Cell, ...]) -> HeatMapGroup:
    return HeatMapGroup(tenant, wave, cells, totals(cells), healths(cells))


def _bucket(age: int | None) -> int:
    if age is None:
        return len(AGES) + 1
    return next((index for index, (_, limit) in enumerate(AGES) if age < limit), len(AGES))


def _block(cells: Sequence[Cell], names: Container[str]) -> Markup:
    width, height = min(len(cells), COLUMNS) * PITCH, -(-len(cells) // COLUMNS) * PITCH
    shapes = "".join(_cells(cells, names))
    return Markup(f'<svg width="{width}" height="{height}">{shapes}{_marks(cells)}</svg>')  # noqa: S704  texts are escaped


def _cells(cells: Sequence[Cell], names: Container[str]) -> Iterator[str]:
    """The cells, merged if they look the same."""
    looks: dict[str, list[str]] = {}
    merged: dict[str, list[str]] = {}
    for index, cell in enumerate(cells):
        look = f"{_LETTERS[label(cell)]}{level(cell)}"
        if cell.name in names:
            looks.setdefault(look, []).append(_cell(cell, index))
        else:
            merged.setdefault(look, []).append(f"M{index % COLUMNS * PITCH} {index // COLUMNS * PITCH}{_SQUARE}")
    # Below the others: their links must be above this one.
    if merged:
        paths = "".join(f'<path class="{look}" d="{"".join(shapes)}"/>' for look, shapes in merged.items())
        title = escape(terminal(f"{cells[0].name} to {cells[-1].name}"))
        yield f'<a href="{escape(Query(tenant=cells[0].tenant).link())}" tabindex="-1">{paths}<title>{title}</title></a>'
    for look, shapes in looks.items():
        yield f'<g class="{look}">{"".join(shapes)}</g>'


def _cell(cell: Cell, index: int) -> str:
    place = "".join(f' {name}="{at * PITCH}"' for name, at in (("x", index % COLUMNS), ("y", index // COLUMNS)) if at)
    age = f", {lasting(timedelta(seconds=cell.age))}" if cell.age is not None else ""
    words = ["paused"] if cell.paused else []
    words += [label(cell)] if cell.orphaned or cell.health is HealthWord.HEALTHY else [label(cell), cell.health.value]
    title = escape(terminal(f"{cell.name}: {', '.join(words)}{age}"))
    return f'<a href="{links.project(cell.name)}" tabindex="-1"><rect{place}/><title>{title}</title></a>'


def _marks(cells: Sequence[Cell]) -> str:
    """The marks of a block: cells that are not Synced, are paused or are Broken."""
    path = "".join(
        f"M{index % COLUMNS * PITCH} {index // COLUMNS * PITCH}{_MARKS[mark]}"
        for index, cell in enumerate(cells)
        if (mark := _mark(cell)) in _MARKS
    )
    return f'<path d="{path}"/>' if path else ""


def _mark(cell: Cell) -> str:
    """The name of the mark of a cell: the worst that there is to say."""
    if cell.orphaned:
        return label(cell)
    return HealthWord.BROKEN.value if cell.health is HealthWord.BROKEN else "paused" if cell.paused else label(cell)
