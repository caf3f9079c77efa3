"""The interface to the comments of one pull request on a forge, and its errors."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from reconciler.errors import ReconcilerError
from reconciler.features.forges.comment.part import Dialect, Run
from reconciler.features.forges.comment.upkeep import OurComment

T = TypeVar("T")
P = ParamSpec("P")


class ForgeError(ReconcilerError):
    """The forge cannot be reached, or refuses the request."""


class NotAllowed(ForgeError):
    """The token is not allowed to do this; nothing was done."""


class TryAgain(ForgeError):
    """A write was not carried out, or that is unknown: read again, then decide."""


@dataclass(frozen=True)
class Busy:
    """Another job's turn. `seconds`: its age."""

    id: int
    seconds: float


class Turns(Protocol):
    """A forge on which one job at a time can write: it has an object that only one can have."""

    def take(self) -> int | Busy | None:
        """Take a turn: the id of its reaction or emoji; None if the token may not."""

    def free(self, id: int) -> None:
        """End a turn."""


class Forge(Protocol):
    """The comments of one pull request that the owner of the token wrote; other comments are ignored."""

    name: str
    dialect: Dialect

    @property
    def hide(self) -> Callable[[int, bool], None] | None:
        """Minimise the comment with this id, or show it again; None if the forge cannot."""

    @property
    def turns(self) -> Turns | None:
        """The interface for turns; None if the forge has none."""

    def comments(self) -> Sequence[OurComment]:
        """All of our comments."""

    def has_run(self, run: Run) -> bool | None:
        """Whether a run of this job, for this pull request, has this number and attempt; None if the token may not know."""

    def create(self, body: str) -> int:
        """A new comment; its id."""

    def update(self, id: int, body: str) -> None:
        """Replace the text of a comment."""

    def delete(self, id: int) -> None:
        """Delete a comment; succeeds if it does not exist."""


def understood(method: Callable[P, T]) -> Callable[P, T]:
    """Wrap a method that reads an answer: an answer without the expected data becomes an error of the forge."""

    @wraps(method)
    def reading(*given: P.args, **named: P.kwargs) -> T:
        try:
            return method(*given, **named)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ForgeError(f"the forge answered with something unexpected: {type(error).__name__}", id="RC-forge-response") from error

    return reading


class BlockingClock:
    """Time and random numbers of the machine; tests pass a clock of their own."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)
    sleep = staticmethod(time.sleep)
    chance = staticmethod(random.random)  # spreads requests, protects nothing
