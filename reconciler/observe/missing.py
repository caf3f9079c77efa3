"""The second reading: an object no longer exists if it is missing twice while the root and another tracked object can still be read.

In: the tracked objects that a plan would consider deleted. Out: each of them found, missing for the second time, or in doubt. Only GET, and
none where nothing is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.client import encode
from reconciler.errors import ServiceError
from reconciler.model import Binding, Observed
from reconciler.model.codec import holder, is_kind, path_ids
from reconciler.observe.choose import Survey
from reconciler.plan.matching.natural_keys import listed
from reconciler.resource import Kind, One, placeholders

PAUSE: Final = 1.0  # seconds between two listings that must agree


async def look_again(survey: Survey, suspects: Mapping[Address, Binding]) -> None:
    """Read again what seems to be deleted; what is not missing again, or is unknown, is no longer absent in `survey`."""
    await _Suspects(survey, suspects).all()


class _Suspects:
    def __init__(self, survey: Survey, suspects: Mapping[Address, Binding]) -> None:
        self.survey, self.suspects = survey, suspects
        self.matches = survey.matched()
        self._answered: dict[Address, bool] = {}

    async def all(self) -> None:
        lists: set[tuple[str, str]] = set()
        tasks = []
        for address, binding in self.suspects.items():
            kind = self.survey.kinds[binding.kind]
            scope = self._holder(kind, address) or self._scope(address)
            if kind.by_id is not None:
                tasks.append(self._by_id(kind, address, binding.id))
            elif scope is not None:
                lists.add((kind.name, scope))
        tasks += [self.survey.list_again(self.survey.kinds[name], scope, PAUSE) for name, scope in sorted(lists)]
        await asyncio.gather(*tasks)
        self.matches = self.survey.matched()
        for address, binding in self.survey.suspects().items():
            kind = self.survey.kinds[binding.kind]
            if address in self.suspects and (silent := await self._nobody_vouches(address, kind)) is not None:
                self._doubt(kind, address, binding.id, silent)

    def _scope(self, address: Address) -> str | None:
        return self.matches.id(address.container) if address.container is not None else None

    def _holder(self, kind: Kind, address: Address) -> str | None:
        """The id for the listing that would show the object, where that is not its container; None elsewhere."""
        shown = holder(kind, self.survey.desired.resources.get(address), self.suspects.get(address), self.matches.ids)
        return shown if isinstance(shown, str) else None

    def _doubt(self, kind: Kind, address: Address, id: str, reason: str) -> None:
        self.survey.doubt_one(kind, id, reason)
        scope = self._holder(kind, address) or (self._scope(address) if listed(kind) else None)
        if scope is not None:
            self.survey.doubt(kind, scope, reason)

    async def _by_id(self, kind: Kind, address: Address, id: str) -> None:
        """Read the object by its id until it was not found twice, counting an earlier reading."""
        path = self._path(kind, address, id)
        for _ in range(1 if self.survey.is_absent(kind, id) else 2):
            if path is not None:
                await self.survey.one_again(kind, path, id, self._holes(address))
            if not self.survey.is_absent(kind, id):
                break
        else:
            return
        if self.survey.actual().find(kind.name, id) is None:
            self._doubt(kind, address, id, f"it is unknown whether {id} was deleted")

    def _holes(self, address: Address) -> dict[str, str]:
        return path_ids(self.survey.kinds, address.container, self.matches.id)

    def _path(self, kind: Kind, address: Address, id: str) -> str | None:
        """The reading by id; None where something it needs is not known."""
        assert kind.by_id is not None
        declared, binding = self.survey.desired.resources.get(address), self.suspects[address]
        key = {kind.place.key_is: address.key} if kind.place.key_is is not None else {}
        values = {**key, **binding.sent, **(declared.values if declared is not None else {})}
        named = {field.name: values[field.name] for field in kind.keys if isinstance(values.get(field.name), str)}
        return _filled(kind.by_id, {**named, **self._holes(address), "id": bare(id)})

    # -- witnesses -----------------------------------------------------------------------------------------------------------------

    async def _nobody_vouches(self, address: Address, kind: Kind) -> str | None:
        """Why an absence is not believed: the root, or any other tracked object below it, cannot be read now. None where both can."""
        root = address.root
        if address == root:
            return f"{root} itself answered 404 twice: it was deleted, or the token no longer has access"
        now = self.survey.actual().find(self.survey.kinds.of(root).name, self.matches.ids.get(root, ""))
        if now is None or not await self._answers(root, now):
            return f"{address} was not found twice, but {root} does not answer either"
        others = [
            at
            for at in self.survey.state.bindings
            if at.is_within(root) and not any(at == suspect or at.is_within(suspect) for suspect in self.suspects)
        ]
        witness = next(self._witnesses(others, kind), None)
        if witness is None and others:
            return f"{address} was not found twice, but no other tracked object in {root} could be read"
        if witness is not None and not await self._answers(*witness):
            return f"{address} was not found twice, but {witness[0]} does not answer either"
        return None

    def _witnesses(self, others: list[Address], kind: Kind) -> Iterator[tuple[Address, Observed]]:
        """Tracked objects that were seen and can be read by id, of the same kind first."""
        actual, bindings = self.survey.actual(), self.survey.state.bindings
        for at in sorted(others, key=lambda address: (bindings[address].kind != kind.name, address)):
            now = actual.find(bindings[at].kind, bindings[at].id)
            if now is not None and now.deleted_at is None and _one_path(self.survey.kinds[now.kind], now) is not None:
                yield at, now

    async def _answers(self, address: Address, now: Observed) -> bool:
        """Whether an object that was seen still exists."""
        if address not in self._answered:
            kind = self.survey.kinds[now.kind]
            path = _one_path(kind, now)
            assert path is not None
            try:
                raw = (await self.survey.reader.get(path)).body
            except ServiceError:  # whatever it is, nobody answered
                raw = None
            self._answered[address] = is_kind(kind, raw) and kind.identity(kind.own_id(raw), now.within) == now.id
        return self._answered[address]


def _one_path(kind: Kind, now: Observed) -> str | None:
    """The reading by id of an object that was seen; None where the kind has none."""
    named = {field.name: value for field in kind.keys if isinstance(value := now.values.get(field.name), str)}
    return _filled(kind.by_id, {**named, **now.within, "id": bare(now.id)}) if kind.by_id is not None else None


def _filled(reading: One, named: Mapping[str, Any]) -> str | None:
    names = placeholders(reading.path)
    return encode(reading.path, {name: named[name] for name in names}) if set(names) <= set(named) else None
