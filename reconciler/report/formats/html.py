"""A report as one HTML file: no requests, no scripts; follows the reader's light or dark mode, and prints.

All texts of the service and the YAML pass `escaped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from reconciler.report.formats import figures
from reconciler.report.sheet import Share, Sheet, SheetEntry, SheetLine, SheetTable, TableCell, Weight
from reconciler.report.style import style
from reconciler.text.escape import html as escaped

# Rows of a group. One with more is closed at first, so that those below it are found.
OPEN: Final = 300
DEEPEST: Final = 4  # levels that are indented


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
    when = f"{created_at:%Y-%m-%d %H:%M} {created_at.tzname()}"
    # Neither scripts nor requests are allowed, also if a text were markup after all.
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">',
            f"<title>{escaped(sheet.title)}</title>\n<style>{style('report')}</style>\n</head>\n<body>",
            '<header class="top"><div class="inner"><p class="brand">Reconciler</p></div></header>\n<main>',
            f'<h1>{escaped(sheet.title)}</h1>\n<p class="when">{escaped(when)}</p>\n<p class="summary">{escaped(sheet.summary)}</p>',
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _table(table: SheetTable) -> Iterator[str]:
    """Rows that are not on the screen are not laid out (`content-visibility`), so ten thousand open at once."""
    yield f"<h2>{escaped(table.title)}</h2>"
    if table.matrix:
        yield from _matrix(table)
        return
    head = f'<div class="row head">{"".join(f"<div>{escaped(column)}</div>" for column in table.columns)}</div>'
    for group in table.groups:
        shown = " open" if group.title and len(group.rows) <= OPEN else ""
        title = f"<summary>{escaped(group.title)} ({len(group.rows):,})</summary>" if group.title else ""
        element = "details" if title else "div"
        yield f'<{element} class="rows of{len(table.columns)}"{shown}>{title}{head}'
        yield from (f'<div class="row">{"".join(map(_cell, row))}</div>' for row in group.rows)
        yield f"</{element}>"


def _matrix(table: SheetTable) -> Iterator[str]:
    """On a narrow screen each row is a list, so each cell carries the title of its column."""
    head = "".join(f'<th scope="col"><div>{escaped(column)}</div></th>' for column in table.columns)
    yield f'<table class="matrix"><thead><tr>{head}</tr></thead>'
    for group in table.groups:
        yield f'<tbody><tr class="group"><th colspan="{len(table.columns)}" scope="rowgroup">{escaped(group.title)}</th></tr>'
        for first, *others in group.rows:
            cells = [
                f'<td data-of="{escaped(column)}" class="{texts[0].style.value}">{_arrow(texts[0].text)}</td>'
                for column, texts in zip(table.columns[1:], others, strict=True)
            ]
            yield f'<tr><th scope="row">{_cell(first)}</th>{"".join(cells)}</tr>'
        yield "</tbody>"
    yield "</table>"


def _arrow(text: str) -> str:
    """A mark, in which no line ends inside an arrow."""
    return escaped(text).replace(escaped("->"), "→")


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
