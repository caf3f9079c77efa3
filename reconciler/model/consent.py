"""What a run was allowed to open."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Consent:
    """One exposure that the plan of a run showed and somebody consented to. It holds for that run, continued or not, and for no other.

    `field`: that opens it, "" where readers are given or the object is deleted. `principal`, `level`: who can then do what, "" where no
    readers are given. `cause`: what admits these readers. `value`: canonical JSON of what is sent, with addresses for known ids, "" for
    readers; of a sensitive field its keyed digest.
    """

    address: str
    field: str
    principal: str
    level: str
    cause: str
    value: str
