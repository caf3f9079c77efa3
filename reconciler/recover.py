"""Recovery: for every request an earlier run left without an outcome, read what became of it.

Runs first in every apply, under the lease. What is found needs no waiting; an absence is believed only after the request's deadline and the
settle time, by the service's clock. A fresh plan follows; an old list of steps is never resumed. Can be interrupted and run again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.address import Address
from reconciler.apply import bound_as, seen_of
from reconciler.client import Reader, encode
from reconciler.errors import NotFound, ServiceError
from reconciler.model import Binding, Desired, Intent, Observed, Origin
from reconciler.reading import is_kind, moment, observed
from reconciler.resource import UNSET, Kind, Kinds, Listing
from reconciler.state import Ending, Journal

COPY_SLACK = timedelta(seconds=60)  # clocks differ; a copy may seem older than the request that made it

Wait = Callable[[float, str], Awaitable[None]]


async def _sleep(seconds: float, why: str) -> None:
    await asyncio.sleep(seconds)


async def recover(
    reader: Reader, kinds: Kinds, desired: Desired, journal: Journal, *, settle: float | None, wait: Wait = _sleep
) -> tuple[str, ...]:
    """Settle the open intents; returns a sentence for each. `settle`: seconds; None where no request outlives its run.

    An intent that cannot be settled stays in doubt, and its address waits for the next run.
    """
    intents = journal.state().intents
    if not intents:
        return ()
    recovery = _Recovery(reader, kinds, desired, journal, settle, wait)
    copies: dict[tuple[str, str | None], list[Intent]] = defaultdict(list)
    for intent in intents:
        kind = kinds.get(intent.kind)
        if kind is None or intent.verb != "create":
            recovery.end(intent, "not-sent", f"{intent.address}: {intent.verb} is planned afresh")
        elif kind.api["create"].copies is not None:
            copies[(intent.kind, intent.target)].append(intent)
        else:
            await recovery.create(kind, intent)
    for (name, _), group in copies.items():
        await recovery.copies(kinds[name], group)
    return tuple(recovery.notes)


class _Recovery:
    def __init__(self, reader: Reader, kinds: Kinds, desired: Desired, journal: Journal, settle: float | None, wait: Wait) -> None:
        self.reader, self.kinds, self.desired, self.journal, self.settle, self.wait = reader, kinds, desired, journal, settle, wait
        self.notes: list[str] = []

    def end(
        self, intent: Intent, status: Any, note: str, bind: Sequence[Binding] = (), after: Mapping[Address, Mapping[str, Any]] = {}
    ) -> None:
        self.journal.settle([Ending(intent.id, status, None, bind=tuple(bind), after=after)])
        self.notes.append(note)

    def _bound(self) -> set[tuple[str, str]]:
        return {(binding.kind, binding.id) for binding in self.journal.state().bindings.values()}

    # -- creates told by their natural key -------------------------------------------------------------------------------------------

    async def create(self, kind: Kind, intent: Intent) -> None:
        """One object that is new since the intent and matches it is ours; none, and it was not made; several stop."""
        try:
            found = await self._until_settled(kind, [intent], lambda objects: self._matching(kind, intent, objects))
        except ServiceError as error:
            self.notes.append(f"{intent.address}: still in doubt, {error.message}")
            return
        if len(found) > 1:
            listing = ", ".join(one.id for one in found)
            self.notes.append(f"{intent.address}: still in doubt, {listing} could be it; reconciler adopt {intent.address} ID")
        elif found:
            self._bind(kind, intent, found[0])
        else:
            self.end(intent, "not-sent", f"{intent.address}: was not made")

    def _matching(self, kind: Kind, intent: Intent, objects: Sequence[Observed]) -> list[Observed]:
        bound = self._bound()
        names = [field.name for field in kind.keys if field.name in intent.writes]
        return [
            one
            for one in objects
            if (one.id not in intent.known or kind.api["create"].upsert)
            and (kind.name, one.id) not in bound
            and all(one.values.get(name, UNSET) == intent.writes[name] for name in names)
        ]

    def _bind(self, kind: Kind, intent: Intent, found: Observed) -> None:
        writes = {name: value for name, value in intent.writes.items() if name in kind.fields and "create" in kind.fields[name].on}
        agreed = {name: value for name, value in writes.items() if found.values.get(name, UNSET) == value}
        bind = [bound_as(self.kinds, self.desired, kind, intent.address, found.raw, agreed, Origin.RECOVERED)]
        after = {intent.address: seen_of(self.kinds, kind, found.raw)}
        by_place = {at: name for name, at in kind.api["create"].brings.items()}
        for at, text in intent.brings.items():
            child = self.kinds[by_place[at]]
            for part in (found.raw.get(at) or [])[:1]:
                if is_kind(child, part):
                    bind.append(bound_as(self.kinds, self.desired, child, Address.parse(text), part, {}, Origin.RECOVERED))
                    after[bind[-1].address] = seen_of(self.kinds, child, part)
        self.end(intent, "recovered", f"{intent.address}: was made by an earlier run ({found.id})", bind, after)

    # -- copies, told by being new ---------------------------------------------------------------------------------------------------

    async def copies(self, kind: Kind, intents: Sequence[Intent]) -> None:
        """Copies of one source are interchangeable: as many as are found are bound, the rest was not made; more than asked for stops."""
        try:
            found = await self._until_settled(kind, intents, lambda objects: self._new(kind, intents, objects))
            mine = [one for one in found if await self._same_content(kind, intents[0], one)]
        except ServiceError as error:
            self.notes += [f"{intent.address}: still in doubt, {error.message}" for intent in intents]
            return
        if len(mine) > len(intents):
            listing = ", ".join(one.id for one in mine)
            self.notes += [
                f"{intent.address}: still in doubt, {listing} could be it; reconciler adopt {intent.address} ID" for intent in intents
            ]
            return
        for intent, one in zip(intents, mine, strict=False):
            self._bind(kind, intent, one)
        for intent in intents[len(mine) :]:
            self.end(intent, "not-sent", f"{intent.address}: was not made")

    def _new(self, kind: Kind, intents: Sequence[Intent], objects: Sequence[Observed]) -> list[Observed]:
        bound = self._bound()
        known = frozenset[str]().union(*(intent.known for intent in intents))
        dates = [intent.date for intent in intents if intent.date is not None]
        earliest = min(dates) - COPY_SLACK if dates else None
        found = []
        for one in objects:
            made = moment(one.raw.get("createdAt"))
            recent = earliest is None or made is None or made >= earliest
            if one.id not in known and (kind.name, one.id) not in bound and recent and one.deleted_at is None:
                found.append(one)
        return sorted(found, key=lambda one: (str(one.raw.get("createdAt", "")), one.id))

    async def _same_content(self, kind: Kind, intent: Intent, one: Observed) -> bool:
        template = kind.api["create"].fingerprint
        if template is None or intent.target is None:
            return True
        source = await self.reader.get(encode(template, {"id": intent.target}))
        try:
            copy = await self.reader.get(encode(template, {"id": one.id}))
        except NotFound:
            return False
        return bool(_outline(source.body) == _outline(copy.body))

    # -- reading ---------------------------------------------------------------------------------------------------------------------

    async def _until_settled(
        self, kind: Kind, intents: Sequence[Intent], pick: Callable[[Sequence[Observed]], list[Observed]]
    ) -> list[Observed]:
        """What the lists show of it; where it is not all there, once more after deadline and settle time have passed."""
        found, date = await self._read(kind, intents)
        picked = pick(found)
        if len(picked) >= len(intents) or self.settle is None:
            return picked
        deadlines = [intent.deadline for intent in intents if intent.deadline is not None]
        if deadlines:
            left = (max(deadlines) + timedelta(seconds=self.settle) - (date or datetime.now(UTC))).total_seconds()
            if left > 0:
                await self.wait(left, f"a request for {intents[0].address} may still take effect")
                found, _ = await self._read(kind, intents)
                picked = pick(found)
        return picked

    async def _read(self, kind: Kind, intents: Sequence[Intent]) -> tuple[list[Observed], datetime | None]:
        objects: dict[str, Observed] = {}
        date = None
        readings = [one for one in kind.reads if isinstance(one, Listing)]
        for path in sorted({path for intent in intents for path in intent.lookup}):
            item = next((one.item for one in readings if _fits(one.path, path)), None)

            def key(one: dict[str, Any], item: str | None = item) -> str:
                return str((one.get(item) or {}).get("id")) if item else str(one.get("id"))

            pages = await self.reader.list(path, key=key)
            if not pages.complete:
                raise ServiceError(f"GET {path} did not come to its end")
            date = pages.date or date
            for one in pages.items:
                raw = one.get(item) if item else one
                if isinstance(raw, Mapping) and is_kind(kind, raw):
                    objects.setdefault(str(raw["id"]), observed(self.kinds, kind, raw, within={}))
        return list(objects.values()), date


def _fits(template: str, path: str) -> bool:
    parts, given = template.split("/"), path.split("/")
    return len(parts) == len(given) and all(part.startswith("{") or part == other for part, other in zip(parts, given, strict=True))


def _outline(tree: Any) -> Any:
    """Titles, slugs and order of a page tree: what a copy shares with its source."""
    match tree:
        case Mapping():
            return [tree.get("title"), tree.get("slug"), _outline(tree.get("pages"))]
        case list():
            return [_outline(page) for page in tree]
        case _:
            return []
