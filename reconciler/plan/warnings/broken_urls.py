"""The published URLs that stop working because of the drafts and removals. Pure.

A new URL is given only where it follows from the current one: a segment of it changes, and maybe one of what contains it. URLs of objects
that nobody can read yet do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from reconciler.address import Address
from reconciler.model import Actual, BrokenUrl, Observed
from reconciler.plan.decisions import Draft, Removal
from reconciler.resource import UNSET, Kind, Kinds

ANEW = "it is recreated; the service chooses the URL"


def broken_urls(kinds: Kinds, actual: Actual, drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]) -> Iterator[BrokenUrl]:
    """One for each object whose published URL breaks; the URLs below it break with it and are not reported again."""
    renamed = dict(_renamed(drafts))
    for draft in drafts.values():
        if draft.active and draft.old is not None:
            yield from _gone(kinds, actual, draft.address, draft.kind, draft.old, ANEW)
        elif draft.active and draft.differences and draft.observed is not None:
            yield from _changed(kinds, actual, draft, draft.observed, renamed)
    for removal in removals.values():
        if removal.deletes and removal.observed is not None and not (removal.deleted_with or removal.replaces):
            yield from _gone(kinds, actual, removal.address, removal.kind, removal.observed, "it is deleted")


def _gone(kinds: Kinds, actual: Actual, address: Address, kind: Kind, now: Observed, reason: str) -> Iterator[BrokenUrl]:
    url = kind.url(now.raw)
    if url is not None and is_read(kinds, actual, kind, now):
        yield BrokenUrl(address, kind.name, _open(kind, url), None, reason)


def _open(kind: Kind, url: str) -> str | None:
    return None if kind.published is not None and kind.published.secret else url


def is_read(kinds: Kinds, actual: Actual, kind: Kind, now: Observed) -> bool:
    """Whether people read the object at its published URL: neither it nor a container is set otherwise."""
    if kind.published is not None and kind.published.unless is not None:
        field, value = kind.published.unless
        if now.values.get(field) == value:
            return False
    for name, id in now.within.items():
        outer = actual.find(name, id)
        if outer is not None and kinds[name].published is not None and not is_read(kinds, actual, kinds[name], outer):
            return False
    return True


Renamed = Mapping[str, tuple[Any, Any]]
"""By URL, the former and the new value of the segment that the run changes."""


def _renamed(drafts: Mapping[Address, Draft]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for draft in drafts.values():
        url = draft.kind.url(draft.observed.raw) if draft.active and draft.differences and draft.observed is not None else None
        if url is not None:
            for difference in draft.sendable:
                if difference.field.address == "segment" and url is not None:
                    yield url, (difference.before, difference.after)


def _outer(url: str, renamed: Renamed) -> str:
    """The longest URL above this one whose segment changes; "" if there is none."""
    parts = url.split("/")
    return next((outer for end in range(len(parts) - 1, 0, -1) if (outer := "/".join(parts[:end])) in renamed), "")


def _with_outer(url: str, segment: tuple[Any, Any] | None, renamed: Renamed) -> str | None:
    """The URL after the run: with its own segment replaced, and those of what contains it; None if one of them is not in the URL."""
    outer = _outer(url, renamed)
    tail: str | None = url[len(outer) :]
    if segment is not None:
        tail = _with(tail, *segment)
    head = _with_outer(outer, renamed[outer], renamed) if outer else ""
    return head + tail if head is not None and tail is not None else None


def _changed(kinds: Kinds, actual: Actual, draft: Draft, now: Observed, renamed: Renamed) -> Iterator[BrokenUrl]:
    kind = draft.kind
    url = kind.url(now.raw)
    read = url is not None and is_read(kinds, actual, kind, now)
    after, reasons = url, []
    for difference in draft.sendable:
        source = draft.declared.positions.get(difference.field.name, draft.declared.source)
        if difference.field.address == "whole" and difference.before not in (None, UNSET):
            then = difference.after if isinstance(difference.after, str) else None
            yield BrokenUrl(draft.address, kind.name, str(difference.before), then, f"{difference.field.name} changes", source)
        elif difference.field.address == "segment" and read:
            after = _with_outer(url, (difference.before, difference.after), renamed) if after is not None and url is not None else None
            reasons.append(f"{difference.field.name} changes")
        elif read and difference.before in difference.field.opens and difference.after not in difference.field.opens:
            after = None
            before, then = (
                str(value).lower() if isinstance(value, bool) else str(value)
                for value in map(difference.field.shown, (difference.before, difference.after))
            )
            reasons.append(f"{difference.field.name} {before} -> {then}")
    if reasons and url is not None:
        yield BrokenUrl(draft.address, kind.name, _open(kind, url), after, " and ".join(reasons), draft.declared.source)


def _with(url: str | None, old: Any, new: Any) -> str | None:
    """The URL with its last segment of that name replaced; None where it has none."""
    parts = url.split("/") if url is not None else []
    if not isinstance(old, str) or not isinstance(new, str) or quote(old) not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index(quote(old))
    return "/".join([*parts[:at], quote(new), *parts[at + 1 :]])
