"""What a piece of work may take: a limit that a machine which stands still for a moment does not break, nor the tests that ran before."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from reconciler.address import Address

ATTEMPTS = 3

T = TypeVar("T")


def timed(work: Callable[[], T], clock: Callable[[], float] = time.process_time) -> tuple[float, T]:
    """What `work` takes, by default in seconds of CPU, and what it returns.

    The garbage of whatever ran before in this process is not the work's: it is not looked through meanwhile.
    """
    gc.freeze()
    try:
        begin = clock()
        result = work()
        return clock() - begin, result
    finally:
        gc.unfreeze()


def within(seconds: float, work: Callable[[], T], clock: Callable[[], float] = time.process_time) -> T:
    """What `work` returns; fails where each of three attempts takes longer than that."""
    spent: list[float] = []
    for _ in range(ATTEMPTS):
        took, result = timed(work, clock)
        if took <= seconds:
            return result
        spent.append(took)
    raise AssertionError(f"{seconds:.2f} s are allowed, and the attempts took {', '.join(f'{each:.2f}' for each in spent)} s")


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls, those of C included: the same on any machine, however busy it is."""
    return counted(work)[0]


def operations(work: Callable[[], object]) -> int:
    """How many functions `work` calls, and how many addresses it compares: looking one up in a list compares it with each before it."""
    Address.__eq__ = lambda self, other: self is other  # type: ignore[method-assign]
    try:
        return calls(work)
    finally:
        del Address.__eq__


def counted(work: Callable[[], object]) -> tuple[int, float]:
    """How many functions `work` calls, and the seconds of CPU that it takes while they are counted."""
    number = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    def watched() -> None:
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(None)

    seconds, _ = timed(watched)
    return number, seconds
