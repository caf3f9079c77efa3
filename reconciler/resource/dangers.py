"""The words that say what a change endangers: what it opens, which published URLs it breaks, which permission it requires; and where an
object shows that the service has not finished with it. Frozen data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

AddressPart = Literal["", "segment", "whole"]


class Exposes(NamedTuple):
    """Which changes of a field open something or take a protection away; all values in the request's form.

    `says`: what is then so, as the end of a sentence. `order`: the values from closed to open; one that is not listed, or not known,
    counts as closed. `when`: instead of `order`, whether a change from one value to another opens something; pure. `added`: the value is
    a list, and whatever is added to it opens something. Of a field that the kind's `audience` looks at, the audiences before and after the
    plan decide instead.
    """

    says: str
    order: tuple[Any, ...] = ()
    when: Callable[[Any, Any], bool] | None = None
    added: bool = False

    def opened(self, before: Any, after: Any) -> bool:
        """Whether a change opens something."""
        if self.added:
            return any(value not in (before or ()) for value in after or ())
        if self.when is not None:
            return self.when(before, after)
        return self._rank(after) > self._rank(before)

    def may_open(self, after: Any) -> bool:
        """Whether a change to this value may open something, whatever the value was."""
        return self.added or self.when is not None or after in (self.order[1:] or self.order)

    def _rank(self, value: Any) -> int:
        return self.order.index(value) + 1 if value in self.order else 0


class PublishedField(NamedTuple):
    """Where an object says at which published URL it is read: a dotted path.

    `unless`: (field, value): with that value nobody reads it there, nor what stands within it. `secret`: the address is never shown.
    """

    at: str
    unless: tuple[str, Any] | None = None
    secret: bool = False


class Permission(NamedTuple):
    """The flag among an object's `permissions` that a request wants. `of`: the kind of the container that has it; None for the object."""

    flag: str
    of: str | None = None


class ProcessingField(NamedTuple):
    """Where an object shows how far the service is with what it makes of it; all are dotted paths of the answer.

    `state`: with one of the values `done`, it has finished. `error`: shows something only where it could not. `changed_at`: when the object
    changed last; what it copies (`output(copies=…)`) shows its own time there.
    """

    state: str
    done: tuple[str, ...]
    changed_at: str
    error: str = ""


class Needed(NamedTuple):
    """An object of this kind is in use while a field of its fixed container has that value; the last one is always in use."""

    field: str
    value: Any
