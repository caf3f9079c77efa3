"""What readers gain and lose, and which published URLs stop answering, between two moments of a copy. Pure.

    start ──write 1──> moment ──write 2──> moment ── … ──> end
      └──────────────────┴─── each is compared with the start, never with the moment before it

A URL is asked for by readers. It is dead where it answered to one of them and no longer does, whoever else still gets it. It has moved
where its page answers to all of these at another URL that did not exist at the start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from reconciler.address import Address
from reconciler.features.rehearsal.model import ClosedUrls, MovedUrl, ReaderChange, RehearsedMoment
from reconciler.resource.risks import AGENTS, ANYONE, ANYONE_WITH_THE_URL, LEVELS, LINK_HOLDERS, MEMBERS, ROLES, VISITORS, by_role

# Readers as `sandbox readers` names them, in the words of `access`.
BY_ROLE: Final = {f"role:{role}": by_role(role) for role in ROLES if role != LEVELS[-1]}
WHO: Final = {"anyone": ANYONE, "anyone-with-the-address": ANYONE_WITH_THE_URL, "visitor": VISITORS, "agent": AGENTS, **BY_ROLE}
ANYONE_READER: Final = "anyone-with-the-address"  # the widest class of those who ask for URLs
AGENT_READER: Final = "agent"
LINK_READER: Final = "link:"  # and the id of a share link
PERSON: Final = "person:"  # and the id of a member, who is named only where their level is not that of their role


Merged = tuple[str, str, str, str]


class SeenReading(Protocol):
    """One reader of one object, equal to the tuple of the three."""

    @property
    def reader(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def id(self) -> str: ...


class SeenMoment(Protocol):
    """What readers see at one moment: who reads what, and the page (its space, its id) behind every URL that answers to somebody.

    `asked`: what the readers of the project's access tests can read. `url_readers`: who asks for URLs, and `refused`: visitors for whom a
    condition does not hold; another moment can be asked about them by `answers` and `reads`. `shows`: the objects whose content one shows.
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
    @property
    def shows(self) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]: ...
    @property
    def url_readers(self) -> Mapping[str, Any]: ...
    @property
    def refused(self) -> Mapping[str, Any]: ...
    def answers(self, name: str, reader: Any) -> Mapping[str, tuple[str, str]]: ...
    def reads(self, name: str, reader: Any) -> frozenset[tuple[str, str]]: ...
    def rank(self, user: str, kind: str, id: str) -> int: ...
    def shown_by(self, url: str) -> frozenset[str]: ...
    def conditions(self, reader: str) -> frozenset[str]: ...
    def visited(self, conditions: frozenset[str], kind: str, id: str) -> bool: ...


