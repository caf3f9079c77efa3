"""Work of people that a plan ends or interrupts: what is under way in an object that is deleted, replaced, transferred, moved or locked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from reconciler.address import Address
from reconciler.model.features import FeatureKey
from reconciler.model.findings import Source
from reconciler.model.state import Consent


class WorkEffect(StrEnum):
    """What happens to the object, the worst first; the value is the word users see."""

    DELETE = "delete"
    REPLACE = "replace"
    TRANSFER = "transfer"
    MOVE = "move"
    LOCK = "lock"


@dataclass(frozen=True)
class WorkItem:
    """One change request, comment, link, …, as the service names it; "" for what it does not say."""

    id: str
    title: str = ""
    author: str = ""
    since: datetime | None = None


@dataclass(frozen=True)
class WorkSort:
    """Work of one sort.

    `noun`: what one is. `number`: None where it is not known. `items`: some of it. `unread`: why there are no more items, or no number.
    `more`: the number may be higher.
    """

    noun: str
    number: int | None
    items: tuple[WorkItem, ...] = ()
    unread: str = ""
    more: bool = False

    @property
    def text(self) -> str:
        """`2 open comments`."""
        if self.number is None:
            return f"an unknown number of {plural(self.noun)}"
        return f"{'at least ' if self.more else ''}{self.number:,} {self.noun if self.number == 1 else plural(self.noun)}"


def plural(noun: str) -> str:
    """`links from another space` of `link from another space`."""
    first, preposition, rest = noun.partition(" from ")
    return f"{first}s{preposition}{rest}"


@dataclass(frozen=True)
class OpenWork:
    """What is under way in one object.

    `within`: the addresses of what contains the object and has the same effect on it. `blocks`: by the rules of the project, the plan
    requires consent for it. `asked`: that consent is missing; False also where somebody gave it for the run that this one continues.
    """

    address: Address
    kind: str
    effect: WorkEffect
    sorts: tuple[WorkSort, ...]
    within: tuple[Address, ...] = ()
    source: Source | None = None
    blocks: bool = False
    asked: bool = False
    consents: tuple[Consent, ...] = ()

    @property
    def names(self) -> tuple[Address, ...]:
        """The addresses by which it can be allowed."""
        return (self.address, *self.within)

    @property
    def id(self) -> str:
        """Of the cause."""
        return "RC-open-work"


@dataclass(frozen=True)
class PlannedWork:
    """What people are working on in what a plan changes, the worst first. `ages_at`: the time to which ages refer, None where there is
    none; it makes no other plan."""

    works: tuple[OpenWork, ...] = ()
    ages_at: datetime | None = field(default=None, compare=False)


OPEN_WORK: Final = FeatureKey("open work", PlannedWork())
"""The key of the work that a plan ends or interrupts."""
