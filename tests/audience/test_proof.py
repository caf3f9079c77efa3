"""Nobody reads too much at any moment: random edits of random organizations, cut before and refused at each of their requests.

One small edit in every way here; many, and pairs of refusals, with `-m proof`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.audience.moments import Watched
from tests.audience.proof import RUNS, Proof, Result
from tests.audience.worlds import edited
from tests.organizations import with_readers
from tests.proofs import spread

ORDER = ("whole", "many")
PAIRS_MAX = 7  # requests of an edit of which every pair is refused


def result(root: Path, seed: int, changes: int, *runs: str) -> Result:
    chance = random.Random(seed)
    first = with_readers(chance)
    return Proof(Watched(root), root / "image").edit(first, edited(first, chance, changes), runs=runs)


def said(result: Result) -> str:
    return "\n".join(map(str, result.violations[:3]))


@pytest.mark.parametrize(("seed", "changes"), spread([(8, 3), (32, 6), (177, 6), (231, 6)], 1))
def test_no_order_of_requests_lets_anybody_read_too_much(tmp_path: Path, seed: int, changes: int) -> None:
    outcome = result(tmp_path, seed, changes, *ORDER)
    assert outcome.writes > 3
    assert said(outcome) == ""


def test_no_cut_and_no_refused_request_lets_anybody_read_too_much(tmp_path: Path) -> None:
    outcome = result(tmp_path, 3, 3, *RUNS)
    assert outcome.runs > 8
    assert said(outcome) == ""


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(100, 400))
def test_no_order_of_many_changes_lets_anybody_read_too_much(tmp_path: Path, seed: int) -> None:
    assert said(result(tmp_path, seed, 6, *ORDER)) == ""


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(60))
def test_no_cut_and_no_refusal_of_any_request_lets_anybody_read_too_much(tmp_path: Path, seed: int) -> None:
    assert said(result(tmp_path, seed, 3, *RUNS)) == ""


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(20))
def test_no_two_refused_requests_let_anybody_read_too_much(tmp_path: Path, seed: int) -> None:
    if result(tmp_path, seed, 3, "whole").writes <= PAIRS_MAX:
        assert said(result(tmp_path / "pairs", seed, 3, "pairs")) == ""


@pytest.mark.parametrize("seed", [127, 221])
def test_two_steps_that_should_each_come_before_the_other_are_shown_as_a_window(tmp_path: Path, seed: int) -> None:
    """A site opens for visitors and closes for the holders of its link while a variant in it shows another space."""
    outcome = result(tmp_path, seed, 6, *ORDER)
    assert outcome.windows > 0
    assert said(outcome) == ""
