"""A short measurement of the pace; the long one is made by hand with more runs."""

from __future__ import annotations

from tests.reliability.pacing import measure


def test_told_of_a_limit_few_are_refused_and_it_is_used_and_blind_at_most_5_percent_are_refused() -> None:
    figures = measure(seed=2, runs=8)
    assert figures["headers"]["failed"] == figures["blind"]["failed"] == 0
    assert figures["headers"]["refused"] <= 0.02
    assert min(figures["headers"]["kinds"][kind]["pace"] for kind in ("fixed", "bucket", "filling")) >= 0.95
    assert figures["blind"]["refused"] <= 0.05


def test_the_same_seed_gives_the_same_figures() -> None:
    assert measure(seed=5, runs=1) == measure(seed=5, runs=1)
