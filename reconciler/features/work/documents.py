"""Work in progress as keys of a plan's document, and read back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from reconciler.address import Address
from reconciler.features.work.model import OPEN_WORK, OpenWork, PlannedWork, WorkEffect, WorkItem, WorkSort
from reconciler.model import Plan
from reconciler.model.features import FeatureValues
from reconciler.report.documents import record, source_of
from reconciler.report.reading import SPAN_MAX
from reconciler.report.schemas import plan as plan_types
from reconciler.text.names import utc_text


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
