"""Bugs made on purpose are caught by the tests that are named for them."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date

import pytest

from tests.mutants import nursery
from tests.mutants.__main__ import broken
from tests.mutants.seeded import BUGS, Bug
from tests.proofs import LONG, long, sampled

PARTS = 70


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    """`python -m tests.mutants` with what runs on a push, also as a proof: else random tests would be proofs, which it leaves out."""
    command = [sys.executable, "-m", "tests.mutants", *words]
    environ = {name: value for name, value in os.environ.items() if name != LONG}
    return subprocess.run(command, capture_output=True, text=True, timeout=3500, cwd=nursery.ROOT, check=False, env=environ)


def test_there_are_at_least_25_bugs_and_no_two_break_one_claim_the_same_way() -> None:
    assert len({(bug.module, bug.old, bug.new) for bug in BUGS}) == len(BUGS) >= 25
    for part in (
        "state.journal",
        "state.lease",
        "apply.recover",
        "apply.evidence",
        "client.retry",
        "client.pacing",
        "apply.",
        "plan.siblings.moves",
        "plan.steps.graph",
    ):
        assert any(bug.module.startswith(f"reconciler.{part}") for bug in BUGS), part


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.module}-{bug.claim}")
def test_a_bug_still_fits_its_module(bug: Bug) -> None:
    compile(broken(bug), bug.module, "exec")


def test_a_bug_whose_text_occurs_never_or_twice_is_refused() -> None:
    for old in ("this text stands nowhere", "return"):
        with pytest.raises(ValueError, match="stands there"):
            broken(Bug("reconciler.plan.siblings.moves", old, "", "", ()))


@pytest.mark.proof
def test_mutants_that_the_named_tests_miss_are_separated_from_the_others() -> None:
    bug = next(bug for bug in BUGS if bug.module == "reconciler.apply.recover")
    elsewhere = ("tests/plan/test_order.py::test_a_move_has_one_anchor_at_most",)
    harmless = nursery.source("reconciler.plan.siblings.moves").read_text(encoding="utf-8") + "\n"
    failing = harmless.replace('raise ValueError(f"a move of', 'print(f"a move of')
    trials = [
        nursery.Trial("reconciler.plan.siblings.moves", harmless, elsewhere),
        nursery.Trial("reconciler.plan.siblings.moves", failing, elsewhere),
        nursery.Trial("reconciler.apply.recover", broken(bug), elsewhere),
        nursery.Trial("reconciler.plan.siblings.moves", "while True: pass", elsewhere),
    ]
    assert harmless != failing
    code = (
        "import sys; from tests.mutants import nursery\n"
        f"trials = [nursery.Trial(*words) for words in {[(one.module, one.code, one.words) for one in trials]!r}]\n"
        "print(sorted((index, ended.code) for index, ended in nursery.tried(trials, timeout=20.0, processes=2)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, cwd=nursery.ROOT, check=True)
    assert told.stdout == f"{[(0, nursery.PASSED), (1, nursery.FAILED), (2, nursery.NEVER_IMPORTED), (3, nursery.TIMEOUT)]}\n"


@sampled
@pytest.mark.timeout(3600)
def test_each_bug_is_caught_by_its_tests_which_pass_without_it() -> None:
    """One part of them, another one each day; all with -m proof."""
    part = "1/1" if long() else f"{date.today().toordinal() % PARTS + 1}/{PARTS}"
    done = _run("seeded", "--part", part)
    assert done.returncode == 0, f"part {part}\n{done.stdout[-6000:]}{done.stderr[-2000:]}"
