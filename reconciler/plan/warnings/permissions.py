"""What the token may not do, by the `permissions` that the service shows on objects. Pure.

Only a flag that the service shows as false forbids something; a missing flag does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.address import Address
from reconciler.model import Actual, ForbiddenRequest, Observed, Step
from reconciler.resource import Kind, Kinds, Permission


def forbidden_requests(kinds: Kinds, actual: Actual, steps: Sequence[Step], ids: Mapping[Address, str]) -> tuple[ForbiddenRequest, ...]:
    """One for each step whose kind names a permission that the token lacks."""
    requests = []
    for step in steps:
        kind = kinds[step.kind]
        permission = kind.create_permission if step.verb == "create" else kind.permission
        if permission is None:
            continue
        holder, of = _holder(kinds, actual, kind, permission, step, ids)
        permissions = holder.raw.get("permissions") if holder is not None else None
        if isinstance(permissions, Mapping) and permissions.get(permission.flag) is False:
            requests.append(ForbiddenRequest(step.address, step.verb, permission.flag, of))
    return tuple(requests)


def _holder(
    kinds: Kinds, actual: Actual, kind: Kind, permission: Permission, step: Step, ids: Mapping[Address, str]
) -> tuple[Observed | None, Address]:
    """(the object whose permissions apply, its address); None where it does not exist yet."""
    if permission.of is None:
        return (actual.find(kind.name, step.target) if isinstance(step.target, str) else None), step.address
    of = kinds.container(step.address, permission.of)
    return (actual.find(permission.of, ids[of]) if of in ids else None), of
