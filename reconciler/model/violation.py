"""What a plan does although a rule of the project forbids it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reconciler.address import Address
from reconciler.model.source import Source


class Severity(StrEnum):
    """How much a rule weighs: an error refuses the run, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Violation:
    """One rule that a plan violates.

    `sort`: what the rule is (`policy`, `access`). `rule`: its id. `address`: of the
    resource that violates it; None where the whole plan does. `message`: what is wrong, as one sentence without its full stop. `path`: how
    readers reach the resource, from it to what admits them; () where it is about no readers. `source`: where the rule is written;
    `declared`: where the resource is. `remedy`: the way past it, as the end of a sentence.
    """

    sort: str
    rule: str
    address: Address | None
    message: str
    level: Severity = Severity.ERROR
    path: tuple[str, ...] = ()
    source: Source | None = None
    declared: Source | None = None
    remedy: str = ""

    @property
    def name(self) -> str:
        """`policy two-admins`."""
        return f"{self.sort} {self.rule}"
