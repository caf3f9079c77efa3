"""The limits that tests set hold: work that is too slow or too large fails, and a machine that stood still once does not."""

from __future__ import annotations

import sys
from itertools import count

import pytest

from tests.cage import Escaped, caged, fresh
from tests.effort import within
from tests.proofs import costly, proof

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are Linux's")
LONG = "for _ in iter(int, 1): pass"
LARGE = "len(bytearray(2**32))"  # more than any freed memory that could be used again


@costly
@linux
@pytest.mark.parametrize(("work", "told"), [(LONG, "more than 2 s of CPU"), (LARGE, "MemoryError")], ids=["too long", "too large"])
def test_nothing_leaves_the_cage(work: str, told: str) -> None:
    with pytest.raises(Escaped, match=told):
        caged(lambda: exec(work), attempts=1)


@linux
@pytest.mark.parametrize(
    ("work", "told"),
    [pytest.param(LONG, "more than 2 s of CPU", marks=proof), (LARGE, "MemoryError")], ids=["too long", "too large"],
)  # fmt: skip
def test_nothing_leaves_the_cage_of_a_fresh_process(work: str, told: str) -> None:
    with pytest.raises(Escaped, match=told):
        fresh(f"from tests.cage import confine\nconfine()\n{work}")


@linux
def test_what_keeps_within_the_limits_returns() -> None:
    assert caged(lambda: len(bytearray(200 * 2**20))) == 200 * 2**20
    assert fresh("from tests.cage import confine\nconfine()\nprint(len(bytearray(200 * 2**20)))") == f"{200 * 2**20}\n"


def test_what_is_slow_every_time_fails_and_what_is_slow_once_does_not() -> None:
    ticks = count()
    with pytest.raises(AssertionError, match=r"0.50 s are allowed, and the attempts took 1.00, 1.00, 1.00 s"):
        within(0.5, lambda: None, lambda: float(next(ticks)))
    moments = iter([0.0, 9.0, 9.0, 9.2])
    assert within(0.5, lambda: "done", lambda: next(moments)) == "done"
