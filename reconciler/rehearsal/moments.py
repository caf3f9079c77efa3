"""What readers gain and lose, and which published URLs stop answering, between two moments of a copy. Pure.

    start ──write 1──> moment ──write 2──> moment ── … ──> end
      └──────────────────┴─── each is compared with the start, never with the moment before it

A URL is dead where nothing answers at it any more. It has moved where its page answers at another URL that did not exist at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from reconciler.address import Address
from reconciler.model.rehearsal import MovedUrl, ReaderChange, RehearsedMoment
from reconciler.resource.risks import AGENTS, ANYONE, ANYONE_WITH_THE_URL, LEVELS, LINK_HOLDERS, MEMBERS, ROLES, VISITORS

# Readers as `sandbox readers` names them, in the words of `access`.
WHO: Final = {"anyone": ANYONE, "anyone-with-the-address": ANYONE_WITH_THE_URL, "visitor": VISITORS, "agent": AGENTS, "member": MEMBERS}


class SeenReading(Protocol):
    """One reader of one object, equal to the tuple of the three."""

    @property
    def reader(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def id(self) -> str: ...


class SeenMoment(Protocol):
    """What readers see at one moment: who reads what, and the page (its space, its id) behind every URL that answers.

    `asked`: what the readers of the project's access tests can read.
    """

    @property
    def readings(self) -> frozenset[SeenReading]: ...
    @property
    def urls(self) -> Mapping[str, tuple[str, str]]: ...
    @property
    def titles(self) -> Mapping[tuple[str, str], str]: ...
    @property
    def names(self) -> Mapping[str, str]: ...
    @property
    def asked(self) -> frozenset[SeenReading]: ...
    def conditions(self, reader: str) -> frozenset[str]: ...
    def visited(self, conditions: frozenset[str], kind: str, id: str) -> bool: ...


class MomentDelta(NamedTuple):
    """A moment compared with the one before. `dead` and `back`: of the URLs that answered at the start.

    `opened` and `closed`: what counts from now on, and no longer, as gained or lost since the start.
    """

    gained: frozenset[SeenReading]
    lost: frozenset[SeenReading]
    dead: tuple[str, ...]
    back: tuple[str, ...]
    opened: tuple[set[SeenReading], set[SeenReading]]
    closed: tuple[set[SeenReading], set[SeenReading]]


@dataclass
class Moments:
    """The moments of one apply. `look`: what readers see now."""

    look: Callable[[], SeenMoment]
    rows: list[RehearsedMoment] = field(default_factory=list)
    # What `gained` was at each.
    gains: list[set[SeenReading]] = field(default_factory=list)
    deltas: list[MomentDelta] = field(default_factory=list)
    # Gained and lost at the last moment.
    _since: tuple[set[SeenReading], set[SeenReading]] = (set(), set())

    def __post_init__(self) -> None:
        self.start = self.end = self.look()

    def after(self, request: str, address: Address | None = None, what: str = "") -> None:
        """Look once more, after a write. `what`: what it did to the object at the address."""
        before, self.end = self.end, self.look()
        dead = sum(1 for url in self.start.urls if url not in self.end.urls)
        gained, (gained_before, lost_before), lost = self.gained(), self._since, self.lost()
        self._since = gained, lost
        self.gains.append(gained)
        opened, closed = (gained - gained_before, gained_before - gained), (lost - lost_before, lost_before - lost)
        self.deltas.append(_delta(self.start, before, self.end)._replace(opened=opened, closed=closed))
        objects = len({(reading.kind, reading.id) for reading in gained})
        self.rows.append(RehearsedMoment(len(self.rows) + 1, request, dead, len(gained), opened=objects, address=address, what=what))

    def gained(self) -> set[SeenReading]:
        """Readings that are new, of what existed at the start: what is created holds nothing that somebody relied on being hidden."""
        return {reading for reading in more_readings(self.end, self.start) if (reading.kind, reading.id) in self.start.titles}

    def lost(self) -> set[SeenReading]:
        return more_readings(self.start, self.end)

    def changes(self, readings: Iterable[SeenReading], addresses: Mapping[tuple[str, str], Address]) -> tuple[ReaderChange, ...]:
        """Readings as people know their objects, managed ones first."""
        titles = {**self.start.titles, **self.end.titles}
        names = {**self.start.names, **self.end.names}
        changes = [
            ReaderChange(
                reading.reader,
                reading.kind,
                titles.get((reading.kind, reading.id), ""),
                addresses.get((reading.kind, reading.id)),
                reader_in_words(reading.reader, names),
            )
            for reading in readings
        ]
        return tuple(sorted(changes, key=lambda change: (change.address is None, str(change.address or ""), change.title, change.reader)))

    def dead(self) -> tuple[str, ...]:
        """The URLs that answered at the start, and whose page answers nowhere new."""
        moved = {url.before for url in self.moved()}
        return tuple(url for url in sorted(self.start.urls) if url not in self.end.urls and url not in moved)

    def moved(self) -> tuple[MovedUrl, ...]:
        """The URLs that no longer answer, each with the shortest new URL of its page."""
        new: dict[tuple[str, str], str] = {}
        for url, page in sorted(self.end.urls.items(), key=lambda item: (-len(item[0]), item[0]), reverse=False):
            if url not in self.start.urls:
                new[page] = url
        return tuple(
            MovedUrl(url, new[page]) for url, page in sorted(self.start.urls.items()) if url not in self.end.urls and page in new
        )  # fmt: skip


def more_readings(now: SeenMoment, before: SeenMoment) -> set[SeenReading]:
    """The readers of one moment that are new, or may do more than before.

    A member who could edit and can only read gains nothing, and neither do visitors who could read by another condition.
    """
    known: frozenset[object] = before.readings
    return {
        reading
        for reading in now.readings - before.readings
        if not any(wider in known for wider in _wider(reading))
        and not ((conditions := now.conditions(reading.reader)) and before.visited(conditions, reading.kind, reading.id))
    }


def _wider(reading: SeenReading) -> Iterator[tuple[str, str, str]]:
    """The same reader of the same object, with each higher level."""
    who, level = leveled(reading.reader)
    for higher in LEVELS[level + 1 :]:
        yield (who if higher == LEVELS[0] else f"{who} ({higher})", reading.kind, reading.id)


def leveled(reader: str) -> tuple[str, int]:
    """A reader and what they may do, as an index of levels: `member (edit)`; -1 for a guest. Other brackets are a part of the name."""
    name, _, level = reader.rpartition(" (")
    level = level.removesuffix(")")
    return (name, ROLES.index(level) - 1) if name and level in ROLES else (reader, 0)


def _delta(start: SeenMoment, before: SeenMoment, now: SeenMoment) -> MomentDelta:
    return MomentDelta(
        now.readings - before.readings,
        before.readings - now.readings,
        tuple(url for url in start.urls if url in before.urls and url not in now.urls),
        tuple(url for url in start.urls if url not in before.urls and url in now.urls),
        (set(), set()),
        (set(), set()),
    )


def reader_in_words(reader: str, names: Mapping[str, str]) -> str:
    """`whoever has the share link "Resellers"`. `names`: of share links, members and identity providers, by reader."""
    who, level = reader, ""
    if reader.startswith(("member", "joins:")) and reader.endswith(")"):
        who, _, level = reader.rpartition(" (")
    sort, _, rest = who.partition(":")
    name = names.get(who) or rest
    match sort:
        case "link":
            text = f'{LINK_HOLDERS} "{name}"'
        case "visitor" if rest:
            text = f"{VISITORS} for whom {rest} holds"
        case "joins" if rest == "invite-link":
            text = "whoever has the invite link"
        case "joins" if rest.startswith("saml:"):
            text = f'whoever signs in with "{name.removeprefix("saml:")}"'
        case "joins":
            text = f"whoever has an email address at {rest}"
        case "member" if rest:
            text = name
        case _:
            text = WHO.get(who, who)
    return f"{text} ({level}" if level else text
