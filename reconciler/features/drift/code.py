"""The exit code that drift ends with."""

from __future__ import annotations

from collections.abc import Collection

from reconciler import exits
from reconciler.features.drift.model import Drift, DriftClass


def of_drift(drift: Drift, *, fail_on: Collection[DriftClass] = ()) -> int:
    """The exit code of drift: a failed assertion counts as drift. Unmanaged objects alone are not drift; a state that tracks none of the
    selected resources cannot exclude drift. `fail_on`: only these classes count, whatever else differs, also where a change means something
    worse too."""
    codes = [exits.DONE]
    if any({group.drift_class, *group.also} & {*fail_on} for group in drift.groups) if fail_on else drift.resources or drift.violations:
        codes.append(exits.PENDING)
    if drift.unknown or drift.unread or drift.undecided or drift.blind:
        codes.append(exits.PARTLY)
    return exits.strongest(codes)
