"""A plugin of pytest that records which tests call which functions of the program: `-p tests.mutations.calls`.

Each process writes one file into the folder of RECONCILER_RECORD_CALLS: for each test that passed, its seconds and its functions.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from tests.proofs import left_to_ci

PACKAGE: Final = os.sep + "reconciler" + os.sep
CALLED: dict[int, CodeType] = {}
TESTS: dict[str, tuple[float, list[int]]] = {}
NUMBERS: dict[str, int] = {}
PASSED: dict[str, float] = {}


def _called(frame: FrameType, event: str, _: Any) -> None:
    if event == "call":
        CALLED[id(frame.f_code)] = frame.f_code


def _functions() -> list[int]:
    """The number of each function, which is known by its module and its first line."""
    places = {(code.co_filename, code.co_firstlineno) for code in CALLED.values() if PACKAGE in code.co_filename}
    names = (f"{Path(file).as_posix().rpartition('/reconciler/')[2]}:{line}" for file, line in places)
    return [NUMBERS.setdefault(name, len(NUMBERS)) for name in names]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Recorded is what a run of everything tries, which is enough to know which tests are near."""
    left = left_to_ci(items)
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    CALLED.clear()
    threading.setprofile(_called)
    sys.setprofile(_called)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        if item.nodeid in PASSED:
            TESTS[item.nodeid] = (PASSED[item.nodeid], _functions())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        PASSED[report.nodeid] = round(report.duration, 3)
    elif not report.passed:
        PASSED.pop(report.nodeid, None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if TESTS:
        file = Path(os.environ["RECONCILER_RECORD_CALLS"]) / f"{os.getpid()}.json"
        file.write_text(json.dumps([[*NUMBERS], TESTS]), encoding="utf-8")
