"""What a run leaves alone so that the rest can be applied: what cannot be applied, and what a guard refuses with all that belongs to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from reconciler.address import Address
from reconciler.model.findings import Source


@dataclass(frozen=True)
class Blocked:
    """A declaration that cannot be applied; the rest can.

    `cause`: the address that is blocked for a reason of its own, where this one only waits for it; None where the reason is its own.
    `id`: of the cause.
    """

    address: Address
    reason: str
    remedy: str
    source: Source | None = None
    cause: Address | None = None
    id: str = field(kw_only=True)


def waiting(address: Address, outer: Blocked, source: Source | None = None, *, reason: str | None = None) -> Blocked:
    """The `Blocked` of what waits for something blocked, directly or indirectly: it is unblocked with the cause."""
    remedy = outer.remedy if outer.cause is not None else f"unblock {outer.address} first: {outer.remedy}"
    says = reason or f"waits for {outer.address}, which is blocked"
    return Blocked(address, says, remedy, source, outer.cause or outer.address, id="RC-waits")


@dataclass(frozen=True)
class HeldChange:
    """A change that this run leaves alone: a guard refuses it, or (`refused` is False) what is refused requires it, or it requires that.

    `actions`: in the words of the plan. `id`: of the refusal.
    """

    address: Address
    actions: tuple[str, ...]
    refused: bool
    _: KW_ONLY
    id: str


@dataclass(frozen=True)
class HeldRefusal:
    """Why changes are held. `remedy`: how they are allowed, as the end of a sentence."""

    message: str
    remedy: str
    _: KW_ONLY
    id: str


@dataclass(frozen=True)
class HeldPart:
    """What a run holds, so that the rest can be applied. Empty where nothing was refused."""

    changes: tuple[HeldChange, ...] = ()
    refusals: tuple[HeldRefusal, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.refusals)
