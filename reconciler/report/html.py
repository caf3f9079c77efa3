"""A report as one HTML file: no requests, no scripts; follows the reader's light or dark mode, and prints.

All texts of the service and the YAML pass `_text`.
"""

from __future__ import annotations

import html as entities
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from reconciler.report.entries import ReportEntry, ReportLine, Sheet
from reconciler.report.picture import bar, coverage
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

GOES: Final = {"plan": "Deletions", "outcome": "Failed", "drift": "Deleted outside Reconciler"}
STYLES: Final = ("create", "update", "move", "delete", "drift", "blocked", "dim")


def html(sheet: Sheet, *, created_at: datetime) -> str:
    """The whole file; destructive changes come first. `created_at`: shown in its own time zone."""
    title = _text(sheet.title)
    last = [entry for entry in sheet.entries if entry.destructive]
    rest = [entry for entry in sheet.entries if not entry.destructive]
    when = f"{created_at:%Y-%m-%d %H:%M} {created_at.tzname()}"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">',
            f"<title>{title}</title>\n<style>{CSS}{''.join(_colour(name) for name in STYLES)}</style>\n</head>\n<body>\n<main>",
            f'<h1>{title}</h1>\n<p class="when">{_text(when)}</p>\n<p class="summary">{_text(sheet.summary)}</p>',
            f"<figure>{bar(sheet.parts)}</figure>" if sheet.parts else '<p class="nothing">Everything matches the declaration.</p>',
            *_section(GOES[sheet.kind] if rest else "", last),
            *_section("Other changes" if last else "", rest),
            *(["<h2>Coverage</h2>", f"<figure>{coverage(sheet.coverage)}</figure>"] if sheet.coverage else []),
            *(["<h2>Remarks</h2>\n<ul>", *(f"<li>{_text(note)}</li>" for note in sheet.notes), "</ul>"] if sheet.notes else []),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _colour(name: str) -> str:
    return f".{name} {{ color: var(--{name}); }} .fill-{name} {{ fill: var(--{name}); }}\n"


def _section(title: str, entries: Iterable[ReportEntry]) -> list[str]:
    made = [_entry(entry) for entry in entries]
    return [f"<h2>{title}</h2>"] * bool(made and title) + made


def _entry(entry: ReportEntry) -> str:
    where = f'<span class="where">{_text(entry.where)}</span>' if entry.where else ""
    rows = "\n".join(map(_row, entry.lines))
    return f"<article><header><h3>{_text(entry.title)}</h3>{where}</header>\n<table>\n{rows}\n</table></article>"


def _row(line: ReportLine) -> str:
    note = f'<div class="note">{_text(line.note)}</div>' if line.note else ""
    return (
        f'<tr><td class="sign {line.style.value}">{_text(line.symbol)}</td><td class="name {line.style.value}">{_text(line.name)}</td>'
        f'<td class="value">{_text(line.value)}{note}</td></tr>'
    )


def _text(text: str) -> str:
    return entities.escape(escape.terminal(text))
