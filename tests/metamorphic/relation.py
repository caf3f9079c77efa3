"""A relation is tried on few random organizations in the ordinary run, and on many by `pytest -m proof tests/metamorphic`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed as seeded, settings, strategies as st

SEEDS = range(1, 41)  # of the proof; 0 is the ordinary run's
EXAMPLES = 10  # of each seed of the proof
MARKS = (pytest.mark.proof, pytest.mark.timeout(3600))

Claim = Callable[..., None]


def relation(*strategies: st.SearchStrategy[Any], quick: int) -> Callable[[Claim], Claim]:
    """Make a test of a claim about what the strategies draw: `quick` examples of seed 0, and `EXAMPLES` of each seed of the proof."""

    def decorate(claim: Claim) -> Claim:
        @pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=MARKS) for seed in SEEDS)])
        def test(seed: int) -> None:
            phases = [Phase.generate, *([Phase.shrink] if seed else [])]
            limits = settings(
                max_examples=EXAMPLES if seed else quick,
                phases=phases,
                database=None,
                derandomize=False,
                suppress_health_check=list(HealthCheck),
            )
            limits(seeded(seed)(given(*strategies)(claim)))()

        test.__name__ = test.__qualname__ = claim.__name__
        test.__doc__ = claim.__doc__
        test.__module__ = claim.__module__
        return test

    return decorate
