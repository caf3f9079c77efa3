"""A plugin of pytest that tries changes: for each, a fork of this process runs the tests that call the changed function,
then the other tests of their files and of the room.

In: changes with the ids of their tests, which are collected once. Out: for each change, the test that failed. Nothing is written: the fork
gives the function the code that the change makes of it. A change of what runs only while modules are imported is not noticed so.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

import pytest
from _pytest.runner import runtestprotocol

from tests.mutations.changes import Change, room_of

TESTS: Final = Path(__file__).parents[1]
PACKAGE: Final = TESTS.parent / "reconciler"
CPU_SECONDS: Final = 25
"""Tests that were not begun then are not tried."""
SECONDS: Final = 300
"""A fork that needs longer does not end because of the change."""
ENDLESS: Final = "it does not end"
PASSED: Final = "every test passed"
UNTRIED: Final = "not tried"

Trial = tuple[Change, Sequence[str]]


@dataclass
class Trials:
    """`ended`: called with each change, and the test that failed or None. `unfit`: tests that fail without any change."""

    chosen: Sequence[Trial]
    ended: Callable[[Change, str | None], None]
    unfit: set[str] = field(default_factory=set)
    fit: set[str] = field(default_factory=set)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for change, tests in self.chosen:
            called = [items[test] for test in dict.fromkeys(tests) if test in items]
            files = {item.path for item in called}
            near = TESTS / room_of(change.module)
            beside = [item for item in session.items if item.path in files or item.path.is_relative_to(near)]
            called += [item for item in beside if item not in called]
            self.ended(change, self._failing(change, called))
        return True

    def _failing(self, change: Change, items: list[pytest.Item]) -> str | None:
        while failed := _in_fork([item for item in items if item.nodeid not in self.unfit], change):
            if failed in (*self.fit, ENDLESS) or failed.startswith(UNTRIED):
                return failed
            without = _in_fork([item for item in items if item.nodeid == failed], None)
            (self.unfit if without else self.fit).add(failed)
        return None


def _in_fork(items: list[pytest.Item], change: Change | None) -> str:
    """The id of the first test that fails in a fork of this process; "" if none does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        try:
            if change is not None:
                _apply(change)
            os.write(writing, (_first_failure(items) or PASSED).encode())
        except BaseException as error:
            os.write(writing, f"{UNTRIED}: {error!r}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        answered, _, _ = select.select([reading], [], [], SECONDS)
        answer = os.read(reading, 10_000).decode() if answered else ENDLESS
    finally:
        os.close(reading)
        _end(child)
    return "" if answer == PASSED else answer or UNTRIED


def _end(child: int) -> None:
    """End the fork with all that its tests started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        time.sleep(0)
    os.waitpid(child, 0)


def _first_failure(items: list[pytest.Item]) -> str:
    for item, following in zip(items, [*items[1:], None], strict=True):
        if time.process_time() > CPU_SECONDS:
            break
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


def _apply(change: Change) -> None:
    """Give the changed function its new code, wherever it is used."""
    file = PACKAGE / change.module
    name = ".".join(("reconciler", *Path(change.module).with_suffix("").parts)).removesuffix(".__init__")
    importlib.import_module(name)
    old, new = (_code(compile(source, str(file), "exec"), change) for source in (file.read_bytes(), change.applied(file.read_bytes())))
    gc.unfreeze()
    functions = [found for found in gc.get_objects() if isinstance(found, FunctionType) and found.__code__ == old]
    if not functions:
        raise LookupError(f"no function of {name} has this code: {change}")
    for function in functions:
        function.__code__ = new


def _code(module: CodeType, change: Change) -> CodeType:
    return next(code for code in _codes(module) if (code.co_qualname, code.co_firstlineno) == (change.function, change.line))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
