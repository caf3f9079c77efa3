"""Work in progress that a plan ends or interrupts, as lines of a report. Pure.

`! contains     1 draft change request ("Rewrite for v3", Grace, 2 days old) and 1 open comment ("Is this true?", Ada, 3 hours old)`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from reconciler.address import Address
from reconciler.features.work import documents
from reconciler.features.work.model import OPEN_WORK, OpenWork, WorkEffect, WorkItem, WorkSort
from reconciler.model import Plan
from reconciler.report.gathering import EntryPart
from reconciler.report.layout import Span, Style
from reconciler.report.sections import PlanSection, Rank
from reconciler.report.sheet import Harm, SheetLine, Weight
from reconciler.report.words import count, listed
from reconciler.text.names import age, quoted

# What happens to the people who work in it, as the end of a sentence.
ENDS: Final = {
    WorkEffect.DELETE: "ends with the delete",
    WorkEffect.REPLACE: "ends with the replacement",
    WorkEffect.TRANSFER: "goes to another organization",
    WorkEffect.MOVE: "gets other readers",
    WorkEffect.LOCK: "cannot continue while it is locked",
}
WORD: Final = "contains"


def work_lines(plan: Plan) -> Iterator[tuple[OpenWork, SheetLine]]:
    """A line for each object in which somebody works."""
    for work in (planned := plan.feature(OPEN_WORK)).works:
        texts = [sort_text(sort, planned.ages_at) for sort in work.sorts]
        yield work, _line(work, listed(texts, len(texts)), work.asked)


def container_lines(plan: Plan) -> Iterator[tuple[Address, OpenWork, SheetLine]]:
    """A line for each object that contains such objects, with the numbers of all of them."""
    inside: dict[Address, list[OpenWork]] = defaultdict(list)
    for work in plan.feature(OPEN_WORK).works:
        for address in work.within:
            inside[address].append(work)
    for address, works in inside.items():
        texts = totals(works)
        names = listed([str(work.address) for work in works], 3)
        yield address, works[0], _line(works[0], f"{listed(texts, len(texts))}, in {names}", any(work.asked for work in works))


def _line(work: OpenWork, text: str, asked: bool) -> SheetLine:
    """`asked`: nobody has consented to it."""
    note = f"{ENDS[work.effect]}; requires consent" if asked else ENDS[work.effect]
    style, harm = (Style.DELETE, Harm.DELETION) if work.blocks else (Style.UPDATE, None)
    return SheetLine(style, "!", WORD, text, note, id=work.id, harm=harm)


def totals(works: Sequence[OpenWork]) -> list[str]:
    """The numbers of each sort of work, of all these objects together."""
    numbers: dict[str, int] = defaultdict(int)
    more: dict[str, bool] = defaultdict(bool)
    for sort in (sort for work in works for sort in work.sorts):
        numbers[sort.noun] += sort.number or 0
        more[sort.noun] = more[sort.noun] or sort.more or sort.number is None
    return [WorkSort(noun, number or None, more=more[noun]).text for noun, number in numbers.items()]


def sort_text(sort: WorkSort, now: datetime | None) -> str:
    """`2 open comments ("Why?", Ada, 3 hours old; "Typo", Grace, 1 day old)`."""
    named = [text for item in sort.items if (text := _item(item, now))]
    rest = (sort.number or len(named)) - len(named)
    details = [*named, *([f"and {rest:,} more"] if named and rest > 0 else [])]
    if sort.unread:
        details.append(sort.unread if sort.number is None else f"{'titles' if not sort.more else 'some'} unknown: {sort.unread}")
    return f"{sort.text} ({'; '.join(details)})" if details else sort.text


def _item(item: WorkItem, now: datetime | None) -> str:
    old = age((now - item.since).total_seconds()) if item.since is not None and now is not None else ""
    title = quoted(item.title) if item.title else ""
    return ", ".join(part for part in (title, " ".join(item.author.split()), old) if part)


def work_sentences(plan: Plan) -> Iterator[Span]:
    """`Work in progress ends: 1 draft change request and 1 open comment (acme/space/legacy).`"""
    by_effect: dict[WorkEffect, list[OpenWork]] = defaultdict(list)
    for work in plan.feature(OPEN_WORK).works:
        by_effect[work.effect].append(work)
    for effect, works in by_effect.items():
        texts = totals(works)
        blocks = any(work.blocks for work in works)
        where = str(works[0].address) if len(works) == 1 else f"{count(len(works), 'object')}"
        yield Span(Style.DELETE if blocks else Style.UPDATE, f"Work in progress {ENDS[effect]}: {listed(texts, len(texts))} in {where}.")


def entries(plan: Plan) -> Iterator[EntryPart]:
    """What people are working on in what is deleted, replaced, transferred, moved or locked, and in what contains that."""
    changed = {change.address for change in plan.changes}
    lines = [(work.address, work, line) for work, line in work_lines(plan)]
    lines += [(address, work, line) for address, work, line in container_lines(plan) if address in changed]
    for address, work, line in lines:
        weight = Weight.URGENT if work.blocks else Weight.HINDERED
        yield EntryPart(title=str(address), lines=[line], weight=weight, rank=Rank.WORK, source=work.source)


SECTION: Final = PlanSection(entries=entries, document=documents.keys, read=documents.read, deletions=work_sentences)
