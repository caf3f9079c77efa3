"""These tests speak to a fake service: what they send is theirs, not the tool's. Each that is a coroutine has an event loop of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from tests.request_bodies import foreign


@pytest.fixture(autouse=True)
def _bodies_of_a_fake() -> Iterator[None]:
    with foreign():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**given))
    return True
