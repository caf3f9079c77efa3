"""What all tests share: a PostgreSQL server, that every request of the tool is one that the service takes, and that the random ones try the
same cases every time, unless they are told to wander.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests import request_bodies
from tests.proofs import LEFT_OUT, LEFT_TO_CI, LONG, left_to_ci, long, proof, push_only, tries

if TYPE_CHECKING:
    from tests.command_line import Cli
    from tests.harness import Org
    from tests.state import s3

PROOF_SECONDS = 3600
ON_A_PUSH = f"not {proof.name}"
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes that must be free in memory for temporary files to be kept there


def _free(place: Path) -> int:
    """Bytes that can be written below a folder of memory without the machine running out of it."""
    if not os.access(place, os.W_OK):
        return 0
    there = os.statvfs(place)
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    available = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
    return min(there.f_bavail * there.f_frsize, available)


if "TMPDIR" not in os.environ and _free(MEMORY) >= ROOM:  # each commit waits for the disk otherwise, in most tests longer than they compute
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None


# How long an example takes says nothing of the program: on a machine that stands still for a moment, any takes long.
def _profile(examples: int) -> None:
    """How many examples a random test tries that does not say it itself."""
    steady = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples)
    settings.register_profile("steady", steady)
    settings.register_profile("wandering", steady, derandomize=False, print_blob=True)
    settings.load_profile("wandering" if os.environ.get("RECONCILER_TEST_RANDOM") else "steady")


if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # or each process that a test starts would compile the package anew
    sys.dont_write_bytecode = False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--push", action="store_true", help="also what a run without paths leaves to CI; see PUSH in tests/proofs.py")


def pytest_configure(config: pytest.Config) -> None:
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    chosen = config.option.push or not everything or config.option.markexpr.strip() != ON_A_PUSH
    config.option.push = getattr(config, "workerinput", {"push": chosen})["push"]
    if getattr(config.option, "dist", "no") == "load":  # a file's tests share what they prepare: most files are run by one worker
        config.option.dist = "worksteal"
    if config.option.markexpr.strip() == "proof":
        os.environ[LONG] = "1"  # before the tests are collected, which read it
    _profile(tries(100, 20))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker reads the words of the command line again, and is told the rest."""
    node.workerinput["push"] = node.config.option.push


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: the tests of processes and signals wait for most of their time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run of everything leaves to CI what `PUSH` names."""
    return (not config.option.push and collection_path in LEFT_TO_CI) or None


def pytest_sessionstart(session: pytest.Session) -> None:
    """What is run is said first, with how long it takes and what is left out."""
    terminal, config = session.config.pluginmanager.get_plugin("terminalreporter"), session.config
    if terminal is None or hasattr(config, "workerinput") or config.args_source is not pytest.Config.ArgsSource.TESTPATHS or long():
        return
    what = "a push: about 25 minutes" if config.option.push else "everyday work: 5 to 8 minutes"
    more = "" if config.option.push else f" --push adds {LEFT_OUT}, about 20 minutes; a path runs all that it names."
    terminal.write_line(f"The tests of {what} on two cores.{more}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of cases are made, and all stay: the collector of garbage would go over them again and again, now and in each test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    """A push does not collect what it would deselect: there are as many proofs as other cases."""
    return [] if (collector.config.option.markexpr.strip() == ON_A_PUSH) and name.startswith("test") and not push_only(obj) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """A run of everything leaves most of what is costly to CI. What tries only a sample on a push is a proof too, without its usual limit
    of time."""
    if not config.option.push:
        left = left_to_ci(items)
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
    if not long():
        return
    for item in items:
        if item.get_closest_marker("sampled") or getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("proof")
        if item.get_closest_marker("proof") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(PROOF_SECONDS))


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_written_to_the_own_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the program keeps for its user is in a folder of the tests."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))


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


@pytest.fixture(scope="session")
def s3_proxy() -> Iterator[s3.Proxy]:
    """A proxy before an S3 server of this session's own; skips, with the reason, where there is none to start."""
    from tests.state import s3

    s3.missing()
    with s3.running() as proxy:
        yield proxy


@pytest.fixture(scope="session")
def azure_proxy() -> Iterator[s3.Proxy]:
    """The same before an emulator of Azure Blob Storage."""
    from tests.state import azure

    azure.missing()
    with azure.running() as proxy:
        yield proxy


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder of its own."""
    from tests.command_line import Cli

    return Cli(tmp_path)


@pytest.fixture
def org(tmp_path: Path) -> Org:
    """A fresh project, sandbox and state."""
    from tests.harness import Org

    return Org(tmp_path)


@pytest.fixture
def acme(org: Org) -> Org:
    """A sandbox to which the small organization was applied."""
    from tests.small import applied, small

    applied(org, small())
    return org
