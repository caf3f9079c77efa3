"""What the planner predicted, compared with what the copy showed. Pure; whatever differs is a defect of Reconciler.

    prediction                                              observation
    readers of every object after the plan (the model)      the readers whom the copy names at the end
    exposures, with their windows; who loses                who newly reads what, at the end and at any moment; who no longer does
    published URLs that break, and pages that move          the URLs that answer at the end
    who no longer reads what                                the URLs that no longer answer to a reader, at the end
    values that the service derives                         the objects after the apply
    a second plan without requests                          the plan after the apply

Only what both can know is compared: nothing where requests failed or something could not be read, no conditions that two programs may
evaluate differently, no URL that is not that of an object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reconciler.address import Address, bare
from reconciler.features.rehearsal.model import Divergence
from reconciler.features.rehearsal.moments import ANYONE_READER, WHO, Moments, SeenMoment, SeenReading, leveled, reader_in_words
from reconciler.features.urls.model.pages import UrlReason
from reconciler.features.urls.model.planned import URLS
from reconciler.model import Action, Actual, Desired, Plan
from reconciler.plan.audience.disclosure import local_values
from reconciler.plan.audience.readers import EVERY_PAGE, Access, Audiences
from reconciler.plan.containment import copied
from reconciler.plan.matching.matches import Matches
from reconciler.plan.simulation.simulate import Simulation, simulate
from reconciler.resource import Kinds
from reconciler.resource.risks import GUEST, INCLUDES, LEVELS, LINK_HOLDERS, MEMBERS, by_role

Key = tuple[str, str]

LINK: Final = "link"
CLASSES: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset((who, *(wider for wider in INCLUDES if who in INCLUDES[wider]))) for name, who in (*WHO.items(), (LINK, LINK_HOLDERS))
}
"""The classes of the model to which a reader of the copy belongs."""


def _classes(reader: str) -> frozenset[str]:
    return CLASSES.get(reader, CLASSES.get(reader.partition(":")[0], frozenset()))


@dataclass(frozen=True)
class PlannedWorld:
    """A plan for what was read completely, and what it was made from. `matches`: which object is which resource, before it."""

    kinds: Kinds
    desired: Desired
    plan: Plan
    actual: Actual
    matches: Matches

    @cached_property
    def simulation(self) -> Simulation:
        """The service after the plan, as the planner foresees it."""
        return simulate(self.kinds, self.actual, self.matches.ids, self.plan.steps, self.plan.places)

    @cached_property
    def unlike(self) -> frozenset[Key]:
        """Objects whose readers the planner counts otherwise than the service: what is or will be copied, which whoever reads the copy has
        read, and what the project says more about than the service knows, such as that everybody may read it."""
        ids = self.simulation.ids
        copies = {
            (step.kind, ids.get(step.source, "") if isinstance(step.source, Address) else step.source)
            for step in self.plan.steps
            if step.source
        }
        local = {(self.kinds.of(address).name, ids.get(address, "")) for address in local_values(self.kinds, self.desired)}
        return frozenset({*copied(self.kinds, self.actual.objects), *copied(self.kinds, self.simulation.objects), *copies, *local})

    @cached_property
    def deleted(self) -> frozenset[str]:
        """The ids of what the plan deletes. Some of it can be restored for a while, and exists as long."""
        addresses = {change.address for change in self.plan.changes if change.destructive}
        addresses |= {address for step in self.plan.steps for address in step.takes}
        ids = {bare(change.id) for change in self.plan.changes if change.destructive and change.id is not None}
        return frozenset(ids | {bare(id) for address, id in self.matches.ids.items() if address in addresses})

    @cached_property
    def emptied(self) -> frozenset[Key]:
        """What remains and shows something that is deleted: the plan says so with the deletion, and not here again."""
        return frozenset(
            (name, bare(id))
            for name, objects in self.actual.objects.items()
            if (audience := self.kinds[name].audience) is not None
            for id, now in objects.items()
            if any(now.values.get(field) in self.deleted for field in audience.shows)
        )

    @cached_property
    def audiences(self) -> Audiences:
        """Who can read what then."""
        then = self.simulation.actual() if self.plan.steps else self.actual
        return Audiences(self.kinds, then.objects, complete=then.complete)


@dataclass(frozen=True)
class RehearsedWorld:
    """What the copy showed. `addresses`: of managed objects, before and after. `again`: the plan after the apply; `actual`: what it was
    made from; `ids`: those of its addresses."""

    moments: Moments
    addresses: Mapping[Key, Address]
    again: Plan
    actual: Actual
    ids: Mapping[Address, str]


def divergences(predicted: PlannedWorld, observed: RehearsedWorld) -> tuple[Divergence, ...]:
    """Every difference, the gravest sort first. All requests of the plan succeeded."""
    return (
        *_exposures(predicted, observed),
        *_losses(predicted, observed),
        *_readers(predicted, observed),
        *_urls(predicted, observed),
        *_page_urls(predicted, observed),
        *_closed_urls(predicted, observed),
        *_derived(predicted, observed),
        *second_plan(predicted.plan, observed),
    )


# -- readers -----------------------------------------------------------------------------------------------------------------------------


def _exposures(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """Objects that somebody newly reads although no exposure says so, and the reverse."""
    lasting = _Named(at for exposure in predicted.plan.exposures if not exposure.window for at in (exposure.address, *exposure.reaches))
    passing = _Named(at for exposure in predicted.plan.exposures for at in (exposure.address, *exposure.reaches))
    moments, last = observed.moments, len(observed.moments.rows)
    reported: set[Key] = set()
    for number, readings in [(None, moments.gained()), *enumerate(moments.gains, 1)]:
        exposed = lasting if number is None else passing
        # Nobody has a new share link before the run has ended, so a plan announces nothing that only its holders could read until then.
        known = readings if number is None else [reading for reading in readings if not _is_new_link(reading.reader, moments.start)]
        for key, readers in _new(known, moments.start).items():
            comparable = number != last and key not in reported and key not in predicted.unlike
            if comparable and not exposed.has(key, observed.addresses):
                reported.add(key)
                yield Divergence(
                    "nobody can newly read it", f"{_who(readers[0], observed)} can newly read it", _address(key, observed), number
                )
    gained = {_address((reading.kind, reading.id), observed) for reading in moments.gained()}
    start = {_address(key, observed) for key in moments.start.titles if key not in predicted.unlike}
    for exposure in predicted.plan.exposures:
        # The copy does not tell members who read an object by itself from those who read it through its container, its holders of a
        # share link have no claims, and who reads some pages of an object reads it.
        uncounted = (MEMBERS, by_role(GUEST), f"{LINK_HOLDERS} for whom")
        readers = [reader for reader in exposure.readers if not reader.startswith(uncounted) and not reader.endswith(EVERY_PAGE)]
        opened = [at for at in (exposure.address, *exposure.reaches) if at in start]
        if readers and not exposure.window and exposure.address in opened and gained.isdisjoint(opened):
            yield Divergence(f"{readers[0]} can newly read it", "nobody can newly read it", exposure.address)


def _losses(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """Objects that remain and that somebody no longer reads although the plan does not say so."""
    moments, named = observed.moments, _Named(predicted.plan.lost_readers)
    for key, readers in _new(moments.lost(), moments.end).items():
        gone = key not in moments.end.titles or key[1] in predicted.deleted or key in predicted.emptied
        if not gone and key not in predicted.unlike and not named.has(key, observed.addresses):
            news = f"{_who(readers[0], observed)} can no longer read it"
            yield Divergence("everybody who reads it still can", news, _address(key, observed))


def _readers(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """Objects whose readers at the end are others than the model says."""
    seen: dict[Key, dict[str, int]] = defaultdict(dict)
    for reading in observed.moments.end.readings:
        reader, level = leveled(reading.reader)
        if _is_modelled(reader):
            seen[reading.kind, reading.id][reader] = level
    via = {key[1]: predicted.simulation.ids.get(address, "") for key, address in observed.addresses.items()}
    for key in observed.moments.end.titles:
        modelled = _modelled(predicted, observed, key)
        if modelled is None or key in predicted.emptied:
            continue
        accesses = predicted.audiences.of(modelled)
        for reader in (*WHO, *(reader for reader in seen[key] if reader not in WHO)):
            known = seen[key].get(reader, -1)
            if MEMBERS in _classes(reader):
                known = max(known, seen[key].get(next(iter(WHO)), -1))  # a member is anybody, too
            levels = list(_levels(accesses, reader, via))
            certain = max((level for level, conditional in levels if not conditional), default=-1)
            possible = max((level for level, _ in levels), default=-1)
            if not certain <= known <= possible:
                who = _who(reader, observed)
                yield Divergence(f"{who} {_can(certain if known < certain else possible)}", f"{who} {_can(known)}", _address(key, observed))


def _levels(accesses: Collection[Access], reader: str, via: Mapping[str, str]) -> Iterator[tuple[int, bool]]:
    """The levels that the model gives a reader, each with whether a condition decides it. `via`: the id in the model of an object."""
    link, classes = reader.partition(":")[2], _classes(reader)
    for access in accesses:
        own = access.who != LINK_HOLDERS or access.via in (link, via.get(link))
        if access.who in classes and own:
            yield access.level, bool(access.conditions)


def _modelled(predicted: PlannedWorld, observed: RehearsedWorld, key: Key) -> Key | None:
    """The object in the model; None for one without readers there, or that the plan does not foresee."""
    kind = predicted.kinds.get(key[0])
    if kind is None or kind.audience is None or kind.within is None:
        return None
    if predicted.audiences.find(key) is not None:
        return key
    address = observed.addresses.get(key)
    id = predicted.simulation.ids.get(address) if address is not None else None
    return (key[0], id) if id is not None and predicted.audiences.find((key[0], id)) is not None else None


def _can(level: int) -> str:
    return "cannot read it" if level < 0 else "can read it" if level == 0 else f"can read it ({LEVELS[level]})"


def _new(readings: Iterable[SeenReading], other: SeenMoment) -> dict[Key, list[str]]:
    """The readers of each object who cannot read it at all at the other moment, neither as themselves nor as a part of a wider class.

    Without people and ways to become a member, about whom the model says nothing.
    """
    by_key: dict[Key, list[str]] = defaultdict(list)
    known: frozenset[object] = other.readings
    for reading in sorted(readings, key=lambda reading: (reading.kind, reading.id, reading.reader)):
        reader = leveled(reading.reader)[0]
        wider = {reader, *(name for name in WHO if WHO[name] in _classes(reader))}
        names = [name if level == LEVELS[0] else f"{name} ({level})" for name in wider for level in LEVELS]
        if _is_modelled(reader) and not any((name, reading.kind, reading.id) in known for name in names):
            by_key[reading.kind, reading.id].append(reading.reader)
    return by_key


def _is_new_link(reader: str, start: SeenMoment) -> bool:
    who = leveled(reader)[0]
    return who.startswith(f"{LINK}:") and who not in start.names


def _is_modelled(reader: str) -> bool:
    """Whether it is a class of readers, and not a person or a way to become a member."""
    return reader in WHO or reader.startswith((f"{LINK}:", "visitor:"))


def _who(reader: str, observed: RehearsedWorld) -> str:
    return reader_in_words(reader, {**observed.moments.start.names, **observed.moments.end.names})


class _Named:
    """Addresses in a plan, where an unmanaged object is named by its id."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self.addresses = frozenset(addresses)
        self.ids = frozenset((at.kind, at.key) for at in self.addresses)

    def has(self, key: Key, addresses: Mapping[Key, Address]) -> bool:
        """Whether an object is named."""
        return addresses.get(key) in self.addresses or key in self.ids


