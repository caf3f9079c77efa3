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


class Killed(BaseException):
    """The process is gone."""


class Killing(httpx2.AsyncBaseTransport):
    """Dies before or after the nth write is carried out; what is under way beside it dies too."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, nth: int, when: str) -> None:
        self.inner, self.nth, self.when, self.writes, self.dead = inner, nth, when, 0, False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.dead:
            raise Killed
        if request.method != "GET":
            self.writes += 1
            if self.writes == self.nth and self.when == "before":
                self.dead = True
                raise Killed
            mine = self.writes
            answer = await self.inner.handle_async_request(request)
            if self.dead or (mine == self.nth and self.when == "after"):
                self.dead = True
                raise Killed
            return answer
        return await self.inner.handle_async_request(request)


class Mortal(Org):
    """An organization whose next apply dies at the nth write."""

    nth = 0
    when = "before"

    def transport(self) -> httpx2.AsyncBaseTransport:
        inner = super().transport()
        return Killing(inner, self.nth, self.when) if self.nth else inner

    def die_and_try_again(self, nth: int, when: str) -> None:
        self.nth, self.when = nth, when
        with pytest.raises(Killed):
            self.apply()
        self.nth = 0
        outcome = self.apply()
        assert [result.error for result in outcome.results if result.error] == []
        assert outcome.leftover == ()
        assert self.plan().empty


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
    outcome = org.apply()
    return len(outcome.results), counted(org)


@sampled
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_request_of_the_first_apply(tmp_path: Path, whole: tuple[int, Counter[str]], when: str) -> None:
    writes, expected = whole
    for nth in range(1 if when == "before" else 4, writes + 1, stride(26)):
        org = Mortal(tmp_path / f"{when}{nth}")
        org.write(small())
        org.die_and_try_again(nth, when)
        assert counted(org) == expected, f"killed {when} write {nth}"


@pytest.mark.parametrize("when", [pytest.param("before", marks=proof), "after"])
def test_killed_again_and_again_at_every_seventh_request(tmp_path: Path, whole: tuple[int, Counter[str]], when: str) -> None:
    _, expected = whole
    org = Mortal(tmp_path)
    org.write(small())
    for _ in range(60):
        org.nth, org.when = 7, when
        try:
            org.apply()
        except Killed:
            continue
        break
    org.nth = 0
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
from reconciler.cli import main
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
