"""Apply what is safe: what a guard refuses is held with all that belongs to it, and the rest is planned as if people had excluded that.

The premise: to hold is to exclude. Nothing is removed from a plan; a new one is made without the held addresses, so each order, reader, URL
and protection is decided on what is really sent, and no request is sent that a plan with `--exclude` would not send.

    the whole plan --refused--> what the guards are about --closed--> held --planned without it--> refused again? --> held too
                                                                                           \\--> nothing refused: the rest is applied

The rest is never weaker than the refusal of all:

    a guard that counts      all that it counts is held; no subset is chosen
    a rule about the plan    all is held: nobody knows which part violates it
    a looser rule            the same: it may be what lets the rest pass
    what is held             is still judged by policies, as it stays
    what the rest does       opens, closes, ends and deletes nothing that the whole plan does not; what would is held too

In: a plan, and the stages. Out: a plan that no guard refuses, and what it holds. Pure, but for what the stages read for the last plan.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import replace
from typing import Final

from reconciler.address import Address, Selection
from reconciler.errors import Refused
from reconciler.model import Action, HeldChange, HeldPart, HeldRefusal, Plan, StateUpdate
from reconciler.model.variants import SiteUrls
from reconciler.plan.warnings.exposure import KIND as RULE
from reconciler.report.words import count
from reconciler.run.guards import concerned, deletes
from reconciler.run.stages import Planned, decided, narrow

CREATED: Final = (Action.CREATE,)


async def with_held(whole: Planned, read: Callable[[Planned], Awaitable[Planned]]) -> Planned:
    """The plan without what its guards refuse; unchanged where they refuse nothing. `read`: runs all stages, each with what it reads."""
    holding = _Holding(whole)
    if not holding.refuse([*whole.refusals(whole.operation.limits), *_unapproved(whole.operation.unapproved & holding.pending)]):
        return whole
    while holding.close():
        rest = narrow(whole, replace(whole.operation, selection=holding.selection))
        if holding.is_more(rest):
            continue
        rest = await read(replace(rest, features={}))
        if not holding.is_more(rest):
            return replace(rest, plan=replace(rest.plan, held=holding.held))
    rest = narrow(whole, replace(whole.operation, selection=replace(holding.selection, only=frozenset())))
    nothing = replace(rest.plan, features={}, state_update=StateUpdate(), violations=(), held=holding.held)
    return replace(rest, plan=nothing)


class _Holding:
    """What a run holds, so far. `pending`: all that it could hold. `refused`: what guards are about, and `belonging`: what is held with
    that, each with the id of the refusal."""

    def __init__(self, whole: Planned) -> None:
        self.whole, self.pending = whole, _touched(whole.plan)
        self.refused: dict[Address, str] = {}
        self.belonging: dict[Address, str] = {}
        self.refusals: dict[str, Refused] = {}

    @property
    def addresses(self) -> frozenset[Address]:
        """All that is held."""
        return frozenset({*self.refused, *self.belonging})

    @property
    def selection(self) -> Selection:
        """What the rest is about."""
        return replace(self.whole.operation.selection, held=self.addresses)

    @property
    def held(self) -> HeldPart:
        """The same, as people read it, in the order of the plan."""
        actions = {change.address: change.actions for change in self.whole.plan.changes}
        order = dict.fromkeys((*actions, *sorted(self.pending)))
        ids = {**self.belonging, **self.refused}
        changes = (HeldChange(at, actions.get(at, ()), at in self.refused, id=ids[at]) for at in order if at in ids)
        refusals = (HeldRefusal(refused.message, refused.hint or "", id=refused.id) for refused in self.refusals.values())
        return HeldPart(tuple(changes), tuple(refusals))

    def refuse(self, refusals: Collection[Refused]) -> bool:
        """Hold what these are about. Returns whether there are any."""
        left = self._left
        for refused in refusals:
            self.refusals.setdefault(refused.message, refused)
            self.refused = {**dict.fromkeys(_meant(refused.about, left), refused.id), **self.refused}
        return bool(refusals)

    def is_more(self, rest: Planned) -> bool:
        """Hold what a plan of the rest shows to belong to what is held. Returns whether there is any."""
        before = self.addresses
        blocked = {blocked.address for blocked in self.whole.plan.blocked}
        waiting = {blocked.address for blocked in rest.plan.blocked} - blocked
        self._hold(waiting & self.pending)
        if self.addresses == before and not self.refuse(rest.refusals(self.whole.operation.limits)):
            left = self._left
            for about in _beyond(self.whole.plan, rest.plan):
                self._hold(_meant(about, left))
        return self.addresses != before

    def close(self) -> bool:
        """Hold what is held with all that it requires, and all that requires any of it. Returns whether anything is left."""
        limits = replace(self.whole.operation.selection, targets=())
        required = self._decided(replace(limits, chosen=self.addresses))
        changed = {at for at, actions in required.items() if actions != CREATED}
        self._hold(changed & self.pending)
        # Something new that it requires changes nothing alone: it is held unless something that is not held requires it too.
        chosen = self.pending - self.addresses - required.keys()
        sent = self._decided(replace(limits, chosen=chosen, held=self.addresses))
        self._hold(self.pending - sent.keys())
        return bool(self._left)

    def _decided(self, selection: Selection) -> dict[Address, tuple[Action, ...]]:
        """What a run about a selection would do, by address."""
        plan = decided(replace(self.whole, operation=replace(self.whole.operation, selection=selection))).plan
        return {**dict.fromkeys(_touched(plan), ()), **{change.address: change.actions for change in plan.changes}}

    def _hold(self, addresses: Collection[Address]) -> None:
        first = next(iter(self.refusals.values())).id
        self.belonging |= dict.fromkeys(set(addresses) - self.addresses, first)

    @property
    def _left(self) -> frozenset[Address]:
        """What is not held."""
        return self.pending - self.addresses


def _meant(about: Collection[Address], left: frozenset[Address]) -> Collection[Address]:
    """Those of the changes that are left that are at these addresses; else those below them; else, as where nobody knows what it is about,
    all. Two refusals at once may be about the same."""
    return left & set(about) or {at for at in left if any(at.is_within(outer) for outer in about)} or left


def _unapproved(addresses: Collection[Address]) -> Iterator[Refused]:
    """The refusal of what people must approve before it is applied."""
    if addresses:
        number = len(addresses)
        wrong = f"{count(number, 'change')} {'needs' if number == 1 else 'need'} approvals"
        yield Refused(wrong, id="RC-fleet-approval", hint="approve the plan that is left", about=addresses)


def _touched(plan: Plan) -> frozenset[Address]:
    """What happens to an address in a plan: a change, a request, or only more readers."""
    exposed = (exposure.address for exposure in plan.exposures if exposure.kind != RULE)
    return frozenset({*(change.address for change in plan.changes), *(step.address for step in plan.steps), *exposed})


def _beyond(whole: Plan, rest: Plan) -> Iterator[Collection[Address]]:
    """The addresses of each consequence of the rest that the whole plan does not have: what it closes or moves may be held now."""
    opened = {consent for exposure in whole.exposures for consent in exposure.consents}
    for exposure in rest.exposures:
        if not opened.issuperset(exposure.consents):
            yield concerned(exposure)
    for address, readers in rest.lost_readers.items():
        if not set(readers) <= set(whole.lost_readers.get(address, ())):
            yield (address,)
    broken = {(url.address, url.before) for url in whole.broken}
    yield from ((url.address,) for url in rest.broken if (url.address, url.before) not in broken)
    ended = _ended(whole.site_urls)
    for what, shown in _ended(rest.site_urls).items():
        if what not in ended:
            yield shown
    deleted = {change.address for change in deletes(whole)}
    yield from ((change.address,) for change in deletes(rest) if change.address not in deleted)


def _ended(urls: SiteUrls) -> dict[tuple[str, ...], tuple[Address, ...]]:
    """The URLs at which nothing answers any more, and those at which other pages do, each with the space and the site that it is about."""
    answering = {base for variant in urls.after for base in variant.bases.values()}
    shown = {(base, *variant.space) for variant in urls.after for base in variant.bases.values()}
    ended: dict[tuple[str, ...], tuple[Address, ...]] = {}
    for variant in urls.before:
        names = tuple(urls.names[key] for key in (variant.space, variant.site) if key in urls.names)
        for base in variant.bases.values():
            if base not in answering:
                ended[(base,)] = names
            if (base, *variant.space) not in shown:
                ended[base, *variant.space] = names
    return ended
