"""Whatever the order of the requests of jobs that finish at the same time, every part is in the one comment at the end."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from reconciler.features.forges.comment.body import comment_of, size
from reconciler.features.forges.comment.part import CommentPart
from reconciler.features.forges.comment.upkeep import OurComment
from reconciler.features.forges.keep import UpkeepResult
from tests.features.forges.comment.made import drawn
from tests.features.forges.many_jobs import SMALL, Killed, Memory, Schedule, together
from tests.proofs import spread


def loud(random: Random, name: str, run: int = 1) -> CommentPart:
    """A part that has something to say: without any, no comment is created."""
    return replace(drawn(random, name, run=run, kind="plan", others=4), quiet=False)


def parts_of(memory: Memory) -> dict[tuple[str, str], CommentPart]:
    comments = [comment_of(known.body) for known in memory.bodies.values()]
    return {part.key: part for comment in comments if comment is not None for part in comment.parts}


def check(memory: Memory, expected: list[CommentPart], results: list[UpkeepResult | BaseException], *, comments: int = 1) -> None:
    assert not [result for result in results if isinstance(result, BaseException) and not isinstance(result, Killed)], results
    assert len(memory.bodies) == comments
    shown = parts_of(memory)
    assert {part.key: part.version for part in expected} == {part.key: shown[part.key].version for part in expected if part.key in shown}
    assert all(size(known.body) < 65_536 for known in memory.bodies.values())


@pytest.mark.parametrize("seed", spread(range(600), 10))
@pytest.mark.parametrize("turns", [True, False], ids=["turns", "no turns"])
def test_jobs_that_finish_together_do_not_lose_each_others_parts(turns: bool, seed: int) -> None:
    random = Random(seed)
    memory = Memory(Schedule(random), has_turns=turns, slow=random.choice([0.05, 0.5, 1.0]), failing=random.choice([0.0, 0.0, 0.2]))
    jobs = [[loud(random, f"project-{number}/{side}") for side in range(random.randint(1, 2))] for number in range(random.randint(2, 6))]
    results = together(memory, jobs)
    check(memory, [part for job in jobs for part in job], results)


@pytest.mark.parametrize("seed", spread(range(200), 4))
def test_a_request_that_takes_minutes_loses_nothing_where_jobs_take_turns(seed: int) -> None:
    random = Random(seed)
    memory = Memory(Schedule(random), slow=6.0)
    jobs = [[loud(random, f"project-{number}")] for number in range(3)]
    check(memory, [part for job in jobs for part in job], together(memory, jobs))


@pytest.mark.parametrize("seed", spread(range(300), 6))
def test_a_killed_job_leaves_a_comment_that_the_others_finish(seed: int) -> None:
    random = Random(seed)
    memory = Memory(Schedule(random), slow=0.5, deadly=0.03)
    jobs = [[loud(random, f"project-{number}")] for number in range(4)]
    results = together(memory, jobs)
    alive = [parts for parts, result in zip(jobs, results, strict=True) if not isinstance(result, BaseException)]
    if alive:
        memory.deadly = 0.0
        again = together(memory, alive)
        check(memory, [part for job in alive for part in job], [*results, *again])


@pytest.mark.parametrize("seed", spread(range(300), 6))
@pytest.mark.parametrize("turns", [True, False], ids=["turns", "no turns"])
def test_an_old_job_that_finishes_late_does_not_replace_the_part_of_a_newer_commit(turns: bool, seed: int) -> None:
    random = Random(seed)
    memory = Memory(Schedule(random), has_turns=turns, slow=0.5)
    old, new, other = loud(random, "acme", run=7), loud(random, "acme", run=9), loud(random, "other", run=8)
    check(memory, [new, other], together(memory, [[old], [new], [other]]))


@pytest.mark.parametrize("seed", spread(range(200), 4))
def test_duplicates_become_one_comment_and_the_oldest_stays(seed: int) -> None:
    random = Random(seed)
    memory = Memory(Schedule(random), slow=0.2)
    first, second = loud(random, "first"), loud(random, "second")
    for number, part in enumerate((first, second)):
        alone = Memory(Schedule(random), slow=0.0)
        together(alone, [[part]])
        memory.bodies[number + 1] = OurComment(number + 1, next(iter(alone.bodies.values())).body)
    memory.ids = 10
    third = loud(random, "third")
    check(memory, [first, second, third], together(memory, [[third]]))
    assert list(memory.bodies) == [1]


@pytest.mark.parametrize("seed", spread(range(200), 4))
def test_separate_comments_and_the_common_one_become_each_other(seed: int) -> None:
    random = Random(seed)
    memory = Memory(Schedule(random), slow=0.2)
    parts = [loud(random, f"project-{number}") for number in range(3)]
    check(memory, parts, together(memory, [[part] for part in parts]))
    later = [loud(random, f"project-{number}", run=2) for number in range(3)]
    check(memory, later, together(memory, [[part] for part in later], separate=True), comments=3)
    last = [loud(random, f"project-{number}", run=3) for number in range(3)]
    check(memory, last, together(memory, [[part] for part in last]))


def test_what_nobody_must_look_at_creates_no_comment_and_hides_an_old_one() -> None:
    random = Random(1)
    memory = Memory(Schedule(random), slow=0.1)
    calm, busy = (replace(drawn(random, "acme", run=run, kind="plan"), quiet=quiet) for run, quiet in ((1, True), (2, False)))
    assert together(memory, [[calm]]) == [UpkeepResult(0, (), 0)]
    assert memory.bodies == {}
    for run, part in ((2, busy), (3, calm), (4, busy)):
        check(memory, [replace(part, run=(run, 1))], together(memory, [[replace(part, run=(run, 1))]]))
        assert [known.hidden for known in memory.bodies.values()] == [part.quiet]


def test_a_calm_part_takes_the_place_of_one_in_a_comment_of_its_own() -> None:
    random = Random(1)
    memory = Memory(Schedule(random), slow=0.1)
    together(memory, [[loud(random, "acme", run=1)]], separate=True)
    calm = replace(drawn(random, "acme", run=2, kind="plan"), quiet=True)
    check(memory, [calm], together(memory, [[calm]]))
    assert [known.hidden for known in memory.bodies.values()] == [True]


def test_a_part_without_a_run_replaces_the_last_one_and_gives_way_to_the_next() -> None:
    random = Random(1)
    memory = Memory(Schedule(random), slow=0.1)
    ci, typed = loud(random, "acme", run=7), replace(loud(random, "acme"), run=(0, 0))
    together(memory, [[ci]])
    (first,) = together(memory, [[typed]])
    (again,) = together(memory, [[typed]])
    assert [getattr(kept, "writes", None) for kept in (first, again)] == [1, 0]
    check(memory, [replace(typed, run=(7, 2))], [first])
    later = loud(random, "acme", run=8)
    check(memory, [later], together(memory, [[later]]))


def test_a_forge_with_turns_has_few_requests() -> None:
    random = Random(1)
    memory = Memory(Schedule(random), slow=0.1)
    assert SMALL.limit == memory.dialect.limit
    (kept,) = together(memory, [[loud(random, "acme")]])
    assert isinstance(kept, UpkeepResult)
    assert kept.writes == 1
