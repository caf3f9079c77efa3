"""What tests of a project found: each test with what is not as it expects."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.errors import Problem
from reconciler.model.findings import Source


@dataclass(frozen=True)
class Mismatch:
    """One expectation that is not met, or one step that failed.

    `message`: one sentence without its full stop. `expected` and `actual`: what differs, "" where the sentence says it all. `lines`: what
    else helps to understand it, such as the lines of a difference between two texts. `left`: nothing offline can say whether it is met, so
    that it is for a plan of the service to judge.
    """

    source: Source
    message: str
    expected: str = ""
    actual: str = ""
    lines: tuple[str, ...] = ()
    # Of the cause.
    id: str = "RC-expectation-not-met"
    left: bool = False


@dataclass(frozen=True)
class ProjectTestResult:
    """One test. `sort`: what it is an example of (`test`, `access`, `policy`). `mismatches`: none if it passed. `left`: what only
    a plan can judge.

    `problems`: in its files, so that it could not be run. `written`: the snapshots that it has now, by name, where they are updated.
    """

    name: str
    source: Source
    sort: str = "test"
    environment: str | None = None
    mismatches: tuple[Mismatch, ...] = ()
    left: tuple[Mismatch, ...] = ()
    problems: tuple[Problem, ...] = ()
    written: tuple[tuple[str, str], ...] = ()

    @property
    def passed(self) -> bool:
        return not self.mismatches and not self.problems