class ReadObject(NamedTuple):
    """A reading that no moment lists by itself."""

    reader: str
    kind: str
    id: str


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
    # To whom which URLs did not answer at each.
    closures: list[dict[str, frozenset[str]]] = field(default_factory=list)
    # Gained and lost at the last moment.
    _since: tuple[set[SeenReading], set[SeenReading]] = (set(), set())

    def __post_init__(self) -> None:
        self.start = self.end = self.look()

    def after(self, request: str, address: Address | None = None, what: str = "") -> None:
        """Look once more, after a write. `what`: what it did to the object at the address."""
        before, self.end = self.end, self.look()
        closed_before, closed = self.closed, closed_urls(self.start, self.end)
        self.closures.append(closed)
        gained, (gained_before, lost_before), lost = self.gained(), self._since, self.lost()
        self._since = gained, lost
        self.gains.append(gained)
        self.deltas.append(
            MomentDelta(
                self.end.readings - before.readings,
                before.readings - self.end.readings,
                tuple(url for url in closed if url not in closed_before),
                tuple(url for url in closed_before if url not in closed),
                (gained - gained_before, gained_before - gained),
                (lost - lost_before, lost_before - lost),
            )
        )
        objects = len({(reading.kind, reading.id) for reading in gained})
        self.rows.append(
            RehearsedMoment(
                len(self.rows) + 1,
                request,
                len(closed),
                len(self._merged(gained)),
                opened=objects,
                address=address,
                what=what,
                dead_for=self._in_words(frozenset[str]().union(*closed.values())),
            )
        )

    @property
    def closed(self) -> Mapping[str, frozenset[str]]:
        """The URLs that answered at the start and do not now, with the readers for whom that is so."""
        return self.closures[-1] if self.closures else {}

    def judged(self) -> tuple[RehearsedMoment, ...]:
        """The moments, each with what counts neither at the start nor at the end."""
        gained, closed = (self.gains[-1] if self.gains else set(), self.closed)
        return tuple(
            replace(
                row,
                passing_readers=len(more - gained),
                passing_urls=sum(1 for url, readers in dead.items() if readers - closed.get(url, frozenset())),
            )
            for row, more, dead in zip(self.rows, self.gains, self.closures, strict=True)
        )

    def gained(self) -> set[SeenReading]:
        """Readings that are new, of what existed at the start: what is created holds nothing that somebody relied on being hidden."""
        more = more_readings(self.end, self.start) | self._of_refused(self.end, self.start) | _of_people(self.end, self.start)
        return {reading for reading in more if (reading.kind, reading.id) in self.start.titles}

    def lost(self) -> set[SeenReading]:
        """Readings that are no longer possible. A reader who may do less with an object has not lost it, and neither has one who reads the
        same contents in what replaced their container."""
        less = more_readings(self.start, self.end) | self._of_refused(self.start, self.end)
        people = {reading for reading in _of_people(self.start, self.end) if _rank(self.end, reading) < 0}
        known = {(leveled(reading.reader)[0], reading.kind, reading.id) for reading in self.end.readings}
        return people | {
            reading
            for reading in less
            if (leveled(reading.reader)[0], reading.kind, reading.id) not in known
            and not self._is_replaced(reading, leveled(reading.reader)[0], known)
        }

    def _is_replaced(self, reading: SeenReading, who: str, known: Collection[tuple[str, str, str]]) -> bool:
        contents = self.start.shows.get((reading.kind, reading.id), ())
        return (reading.kind, reading.id) not in self.end.titles and bool(contents) and all((who, *key) in known for key in contents)

    def _of_refused(self, now: SeenMoment, before: SeenMoment) -> set[SeenReading]:
        """What visitors for whom a condition does not hold can read more than before."""
        return {
            ReadObject(name, *key)
            for name, reader in {**self.start.refused, **self.end.refused}.items()
            for key in now.reads(name, reader) - before.reads(name, reader)
        }

    def changes(
        self,
        readings: Iterable[SeenReading],
        addresses: Mapping[tuple[str, str], Address],
        people: Callable[[str, tuple[str, str]], tuple[str, bool]] = lambda reader, key: ("", False),
    ) -> tuple[ReaderChange, ...]:
        """Readings as people know their objects, managed ones first. `people`: those of a reader by name, and whether others may be."""
        titles = {**self.start.titles, **self.end.titles}
        names = {**self.start.names, **self.end.names}
        changes = [
            ReaderChange(
                reader,
                kind,
                titles.get((kind, id), ""),
                addresses.get((kind, id)),
                reader_in_words(reader, names),
                reader_in_words(before, names),
                *people(reader, (kind, id)),
            )
            for reader, before, kind, id in self._merged(readings)
        ]
        return tuple(sorted(changes, key=lambda change: (change.address is None, str(change.address or ""), change.title, change.reader)))

    def _merged(self, readings: Iterable[SeenReading]) -> set[Merged]:
        """Reader, who they were at the start, kind and id of readings; members of all roles are one reader where they may do the same.

        Who they were is "" where they could not read it, or could do as much.
        """
        former = {(leveled(reading.reader)[0], reading.kind, reading.id): reading.reader for reading in self.start.readings}
        rows: set[Merged] = set()
        alike: dict[Merged, set[str]] = defaultdict(set)
        for reading in readings:
            name = leveled(reading.reader)[0]
            was = former.get((name, reading.kind, reading.id), reading.reader)
            if name.startswith(PERSON) and (rank := _rank(self.start, reading)) >= 0:
                was = _at_level(name, rank)
            row = (reading.reader, was if was != reading.reader else "", reading.kind, reading.id)
            rows.add(row)
            if name in BY_ROLE:
                alike[_of_all_roles(row)].add(name)
        whole = {row for row, names in alike.items() if names == BY_ROLE.keys()}
        return whole | {row for row in rows if _of_all_roles(row) not in whole}

    def dead(self) -> tuple[str, ...]:
        """The URLs that no longer answer to somebody, and whose page answers to them nowhere new."""
        moved = {url.before for url in self.moved()}
        return tuple(url for url in sorted(self.closed) if url not in moved)

    def moved(self) -> tuple[MovedUrl, ...]:
        """The URLs that no longer answer, each with the shortest new URL at which its page answers to the same readers."""
        new = {name: self._new_urls(name) for name in frozenset[str]().union(*self.closed.values())}
        moved = []
        for url, readers in sorted(self.closed.items()):
            common = [urls for name in readers for urls in [new[name].get(self._page(url, name), frozenset[str]())]]
            if after := frozenset[str].intersection(*common):
                moved.append(MovedUrl(url, min(after, key=lambda other: (len(other), other))))
        return tuple(moved)

    def closed_groups(self) -> tuple[ClosedUrls, ...]:
        """The URLs that no longer answer, by the readers for whom that is so; most URLs first."""
        groups: dict[frozenset[str], list[str]] = defaultdict(list)
        for url, readers in sorted(self.closed.items()):
            groups[readers].append(url)
        return tuple(
            ClosedUrls(tuple(sorted(readers)), self._in_words(readers), tuple(urls), sum(1 for url in urls if url in self.end.urls))
            for readers, urls in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1]))
        )

    def _page(self, url: str, name: str) -> tuple[str, str]:
        """The page that a reader got at a URL at the start."""
        return self.start.answers(name, self._reader(name))[url]

    def _new_urls(self, name: str) -> dict[tuple[str, str], frozenset[str]]:
        """The URLs of each page that answer to a reader now and did not exist at the start."""
        urls: dict[tuple[str, str], set[str]] = defaultdict(set)
        for url, page in self.end.answers(name, self._reader(name)).items():
            if url not in self.start.urls:
                urls[page].add(url)
        return {page: frozenset(some) for page, some in urls.items()}

    def _reader(self, name: str) -> Any:
        return {**self.end.url_readers, **self.start.url_readers}[name]

    def _in_words(self, readers: Iterable[str]) -> tuple[str, ...]:
        """Readers for people, without those who are included in a wider class of them."""
        names = {**self.start.names, **self.end.names}
        readers = set(readers)
        shown = [ANYONE_READER] if ANYONE_READER in readers else sorted(readers)
        agents = [AGENT_READER] if AGENT_READER in readers and shown == [ANYONE_READER] else []
        return tuple(dict.fromkeys(reader_in_words(name, names) for name in (*shown, *agents)))


