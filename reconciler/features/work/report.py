"""Work in progress that a plan ends or interrupts: lines of its report, and keys of its document. Pure.

`! contains     1 draft change request ("Rewrite for v3", Grace, 2 days old) and 1 open comment ("Is this true?", Ada, 3 hours old)`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.work.model import OPEN_WORK, OpenWork, PlannedWork, WorkEffect, WorkItem, WorkSort
from reconciler.model import Plan
from reconciler.model.features import FeatureValues
from reconciler.report.documents import record, source_of
from reconciler.report.gathering import EntryPart
from reconciler.report.layout import Span, Style
from reconciler.report.reading import SPAN_MAX
from reconciler.report.schemas import plan as plan_types
from reconciler.report.sections import PlanSection, Rank
from reconciler.report.sheet import Harm, SheetLine, Weight
from reconciler.report.words import count, listed
from reconciler.text.names import age, quoted, utc_text

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


# -- the document ----------------------------------------------------------------------------------------------------------------------


def keys(plan: Plan, max_urls: int | None) -> Mapping[str, Any]:
    """The keys of a document; none where nobody works in anything."""
    planned = plan.feature(OPEN_WORK)
    return {"openWork": [_work_data(work, planned.ages_at) for work in planned.works]} if planned.works else {}


def _work_data(work: OpenWork, now: datetime | None) -> plan_types.OpenWorkData:
    sorts: list[plan_types.WorkSortData] = [
        record(plan_types.WorkSortData, sort, items=[_item_data(item, now) for item in sort.items]) for sort in work.sorts
    ]
    return record(plan_types.OpenWorkData, work, sorts=sorts)


def _item_data(item: WorkItem, now: datetime | None) -> plan_types.WorkItemData:
    since = utc_text(item.since) if item.since is not None else None
    age = None if item.since is None or now is None else max((now - item.since).total_seconds(), 0.0)
    return record(plan_types.WorkItemData, item, since=since, age=age)


def read(document: Mapping[str, Any]) -> FeatureValues:
    """What a document says."""
    works = document.get("openWork", ())
    return {OPEN_WORK: PlannedWork(tuple(map(_open_work, works)), _ages_at(works))} if works else {}


def _open_work(item: Mapping[str, Any]) -> OpenWork:
    return OpenWork(
        Address.parse(item["address"]),
        item["kind"],
        WorkEffect(item["effect"]),
        tuple(map(_work_sort, item["sorts"])),
        tuple(map(Address.parse, item["within"])),
        source_of(item["source"]),
        item["blocks"],
        item["asked"],
    )


def _work_sort(item: Mapping[str, Any]) -> WorkSort:
    return WorkSort(item["noun"], item["number"], tuple(map(_work_item, item["items"])), item["unread"], item["more"])


def _work_item(item: Mapping[str, Any]) -> WorkItem:
    since = None if item["since"] is None else datetime.fromisoformat(item["since"])
    return WorkItem("", item["title"], item["author"], since)


def _ages_at(works: Any) -> datetime | None:
    """The time to which ages refer."""
    items = (item for work in works for sort in work["sorts"] for item in sort["items"])
    times = (
        datetime.fromisoformat(item["since"]) + timedelta(seconds=min(item["age"], SPAN_MAX))
        for item in items
        if None not in (item["since"], item["age"])
    )
    return next(times, None)


SECTION: Final = PlanSection(entries=entries, document=keys, read=read, deletions=work_sentences)
