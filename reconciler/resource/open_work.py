"""How a kind declares the work of people in its objects that a change of them ends or interrupts. Frozen data.

    counted     an object's answer counts it, a list of the object names it        drafts and comments of a space
    processing  another object is still processed, and refers to this one          `Kind.work`: a translation that runs
    attached    a list of another kind's objects shows where they are attached     an installation for chosen spaces
    links       the lists of objects beside this one show which refer to it        links from the pages of other spaces

`features/work/plan.py` says which objects lose what, `features/work/read.py` reads it. All paths of values are dotted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class CountedWork(NamedTuple):
    """Work that an object counts.

    `noun`: what one is. `number`: how much of it there is, in an object. `path`, `query`: the list that names it. `title`, `author`,
    `since`: in an item of the list. `counts`: a value in an item, and with which
    values of it the item is among those that are counted; None: all are.
    """

    noun: str
    number: str
    path: str
    title: str
    author: str
    since: str
    query: Mapping[str, str] = {}
    counts: tuple[str, tuple[str, ...]] | None = None


class LinkList(NamedTuple):
    """The links in the pages of an object.

    `path`: their list. `to`: in an item, the object that it leads to, or its id. `title`: in an item, what contains the link. `broken`: the
    parameter, with its value, that lists only those that lead nowhere; `broken_number`: in the list, how many these are.
    """

    noun: str
    path: str
    to: str
    title: str
    broken: tuple[str, str]
    broken_number: str


class AttachedList(NamedTuple):
    """Where an object is attached.

    `kind`: to which objects. `path`: the list of them. `of`: in an item, the object, or its id; `settings`: in an item, the values that are
    lost with it. `all`: in the object itself, the field that says whether it is attached to all of them, and the value that says so.
    `title`: in the item.
    """

    kind: str
    noun: str
    path: str
    of: str
    settings: str
    title: str
    all: tuple[str, str]


def at(raw: Any, path: str) -> Any:
    """The value of an answer at a dotted path, in which a number is a position in a list; None where there is none."""
    for key in path.split("."):
        if isinstance(raw, Sequence) and not isinstance(raw, str) and key.isdigit() and int(key) < len(raw):
            raw = raw[int(key)]
        else:
            raw = raw.get(key) if isinstance(raw, Mapping) else None
    return raw


def number_of(raw: Mapping[str, Any], word: CountedWork) -> int | None:
    """How much of a sort of work an object counts; None where it does not say."""
    value = at(raw, word.number)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def more_work(counted: Iterable[CountedWork], before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What an object counts more of than before, as a sentence; "" for nothing."""
    numbers = ((word.noun, number_of(before, word), number_of(now, word)) for word in counted)
    more = [f"{noun}s were {then} and are now {new}" for noun, then, new in numbers if then is not None and new is not None and new > then]
    return "; ".join(more)
