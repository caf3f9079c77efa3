"""What features check in a project without the service: policies, and what is probably a mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Final, Protocol

from reconciler.config import Project
from reconciler.model import Desired, Finding, Violation
from reconciler.resource import Kinds
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice
from reconciler.seams import Seam

Judge = Callable[[Kinds, Desired, date], tuple[Sequence[Violation], str]]
"""What the configuration violates on a day, and a remark on what only a plan can decide."""

JUDGES: Final[Seam[Judge]] = Seam("validation", "judges of the configuration")


class Linter(Protocol):
    """What finds probable mistakes, and corrects them in the files."""

    def found(self, operation: Operation, voice: Voice, kinds: Kinds, project: Project) -> Sequence[Finding]:
        """The findings, by place."""

    def fix(
        self, operation: Operation, kinds: Kinds, findings: Sequence[Finding]
    ) -> tuple[tuple[Finding, ...], Mapping[Finding, str], list[str]]:
        """Apply the fixes, and write the files. Returns the corrected findings, the others with the reason, and the files."""

    def with_edits(self, operation: Operation, kinds: Kinds, findings: Sequence[Finding]) -> Sequence[Finding]:
        """The findings, with the edits of their fixes."""


LINTERS: Final[Seam[Linter]] = Seam("lint", "linters")
