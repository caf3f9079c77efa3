"""The access review as people and programs read it: a tree in a table, and a JSON document. Pure.

    acme/site/docs                 anyone             what contains it is above it, one level less indented: first whatever has addresses
      acme/site/docs/section/api   anyone             below it (a site), each with everything in it, then the rest (collections and spaces)

The access review as one HTML file: no requests, no scripts; follows the reader's light or dark mode, and prints.

Rows that are not on the screen are not laid out (`content-visibility`), so ten thousand objects open at once. All texts of the service and
the YAML pass `escaped`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reconciler.address import Address
from reconciler.model import Severity, Violation
from reconciler.plan.access.review import ReaderLine, Review, ReviewRow
from reconciler.report.documents import record, unknown_data, violation_data
from reconciler.report.gathering import FULL, EntryPart, gathered
from reconciler.report.html import page
from reconciler.report.layout import Style, table
from reconciler.report.schemas.plan import AccessDocument, ReaderData, ReviewedData
from reconciler.report.sheet import Harm, Sheet, SheetLine, Weight
from reconciler.report.words import RULES, count
from reconciler.resource.risks import ANYONE, LINK_HOLDERS, MEMBERS, VISITORS
from reconciler.text.escape import UNLIMITED, html as escaped
from reconciler.text.names import utc_text

# An empty cell could also mean that nobody looked.
ADMINS: Final = "admins only"
NONE: Final = "none of them"  # of the readers of --as
REMARK: Final = "Admins can read everything. What single people and teams were granted is not shown."
NOTHING: Final = "-"
SAME: Final = "the same"
READ: Final = "read"
LINK: Final = "\0"  # in no address


def access_text(review: Review, *, width: int = UNLIMITED) -> str:
    """The tree, a row for each object, and a summary. `width`: the last column ends there."""
    titles = ("object", "can be read by") if not review.steps else ("object", "can be read now by", "after the plan by")
    rows: list[tuple[str, ...]] = [titles]
    for number, branch in enumerate(branches(review.rows)):
        rows += [("",) * len(titles)] if number else []
        for depth, row in branch.rows:
            name = "  " * depth + " ".join(filter(None, [str(row.address), _remark(row)]))
            cells = (names(row.before, row, review), names(row.after, row, review) if row.changed else SAME)
            rows.append((name, *cells[: len(titles) - 1]))
    lines = [f"{RULES[item.level][1]}: {named(item)}: {item.message}\n" for item in review.violations]
    shown = table(rows, width=width) + "\n" if review.rows else ""
    remark = f"{REMARK}\n" if review.rows and not review.readers else ""
    return shown + "".join(lines) + ("\n" if lines else "") + remark + summary(review) + "\n"


def access_sheet(review: Review, *, full: bool = False, more: str = FULL) -> Sheet:
    """The review as entries: violations, objects whose readers the plan changes, then objects with the same readers. `full`: each alone."""
    entries = gathered([*_violated(review), *_readable(review)], full=full, more=more)
    unread = tuple(f"{item.what}: not read, {item.reason}" for item in review.unknown)
    remark = () if review.readers else (REMARK,)
    return Sheet("access", review.project, review.environment, summary(review), entries, (*unread, *remark))


def _violated(review: Review) -> Iterator[EntryPart]:
    for item in review.violations:
        style, word = RULES[item.level]
        # What somebody must not see, and does.
        harm = Harm.EXPOSURE if item.level is Severity.ERROR else None
        line = SheetLine(style, "!", word, f"{item.name}: {item.message}", id=item.id, harm=harm)
        title = str(item.address) if item.address is not None else item.name
        yield EntryPart(title=title, lines=[line], weight=Weight.URGENT, source=item.declared)


def _readable(review: Review) -> Iterator[EntryPart]:
    for row in review.rows:
        title = " ".join(filter(None, [str(row.address), _remark(row)]))
        now, then = names(row.before, row, review), names(row.after, row, review)
        if not row.changed:
            line = SheetLine(Style.PLAIN, " ", "readers", now)
            yield EntryPart(title=title, lines=[line], weight=Weight.BACKGROUND, kind=row.kind, likeness=(row.kind, now, row.managed))
            continue
        known = {(line.reader, line.level) for line in row.before or ()}
        gains = row.before is not None and any((line.reader, line.level) not in known for line in row.after or ())
        style, harm = (Style.DELETE, Harm.EXPOSURE) if gains else (Style.UPDATE, None)
        line = SheetLine(style, "~", "readers", f"{now} -> {then}", harm=harm)
        yield EntryPart(title=title, lines=[line], kind=row.kind, likeness=(row.kind, now, then, row.managed))


def names(lines: Sequence[ReaderLine] | None, row: ReviewRow, review: Review) -> str:
    """`anyone, members (edit)`; holders of several links are one reader."""
    if lines is None:
        return NOTHING
    links: dict[tuple[str, str, str], list[str]] = {}
    for line in lines:
        form = line.reader if line.via is None else line.reader.replace(str(line.via), LINK)
        links.setdefault((form, line.level, line.doubt), []).extend([link_name(line.via, row)] if line.via is not None else [])
    readers = [reader_text(form.replace(LINK, " or ".join(sorted(some))), level, doubt) for (form, level, doubt), some in links.items()]
    return ", ".join(readers) or nobody(review)


def nobody(review: Review) -> str:
    """What a review says of an object without readers."""
    return NONE if review.readers else ADMINS


def link_name(via: Address, row: ReviewRow) -> str:
    """The key of a link; elsewhere than in what it opens, after the key of that: `resellers`, `partners/resellers`."""
    inside = via.container is not None and via.container in (row.address, *row.address.containers)
    return via.key if inside else "/".join(via.parts[2::2])


def reader_text(reader: str, level: str, doubt: str) -> str:
    """One reader, with the level if it is more than reading, and with what is uncertain."""
    shown = f" ({level})" if level not in ("", READ) else ""
    return f"{reader}{shown}" if not doubt else f"perhaps {reader}{shown}: {doubt}"


def _remark(row: ReviewRow) -> str:
    """What a row says of an object that is not declared."""
    if row.managed:
        return ""
    return "(no longer declared)" if row.tracked else " ".join(filter(None, [f'"{row.title}"' if row.title else "", "(unmanaged)"]))


def named(item: Violation) -> str:
    """`access anyone at acme/space/salaries`."""
    return f"{item.name} at {item.address}" if item.address is not None else item.name


def summary(review: Review) -> str:
    """`12 objects; the plan changes the readers of 2. 1 violation. 1 warning. 1 reading failed.`"""
    parts = [count(len(review.rows), "object")]
    changed = sum(row.changed for row in review.rows)
    parts += [f"the plan changes the readers of {changed:,}"] if changed else ["the plan changes no readers"] if review.steps else []
    levels = Counter(item.level for item in review.violations)
    ends = [count(levels[level], word) for level, (_, word) in RULES.items() if levels[level]]
    ends += [f"{count(len(review.unknown), 'reading')} failed: what it would have shown counts as unknown"] if review.unknown else []
    return ". ".join(["; ".join(parts), *ends]) + "."


def access_document(review: Review, *, created_at: datetime) -> AccessDocument:
    """The review as data."""
    return {
        "format": "reconciler.access/1",
        "project": review.project,
        "environment": review.environment,
        "createdAt": utc_text(created_at),
        "readers": list(review.readers),
        "objects": [
            record(ReviewedData, row, id=row.id or None, before=_lines(row.before), after=_lines(row.after)) for row in review.rows
        ],
        "violations": [violation_data(item) for item in review.violations],
        "unknown": unknown_data(review.unknown),
    }


def _lines(lines: Sequence[ReaderLine] | None) -> list[ReaderData] | None:
    if lines is None:
        return None
    return [record(ReaderData, line) for line in lines]


@dataclass(frozen=True)
class Branch:
    """Rows in the order of reading, each with its depth. `title`: what they have in common."""

    title: str
    rows: Sequence[tuple[int, ReviewRow]]


def branches(rows: Sequence[ReviewRow]) -> list[Branch]:
    """Every row once: a branch for each object that has addresses below it, such as a site, then one for everything that is in none."""
    addresses = {row.address for row in rows}
    children: dict[Address | None, list[ReviewRow]] = defaultdict(list)
    for row in rows:
        children[row.parent if row.parent in addresses else None].append(row)

    def below(row: ReviewRow, depth: int) -> Iterator[tuple[int, ReviewRow]]:
        yield depth, row
        for child in children[row.address]:
            yield from below(child, depth + 1)

    above = {row.address.container for row in rows}
    kinds = list(dict.fromkeys(row.kind for row in rows if row.address in above))
    result = [Branch(f"{row.kind} {row.address}", [*below(row, 0)]) for row in children[None] if row.kind in kinds]
    rest = [pair for row in children[None] if row.kind not in kinds for pair in below(row, 0)]
    # What contains itself, as a service may show it, is below nothing.
    listed = {row.address for branch in result for _, row in branch.rows} | {row.address for _, row in rest}
    rest += [(0, row) for row in rows if row.address not in listed]
    return [*result, *([Branch(f"in no {' or '.join(kinds)}" if kinds else "every object", rest)] if rest else [])]


# Rows of a branch. One with more is closed at first, so that those below it are found.
OPEN: Final = 300
DEEPEST: Final = 4  # levels that are indented
CSS: Final = """
:root { color-scheme: light dark; --back: #fff; --fore: #1c2024; --dim: #6b7280; --edge: #e2e5e9; --soft: #f6f7f9;
  --wide: #c62a2f; --some: #9a6700; --inside: #1a7f4b; --nobody: #6b7280; --changed: #8e4ec6; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --fore: #e6e8eb; --dim: #9aa2ad; --edge: #2d333a; --soft: #1d2126;
  --wide: #ff7b7f; --some: #e0a82e; --inside: #4cc38a; --nobody: #9aa2ad; --changed: #bf8ef0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 78rem; background: var(--back); color: var(--fore);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.when { color: var(--dim); margin: 0 0 1rem; } .summary { font-size: 1.05rem; margin: 0 0 1rem; } .note { color: var(--dim); }
table { border-collapse: collapse; } th, td { text-align: left; padding: .25rem 1.25rem .25rem 0; font-size: .9rem; vertical-align: top; }
th { color: var(--dim); font-weight: 600; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr + tr td { border-top: 1px solid var(--edge); } .scroll { overflow-x: auto; }
details { border: 1px solid var(--edge); border-radius: 8px; margin: 0 0 .75rem; overflow: hidden; }
summary { background: var(--soft); padding: .5rem .85rem; font-weight: 600; cursor: pointer; }
.row { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 4fr) minmax(0, 4fr); gap: 0 1rem; padding: .4rem .85rem;
  border-top: 1px solid var(--edge); content-visibility: auto; contain-intrinsic-size: auto 3rem; break-inside: avoid; }
.still .row { grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); }
.head { color: var(--dim); font-size: .85rem; font-weight: 600; } .same { color: var(--dim); }
.in1 { padding-left: 1rem; } .in2 { padding-left: 2rem; } .in3 { padding-left: 3rem; } .in4 { padding-left: 4rem; }
.name { font: 600 .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
.title { color: var(--dim); font-size: .85rem; overflow-wrap: anywhere; } .tag { border: 1px solid var(--edge); border-radius: 4px; padding: 0 .3rem; }
.reader { font-size: .9rem; overflow-wrap: anywhere; } .by { color: var(--dim); font-size: .8rem; overflow-wrap: anywhere; }
.wide { color: var(--wide); font-weight: 600; } .some { color: var(--some); } .inside { color: var(--inside); } .nobody { color: var(--nobody); }
.changed { box-shadow: inset 3px 0 var(--changed); } .violation { color: var(--wide); }
@media (max-width: 44rem) { .row, .still .row { grid-template-columns: minmax(0, 1fr); } .head { display: none; } }
@media print { body { max-width: none; padding: 0; } .row { content-visibility: visible; } }
"""  # noqa: E501  one line a rule

# Who looks at the file wants to see first what everybody can read.
RANKS: Final = (ANYONE, VISITORS, "claims", LINK_HOLDERS, "link", "agent", MEMBERS, "role")  # widest readers first
STYLES: Final = (("anyone", "wide"), ("signed-in", "some"), ("whoever", "some"), ("agent", "some"), ("claims", "some"), ("link", "some"))


def access_html(review: Review, *, created_at: datetime) -> str:
    """The whole file: how many can be read by whom, what the plan changes, what the tests say, and every object."""
    title = f"Who can read {review.project}" + (f" ({review.environment})" if review.environment else "")
    body = [
        *([f'<p class="note">Asked for: {escaped(", ".join(review.readers))}</p>'] if review.readers else []),
        *_counts(review),
        *_violations(review),
        *_changes(review),
        *(["<h2>Every object</h2>"] if review.rows else ['<p class="note">Nothing that has readers was found.</p>']),
        *(line for branch in branches(review.rows) for line in _branch(branch, review)),
        *_unknown(review),
    ]
    return page(title, summary(review), body, css=CSS, created_at=created_at, attributes="" if review.steps else ' class="still"')


def _changes(review: Review) -> Iterator[str]:
    """The objects whose readers the plan changes."""
    changed = [row for row in review.rows if row.changed]
    if changed:
        yield f"<h2>Changed by the plan</h2>\n<details open><summary>{escaped(count(len(changed), 'object'))}</summary>"
        yield _head(review)
        yield from (_row(0, row, review) for row in changed)
        yield "</details>"


def _counts(review: Review) -> Iterator[str]:
    """How many objects each class of readers can read, now and after the plan."""
    no_reader = nobody(review)
    now, then = _readers((row.before for row in review.rows), no_reader), _readers((row.after for row in review.rows), no_reader)
    if not now and not then:
        return
    last = "<th>after the plan</th>" if review.steps else ""
    yield f'<h2>Readers</h2>\n<div class="scroll"><table>\n<tr><th>reader</th><th>objects now</th>{last}</tr>'
    for name in sorted({*now, *then}, key=_rank):
        more = f'<td class="number">{then[name]:,}</td>' if review.steps else ""
        yield f'<tr><td class="{_style(name)}">{escaped(name)}</td><td class="number">{now[name]:,}</td>{more}</tr>'
    yield "</table></div>"
    if not review.readers:
        yield f'<p class="note">{REMARK}</p>'


def _readers(sides: Iterator[Sequence[ReaderLine] | None], no_reader: str) -> Counter[str]:
    """How many objects each reader reads; holders of links are counted together."""
    return Counter(name for lines in sides for name in {_class(line) for line in lines or ()} or {no_reader})


def _rank(name: str) -> tuple[int, str]:
    return next((at for at, word in enumerate(RANKS) if name.startswith(word)), len(RANKS)), name


def _class(line: ReaderLine) -> str:
    return " ".join(word for word in line.reader.split(" ") if "/" not in word) if line.reader.startswith("whoever") else line.reader


def _violations(review: Review) -> Iterator[str]:
    if review.violations:
        yield "<h2>Violations and warnings</h2>\n<ul>"
        for item in review.violations:
            by = f'<div class="by">by {escaped(" → ".join(item.path))}</div>' if len(item.path) > 1 else ""
            name = f'<span class="{RULES[item.level][1]}">{escaped(named(item))}</span>'
            yield f"<li>{RULES[item.level][1]}: {name}: {escaped(item.message)}{by}</li>"
        yield "</ul>"


def _unknown(review: Review) -> Iterator[str]:
    if review.unknown:
        yield "<h2>Not read</h2>\n<ul>"
        yield from (f"<li>{escaped(unread.what)}: {escaped(unread.reason)}</li>" for unread in review.unknown)
        yield "</ul>"


def _branch(branch: Branch, review: Review) -> Iterator[str]:
    shown = " open" if len(branch.rows) <= OPEN else ""
    yield f"<details{shown}><summary>{escaped(branch.title)} ({len(branch.rows):,})</summary>"
    yield _head(review)
    yield from (_row(depth, row, review) for depth, row in branch.rows)
    yield "</details>"


def _head(review: Review) -> str:
    last = "<div>after the plan</div>" if review.steps else ""
    return f'<div class="row head"><div>object</div><div>{"can be read now by" if review.steps else "can be read by"}</div>{last}</div>'


def _row(depth: int, row: ReviewRow, review: Review) -> str:
    tag = "" if row.managed else f' <span class="tag">{"no longer declared" if row.tracked else "unmanaged"}</span>'
    level = f' class="in{min(depth, DEEPEST)}"' if depth else ""
    name = f'<div{level}><div class="name">{escaped(str(row.address))}</div><div class="title">{escaped(row.title)}{tag}</div></div>'
    after = ""
    if review.steps:
        after = f"<div>{_cell(row.after, row, review)}</div>" if row.changed else '<div class="same">the same</div>'
    style = "row changed" if row.changed else "row"
    return f'<div class="{style}">{name}<div>{_cell(row.before, row, review)}</div>{after}</div>'


def _cell(lines: Sequence[ReaderLine] | None, row: ReviewRow, review: Review) -> str:
    if lines is None:
        return '<span class="same">does not exist</span>'
    # Readers with the same path have it below the last of them.
    following = [*lines[1:], None]
    cells = (
        _reader(line, row, last=after is None or (after.path, after.doubt) != (line.path, line.doubt))
        for line, after in zip(lines, following, strict=False)
    )
    return "".join(cells) or f'<span class="nobody">{nobody(review)}</span>'


def _reader(line: ReaderLine, row: ReviewRow, *, last: bool) -> str:
    level = f" ({line.level})" if line.level not in ("", READ) else ""
    reader = line.reader if line.via is None else line.reader.replace(str(line.via), link_name(line.via, row))
    who = f"perhaps {reader}" if line.doubt else reader
    notes = [line.doubt] if line.doubt else []
    notes += [f"by {' → '.join(line.path)}"] if len(line.path) > 1 else []
    by = "".join(f'<div class="by">{escaped(note)}</div>' for note in notes) if last else ""
    return f'<div class="reader"><span class="{_style(line.reader)}">{escaped(who + level)}</span>{by}</div>'


def _style(reader: str) -> str:
    if reader in (ADMINS, NONE):
        return "nobody"
    return next((style for word, style in STYLES if reader.startswith(word)), "inside")
