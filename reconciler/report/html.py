"""A report as one HTML file: no requests, no scripts; follows the reader's light or dark mode, and prints.

All texts of the service and the YAML pass `escaped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from reconciler.model.drift import Share
from reconciler.report import figures
from reconciler.report.sheet import TableCell, Sheet, SheetEntry, SheetLine, SheetTable, Weight
from reconciler.text.escape import html as escaped

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
.means { margin: 0 0 1rem; padding-left: 1.2rem; font-size: 1.05rem; } .means li { margin: .15rem 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.75rem; } .bar { display: flex; gap: 2px; height: 1.4rem; } .bar span { min-width: 6px; border-radius: 3px; }
.parts { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: .6rem 0 0; padding: 0; }
.parts span { display: inline-block; width: .8rem; height: .8rem; border-radius: 50%; margin-right: .4rem; vertical-align: -.05rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
article { border: 1px solid var(--edge); border-radius: 8px; margin: 0 0 .75rem; overflow: hidden; break-inside: avoid; }
article > header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; background: var(--soft); padding: .5rem .85rem; }
h3 { font: 600 .9rem/1.4 ui-monospace, SFMono-Regular, Menlo, monospace; margin: 0; overflow-wrap: anywhere; }
.where { color: var(--dim); font-size: .85rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } td { padding: .3rem .85rem; vertical-align: top; font-size: .9rem; }
tr + tr td { border-top: 1px solid var(--edge); } .sign { width: 3.4rem; text-align: center; font-family: ui-monospace, Menlo, monospace; }
.name { width: 12rem; font-weight: 600; overflow-wrap: anywhere; } .value { overflow-wrap: anywhere; white-space: pre-wrap; } .note { color: var(--dim); }
.nothing, .legend { color: var(--dim); } .legend { font-size: .9rem; } .legend code { color: var(--fore); padding: 0 .15rem; } ul { padding-left: 1.2rem; }
.rows { border: 1px solid var(--edge); border-radius: 8px; margin: 0 0 .75rem; overflow: hidden; }
.rows summary { background: var(--soft); padding: .5rem .85rem; font-weight: 600; cursor: pointer; overflow-wrap: anywhere; }
.row { display: grid; gap: 0 1rem; padding: .4rem .85rem; border-top: 1px solid var(--edge); font-size: .9rem; overflow-wrap: anywhere;
  content-visibility: auto; contain-intrinsic-size: auto 3rem; break-inside: avoid; }
.of2 .row { grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); } .of3 .row { grid-template-columns: minmax(0, 5fr) minmax(0, 4fr) minmax(0, 4fr); }
.row.head { color: var(--dim); font-size: .85rem; font-weight: 600; } .row .head { font: 600 .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; }
.row .note { font: .85rem/1.5 system-ui, sans-serif; }
.in1 { padding-left: 1rem; } .in2 { padding-left: 2rem; } .in3 { padding-left: 3rem; } .in4 { padding-left: 4rem; }
@media (max-width: 44rem) { .of2 .row, .of3 .row { grid-template-columns: minmax(0, 1fr); } .row.head { display: none; } }
@media print { .row { content-visibility: visible; } }
.managed .bar { height: .9rem; width: 100%; min-width: 4rem; background: var(--edge); border-radius: 3px; } .managed td { vertical-align: middle; }
@media (max-width: 40rem) { body { padding: 1rem .75rem 2rem; } td { padding: .3rem .5rem; }
  article tr { display: grid; grid-template-columns: 2rem 1fr; padding: .3rem .5rem; } article tr + tr { border-top: 1px solid var(--edge); }
  article td { border: 0 !important; padding: 0 .2rem; width: auto !important; } article .value { grid-column: 2; } article td:empty { display: none; }
  article .sign:empty + .name:empty + .value { grid-column: 2; } .managed .name { width: auto; } }
@media print { body { max-width: none; padding: 0; } }
"""  # noqa: E501  one line a rule

# Rows of a group. One with more is closed at first, so that those below it are found.
OPEN: Final = 300
DEEPEST: Final = 4  # levels that are indented
STYLES: Final = ("create", "update", "move", "delete", "drift", "blocked", "dim")


