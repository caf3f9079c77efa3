"""Summary pictures as inline SVG: the share of each action, and the managed share of each kind. Colours are classes of the page."""

from __future__ import annotations

import html as entities
from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.plan.drift import Share
from reconciler.report.entries import PicturePart
from reconciler.text import escape

WIDTH: Final = 880
ROW: Final = 26
LEGEND: Final = 8.5  # of a letter at 14 px
LEAST: Final = 6  # a part is never narrower


def bar(parts: Sequence[PicturePart]) -> str:
    """One bar with a part for each word, and a legend below it; the text contains the numbers too."""
    total = sum(part.number for part in parts)
    spare = WIDTH - LEAST * len(parts)
    x, at, top, shapes, words = 0.0, 0.0, 54, [], []
    for part in parts:
        width = LEAST + spare * part.number / total
        style = part.style.value
        shapes.append(f'<rect x="{x:.1f}" y="0" width="{max(width - 2, 1):.1f}" height="22" rx="3" class="fill-{style}"/>')
        label = f"{part.number:,} {part.word}"
        long = 24 + LEGEND * len(label) + 20
        if at and at + long > WIDTH:
            at, top = 0.0, top + ROW
        words.append(f'<circle cx="{at + 7:.1f}" cy="{top - 5}" r="6" class="fill-{style}"/>{_label(at + 20, top, label)}')
        x, at = x + width, at + long
    said = ", ".join(f"{part.number:,} {part.word}" for part in parts)
    return _svg(top + 10, said, [*shapes, *words])


def coverage(shares: Mapping[str, Share]) -> str:
    """A row for each kind: its name, its managed share, and the numbers."""
    left, right = 130, 190
    room = WIDTH - left - right
    rows = []
    for index, (kind, share) in enumerate(shares.items()):
        y = index * ROW
        part = room * share.managed / share.seen if share.seen else room
        rows += [
            _label(0, y + 17, kind),
            f'<rect x="{left}" y="{y + 5}" width="{room}" height="14" rx="3" class="fill-dim" opacity=".25"/>',
            f'<rect x="{left}" y="{y + 5}" width="{part:.1f}" height="14" rx="3" class="fill-create"/>',
            _label(left + room + 12, y + 17, f"{share.managed:,} of {share.seen:,} ({share.percent} %)"),
        ]
    label = ", ".join(f"{kind} {share.percent} %" for kind, share in shares.items())
    return _svg(len(shares) * ROW + 4, f"Managed: {label}", rows)


def _svg(height: int, label: str, shapes: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="currentColor"><title>{_text(label)}</title>{"".join(shapes)}</svg>'
    )


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}">{_text(text)}</text>'


def _text(text: str) -> str:
    return entities.escape(escape.terminal(text))
