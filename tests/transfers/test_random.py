"""Random transfers: whatever people move between two organizations, the end is as if it had been built there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs import spread
from tests.reliability.seen import difference, seen
from tests.transfers.drawn import Drawn, drawn
from tests.transfers.two import Two, sent, two


def lines(org: Two) -> object:
    return seen(org.app.state.service.store.connection)


def twin(root: Path, draw: Drawn) -> object:
    """The service on which the same end was built from nothing."""
    org = two(root)
    org.applied(*draw.last, protect=[])
    return lines(org)


@pytest.mark.parametrize("seed", spread(range(150), 5))
def test_the_end_is_that_of_a_twin_built_from_nothing(tmp_path: Path, seed: int) -> None:
    draw = drawn(seed)
    org = two(tmp_path / "org")
    org.applied(*draw.first, protect=[])
    outcome = org.applied(*draw.last, *draw.moved, protect=[])
    transfers = [step for step in sent(outcome) if step.startswith("transfer ")]
    assert len(transfers) == len(set(transfers))
    assert difference(twin(tmp_path / "twin", draw), lines(org)) == []  # type: ignore[arg-type]
