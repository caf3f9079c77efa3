"""A report as one HTML file: no requests, no scripts; follows the reader's light or dark mode, and prints.

All texts of the service and the YAML pass `escaped`.
"""

from __future__ import annotations

import html as entities
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from reconciler.model.drift import Share
from reconciler.report.sheet import PicturePart, Sheet, SheetEntry, SheetLine
from reconciler.text import escape

CSS: Final = """
:root { color-scheme: light dark; --back: #fff; --fore: #1c2024; --dim: #6b7280; --edge: #e2e5e9; --soft: #f6f7f9;
  --create: #1a7f4b; --update: #9a6700; --move: #0b7285; --delete: #c62a2f; --drift: #8e4ec6; --blocked: #c62a2f; --plain: #1c2024; --head: #1c2024; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --fore: #e6e8eb; --dim: #9aa2ad; --edge: #2d333a; --soft: #1d2126;
  --create: #4cc38a; --update: #e0a82e; --move: #3fb8cf; --delete: #ff7b7f; --drift: #bf8ef0; --blocked: #ff7b7f; --plain: #e6e8eb; --head: #e6e8eb; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--back); color: var(--fore);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
.when { color: var(--dim); margin: 0 0 1rem; } .summary { font-size: 1.05rem; margin: 0 0 1rem; }
svg { display: block; width: 100%; height: auto; } figure { margin: 0 0 1.75rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
article { border: 1px solid var(--edge); border-radius: 8px; margin: 0 0 .75rem; overflow: hidden; break-inside: avoid; }
article > header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; background: var(--soft); padding: .5rem .85rem; }
h3 { font: 600 .9rem/1.4 ui-monospace, SFMono-Regular, Menlo, monospace; margin: 0; overflow-wrap: anywhere; }
.where { color: var(--dim); font-size: .85rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } td { padding: .3rem .85rem; vertical-align: top; font-size: .9rem; }
tr + tr td { border-top: 1px solid var(--edge); } .sign { width: 3.4rem; text-align: center; font-family: ui-monospace, Menlo, monospace; }
.name { width: 11rem; font-weight: 600; overflow-wrap: anywhere; } .value { overflow-wrap: anywhere; white-space: pre-wrap; } .note { color: var(--dim); }
.nothing { color: var(--dim); } ul { padding-left: 1.2rem; }
@media (max-width: 40rem) { .name { width: 7rem; } td { padding: .3rem .5rem; } .sign { width: 2.2rem; } }
@media print { body { max-width: none; padding: 0; } }
"""  # noqa: E501  one line a rule

# What an entry in the style of a deletion means depends on the report.
DESTRUCTIVE: Final = {"plan": "Deletions", "outcome": "Failed", "drift": "Deleted outside Reconciler"}
STYLES: Final = ("create", "update", "move", "delete", "drift", "blocked", "dim")


def html(sheet: Sheet, *, created_at: datetime) -> str:
    """The whole file; destructive changes come first. `created_at`: shown in its own time zone."""
    last = [entry for entry in sheet.entries if entry.destructive]
    rest = [entry for entry in sheet.entries if not entry.destructive]
    body = [
        f"<figure>{bar(sheet.parts)}</figure>" if sheet.parts else '<p class="nothing">Everything matches the declaration.</p>',
        *_section(DESTRUCTIVE[sheet.kind] if rest else "", last),
        *_section("Other changes" if last else "", rest),
        *(["<h2>Coverage</h2>", f"<figure>{coverage(sheet.coverage)}</figure>"] if sheet.coverage else []),
        *(["<h2>Remarks</h2>\n<ul>", *(f"<li>{escaped(note)}</li>" for note in sheet.notes), "</ul>"] if sheet.notes else []),
    ]
    css = CSS + "".join(_color(name) for name in STYLES)
    return page(sheet.title, sheet.summary, body, css=css, created_at=created_at)


def page(title: str, summary: str, body: Iterable[str], *, css: str, created_at: datetime, attributes: str = "") -> str:
    """A file that opens without the network: neither scripts nor requests are allowed, also if a text were markup after all."""
    when = f"{created_at:%Y-%m-%d %H:%M} {created_at.tzname()}"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">',
            f"<title>{escaped(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n<main{attributes}>",
            f'<h1>{escaped(title)}</h1>\n<p class="when">{escaped(when)}</p>\n<p class="summary">{escaped(summary)}</p>',
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _color(name: str) -> str:
    return f".{name} {{ color: var(--{name}); }} .fill-{name} {{ fill: var(--{name}); }}\n"


def _section(title: str, entries: Iterable[SheetEntry]) -> list[str]:
    articles = [_entry(entry) for entry in entries]
    return [f"<h2>{title}</h2>"] * bool(articles and title) + articles


def _entry(entry: SheetEntry) -> str:
    where = f'<span class="where">{escaped(entry.where)}</span>' if entry.where else ""
    rows = "\n".join(map(_row, entry.lines))
    return f"<article><header><h3>{escaped(entry.title)}</h3>{where}</header>\n<table>\n{rows}\n</table></article>"


def _row(line: SheetLine) -> str:
    note = f'<div class="note">{escaped(line.note)}</div>' if line.note else ""
    return (
        f'<tr><td class="sign {line.style.value}">{escaped(line.symbol)}</td><td class="name {line.style.value}">{escaped(line.name)}</td>'
        f'<td class="value">{escaped(line.value)}{note}</td></tr>'
    )


def escaped(text: str) -> str:
    """A text as it is shown: no markup, and no control characters."""
    return entities.escape(escape.terminal(text))


WIDTH: Final = 880
ROW: Final = 26
# Pixels of a letter at 14 px: a file has no font metrics, and too wide only wraps the legend early.
LEGEND: Final = 8.5
# One delete beside 10,000 creates must still be a visible bar.
LEAST: Final = 6


def bar(parts: Sequence[PicturePart]) -> str:
    """One bar with a part for each word, and a legend below it; the text contains the numbers too."""
    total = sum(part.number for part in parts)
    spare = WIDTH - LEAST * len(parts)
    x, at, top, shapes, legend = 0.0, 0.0, 54, [], []
    for part in parts:
        width = LEAST + spare * part.number / total
        style = part.style.value
        shapes.append(f'<rect x="{x:.1f}" y="0" width="{max(width - 2, 1):.1f}" height="22" rx="3" class="fill-{style}"/>')
        label = f"{part.number:,} {part.word}"
        long = 24 + LEGEND * len(label) + 20
        if at and at + long > WIDTH:
            at, top = 0.0, top + ROW
        legend.append(f'<circle cx="{at + 7:.1f}" cy="{top - 5}" r="6" class="fill-{style}"/>{_label(at + 20, top, label)}')
        x, at = x + width, at + long
    numbers = ", ".join(f"{part.number:,} {part.word}" for part in parts)
    return _svg(top + 10, numbers, [*shapes, *legend])


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
        f'font-size="14" fill="currentColor"><title>{escaped(label)}</title>{"".join(shapes)}</svg>'
    )


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}">{escaped(text)}</text>'
