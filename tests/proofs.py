"""What a run of everything runs, what runs on a push too, and what only under `-m proof`.

Long proofs run a sample of their cases on a push, and all of them as a proof. What is `costly` runs a tenth of its cases in a run of
everything, what goes through the whole program a third, and all of them on a push.
`spread` and `first_of` mark all but a sample of a test's cases; `tries` and `stride` say which of its cases a test that is `sampled` tries
by itself. `push_only` leaves out of the collection what a push would not run: thousands of cases would be made to be deselected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

LONG: Final = "RECONCILER_TEST_LONG"
"""Set by `-m proof`: tests that are `sampled` try all their cases."""

PUSH: Final = (
    "apply/test_kill.py", "audience/test_agreement.py", "audience/test_proof.py", "audience/test_runner.py", "cli/test_consent.py",
    "cli/test_progress.py", "cli/test_state_shared.py", "docs/test_command_lines.py", "docs/test_site.py",
    "features/edits/test_propose_anything.py", "features/forges/pipelines", "growth", "hostile/test_canaries.py",
    "hostile/test_every_command.py", "hostile/test_ports.py", "hostile/test_titles.py", "metamorphic", "mutants", "packaging",
    "plan/test_disclosure_grows.py", "reliability", "sandbox/test_file.py", "state/test_bucket_remote.py", "state/test_races.py", "strict",
    "test_benchmarks.py", "test_deletable.py",
)  # fmt: skip
"""What a run of everything leaves to CI, because it takes a quarter of the time: it runs on a push (`--push`), and where it is named."""
THROUGH: Final = (
    "apply", "audience", "cli", "features", "fleet", "hostile", "kinds", "observe", "plan", "report", "run", "sandbox", "transfers",
)  # fmt: skip
"""Folders whose tests go through the program from end to end, a tenth of a second each and more. A run of everything takes every third."""
LEFT_OUT: Final = "kills, races, growth, packaging (PUSH in tests/proofs.py) and most cases of what is costly or goes from end to end"
LEFT_TO_CI: Final = {Path(__file__).parent / name for name in PUSH}

proof: Final = pytest.mark.proof
sampled: Final = pytest.mark.sampled
costly: Final = pytest.mark.costly
"""A run of everything tries the first of ten cases of such a test, and leaves one without cases to CI; a push, and a run that names it,
tries all. The marked tests took half of the time of a run, and are a tenth of its tests."""


def long() -> bool:
    """Whether proofs run whole."""
    return bool(os.environ.get(LONG))


def tries(whole: int, push: int) -> int:
    """How many cases to try: all of so many, or fewer on a push."""
    return whole if long() else push


def stride(push: int) -> int:
    """Every how manieth case to try: each, or every so manieth on a push."""
    return 1 if long() else push


def first_of(cases: Iterable[Any], group: Callable[[Any], Any]) -> list[Any]:
    """All cases, for `parametrize`; all but the first of each group are proofs."""
    known: set[Any] = set()
    marked = []
    for case in cases:
        marked.append(pytest.param(case, marks=proof if group(case) in known else ()))
        known.add(group(case))
    return marked


def spread(cases: Sequence[Any], push: int) -> list[Any]:
    """All cases, for `parametrize`; all but so many, evenly spread over them, are proofs. A tuple is the values of several parameters."""
    kept = {index * len(cases) // push for index in range(push)} if push < len(cases) else set(range(len(cases)))
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if index in kept else proof)
        for index, case in enumerate(cases)
    ]


def left_to_ci(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The cases of costly tests, and of those that go through the whole program, that a run of everything leaves to CI."""
    cases: dict[str, list[pytest.Item]] = {}
    through = []
    for item in items:
        if item.get_closest_marker(costly.name):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        elif item.nodeid.startswith(tuple(f"tests/{folder}/" for folder in THROUGH)):
            through.append(item)
    left = {item for same in cases.values() for index, item in enumerate(same) if index % 10 or len(same) == 1}
    return left | {item for index, item in enumerate(through) if index % 3}


def push_only(test: Any) -> bool:
    """Take the proofs out of a test function's parameters; False where nothing of it is left for a push."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if isinstance(mark, pytest.Mark)]
    if any(mark.name == proof.name for mark in marks):
        return False
    kept = [_on_a_push(mark) if mark.name == "parametrize" else mark for mark in marks]
    if kept != marks:
        test.pytestmark = kept
    return all(mark.args[1] for mark, before in zip(kept, marks, strict=True) if mark is not before)


def _on_a_push(mark: pytest.Mark) -> pytest.Mark:
    """The parameters that are no proofs; the same mark where all are."""
    values, named = mark.args[1], mark.kwargs.get("ids")
    if not isinstance(values, list | tuple):
        return mark
    kept = [index for index, value in enumerate(values) if all(one.name != proof.name for one in getattr(value, "marks", ()))]
    if len(kept) == len(values):
        return mark
    ids = {"ids": [named[index] for index in kept]} if isinstance(named, list | tuple) else {}
    return pytest.mark.parametrize(mark.args[0], [values[index] for index in kept], *mark.args[2:], **{**mark.kwargs, **ids}).mark
