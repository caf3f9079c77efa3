"""A report as markdown for a comment on a pull request: never longer than the limit, and never without the destructive changes.

All texts of the service and the YAML are in one fenced block, whose fence is longer than any run of backticks in it, so that none of them
is markup, a mention or a link. The hidden first line identifies the report, so that a comment can be updated in place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from reconciler.report.layout import Style
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine
from reconciler.report.words import count
from reconciler.text import escape

# GitHub refuses a comment that is longer; GitLab allows a million, but a report for one forge should not differ from that for another.
LIMIT: Final = 65_536  # characters of a comment on GitHub
# The signs that a `diff` block colors; "!" is orange, for everything that is neither more nor less.
SIGNS: Final = {Style.CREATE: "+", Style.DELETE: "-", Style.DIM: " ", Style.PLAIN: " "}
# After the first pass these entities stand for the characters that begin a mention, a reference or a link.
NOTES_MAX: Final = 2_000  # characters of sentences below the block
COMMAND: Final = ": reconciler "  # what is before the command of a sentence, which ends with it


def markdown(sheet: Sheet, *, limit: int = LIMIT) -> str:
    """The report; destructive changes come first, and entries that do not fit are counted instead."""
    says = "".join(f"- {escape.markdown(sentence.text)}\n" for sentence in sheet.consequences)
    head = f"{marker(sheet)}\n### {escape.markdown(sheet.title)}\n\n**{escape.markdown(sheet.summary)}**\n" + (f"\n{says}" if says else "")
    notes = signs(sheet) + _notes(sheet)
    covered = _coverage(sheet)
    room = limit - len(head) - len(notes) - len(covered) - 300  # the fences, and the sentence about omitted entries
    # Destructive entries take their room first, wherever they are in the sheet.
    last = [entry for entry in sheet.entries if entry.destructive]
    kept = _fitting(last, room)
    room -= sum(map(len, kept)) + len(kept)
    left = 0
    for entry in (entry for entry in sheet.entries if not entry.destructive):
        text = entry_text(entry)
        # After the first entry that does not fit none is shown: with gaps, a reader would miss that something is missing.
        if left or len(text) + 1 > room:
            left += 1
            continue
        kept.append(text)
        room -= len(text) + 1
    more = f"\n{count(left, 'entry', 'entries')} more do not fit here; the HTML and JSON reports have all of them.\n" if left else ""
    return head + (f"\n{fenced(kept)}\n" if kept else "") + more + covered + notes


def marker(sheet: Sheet) -> str:
    """The hidden line that names the report; the same for each report of its kind on a project and environment."""
    names = [re.sub(r"[^A-Za-z0-9._]+", "-", name) for name in (sheet.project, sheet.environment) if name]
    return f"<!-- reconciler:{sheet.kind}:{'/'.join(names)} -->"


def _fitting(entries: Sequence[SheetEntry], room: int) -> list[str]:
    """All entries: complete, else their addresses, else the number of each kind of line."""
    whole = [entry_text(entry) for entry in entries]
    if sum(map(len, whole)) + len(whole) <= room:
        return whole
    short = [f"- {escape.terminal(entry.title)}" for entry in entries]
    if sum(map(len, short)) + len(short) <= room:
        return short
    actions = Counter(line.name for entry in entries for line in entry.lines if line.style is Style.DELETE)
    return [f"- {number:,} × {action}: too many to list here" for action, number in actions.items()]


def entry_text(entry: SheetEntry) -> str:
    """An entry as lines of a `diff` block, which cannot look like other lines of it."""
    where = f"  {escape.terminal(entry.where)}" if entry.where else ""
    return "\n".join([f"@@ {escape.terminal(entry.title)} @@{where}", *map(_line, entry.lines)])


def _line(line: SheetLine) -> str:
    sign = SIGNS.get(line.style, "!")
    # "+ + title" would say it twice.
    symbol = "" if line.symbol.strip() in ("", sign) else f"{line.symbol} "
    note = f"  ({line.note})" if line.note else ""
    return escape.log(escape.terminal(f"{sign} {symbol}{line.name}  {line.value}{note}".rstrip()))


def fenced(parts: Sequence[str]) -> str:
    """Lines in a block whose fence is longer than any run of backticks in it."""
    text = "\n".join(parts)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{text}\n{fence}"


def signs(sheet: Sheet) -> str:
    """The legend of a report, with the signs as code; "" if it has none."""
    return f"\nSigns: {', '.join(f'`{sign}` {word}' for sign, word in sheet.legend)}.\n" if sheet.legend else ""


def _notes(sheet: Sheet) -> str:
    text = "".join(f"\n- {_remark(note)}" for note in sheet.notes)
    if len(text) > NOTES_MAX:
        text = f"\n- {count(len(sheet.notes), 'remark')}: see the HTML or JSON report."
    return f"{text}\n" if text else ""


def _remark(note: str) -> str:
    """A sentence; the command at its end as code, where an address needs no invisible character and can be copied."""
    before, colon, command = note.partition(COMMAND)
    if not colon:
        return escape.markdown(note)
    text = escape.terminal(f"reconciler {command}")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    room = " " if text.endswith("`") else ""
    return f"{escape.markdown(before)}: {fence}{room}{text}{room}{fence}"


def _coverage(sheet: Sheet) -> str:
    if not sheet.coverage:
        return ""
    rows = [f"| {kind} | {share.managed:,} | {share.seen:,} | {share.percent} % |" for kind, share in sheet.coverage.items()]
    return "\n".join(["\n| kind | managed | total | |", "|---|---:|---:|---:|", *rows]) + "\n"
