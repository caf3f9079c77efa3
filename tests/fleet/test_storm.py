"""A fleet in a storm: workers, runs, the dashboard and PostgreSQL are killed, stopped and restarted at random, clocks are moved, answers
are lost, and people commit, approve and ask meanwhile. Afterwards nothing is there twice, nothing is lost, and everything says so."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")

from tests.fleet.storm.events import schedule
from tests.fleet.storm.fleet import Storm
from tests.fleet.storm.machines import preloaded

SEEDS = [int(seed) for seed in os.environ.get("RECONCILER_STORM_SEEDS", "1").split(",")]
SECONDS = float(os.environ.get("RECONCILER_STORM_SECONDS", "75"))
ONLY = tuple(filter(None, os.environ.get("RECONCILER_STORM_ONLY", "").split(",")))
pytestmark = [pytest.mark.proof, pytest.mark.timeout(1_800)]


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_storm_nothing_is_there_twice_nothing_is_lost_and_everything_is_verified(seed: int) -> None:
    if preloaded() is None:
        pytest.skip("no C compiler to make the clocks that can be moved: install gcc")
    folder = Path(tempfile.mkdtemp(prefix="reconciler-storm-"))  # where PostgreSQL, as another user, can read a clock
    storm = Storm(folder, seed)
    with storm.stack:
        storm.prepare()
        try:
            storm.rage(schedule(seed, SECONDS, ONLY), SECONDS)
            counts = storm.judge()
        except BaseException:
            print(
                f"everything is in {folder}; again: RECONCILER_STORM_SEEDS={seed} RECONCILER_STORM_SECONDS={SECONDS:g}",
                *storm.log,
                sep="\n",
            )
            raise
        print(f"seed {seed}:", ", ".join(f"{number} {what}" for what, number in sorted(counts.items(), key=str)))
    shutil.rmtree(folder)