def html(sheet: Sheet, *, created_at: datetime) -> str:
    """The whole file: what the report means, then its entries under their headings, the most serious first. `created_at`: shown in its own
    time zone."""
    means = "".join(f'<li class="{sentence.style.value}">{escaped(sentence.text)}</li>' for sentence in sheet.consequences)
    body = [
        *([f'<ul class="means">{means}</ul>'] if means else []),
        *([figures.bar(sheet.parts)] if sheet.parts else []),
        *(['<p class="nothing">Everything matches the declaration.</p>'] if not (sheet.parts or sheet.entries or sheet.tables) else []),
        *(figures.drawn(figure, created_at.tzinfo) for figure in sheet.figures),
        *_sections(sheet),
        *([_legend(sheet.legend)] if sheet.legend else []),
        *(line for table in reversed(sheet.tables) for line in _table(table)),
        *(["<h2>Coverage</h2>", coverage(sheet.coverage)] if sheet.coverage else []),
        *(["<h2>Remarks</h2>\n<ul>", *(f"<li>{escaped(note)}</li>" for note in sheet.notes), "</ul>"] if sheet.notes else []),
    ]
    css = CSS + (figures.CSS if sheet.figures else "") + "".join(_color(name) for name in STYLES)
    when = f"{created_at:%Y-%m-%d %H:%M} {created_at.tzname()}"
    # Neither scripts nor requests are allowed, also if a text were markup after all.
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">',
            f"<title>{escaped(sheet.title)}</title>\n<style>{css}</style>\n</head>\n<body>\n<main>",
            f'<h1>{escaped(sheet.title)}</h1>\n<p class="when">{escaped(when)}</p>\n<p class="summary">{escaped(sheet.summary)}</p>',
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _color(name: str) -> str:
    return f".{name} {{ color: var(--{name}); }} .fill-{name} {{ background: var(--{name}); }}\n"


def _table(table: SheetTable) -> Iterator[str]:
    """Rows that are not on the screen are not laid out (`content-visibility`), so ten thousand open at once."""
    yield f"<h2>{escaped(table.title)}</h2>"
    head = f'<div class="row head">{"".join(f"<div>{escaped(column)}</div>" for column in table.columns)}</div>'
    for group in table.groups:
        shown = " open" if group.title and len(group.rows) <= OPEN else ""
        title = f"<summary>{escaped(group.title)} ({len(group.rows):,})</summary>" if group.title else ""
        element = "details" if title else "div"
        yield f'<{element} class="rows of{len(table.columns)}"{shown}>{title}{head}'
        yield from (f'<div class="row">{"".join(map(_cell, row))}</div>' for row in group.rows)
        yield f"</{element}>"


def _cell(texts: Sequence[TableCell]) -> str:
    shown = []
    for cell in texts:
        notes = "".join(f'<div class="note">{escaped(note)}</div>' for note in cell.notes)
        shown.append(f'<div class="in{min(cell.depth, DEEPEST)} {cell.style.value}">{escaped(cell.text)}{notes}</div>')
    return f"<div>{''.join(shown)}</div>"


def _sections(sheet: Sheet) -> list[str]:
    """The entries under their headings, the most serious ones first."""
    background = [entry for entry in sheet.beside_tables if entry.weight is Weight.BACKGROUND]
    serious = [entry for entry in sheet.beside_tables if entry.weight is not Weight.BACKGROUND]
    order = [*(serious if sheet.worst_first else reversed(serious)), *background]
    sections: dict[str, list[str]] = {entry.section or "Details": [] for entry in order}
    for entry in (*serious, *background):
        sections[entry.section or "Details"].append(_entry(entry))
    return [line for section, articles in sections.items() for line in (f"<h2>{section}</h2>", *articles)]


def _legend(signs: Iterable[tuple[str, str]]) -> str:
    return f'<p class="legend">Signs: {", ".join(f"<code>{escaped(sign)}</code> {word}" for sign, word in signs)}.</p>'


def _entry(entry: SheetEntry) -> str:
    where = f'<span class="where">{escaped(entry.where)}</span>' if entry.where else ""
    rows = "\n".join(map(_row, entry.lines))
    return f"<article><header><h3>{escaped(entry.title)}</h3>{where}</header>\n<table>\n{rows}\n</table></article>"


def _row(line: SheetLine) -> str:
    note = f'<div class="note">{escaped(line.note)}</div>' if line.note else ""
    return (
        f'<tr><td class="sign {line.style.value}">{escaped(line.symbol)}</td>'
        f'<td class="name {line.style.value}">{_breakable(line.name)}</td>'
        f'<td class="value">{escaped(line.value)}{note}</td></tr>'
    )


def _breakable(name: str) -> str:
    """A name that continues on the next line after a slash, if it is an address that is too long."""
    return escaped(name).replace("/", "/<wbr>")


def coverage(shares: Mapping[str, Share]) -> str:
    """A row for each kind: its name, its managed share, and the numbers."""
    rows = []
    for kind, share in shares.items():
        part = share.managed / share.seen if share.seen else 1.0
        rows.append(
            f'<tr><td class="name">{escaped(kind)}</td>'
            f'<td><div class="bar"><span class="fill-create" style="width:{part:.1%}"></span></div></td>'
            f"<td>{share.managed:,} of {share.seen:,} ({share.percent} %)</td></tr>"
        )
    return f'<table class="managed">{"".join(rows)}</table>'