def closed_urls(start: SeenMoment, now: SeenMoment) -> dict[str, frozenset[str]]:
    """The published URLs that answered at the start and do not now, each with the readers for whom that is so. What another page answers
    at is not closed."""
    closed: dict[str, set[str]] = defaultdict(set)
    # The holder of a link whose key was replaced has the key of the start; a link that is new had no holders then.
    later = {name: reader for name, reader in now.url_readers.items() if not name.startswith(LINK_READER)}
    for name, reader in {**later, **start.url_readers}.items():
        answering = now.answers(name, reader)
        for url in start.answers(name, reader):
            if url not in answering:
                closed[url].add(name)
    return {url: frozenset(closed[url]) for url in start.urls if url in closed}


def more_readings(now: SeenMoment, before: SeenMoment) -> set[SeenReading]:
    """The readers of one moment that are new, or may do more than before; without single people.

    A member who could edit and can only read gains nothing, and neither do visitors who could read by another condition.
    """
    known: frozenset[object] = before.readings
    return {
        reading
        for reading in now.readings - before.readings
        if not reading.reader.startswith(PERSON)
        and not any(wider in known for wider in _wider(reading))
        and not ((conditions := now.conditions(reading.reader)) and before.visited(conditions, reading.kind, reading.id))
    }


def _of_people(now: SeenMoment, before: SeenMoment) -> set[SeenReading]:
    """What people may do more than before whom one of the moments names: at the other, they may do what their role does."""
    named = [reading for moment in (now, before) for reading in moment.readings if reading.reader.startswith(PERSON)]
    return {
        ReadObject(_at_level(leveled(reading.reader)[0], rank), reading.kind, reading.id)
        for reading in named
        if (rank := _rank(now, reading)) > _rank(before, reading)
    }


def _rank(moment: SeenMoment, reading: SeenReading) -> int:
    """What a person may do at a moment, as an index of levels; -1 for nothing."""
    return moment.rank(leveled(reading.reader)[0].removeprefix(PERSON), reading.kind, reading.id)


def _at_level(name: str, level: int) -> str:
    return f"{name} ({LEVELS[level]})" if level else name


def _wider(reading: SeenReading) -> Iterator[tuple[str, str, str]]:
    """The same reader of the same object, with each higher level."""
    who, level = leveled(reading.reader)
    for higher in LEVELS[level + 1 :]:
        yield (_at_level(who, LEVELS.index(higher)), reading.kind, reading.id)


def leveled(reader: str) -> tuple[str, int]:
    """A reader and what they may do, as an index of levels: `member (edit)`; -1 for a guest. Other brackets are a part of the name."""
    name, _, level = reader.rpartition(" (")
    level = level.removesuffix(")")
    return (name, ROLES.index(level) - 1) if name and level in ROLES else (reader, 0)


def _of_all_roles(row: Merged) -> Merged:
    """The same of all members instead of those with one role."""
    reader, before = (f"{MEMBERS}{who.removeprefix(name)}" if (name := leveled(who)[0]) in BY_ROLE else who for who in row[:2])
    return reader, before, *row[2:]


def reader_in_words(reader: str, names: Mapping[str, str]) -> str:
    """`whoever has the share link "Resellers"`. `names`: of share links, members and identity providers, by reader."""
    who, level = reader, ""
    if reader.startswith((MEMBERS, "member:", "person:", "role:", "joins:")) and reader.endswith(")"):
        who, _, level = reader.rpartition(" (")
    sort, _, rest = who.partition(":")
    name = names.get(who) or rest
    match sort:
        case "link":
            text = f'{LINK_HOLDERS} "{name}"'
        case "visitor" if rest.startswith("!(") and rest.endswith(")"):
            text = f"{VISITORS} for whom {rest[2:-1]} does not hold"
        case "visitor" if rest:
            text = f"{VISITORS} for whom {rest} holds"
        case "joins" if rest == "invite-link":
            text = "whoever has the invite link"
        case "joins" if rest.startswith("saml:"):
            text = f'whoever signs in with "{name.removeprefix("saml:")}"'
        case "joins":
            text = f"whoever has an email address at {rest}"
        case "member" | "person":
            text = name
        case "role" if level == f"{rest})":
            return WHO[who]
        case _:
            text = WHO.get(who, who)
    return f"{text} ({level}" if level else text