# -- URLs, values, the second plan -----------------------------------------------------------------------------------------------------


def _urls(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """URLs of objects that break although the plan does not say so, and the reverse.

    What readers of a site may see is a matter of readers: its URLs answer somebody. Where nothing else is at a URL, the default section or
    variant may answer there without its segment; that is no URL of an object.
    """
    start, end = observed.moments.start.urls, observed.moments.end.urls
    broken = {line.before: line for line in predicted.plan.broken if line.before is not None}
    now = {kind.url(present.raw) for kind in predicted.kinds.values() for present in observed.actual.objects.get(kind.name, {}).values()}
    destroyed = {change.address for change in predicted.plan.changes if change.destructive}
    for before, line in broken.items():
        expected = line.after is not None or line.address in destroyed
        if expected and before in start and before in now and end.get(before) == start[before]:
            yield Divergence(f"{before} no longer answers", "it answers", line.address)
        elif before in start and line.after is not None and line.after not in end:
            yield Divergence(f"{before} is now {line.after}", f"{line.after} does not answer", line.address)
    for kind in predicted.kinds.values():
        if kind.published is None or kind.published.secret or kind.audience is None or not kind.audience.shows:
            continue
        for id, past in predicted.actual.objects.get(kind.name, {}).items():
            url = kind.url(past.raw) or ""
            dead = url in start and url not in end and not _is_told(url, predicted, observed)
            if dead and not any(f"{url}/".startswith(f"{before}/") for before in broken):
                yield Divergence("its published URL answers", f"{url} no longer answers", _address((kind.name, bare(id)), observed))


def _page_urls(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """URLs of pages at which the plan says that a page answers or no longer does, and that do otherwise."""
    start, end = observed.moments.start.urls, observed.moments.end.urls
    for change in predicted.plan.feature(URLS).changes:
        if change.page is None:
            continue  # only the service knows, or the URL is secret
        if change.reason in (UrlReason.MOVED, UrlReason.NEW) and change.after is not None:
            known = change.before is None or change.before in start
            if known and change.is_open and change.after not in end:
                yield Divergence(f'"{change.title}" answers at {change.after}', "nothing answers there", change.site)
        before = change.before if change.reason in (UrlReason.GONE, UrlReason.MOVED) else None
        still = before not in observed.moments.closed
        if before is not None and still and before in start and end.get(before) == start[before]:
            yield Divergence(f"{before} no longer answers", "it answers", change.site)


def _closed_urls(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """URLs that no longer answer to everybody to whom they did, although the plan does not say so: one of each site is named.

    Visitors are left out, whose conditions two programs may evaluate differently.
    """
    told = {change.before for change in predicted.plan.feature(URLS).changes if change.before is not None}
    patterns = tuple(url.removesuffix("**") for url in told if url.endswith("/**"))
    broken = [line.before for line in predicted.plan.broken if line.before is not None]
    reported: set[frozenset[str]] = set()
    for url, readers in observed.moments.closed.items():
        certain = sorted(reader for reader in readers if reader in WHO or reader.startswith(f"{LINK}:"))
        named = url in told or f"{url}/".startswith(patterns) or any(f"{url}/".startswith(f"{before}/") for before in broken)
        shown_by = observed.moments.start.shown_by(url)
        if certain and not named and shown_by not in reported and not _is_told(url, predicted, observed):
            reported.add(shown_by)
            who = _who(ANYONE_READER if ANYONE_READER in certain else certain[0], observed)
            yield Divergence(f"{url} answers to {who}", f"it no longer answers to {who}")


def _is_told(url: str, predicted: PlannedWorld, observed: RehearsedWorld) -> bool:
    """Whether the plan says that something which shows a URL is deleted, or loses readers."""
    shown_by = observed.moments.start.shown_by(url)
    lost = {id for (_, id), address in observed.addresses.items() if address in predicted.plan.lost_readers}
    lost |= {address.key for address in predicted.plan.lost_readers}
    return not shown_by.isdisjoint(predicted.deleted | lost | {id for _, id in predicted.emptied | predicted.unlike})


def _derived(predicted: PlannedWorld, observed: RehearsedWorld) -> Iterator[Divergence]:
    """Values of created objects that the service derived otherwise."""
    for change in predicted.plan.changes:
        now = observed.actual.find(change.kind, observed.ids.get(change.address, "")) if Action.CREATE in change.actions else None
        if now is None:
            continue
        fields = predicted.kinds[change.kind].fields
        for delta in change.fields:
            value = now.values.get(delta.name)
            # A value that the YAML writes has no note: the request sets it.
            if delta.note is not None and isinstance(delta.after, str) and fields[delta.name].derived is not None and value != delta.after:
                yield Divergence(f"{delta.name} is {delta.after}", f"{delta.name} is {value}", change.address)


def second_plan(plan: Plan, observed: RehearsedWorld) -> tuple[Divergence, ...]:
    """Requests of a second plan that the first did not announce."""
    announced = {*plan.deferred, *(blocked.address for blocked in plan.blocked)}
    steps = [step for step in observed.again.steps if step.address not in announced]
    return tuple(
        Divergence("a second plan sends no request", f"it sends {' '.join((step.verb, step.method, *step.fields))}", step.address)
        for step in steps
    )


def _address(key: Key, observed: RehearsedWorld) -> Address | None:
    return observed.addresses.get(key)
