"""What all tests share: a PostgreSQL server, that every request of the tool is one that the service takes, and that the random ones try the
same cases every time, unless they are told to wander.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import request_bodies

# How long an example takes says nothing of the program: on a machine that stands still for a moment, any takes long.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("wandering", settings.get_profile("steady"), derandomize=False, print_blob=True)
settings.load_profile("wandering" if os.environ.get("RECONCILER_TEST_RANDOM") else "steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _every_body_is_watched() -> Iterator[None]:
    """What the tool sends is held against the service's document; see `request_bodies`."""
    with request_bodies.watching():
        yield


@pytest.fixture(autouse=True)
def _no_body_was_wrong() -> Iterator[None]:
    """No test ends well in which the tool sent what the service would refuse, whatever became of it."""
    request_bodies.WRONG.clear()
    yield
    wrong = [*request_bodies.WRONG]
    request_bodies.WRONG.clear()
    assert wrong == []


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a server of this session's own; skips, with the reason, where there is none to start."""
    from tests.state import server

    programs = server.binaries()
    if programs is None:
        server.missing()
    else:
        with server.running(programs) as url:
            yield url
