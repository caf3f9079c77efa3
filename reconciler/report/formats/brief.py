"""A report of any size in at most 8 KB: for agents, for people in a hurry and for logs. Pure.

    Plan for acme-docs (production)                    title, summary, consequences: never left out
    Plan: 212 to update, 3 to delete. 215 requests.

    acme/space/legacy (removed): - delete spc_1 …      deletions, exposures, URLs that stop working
    … and 2 more lines like these: 2 deletions
    204 × space (sites/docs.yaml): ~ update title …    everything else, equal entries as one line with their number
    Left out: 31 lines.

Sheet -> parts -> digest: the lines that fit, and the rest in the order in which it is paged through.

A line is one line whatever its texts contain: invisible characters and those that change how others are displayed are shown by their
numbers, and a long text is cut with its length.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from reconciler.report.sheet import Harm, Sheet, SheetEntry, SheetLine
from reconciler.report.words import count, listed
from reconciler.text.escape import log, terminal

BYTES: Final = 8_000  # of a brief report
LONGEST: Final = 300  # characters of one text; a title of a megabyte would leave no room for another one
ENTRY: Final = 900  # characters of one entry
LINE: Final = 1_500  # bytes of one line: any page has room for it
ROOM_OF_SIGN: Final = 3  # bytes of …
TURN: Final = 5  # entries of one harm before those of the next
RESERVED: Final = 120  # bytes for the sentences about what is left out


@dataclass(frozen=True)
class BriefParts:
    """The lines of a report.

    `head`: always shown. `harms`: those that nobody may miss, each with what it is about. `others`: the rest, in its order. `each`: the
    members of groups, which only somebody who pages through everything reads.
    """

    head: tuple[str, ...]
    harms: tuple[tuple[Harm, str], ...] = ()
    others: tuple[str, ...] = ()
    each: tuple[str, ...] = ()


@dataclass(frozen=True)
class Digest:
    """What fits, and the lines that do not."""

    lines: tuple[str, ...]
    rest: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def brief(sheet: Sheet, *, room: int = BYTES) -> str:
    """The report in at most `room` bytes."""
    fitting = digest(parts(sheet), room - RESERVED)
    number = count(len(fitting.rest), "line")
    return fitting.text + (f"Left out: {number}. --format text shows everything.\n" if fitting.rest else "")


def parts(sheet: Sheet, *, whole: Sheet | None = None) -> BriefParts:
    """The lines of a report. `whole`: the same report with nothing folded, for whoever pages through it."""
    sentences = (part for span in sheet.consequences for part in span.text.splitlines())
    new = (sentence for sentence in sentences if sentence not in sheet.summary)
    head = [sheet.title, *([] if sheet.summary == sheet.title else [sheet.summary]), *new]
    serious = _mixed([entry for entry in sheet.entries if entry.harms])
    plain = sorted((entry for entry in sheet.entries if not entry.harms), key=lambda entry: entry.weight)
    # An entry that says more in the whole report is among the members too: what a line leaves out must be somewhere.
    shown = {entry.title: entry for entry in sheet.entries}
    members = [entry for entry in whole.entries if shown.get(entry.title) != entry] if whole is not None else []
    return BriefParts(
        head=tuple(shortened(one_line(text)) for text in head if text.strip()),
        harms=tuple((entry.harms[0], line) for entry in serious for line in entry_lines(entry)),
        others=tuple(line for entry in plain for line in entry_lines(entry)) + tuple(shortened(one_line(note)) for note in sheet.notes),
        each=tuple(line for entry in members for line in entry_lines(entry)),
    )


def _mixed(entries: Sequence[SheetEntry]) -> list[SheetEntry]:
    """The entries of each harm in turn, a few at a time: a thousand deletions must not hide the one exposure."""
    groups = [[entry for entry in entries if entry.harms[0] is harm] for harm in Harm]
    longest = max(map(len, groups))
    return [entry for start in range(0, longest, TURN) for group in groups for entry in group[start : start + TURN]]


def entry_lines(entry: SheetEntry) -> Iterator[str]:
    """An entry as one line; several where it has many."""
    where = f" ({one_line(entry.where)})" if entry.where else ""
    title = f"{one_line(entry.title)}{where}{':' if entry.lines else ''}"
    text = title
    # The lines that are the reason for its place come first: they must not be what is cut.
    for line in sorted(entry.lines, key=lambda line: line.harm is None):
        piece = _line(line)
        if len(text) + len(piece) > ENTRY and text != title:
            yield shortened(text.rstrip(";"))
            text = title
        text += f" {piece};" if piece else ""
    yield shortened(text.rstrip(";"))


def _line(line: SheetLine) -> str:
    """`~ title Guide -> Guides (drift)`."""
    note = f"({one_line(line.note)})" if line.note else ""
    return " ".join(part for part in (line.symbol.strip(), one_line(line.name), one_line(line.value), note) if part)


def one_line(text: str, *, longest: int = LONGEST) -> str:
    """Any text as a part of a line: nothing in it is invisible, ends the line or changes the direction of its neighbours."""
    # Cut first: a megabyte of control characters would be six megabytes.
    shown = terminal(text[:longest])
    return shown if len(text) <= longest else f"{shown}… ({len(text):,} characters)"


def shortened(line: str) -> str:
    """A line of at most `LINE` bytes."""
    if wire_bytes(line) <= LINE:
        return line
    kept = line[:LINE]
    while wire_bytes(kept) > LINE - ROOM_OF_SIGN:
        kept = kept[: len(kept) * 9 // 10]
    return f"{kept}…"


def wire_bytes(text: str) -> int:
    """The bytes of a text inside a JSON document in UTF-8, without its quotes."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")) - 2


def digest(report: BriefParts, room: int) -> Digest:
    """The lines that fit into `room` bytes: the head, at most two thirds of lines that nobody may miss, then the others."""
    lines = list(taken(report.head, room // 2))
    left = room - _size(lines)
    # A plan that deletes thousands still shows what else it does.
    most = left if not report.others else max(left * 2 // 3, left - _size(report.others))
    harms = list(taken((line for _, line in report.harms), most - RESERVED))
    missing = report.harms[len(harms) :]
    if missing:
        kinds = [count(number, harm.value, PLURALS[harm]) for harm, number in Counter(harm for harm, _ in missing).items()]
        harms.append(f"… and {count(len(missing), 'more line', 'more lines')} like these: {listed(kinds, len(kinds))}")
    others = list(taken(report.others, left - _size(harms)))
    rest = [*(line for _, line in missing), *report.others[len(others) :], *report.each]
    return Digest((*(log(line) for line in (*lines, *harms, *others)),), tuple(map(log, rest)))


PLURALS: Final = {Harm.DELETION: "deletions", Harm.EXPOSURE: "exposures", Harm.DEAD_URL: "URLs that stop working"}


def page(lines: Sequence[str], start: int, room: int) -> Digest:
    """The lines from `start` on that fit into `room` bytes, at least one, and the rest."""
    fitting = tuple(taken(islice(lines, start, None), room)) or tuple(lines[start : start + 1])
    return Digest(fitting, tuple(lines[start + len(fitting) :]))


def taken(lines: Iterable[str], room: int) -> Iterator[str]:
    """The first lines, as long as they fit, each with the end of its line."""
    for line in lines:
        room -= wire_bytes(f"{line}\n")
        if room < 0:
            return
        yield line


def _size(lines: Sequence[str]) -> int:
    return sum(wire_bytes(f"{line}\n") for line in lines)
