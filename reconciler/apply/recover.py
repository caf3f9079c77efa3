"""Recovery: for every request that an earlier run left without an outcome, read what happened to it.

Runs first in every apply, under the lease. An object that is found settles a request at once; an absence counts only after the request's
deadline and the settle time, by the service's clock. A fresh plan follows; an old list of steps is never resumed. Can be interrupted and
run again.

Outcomes that could not be written to the database, and that the next apply adds to it.

In: what an earlier run kept beside the project. Out: endings in the journal, a sentence for each. Forbidden: HTTP; using outcomes of
another state, or of a request that has an outcome by now.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from reconciler.address import Address
from reconciler.apply import bound_as
from reconciler.apply.answer import altered
from reconciler.apply.evidence import Sight, as_created, could_be, effect, made_by, outline, parts, source_of, updated_binding
from reconciler.client import encode
from reconciler.client.service import Reader
from reconciler.errors import NotFound, ServiceError
from reconciler.model import Binding, Desired, Intent, Observed, Origin
from reconciler.model.codec import is_kind, non_sensitive, observed, path_ids, title
from reconciler.observe.readings import owner_elsewhere, pages_of
from reconciler.resource import Kind, Kinds, Listing, placeholders
from reconciler.state import IntentEnding, Journal
from reconciler.text.names import a


def take_in(kinds: Kinds, journal: Journal) -> tuple[str, ...]:
    """Write the outcomes that an earlier run kept, then remove the file. May be interrupted: outcomes already written are skipped."""
    endings = journal.unsaved_endings()
    if not endings:
        return ()
    notes = []
    for run, ending in endings:
        state = journal.state()
        intent = next((binding for binding in state.intents if (binding.id, binding.run) == (ending.intent, run)), None)
        # A later run may have tracked the object at another address, or settled the request. What it recorded is newer.
        if intent is None or any(state.addresses.get(binding.key, binding.address) != binding.address for binding in ending.bind):
            continue
        bind = tuple(_binding_with_values(kinds, intent, binding, state.bindings.get(binding.address)) for binding in ending.bind)
        journal.settle([replace(ending, bind=bind)])
        notes.append(f"{intent.address}: {intent.verb} {ending.status}, as recorded next to the project by the earlier run")
    journal.discard_unsaved_endings()
    return tuple(notes)


def _binding_with_values(kinds: Kinds, intent: Intent, kept: Binding, old: Binding | None) -> Binding:
    """The binding with the values of the intent; the plan reads the seen values again."""
    if kept.address != intent.address:
        return kept if old is None or old.id != kept.id else old
    if old is None or old.id != kept.id:
        carried = {field.name for field in kinds[intent.kind].sent_by(intent.verb)} if intent.kind in kinds else set()
        return replace(kept, sent={name: value for name, value in intent.writes.items() if name in carried})
    return replace(old, sent={**old.sent, **intent.writes})


BETWEEN_READINGS: Final = 1.0  # seconds, at least: a single reading does not prove an absence

STILL_IN_DOUBT: Final = "still in doubt"
"""What the sentence about a request says that could not be settled."""

Wait = Callable[[float, str], Awaitable[None]]


async def _sleep(seconds: float, why: str) -> None:
    await asyncio.sleep(seconds)


async def recover(
    reader: Reader, kinds: Kinds, desired: Desired, journal: Journal, *, settle: float | None, wait: Wait = _sleep
) -> tuple[str, ...]:
    """Settle the open intents; returns a sentence for each. `settle`: seconds; None where no request outlives its run.

    An intent that cannot be settled stays in doubt, and its address waits for the next run. Where a list could not be read, every create of
    the same kind in it waits too.
    """
    notes = take_in(kinds, journal)
    intents = journal.open_intents()
    if not intents:
        return notes
    recovery = _Recovery(reader, kinds, desired, journal)
    recovery.notes += notes
    # The first look settles what was done. What is not shown may still be on its way until its deadline, and what was done
    # may not be shown yet until the settle time has passed, so absences are judged in a second look.
    waiting = [group for group in _groups(kinds, intents) if not await recovery.look(group, final=settle is None)]
    if waiting and settle is not None:
        late = [intent for group in waiting for intent in group]
        known = [intent.deadline for intent in late if intent.deadline is not None]
        # By the service's clock, which wrote the dates: this machine's may be wrong by more than the settle time.
        left = (max(known) + timedelta(seconds=settle) - (recovery.date or datetime.now(UTC))).total_seconds() if known else 0.0
        what = f"a request for {late[0].address}" if len(late) == 1 else f"{len(late)} requests"
        await wait(max(left, BETWEEN_READINGS), f"{what} may still take effect")
        for group in waiting:
            await recovery.look(group, final=True)
    return tuple(recovery.notes)


def _groups(kinds: Kinds, intents: Sequence[Intent]) -> list[list[Intent]]:
    """The intents that must be looked at together: copies of one source cannot be told apart."""
    groups: dict[tuple[Any, ...], list[Intent]] = defaultdict(list)
    for intent in intents:
        kind = kinds.get(intent.kind)
        copies = kind is not None and intent.verb == "create" and kind.api["create"].copies is not None
        groups[(intent.kind, intent.target) if copies else (intent.id,)].append(intent)
    return list(groups.values())


class _Recovery:
    """One recovery. `date`: the service's clock at the newest reading. `bindings`: what is tracked, as `end` changes it."""

    def __init__(self, reader: Reader, kinds: Kinds, desired: Desired, journal: Journal) -> None:
        self.reader, self.kinds, self.desired, self.journal = reader, kinds, desired, journal
        self.bindings = dict(journal.state().bindings)
        self.notes: list[str] = []
        self.date: datetime | None = None

    async def look(self, group: Sequence[Intent], *, final: bool) -> bool:
        """Read what happened to these requests; False where that cannot be seen yet. `final`: an absence counts."""
        kind, first = self.kinds.get(group[0].kind), group[0]
        try:
            if kind is None:
                self._close(first)
            elif first.verb != "create":
                return await self._write(kind, first, final)
            elif kind.api["create"].copies is not None:
                return await self._copies(kind, group, final)
            else:
                return await self._create(kind, first, final)
        except ServiceError as error:
            for intent in group:
                self.notes.append(f"{intent.address}: {STILL_IN_DOUBT}, {error.message}")
                if intent.verb == "create":
                    # Another create of the kind in the same list could be the same object, so none is sent in this run.
                    self.journal.hold(intent.kind, intent.address.container)
        return True

    def end(self, ending: IntentEnding, note: str) -> None:
        self.journal.settle([ending])
        if ending.rename:
            self.bindings = dict(self.journal.state().bindings)
        else:
            for address in ending.forget:
                self.bindings.pop(address, None)
            self.bindings |= {binding.address: binding for binding in ending.bind}
        self.notes.append(note)

    def _close(self, intent: Intent) -> None:
        what = "was not created" if intent.verb == "create" else f"{intent.verb} is planned again"
        self.end(IntentEnding(intent.id, "not-sent", None), f"{intent.address}: {what}")

    def _tracked_objects(self) -> frozenset[tuple[str, str]]:
        return frozenset(binding.key for binding in self.bindings.values())

    def _doubt(self, intents: Sequence[Intent], objects: Sequence[Observed]) -> bool:
        listing = ", ".join(f"{item.id} ({title(item)!r})" for item in objects)
        verb = "match" if len(objects) > 1 else "may be it"
        for intent in intents:
            address = f"{intent.address:sh}"
            way = f"reconciler adopt {address} ID, or, if it is none of them, reconciler state forget {address} --in-doubt"
            self.notes.append(f"{intent.address}: {STILL_IN_DOUBT}, {listing} {verb}: {way}")
        return True

    # -- creates with a natural key -------------------------------------------------------------------------------------------------

    async def _create(self, kind: Kind, intent: Intent, final: bool) -> bool:
        """Exactly one new, matching object is the one that the intent created; with none, it was not created; several leave it in doubt."""
        # Two creates in doubt with similar names: an object with exactly the name of the other one is not this one's.
        creates = [other for other in self.journal.open_intents() if other.kind == kind.name and other.verb == "create"]
        others = [other for other in creates if other.id != intent.id and other.address.container == intent.address.container]
        created, certain = made_by(kind, intent, await self._listed(kind, [intent]), self._tracked_objects(), others)
        if created and not certain and not final:
            return False  # its own object may still appear
        if len(created) > 1 or not certain:
            return self._doubt([intent], created)
        if created:
            self._bind(kind, intent, created[0])
        elif final:
            self._close(intent)
        return bool(created) or final

    def _bind(self, kind: Kind, intent: Intent, objects: Observed) -> None:
        writes = {name: value for name, value in intent.writes.items() if name in kind.fields and "create" in kind.fields[name].on}
        agreed = as_created(kind, writes, objects.values)
        bind = [bound_as(self.desired, kind, intent.address, objects, agreed, Origin.RECOVERED)]
        after = {intent.address: non_sensitive(kind, objects.values)}
        by_place = {at: name for name, at in kind.api["create"].brings.items()}
        for at, text in intent.brings.items():
            child = self.kinds[by_place[at]]
            for part in parts(objects.raw, at)[:1]:
                if is_kind(child, part):
                    address = Address.parse(text)
                    item = observed(self.kinds, child, part, within=self._within(address))
                    bind.append(bound_as(self.desired, child, address, item, {}, Origin.RECOVERED))
                    after[address] = non_sensitive(child, item.values)
        ending = IntentEnding(intent.id, "recovered", None, bind=tuple(bind), after=after)
        self.end(ending, f"{intent.address}: was created by an earlier run ({objects.id})")
        shown = {name: objects.values[name] for name in agreed if objects.values[name] != agreed[name]}
        self.notes += [altered(intent.address, kind.fields[name], value) for name, value in shown.items()]

    # -- copies ----------------------------------------------------------------------------------------------------------------------

    async def _copies(self, kind: Kind, intents: Sequence[Intent], final: bool) -> bool:
        """Track the copies of one source, which are interchangeable. The rest was not created; more than requested leave all in doubt."""
        objects = could_be(kind, intents, await self._listed(kind, intents), self._tracked_objects())
        same = [await self._same_content(kind, intents[0], item) for item in objects]
        # The service chooses title and location of a copy, so only its pages tell where it comes from.
        mine = await self._own(kind, intents[0], [item for item, is_same in zip(objects, same, strict=True) if is_same])
        if len(mine) > len(intents):
            return self._doubt(intents, mine)
        if len(mine) < len(intents) and not final:
            return False
        # Copies of one source are interchangeable: whichever address gets whichever copy, the result is the same.
        for intent, item in zip(intents, mine, strict=False):
            self._bind(kind, intent, item)
        for intent in intents[len(mine) :]:
            self._close(intent)
        others = ", ".join(item.id for item, is_same in zip(objects, same, strict=True) if not is_same)
        if others and len(mine) < len(intents):
            self.notes.append(f"{others}: new, but not a copy of the source, so considered somebody else's")
        return True

    async def _own(self, kind: Kind, intent: Intent, copies: Sequence[Observed]) -> list[Observed]:
        """The copies of this source, where copies of other sources with the same pages are in doubt as well."""
        others = {other.target for other in self.journal.open_intents() if other.kind == kind.name and other.verb == "create"} - {
            None,
            intent.target,
        }
        outline = await self._outline(kind, str(intent.target)) if others and copies else None
        alike = [str(other) for other in others if outline is not None and await self._outline(kind, str(other)) == outline]
        if not alike:
            return list(copies)
        titles = {id: await self._title(kind, id) for id in (str(intent.target), *alike)}
        whose = [source_of(title(item), titles) for item in copies]
        if None in whose:
            wrong = f"a new {kind.name} may be a copy of any of {', '.join(sorted(titles))}, which have the same pages"
            raise ServiceError(wrong, id="RC-copy-not-recognized")
        return [item for item, source in zip(copies, whose, strict=True) if source == intent.target]

    async def _same_content(self, kind: Kind, intent: Intent, other: Observed) -> bool:
        if kind.api["create"].fingerprint is None or intent.target is None:
            return True
        source = await self._outline(kind, intent.target)
        try:
            return bool(source == await self._outline(kind, other.id))
        except NotFound:
            return False

    async def _outline(self, kind: Kind, id: str) -> Any:
        template = kind.api["create"].fingerprint
        return None if template is None else outline((await self.reader.get(encode(template, {"id": id}))).body)

    async def _title(self, kind: Kind, id: str) -> str:
        """The title of an object; "" where it cannot be read by its id."""
        path = kind.by_id.path if kind.by_id is not None and placeholders(kind.by_id.path) == ("id",) else None
        body = (await self.reader.get(encode(path, {"id": id}))).body if path is not None else None
        return title(observed(self.kinds, kind, body, within={})) if body and is_kind(kind, body) else ""

    # -- writes to what exists -------------------------------------------------------------------------------------------------------

    async def _write(self, kind: Kind, intent: Intent, final: bool) -> bool:
        """A write whose values are shown as they were sent was done; any other is planned again once it can no longer take effect."""
        now = await self._target(kind, intent) if intent.lookup and intent.target is not None else None
        if now is not None and effect(kind, intent, now.observed):
            old = self.bindings.get(intent.address)
            bind = (
                ()
                if now.observed is None or intent.verb == "delete" or old is None or old.id != now.observed.id
                else (updated_binding(kind, old, intent, now.observed),)
            )
            after = {} if now.observed is None else {intent.address: non_sensitive(kind, now.observed.values)}
            mine = (intent.address,) if old is not None and old.id == intent.target else ()
            forget = (*mine, *intent.before.takes) if intent.verb == "delete" else ()
            if intent.verb == "transfer":
                bind, after = (), {}
            # The renames of a transfer's outcome: of addresses that are still tracked as they were when it was sent.
            rename = {old: new for old, new in intent.before.renames.items() if old in self.bindings}
            ending = IntentEnding(intent.id, "recovered", None, bind=tuple(bind), forget=tuple(forget), after=after, rename=rename)
            self.end(ending, f"{intent.address}: {intent.verb} was done by an earlier run")
            return True
        if final:
            self._close(intent)
        return final

    async def _target(self, kind: Kind, intent: Intent) -> Sight:
        """The written object as it is now."""
        (path, *_) = intent.lookup
        if kind.by_id is not None and _fits(kind.by_id.path, path):
            try:
                answer = await self.reader.get(path)
            except NotFound:
                return Sight(None)
            self.date = answer.date or self.date
            if not is_kind(kind, answer.body):
                raise ServiceError(f"GET {path} answered something that is not {a(kind.name)}", id="RC-response-unusable")
            return Sight(observed(self.kinds, kind, answer.body, within=self._within(intent.address)))
        return Sight(next((item for item in await self._listed(kind, [intent]) if item.id == intent.target), None))

    # -- reading ---------------------------------------------------------------------------------------------------------------------

    def _within(self, address: Address) -> Mapping[str, str]:
        """The ids of the containers of an address, by kind."""
        ids = {at: binding.id for at, binding in self.bindings.items()}
        return path_ids(self.kinds, address.container, ids.get)

    async def _listed(self, kind: Kind, intents: Sequence[Intent]) -> list[Observed]:
        """Everything that the lists show; raises `ServiceError` where one of them is not complete."""
        objects: dict[str, Observed] = {}
        within = self._within(intents[0].address)
        for path in sorted({path for intent in intents for path in intent.lookup}):
            reading = next((listing for listing in kind.listings if _fits(listing.path, path)), Listing(path))
            pages = await pages_of(self.reader, kind, reading, path)
            if not pages.complete:
                raise ServiceError(f"GET {path} is incomplete", id="RC-reading-incomplete")
            self.date = pages.date or self.date
            for item in pages.items:
                raw = reading.object(item)
                if not isinstance(raw, Mapping) or not is_kind(kind, raw):
                    raise ServiceError(f"GET {path} answered something that is not {a(kind.name)}", id="RC-response-unusable")
                if owner_elsewhere(kind, raw, within) is not None:
                    continue
                shown = observed(self.kinds, kind, raw, within=within)
                objects.setdefault(shown.id, shown)
        return list(objects.values())


def _fits(template: str, path: str) -> bool:
    names, given = template.split("/"), path.split("/")
    return len(names) == len(given) and all(part.startswith("{") or part == other for part, other in zip(names, given, strict=True))
