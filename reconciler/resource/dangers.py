"""How a kind declares the risks of a change: what it opens, which published URLs it breaks, which permission it requires; and where an
object shows that the service is still processing it. Frozen data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

AddressPart = Literal["", "segment", "whole"]


class Exposes(NamedTuple):
    """Which changes of a field give more access or remove a protection; all values in the request's form.

    `says`: the consequence, as the end of a sentence. `order`: the values from closed to open; a value that is not listed, or unknown,
    counts as closed. `when`: instead of `order`, whether a change from one value to another gives more access; pure. `added`: the value is
    a list, and every item added to it gives more access. For a field that the kind's `audience` reads, the audiences before and after the
    plan decide instead.
    """

    says: str
    order: tuple[Any, ...] = ()
    when: Callable[[Any, Any], bool] | None = None
    added: bool = False

    def opened(self, before: Any, after: Any) -> bool:
        """Whether a change gives more access."""
        if self.added:
            return any(value not in (before or ()) for value in after or ())
        if self.when is not None:
            return self.when(before, after)
        return self._rank(after) > self._rank(before)

    def may_open(self, after: Any) -> bool:
        """Whether a change to this value may give more access, whatever the value was before."""
        return self.added or self.when is not None or after in (self.order[1:] or self.order)

    def _rank(self, value: Any) -> int:
        return self.order.index(value) + 1 if value in self.order else 0


class PublishedField(NamedTuple):
    """The field that contains an object's published URL: a dotted path.

    `unless`: (field, value): with that value, the object and everything in it is not published. `secret`: the URL is never shown.
    """

    at: str
    unless: tuple[str, Any] | None = None
    secret: bool = False


class Permission(NamedTuple):
    """The flag among an object's `permissions` that a request requires. `of`: the kind of the container that has it; None: the object."""

    flag: str
    of: str | None = None


class ProcessingField(NamedTuple):
    """Where an object shows whether the service has finished processing it; all are dotted paths of the answer.

    `state`: with one of the values `done`, processing has finished. `error`: has a value only if processing failed. `changed_at`: when the
    object last changed; a copy (`output(copies=…)`) has its own time there.
    """

    state: str
    done: tuple[str, ...]
    changed_at: str
    error: str = ""


class Needed(NamedTuple):
    """An object of this kind is in use while a field of its fixed container has this value; the last one is always in use.

    The field gets the value only where there is an object of this kind. `of`: kinds in the same container with a field of the same name,
    of which that is true as well.
    """

    field: str
    value: Any
    of: tuple[str, ...] = ()
