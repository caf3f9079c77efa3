"""The pictures of a report as SVG and HTML: shares in a bar, a tree with a bar for each number, a number over time. Pure.

They are as wide as the page. Letters keep their size on every screen: widths are shares of the picture, heights and letters are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

from reconciler.report.sheet import Figure, FigureRow, PicturePart, Trend
from reconciler.report.words import count
from reconciler.text.escape import html as escaped

WIDTH: Final = 1000  # of the coordinates of a number over time; the picture is stretched
HEIGHT: Final = 100
ROW: Final = 30  # pixels of a row of a tree
INDENT: Final = 18
LONGEST: Final = 80  # percent of the width that the bar of the largest number has
SPOKEN: Final = 12  # rows that the text for readers who see no picture has; the report has all


def bar(parts: Sequence[PicturePart]) -> str:
    """One bar with a part for each word, and their numbers below it."""
    label = ", ".join(f"{part.number:,} {part.word}" for part in parts)
    pieces = "".join(f'<span class="fill-{part.style.value}" style="flex:{part.number}"></span>' for part in parts)
    numbers = "".join(f'<li><span class="fill-{part.style.value}"></span>{part.number:,} {escaped(part.word)}</li>' for part in parts)
    return f'<figure><div class="bar" role="img" aria-label="{escaped(label)}">{pieces}</div><ul class="parts">{numbers}</ul></figure>'


def drawn(figure: Figure, zone: tzinfo | None) -> str:
    """A picture. `zone`: of its dates."""
    return _trend(figure, zone) if isinstance(figure, Trend) else _tree(figure.title, figure.noun, figure.rows)


def _tree(title: str, noun: str, rows: Sequence[FigureRow]) -> str:
    most = max((row.number or 0 for row in rows), default=0)
    numbers = ["unknown" if row.number is None else count(row.number, noun) for row in rows]
    spoken = [f"{row.name}: {number}" for row, number in zip(rows, numbers, strict=True)]
    more = f"; and {len(rows) - SPOKEN:,} more" if len(rows) > SPOKEN else ""
    label = f"{title}. {'; '.join(spoken[:SPOKEN])}{more}"
    shapes = "".join(_row(rows, at, number, most) for at, number in enumerate(numbers))
    return (
        f'<figure class="tree"><figcaption>{escaped(title)}</figcaption>'
        f'<svg role="img" aria-label="{escaped(label)}" height="{len(rows) * ROW}">{shapes}</svg></figure>'
    )


def _row(rows: Sequence[FigureRow], at: int, number: str, most: int) -> str:
    row, y = rows[at], at * ROW
    x, middle = row.depth * INDENT, y + ROW // 2
    above = next((before for before in range(at - 1, -1, -1) if rows[before].depth < row.depth), None)
    branch = ""
    if above is not None:
        left = x - INDENT + 5
        branch = f'<path class="branch" d="M{left} {above * ROW + ROW - 3}V{middle}H{x - 2}"/>'
    share = LONGEST * (row.number or 0) / most if most else 0.0
    fill = f'<rect class="share" x="{x}" y="{y + 3}" width="{share:.2f}%" height="{ROW - 6}" rx="4"/>' if share else ""
    note = f' <tspan class="note">{escaped(row.note)}</tspan>' if row.note else ""
    top = "" if row.depth else ' class="top"'
    name = f'<text x="7" y="{ROW // 2}"{top}>{escaped(row.name)}{note}</text>'
    # A picture inside the picture cuts a long name off before the number; the report below has all of it.
    inner = f'<svg x="{x}" y="{y}" width="{LONGEST - 4 * row.depth}%" height="{ROW}" overflow="hidden">{name}</svg>'
    return f'{branch}{fill}{inner}<text x="100%" y="{middle}" text-anchor="end">{escaped(number)}</text>'


def _trend(trend: Trend, zone: tzinfo | None) -> str:
    start, values = trend.points[0][0], [number for _, number in trend.points]
    places = across([moment for moment, _ in trend.points], start, trend.end)
    line, area = stepped(values, places)
    first, most, last = (count(number, trend.noun) for number in (values[0], max(values), values[-1]))
    ends = [f"{start.astimezone(zone):%Y-%m-%d}: {first}", f"at most {most}", f"now: {last}"]
    return (
        f'<figure class="trend"><figcaption>{escaped(trend.title)}</figcaption>'
        f'<svg viewBox="0 -4 {WIDTH} {HEIGHT + 4}" preserveAspectRatio="none" role="img" aria-label="{escaped(", ".join(ends))}">'
        f'<path class="area" d="{area}"/><path class="line" d="{line}"/></svg>'
        f'<p class="ends">{"".join(f"<span>{escaped(end)}</span>" for end in ends)}</p></figure>'
    )


def across(moments: Sequence[datetime], start: datetime, end: datetime) -> list[int]:
    """Where these moments are between two others, in the coordinates."""
    whole = end - start
    return [round(WIDTH * ((moment - start) / whole)) if whole > timedelta() else 0 for moment in moments]


def stepped(values: Sequence[int], places: Sequence[int]) -> tuple[str, str]:
    """The path of a number that is the same until the next place, and the area below it."""
    most = max(*values, 1)
    heights = [HEIGHT - round(HEIGHT * value / most) for value in values]
    line = f"M{places[0]} {heights[0]}"
    for index in range(1, len(values)):
        if heights[index] != heights[index - 1]:
            line += f"H{places[index]}V{heights[index]}"
    line += f"H{WIDTH}"
    return line, f"{line}V{HEIGHT}H{places[0]}Z"
