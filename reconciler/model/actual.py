"""What the service last reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Observed:
    """One object as the service showed it.

    `values`: the request form by field name, UNSET where the service showed no value. `flags`: the booleans that a parent's choice sets.
    `within`: the ids of its fixed containers by kind. `rank`: its position in an ordered listing, None where none showed it; comparable
    only between siblings. `deleted_at`: set while it can still be restored. `raw`: what is kept of the object itself
    (`resource.registry`). `unreadable`: the fields with a text of which a part is lost; the object is unknown then.
    """

    kind: str
    id: str
    values: Mapping[str, Any]
    within: Mapping[str, str]
    raw: Mapping[str, Any]
    flags: Mapping[str, bool] = field(default_factory=dict)
    rank: int | None = None
    deleted_at: datetime | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Its kind and id."""
        return self.kind, self.id


@dataclass(frozen=True)
class Unknown:
    """A reading that failed: no object of this kind, below this object (id; None for everything), is known to be absent.

    `id`: set where it was the reading of one object; only that object is unknown then. `path`: what was asked for, without /v1, where the
    service did not answer it; "" where an answer was of no use.
    """

    kind: str
    scope: str | None
    reason: str
    id: str | None = None
    path: str = field(default="", compare=False)

    @property
    def what(self) -> str:
        """What is unknown, in words."""
        if self.id is not None:
            return f"{self.kind} {self.id}"
        return f"every {self.kind}" + (f" in {self.scope}" if self.scope is not None else "")


@dataclass(frozen=True)
class Actual:
    """What the service last reported.

    `complete`: the (kind, id of container or `each` object) whose listing ended, so that absence there is proven. `absent`: (kind, id)
    proven by id not to exist. `elsewhere`: (kind, id) of objects that were shown to belong to another container, with its id; never among
    the objects. `date`: the service's clock at the newest reading; None where it sends none. `read_at`: when reading began, in seconds of
    the client's monotonic clock; None where it is not known. `within_reach`: the ids of all roots of a kind that the token reaches, where
    they were read because none of the declared roots exists. `personal`: what a person, by (kind, id), was asked about and may do: by kind
    and id of what they reach, their level there; a kind that is missing was not read. `personal_failures`: why, where it could not be.
    `guarded`: of the objects (kind, id) whose pages were asked about, those of which some have conditions of their own, or may have.
    """

    objects: Mapping[str, Mapping[str, Observed]] = field(default_factory=dict)
    complete: frozenset[tuple[str, str]] = frozenset()
    absent: frozenset[tuple[str, str]] = frozenset()
    unknown: tuple[Unknown, ...] = ()
    date: datetime | None = None
    read_at: float | None = None
    elsewhere: Mapping[tuple[str, str], str] = field(default_factory=dict)
    within_reach: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    personal: Mapping[tuple[str, str], Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    personal_failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    guarded: Mapping[tuple[str, str], bool] = field(default_factory=dict)

    def find(self, kind: str, id: str) -> Observed | None:
        """The object, or None where it was not seen."""
        return self.objects.get(kind, {}).get(id)


@dataclass(frozen=True)
class Allowance:
    """The rate limit as the service last reported it: `remaining` of `limit` requests until it is reset in `resets_in` seconds.

    `window`: seconds from one reset to the next, at least; 0 where nothing is known of it.
    """

    limit: int
    remaining: int
    resets_in: float
    window: float = 0.0


@dataclass(frozen=True)
class ServiceSpeed:
    """How fast a service answers: the seconds of an answer on the average, and of the fastest one, which no other request delayed.

    `concurrency`: requests under way at the same time, at most. `rate`: requests a second, at most; None without such a limit.
    """

    answer: float
    fastest: float
    concurrency: int
    rate: float | None = None
