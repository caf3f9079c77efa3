"""What is left of an apply that began and did not end. Pure.

An apply uses up its approvals when it begins, however it ends. What its run never recorded as a request is still covered by them, for the
run that continues it: the same commit, and each change exactly as it was approved. A request that was recorded is not, whatever came of it:
whether it took effect and was taken back, or never took effect, looks the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.fleet.approvals import Continuation


@dataclass(frozen=True)
class BegunApply:
    """An apply that began. `digest`: of the plan that people approved; `saved`: of the saved plan that was applied; `parts`: digests of
    what it would send, by address; `reverts`: the digests of the drift that it reverts, by address; `runs`: of the fleet, this one last."""

    digest: str
    commit: str
    saved: str
    parts: Mapping[str, str]
    reverts: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[int, ...] = ()

    def left(self, commit: str, recorded: Collection[str] | None) -> BegunApply | None:
        """The part of it that no run has recorded a request for; None if another commit is read, or nobody knows. `recorded`: addresses."""
        if recorded is None or commit != self.commit:
            return None
        return replace(self, parts=_without(self.parts, recorded), reverts=_without(self.reverts, recorded))

    def continuation(self, parts: Mapping[str, str]) -> Continuation | None:
        """The continuation of this apply with a plan that sends `parts`; None if the plan sends anything else."""
        return self.as_continuation if parts and all(self.parts.get(at) == part for at, part in parts.items()) else None

    @property
    def as_continuation(self) -> Continuation:
        return Continuation(self.digest, self.runs, frozenset(self.reverts))


def _without(some: Mapping[str, str], addresses: Collection[str]) -> dict[str, str]:
    return {at: digest for at, digest in some.items() if at not in addresses}


def as_data(begun: BegunApply) -> dict[str, Any]:
    """The JSON form, in the database."""
    return {**vars(begun), "parts": dict(begun.parts), "reverts": dict(begun.reverts), "runs": list(begun.runs)}


def of_data(data: Mapping[str, Any]) -> BegunApply:
    return BegunApply(**{**data, "runs": tuple(data["runs"])})
