"""The comment over HTTP: it is created once and updated in place, whatever request fails, and nobody else's comment is touched."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from reconciler.features.forges import bitbucket, github, gitlab
from reconciler.features.forges.comment.body import CommentText, body, comment_of
from reconciler.features.forges.comment.part import CommentPart
from reconciler.features.forges.comment.upkeep import CommentMode
from reconciler.features.forges.keep import UpkeepResult, keep
from reconciler.features.forges.port import BlockingClock, Forge as Comments, ForgeError, NotAllowed
from tests.features.forges import Bitbucket, Fault, Forge, GitHub, GitLab, Sent
from tests.features.forges.comment.made import drawn
from tests.features.forges.server import CUT, Answer
from tests.proofs import costly, sampled, stride

SPEED = 40.0


class Leap:
    """A clock whose pauses take no time."""

    def __init__(self) -> None:
        self.now, self.random = 0.0, Random(0)

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def chance(self) -> float:
        return self.random.random()


class Fast(Leap):
    """A clock that runs faster, so that other threads have time to do something in every pause."""

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds / SPEED)


@dataclass
class Service:
    """A fake, its pull request, and the comments as the owner of a token sees them."""

    fake: Any
    pull: Any
    name: str

    def comments(self, token: str | None = None, clock: BlockingClock | None = None, run: tuple[int, int] = (0, 0)) -> Comments:
        token, clock = token or self.fake.token(), clock or Leap()
        match self.name:
            case "github":
                return github.GitHub(self.fake.api, self.fake.graphql, "acme/handbook", 7, token=token, clock=clock, run=run)
            case "gitlab":
                return gitlab.GitLab(self.fake.api, "12", 7, token=token, clock=clock, run=run)
            case _:
                return bitbucket.Bitbucket(self.fake.api, "acme/handbook", 7, token=token, clock=clock, run=run)

    def keep(
        self, *parts: CommentPart, separate: bool = False, token: str | None = None, clock: BlockingClock | None = None
    ) -> UpkeepResult:
        clock = clock or Leap()
        comments = self.comments(token, clock, parts[0].run if parts else (0, 0))
        return keep(comments, parts, CommentMode(comments.dialect, separate, comments.hide is not None), clock)

    def bodies(self) -> list[str]:
        return list(self.fake.bodies(self.pull))

    def shown(self, *, hidden: bool = False) -> dict[tuple[str, str], CommentPart]:
        bodies = self.fake.bodies(self.pull, minimized=True) if hidden and self.name == "github" else self.bodies()
        return {part.key: part for body in bodies for part in getattr(comment_of(body), "parts", ())}


@contextmanager
def service(name: str) -> Iterator[Service]:
    fakes: dict[str, type[Forge]] = {"github": GitHub, "gitlab": GitLab, "bitbucket": Bitbucket}
    with fakes[name]() as fake:
        yield Service(fake, fake.pull(), name)


@pytest.fixture(params=["github", "gitlab", "bitbucket"])
def served(request: pytest.FixtureRequest) -> Iterator[Service]:
    with service(request.param) as running:
        yield running


def part(name: str, run: int = 1, seed: int = 1) -> CommentPart:
    return replace(drawn(Random(seed), name, run=run, kind="plan", others=3), quiet=False)


def test_a_comment_is_created_once_and_updated_in_place_and_a_strangers_copy_of_it_is_not_trusted(served: Service) -> None:
    served.fake.says(served.pull, "ada", "Looks good")
    served.fake.ran((2, 1))
    served.fake.ran((1, 1)) if served.name != "gitlab" else None
    served.keep(part("acme/prod"))
    (mine,) = served.bodies()[1:]
    forged = mine.replace("run=1.1", "run=999999.1")
    for number in range(120):
        served.fake.says(served.pull, "mallory", forged if number % 7 == 0 else f"+{number}")
    served.keep(part("acme/staging"))
    before = {key: text.raw for key, text in served.shown().items() if key[0] == "acme/staging"}
    assert (served.keep(part("acme/prod", run=2)).writes, served.keep(part("acme/prod", run=2)).writes) == (1, 0)
    assert [part.name for part in served.keep(part("acme/prod")).superseded] == ["acme/prod"]
    ours = [body for body in served.bodies() if comment_of(body) is not None and body != forged]
    assert len(ours) == 1
    written = comment_of(ours[0])
    assert written is not None
    assert {shown.key: shown.run for shown in written.parts} == {("acme/prod", "plan"): (2, 1), ("acme/staging", "plan"): (1, 1)}
    assert before == {shown.key: shown.raw for shown in written.parts if shown.name == "acme/staging"}
    assert served.bodies().count(forged) == 18
    assert getattr(served.pull, "actions", []) == []
    assert getattr(served.pull, "reactions", getattr(served.pull, "awards", [])) == []


RUN, LATER = (40, 400), (50, 500)


def job(name: str, run: tuple[int, int], seed: int = 1) -> CommentPart:
    return replace(part(name, seed=seed), run=run)


def forge_plan(served: Service, run: tuple[int, int], *, separate: bool = False) -> None:
    """Write a plan as whoever has the same token: of other changes, and with the number of any run."""
    comments = served.comments()
    text = body(CommentText("", (job("acme/prod", run, seed=9),)), comments.dialect)[0]
    known = comments.comments()
    if known and not separate:
        comments.update(known[0].id, text)
    else:
        comments.create(text)


FORGED = {
    "a run that there is not": (999_999, 999_999),
    "the job's own run, attempted more often": (40, 999_999),
    "a run of another workflow or job": (60, 600),
    "a run of another pull request": (70, 700),
}


@costly
@pytest.mark.parametrize("case", FORGED)
@pytest.mark.parametrize("separate", [False, True], ids=["in place", "beside"])
def test_a_plan_of_whoever_posts_as_the_same_user_is_replaced(served: Service, case: str, separate: bool) -> None:
    if served.name == "bitbucket" and "another workflow" in case:
        pytest.skip("a pipeline of Bitbucket is one for all steps")
    served.fake.ran(RUN)
    served.fake.ran((60, 600), job="tests of others")
    served.fake.ran((70, 700), branch="8")
    mine = job("acme/prod", RUN)
    served.keep(mine)
    forge_plan(served, FORGED[case], separate=separate)
    ending = served.keep(mine)
    assert served.shown()["acme/prod", "plan"].version == mine.version
    assert ending.superseded == ()
    assert [run for _, run in ending.refused] == [FORGED[case]]
    assert served.keep(mine).writes == 0


def test_a_later_run_that_the_forge_knows_is_left_alone_and_one_that_it_does_not_show_is_replaced(served: Service) -> None:
    served.fake.ran(RUN)
    served.fake.ran(LATER)
    later = job("acme/prod", LATER, seed=2)
    served.keep(later)
    ending = served.keep(job("acme/prod", RUN))
    assert [superseded.run for superseded in ending.superseded] == [LATER]
    assert (ending.writes, dict(ending.refused)) == (0, {})
    assert served.shown()["acme/prod", "plan"].version == later.version
    served.fake.shows_runs = False
    ending = served.keep(job("acme/prod", RUN))
    assert list(ending.refused.values()) == [None]
    assert served.shown()["acme/prod", "plan"].run == RUN


FAULTS = {
    "503": Fault(Answer(503, {"message": "Unicorn"})),
    "502 after it was done": Fault(Answer(502, "<html>bad gateway</html>"), carried_out=True),
    "cut": Fault(CUT),
    "lost answer": Fault(CUT, carried_out=True),
    "429": Fault(Answer(429, {"message": "Retry later"}, {"Retry-After": "3"})),
    "429 without headers": Fault(Answer(429, "Retry later")),
    "secondary limit": Fault(Answer(403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "2"})),
}


def written(served: Service, *parts: CommentPart) -> None:
    """Keep the parts one after the other."""
    for kept in parts:
        served.keep(kept)


def quiet(loud: CommentPart) -> CommentPart:
    return replace(loud, quiet=True, digest="quiet")


SCENARIOS: dict[str, tuple[list[CommentPart], CommentPart]] = {
    # what was written before, and the part that is written while something fails
    "created": ([], part("acme/prod")),
    "updated": ([part("acme/prod"), part("acme/staging")], part("acme/prod", run=2, seed=2)),
    "nothing left": ([part("acme/prod")], quiet(part("acme/prod", run=2))),
    "something again": ([part("acme/prod"), quiet(part("acme/prod", run=2))], part("acme/prod", run=3, seed=3)),
}


@costly
@sampled
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_comment_appears_once_whichever_request_fails(served: Service, scenario: str) -> None:
    before, now = SCENARIOS[scenario]
    written(served, *before)
    begun = len(served.fake.sent)
    served.keep(now)
    requests = len(served.fake.sent) - begun
    assert requests <= {"github": 8, "gitlab": 8, "bitbucket": 6}[served.name]
    for number, name, fault in [(number, *fault) for number in range(requests) for fault in FAULTS.items()][:: stride(31)]:
        with service(served.name) as other:
            written(other, *before)
            waiting, begun = [fault], len(other.fake.sent)

            def fail(sent: Sent, other: Service = other, at: int = begun + number, waiting: list[Fault] = waiting) -> Fault | None:
                return waiting.pop() if waiting and len(other.fake.sent) == at else None

            other.fake.fault = fail
            other.keep(now)
            assert not waiting, (number, name)
            assert len(other.bodies() if served.name != "github" else other.pull.comments) == 1, (number, name)
            versions = {kept.key: kept.version for kept in other.shown(hidden=True).values()}
            assert versions == {kept.key: kept.version for kept in (*before, now)}, (number, name)
            if served.name == "github":
                assert [comment.minimized for comment in other.pull.comments] == ["outdated" if now.quiet else None], (number, name)


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_jobs_in_threads_do_not_lose_each_others_parts(name: str) -> None:
    with service(name) as served:
        random = Random(7)
        served.fake.fault = lambda sent: Fault(before=random.random() * 0.01, after=random.random() * 0.01)
        parts = [part(f"project-{number}", seed=number) for number in range(8)]
        threads = [threading.Thread(target=served.keep, args=(kept,), kwargs={"clock": Fast()}) for kept in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(served.bodies()) == 1
        assert {key: shown.version for key, shown in served.shown().items()} == {kept.key: kept.version for kept in parts}


def test_a_turn_that_a_killed_job_left_is_taken_over() -> None:
    with service("github") as served:
        assert served.comments().take() is not None
        served.pull.reactions[0]["created_at"] = "2026-01-01T00:00:00Z"
        assert (served.keep(part("acme")).writes, served.pull.reactions) == (1, [])


def test_a_comment_with_nothing_left_is_minimised_and_shown_again() -> None:
    with service("github") as served:
        quiet = replace(part("acme", run=2), quiet=True, raw="", digest="quiet")
        served.keep(part("acme"))
        served.keep(quiet)
        assert [comment.minimized for comment in served.pull.comments] == ["outdated"]
        assert served.keep(replace(quiet, run=(3, 1))).writes == 1
        served.keep(part("acme", run=4))
        assert [comment.minimized for comment in served.pull.comments] == [None]


def test_a_token_that_must_not_react_or_delete_still_updates_the_comment() -> None:
    with service("github") as served:
        served.fake.fault = lambda sent: Fault(Answer(403, {"message": "no"})) if "reactions" in sent.path else None
        assert (served.keep(part("acme")).writes, len(served.bodies())) == (1, 1)


def test_a_wrong_token_a_fork_and_a_pull_request_that_does_not_exist_are_errors_that_say_so(served: Service) -> None:
    with pytest.raises(ForgeError, match="401"):
        served.keep(part("acme"), token="canary-7f")
    with pytest.raises(NotAllowed, match="403"):
        served.keep(part("acme"), token=served.fake.token(writes=False))
    with ExitStack() as stack:
        empty = stack.enter_context(type(served.fake)())
        with pytest.raises(ForgeError, match=r"404|Could not resolve|does not show"):
            Service(empty, None, served.name).keep(part("acme"))


def test_the_token_goes_to_no_other_host_and_is_in_no_message(served: Service) -> None:
    with service(served.name) as elsewhere:
        to = {"Location": f"{elsewhere.fake.url}/x"}
        token = served.fake.token()
        pages = {
            "redirect": Answer(307, None, to),
            "next page": Answer(200, {"values": [], "next": f"{elsewhere.fake.url}/2.0/x"}),
            "echo": Answer(400, {"message": f"bad header {token}"}),
        }
        for name, answer in pages.items():
            served.fake.fault = lambda sent, answer=answer: Fault(answer) if "/user" not in sent.path else None
            with pytest.raises(ForgeError) as raised:
                served.keep(part("acme"))
            assert token not in str(raised.value), name
        assert elsewhere.fake.sent == []


@pytest.mark.parametrize("answer", [[], {}, "text", 7, None, {"data": {}}, {"data": {"repository": {"pullRequest": {"comments": {}}}}}])
def test_an_answer_that_no_forge_gives_is_an_error_and_no_defect(served: Service, answer: Any) -> None:
    served.fake.fault = lambda sent: Fault(Answer(200, answer))
    with pytest.raises(ForgeError):
        served.keep(part("acme"))


def test_a_limit_that_ends_too_late_is_an_error_with_the_time(served: Service) -> None:
    reset = str(int(time.time()) + 3_600)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset, "RateLimit-Reset": reset}
    served.fake.fault = lambda sent: Fault(Answer(429, {"message": "limit"}, headers))
    with pytest.raises(ForgeError) as raised:
        served.keep(part("acme"))
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("Try again after ")
    assert len(served.fake.sent) == 1


def test_a_service_that_is_down_is_asked_a_few_times_only(served: Service) -> None:
    served.fake.fault = lambda sent: Fault(Answer(500, "oops"))
    with pytest.raises(ForgeError, match="500"):
        served.keep(part("acme"))
    assert len(served.fake.sent) <= 12
