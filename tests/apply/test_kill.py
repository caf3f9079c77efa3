"""The process dies before or after any request of an apply; then apply again: converged, nothing twice, nothing lost."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from tests import processes
from tests.harness import ORGANIZATION, Org
from tests.proofs import proof, sampled, spread, stride
from tests.small import small
from tests.transports import Onward, Way


class Killed(BaseException):
    """The process is gone."""


def killing(nth: int, when: str) -> Way:
    """Dies before or after the nth write is carried out; what is under way beside it dies too."""
    writes, dead = 0, False

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        nonlocal writes, dead
        writes += request.method != "GET"
        mine = writes if request.method != "GET" else None
        dead = dead or (mine == nth and when == "before")
        if dead:
            raise Killed
        answer = await onward(request)
        dead = dead or mine == nth
        if dead and mine is not None:
            raise Killed
        return answer

    return way


def die_and_try_again(org: Org, nth: int, when: str) -> None:
    """The next apply dies at the nth write; the one after it finishes the work."""
    org.way = killing(nth, when)
    with pytest.raises(Killed):
        org.apply()
    org.way = None
    outcome = org.apply()
    assert [result.error for result in outcome.results if result.error] == []
    assert outcome.leftover == ()
    assert org.plan().empty


def counted(org: Org) -> Counter[str]:
    """Every object by kind and title, as somebody else's client sees it."""
    found: Counter[str] = Counter()
    base = f"/orgs/{ORGANIZATION}"
    for path in ("collections", "teams", "sites", "saml", "openapi"):
        found.update(f"{path} {one.get('title') or one.get('label') or one.get('slug')}" for one in org.items(f"{base}/{path}"))
    found.update(f"space {item['space']['title']}" for item in org.items(f"{base}/members/usr_ada/spaces"))
    for site in org.items(f"{base}/sites"):
        for path in ("sections", "section-groups", "share-links", "site-spaces"):
            parts = org.items(f"{base}/sites/{site['id']}/{path}")
            found.update(f"{site['title']} {path} {part.get('name') or part.get('title')}" for part in parts)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Counter[str]]:
    """How many requests a calm first apply writes, and what is there after it."""
    org = Org(tmp_path_factory.mktemp("calm"))
    org.write(small())
    return len(org.apply().results), counted(org)


@sampled
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_request_of_the_first_apply(tmp_path: Path, whole: tuple[int, Counter[str]], when: str) -> None:
    writes, expected = whole
    for nth in range(1 if when == "before" else 4, writes + 1, stride(26)):
        org = Org(tmp_path / f"{when}{nth}")
        org.write(small())
        die_and_try_again(org, nth, when)
        assert counted(org) == expected, f"killed {when} write {nth}"


@pytest.mark.parametrize("when", [pytest.param("before", marks=proof), "after"])
def test_killed_again_and_again_at_every_seventh_request(tmp_path: Path, whole: tuple[int, Counter[str]], when: str) -> None:
    _, expected = whole
    org = Org(tmp_path)
    org.write(small())
    for _ in range(60):
        org.way = killing(7, when)
        try:
            org.apply()
        except Killed:
            continue
        break
    org.way = None
    org.apply()
    assert org.plan().empty
    assert counted(org) == expected


SCRIPT = """
import os, signal, sys
import httpx2
from reconciler.client import service
nth, when = int(sys.argv[1]), sys.argv[2]
real = service.Writer.send
count = 0
async def send(self, *given, **named):
    global count
    count += 1
    mine = count
    if mine == nth and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    answer = await real(self, *given, **named)
    if mine == nth and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
service.Writer.send = send
from reconciler.assembled import main
sys.argv = ["reconciler", *sys.argv[3:]]
main()
"""


@pytest.mark.parametrize(
    ("nth", "when"), spread([(1, "before"), (3, "after"), (9, "after"), (17, "before"), (30, "after"), (41, "before")], 1)
)
def test_a_real_process_that_is_really_killed(tmp_path: Path, nth: int, when: str, whole: tuple[int, Counter[str]]) -> None:
    org = Org(tmp_path)
    org.write(small())
    run = [str(org.project), "--sandbox", str(org.db), "--yes"]
    consent = ["--allow-exposure", "acme/saml/okta"]
    killed = processes.run([sys.executable, "-c", SCRIPT, str(nth), when, "apply", *run, *consent], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    env = {**os.environ, "NO_COLOR": "1"}
    again = processes.run([sys.executable, "-m", "reconciler", "apply", *run, *consent], capture_output=True, text=True, env=env)
    assert again.returncode == 0, again.stdout + again.stderr
    empty = processes.run(
        [sys.executable, "-m", "reconciler", "plan", *run[:-1], "--detailed-exitcode"], capture_output=True, text=True, env=env
    )
    assert empty.returncode == 0, empty.stdout
    _, expected = whole
    assert counted(org) == expected
