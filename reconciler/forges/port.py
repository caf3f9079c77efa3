"""What a forge must be able to do with the comments of one pull request, and what can go wrong."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from reconciler.dataclass import dataclass
from reconciler.errors import ReconcilerError
from reconciler.report.comment.part import Dialect
from reconciler.report.comment.upkeep import OurComment

T = TypeVar("T")
P = ParamSpec("P")


class ForgeError(ReconcilerError):
    """The forge cannot be reached, or refuses."""


class NotAllowed(ForgeError):
    """The token must not do it; nothing was done."""


class TryAgain(ForgeError):
    """A write was not carried out, or nobody knows whether it was: read again, then decide."""


@dataclass(frozen=True)
class Taken:
    """This job's turn. `id`: of what it has."""

    id: int


@dataclass(frozen=True)
class Busy:
    """Another job's turn. `seconds`: since when."""

    id: int
    seconds: float


class Hider(Protocol):
    """What a forge needs to minimise comments."""

    def hide(self, id: int, *, hidden: bool) -> None:
        """Minimise a comment, or show it again."""


class Turns(Protocol):
    """What a forge needs so that one job at a time writes: something that only one can have."""

    def take(self) -> Taken | Busy | None:
        """Take a turn; None where the token must not."""

    def free(self, id: int) -> None:
        """End a turn."""


class Forge(Protocol):
    """The comments of one pull request that the owner of the token wrote; other comments are not seen."""

    name: str
    dialect: Dialect

    @property
    def hider(self) -> Hider | None:
        """What minimises its comments; None where nothing can."""

    @property
    def turns(self) -> Turns | None:
        """What gives turns; None where nothing can."""

    def comments(self) -> Sequence[OurComment]:
        """All of them."""

    def create(self, body: str) -> int:
        """A new comment; its id."""

    def update(self, id: int, body: str) -> None:
        """Replace the text of a comment."""

    def delete(self, id: int) -> None:
        """Delete a comment; one that does not exist is deleted."""


def understood(method: Callable[P, T]) -> Callable[P, T]:
    """A method that reads an answer; one without what belongs into it is an error of the forge."""

    @wraps(method)
    def reading(*given: P.args, **named: P.kwargs) -> T:
        try:
            return method(*given, **named)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ForgeError(f"the forge answered with something unexpected: {type(error).__name__}", id="RC-forge-response") from error

    return reading


class BlockingClock(Protocol):
    """Time and chance."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""

    def wall(self) -> float:
        """UTC epoch seconds."""

    def sleep(self, seconds: float) -> None:
        """Come back after `seconds`."""

    def chance(self) -> float:
        """A number in [0, 1)."""


class MachineClock:
    """Those of the machine."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic()

    def wall(self) -> float:
        """UTC epoch seconds."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Come back after `seconds`."""
        time.sleep(seconds)

    def chance(self) -> float:
        """A number in [0, 1)."""
        return random.random()  # noqa: S311  spreads requests, protects nothing
